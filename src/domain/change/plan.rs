//! What a change would do, computed without any effect. Not a change, and holds no lock.

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

/// A plan that was shown is good for so long; then the world has moved on.
pub const PLAN_VALIDITY: SignedDuration = SignedDuration::from_mins(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub artefact: ArtefactName,
    pub environment: EnvironmentName,
    /// The rung where it was seen to run well: the one below, or for a rollback the same.
    pub seen_in: EnvironmentName,
    /// Of the code.
    pub repository: Repository,
    /// The environment's branch of the code.
    pub branch: String,
    pub write: GitWrite,
    /// What goes, as it was seen to run.
    pub version: Version,
    /// What runs there now; `None`: a first deployment.
    pub from: Option<Version>,
    /// What differs between the two: what comes or, by a rollback, is lost.
    pub drift: CommitSummary,
    /// Other artefacts of the same repository, which a merge carries along.
    pub also: Vec<CoDeployed>,
    /// The head of the target's branch when this was planned, and how many commits only the branch has.
    pub head: Option<Sha>,
    pub behind_by: u64,
    pub promote: PromotionMethod,
    /// Since when it has run well below, without interruption.
    pub well_since: Option<Timestamp>,
    pub green_checks: usize,
    /// A change that waits for approval and would give way to this one.
    pub supersedes: Option<ConflictingChange>,
    /// The gates that it passes by force.
    pub overridden: Option<GateOverride>,
    /// The commits that it is known by across the rungs: the pinned one and, where that is a merge, what was merged.
    pub sources: Vec<Sha>,
    pub tree: Option<Sha>,
    /// The rollbacks on the branch that it undoes, newest first.
    pub undoes: Vec<ChangeId>,
    /// What rollbacks left on the environment, and its yes lifts.
    pub holds_to_lift: Vec<Hold>,
    pub image: ImagePresence,
    pub direction: Direction,
}

/// Up the ladder, or back to an earlier version of the same environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    Promotion,
    Rollback(Rollback),
}

/// The write to Git that delivers the version. The pinned commit is the one that was seen to run, never the head of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitWrite {
    /// The environment's branch of the code moves.
    Branch { pinned: Sha },
    /// A file is written, and the branch of the code stays. The commit of the image may be unknown.
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
    /// Something changes that concerns it; else it is only built anew.
    pub changes: bool,
}

