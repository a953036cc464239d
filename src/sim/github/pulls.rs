//! Pull requests: their data, how they are opened and edited, and how they follow their two branches.

use git2::Oid;
use jiff::Timestamp;

use super::errors::ApiError;
use super::objects::Repo;
pub(super) use super::reviews::{Comment, Review, ReviewState};

#[derive(Clone, Debug)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: Option<String>,
    /// The login of the person who opened it.
    pub(super) author: String,
    pub(super) head: String,
    pub(super) head_sha: Oid,
    pub(super) base: String,
    /// The base's head when the pull request was opened or last pushed to. GitHub's `base.sha` does not follow the
    /// branch, so code that takes it for the branch's head fails here as it would there.
    pub(super) base_sha: Oid,
    /// The base's head at the last [`Repo::sync_pulls`].
    base_tip: Oid,
    pub(super) closed: Option<CloseRecord>,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    pub(super) reviews: Vec<Review>,
    pub(super) comments: Vec<Comment>,
    pub(super) test: Option<TestMerge>,
}

#[derive(Clone, Debug)]
pub(super) struct CloseRecord {
    pub(super) at: Timestamp,
    pub(super) by: String,
    /// The commit that brought the head into the base; `None` if it was closed without a merge.
    pub(super) merge_commit: Option<Oid>,
}

/// The merge that GitHub tries in the background to find conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestMerge {
    pub(super) head: Oid,
    pub(super) base: Oid,
    /// `None` until the merge was tried.
    pub(super) clean: Option<bool>,
}

impl PullRequest {
    pub(super) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    pub(super) fn merge_commit(&self) -> Option<Oid> {
        self.closed.as_ref().and_then(|end| end.merge_commit)
    }

    /// `open`, `closed` or `merged`. GitHub's API calls the last two `closed`.
    pub(super) fn state_name(&self) -> &'static str {
        match &self.closed {
            None => "open",
            Some(CloseRecord { merge_commit: Some(_), .. }) => "merged",
            Some(_) => "closed",
        }
    }
}

#[derive(Debug)]
pub(super) struct NewPull {
    pub(super) title: String,
    pub(super) head: String,
    pub(super) base: String,
    pub(super) body: Option<String>,
}

/// The fields of a pull request to change; `None` leaves a field unchanged.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct PullEdit {
    pub(super) title: Option<String>,
    pub(super) body: Option<String>,
    pub(super) state: Option<String>,
    pub(super) base: Option<String>,
}

impl Repo {
    pub(super) fn pull(&self, number: u64) -> Result<&PullRequest, ApiError> {
        self.pulls.iter().find(|pull| pull.number == number).ok_or_else(ApiError::not_found)
    }

    pub(super) fn pull_mut(&mut self, number: u64) -> Result<&mut PullRequest, ApiError> {
        self.pulls.iter_mut().find(|pull| pull.number == number).ok_or_else(ApiError::not_found)
    }

    fn open_between(&self, head: &str, base: &str) -> Option<&PullRequest> {
        self.pulls.iter().find(|pull| pull.is_open() && pull.head == head && pull.base == base)
    }

    pub(super) fn open_pull(&mut self, new: NewPull, by: &str, now: Timestamp) -> Result<u64, ApiError> {
        // `owner:branch` names a fork. The repository itself is the only one that exists.
        let head = new.head.strip_prefix(&format!("{}:", self.owner())).unwrap_or(&new.head).to_owned();
        let invalid = |field: &str| ApiError::validation_failed("PullRequest", field, "invalid");
        let head_sha = self.branch(&head).ok_or_else(|| invalid("head"))?;
        let base_sha = self.branch(&new.base).ok_or_else(|| invalid("base"))?;
        if new.title.trim().is_empty() {
            return Err(ApiError::validation_failed("PullRequest", "title", "missing_field"));
        }
        if self.contains(base_sha, head_sha)? {
            let reason = format!("No commits between {} and {head}", new.base);
            return Err(ApiError::validation_message("PullRequest", &reason));
        }
        if self.open_between(&head, &new.base).is_some() {
            let reason = format!("A pull request already exists for {}:{head}.", self.owner());
            return Err(ApiError::validation_message("PullRequest", &reason));
        }
        let number = self.pulls.len() as u64 + 1;
        self.pulls.push(PullRequest {
            number,
            title: new.title,
            body: new.body.filter(|body| !body.is_empty()),
            author: by.to_owned(),
            head,
            head_sha,
            base: new.base,
            base_sha,
            base_tip: base_sha,
            closed: None,
            created: now,
            updated: now,
            reviews: Vec::new(),
            comments: Vec::new(),
            test: None,
        });
        self.record_pull_event(number, "opened", by);
        Ok(number)
    }

    pub(super) fn edit_pull(&mut self, number: u64, edit: PullEdit, by: &str, now: Timestamp) -> Result<(), ApiError> {
        self.pull(number)?;
        if let Some(base) = &edit.base {
            self.retarget(number, base, by)?;
        }
        match edit.state.as_deref() {
            None => {}
            Some("closed") => self.close(number, None, by, now),
            Some("open") => self.reopen(number, by)?,
            Some(_) => return Err(ApiError::validation_failed("PullRequest", "state", "invalid")),
        }
        let pull = self.pull_mut(number)?;
        pull.updated = now;
        let edited = edit.title.is_some() || edit.body.is_some();
        if let Some(title) = edit.title {
            pull.title = title;
        }
        if let Some(body) = edit.body {
            pull.body = Some(body).filter(|body| !body.is_empty());
        }
        if edited {
            self.record_pull_event(number, "edited", by);
        }
        Ok(())
    }

