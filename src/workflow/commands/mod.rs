//! The commands: one file or folder for each verb that people type or click.

pub(crate) mod approve;
pub(crate) mod cancel;
pub(crate) mod confirm;
pub(crate) mod diff;
pub mod doctor;
pub(crate) mod history;
pub mod home;
pub mod list;
pub mod lock;
pub(crate) mod plan_outcome;
pub(crate) mod promote;
pub(crate) mod release;
pub(crate) mod retry;
pub(crate) mod rollback;
pub(crate) mod status;
pub(crate) mod turn_page;
pub(crate) mod welcome;
pub mod where_is;
pub(crate) mod why;