impl Plan {
    /// A promotion. Refused only where a branch would have to move to an unknown commit.
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
            also: list_co_deployed(artefact, target, catalogue, &pending),
            drift,
            head: pending.head,
            behind_by: pending.behind_by,
            promote: target.promotion_method,
            well_since: facts.gate_inputs.healthy_since.filter(|well| well.until.is_none()).map(|well| well.since),
            green_checks,
            supersedes: facts.supersedes,
            overridden: permit.into_gate_override(),
            sources: pending.sources,
            tree: pending.tree,
            undoes: facts.undoes,
            holds_to_lift: facts.gate_inputs.holds,
            image: facts.image,
            direction: Direction::Promotion,
        })
    }

    /// A rollback. Refused only where a branch would have to move to an unknown commit.
    pub fn new_rollback(permit: Permit, facts: RollbackFacts<'_>, catalogue: &Catalogue) -> Result<Self, Refusal> {
        let RollbackFacts { artefact, target, version, lost, .. } = facts;
        let write = GitWrite::new(facts.manifest, version.commit.clone()).ok_or_else(|| Refusal::CommitUnknown {
            artefact: artefact.name.clone(),
            below: target.name.clone(),
            version: version.clone(),
        })?;
        // The commits that only the older version has are not lost.
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
            also: list_co_deployed(artefact, target, catalogue, &lost),
            head: facts.head,
            behind_by: 0,
            promote: facts.method,
            well_since: None,
            green_checks: 0,
            supersedes: facts.supersedes,
            overridden: permit.into_gate_override(),
            sources: Vec::new(),
            tree: None,
            undoes: Vec::new(),
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

    /// The file that is written; `None`: the environment's branch moves.
    pub fn manifest_file(&self) -> Option<&ManifestFile> {
        match &self.write {
            GitWrite::Branch { .. } => None,
            GitWrite::Manifest { file, .. } => Some(file),
        }
    }

    /// The commit that goes there. Only a manifest can name an image of an unknown commit.
    pub fn pinned_commit(&self) -> Option<&Sha> {
        match &self.write {
            GitWrite::Branch { pinned } => Some(pinned),
            GitWrite::Manifest { pinned, .. } => pinned.as_ref(),
        }
    }

    /// Where Git moves: the repository and its branch.
    pub fn write_target(&self) -> (&Repository, &str) {
        match &self.write {
            GitWrite::Manifest { file, .. } => (&file.repository, &file.branch),
            GitWrite::Branch { .. } => (&self.repository, &self.branch),
        }
    }

    pub fn change_lock_key(&self) -> ChangeLockKey {
        ChangeLockKey::from_write_target(&self.repository, &self.branch, self.manifest_file())
    }

    /// By merging a commit into the environment's branch: neither restored nor written.
    pub fn is_branch_merge(&self) -> bool {
        matches!((&self.write, &self.direction), (GitWrite::Branch { .. }, Direction::Promotion))
    }

    /// The commit to merge, where one merge is all. `None`: another commit has to be built before.
    pub fn single_merge_commit(&self) -> Option<&Sha> {
        self.pinned_commit().filter(|_| self.is_branch_merge() && self.undoes.is_empty())
    }

    /// Would a manifest name an image that the registry does not confirm?
    pub fn is_image_unconfirmed(&self) -> bool {
        matches!(self.write, GitWrite::Manifest { .. }) && self.image != ImagePresence::Yes
    }

    /// Everything that moves.
    pub fn list_artefacts(&self) -> Vec<ArtefactName> {
        std::iter::once(&self.artefact).chain(self.also.iter().map(|also| &also.artefact)).cloned().collect()
    }

    /// The page of the repository in which Git moves, as far as a commit's address tells it.
    pub fn repository_url(&self) -> Option<String> {
        let (code, _) = self.drift.commits.first()?.url.rsplit_once("/commit/")?;
        match self.manifest_file() {
            // The manifests stand beside the code.
            Some(at) => code.strip_suffix(&self.repository.to_string()).map(|host| format!("{host}{}", at.repository)),
            None => Some(code.to_owned()),
        }
    }

    /// The message of the merge commit: what a reader of the branch sees, and the trailer that finds it again.
    pub fn format_merge_message(&self, trailer: &str) -> String {
        let Self { artefact, environment, seen_in, version, .. } = self;
        let what = self.pinned_commit().map_or_else(|| version.label(), Sha::as_str);
        let label = version.label();
        let (head, why) = match &self.direction {
            Direction::Promotion => (
                format!("Promote {artefact} {label} to {environment}"),
                format!("{what} was seen running well in {seen_in}."),
            ),
            Direction::Rollback(rollback) => {
                let from = self.from.as_ref().map_or("what is there", Version::label);
                let why = rollback.reason.as_deref().map(collapse_whitespace).filter(|reason| !reason.is_empty());
                let why = why.map_or_else(|| "No reason was given.".to_owned(), |reason| format!("Reason: {reason}"));
                (format!("Roll {artefact} back to {label} in {environment}"), format!("Takes back {from}. {why}"))
            }
        };
        format!("{head}\n\n{why}\n\n{trailer}\n")
    }
}

fn list_co_deployed(
    artefact: &Artefact,
    target: &Environment,
    catalogue: &Catalogue,
    moving: &PendingCommits,
) -> Vec<CoDeployed> {
    let others = catalogue.iter_co_deployed(artefact, &target.name);
    others
        .map(|other| CoDeployed { artefact: other.name.clone(), changes: moving.files.may_be_relevant_to(other) })
        .collect()
}

/// Anybody's text as one line of a commit's message, in which nobody can write a line of ours.
fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of a tag by its template, apart from the number: what stands before it and what behind.
pub fn format_tag_affixes(template: Option<&str>, plan: &Plan, date: jiff::civil::Date) -> (String, String) {
    let usual =
        if plan.manifest_file().is_some() { "{environment}/{artefact}/{date}-{n}" } else { "{environment}/{date}-{n}" };
    let template = template.unwrap_or(usual);
    let fill = |part: &str| {
        part.replace("{environment}", plan.environment.as_str())
            .replace("{artefact}", plan.artefact.as_str())
            .replace("{date}", &date.strftime("%Y.%m.%d").to_string())
    };
    let (before, behind) = template.split_once("{n}").unwrap_or((template, ""));
    (fill(before), fill(behind))
}

/// The number in the name of a tag, if the name is of that form.
pub fn parse_tag_number(name: &str, (before, behind): &(String, String)) -> Option<u64> {
    name.strip_prefix(before.as_str())?.strip_suffix(behind.as_str())?.parse().ok()
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
            let form = format_tag_affixes(template, &plan, date);
            assert_eq!(format!("{}{number}{}", form.0, form.1), name);
            assert_eq!(parse_tag_number(name, &form), Some(number));
            assert_eq!(parse_tag_number("qa/2026.11.06-x", &form), None);
        }
    }
}
