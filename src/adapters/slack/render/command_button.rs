//! The button that carries a command, as if it was typed: it can do no more than that.

use super::blocks::Button;
use super::mrkdwn::Mrkdwn;

pub const COMMAND: &str = "typed_command";

/// `command` has the verb in front; what in it is anybody's text is escaped by [`escape_argument`].
pub fn build_command_button(label: &str, command: String) -> Button {
    Button::with_label(label, COMMAND, command)
}

/// Anybody's text as Slack would send it: with marks instead of brackets.
pub fn escape_argument(text: &str) -> String {
    Mrkdwn::default().plain(text).into_string()
}
