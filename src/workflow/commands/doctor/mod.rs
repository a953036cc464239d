//! `doctor`: asks everybody at once whether Gantry can work with them, by the clients that it works with, and changes nothing
//! anywhere. A file for each service finds the facts; `domain/doctor` says what they mean.

pub mod branch_rules;
pub mod clock;
pub mod cluster;
mod cluster_probes;
pub mod github;
mod github_probes;
pub mod registry;
pub mod reports;
mod run;
pub mod slack;
mod slack_probes;
pub mod store;

pub use run::Doctor;

use futures::FutureExt;

use crate::adapters::reports::Report;
use crate::adapters::slack::render::{self, Rendered};
use crate::adapters::store::{self as database, DatabaseProbe, LedgerDetails, ReportSummary};
use crate::domain::change::Proof;
use crate::domain::doctor::{Health, HealthCheck, Service};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

use self::clock::{ClockReading, check_clock};
use self::reports::WebhookStatus;
use self::run::DoctorRun;
use self::store as found_store;
use crate::workflow::context::Context;

/// What is known already of the commit of a version that runs.
pub type ProofLookup<'a> = &'a (dyn Fn(&ArtefactName, &EnvironmentName, &Version) -> Option<Proof> + Send + Sync);

impl Doctor {
    /// Everything, in the order of the services. `url` is where another Gantry serves.
    pub async fn run_checks(&self, url: Option<&str>, lookup_proof: ProofLookup<'_>) -> Vec<HealthCheck> {
        let run = DoctorRun::new(self);
        let (slack, github, cluster, store) = tokio::join!(
            run.check_slack(url).boxed(),
            run.check_github().boxed(),
            run.check_clusters(lookup_proof).boxed(),
            run.check_store().boxed(),
        );
        let mut checks = Vec::new();
        let mut heard = Vec::new();
        for (found, times) in [slack, github, cluster] {
            checks.extend(found);
            heard.extend(times);
        }
        checks.extend(store);
        checks.extend(check_clock(&heard));
        checks.sort_by_key(|check| check.service);
        checks
    }
}

impl DoctorRun<'_> {
    fn build_clock_reading(&self, from: &str, said: Option<jiff::Timestamp>) -> Option<ClockReading> {
        said.map(|said| ClockReading {
            service: from.to_owned(),
            service_time: said,
            local_time: self.doctor.clock.now(),
        })
    }

    /// The database, and what it keeps of reports.
    async fn check_store(&self) -> Vec<HealthCheck> {
        let looked =
            self.limit_time(database::probe(&self.doctor.secrets.database_url, self.doctor.owns_database)).await;
        let mut checks = vec![found_store::check_store(&match looked {
            Ok(DatabaseProbe::New { file }) => found_store::DatabaseState::New { file },
            Ok(DatabaseProbe::InUse { file, by }) => found_store::DatabaseState::InUse { file, by },
            Ok(DatabaseProbe::Writable { file, schema, ours }) => {
                found_store::DatabaseState::Writable { file, schema, known_schema: ours }
            }
            Err(trouble) => found_store::DatabaseState::Broken(trouble.to_string()),
        })];
        let rungs: Vec<_> =
            self.doctor.config.catalogue.ladder.environments().iter().map(|rung| rung.name.clone()).collect();
        let reported = if checks[0].health == Health::Bad {
            Ok(None)
        } else {
            self.limit_time(database::read_report_summary(
                &self.doctor.secrets.database_url,
                &rungs,
                self.doctor.clock.now(),
            ))
            .await
        };
        checks.extend(match reported {
            Ok(reported) => self.check_reports(&rungs, reported),
            Err(trouble) => vec![reports::explain_unreadable(&trouble)],
        });
        checks
    }

    fn check_reports(&self, rungs: &[EnvironmentName], reported: Option<ReportSummary>) -> Vec<HealthCheck> {
        let policies = &self.doctor.config.policies;
        let has_secret = |name| policies.get(name).is_some_and(|policy| policy.webhook_secret.is_some());
        let Some(ReportSummary { unmapped: strays, last_reports: last }) = reported else {
            return reports::check_missing_secrets(rungs.iter().filter(|name| !has_secret(name)));
        };
        let last = |name: &EnvironmentName| {
            let entry = last.iter().find(|entry| entry.environment.as_ref() == Some(name))?;
            let Some(LedgerDetails::Report { report, .. }) = &entry.details else { return None };
            let report: Report = serde_json::from_value(report.clone()).ok()?;
            Some((entry.at, report.sender.display_name().to_owned()))
        };
        let environments: Vec<_> = rungs
            .iter()
            .map(|name| WebhookStatus {
                environment: name.clone(),
                has_secret: has_secret(name),
                last_report: last(name),
            })
            .collect();
        reports::check_reports(&strays, &environments)
    }
}

impl Context {
    pub(crate) async fn run_doctor(&self) -> Rendered {
        let lookup_proof = |artefact: &ArtefactName, environment: &EnvironmentName, version: &Version| {
            self.find_known_proof(artefact, environment, version)
        };
        render::doctor::render_doctor(&self.doctor.run_checks(None, &lookup_proof).await, self.clock.now())
    }
}

/// What is wrong with the configuration or the secrets, each a sentence that ends with what to do.
pub fn build_configuration_checks(sentences: &[String]) -> Vec<HealthCheck> {
    let check = |sentence: &String| HealthCheck {
        repair: None,
        ..HealthCheck::new_bad(Service::Configuration, sentence.trim().trim_end_matches('.'), "")
    };
    sentences.iter().map(check).collect()
}
