//! Errors of GitHub requests, and helpers that turn parts of a response into such an error.

use jiff::Timestamp;
use serde::Deserialize;

use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GithubError {
    #[error("GitHub refuses us: {0}. Check the token, or the app's installation and permissions")]
    Unauthorised(String),
    #[error("GitHub does not have it: {0}")]
    NotFound(String),
    #[error("GitHub's rate limit is used up until {}", until.strftime("%H:%M UTC"))]
    RateLimited { until: Timestamp },
    /// Gantry's own rate limit, which keeps it below GitHub's limits.
    #[error("GitHub takes only so many requests a minute; the next may go at {}", until.strftime("%H:%M:%S UTC"))]
    Throttled { until: Timestamp },
    #[error("GitHub is not available: {0}")]
    Unavailable(String),
    /// A write may or may not have taken effect.
    #[error("GitHub's answer cannot be read: {0}")]
    Unclear(String),
    #[error("GitHub's answer is of no use: {0}")]
    Other(String),
}

impl GithubError {
    /// Whether a later retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Throttled { .. } | Self::Unavailable(_) | Self::Unclear(_) => true,
            Self::Unauthorised(_) | Self::NotFound(_) | Self::Other(_) => false,
        }
    }
}

pub(super) fn parse_sha(text: &str) -> Result<Sha, GithubError> {
    text.parse().map_err(GithubError::Other)
}

/// The message in GitHub's error response. octocrab does not show it.
pub(super) fn error_message(body: &str) -> String {
    #[derive(Deserialize)]
    struct WireErrorBody {
        message: String,
    }
    let message = serde_json::from_str::<WireErrorBody>(body).map(|refusal| refusal.message);
    message.unwrap_or_else(|_| body.to_owned()).chars().take(200).collect()
}
