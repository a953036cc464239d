//! What is written in one transaction: effects, what they leave in the ledger, and what they say.

use jiff::Timestamp;
use serde_json::Value;
use sqlx::SqliteConnection;

use super::change::{self, Fence, Shown};
use super::comparison;
use super::found_commit;
use super::lock;
use super::outbox::{self, MessageId, Said};
use super::quarantine;
use super::unmapped_report;
use super::{InboxId, micros, micros_up, timestamp, unwritable};
use crate::domain::actor::{Actor, PersonId};
use crate::domain::artefact::{ArtefactName, Repository};
use crate::domain::attribution::{Object, Stray};
use crate::domain::change::{Change, ChangeId};
use crate::domain::comparison::Comparison;
use crate::domain::environment::EnvironmentName;
use crate::domain::lock::{Lock, LockId};
use crate::domain::message::{Message, MessageKey};
use crate::domain::quarantine::{Hold, Quarantine};
use crate::domain::sighting::Sighting;
use crate::domain::sought::Kind;
use crate::domain::version::{Commit, Sha, Version};

/// One thing that happened; never changed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub at: Timestamp,
    pub change: Option<String>,
    pub kind: String,
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
    pub actor: Option<Actor>,
    pub body: Value,
}

/// Which commit an image was built from; `commit` is `None` where nothing tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageCommit {
    pub image: String,
    /// A tag or a digest.
    pub reference: String,
    pub commit: Option<Sha>,
    /// What told us.
    pub proof: String,
}

/// Writes that take effect together or not at all, in this order.
#[derive(Clone, Debug, Default)]
pub struct Transaction(Vec<Write>);

#[derive(Clone, Debug)]
pub(super) enum Write {
    Done(InboxId),
    Postpone { id: InboxId, until: Timestamp, error: String, counts: bool },
    Say(Message),
    SayUpon { message: Message, key: MessageKey },
    Sent { id: MessageId, revision: i64, said: Option<Said> },
    Delay { id: MessageId, until: Timestamp, error: Option<String> },
    Unsay { id: MessageId, revision: i64 },
    Ledger(Entry),
    Saw(Sighting),
    ImageCommit(ImageCommit),
    Comparison(Repository, Box<Comparison>),
    Find { repository: Repository, commit: Box<Commit>, by: Kind },
    Setting { key: String, value: String },
    Begin(Box<Change>),
    Advance { change: Box<Change>, fence: Fence, due_at: Option<Timestamp> },
    AskToCancel { id: ChangeId, by: PersonId },
    NameTag { repository: Repository, name: String, id: ChangeId },
    Show(Box<Shown>),
    UseUp(ChangeId),
    Lock(Box<Lock>),
    Unlock(LockId),
    Nudged(LockId),
    Quarantine(Box<Quarantine>),
    Release { change: ChangeId, by: PersonId },
    Hold(Box<Hold>),
    Lift(ChangeId),
    Unmapped(Box<Stray>),
    Mapped { environment: EnvironmentName, sender: String, object: Box<Object> },
}

impl Transaction {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The inbox item is worked off. Its key stays for a while, its body goes.
    #[must_use]
    pub fn done(self, id: InboxId) -> Self {
        self.with(Write::Done(id))
    }

    #[must_use]
    pub fn postpone(self, id: InboxId, until: Timestamp, error: &str) -> Self {
        self.with(Write::Postpone { id, until, error: error.to_owned(), counts: true })
    }

    /// The same for what takes its time: that is no failed attempt.
    #[must_use]
    pub fn wait(self, id: InboxId, until: Timestamp, why: &str) -> Self {
        self.with(Write::Postpone { id, until, error: why.to_owned(), counts: false })
    }

    /// Puts a message into the outbox, or into the place of an unsent one of the same key.
    #[must_use]
    pub fn say(self, message: Message) -> Self {
        self.with(Write::Say(message))
    }

    /// The same, but only where the message `key` stands or is about to.
    #[must_use]
    pub fn say_upon(self, key: MessageKey, message: Message) -> Self {
        self.with(Write::SayUpon { message, key })
    }

    /// Slack has the message. The row stays if a newer text took its place meanwhile.
    #[must_use]
    pub fn sent(self, id: MessageId, revision: i64, said: Option<Said>) -> Self {
        self.with(Write::Sent { id, revision, said })
    }

