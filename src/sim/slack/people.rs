//! The people, channels and user groups of the workspace, and Slack's JSON of them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::state::State;

/// A person or a bot in the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Person {
    pub id: String,
    pub name: String,
    pub real_name: String,
    pub email: String,
    pub guest: bool,
    pub bot: bool,
    /// Deactivated: still known by id, but no longer a member of the workspace.
    pub deleted: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub id: String,
    pub name: String,
    pub bot_is_member: bool,
    pub archived: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Group {
    pub(super) id: String,
    pub(super) handle: String,
    pub(super) members: Vec<String>,
}

/// The place of a message: a channel, or one person's direct channel with the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Channel(Channel),
    Direct { id: String, person: String },
}

impl Place {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Channel(channel) => &channel.id,
            Self::Direct { id, .. } => id,
        }
    }

    /// The name that Slack puts into commands and clicks.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Channel(channel) => &channel.name,
            Self::Direct { .. } => "directmessage",
        }
    }
}

impl Person {
    pub(super) fn json(&self, team: &str) -> Value {
        json!({
            "id": self.id,
            "team_id": team,
            "name": self.name,
            "deleted": self.deleted,
            "real_name": self.real_name,
            "tz": "Europe/Kyiv",
            "tz_label": "Eastern European Time",
            "tz_offset": 7200,
            "profile": {
                "real_name": self.real_name,
                "real_name_normalized": self.real_name,
                "display_name": self.name,
                "display_name_normalized": self.name,
                "email": self.email,
                "team": team,
            },
            "is_admin": false,
            "is_owner": false,
            "is_primary_owner": false,
            // Slack calls a guest of many channels restricted, a guest of one channel ultra restricted as well.
            "is_restricted": self.guest,
            "is_ultra_restricted": false,
            "is_bot": self.bot,
            "is_app_user": false,
            "updated": 1_700_000_000,
        })
    }
}

impl Channel {
    pub(super) fn json(&self, state: &State) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": true,
            "is_group": false,
            "is_im": false,
            "is_mpim": false,
            "is_private": false,
            "is_archived": self.archived,
            "is_general": false,
            "is_shared": false,
            "is_member": self.bot_is_member,
            "created": 1_700_000_000,
            "creator": "U0ALICE",
            "num_members": state.members(self).len(),
            "topic": { "value": "", "creator": "", "last_set": 0 },
            "purpose": { "value": "", "creator": "", "last_set": 0 },
        })
    }
}

impl Group {
    pub(super) fn json(&self, team: &str, with_members: bool) -> Value {
        let mut group = json!({
            "id": self.id,
            "team_id": team,
            "is_usergroup": true,
            "is_subteam": true,
            "name": self.handle,
            "description": "",
            "handle": self.handle,
            "is_external": false,
            "date_create": 1_700_000_000,
            "date_update": 1_700_000_000,
            "date_delete": 0,
            "auto_type": null,
            "created_by": "U0ALICE",
            "updated_by": "U0ALICE",
            "deleted_by": null,
            "prefs": { "channels": [], "groups": [] },
            "user_count": self.members.len(),
        });
        if with_members {
            group["users"] = json!(self.members);
        }
        group
    }
}

pub(super) fn direct_json(id: &str, person: &str) -> Value {
    json!({
        "id": id,
        "is_im": true,
        "is_channel": false,
        "is_archived": false,
        "is_open": true,
        "created": 1_700_000_000,
        "user": person,
    })
}
