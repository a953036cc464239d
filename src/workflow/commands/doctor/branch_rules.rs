//! Whether a branch lets promotions in. A rule that forbids them for good is a finding. A rule that only asks something of
//! people, such as a review, is not.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::run::{DoctorRun, Findings, ProbeResult, format_list};
use crate::adapters::github::probe::{BranchRule, RulesetBypass};
use crate::domain::doctor::{Health, Service, worst_health};
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;

/// Rules that cannot forbid a promotion: the branch exists, and only ever moves forwards.
const HARMLESS_RULES: [&str; 3] = ["deletion", "non_fast_forward", "creation"];

/// The environments that promote into a branch, by the way in which they do.
#[derive(Clone, Debug, Default)]
pub(super) struct BranchUsage {
    /// The branch from which a missing one can be made.
    pub(super) lower_branch: Option<String>,
    pub(super) by_merge: BTreeSet<EnvironmentName>,
    pub(super) by_pull_request: BTreeSet<EnvironmentName>,
}

/// The rules of a branch, without those that we may bypass.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are GitHub's rules, each there or not")]
struct EffectiveBranchRules {
    requires_pull_request: bool,
    /// Only some accounts may change the branch, and we are not among them.
    restricted: bool,
    /// The same holds for a change by a pull request.
    restricted_by_pull: bool,
    required_checks: Vec<String>,
    requires_linear_history: bool,
    has_merge_queue: bool,
    /// `None` if pull requests may be merged in any way.
    merge_methods: Option<Vec<String>>,
    /// Kinds of rules with unknown effects on a promotion.
    unknown_rules: BTreeSet<String>,
    /// A classic protection exists. GitHub does not tell us its settings.
    has_classic_protection: bool,
}

pub(super) async fn check_branch(
    run: &DoctorRun<'_>,
    repository: &Repository,
    branch: &str,
    usage: &BranchUsage,
) -> Findings {
    let mut found = Findings::new(Service::GitHub);
    let is_used = !usage.by_merge.is_empty() || !usage.by_pull_request.is_empty();
    let (protection, rules) =
        tokio::join!(run.limit_time(run.doctor.github.is_branch_protected(repository, branch)), async {
            if is_used { Some(fetch_effective_rules(run, repository, branch).await) } else { None }
        });
    match (protection, rules) {
        (Ok(Some(_)), None) => {}
        (Ok(Some(has_classic_protection)), Some(Ok(rules))) => {
            let rules = EffectiveBranchRules { has_classic_protection, ..rules };
            check_branch_rules(&mut found, repository, branch, usage, &rules);
        }
        (Ok(Some(_)), Some(Err(error))) => found.add_failure(
            format!("The rules of {branch} of {repository} cannot be read"),
            &error,
            "Give the App `metadata: read` there.",
        ),
        (Ok(None), _) => {
            let from = usage.lower_branch.as_ref().map_or("HEAD".to_owned(), |lower| format!("origin/{lower}"));
            found.add_bad(
                format!("{repository} has no branch {branch}"),
                format!("Make it: `git push origin {from}:refs/heads/{branch}` in a clone of {repository}."),
            );
        }
        (Err(error), _) => {
            let repair = "Give the token or the App access to it.";
            found.add_failure(format!("{branch} of {repository} cannot be read"), &error, repair);
        }
    }
    found
}

async fn fetch_effective_rules(
    run: &DoctorRun<'_>,
    repository: &Repository,
    branch: &str,
) -> ProbeResult<EffectiveBranchRules> {
    let client = &run.doctor.github;
    let all = run.limit_time(client.fetch_branch_rules(repository, branch)).await?;
    let mut bypasses: BTreeMap<u64, RulesetBypass> = BTreeMap::new();
    let mut rules = EffectiveBranchRules::default();
    for BranchRule { kind, ruleset_id, parameters } in all {
        if HARMLESS_RULES.contains(&kind.as_str()) {
            continue;
        }
        let bypass = match ruleset_id.map(|id| (id, bypasses.entry(id))) {
            None => RulesetBypass::Never,
            Some((_, Entry::Occupied(known))) => *known.get(),
            Some((id, Entry::Vacant(entry))) => {
                let answer = run.limit_time(client.fetch_ruleset_bypass(repository, id)).await;
                *entry.insert(answer.unwrap_or(RulesetBypass::Never))
            }
        };
        if bypass == RulesetBypass::Always {
            continue;
        }
        match kind.as_str() {
            "pull_request" => {
                rules.requires_pull_request = true;
                rules.merge_methods = parameters.allowed_merge_methods.or(rules.merge_methods);
            }
            "update" => {
                rules.restricted = true;
                rules.restricted_by_pull |= bypass == RulesetBypass::Never;
            }
            "required_status_checks" => {
                rules.required_checks.extend(parameters.required_status_checks.into_iter().map(|check| check.context));
            }
            "required_linear_history" => rules.requires_linear_history = true,
            "merge_queue" => rules.has_merge_queue = true,
            _ => drop(rules.unknown_rules.insert(kind)),
        }
    }
    Ok(rules)
}

