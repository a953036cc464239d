//! One file per verb that people type or click.

pub(crate) mod approve;
pub(crate) mod diff;
pub mod doctor;
pub(crate) mod history;
pub mod home;
pub mod list;
pub mod lock;
pub(crate) mod rollback;
pub(crate) mod status;
pub(crate) mod turn_page;
pub mod where_is;
pub(crate) mod why;
