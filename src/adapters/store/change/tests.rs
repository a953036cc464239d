//! Tests of changes in a database file: the change lock, the fence, and due times.

use futures::future::join_all;
use jiff::SignedDuration;
use tempfile::TempDir;

use super::*;
use crate::adapters::store::{ShownPlan, Transaction};
use crate::clock::Clock;
use crate::domain::change::{DeployState, FailureEvidence, Proof, ResultTag, Stage};
use crate::domain::model::artefact::Repository;
use crate::domain::sample;

struct Fixture {
    store: Store,
    clock: Clock,
    _dir: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::new_manual(sample::change().requested_at);
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        Self { store: Store::open(&url, clock.clone()).await.unwrap(), clock, _dir: dir }
    }

    async fn begin(&self, change: &Change) -> Result<(), StoreError> {
        self.store.commit(Transaction::new().begin_change(change.clone())).await
    }

    async fn claim(&self, change: &Change) -> Claim {
        self.store.claim_changes(vec![change.id]).await.unwrap().pop().expect("a claim")
    }

    async fn advance(&self, claim: &Claim, stage: Stage, due: Option<Timestamp>) -> Result<(), StoreError> {
        let change = Change { stage, ..claim.change.clone() };
        self.store.commit(Transaction::new().advance_change(change, claim.fence, due)).await
    }
}

fn new_change() -> Change {
    Change { id: ChangeId::new(sample::change().requested_at), ..sample::change() }
}

fn deploying(fixture: &Fixture) -> Stage {
    let now = fixture.clock.now();
    Stage::new_merging()
        .into_deploying(sample::plan().pinned_commit().cloned().unwrap(), now, now + SignedDuration::from_mins(15))
        .unwrap()
}

#[tokio::test]
async fn one_of_a_hundred_concurrent_changes_gets_the_change_lock() {
    let fixture = Fixture::new().await;
    let all: Vec<Change> = (0..100).map(|_| new_change()).collect();
    let outcomes = join_all(all.iter().map(|change| fixture.begin(change))).await;
    let winner = outcomes.iter().position(Result::is_ok).expect("one change gets the lock");
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::ChangeLockHeld))).count(), 99);
    let holder = fixture.store.find_active_change(&all[0].change_lock_key()).await.unwrap().expect("a holder");
    assert_eq!(holder.id, all[winner].id);
}

#[tokio::test]
async fn a_transaction_without_the_change_lock_stores_nothing() {
    let fixture = Fixture::new().await;
    fixture.begin(&new_change()).await.unwrap();
    let transaction = Transaction::new().write_setting("said", "yes").begin_change(new_change());
    assert!(matches!(fixture.store.commit(transaction).await, Err(StoreError::ChangeLockHeld)));
    assert_eq!(fixture.store.read_setting("said").await.unwrap(), None);
}

#[tokio::test]
async fn other_branches_and_repositories_are_not_locked() {
    let fixture = Fixture::new().await;
    fixture.begin(&new_change()).await.unwrap();
    let mut elsewhere = new_change();
    elsewhere.plan.branch = "staging".into();
    fixture.begin(&elsewhere).await.unwrap();
    let mut other = new_change();
    other.plan.repository = "acme/shop".parse().unwrap();
    fixture.begin(&other).await.unwrap();
    let mut same = new_change();
    same.plan.repository = "Acme/Checkout".parse().unwrap();
    assert!(matches!(fixture.begin(&same).await, Err(StoreError::ChangeLockHeld)), "GitHub ignores case");
}

#[tokio::test]
async fn an_overtaken_claim_cannot_write() {
    let fixture = Fixture::new().await;
    let change = new_change();
    fixture.begin(&change).await.unwrap();
    let first = fixture.claim(&change).await;
    let second = fixture.claim(&change).await;
    let late = fixture.advance(&first, deploying(&fixture), None).await;
    assert!(matches!(late, Err(StoreError::Overtaken)));
    fixture.advance(&second, deploying(&fixture), None).await.unwrap();
    assert_eq!(fixture.claim(&change).await.change.stage.name(), "deploying");
}

#[tokio::test]
async fn the_change_lock_ends_with_the_active_stages_and_the_watch_with_the_next_change() {
    let fixture = Fixture::new().await;
    let change = new_change();
    fixture.begin(&change).await.unwrap();
    let claim = fixture.claim(&change).await;
    let failed = deploying(&fixture)
        .into_failed("CrashLoopBackOff".into(), FailureEvidence::Workload, fixture.clock.now())
        .unwrap();
    fixture.advance(&claim, failed, None).await.unwrap();
    assert_eq!(fixture.store.find_active_change(&change.change_lock_key()).await.unwrap(), None);
    assert_eq!(fixture.store.list_open_changes().await.unwrap().len(), 1, "still watched");

    let next = new_change();
    fixture.begin(&next).await.unwrap();
    let open: Vec<_> = fixture.store.list_open_changes().await.unwrap().iter().map(|change| change.id).collect();
    assert_eq!(open, [next.id]);
    let claim = fixture.claim(&next).await;
    let done = deploying(&fixture).into_deployed(2, Proof::TagPattern, fixture.clock.now()).unwrap();
    fixture.advance(&claim, done.clone(), None).await.unwrap();
    assert_eq!(fixture.store.list_open_changes().await.unwrap().len(), 1, "its tag is not made yet");
    let tagged =
        done.update_deploying(|state| DeployState { tag: ResultTag::Failed { reason: "no".into() }, ..state }).unwrap();
    fixture.advance(&claim, tagged, None).await.unwrap();
    assert_eq!(fixture.store.list_open_changes().await.unwrap(), []);
    let last = fixture.store.find_last_change(&next.plan.artefact, &next.plan.environment).await.unwrap();
    assert_eq!(last.map(|change| change.id), Some(next.id.max(change.id)));
}

