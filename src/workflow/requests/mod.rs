//! Requests from Slack: acknowledged, stored, dispatched to a command, answered.

pub mod acknowledge;
pub(crate) mod dispatch;
pub mod inbox;
pub(crate) mod reply;
