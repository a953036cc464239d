//! The rows that record the commit of each image.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::time::to_micros;
use super::transaction::{Operation, Transaction};
use crate::domain::model::version::Sha;

/// The commit from which an image was built; `None` if no source names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageCommit {
    pub image: String,
    /// A tag or a digest.
    pub reference: String,
    pub commit: Option<Sha>,
    /// The source of the information.
    pub proof: String,
}

impl Store {
    pub async fn list_image_commits(&self) -> Result<Vec<ImageCommit>, StoreError> {
        let rows: Vec<(String, String, Option<String>, String)> =
            sqlx::query_as("SELECT image, reference, commit_sha, proof FROM image_commit ORDER BY image, reference")
                .fetch_all(&self.0.readers)
                .await?;
        Ok(rows
            .into_iter()
            .map(|(image, reference, commit, proof)| ImageCommit {
                image,
                reference,
                commit: commit.and_then(|commit| commit.parse().ok()),
                proof,
            })
            .collect())
    }
}

impl Transaction {
    #[must_use]
    pub fn record_image_commit(self, image_commit: ImageCommit) -> Self {
        self.with_operation(RecordImageCommit(image_commit))
    }
}

#[derive(Debug)]
struct RecordImageCommit(ImageCommit);

impl Operation for RecordImageCommit {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO image_commit (image, reference, commit_sha, proof, learned_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (image, reference) DO UPDATE
             SET commit_sha = excluded.commit_sha, proof = excluded.proof, learned_at = excluded.learned_at",
        )
        .bind(&self.0.image)
        .bind(&self.0.reference)
        .bind(self.0.commit.as_ref().map(Sha::as_str))
        .bind(&self.0.proof)
        .bind(to_micros(now))
        .execute(connection)
        .await?;
        Ok(())
    }
}
