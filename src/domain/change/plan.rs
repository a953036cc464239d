//! What a change would do, computed without any effect. Not a change, and holds no lock.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::{Change, ChangeLockKey, Stage};
use crate::domain::git::commit_summary::CommitSummary;
use crate::domain::git::comparison::{ChangedFiles, Comparison, ListedCommit};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{Artefact, ArtefactName, Repository};
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::rules::gate::{GateInputs, GateOverride};
use crate::domain::rules::promotion::Permit;
use crate::domain::rules::quarantine::Hold;
use crate::domain::rules::rollback::{ImagePresence, Rollback};

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
    /// The file that is written where it goes by manifest, and the branch stays as it is.
    pub manifest: Option<ManifestFile>,
    /// The commit that goes there: what was seen, never what a branch holds by then. Only what goes by manifest can be of
    /// a commit that nothing tells.
    pub pinned: Option<Sha>,
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
    /// It goes back, not up.
    pub rollback: Option<Rollback>,
}

/// Where a manifest says which version is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    pub repository: Repository,
    pub branch: String,
    pub file: String,
}

/// A change that waits for approval or, once Git has it, for the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingChange {
    pub id: ChangeId,
    pub requester: PersonId,
    pub version: Version,
    pub since: Timestamp,
    /// Git has it: only a rollback takes its place.
    pub merged: bool,
}

impl ConflictingChange {
    /// `None` where the change does not wait, or not any more.
    pub fn from_change(change: &Change) -> Option<Self> {
        let (since, merged) = match &change.stage {
            Stage::AwaitingApproval(awaiting) => (awaiting.since, false),
            Stage::Deploying(deploying) => (deploying.merged_at, true),
            _ => return None,
        };
        let (id, requester) = (change.id, change.requester.clone());
        Some(Self { id, requester, version: change.plan.version.clone(), since, merged })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoDeployed {
    pub artefact: ArtefactName,
    /// Something changes that concerns it; else it is only built anew.
    pub changes: bool,
}

/// What of one branch another does not have, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingCommits {
    pub ahead_by: u64,
    /// What would come, newest first; GitHub names 250 at most.
    pub commits: Vec<ListedCommit>,
    pub files: ChangedFiles,
    /// The head of the target's branch.
    pub head: Option<Sha>,
    pub behind_by: u64,
    /// What only the target has, newest first.
    pub only_in_target: Vec<ListedCommit>,
    /// A rollback is among what would come.
    pub carries_rollback: bool,
    /// What would come is a rollback itself.
    pub is_rollback: bool,
    /// What would come and, where that is a merge, what was merged, down to what is no merge.
    pub sources: Vec<Sha>,
    /// The tree of what would come.
    pub tree: Option<Sha>,
    pub url: Option<String>,
}

impl PendingCommits {
    /// From how the pinned commit stands to the target, and the target to it where that has something of its own.
    pub fn from_comparisons(there: Comparison, back: Option<Comparison>) -> Self {
        let mut sources = vec![there.head.clone()];
        for ListedCommit { commit, parents, .. } in &there.commits {
            // Newest first: what was merged comes behind its merge.
            if sources.last() == Some(&commit.sha)
                && let [_, merged] = parents.as_slice()
            {
                sources.push(merged.clone());
            }
        }
        let pinned = there.commits.iter().find(|lone| lone.commit.sha == there.head);
        Self {
            tree: pinned.and_then(|lone| lone.tree.clone()),
            is_rollback: pinned.is_some_and(ListedCommit::is_rollback),
            carries_rollback: there.commits.iter().any(ListedCommit::is_rollback),
            sources,
            ahead_by: there.ahead_by,
            commits: there.commits,
            files: there.files,
            head: Some(there.base),
            behind_by: there.behind_by,
            only_in_target: back.map(|back| back.commits).unwrap_or_default(),
            url: there.url,
        }
    }

    /// The target has code that came to it by an earlier merge and that is not in what would be merged now.
    pub fn is_target_newer(&self) -> bool {
        let find = |sha: &Sha| self.only_in_target.iter().find(|lone| lone.commit.sha == *sha);
        let (mut own, mut merged) = (BTreeSet::new(), Vec::new());
        let mut at = self.head.as_ref().and_then(find);
        while let Some(lone) = at {
            own.insert(&lone.commit.sha);
            merged.extend(lone.parents.iter().skip(1));
            at = lone.parents.first().and_then(find);
        }
        // The result of a promotion, and what undid a rollback, are merged as well: what counts is what they bring.
        while let Some(sha) = merged.pop() {
            match find(sha) {
                Some(lone) if own.insert(sha) => {
                    if !lone.is_gantry_commit() {
                        return true;
                    }
                    merged.extend(&lone.parents);
                }
                _ => {}
            }
        }
        false
    }

    /// A rollback may be open on the target's branch: then it has to be looked at.
    pub fn may_be_rolled_back(&self) -> bool {
        let is_truncated = self.behind_by > self.only_in_target.len() as u64;
        is_truncated || self.only_in_target.iter().any(ListedCommit::is_rollback)
    }

