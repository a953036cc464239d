//! `doctor`: what is not well with Gantry itself. So far: reports that are about nobody, and environments without any.

use crate::domain::doctor::{self, Reporting};
use crate::reports::Report;
use crate::slack::render::{self, Said};
use crate::store::StoreError;

use super::Bot;

impl Bot {
    pub(super) async fn doctor(&self) -> Result<Said, StoreError> {
        let strays = self.store.unmapped().await?;
        let mut environments = Vec::new();
        for rung in self.config.catalogue.ladder.rungs() {
            let last = self.store.last_report(&rung.name).await?.and_then(|entry| {
                let report: Report = serde_json::from_value(entry.body).ok()?;
                Some((entry.at, report.sender.name().to_owned()))
            });
            let policy = self.config.environments.get(&rung.name);
            let has_secret = policy.is_some_and(|policy| policy.webhook_secret.is_some());
            environments.push(Reporting { environment: rung.name.clone(), has_secret, last });
        }
        let checks = doctor::reports(&strays, &environments);
        Ok(render::doctor::doctor(&checks, self.clock.now()))
    }
}
