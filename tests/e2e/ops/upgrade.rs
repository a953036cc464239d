//! Today's bot on the databases of earlier versions that were killed during their work (see `tests/data/databases`): it
//! starts, ends the open changes, sends the waiting messages, and answers from the history.

use std::path::{Path, PathBuf};

use gantry::adapters::reports::Report;
use gantry::adapters::reports::github::{Build, GithubNotice};
use gantry::adapters::slack::incoming::IncomingRequest;
use gantry::adapters::store::{InboxQueue, LedgerDetails, LedgerEntry, LedgerFilter, LedgerKind, Store, Transaction};
use gantry::clock::Clock;
use gantry::domain::model::ids::ChangeId;
use gantry::domain::model::message::{Destination, Message};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::{Connection, SqliteConnection};
use tokio::task::JoinSet;

use crate::harness::world::World;

/// The address of the world in which the databases were made.
const FORMER_ORIGIN: &str = "http://127.0.0.1:8484";

/// The database of an earlier version, as SQL.
struct OldDatabase {
    name: String,
    sql: String,
}

impl OldDatabase {
    fn load_all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/databases");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let dumps = files.filter(|path: &PathBuf| path.extension().is_some_and(|ending| ending == "sql"));
        let all: Vec<_> = dumps
            .map(|path| Self {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                sql: std::fs::read_to_string(&path).unwrap(),
            })
            .collect();
        assert!(!all.is_empty(), "the folder has no database");
        all
    }

    /// Writes the database as a file, with the present address of the world.
    async fn restore(&self, folder: &Path, origin: &str) -> String {
        let url = format!("sqlite://{}", folder.join("gantry.db").display());
        let mut connection = SqliteConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
        let sql = self.sql.replace(FORMER_ORIGIN, origin);
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        url
    }

    /// Reads the contents with today's types.
    async fn read(&self) -> DatabaseContents {
        let folder = tempfile::tempdir().unwrap();
        let url = self.restore(folder.path(), FORMER_ORIGIN).await;
        // At this time everything is due.
        let clock = Clock::new_manual("2030-01-01T00:00:00Z".parse().unwrap());
        let store = Store::open(&url, clock).await.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let unanswered = store.list_due_inbox_items(InboxQueue::Requests, 100).await.unwrap();
        for waiting in &unanswered {
            assert!(
                serde_json::from_value::<IncomingRequest>(waiting.body.clone()).is_ok(),
                "{}: {waiting:?}",
                self.name
            );
        }
        for waiting in store.list_due_inbox_items(InboxQueue::Webhooks, 1000).await.unwrap() {
            assert!(is_webhook_body(&waiting.body), "{}: {waiting:?}", self.name);
        }
        let entries = store.list_ledger_entries(&LedgerFilter::default(), 10_000).await.unwrap();
        for entry in &entries {
            let is_readable = match (entry.kind, &entry.details) {
                (LedgerKind::Report, Some(LedgerDetails::Report { report, .. })) => {
                    serde_json::from_value::<Report>(report.clone()).is_ok()
                }
                (LedgerKind::Build, Some(LedgerDetails::Build(build))) => {
                    serde_json::from_value::<Build>(build.clone()).is_ok()
                }
                (kind, _) => !matches!(kind, LedgerKind::Report | LedgerKind::Build),
            };
            assert!(is_readable, "{}: {entry:?}", self.name);
        }
        let mut changes = Vec::new();
        for id in entries.iter().filter(|entry| entry.kind == LedgerKind::Begun).map(change_of) {
            changes.push((id, store.find_change(id).await.unwrap().unwrap().stage.name().to_owned()));
        }
        let mut unsent = Vec::new();
        while let Some(turn) = store.list_next_messages().await.unwrap().into_iter().next() {
            let outgoing = store.find_outgoing_message(turn.id).await.unwrap().unwrap();
            unsent.push(outgoing.message.unwrap_or_else(|error| panic!("{}: {error}", self.name)));
            store.commit(Transaction::new().drop_message(outgoing.id, outgoing.revision)).await.unwrap();
        }
        store.close().await;
        DatabaseContents { at: entries[0].at, changes, unsent_messages: unsent, unanswered: unanswered.len() }
    }
}

/// The contents of an old database that the test checks.
struct DatabaseContents {
    /// The time of the newest ledger entry.
    at: Timestamp,
    /// The changes with their stages.
    changes: Vec<(ChangeId, String)>,
    unsent_messages: Vec<Message>,
    unanswered: usize,
}

fn change_of(entry: &LedgerEntry) -> ChangeId {
    ChangeId::parse(entry.change.as_deref().unwrap()).unwrap()
}

