//! An environment: the branch that is deployed there, and by which policy.

use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

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
}
