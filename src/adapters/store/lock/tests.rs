//! Tests of locks in a database file: one for each scope, their end, and the reminders of their owners.

use futures::future::join_all;
use tempfile::TempDir;

use super::*;
use crate::adapters::store::Transaction;
use crate::clock::Clock;
use crate::domain::sample;

struct Fixture {
    store: Store,
    clock: Clock,
    _dir: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::new_manual(sample::lock().since);
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        Self { store: Store::open(&url, clock.clone()).await.unwrap(), clock, _dir: dir }
    }

    async fn lock(&self, lock: &Lock) -> Result<(), StoreError> {
        self.store.commit(Transaction::new().insert_lock(lock.clone())).await
    }

    async fn in_force(&self) -> Vec<LockId> {
        self.store.list_locks(None).await.unwrap().into_iter().map(|lock| lock.id).collect()
    }
}

fn new_lock() -> Lock {
    Lock { id: LockId::new(sample::lock().since), ..sample::lock() }
}

#[tokio::test]
async fn one_of_a_hundred_concurrent_locks_is_set_and_the_others_are_refused() {
    let fixture = Fixture::new().await;
    let all: Vec<Lock> = (0..100).map(|_| new_lock()).collect();
    let outcomes = join_all(all.iter().map(|lock| fixture.lock(lock))).await;
    let winner = outcomes.iter().position(Result::is_ok).expect("one lock is set");
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Overtaken))).count(), 99);
    assert_eq!(fixture.store.list_locks(None).await.unwrap(), [all[winner].clone()]);
    assert_eq!(fixture.store.find_lock(all[winner].id).await.unwrap(), Some(all[winner].clone()));
}

#[tokio::test]
async fn an_environment_and_an_artefact_in_it_can_both_be_locked() {
    let fixture = Fixture::new().await;
    let (whole, mut checkout, mut qa) = (new_lock(), new_lock(), new_lock());
    checkout.artefact = Some(ArtefactName::new("checkout"));
    qa.environment = EnvironmentName::new("qa");
    for lock in [&whole, &checkout, &qa] {
        fixture.lock(lock).await.unwrap();
    }
    assert_eq!(fixture.in_force().await.len(), 3);
    assert_eq!(fixture.store.list_locks(Some(&qa.environment)).await.unwrap(), [qa]);
}

#[tokio::test]
async fn an_expired_lock_does_not_block_a_new_one() {
    let fixture = Fixture::new().await;
    let mut first = new_lock();
    first.until = Some(first.since + SignedDuration::from_hours(2));
    fixture.lock(&first).await.unwrap();
    fixture.clock.advance(SignedDuration::from_hours(2));
    assert_eq!(fixture.in_force().await, []);
    assert_eq!(fixture.store.find_lock(first.id).await.unwrap(), None);
    let second = new_lock();
    fixture.lock(&second).await.unwrap();
    assert_eq!(fixture.in_force().await, [second.id]);
}

#[tokio::test]
async fn a_lock_is_removed_once_and_taken_over_atomically() {
    let fixture = Fixture::new().await;
    let (first, second, third) = (new_lock(), new_lock(), new_lock());
    fixture.lock(&first).await.unwrap();
    let take_over =
        |from: &Lock, to: &Lock| fixture.store.commit(Transaction::new().remove_lock(from.id).insert_lock(to.clone()));
    take_over(&first, &second).await.unwrap();
    assert!(matches!(take_over(&first, &third).await, Err(StoreError::Overtaken)));
    assert_eq!(fixture.in_force().await, [second.id]);
    fixture.store.commit(Transaction::new().remove_lock(second.id)).await.unwrap();
    assert!(matches!(
        fixture.store.commit(Transaction::new().remove_lock(second.id)).await,
        Err(StoreError::Overtaken)
    ));
    assert_eq!(fixture.in_force().await, []);
}

#[tokio::test]
async fn the_owner_of_a_lock_is_reminded_every_day() {
    let fixture = Fixture::new().await;
    let mut lock = new_lock();
    lock.until = Some(lock.since + SignedDuration::from_hours(60));
    fixture.lock(&lock).await.unwrap();
    assert_eq!(
        fixture.store.measure_outstanding_work().await.unwrap().next_due,
        None,
        "a reminder of tomorrow is not outstanding work"
    );
    assert_eq!(fixture.store.find_next_reminder(fixture.clock.now()).await.unwrap(), Some(lock.since + REMIND_AFTER));
    fixture.clock.advance(REMIND_AFTER);
    assert_eq!(fixture.store.list_locks_to_remind().await.unwrap(), [lock.clone()]);
    assert_eq!(fixture.store.measure_outstanding_work().await.unwrap().next_due, Some(fixture.clock.now()));
    fixture.store.commit(Transaction::new().postpone_lock_reminder(lock.id)).await.unwrap();
    assert_eq!(fixture.store.list_locks_to_remind().await.unwrap(), []);
    assert_eq!(
        fixture.store.find_next_reminder(fixture.clock.now()).await.unwrap(),
        Some(lock.since + REMIND_AFTER * 2)
    );
    fixture.clock.advance(REMIND_AFTER);
    fixture.store.commit(Transaction::new().postpone_lock_reminder(lock.id)).await.unwrap();
    assert_eq!(
        fixture.store.find_next_reminder(fixture.clock.now()).await.unwrap(),
        None,
        "the lock ends before the third day"
    );
    fixture.clock.advance(REMIND_AFTER);
    assert_eq!(
        (
            fixture.store.list_locks_to_remind().await.unwrap(),
            fixture.store.measure_outstanding_work().await.unwrap().next_due
        ),
        (vec![], None)
    );
}
