//! Do the rules of a branch let in what we bring, the way we bring it? What a rule forbids us for good is broken; what it asks
//! of people is theirs to do, and no complaint.

use super::{Check, Learned, Service};
use crate::domain::artefact::Repository;

/// How promotions enter a branch, and what its rules say to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// By the names of environments: those that merge straight into it, and those that go by a pull request.
    pub straight: Vec<String>,
    pub by_pull: Vec<String>,
    pub rules: Learned<Rules>,
}

impl Entered {
    pub(super) fn by_pull_request(&self) -> bool {
        !self.by_pull.is_empty()
    }
}

/// What GitHub shows of a branch's rules, without those that we may bypass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are GitHub's rules, each there or not")]
pub struct Rules {
    /// Changes must be made through a pull request.
    pub pull_request: bool,
    /// Only some may push to it.
    pub restricted: bool,
    pub required_checks: Vec<String>,
    pub linear_history: bool,
    pub merge_queue: bool,
    /// How a pull request may be merged; `None`: any way.
    pub merge_methods: Option<Vec<String>>,
    /// There is a classic protection, of which we may see no more than that.
    pub protected: bool,
}

pub(super) fn rules(repository: &Repository, branch: &str, entered: &Entered) -> Vec<Check> {
    let (service, place) = (Service::GitHub, format!("{branch} of {repository}"));
    let rules = match &entered.rules {
        Ok(rules) => rules,
        Err(trouble) => {
            let what = format!("The rules of {place} cannot be read");
            return vec![Check::trouble(service, what, trouble, "Give the App `metadata: read` there.")];
        }
    };
    let mut checks = Vec::new();
    let mut bad = |what: String, repair: String| checks.push(Check::bad(service, what, repair));
    if rules.linear_history {
        let what = format!("{place} requires a linear history, and promotions are merge commits");
        bad(what, format!("Take that rule off {branch}."));
    }
    let straight = entered.straight.join("`, `");
    if !entered.straight.is_empty() {
        let instead = format!("Let Gantry bypass it, or set `promote: pull_request` for `{straight}`.");
        if rules.pull_request {
            bad(format!("{place} takes changes by pull request only, and `promote: merge` goes straight in"), instead);
        } else if rules.restricted {
            bad(format!("{place} lets only some push, and I am not one of them"), instead);
        } else if !rules.required_checks.is_empty() {
            let checks = rules.required_checks.join("`, `");
            let what = format!("{place} requires `{checks}`, which cannot have run on a merge that is just being made");
            bad(what, instead);
        }
    }
    if !entered.by_pull.is_empty() {
        if rules.merge_queue {
            let what = format!("{place} has a merge queue, which would merge something else than what was approved");
            bad(what, format!("Take the merge queue off {branch}."));
        }
        if rules.merge_methods.as_ref().is_some_and(|methods| methods.iter().all(|method| method != "merge")) {
            let what = format!("{place} takes no merge commits, and a squash would lose what was promoted");
            bad(what, "Allow the merge method Merge in the rule that requires pull requests.".to_owned());
        }
    }
    if checks.is_empty() && rules.protected && !entered.straight.is_empty() {
        checks.push(Check::warning(
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
    use crate::domain::doctor::Health;

    fn told(straight: bool, rules_: Rules) -> Vec<(Health, String)> {
        let names = |yes: bool, name: &str| yes.then(|| name.to_owned()).into_iter().collect();
        let (straight, by_pull) = (names(straight, "qa"), names(!straight, "prod"));
        let entered = Entered { straight, by_pull, rules: Ok(rules_) };
        let repository = "acme/shop".parse().unwrap();
        rules(&repository, "main", &entered).into_iter().map(|check| (check.health, check.what)).collect()
    }

    #[test]
    fn a_rule_is_held_against_the_way_that_we_come() {
        let none = Rules::default;
        let pull = Rules { pull_request: true, ..none() };
        assert_eq!(told(true, pull.clone()).len(), 1);
        assert_eq!(told(false, pull.clone()), [], "that is how it is meant");
        assert_eq!(told(true, none()), []);
        let restricted = Rules { restricted: true, ..none() };
        assert_eq!(told(true, restricted.clone()).len(), 1);
        assert_eq!(told(false, restricted), [], "a pull request is merged by GitHub");
        let checks = Rules { required_checks: vec!["build".to_owned()], ..none() };
        assert_eq!(told(true, checks.clone()).len(), 1);
        assert_eq!(told(false, checks), [], "they run on the pull request");
        assert_eq!(told(true, Rules { linear_history: true, ..none() }).len(), 1);
        assert_eq!(told(false, Rules { linear_history: true, ..none() }).len(), 1);
        assert_eq!(told(false, Rules { merge_queue: true, ..none() }).len(), 1);
        let squash = Rules { merge_methods: Some(vec!["squash".to_owned()]), ..pull };
        assert_eq!(told(false, squash).len(), 1);
        let protected = Rules { protected: true, ..none() };
        assert_eq!(told(true, protected.clone())[0].0, Health::Warning);
        assert_eq!(told(false, protected), []);
    }
}
