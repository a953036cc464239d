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

struct House {
    store: Store,
    clock: Clock,
    _dir: TempDir,
}

impl House {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::new_manual(sample::change().asked_at);
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        Self { store: Store::open(&url, clock.clone()).await.unwrap(), clock, _dir: dir }
    }

    async fn begin(&self, change: &Change) -> Result<(), StoreError> {
        self.store.commit(Transaction::new().begin_change(change.clone())).await
    }

    async fn claim(&self, change: &Change) -> Claim {
        self.store.claim_changes(vec![change.id]).await.unwrap().pop().expect("a claim")
    }

    async fn becomes(&self, claim: &Claim, stage: Stage, due: Option<Timestamp>) -> Result<(), StoreError> {
        let change = Change { stage, ..claim.change.clone() };
        self.store.commit(Transaction::new().advance_change(change, claim.fence, due)).await
    }
}

fn another() -> Change {
    Change { id: ChangeId::new(sample::change().asked_at), ..sample::change() }
}

fn deploying(house: &House) -> Stage {
    let now = house.clock.now();
    Stage::new_merging()
        .into_deploying(sample::plan().pinned_commit().cloned().unwrap(), now, now + SignedDuration::from_mins(15))
        .unwrap()
}

#[tokio::test]
async fn of_a_hundred_at_once_one_takes_the_lock_and_is_named() {
    let house = House::new().await;
    let all: Vec<Change> = (0..100).map(|_| another()).collect();
    let outcomes = join_all(all.iter().map(|change| house.begin(change))).await;
    let winner = outcomes.iter().position(Result::is_ok).expect("one");
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::ChangeLockHeld))).count(), 99);
    let holder = house.store.find_active_change(&all[0].change_lock_key()).await.unwrap().expect("a holder");
    assert_eq!(holder.id, all[winner].id);
}

#[tokio::test]
async fn a_batch_that_does_not_get_the_lock_leaves_nothing() {
    let house = House::new().await;
    house.begin(&another()).await.unwrap();
    let beaten = Transaction::new().write_setting("said", "yes").begin_change(another());
    assert!(matches!(house.store.commit(beaten).await, Err(StoreError::ChangeLockHeld)));
    assert_eq!(house.store.read_setting("said").await.unwrap(), None);
}

#[tokio::test]
async fn other_branches_and_repositories_are_not_locked() {
    let house = House::new().await;
    house.begin(&another()).await.unwrap();
    let mut elsewhere = another();
    elsewhere.plan.branch = "staging".into();
    house.begin(&elsewhere).await.unwrap();
    let mut other = another();
    other.plan.repository = "acme/shop".parse().unwrap();
    house.begin(&other).await.unwrap();
    let mut same = another();
    same.plan.repository = "Acme/Checkout".parse().unwrap();
    assert!(matches!(house.begin(&same).await, Err(StoreError::ChangeLockHeld)), "to GitHub it is the same");
}

#[tokio::test]
async fn whoever_was_overtaken_writes_nothing() {
    let house = House::new().await;
    let change = another();
    house.begin(&change).await.unwrap();
    let first = house.claim(&change).await;
    let second = house.claim(&change).await;
    let late = house.becomes(&first, deploying(&house), None).await;
    assert!(matches!(late, Err(StoreError::Overtaken)));
    house.becomes(&second, deploying(&house), None).await.unwrap();
    assert_eq!(house.claim(&change).await.change.stage.name(), "deploying");
}

#[tokio::test]
async fn the_lock_ends_with_the_active_stages_and_the_watch_with_the_next_change() {
    let house = House::new().await;
    let change = another();
    house.begin(&change).await.unwrap();
    let claim = house.claim(&change).await;
    let failed =
        deploying(&house).into_failed("CrashLoopBackOff".into(), FailureEvidence::Workload, house.clock.now()).unwrap();
    house.becomes(&claim, failed, None).await.unwrap();
    assert_eq!(house.store.find_active_change(&change.change_lock_key()).await.unwrap(), None);
    assert_eq!(house.store.list_open_changes().await.unwrap().len(), 1, "still watched");

    let next = another();
    house.begin(&next).await.unwrap();
    let open: Vec<_> = house.store.list_open_changes().await.unwrap().iter().map(|change| change.id).collect();
    assert_eq!(open, [next.id]);
    let claim = house.claim(&next).await;
    let done = deploying(&house).into_deployed(2, Proof::TagPattern, house.clock.now()).unwrap();
    house.becomes(&claim, done.clone(), None).await.unwrap();
    assert_eq!(house.store.list_open_changes().await.unwrap().len(), 1, "its tag is still to be made");
    let tagged =
        done.update_deploying(|it| DeployState { tag: ResultTag::Missing { why: "no".into() }, ..it }).unwrap();
    house.becomes(&claim, tagged, None).await.unwrap();
    assert_eq!(house.store.list_open_changes().await.unwrap(), []);
    let last = house.store.find_last_change(&next.plan.artefact, &next.plan.environment).await.unwrap();
    assert_eq!(last.map(|change| change.id), Some(next.id.max(change.id)));
}