#[tokio::test]
async fn a_new_change_overtakes_the_watch_of_the_old_one() {
    let fixture = Fixture::new().await;
    let old = new_change();
    fixture.begin(&old).await.unwrap();
    let stalled = deploying(&fixture).into_stalled(None, false, fixture.clock.now()).unwrap();
    fixture.advance(&fixture.claim(&old).await, stalled.clone(), None).await.unwrap();
    let watching = fixture.claim(&old).await;
    assert!(watching.is_open);
    fixture.begin(&new_change()).await.unwrap();
    let green = stalled.into_deployed(2, Proof::TagPattern, fixture.clock.now()).unwrap();
    assert!(matches!(fixture.advance(&watching, green, None).await, Err(StoreError::Overtaken)));
    assert!(!fixture.claim(&old).await.is_open, "it is not watched any more");
}

#[tokio::test]
async fn a_cancel_request_ends_with_its_change() {
    let fixture = Fixture::new().await;
    let change = new_change();
    fixture.begin(&change).await.unwrap();
    fixture.store.commit(Transaction::new().request_cancel(change.id, PersonId::new("U0BOB"))).await.unwrap();
    let errored = Stage::new_merging().into_errored("403".into(), fixture.clock.now()).unwrap();
    fixture.advance(&fixture.claim(&change).await, errored, None).await.unwrap();
    assert_eq!(fixture.claim(&change).await.cancel_requested_by, None, "it does not cancel a retry");
}

#[tokio::test]
async fn a_change_is_due_at_its_due_time() {
    let fixture = Fixture::new().await;
    let change = new_change();
    fixture.begin(&change).await.unwrap();
    assert_eq!(fixture.store.list_due_changes(9).await.unwrap(), [change.id], "at once");
    let claim = fixture.claim(&change).await;
    let later = fixture.clock.now() + SignedDuration::from_mins(15);
    fixture.advance(&claim, deploying(&fixture), Some(later)).await.unwrap();
    assert_eq!(fixture.store.list_due_changes(9).await.unwrap(), []);
    assert_eq!(fixture.store.find_next_change_due(fixture.clock.now()).await.unwrap(), Some(later));
    let pending = fixture.store.measure_outstanding_work().await.unwrap();
    assert_eq!((pending.changes, pending.next_due), (1, Some(later)));
    fixture.clock.advance_to(later);
    assert_eq!(fixture.store.list_due_changes(9).await.unwrap(), [change.id]);

    fixture.store.commit(Transaction::new().request_cancel(change.id, PersonId::new("U0BOB"))).await.unwrap();
    assert_eq!(fixture.claim(&change).await.cancel_requested_by, Some(PersonId::new("U0BOB")));
}

#[tokio::test]
async fn a_change_is_found_by_its_short_id() {
    let fixture = Fixture::new().await;
    let change = new_change();
    fixture.begin(&change).await.unwrap();
    let found = fixture.store.find_changes_by_short(&change.id.to_short_id().to_uppercase()).await.unwrap();
    assert_eq!(found, [change]);
    assert_eq!(fixture.store.find_changes_by_short("0badcafe").await.unwrap(), []);
}

#[tokio::test]
async fn a_plan_is_used_once_and_deleted_when_it_has_expired() {
    let fixture = Fixture::new().await;
    let made_at = fixture.clock.now();
    let shown = ShownPlan { id: new_change().id, person: PersonId::new("U0ALICE"), plan: sample::plan(), made_at };
    fixture.store.commit(Transaction::new().insert_plan(shown.clone())).await.unwrap();
    assert_eq!(fixture.store.find_shown_plan(shown.id).await.unwrap(), Some(shown.clone()));
    fixture.store.commit(Transaction::new().use_plan(shown.id)).await.unwrap();
    assert!(matches!(fixture.store.commit(Transaction::new().use_plan(shown.id)).await, Err(StoreError::Overtaken)));

    fixture.store.commit(Transaction::new().insert_plan(shown.clone())).await.unwrap();
    fixture.clock.advance(SignedDuration::from_hours(2));
    fixture.store.commit(Transaction::new().write_setting("any", "write prunes")).await.unwrap();
    assert_eq!(fixture.store.find_shown_plan(shown.id).await.unwrap(), None);
}

#[tokio::test]
async fn tag_names_are_found_by_their_prefix() {
    let fixture = Fixture::new().await;
    let repository: Repository = "acme/checkout".parse().unwrap();
    for name in ["qa/2026.11.16-1", "qa_2026.11.16-2", "staging/2026.11.16-1"] {
        fixture
            .store
            .commit(Transaction::new().reserve_tag_name(repository.clone(), name, new_change().id))
            .await
            .unwrap();
    }
    assert_eq!(fixture.store.list_tag_names(&repository, "qa/").await.unwrap(), ["qa/2026.11.16-1"]);
    assert!(fixture.store.list_tag_names(&"acme/shop".parse().unwrap(), "qa/").await.unwrap().is_empty());
}
