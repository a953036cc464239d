//! The scopes, events and commands of the app's manifest. Like Slack, the simulator refuses and withholds all others.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The manifest that an administrator gives to Slack.
pub const HTTP: &str = include_str!("../../../deploy/slack/manifest.yaml");
/// The same for an app with Socket Mode.
pub const SOCKET: &str = include_str!("../../../deploy/slack/manifest-socket.yaml");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub scopes: BTreeSet<String>,
    pub events: BTreeSet<String>,
    /// With the leading slash.
    pub commands: BTreeSet<String>,
}

#[derive(Deserialize)]
struct File {
    features: Features,
    oauth_config: Oauth,
    settings: Settings,
}

#[derive(Deserialize)]
struct Features {
    slash_commands: Vec<SlashCommand>,
}

#[derive(Deserialize)]
struct SlashCommand {
    command: String,
}

#[derive(Deserialize)]
struct Oauth {
    scopes: Scopes,
}

#[derive(Deserialize)]
struct Scopes {
    bot: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Settings {
    event_subscriptions: Subscriptions,
}

#[derive(Deserialize)]
struct Subscriptions {
    bot_events: BTreeSet<String>,
}

impl Manifest {
    pub fn parse(yaml: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?;
        Ok(Self {
            scopes: file.oauth_config.scopes.bot,
            events: file.settings.event_subscriptions.bot_events,
            commands: file.features.slash_commands.into_iter().map(|slash| slash.command).collect(),
        })
    }

    /// Whether the bot may call this method. The error has the required scopes, of which at least one is missing.
    pub(super) fn check_scopes(&self, method: &str) -> Result<(), String> {
        let needed = scopes_of(method);
        if needed.iter().all(|scope| self.scopes.contains(*scope)) { Ok(()) } else { Err(needed.join(",")) }
    }

    /// Whether the app gets events of this name.
    pub(super) fn is_subscribed_to(&self, event: &str) -> bool {
        let needed = scopes_of_event(event);
        let granted = needed.is_empty() || needed.iter().any(|scope| self.scopes.contains(*scope));
        granted && self.events.contains(event)
    }

    pub(super) fn granted_scopes(&self) -> String {
        self.scopes.iter().map(String::as_str).collect::<Vec<_>>().join(",")
    }
}

/// The scopes that a bot needs for a method, from Slack's page of that method.
pub fn scopes_of(method: &str) -> &'static [&'static str] {
    match method {
        "chat.postMessage" | "chat.postEphemeral" | "chat.update" | "chat.delete" => &["chat:write"],
        // `groups:read` is for private channels. The simulator has none, but a channel's name does not show its kind,
        // so both scopes are required.
        "conversations.info" | "conversations.list" | "conversations.members" | "users.conversations" => {
            &["channels:read", "groups:read"]
        }
        "conversations.open" => &["im:write"],
        "users.info" | "users.list" => &["users:read"],
        "users.lookupByEmail" => &["users:read.email"],
        "usergroups.list" | "usergroups.users.list" => &["usergroups:read"],
        "reactions.add" | "reactions.remove" => &["reactions:write"],
        "files.getUploadURLExternal" | "files.completeUploadExternal" => &["files:write"],
        _ => &[],
    }
}

/// The scopes for an event. Of two scopes, one is for public channels and one for private channels.
pub fn scopes_of_event(event: &str) -> &'static [&'static str] {
    match event {
        "app_mention" => &["app_mentions:read"],
        "message.im" => &["im:history"],
        "member_joined_channel" => &["channels:read", "groups:read"],
        _ => &[],
    }
}
