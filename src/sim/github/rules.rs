//! The rules of branches, the permissions in a repository, and the obstacles to the merge of a pull request.

use std::collections::BTreeMap;

use git2::Oid;
use serde_json::{Value, json};

use super::checks::Checks;
use super::objects::Repo;
use super::pulls::{PullRequest, ReviewState};

/// The conditions of a change to a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub required_reviews: u32,
    /// Names of check runs or contexts of statuses.
    pub required_checks: Vec<String>,
    /// The head of a pull request must contain the branch's head.
    pub strict: bool,
    /// Direct pushes and merges are refused. A pull request may still be merged.
    pub protected_from_pushes: bool,
    /// Further rules, by GitHub's names of their types. They are shown and not enforced.
    pub kinds: Vec<&'static str>,
    /// The branch has a classic protection besides the ruleset. It is shown and not enforced.
    pub classic: bool,
    /// The allowed merge methods, if not `merge` and `squash`. They are shown and not enforced.
    pub merge_methods: Option<Vec<String>>,
}

/// The rules and permissions of a repository.
#[derive(Debug, Default)]
pub(super) struct Protection {
    pub(super) archived: bool,
    pub(super) no_merge_commits: bool,
    /// The bot has only read access.
    pub(super) read_only: bool,
    branches: BTreeMap<String, Rules>,
    /// By login in lower case. People without an entry may write.
    permissions: BTreeMap<String, String>,
}

const PROTECTED_BRANCH_HELP: &str =
    "Visit https://docs.github.com/articles/about-protected-branches/ for more information.";

/// GitHub's answer to a direct merge into a branch that is protected from pushes.
pub(super) fn not_authorized() -> String {
    format!("You're not authorized to push to this branch. {PROTECTED_BRANCH_HELP}")
}

/// GitHub's answer to a push to such a branch. It has two reasons, one after the other.
pub(super) fn push_refused_message(force: bool) -> String {
    let act = if force { "force-push to" } else { "update" };
    format!("{} Cannot {act} this protected branch", not_authorized())
}

impl Protection {
    pub(super) fn protect(&mut self, branch: &str, rules: Rules) {
        self.branches.insert(branch.to_owned(), rules);
    }

    pub(super) fn rules(&self, branch: &str) -> Option<&Rules> {
        self.branches.get(branch)
    }

    /// Whether pushes to this reference are refused.
    pub(super) fn forbids_pushes(&self, full_name: &str) -> bool {
        let branch = full_name.strip_prefix("refs/heads/");
        branch.and_then(|branch| self.rules(branch)).is_some_and(|rules| rules.protected_from_pushes)
    }

    pub(super) fn set_permission(&mut self, login: &str, permission: &str) {
        self.permissions.insert(login.to_ascii_lowercase(), permission.to_owned());
    }

    pub(super) fn permission(&self, login: &str) -> &str {
        self.permissions.get(&login.to_ascii_lowercase()).map_or("write", String::as_str)
    }

    pub(super) fn may_write(&self, login: &str) -> bool {
        matches!(self.permission(login), "write" | "admin")
    }

    /// The rules as `/rules/branches/{branch}` lists them, with `repository` as their source.
    pub(super) fn json(&self, branch: &str, repository: &str) -> Vec<Value> {
        let Some(rules) = self.rules(branch) else { return Vec::new() };
        let mut all = Vec::new();
        let methods = rules.merge_methods.clone().unwrap_or_else(|| vec!["merge".to_owned(), "squash".to_owned()]);
        if rules.required_reviews > 0 || rules.protected_from_pushes {
            all.push(json!({ "type": "pull_request", "parameters": {
                "required_approving_review_count": rules.required_reviews,
                "dismiss_stale_reviews_on_push": false,
                "require_code_owner_review": false,
                "require_last_push_approval": false,
                "required_review_thread_resolution": false,
                "allowed_merge_methods": methods,
            } }));
        }
        if !rules.required_checks.is_empty() || rules.strict {
            let contexts = rules.required_checks.iter().map(|context| json!({ "context": context }));
            all.push(json!({ "type": "required_status_checks", "parameters": {
                "strict_required_status_checks_policy": rules.strict,
                "do_not_enforce_on_create": false,
                "required_status_checks": contexts.collect::<Vec<_>>(),
            } }));
        }
        if rules.protected_from_pushes {
            all.push(json!({ "type": "deletion" }));
        }
        all.extend(rules.kinds.iter().map(|kind| match *kind {
            "update" => json!({ "type": kind, "parameters": { "update_allows_fetch_and_merge": true } }),
            kind => json!({ "type": kind }),
        }));
        for rule in &mut all {
            rule["ruleset_source_type"] = "Repository".into();
            rule["ruleset_source"] = repository.into();
            rule["ruleset_id"] = 1.into();
        }
        all
    }
}

/// The obstacle to the merge of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A rule is not satisfied, in GitHub's words.
    Blocked(String),
    /// The head does not contain the base. If checks are required, the text says which must run again.
    Behind(Option<String>),
}