    fn retarget(&mut self, number: u64, base: &str, by: &str) -> Result<(), ApiError> {
        let pull = self.pull(number)?;
        if pull.base == base {
            return Ok(());
        }
        if !pull.is_open() {
            let reason = "Cannot change the base branch of a closed pull request.";
            return Err(ApiError::validation_message("PullRequest", reason));
        }
        let invalid = || ApiError::validation_failed("PullRequest", "base", "invalid");
        let tip = self.branch(base).ok_or_else(invalid)?;
        let between = format!("between base branch '{base}' and head branch '{}'", pull.head);
        if self.contains(tip, pull.head_sha)? {
            let reason = format!("There are no new commits {between}");
            return Err(ApiError::validation_message("PullRequest", &reason));
        }
        if self.open_between(&pull.head, base).is_some() {
            let reason = format!("A pull request already exists for {}", between.trim_start_matches("between "));
            return Err(ApiError::validation_message("PullRequest", &reason));
        }
        let pull = self.pull_mut(number)?;
        let from = std::mem::replace(&mut pull.base, base.to_owned());
        (pull.base_sha, pull.base_tip, pull.test) = (tip, tip, None);
        self.record_retarget_event(number, &from, by);
        Ok(())
    }

    fn reopen(&mut self, number: u64, by: &str) -> Result<(), ApiError> {
        let pull = self.pull(number)?;
        let Some(end) = &pull.closed else { return Ok(()) };
        let refuse = |reason: &str| {
            let reason = format!("state cannot be changed. {reason}");
            Err(ApiError::validation_message("PullRequest", &reason))
        };
        if end.merge_commit.is_some() {
            return refuse("The pull request is already merged.");
        }
        let (Some(head), Some(base)) = (self.branch(&pull.head), self.branch(&pull.base)) else {
            let deleted = if self.branch(&pull.head).is_none() { &pull.head } else { &pull.base };
            return refuse(&format!("The {deleted} branch has been deleted."));
        };
        if !self.contains(head, pull.head_sha)? {
            return refuse(&format!("The {} branch was force-pushed or recreated.", pull.head));
        }
        if self.contains(base, head)? {
            return refuse(&format!("There are no new commits on the {} branch.", pull.head));
        }
        if let Some(other) = self.open_between(&pull.head, &pull.base) {
            return refuse(&format!("There is already an open pull request (#{}).", other.number));
        }
        let pull = self.pull_mut(number)?;
        (pull.closed, pull.head_sha, pull.base_sha, pull.base_tip, pull.test) = (None, head, base, base, None);
        self.record_pull_event(number, "reopened", by);
        Ok(())
    }

    /// Closes it, with or without a merge commit. A closed pull request does not change.
    pub(super) fn close(&mut self, number: u64, merge_commit: Option<Oid>, by: &str, now: Timestamp) {
        let Ok(pull) = self.pull_mut(number) else { return };
        if !pull.is_open() {
            return;
        }
        pull.closed = Some(CloseRecord { at: now, by: by.to_owned(), merge_commit });
        pull.updated = now;
        self.record_pull_event(number, "closed", by);
    }

    /// Updates the open pull requests after their branches were moved or deleted.
    pub(super) fn sync_pulls(&mut self, by: &str, now: Timestamp) -> Result<(), git2::Error> {
        let open: Vec<u64> = self.pulls.iter().filter(|pull| pull.is_open()).map(|pull| pull.number).collect();
        for number in open {
            let Ok(pull) = self.pull(number) else { continue };
            let (Some(head), Some(base)) = (self.branch(&pull.head), self.branch(&pull.base)) else {
                self.close(number, None, by, now);
                continue;
            };
            let (head_moved, base_moved) = (pull.head_sha != head, pull.base_tip != base);
            if !head_moved && !base_moved {
                continue;
            }
            let before = pull.head_sha;
            let merge_commit =
                if self.contains(base, head)? { Some(self.find_merge_commit(base, head)?) } else { None };
            let Ok(pull) = self.pull_mut(number) else { continue };
            pull.base_tip = base;
            if head_moved {
                (pull.head_sha, pull.base_sha, pull.updated) = (head, base, now);
                self.record_synchronize_event(number, before, by);
            }
            if let Some(commit) = merge_commit {
                // If the head was reset to a commit of the base, there is nothing to merge: GitHub only closes it.
                self.close(number, base_moved.then_some(commit), by, now);
            }
        }
        Ok(())
    }

    /// The commit that brought `head` into the branch at `tip`, along its first parents.
    fn find_merge_commit(&self, tip: Oid, head: Oid) -> Result<Oid, git2::Error> {
        let mut commit = tip;
        while commit != head {
            match self.commit_at(commit)?.parent_id(0) {
                Ok(parent) if self.contains(parent, head)? => commit = parent,
                _ => break,
            }
        }
        Ok(commit)
    }
}
