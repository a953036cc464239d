//! The configuration, kubeconfig and secrets with which a Gantry runs against the simulated services. The demo's own
//! bot, the tests and every caller of `GET /sim/connect` get them from here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::cluster;
use super::world::{
    APP_TOKEN, BOT_TOKEN, GITHUB_TOKEN, GITHUB_WEBHOOK_SECRET, SIGNING_SECRET, TEAM, World, webhook_secrets,
};

/// A placeholder for the path of the kubeconfig, which only the caller knows.
const KUBECONFIG_PATH: &str = "{kubeconfig}";

/// The answer of `GET /sim/connect`.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectDetails {
    /// A `gantry.yaml` with `{kubeconfig}` in place of the path.
    pub config: String,
    pub kubeconfig: String,
    pub env: BTreeMap<String, String>,
    pub team: String,
    /// Ids by name.
    pub channels: BTreeMap<String, String>,
    pub users: BTreeMap<String, String>,
}

impl ConnectDetails {
    /// Writes the kubeconfig into the folder and returns the configuration that names it.
    pub fn write_kubeconfig(&self, folder: &Path) -> std::io::Result<String> {
        let path = folder.join("kubeconfig");
        std::fs::write(&path, &self.kubeconfig)?;
        Ok(self.config.replace(KUBECONFIG_PATH, &path.display().to_string()))
    }

    /// A variable by name, for [`crate::config::Secrets::read`].
    pub fn find_variable(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

impl World {
    pub fn connect_details(&self) -> ConnectDetails {
        let people = self.slack.people().into_iter().filter(|person| !person.bot);
        ConnectDetails {
            config: include_str!("world.yaml").replace("{origin}", &self.origin),
            kubeconfig: self.render_kubeconfig(),
            env: self.list_variables(),
            team: TEAM.0.to_owned(),
            channels: self.slack.channels().into_iter().map(|channel| (channel.name, channel.id)).collect(),
            users: people.map(|person| (person.name, person.id)).collect(),
        }
    }

    fn render_kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: world\nclusters:\n- name: world\n  cluster: {{ server: \"{}/sim/cluster\" }}\n\
             users:\n- name: gantry\n  user: {{ token: {} }}\ncontexts:\n- name: world\n  context: {{ cluster: world, user: gantry }}\n",
            self.origin,
            cluster::TOKEN
        )
    }

    fn list_variables(&self) -> BTreeMap<String, String> {
        let slack = if self.slack.uses_sockets() {
            ("SLACK_APP_TOKEN", APP_TOKEN)
        } else {
            ("SLACK_SIGNING_SECRET", SIGNING_SECRET)
        };
        let services = [
            slack,
            ("SLACK_BOT_TOKEN", BOT_TOKEN),
            ("GITHUB_TOKEN", GITHUB_TOKEN),
            ("GITHUB_WEBHOOK_SECRET", GITHUB_WEBHOOK_SECRET),
        ];
        let services = services.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let reports = webhook_secrets().into_iter();
        let reports =
            reports.map(|(environment, secret)| (format!("FLUX_{}_SECRET", environment.to_uppercase()), secret));
        services.into_iter().chain(reports).collect()
    }
}
