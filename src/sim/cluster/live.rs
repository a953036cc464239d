//! A workload of the simulated cluster: its revisions, its pods, and the steps of a rollout.
//! It has no clock and no scheduler: its caller decides when the next step happens.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::model::workload::{Workload, WorkloadKind};

/// The default of Kubernetes.
const REVISION_HISTORY: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
}

/// One pod template: a `ReplicaSet` of a `Deployment`, a `ControllerRevision` of the others.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    pub(super) number: u64,
    pub(super) hash: String,
    pub(super) uid: String,
    pub(super) containers: Vec<Container>,
    pub(super) created: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) ordinal: u32,
    /// The hash of its revision.
    pub(super) hash: String,
    pub(super) created: Timestamp,
    pub(super) health: Health,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Starting,
    Ready { since: Timestamp },
    Failing { container: String, cause: FailureCause },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureCause {
    CrashLoop,
    ImagePull,
}

impl FailureCause {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::CrashLoop => "CrashLoopBackOff",
            Self::ImagePull => "ImagePullBackOff",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Rolling,
    Complete,
    Degraded,
}

/// The result of one step of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RolloutProgress {
    Progressing,
    /// A quota refuses the next pod. The `ReplicaSet` controller keeps trying.
    QuotaExceeded,
    Stuck,
    Complete,
}

/// Numbers that are never reused: the last digits of uids, hashes and pod names.
#[derive(Debug, Default)]
pub(super) struct Serial(u64);

impl Serial {
    pub(super) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    pub(super) fn uid(&mut self) -> String {
        format!("5eed0000-0000-4000-8000-{:012x}", self.next())
    }

    /// Five characters as Kubernetes appends them, from its alphabet without vowels and look-alikes.
    fn suffix(&mut self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        // The multiplier shares no divisor with 27^5, so neighbours look different and no suffix is repeated.
        let mut rest = self.next().wrapping_mul(5_915_587_277) % 14_348_907;
        (0..5)
            .map(|_| {
                let letter = ALPHABET[usize::try_from(rest % 27).unwrap_or_default()];
                rest /= 27;
                char::from(letter)
            })
            .collect()
    }
}

#[derive(Debug)]
pub(super) struct LiveWorkload {
    pub(super) namespace: String,
    pub(super) workload: Workload,
    pub(super) uid: String,
    pub(super) created: Timestamp,
    /// The containers of the specification.
    pub(super) containers: Vec<Container>,
    pub(super) replicas: u32,
    /// Labels of the workload itself, which its pods do not have.
    pub(super) extra_labels: BTreeMap<String, String>,
    pub(super) generation: i64,
    pub(super) observed_generation: i64,
    /// Oldest first. The controller works on the last one.
    pub(super) revisions: Vec<Revision>,
    /// The hash of the last revision that was complete.
    pub(super) completed_hash: Option<String>,
    pub(super) pods: Vec<Pod>,
    pub(super) phase: Phase,
    /// The time of the last progress of the rollout, and of the last change of its condition.
    pub(super) last_progress_at: Timestamp,
    pub(super) last_transition_at: Timestamp,
    /// The number of the current rollout. Steps of an earlier rollout find another number here and do nothing.
    pub(super) rollout: u64,
    /// The container that crashes in this rollout, if any.
    pub(super) crashing: Option<String>,
    /// The factor by which this rollout is slower than usual.
    pub(super) slowness: i32,
    /// The pods that the namespace's quota leaves for this workload.
    pub(super) quota: Option<u32>,
    /// The quota's refusal of the last pod that was to be created.
    pub(super) quota_error: Option<String>,
}

impl LiveWorkload {
    /// A workload without pods and containers.
    pub(super) fn new(namespace: &str, workload: &Workload, replicas: u32, at: Timestamp, serial: &mut Serial) -> Self {
        Self {
            namespace: namespace.to_owned(),
            workload: workload.clone(),
            uid: serial.uid(),
            created: at,
            containers: Vec::new(),
            replicas,
            extra_labels: BTreeMap::new(),
            generation: 0,
            observed_generation: 0,
            revisions: Vec::new(),
            completed_hash: None,
            pods: Vec::new(),
            phase: Phase::Complete,
            last_progress_at: at,
            last_transition_at: at,
            rollout: 0,
            crashing: None,
            slowness: 1,
            quota: None,
            quota_error: None,
        }
    }

