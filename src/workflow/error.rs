//! A rule's no, among the errors of those who are asked for facts.

use crate::adapters::github::GithubError;
use crate::adapters::store::StoreError;
use crate::domain::rules::promotion::Refusal;
use crate::domain::view::why::Obstacles;

use crate::workflow::facts::image_commits::LookupError;

impl From<StoreError> for LookupError {
    fn from(error: StoreError) -> Self {
        Self::new_transient(error.to_string())
    }
}

/// A rule's no among the errors of those who are asked.
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

/// What was found, or nothing where a rule's no stands before it and all that stands in the way is wanted.
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
