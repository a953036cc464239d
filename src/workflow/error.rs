//! A rule's no, among the errors of those who are asked for facts.

use crate::adapters::github::GithubError;
use crate::adapters::store::StoreError;
use crate::domain::rules::promotion::Refusal;
use crate::domain::view::why::Obstacles;

use crate::workflow::facts::image_commits::CannotAsk;

impl From<StoreError> for CannotAsk {
    fn from(error: StoreError) -> Self {
        Self::later(error.to_string())
    }
}

/// A rule's no among the errors of those who are asked.
pub(crate) enum No {
    Refused(Refusal),
    CannotAsk(CannotAsk),
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<CannotAsk> for No {
    fn from(error: CannotAsk) -> Self {
        Self::CannotAsk(error)
    }
}

impl From<StoreError> for No {
    fn from(error: StoreError) -> Self {
        Self::CannotAsk(error.into())
    }
}

impl From<GithubError> for No {
    fn from(error: GithubError) -> Self {
        Self::CannotAsk(error.into())
    }
}

/// What was found, or nothing where a rule's no stands before it and all that stands in the way is wanted.
pub(crate) fn known<T>(found: Result<T, No>, blockers: &mut Obstacles) -> Result<Option<T>, No> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(No::Refused(refusal)) => {
            blockers.record_refusal(refusal)?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