    /// Writes an image into the specification and returns whether that changed it.
    pub(super) fn set_image(&mut self, container: &str, image: &str) -> bool {
        match self.containers.iter_mut().find(|existing| existing.name == container) {
            Some(existing) if existing.image == image => return false,
            Some(existing) => image.clone_into(&mut existing.image),
            None => self.containers.push(Container { name: container.to_owned(), image: image.to_owned() }),
        }
        self.generation += 1;
        true
    }

    /// The controller reads the specification: it makes a revision for it and starts the first pods of that revision.
    pub(super) fn observe(&mut self, now: Timestamp, serial: &mut Serial) {
        self.observed_generation = self.generation;
        let number = self.revisions.iter().map(|revision| revision.number).max().unwrap_or_default() + 1;
        let revision = match self.revisions.iter().position(|revision| revision.containers == self.containers) {
            // A template that existed before keeps its revision's hash and gets a new number.
            Some(index) => Revision { number, ..self.revisions.remove(index) },
            None => Revision {
                number,
                hash: format!("{:x}", 0x6b00_0000 + serial.next()),
                uid: serial.uid(),
                containers: self.containers.clone(),
                created: now,
            },
        };
        self.revisions.push(revision);
        let pods = &self.pods;
        let spare = self.revisions.len().saturating_sub(REVISION_HISTORY + 1);
        let mut dropped = 0;
        self.revisions.retain(|revision| {
            let drop = dropped < spare && !pods.iter().any(|pod| pod.hash == revision.hash);
            dropped += usize::from(drop);
            !drop
        });
        if self.phase == Phase::Degraded {
            self.last_transition_at = now;
        }
        self.phase = Phase::Rolling;
        self.last_progress_at = now;
        self.start_pods(now, serial);
    }

