//! The few kinds of block that we use, kept inside Slack's limits by what makes them.
//! They are typed, and no trees of JSON: `list` is answered within the request, and writes them straight into it.

use std::borrow::Cow;

use serde::Serialize;

use super::mrkdwn::Mrkdwn;

/// Slack refuses a section that is longer.
const SECTION_TEXT: usize = 3000;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Section { text: Marked },
    Context { elements: [Marked; 1] },
    Actions { elements: Vec<Button> },
    Table { rows: Vec<Line> },
}

/// The cells of one line of a table.
pub type Line = Vec<Raw>;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "mrkdwn")]
pub struct Marked {
    text: String,
}

/// Text that is shown as it is: nothing in it can be mark-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "raw_text")]
pub struct Raw {
    pub text: Cow<'static, str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "plain_text")]
struct Label {
    text: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "button")]
pub struct Button {
    text: Label,
    action_id: &'static str,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'static str>,
}

impl Button {
    /// The one that most people will want; at most one in a message.
    #[must_use]
    pub fn primary(self) -> Self {
        Self { style: Some("primary"), ..self }
    }
}

impl From<&'static str> for Raw {
    fn from(text: &'static str) -> Self {
        Self { text: text.into() }
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self { text: text.into() }
    }
}

pub fn section(text: Mrkdwn) -> Block {
    Block::Section { text: marked(text, SECTION_TEXT) }
}

pub fn context(text: Mrkdwn) -> Block {
    Block::Context { elements: [marked(text, 2000)] }
}

/// At most 25 stand in one block; ours are few.
pub fn actions(buttons: Vec<Button>) -> Block {
    Block::Actions { elements: buttons }
}

pub fn button(label: &'static str, action: &'static str, value: String) -> Button {
    Button { text: Label { text: label }, action_id: action, value, style: None }
}

/// The first line is the head. At most 100 lines of 20 columns.
pub fn table(lines: Vec<Line>) -> Block {
    Block::Table { rows: lines }
}

fn marked(text: Mrkdwn, most: usize) -> Marked {
    let mut text = text.into_string();
    // A text of so few bytes has no more characters.
    if text.len() > most
        && text.chars().count() > most
        && let Some((end, _)) = text.char_indices().nth(most - 1)
    {
        text.truncate(end);
        text.push('\u{2026}');
    }
    Marked { text }
}
