//! Makes a message fit into Slack's limits: text that is too long is cut with an ellipsis instead of an error.

use serde_json::{Value, json};

const TEXT: usize = 4_000;
const BLOCKS: usize = 50;
const BLOCKS_IN_VIEW: usize = 100;
/// For all blocks together. Slack answers `msg_blocks_too_long` somewhat above it.
const TOTAL: usize = 13_000;
const SECTION: usize = 3_000;
const FIELD: usize = 2_000;
const FIELDS: usize = 10;
const HEADER: usize = 150;
const CONTEXT: usize = 2_000;
const CONTEXT_ELEMENTS: usize = 10;
const BUTTON: usize = 75;
const ACTIONS: usize = 25;
const MARKDOWN: usize = 12_000;
const ROWS: usize = 100;

pub(super) fn fit_text(text: &str) -> String {
    // Slack refuses a message without any text.
    if text.is_empty() { "…".to_owned() } else { truncate_text(text, TEXT).unwrap_or_else(|| text.to_owned()) }
}

pub(super) fn fit_blocks(blocks: &[Value]) -> Vec<Value> {
    fit_to_limits(blocks, BLOCKS, TOTAL)
}

/// A view may have more blocks than a message, and no total limit.
pub(super) fn fit_view(blocks: &[Value]) -> Vec<Value> {
    fit_to_limits(blocks, BLOCKS_IN_VIEW, usize::MAX)
}

fn fit_to_limits(blocks: &[Value], max_blocks: usize, max_characters: usize) -> Vec<Value> {
    let mut fitted: Vec<Value> = blocks.iter().cloned().map(fit_block).collect();
    let ellipsis = json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": "…" }] });
    let mut kept = fitted.len();
    let mut total: usize = fitted.iter().map(count_characters).sum();
    while kept > 1 && (total > max_characters || kept > max_blocks || (kept < fitted.len() && kept == max_blocks)) {
        kept -= 1;
        total -= count_characters(&fitted[kept]);
    }
    if kept < fitted.len() {
        fitted.truncate(kept);
        fitted.push(ellipsis);
    }
    fitted
}

fn fit_block(mut block: Value) -> Value {
    let kind = block["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "section" => {
            truncate_string(&mut block, "/text/text", SECTION);
            truncate_items(&mut block, "fields", FIELDS, |field| truncate_string(field, "/text", FIELD));
            truncate_string(&mut block, "/accessory/text/text", BUTTON);
        }
        "header" => truncate_string(&mut block, "/text/text", HEADER),
        "context" => truncate_items(&mut block, "elements", CONTEXT_ELEMENTS, |element| {
            truncate_string(element, "/text", CONTEXT);
        }),
        "actions" => {
            truncate_items(&mut block, "elements", ACTIONS, |element| truncate_string(element, "/text/text", BUTTON));
        }
        "markdown" => truncate_string(&mut block, "/text", MARKDOWN),
        "table" => truncate_items(&mut block, "rows", ROWS, |_| ()),
        _ => {}
    }
    block
}

fn truncate_items(block: &mut Value, name: &str, limit: usize, each: impl Fn(&mut Value)) {
    if let Some(items) = block.get_mut(name).and_then(Value::as_array_mut) {
        items.truncate(limit);
        items.iter_mut().for_each(each);
    }
}

fn truncate_string(value: &mut Value, pointer: &str, limit: usize) {
    if let Some(text) = value.pointer_mut(pointer)
        && let Some(short) = text.as_str().and_then(|text| truncate_text(text, limit))
    {
        *text = short.into();
    }
}

/// `None` if it fits.
fn truncate_text(text: &str, limit: usize) -> Option<String> {
    let end = text.char_indices().nth(limit.saturating_sub(1)).map(|(end, _)| end)?;
    text[end..].chars().nth(1)?;
    let mut kept = &text[..end];
    // Slack would show half of a `<link|label>` or of an `&amp;` as raw text.
    if let Some(open) = kept.rfind('<')
        && !kept[open..].contains('>')
    {
        kept = &kept[..open];
    }
    if let Some(open) = kept.rfind('&')
        && !kept[open..].contains(';')
    {
        kept = &kept[..open];
    }
    Some(format!("{kept}…"))
}

/// The characters that people read, without the JSON around them.
fn count_characters(value: &Value) -> usize {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) if matches!(key.as_str(), "text" | "alt_text" | "title") => text.chars().count(),
                Value::String(_) => 0,
                other => count_characters(other),
            })
            .sum(),
        Value::Array(items) => items.iter().map(count_characters).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_within_the_limits_are_unchanged() {
        let blocks = vec![
            json!({ "type": "section", "text": { "type": "mrkdwn", "text": "a".repeat(SECTION) } }),
            json!({ "type": "actions", "elements": [{ "type": "button", "text": { "type": "plain_text", "text": "Promote" }, "value": "x" }] }),
            json!({ "type": "divider" }),
        ];
        assert_eq!(fit_blocks(&blocks), blocks);
        assert_eq!(fit_text("short"), "short");
    }

    #[test]
    fn truncation_removes_partial_links_and_entities() {
        assert_eq!(truncate_text("12345 <https://example.com|x>", 12).as_deref(), Some("12345 …"));
        assert_eq!(truncate_text("12345 &amp; more", 9).as_deref(), Some("12345 …"));
        assert_eq!(truncate_text("äöüß", 4), None);
        assert_eq!(truncate_text("äöüßé", 4).as_deref(), Some("äöü…"));
    }

    #[test]
    fn too_many_blocks_end_in_an_ellipsis() {
        let many = vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": "line" } }); 51];
        let fitted = fit_blocks(&many);
        assert_eq!(fitted.len(), BLOCKS);
        assert_eq!(fitted[BLOCKS - 1]["elements"][0]["text"], "…");
    }

    proptest! {
        #[test]
        fn every_result_is_within_the_limits(lengths in prop::collection::vec(0_usize..4_000, 0..70), words in 0_usize..6_000) {
            let long: Vec<_> = lengths
                .iter()
                .map(|length| json!({ "type": "section", "text": { "type": "mrkdwn", "text": "é".repeat(*length) } }))
                .collect();
            let fitted = fit_blocks(&long);
            prop_assert!(fitted.len() <= BLOCKS);
            prop_assert!(fitted.iter().map(count_characters).sum::<usize>() <= TOTAL + 1);
            for block in &fitted {
                prop_assert!(count_characters(block) <= SECTION);
            }
            prop_assert!(fit_text(&"é".repeat(words)).chars().count() <= TEXT);
        }
    }
}
