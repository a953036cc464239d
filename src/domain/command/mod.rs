//! Commands that people type: their grammar, and the text of a command to [`Command`].

mod grammar;
mod parse;
mod parse_lock;

pub use grammar::{Command, Entry, Misunderstanding, TABLE, Verb};
pub use parse::{is_reserved, parse};
