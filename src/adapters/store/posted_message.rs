//! The rows of posted messages: the location of each in Slack, so that it can be edited and answered in its thread.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::{QueryBuilder, SqliteConnection};

use super::error::StoreError;
use super::handle::Store;
use super::time::to_micros;
use crate::domain::model::message::{MessageKey, MessageLocation};

const RETENTION: SignedDuration = SignedDuration::from_hours(180 * 24);

/// The location of a message of Gantry's in Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedMessage {
    pub location: MessageLocation,
    /// Why the message is not at the intended location. Every edit must repeat it.
    pub note: Option<String>,
}

impl Store {
    /// The location of the message with this key, once Slack has it.
    pub async fn find_posted_message(&self, key: &MessageKey) -> Result<Option<PostedMessage>, StoreError> {
        if let Some(location) = key.to_location() {
            return Ok(Some(PostedMessage { location, note: None }));
        }
        let row: Option<(String, String, Option<String>)> =
            sqlx::query_as("SELECT channel, ts, note FROM posted_message WHERE key = $1")
                .bind(key.as_str())
                .fetch_optional(&self.0.readers)
                .await?;
        Ok(row.map(|(channel, ts, note)| PostedMessage { location: MessageLocation { channel, ts }, note }))
    }

    /// Whether a message with this key was posted, or waits in the outbox.
    pub async fn is_posted_or_queued(&self, key: &MessageKey) -> Result<bool, StoreError> {
        Ok(is_posted_or_queued(&self.0.readers, key).await?)
    }

    /// The locations of these messages, as far as Slack has them.
    pub async fn find_message_locations(
        &self,
        keys: &[MessageKey],
    ) -> Result<HashMap<MessageKey, MessageLocation>, StoreError> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let mut query = QueryBuilder::new("SELECT key, channel, ts FROM posted_message WHERE key IN (");
        let mut names = query.separated(", ");
        for key in keys {
            names.push_bind(key.as_str().to_owned());
        }
        query.push(")");
        let rows: Vec<(String, String, String)> = query.build_query_as().fetch_all(&self.0.readers).await?;
        Ok(rows
            .into_iter()
            .map(|(key, channel, ts)| (MessageKey::new(&key), MessageLocation { channel, ts }))
            .collect())
    }
}

pub(super) async fn is_posted_or_queued(
    database: impl sqlx::SqliteExecutor<'_>,
    key: &MessageKey,
) -> Result<bool, sqlx::Error> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT 1 FROM posted_message WHERE key = $1 UNION ALL SELECT 1 FROM outbox WHERE key = $1")
            .bind(key.as_str())
            .fetch_optional(database)
            .await?;
    Ok(found.is_some())
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM posted_message WHERE posted_at < $1")
        .bind(to_micros(now - RETENTION))
        .execute(connection)
        .await?;
    Ok(())
}
