//! GitHub's JSON for commits, references, people and other objects.

use std::hash::{DefaultHasher, Hash, Hasher};

use git2::{ObjectType, Oid};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::checks::{CheckRun, Status};
use super::compare::{Comparison, FileDiff};
use super::objects::{EXECUTABLE, Repo, TREE};

/// GitHub's numbers and node ids only need to be stable and distinct.
pub(super) fn node_id(kind: &str, value: impl Hash) -> String {
    format!("{kind}_{:016x}", hash(value))
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn user(api_url: &str, login: &str) -> Value {
    let url = format!("{api_url}/users/{login}");
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    json!({
        "login": login,
        "id": hash(login) >> 33,
        "node_id": node_id("U", login),
        "avatar_url": format!("{api_url}/avatars/{login}"),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{api_url}/{login}"),
        "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"),
        "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"),
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"),
        "received_events_url": format!("{url}/received_events"),
        "type": kind,
        "site_admin": false,
    })
}

fn verification() -> Value {
    json!({ "verified": false, "reason": "unsigned", "signature": null, "payload": null })
}

pub(super) fn time(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

fn person(signature: &git2::Signature<'_>) -> Value {
    let at = Timestamp::from_second(signature.when().seconds()).unwrap_or(Timestamp::UNIX_EPOCH);
    json!({
        "name": String::from_utf8_lossy(signature.name_bytes()),
        "email": String::from_utf8_lossy(signature.email_bytes()),
        "date": time(at),
    })
}

pub(super) fn kind(kind: Option<ObjectType>) -> &'static str {
    kind.map_or("commit", |kind| kind.str())
}

impl Repo {
    /// The URL of this repository in the API.
    pub(super) fn url(&self) -> String {
        format!("{}/repos/{}", self.api_url, self.full_name)
    }

    pub(super) fn html_url(&self) -> String {
        format!("{}/{}", self.api_url, self.full_name)
    }

    pub(super) fn repository_json(&self) -> Value {
        let (url, html) = (self.url(), self.html_url());
        let pushed = self.branch(&self.default_branch).and_then(|id| self.commit_at(id).ok());
        let pushed = pushed.and_then(|commit| Timestamp::from_second(commit.time().seconds()).ok());
        let pushed = pushed.unwrap_or(self.created);
        json!({
            "id": self.number,
            "node_id": node_id("R", &self.full_name),
            "name": self.short_name(),
            "full_name": self.full_name,
            "private": false,
            "owner": user(&self.api_url, self.owner()),
            "html_url": html,
            "description": null,
            "fork": false,
            "url": url,
            "branches_url": format!("{url}/branches{{/branch}}"),
            "commits_url": format!("{url}/commits{{/sha}}"),
            "compare_url": format!("{url}/compare/{{base}}...{{head}}"),
            "contents_url": format!("{url}/contents/{{+path}}"),
            "git_commits_url": format!("{url}/git/commits{{/sha}}"),
            "git_refs_url": format!("{url}/git/refs{{/sha}}"),
            "git_tags_url": format!("{url}/git/tags{{/sha}}"),
            "merges_url": format!("{url}/merges"),
            "pulls_url": format!("{url}/pulls{{/number}}"),
            "statuses_url": format!("{url}/statuses/{{sha}}"),
            "tags_url": format!("{url}/tags"),
            "trees_url": format!("{url}/git/trees{{/sha}}"),
            "default_branch": self.default_branch,
            "archived": self.protection.archived,
            "disabled": false,
            "visibility": "public",
            "created_at": time(self.created),
            "updated_at": time(pushed),
            "pushed_at": time(pushed),
            "permissions": {
                "admin": false, "maintain": false, "push": !self.protection.read_only, "triage": true, "pull": true,
            },
            "allow_merge_commit": !self.protection.no_merge_commits,
            "allow_squash_merge": true,
            "allow_rebase_merge": false,
        })
    }

    pub(super) fn ref_json(&self, full_name: &str, target: Oid) -> Value {
        let kind = kind(self.kind(target));
        json!({
            "ref": full_name,
            "node_id": node_id("REF", (&self.full_name, full_name)),
            "url": format!("{}/git/{full_name}", self.url()),
            "object": { "sha": target.to_string(), "type": kind, "url": self.object_url(kind, target) },
        })
    }

    pub(super) fn object_url(&self, kind: &str, id: Oid) -> String {
        format!("{}/git/{kind}s/{id}", self.url())
    }

    fn account(&self, signature: &git2::Signature<'_>) -> Value {
        let email = String::from_utf8_lossy(signature.email_bytes());
        self.people.login(&email).map_or(Value::Null, |login| user(&self.api_url, &login))
    }

