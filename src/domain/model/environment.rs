//! An environment: the branch that is deployed there, and by which policy.

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

/// How a promotion into an environment enters its branch.
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
    /// The Slack channel its messages go to: a name (`#deploys`) or an id.
    pub channel: String,
    pub promotion_method: PromotionMethod,
    pub deploy_timeout: SignedDuration,
    pub policy: Policy,
}

/// What is asked of a change to an environment, beyond what the ladder itself knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub approvals: Option<Approvals>,
    /// How long a change waits for its approvals.
    pub approval_timeout: SignedDuration,
    /// Who may promote into it; empty means everyone in the workspace.
    pub promoters: Vec<Member>,
    /// Who may let in what a rule holds back; empty means nobody.
    pub overriders: Vec<Member>,
    pub freezes: Vec<Freeze>,
    /// How a rollback enters the branch.
    pub rollback_method: PromotionMethod,
    /// A promotion that fails here is rolled back without asking.
    pub auto_rollback: bool,
    /// How long what Git has may show no sign of life before the card says so.
    pub stall_after: SignedDuration,
    /// How long a version must have run well in the environment below.
    pub soak: Option<SignedDuration>,
    /// A commit without any green check may not be promoted into it.
    pub checks_required: bool,
    /// The template of its tags, with `{environment}`, `{artefact}`, `{date}` and `{n}`; `None`: the default of the delivery.
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
    /// Whose yes counts; empty means everyone in the workspace.
    pub approvers: Vec<Member>,
}
