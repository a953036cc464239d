//! `doctor`: asks everybody at once whether Gantry can work with them, by the clients that it works with, and changes nothing
//! anywhere. A file for each service finds the facts; `domain/doctor` says what they mean.

mod branch_rules;
mod clock;
pub mod cluster;
mod cluster_probes;
mod github;
pub mod registry;
mod reports;
mod run;
mod slack;
mod store;

pub use run::Doctor;

use futures::FutureExt;

use crate::adapters::slack::render::{self, Rendered};
use crate::domain::change::Proof;
use crate::domain::doctor::{Health, HealthCheck, Service, worst_health};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;

use self::clock::check_clock;
use self::run::{ClockReading, DoctorRun};
use crate::workflow::context::Context;

/// What is known already of the commit of a version that runs.
pub type ProofLookup<'a> = &'a (dyn Fn(&ArtefactName, &EnvironmentName, &Version) -> Option<Proof> + Send + Sync);

impl Doctor {
    /// Everything, in the order of the services. `url` is where another Gantry serves.
    pub async fn run_checks(&self, url: Option<&str>, lookup_proof: ProofLookup<'_>) -> Vec<HealthCheck> {
        let run = DoctorRun::new(self);
        let (slack, github, cluster, store) = tokio::join!(
            slack::check_slack(&run, url).boxed(),
            github::check_github(&run).boxed(),
            run.check_clusters(lookup_proof).boxed(),
            async {
                let store = store::check_store(&run).await;
                let is_readable = worst_health(&store.checks) != Health::Bad;
                let reports = reports::check_reports(&run, is_readable).await;
                [store, reports]
            }
            .boxed(),
        );
        let mut checks = Vec::new();
        let mut heard = Vec::new();
        for (found, times) in [(slack.checks, slack.clock_readings), (github.checks, github.clock_readings), cluster] {
            checks.extend(found);
            heard.extend(times);
        }
        checks.extend(store.into_iter().flat_map(|found| found.checks));
        checks.extend(check_clock(&heard).checks);
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
