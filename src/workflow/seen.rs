//! What was seen running, in memory: a mirror of the store's sightings, so that `list` asks nobody.

use std::sync::{Arc, PoisonError, RwLock};

use foldhash::HashMap;
use tokio::sync::{Mutex, MutexGuard};

use crate::domain::artefact::ArtefactName;
use crate::domain::environment::EnvironmentName;
use crate::domain::sighting::Sighting;
use crate::domain::version::Sha;

#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    artefacts: RwLock<HashMap<ArtefactName, Entries>>,
    writing: Mutex<()>,
}

/// One artefact's, of its few environments: they are found by looking at each.
#[derive(Debug, Default)]
pub struct Entries(Vec<Entry>);

impl Entries {
    pub fn of(&self, environment: &EnvironmentName) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.sighting.environment == *environment)
    }

    fn of_mut(&mut self, environment: &EnvironmentName) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.sighting.environment == *environment)
    }
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
    fn new(sighting: Sighting) -> Self {
        Self { sighting, behind: None, compared: None }
    }

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

    pub fn with<T>(&self, artefact: &ArtefactName, read: impl FnOnce(&Entries) -> T) -> T {
        let seen = self.0.artefacts.read().unwrap_or_else(PoisonError::into_inner);
        read(seen.get(artefact).unwrap_or(&Entries::default()))
    }

    pub fn sighting(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sighting> {
        self.with(artefact, |seen| seen.of(environment).map(|entry| entry.sighting.clone()))
    }

    pub(super) fn commit(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sha> {
        self.with(artefact, |of| of.of(environment)?.sighting.version.commit.clone())
    }

    /// Another version forgets the mark: it belonged to the old one.
    pub fn put(&self, sighting: Sighting) {
        let mut seen = self.0.artefacts.write().unwrap_or_else(PoisonError::into_inner);
        let entries = seen.entry(sighting.artefact.clone()).or_default();
        match entries.of_mut(&sighting.environment) {
            Some(entry) if entry.sighting.version.is(&sighting.version) => entry.sighting = sighting,
            Some(entry) => *entry = Entry::new(sighting),
            None => entries.0.push(Entry::new(sighting)),
        }
    }

    pub fn mark(&self, artefact: &ArtefactName, environment: &EnvironmentName, compared: (Sha, Sha), behind: bool) {
        let mut seen = self.0.artefacts.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = seen.get_mut(artefact).and_then(|entries| entries.of_mut(environment)) {
            entry.behind = Some(behind);
            entry.compared = Some(compared);
        }
    }
}
