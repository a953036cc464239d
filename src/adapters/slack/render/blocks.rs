//! The few kinds of block that we use, kept inside Slack's limits by the functions that make them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::mrkdwn::Mrkdwn;

/// Slack refuses a section that is longer.
const MAX_SECTION_TEXT: usize = 3000;
const MAX_CONFIRM_TEXT: usize = 300;
/// Stands before the number of a button of which there are more; no action has it in its name.
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

/// The cells of one line of a table.
pub type TableRow = Vec<RawText>;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "mrkdwn")]
pub struct MrkdwnText {
    text: String,
}

/// Text that is shown as it is: nothing in it can be mark-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "raw_text")]
pub struct RawText {
    pub text: Cow<'static, str>,
}

/// Shown one after the other; a line ends where a piece has a line break.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "rich_text_section")]
pub struct RichTextSection {
    pub elements: Vec<StyledText>,
}

/// Text that is shown as it is, in styles that Slack knows by these names: `bold`, `code`, `italic`, `strike`.
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

/// What is asked once more before a press counts: a title of at most 100 characters, buttons of 30.
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
    /// Named by what it chooses, of at most 75 characters.
    pub fn with_label(label: &str, action: &'static str, value: String) -> Self {
        Self { label: Cow::Owned(label.to_owned()), action_id: action.into(), value, style: None, confirm: None }
    }

    /// The one that most people will want; at most one in a message.
    #[must_use]
    pub fn primary(self) -> Self {
        Self { style: Some("primary"), ..self }
    }

    /// For what destroys.
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

/// At most 25 stand in one block; ours are few. Slack takes each `action_id` once in a block, so that repeated ones get a number.
pub fn actions(mut buttons: Vec<Button>) -> Block {
    // From the last one on: a numbered id no longer equals the others.
    for at in (1..buttons.len()).rev() {
        let id = &buttons[at].action_id;
        let before = buttons[..at].iter().filter(|button| button.action_id == *id).count();
        if before > 0 {
            buttons[at].action_id = format!("{id}{ACTION_NUMBER_SEPARATOR}{before}").into();
        }
    }
    Block::Actions { elements: buttons }
}

pub fn button(label: &'static str, action: &'static str, value: String) -> Button {
    Button { label: label.into(), action_id: action.into(), value, style: None, confirm: None }
}

/// The first line is the head. At most 100 lines of 20 columns.
pub fn table(lines: Vec<TableRow>) -> Block {
    Block::Table { rows: lines }
}

/// At least one piece, and none of them empty.
pub fn rich_text(pieces: Vec<StyledText>) -> Block {
    Block::RichText { elements: [RichTextSection { elements: pieces }] }
}

fn truncate_mrkdwn(text: Mrkdwn, most: usize) -> MrkdwnText {
    let mut text = text.into_string();
    // A text of so few bytes has no more characters.
    if text.len() > most
        && text.chars().count() > most
        && let Some((end, _)) = text.char_indices().nth(most - 1)
    {
        text.truncate(end);
        // Half a mark is worse than none: what was begun and not ended goes as a whole.
        let cut = |open: char, close: char| text.rfind(open).filter(|at| !text[*at..].contains(close));
        if let Some(at) = cut('<', '>').into_iter().chain(cut('&', ';')).min() {
            text.truncate(at);
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
    fn each_kind_is_written_as_slack_documents_it() {
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
