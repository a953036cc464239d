//! Finds the commit that an image was built from: by its tag, its revision label, a Git tag, or a controller's report.
//! A found commit is stored for ever. A missing one is looked up again later.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::adapters::github::{self, extract_sha_candidate};
use crate::adapters::registry;
use crate::adapters::store::{ImageCommit, Store, Transaction};
use crate::clock::Clock;
use crate::domain::change::Proof;
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery};
use crate::domain::model::version::{Image, Sha, Version};
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::error::LookupError;
use crate::workflow::facts::report_history::ReportHistory;

/// The pause before a commit that was not found, or a lookup that was refused, is tried again. The Git tag of an image
/// may be created later.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Finds the commits of images, and remembers them in memory and in the store.
pub struct ImageCommits {
    store: Store,
    github: github::Client,
    registry: registry::Client,
    clock: Clock,
    reports: ReportHistory,
    memory: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the full reference of the image.
    commits_by_image: HashMap<String, CachedLookup>,
    /// Held during a lookup, so that the same image is not looked up twice at once.
    in_flight: HashMap<String, Arc<Mutex<()>>>,
    /// Artefacts with refused lookups, and the time of the next try.
    backoff_until: HashMap<ArtefactName, Timestamp>,
}

#[derive(Clone, Debug)]
enum CachedLookup {
    Found(Sha, Proof),
    NotFound { asked_at: Timestamp },
}

impl ImageCommits {
    pub fn new(
        store: Store,
        github: github::Client,
        registry: registry::Client,
        clock: Clock,
        reports: ReportHistory,
    ) -> Self {
        Self { store, github, registry, clock, reports, memory: RwLock::default() }
    }

    pub fn load_stored(&self, stored: Vec<ImageCommit>) {
        let to_cache_entry = |image_commit: ImageCommit| {
            let lookup = CachedLookup::Found(image_commit.commit?, Proof::parse(&image_commit.proof)?);
            Some((format!("{}:{}", image_commit.image, image_commit.reference), lookup))
        };
        self.write_memory().commits_by_image.extend(stored.into_iter().filter_map(to_cache_entry));
    }

    pub(crate) fn back_off(&self, artefact: &ArtefactName, now: Timestamp) {
        self.write_memory().backoff_until.insert(artefact.clone(), now + RETRY_AFTER);
    }

    pub(crate) fn is_backing_off(&self, artefact: &ArtefactName, now: Timestamp) -> bool {
        self.read_memory().backoff_until.get(artefact).is_some_and(|until| *until > now)
    }

    fn begin_lookup(&self, reference: &str) -> Arc<Mutex<()>> {
        self.write_memory().in_flight.entry(reference.to_owned()).or_default().clone()
    }

    fn end_lookup(&self, reference: &str) {
        self.write_memory().in_flight.remove(reference);
    }

    /// The proof of the cached commit of an image. `None`: the commit is not known.
    pub(crate) fn find_proof(&self, image: &str, version: &Version) -> Option<Proof> {
        match self.find_cached(&format!("{image}:{}", preferred_reference(version)?))? {
            CachedLookup::Found(_, proof) => Some(proof),
            CachedLookup::NotFound { .. } => None,
        }
    }

    fn find_cached(&self, reference: &str) -> Option<CachedLookup> {
        self.read_memory().commits_by_image.get(reference).cloned()
    }

    fn cache_lookup(&self, reference: String, lookup: CachedLookup) {
        self.write_memory().commits_by_image.insert(reference, lookup);
    }

    fn read_memory(&self) -> RwLockReadGuard<'_, Inner> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_memory(&self) -> RwLockWriteGuard<'_, Inner> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The commit of a sighting. If the image does not name one, the controller's report counts after a complete
    /// rollout.
    pub(crate) async fn resolve_sighting_commit(
        &self,
        artefact: &Artefact,
        sighting: &Sighting,
    ) -> Result<Option<(Sha, Proof)>, LookupError> {
        if let Some(found) = self.find_version_commit(artefact, &sighting.version).await? {
            return Ok(Some(found));
        }
        let running = sighting.running_at.is_some() && sighting.failure.is_none();
        // With delivery by manifest, the report names a commit of the manifests, not of the code.
        let of_code = artefact.delivery == Delivery::Branch;
        let reported = self.reports.find_reported_commit(sighting).filter(|_| running && of_code);
        let Some(commit) = reported else { return Ok(None) };
        // The reported commit may belong to another repository, or to the manifests. Then the report is discarded.
        if self.github.resolve_commit(&artefact.repository, commit.as_str()).await?.is_none() {
            self.reports.discard_report(sighting, &commit);
            return Ok(None);
        }
        if let Some(reference) = preferred_reference(&sighting.version) {
            self.store_image_commit(&artefact.image, &reference, &commit, Proof::Report).await;
        }
        Ok(Some((commit, Proof::Report)))
    }

