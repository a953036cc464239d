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
pub mod slack;
mod slack_probes;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use crate::adapters::cluster::{ClusterClients, ClusterError};
use crate::adapters::github::{self as hub, GithubError};
use crate::adapters::registry::{self as images, RegistryError};
use crate::adapters::reports::Report;
use crate::adapters::slack as chat;
use crate::adapters::slack::client::SendError;
use crate::adapters::slack::render::{self, Rendered};
use crate::adapters::store::{self as database, DatabaseProbe, LedgerDetails, ReportSummary, StoreError};
use crate::clock::Clock;
use crate::config::{Config, Secrets};
use crate::domain::change::Proof;
use crate::domain::doctor::{Health, HealthCheck, ProbeError, ProbeResult, Service};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

use self::clock::{ClockReading, check_clock};
use self::reports::WebhookStatus;
use self::store as found_store;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

/// For one question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(6);
/// For all of them together: whoever asked still waits.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(18);
/// Questions to one service that are under way at the same time.
const MAX_PARALLEL_QUESTIONS: usize = 8;

/// The means to look with. Clones share them.
#[derive(Clone)]
pub struct Doctor {
    pub config: Arc<Config>,
    pub secrets: Arc<Secrets>,
    pub clock: Clock,
    /// `None` without a token.
    pub slack: Option<chat::client::Client>,
    pub github: hub::Client,
    pub registry: images::Client,
    pub cluster_clients: ClusterClients,
    /// This process uses the database itself.
    pub owns_database: bool,
}

/// What is known already of the commit of a version that runs.
pub type ProofLookup<'a> = &'a (dyn Fn(&ArtefactName, &EnvironmentName, &Version) -> Option<Proof> + Send + Sync);

/// One look, which must come to an end.
struct DoctorRun<'a> {
    doctor: &'a Doctor,
    deadline: Instant,
}

/// A few at a time, in their order. Boxed, because the compiler cannot prove these futures to be `Send` otherwise.
async fn join_all_bounded<T>(questions: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    futures::stream::iter(questions).buffered(MAX_PARALLEL_QUESTIONS).collect().await
}

impl Doctor {
    /// Everything, in the order of the services. `url` is where another Gantry serves.
    pub async fn run_checks(&self, url: Option<&str>, lookup_proof: ProofLookup<'_>) -> Vec<HealthCheck> {
        let run = DoctorRun { doctor: self, deadline: Instant::now() + TOTAL_TIMEOUT };
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
    /// One question, for which there is only so much time.
    async fn ask_with_timeout<T, E: Into<ProbeError>>(
        &self,
        question: impl Future<Output = Result<T, E>>,
    ) -> ProbeResult<T> {
        let begun = Instant::now();
        let limit = (begun + QUESTION_TIMEOUT).min(self.deadline);
        match tokio::time::timeout_at(limit, question).await {
            Ok(answer) => answer.map_err(Into::into),
            Err(_) => Err(ProbeError::Unreachable(format!("no answer in {} s", begun.elapsed().as_secs().max(1)))),
        }
    }

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
            self.ask_with_timeout(database::probe(&self.doctor.secrets.database_url, self.doctor.owns_database)).await;
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
            self.ask_with_timeout(database::read_report_summary(
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

impl From<SendError> for ProbeError {
    fn from(error: SendError) -> Self {
        match &error {
            // To the outbox a wrong token passes: somebody will put it right. Here it is what we look for.
            SendError::Unauthorised(why) => Self::Refused(why.clone()),
            SendError::RateLimited { .. } | SendError::Transient(_) => Self::Unreachable(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

impl From<GithubError> for ProbeError {
    fn from(error: GithubError) -> Self {
        match error {
            GithubError::Unauthorised(why) | GithubError::NotFound(why) => {
                Self::Refused(format!("it says \u{201c}{why}\u{201d}"))
            }
            GithubError::Unavailable(why) | GithubError::Unclear(why) | GithubError::Other(why) => {
                Self::Unreachable(why)
            }
            error => Self::Unreachable(error.to_string()),
        }
    }
}

impl From<ClusterError> for ProbeError {
    fn from(error: ClusterError) -> Self {
        let why = error.to_string();
        let refused = why.starts_with("forbidden") || why.starts_with("unauthorised");
        if refused { Self::Refused(why) } else { Self::Unreachable(why) }
    }
}

impl From<RegistryError> for ProbeError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Unauthorised(why) => Self::Refused(why),
            RegistryError::Unavailable(why) | RegistryError::Other(why) => Self::Unreachable(why),
        }
    }
}

impl From<LookupError> for ProbeError {
    fn from(error: LookupError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<StoreError> for ProbeError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.to_string())
    }
}
