//! Tests of locks in a database file: one for each scope, their end, and the reminders of their owners.

use futures::future::join_all;
use tempfile::TempDir;

use super::*;
use crate::adapters::store::Transaction;
use crate::clock::Clock;
use crate::domain::sample;

struct House {
    store: Store,
    clock: Clock,
    _dir: TempDir,
}

impl House {
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

fn another() -> Lock {
    Lock { id: LockId::new(sample::lock().since), ..sample::lock() }
}

#[tokio::test]
async fn of_a_hundred_at_once_one_locks_and_the_others_are_told() {
    let house = House::new().await;
    let all: Vec<Lock> = (0..100).map(|_| another()).collect();
    let outcomes = join_all(all.iter().map(|lock| house.lock(lock))).await;
    let winner = outcomes.iter().position(Result::is_ok).expect("one");
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Overtaken))).count(), 99);
    assert_eq!(house.store.list_locks(None).await.unwrap(), [all[winner].clone()]);
    assert_eq!(house.store.find_lock(all[winner].id).await.unwrap(), Some(all[winner].clone()));
}

#[tokio::test]
async fn an_artefact_there_and_the_environment_have_a_lock_each() {
    let house = House::new().await;
    let (whole, mut checkout, mut qa) = (another(), another(), another());
    checkout.artefact = Some(ArtefactName::new("checkout"));
    qa.environment = EnvironmentName::new("qa");
    for lock in [&whole, &checkout, &qa] {
        house.lock(lock).await.unwrap();
    }
    assert_eq!(house.in_force().await.len(), 3);
    assert_eq!(house.store.list_locks(Some(&qa.environment)).await.unwrap(), [qa]);
}

#[tokio::test]
async fn a_lock_that_is_over_stands_in_nobodys_way() {
    let house = House::new().await;
    let mut first = another();
    first.until = Some(first.since + SignedDuration::from_hours(2));
    house.lock(&first).await.unwrap();
    house.clock.advance(SignedDuration::from_hours(2));
    assert_eq!(house.in_force().await, []);
    assert_eq!(house.store.find_lock(first.id).await.unwrap(), None);
    let second = another();
    house.lock(&second).await.unwrap();
    assert_eq!(house.in_force().await, [second.id]);
}

#[tokio::test]
async fn it_is_ended_once_and_whoever_takes_it_over_has_all_or_nothing() {
    let house = House::new().await;
    let (first, second, third) = (another(), another(), another());
    house.lock(&first).await.unwrap();
    let take_over =
        |from: &Lock, to: &Lock| house.store.commit(Transaction::new().remove_lock(from.id).insert_lock(to.clone()));
    take_over(&first, &second).await.unwrap();
    assert!(matches!(take_over(&first, &third).await, Err(StoreError::Overtaken)));
    assert_eq!(house.in_force().await, [second.id]);
    house.store.commit(Transaction::new().remove_lock(second.id)).await.unwrap();
    assert!(matches!(house.store.commit(Transaction::new().remove_lock(second.id)).await, Err(StoreError::Overtaken)));
    assert_eq!(house.in_force().await, []);
}

#[tokio::test]
async fn a_lock_is_forgotten_after_a_day_and_each_further_day() {
    let house = House::new().await;
    let mut lock = another();
    lock.until = Some(lock.since + SignedDuration::from_hours(60));
    house.lock(&lock).await.unwrap();
    assert_eq!(
        house.store.measure_outstanding_work().await.unwrap().next_due,
        None,
        "a reminder of tomorrow is not waited for"
    );
    assert_eq!(house.store.find_next_reminder(house.clock.now()).await.unwrap(), Some(lock.since + REMIND_AFTER));
    house.clock.advance(REMIND_AFTER);
    assert_eq!(house.store.list_locks_to_remind().await.unwrap(), [lock.clone()]);
    assert_eq!(house.store.measure_outstanding_work().await.unwrap().next_due, Some(house.clock.now()));
    house.store.commit(Transaction::new().postpone_lock_reminder(lock.id)).await.unwrap();
    assert_eq!(house.store.list_locks_to_remind().await.unwrap(), []);
    assert_eq!(house.store.find_next_reminder(house.clock.now()).await.unwrap(), Some(lock.since + REMIND_AFTER * 2));
    house.clock.advance(REMIND_AFTER);
    house.store.commit(Transaction::new().postpone_lock_reminder(lock.id)).await.unwrap();
    assert_eq!(
        house.store.find_next_reminder(house.clock.now()).await.unwrap(),
        None,
        "it is over before the third day"
    );
    house.clock.advance(REMIND_AFTER);
    assert_eq!(
        (
            house.store.list_locks_to_remind().await.unwrap(),
            house.store.measure_outstanding_work().await.unwrap().next_due
        ),
        (vec![], None)
    );
}