    /// The commit of `version`, without the reports. `None`: not known.
    pub(crate) async fn find_version_commit(
        &self,
        artefact: &Artefact,
        version: &Version,
    ) -> Result<Option<(Sha, Proof)>, LookupError> {
        let image = Image { name: artefact.image.clone(), tag: version.tag.clone(), digest: version.digest.clone() };
        let Some(reference) = preferred_reference(version) else { return Ok(None) };
        let key = format!("{}:{reference}", image.name);
        match self.find_cached(&key) {
            Some(CachedLookup::Found(sha, proof)) => return Ok(Some((sha, proof))),
            Some(CachedLookup::NotFound { asked_at }) if self.clock.now().duration_since(asked_at) < RETRY_AFTER => {
                return Ok(None);
            }
            _ => {}
        }
        let lookup_mutex = self.begin_lookup(&key);
        let _guard = lookup_mutex.lock().await;
        // A lookup that ran meanwhile may have found the commit.
        if let Some(CachedLookup::Found(sha, proof)) = self.find_cached(&key) {
            return Ok(Some((sha, proof)));
        }
        let found = resolve_image_commit(&self.github, &self.registry, artefact, &image).await;
        self.end_lookup(&key);
        let Some((sha, proof)) = found? else {
            self.cache_lookup(key, CachedLookup::NotFound { asked_at: self.clock.now() });
            return Ok(None);
        };
        self.store_image_commit(&image.name, &reference, &sha, proof).await;
        Ok(Some((sha, proof)))
    }

    /// Whether the image of the tag now has a revision label of another commit. `false` if the label cannot be read.
    pub(crate) async fn is_tag_overwritten(&self, artefact: &Artefact, version: &Version) -> bool {
        let Version { tag: Some(tag), commit: Some(commit), .. } = version else { return false };
        // A tag that names its commit counts more than the label, which may come from the base image.
        if extract_sha_candidate(tag).is_some_and(|prefix| commit.as_str().starts_with(prefix)) {
            return false;
        }
        let image = Image { name: artefact.image.clone(), tag: Some(tag.clone()), digest: None };
        let revision = self.registry.fetch_revision(&image).await.ok().flatten();
        revision.and_then(|revision| revision.parse::<Sha>().ok()).is_some_and(|labelled| labelled != *commit)
    }

    /// Stores the commit of an image. If that fails, the commit is only looked up again later.
    async fn store_image_commit(&self, image: &str, reference: &str, sha: &Sha, proof: Proof) {
        self.cache_lookup(format!("{image}:{reference}"), CachedLookup::Found(sha.clone(), proof));
        let image_commit = ImageCommit {
            image: image.to_owned(),
            reference: reference.to_owned(),
            commit: Some(sha.clone()),
            proof: proof.as_str().to_owned(),
        };
        if let Err(error) = self.store.commit(Transaction::new().record_image_commit(image_commit)).await {
            tracing::warn!(%error, image, "the commit of an image could not be stored");
        }
    }
}

/// Looks up the commit by the image's tag, its revision label or a Git tag. Does not cache the result.
pub(crate) async fn resolve_image_commit(
    github: &github::Client,
    registry: &registry::Client,
    artefact: &Artefact,
    image: &Image,
) -> Result<Option<(Sha, Proof)>, LookupError> {
    let mut registry_error = None;
    if let Some(candidate) = image.tag.as_deref().and_then(extract_sha_candidate) {
        let found = github.find_commit_by_prefix(&artefact.repository, candidate).await?;
        if let Some(commit) = found {
            return Ok(Some((commit.sha, Proof::TagPattern)));
        }
    }
    match registry.fetch_revision(image).await {
        Ok(Some(revision)) => {
            if let Ok(sha) = revision.parse() {
                return Ok(Some((sha, Proof::RevisionLabel)));
            }
        }
        Ok(None) => {}
        // The Git tag is tried even if the registry does not answer.
        Err(error) => registry_error = Some(error.into()),
    }
    if let Some(tag) = image.tag.as_deref() {
        let tagged = github.resolve_tag(&artefact.repository, tag).await?;
        if let Some(sha) = tagged {
            return Ok(Some((sha, Proof::GitTag)));
        }
    }
    match registry_error {
        Some(error) => Err(error),
        None => Ok(None),
    }
}

fn preferred_reference(version: &Version) -> Option<Arc<str>> {
    version.digest.clone().or_else(|| version.tag.clone())
}
