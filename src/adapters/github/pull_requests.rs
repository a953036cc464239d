//! Pull requests, their reviews, and the branches that they show. Each write says what became of it; none is repeated here.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::json;

use super::client::{Ask, Client, Found, GithubError, in_path, said, sha};
use crate::domain::change::PullRequestRef;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

const A_PAGE: usize = 100;
/// More reviews than anybody writes for one change.
const MOST_PAGES: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub pull: PullRequestRef,
    pub title: String,
    /// The login of who opened it; `None` where the account is gone.
    pub author: Option<String>,
    pub state: PullState,
    pub head: Sha,
    /// The branch that it is to be merged into.
    pub base: String,
    pub mergeable: Mergeable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullState {
    Open,
    Closed,
    Merged { commit: Sha, by: Option<String> },
}

/// What GitHub says of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mergeable {
    /// It does not know yet: ask again.
    Computing,
    Conflict,
    /// Its own rules ask for something that is missing.
    Blocked,
    Yes,
}

/// A review as it was given; whether it counts is not decided here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub login: String,
    pub verdict: Verdict,
    /// What the reviewer saw.
    pub commit: Option<Sha>,
    pub at: Option<jiff::Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approved,
    ChangesRequested,
    Dismissed,
}

/// What became of the wish for a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenPull {
    Done(PullRequestRef),
    /// One of the same head and base is open.
    Exists,
    /// The base has it all.
    NoCommits,
    Refused(String),
}

/// What became of the merge of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergePull {
    Done(Sha),
    /// The head is not what it should be.
    HeadMoved,
    /// Not as it stands now; a look tells why.
    NotNow(String),
    /// By rules that do not change by waiting.
    Refused(String),
}

#[derive(Deserialize)]
struct WirePull {
    number: u64,
    html_url: String,
    #[serde(default)]
    title: String,
    user: Option<WireAccount>,
    state: String,
    #[serde(default)]
    draft: bool,
    /// Missing in lists.
    #[serde(default)]
    merged: bool,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    merged_by: Option<WireAccount>,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    head: WireEnd,
    base: WireEnd,
}

#[derive(Deserialize)]
struct WireEnd {
    r#ref: String,
    sha: String,
}

#[derive(Deserialize)]
struct WireAccount {
    login: String,
}

#[derive(Deserialize)]
struct WireReview {
    /// `null` where the account is gone.
    user: Option<WireAccount>,
    state: String,
    commit_id: Option<String>,
    submitted_at: Option<String>,
}

impl WirePull {
    fn into_pull(self) -> Result<PullRequest, GithubError> {
        let state = match (self.state.as_str(), self.merged || self.merged_at.is_some()) {
            (_, true) => {
                let commit = self.merge_commit_sha.as_deref().unwrap_or(&self.head.sha);
                PullState::Merged { commit: sha(commit)?, by: self.merged_by.map(|account| account.login) }
            }
            ("open", _) => PullState::Open,
            _ => PullState::Closed,
        };
        let mergeable = match (self.mergeable, self.mergeable_state.as_deref()) {
            (None, _) | (_, Some("unknown") | None) => Mergeable::Computing,
            (_, Some("dirty")) => Mergeable::Conflict,
            _ if self.draft => Mergeable::Blocked,
            // `behind`: its rules want it on top of the branch's head, where we put it as soon as that moves.
            (_, Some("blocked" | "behind" | "draft")) => Mergeable::Blocked,
            // `unstable` is a check that no rule requires: our own rules say what to do about it.
            _ => Mergeable::Yes,
        };
        Ok(PullRequest {
            pull: PullRequestRef { number: self.number, url: self.html_url },
            title: self.title,
            author: self.user.map(|account| account.login),
            state,
            head: sha(&self.head.sha)?,
            base: self.base.r#ref,
            mergeable,
        })
    }
}

impl Client {
    /// Opens a pull request from a branch of the same repository.
    pub async fn open_pull(
        &self,
        repository: &Repository,
        head: &str,
        base: &str,
        title: &str,
        text: &str,
    ) -> Result<OpenPull, GithubError> {
        self.reserve(NonZeroU32::MIN)?;
        let body = json!({ "title": title, "head": head, "base": base, "body": text });
        let (status, answer) = self.write(&format!("/repos/{repository}/pulls"), Ask::Post(&body)).await?;
        Ok(match status {
            201 => {
                let made: WirePull =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                OpenPull::Done(made.into_pull()?.pull)
            }
            // What is wrong stands in `errors`, beside a message that says nothing.
            422 if answer.contains("A pull request already exists") => OpenPull::Exists,
            422 if answer.contains("No commits between") => OpenPull::NoCommits,
            404 => return Err(GithubError::NotFound(said(&answer))),
            _ => OpenPull::Refused(reasons(&answer)),
        })
    }

