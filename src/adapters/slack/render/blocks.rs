//! The few kinds of block that Gantry uses. The constructors keep them within Slack's limits.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::mrkdwn::Mrkdwn;

/// Slack refuses a longer section.
const MAX_SECTION_TEXT: usize = 3000;
const MAX_CONFIRM_TEXT: usize = 300;
/// Separates an action id from its number, if a message has several buttons with it. No action id contains it.
pub const ACTION_NUMBER_SEPARATOR: char = '#';

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Section { text: MrkdwnText },
    Context { elements: [MrkdwnText; 1] },
    Actions { elements: Vec<Button> },
    Table { rows: Vec<TableRow> },
    RichText { elements: [RichTextSection; 1] },
}

/// The cells of one row of a table.
pub type TableRow = Vec<RawText>;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "mrkdwn")]
pub struct MrkdwnText {
    text: String,
}

/// Text without mark-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "raw_text")]
pub struct RawText {
    pub text: Cow<'static, str>,
}

/// Pieces of text that are shown one after the other. Only a line break in a piece ends a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "rich_text_section")]
pub struct RichTextSection {
    pub elements: Vec<StyledText>,
}

/// Text without mark-up, with Slack's styles `bold`, `code`, `italic` and `strike`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct StyledText {
    pub text: String,
    #[serde(rename = "style", skip_serializing_if = "<[_]>::is_empty", serialize_with = "serialize_styles")]
    pub styles: &'static [&'static str],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "button")]
pub struct Button {
    #[serde(rename = "text", serialize_with = "serialize_plain_text")]
    label: Cow<'static, str>,
    action_id: Cow<'static, str>,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<Box<ConfirmDialog>>,
}

/// The question after a click on a button. Slack allows 100 characters for the title and 30 for each label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfirmDialog {
    #[serde(serialize_with = "serialize_plain_text")]
    pub title: &'static str,
    #[serde(serialize_with = "serialize_confirm_text")]
    pub text: Mrkdwn,
    #[serde(rename = "confirm", serialize_with = "serialize_plain_text")]
    pub confirm_label: &'static str,
    #[serde(rename = "deny", serialize_with = "serialize_plain_text")]
    pub deny_label: &'static str,
}

impl Button {
    /// A button with a computed label of at most 75 characters.
    pub fn with_label(label: &str, action: &'static str, value: String) -> Self {
        Self { label: Cow::Owned(label.to_owned()), action_id: action.into(), value, style: None, confirm: None }
    }

    /// The button that most people need; at most one in a message.
    #[must_use]
    pub fn primary(self) -> Self {
        Self { style: Some("primary"), ..self }
    }

    /// For destructive actions.
    #[must_use]
    pub fn danger(self) -> Self {
        Self { style: Some("danger"), ..self }
    }

    #[must_use]
    pub fn with_confirm(self, confirm: ConfirmDialog) -> Self {
        Self { confirm: Some(Box::new(confirm)), ..self }
    }
}

fn serialize_plain_text<S: Serializer>(text: &impl AsRef<str>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "plain_text")]
    struct PlainText<'a> {
        text: &'a str,
    }
    PlainText { text: text.as_ref() }.serialize(serializer)
}

fn serialize_confirm_text<S: Serializer>(text: &Mrkdwn, serializer: S) -> Result<S::Ok, S::Error> {
    truncate_mrkdwn(text.clone(), MAX_CONFIRM_TEXT).serialize(serializer)
}

fn serialize_styles<S: Serializer>(styles: &[&str], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(styles.iter().map(|style| (style, true)))
}

impl From<&'static str> for RawText {
    fn from(text: &'static str) -> Self {
        Self { text: text.into() }
    }
}

impl From<String> for RawText {
    fn from(text: String) -> Self {
        Self { text: text.into() }
    }
}

pub fn section(text: Mrkdwn) -> Block {
    Block::Section { text: truncate_mrkdwn(text, MAX_SECTION_TEXT) }
}

pub fn context(text: Mrkdwn) -> Block {
    Block::Context { elements: [truncate_mrkdwn(text, 2000)] }
}

