//! Which commit an image was built from: by its tag, its labels, a Git tag, or the controller's word.
//! What was found out is kept for ever; what nothing tells is asked again later.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::adapters::github::{self, GithubError, tag_sha_candidate};
use crate::adapters::registry::{self, RegistryError};
use crate::adapters::reports::Report;
use crate::adapters::store::{ImageCommit, Transaction};
use crate::domain::change::{ControllerMessage, FailureEvidence, Proof};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Image, Sha, Version};
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Bot;
use crate::workflow::facts::report_history::Words;

/// An image that told nothing may get a Git tag of its name later.
const ASK_AGAIN: SignedDuration = SignedDuration::from_mins(10);

/// How long after a version runs a controller's success can still be about it.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);

#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<RwLock<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    /// By the full reference of the image.
    images: HashMap<String, Known>,
    /// Held by whoever asks about an image, so that nobody else asks the same meanwhile.
    asking: HashMap<String, Arc<Mutex<()>>>,
    /// Artefacts of which nothing can be found out, until then: a refusal does not end by asking.
    resting: HashMap<ArtefactName, Timestamp>,
    /// What controllers said last.
    words: HashMap<(EnvironmentName, ArtefactName), Words>,
}

#[derive(Clone, Debug)]
enum Known {
    Built(Sha, Proof),
    Silent { asked: Timestamp },
}

impl Sources {
    pub fn load(&self, known: Vec<ImageCommit>) {
        let built = |entry: ImageCommit| {
            let known = Known::Built(entry.commit?, Proof::parse(&entry.proof)?);
            Some((format!("{}:{}", entry.image, entry.reference), known))
        };
        self.write().images.extend(known.into_iter().filter_map(built));
    }

    /// Remembers what a controller says that it deployed.
    pub(crate) fn hear(&self, artefact: &Artefact, report: &Report, now: Timestamp) {
        let here = (report.environment.clone(), artefact.name.clone());
        self.write().words.entry(here).or_default().hear(report, now);
    }

    /// The last that a controller said of an artefact there.
    pub(crate) fn last_word(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
    ) -> Option<ControllerMessage> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        memory.words.get(&(environment.clone(), artefact.clone()))?.last().cloned()
    }

    /// What a controller said of a commit that it could not deploy.
    pub(crate) fn failure(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
        commit: &Sha,
    ) -> Option<(String, FailureEvidence)> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let words = memory.words.get(&(environment.clone(), artefact.clone()))?;
        words.failure(commit).map(|(message, evidence)| (message.to_owned(), evidence))
    }

    /// What a controller said of the version that `sighting` is: reported since it came, in whole seconds as Flux counts, and
    /// soon after it ran. What is said much later may be about something newer that is not here yet.
    fn reported(&self, sighting: &Sighting) -> Option<Sha> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let words = memory.words.get(&(sighting.environment.clone(), sighting.artefact.clone()))?;
        let (commit, at) = words.succeeded()?;
        let since = at.as_second() >= sighting.seen_at.as_second();
        let soon = sighting.running_at.is_some_and(|ran| at.duration_since(ran) <= REPORTED_WITHIN);
        (since && soon).then(|| commit.clone())
    }

    /// What was reported is not this artefact's.
    fn unhear(&self, sighting: &Sighting, commit: &Sha) {
        let here = (sighting.environment.clone(), sighting.artefact.clone());
        if let Some(words) = self.write().words.get_mut(&here) {
            words.forget_success(commit);
        }
    }

    pub(crate) fn rest(&self, artefact: &ArtefactName, now: Timestamp) {
        self.write().resting.insert(artefact.clone(), now + ASK_AGAIN);
    }

    pub(crate) fn rests(&self, artefact: &ArtefactName, now: Timestamp) -> bool {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        memory.resting.get(artefact).is_some_and(|until| *until > now)
    }

    fn turn(&self, reference: &str) -> Arc<Mutex<()>> {
        self.write().asking.entry(reference.to_owned()).or_default().clone()
    }

    fn done(&self, reference: &str) {
        self.write().asking.remove(reference);
    }

    /// By what the commit of an image is known; `None` where it is not.
    pub(crate) fn proof(&self, image: &str, version: &Version) -> Option<Proof> {
        match self.known(&format!("{image}:{}", reference(version)?))? {
            Known::Built(_, proof) => Some(proof),
            Known::Silent { .. } => None,
        }
    }

    fn known(&self, reference: &str) -> Option<Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).images.get(reference).cloned()
    }

    fn learn(&self, reference: String, known: Known) {
        self.write().images.insert(reference, known);
    }

    fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who should know could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct CannotAsk {
    why: String,
    /// They are away; it is not that they refuse.
    pub(crate) passes: bool,
}

impl CannotAsk {
    /// It is worth trying again.
    pub(crate) fn later(why: String) -> Self {
        Self { why, passes: true }
    }

    pub(crate) fn never(why: String) -> Self {
        Self { why, passes: false }
    }
}

impl From<GithubError> for CannotAsk {
    fn from(error: GithubError) -> Self {
        let passes = error.passes();
        Self { why: error.to_string(), passes }
    }
}

impl From<RegistryError> for CannotAsk {
    fn from(error: RegistryError) -> Self {
        Self { why: error.to_string(), passes: matches!(error, RegistryError::Unavailable(_)) }
    }
}

