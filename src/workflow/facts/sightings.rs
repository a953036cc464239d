//! The sightings in memory: the current ones, a mirror of the store that `list` reads without a query, and those of the
//! last hours, from which batches of arrivals are made.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, MutexGuard};

use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;

/// How long recent sightings are kept. The card of a batch is edited for a shorter time.
const RECENT_WINDOW: SignedDuration = SignedDuration::from_hours(3);

/// Sorted by the start of the sighting.
type RecentSightings = BTreeMap<(Timestamp, ArtefactName), RecentSighting>;

#[derive(Clone, Debug, Default)]
pub struct SightingCache(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    current: RwLock<HashMap<ArtefactName, ArtefactSightings>>,
    recent: RwLock<HashMap<EnvironmentName, RecentSightings>>,
    write_mutex: Mutex<()>,
}

/// The current sightings of one artefact. A linear search is enough for its few environments.
#[derive(Debug, Default)]
pub struct ArtefactSightings(Vec<CurrentSighting>);

impl ArtefactSightings {
    pub fn find_in(&self, environment: &EnvironmentName) -> Option<&CurrentSighting> {
        self.0.iter().find(|entry| entry.sighting.environment == *environment)
    }

    fn find_in_mut(&mut self, environment: &EnvironmentName) -> Option<&mut CurrentSighting> {
        self.0.iter_mut().find(|entry| entry.sighting.environment == *environment)
    }
}

#[derive(Clone, Debug)]
pub struct CurrentSighting {
    pub sighting: Sighting,
    /// The environment below has commits that this one lacks. `None`: not compared yet.
    pub is_behind: Option<bool>,
    /// The compared commits: of this environment, and of the one below.
    pub compared_commits: Option<(Sha, Sha)>,
    /// The result of the last check whether the version comes from Git.
    pub provenance: Provenance,
    pub provenance_checked_at: Option<Timestamp>,
}

/// A sighting that began in the last hours. It may have ended.
#[derive(Clone, Debug)]
pub(crate) struct RecentSighting {
    pub(crate) sighting: Sighting,
    /// Not part of a batch: a change brought the version, or it ran at the first observation.
    pub(crate) excluded_from_batch: bool,
    /// The details of the commit, once they were fetched.
    pub(crate) commit: Option<Commit>,
}

impl CurrentSighting {
    fn new(sighting: Sighting) -> Self {
        Self {
            sighting,
            is_behind: None,
            compared_commits: None,
            provenance: Provenance::Unknown,
            provenance_checked_at: None,
        }
    }

    /// Whether the sighting is behind `below`. `None`: it was not compared with that commit.
    pub(crate) fn is_behind_commit(&self, below: &Sha) -> Option<bool> {
        let (own, compared_below) = self.compared_commits.as_ref()?;
        let same = compared_below == below && self.sighting.version.commit.as_ref() == Some(own);
        if same { self.is_behind } else { None }
    }
}

impl SightingCache {
    /// Takes over the sightings that the store had at the start.
    pub fn load_stored(&self, sightings: Vec<Sighting>) {
        for sighting in sightings {
            self.record_sighting(sighting);
        }
    }

