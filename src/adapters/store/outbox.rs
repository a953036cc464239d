//! The rows of the outbox: one ordered queue per channel or person, and only the newest unsent text of each message. A
//! patient edit (one that only reports progress) waits until the posted text has been visible for a moment.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::posted_message::{PostedMessage, is_posted_or_queued};
use super::stored::{StoredBody, read_body, stored, write_body};
use super::time::{duration_to_micros, to_micros, to_micros_ceil, to_timestamp};
use super::transaction::{Operation, Transaction, Wakeups};
use crate::domain::model::actor::PersonId;
use crate::domain::model::message::{
    Destination, FallbackRecipient, Message, MessageFile, MessageKey, MessageLink, ResponseUrl,
};

/// How long a posted text stays at least before a patient edit replaces it.
const MIN_EDIT_INTERVAL: SignedDuration = SignedDuration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(i64);

/// The first message of a queue, or a waiting patient edit. It may be sent at `due_at`.
#[derive(Clone, Debug)]
pub struct NextMessage {
    pub id: MessageId,
    pub queue: String,
    pub due_at: Timestamp,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct OutgoingMessage {
    pub id: MessageId,
    /// The revision of the row's text.
    pub revision: i64,
    pub queue: String,
    /// `Err` with the reason if the stored message cannot be read.
    pub message: Result<Message, String>,
    pub created_at: Timestamp,
    pub attempts: u32,
}

impl Store {
    /// The head of every queue and all waiting patient edits, the longest due first.
    pub async fn list_next_messages(&self) -> Result<Vec<NextMessage>, StoreError> {
        let rows: Vec<(i64, String, i64)> = sqlx::query_as(
            "SELECT o.id, o.queue, o.due_at FROM outbox o
             JOIN (SELECT MIN(id) AS id FROM outbox WHERE NOT (patient AND due_at > $1) GROUP BY queue
                   UNION ALL SELECT id FROM outbox WHERE patient AND due_at > $1) turn ON turn.id = o.id
             ORDER BY o.due_at, o.id",
        )
        .bind(to_micros(self.0.clock.now()))
        .fetch_all(&self.0.readers)
        .await?;
        Ok(rows
            .into_iter()
            .map(|(id, queue, due_at)| NextMessage { id: MessageId(id), queue, due_at: to_timestamp(due_at) })
            .collect())
    }

    pub async fn find_outgoing_message(&self, id: MessageId) -> Result<Option<OutgoingMessage>, StoreError> {
        let row: Option<(i64, String, String, i64, i64)> =
            sqlx::query_as("SELECT revision, queue, body, created_at, attempts FROM outbox WHERE id = $1")
                .bind(id.0)
                .fetch_optional(&self.0.readers)
                .await?;
        Ok(row.map(|(revision, queue, body, created_at, attempts)| OutgoingMessage {
            id,
            revision,
            queue,
            message: read_body::<StoredMessage>(&body),
            created_at: to_timestamp(created_at),
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        }))
    }
}

impl Transaction {
    /// Adds a message to the outbox, or replaces the unsent message with the same key.
    #[must_use]
    pub fn enqueue_message(self, message: Message) -> Self {
        self.with_operation(EnqueueMessage { message, only_if_posted: None })
    }

    /// The same, but only if the message `key` is posted or waits in the outbox.
    #[must_use]
    pub fn enqueue_if_posted(self, key: MessageKey, message: Message) -> Self {
        self.with_operation(EnqueueMessage { message, only_if_posted: Some(key) })
    }

    /// Slack has accepted the message. The row stays if its text was replaced meanwhile.
    #[must_use]
    pub fn mark_sent(self, id: MessageId, revision: i64, posted: Option<PostedMessage>) -> Self {
        self.with_operation(MarkSent { id, revision, posted })
    }

    /// Delays a message. With an `error` this counts as an attempt.
    #[must_use]
    pub fn delay_message(self, id: MessageId, until: Timestamp, error: Option<String>) -> Self {
        self.with_operation(DelayMessage { id, until, error })
    }

    /// The message can never be sent. The row stays if its text was replaced meanwhile.
    #[must_use]
    pub fn drop_message(self, id: MessageId, revision: i64) -> Self {
        self.with_operation(DropMessage { id, revision })
    }
}

#[derive(Debug)]
struct EnqueueMessage {
    message: Message,
    /// Only if this message was posted, or waits in the outbox.
    only_if_posted: Option<MessageKey>,
}

impl Operation for EnqueueMessage {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        if let Some(key) = &self.only_if_posted
            && !is_posted_or_queued(&mut *connection, key).await?
        {
            return Ok(());
        }
        insert_or_replace(connection, &self.message, now).await
    }

