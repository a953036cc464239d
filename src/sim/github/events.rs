//! The bodies of GitHub's webhooks, with a subset of their fields. `webhook` sends them.

use git2::Oid;
use serde_json::{Value, json};

use super::checks::Status;
use super::json::{time, user};
use super::objects::Repo;
use super::reviews::Review;

/// One webhook, before it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub repository: String,
    /// As in `X-GitHub-Event`.
    pub kind: &'static str,
    pub body: Value,
}

impl Repo {
    /// The events since the last call. They are delivered after the lock is released.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn record_event(&mut self, kind: &'static str, mut body: Value, by: &str) {
        body["repository"] = json!({
            "id": self.number,
            "name": self.short_name(),
            "full_name": self.full_name,
            "html_url": self.html_url(),
            "default_branch": self.default_branch,
            "owner": { "login": self.owner() },
        });
        body["sender"] = user(&self.api_url, by);
        self.events.push(Event { repository: self.full_name.clone(), kind, body });
    }

    fn brief_pull_json(&self, number: u64) -> Value {
        let Ok(pull) = self.pull(number) else { return Value::Null };
        let merged = pull.closed.as_ref().filter(|end| end.merge_commit.is_some());
        json!({
            "number": pull.number,
            "html_url": self.pull_url(number),
            "state": if pull.is_open() { "open" } else { "closed" },
            "title": pull.title,
            "draft": false,
            "merged": merged.is_some(),
            "merged_at": merged.map(|end| time(end.at)),
            "merged_by": merged.map(|end| user(&self.api_url, &end.by)),
            "merge_commit_sha": pull.merge_commit().map(|id| id.to_string()),
            "user": user(&self.api_url, &pull.author),
            "head": { "ref": pull.head, "sha": pull.head_sha.to_string() },
            "base": { "ref": pull.base, "sha": pull.base_sha.to_string() },
        })
    }

    pub(super) fn record_pull_event(&mut self, number: u64, action: &str, by: &str) {
        let body = json!({ "action": action, "number": number, "pull_request": self.brief_pull_json(number) });
        self.record_event("pull_request", body, by);
    }

    pub(super) fn record_synchronize_event(&mut self, number: u64, before: Oid, by: &str) {
        let pull = self.brief_pull_json(number);
        let (before, after) = (before.to_string(), pull["head"]["sha"].clone());
        let body = json!({
            "action": "synchronize", "number": number, "before": before, "after": after, "pull_request": pull,
        });
        self.record_event("pull_request", body, by);
    }

    pub(super) fn record_retarget_event(&mut self, number: u64, from: &str, by: &str) {
        let body = json!({
            "action": "edited",
            "number": number,
            "changes": { "base": { "ref": { "from": from } } },
            "pull_request": self.brief_pull_json(number),
        });
        self.record_event("pull_request", body, by);
    }

    pub(super) fn record_review_event(&mut self, number: u64, review: &Review, action: &str, by: &str) {
        let body = json!({
            "action": action,
            "review": {
                "id": review.id,
                "user": user(&self.api_url, &review.user),
                "body": review.body,
                "commit_id": review.commit.to_string(),
                "submitted_at": time(review.at),
                "state": review.state.as_str().to_ascii_lowercase(),
                "html_url": format!("{}#pullrequestreview-{}", self.pull_url(number), review.id),
            },
            "pull_request": self.brief_pull_json(number),
        });
        self.record_event("pull_request_review", body, by);
    }

    /// A check began or ended. If it was the last open check of its commit, the suite ended too.
    pub(super) fn record_check_event(&mut self, commit: Oid, name: &str, by: &str) {
        let runs = self.checks.runs(commit);
        let Some(run) = runs.iter().find(|run| run.name == name).cloned() else { return };
        let ended = run.status == "completed";
        let suite_ended = runs.iter().all(|run| run.status == "completed");
        let failed =
            runs.iter().find(|run| run.conclusion.as_deref().is_some_and(|conclusion| conclusion != "success"));
        let verdict = failed.and_then(|run| run.conclusion.clone()).unwrap_or_else(|| "success".to_owned());
        let (action, run) = (if ended { "completed" } else { "created" }, self.check_run_json(commit, &run));
        self.record_event("check_run", json!({ "action": action, "check_run": run }), by);
        if ended && suite_ended {
            let suite =
                json!({ "id": 1, "head_sha": commit.to_string(), "status": "completed", "conclusion": verdict });
            self.record_event("check_suite", json!({ "action": "completed", "check_suite": suite }), by);
        }
    }

    pub(super) fn record_status_event(&mut self, commit: Oid, status: &Status, by: &str) {
        let branches_at_commit = self.refs.under("refs/heads/").filter(|(_, id)| *id == commit);
        let branches: Vec<Value> = branches_at_commit.map(|(name, _)| json!({ "name": name })).collect();
        let body = json!({
            "id": status.number,
            "sha": commit.to_string(),
            "name": self.full_name,
            "state": status.state,
            "context": status.context,
            "description": status.description,
            "target_url": status.target_url,
            "branches": branches,
            "created_at": time(status.at),
            "updated_at": time(status.at),
        });
        self.record_event("status", body, by);
    }
}
