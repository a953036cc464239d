//! "Did you mean": the known word that somebody most likely meant. For keys of the configuration and for
//! commands, artefacts and environments alike.

/// Longer words are no slips of the finger, and the comparison costs their length squared.
const MAX_WORD_CHARS: usize = 64;

/// The known word nearest to `word` in any case, or `None` where nothing is near enough to be worth saying.
/// Of equally near words the first is taken, so the answer depends on nothing but the order given.
pub fn find_nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD_CHARS * 4 {
        return None;
    }
    let word = word.to_lowercase();
    if word.is_empty() || word.chars().count() > MAX_WORD_CHARS {
        return None;
    }
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in known {
        let Some(slips) = bounded_edit_distance(&word, candidate) else { continue };
        if best.is_none_or(|(fewest, _)| slips < fewest) {
            best = Some((slips, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How far apart they are, if near enough: about one slip in three letters, and never every letter.
/// A word that was only begun (`dev` for `development`) is as near as a word can be without being near by slips.
fn bounded_edit_distance(word: &str, candidate: &str) -> Option<usize> {
    if candidate.len() > MAX_WORD_CHARS * 4 {
        return None;
    }
    let candidate = candidate.to_lowercase();
    let (a, b) = (word.chars().count(), candidate.chars().count());
    let (longer, shorter) = (a.max(b), a.min(b));
    let most = (longer / 3).max(1);
    if longer - shorter <= most {
        // Two neighbours swapped are one slip by this measure: `brnach` is one from `branch`.
        let slips = strsim::osa_distance(word, &candidate);
        if slips <= most && slips < a {
            return Some(slips);
        }
    }
    (a >= 3 && candidate.starts_with(word)).then_some(MAX_WORD_CHARS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slip_finds_the_word_that_was_meant_and_a_stranger_finds_none() {
        let environments = ["development", "qa", "staging", "stg", "prod", "production"];
        let commands = ["promote", "rollback", "diff", "list", "help", "where", "why", "history"];
        let keys = ["name", "aliases", "branch", "cluster", "channel", "promote", "approvals"];
        let cases: [(&str, &[&str], Option<&str>); 22] = [
            ("brnach", &keys, Some("branch")),
            ("branches", &keys, Some("branch")),
            ("Branch", &keys, Some("branch")),
            ("alias", &keys, Some("aliases")),
            ("chanel", &keys, Some("channel")),
            ("aproval", &keys, Some("approvals")),
            ("colour", &keys, None),
            ("promtoe", &commands, Some("promote")),
            ("premote", &commands, Some("promote")),
            ("lsit", &commands, Some("list")),
            ("rolback", &commands, Some("rollback")),
            ("wher", &commands, Some("where")),
            ("deploy", &commands, None),
            ("dev", &environments, Some("development")),
            ("stagign", &environments, Some("staging")),
            ("prdo", &environments, Some("prod")),
            ("PROD", &environments, Some("prod")),
            ("aq", &environments, Some("qa")),
            ("q", &environments, None),
            ("to", &environments, None),
            ("", &environments, None),
            ("checkout", &[], None),
        ];
        for (word, known, meant) in cases {
            assert_eq!(find_nearest(word, known.iter().copied()), meant, "{word}");
        }
    }

    #[test]
    fn fewer_slips_win_and_then_the_first_given() {
        assert_eq!(find_nearest("search", ["seance", "searchx", "search"]), Some("search"));
        assert_eq!(find_nearest("cart", ["carb", "card"]), Some("carb"));
        assert_eq!(find_nearest("dev", ["development", "dex"]), Some("dex"), "a slip is nearer than a beginning");
    }

    proptest! {
        #[test]
        fn any_text_is_answered_with_a_known_word_or_none(word in ".{0,300}", known in prop::collection::vec(".{0,80}", 0..6)) {
            let found = find_nearest(&word, known.iter().map(String::as_str));
            prop_assert!(found.is_none_or(|found| known.iter().any(|k| k == found)));
        }
    }
}
