//! `list`: answered from memory, without requests to other services and without writes.

use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::{self, Rendered};
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::list::{ListCell, ListFilter, Listing};
use crate::workflow::context::Context;
use crate::workflow::facts::table_support::TableSupport;

pub fn answer_list(ctx: &Context, filter: ListFilter, page: usize, viewer: Viewer<'_>) -> Rendered {
    let rendered = render::list::render_list(&build_listing(ctx, filter, page), viewer, ctx.clock.now());
    match ctx.table_support.support() {
        TableSupport::Refused => rendered.without_tables(),
        TableSupport::Accepted | TableSupport::Unknown => rendered,
    }
}

pub(crate) fn build_listing(ctx: &Context, filter: ListFilter, page: usize) -> Listing {
    Listing::from_catalogue(&ctx.config.catalogue, filter, page, |artefact, environment| {
        let Some(place) = artefact.places.get(environment) else {
            let state = RolloutState::Missing;
            return ListCell { version: None, state, since: None, is_behind: None, not_from_git: false };
        };
        let rollout = ctx.cluster_view.read_rollout(place, &artefact.image);
        let version = rollout.version;
        let is_running = matches!(rollout.state, RolloutState::Running { .. });
        let below = ctx.config.catalogue.ladder.find_next_below(environment, artefact);
        ctx.sightings.read_artefact(&artefact.name, |sightings| {
            let entry = sightings.find_in(environment);
            let below =
                below.and_then(|environment| sightings.find_in(&environment.name)?.sighting.version.commit.as_ref());
            let current = entry
                .filter(|entry| version.as_ref().is_some_and(|version| entry.sighting.version.is_same_image(version)));
            // A cluster that cannot be read is shown with its last sighting.
            let shown_entry = if version.is_none() && matches!(rollout.state, RolloutState::Unreadable { .. }) {
                entry
            } else {
                current
            };
            let shown = version.as_ref().or(shown_entry.map(|entry| &entry.sighting.version));
            let label = shown.map(|version| version.tag.clone().unwrap_or_else(|| version.label().into()));
            ListCell {
                version: label,
                // A version that broke shows since when it is broken, not since when it runs.
                since: current.filter(|_| is_running).and_then(|entry| entry.sighting.running_at).or(rollout.since),
                is_behind: current.and_then(|entry| entry.is_behind_commit(below?)),
                not_from_git: current.is_some_and(|entry| entry.provenance.is_not_from_git()),
                state: rollout.state,
            }
        })
    })
}
