//! The open changes in memory, a mirror of the store: `status`, the observer and the runner read them without a query.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::watch;

use crate::domain::change::{Change, Stage};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::telemetry::metrics::{LabelledCounter, LabelledHistogram};

const PROMOTION: &str = "promotion";
const ROLLBACK: &str = "rollback";

#[derive(Clone, Debug)]
pub struct OpenChanges(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    open: RwLock<BTreeMap<ChangeId, Arc<Change>>>,
    woken: Mutex<BTreeSet<ChangeId>>,
    wakeups: watch::Sender<u64>,
    updates: watch::Sender<u64>,
    metrics: ChangeMetrics,
}

/// Metrics of the changes that began, advanced and ended since this process started.
#[derive(Debug)]
pub struct ChangeMetrics {
    pub begun: LabelledCounter<2>,
    pub ended: LabelledCounter<3>,
    pub phase_durations: LabelledHistogram<3>,
    pub total_durations: LabelledHistogram<2>,
}

impl Default for OpenChanges {
    fn default() -> Self {
        let (wakeups, updates) = (watch::Sender::new(0), watch::Sender::new(0));
        let metrics = ChangeMetrics {
            begun: LabelledCounter::with_labels(["kind", "environment"]),
            ended: LabelledCounter::with_labels(["end", "kind", "environment"]),
            phase_durations: LabelledHistogram::with_labels(["step", "kind", "environment"]),
            total_durations: LabelledHistogram::with_labels(["kind", "environment"]),
        };
        Self(Arc::new(Inner { open: RwLock::default(), woken: Mutex::default(), wakeups, updates, metrics }))
    }
}

impl OpenChanges {
    /// Takes over the changes that the store had at the start.
    pub fn load(&self, open: Vec<Change>) {
        for change in open {
            self.insert_or_remove(Arc::new(change));
        }
    }

    /// Takes over a change that was just stored.
    pub(crate) fn record_change(&self, change: Change) {
        let change = Arc::new(change);
        let before = self.insert_or_remove(change.clone());
        self.0.metrics.record_transition(before.as_deref(), &change);
        self.0.updates.send_modify(|count| *count += 1);
    }

    /// Keeps the change if it is open, else removes it. Returns its previous state. An active change also removes the
    /// failed and stalled changes with the same change lock, because only the newer change is verified.
    fn insert_or_remove(&self, change: Arc<Change>) -> Option<Arc<Change>> {
        let mut open = self.0.open.write().unwrap_or_else(PoisonError::into_inner);
        if change.stage.is_active() {
            let lock_key = change.change_lock_key();
            open.retain(|_, other| !other.stage.is_watched() || other.change_lock_key() != lock_key);
        }
        let lock_key = change.change_lock_key();
        let is_superseded = change.stage.is_watched()
            && open
                .values()
                .any(|other| other.stage.is_active() && other.change_lock_key() == lock_key && other.id != change.id);
        if change.is_open() && !is_superseded { open.insert(change.id, change) } else { open.remove(&change.id) }
    }

    /// Creates the counters of an environment with the value 0.
    pub fn init_counters(&self, environment: &EnvironmentName) {
        for kind in [PROMOTION, ROLLBACK] {
            self.0.metrics.begun.ensure_counter([kind, environment.as_str()]);
            for end in ["deployed", "failed", "stalled", "errored"] {
                self.0.metrics.ended.ensure_counter([end, kind, environment.as_str()]);
            }
        }
    }

    pub fn metrics(&self) -> &ChangeMetrics {
        &self.0.metrics
    }

    /// All open changes, in the order in which they were requested.
    pub fn all(&self) -> Vec<Arc<Change>> {
        self.read_open().values().cloned().collect()
    }

    /// The merged change that may bring a new version of the artefact to the environment: a change of the artefact
    /// itself, or of one that is deployed together with it.
    pub(crate) fn change_deploying_to(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
    ) -> Option<Arc<Change>> {
        let is_deploying = |change: &&Arc<Change>| {
            let plan = &change.plan;
            plan.environment == *environment
                && change.stage.deploying().is_some()
                && (plan.artefact == *artefact
                    || plan.co_deployed.iter().any(|co_deployed| co_deployed.artefact == *artefact))
        };
        self.read_open().values().rev().find(is_deploying).cloned()
    }

    /// Like [`Self::change_deploying_to`], but without failed or stalled changes. Those are still watched, but a new
    /// version may have another origin.
    pub(crate) fn active_change_deploying_to(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
    ) -> Option<Arc<Change>> {
        self.change_deploying_to(artefact, environment).filter(|change| change.stage.is_active())
    }

    /// Has the runner handle the change soon, because of an event that may concern it.
    pub(crate) fn wake(&self, id: ChangeId) {
        self.0.woken.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.0.wakeups.send_modify(|count| *count += 1);
    }

    pub(crate) fn take_woken(&self) -> BTreeSet<ChangeId> {
        std::mem::take(&mut self.0.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn wakeups(&self) -> watch::Receiver<u64> {
        self.0.wakeups.subscribe()
    }

    /// Ticks whenever a change was stored.
    pub(crate) fn subscribe_updates(&self) -> watch::Receiver<u64> {
        self.0.updates.subscribe()
    }

    fn read_open(&self) -> RwLockReadGuard<'_, BTreeMap<ChangeId, Arc<Change>>> {
        self.0.open.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangeMetrics {
    /// Called once for each stored transition, after the commit. Loading the stored changes at a start counts nothing,
    /// so no transition is counted twice. If the process dies right after the commit, the transition is not counted at
    /// all.
    fn record_transition(&self, before: Option<&Change>, now: &Change) {
        let environment = now.plan.environment.as_str();
        let kind = if now.plan.is_rollback() { ROLLBACK } else { PROMOTION };
        let Some(before) = before else {
            if now.stage.is_active() {
                log_stage(now, kind, "begun");
                self.begun.increment([kind, environment]);
            }
            return;
        };
        if before.stage.name() == now.stage.name() {
            return;
        }
        let merged = before.stage.deploying().is_none() && now.stage.deploying().is_some();
        log_stage(now, kind, if merged { "merged" } else { now.stage.name() });
        for (step, duration) in now.measure_phases_since(&before.stage) {
            self.phase_durations.observe([step.as_str(), kind, environment], duration.as_secs_f64());
        }
        if !now.stage.is_active() {
            self.ended.increment([now.stage.name(), kind, environment]);
        }
        if let Stage::Deployed { at, .. } = &now.stage {
            self.total_durations.observe([kind, environment], at.duration_since(now.began_at()).as_secs_f64());
        }
    }
}

/// Logs one line for each stage of a change. The message is a stable word that log queries can rely on.
fn log_stage(change: &Change, kind: &str, event: &str) {
    let (artefact, environment) = (&change.plan.artefact, &change.plan.environment);
    tracing::info!(
        change.id = %change.id, request.id = change.request, kind, %artefact, %environment, stage = change.stage.name(),
        "{event}"
    );
}
