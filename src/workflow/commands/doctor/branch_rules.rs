//! Whether a branch lets promotions in. A rule that forbids them for good is a finding. A rule that people can satisfy,
//! such as a required review, is not.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::run::{DoctorRun, ProbeResult, ServiceFindings, format_list};
use crate::adapters::github::probe::{BranchRule, RulesetBypass};
use crate::domain::doctor::{Health, Service, worst_health};
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;

/// Rules with known effects on a promotion.
const KNOWN_RULES: [&str; 5] =
    ["required_linear_history", "merge_queue", "update", "required_status_checks", "pull_request"];
/// Rules that cannot forbid a promotion: the branch exists, and only ever moves forwards.
const HARMLESS_RULES: [&str; 3] = ["deletion", "non_fast_forward", "creation"];

/// The environments that promote into a branch, by their promotion method.
#[derive(Clone, Debug, Default)]
pub(super) struct BranchUsage {
    /// The branch from which a missing one can be made.
    pub(super) lower_branch: Option<String>,
    pub(super) by_merge: BTreeSet<EnvironmentName>,
    pub(super) by_pull_request: BTreeSet<EnvironmentName>,
}

pub(super) async fn check_branch(
    run: &DoctorRun<'_>,
    repository: &Repository,
    branch: &str,
    usage: &BranchUsage,
) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::GitHub);
    let is_used = !usage.by_merge.is_empty() || !usage.by_pull_request.is_empty();
    let (protection, rules) =
        tokio::join!(run.limit_time(run.doctor.github.is_branch_protected(repository, branch)), async {
            if is_used { Some(fetch_effective_rules(run, repository, branch).await) } else { None }
        });
    match (protection, rules) {
        (Ok(Some(_)), None) => {}
        (Ok(Some(has_classic_protection)), Some(Ok(rules))) => {
            check_branch_rules(&mut found, repository, branch, usage, &rules, has_classic_protection);
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
                format!("Create it: `git push origin {from}:refs/heads/{branch}` in a clone of {repository}."),
            );
        }
        (Err(error), _) => {
            let repair = "Give the token or the App access to it.";
            found.add_failure(format!("{branch} of {repository} cannot be read"), &error, repair);
        }
    }
    found
}

/// The rules that Gantry cannot always bypass. If the bypass cannot be read, the rule counts.
async fn fetch_effective_rules(
    run: &DoctorRun<'_>,
    repository: &Repository,
    branch: &str,
) -> ProbeResult<Vec<(BranchRule, RulesetBypass)>> {
    let client = &run.doctor.github;
    let mut bypasses: BTreeMap<u64, RulesetBypass> = BTreeMap::new();
    let mut effective = Vec::new();
    for rule in run.limit_time(client.fetch_branch_rules(repository, branch)).await? {
        if HARMLESS_RULES.contains(&rule.kind.as_str()) {
            continue;
        }
        let bypass = match rule.ruleset_id.map(|id| (id, bypasses.entry(id))) {
            None => RulesetBypass::Never,
            Some((_, Entry::Occupied(known))) => *known.get(),
            Some((id, Entry::Vacant(entry))) => {
                let answer = run.limit_time(client.fetch_ruleset_bypass(repository, id)).await;
                *entry.insert(answer.unwrap_or(RulesetBypass::Never))
            }
        };
        if bypass != RulesetBypass::Always {
            effective.push((rule, bypass));
        }
    }
    Ok(effective)
}