/// Slack allows 25 buttons in one block; Gantry has few. Each `action_id` must be unique in a block, so repeated ones
/// get a number.
pub fn actions(mut buttons: Vec<Button>) -> Block {
    // From the last button backwards, because a numbered id no longer equals the others.
    for index in (1..buttons.len()).rev() {
        let id = &buttons[index].action_id;
        let before = buttons[..index].iter().filter(|button| button.action_id == *id).count();
        if before > 0 {
            buttons[index].action_id = format!("{id}{ACTION_NUMBER_SEPARATOR}{before}").into();
        }
    }
    Block::Actions { elements: buttons }
}

pub fn button(label: &'static str, action: &'static str, value: String) -> Button {
    Button { label: label.into(), action_id: action.into(), value, style: None, confirm: None }
}

/// The first row is the header. Slack allows 100 rows of 20 columns.
pub fn table(lines: Vec<TableRow>) -> Block {
    Block::Table { rows: lines }
}

/// Slack requires at least one piece and refuses empty pieces.
pub fn rich_text(pieces: Vec<StyledText>) -> Block {
    Block::RichText { elements: [RichTextSection { elements: pieces }] }
}

fn truncate_mrkdwn(text: Mrkdwn, max: usize) -> MrkdwnText {
    let mut text = text.into_string();
    // A text has at most as many characters as bytes.
    if text.len() > max
        && text.chars().count() > max
        && let Some((end, _)) = text.char_indices().nth(max - 1)
    {
        text.truncate(end);
        // Slack would show half of a mark as raw text, so an unclosed mark is removed.
        let find_unclosed =
            |open: char, close: char| text.rfind(open).filter(|position| !text[*position..].contains(close));
        if let Some(position) = find_unclosed('<', '>').into_iter().chain(find_unclosed('&', ';')).min() {
            text.truncate(position);
        }
        text.push('\u{2026}');
    }
    MrkdwnText { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_serialise_as_slack_documents_them() {
        let blocks = [
            (
                section(Mrkdwn::new("a \"b\"")),
                json!({"type": "section", "text": {"type": "mrkdwn", "text": "a \"b\""}}),
            ),
            (context(Mrkdwn::new("c")), json!({"type": "context", "elements": [{"type": "mrkdwn", "text": "c"}]})),
            (
                actions(vec![
                    button("Share", "list:share", "0|\\|".into()),
                    button("Later", "list:later", String::new()),
                    button("Much later", "list:later", String::new()),
                    button("Approve", "approve", "1".into()).danger().with_confirm(ConfirmDialog {
                        title: "Sure?",
                        text: Mrkdwn::new("*all* of it"),
                        confirm_label: "Yes",
                        deny_label: "No",
                    }),
                ]),
                json!({"type": "actions", "elements": [
                    {"type": "button", "text": {"type": "plain_text", "text": "Share"}, "action_id": "list:share", "value": "0|\\|"},
                    {"type": "button", "text": {"type": "plain_text", "text": "Later"}, "action_id": "list:later", "value": ""},
                    {"type": "button", "text": {"type": "plain_text", "text": "Much later"}, "action_id": "list:later#1", "value": ""},
                    {"type": "button", "text": {"type": "plain_text", "text": "Approve"}, "action_id": "approve", "value": "1",
                     "style": "danger", "confirm": {
                        "title": {"type": "plain_text", "text": "Sure?"},
                        "text": {"type": "mrkdwn", "text": "*all* of it"},
                        "confirm": {"type": "plain_text", "text": "Yes"},
                        "deny": {"type": "plain_text", "text": "No"},
                     }},
                ]}),
            ),
            (
                table(vec![vec!["one".into(), "two".into()], vec![String::from("\n").into()], vec![]]),
                json!({"type": "table", "rows": [
                    [{"type": "raw_text", "text": "one"}, {"type": "raw_text", "text": "two"}],
                    [{"type": "raw_text", "text": "\n"}],
                    [],
                ]}),
            ),
            (
                rich_text(vec![
                    StyledText { text: "- a\t".into(), styles: &["code"] },
                    StyledText { text: "<b>".into(), styles: &["bold", "code"] },
                    StyledText { text: "\n".into(), styles: &[] },
                ]),
                json!({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                    {"type": "text", "text": "- a\t", "style": {"code": true}},
                    {"type": "text", "text": "<b>", "style": {"bold": true, "code": true}},
                    {"type": "text", "text": "\n"},
                ]}]}),
            ),
        ];
        for (block, expected) in blocks {
            assert_eq!(serde_json::to_value(block).unwrap(), expected);
        }
    }
}
