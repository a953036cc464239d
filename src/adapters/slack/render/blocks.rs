//! The few kinds of block that we use, kept inside Slack's limits by what makes them.
//! They are typed, and no trees of JSON: `list` is answered within the request, and writes them straight into it.

use std::borrow::Cow;

use super::json::{array, string};
use super::mrkdwn::Mrkdwn;

/// Slack refuses a section that is longer.
const MAX_SECTION_TEXT: usize = 3000;
const MAX_CONFIRM_TEXT: usize = 300;
/// Stands before the number of a button of which there are more; no action has it in its name.
pub const ACTION_NUMBER_SEPARATOR: char = '#';

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Section {
        text: MrkdwnText,
    },
    Context {
        elements: [MrkdwnText; 1],
    },
    Actions {
        elements: Vec<Button>,
    },
    Table {
        rows: Vec<TableRow>,
    },
    /// Shown one after the other; a line ends where a piece has a line break.
    RichText {
        pieces: Vec<StyledText>,
    },
}

/// The cells of one line of a table.
pub type TableRow = Vec<RawText>;

#[derive(Clone, Debug, PartialEq)]
pub struct MrkdwnText {
    text: String,
}

/// Text that is shown as it is: nothing in it can be mark-up.
#[derive(Clone, Debug, PartialEq)]
pub struct RawText {
    pub text: Cow<'static, str>,
}

/// Text that is shown as it is, in styles that Slack knows by these names: `bold`, `code`, `italic`, `strike`.
#[derive(Clone, Debug, PartialEq)]
pub struct StyledText {
    pub text: String,
    pub styles: &'static [&'static str],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Button {
    label: Cow<'static, str>,
    action: &'static str,
    value: String,
    style: Option<&'static str>,
    confirm: Option<Box<ConfirmDialog>>,
}

/// What is asked once more before a press counts: a title of at most 100 characters, buttons of 30.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmDialog {
    pub title: &'static str,
    pub text: Mrkdwn,
    pub confirm_label: &'static str,
    pub deny_label: &'static str,
}

impl Button {
    /// Named by what it chooses, of at most 75 characters.
    pub fn with_label(label: &str, action: &'static str, value: String) -> Self {
        Self { label: Cow::Owned(label.to_owned()), action, value, style: None, confirm: None }
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

impl Block {
    /// As Slack takes it, in JSON.
    pub(super) fn write_json(&self, json: &mut String) {
        match self {
            Self::Section { text } => {
                json.push_str(r#"{"type":"section","text":"#);
                text.write_json(json);
            }
            Self::Context { elements } => {
                json.push_str(r#"{"type":"context","elements":"#);
                array(json, elements, MrkdwnText::write_json);
            }
            Self::Actions { elements } => {
                json.push_str(r#"{"type":"actions","elements":"#);
                let nth = |at: usize| elements[..at].iter().filter(|it| it.action == elements[at].action).count();
                array(json, &(0..elements.len()).collect::<Vec<_>>(), |at, json| {
                    elements[*at].write_json(json, nth(*at));
                });
            }
            Self::Table { rows } => {
                json.push_str(r#"{"type":"table","rows":"#);
                array(json, rows, |line, json| array(json, line, RawText::write_json));
            }
            Self::RichText { pieces } => {
                json.push_str(r#"{"type":"rich_text","elements":[{"type":"rich_text_section","elements":"#);
                array(json, pieces, StyledText::write_json);
                json.push_str("}]");
            }
        }
        json.push('}');
    }
}

impl MrkdwnText {
    fn write_json(&self, json: &mut String) {
        json.push_str(r#"{"type":"mrkdwn","text":"#);
        string(json, &self.text);
        json.push('}');
    }
}

impl RawText {
    fn write_json(&self, json: &mut String) {
        json.push_str(r#"{"type":"raw_text","text":"#);
        string(json, &self.text);
        json.push('}');
    }
}

impl StyledText {
    fn write_json(&self, json: &mut String) {
        json.push_str(r#"{"type":"text","text":"#);
        string(json, &self.text);
        for (at, style) in self.styles.iter().enumerate() {
            json.push_str(if at == 0 { r#","style":{"# } else { "," });
            string(json, style);
            json.push_str(":true");
        }
        json.push_str(if self.styles.is_empty() { "}" } else { "}}" });
    }
}

impl Button {
    /// `nth`: so many of the same action stand before it. Slack takes each `action_id` once in a block.
    fn write_json(&self, json: &mut String, nth: usize) {
        json.push_str(r#"{"type":"button","text":{"type":"plain_text","text":"#);
        string(json, &self.label);
        json.push_str(r#"},"action_id":"#);
        match nth {
            0 => string(json, self.action),
            nth => string(json, &format!("{}{ACTION_NUMBER_SEPARATOR}{nth}", self.action)),
        }
        json.push_str(r#","value":"#);
        string(json, &self.value);
        if let Some(style) = self.style {
            json.push_str(r#","style":"#);
            string(json, style);
        }
        if let Some(confirm) = &self.confirm {
            json.push_str(r#","confirm":"#);
            confirm.write_json(json);
        }
        json.push('}');
    }
}

impl ConfirmDialog {
    fn write_json(&self, json: &mut String) {
        let plain = |json: &mut String, key: &str, text: &str| {
            json.push_str(key);
            json.push_str(r#"{"type":"plain_text","text":"#);
            string(json, text);
            json.push('}');
        };
        plain(json, r#"{"title":"#, self.title);
        json.push_str(r#","text":"#);
        truncate_mrkdwn(self.text.clone(), MAX_CONFIRM_TEXT).write_json(json);
        plain(json, r#","confirm":"#, self.confirm_label);
        plain(json, r#","deny":"#, self.deny_label);
        json.push('}');
    }
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

/// At most 25 stand in one block; ours are few.
pub fn actions(buttons: Vec<Button>) -> Block {
    Block::Actions { elements: buttons }
}

pub fn button(label: &'static str, action: &'static str, value: String) -> Button {
    Button { label: label.into(), action, value, style: None, confirm: None }
}

/// The first line is the head. At most 100 lines of 20 columns.
pub fn table(lines: Vec<TableRow>) -> Block {
    Block::Table { rows: lines }
}

/// At least one piece, and none of them empty.
pub fn rich_text(pieces: Vec<StyledText>) -> Block {
    Block::RichText { pieces }
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
    use serde_json::{Value, json};

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
            let mut json = String::new();
            block.write_json(&mut json);
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected, "{json}");
        }
    }
}
