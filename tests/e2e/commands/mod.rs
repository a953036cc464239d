//! The commands that people type: their grammar, their answers, and who may use them.

mod authorization;
mod diff;
mod doctor;
mod history;
mod list;
mod locks;
mod status;
mod typing;
mod where_is;
mod why;
