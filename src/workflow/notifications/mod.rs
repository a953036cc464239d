//! Messages to people: the outbox and its delivery, subscriptions, reminders, and the refresh of App Homes.

pub(crate) mod delivery;
pub mod home_refresh;
pub mod lock_reminders;
pub mod outbox;
pub(crate) mod subscriptions;
