//! The computed effects of a possible change. Making a plan has no effect, and a plan holds no change lock.

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::ChangeLockKey;
use crate::domain::git::commit_summary::CommitSummary;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::{Artefact, ArtefactName, ManifestFile, Repository};
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::conflict::ConflictingChange;
use crate::domain::rules::facts::PromotionFacts;
use crate::domain::rules::gate::GateOverride;
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::permit::Permit;
use crate::domain::rules::quarantine::Hold;
use crate::domain::rules::refusal::Refusal;
use crate::domain::rules::rollback::{Rollback, RollbackFacts};

/// How long a plan can be confirmed after it was shown. Later, too much may have changed.
pub const PLAN_VALIDITY: SignedDuration = SignedDuration::from_mins(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    /// The environment in which the version was healthy: the one below, or for a rollback the same one.
    pub seen_in: EnvironmentName,
    /// The repository of the code.
    pub repository: Repository,
    /// The environment's branch in that repository.
    pub branch: String,
    pub write: GitWrite,
    /// The version to deploy, as it was observed.
    pub version: Version,
    /// The version that runs now; `None`: a first deployment.
    pub from: Option<Version>,
    /// The commits and files that the change adds or, in a rollback, removes.
    pub drift: CommitSummary,
    /// The other artefacts of the same repository, which a merge deploys too.
    pub co_deployed: Vec<CoDeployed>,
    /// The head of the target's branch when the plan was made.
    pub head: Option<Sha>,
    /// The number of commits that only the target's branch has.
    pub behind_by: u64,
    pub method: PromotionMethod,
    /// Since when the version has been healthy below, without interruption.
    pub healthy_since: Option<Timestamp>,
    pub green_checks: usize,
    /// A change that waits for approval and would be superseded by this one.
    pub supersedes: Option<ConflictingChange>,
    /// The gates that were overridden.
    pub gate_override: Option<GateOverride>,
    /// The commits that identify the version on all branches: the pinned one and, if it is a merge, the merged ones.
    pub sources: Vec<Sha>,
    /// The tree of the pinned commit.
    pub tree: Option<Sha>,
    /// The rollbacks on the branch that the promotion undoes, newest first.
    pub rollbacks_to_undo: Vec<ChangeId>,
    /// Holds that confirming this plan lifts.
    pub holds_to_lift: Vec<Hold>,
    pub image: ImagePresence,
    pub direction: Direction,
}

/// Whether the change goes up the ladder or back to an earlier version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    Promotion,
    Rollback(Rollback),
}

/// The write to Git that delivers the version. The pinned commit is the one that was observed, never the head of a
/// branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitWrite {
    /// Moves the environment's branch.
    Branch { pinned: Sha },
    /// Writes a file; the branch of the code stays. The commit of the image may be unknown.
    Manifest { file: ManifestFile, pinned: Option<Sha> },
}

