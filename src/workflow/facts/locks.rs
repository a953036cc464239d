//! The locks that cover the artefacts of a change.

use crate::adapters::store::StoreError;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::lock::Lock;
use crate::workflow::context::Context;

/// The locks of the environment that cover any of these artefacts.
pub(crate) async fn find_covering_locks(
    ctx: &Context,
    environment: &EnvironmentName,
    artefacts: &[ArtefactName],
) -> Result<Vec<Lock>, StoreError> {
    let mut locks = ctx.store.list_locks(Some(environment)).await?;
    locks.retain(|lock| artefacts.iter().any(|artefact| lock.is_applicable_to(artefact)));
    Ok(locks)
}
