//! How commits stand to each other: from memory and the store, and where neither knows, from GitHub, once.

use crate::domain::artefact::Repository;
use crate::domain::comparison::Comparison;
use crate::domain::plan::Pending;
use crate::domain::version::Sha;
use crate::github::Found;
use crate::store::Batch;

use super::Bot;
use super::source::CannotAsk;

impl Bot {
    /// What `head` has that `base` does not. `None`: one of them is gone, or they have nothing in common.
    pub(super) async fn comparison(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Comparison>, CannotAsk> {
        if let Ok(Some(known)) = self.store.comparison(repository, base, head).await {
            return Ok(Some(known));
        }
        match self.github.comparison(repository, base.as_str(), head.as_str()).await? {
            Found::Yes(comparison) => {
                self.keep_comparison(repository, comparison.clone()).await;
                Ok(Some(comparison))
            }
            Found::No(_) => Ok(None),
        }
    }

    /// What `head` would bring to where `base` stands, and what only `base` has. `None` as above.
    pub(super) async fn pending_between(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Pending>, CannotAsk> {
        let Some(there) = self.comparison(repository, base, head).await? else { return Ok(None) };
        let back = match there.behind_by {
            0 => None,
            _ => self.comparison(repository, head, base).await?,
        };
        Ok(Some(Pending::of(there, back)))
    }

    /// A failure to keep it costs only another question later.
    pub(super) async fn keep_comparison(&self, repository: &Repository, comparison: Comparison) {
        if let Err(error) = self.store.commit(Batch::new().comparison(repository.clone(), comparison)).await {
            tracing::warn!(%error, "a comparison could not be kept");
        }
    }
}
