//! "Did you mean": finds the word that a person most likely meant, among keys of the configuration, commands, artefacts
//! and environments.

/// A longer word is hardly a typing error, and the comparison takes time quadratic in the length.
const MAX_WORD_CHARS: usize = 64;

/// The candidate nearest to `word`, ignoring case; `None` if none is near enough. Of equally near candidates the first
/// wins, so the result depends only on the given order.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD_CHARS * 4 {
        return None;
    }
    let word = word.to_lowercase();
    if word.is_empty() || word.chars().count() > MAX_WORD_CHARS {
        return None;
    }
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let Some(edits) = bounded_edit_distance(&word, candidate) else { continue };
        if best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The edit distance if it is small enough: about one edit in three letters, and fewer edits than letters. A beginning
/// (`dev` for `development`) counts as near too, but as farther than any word within that distance.
fn bounded_edit_distance(word: &str, candidate: &str) -> Option<usize> {
    if candidate.len() > MAX_WORD_CHARS * 4 {
        return None;
    }
    let candidate = candidate.to_lowercase();
    let (a, b) = (word.chars().count(), candidate.chars().count());
    let (longer, shorter) = (a.max(b), a.min(b));
    let max_edits = (longer / 3).max(1);
    if longer - shorter <= max_edits {
        // This measure counts two swapped neighbours as one edit: `brnach` is one edit from `branch`.
        let edits = strsim::osa_distance(word, &candidate);
        if edits <= max_edits && edits < a {
            return Some(edits);
        }
    }
    (a >= 3 && candidate.starts_with(word)).then_some(MAX_WORD_CHARS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_typing_error_finds_the_intended_word_and_an_unknown_word_finds_none() {
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
        for (word, candidates, expected) in cases {
            assert_eq!(find_nearest(word, candidates.iter().copied()), expected, "{word}");
        }
    }

    #[test]
    fn the_fewest_edits_win_and_then_the_first_candidate() {
        assert_eq!(find_nearest("search", ["seance", "searchx", "search"]), Some("search"));
        assert_eq!(find_nearest("cart", ["carb", "card"]), Some("carb"));
        assert_eq!(find_nearest("dev", ["development", "dex"]), Some("dex"), "an edit is nearer than a beginning");
    }

    proptest! {
        #[test]
        fn any_text_gives_a_candidate_or_none(word in ".{0,300}", candidates in prop::collection::vec(".{0,80}", 0..6)) {
            let found = find_nearest(&word, candidates.iter().map(String::as_str));
            prop_assert!(found.is_none_or(|found| candidates.iter().any(|candidate| candidate == found)));
        }
    }
}
