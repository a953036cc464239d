//! Reads secrets from variables, or from files that variables name. A secret never appears in a message, a log or
//! `Debug`.

mod docker;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

pub use docker::RegistryLogin;

use super::{Config, SecretSource};
use crate::domain::model::environment::EnvironmentName;

/// The variables that Gantry reads, with their descriptions. No environment may use one for its webhook secret.
pub(super) const KNOWN_VARIABLES: [(&str, &str); 9] = [
    ("SLACK_SIGNING_SECRET", "The signing secret of the Slack app. It verifies requests from Slack."),
    ("SLACK_BOT_TOKEN", "The bot token, `xoxb-...`."),
    (
        "SLACK_APP_TOKEN",
        "The app-level token for Socket Mode, `xapp-...`. In Socket Mode, Slack does not need to reach Gantry by HTTP.",
    ),
    ("GITHUB_TOKEN", "A token for GitHub. A GitHub App is better: set its three variables instead."),
    ("GITHUB_APP_ID", "The id of the GitHub App."),
    ("GITHUB_APP_PRIVATE_KEY", "The private key of the GitHub App, in PEM format."),
    ("GITHUB_APP_INSTALLATION_ID", "The id of the App's installation in the organisation."),
    ("GITHUB_WEBHOOK_SECRET", "The secret that verifies GitHub's webhooks."),
    ("DATABASE_URL", "The database. Default: `sqlite://gantry.db`."),
];

/// A private key of 16 kbit has 13 KB.
const MAX_BYTES: u64 = 64 * 1024;

/// A missing secret is `None`. Only the functions that need it are refused.
#[derive(Clone)]
pub struct Secrets {
    pub slack_signing_secret: Option<SecretString>,
    pub slack_bot_token: Option<SecretString>,
    /// For Socket Mode.
    pub slack_app_token: Option<SecretString>,
    pub github_auth: Option<GithubAuth>,
    pub github_webhook_secret: Option<SecretString>,
    /// All different. The webhooks of an environment without a secret are answered with 401.
    pub webhook_secrets: BTreeMap<EnvironmentName, SecretString>,
    /// By the host that Gantry connects to, with its port if it has one; Docker Hub is `index.docker.io`. Other
    /// registries are used without a login.
    pub registry_logins: BTreeMap<String, RegistryLogin>,
    /// May contain a password.
    pub database_url: String,
    /// The variables that are set, directly or by a file, even if their value is invalid.
    given_variables: BTreeSet<&'static str>,
}

#[derive(Clone, Debug)]
pub enum GithubAuth {
    Token(SecretString),
    App { id: u64, private_key: SecretString, installation: u64 },
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Returns all problems at once. `read_variable` is [`super::read_process_variable`], except in tests.
    pub fn read(config: &Config, read_variable: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let (secrets, problems) = Self::read_with_problems(config, read_variable);
        if problems.is_empty() { Ok(secrets) } else { Err(problems) }
    }

    /// Like [`Secrets::read`], but returns the secrets too. A secret with a problem counts as missing.
    pub fn read_with_problems(config: &Config, read_variable: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut reader = SecretReader { read_variable, problems: Vec::new() };
        let secrets = Self {
            slack_signing_secret: reader.read_secret("SLACK_SIGNING_SECRET"),
            slack_bot_token: reader.read_slack_token(
                "SLACK_BOT_TOKEN",
                "xapp-",
                "an app-level token: set it to the bot token (`xoxb-`)",
            ),
            slack_app_token: reader.read_slack_token(
                "SLACK_APP_TOKEN",
                "xoxb-",
                "a bot token: set it to the app-level token (`xapp-`)",
            ),
            github_auth: reader.read_github_auth(),
            github_webhook_secret: reader.read_secret("GITHUB_WEBHOOK_SECRET"),
            webhook_secrets: reader.read_webhook_secrets(config),
            registry_logins: reader.read_registry_logins(config),
            database_url: reader.read_line("DATABASE_URL").unwrap_or_else(|| "sqlite://gantry.db".to_owned()),
            given_variables: KNOWN_VARIABLES.iter().map(|(name, _)| *name).filter(|name| reader.is_set(name)).collect(),
        };
        (secrets, reader.problems)
    }

    /// Whether one of these variables is set, directly or by a file, even if its value is invalid.
    pub fn is_any_set(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.given_variables.contains(name))
    }
}

struct SecretReader<E> {
    read_variable: E,
    problems: Vec<String>,
}

impl<E: Fn(&str) -> Option<String>> SecretReader<E> {
    fn add_problem(&mut self, sentence: String) {
        self.problems.push(sentence);
    }

    fn is_set(&self, name: &str) -> bool {
        (self.read_variable)(name).is_some() || (self.read_variable)(&format!("{name}_FILE")).is_some()
    }

    /// The value of `name`, or of the file that `<name>_FILE` names. `None` if it is missing, or invalid and reported.
    fn read_value(&mut self, name: &str) -> Option<String> {
        let by_file = format!("{name}_FILE");
        match ((self.read_variable)(name), (self.read_variable)(&by_file)) {
            (Some(_), Some(_)) => {
                self.add_problem(format!("Both {name} and {by_file} are set: unset one of them."));
                None
            }
            (Some(value), None) if value.trim().is_empty() => {
                self.add_problem(format!("{name} is set but empty: give it a value, or unset it."));
                None
            }
            (Some(value), None) => Some(value),
            (None, Some(path)) if path.trim().is_empty() => {
                self.add_problem(format!("{by_file} is set but empty: name a file, or unset it."));
                None
            }
            (None, Some(path)) => self.read_file(Path::new(&path), &format!("{by_file} names")),
            (None, None) => None,
        }
    }

