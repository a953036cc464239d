//! What was seen running, in memory: a mirror of the store's sightings, so that `list` asks nobody.
//! And the stays of the last hours, so that what arrives together is told together.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::HashMap;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, MutexGuard};

use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;

/// Longer than any card of a wave is edited.
const RECENT: SignedDuration = SignedDuration::from_hours(3);

/// In the order in which they began.
type Stays = BTreeMap<(Timestamp, ArtefactName), Stay>;

#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    artefacts: RwLock<HashMap<ArtefactName, Entries>>,
    recent: RwLock<HashMap<EnvironmentName, Stays>>,
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
    /// Whether Git explains it, as it was found out last.
    pub origin: Provenance,
    pub origin_asked: Option<Timestamp>,
}

/// A version's stay that began in the last hours, be it over by now.
#[derive(Clone, Debug)]
pub(crate) struct Stay {
    pub(crate) sighting: Sighting,
    /// Part of no wave: the card of a change tells of it, or it was there when we first looked.
    pub(crate) apart: bool,
    /// How people know its commit, once that was asked.
    pub(crate) commit: Option<Commit>,
}

impl Entry {
    fn new(sighting: Sighting) -> Self {
        Self { sighting, behind: None, compared: None, origin: Provenance::Unknown, origin_asked: None }
    }

    /// Whether it is behind `below`, if that is what it was compared with.
    pub(crate) fn behind_of(&self, below: &Sha) -> Option<bool> {
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
    pub(crate) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().await
    }

    pub fn with<T>(&self, artefact: &ArtefactName, read: impl FnOnce(&Entries) -> T) -> T {
        let seen = self.0.artefacts.read().unwrap_or_else(PoisonError::into_inner);
        read(seen.get(artefact).unwrap_or(&Entries::default()))
    }

    pub fn sighting(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sighting> {
        self.with(artefact, |seen| seen.of(environment).map(|entry| entry.sighting.clone()))
    }

    pub(crate) fn commit(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sha> {
        self.with(artefact, |of| of.of(environment)?.sighting.version.commit.clone())
    }

    /// Another version forgets the mark: it belonged to the old one.
    pub fn put(&self, sighting: Sighting) {
        let before = self.sighting(&sighting.artefact, &sighting.environment).map(|before| before.seen_at);
        self.keep(&sighting, before);
        let mut seen = self.0.artefacts.write().unwrap_or_else(PoisonError::into_inner);
        let entries = seen.entry(sighting.artefact.clone()).or_default();
        match entries.of_mut(&sighting.environment) {
            Some(entry) if entry.sighting.version.is_same_as(&sighting.version) => entry.sighting = sighting,
            Some(entry) => *entry = Entry::new(sighting),
            None => entries.0.push(Entry::new(sighting)),
        }
    }

    fn keep(&self, sighting: &Sighting, before: Option<Timestamp>) {
        let mut recent = self.0.recent.write().unwrap_or_else(PoisonError::into_inner);
        let stays = recent.entry(sighting.environment.clone()).or_default();
        let here = (sighting.seen_at, sighting.artefact.clone());
        let same = |stay: &&mut Stay| stay.sighting.version.is_same_image(&sighting.version);
        if let Some(stay) = stays.get_mut(&here).filter(same) {
            stay.sighting = sighting.clone();
        } else {
            let before = before.and_then(|before| stays.get_mut(&(before, sighting.artefact.clone())));
            if let Some(stay) = before {
                stay.sighting.ended_at.get_or_insert(sighting.seen_at);
            }
            stays.insert(here, Stay { sighting: sighting.clone(), apart: false, commit: None });
        }
        let Some(((newest, _), _)) = stays.last_key_value() else { return };
        let newest = *newest;
        while let Some(oldest) = stays.first_entry() {
            if newest.duration_since(oldest.key().0) <= RECENT {
                break;
            }
            oldest.remove();
        }
    }

    /// The stays of the last hours in an environment, oldest first.
    pub(crate) fn recent(&self, environment: &EnvironmentName) -> Vec<Stay> {
        let recent = self.0.recent.read().unwrap_or_else(PoisonError::into_inner);
        recent.get(environment).map(|stays| stays.values().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn set_apart(&self, sighting: &Sighting) {
        self.amend(sighting, |stay| stay.apart = true);
    }

    pub(crate) fn describe(&self, sighting: &Sighting, commit: Commit) {
        self.amend(sighting, |stay| stay.commit = Some(commit));
    }

    fn amend(&self, sighting: &Sighting, change: impl FnOnce(&mut Stay)) {
        let mut recent = self.0.recent.write().unwrap_or_else(PoisonError::into_inner);
        let here = (sighting.seen_at, sighting.artefact.clone());
        if let Some(stay) = recent.get_mut(&sighting.environment).and_then(|stays| stays.get_mut(&here)) {
            change(stay);
        }
    }

    /// Keeps whether Git explains what runs there, if it is still that version.
    pub(crate) fn explain(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        version: &Version,
        origin: Provenance,
        now: Timestamp,
    ) {
        let mut seen = self.0.artefacts.write().unwrap_or_else(PoisonError::into_inner);
        let entry = seen.get_mut(artefact).and_then(|entries| entries.of_mut(environment));
        if let Some(entry) = entry.filter(|entry| entry.sighting.version.is_same_as(version)) {
            entry.origin = origin;
            entry.origin_asked = Some(now);
        }
    }

    /// Nobody tells: it is asked again later.
    pub(crate) fn rest_origin(&self, artefact: &ArtefactName, environment: &EnvironmentName, now: Timestamp) {
        let mut seen = self.0.artefacts.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = seen.get_mut(artefact).and_then(|entries| entries.of_mut(environment)) {
            entry.origin_asked = Some(now);
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
