//! The rows of sightings: the version that ran in an environment, with its begin and end.

use jiff::Timestamp;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::error::StoreError;
use super::handle::Store;
use super::time::{to_micros, to_timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::sighting::Sighting;

#[derive(sqlx::FromRow)]
struct SightingRow {
    artefact: String,
    environment: String,
    tag: Option<String>,
    digest: Option<String>,
    commit_sha: Option<String>,
    seen_at: i64,
    running_at: Option<i64>,
    well_since: Option<i64>,
    failed: Option<String>,
    ended_at: Option<i64>,
    announced: bool,
}

impl From<SightingRow> for Sighting {
    fn from(row: SightingRow) -> Self {
        Self {
            artefact: ArtefactName::new(&row.artefact),
            environment: EnvironmentName::new(&row.environment),
            version: build_version(row.tag, row.digest, row.commit_sha),
            seen_at: to_timestamp(row.seen_at),
            running_at: row.running_at.map(to_timestamp),
            healthy_since: row.well_since.map(to_timestamp),
            failure: row.failed,
            ended_at: row.ended_at.map(to_timestamp),
            announced: row.announced,
        }
    }
}

impl Store {
    /// The sightings that have not ended.
    pub async fn list_current_sightings(&self) -> Result<Vec<Sighting>, StoreError> {
        let rows: Vec<SightingRow> = sqlx::query_as(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM sighting WHERE ended_at IS NULL ORDER BY artefact, environment",
        )
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The sightings of one artefact in one environment, newest first.
    pub async fn list_sightings(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        limit: u32,
    ) -> Result<Vec<Sighting>, StoreError> {
        let rows: Vec<SightingRow> = sqlx::query_as(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM sighting WHERE artefact = $1 AND environment = $2 ORDER BY seen_at DESC, id DESC LIMIT $3",
        )
        .bind(artefact.as_str())
        .bind(environment.as_str())
        .bind(i64::from(limit))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The newest sightings of some artefacts, `each` per environment, newest first.
    pub async fn list_recent_sightings(
        &self,
        artefacts: &[&ArtefactName],
        each: u32,
    ) -> Result<Vec<Sighting>, StoreError> {
        if artefacts.is_empty() {
            return Ok(Vec::new());
        }
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
            "SELECT artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed, ended_at,
                    announced
             FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY artefact, environment ORDER BY seen_at DESC, id DESC) AS nth
                   FROM sighting WHERE artefact IN (",
        );
        let mut names = query.separated(", ");
        for artefact in artefacts {
            names.push_bind(artefact.as_str());
        }
        query.push(")) AS stay WHERE nth <= ").push_bind(i64::from(each)).push(" ORDER BY artefact, environment, nth");
        let rows: Vec<SightingRow> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}

impl Transaction {
    /// Updates the current sighting if it has the same version; otherwise ends it and begins this one. A sighting that
    /// has already ended and has another version than the current one is only recorded. Known values of `running_at`,
    /// `announced` and the parts of the version are kept; `failure` and `healthy_since` are replaced.
    #[must_use]
    pub fn record_sighting(self, sighting: Sighting) -> Self {
        self.with_operation(RecordSighting(sighting))
    }
}

#[derive(Debug)]
struct RecordSighting(Sighting);

impl Operation for RecordSighting {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        record_sighting(connection, &self.0).await
    }
}

type CurrentSightingRow = (i64, Option<String>, Option<String>, Option<String>, i64);

async fn record_sighting(connection: &mut SqliteConnection, sighting: &Sighting) -> Result<(), sqlx::Error> {
    let current: Option<CurrentSightingRow> = sqlx::query_as(
        "SELECT id, tag, digest, commit_sha, seen_at FROM sighting
         WHERE artefact = $1 AND environment = $2 AND ended_at IS NULL",
    )
    .bind(sighting.artefact.as_str())
    .bind(sighting.environment.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    if let Some((id, tag, digest, commit, seen_at)) = current {
        if build_version(tag, digest, commit).is_same_as(&sighting.version) {
            return update_sighting(connection, id, sighting).await;
        }
        if sighting.ended_at.is_none() {
            // After the clock was set back, a sighting must not end before it began.
            let ended_at = sighting.seen_at.max(to_timestamp(seen_at));
            sqlx::query("UPDATE sighting SET ended_at = $1 WHERE id = $2")
                .bind(to_micros(ended_at))
                .bind(id)
                .execute(&mut *connection)
                .await?;
        }
    }
    sqlx::query(
        "INSERT INTO sighting (artefact, environment, tag, digest, commit_sha, seen_at, running_at, well_since, failed,
             ended_at, announced)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(sighting.artefact.as_str())
    .bind(sighting.environment.as_str())
    .bind(sighting.version.tag.as_deref())
    .bind(sighting.version.digest.as_deref())
    .bind(sighting.version.commit.as_ref().map(Sha::as_str))
    .bind(to_micros(sighting.seen_at))
    .bind(sighting.running_at.map(to_micros))
    .bind(sighting.healthy_since.map(to_micros))
    .bind(&sighting.failure)
    .bind(sighting.ended_at.map(to_micros))
    .bind(sighting.announced)
    .execute(connection)
    .await?;
    Ok(())
}

async fn update_sighting(connection: &mut SqliteConnection, id: i64, sighting: &Sighting) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE sighting
         SET tag = COALESCE($1, tag), digest = COALESCE($2, digest), commit_sha = COALESCE($3, commit_sha),
             running_at = COALESCE(running_at, $4), well_since = $5, failed = $6, ended_at = $7,
             announced = announced OR $8
         WHERE id = $9",
    )
    .bind(sighting.version.tag.as_deref())
    .bind(sighting.version.digest.as_deref())
    .bind(sighting.version.commit.as_ref().map(Sha::as_str))
    .bind(sighting.running_at.map(to_micros))
    .bind(sighting.healthy_since.map(to_micros))
    .bind(&sighting.failure)
    .bind(sighting.ended_at.map(to_micros))
    .bind(sighting.announced)
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

fn build_version(tag: Option<String>, digest: Option<String>, commit: Option<String>) -> Version {
    Version { tag: tag.map(Into::into), digest: digest.map(Into::into), commit: commit.and_then(|c| c.parse().ok()) }
}
