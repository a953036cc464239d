//! Helpers of tests on production changes: the pull request, the card, the heads of branches.

use gantry::domain::model::version::Sha;
use gantry::sim::github::Pull;
use jiff::SignedDuration;

use crate::harness::world::{World, redact_origin_and_ids, remove_durations};

pub(crate) const REPOSITORY: &str = "acme/checkout";

pub(crate) fn head(world: &World, branch: &str) -> Sha {
    world.sim.github.head(REPOSITORY, branch).expect("a branch")
}

/// The newest card in #releases, with what is chance in it taken out.
pub(crate) fn card(world: &World) -> String {
    let card = world.public_messages("releases").into_iter().rfind(|told| told.contains("asked by"));
    let mut card = redact_origin_and_ids(world, &card.expect("a card"));
    let frozen = pull(world).map(|pull| pull.head_sha);
    for (sha, name) in [(frozen, "<frozen>"), (world.sim.github.head(REPOSITORY, "prod"), "<prod>")] {
        if let Some(sha) = sha {
            card = card.replace(sha.as_str(), name).replace(sha.short(), name);
        }
    }
    // Whether GitHub tells at once that it can be merged is chance, and with it a second or two.
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

/// Alice asks for checkout in prod, and confirms.
pub(crate) async fn request_production(world: &World) -> Pull {
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    pull(world).expect("a pull request")
}

/// Moves something newer up to staging.
pub(crate) async fn promote_newer_to_staging(world: &World) {
    world.alice().types("/promote checkout qa").await;
    world.alice().types("/promote checkout staging").await;
    // It must soak there for some seconds.
    world.wait(SignedDuration::from_secs(6)).await;
}
