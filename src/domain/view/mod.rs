//! The contents of the answers to questions.

pub mod diff;
pub mod history;
pub mod list;
pub mod page;
pub mod where_is;
pub mod where_query;
pub mod why;
