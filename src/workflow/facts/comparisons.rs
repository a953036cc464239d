//! Compares commits: from memory or the store, else once from GitHub.

use jiff::SignedDuration;

use crate::adapters::github::{self, FetchResult};
use crate::adapters::store::{Store, Transaction};
use crate::clock::Clock;
use crate::domain::git::comparison::Comparison;
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::{Artefact, Repository};
use crate::domain::model::version::Sha;
use crate::workflow::error::LookupError;
use crate::workflow::ttl_cache::TtlCache;

/// Long enough for a request that a person repeats, and short enough that a moved branch is seen soon.
const HEAD_TTL: SignedDuration = SignedDuration::from_secs(15);

/// Two commits without a common ancestor never get one. The limit only keeps the memory small.
const INCOMPARABLE_TTL: SignedDuration = SignedDuration::from_hours(1);

/// Compares commits. Stores each comparison for ever, and caches the heads of branches for a few seconds.
pub struct Comparisons {
    store: Store,
    github: github::Client,
    clock: Clock,
    /// Heads that were read for a person's request.
    foreground_heads: TtlCache<(Repository, String), Sha>,
    /// Heads that were read by a background task. They are separate, because an answer to a person must not be as old
    /// as these.
    background_heads: TtlCache<(Repository, String), Sha>,
    /// A commit and a head that GitHub cannot compare.
    incomparable: TtlCache<(Repository, Sha, Sha), ()>,
}

impl Comparisons {
    pub fn new(store: Store, github: github::Client, clock: Clock) -> Self {
        Self {
            store,
            github,
            clock,
            foreground_heads: TtlCache::new(HEAD_TTL),
            background_heads: TtlCache::new(HEAD_TTL),
            incomparable: TtlCache::new(INCOMPARABLE_TTL),
        }
    }

    /// The commits of `head` that `base` lacks. `None`: one of them is gone, or they have no common ancestor.
    pub(crate) async fn compare_commits(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<Comparison>, LookupError> {
        if base == head {
            return Ok(Some(Comparison::with_itself(base)));
        }
        if let Ok(Some(stored)) = self.store.find_comparison(repository, base, head).await {
            return Ok(Some(stored));
        }
        match self.github.compare_refs(repository, base.as_str(), head.as_str()).await? {
            FetchResult::Found(comparison) => {
                self.store_comparison(repository, comparison.clone()).await;
                Ok(Some(comparison))
            }
            FetchResult::Missing(_) => Ok(None),
        }
    }

    /// The commits of a branch's head that `base` lacks, and the head. `None`: there is no such branch, or the two
    /// have no common ancestor.
    pub(crate) async fn compare_with_head(
        &self,
        repository: &Repository,
        base: &Sha,
        branch: &str,
    ) -> Result<Option<Comparison>, LookupError> {
        let key = (repository.clone(), branch.to_owned());
        if let Some(head) = self.foreground_heads.get(&key, self.clock.now()) {
            return self.compare_commits(repository, base, &head).await;
        }
        match self.github.compare_refs(repository, base.as_str(), branch).await? {
            FetchResult::Found(comparison) => {
                self.foreground_heads.insert(key, comparison.head.clone(), self.clock.now());
                self.store_comparison(repository, comparison.clone()).await;
                Ok(Some(comparison))
            }
            FetchResult::Missing(_) => Ok(None),
        }
    }

    /// Whether the branch contains the commit. `None`: there is no such branch.
    pub(crate) async fn check_branch_contains(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &Sha,
    ) -> Result<Option<bool>, LookupError> {
        let key = (repository.clone(), branch.to_owned());
        let cached_head = self.background_heads.get(&key, self.clock.now());
        if let Some(head) = &cached_head
            && self.is_reachable(repository, head, commit).await?
        {
            return Ok(Some(true));
        }
        // The cached head may be older than the commit.
        let Some(head) = self.github.fetch_branch_head(repository, branch).await? else { return Ok(None) };
        self.background_heads.insert(key, head.clone(), self.clock.now());
        if cached_head.as_ref() == Some(&head) {
            return Ok(Some(false));
        }
        self.is_reachable(repository, &head, commit).await.map(Some)
    }

    async fn is_reachable(&self, repository: &Repository, head: &Sha, commit: &Sha) -> Result<bool, LookupError> {
        let pair = (repository.clone(), commit.clone(), head.clone());
        if self.incomparable.get(&pair, self.clock.now()).is_some() {
            return Ok(false);
        }
        if let Some(comparison) = self.compare_commits(repository, commit, head).await? {
            return Ok(comparison.behind_by == 0);
        }
        self.incomparable.insert(pair, (), self.clock.now());
        Ok(false)
    }

    /// The commits that `head` would bring to `base`, and those that only `base` has. `None`: as in `compare_commits`.
    pub(crate) async fn compute_pending_between(
        &self,
        repository: &Repository,
        base: &Sha,
        head: &Sha,
    ) -> Result<Option<PendingCommits>, LookupError> {
        let Some(forward) = self.compare_commits(repository, base, head).await? else { return Ok(None) };
        let reverse = match forward.behind_by {
            0 => None,
            _ => self.compare_commits(repository, head, base).await?,
        };
        Ok(Some(PendingCommits::from_comparisons(forward, reverse)))
    }

    /// If the comparison cannot be stored, it is only fetched again later.
    pub(crate) async fn store_comparison(&self, repository: &Repository, comparison: Comparison) {
        if let Err(error) =
            self.store.commit(Transaction::new().record_comparison(repository.clone(), comparison)).await
        {
            tracing::warn!(%error, "a comparison could not be stored");
        }
    }

    /// Whether `commit` lacks commits of `other`.
    pub(crate) async fn is_behind(&self, artefact: &Artefact, commit: &Sha, other: &Sha) -> Result<bool, LookupError> {
        if commit == other {
            return Ok(false);
        }
        if let Some(comparison) = self.compare_commits(&artefact.repository, commit, other).await? {
            return Ok(comparison.ahead_by > 0);
        }
        let reason = format!("{} and {} cannot be compared in {}", commit.short(), other.short(), artefact.repository);
        Err(LookupError::new_permanent(reason))
    }
}
