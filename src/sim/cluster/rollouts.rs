//! How rollouts go on by themselves: each step is put on the agenda by the one before, and an overtaken rollout's
//! steps do nothing.

use jiff::{SignedDuration, Timestamp};

use crate::domain::model::artefact::Workload;

use super::live::{Live, Serial, Step};
use super::{Cluster, Ended, RolloutId, State, tell};

impl Cluster {
    /// The controller's first look is a step of its own: watchers see the specification before its effect.
    pub(super) fn begin(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        self.later(SignedDuration::ZERO, namespace, workload, id, Self::observe);
    }

    fn observe(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.agenda.clock().now();
        let replica = self.change_rollout(namespace, workload, id, |live, serial, _| {
            live.observe(now, serial);
            self.0.pace.replica * live.slowness
        });
        if let Some(replica) = replica {
            self.later(replica, namespace, workload, id, Self::step);
        }
    }

    fn step(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.agenda.clock().now();
        let taken = self.change_rollout(namespace, workload, id, |live, serial, can_pull| {
            (live.step(now, serial, can_pull), live.slowness)
        });
        match taken {
            Some((Step::Going, slowness)) => {
                self.later(self.0.pace.replica * slowness, namespace, workload, id, Self::step);
            }
            Some((Step::Refused, slowness)) => {
                let refused_for = self.since_progress(namespace, workload, now);
                if refused_for.is_some_and(|waited| waited >= self.0.pace.deadline * slowness) {
                    self.give_up(namespace, workload, id);
                } else {
                    self.later(self.0.pace.replica * slowness, namespace, workload, id, Self::step);
                }
            }
            Some((Step::Stuck, slowness)) => {
                self.later(self.0.pace.deadline * slowness, namespace, workload, id, Self::give_up);
            }
            Some((Step::Complete, _)) => self.tell_end(namespace, workload, id, true),
            None => {}
        }
    }

    fn since_progress(&self, namespace: &str, workload: &Workload, now: Timestamp) -> Option<SignedDuration> {
        let state = self.lock();
        let live = state.live.get(&(namespace.to_owned(), workload.clone()))?;
        Some(now.duration_since(live.progressed))
    }

    fn give_up(&self, namespace: &str, workload: &Workload, id: RolloutId) {
        let now = self.0.agenda.clock().now();
        if self.change_rollout(namespace, workload, id, |live, _, _| live.give_up(now)).is_some() {
            self.tell_end(namespace, workload, id, false);
        }
    }

    fn tell_end(&self, namespace: &str, workload: &Workload, rollout: RolloutId, complete: bool) {
        let ended = Ended { rollout, namespace: namespace.to_owned(), workload: workload.clone(), complete };
        tell(&self.0.on_end, &ended);
    }

    fn later(
        &self,
        delay: SignedDuration,
        namespace: &str,
        workload: &Workload,
        id: RolloutId,
        step: fn(&Self, &str, &Workload, RolloutId),
    ) {
        let (cluster, namespace, workload) = (self.clone(), namespace.to_owned(), workload.clone());
        self.0.agenda.after(delay, move || async move { step(&cluster, &namespace, &workload, id) });
    }

    /// Changes the workload only where `id` is still its rollout: a newer one has overtaken the steps of the old.
    fn change_rollout<T>(
        &self,
        namespace: &str,
        workload: &Workload,
        id: RolloutId,
        change: impl FnOnce(&mut Live, &mut Serial, &dyn Fn(&str) -> bool) -> T,
    ) -> Option<T> {
        self.change(namespace, workload, |state, place| {
            let State { live, serial, can_pull, quotas, .. } = state;
            let others = live.iter().filter(|((within, name), _)| within == namespace && name != workload);
            let used: u32 = others.map(|(_, live)| live.count(|_| true)).sum();
            let live = live.get_mut(place).filter(|live| live.rollout == id.0)?;
            live.quota = quotas.get(namespace).map(|limit| limit.saturating_sub(used));
            Some(change(live, serial, &**can_pull))
        })
    }
}
