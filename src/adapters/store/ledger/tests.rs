//! Tests of history in a database file: which events it contains, its pages, and its speed.

use std::time::{Duration, Instant};

use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::*;
use crate::adapters::store::{PostedMessage, Transaction};
use crate::clock::Clock;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::{Destination, Message, MessageKey, MessageLocation};
use crate::domain::sample;

struct Fixture {
    store: Store,
    url: String,
    _dir: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, Clock::new_manual(sample::change().requested_at)).await.unwrap();
        Self { store, url, _dir: dir }
    }

    async fn append(&self, kind: LedgerKind, artefact: Option<&str>, environment: &str) {
        self.store.commit(Transaction::new().append_to_ledger(entry(kind, artefact, environment))).await.unwrap();
    }

    async fn read_entries(
        &self,
        artefact: Option<&str>,
        environment: Option<&str>,
        cursor: Cursor<LedgerPosition>,
    ) -> Vec<(i64, LedgerKind)> {
        let entries = self.store.list_history_entries(&filter(artefact, environment), cursor, 10).await.unwrap();
        entries.into_iter().map(|entries| (entries.number.0, entries.entry.kind)).collect()
    }
}

fn entry(kind: LedgerKind, artefact: Option<&str>, environment: &str) -> LedgerEntry {
    LedgerEntry {
        at: sample::change().requested_at,
        change: None,
        kind,
        artefact: artefact.map(ArtefactName::new),
        environment: Some(EnvironmentName::new(environment)),
        actor: None,
        details: None,
    }
}

fn filter(artefact: Option<&str>, environment: Option<&str>) -> ListFilter {
    ListFilter { artefact: artefact.map(ArtefactName::new), environment: environment.map(EnvironmentName::new) }
}

fn numbers(entries: &[(i64, LedgerKind)]) -> Vec<i64> {
    entries.iter().map(|(number, _)| *number).collect()
}

#[tokio::test]
async fn history_is_newest_first_and_omits_stages_and_reports() {
    let fixture = Fixture::new().await;
    for kind in [
        LedgerKind::Begun,
        LedgerKind::Merging,
        LedgerKind::Report,
        LedgerKind::Arrived,
        LedgerKind::MessageDropped,
        LedgerKind::ArrivalFailed,
        LedgerKind::Released,
        LedgerKind::Carried,
    ] {
        fixture.append(kind, Some("checkout"), "qa").await;
    }
    let kinds = |entries: Vec<(i64, LedgerKind)>| entries.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
    let all = fixture.read_entries(None, None, Cursor::Start).await;
    assert_eq!(kinds(all), [LedgerKind::Released, LedgerKind::ArrivalFailed, LedgerKind::Arrived, LedgerKind::Begun]);
    let of_artefact = fixture.read_entries(Some("checkout"), None, Cursor::Start).await;
    assert_eq!(
        kinds(of_artefact)[0],
        LedgerKind::Carried,
        "the history of one artefact has the changes that carried it along"
    );
}

#[tokio::test]
async fn an_artefact_has_its_own_events_and_those_of_its_environment() {
    let fixture = Fixture::new().await;
    fixture.append(LedgerKind::Arrived, Some("checkout"), "qa").await;
    fixture.append(LedgerKind::Arrived, Some("search"), "qa").await;
    fixture.append(LedgerKind::Arrived, Some("checkout"), "prod").await;
    fixture.append(LedgerKind::Locked, None, "qa").await;
    fixture.append(LedgerKind::Report, None, "qa").await;
    let of = async |artefact, environment| numbers(&fixture.read_entries(artefact, environment, Cursor::Start).await);
    assert_eq!(of(Some("checkout"), None).await, [4, 3, 1]);
    assert_eq!(of(Some("checkout"), Some("qa")).await, [4, 1]);
    assert_eq!(of(Some("checkout"), Some("prod")).await, [3]);
    assert_eq!(of(None, Some("qa")).await, [4, 2, 1]);
    assert_eq!(of(Some("mailer"), Some("prod")).await, [0; 0]);
}

#[tokio::test]
async fn a_page_starts_at_its_cursor_even_after_new_events() {
    let fixture = Fixture::new().await;
    for _ in 0..30 {
        fixture.append(LedgerKind::Arrived, Some("checkout"), "qa").await;
    }
    let first = fixture.read_entries(Some("checkout"), None, Cursor::Start).await;
    assert_eq!(numbers(&first), (21..=30).rev().collect::<Vec<_>>());
    fixture.append(LedgerKind::Arrived, Some("checkout"), "qa").await;
    let second = fixture.read_entries(Some("checkout"), None, Cursor::Earlier(LedgerPosition(21))).await;
    assert_eq!(numbers(&second), (11..=20).rev().collect::<Vec<_>>());
    let back = fixture.read_entries(Some("checkout"), None, Cursor::Later(LedgerPosition(20))).await;
    assert_eq!(numbers(&back), (21..=30).collect::<Vec<_>>(), "the entry next to the cursor comes first");
    assert_eq!(fixture.read_entries(None, None, Cursor::Earlier(LedgerPosition(i64::MIN))).await, []);
    assert_eq!(fixture.read_entries(None, None, Cursor::Later(LedgerPosition(i64::MAX))).await, []);
}

