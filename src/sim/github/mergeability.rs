//! Whether a pull request can be merged, and the merge.

use git2::Oid;
use jiff::Timestamp;

use super::Author;
use super::errors::ApiError;
use super::merge::MergeResult;
use super::objects::{Repo, signature};
use super::pulls::{PullRequest, TestMerge};
use super::routes::web_flow;
use super::rules::Obstacle;
use crate::sim::faults::{Fault, Faults};

/// The body of a request to merge a pull request.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct MergeOptions {
    pub(super) sha: Option<String>,
    pub(super) merge_method: Option<String>,
    pub(super) commit_title: Option<String>,
    pub(super) commit_message: Option<String>,
}

/// `mergeable` and `mergeable_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mergeability {
    pub(super) mergeable: Option<bool>,
    pub(super) state: &'static str,
}

/// The answer before the first request, and for a closed pull request.
pub(super) const UNKNOWN: Mergeability = Mergeability { mergeable: None, state: "unknown" };

impl Repo {
    /// The answer of the route of a single pull request: the first request after a branch moved only starts the test
    /// merge.
    pub(super) fn ask_mergeability(&mut self, number: u64, faults: &Faults) -> Result<Mergeability, ApiError> {
        let Some((head, base)) = self.head_and_base(number)? else { return Ok(UNKNOWN) };
        let pull = self.pull_mut(number)?;
        if pull.test.is_none_or(|test| (test.head, test.base) != (head, base)) {
            pull.test = Some(TestMerge { head, base, clean: None });
            return Ok(UNKNOWN);
        }
        self.compute_mergeability(number, faults)
    }

    /// The final answer at once.
    pub(super) fn compute_mergeability(&mut self, number: u64, faults: &Faults) -> Result<Mergeability, ApiError> {
        let Some((_, base)) = self.head_and_base(number)? else { return Ok(UNKNOWN) };
        if !self.try_merge(number, faults)? {
            return Ok(Mergeability { mergeable: Some(false), state: "dirty" });
        }
        let pull = self.pull(number)?;
        let state = match self.obstacle(pull, base)? {
            Some(Obstacle::Blocked(_)) => "blocked",
            Some(Obstacle::Behind(_)) => "behind",
            None if self.is_unstable(pull.head_sha) => "unstable",
            None => "clean",
        };
        Ok(Mergeability { mergeable: Some(true), state })
    }

    /// The heads of both branches, if the pull request is open.
    fn head_and_base(&self, number: u64) -> Result<Option<(Oid, Oid)>, ApiError> {
        let pull = self.pull(number)?;
        Ok(if pull.is_open() { self.branch(&pull.base).map(|base| (pull.head_sha, base)) } else { None })
    }

    /// Whether the merge has no conflict. The result is kept until one of the branches moves.
    fn try_merge(&mut self, number: u64, faults: &Faults) -> Result<bool, ApiError> {
        let Some((head, base)) = self.head_and_base(number)? else { return Ok(false) };
        let pull = self.pull(number)?;
        if let Some(TestMerge { clean: Some(clean), .. }) =
            pull.test.filter(|test| (test.head, test.base) == (head, base))
        {
            return Ok(clean);
        }
        // The branch of each environment above the first has the environment's name, so `base` is the environment.
        let clean = matches!(self.merge(base, head)?, MergeResult::Tree(_))
            && !faults.take_if_armed(Fault::MergeConflict, Some(self.short_name()), Some(&pull.base));
        self.pull_mut(number)?.test = Some(TestMerge { head, base, clean: Some(clean) });
        Ok(clean)
    }

    pub(super) fn merge_pull(
        &mut self,
        number: u64,
        options: &MergeOptions,
        by: &Author,
        faults: &Faults,
        now: Timestamp,
    ) -> Result<Oid, ApiError> {
        let method = options.merge_method.as_deref().unwrap_or("merge");
        match method {
            "merge" | "squash" => {}
            "rebase" => return Err(ApiError::not_allowed("Rebase merges are not allowed on this repository.")),
            _ => return Err(ApiError::validation_failed("PullRequest", "merge_method", "invalid")),
        }
        let not_mergeable = || ApiError::not_allowed("Pull Request is not mergeable");
        let (head, base) = self.head_and_base(number)?.ok_or_else(not_mergeable)?;
        if options.sha.as_ref().is_some_and(|sha| *sha != head.to_string()) {
            return Err(ApiError::conflict("Head branch was modified. Review and try the merge again."));
        }
        if !self.try_merge(number, faults)? {
            return Err(not_mergeable());
        }
        let pull = self.pull(number)?;
        match self.obstacle(pull, base)? {
            Some(Obstacle::Blocked(reason) | Obstacle::Behind(Some(reason))) => {
                return Err(ApiError::not_allowed(reason));
            }
            Some(Obstacle::Behind(None)) => {
                return Err(ApiError::conflict("Head branch is out of date. Review and try the merge again."));
            }
            None => {}
        }
        let MergeResult::Tree(tree) = self.merge(base, head)? else { return Err(not_mergeable()) };
        let squash = method == "squash";
        let (message, reference) = (self.merge_message(pull, options, squash), format!("refs/heads/{}", pull.base));
        let (author, committer) = (signature(by, now)?, signature(&web_flow(), now)?);
        let parents = if squash { vec![base] } else { vec![base, head] };
        let id = self.write_commit(tree, &parents, &message, &author, &committer)?;
        // Closed before the branch moves: `sync_pulls` would take the moved base for a merge by another person.
        self.close(number, Some(id), by.login.as_deref().unwrap_or(&by.name), now);
        self.point(&reference, id);
        Ok(id)
    }

    fn merge_message(&self, pull: &PullRequest, options: &MergeOptions, squash: bool) -> String {
        let title = options.commit_title.clone().filter(|title| !title.is_empty()).unwrap_or_else(|| {
            if squash {
                format!("{} (#{})", pull.title, pull.number)
            } else {
                format!("Merge pull request #{} from {}/{}", pull.number, self.owner(), pull.head)
            }
        });
        let body =
            options.commit_message.clone().unwrap_or_else(|| if squash { String::new() } else { pull.title.clone() });
        if body.is_empty() { title } else { format!("{title}\n\n{body}") }
    }
}
