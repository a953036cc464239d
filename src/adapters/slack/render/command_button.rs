//! A button with a command as its value. A click has the same effect and the same rights as the typed command.

use super::blocks::Button;
use super::mrkdwn::Mrkdwn;

pub const COMMAND: &str = "typed_command";

/// `command` begins with the verb. The caller escapes text from outside with [`escape_argument`].
pub fn build_command_button(label: &str, command: String) -> Button {
    Button::with_label(label, COMMAND, command)
}

/// Escapes text from outside as Slack would send it in a typed command.
pub fn escape_argument(text: &str) -> String {
    Mrkdwn::default().plain(text).into_string()
}
