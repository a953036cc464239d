//! Which commit an image was built from: by its tag, its labels, a Git tag, or the controller's word.
//! What was found out is kept for ever; what nothing tells is asked again later.

use crate::workflow::error::LookupError;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::adapters::github::{self, extract_sha_candidate};
use crate::adapters::registry::{self};
use crate::adapters::reports::Report;
use crate::adapters::store::{ImageCommit, Transaction};
use crate::domain::change::{ControllerMessage, FailureEvidence, Proof};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Image, Sha, Version};
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Context;
use crate::workflow::facts::report_history::ReportLog;

/// An image that told nothing may get a Git tag of its name later.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// How long after a version runs a controller's success can still be about it.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);

#[derive(Clone, Debug, Default)]
pub struct ImageCommitCache(Arc<RwLock<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// By the full reference of the image.
    commits_by_image: HashMap<String, CachedLookup>,
    /// Held by whoever asks about an image, so that nobody else asks the same meanwhile.
    in_flight: HashMap<String, Arc<Mutex<()>>>,
    /// Artefacts of which nothing can be found out, until then: a refusal does not end by asking.
    backoff_until: HashMap<ArtefactName, Timestamp>,
    /// What controllers said last.
    report_logs: HashMap<(EnvironmentName, ArtefactName), ReportLog>,
}

#[derive(Clone, Debug)]
enum CachedLookup {
    Found(Sha, Proof),
    NotFound { asked_at: Timestamp },
}

impl ImageCommitCache {
    pub fn load_stored(&self, known: Vec<ImageCommit>) {
        let built = |entry: ImageCommit| {
            let known = CachedLookup::Found(entry.commit?, Proof::parse(&entry.proof)?);
            Some((format!("{}:{}", entry.image, entry.reference), known))
        };
        self.write().commits_by_image.extend(known.into_iter().filter_map(built));
    }

    /// Remembers what a controller says that it deployed.
    pub(crate) fn record_report(&self, artefact: &Artefact, report: &Report, now: Timestamp) {
        let key = (report.environment.clone(), artefact.name.clone());
        self.write().report_logs.entry(key).or_default().record_report(report, now);
    }

