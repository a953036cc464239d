//! The configuration: one YAML file, and secrets from variables or files. `tree` parses the text, `shape` checks it
//! against the schema of the raw types (`schema`, `file`), and `validate` and `scalar` make the typed [`Config`]. All
//! errors are reported at once, each with its position.

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
    /// How often the observer compares the ledger with the cluster, in addition to watches and webhooks.
    pub look_every: SignedDuration,
    pub catalogue: Catalogue,
    /// The source of the secret that verifies an environment's reports.
    pub webhook_secrets: BTreeMap<EnvironmentName, SecretSource>,
    /// The controllers that Gantry calls after a change in Git.
    pub triggers: BTreeMap<EnvironmentName, ReconcileTrigger>,
    /// The rules for the channels that are notified besides the environments' own.
    pub audience: SubscriptionRules,
    /// The rules that assign reports to artefacts. The first rule that matches applies.
    pub attribution_rules: Vec<AttributionRule>,
    /// GitHub logins of people that cannot be found by their e-mail address.
    pub github_logins: BTreeMap<PersonId, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackConfig {
    /// Without a trailing slash.
    pub api_url: String,
    /// Scheme, host and port: the only origin that a `response_url` may have.
    pub hooks_origin: String,
    /// The default channel. It is already filled in for the environments of the catalogue.
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
    /// Without a trailing slash.
    pub api_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryConfig {
    /// From a registry's host (`ghcr.io`) to the origin that Gantry calls instead (`http://127.0.0.1:8484`).
    pub mirrors: BTreeMap<String, String>,
    /// The file with the logins to registries.
    pub docker_config: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretSource {
    /// The name of a variable. The variable `<name>_FILE` may hold the path of a file instead.
    Variable(String),
    File(PathBuf),
}

/// The URL that Gantry calls after a change in Git, so that the controller reconciles at once.
#[derive(Clone, PartialEq, Eq)]
pub enum ReconcileTrigger {
    FluxReceiver(String),
    ArgocdWebhook(String),
}

/// Hides the URL, because the URL alone is enough to trigger the controller.
impl std::fmt::Debug for ReconcileTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FluxReceiver(_) => "FluxReceiver",
            Self::ArgocdWebhook(_) => "ArgocdWebhook",
        })
    }
}

/// Reads a variable of this process. A value that is not valid Unicode counts as set, so that it leads to an error.
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