    /// Held during a write to the store and then to this cache, so that no other task writes an outdated sighting.
    pub(crate) async fn lock_for_write(&self) -> MutexGuard<'_, ()> {
        self.0.write_mutex.lock().await
    }

    pub fn read_artefact<T>(&self, artefact: &ArtefactName, read: impl FnOnce(&ArtefactSightings) -> T) -> T {
        let sightings = self.0.current.read().unwrap_or_else(PoisonError::into_inner);
        read(sightings.get(artefact).unwrap_or(&ArtefactSightings::default()))
    }

    pub fn find_sighting(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sighting> {
        self.read_artefact(artefact, |sightings| sightings.find_in(environment).map(|entry| entry.sighting.clone()))
    }

    pub(crate) fn find_commit(&self, artefact: &ArtefactName, environment: &EnvironmentName) -> Option<Sha> {
        self.read_artefact(artefact, |sightings| sightings.find_in(environment)?.sighting.version.commit.clone())
    }

    /// Records a sighting. Another version resets the comparison and the provenance.
    pub fn record_sighting(&self, sighting: Sighting) {
        let previous = self.find_sighting(&sighting.artefact, &sighting.environment);
        let previous_seen_at = previous.map(|previous| previous.seen_at);
        self.record_recent(&sighting, previous_seen_at);
        let mut artefacts = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        let entries = artefacts.entry(sighting.artefact.clone()).or_default();
        match entries.find_in_mut(&sighting.environment) {
            Some(entry) if entry.sighting.version.is_same_as(&sighting.version) => entry.sighting = sighting,
            Some(entry) => *entry = CurrentSighting::new(sighting),
            None => entries.0.push(CurrentSighting::new(sighting)),
        }
    }

    fn record_recent(&self, sighting: &Sighting, previous_seen_at: Option<Timestamp>) {
        let mut recent = self.0.recent.write().unwrap_or_else(PoisonError::into_inner);
        let sightings = recent.entry(sighting.environment.clone()).or_default();
        let key = (sighting.seen_at, sighting.artefact.clone());
        let is_same_image = |recorded: &&mut RecentSighting| recorded.sighting.version.is_same_image(&sighting.version);
        if let Some(recorded) = sightings.get_mut(&key).filter(is_same_image) {
            recorded.sighting = sighting.clone();
        } else {
            let previous =
                previous_seen_at.and_then(|seen_at| sightings.get_mut(&(seen_at, sighting.artefact.clone())));
            if let Some(previous) = previous {
                previous.sighting.ended_at.get_or_insert(sighting.seen_at);
            }
            sightings
                .insert(key, RecentSighting { sighting: sighting.clone(), excluded_from_batch: false, commit: None });
        }
        let Some(((newest, _), _)) = sightings.last_key_value() else { return };
        let newest = *newest;
        while let Some(oldest) = sightings.first_entry() {
            if newest.duration_since(oldest.key().0) <= RECENT_WINDOW {
                break;
            }
            oldest.remove();
        }
    }

    /// The sightings of the last hours in an environment, oldest first.
    pub(crate) fn recent_sightings(&self, environment: &EnvironmentName) -> Vec<RecentSighting> {
        let recent = self.0.recent.read().unwrap_or_else(PoisonError::into_inner);
        recent.get(environment).map(|sightings| sightings.values().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn exclude_from_batch(&self, sighting: &Sighting) {
        self.update_recent(sighting, |recent| recent.excluded_from_batch = true);
    }

    pub(crate) fn attach_commit(&self, sighting: &Sighting, commit: Commit) {
        self.update_recent(sighting, |recent| recent.commit = Some(commit));
    }

    fn update_recent(&self, sighting: &Sighting, update: impl FnOnce(&mut RecentSighting)) {
        let mut recent = self.0.recent.write().unwrap_or_else(PoisonError::into_inner);
        let key = (sighting.seen_at, sighting.artefact.clone());
        if let Some(recent_sighting) =
            recent.get_mut(&sighting.environment).and_then(|sightings| sightings.get_mut(&key))
        {
            update(recent_sighting);
        }
    }

    /// Sets the provenance of a version, if that version is still the current one.
    pub(crate) fn set_provenance(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        version: &Version,
        provenance: Provenance,
        now: Timestamp,
    ) {
        let mut artefacts = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        let entry = artefacts.get_mut(artefact).and_then(|entries| entries.find_in_mut(environment));
        if let Some(entry) = entry.filter(|entry| entry.sighting.version.is_same_as(version)) {
            entry.provenance = provenance;
            entry.provenance_checked_at = Some(now);
        }
    }

    /// Records a check without a result, so that the next check is due later.
    pub(crate) fn postpone_provenance_check(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        now: Timestamp,
    ) {
        let mut artefacts = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = artefacts.get_mut(artefact).and_then(|entries| entries.find_in_mut(environment)) {
            entry.provenance_checked_at = Some(now);
        }
    }

    pub fn set_behind(
        &self,
        artefact: &ArtefactName,
        environment: &EnvironmentName,
        compared: (Sha, Sha),
        behind: bool,
    ) {
        let mut artefacts = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = artefacts.get_mut(artefact).and_then(|entries| entries.find_in_mut(environment)) {
            entry.is_behind = Some(behind);
            entry.compared_commits = Some(compared);
        }
    }
}
