//! Pull requests, their reviews, and their branches. Each write returns its outcome and is never repeated here.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Client, GithubRequest};
use super::error::{GithubError, error_message, parse_sha};
use super::request::FetchResult;
use super::request_path::encode_ref;
use crate::domain::change::PullRequestRef;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

const PAGE_SIZE: usize = 100;
/// A thousand reviews, more than any pull request has.
const MAX_PAGES: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub pull: PullRequestRef,
    pub title: String,
    /// The login of the author; `None` if the account was deleted.
    pub author: Option<String>,
    pub state: PullRequestState,
    pub head: Sha,
    /// The branch into which the pull request is to be merged.
    pub base: String,
    pub mergeable: MergeReadiness,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    Open,
    Closed,
    Merged { commit: Sha, by: Option<String> },
}

/// Whether GitHub would merge the pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeReadiness {
    /// GitHub is still computing it: ask again.
    Computing,
    Conflict,
    /// GitHub's own rules require something that is missing.
    Blocked,
    Ready,
}

/// A submitted review. Whether it counts as an approval is not decided here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub login: String,
    pub verdict: ReviewVerdict,
    /// The commit that the reviewer saw.
    pub commit: Option<Sha>,
    pub submitted_at: Option<jiff::Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Dismissed,
}

/// The result of opening a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenPullRequestOutcome {
    Done(PullRequestRef),
    /// A pull request with the same head and base is open.
    AlreadyExists,
    /// The base already has all commits of the head.
    NoCommits,
    Refused(String),
}

/// The result of merging a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergePullRequestOutcome {
    Done(Sha),
    /// The head is not the expected commit.
    HeadMoved,
    /// Not possible at the moment. The caller must fetch the pull request to learn the reason.
    NotMergeable(String),
    /// Refused by rules. Waiting does not help.
    Refused(String),
}

#[derive(Deserialize)]
struct WirePullRequest {
    number: u64,
    html_url: String,
    #[serde(default)]
    title: String,
    user: Option<WirePullRequestUser>,
    state: String,
    #[serde(default)]
    draft: bool,
    /// Missing in lists of pull requests.
    #[serde(default)]
    merged: bool,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    merged_by: Option<WirePullRequestUser>,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    head: WirePullRequestRef,
    base: WirePullRequestRef,
}

#[derive(Deserialize)]
struct WirePullRequestRef {
    r#ref: String,
    sha: String,
}

#[derive(Deserialize)]
struct WirePullRequestUser {
    login: String,
}

#[derive(Deserialize)]
struct WireReview {
    /// `null` if the account was deleted.
    user: Option<WirePullRequestUser>,
    state: String,
    commit_id: Option<String>,
    submitted_at: Option<String>,
}

impl WirePullRequest {
    fn into_pull_request(self) -> Result<PullRequest, GithubError> {
        let state = match (self.state.as_str(), self.merged || self.merged_at.is_some()) {
            (_, true) => {
                let commit = self.merge_commit_sha.as_deref().unwrap_or(&self.head.sha);
                PullRequestState::Merged { commit: parse_sha(commit)?, by: self.merged_by.map(|account| account.login) }
            }
            ("open", _) => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        let mergeable = match (self.mergeable, self.mergeable_state.as_deref()) {
            (None, _) | (_, Some("unknown") | None) => MergeReadiness::Computing,
            (_, Some("dirty")) => MergeReadiness::Conflict,
            _ if self.draft => MergeReadiness::Blocked,
            // `behind`: GitHub requires the branch to be up to date with its base. Gantry rebuilds it as soon as the
            // base moves.
            (_, Some("blocked" | "behind" | "draft")) => MergeReadiness::Blocked,
            // `unstable`: a check that no GitHub rule requires has failed. Gantry's own rules decide about it.
            _ => MergeReadiness::Ready,
        };
        Ok(PullRequest {
            pull: PullRequestRef { number: self.number, url: self.html_url },
            title: self.title,
            author: self.user.map(|account| account.login),
            state,
            head: parse_sha(&self.head.sha)?,
            base: self.base.r#ref,
            mergeable,
        })
    }
}

impl Client {
    /// Opens a pull request from a branch of the same repository.
    pub async fn open_pull_request(
        &self,
        repository: &Repository,
        head: &str,
        base: &str,
        title: &str,
        text: &str,
    ) -> Result<OpenPullRequestOutcome, GithubError> {
        self.reserve_writes(NonZeroU32::MIN)?;
        let body = json!({ "title": title, "head": head, "base": base, "body": text });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/pulls"), GithubRequest::Post(&body)).await?;
        Ok(match status {
            201 => {
                let opened: WirePullRequest =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                OpenPullRequestOutcome::Done(opened.into_pull_request()?.pull)
            }
            // The reason is in `errors`; the message itself is generic.
            422 if answer.contains("A pull request already exists") => OpenPullRequestOutcome::AlreadyExists,
            422 if answer.contains("No commits between") => OpenPullRequestOutcome::NoCommits,
            404 => return Err(GithubError::NotFound(error_message(&answer))),
            _ => OpenPullRequestOutcome::Refused(error_details(&answer)),
        })
    }