    /// The message waits; with an `error` this counts as an attempt.
    #[must_use]
    pub fn delay(self, id: MessageId, until: Timestamp, error: Option<String>) -> Self {
        self.with(Write::Delay { id, until, error })
    }

    /// The message can never be sent. The row stays if a newer text took its place meanwhile.
    #[must_use]
    pub fn unsay(self, id: MessageId, revision: i64) -> Self {
        self.with(Write::Unsay { id, revision })
    }

    #[must_use]
    pub fn ledger(self, entry: Entry) -> Self {
        self.with(Write::Ledger(entry))
    }

    /// Updates the current stay if it is of the same version, else ends it and begins this one. A stay that has
    /// already ended, of another version than the current, is only recorded. Of what was once known, `running_at`,
    /// `announced` and the version's parts are not forgotten; `failed` and `well_since` are as they are now.
    #[must_use]
    pub fn saw(self, sighting: Sighting) -> Self {
        self.with(Write::Saw(sighting))
    }

    #[must_use]
    pub fn image_commit(self, image_commit: ImageCommit) -> Self {
        self.with(Write::ImageCommit(image_commit))
    }

    #[must_use]
    pub fn comparison(self, repository: Repository, comparison: Comparison) -> Self {
        self.with(Write::Comparison(repository, Box::new(comparison)))
    }

    /// A commit that somebody looked for was found by that name.
    #[must_use]
    pub fn find(self, repository: Repository, commit: Commit, by: Kind) -> Self {
        self.with(Write::Find { repository, commit: Box::new(commit), by })
    }

    #[must_use]
    pub fn setting(self, key: &str, value: &str) -> Self {
        self.with(Write::Setting { key: key.to_owned(), value: value.to_owned() })
    }

    /// A new change, which takes the lock on what moves. The transaction fails with `Held` where another has it.
    #[must_use]
    pub fn begin(self, change: Change) -> Self {
        self.with(Write::Begin(Box::new(change)))
    }

    /// The change as it stands now, to be looked at again at `due_at`. The transaction fails with `Overtaken` where somebody
    /// else has claimed it since.
    #[must_use]
    pub fn advance(self, change: Change, fence: Fence, due_at: Option<Timestamp>) -> Self {
        self.with(Write::Advance { change: Box::new(change), fence, due_at })
    }

    #[must_use]
    pub fn ask_to_cancel(self, id: ChangeId, by: PersonId) -> Self {
        self.with(Write::AskToCancel { id, by })
    }

    #[must_use]
    pub fn name_tag(self, repository: Repository, name: &str, id: ChangeId) -> Self {
        self.with(Write::NameTag { repository, name: name.to_owned(), id })
    }

    /// A plan was shown, and may be confirmed.
    #[must_use]
    pub fn show(self, shown: Shown) -> Self {
        self.with(Write::Show(Box::new(shown)))
    }

    /// A plan is confirmed or dropped. The transaction fails with `Overtaken` where it was before.
    #[must_use]
    pub fn use_up(self, plan: ChangeId) -> Self {
        self.with(Write::UseUp(plan))
    }

    /// The transaction fails with `Overtaken` where another lock is in force there.
    #[must_use]
    pub fn lock(self, lock: Lock) -> Self {
        self.with(Write::Lock(Box::new(lock)))
    }

    /// The transaction fails with `Overtaken` where the lock was ended before.
    #[must_use]
    pub fn unlock(self, lock: LockId) -> Self {
        self.with(Write::Unlock(lock))
    }

    /// Its owner was reminded of it, and will be again in a day. The transaction fails with `Overtaken` where it was ended.
    #[must_use]
    pub fn nudged(self, lock: LockId) -> Self {
        self.with(Write::Nudged(lock))
    }

    /// What a rollback took back may not come back until it is released.
    #[must_use]
    pub fn quarantine(self, quarantine: Quarantine) -> Self {
        self.with(Write::Quarantine(Box::new(quarantine)))
    }

    /// The transaction fails with `Overtaken` where it was released before.
    #[must_use]
    pub fn release(self, rollback: ChangeId, by: PersonId) -> Self {
        self.with(Write::Release { change: rollback, by })
    }