    /// Commits that only the target has and that people made; merges are the promotions before.
    pub fn iter_hotfixes(&self) -> impl Iterator<Item = &Commit> {
        self.only_in_target.iter().filter(|lone| lone.is_human_commit()).map(|lone| &lone.commit)
    }
}

/// What is known when a promotion is asked for.
#[derive(Debug)]
pub struct PromotionFacts<'a> {
    pub artefact: &'a Artefact,
    pub target: &'a Environment,
    pub below: &'a Environment,
    pub version: Version,
    /// `None` only by manifest, where nothing tells it.
    pub pinned: Option<Sha>,
    pub from: Option<Version>,
    /// The file that would be written, where it goes by manifest.
    pub manifest: Option<ManifestFile>,
    /// The rollbacks that are open on the branch, newest first.
    pub undoes: Vec<ChangeId>,
    pub image: ImagePresence,
    pub pending: PendingCommits,
    pub checks: CiChecks,
    pub checks_required: bool,
    pub gate_inputs: GateInputs,
    /// Who wants to pass the gates that are shut, and why; they may.
    pub overriding: Option<(PersonId, Arc<str>)>,
    pub supersedes: Option<ConflictingChange>,
}

/// What CI says of a commit, by the names of what it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiChecks {
    pub green: usize,
    pub red: Vec<String>,
    pub running: Vec<String>,
}

impl Plan {
    pub fn new(permit: Permit, facts: PromotionFacts<'_>, catalogue: &Catalogue) -> Self {
        let PromotionFacts { artefact, target, below, version, pinned, from, pending, .. } = facts;
        let green_checks = facts.checks.green;
        let drift = CommitSummary::from_pending(&pending, artefact);
        let also = catalogue.iter_co_deployed(artefact, &target.name);
        Self {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            seen_in: below.name.clone(),
            repository: artefact.repository.clone(),
            branch: target.branch.clone(),
            manifest: facts.manifest,
            pinned,
            version,
            from,
            also: also
                .map(|other| CoDeployed {
                    artefact: other.name.clone(),
                    changes: pending.files.may_be_relevant_to(other),
                })
                .collect(),
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
            rollback: None,
        }
    }

    /// Back to a version that ran there, with what would be lost by it.
    pub fn new_rollback(
        artefact: &Artefact,
        target: &Environment,
        version: Version,
        from: Option<Version>,
        lost: &PendingCommits,
        rollback: Rollback,
    ) -> Self {
        // What only the older one has is not lost by it.
        let drift = CommitSummary {
            hotfixes: Vec::new(),
            hotfixes_in_all: 0,
            hotfixes_cut: false,
            ..CommitSummary::from_pending(lost, artefact)
        };
        Self {
            artefact: artefact.name.clone(),
            environment: target.name.clone(),
            seen_in: target.name.clone(),
            repository: artefact.repository.clone(),
            branch: target.branch.clone(),
            manifest: None,
            pinned: version.commit.clone(),
            version,
            from,
            drift,
            also: Vec::new(),
            head: None,
            behind_by: 0,
            promote: PromotionMethod::Merge,
            well_since: None,
            green_checks: 0,
            supersedes: None,
            overridden: None,
            sources: Vec::new(),
            tree: None,
            undoes: Vec::new(),
            holds_to_lift: Vec::new(),
            image: ImagePresence::Yes,
            rollback: Some(rollback),
        }
    }

    /// Where Git moves: the repository and its branch.
    pub fn write_target(&self) -> (&Repository, &str) {
        match &self.manifest {
            Some(file) => (&file.repository, &file.branch),
            None => (&self.repository, &self.branch),
        }
    }

    pub fn change_lock_key(&self) -> ChangeLockKey {
        ChangeLockKey::from_write_target(&self.repository, &self.branch, self.manifest.as_ref())
    }

    /// By merging a commit into the environment's branch: neither restored nor written.
    pub fn is_branch_merge(&self) -> bool {
        self.manifest.is_none() && self.rollback.is_none()
    }

    /// By one merge commit, and nothing has to be made before.
    pub fn is_single_merge(&self) -> bool {
        self.is_branch_merge() && self.undoes.is_empty()
    }

    /// Everything that moves.
    pub fn list_artefacts(&self) -> Vec<ArtefactName> {
        std::iter::once(&self.artefact).chain(self.also.iter().map(|also| &also.artefact)).cloned().collect()
    }

    /// The page of the repository in which Git moves, as far as a commit's address tells it.
    pub fn repository_url(&self) -> Option<String> {
        let (code, _) = self.drift.commits.first()?.url.rsplit_once("/commit/")?;
        match &self.manifest {
            // The manifests stand beside the code.
            Some(at) => code.strip_suffix(&self.repository.to_string()).map(|host| format!("{host}{}", at.repository)),
            None => Some(code.to_owned()),
        }
    }

