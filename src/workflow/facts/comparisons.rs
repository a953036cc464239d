//! How commits stand to each other: from memory and the store, and where neither knows, from GitHub, once.

use jiff::SignedDuration;

use crate::adapters::github::Found;
use crate::adapters::store::Transaction;
use crate::domain::change::plan::PendingCommits;
use crate::domain::git::comparison::Comparison;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

use crate::workflow::context::Bot;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::ttl_cache::Memory;

/// People ask the same thing twice, and each other; a branch that moved meanwhile is seen soon enough.
const HEAD: SignedDuration = SignedDuration::from_secs(15);

/// Commits that have nothing in common will not have it later; an hour keeps the memory small.
const STRANGERS: SignedDuration = SignedDuration::from_hours(1);

/// Where branches stood a moment ago.
pub struct Heads {
    known: Memory<(Repository, String), Sha>,
    /// The same for what nobody waits for: it must not make what people ask for older.
    aside: Memory<(Repository, String), Sha>,
    /// A commit and a head that GitHub cannot compare.
    strangers: Memory<(Repository, Sha, Sha), ()>,
}

impl Default for Heads {
    fn default() -> Self {
        Self { known: Memory::new(HEAD), aside: Memory::new(HEAD), strangers: Memory::new(STRANGERS) }
    }
}

impl Bot {
    /// What `head` has that `base` does not. `None`: one of them is gone, or they have nothing in common.
    pub(crate) async fn comparison(
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
    pub(crate) async fn comparison_with_head(
        &self,
        repository: &Repository,
        base: &Sha,
        branch: &str,
    ) -> Result<Option<Comparison>, CannotAsk> {
        let key = (repository.clone(), branch.to_owned());
        if let Some(head) = self.heads.known.recall(&key, self.clock.now()) {
            return self.comparison(repository, base, &head).await;
        }
        match self.github.comparison(repository, base.as_str(), branch).await? {
            Found::Yes(comparison) => {
                self.heads.known.keep(key, comparison.head.clone(), self.clock.now());
                self.keep_comparison(repository, comparison.clone()).await;
                Ok(Some(comparison))
            }
            Found::No(_) => Ok(None),
        }
    }

    /// Does the branch have the commit? `None`: there is no such branch.
    pub(crate) async fn contains(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &Sha,
    ) -> Result<Option<bool>, CannotAsk> {
        let key = (repository.clone(), branch.to_owned());
        let known = self.heads.aside.recall(&key, self.clock.now());
        if let Some(head) = &known
            && self.has(repository, head, commit).await?
        {
            return Ok(Some(true));
        }
        // What came a moment ago is not in a head that is older.
        let Some(head) = self.github.head(repository, branch).await? else { return Ok(None) };
        self.heads.aside.keep(key, head.clone(), self.clock.now());
        if known.as_ref() == Some(&head) {
            return Ok(Some(false));
        }
        self.has(repository, &head, commit).await.map(Some)
    }

    async fn has(&self, repository: &Repository, head: &Sha, commit: &Sha) -> Result<bool, CannotAsk> {
        let pair = (repository.clone(), commit.clone(), head.clone());
        if self.heads.strangers.recall(&pair, self.clock.now()).is_some() {
            return Ok(false);
        }
        if let Some(comparison) = self.comparison(repository, commit, head).await? {
            return Ok(comparison.behind_by == 0);
        }
        self.heads.strangers.keep(pair, (), self.clock.now());
        Ok(false)
    }

    /// What `head` would bring to where `base` stands, and what only `base` has. `None` as above.
    pub(crate) async fn pending_between(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<PendingCommits>, CannotAsk> {
        let Some(there) = self.comparison(repository, base, head).await? else { return Ok(None) };
        let back = match there.behind_by {
            0 => None,
            _ => self.comparison(repository, head, base).await?,
        };
        Ok(Some(PendingCommits::from_comparisons(there, back)))
    }

    /// A failure to keep it costs only another question later.
    pub(crate) async fn keep_comparison(&self, repository: &Repository, comparison: Comparison) {
        if let Err(error) = self.store.commit(Transaction::new().comparison(repository.clone(), comparison)).await {
            tracing::warn!(%error, "a comparison could not be kept");
        }
    }
}