    /// The oldest starting pod becomes ready or fails. If it becomes ready, the next pod starts.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        serial: &mut Serial,
        can_pull: &dyn Fn(&str) -> bool,
    ) -> RolloutProgress {
        let crashing = self.crashing.clone();
        let containers = self.revision().map(|revision| revision.containers.clone()).unwrap_or_default();
        if let Some(pod) = self.pods.iter_mut().find(|pod| pod.health == Health::Starting) {
            let unpullable = containers.iter().find(|container| !can_pull(&container.image));
            pod.health = match (unpullable, crashing) {
                (Some(container), _) => {
                    Health::Failing { container: container.name.clone(), cause: FailureCause::ImagePull }
                }
                (None, Some(container)) => Health::Failing { container, cause: FailureCause::CrashLoop },
                (None, None) => Health::Ready { since: now },
            };
            if matches!(pod.health, Health::Ready { .. }) {
                self.last_progress_at = now;
                self.start_pods(now, serial);
            }
        }
        let is_starting = |live: &Self| live.pods.iter().any(|pod| pod.health == Health::Starting);
        if self.quota_error.is_some() && !is_starting(self) {
            self.start_pods(now, serial);
        }
        if is_starting(self) {
            RolloutProgress::Progressing
        } else if self.quota_error.is_some() {
            RolloutProgress::QuotaExceeded
        } else if self.is_complete() {
            self.phase = Phase::Complete;
            self.completed_hash = self.revision().map(|revision| revision.hash.clone());
            RolloutProgress::Complete
        } else {
            RolloutProgress::Stuck
        }
    }

    /// The progress deadline has passed.
    pub(super) fn give_up(&mut self, now: Timestamp) {
        self.phase = Phase::Degraded;
        self.last_progress_at = now;
        self.last_transition_at = now;
    }

    /// Completes the rollout of the specification at once.
    pub(super) fn complete_now(&mut self, now: Timestamp, serial: &mut Serial) {
        self.observe(now, serial);
        self.crashing = None;
        for pod in &mut self.pods {
            if matches!(pod.health, Health::Failing { .. }) {
                pod.health = Health::Starting;
            }
        }
        while self.advance(now, serial, &|_| true) == RolloutProgress::Progressing {}
    }

    pub(super) fn revision(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    pub(super) fn is_rolling(&self) -> bool {
        self.phase == Phase::Rolling || self.observed_generation < self.generation
    }

    pub(super) fn is_current(&self, pod: &Pod) -> bool {
        self.revision().is_some_and(|revision| revision.hash == pod.hash)
    }

    /// The number of pods for which `wanted` holds.
    pub(super) fn count(&self, wanted: impl Fn(&Pod) -> bool) -> u32 {
        u32::try_from(self.pods.iter().filter(|pod| wanted(pod)).count()).unwrap_or(u32::MAX)
    }

    /// The number of ready pods of the current revision; 0 before the controller has read the specification.
    pub(super) fn updated_and_ready(&self) -> u32 {
        if self.observed_generation < self.generation {
            0
        } else {
            self.count(|pod| self.is_current(pod) && pod.is_ready())
        }
    }

    /// The reason of the first failing pod.
    pub(super) fn failure(&self) -> Option<&'static str> {
        self.pods.iter().find_map(|pod| match &pod.health {
            Health::Failing { cause, .. } => Some(cause.reason()),
            _ => None,
        })
    }

    fn is_complete(&self) -> bool {
        self.count(|pod| self.is_current(pod) && pod.is_ready()) == self.replicas
            && self.count(|_| true) == self.replicas
    }

    fn start_pods(&mut self, now: Timestamp, serial: &mut Serial) {
        self.quota_error = None;
        match self.workload.kind {
            WorkloadKind::Deployment => self.surge(now, serial),
            WorkloadKind::StatefulSet | WorkloadKind::DaemonSet => self.replace(now, serial),
        }
    }

    /// A Deployment's strategy with a surge of one pod and none unavailable: an old pod ends when a new one is ready.
    fn surge(&mut self, now: Timestamp, serial: &mut Serial) {
        let current = self.revision().map(|revision| revision.hash.clone());
        // Old pods that are not ready end first.
        self.pods.retain(|pod| pod.is_ready() || Some(&pod.hash) == current.as_ref());
        loop {
            let new = self.count(|pod| self.is_current(pod));
            let old = self.count(|pod| !self.is_current(pod));
            let ready = self.count(Pod::is_ready);
            if old > 0 && ready > self.replicas {
                let oldest = self.pods.iter().position(|pod| Some(&pod.hash) != current.as_ref());
                oldest.map(|index| self.pods.remove(index));
            } else if new < self.replicas && new + old <= self.replicas && (old > 0 || new + old < self.replicas) {
                self.start_pod(0, now, serial);
                if self.quota_error.is_some() {
                    return;
                }
            } else {
                return;
            }
        }
    }

    /// The strategy of the other kinds: pods are replaced one after another.
    fn replace(&mut self, now: Timestamp, serial: &mut Serial) {
        let in_order = self.workload.kind == WorkloadKind::StatefulSet;
        for ordinal in 0..self.replicas {
            let busy = self.pods.iter().any(|pod| self.is_current(pod) && !pod.is_ready());
            if self.pods.iter().all(|pod| pod.ordinal != ordinal) && !(in_order && busy) {
                self.start_pod(ordinal, now, serial);
            }
        }
        // A refused pod is missing. Its controller replaces no other pod before it exists.
        if self.quota_error.is_some() || self.pods.iter().any(|pod| self.is_current(pod) && !pod.is_ready()) {
            return;
        }
        let next = self
            .pods
            .iter()
            .filter(|pod| !self.is_current(pod))
            .max_by_key(|pod| (!pod.is_ready(), pod.ordinal))
            .map(|pod| pod.ordinal);
        if let Some(ordinal) = next {
            self.pods.retain(|pod| pod.ordinal != ordinal);
            self.start_pod(ordinal, now, serial);
        }
    }

    fn start_pod(&mut self, ordinal: u32, now: Timestamp, serial: &mut Serial) {
        let Some(hash) = self.revision().map(|revision| revision.hash.clone()) else { return };
        let name = match self.workload.kind {
            WorkloadKind::Deployment => format!("{}-{hash}-{}", self.workload.name, serial.suffix()),
            WorkloadKind::StatefulSet => format!("{}-{ordinal}", self.workload.name),
            WorkloadKind::DaemonSet => format!("{}-{}", self.workload.name, serial.suffix()),
        };
        let used = self.count(|_| true);
        if let Some(limit) = self.quota.filter(|limit| used >= *limit) {
            // The message of the API server's quota admission, `pods "x" is forbidden: exceeded quota: ...`.
            self.quota_error = Some(format!(
                "pods \"{name}\" is forbidden: exceeded quota: pods, requested: pods=1, used: pods={used}, limited: pods={limit}"
            ));
            return;
        }
        self.pods.push(Pod { name, uid: serial.uid(), ordinal, hash, created: now, health: Health::Starting });
    }
}

