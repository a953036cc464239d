//! What Gantry is told before it starts: one YAML file, and secrets from variables or files. The text becomes a tree that
//! knows its places (`tree`), which is checked against the schema of the raw types (`shape`, `schema`, `file`) and turned
//! into what the rest works with (`validate`, `scalar`). Everything that is wrong is said at once, with its place.

mod file;
mod load;
mod problem;
mod reference;
mod scalar;
mod schema;
mod secrets;
mod shape;
mod tree;
mod validate;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::SignedDuration;

use crate::domain::change::subscription::SubscriptionRules;
use crate::domain::model::actor::PersonId;
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::attribution::AttributionRule;

pub use problem::ConfigProblem;
pub use reference::render_reference;
pub use schema::build_schema;
pub use secrets::{GithubAuth, RegistryLogin, Secrets};

#[derive(Clone, Debug)]
pub struct Config {
    pub slack: SlackConfig,
    pub github: GithubConfig,
    pub registry: RegistryConfig,
    /// `None`: `$KUBECONFIG`, else the cluster that Gantry runs in.
    pub kubeconfig: Option<PathBuf>,
    /// How often ledger and cluster are compared, whatever watches and webhooks tell.
    pub look_every: SignedDuration,
    pub catalogue: Catalogue,
    /// Where the secret that verifies an environment's reports is read from.
    pub webhook_secrets: BTreeMap<EnvironmentName, SecretSource>,
    /// The controllers that are called after Git has moved.
    pub triggers: BTreeMap<EnvironmentName, ReconcileTrigger>,
    /// Who else is told.
    pub audience: SubscriptionRules,
    /// Whom reports are about; the first that fits is taken.
    pub attribution_rules: Vec<AttributionRule>,
    /// Logins on GitHub, where the e-mail address does not tell.
    pub github_logins: BTreeMap<PersonId, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackConfig {
    /// Without a slash at its end.
    pub api_url: String,
    /// Scheme, host and port; the only place a `response_url` may point to.
    pub hooks_origin: String,
    /// The default channel. Every environment of the catalogue has its own already.
    pub channel: Option<String>,
    pub list_to: ListVisibility,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListVisibility {
    Person,
    Channel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubConfig {
    /// Without a slash at its end.
    pub api_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryConfig {
    /// From a registry's host (`ghcr.io`) to the origin where it is reached (`http://127.0.0.1:8484`).
    pub mirrors: BTreeMap<String, String>,
    /// The file with the logins; `None`: no registry needs one.
    pub docker_config: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretSource {
    /// A variable of this name, or the file that `<name>_FILE` names.
    Variable(String),
    File(PathBuf),
}

/// What to call after Git has moved, so that the controller looks at once.
#[derive(Clone, PartialEq, Eq)]
pub enum ReconcileTrigger {
    FluxReceiver(String),
    ArgocdWebhook(String),
}

/// Without the address, which is all that it takes to use it.
impl std::fmt::Debug for ReconcileTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FluxReceiver(_) => "FluxReceiver",
            Self::ArgocdWebhook(_) => "ArgocdWebhook",
        })
    }
}

/// A variable of this process. One that is not text counts as set, so that it is refused and not overlooked.
pub fn read_process_variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables; callers pass it on")]
    match std::env::var(name) {
        Ok(value) => Some(value),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(value)) => Some(value.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests;