    fn wakes(&self, (): &()) -> Wakeups {
        Wakeups::OUTBOX
    }

    fn set_request(&mut self, request: &str) {
        self.message.request.get_or_insert_with(|| request.to_owned());
    }
}

#[derive(Debug)]
struct MarkSent {
    id: MessageId,
    revision: i64,
    posted: Option<PostedMessage>,
}

impl Operation for MarkSent {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        record_sent(connection, self.id, self.revision, self.posted.as_ref(), now).await
    }
}

#[derive(Debug)]
struct DelayMessage {
    id: MessageId,
    until: Timestamp,
    error: Option<String>,
}

impl Operation for DelayMessage {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        // The message was already due, so it is no longer a patient edit: from now on its queue waits for it.
        sqlx::query(
            "UPDATE outbox SET due_at = $1, patient = FALSE, attempts = attempts + $2, error = COALESCE($3, error)
             WHERE id = $4",
        )
        .bind(to_micros_ceil(self.until))
        .bind(i64::from(self.error.is_some()))
        .bind(&self.error)
        .bind(self.id.0)
        .execute(connection)
        .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct DropMessage {
    id: MessageId,
    revision: i64,
}

impl Operation for DropMessage {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        delete_revision(connection, self.id, self.revision).await
    }
}

async fn insert_or_replace(
    connection: &mut SqliteConnection,
    message: &Message,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    if let Some(key) = message.key() {
        let unsent: Option<(i64, String)> = sqlx::query_as("SELECT id, body FROM outbox WHERE key = $1")
            .bind(key.as_str())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some((id, body)) = unsent {
            return replace_unsent(connection, id, &body, message, now).await;
        }
    }
    let queue = find_queue(connection, message).await?;
    let earliest_edit = find_earliest_edit(connection, message).await?;
    sqlx::query("INSERT INTO outbox (queue, key, body, created_at, due_at, patient) VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(queue)
        .bind(message.key().map(MessageKey::as_str))
        .bind(write_body::<StoredMessage>(message.clone())?)
        .bind(to_micros(now))
        .bind(earliest_edit.unwrap_or_default().max(to_micros(now)))
        .bind(earliest_edit.is_some())
        .execute(connection)
        .await?;
    Ok(())
}

/// The earliest time at which a patient edit may replace the posted text. `None` if the message is not patient or not
/// posted.
async fn find_earliest_edit(connection: &mut SqliteConnection, message: &Message) -> Result<Option<i64>, sqlx::Error> {
    let Some(key) = message.key().filter(|_| message.patient) else { return Ok(None) };
    let posted_at: Option<i64> = sqlx::query_scalar("SELECT posted_at FROM posted_message WHERE key = $1")
        .bind(key.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(posted_at.map(|posted_at| posted_at.saturating_add(duration_to_micros(MIN_EDIT_INTERVAL))))
}

/// Puts the newer text into an unsent row. The row keeps its position in the queue, its destination and its file.
async fn replace_unsent(
    connection: &mut SqliteConnection,
    id: i64,
    unsent: &str,
    message: &Message,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let mut newer = message.clone();
    if let Ok(unsent) = read_body::<StoredMessage>(unsent) {
        newer.to = unsent.to;
        newer.file = newer.file.or(unsent.file);
    }
    let body = write_body::<StoredMessage>(newer)?;
    // An urgent text makes a patient row due now. A patient text does not delay an urgent row.
    sqlx::query(
        "UPDATE outbox SET body = $1, revision = revision + 1, patient = patient AND $2,
             due_at = CASE WHEN patient AND NOT $2 THEN MIN(due_at, $3) ELSE due_at END
         WHERE id = $4",
    )
    .bind(body)
    .bind(message.patient)
    .bind(to_micros(now))
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

/// A message, its edits and its thread share a queue, so that they keep their order.
async fn find_queue(connection: &mut SqliteConnection, message: &Message) -> Result<String, sqlx::Error> {
    Ok(match &message.to {
        Destination::Post { channel, thread, .. } => match thread {
            Some(parent) => match find_key_queue(connection, parent).await? {
                Some(queue) => queue,
                None => find_channel_queue(connection, channel).await?,
            },
            None => find_channel_queue(connection, channel).await?,
        },
        Destination::Edit { key } => find_key_queue(connection, key).await?.unwrap_or_else(|| key.as_str().to_owned()),
        Destination::Home { key, .. } => key.as_str().to_owned(),
        Destination::Person { person, .. } => person.as_str().to_owned(),
        // A digest, so that the secret address is stored only in the body, which is deleted after the message was sent.
        Destination::Reply { response_url, .. } => format!("reply:{:x}", Sha256::digest(&response_url.url)),
    })
}

/// A channel has one queue, under its name or its id. Posted messages connect the id with the name.
async fn find_channel_queue(connection: &mut SqliteConnection, channel: &str) -> Result<String, sqlx::Error> {
    let named: Option<String> =
        sqlx::query_scalar("SELECT queue FROM posted_message WHERE channel = $1 AND queue <> $1 LIMIT 1")
            .bind(channel)
            .fetch_optional(connection)
            .await?;
    Ok(named.unwrap_or_else(|| channel.to_owned()))
}

async fn find_key_queue(connection: &mut SqliteConnection, key: &MessageKey) -> Result<Option<String>, sqlx::Error> {
    if let Some(location) = key.to_location() {
        return find_channel_queue(connection, &location.channel).await.map(Some);
    }
    sqlx::query_scalar(
        "SELECT queue FROM outbox WHERE key = $1 UNION ALL SELECT queue FROM posted_message WHERE key = $1",
    )
    .bind(key.as_str())
    .fetch_optional(connection)
    .await
}

async fn record_sent(
    connection: &mut SqliteConnection,
    id: MessageId,
    revision: i64,
    posted: Option<&PostedMessage>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    if let Some(posted) = posted {
        sqlx::query(
            "INSERT INTO posted_message (key, queue, channel, ts, note, posted_at)
             SELECT key, queue, $1, $2, $3, $4 FROM outbox WHERE id = $5 AND key IS NOT NULL
             ON CONFLICT (key) DO UPDATE SET channel = excluded.channel, ts = excluded.ts, note = excluded.note,
                 posted_at = excluded.posted_at",
        )
        .bind(&posted.location.channel)
        .bind(&posted.location.ts)
        .bind(&posted.note)
        .bind(to_micros(now))
        .bind(id.0)
        .execute(&mut *connection)
        .await?;
    }
    // A newer text that arrived meanwhile starts with zero attempts.
    let newer: Option<String> = sqlx::query_scalar(
        "UPDATE outbox SET attempts = 0, error = NULL WHERE id = $1 AND revision <> $2 RETURNING body",
    )
    .bind(id.0)
    .bind(revision)
    .fetch_optional(&mut *connection)
    .await?;
    let newer = newer.and_then(|body| read_body::<StoredMessage>(&body).ok());
    if newer.is_some_and(|newer| newer.patient) {
        sqlx::query("UPDATE outbox SET patient = TRUE, due_at = MAX(due_at, $1) WHERE id = $2")
            .bind(to_micros(now).saturating_add(duration_to_micros(MIN_EDIT_INTERVAL)))
            .bind(id.0)
            .execute(&mut *connection)
            .await?;
    }
    delete_revision(connection, id, revision).await
}

async fn delete_revision(connection: &mut SqliteConnection, id: MessageId, revision: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM outbox WHERE id = $1 AND revision = $2")
        .bind(id.0)
        .bind(revision)
        .execute(connection)
        .await?;
    Ok(())
}

impl StoredBody for StoredMessage {
    const VERSION: u32 = 1;
}

stored! {
    struct StoredMessage for Message {
        to: StoredDestination,
        text: String,
        blocks: Vec<Value>,
        plain: Option<Vec<Value>>,
        link_to: Option<StoredMessageLink>,
        file: Option<StoredMessageFile>,
        broadcast: bool,
        patient: bool,
        request: Option<String>,
    }

    struct StoredMessageFile for MessageFile {
        name: String,
        title: String,
        text: String,
    }

    struct StoredMessageLink for MessageLink {
        key: MessageKey,
        only_elsewhere: bool,
    }

    enum StoredDestination for Destination {
        Post {
            channel: String,
            key: MessageKey,
            thread: Option<MessageKey>,
            asked: Option<StoredFallbackRecipient>,
        },
        Edit { key: MessageKey, },
        Person {
            person: PersonId,
            channel: Option<String>,
            thread: Option<MessageKey>,
            response_url: Option<StoredResponseUrl>,
            replace: bool,
        },
        Home { person: PersonId, key: MessageKey, },
        Reply { response_url: StoredResponseUrl, in_channel: bool, replace: bool, },
    }

    struct StoredFallbackRecipient for FallbackRecipient {
        person: PersonId,
        channel: Option<String>,
    }

    struct StoredResponseUrl for ResponseUrl {
        url: String,
        until: Timestamp,
    }
}
