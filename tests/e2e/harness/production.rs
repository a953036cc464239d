//! Helpers of tests on production changes: the pull request, the card, the heads of branches.

use gantry::domain::model::version::Sha;
use gantry::sim::github::Pull;
use jiff::SignedDuration;

use crate::harness::world::{World, redact_origin_and_ids, remove_durations};

pub(crate) const REPOSITORY: &str = "acme/checkout";

pub(crate) fn head(world: &World, branch: &str) -> Sha {
    world.sim.github.head(REPOSITORY, branch).expect("a branch")
}

/// The newest card in #releases, without ids, commits and times.
pub(crate) fn card(world: &World) -> String {
    let card = world.public_messages("releases").into_iter().rfind(|text| text.contains("asked by"));
    let mut card = redact_origin_and_ids(world, &card.expect("a card"));
    let frozen = pull(world).map(|pull| pull.head_sha);
    for (sha, name) in [(frozen, "<frozen>"), (world.sim.github.head(REPOSITORY, "prod"), "<prod>")] {
        if let Some(sha) = sha {
            card = card.replace(sha.as_str(), name).replace(sha.short(), name);
        }
    }
    // GitHub needs a random time to find out whether a pull request can be merged, so durations differ by a second or
    // two.
    let steps = card.lines().map(|line| match line.strip_prefix(":white_check_mark: ") {
        _ if line.contains(" \u{203a} ") => remove_durations(line),
        Some(step) => {
            step.split(" \u{b7} ").filter(|part| !part.starts_with("<!date^")).collect::<Vec<_>>().join(" \u{b7} ")
        }
        None => line.to_owned(),
    });
    steps.collect::<Vec<_>>().join("\n")
}

/// The newest pull request.
pub(crate) fn pull(world: &World) -> Option<Pull> {
    world.sim.github.pulls(REPOSITORY).pop()
}

/// Alice promotes checkout to prod, and confirms the plan.
pub(crate) async fn request_production(world: &World) -> Pull {
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    pull(world).expect("a pull request")
}

/// Promotes a newer version to staging, and waits for the soak time of prod.
pub(crate) async fn promote_newer_to_staging(world: &World) {
    world.alice().types("/promote checkout qa").await;
    world.alice().types("/promote checkout staging").await;
    world.wait(SignedDuration::from_secs(6)).await;
}
