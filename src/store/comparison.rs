//! How commits stand to each other, kept for ever, so that GitHub is asked once for each two.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::{StoreError, unwritable};
use super::handle::Store;
use super::transaction::{Operation, Transaction};
use crate::domain::artefact::Repository;
use crate::domain::comparison::Comparison;
use crate::domain::version::{Commit, Sha};

impl Store {
    pub async fn comparison(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Comparison>, StoreError> {
        let body: Option<Option<String>> =
            sqlx::query_scalar("SELECT body FROM comparison WHERE repository = $1 AND base = $2 AND head = $3")
                .bind(repository.to_string())
                .bind(base.as_str())
                .bind(head.as_str())
                .fetch_optional(&self.0.readers)
                .await?;
        // What cannot be read any more is asked again.
        Ok(body.flatten().and_then(|body| serde_json::from_str(&body).ok()))
    }
}

impl Transaction {
    #[must_use]
    pub fn comparison(self, repository: Repository, comparison: Comparison) -> Self {
        self.with(RecordComparison { repository, comparison: Box::new(comparison) })
    }
}

#[derive(Debug)]
struct RecordComparison {
    repository: Repository,
    comparison: Box<Comparison>,
}

impl Operation for RecordComparison {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let Comparison { base, head, ahead_by, behind_by, commits, .. } = &*self.comparison;
        let repository = self.repository.to_string();
        let body = serde_json::to_string(&self.comparison).map_err(unwritable)?;
        sqlx::query(
            "INSERT INTO comparison (repository, base, head, ahead_by, behind_by, body, listed)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (repository, base, head) DO UPDATE SET body = excluded.body, listed = excluded.listed",
        )
        .bind(&repository)
        .bind(base.as_str())
        .bind(head.as_str())
        .bind(count(*ahead_by))
        .bind(count(*behind_by))
        .bind(body)
        .bind(count(commits.len() as u64))
        .execute(&mut *connection)
        .await?;
        for lone in commits {
            let pull = Commit::pull_request(&lone.commit).map(|(number, _)| count(number));
            sqlx::query(
                "INSERT INTO compared_commit (repository, base, head, sha, pull, restores) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (repository, base, head, sha) DO NOTHING",
            )
            .bind(&repository)
            .bind(base.as_str())
            .bind(head.as_str())
            .bind(lone.commit.sha.as_str())
            .bind(pull)
            .bind(lone.restores().map(Sha::as_str))
            .execute(&mut *connection)
            .await?;
        }
        Ok(())
    }
}

pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
