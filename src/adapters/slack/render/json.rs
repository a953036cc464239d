//! JSON as text. What we say is mostly keys of our own and text without escapes, and both are copied in pieces:
//! `serde_json` looks at each byte, which took as long as everything else that `list` does to render its answer.

use std::fmt::Write;

use crate::adapters::slack::scan::first;

/// `text` with its quotes.
pub(super) fn string(json: &mut String, text: &str) {
    json.push('"');
    let mut rest = text;
    while let Some(at) = first(rest.as_bytes(), needs_escape) {
        json.push_str(&rest[..at]);
        // Writing to a string cannot fail.
        let _ = match rest.as_bytes()[at] {
            b'"' => json.write_str("\\\""),
            b'\\' => json.write_str("\\\\"),
            b'\n' => json.write_str("\\n"),
            b'\r' => json.write_str("\\r"),
            b'\t' => json.write_str("\\t"),
            0x08 => json.write_str("\\b"),
            0x0c => json.write_str("\\f"),
            byte => write!(json, "\\u{byte:04x}"),
        };
        rest = &rest[at + 1..];
    }
    json.push_str(rest);
    json.push('"');
}

#[expect(clippy::needless_bitwise_bool, reason = "see `first`")]
fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// `items` in brackets, each as `write` has it.
pub(super) fn array<T>(json: &mut String, items: &[T], write: impl Fn(&T, &mut String)) {
    json.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write(item, json);
    }
    json.push(']');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut json = String::new();
        string(&mut json, text);
        json
    }

    #[test]
    fn every_character_is_written_as_serde_json_writes_it() {
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }

    proptest! {
        #[test]
        fn every_text_is_written_as_serde_json_writes_it(text in any::<String>(), more in "[a-z\"\\\\\n\u{1}\u{b7}]{0,60}") {
            let text = text + &more;
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
