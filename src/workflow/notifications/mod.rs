//! Messages that go out by themselves: the outbox, subscriptions, reminders.

pub(crate) mod delivery;
pub mod home_refresh;
pub mod lock_reminders;
pub mod outbox;
pub(crate) mod subscriptions;