    /// The open pull request with this head and base.
    pub async fn find_open_pull_request(
        &self,
        repository: &Repository,
        head: &str,
        base: &str,
    ) -> Result<Option<PullRequest>, GithubError> {
        let (Some(head), Some(base)) = (encode_ref(head), encode_ref(base)) else { return Ok(None) };
        let owner = repository.owner();
        let path = format!("/repos/{repository}/pulls?state=open&head={owner}:{head}&base={base}");
        let found: Vec<WirePullRequest> = self.fetch_existing(&path).await?;
        found.into_iter().next().map(WirePullRequest::into_pull_request).transpose()
    }

    /// A pull request by its number; `None` if it does not exist.
    pub async fn fetch_pull_request(
        &self,
        repository: &Repository,
        number: u64,
    ) -> Result<Option<PullRequest>, GithubError> {
        let path = format!("/repos/{repository}/pulls/{number}");
        let FetchResult::Found(pull) = self.fetch_json::<WirePullRequest>(&path).await? else { return Ok(None) };
        let pull = pull.into_pull_request()?;
        // GitHub computes mergeability in the background and may keep the `ETag`. A cached `Ready` is safe, because the
        // merge itself checks it; any other cached state could stay for ever.
        if pull.mergeable != MergeReadiness::Ready {
            self.invalidate_cached(&path);
        }
        Ok(Some(pull))
    }

    /// Oldest first, without plain comments.
    pub async fn fetch_reviews(&self, repository: &Repository, number: u64) -> Result<Vec<Review>, GithubError> {
        let mut reviews = Vec::new();
        for page in 1..=MAX_PAGES {
            let path = format!("/repos/{repository}/pulls/{number}/reviews?per_page={PAGE_SIZE}&page={page}");
            let found: Vec<WireReview> = self.fetch_existing(&path).await?;
            let end = found.len() < PAGE_SIZE;
            reviews.extend(found.into_iter().filter_map(|review| {
                let verdict = match review.state.as_str() {
                    "APPROVED" => ReviewVerdict::Approved,
                    "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
                    "DISMISSED" => ReviewVerdict::Dismissed,
                    _ => return None,
                };
                let commit = review.commit_id.and_then(|commit| commit.parse().ok());
                let submitted_at = review.submitted_at.and_then(|time| time.parse().ok());
                Some(Review { login: review.user?.login, verdict, commit, submitted_at })
            }));
            if end {
                break;
            }
        }
        Ok(reviews)
    }

    /// Merges with a merge commit, and only if `head` is still the head.
    pub async fn merge_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        head: &Sha,
        title: &str,
        message: &str,
    ) -> Result<MergePullRequestOutcome, GithubError> {
        #[derive(Deserialize)]
        struct WireMergeResult {
            sha: String,
        }
        self.reserve_writes(NonZeroU32::MIN)?;
        let body = json!({
            "sha": head.as_str(), "merge_method": "merge", "commit_title": title, "commit_message": message,
        });
        let path = format!("/repos/{repository}/pulls/{number}");
        // Whether or not the merge succeeds, the cached response may be outdated.
        self.invalidate_cached(&path);
        let (status, answer) = self.send_write(&format!("{path}/merge"), GithubRequest::Put(&body)).await?;
        let why = error_message(&answer);
        let contains = |phrase: &str| why.to_ascii_lowercase().contains(phrase);
        Ok(match status {
            200 => {
                let merge: WireMergeResult =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                MergePullRequestOutcome::Done(parse_sha(&merge.sha)?)
            }
            409 => MergePullRequestOutcome::HeadMoved,
            405 if contains("not allowed") => MergePullRequestOutcome::Refused(why),
            404 => return Err(GithubError::NotFound(why)),
            // "Base branch was modified", "is not mergeable", or a requirement of a rule that is still open.
            405 => MergePullRequestOutcome::NotMergeable(why),
            _ => MergePullRequestOutcome::Refused(why),
        })
    }

