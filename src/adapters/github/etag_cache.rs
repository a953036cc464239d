//! What GitHub answered, under the name it gave the answer (its `ETag`): asked by that, it repeats and counts nothing.
//! One client asks with one token, so nobody is given what only another may see.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::HeaderValue;

const MOST_ANSWERS: usize = 1_000;
const MOST_BYTES: usize = 8 << 20;
/// A longer one would push out many that are asked for more often.
const LONGEST_BODY: usize = 256 << 10;

#[derive(Clone)]
pub(super) struct Remembered {
    pub(super) etag: HeaderValue,
    pub(super) body: Arc<str>,
}

/// By path and query; what was not asked for the longest goes first.
#[derive(Default)]
pub(super) struct Memory {
    answers: HashMap<String, (Remembered, u64)>,
    bytes: usize,
    uses: u64,
}

impl Memory {
    pub(super) fn recall(&mut self, path: &str) -> Option<Remembered> {
        let (remembered, used) = self.answers.get_mut(path)?;
        self.uses += 1;
        *used = self.uses;
        Some(remembered.clone())
    }

    /// In the place of what was there before; what has no `ETag` or is too long is not kept.
    pub(super) fn keep(&mut self, path: &str, etag: Option<HeaderValue>, body: &str) {
        self.forget(path);
        let Some(etag) = etag.filter(|_| body.len() <= LONGEST_BODY) else { return };
        let remembered = Remembered { etag, body: body.into() };
        self.bytes += weight(path, &remembered);
        self.uses += 1;
        self.answers.insert(path.to_owned(), (remembered, self.uses));
        while self.answers.len() > MOST_ANSWERS || self.bytes > MOST_BYTES {
            let oldest = self.answers.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            self.forget(&oldest);
        }
    }

    pub(super) fn forget(&mut self, path: &str) {
        if let Some((remembered, _)) = self.answers.remove(path) {
            self.bytes -= weight(path, &remembered);
        }
    }
}

fn weight(path: &str, remembered: &Remembered) -> usize {
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
        let mut memory = Memory::default();
        for n in 0..MOST_ANSWERS {
            memory.keep(&format!("/{n}"), etag(), "{}");
        }
        assert!(memory.recall("/0").is_some());
        memory.keep("/new", etag(), "{}");
        assert_eq!(memory.answers.len(), MOST_ANSWERS);
        assert!(memory.recall("/0").is_some(), "it was just asked for");
        assert!(memory.recall("/1").is_none());
    }

    #[test]
    fn long_answers_are_not_kept_and_take_the_place_of_nothing() {
        let mut memory = Memory::default();
        memory.keep("/a", etag(), &"x".repeat(LONGEST_BODY));
        assert!(memory.recall("/a").is_some());
        memory.keep("/a", etag(), &"x".repeat(LONGEST_BODY + 1));
        assert!(memory.recall("/a").is_none(), "the older answer is not the answer any more");
        memory.keep("/b", None, "{}");
        assert!(memory.recall("/b").is_none());
        assert_eq!(memory.bytes, 0);
    }

    proptest! {
        #[test]
        fn it_never_grows_beyond_its_bounds(asked in prop::collection::vec((0..60_u32, 0..LONGEST_BODY, 0..4_u8), 0..120)) {
            let mut memory = Memory::default();
            for (path, length, what) in asked {
                let path = format!("/{path}");
                match what {
                    0 => drop(memory.recall(&path)),
                    1 => memory.forget(&path),
                    _ => {
                        memory.keep(&path, etag(), &"x".repeat(length));
                        prop_assert_eq!(memory.recall(&path).unwrap().body.len(), length);
                    }
                }
                let weighed: usize = memory.answers.iter().map(|(path, (kept, _))| weight(path, kept)).sum();
                prop_assert_eq!(memory.bytes, weighed);
                prop_assert!(memory.bytes <= MOST_BYTES && memory.answers.len() <= MOST_ANSWERS);
            }
        }
    }
}