    /// The last that a controller said of an artefact there.
    pub(crate) fn find_last_message(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
    ) -> Option<ControllerMessage> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        memory.report_logs.get(&(environment.clone(), artefact.clone()))?.last_message().cloned()
    }

    /// What a controller said of a commit that it could not deploy.
    pub(crate) fn find_failure(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
        commit: &Sha,
    ) -> Option<(String, FailureEvidence)> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let words = memory.report_logs.get(&(environment.clone(), artefact.clone()))?;
        words.find_failure(commit).map(|(message, evidence)| (message.to_owned(), evidence))
    }

    /// What a controller said of the version that `sighting` is: reported since it came, in whole seconds as Flux counts, and
    /// soon after it ran. What is said much later may be about something newer that is not here yet.
    fn find_reported_commit(&self, sighting: &Sighting) -> Option<Sha> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let words = memory.report_logs.get(&(sighting.environment.clone(), sighting.artefact.clone()))?;
        let (commit, at) = words.last_success()?;
        let since = at.as_second() >= sighting.seen_at.as_second();
        let soon = sighting.running_at.is_some_and(|ran| at.duration_since(ran) <= REPORTED_WITHIN);
        (since && soon).then(|| commit.clone())
    }

    /// What was reported is not this artefact's.
    fn discard_report(&self, sighting: &Sighting, commit: &Sha) {
        let key = (sighting.environment.clone(), sighting.artefact.clone());
        if let Some(words) = self.write().report_logs.get_mut(&key) {
            words.forget_success(commit);
        }
    }

    pub(crate) fn back_off(&self, artefact: &ArtefactName, now: Timestamp) {
        self.write().backoff_until.insert(artefact.clone(), now + RETRY_AFTER);
    }

    pub(crate) fn is_backing_off(&self, artefact: &ArtefactName, now: Timestamp) -> bool {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        memory.backoff_until.get(artefact).is_some_and(|until| *until > now)
    }

    fn begin_lookup(&self, reference: &str) -> Arc<Mutex<()>> {
        self.write().in_flight.entry(reference.to_owned()).or_default().clone()
    }

    fn end_lookup(&self, reference: &str) {
        self.write().in_flight.remove(reference);
    }

    /// By what the commit of an image is known; `None` where it is not.
    pub(crate) fn find_proof(&self, image: &str, version: &Version) -> Option<Proof> {
        match self.find_cached(&format!("{image}:{}", preferred_reference(version)?))? {
            CachedLookup::Found(_, proof) => Some(proof),
            CachedLookup::NotFound { .. } => None,
        }
    }

    fn find_cached(&self, reference: &str) -> Option<CachedLookup> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).commits_by_image.get(reference).cloned()
    }

    fn cache_lookup(&self, reference: String, known: CachedLookup) {
        self.write().commits_by_image.insert(reference, known);
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// The commit of what was seen. Where its image tells none, a complete rollout and the controller's report count.
    pub(crate) async fn resolve_sighting_commit(
        &self,
        artefact: &Artefact,
        sighting: &Sighting,
    ) -> Result<Option<(Sha, Proof)>, LookupError> {
        if let Some(found) = self.find_version_commit(artefact, &sighting.version).await? {
            return Ok(Some(found));
        }
        let running = sighting.running_at.is_some() && sighting.failure.is_none();
        // By manifest it is a commit of the manifests, which tells nothing of the code.
        let of_code = artefact.delivery == Delivery::Branch;
        let reported = self.image_commits.find_reported_commit(sighting).filter(|_| running && of_code);
        let Some(commit) = reported else { return Ok(None) };
        // An object may apply more than one repository's code, or name a commit of the manifests: then it tells nothing.
        if self.github.resolve_commit(&artefact.repository, commit.as_str()).await?.is_none() {
            self.image_commits.discard_report(sighting, &commit);
            return Ok(None);
        }
        if let Some(reference) = preferred_reference(&sighting.version) {
            self.store_image_commit(&artefact.image, &reference, &commit, Proof::Report).await;
        }
        Ok(Some((commit, Proof::Report)))
    }

    /// The commit of `version`, as far as anything but a report tells. `None`: nothing tells.
    pub(crate) async fn find_version_commit(
        &self,
        artefact: &Artefact,
        version: &Version,
    ) -> Result<Option<(Sha, Proof)>, LookupError> {
        let image = Image { name: artefact.image.clone(), tag: version.tag.clone(), digest: version.digest.clone() };
        let Some(reference) = preferred_reference(version) else { return Ok(None) };
        let key = format!("{}:{reference}", image.name);
        match self.image_commits.find_cached(&key) {
            Some(CachedLookup::Found(sha, proof)) => return Ok(Some((sha, proof))),
            Some(CachedLookup::NotFound { asked_at: asked })
                if self.clock.now().duration_since(asked) < RETRY_AFTER =>
            {
                return Ok(None);
            }
            _ => {}
        }
        let turn = self.image_commits.begin_lookup(&key);
        let _alone = turn.lock().await;
        // Whoever was asking meanwhile may have found it.
        if let Some(CachedLookup::Found(sha, proof)) = self.image_commits.find_cached(&key) {
            return Ok(Some((sha, proof)));
        }
        let found = resolve_image_commit(&self.github, &self.registry, artefact, &image).await;
        self.image_commits.end_lookup(&key);
        let Some((sha, proof)) = found? else {
            self.image_commits.cache_lookup(key, CachedLookup::NotFound { asked_at: self.clock.now() });
            return Ok(None);
        };
        self.store_image_commit(&image.name, &reference, &sha, proof).await;
        Ok(Some((sha, proof)))
    }

    /// Does the image of that tag say by now that it was built from another commit than the version was? What nothing
    /// tells is no reason to think so.
    pub(crate) async fn is_tag_overwritten(&self, artefact: &Artefact, version: &Version) -> bool {
        let Version { tag: Some(tag), commit: Some(commit), .. } = version else { return false };
        // A label that came with the base image says something else than a tag that names its commit.
        if extract_sha_candidate(tag).is_some_and(|named| commit.as_str().starts_with(named)) {
            return false;
        }
        let image = Image { name: artefact.image.clone(), tag: Some(tag.clone()), digest: None };
        let revision = self.registry.fetch_revision(&image).await.ok().flatten();
        revision.and_then(|revision| revision.parse::<Sha>().ok()).is_some_and(|now| now != *commit)
    }

    /// Remembers which commit an image was built from. A failure to keep it costs only another question later.
    async fn store_image_commit(&self, image: &str, reference: &str, sha: &Sha, proof: Proof) {
        self.image_commits.cache_lookup(format!("{image}:{reference}"), CachedLookup::Found(sha.clone(), proof));
        let kept = ImageCommit {
            image: image.to_owned(),
            reference: reference.to_owned(),
            commit: Some(sha.clone()),
            proof: proof.as_str().to_owned(),
        };
        if let Err(error) = self.store.commit(Transaction::new().record_image_commit(kept)).await {
            tracing::warn!(%error, image, "the commit of an image could not be kept");
        }
    }
}

