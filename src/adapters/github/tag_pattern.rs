//! Guesses the commit of an image from the form of its tag. GitHub must confirm the guess.

/// The hex string of 7 to 40 digits at the end of a tag. It counts only if exactly one commit begins with it, which
/// also excludes dates and numbers: see [`super::Client::find_commit_by_prefix`].
pub fn extract_sha_candidate(tag: &str) -> Option<&str> {
    let start = tag.bytes().rposition(|byte| !byte.is_ascii_hexdigit()).map_or(0, |index| index + 1);
    // The character before `start` may have several bytes. `start` follows the last of them, so it is a character
    // boundary.
    tag.get(start..).filter(|hex| (7..=40).contains(&hex.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tag_names_a_commit_by_the_hex_digits_at_its_end() {
        let whole = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
        let cases = [
            ("9be01d7", Some("9be01d7")),
            ("main-9be01d7", Some("9be01d7")),
            ("sha-9be01d7c", Some("9be01d7c")),
            ("v1.4.0-3-g9be01d7", Some("9be01d7")),
            ("2026.11.16_9be01d7c1f", Some("9be01d7c1f")),
            ("1.2.3-9BE01D7", Some("9BE01D7")),
            (whole, Some(whole)),
            ("20240101", Some("20240101")),
            ("main-1234567", Some("1234567")),
            ("1.2.3", None),
            ("v2024.1", None),
            ("latest", None),
            ("9be01d7-arm64", None),
            ("9be01d", None),
            ("é", None),
            ("", None),
        ];
        for (tag, expected) in cases {
            assert_eq!(extract_sha_candidate(tag), expected, "{tag}");
        }
        assert_eq!(extract_sha_candidate(&format!("{whole}0")), None, "a digest is no commit");
    }

    proptest! {
        #[test]
        fn any_tag_is_answered_with_hex_or_nothing(tag in ".*") {
            if let Some(hex) = extract_sha_candidate(&tag) {
                prop_assert!(tag.ends_with(hex) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }
}