    /// The open pull request of that head and base.
    pub async fn find_pull(
        &self,
        repository: &Repository,
        head: &str,
        base: &str,
    ) -> Result<Option<PullRequest>, GithubError> {
        let (Some(head), Some(base)) = (in_path(head), in_path(base)) else { return Ok(None) };
        let owner = repository.owner();
        let path = format!("/repos/{repository}/pulls?state=open&head={owner}:{head}&base={base}");
        let found: Vec<WirePull> = self.there(&path).await?;
        found.into_iter().next().map(WirePull::into_pull).transpose()
    }

    /// A pull request by its number; `None` where there is none.
    pub async fn pull(&self, repository: &Repository, number: u64) -> Result<Option<PullRequest>, GithubError> {
        let path = format!("/repos/{repository}/pulls/{number}");
        let Found::Yes(pull) = self.read::<WirePull>(&path).await? else { return Ok(None) };
        let pull = pull.into_pull()?;
        // GitHub finds out in the background whether it can be merged, which touches nothing else. Should the ETag not
        // tell, a yes is still put to the test by the merge itself; anything else would be believed for ever.
        if pull.mergeable != Mergeable::Yes {
            self.forget(&path);
        }
        Ok(Some(pull))
    }

    /// Oldest first, without mere comments.
    pub async fn reviews(&self, repository: &Repository, number: u64) -> Result<Vec<Review>, GithubError> {
        let mut reviews = Vec::new();
        for page in 1..=MOST_PAGES {
            let path = format!("/repos/{repository}/pulls/{number}/reviews?per_page={A_PAGE}&page={page}");
            let found: Vec<WireReview> = self.there(&path).await?;
            let end = found.len() < A_PAGE;
            reviews.extend(found.into_iter().filter_map(|review| {
                let verdict = match review.state.as_str() {
                    "APPROVED" => Verdict::Approved,
                    "CHANGES_REQUESTED" => Verdict::ChangesRequested,
                    "DISMISSED" => Verdict::Dismissed,
                    _ => return None,
                };
                let commit = review.commit_id.and_then(|commit| commit.parse().ok());
                let at = review.submitted_at.and_then(|at| at.parse().ok());
                Some(Review { login: review.user?.login, verdict, commit, at })
            }));
            if end {
                break;
            }
        }
        Ok(reviews)
    }

    /// Merges by a merge commit, and only if `head` is still the head.
    pub async fn merge_pull(
        &self,
        repository: &Repository,
        number: u64,
        head: &Sha,
        title: &str,
        message: &str,
    ) -> Result<MergePull, GithubError> {
        #[derive(Deserialize)]
        struct Merged {
            sha: String,
        }
        self.reserve(NonZeroU32::MIN)?;
        let body = json!({
            "sha": head.as_str(), "merge_method": "merge", "commit_title": title, "commit_message": message,
        });
        let path = format!("/repos/{repository}/pulls/{number}");
        // Whatever comes of it, what we knew is not so any more.
        self.forget(&path);
        let (status, answer) = self.write(&format!("{path}/merge"), Ask::Put(&body)).await?;
        let why = said(&answer);
        let has = |words: &str| why.to_ascii_lowercase().contains(words);
        Ok(match status {
            200 => {
                let made: Merged =
                    serde_json::from_str(&answer).map_err(|error| GithubError::Unclear(error.to_string()))?;
                MergePull::Done(sha(&made.sha)?)
            }
            409 => MergePull::HeadMoved,
            405 if has("not allowed") => MergePull::Refused(why),
            404 => return Err(GithubError::NotFound(why)),
            // "Base branch was modified", "is not mergeable", or what a rule still asks for.
            405 => MergePull::NotNow(why),
            _ => MergePull::Refused(why),
        })
    }

