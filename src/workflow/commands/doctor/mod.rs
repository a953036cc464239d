//! `doctor`: checks all services at once with the clients that Gantry works with, and changes nothing anywhere. One file
//! per service sends its requests and words its findings.

mod branch_rules;
mod clock;
mod cluster;
mod github;
mod registry;
mod reports;
mod run;
mod slack;
mod store;

use futures::FutureExt;

use crate::adapters::slack::render::Rendered;
use crate::adapters::slack::render::doctor::render_doctor;
use crate::domain::change::Proof;
use crate::domain::doctor::{Health, HealthCheck, Service, worst_health};
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Version;
use crate::workflow::context::Context;

pub use cluster::ProofLookup;
pub use run::Doctor;
use run::{DoctorRun, ServiceFindings};

/// Answers `/gantry doctor`.
pub(crate) async fn run_doctor(ctx: &Context) -> Rendered {
    let lookup_proof = |artefact: &Artefact, environment: &EnvironmentName, version: &Version| {
        ctx.image_commits.find_proof(&artefact.image, version).or_else(|| {
            // A commit that is known from neither tag nor label came from a controller's report.
            let sighting = ctx.sightings.find_sighting(&artefact.name, environment)?;
            (sighting.version.is_same_image(version) && sighting.version.commit.is_some()).then_some(Proof::Report)
        })
    };
    render_doctor(&run_checks(&ctx.doctor, None, &lookup_proof).await, ctx.clock.now())
}

/// All checks, in the order of the services. `url` is the public address of a running Gantry, to which a signed test
/// request is sent.
pub async fn run_checks(doctor: &Doctor, url: Option<&str>, lookup_proof: ProofLookup<'_>) -> Vec<HealthCheck> {
    let run = DoctorRun::new(doctor);
    let check_running_images = async {
        let (clusters, running) = cluster::check_clusters(&run).await;
        let (proofs, registry) = tokio::join!(
            cluster::check_commit_proofs(&run, &running, lookup_proof),
            registry::check_registry(&run, &running)
        );
        [clusters, proofs, registry]
    };
    let check_database = async {
        let store = store::check_store(&run).await;
        let is_readable = worst_health(&store.checks) != Health::Bad;
        let reports = reports::check_reports(&run, is_readable).await;
        [store, reports]
    };
    let (slack, github, images, database) = tokio::join!(
        slack::check_slack(&run, url).boxed(),
        github::check_github(&run).boxed(),
        check_running_images.boxed(),
        check_database.boxed(),
    );
    let mut all = ServiceFindings::new(Service::Configuration);
    all.add_all([slack, github].into_iter().chain(images).chain(database));
    all.checks.extend(clock::check_clock(&all.clock_skews).checks);
    all.checks.sort_by_key(|check| check.service);
    all.checks
}

/// The errors of the configuration and the secrets. Each sentence ends with the next step.
pub fn build_configuration_checks(sentences: &[String]) -> Vec<HealthCheck> {
    let check = |sentence: &String| {
        HealthCheck::new(Service::Configuration, Health::Bad, sentence.trim().trim_end_matches('.'), "")
    };
    sentences.iter().map(check).collect()
}
