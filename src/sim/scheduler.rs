//! The future steps of the simulated world: builds, rollouts, webhooks.
//! All of them are in one queue, so that a test knows when the world is idle.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

type Task = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

#[derive(Clone)]
pub struct Scheduler {
    clock: Clock,
    queue: Arc<Mutex<Queue>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Queue {
    tasks: BTreeMap<(Timestamp, u64), Task>,
    last_number: u64,
    /// The due time of the step that is running.
    running_due: Option<Timestamp>,
}

impl Scheduler {
    pub fn new(clock: Clock) -> Self {
        Self { clock, queue: Arc::default(), changed: Arc::default() }
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Runs `step` after `delay`. Steps that are due at the same time keep their order.
    pub fn schedule_after<F>(&self, delay: SignedDuration, step: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let due = self.clock.now() + delay;
        let mut queue = self.lock();
        queue.last_number += 1;
        let key = (due, queue.last_number);
        queue.tasks.insert(key, Box::new(move || Box::pin(step())));
        drop(queue);
        self.changed.notify_one();
    }

    /// The time of the next step (in the past while one is running); `None` when the world is idle.
    pub fn next_due(&self) -> Option<Timestamp> {
        let queue = self.lock();
        queue.running_due.or_else(|| queue.tasks.keys().next().map(|(due, _)| *due))
    }

    /// Runs the steps, one after another, until it is cancelled.
    pub async fn run(self, cancel: CancellationToken) {
        loop {
            let due = self.lock().tasks.keys().next().map(|(due, _)| *due);
            let ready = async {
                match due {
                    Some(due) => self.clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = cancel.cancelled() => return,
                () = self.changed.notified() => {}
                () = ready => {
                    let step = {
                        let mut queue = self.lock();
                        let step = queue.tasks.pop_first();
                        queue.running_due = step.as_ref().map(|((due, _), _)| *due);
                        step
                    };
                    if let Some((_, step)) = step {
                        step().await;
                        self.lock().running_due = None;
                    }
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
