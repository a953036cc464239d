//! Responses of GitHub with their `ETag`s. If a cached response is still current, GitHub answers 304, which does not
//! count against the rate limit. Each client has one token and one cache, so no response reaches another token.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::HeaderValue;

const MAX_ENTRIES: usize = 1_000;
const MAX_BYTES: usize = 8 << 20;
/// A longer response would push out many that are requested more often.
const MAX_BODY_BYTES: usize = 256 << 10;

#[derive(Clone)]
pub(super) struct CachedResponse {
    pub(super) etag: HeaderValue,
    pub(super) body: Arc<str>,
}

/// Keyed by path and query. The least recently used response is dropped first.
#[derive(Default)]
pub(super) struct EtagCache {
    entries: HashMap<String, (CachedResponse, u64)>,
    bytes: usize,
    use_counter: u64,
}

impl EtagCache {
    pub(super) fn find_response(&mut self, path: &str) -> Option<CachedResponse> {
        let (cached, used) = self.entries.get_mut(path)?;
        self.use_counter += 1;
        *used = self.use_counter;
        Some(cached.clone())
    }

    /// Replaces the response of that path. A response without an `ETag`, or a long one, is not stored.
    pub(super) fn store_response(&mut self, path: &str, etag: Option<HeaderValue>, body: &str) {
        self.remove_response(path);
        let Some(etag) = etag.filter(|_| body.len() <= MAX_BODY_BYTES) else { return };
        let cached = CachedResponse { etag, body: body.into() };
        self.bytes += entry_bytes(path, &cached);
        self.use_counter += 1;
        self.entries.insert(path.to_owned(), (cached, self.use_counter));
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            self.remove_response(&oldest);
        }
    }

    pub(super) fn remove_response(&mut self, path: &str) {
        if let Some((cached, _)) = self.entries.remove(path) {
            self.bytes -= entry_bytes(path, &cached);
        }
    }
}

fn entry_bytes(path: &str, cached: &CachedResponse) -> usize {
    path.len() + cached.etag.len() + cached.body.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the type of a response's header")]
    fn etag() -> Option<HeaderValue> {
        Some(HeaderValue::from_static("W/\"1\""))
    }

    #[test]
    fn the_least_recently_used_response_is_dropped_first() {
        let mut cache = EtagCache::default();
        for n in 0..MAX_ENTRIES {
            cache.store_response(&format!("/{n}"), etag(), "{}");
        }
        assert!(cache.find_response("/0").is_some());
        cache.store_response("/new", etag(), "{}");
        assert_eq!(cache.entries.len(), MAX_ENTRIES);
        assert!(cache.find_response("/0").is_some(), "it was just used");
        assert!(cache.find_response("/1").is_none());
    }

    #[test]
    fn a_long_response_is_not_stored_and_removes_the_older_one() {
        let mut cache = EtagCache::default();
        cache.store_response("/a", etag(), &"x".repeat(MAX_BODY_BYTES));
        assert!(cache.find_response("/a").is_some());
        cache.store_response("/a", etag(), &"x".repeat(MAX_BODY_BYTES + 1));
        assert!(cache.find_response("/a").is_none(), "the older response is outdated");
        cache.store_response("/b", None, "{}");
        assert!(cache.find_response("/b").is_none());
        assert_eq!(cache.bytes, 0);
    }

    proptest! {
        #[test]
        fn the_cache_never_exceeds_its_limits(operations in prop::collection::vec((0..60_u32, 0..MAX_BODY_BYTES, 0..4_u8), 0..120)) {
            let mut cache = EtagCache::default();
            for (path, length, operation) in operations {
                let path = format!("/{path}");
                match operation {
                    0 => drop(cache.find_response(&path)),
                    1 => cache.remove_response(&path),
                    _ => {
                        cache.store_response(&path, etag(), &"x".repeat(length));
                        prop_assert_eq!(cache.find_response(&path).unwrap().body.len(), length);
                    }
                }
                let measured: usize = cache.entries.iter().map(|(path, (cached, _))| entry_bytes(path, cached)).sum();
                prop_assert_eq!(cache.bytes, measured);
                prop_assert!(cache.bytes <= MAX_BYTES && cache.entries.len() <= MAX_ENTRIES);
            }
        }
    }
}