fn check_branch_rules(
    found: &mut ServiceFindings,
    repository: &Repository,
    branch: &str,
    usage: &BranchUsage,
    rules: &[(BranchRule, RulesetBypass)],
    has_classic_protection: bool,
) {
    let subject = format!("{branch} of {repository}");
    let (has_merges, has_pull_requests) = (!usage.by_merge.is_empty(), !usage.by_pull_request.is_empty());
    let merging = usage.by_merge.iter().map(EnvironmentName::as_str).collect::<Vec<_>>().join("`, `");
    let of_kind = |kind: &'static str| rules.iter().filter(move |(rule, _)| rule.kind == kind);
    if of_kind("required_linear_history").next().is_some() {
        let summary = format!("{subject} requires a linear history, and promotions are merge commits");
        found.add_bad(summary, format!("Remove that rule from {branch}."));
    }
    if of_kind("merge_queue").next().is_some() {
        let summary = format!(
            "{subject} has a merge queue, which blocks other merges and would merge another commit than the approved one"
        );
        found.add_bad(summary, format!("Remove the merge queue from {branch}, or let Gantry bypass it."));
    }
    if of_kind("update").any(|(_, bypass)| has_merges || (has_pull_requests && *bypass == RulesetBypass::Never)) {
        let summary = format!("{subject} restricts updates, also by pull request, and Gantry may not update it");
        found.add_bad(summary, "Let Gantry bypass that rule (Restrict updates).");
    }
    let required_checks =
        of_kind("required_status_checks").flat_map(|(rule, _)| &rule.parameters.required_status_checks);
    let required_checks: Vec<&str> = required_checks.map(|check| check.context.as_str()).collect();
    let instead = format!("Let Gantry bypass it, or set `promote: pull_request` for `{merging}`.");
    if has_merges && of_kind("pull_request").next().is_some() {
        let summary = format!("{subject} requires pull requests, but `promote: merge` merges directly");
        found.add_bad(summary, instead);
    } else if has_merges && !required_checks.is_empty() {
        let checks = required_checks.join("`, `");
        let summary = format!("{subject} requires `{checks}`, which cannot have run on a new merge commit");
        found.add_bad(summary, instead);
    }
    let methods =
        of_kind("pull_request").filter_map(|(rule, _)| rule.parameters.allowed_merge_methods.as_ref()).next_back();
    if has_pull_requests && methods.is_some_and(|methods| methods.iter().all(|method| method != "merge")) {
        let summary = format!("{subject} allows no merge commits, and a squash would lose the promoted commit");
        found.add_bad(summary, "Allow the merge method Merge in the rule that requires pull requests.");
    }
    let kinds = rules.iter().map(|(rule, _)| rule.kind.as_str()).filter(|kind| !KNOWN_RULES.contains(kind));
    let kinds: BTreeSet<&str> = kinds.collect();
    let kinds: Vec<String> = kinds.into_iter().map(|kind| format!("`{kind}`")).collect();
    if !kinds.is_empty() {
        let noun = if kinds.len() == 1 { "a rule" } else { "rules" };
        let summary = format!("{subject} has {noun} that Gantry does not know: {}", format_list(&kinds));
        found.add_warning(summary, "Make sure that a promotion's merge commit satisfies it, or let Gantry bypass it.");
    }
    if has_classic_protection && has_merges && worst_health(&found.checks) != Health::Bad {
        let repair = format!(
            "Under Settings, Branches, check that Gantry may push, or set `promote: pull_request` for `{merging}`."
        );
        found.add_warning(format!("{subject} is protected by rules that Gantry cannot read"), repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::github::probe::{BranchRuleParameters, RequiredStatusCheck};

    fn rule(kind: &str, parameters: BranchRuleParameters) -> Vec<(BranchRule, RulesetBypass)> {
        vec![(BranchRule { kind: kind.to_owned(), ruleset_id: None, parameters }, RulesetBypass::Never)]
    }

    fn rule_of(kind: &str) -> Vec<(BranchRule, RulesetBypass)> {
        rule(kind, BranchRuleParameters::default())
    }

    fn check_branch_with(
        is_merge: bool,
        rules: &[(BranchRule, RulesetBypass)],
        is_protected: bool,
    ) -> Vec<(Health, String)> {
        let names = |yes: bool, name: &str| yes.then(|| EnvironmentName::new(name)).into_iter().collect();
        let (by_merge, by_pull_request) = (names(is_merge, "qa"), names(!is_merge, "prod"));
        let usage = BranchUsage { lower_branch: None, by_merge, by_pull_request };
        let mut found = ServiceFindings::new(Service::GitHub);
        check_branch_rules(&mut found, &"acme/shop".parse().unwrap(), "main", &usage, rules, is_protected);
        found.checks.into_iter().map(|check| (check.health, check.summary)).collect()
    }

    fn check_rules(is_merge: bool, rules: &[(BranchRule, RulesetBypass)]) -> Vec<(Health, String)> {
        check_branch_with(is_merge, rules, false)
    }

    #[test]
    fn a_branch_rule_is_a_finding_only_for_the_promotion_method_it_forbids() {
        let pull_request_rule = rule_of("pull_request");
        assert_eq!(check_rules(true, &pull_request_rule).len(), 1);
        assert_eq!(check_rules(false, &pull_request_rule), [], "promotions by pull request satisfy the rule");
        assert_eq!(check_rules(true, &[]), []);
        let mut restricted = rule_of("update");
        assert_eq!(check_rules(true, &restricted).len(), 1);
        assert_eq!(check_rules(false, &restricted).len(), 1, "a pull request updates the branch too");
        restricted[0].1 = RulesetBypass::PullRequestsOnly;
        assert_eq!(check_rules(true, &restricted).len(), 1);
        assert_eq!(check_rules(false, &restricted), [], "Gantry may bypass it with a pull request");
        let build = vec![RequiredStatusCheck { context: "build".to_owned() }];
        let parameters = BranchRuleParameters { required_status_checks: build, allowed_merge_methods: None };
        let checks = rule("required_status_checks", parameters);
        assert_eq!(check_rules(true, &checks).len(), 1);
        assert_eq!(check_rules(false, &checks), [], "they run on the pull request");
        assert_eq!(check_rules(true, &rule_of("required_linear_history")).len(), 1);
        assert_eq!(check_rules(false, &rule_of("required_linear_history")).len(), 1);
        assert_eq!(check_rules(false, &rule_of("merge_queue"))[0].0, Health::Bad);
        assert_eq!(check_rules(true, &rule_of("merge_queue"))[0].0, Health::Bad);
        for is_merge in [true, false] {
            let summary = "main of acme/shop has a rule that Gantry does not know: `workflows`".to_owned();
            assert_eq!(check_rules(is_merge, &rule_of("workflows")), [(Health::Warning, summary)]);
        }
        let methods = Some(vec!["squash".to_owned()]);
        let parameters = BranchRuleParameters { allowed_merge_methods: methods, ..Default::default() };
        assert_eq!(check_rules(false, &rule("pull_request", parameters)).len(), 1);
        assert_eq!(check_branch_with(true, &[], true)[0].0, Health::Warning);
        assert_eq!(check_branch_with(false, &[], true), []);
    }
}
