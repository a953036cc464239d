//! A short-lived cache of the queries of `where` for which GitHub has no commit.

use jiff::{SignedDuration, Timestamp};

use crate::domain::model::artefact::Repository;
use crate::domain::view::where_query::QueryInterpretation;
use crate::workflow::ttl_cache::TtlCache;

/// A commit that is missing now may be pushed soon, so the entries are short-lived.
const NOT_FOUND_TTL: SignedDuration = SignedDuration::from_mins(3);

/// The queries for which GitHub has no commit.
#[derive(Debug)]
pub struct NotFoundCache(TtlCache<(Repository, QueryInterpretation), ()>);

impl Default for NotFoundCache {
    fn default() -> Self {
        Self(TtlCache::new(NOT_FOUND_TTL))
    }
}

impl NotFoundCache {
    pub(crate) fn has_query(&self, repository: &Repository, query: &QueryInterpretation, now: Timestamp) -> bool {
        self.0.get(&(repository.clone(), query.clone()), now).is_some()
    }

    pub(crate) fn record_query(&self, repository: &Repository, query: QueryInterpretation, now: Timestamp) {
        self.0.insert((repository.clone(), query), (), now);
    }
}
