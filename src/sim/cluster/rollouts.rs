//! The progress of rollouts over time: each step schedules the next one, and the steps of an overtaken rollout
//! do nothing.

use jiff::{SignedDuration, Timestamp};

use crate::domain::model::workload::Workload;

use super::live::{LiveWorkload, RolloutProgress, Serial};
use super::{Cluster, EndedRollout, RolloutId, State, notify_listeners};

impl Cluster {
    /// The controller observes in a step of its own, so that watches see the specification before its effect.
    pub(super) fn begin(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        self.schedule_action(SignedDuration::ZERO, namespace, workload, id, Self::observe);
    }

    fn observe(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.scheduler.clock().now();
        let delay = self.change_rollout(namespace, workload, id, |live, serial, _| {
            live.observe(now, serial);
            self.0.pace.replica * live.slowness
        });
        if let Some(delay) = delay {
            self.schedule_action(delay, namespace, workload, id, Self::advance_rollout);
        }
    }

    fn advance_rollout(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.scheduler.clock().now();
        let progress = self.change_rollout(namespace, workload, id, |live, serial, can_pull| {
            (live.advance(now, serial, can_pull), live.slowness)
        });
        match progress {
            Some((RolloutProgress::Progressing, slowness)) => {
                self.schedule_action(self.0.pace.replica * slowness, namespace, workload, id, Self::advance_rollout);
            }
            Some((RolloutProgress::QuotaExceeded, slowness)) => {
                let since_progress = self.since_progress(namespace, workload, now);
                if since_progress.is_some_and(|waited| waited >= self.0.pace.deadline * slowness) {
                    self.give_up(namespace, workload, id);
                } else {
                    self.schedule_action(
                        self.0.pace.replica * slowness,
                        namespace,
                        workload,
                        id,
                        Self::advance_rollout,
                    );
                }
            }
            Some((RolloutProgress::Stuck, slowness)) => {
                self.schedule_action(self.0.pace.deadline * slowness, namespace, workload, id, Self::give_up);
            }
            Some((RolloutProgress::Complete, _)) => self.notify_rollout_end(namespace, workload, id, true),
            None => {}
        }
    }

    fn since_progress(&self, namespace: &str, workload: &Workload, now: Timestamp) -> Option<SignedDuration> {
        let state = self.lock();
        let live = state.workloads.get(&(namespace.to_owned(), workload.clone()))?;
        Some(now.duration_since(live.last_progress_at))
    }

    fn give_up(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.scheduler.clock().now();
        if self.change_rollout(namespace, workload, id, |live, _, _| live.give_up(now)).is_some() {
            self.notify_rollout_end(namespace, workload, id, false);
        }
    }

    fn notify_rollout_end(&self, namespace: &str, workload: &Workload, rollout: RolloutId, complete: bool) {
        let ended = EndedRollout { rollout, namespace: namespace.to_owned(), workload: workload.clone(), complete };
        notify_listeners(&self.0.on_end, &ended);
    }

    fn schedule_action(
        &self,
        delay: SignedDuration,
        namespace: &str,
        workload: &Workload,
        id: RolloutId,
        action: fn(&Self, &str, &Workload, RolloutId),
    ) {
        let (cluster, namespace, workload) = (self.clone(), namespace.to_owned(), workload.clone());
        self.0.scheduler.schedule_after(delay, move || async move { action(&cluster, &namespace, &workload, id) });
    }

    /// Changes the workload only if `id` is still its rollout; otherwise a newer rollout has overtaken it.
    fn change_rollout<T>(
        &self,
        namespace: &str,
        workload: &Workload,
        id: RolloutId,
        change: impl FnOnce(&mut LiveWorkload, &mut Serial, &dyn Fn(&str) -> bool) -> T,
    ) -> Option<T> {
        self.change(namespace, workload, |state, workload_key| {
            let State { workloads, serial, can_pull, quotas, .. } = state;
            let others = workloads
                .iter()
                .filter(|((other_namespace, name), _)| other_namespace == namespace && name != workload);
            let used: u32 = others.map(|(_, live)| live.count(|_| true)).sum();
            let live = workloads.get_mut(workload_key).filter(|live| live.rollout == id.0)?;
            live.quota = quotas.get(namespace).map(|limit| limit.saturating_sub(used));
            Some(change(live, serial, &**can_pull))
        })
    }
}