    #[must_use]
    pub fn hold(self, hold: Hold) -> Self {
        self.with(Write::Hold(Box::new(hold)))
    }

    /// A promotion was begun in the face of what this rollback left.
    #[must_use]
    pub fn lift(self, rollback: ChangeId) -> Self {
        self.with(Write::Lift(rollback))
    }

    /// A report that is about nobody is kept, or counted where one like it is.
    #[must_use]
    pub fn unmapped(self, stray: Stray) -> Self {
        self.with(Write::Unmapped(Box::new(stray)))
    }

    /// A report of that object found its artefacts: whatever hindered those before it is repaired.
    #[must_use]
    pub fn mapped(self, environment: EnvironmentName, sender: &str, object: Object) -> Self {
        self.with(Write::Mapped { environment, sender: sender.to_owned(), object: Box::new(object) })
    }

    /// What it begins and says is known by the request that led to it; what is known by another stays so.
    #[must_use]
    pub fn asked_by(mut self, request: &str) -> Self {
        for write in &mut self.0 {
            match write {
                Write::Begin(change) => _ = change.request.get_or_insert_with(|| request.to_owned()),
                Write::Say(message) | Write::SayUpon { message, .. } => {
                    message.request.get_or_insert_with(|| request.to_owned());
                }
                _ => {}
            }
        }
        self
    }

    /// Everything of `other` behind everything of this.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn with(mut self, write: Write) -> Self {
        self.0.push(write);
        self
    }

    pub(super) fn into_writes(self) -> Vec<Write> {
        self.0
    }
}

impl Write {
    /// Does it put something into the outbox?
    pub(super) fn speaks(&self) -> bool {
        matches!(self, Self::Say(_) | Self::SayUpon { .. })
    }

    pub(super) fn concerns_a_change(&self) -> bool {
        matches!(
            self,
            Self::Begin(_) | Self::Advance { .. } | Self::AskToCancel { .. } | Self::Unlock(_) | Self::Release { .. }
        )
    }

    pub(super) fn locks(&self) -> bool {
        matches!(self, Self::Lock(_))
    }

    pub(super) async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        match self {
            Self::Done(id) => {
                sqlx::query("UPDATE inbox SET done_at = $1, body = NULL, error = NULL WHERE id = $2")
                    .bind(micros(now))
                    .bind(id.0)
                    .execute(connection)
                    .await?;
            }
            Self::Postpone { id, until, error, counts } => {
                sqlx::query("UPDATE inbox SET due_at = $1, attempts = attempts + $4, error = $2 WHERE id = $3")
                    .bind(micros_up(*until))
                    .bind(error)
                    .bind(id.0)
                    .bind(i64::from(*counts))
                    .execute(connection)
                    .await?;
            }
            Self::Say(message) => outbox::say(connection, message, now).await?,
            Self::SayUpon { message, key } => {
                if outbox::is_spoken(&mut *connection, key).await? {
                    outbox::say(connection, message, now).await?;
                }
            }
            Self::Sent { id, revision, said } => outbox::sent(connection, *id, *revision, said.as_ref(), now).await?,
            Self::Delay { id, until, error } => outbox::delay(connection, *id, *until, error.as_deref()).await?,
            Self::Unsay { id, revision } => outbox::unsay(connection, *id, *revision).await?,
            Self::Ledger(entry) => append(connection, entry).await?,
            Self::Saw(sighting) => saw(connection, sighting).await?,
            Self::Begin(new) => change::begin(connection, new).await?,
            Self::Advance { change: new, fence, due_at } => {
                change::advance(connection, new, *fence, *due_at).await?;
            }
            Self::AskToCancel { id, by } => change::ask_to_cancel(connection, *id, by, now).await?,
            Self::NameTag { repository, name, id } => change::name_tag(connection, repository, name, *id).await?,
            Self::Show(shown) => change::show(connection, shown).await?,
            Self::UseUp(plan) => change::use_up(connection, *plan).await?,
            Self::Lock(lock) => lock::lock(connection, lock, now).await?,
            Self::Unlock(id) => {
                let environment = lock::unlock(connection, *id).await?;
                change::look_again(connection, Some(&environment), now).await?;
            }
            Self::Nudged(id) => lock::nudged(connection, *id, now).await?,
            Self::Quarantine(new) => quarantine::quarantine(connection, new).await?,
            Self::Release { change: rollback, by } => {
                quarantine::release(connection, *rollback, by, now).await?;
                change::look_again(connection, None, now).await?;
            }
            Self::Hold(new) => quarantine::hold(connection, new).await?,
            Self::Lift(change) => quarantine::lift(connection, *change).await?,
            Self::Unmapped(stray) => unmapped_report::unmapped(connection, stray).await?,
            Self::Mapped { environment, sender, object } => {
                unmapped_report::mapped(connection, environment, sender, object).await?;
            }
            Self::ImageCommit(known) => {
                sqlx::query(
                    "INSERT INTO image_commit (image, reference, commit_sha, proof, learned_at)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (image, reference) DO UPDATE
                     SET commit_sha = excluded.commit_sha, proof = excluded.proof, learned_at = excluded.learned_at",
                )
                .bind(&known.image)
                .bind(&known.reference)
                .bind(known.commit.as_ref().map(Sha::as_str))
                .bind(&known.proof)
                .bind(micros(now))
                .execute(connection)
                .await?;
            }
            Self::Comparison(repository, known) => comparison::keep(connection, repository, known).await?,
            Self::Find { repository, commit, by } => {
                found_commit::find(connection, repository, commit, by, now).await?;
            }
            Self::Setting { key, value } => {
                sqlx::query(
                    "INSERT INTO setting (key, value) VALUES ($1, $2)
                     ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                )
                .bind(key)
                .bind(value)
                .execute(connection)
                .await?;
            }
        }
        Ok(())
    }
}

