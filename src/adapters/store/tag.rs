//! The rows of tag names. A name is reserved before the tag is created.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::transaction::{Operation, Transaction};
use crate::domain::model::artefact::Repository;
use crate::domain::model::ids::ChangeId;

impl Store {
    /// The names of Gantry's tags in a repository with this prefix.
    pub async fn list_tag_names(&self, repository: &Repository, prefix: &str) -> Result<Vec<String>, StoreError> {
        // Not `LIKE`, for which `_` matches any character.
        Ok(sqlx::query_scalar("SELECT name FROM tag WHERE repository = $1 AND substr(name, 1, length($2)) = $2")
            .bind(repository.to_string())
            .bind(prefix)
            .fetch_all(&self.0.readers)
            .await?)
    }
}

impl Transaction {
    #[must_use]
    pub fn reserve_tag_name(self, repository: Repository, name: &str, id: ChangeId) -> Self {
        self.with_operation(ReserveTagName { repository, name: name.to_owned(), id })
    }
}

#[derive(Debug)]
struct ReserveTagName {
    repository: Repository,
    name: String,
    id: ChangeId,
}

impl Operation for ReserveTagName {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query("INSERT INTO tag (repository, name, change_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(self.repository.to_string())
            .bind(&self.name)
            .bind(self.id.to_string())
            .execute(connection)
            .await?;
        Ok(())
    }
}
