//! Comparisons of commits. They never change, so GitHub is asked only once for each pair.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::stored::{Stored, StoredBody, read_body, stored, write_body};
use super::stored_parts::StoredCommit;
use super::transaction::{Operation, Transaction};
use crate::domain::git::comparison::{ChangedFile, ChangedFiles, Comparison, ListedCommit};
use crate::domain::git::trailer::Trailers;
use crate::domain::model::artefact::Repository;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Commit, Sha};

impl Store {
    pub async fn find_comparison(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Comparison>, StoreError> {
        let body: Option<String> =
            sqlx::query_scalar("SELECT body FROM comparison WHERE repository = $1 AND base = $2 AND head = $3")
                .bind(repository.to_string())
                .bind(base.as_str())
                .bind(head.as_str())
                .fetch_optional(&self.0.readers)
                .await?;
        // After an unreadable row, GitHub is asked again.
        Ok(body.and_then(|body| read_body::<StoredComparison>(&body).ok()))
    }
}

impl Transaction {
    #[must_use]
    pub fn record_comparison(self, repository: Repository, comparison: Comparison) -> Self {
        self.with_operation(RecordComparison { repository, comparison: Box::new(comparison) })
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
        let body = write_body::<StoredComparison>((*self.comparison).clone())?;
        sqlx::query(
            "INSERT INTO comparison (repository, base, head, ahead_by, behind_by, body, listed)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (repository, base, head) DO UPDATE SET body = excluded.body, listed = excluded.listed",
        )
        .bind(&repository)
        .bind(base.as_str())
        .bind(head.as_str())
        .bind(to_sql_integer(*ahead_by))
        .bind(to_sql_integer(*behind_by))
        .bind(body)
        .bind(to_sql_integer(commits.len() as u64))
        .execute(&mut *connection)
        .await?;
        for listed in commits {
            let pull = Commit::parse_pull_request(&listed.commit).map(|(number, _)| to_sql_integer(number));
            sqlx::query(
                "INSERT INTO compared_commit (repository, base, head, sha, pull, restores) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (repository, base, head, sha) DO NOTHING",
            )
            .bind(&repository)
            .bind(base.as_str())
            .bind(head.as_str())
            .bind(listed.commit.sha.as_str())
            .bind(pull)
            .bind(listed.restored_commit().map(Sha::as_str))
            .execute(&mut *connection)
            .await?;
        }
        Ok(())
    }
}

pub(super) fn to_sql_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[derive(Serialize, Deserialize)]
struct StoredListedCommit {
    commit: StoredCommit,
    parents: Vec<Sha>,
    tree: Option<Sha>,
    trailers: Option<StoredTrailers>,
}

impl Stored for StoredListedCommit {
    type Domain = ListedCommit;

    fn from_domain(domain: ListedCommit) -> Self {
        let trailers = Stored::from_domain(domain.trailers().cloned());
        let ListedCommit { commit, parents, tree, .. } = domain;
        Self { commit: Stored::from_domain(commit), parents, tree, trailers }
    }

    fn into_domain(self) -> ListedCommit {
        ListedCommit::new(self.commit.into_domain(), self.parents, self.tree, self.trailers.into_domain())
    }
}

impl StoredBody for StoredComparison {
    const VERSION: u32 = 1;
}

stored! {
    struct StoredComparison for Comparison {
        base: Sha,
        head: Sha,
        ahead_by: u64,
        behind_by: u64,
        commits: Vec<StoredListedCommit>,
        files: StoredChangedFiles,
        url: Option<String>,
    }

    struct StoredChangedFiles for ChangedFiles {
        changed: Vec<StoredChangedFile>,
        cut: bool,
    }

    struct StoredChangedFile for ChangedFile {
        path: String,
        previous: Option<String>,
        additions: u64,
        deletions: u64,
    }

    enum StoredTrailers for Trailers {
        Change(inner: ChangeId),
        Rollback { change: ChangeId, restores: Option<Sha>, },
        Reinstates { change: ChangeId, rollback: ChangeId, },
    }
}