    fn read_file(&mut self, path: &Path, subject: &str) -> Option<String> {
        let shown = path.display();
        let mut text = String::new();
        let result = std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                self.add_problem(format!(
                    "{subject} the file {shown}, which is not UTF-8 text: write the secret into it as text."
                ));
                None
            }
            Err(error) => {
                self.add_problem(format!(
                    "{subject} the file {shown}, which cannot be read ({error}): check the path and its permissions."
                ));
                None
            }
            Ok(length) if length as u64 > MAX_BYTES => {
                self.add_problem(format!(
                    "{subject} the file {shown}, which is too large for a secret: use at most {MAX_BYTES} bytes."
                ));
                None
            }
            Ok(_) if text.trim().is_empty() => {
                self.add_problem(format!("{subject} the file {shown}, which is empty: write the secret into it."));
                None
            }
            Ok(_) => {
                // Editors and `echo` end a file with a newline that is not part of the secret.
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
                Some(text)
            }
        }
    }

    /// Reads a value that must be a single line.
    fn read_line(&mut self, name: &str) -> Option<String> {
        let value = self.read_value(name)?;
        self.require_one_line(name, value)
    }

    fn require_one_line(&mut self, name: &str, value: String) -> Option<String> {
        if value.contains(char::is_control) || value.trim() != value {
            self.add_problem(format!(
                "{name} contains a control character, or begins or ends with a space: copy the value again."
            ));
            return None;
        }
        Some(value)
    }

    fn read_secret(&mut self, name: &str) -> Option<SecretString> {
        self.read_line(name).map(SecretString::from)
    }

    fn read_slack_token(&mut self, name: &str, wrong_prefix: &str, mistaken: &str) -> Option<SecretString> {
        let token = self.read_line(name)?;
        if token.starts_with(wrong_prefix) {
            self.add_problem(format!("{name} holds {mistaken}."));
            return None;
        }
        Some(token.into())
    }

    fn read_number(&mut self, name: &str) -> Option<u64> {
        let text = self.read_line(name)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.add_problem(format!("{name} is not a number: copy it from the settings of the GitHub App."));
        }
        number
    }

    fn read_github_auth(&mut self) -> Option<GithubAuth> {
        const APP: [&str; 3] = ["GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "GITHUB_APP_INSTALLATION_ID"];
        let missing: Vec<&str> = APP.into_iter().filter(|name| !self.is_set(name)).collect();
        if missing.len() < APP.len() && self.is_set("GITHUB_TOKEN") {
            self.add_problem("Both GITHUB_TOKEN and GITHUB_APP_... are set: keep one and unset the other.".to_owned());
            return None;
        }
        if missing.len() == APP.len() {
            return self.read_secret("GITHUB_TOKEN").map(GithubAuth::Token);
        }
        if !missing.is_empty() {
            self.add_problem(format!(
                "A GitHub App also needs {}: set all three GITHUB_APP_... variables.",
                missing.join(" and ")
            ));
        }
        let (id, private_key, installation) =
            (self.read_number(APP[0]), self.read_private_key(APP[1]), self.read_number(APP[2]));
        Some(GithubAuth::App { id: id?, private_key: private_key?, installation: installation? })
    }

    fn read_private_key(&mut self, name: &str) -> Option<SecretString> {
        let mut key = self.read_value(name)?;
        // Some tools cannot set variables with line breaks; people write them as `\n` there.
        if !key.contains('\n') {
            key = key.replace("\\n", "\n");
        }
        if !key.trim_start().starts_with("-----BEGIN ") {
            self.add_problem(format!("{name} is not a private key: use the content of the `.pem` file from GitHub."));
            return None;
        }
        Some(key.into())
    }

    fn read_webhook_secrets(&mut self, config: &Config) -> BTreeMap<EnvironmentName, SecretString> {
        let mut secrets: BTreeMap<EnvironmentName, SecretString> = BTreeMap::new();
        for environment in config.catalogue.ladder.environments() {
            let value = match config.webhook_secrets.get(&environment.name) {
                None => None,
                Some(SecretSource::Variable(name)) => self.read_secret(name),
                Some(SecretSource::File(path)) => self
                    .read_file(path, &format!("The `webhook_secret` of {} is", environment.name))
                    .and_then(|value| {
                        self.require_one_line(&format!("The webhook secret of {}", environment.name), value)
                    })
                    .map(SecretString::from),
            };
            let Some(value) = value else { continue };
            let duplicate = secrets.iter().find(|(_, other)| other.expose_secret() == value.expose_secret());
            if let Some((other, _)) = duplicate {
                // Gantry identifies the environment of a report by the secret that verifies it.
                self.problems.push(format!(
                    "{other} and {} have the same webhook secret: create one for each.",
                    environment.name
                ));
            }
            secrets.insert(environment.name.clone(), value);
        }
        secrets
    }

    fn read_registry_logins(&mut self, config: &Config) -> BTreeMap<String, RegistryLogin> {
        let Some(path) = &config.registry.docker_config else { return BTreeMap::new() };
        let subject = "`registry.docker_config` is";
        let Some(text) = self.read_file(path, subject) else { return BTreeMap::new() };
        docker::parse_logins(&text).unwrap_or_else(|problem| {
            self.add_problem(format!("{subject} the file {}, {problem}", path.display()));
            BTreeMap::new()
        })
    }
}

#[cfg(test)]
mod tests;