impl Pod {
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.health, Health::Ready { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn completed_workload(workload: &str, replicas: u32) -> (LiveWorkload, Serial) {
        let mut serial = Serial::default();
        let mut live = LiveWorkload::new("qa", &workload.parse().unwrap(), replicas, NOW, &mut serial);
        live.set_image("app", "checkout:1");
        live.complete_now(NOW, &mut serial);
        assert_eq!(live.phase, Phase::Complete);
        (live, serial)
    }

    /// (all pods, ready pods, ready pods of the new revision)
    fn counts(live: &LiveWorkload) -> (u32, u32, u32) {
        (live.count(|_| true), live.count(Pod::is_ready), live.updated_and_ready())
    }

    #[test]
    fn each_workload_kind_replaces_pods_by_its_own_strategy() {
        let cases = [
            ("deployment/checkout", vec![(3, 2, 0), (3, 2, 1), (2, 2, 2)]),
            ("statefulset/mailer", vec![(2, 1, 0), (2, 1, 1), (2, 2, 2)]),
            ("daemonset/agent", vec![(2, 1, 0), (2, 1, 1), (2, 2, 2)]),
        ];
        for (workload, expected) in cases {
            let (mut live, mut serial) = completed_workload(workload, 2);
            assert!(live.set_image("app", "checkout:2"));
            assert_eq!(counts(&live), (2, 2, 0), "{workload}: specified, not yet observed");
            live.observe(NOW, &mut serial);
            let mut seen = vec![counts(&live)];
            while live.advance(NOW, &mut serial, &|_| true) == RolloutProgress::Progressing {
                seen.push(counts(&live));
            }
            seen.push(counts(&live));
            assert_eq!(seen, expected, "{workload}");
            assert_eq!(live.phase, Phase::Complete);
        }
    }

    #[test]
    fn a_statefulset_begins_with_its_last_pod() {
        let (mut live, mut serial) = completed_workload("statefulset/mailer", 3);
        live.set_image("app", "checkout:2");
        live.observe(NOW, &mut serial);
        let starting = live.pods.iter().find(|pod| pod.health == Health::Starting).unwrap();
        assert_eq!(starting.name, "mailer-2");
    }

    #[test]
    fn a_failing_pod_stops_the_rollout_and_leaves_the_old_ones() {
        for (workload, left) in [("deployment/checkout", 2), ("statefulset/mailer", 1), ("daemonset/agent", 1)] {
            let (mut live, mut serial) = completed_workload(workload, 2);
            live.set_image("app", "checkout:2");
            live.observe(NOW, &mut serial);
            assert_eq!(live.advance(NOW, &mut serial, &|image| image != "checkout:2"), RolloutProgress::Stuck);
            assert_eq!(live.failure(), Some("ImagePullBackOff"));
            assert_eq!(live.count(Pod::is_ready), left, "{workload}");

            live.set_image("app", "checkout:3");
            live.observe(NOW, &mut serial);
            while live.advance(NOW, &mut serial, &|_| true) == RolloutProgress::Progressing {}
            assert_eq!(live.phase, Phase::Complete, "{workload} recovers with a better image");
            assert_eq!(live.failure(), None);
        }
    }

    #[test]
    fn a_returning_image_reuses_its_old_revision_with_a_new_number() {
        let (mut live, mut serial) = completed_workload("deployment/checkout", 1);
        let first = live.revision().unwrap().hash.clone();
        for image in ["checkout:2", "checkout:1"] {
            live.set_image("app", image);
            live.complete_now(NOW, &mut serial);
        }
        let numbers: Vec<u64> = live.revisions.iter().map(|revision| revision.number).collect();
        assert_eq!((live.revision().unwrap().hash.clone(), numbers), (first, vec![2, 3]));
    }

    #[test]
    fn old_revisions_beyond_the_limit_are_dropped() {
        let (mut live, mut serial) = completed_workload("deployment/checkout", 1);
        for n in 0..30 {
            live.set_image("app", &format!("checkout:v{n}"));
            live.complete_now(NOW, &mut serial);
        }
        assert_eq!(live.revisions.len(), REVISION_HISTORY + 1);
        assert_eq!(live.revision().unwrap().number, 31);
    }
}
