//! Slack: both transports, messages that go out, App Home, and the app's manifests.

mod home;
mod scopes;
mod sending;
mod socket;
mod subscriptions;
