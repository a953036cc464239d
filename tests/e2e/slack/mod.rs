//! Slack: both transports, the sending of messages, subscriptions, App Home, and the app's manifests.

mod home;
mod scopes;
mod sending;
mod socket;
mod subscriptions;