/// Whether the body is one of the stored types of webhooks.
fn is_webhook_body(body: &Value) -> bool {
    serde_json::from_value::<Report>(body.clone()).is_ok()
        || serde_json::from_value::<Build>(body.clone()).is_ok()
        || serde_json::from_value::<GithubNotice>(body.clone()).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn todays_bot_continues_the_work_of_every_earlier_version() {
    let mut all = JoinSet::new();
    for database in OldDatabase::load_all() {
        all.spawn(check_upgrade(database));
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

async fn check_upgrade(database: OldDatabase) {
    let name = &database.name;
    let found = database.read().await;
    // The bot was down for three minutes. The repositories of this world do not have the commits of the old one.
    let start = found.at + SignedDuration::from_mins(3);
    let world = World::with_existing_database(start, async |folder: &Path, origin: &str| {
        drop(database.restore(folder, origin).await);
    })
    .await;

    assert_all_messages_sent(&world, &found, name).await;
    assert_changes_ended(&world, &found, name).await;
    assert_history_is_answered(&world, &found, name).await;
}

async fn assert_all_messages_sent(world: &World, found: &DatabaseContents, name: &str) {
    let pending = world.bot.store.measure_outstanding_work().await.unwrap();
    assert_eq!((pending.inbox, pending.outbox), (0, 0), "{name}");
    let of_kind = async |kind: LedgerKind| {
        let filter = LedgerFilter { kind: Some(kind), ..LedgerFilter::default() };
        world.bot.store.list_ledger_entries(&filter, 1000).await.unwrap()
    };
    assert_eq!(of_kind(LedgerKind::MessageDropped).await, [], "{name}");
    let texts = texts(world);
    for message in &found.unsent_messages {
        let arrived = message.key().is_some_and(|key| key.as_str().starts_with("arrival:"));
        if arrived || matches!(message.to, Destination::Person { .. } | Destination::Reply { .. }) {
            let text = message.text.replace(FORMER_ORIGIN, &world.origin);
            assert!(texts.contains(&text), "{name}: {text:?} was not sent, but {texts:#?}");
        }
        // The text of a card has changed by now, so only its existence is checked.
        if let Some(key) = message.key() {
            let location = world.bot.store.find_posted_message(key).await.unwrap().unwrap().location;
            let is_posted =
                |channel| world.sim.slack.messages(channel, None).iter().any(|message| message.id == location.ts);
            assert!(is_posted("deploys") || is_posted("releases"), "{name}: {key:?} was not posted");
        }
    }
    // The unanswered requests are promotions that were typed while GitHub was down. Here they can begin.
    let begun = of_kind(LedgerKind::Begun).await.len();
    assert_eq!(begun, found.changes.len() + found.unanswered, "{name}");
}

async fn assert_changes_ended(world: &World, found: &DatabaseContents, name: &str) {
    for (id, before) in &found.changes {
        let change = world.bot.store.find_change(*id).await.unwrap().unwrap();
        let expected = match before.as_str() {
            "deploying" => "stalled",
            "awaiting_approval" => "errored",
            over => over,
        };
        assert_eq!(change.stage.name(), expected, "{name}: {change:?}");
    }
}

async fn assert_history_is_answered(world: &World, found: &DatabaseContents, name: &str) {
    // The first answer looks the person up and comes later. The second is the acknowledgement itself.
    world.alice().types("/list").await;
    let list = world.alice().types("/list").await;
    for artefact in ["checkout", "search", "storefront", "mailer"] {
        assert!(list.contains(artefact), "{name}: {list}");
    }
    let history = world.alice().types("/gantry history 20").await;
    assert!(history.contains("*What happened*") && !history.contains("cannot read"), "{name}: {history}");
    let earlier = world.alice().types("/gantry history checkout 20").await;
    assert!(earlier.contains("*checkout*") && !earlier.contains("cannot read"), "{name}: {earlier}");
    let status = world.alice().types("/gantry status").await;
    let watched = found.changes.iter().any(|(_, stage)| stage == "deploying");
    assert_eq!(status.contains("*storefront*"), watched, "{name}: {status}");
    for (id, stage) in &found.changes {
        let status = world.alice().types(&format!("/gantry status {}", id.to_short_id())).await;
        assert!(status.contains("asked by"), "{name}: {stage}: {status}");
        let missing = status.contains("*Why:* GitHub does not have it: the pull request");
        assert_eq!(missing, stage == "awaiting_approval", "{name}: {status}");
    }
}

/// The texts of all messages in all places.
fn texts(world: &World) -> Vec<String> {
    let places = ["deploys", "releases", "@gantry"];
    let people = ["alice", "bob", "carol", "dave"];
    let messages = people.iter().flat_map(|person| places.map(|place| world.sim.slack.messages(place, Some(person))));
    messages.flatten().map(|message| message.text).collect()
}
