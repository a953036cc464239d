//! Looks up accounts and user groups in Slack. Caches nothing.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Client, SendError};
use crate::domain::model::actor::{PersonId, Role};

/// A person's account in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackAccount {
    pub id: PersonId,
    pub role: Role,
    /// The username. People can change their display names but not their usernames.
    pub name: String,
    pub email: Option<String>,
}

/// A user group that is not deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserGroup {
    pub id: String,
    /// Without the `@`.
    pub handle: String,
    pub members: BTreeSet<PersonId>,
}

#[derive(Deserialize)]
struct UserResponse {
    user: SlackUser,
}

#[derive(Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "these are Slack's flags, as Slack names them")]
struct SlackUser {
    id: String,
    name: String,
    team_id: Option<String>,
    deleted: bool,
    is_bot: bool,
    is_stranger: bool,
    is_restricted: bool,
    is_ultra_restricted: bool,
    enterprise_user: Option<WireEnterprise>,
    profile: WireProfile,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireEnterprise {
    teams: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireProfile {
    email: Option<String>,
}

#[derive(Deserialize)]
struct WireGroups {
    usergroups: Vec<WireGroup>,
}

#[derive(Deserialize)]
struct WireGroup {
    id: String,
    handle: String,
    /// A group of another workspace, visible through a shared channel. Its handle may equal that of a local group.
    #[serde(default)]
    is_external: bool,
    date_delete: Option<i64>,
    #[serde(default)]
    users: Vec<PersonId>,
}

impl Client {
    pub async fn fetch_role(&self, person: &PersonId) -> Result<Role, SendError> {
        Ok(self.fetch_account(person).await?.map_or(Role::Stranger, |account| account.role))
    }

    /// `None` for a person that this workspace does not know.
    pub async fn fetch_account(&self, person: &PersonId) -> Result<Option<SlackAccount>, SendError> {
        self.look_up_account("users.info", vec![("user", Some(person.as_str()))]).await
    }

    pub async fn fetch_account_by_email(&self, email: &str) -> Result<Option<SlackAccount>, SendError> {
        self.look_up_account("users.lookupByEmail", vec![("email", Some(email))]).await
    }

    /// Lists all user groups with their members, in one call.
    pub async fn list_user_groups(&self) -> Result<Vec<UserGroup>, SendError> {
        let all: WireGroups = self.call_with_query("usergroups.list", vec![("include_users", Some("true"))]).await?;
        let in_use =
            all.usergroups.into_iter().filter(|group| !group.is_external && group.date_delete.unwrap_or_default() == 0);
        let group = |group: WireGroup| {
            let members = group.users.into_iter().collect();
            UserGroup { id: group.id, handle: group.handle, members }
        };
        Ok(in_use.map(group).collect())
    }

    async fn look_up_account(
        &self,
        method: &str,
        parameters: Vec<(&str, Option<&str>)>,
    ) -> Result<Option<SlackAccount>, SendError> {
        let team = self.fetch_identity().await?.team;
        match self.call_with_query::<UserResponse>(method, parameters).await {
            Ok(UserResponse { user }) => Ok(Some(SlackAccount {
                role: derive_role(&user, &team),
                id: PersonId::new(&user.id),
                name: user.name,
                email: user.profile.email.filter(|email| !email.is_empty()),
            })),
            Err(SendError::Permanent(code))
                if matches!(code.as_str(), "user_not_found" | "users_not_found" | "user_not_visible") =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn derive_role(user: &SlackUser, team: &str) -> Role {
    let is_in_team = user.team_id.as_deref().is_none_or(|id| id == team)
        || user.enterprise_user.as_ref().is_some_and(|enterprise| enterprise.teams.iter().any(|id| id == team));
    if user.deleted {
        Role::Deactivated
    } else if user.is_bot || user.id == "USLACKBOT" {
        Role::Bot
    } else if user.is_stranger || !is_in_team {
        Role::Stranger
    } else if user.is_restricted || user.is_ultra_restricted {
        Role::Guest
    } else {
        Role::Member
    }
}