    /// A commit as `/commits` and `/compare` list it.
    pub(super) fn commit_json(&self, id: Oid) -> Result<Value, git2::Error> {
        let commit = self.commit_at(id)?;
        let (url, html) = (self.url(), self.html_url());
        let parent = |id: Oid| {
            json!({
                "sha": id.to_string(),
                "url": format!("{url}/commits/{id}"),
                "html_url": format!("{html}/commit/{id}"),
            })
        };
        Ok(json!({
            "sha": id.to_string(),
            "node_id": node_id("C", (&self.full_name, id.as_bytes())),
            "commit": {
                "author": person(&commit.author()),
                "committer": person(&commit.committer()),
                "message": String::from_utf8_lossy(commit.message_bytes()),
                "tree": { "sha": commit.tree_id().to_string(), "url": self.object_url("tree", commit.tree_id()) },
                "url": self.object_url("commit", id),
                "comment_count": 0,
                "verification": verification(),
            },
            "url": format!("{url}/commits/{id}"),
            "html_url": format!("{html}/commit/{id}"),
            "comments_url": format!("{url}/commits/{id}/comments"),
            "author": self.account(&commit.author()),
            "committer": self.account(&commit.committer()),
            "parents": commit.parent_ids().map(parent).collect::<Vec<_>>(),
        }))
    }

    /// A single commit, with the files that differ from its first parent.
    pub(super) fn full_commit_json(&self, id: Oid) -> Result<Value, git2::Error> {
        let files = self.files_between(self.commit_at(id)?.parent_id(0).ok(), id)?;
        let (additions, deletions) =
            files.iter().fold((0, 0), |(added, deleted), file| (added + file.additions, deleted + file.deletions));
        let mut json = self.commit_json(id)?;
        json["stats"] = json!({ "total": additions + deletions, "additions": additions, "deletions": deletions });
        json["files"] = files.iter().take(300).map(|file| self.file_json(file, id)).collect();
        Ok(json)
    }

    /// A commit as the Git database returns it: the object, without GitHub's accounts.
    pub(super) fn git_commit_json(&self, id: Oid) -> Result<Value, git2::Error> {
        let commit = self.commit_at(id)?;
        let html = |id: Oid| format!("{}/commit/{id}", self.html_url());
        let parent =
            |id: Oid| json!({ "sha": id.to_string(), "url": self.object_url("commit", id), "html_url": html(id) });
        Ok(json!({
            "sha": id.to_string(),
            "node_id": node_id("C", (&self.full_name, id.as_bytes())),
            "url": self.object_url("commit", id),
            "html_url": html(id),
            "author": person(&commit.author()),
            "committer": person(&commit.committer()),
            "tree": { "sha": commit.tree_id().to_string(), "url": self.object_url("tree", commit.tree_id()) },
            "message": String::from_utf8_lossy(commit.message_bytes()),
            "parents": commit.parent_ids().map(parent).collect::<Vec<_>>(),
            "verification": verification(),
        }))
    }

    pub(super) fn git_tag_json(&self, id: Oid) -> Result<Value, git2::Error> {
        let tag = self.git.find_tag(id)?;
        let kind = kind(tag.target_type());
        Ok(json!({
            "node_id": node_id("TA", (&self.full_name, id.as_bytes())),
            "tag": String::from_utf8_lossy(tag.name_bytes()),
            "sha": id.to_string(),
            "url": self.object_url("tag", id),
            "message": String::from_utf8_lossy(tag.message_bytes().unwrap_or_default()),
            "tagger": tag.tagger().as_ref().map_or(Value::Null, person),
            "object": {
                "type": kind,
                "sha": tag.target_id().to_string(),
                "url": self.object_url(kind, tag.target_id()),
            },
            "verification": verification(),
        }))
    }

    pub(super) fn tree_json(&self, id: Oid, recursive: bool) -> Result<Value, git2::Error> {
        let mut entries = Vec::new();
        let mut failed = None;
        self.git.find_tree(id)?.walk(git2::TreeWalkMode::PreOrder, |directory, entry| {
            let path = format!("{directory}{}", String::from_utf8_lossy(entry.name_bytes()));
            match self.tree_entry_json(&path, entry) {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    failed = Some(error);
                    return git2::TreeWalkResult::Abort;
                }
            }
            if recursive { git2::TreeWalkResult::Ok } else { git2::TreeWalkResult::Skip }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(json!({
                "sha": id.to_string(),
                "url": self.object_url("tree", id),
                "tree": entries,
                "truncated": false,
            })),
        }
    }

    fn tree_entry_json(&self, path: &str, entry: &git2::TreeEntry<'_>) -> Result<Value, git2::Error> {
        let kind = kind(entry.kind());
        let mut json = json!({
            "path": path,
            "mode": format!("{:06o}", entry.filemode()),
            "type": kind,
            "sha": entry.id().to_string(),
            "url": self.object_url(kind, entry.id()),
        });
        if entry.kind() == Some(ObjectType::Blob) {
            json["size"] = self.git.odb()?.read_header(entry.id())?.0.into();
        }
        Ok(json)
    }

