//! Responses of GitHub with their `ETag`s. A request with the `ETag` of a response that is still right gets 304, which does not
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
        let (remembered, used) = self.entries.get_mut(path)?;
        self.use_counter += 1;
        *used = self.use_counter;
        Some(remembered.clone())
    }

    /// Replaces the response of that path. A response without an `ETag`, or a long one, is not stored.
    pub(super) fn store_response(&mut self, path: &str, etag: Option<HeaderValue>, body: &str) {
        self.remove_response(path);
        let Some(etag) = etag.filter(|_| body.len() <= MAX_BODY_BYTES) else { return };
        let remembered = CachedResponse { etag, body: body.into() };
        self.bytes += entry_bytes(path, &remembered);
        self.use_counter += 1;
        self.entries.insert(path.to_owned(), (remembered, self.use_counter));
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            self.remove_response(&oldest);
        }
    }

    pub(super) fn remove_response(&mut self, path: &str) {
        if let Some((remembered, _)) = self.entries.remove(path) {
            self.bytes -= entry_bytes(path, &remembered);
        }
    }
}

fn entry_bytes(path: &str, remembered: &CachedResponse) -> usize {
    path.len() + remembered.etag.len() + remembered.body.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as an answer has it")]
    fn etag() -> Option<HeaderValue> {
        Some(HeaderValue::from_static("W/\"1\""))
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_first() {
        let mut memory = EtagCache::default();
        for n in 0..MAX_ENTRIES {
            memory.store_response(&format!("/{n}"), etag(), "{}");
        }
        assert!(memory.find_response("/0").is_some());
        memory.store_response("/new", etag(), "{}");
        assert_eq!(memory.entries.len(), MAX_ENTRIES);
        assert!(memory.find_response("/0").is_some(), "it was just asked for");
        assert!(memory.find_response("/1").is_none());
    }

    #[test]
    fn long_answers_are_not_kept_and_take_the_place_of_nothing() {
        let mut memory = EtagCache::default();
        memory.store_response("/a", etag(), &"x".repeat(MAX_BODY_BYTES));
        assert!(memory.find_response("/a").is_some());
        memory.store_response("/a", etag(), &"x".repeat(MAX_BODY_BYTES + 1));
        assert!(memory.find_response("/a").is_none(), "the older answer is not the answer any more");
        memory.store_response("/b", None, "{}");
        assert!(memory.find_response("/b").is_none());
        assert_eq!(memory.bytes, 0);
    }

    proptest! {
        #[test]
        fn it_never_grows_beyond_its_bounds(asked in prop::collection::vec((0..60_u32, 0..MAX_BODY_BYTES, 0..4_u8), 0..120)) {
            let mut memory = EtagCache::default();
            for (path, length, what) in asked {
                let path = format!("/{path}");
                match what {
                    0 => drop(memory.find_response(&path)),
                    1 => memory.remove_response(&path),
                    _ => {
                        memory.store_response(&path, etag(), &"x".repeat(length));
                        prop_assert_eq!(memory.find_response(&path).unwrap().body.len(), length);
                    }
                }
                let weighed: usize = memory.entries.iter().map(|(path, (kept, _))| entry_bytes(path, kept)).sum();
                prop_assert_eq!(memory.bytes, weighed);
                prop_assert!(memory.bytes <= MAX_BYTES && memory.entries.len() <= MAX_ENTRIES);
            }
        }
    }
}