#[tokio::test]
async fn a_new_change_overtakes_whoever_still_watches_the_old_one() {
    let house = House::new().await;
    let old = another();
    house.begin(&old).await.unwrap();
    let stalled = deploying(&house).into_stalled(None, false, house.clock.now()).unwrap();
    house.becomes(&house.claim(&old).await, stalled.clone(), None).await.unwrap();
    let watching = house.claim(&old).await;
    assert!(watching.is_open);
    house.begin(&another()).await.unwrap();
    let green = stalled.into_deployed(2, Proof::TagPattern, house.clock.now()).unwrap();
    assert!(matches!(house.becomes(&watching, green, None).await, Err(StoreError::Overtaken)));
    assert!(!house.claim(&old).await.is_open, "nobody looks at it any more");
}

#[tokio::test]
async fn a_wish_to_cancel_ends_with_the_change_it_was_for() {
    let house = House::new().await;
    let change = another();
    house.begin(&change).await.unwrap();
    house.store.commit(Transaction::new().request_cancel(change.id, PersonId::new("U0BOB"))).await.unwrap();
    let errored = Stage::new_merging().into_errored("403".into(), house.clock.now()).unwrap();
    house.becomes(&house.claim(&change).await, errored, None).await.unwrap();
    assert_eq!(house.claim(&change).await.cancel_requested_by, None, "a retry is not cancelled by it");
}

#[tokio::test]
async fn a_change_is_due_when_its_time_has_come() {
    let house = House::new().await;
    let change = another();
    house.begin(&change).await.unwrap();
    assert_eq!(house.store.list_due_changes(9).await.unwrap(), [change.id], "at once");
    let claim = house.claim(&change).await;
    let later = house.clock.now() + SignedDuration::from_mins(15);
    house.becomes(&claim, deploying(&house), Some(later)).await.unwrap();
    assert_eq!(house.store.list_due_changes(9).await.unwrap(), []);
    assert_eq!(house.store.find_next_change_due(house.clock.now()).await.unwrap(), Some(later));
    let pending = house.store.measure_outstanding_work().await.unwrap();
    assert_eq!((pending.changes, pending.next_due), (1, Some(later)));
    house.clock.advance_to(later);
    assert_eq!(house.store.list_due_changes(9).await.unwrap(), [change.id]);

    house.store.commit(Transaction::new().request_cancel(change.id, PersonId::new("U0BOB"))).await.unwrap();
    assert_eq!(house.claim(&change).await.cancel_requested_by, Some(PersonId::new("U0BOB")));
}

#[tokio::test]
async fn a_change_is_found_by_what_people_call_it() {
    let house = House::new().await;
    let change = another();
    house.begin(&change).await.unwrap();
    let called = house.store.find_changes_by_short(&change.id.to_short_id().to_uppercase()).await.unwrap();
    assert_eq!(called, [change]);
    assert_eq!(house.store.find_changes_by_short("0badcafe").await.unwrap(), []);
}

#[tokio::test]
async fn a_plan_is_used_once_and_forgotten_when_it_is_old() {
    let house = House::new().await;
    let made_at = house.clock.now();
    let shown = ShownPlan { id: another().id, person: PersonId::new("U0ALICE"), plan: sample::plan(), made_at };
    house.store.commit(Transaction::new().insert_plan(shown.clone())).await.unwrap();
    assert_eq!(house.store.find_shown_plan(shown.id).await.unwrap(), Some(shown.clone()));
    house.store.commit(Transaction::new().use_plan(shown.id)).await.unwrap();
    assert!(matches!(house.store.commit(Transaction::new().use_plan(shown.id)).await, Err(StoreError::Overtaken)));

    house.store.commit(Transaction::new().insert_plan(shown.clone())).await.unwrap();
    house.clock.advance(SignedDuration::from_hours(2));
    house.store.commit(Transaction::new().write_setting("any", "write prunes")).await.unwrap();
    assert_eq!(house.store.find_shown_plan(shown.id).await.unwrap(), None);
}

#[tokio::test]
async fn names_of_tags_are_found_by_their_beginning_alone() {
    let house = House::new().await;
    let repository: Repository = "acme/checkout".parse().unwrap();
    for name in ["qa/2026.11.16-1", "qa_2026.11.16-2", "staging/2026.11.16-1"] {
        house.store.commit(Transaction::new().reserve_tag_name(repository.clone(), name, another().id)).await.unwrap();
    }
    assert_eq!(house.store.list_tag_names(&repository, "qa/").await.unwrap(), ["qa/2026.11.16-1"]);
    assert!(house.store.list_tag_names(&"acme/shop".parse().unwrap(), "qa/").await.unwrap().is_empty());
}