impl GitWrite {
    /// `None`: a branch cannot move to an unknown commit.
    pub fn new(manifest: Option<ManifestFile>, pinned: Option<Sha>) -> Option<Self> {
        match manifest {
            Some(file) => Some(Self::Manifest { file, pinned }),
            None => pinned.map(|pinned| Self::Branch { pinned }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoDeployed {
    pub artefact: ArtefactName,
    /// The changed files affect the artefact. `false`: it is only built again.
    pub changes: bool,
}

impl Plan {
    /// The plan of a promotion. It is refused only if a branch would have to move to an unknown commit.
    pub fn new(permit: Permit, facts: PromotionFacts<'_>, catalogue: &Catalogue) -> Result<Self, Refusal> {
        let PromotionFacts { artefact, target, below, version, pinned, from, pending, .. } = facts;
        let green_checks = facts.gate_inputs.checked_commit.as_ref().map_or(0, |checked| checked.checks.green);
        let drift = CommitSummary::from_pending(&pending, artefact);
        let write = GitWrite::new(facts.manifest, pinned).ok_or_else(|| Refusal::CommitUnknown {
            artefact: artefact.name.clone(),
            below: below.name.clone(),
            version: version.clone(),
        })?;
        Ok(Self {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            seen_in: below.name.clone(),
            repository: artefact.repository.clone(),
            branch: target.branch.clone(),
            write,
            version,
            from,
            co_deployed: list_co_deployed(artefact, target, catalogue, &pending),
            drift,
            head: pending.head,
            behind_by: pending.behind_by,
            method: target.promotion_method,
            healthy_since: facts
                .gate_inputs
                .healthy_since
                .filter(|healthy| healthy.until.is_none())
                .map(|healthy| healthy.since),
            green_checks,
            supersedes: facts.supersedes,
            gate_override: permit.into_gate_override(),
            sources: pending.sources,
            tree: pending.tree,
            rollbacks_to_undo: facts.rollbacks_to_undo,
            holds_to_lift: facts.gate_inputs.holds,
            image: facts.image,
            direction: Direction::Promotion,
        })
    }

    /// The plan of a rollback. It is refused only if a branch would have to move to an unknown commit.
    pub fn new_rollback(permit: Permit, facts: RollbackFacts<'_>, catalogue: &Catalogue) -> Result<Self, Refusal> {
        let RollbackFacts { artefact, target, version, lost, .. } = facts;
        let write = GitWrite::new(facts.manifest, version.commit.clone()).ok_or_else(|| Refusal::CommitUnknown {
            artefact: artefact.name.clone(),
            below: target.name.clone(),
            version: version.clone(),
        })?;
        // Commits that only the older version has are not lost.
        let drift = CommitSummary {
            hotfixes: Vec::new(),
            hotfixes_in_all: 0,
            hotfixes_cut: false,
            ..CommitSummary::from_pending(&lost, artefact)
        };
        Ok(Self {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            seen_in: target.name.clone(),
            repository: artefact.repository.clone(),
            branch: target.branch.clone(),
            write,
            version,
            from: facts.from,
            drift,
            co_deployed: list_co_deployed(artefact, target, catalogue, &lost),
            head: facts.head,
            behind_by: 0,
            method: facts.method,
            healthy_since: None,
            green_checks: 0,
            supersedes: facts.supersedes,
            gate_override: permit.into_gate_override(),
            sources: Vec::new(),
            tree: None,
            rollbacks_to_undo: Vec::new(),
            holds_to_lift: Vec::new(),
            image: facts.image,
            direction: Direction::Rollback(facts.details),
        })
    }

    /// The details of a rollback; `None`: a promotion.
    pub fn rollback_details(&self) -> Option<&Rollback> {
        match &self.direction {
            Direction::Promotion => None,
            Direction::Rollback(rollback) => Some(rollback),
        }
    }

    pub fn is_rollback(&self) -> bool {
        matches!(self.direction, Direction::Rollback(_))
    }

    /// The file to write; `None`: the environment's branch moves.
    pub fn manifest_file(&self) -> Option<&ManifestFile> {
        match &self.write {
            GitWrite::Branch { .. } => None,
            GitWrite::Manifest { file, .. } => Some(file),
        }
    }

    /// The commit to deploy. Only a manifest can name an image with an unknown commit.
    pub fn pinned_commit(&self) -> Option<&Sha> {
        match &self.write {
            GitWrite::Branch { pinned } => Some(pinned),
            GitWrite::Manifest { pinned, .. } => pinned.as_ref(),
        }
    }

    /// The repository and the branch that the change writes to.
    pub fn write_target(&self) -> (&Repository, &str) {
        match &self.write {
            GitWrite::Manifest { file, .. } => (&file.repository, &file.branch),
            GitWrite::Branch { .. } => (&self.repository, &self.branch),
        }
    }

    pub fn change_lock_key(&self) -> ChangeLockKey {
        ChangeLockKey::from_write_target(&self.repository, &self.branch, self.manifest_file())
    }

    /// Whether a commit is merged into the environment's branch; not for a rollback or a manifest.
    pub fn is_branch_merge(&self) -> bool {
        matches!((&self.write, &self.direction), (GitWrite::Branch { .. }, Direction::Promotion))
    }

    /// The commit to merge, if one merge is enough; `None`: another commit must be built first.
    pub fn single_merge_commit(&self) -> Option<&Sha> {
        self.pinned_commit().filter(|_| self.is_branch_merge() && self.rollbacks_to_undo.is_empty())
    }

    /// Whether a manifest would name an image that the registry does not confirm.
    pub fn is_image_unconfirmed(&self) -> bool {
        matches!(self.write, GitWrite::Manifest { .. }) && self.image != ImagePresence::Present
    }

    /// All artefacts that the change deploys.
    pub fn list_artefacts(&self) -> Vec<ArtefactName> {
        std::iter::once(&self.artefact).chain(self.co_deployed.iter().map(|also| &also.artefact)).cloned().collect()
    }

    /// The page of the repository that the change writes to, derived from the address of a commit.
    pub fn repository_url(&self) -> Option<String> {
        let (code, _) = self.drift.commits.first()?.url.rsplit_once("/commit/")?;
        match self.manifest_file() {
            // The manifests are on the same host as the code.
            Some(file) => {
                code.strip_suffix(&self.repository.to_string()).map(|host| format!("{host}{}", file.repository))
            }
            None => Some(code.to_owned()),
        }
    }

    /// The message of the commit, with the trailer by which Gantry finds it again.
    pub fn format_merge_message(&self, trailer: &str) -> String {
        let Self { artefact, environment, seen_in, version, .. } = self;
        let commit = self.pinned_commit().map_or_else(|| version.label(), Sha::as_str);
        let label = version.label();
        let (subject, body) = match &self.direction {
            Direction::Promotion => (
                format!("Promote {artefact} {label} to {environment}"),
                format!("{commit} was seen running well in {seen_in}."),
            ),
            Direction::Rollback(rollback) => {
                let from = self.from.as_ref().map_or("what is there", Version::label);
                let reason = rollback.reason.as_deref().map(collapse_whitespace).filter(|reason| !reason.is_empty());
                let reason =
                    reason.map_or_else(|| "No reason was given.".to_owned(), |reason| format!("Reason: {reason}"));
                (format!("Roll {artefact} back to {label} in {environment}"), format!("Takes back {from}. {reason}"))
            }
        };
        format!("{subject}\n\n{body}\n\n{trailer}\n")
    }
}

fn list_co_deployed(
    artefact: &Artefact,
    target: &Environment,
    catalogue: &Catalogue,
    pending: &PendingCommits,
) -> Vec<CoDeployed> {
    let others = catalogue.iter_co_deployed(artefact, &target.name);
    others
        .map(|other| CoDeployed { artefact: other.name.clone(), changes: pending.files.may_be_relevant_to(other) })
        .collect()
}

/// Puts foreign text on one line of a commit message, so that it cannot add a trailer.
fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a tag's name before and after the number, by its template.
pub fn format_tag_affixes(template: Option<&str>, plan: &Plan, date: jiff::civil::Date) -> (String, String) {
    let default_template =
        if plan.manifest_file().is_some() { "{environment}/{artefact}/{date}-{n}" } else { "{environment}/{date}-{n}" };
    let template = template.unwrap_or(default_template);
    let fill = |part: &str| {
        part.replace("{environment}", plan.environment.as_str())
            .replace("{artefact}", plan.artefact.as_str())
            .replace("{date}", &date.strftime("%Y.%m.%d").to_string())
    };
    let (before, after) = template.split_once("{n}").unwrap_or((template, ""));
    (fill(before), fill(after))
}

/// The number in the name of a tag, if the name has this form.
pub fn parse_tag_number(name: &str, (before, after): &(String, String)) -> Option<u64> {
    name.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_named_by_its_template_and_its_number_found_again() {
        let plan = crate::domain::sample::plan();
        let date = jiff::civil::date(2026, 11, 6);
        let cases = [
            (None, 3, "qa/2026.11.06-3"),
            (Some("{environment}/{artefact}/{date}.{n}"), 12, "qa/checkout/2026.11.06.12"),
            (Some("v{n}-{environment}"), 1, "v1-qa"),
        ];
        for (template, number, name) in cases {
            let affixes = format_tag_affixes(template, &plan, date);
            assert_eq!(format!("{}{number}{}", affixes.0, affixes.1), name);
            assert_eq!(parse_tag_number(name, &affixes), Some(number));
            assert_eq!(parse_tag_number("qa/2026.11.06-x", &affixes), None);
        }
    }
}