impl Bot {
    /// The commit of what was seen. Where its image tells none, a complete rollout and the controller's report count.
    pub(crate) async fn source_of(
        &self,
        artefact: &Artefact,
        sighting: &Sighting,
    ) -> Result<Option<(Sha, Proof)>, CannotAsk> {
        if let Some(found) = self.commit_of(artefact, &sighting.version).await? {
            return Ok(Some(found));
        }
        let running = sighting.running_at.is_some() && sighting.failure.is_none();
        // By manifest it is a commit of the manifests, which tells nothing of the code.
        let of_code = artefact.delivery == Delivery::Branch;
        let told = self.sources.reported(sighting).filter(|_| running && of_code);
        let Some(commit) = told else { return Ok(None) };
        // An object may apply more than one repository's code, or name a commit of the manifests: then it tells nothing.
        if self.github.commit(&artefact.repository, commit.as_str()).await?.is_none() {
            self.sources.unhear(sighting, &commit);
            return Ok(None);
        }
        if let Some(reference) = reference(&sighting.version) {
            self.keep_commit(&artefact.image, &reference, &commit, Proof::Report).await;
        }
        Ok(Some((commit, Proof::Report)))
    }

    /// The commit of `version`, as far as anything but a report tells. `None`: nothing tells.
    pub(crate) async fn commit_of(
        &self,
        artefact: &Artefact,
        version: &Version,
    ) -> Result<Option<(Sha, Proof)>, CannotAsk> {
        let image = Image { name: artefact.image.clone(), tag: version.tag.clone(), digest: version.digest.clone() };
        let Some(reference) = reference(version) else { return Ok(None) };
        let key = format!("{}:{reference}", image.name);
        match self.sources.known(&key) {
            Some(Known::Built(sha, proof)) => return Ok(Some((sha, proof))),
            Some(Known::Silent { asked }) if self.clock.now().duration_since(asked) < ASK_AGAIN => return Ok(None),
            _ => {}
        }
        let turn = self.sources.turn(&key);
        let _alone = turn.lock().await;
        // Whoever was asking meanwhile may have found it.
        if let Some(Known::Built(sha, proof)) = self.sources.known(&key) {
            return Ok(Some((sha, proof)));
        }
        let found = ask(&self.github, &self.registry, artefact, &image).await;
        self.sources.done(&key);
        let Some((sha, proof)) = found? else {
            self.sources.learn(key, Known::Silent { asked: self.clock.now() });
            return Ok(None);
        };
        self.keep_commit(&image.name, &reference, &sha, proof).await;
        Ok(Some((sha, proof)))
    }

    /// Does the image of that tag say by now that it was built from another commit than the version was? What nothing
    /// tells is no reason to think so.
    pub(crate) async fn is_of_another_commit(&self, artefact: &Artefact, version: &Version) -> bool {
        let Version { tag: Some(tag), commit: Some(commit), .. } = version else { return false };
        // A label that came with the base image says something else than a tag that names its commit.
        if tag_sha_candidate(tag).is_some_and(|named| commit.as_str().starts_with(named)) {
            return false;
        }
        let image = Image { name: artefact.image.clone(), tag: Some(tag.clone()), digest: None };
        let revision = self.registry.revision(&image).await.ok().flatten();
        revision.and_then(|revision| revision.parse::<Sha>().ok()).is_some_and(|now| now != *commit)
    }

    /// Remembers which commit an image was built from. A failure to keep it costs only another question later.
    async fn keep_commit(&self, image: &str, reference: &str, sha: &Sha, proof: Proof) {
        self.sources.learn(format!("{image}:{reference}"), Known::Built(sha.clone(), proof));
        let kept = ImageCommit {
            image: image.to_owned(),
            reference: reference.to_owned(),
            commit: Some(sha.clone()),
            proof: proof.as_str().to_owned(),
        };
        if let Err(error) = self.store.commit(Transaction::new().image_commit(kept)).await {
            tracing::warn!(%error, image, "the commit of an image could not be kept");
        }
    }
}

/// What tag, label and Git tag tell of an image. Remembers nothing.
pub(crate) async fn ask(
    github: &github::Client,
    registry: &registry::Client,
    artefact: &Artefact,
    image: &Image,
) -> Result<Option<(Sha, Proof)>, CannotAsk> {
    let mut failed = None;
    if let Some(candidate) = image.tag.as_deref().and_then(tag_sha_candidate) {
        let named = github.commit_of(&artefact.repository, candidate).await?;
        if let Some(commit) = named {
            return Ok(Some((commit.sha, Proof::TagPattern)));
        }
    }
    match registry.revision(image).await {
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
        let tagged = github.tag_commit(&artefact.repository, tag).await?;
        if let Some(sha) = tagged {
            return Ok(Some((sha, Proof::GitTag)));
        }
    }
    match failed {
        Some(failed) => Err(failed),
        None => Ok(None),
    }
}

fn reference(version: &Version) -> Option<Arc<str>> {
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
        let sources = Sources::default();
        let last = || sources.last_word(&environment, &mailer.name).map(|word| (word.said, word.at));
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
            sources.hear(mailer, &report, at(100));
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
            let sources = Sources::default();
            let event = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "mailer" }, "severity": "info",
                "reason": "ReconciliationSucceeded", "timestamp": at(seconds).to_string(),
                "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
            });
            let report = flux::parse(&environment, event.to_string().as_bytes()).unwrap();
            sources.hear(mailer, &report, at(seconds));
            assert_eq!(sources.reported(stay).is_some(), counts, "{name}");
        }
    }
}
