//! What was seen running, in memory: a mirror of the store's sightings, so that `list` asks nobody.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, MutexGuard};

use crate::domain::artefact::ArtefactName;
use crate::domain::environment::EnvironmentName;
use crate::domain::sighting::Sighting;
use crate::domain::version::Sha;

#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    entries: RwLock<HashMap<EnvironmentName, HashMap<ArtefactName, Entry>>>,
    writing: Mutex<()>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub sighting: Sighting,
    /// The rung below runs something that is not here; `None` until the commits were compared.
    pub behind: Option<bool>,
    /// The commits that were compared: here and below.
    pub compared: Option<(Sha, Sha)>,
}

impl Entry {
    /// Whether it is behind `below`, if that is what it was compared with.
    pub(super) fn behind_of(&self, below: &Sha) -> Option<bool> {
        let (here, compared) = self.compared.as_ref()?;
        let same = compared == below && self.sighting.version.commit.as_ref() == Some(here);
        if same { self.behind } else { None }
    }
}

impl Seen {
    /// Takes over what the store knew when we started.
    pub fn load(&self, sightings: Vec<Sighting>) {
        for sighting in sightings {
            self.put(sighting);
        }
    }

    /// Held while something is written to the store and then here, so that nobody writes what has become old.
    pub(super) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().await
    }

    pub fn with<T>(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        read: impl FnOnce(Option<&Entry>) -> T,
    ) -> T {
        let seen = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        read(seen.get(environment).and_then(|of| of.get(artefact)))
    }

    pub fn sighting(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sighting> {
        self.with(artefact, environment, |entry| entry.map(|entry| entry.sighting.clone()))
    }

    pub(super) fn commit(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sha> {
        self.with(artefact, environment, |entry| entry?.sighting.version.commit.clone())
    }

    /// Another version forgets the mark: it belonged to the old one.
    pub fn put(&self, sighting: Sighting) {
        let mut seen = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        let of = seen.entry(sighting.environment.clone()).or_default();
        let same = of.get(&sighting.artefact).filter(|before| before.sighting.version.is(&sighting.version));
        let (behind, compared) = same.map_or((None, None), |before| (before.behind, before.compared.clone()));
        of.insert(sighting.artefact.clone(), Entry { sighting, behind, compared });
    }

    pub fn mark(&self, artefact: &ArtefactName, environment: &EnvironmentName, compared: (Sha, Sha), behind: bool) {
        let mut seen = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = seen.get_mut(environment).and_then(|of| of.get_mut(artefact)) {
            entry.behind = Some(behind);
            entry.compared = Some(compared);
        }
    }
}