    pub async fn close_pull_request(&self, repository: &Repository, number: u64) -> Result<(), GithubError> {
        self.reserve_writes(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/pulls/{number}");
        let (status, answer) = self.send_write(&path, GithubRequest::Patch(&json!({ "state": "closed" }))).await?;
        match status {
            // A pull request that does not exist counts as closed.
            200 | 404 => Ok(()),
            _ => Err(GithubError::Other(error_message(&answer))),
        }
    }

    /// Comments on a pull request, unless a comment that contains `mark` exists already.
    pub async fn comment_once(
        &self,
        repository: &Repository,
        number: u64,
        text: &str,
        mark: &str,
    ) -> Result<(), GithubError> {
        #[derive(Deserialize)]
        struct WireComment {
            body: Option<String>,
        }
        let path = format!("/repos/{repository}/issues/{number}/comments");
        let comments: Vec<WireComment> = self.fetch_existing(&format!("{path}?per_page={PAGE_SIZE}")).await?;
        if comments.iter().any(|comment| comment.body.as_deref().is_some_and(|body| body.contains(mark))) {
            return Ok(());
        }
        self.reserve_writes(NonZeroU32::MIN)?;
        let (status, answer) = self.send_write(&path, GithubRequest::Post(&json!({ "body": text }))).await?;
        if status == 201 { Ok(()) } else { Err(GithubError::Other(error_message(&answer))) }
    }

    /// Sets one of Gantry's own branches to a commit, by force if the branch exists. Never to be used for other
    /// branches.
    pub async fn put_own_branch(&self, repository: &Repository, branch: &str, head: &Sha) -> Result<(), GithubError> {
        self.reserve_writes(const { NonZeroU32::new(2).unwrap() })?;
        let body = json!({ "ref": format!("refs/heads/{branch}"), "sha": head.as_str() });
        let (status, answer) =
            self.send_write(&format!("/repos/{repository}/git/refs"), GithubRequest::Post(&body)).await?;
        let (status, answer) = match status {
            422 if answer.contains("already exists") => {
                let path = format!("/repos/{repository}/git/refs/heads/{branch}");
                self.send_write(&path, GithubRequest::Patch(&json!({ "sha": head.as_str(), "force": true }))).await?
            }
            _ => (status, answer),
        };
        match status {
            200 | 201 => Ok(()),
            404 => Err(GithubError::NotFound(error_message(&answer))),
            _ => Err(GithubError::Other(format!("the branch {branch} could not be made: {}", error_message(&answer)))),
        }
    }

    /// Deletes one of Gantry's own branches. A branch that does not exist counts as deleted.
    pub async fn delete_own_branch(&self, repository: &Repository, branch: &str) -> Result<(), GithubError> {
        self.reserve_writes(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/git/refs/heads/{branch}");
        let (status, answer) = self.send_write(&path, GithubRequest::Delete).await?;
        match status {
            204 | 404 | 422 => Ok(()),
            _ => Err(GithubError::Other(error_message(&answer))),
        }
    }

    /// The number of approving reviews that the repository's rules require for a merge into the branch.
    pub async fn count_required_reviews(&self, repository: &Repository, branch: &str) -> Result<u64, GithubError> {
        #[derive(Deserialize)]
        struct WireReviewRule {
            #[serde(default)]
            parameters: Option<WireReviewParameters>,
        }
        #[derive(Deserialize)]
        struct WireReviewParameters {
            #[serde(default)]
            required_approving_review_count: u64,
        }
        let Some(name) = encode_ref(branch) else { return Ok(0) };
        match self.fetch_json::<Vec<WireReviewRule>>(&format!("/repos/{repository}/rules/branches/{name}")).await? {
            FetchResult::Found(rules) => {
                let parameters = rules.iter().filter_map(|rule| rule.parameters.as_ref());
                Ok(parameters.map(|parameters| parameters.required_approving_review_count).max().unwrap_or_default())
            }
            FetchResult::Missing(_) => Ok(0),
        }
    }

    /// Whether this account may write to the repository at this moment.
    pub async fn may_write(&self, repository: &Repository, login: &str) -> Result<bool, GithubError> {
        #[derive(Deserialize)]
        struct WireCollaboratorPermission {
            permission: String,
        }
        let Some(login) = encode_ref(login) else { return Ok(false) };
        match self
            .fetch_json::<WireCollaboratorPermission>(&format!("/repos/{repository}/collaborators/{login}/permission"))
            .await?
        {
            FetchResult::Found(found) => Ok(matches!(found.permission.as_str(), "admin" | "write" | "maintain")),
            FetchResult::Missing(_) => Ok(false),
        }
    }
}

/// The reason of a refusal by GitHub, with the details that its message omits.
fn error_details(answer: &str) -> String {
    #[derive(Deserialize)]
    struct WireValidationError {
        #[serde(default)]
        errors: Vec<WireErrorDetail>,
    }
    #[derive(Deserialize)]
    struct WireErrorDetail {
        message: Option<String>,
    }
    let details = serde_json::from_str::<WireValidationError>(answer).map(|refusal| refusal.errors).unwrap_or_default();
    let details: Vec<String> = details.into_iter().filter_map(|detail| detail.message).collect();
    if details.is_empty() { error_message(answer) } else { details.join("; ").chars().take(300).collect() }
}
