//! GitHub: commits, branches, tags and pull requests. Reads go through the `ETag` cache (`request`, `etag_cache`), and
//! all requests keep GitHub's limits (`rate_limit`). octocrab's types stay in this folder.

mod checks;
pub mod client;
mod commit;
mod compare;
mod error;
mod etag_cache;
mod files;
mod history;
mod people;
pub mod probe;
pub mod pull_request_text;
mod pull_requests;
mod rate_limit;
mod read_state;
mod refs;
mod request;
mod request_path;
mod rollback;
mod tag_pattern;
mod write;

pub use client::Client;
pub use commit::GithubCommit;
pub use compare::{BranchComparison, PatchedFile};
pub use error::GithubError;
pub use history::OpenRollback;
pub use pull_requests::{
    MergePullRequestOutcome, MergeReadiness, OpenPullRequestOutcome, PullRequest, PullRequestState, Review,
    ReviewVerdict,
};
pub use request::FetchResult;
pub use rollback::{BuildPromotionOutcome, FastForwardOutcome, PromotionMerge};
pub use tag_pattern::extract_sha_candidate;
pub use write::{CreateTagOutcome, MergeOutcome};