/// What tag, label and Git tag tell of an image. Remembers nothing.
pub(crate) async fn resolve_image_commit(
    github: &github::Client,
    registry: &registry::Client,
    artefact: &Artefact,
    image: &Image,
) -> Result<Option<(Sha, Proof)>, LookupError> {
    let mut failed = None;
    if let Some(candidate) = image.tag.as_deref().and_then(extract_sha_candidate) {
        let named = github.find_commit_by_prefix(&artefact.repository, candidate).await?;
        if let Some(commit) = named {
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
        // A registry that does not answer must not hide a Git tag that would tell.
        Err(error) => failed = Some(error.into()),
    }
    if let Some(tag) = image.tag.as_deref() {
        let tagged = github.resolve_tag(&artefact.repository, tag).await?;
        if let Some(sha) = tagged {
            return Ok(Some((sha, Proof::GitTag)));
        }
    }
    match failed {
        Some(failed) => Err(failed),
        None => Ok(None),
    }
}

fn preferred_reference(version: &Version) -> Option<Arc<str>> {
    version.digest.clone().or_else(|| version.tag.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::reports::flux;
    use crate::domain::change::ReportedOutcome;
    use crate::domain::sample;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn the_last_word_is_kept_whatever_it_says() {
        let catalogue = sample::catalogue();
        let mailer = catalogue.find_artefact("mailer").unwrap();
        let environment = EnvironmentName::new("qa");
        let sources = ImageCommitCache::default();
        let last = || sources.find_last_message(&environment, &mailer.name).map(|word| (word.said, word.at));
        assert_eq!(last(), None);
        let words = [
            ("ReconciliationSucceeded", "info", 10, (ReportedOutcome::Succeeded, at(10))),
            ("HealthCheckFailed", "error", 20, (ReportedOutcome::Failed, at(20))),
            ("ReconciliationSucceeded", "info", 15, (ReportedOutcome::Failed, at(20))),
        ];
        for (reason, severity, seconds, kept) in words {
            let event = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "mailer" }, "severity": severity,
                "reason": reason, "timestamp": at(seconds).to_string(), "message": "words",
                "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
            });
            let report = flux::parse(&environment, event.to_string().as_bytes()).unwrap();
            sources.record_report(mailer, &report, at(100));
            assert_eq!(last(), Some(kept), "{reason} at {seconds}");
        }
    }

    #[test]
    fn a_report_counts_for_what_ran_shortly_before_it_and_for_nothing_else() {
        let catalogue = sample::catalogue();
        let mailer = catalogue.find_artefact("mailer").unwrap();
        let environment = EnvironmentName::new("qa");
        let stay = Sighting {
            artefact: mailer.name.clone(),
            environment: environment.clone(),
            version: Version { tag: Some("build-7".into()), ..Version::default() },
            seen_at: at(0),
            running_at: Some(at(60)),
            healthy_since: Some(at(60)),
            failure: None,
            ended_at: None,
            announced: true,
        };
        let rolling = Sighting { running_at: None, healthy_since: None, ..stay.clone() };
        let cases = [
            ("before it came", -1, &stay, false),
            ("while it rolled out", 30, &stay, true),
            ("when it ran", 61, &stay, true),
            ("long after", 3600, &stay, false),
            ("what does not run yet", 30, &rolling, false),
        ];
        for (name, seconds, stay, counts) in cases {
            let sources = ImageCommitCache::default();
            let event = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "mailer" }, "severity": "info",
                "reason": "ReconciliationSucceeded", "timestamp": at(seconds).to_string(),
                "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
            });
            let report = flux::parse(&environment, event.to_string().as_bytes()).unwrap();
            sources.record_report(mailer, &report, at(seconds));
            assert_eq!(sources.find_reported_commit(stay).is_some(), counts, "{name}");
        }
    }
}
