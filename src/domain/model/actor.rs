//! Who acts: a person in Slack, or the controller that deploys by itself. And how the rules name people.

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
    /// Somebody on GitHub, by their login.
    Github(String),
}

/// Whom a rule names: one person, or everybody of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// Without its `@`: a user group's of Slack, or a person's. Only Slack can tell which.
    Handle(String),
    /// The id of a user group of Slack.
    Group(String),
    Person(PersonId),
    /// A team of GitHub: people are in it by their logins.
    Team {
        organisation: String,
        team: String,
    },
}

/// What Slack says a person is to the workspace. Only members may ask anything of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Member,
    Guest,
    Bot,
    Deactivated,
    Stranger,
}

/// How somebody of a list of members is called in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberLabel {
    /// A user group, with its handle as it is now; its id where Slack does not tell.
    Group {
        id: String,
        handle: String,
    },
    Person(PersonId),
    /// A team of GitHub's: `acme/release-managers`.
    Team(String),
    /// What only Slack could tell more about.
    Handle(String),
    Everyone,
}
