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

struct House {
    store: Store,
    url: String,
    _dir: TempDir,
}

impl House {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, Clock::new_manual(sample::change().asked_at)).await.unwrap();
        Self { store, url, _dir: dir }
    }

    async fn happens(&self, kind: LedgerKind, artefact: Option<&str>, environment: &str) {
        self.store.commit(Transaction::new().append_to_ledger(entry(kind, artefact, environment))).await.unwrap();
    }

    async fn read_entries(
        &self,
        artefact: Option<&str>,
        environment: Option<&str>,
        cursor: Cursor<LedgerPosition>,
    ) -> Vec<(i64, LedgerKind)> {
        let past = self.store.list_history_entries(&filter(artefact, environment), cursor, 10).await.unwrap();
        past.into_iter().map(|past| (past.number.0, past.entry.kind)).collect()
    }
}

fn entry(kind: LedgerKind, artefact: Option<&str>, environment: &str) -> LedgerEntry {
    LedgerEntry {
        at: sample::change().asked_at,
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

fn numbers(told: &[(i64, LedgerKind)]) -> Vec<i64> {
    told.iter().map(|(number, _)| *number).collect()
}

#[tokio::test]
async fn what_happened_is_told_newest_first_and_steps_and_reports_are_not() {
    let house = House::new().await;
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
        house.happens(kind, Some("checkout"), "qa").await;
    }
    let kinds = |told: Vec<(i64, LedgerKind)>| told.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
    let all = house.read_entries(None, None, Cursor::Start).await;
    assert_eq!(kinds(all), [LedgerKind::Released, LedgerKind::ArrivalFailed, LedgerKind::Arrived, LedgerKind::Begun]);
    let of_one = house.read_entries(Some("checkout"), None, Cursor::Start).await;
    assert_eq!(kinds(of_one)[0], LedgerKind::Carried, "whoever asks for one artefact is told what carried it along");
}

#[tokio::test]
async fn an_artefact_has_its_own_and_what_concerns_the_whole_environment() {
    let house = House::new().await;
    house.happens(LedgerKind::Arrived, Some("checkout"), "qa").await;
    house.happens(LedgerKind::Arrived, Some("search"), "qa").await;
    house.happens(LedgerKind::Arrived, Some("checkout"), "prod").await;
    house.happens(LedgerKind::Locked, None, "qa").await;
    house.happens(LedgerKind::Report, None, "qa").await;
    let of = async |artefact, environment| numbers(&house.read_entries(artefact, environment, Cursor::Start).await);
    assert_eq!(of(Some("checkout"), None).await, [4, 3, 1]);
    assert_eq!(of(Some("checkout"), Some("qa")).await, [4, 1]);
    assert_eq!(of(Some("checkout"), Some("prod")).await, [3]);
    assert_eq!(of(None, Some("qa")).await, [4, 2, 1]);
    assert_eq!(of(Some("mailer"), Some("prod")).await, [0; 0]);
}

#[tokio::test]
async fn a_page_begins_beside_an_item_whatever_happens_meanwhile() {
    let house = House::new().await;
    for _ in 0..30 {
        house.happens(LedgerKind::Arrived, Some("checkout"), "qa").await;
    }
    let first = house.read_entries(Some("checkout"), None, Cursor::Start).await;
    assert_eq!(numbers(&first), (21..=30).rev().collect::<Vec<_>>());
    house.happens(LedgerKind::Arrived, Some("checkout"), "qa").await;
    let second = house.read_entries(Some("checkout"), None, Cursor::Earlier(LedgerPosition(21))).await;
    assert_eq!(numbers(&second), (11..=20).rev().collect::<Vec<_>>());
    let back = house.read_entries(Some("checkout"), None, Cursor::Later(LedgerPosition(20))).await;
    assert_eq!(numbers(&back), (21..=30).collect::<Vec<_>>(), "the one next to the cursor comes first");
    assert_eq!(house.read_entries(None, None, Cursor::Earlier(LedgerPosition(i64::MIN))).await, []);
    assert_eq!(house.read_entries(None, None, Cursor::Later(LedgerPosition(i64::MAX))).await, []);
}

#[tokio::test]
async fn a_change_comes_as_it_stands_now() {
    let house = House::new().await;
    let change = sample::change();
    let begun = LedgerEntry { change: Some(change.id.to_string()), ..entry(LedgerKind::Begun, Some("checkout"), "qa") };
    let step = LedgerEntry {
        kind: LedgerKind::Deploying,
        at: change.asked_at + jiff::SignedDuration::from_secs(9),
        ..begun.clone()
    };
    house.store.commit(Transaction::new().begin_change(change.clone()).append_to_ledger(begun)).await.unwrap();
    let past = house.store.list_history_entries(&ListFilter::default(), Cursor::Start, 9).await.unwrap();
    assert_eq!(past[0].change.as_ref(), Some(&change));
    let since = async || house.store.find_stage_starts(&[change.id]).await.unwrap().remove(&change.id);
    assert_eq!(since().await, Some(change.asked_at));
    house.store.commit(Transaction::new().append_to_ledger(step.clone())).await.unwrap();
    house.store.commit(Transaction::new().append_to_ledger(entry(LedgerKind::Approved, None, "qa"))).await.unwrap();
    assert_eq!(since().await, Some(step.at));
    assert!(house.store.find_stage_starts(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_places_of_messages_are_told_at_once() {
    let house = House::new().await;
    let key = MessageKey::new("card:1");
    let to = Destination::Post { channel: "C0DEPLOYS".into(), key: key.clone(), thread: None, asked: None };
    let message = Message::new(to, "card".into(), Vec::new());
    house.store.commit(Transaction::new().enqueue_message(message)).await.unwrap();
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    let outgoing = house.store.find_outgoing_message(turn.id).await.unwrap().unwrap();
    let unsaid = house.store.find_message_locations(std::slice::from_ref(&key)).await.unwrap();
    assert!(unsaid.is_empty(), "it is on its way");
    let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.2".into() };
    let said = PostedMessage { location: place.clone(), note: None };
    house.store.commit(Transaction::new().mark_sent(turn.id, outgoing.revision, Some(said))).await.unwrap();
    let known = house.store.find_message_locations(&[key.clone(), MessageKey::new("card:2")]).await.unwrap();
    assert_eq!(known, HashMap::from([(key, place)]));
    assert!(house.store.find_message_locations(&[]).await.unwrap().is_empty());
}

/// Ten times the entries of a busy team in a year, most of them reports.
#[tokio::test]
async fn a_ledger_of_many_years_is_read_quickly() {
    let house = House::new().await;
    let mut connection = SqliteConnection::connect(&house.url).await.unwrap();
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
                house.store.list_history_entries(&filter(artefact, environment), cursor, 21).await.unwrap();
                best = best.min(begin.elapsed());
            }
            // An unoptimised build, on a machine that may be busy.
            assert!(best < Duration::from_millis(10), "{artefact:?} {environment:?} {cursor:?} took {best:?}");
        }
    }
}