async fn append(connection: &mut SqliteConnection, entry: &Entry) -> Result<(), sqlx::Error> {
    let actor = entry.actor.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?;
    sqlx::query(
        "INSERT INTO ledger (at, change_id, kind, artefact, environment, actor, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(micros(entry.at))
    .bind(&entry.change)
    .bind(&entry.kind)
    .bind(entry.artefact.as_ref().map(ArtefactName::as_str))
    .bind(entry.environment.as_ref().map(EnvironmentName::as_str))
    .bind(actor)
    .bind(entry.body.to_string())
    .execute(connection)
    .await?;
    Ok(())
}

type StayRow = (i64, Option<String>, Option<String>, Option<String>, i64);

async fn saw(connection: &mut SqliteConnection, sighting: &Sighting) -> Result<(), sqlx::Error> {
    let current: Option<StayRow> = sqlx::query_as(
        "SELECT id, tag, digest, commit_sha, seen_at FROM sighting
         WHERE artefact = $1 AND environment = $2 AND ended_at IS NULL",
    )
    .bind(sighting.artefact.as_str())
    .bind(sighting.environment.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    if let Some((id, tag, digest, commit, seen_at)) = current {
        if version(tag, digest, commit).is(&sighting.version) {
            return update(connection, id, sighting).await;
        }
        if sighting.ended_at.is_none() {
            // A clock that was set back must not make a stay end before it began.
            let ended_at = sighting.seen_at.max(timestamp(seen_at));
            sqlx::query("UPDATE sighting SET ended_at = $1 WHERE id = $2")
                .bind(micros(ended_at))
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
    .bind(micros(sighting.seen_at))
    .bind(sighting.running_at.map(micros))
    .bind(sighting.well_since.map(micros))
    .bind(&sighting.failed)
    .bind(sighting.ended_at.map(micros))
    .bind(sighting.announced)
    .execute(connection)
    .await?;
    Ok(())
}

async fn update(connection: &mut SqliteConnection, id: i64, sighting: &Sighting) -> Result<(), sqlx::Error> {
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
    .bind(sighting.running_at.map(micros))
    .bind(sighting.well_since.map(micros))
    .bind(&sighting.failed)
    .bind(sighting.ended_at.map(micros))
    .bind(sighting.announced)
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) fn version(tag: Option<String>, digest: Option<String>, commit: Option<String>) -> Version {
    Version { tag: tag.map(Into::into), digest: digest.map(Into::into), commit: commit.and_then(|c| c.parse().ok()) }
}
