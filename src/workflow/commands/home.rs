//! App Home: rendered when a person opens it, and again for recent readers when a change advances. App Home has no
//! channel, so clicks on its buttons are answered by direct message.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

use crate::adapters::slack::render::home::{self, HomeContent, MAX_CHANGES, MAX_OFFERS};
use crate::adapters::slack::render::list::render_list;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::{Rendered, notice};
use crate::adapters::store::{StoreError, Transaction};
use crate::domain::change::approval::{ApprovalOutcome, ApprovalPlatform};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::{PersonId, Role};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::{Destination, Message, MessageKey};
use crate::domain::model::version::Version;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::list::ListFilter;
use crate::workflow::commands::list::build_listing;
use crate::workflow::commands::status::load_change_details;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::facts::home_readers::HomeSnapshot;
use crate::workflow::requests::reply::Response;

/// Shows a person their Home, or the reason why Gantry does not answer them.
pub(crate) async fn show_home(ctx: &Context, person: &PersonId, role: Role) -> Result<Response, RetryLater> {
    let rendered = if role == Role::Member {
        let now = ctx.clock.now();
        let rendered = render_home(ctx, person, now).await.map_err(|error| RetryLater::from_store_error(&error))?;
        ctx.home_readers.record_opened(person, HomeSnapshot { made_at: now, digest: hash_blocks(&rendered) });
        rendered
    } else {
        notice::render_role_refusal(role)
    };
    Ok(Transaction::new().enqueue_message(build_home_message(person, rendered)).into())
}

/// Renders the current state, with all ages as of `made_at`.
pub(crate) async fn render_home(ctx: &Context, person: &PersonId, made_at: Timestamp) -> Result<Rendered, StoreError> {
    let all = ctx.open_changes.all();
    let all =
        all.iter().map(AsRef::as_ref).filter(|change: &&Change| change.stage.is_active() || change.stage.is_watched());
    let (mut waiting, mut mine, mut others, mut approval_error) = (Vec::new(), Vec::new(), Vec::new(), None);
    for change in all {
        let is_waiting = match needs_approval_from(ctx, person, change).await {
            Ok(is_waiting) => is_waiting,
            Err(reason) => {
                approval_error = Some(reason);
                false
            }
        };
        if is_waiting {
            waiting.push(change);
        } else if change.requester == *person {
            mine.push(change);
        } else {
            others.push(change);
        }
    }
    let shown = [&waiting, &mine, &others].into_iter().flat_map(|changes| changes.iter().take(MAX_CHANGES));
    let details = load_change_details(ctx, &shown.map(|change| change.id).collect::<Vec<_>>()).await?;
    let environments = ctx.config.catalogue.ladder.environments();
    let neighbours = environments.windows(2).map(|pair| (pair[0].name.clone(), pair[1].name.clone())).collect();
    Ok(home::render_home(&HomeContent {
        waiting,
        unknown_reason: approval_error,
        mine,
        others,
        details,
        ladder: render_list(&build_listing(ctx, ListFilter::default(), 0), Viewer::Person, made_at).without_tables(),
        promotions: find_possible_promotions(ctx).await?,
        neighbours,
        now: made_at,
    }))
}

/// Whether the change still needs an approval and this person may give it. `Err`: the reason why that is unknown.
async fn needs_approval_from(ctx: &Context, person: &PersonId, change: &Change) -> Result<bool, String> {
    let Stage::AwaitingApproval(awaiting) = &change.stage else { return Ok(false) };
    let counts = awaiting.clone().record_approval(person, ApprovalPlatform::Slack, &change.requester, ctx.clock.now())
        == ApprovalOutcome::Counted;
    if !counts || awaiting.is_approved() || change.commit_to_approve().is_none() {
        return Ok(false);
    }
    let plan = &change.plan;
    ctx.permissions.may_approve(person, &plan.environment, &plan.repository).await.map_err(|error| error.to_string())
}

/// The healthy versions that are newer than the version in the next environment. The rules are asked only when a person
/// requests the promotion. Quarantined versions and results of rollbacks, which the rules refuse, are left out.
async fn find_possible_promotions(ctx: &Context) -> Result<Vec<(ArtefactName, EnvironmentName, Version)>, StoreError> {
    let catalogue = &ctx.config.catalogue;
    let quarantines = ctx.store.list_quarantines().await?;
    let mut found = Vec::new();
    for artefact in &catalogue.artefacts {
        for environment in catalogue.ladder.environments() {
            let (Some(below), Some(place)) =
                (catalogue.ladder.find_next_below(&environment.name, artefact), artefact.places.get(&environment.name))
            else {
                continue;
            };
            let newer = ctx.sightings.read_artefact(&artefact.name, |sightings| {
                let below = &sightings.find_in(&below.name)?.sighting.version;
                let entry = sightings.find_in(&environment.name)?;
                entry.is_behind_commit(below.commit.as_ref()?).filter(|behind| *behind)?;
                Some(below.clone())
            });
            let Some(newer) = newer else { continue };
            let is_healthy = artefact.places.get(&below.name).is_some_and(|below| {
                matches!(ctx.cluster_view.read_rollout(below, &artefact.image).state, RolloutState::Running { .. })
            });
            if !is_healthy || !ctx.cluster_view.has_been_read(place) {
                continue;
            }
            let is_quarantined = quarantines.iter().any(|it| {
                it.has_artefact(&artefact.name)
                    && it.is_effective_in(&environment.name, &catalogue.ladder)
                    && it.has_version(&newer, None)
            });
            if is_quarantined || is_rollback_result(ctx, artefact, &below.name, &newer).await? {
                continue;
            }
            found.push((artefact.name.clone(), environment.name.clone(), newer));
            if found.len() == MAX_OFFERS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Whether the version is the result of a Gantry rollback after which nothing was promoted there.
async fn is_rollback_result(
    ctx: &Context,
    artefact: &Artefact,
    environment: &EnvironmentName,
    version: &Version,
) -> Result<bool, StoreError> {
    for hold in ctx.store.list_holds(environment).await? {
        if hold.has_any_artefact(std::slice::from_ref(&artefact.name))
            && let Some(rollback) = ctx.store.find_change(hold.change).await?
            && version.commit.is_some()
            && rollback.stage.result_commit() == version.commit.as_ref()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn build_home_message(person: &PersonId, rendered: Rendered) -> Message {
    let key = MessageKey::new(&format!("home:{person}"));
    rendered.into_message(Destination::Home { person: person.clone(), key })
}

pub(crate) fn hash_blocks(rendered: &Rendered) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", rendered.blocks).hash(&mut hasher);
    hasher.finish()
}
