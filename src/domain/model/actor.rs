//! The actors (a person in Slack, a login on GitHub, the controller) and the members that the policy names.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A person's id in Slack, as in `U024BE7LH`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PersonId(Arc<str>);

impl PersonId {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    Person(PersonId),
    Controller,
    /// A person on GitHub, by login.
    Github(String),
}

/// A person or a group that the policy names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// A handle without its `@`, of a user group or of a person. Only Slack knows which.
    Handle(String),
    /// The id of a user group in Slack.
    Group(String),
    Person(PersonId),
    /// A team on GitHub. Its members are known by their logins.
    Team {
        organisation: String,
        team: String,
    },
}

/// A person's role in the workspace, according to Slack. Gantry accepts requests from members only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Member,
    Guest,
    Bot,
    Deactivated,
    Stranger,
}

/// The name of a member in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberLabel {
    /// A user group with its current handle, or with its id if Slack does not answer.
    Group {
        id: String,
        handle: String,
    },
    Person(PersonId),
    /// A team on GitHub, as in `acme/release-managers`.
    Team(String),
    /// A handle that Slack did not resolve.
    Handle(String),
    Everyone,
}
