//! Do the rules of a branch let in what we bring, the way we bring it? What a rule forbids us for good is broken; what it asks
//! of people is theirs to do, and no complaint.

use std::collections::BTreeSet;

use super::run::{ProbeResult, format_list};
use crate::domain::doctor::{Health, HealthCheck, Service};
use crate::domain::model::artefact::Repository;

/// How promotions enter a branch, and what its rules say to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPromotion {
    /// By the names of environments: those that merge straight into it, and those that go by a pull request.
    pub direct: Vec<String>,
    pub by_pull_request: Vec<String>,
    pub rules: ProbeResult<EffectiveBranchRules>,
}

impl BranchPromotion {
    pub(super) fn has_pull_requests(&self) -> bool {
        !self.by_pull_request.is_empty()
    }
}

/// What GitHub shows of a branch's rules, without those that we may bypass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are GitHub's rules, each there or not")]
pub struct EffectiveBranchRules {
    /// Changes must be made through a pull request.
    pub requires_pull_request: bool,
    /// Only some may change it, be it by a pull request.
    pub restricted: bool,
    /// We are none of them by a pull request, either.
    pub restricted_by_pull: bool,
    pub required_checks: Vec<String>,
    pub requires_linear_history: bool,
    pub has_merge_queue: bool,
    /// How a pull request may be merged; `None`: any way.
    pub merge_methods: Option<Vec<String>>,
    /// Kinds of rules of which nobody here knows what they do to a promotion.
    pub unknown_rules: BTreeSet<String>,
    /// There is a classic protection, of which we may see no more than that.
    pub has_classic_protection: bool,
}

pub(super) fn check_branch_rules(repository: &Repository, branch: &str, entered: &BranchPromotion) -> Vec<HealthCheck> {
    let (service, place) = (Service::GitHub, format!("{branch} of {repository}"));
    let rules = match &entered.rules {
        Ok(rules) => rules,
        Err(trouble) => {
            let what = format!("The rules of {place} cannot be read");
            return vec![HealthCheck::from_probe_error(service, what, trouble, "Give the App `metadata: read` there.")];
        }
    };
    let mut checks = Vec::new();
    let mut bad = |what: String, repair: String| checks.push(HealthCheck::new_bad(service, what, repair));
    if rules.requires_linear_history {
        let what = format!("{place} requires a linear history, and promotions are merge commits");
        bad(what, format!("Take that rule off {branch}."));
    }
    if rules.has_merge_queue {
        let what = format!(
            "{place} has a merge queue, which lets nothing in past it, and would merge something else than what was approved"
        );
        bad(what, format!("Take the merge queue off {branch}, or let Gantry bypass it."));
    }
    let straight = entered.direct.join("`, `");
    let shut_out = (rules.restricted && !entered.direct.is_empty())
        || (rules.restricted_by_pull && !entered.by_pull_request.is_empty());
    if shut_out {
        let what = format!("{place} lets only some change it, by a pull request too, and I am not one of them");
        bad(what, "Let Gantry bypass that rule (Restrict updates).".to_owned());
    }
    if !entered.direct.is_empty() {
        let instead = format!("Let Gantry bypass it, or set `promote: pull_request` for `{straight}`.");
        if rules.requires_pull_request {
            bad(format!("{place} takes changes by pull request only, and `promote: merge` goes straight in"), instead);
        } else if !rules.required_checks.is_empty() {
            let checks = rules.required_checks.join("`, `");
            let what = format!("{place} requires `{checks}`, which cannot have run on a merge that is just being made");
            bad(what, instead);
        }
    }
    let no_merges = |methods: &Vec<String>| methods.iter().all(|method| method != "merge");
    if !entered.by_pull_request.is_empty() && rules.merge_methods.as_ref().is_some_and(no_merges) {
        let what = format!("{place} takes no merge commits, and a squash would lose what was promoted");
        bad(what, "Allow the merge method Merge in the rule that requires pull requests.".to_owned());
    }
    if !rules.unknown_rules.is_empty() {
        let kinds: Vec<String> = rules.unknown_rules.iter().map(|kind| format!("`{kind}`")).collect();
        let word = if kinds.len() == 1 { "a rule" } else { "rules" };
        checks.push(HealthCheck::new_warning(
            service,
            format!("{place} has {word} that I cannot judge: {}", format_list(&kinds)),
            "See that a promotion's merge commit can satisfy it, or let Gantry bypass it.",
        ));
    }
    let is_bad = checks.iter().any(|check| check.health == Health::Bad);
    if !is_bad && rules.has_classic_protection && !entered.direct.is_empty() {
        checks.push(HealthCheck::new_warning(
            service,
            format!("{place} is protected, and I may not see how"),
            format!(
                "See under Settings, Branches that Gantry may push, or set `promote: pull_request` for `{straight}`."
            ),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rules(straight: bool, rules_: EffectiveBranchRules) -> Vec<(Health, String)> {
        let names = |yes: bool, name: &str| yes.then(|| name.to_owned()).into_iter().collect();
        let (straight, by_pull) = (names(straight, "qa"), names(!straight, "prod"));
        let entered = BranchPromotion { direct: straight, by_pull_request: by_pull, rules: Ok(rules_) };
        let repository = "acme/shop".parse().unwrap();
        check_branch_rules(&repository, "main", &entered)
            .into_iter()
            .map(|check| (check.health, check.summary))
            .collect()
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
