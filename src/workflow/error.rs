//! The errors of this folder: refusals, failed lookups, and requests and stages to retry.

use crate::adapters::github::GithubError;
use crate::adapters::registry::RegistryError;
use crate::adapters::slack::render::Rendered;
use crate::adapters::slack::render::notice;
use crate::adapters::store::StoreError;
use crate::domain::rules::obstacles::Obstacles;
use crate::domain::rules::refusal::Refusal;

/// A lookup in GitHub, the registry, Slack or the store failed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct LookupError {
    reason: String,
    /// Retrying may help.
    pub(crate) transient: bool,
}

impl LookupError {
    pub(crate) fn new_transient(reason: String) -> Self {
        Self { reason, transient: true }
    }

    pub(crate) fn new_permanent(reason: String) -> Self {
        Self { reason, transient: false }
    }
}

impl From<GithubError> for LookupError {
    fn from(error: GithubError) -> Self {
        let transient = error.is_transient();
        Self { reason: error.to_string(), transient }
    }
}

impl From<RegistryError> for LookupError {
    fn from(error: RegistryError) -> Self {
        Self { reason: error.to_string(), transient: matches!(error, RegistryError::Unavailable(_)) }
    }
}

impl From<StoreError> for LookupError {
    fn from(error: StoreError) -> Self {
        Self::new_transient(error.to_string())
    }
}

/// The errors of planning: a refusal by the rules, or a lookup that failed.
pub(crate) enum PlanError {
    Refused(Refusal),
    Lookup(LookupError),
}

impl From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<LookupError> for PlanError {
    fn from(error: LookupError) -> Self {
        Self::Lookup(error)
    }
}

impl From<StoreError> for PlanError {
    fn from(error: StoreError) -> Self {
        Self::Lookup(error.into())
    }
}

impl From<GithubError> for PlanError {
    fn from(error: GithubError) -> Self {
        Self::Lookup(error.into())
    }
}

/// Returns the value, or records the refusal as an obstacle and returns `None`. In first-only mode the refusal is
/// returned as the error.
pub(crate) fn record_obstacle<T>(
    found: Result<T, PlanError>,
    obstacles: &mut Obstacles,
) -> Result<Option<T>, PlanError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(PlanError::Refused(refusal)) => {
            obstacles.record_refusal(refusal)?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The request cannot be answered now and is retried. `give_up_reply` is the answer if no attempt succeeds.
pub(crate) struct RetryLater {
    pub(crate) reason: String,
    pub(crate) give_up_reply: Rendered,
    /// Poll every 2 s for up to 10 min (slow work) instead of backing off (a failing service).
    pub(crate) is_polling: bool,
}

impl RetryLater {
    /// Retries a few times, each after a longer pause.
    pub(crate) fn with_backoff(reason: String, give_up_reply: Rendered) -> Self {
        Self { reason, give_up_reply, is_polling: false }
    }

    /// Polls every 2 s for up to 10 min.
    pub(crate) fn with_polling(reason: String, give_up_reply: Rendered) -> Self {
        Self { reason, give_up_reply, is_polling: true }
    }
}

impl RetryLater {
    /// The store cannot be read or written.
    pub(crate) fn from_store_error(error: &StoreError) -> Self {
        Self::with_backoff(error.to_string(), notice::render_not_stored())
    }
}

/// An error of a stage handler.
pub(crate) enum StageError {
    Github(GithubError),
    Store(StoreError),
}

impl From<GithubError> for StageError {
    fn from(error: GithubError) -> Self {
        Self::Github(error)
    }
}

impl From<StoreError> for StageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

pub(crate) enum ApprovalCheckError {
    Stage(StageError),
    /// The approvers could not be looked up.
    Lookup(LookupError),
}

impl From<StageError> for ApprovalCheckError {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl From<LookupError> for ApprovalCheckError {
    fn from(error: LookupError) -> Self {
        Self::Lookup(error)
    }
}