    /// The message of the merge commit: what a reader of the branch sees, and the trailer that finds it again.
    pub fn format_merge_message(&self, trailer: &str) -> String {
        let Self { artefact, environment, seen_in, version, pinned, .. } = self;
        let what = pinned.as_ref().map_or_else(|| version.label(), Sha::as_str);
        let label = version.label();
        let (head, why) = match &self.rollback {
            None => (
                format!("Promote {artefact} {label} to {environment}"),
                format!("{what} was seen running well in {seen_in}."),
            ),
            Some(rollback) => {
                let from = self.from.as_ref().map_or("what is there", Version::label);
                let why = rollback.reason.as_deref().map(collapse_whitespace).filter(|reason| !reason.is_empty());
                let why = why.map_or_else(|| "No reason was given.".to_owned(), |reason| format!("Reason: {reason}"));
                (format!("Roll {artefact} back to {label} in {environment}"), format!("Takes back {from}. {why}"))
            }
        };
        format!("{head}\n\n{why}\n\n{trailer}\n")
    }
}

/// Anybody's text as one line of a commit's message, in which nobody can write a line of ours.
fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of a tag by its template, apart from the number: what stands before it and what behind.
pub fn format_tag_affixes(template: Option<&str>, plan: &Plan, date: jiff::civil::Date) -> (String, String) {
    let usual =
        if plan.manifest.is_some() { "{environment}/{artefact}/{date}-{n}" } else { "{environment}/{date}-{n}" };
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
    use crate::domain::git::trailer::Trailers;
    use crate::domain::sample::{self, sha};

    fn lone(digit: char, parents: &[char]) -> ListedCommit {
        ListedCommit::new(sample::commit(digit, ""), parents.iter().map(|parent| sha(*parent)).collect(), None, None)
    }

    fn ours(digit: char, parents: &[char], trailers: &Trailers) -> ListedCommit {
        let ListedCommit { commit, parents, .. } = lone(digit, parents);
        ListedCommit::new(commit, parents, None, Some(trailers.clone()))
    }

    fn pending(head: char, only_there: Vec<ListedCommit>) -> PendingCommits {
        PendingCommits { head: Some(sha(head)), only_in_target: only_there, ..PendingCommits::default() }
    }

    /// `0` is contained in what would be merged, everything else only in the target.
    #[test]
    fn a_target_is_newer_if_an_earlier_merge_brought_more() {
        let promoted = pending('a', vec![lone('a', &['0', '0'])]);
        assert!(!promoted.is_target_newer(), "the same was merged before");
        let hotfixed = pending('b', vec![lone('b', &['a']), lone('a', &['0', '0'])]);
        assert!(!hotfixed.is_target_newer(), "a hotfix is no promotion");
        assert_eq!(hotfixed.iter_hotfixes().count(), 1);
        let newer = pending('a', vec![lone('a', &['0', 'c']), lone('c', &['0'])]);
        assert!(newer.is_target_newer());
        let buried = pending('b', vec![lone('b', &['a']), lone('a', &['0', 'c']), lone('c', &['0'])]);
        assert!(buried.is_target_newer(), "also below a hotfix");
        assert!(!PendingCommits::default().is_target_newer());
    }

    #[test]
    fn what_we_made_ourselves_is_neither_a_hotfix_nor_newer() {
        let (change, rollback) = (ChangeId::new(Timestamp::UNIX_EPOCH), ChangeId::new(Timestamp::UNIX_EPOCH));
        let promotion = Trailers::Change(change);
        let back = Trailers::Rollback { change: rollback, restores: Some(sha('0')) };
        let again = Trailers::Reinstates { change, rollback };
        // The promotion `a`, its rollback `b`, a hotfix `c`, and the next result: `d` undoes, `e` and `f` are merges.
        let until_hotfix = || vec![lone('c', &['b']), ours('b', &['a'], &back), ours('a', &['0', '0'], &promotion)];
        let result = || {
            let made = [ours('f', &['e', '0'], &promotion), ours('e', &['c', 'd'], &again), ours('d', &['b'], &again)];
            made.into_iter().chain(until_hotfix()).collect::<Vec<_>>()
        };
        let by_pull = || std::iter::once(lone('9', &['c', 'f'])).chain(result()).collect::<Vec<_>>();
        for (head, only_there) in [('c', until_hotfix()), ('f', result()), ('9', by_pull())] {
            let pending = pending(head, only_there);
            assert_eq!(pending.iter_hotfixes().map(|commit| &commit.sha).collect::<Vec<_>>(), [&sha('c')], "{head}");
            assert!(!pending.is_target_newer(), "{head}");
        }
        let mut brought_more = by_pull();
        brought_more.push(lone('8', &['0']));
        brought_more[1].parents[1] = sha('8');
        assert!(pending('9', brought_more).is_target_newer(), "our own merge brought it");
        let copied = pending('7', vec![ours('7', &['0'], &promotion)]);
        assert_eq!(copied.iter_hotfixes().count(), 1, "somebody took our message over");
    }

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
