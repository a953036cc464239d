//! The commands that people type: their grammar, and the parser from text to [`Command`].

mod grammar;
mod parse;
mod parse_lock;
mod words;

pub use grammar::{COMMANDS, Command, CommandParseError, CommandSpec, Verb};
pub use parse::{is_reserved, parse};