fn check_branch_rules(
    found: &mut Findings,
    repository: &Repository,
    branch: &str,
    usage: &BranchUsage,
    rules: &EffectiveBranchRules,
) {
    let place = format!("{branch} of {repository}");
    let (has_merges, has_pull_requests) = (!usage.by_merge.is_empty(), !usage.by_pull_request.is_empty());
    let merging = usage.by_merge.iter().map(EnvironmentName::as_str).collect::<Vec<_>>().join("`, `");
    if rules.requires_linear_history {
        let summary = format!("{place} requires a linear history, and promotions are merge commits");
        found.add_bad(summary, format!("Take that rule off {branch}."));
    }
    if rules.has_merge_queue {
        let summary = format!(
            "{place} has a merge queue, which lets nothing in past it, and would merge something else than what was approved"
        );
        found.add_bad(summary, format!("Take the merge queue off {branch}, or let Gantry bypass it."));
    }
    if rules.restricted && has_merges || rules.restricted_by_pull && has_pull_requests {
        let summary = format!("{place} lets only some change it, by a pull request too, and I am not one of them");
        found.add_bad(summary, "Let Gantry bypass that rule (Restrict updates).");
    }
    let instead = format!("Let Gantry bypass it, or set `promote: pull_request` for `{merging}`.");
    if has_merges && rules.requires_pull_request {
        let summary = format!("{place} takes changes by pull request only, and `promote: merge` goes straight in");
        found.add_bad(summary, instead);
    } else if has_merges && !rules.required_checks.is_empty() {
        let checks = rules.required_checks.join("`, `");
        let summary = format!("{place} requires `{checks}`, which cannot have run on a merge that is just being made");
        found.add_bad(summary, instead);
    }
    let forbids_merges = |methods: &Vec<String>| methods.iter().all(|method| method != "merge");
    if has_pull_requests && rules.merge_methods.as_ref().is_some_and(forbids_merges) {
        let summary = format!("{place} takes no merge commits, and a squash would lose what was promoted");
        found.add_bad(summary, "Allow the merge method Merge in the rule that requires pull requests.");
    }
    if !rules.unknown_rules.is_empty() {
        let kinds: Vec<String> = rules.unknown_rules.iter().map(|kind| format!("`{kind}`")).collect();
        let word = if kinds.len() == 1 { "a rule" } else { "rules" };
        let summary = format!("{place} has {word} that I cannot judge: {}", format_list(&kinds));
        found.add_warning(summary, "See that a promotion's merge commit can satisfy it, or let Gantry bypass it.");
    }
    if rules.has_classic_protection && has_merges && worst_health(&found.checks) != Health::Bad {
        let repair = format!(
            "See under Settings, Branches that Gantry may push, or set `promote: pull_request` for `{merging}`."
        );
        found.add_warning(format!("{place} is protected, and I may not see how"), repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rules(straight: bool, rules_: EffectiveBranchRules) -> Vec<(Health, String)> {
        let names = |yes: bool, name: &str| yes.then(|| EnvironmentName::new(name)).into_iter().collect();
        let (by_merge, by_pull_request) = (names(straight, "qa"), names(!straight, "prod"));
        let usage = BranchUsage { lower_branch: None, by_merge, by_pull_request };
        let mut found = Findings::new(Service::GitHub);
        check_branch_rules(&mut found, &"acme/shop".parse().unwrap(), "main", &usage, &rules_);
        found.checks.into_iter().map(|check| (check.health, check.summary)).collect()
    }

    #[test]
    fn a_rule_is_held_against_the_way_that_we_come() {
        let none = EffectiveBranchRules::default;
        let pull = EffectiveBranchRules { requires_pull_request: true, ..none() };
        assert_eq!(check_rules(true, pull.clone()).len(), 1);
        assert_eq!(check_rules(false, pull.clone()), [], "that is how it is meant");
        assert_eq!(check_rules(true, none()), []);
        let restricted = EffectiveBranchRules { restricted: true, restricted_by_pull: true, ..none() };
        assert_eq!(check_rules(true, restricted.clone()).len(), 1);
        assert_eq!(check_rules(false, restricted).len(), 1, "a pull request changes it too");
        assert_eq!(
            check_rules(false, EffectiveBranchRules { restricted: true, ..none() }),
            [],
            "we may bypass it by a pull request"
        );
        let checks = EffectiveBranchRules { required_checks: vec!["build".to_owned()], ..none() };
        assert_eq!(check_rules(true, checks.clone()).len(), 1);
        assert_eq!(check_rules(false, checks), [], "they run on the pull request");
        assert_eq!(check_rules(true, EffectiveBranchRules { requires_linear_history: true, ..none() }).len(), 1);
        assert_eq!(check_rules(false, EffectiveBranchRules { requires_linear_history: true, ..none() }).len(), 1);
        assert_eq!(check_rules(false, EffectiveBranchRules { has_merge_queue: true, ..none() })[0].0, Health::Bad);
        assert_eq!(check_rules(true, EffectiveBranchRules { has_merge_queue: true, ..none() })[0].0, Health::Bad);
        let unjudged = EffectiveBranchRules { unknown_rules: ["workflows".to_owned()].into(), ..none() };
        for straight in [true, false] {
            let said = "main of acme/shop has a rule that I cannot judge: `workflows`".to_owned();
            assert_eq!(check_rules(straight, unjudged.clone()), [(Health::Warning, said)]);
        }
        let squash = EffectiveBranchRules { merge_methods: Some(vec!["squash".to_owned()]), ..pull };
        assert_eq!(check_rules(false, squash).len(), 1);
        let protected = EffectiveBranchRules { has_classic_protection: true, ..none() };
        assert_eq!(check_rules(true, protected.clone())[0].0, Health::Warning);
        assert_eq!(check_rules(false, protected), []);
    }
}
