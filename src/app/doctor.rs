//! `gantry doctor`: builds the clients as far as the configuration allows. A client that cannot be built is a finding,
//! and the other checks still run.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::cluster::ClusterClients;
use crate::adapters::{github, registry, slack};
use crate::clock::Clock;
use crate::config::{Config, Secrets};
use crate::domain::doctor::HealthCheck;
use crate::workflow::commands::doctor::{self, Doctor, build_configuration_checks};

/// `url` is the address of a running Gantry.
pub async fn run_checks(
    path: &Path,
    url: Option<&str>,
    clock: &Clock,
    read_variable: impl Fn(&str) -> Option<String>,
) -> Vec<HealthCheck> {
    let config = match Config::load_with_variables(path, &read_variable) {
        Ok(config) => config,
        Err(problems) => {
            return build_configuration_checks(&problems.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
    };
    let (mut secrets, mut found_problems) = Secrets::read_with_problems(&config, &read_variable);
    let mut add_problem = |error: &dyn std::fmt::Display| found_problems.push(error.to_string());

    let slack = secrets.slack_bot_token.clone().and_then(|token| {
        let client = slack::client::Client::new(&config.slack.api_url, &config.slack.hooks_origin, token);
        client.map_err(|error| add_problem(&error)).ok()
    });
    let new_github = |auth| github::Client::new(&config.github.api_url, auth, clock.clone());
    let github = new_github(secrets.github_auth.clone().into()).or_else(|error| {
        add_problem(&error);
        secrets.github_auth = None;
        new_github(github::client::Auth::None)
    });
    let registry = registry::Client::new(&config.registry.mirrors, &secrets.registry_logins);
    let (github, registry) = match (github, registry) {
        (Ok(github), Ok(registry)) => (github, registry),
        (github, registry) => {
            github.err().iter().for_each(|error| add_problem(error));
            registry.err().iter().for_each(|error| add_problem(error));
            return build_configuration_checks(&found_problems);
        }
    };
    let mut checks = build_configuration_checks(&found_problems);
    let doctor = Doctor {
        cluster_clients: ClusterClients::new(config.kubeconfig.clone()),
        config: Arc::new(config),
        secrets: Arc::new(secrets),
        clock: clock.clone(),
        slack,
        github,
        registry,
        owns_database: false,
    };
    checks.extend(doctor::run_checks(&doctor, url, &|_, _, _| None).await);
    checks
}