#[tokio::test]
async fn the_begin_of_a_change_has_the_current_change() {
    let fixture = Fixture::new().await;
    let change = sample::change();
    let begun = LedgerEntry { change: Some(change.id.to_string()), ..entry(LedgerKind::Begun, Some("checkout"), "qa") };
    let step = LedgerEntry {
        kind: LedgerKind::Deploying,
        at: change.requested_at + jiff::SignedDuration::from_secs(9),
        ..begun.clone()
    };
    fixture.store.commit(Transaction::new().begin_change(change.clone()).append_to_ledger(begun)).await.unwrap();
    let past = fixture.store.list_history_entries(&ListFilter::default(), Cursor::Start, 9).await.unwrap();
    assert_eq!(past[0].change.as_ref(), Some(&change));
    let since = async || fixture.store.find_stage_starts(&[change.id]).await.unwrap().remove(&change.id);
    assert_eq!(since().await, Some(change.requested_at));
    fixture.store.commit(Transaction::new().append_to_ledger(step.clone())).await.unwrap();
    fixture.store.commit(Transaction::new().append_to_ledger(entry(LedgerKind::Approved, None, "qa"))).await.unwrap();
    assert_eq!(since().await, Some(step.at));
    assert!(fixture.store.find_stage_starts(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_locations_of_several_messages_are_found_at_once() {
    let fixture = Fixture::new().await;
    let key = MessageKey::new("card:1");
    let to = Destination::Post { channel: "C0DEPLOYS".into(), key: key.clone(), thread: None, asked: None };
    let message = Message::new(to, "card".into(), Vec::new());
    fixture.store.commit(Transaction::new().enqueue_message(message)).await.unwrap();
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    let outgoing = fixture.store.find_outgoing_message(next.id).await.unwrap().unwrap();
    let unsent = fixture.store.find_message_locations(std::slice::from_ref(&key)).await.unwrap();
    assert!(unsent.is_empty(), "it is not sent yet");
    let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.2".into() };
    let posted = PostedMessage { location: location.clone(), note: None };
    fixture.store.commit(Transaction::new().mark_sent(next.id, outgoing.revision, Some(posted))).await.unwrap();
    let locations = fixture.store.find_message_locations(&[key.clone(), MessageKey::new("card:2")]).await.unwrap();
    assert_eq!(locations, HashMap::from([(key, location)]));
    assert!(fixture.store.find_message_locations(&[]).await.unwrap().is_empty());
}

/// Ten times the entries of a busy team in a year, most of them reports.
#[tokio::test]
async fn a_ledger_of_many_years_is_read_quickly() {
    let fixture = Fixture::new().await;
    let mut connection = SqliteConnection::connect(&fixture.url).await.unwrap();
    sqlx::query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
         INSERT INTO ledger (at, kind, artefact, environment, body)
         SELECT i, CASE WHEN i = 7 THEN 'locked' WHEN i % 10 = 0 THEN 'arrived' ELSE 'report' END,
                CASE WHEN i = 3000 THEN 'rare' WHEN i % 10 = 0 THEN 'a' || (i / 10 % 50) END, 'e' || (i % 4), '{}' FROM n",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();

    for (artefact, environment) in [
        (None, None),
        (None, Some("e2")),
        (None, Some("never")),
        (Some("a7"), None),
        (Some("a7"), Some("e2")),
        (Some("rare"), None),
        (Some("rare"), Some("e1")),
        (Some("never"), Some("e3")),
    ] {
        for cursor in [Cursor::Start, Cursor::Earlier(LedgerPosition(25_000)), Cursor::Later(LedgerPosition(25_000))] {
            let mut best = Duration::MAX;
            for _ in 0..5 {
                let begin = Instant::now();
                fixture.store.list_history_entries(&filter(artefact, environment), cursor, 21).await.unwrap();
                best = best.min(begin.elapsed());
            }
            // An unoptimised build, on a machine that may be busy.
            assert!(best < Duration::from_millis(10), "{artefact:?} {environment:?} {cursor:?} took {best:?}");
        }
    }
}