    pub async fn close_pull(&self, repository: &Repository, number: u64) -> Result<(), GithubError> {
        self.reserve(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/pulls/{number}");
        let (status, answer) = self.write(&path, Ask::Patch(&json!({ "state": "closed" }))).await?;
        match status {
            // One that is gone is closed enough.
            200 | 404 => Ok(()),
            _ => Err(GithubError::Other(said(&answer))),
        }
    }

    /// Says something on a pull request, unless a comment of ours that has `mark` in it is there already.
    pub async fn comment_once(
        &self,
        repository: &Repository,
        number: u64,
        text: &str,
        mark: &str,
    ) -> Result<(), GithubError> {
        #[derive(Deserialize)]
        struct Comment {
            body: Option<String>,
        }
        let path = format!("/repos/{repository}/issues/{number}/comments");
        let there: Vec<Comment> = self.there(&format!("{path}?per_page={A_PAGE}")).await?;
        if there.iter().any(|comment| comment.body.as_deref().is_some_and(|body| body.contains(mark))) {
            return Ok(());
        }
        self.reserve(NonZeroU32::MIN)?;
        let (status, answer) = self.write(&path, Ask::Post(&json!({ "body": text }))).await?;
        if status == 201 { Ok(()) } else { Err(GithubError::Other(said(&answer))) }
    }

    /// Puts a branch of our own there, whether or not it exists and whatever it holds. Never for anybody else's branch.
    pub async fn put_own_branch(&self, repository: &Repository, branch: &str, at: &Sha) -> Result<(), GithubError> {
        self.reserve(const { NonZeroU32::new(2).unwrap() })?;
        let body = json!({ "ref": format!("refs/heads/{branch}"), "sha": at.as_str() });
        let (status, answer) = self.write(&format!("/repos/{repository}/git/refs"), Ask::Post(&body)).await?;
        let (status, answer) = match status {
            422 if answer.contains("already exists") => {
                let path = format!("/repos/{repository}/git/refs/heads/{branch}");
                self.write(&path, Ask::Patch(&json!({ "sha": at.as_str(), "force": true }))).await?
            }
            _ => (status, answer),
        };
        match status {
            200 | 201 => Ok(()),
            404 => Err(GithubError::NotFound(said(&answer))),
            _ => Err(GithubError::Other(format!("the branch {branch} could not be made: {}", said(&answer)))),
        }
    }

    /// A branch of our own that is not there is deleted enough.
    pub async fn delete_own_branch(&self, repository: &Repository, branch: &str) -> Result<(), GithubError> {
        self.reserve(NonZeroU32::MIN)?;
        let path = format!("/repos/{repository}/git/refs/heads/{branch}");
        let (status, answer) = self.write(&path, Ask::Delete).await?;
        match status {
            204 | 404 | 422 => Ok(()),
            _ => Err(GithubError::Other(said(&answer))),
        }
    }

    /// How many approving reviews the repository's own rules want for a merge into the branch.
    pub async fn required_reviews(&self, repository: &Repository, branch: &str) -> Result<u64, GithubError> {
        #[derive(Deserialize)]
        struct Rule {
            #[serde(default)]
            parameters: Option<Parameters>,
        }
        #[derive(Deserialize)]
        struct Parameters {
            #[serde(default)]
            required_approving_review_count: u64,
        }
        let Some(name) = in_path(branch) else { return Ok(0) };
        match self.read::<Vec<Rule>>(&format!("/repos/{repository}/rules/branches/{name}")).await? {
            Found::Yes(rules) => {
                let wanted = rules.iter().filter_map(|rule| rule.parameters.as_ref());
                Ok(wanted.map(|parameters| parameters.required_approving_review_count).max().unwrap_or_default())
            }
            Found::No(_) => Ok(0),
        }
    }

    /// May this account write to the repository now?
    pub async fn may_write(&self, repository: &Repository, login: &str) -> Result<bool, GithubError> {
        #[derive(Deserialize)]
        struct Permission {
            permission: String,
        }
        let Some(login) = in_path(login) else { return Ok(false) };
        match self.read::<Permission>(&format!("/repos/{repository}/collaborators/{login}/permission")).await? {
            Found::Yes(found) => Ok(matches!(found.permission.as_str(), "admin" | "write" | "maintain")),
            Found::No(_) => Ok(false),
        }
    }
}

/// Why GitHub refuses something, with the details that its message leaves out.
fn reasons(answer: &str) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(default)]
        errors: Vec<Detail>,
    }
    #[derive(Deserialize)]
    struct Detail {
        message: Option<String>,
    }
    let details = serde_json::from_str::<Refusal>(answer).map(|refusal| refusal.errors).unwrap_or_default();
    let details: Vec<String> = details.into_iter().filter_map(|detail| detail.message).collect();
    if details.is_empty() { said(answer) } else { details.join("; ").chars().take(300).collect() }
}
