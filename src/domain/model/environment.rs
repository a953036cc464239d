//! An environment: its branch, its place in a cluster, its channel and its policy.

use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::actor::Member;
use super::freeze::Freeze;
use super::workload::Namespace;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvironmentName(Arc<str>);

impl EnvironmentName {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvironmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a promotion enters the branch of an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromotionMethod {
    #[default]
    Merge,
    PullRequest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    pub name: EnvironmentName,
    pub aliases: Vec<String>,
    pub branch: String,
    pub namespace: Namespace,
    /// The Slack channel for the messages of this environment: a name (`#deploys`) or an id.
    pub channel: String,
    pub promotion_method: PromotionMethod,
    pub deploy_timeout: SignedDuration,
    pub policy: Policy,
}

/// The configured conditions for changes to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub approvals: Option<Approvals>,
    /// How long a change waits for its approvals.
    pub approval_timeout: SignedDuration,
    /// The members who may promote into the environment; empty means everyone in the workspace.
    pub promoters: Vec<Member>,
    /// The members who may override a gate; empty means no one.
    pub overriders: Vec<Member>,
    pub freezes: Vec<Freeze>,
    /// How a rollback enters the branch.
    pub rollback_method: PromotionMethod,
    /// A promotion that fails here is rolled back without a confirmation.
    pub auto_rollback: bool,
    /// The longest time without a sign of life after the merge. After it, the card shows a warning.
    pub stall_after: SignedDuration,
    /// How long a version must have been healthy in the environment below.
    pub soak: Option<SignedDuration>,
    /// A commit without a green check may not be promoted into the environment.
    pub checks_required: bool,
    /// The template of its tags, with `{environment}`, `{artefact}`, `{date}` and `{n}`; `None`: the default of the
    /// delivery.
    pub tag_template: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            approvals: None,
            approval_timeout: SignedDuration::from_hours(24),
            promoters: Vec::new(),
            overriders: Vec::new(),
            freezes: Vec::new(),
            rollback_method: PromotionMethod::Merge,
            auto_rollback: false,
            stall_after: SignedDuration::from_mins(5),
            soak: None,
            checks_required: false,
            tag_template: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// At least 1.
    pub required: u32,
    /// The members who may approve; empty means everyone in the workspace.
    pub approvers: Vec<Member>,
}
