//! The changes that are open, in memory: a mirror of the store's, so that `status`, the observer and the runner ask nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::watch;

use crate::domain::artefact::ArtefactName;
use crate::domain::change::{Change, ChangeId};
use crate::domain::environment::EnvironmentName;

#[derive(Clone, Debug)]
pub struct Changes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    open: RwLock<BTreeMap<ChangeId, Arc<Change>>>,
    poked: Mutex<BTreeSet<ChangeId>>,
    pokes: watch::Sender<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        let (pokes, _) = watch::channel(0);
        Self(Arc::new(Inner { open: RwLock::default(), poked: Mutex::default(), pokes }))
    }
}

impl Changes {
    /// Takes over what the store knew when we started.
    pub fn load(&self, open: Vec<Change>) {
        for change in open {
            self.put(change);
        }
    }

    /// What was just stored. A change that begins ends the watch over those before it.
    pub(super) fn put(&self, change: Change) {
        let mut open = self.0.open.write().unwrap_or_else(PoisonError::into_inner);
        if change.stage.is_active() {
            let moves = change.moves();
            open.retain(|_, other| !other.stage.is_watched() || other.moves() != moves);
        }
        let moves = change.moves();
        let over = change.stage.is_watched()
            && open.values().any(|other| other.stage.is_active() && other.moves() == moves && other.id != change.id);
        if change.is_open() && !over {
            open.insert(change.id, Arc::new(change));
        } else {
            open.remove(&change.id);
        }
    }

    /// In the order in which they were asked for.
    pub(super) fn all(&self) -> Vec<Arc<Change>> {
        self.read().values().cloned().collect()
    }

    /// The merged change that what comes to run there may belong to: of the artefact itself, or of one that carries it
    /// along.
    pub(super) fn bringing(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Arc<Change>> {
        let brings = |change: &&Arc<Change>| {
            let plan = &change.plan;
            plan.environment == *environment
                && change.stage.deploying().is_some()
                && (plan.artefact == *artefact || plan.also.iter().any(|also| also.artefact == *artefact))
        };
        self.read().values().rev().find(brings).cloned()
    }

    /// The same, but only while it is waited for: what failed or stalled is still watched, and yet others may bring something.
    pub(super) fn awaited(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Arc<Change>> {
        self.bringing(artefact, environment).filter(|change| change.stage.is_active())
    }

    /// Something happened that may concern the change: it is looked at soon.
    pub(super) fn poke(&self, id: ChangeId) {
        self.0.poked.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.0.pokes.send_modify(|count| *count += 1);
    }

    pub(super) fn poked(&self) -> BTreeSet<ChangeId> {
        std::mem::take(&mut self.0.poked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn pokes(&self) -> watch::Receiver<u64> {
        self.0.pokes.subscribe()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<ChangeId, Arc<Change>>> {
        self.0.open.read().unwrap_or_else(PoisonError::into_inner)
    }
}
