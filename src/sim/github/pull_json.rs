//! GitHub's JSON of pull requests, reviews and comments.

use serde_json::{Value, json};

use super::json::{node_id, time, user};
use super::mergeability::Mergeability;
use super::objects::Repo;
use super::pulls::PullRequest;
use super::reviews::{Comment, Review};

impl Repo {
    pub(super) fn pull_url(&self, number: u64) -> String {
        format!("{}/pull/{number}", self.html_url())
    }

    /// A pull request as in a list. Only the JSON of a single one says whether it can be merged.
    pub(super) fn pull_json(&self, pull: &PullRequest) -> Value {
        let (url, html) = (format!("{}/pulls/{}", self.url(), pull.number), self.pull_url(pull.number));
        let issue = format!("{}/issues/{}", self.url(), pull.number);
        let merged = pull.closed.as_ref().filter(|end| end.merge_commit.is_some());
        let end = |branch: &str, sha: git2::Oid| {
            json!({
                "label": format!("{}:{branch}", self.owner()),
                "ref": branch,
                "sha": sha.to_string(),
                "user": user(&self.api_url, self.owner()),
                "repo": self.repository_json(),
            })
        };
        json!({
            "id": 1_000_000 * self.number as u64 + pull.number,
            "node_id": node_id("PR", (&self.full_name, pull.number)),
            "number": pull.number,
            "url": url,
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "issue_url": issue,
            "commits_url": format!("{url}/commits"),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": format!("{}/statuses/{}", self.url(), pull.head_sha),
            "state": if pull.is_open() { "open" } else { "closed" },
            "locked": false,
            "draft": false,
            "title": pull.title,
            "body": pull.body,
            "user": user(&self.api_url, &pull.author),
            "labels": [],
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "milestone": null,
            "created_at": time(pull.created),
            "updated_at": time(pull.updated),
            "closed_at": pull.closed.as_ref().map(|end| time(end.at)),
            "merged_at": merged.map(|end| time(end.at)),
            "merge_commit_sha": pull.merge_commit().map(|id| id.to_string()),
            "head": end(&pull.head, pull.head_sha),
            "base": end(&pull.base, pull.base_sha),
            "author_association": "CONTRIBUTOR",
            "auto_merge": null,
        })
    }

    pub(super) fn full_pull_json(&self, pull: &PullRequest, mergeability: Mergeability) -> Result<Value, git2::Error> {
        let mut json = self.pull_json(pull);
        let compared = self.compare_pull(pull)?;
        let files = compared.as_ref().map(|compared| self.files_between(Some(compared.merge_base), pull.head_sha));
        let files = files.transpose()?.unwrap_or_default();
        let merged = pull.closed.as_ref().filter(|end| end.merge_commit.is_some());
        json["merged"] = merged.is_some().into();
        json["merged_by"] = merged.map_or(Value::Null, |end| user(&self.api_url, &end.by));
        json["mergeable"] = mergeability.mergeable.into();
        json["rebaseable"] = mergeability.mergeable.into();
        json["mergeable_state"] = mergeability.state.into();
        json["comments"] = pull.comments.len().into();
        json["review_comments"] = 0.into();
        json["maintainer_can_modify"] = false.into();
        json["commits"] = compared.map_or(0, |compared| compared.commits.len()).into();
        json["additions"] = files.iter().map(|file| file.additions).sum::<usize>().into();
        json["deletions"] = files.iter().map(|file| file.deletions).sum::<usize>().into();
        json["changed_files"] = files.len().into();
        Ok(json)
    }

    pub(super) fn review_json(&self, pull: &PullRequest, review: &Review) -> Value {
        let html = format!("{}#pullrequestreview-{}", self.pull_url(pull.number), review.id);
        let pull_url = format!("{}/pulls/{}", self.url(), pull.number);
        json!({
            "id": review.id,
            "node_id": node_id("PRR", (&self.full_name, review.id)),
            "user": user(&self.api_url, &review.user),
            "body": review.body,
            "state": review.state.as_str(),
            "html_url": html,
            "pull_request_url": pull_url,
            "author_association": "COLLABORATOR",
            "_links": { "html": { "href": html }, "pull_request": { "href": pull_url } },
            "submitted_at": time(review.at),
            "commit_id": review.commit.to_string(),
        })
    }

    pub(super) fn comment_json(&self, pull: &PullRequest, comment: &Comment) -> Value {
        json!({
            "id": comment.id,
            "node_id": node_id("IC", (&self.full_name, comment.id)),
            "url": format!("{}/issues/comments/{}", self.url(), comment.id),
            "html_url": format!("{}#issuecomment-{}", self.pull_url(pull.number), comment.id),
            "issue_url": format!("{}/issues/{}", self.url(), pull.number),
            "user": user(&self.api_url, &comment.user),
            "created_at": time(comment.at),
            "updated_at": time(comment.at),
            "author_association": "CONTRIBUTOR",
            "body": comment.body,
        })
    }
}
