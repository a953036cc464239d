//! How commits stand to each other: from memory and the store, and where neither knows, from GitHub, once.

use jiff::SignedDuration;

use crate::domain::artefact::Repository;
use crate::domain::comparison::Comparison;
use crate::domain::plan::Pending;
use crate::domain::version::Sha;
use crate::github::Found;
use crate::store::Batch;

use super::Bot;
use super::memory::Memory;
use super::source::CannotAsk;

/// People ask the same thing twice, and each other; a branch that moved meanwhile is seen soon enough.
const HEAD: SignedDuration = SignedDuration::from_secs(15);

/// Where branches stood a moment ago.
pub struct Heads(Memory<(Repository, String), Sha>);

impl Default for Heads {
    fn default() -> Self {
        Self(Memory::new(HEAD))
    }
}

impl Bot {
    /// What `head` has that `base` does not. `None`: one of them is gone, or they have nothing in common.
    pub(super) async fn comparison(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Comparison>, CannotAsk> {
        if base == head {
            return Ok(Some(Comparison::with_itself(base)));
        }
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

    /// What the head of a branch has that `base` does not, and which commit that is. `None`: there is no such branch, or
    /// the two have nothing in common.
    pub(super) async fn comparison_with_head(
        &self,
        repository: &Repository,
        base: &Sha,
        branch: &str,
    ) -> Result<Option<Comparison>, CannotAsk> {
        let key = (repository.clone(), branch.to_owned());
        if let Some(head) = self.heads.0.recall(&key, self.clock.now()) {
            return self.comparison(repository, base, &head).await;
        }
        match self.github.comparison(repository, base.as_str(), branch).await? {
            Found::Yes(comparison) => {
                self.heads.0.keep(key, comparison.head.clone(), self.clock.now());
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