    pub(super) fn file_json(&self, file: &FileDiff, commit: Oid) -> Value {
        let (url, html, path) = (self.url(), self.html_url(), percent_encode(&file.path));
        let mut json = json!({
            "sha": file.blob.to_string(),
            "filename": file.path,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{html}/blob/{commit}/{path}"),
            "raw_url": format!("{html}/raw/{commit}/{path}"),
            "contents_url": format!("{url}/contents/{path}?ref={commit}"),
        });
        if let Some(patch) = &file.patch {
            json["patch"] = patch.as_str().into();
        }
        if let Some(previous) = &file.previous {
            json["previous_filename"] = previous.as_str().into();
        }
        json
    }

    /// `shown` are the commits of the requested page. `files` is given only for the first page.
    pub(super) fn comparison_json(
        &self,
        compared: &Comparison,
        shown: &[Oid],
        files: Option<&[FileDiff]>,
    ) -> Result<Value, git2::Error> {
        let range = format!("{}...{}", compared.base, compared.head);
        let html = format!("{}/compare/{range}", self.html_url());
        let commits = shown.iter().map(|id| self.commit_json(*id)).collect::<Result<Vec<_>, _>>()?;
        let files = files.unwrap_or_default().iter().take(300).map(|file| self.file_json(file, compared.head));
        Ok(json!({
            "url": format!("{}/compare/{range}", self.url()),
            "html_url": html,
            "permalink_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "base_commit": self.commit_json(compared.base)?,
            "merge_base_commit": self.commit_json(compared.merge_base)?,
            "status": compared.status(),
            "ahead_by": compared.commits.len(),
            "behind_by": compared.behind_by,
            "total_commits": compared.commits.len(),
            "commits": commits,
            "files": files.collect::<Vec<_>>(),
        }))
    }

    pub(super) fn status_json(&self, commit: Oid, status: &Status, creator: &str) -> Value {
        json!({
            "id": status.number,
            "node_id": node_id("SC", (&self.full_name, status.number)),
            "url": format!("{}/statuses/{commit}", self.url()),
            "avatar_url": format!("{}/avatars/{creator}", self.api_url),
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": time(status.at),
            "updated_at": time(status.at),
            "creator": user(&self.api_url, creator),
        })
    }

    pub(super) fn check_run_json(&self, commit: Oid, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.url(), run.number);
        let html = format!("{}/runs/{}", self.html_url(), run.number);
        json!({
            "id": run.number,
            "node_id": node_id("CR", (&self.full_name, run.number)),
            "head_sha": commit.to_string(),
            "external_id": "",
            "url": url,
            "html_url": html,
            "details_url": html,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": time(run.started),
            "completed_at": run.completed.map(time),
            "name": run.name,
            "output": {
                "title": null, "summary": null, "text": null,
                "annotations_count": 0, "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": 1 },
            "app": null,
            "pull_requests": [],
        })
    }

    /// An entry of a directory, or a file without its content, as `/contents` shows it.
    pub(super) fn content_json(&self, path: &str, reference: &str, id: Oid, mode: i32) -> Result<Value, git2::Error> {
        let (kind, git_kind) = match mode {
            TREE => ("dir", "tree"),
            0o120_000 => ("symlink", "blob"),
            0o160_000 => ("submodule", "commit"),
            _ => ("file", "blob"),
        };
        let size = if git_kind == "blob" { self.git.odb()?.read_header(id)?.0 } else { 0 };
        let (encoded_path, git) = (percent_encode(path), self.object_url(git_kind, id));
        let url = format!("{}/contents/{encoded_path}?ref={}", self.url(), percent_encode(reference));
        let html = format!("{}/{git_kind}/{}/{encoded_path}", self.html_url(), percent_encode(reference));
        let raw =
            (kind == "file").then(|| format!("{}/raw/{}/{encoded_path}", self.html_url(), percent_encode(reference)));
        Ok(json!({
            "type": kind,
            "size": size,
            "name": path.rsplit('/').next().unwrap_or(path),
            "path": path,
            "sha": id.to_string(),
            "url": url,
            "git_url": git,
            "html_url": html,
            "download_url": raw,
            "_links": { "self": url, "git": git, "html": html },
        }))
    }
}

/// A path or a name as part of a URL. Slashes stay.
pub(super) fn percent_encode(text: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The modes that a tree's entry may have.
pub(super) fn mode(text: &str) -> Option<i32> {
    match text {
        "100644" => Some(super::objects::FILE),
        "100755" => Some(EXECUTABLE),
        "040000" => Some(TREE),
        "120000" => Some(0o120_000),
        "160000" => Some(0o160_000),
        _ => None,
    }
}