impl Repo {
    pub(super) fn obstacle(&self, pull: &PullRequest, base: Oid) -> Result<Option<Obstacle>, git2::Error> {
        let Some(rules) = self.protection.rules(&pull.base) else { return Ok(None) };
        let blocked = self.review_obstacle(pull, rules.required_reviews);
        if let Some(reason) = blocked.or_else(|| checks_obstacle(&self.checks, pull.head_sha, &rules.required_checks)) {
            return Ok(Some(Obstacle::Blocked(reason)));
        }
        if rules.strict && !self.contains(pull.head_sha, base)? {
            // Checks that passed before the base moved do not count: GitHub expects all of them again.
            let missing = vec![CheckState::Expected; rules.required_checks.len()];
            return Ok(Some(Obstacle::Behind(describe_open_checks(&rules.required_checks, &missing))));
        }
        Ok(None)
    }

    /// The reasons why a reference may not be moved to this commit without a pull request, in GitHub's words, one after
    /// another.
    pub(super) fn push_refusal(&self, full_name: &str, after: Oid, force: bool) -> Option<String> {
        let rules = self.protection.rules(full_name.strip_prefix("refs/heads/")?)?;
        if rules.protected_from_pushes {
            return Some(push_refused_message(force));
        }
        let needs_pull =
            (rules.required_reviews > 0).then(|| "Changes must be made through a pull request.".to_owned());
        let checks = checks_obstacle(&self.checks, after, &rules.required_checks);
        let reasons: Vec<String> = needs_pull.into_iter().chain(checks).collect();
        (!reasons.is_empty()).then(|| reasons.join(" "))
    }

    fn review_obstacle(&self, pull: &PullRequest, required: u32) -> Option<String> {
        if required == 0 {
            return None;
        }
        let count = |state: ReviewState| {
            let verdicts = pull.verdicts();
            verdicts.iter().filter(|(login, verdict)| *verdict == state && self.protection.may_write(login)).count()
        };
        let (rejections, approvals) = (count(ReviewState::ChangesRequested), count(ReviewState::Approved));
        if rejections > 0 {
            let reviews = if rejections == 1 { "review" } else { "reviews" };
            return Some(format!("{rejections} {reviews} requesting changes by reviewers with write access."));
        }
        (approvals < required as usize).then(|| {
            let reviews = if required == 1 { "review is" } else { "reviews are" };
            format!("At least {required} approving {reviews} required by reviewers with write access.")
        })
    }

    /// Whether a check or status of this commit failed or is pending.
    pub(super) fn is_unstable(&self, commit: Oid) -> bool {
        let runs = self.checks.runs(commit).iter().map(|run| run_state(run.conclusion.as_deref()));
        let statuses = self.checks.combined(commit).1.into_iter().map(|status| status_state(&status.state));
        runs.chain(statuses).any(|state| state != CheckState::Passed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckState {
    Passed,
    Expected,
    Pending,
    Failing,
}

impl CheckState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "successful",
            Self::Expected => "expected",
            Self::Pending => "pending",
            Self::Failing => "failing",
        }
    }
}

fn run_state(conclusion: Option<&str>) -> CheckState {
    match conclusion {
        None => CheckState::Pending,
        Some("success" | "neutral" | "skipped") => CheckState::Passed,
        Some(_) => CheckState::Failing,
    }
}

fn status_state(state: &str) -> CheckState {
    match state {
        "success" => CheckState::Passed,
        "pending" => CheckState::Pending,
        _ => CheckState::Failing,
    }
}

fn checks_obstacle(checks: &Checks, commit: Oid, required: &[String]) -> Option<String> {
    let (runs, statuses) = (checks.runs(commit), checks.combined(commit).1);
    let state_of = |name: &String| {
        let run = runs.iter().find(|run| run.name == *name).map(|run| run_state(run.conclusion.as_deref()));
        let status = statuses.iter().find(|status| status.context == *name);
        run.or_else(|| status.map(|status| status_state(&status.state))).unwrap_or(CheckState::Expected)
    };
    describe_open_checks(required, &required.iter().map(state_of).collect::<Vec<_>>())
}

/// GitHub names a check only if no other check is required.
fn describe_open_checks(required: &[String], states: &[CheckState]) -> Option<String> {
    let open: Vec<CheckState> = states.iter().copied().filter(|state| *state != CheckState::Passed).collect();
    let first = *open.first()?;
    if let [only] = required {
        return Some(format!("Required status check \"{only}\" is {}.", first.as_str()));
    }
    let (count, all) = (open.len(), required.len());
    if open.iter().all(|state| *state == first) {
        return Some(format!("{count} of {all} required status checks are {}.", first.as_str()));
    }
    let kinds = [CheckState::Failing, CheckState::Pending, CheckState::Expected].map(|kind| {
        let count_of_kind = open.iter().filter(|state| **state == kind).count();
        (count_of_kind > 0).then(|| format!("{count_of_kind} {}", kind.as_str()))
    });
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    Some(format!("{count} of {all} required status checks have not succeeded: {}.", kinds.join(", ")))
}
