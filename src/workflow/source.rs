//! Which commit an image was built from: by its tag, its labels, a Git tag, or the controller's word.
//! What was found out is kept for ever; what nothing tells is asked again later.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};

use crate::domain::artefact::{Artefact, ArtefactName};
use crate::domain::environment::EnvironmentName;
use crate::domain::sighting::Sighting;
use crate::domain::version::{Image, Sha, Version};
use crate::github::{GithubError, tag_sha_candidate};
use crate::registry::RegistryError;
use crate::reports::{Outcome, Report};
use crate::store::{Batch, ImageCommit};

use super::Bot;

/// An image that told nothing may get a Git tag of its name later.
const ASK_AGAIN: SignedDuration = SignedDuration::from_mins(10);

#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<RwLock<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    /// By the full reference of the image.
    images: HashMap<String, Known>,
    /// Artefacts of which nothing can be found out, until then: a refusal does not end by asking.
    resting: HashMap<ArtefactName, Timestamp>,
    /// The last success that a controller reported, of artefacts whose images may tell nothing.
    reports: HashMap<(EnvironmentName, ArtefactName), (Sha, Timestamp)>,
}

#[derive(Clone, Debug)]
enum Known {
    Built(Sha),
    Silent { asked: Timestamp },
}

impl Sources {
    pub fn load(&self, known: Vec<ImageCommit>) {
        let built =
            |entry: ImageCommit| Some((format!("{}:{}", entry.image, entry.reference), Known::Built(entry.commit?)));
        self.write().images.extend(known.into_iter().filter_map(built));
    }

    /// Remembers what a controller says that it deployed.
    pub(super) fn hear(&self, artefact: &Artefact, report: &Report, now: Timestamp) {
        if let (Outcome::Succeeded, Some(commit)) = (&report.outcome, &report.commit) {
            let told = (commit.clone(), report.at.unwrap_or(now));
            self.write().reports.insert((report.environment.clone(), artefact.name.clone()), told);
        }
    }

    /// What a controller said of the version that `sighting` is: reported since it came, in whole seconds as Flux counts.
    fn reported(&self, sighting: &Sighting) -> Option<Sha> {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (commit, at) = memory.reports.get(&(sighting.environment.clone(), sighting.artefact.clone()))?;
        (at.as_second() >= sighting.seen_at.as_second()).then(|| commit.clone())
    }

    pub(super) fn rest(&self, artefact: &ArtefactName, now: Timestamp) {
        self.write().resting.insert(artefact.clone(), now + ASK_AGAIN);
    }

    pub(super) fn rests(&self, artefact: &ArtefactName, now: Timestamp) -> bool {
        let memory = self.0.read().unwrap_or_else(PoisonError::into_inner);
        memory.resting.get(artefact).is_some_and(|until| *until > now)
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

/// What told us the commit, as the ledger keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    TagPattern,
    RevisionLabel,
    GitTag,
    Report,
}

impl Proof {
    fn as_str(self) -> &'static str {
        match self {
            Self::TagPattern => "tag",
            Self::RevisionLabel => "label",
            Self::GitTag => "git_tag",
            Self::Report => "report",
        }
    }
}

/// Somebody who should know could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct CannotAsk {
    why: String,
    /// They are away; it is not that they refuse.
    pub(super) passes: bool,
}

impl From<GithubError> for CannotAsk {
    fn from(error: GithubError) -> Self {
        let passes = matches!(error, GithubError::Unavailable(_) | GithubError::RateLimited { .. });
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
    pub(super) async fn source_of(&self, artefact: &Artefact, sighting: &Sighting) -> Result<Option<Sha>, CannotAsk> {
        if let Some(commit) = self.commit_of(artefact, &sighting.version).await? {
            return Ok(Some(commit));
        }
        let running = sighting.running_at.is_some() && sighting.failed.is_none();
        let Some(commit) = self.sources.reported(sighting).filter(|_| running) else { return Ok(None) };
        if let Some(reference) = reference(&sighting.version) {
            self.keep_commit(&artefact.image, &reference, &commit, Proof::Report).await;
        }
        Ok(Some(commit))
    }

    /// The commit of `version`, as far as anything but a report tells. `None`: nothing tells.
    async fn commit_of(&self, artefact: &Artefact, version: &Version) -> Result<Option<Sha>, CannotAsk> {
        if version.commit.is_some() {
            return Ok(version.commit.clone());
        }
        let image = Image { name: artefact.image.clone(), tag: version.tag.clone(), digest: version.digest.clone() };
        let Some(reference) = reference(version) else { return Ok(None) };
        let key = format!("{}:{reference}", image.name);
        match self.sources.known(&key) {
            Some(Known::Built(sha)) => return Ok(Some(sha)),
            Some(Known::Silent { asked }) if self.clock.now().duration_since(asked) < ASK_AGAIN => return Ok(None),
            _ => {}
        }
        let Some((sha, proof)) = self.ask(artefact, &image).await? else {
            self.sources.learn(key, Known::Silent { asked: self.clock.now() });
            return Ok(None);
        };
        self.keep_commit(&image.name, &reference, &sha, proof).await;
        Ok(Some(sha))
    }

    /// Remembers which commit an image was built from. A failure to keep it costs only another question later.
    async fn keep_commit(&self, image: &str, reference: &str, sha: &Sha, proof: Proof) {
        self.sources.learn(format!("{image}:{reference}"), Known::Built(sha.clone()));
        let kept = ImageCommit {
            image: image.to_owned(),
            reference: reference.to_owned(),
            commit: Some(sha.clone()),
            proof: proof.as_str().to_owned(),
        };
        if let Err(error) = self.store.commit(Batch::new().image_commit(kept)).await {
            tracing::warn!(%error, image, "the commit of an image could not be kept");
        }
    }

    async fn ask(&self, artefact: &Artefact, image: &Image) -> Result<Option<(Sha, Proof)>, CannotAsk> {
        let mut failed = None;
        if let Some(candidate) = image.tag.as_deref().and_then(tag_sha_candidate) {
            let named = self.github.commit_of(&artefact.repository, candidate).await?;
            if let Some(commit) = named {
                return Ok(Some((commit.sha, Proof::TagPattern)));
            }
        }
        match self.registry.revision(image).await {
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
            let tagged = self.github.tag_commit(&artefact.repository, tag).await?;
            if let Some(sha) = tagged {
                return Ok(Some((sha, Proof::GitTag)));
            }
        }
        match failed {
            Some(failed) => Err(failed),
            None => Ok(None),
        }
    }
}

fn reference(version: &Version) -> Option<Arc<str>> {
    version.digest.clone().or_else(|| version.tag.clone())
}
