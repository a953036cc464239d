//! A batch of arrivals on one card, which is edited as the batch proceeds. Failures and recoveries are replies in its
//! thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use crate::adapters::slack::render::arrival_batch as render;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::message::MessageKey;
use crate::domain::runtime::arrival::{ArrivalEvent, Author};
use crate::domain::runtime::arrival_batch::{
    ArrivalBatch, BatchedArrival, BatchedArrivalState, MIN_BATCH_SIZE, split_into_batches,
};
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Context;
use crate::workflow::deployments::arrival_message::{
    ArrivalFacts, ArrivalMessage, FAILED, RECOVERED, SightingUpdate, SubscriberContent, find_batch_states,
};
use crate::workflow::facts::sightings::RecentSighting;

/// The most failures of a batch that get a reply of their own.
const MAX_FAILURE_REPLIES: usize = 5;

/// The start of the batch of each update. `None`: too few arrivals for a batch.
pub(crate) fn find_batch_starts(ctx: &Context, updates: &[SightingUpdate<'_>]) -> Vec<Option<Timestamp>> {
    let environments: BTreeSet<&EnvironmentName> = updates.iter().map(|update| &update.environment.name).collect();
    let mut starts: HashMap<(EnvironmentName, ArtefactName), Timestamp> = HashMap::new();
    for environment in environments {
        let in_environment = updates.iter().filter(|update| update.environment.name == *environment);
        let newer: Vec<Sighting> = in_environment.map(|update| update.sighting.clone()).collect();
        let sightings = find_foreign_sightings(ctx, environment, &newer);
        for batch in find_large_batches(&sightings) {
            let Some(first) = batch.first() else { continue };
            let is_updated =
                |recent: &&RecentSighting| newer.iter().any(|update| is_same_sighting(update, &recent.sighting));
            for recent in batch.iter().filter(is_updated) {
                starts.insert((environment.clone(), recent.sighting.artefact.clone()), first.sighting.seen_at);
            }
        }
    }
    let find_start = |update: &SightingUpdate<'_>| {
        starts.get(&(update.environment.name.clone(), update.artefact.name.clone())).copied()
    };
    updates.iter().map(find_start).collect()
}

/// The start of the batch of one recorded sighting.
pub(crate) fn find_batch_start(ctx: &Context, environment: &EnvironmentName, sighting: &Sighting) -> Option<Timestamp> {
    let sightings = find_foreign_sightings(ctx, environment, std::slice::from_ref(sighting));
    let batch = find_large_batches(&sightings)
        .into_iter()
        .find(|batch| batch.iter().any(|recent| is_same_sighting(sighting, &recent.sighting)))?;
    batch.first().map(|first| first.sighting.seen_at)
}

/// The sightings of the last hours that no Gantry change brought, oldest first. A sighting in `newer` replaces the
/// recorded one.
fn find_foreign_sightings(ctx: &Context, environment: &EnvironmentName, newer: &[Sighting]) -> Vec<RecentSighting> {
    let is_excluded = |recent: &RecentSighting| {
        recent.excluded_from_batch
            || ctx.open_changes.active_change_deploying_to(&recent.sighting.artefact, environment).is_some()
    };
    let mut sightings: BTreeMap<(Timestamp, ArtefactName), RecentSighting> = BTreeMap::new();
    for recent in ctx.sightings.recent_sightings(environment) {
        sightings.insert((recent.sighting.seen_at, recent.sighting.artefact.clone()), recent);
    }
    let newer_keys: BTreeSet<_> = newer.iter().map(|sighting| (sighting.seen_at, sighting.artefact.clone())).collect();
    sightings.retain(|key, recent| newer_keys.contains(key) || !is_excluded(recent));
    for (sighting, key) in newer.iter().map(|sighting| (sighting, (sighting.seen_at, sighting.artefact.clone()))) {
        let commit = sightings.get(&key).and_then(|recent| recent.commit.clone());
        sightings.insert(key, RecentSighting { sighting: sighting.clone(), excluded_from_batch: false, commit });
    }
    sightings.into_values().collect()
}

/// The card of the batch. A sighting in `newer` replaces the recorded one.
pub(crate) fn build_batch_message(
    ctx: &Context,
    environment: &Environment,
    started_at: Timestamp,
    newer: &[Sighting],
) -> ArrivalMessage {
    render_batch_message(
        &build_batch(ctx, environment, started_at, newer),
        ArrivalBatch::message_key(&environment.name, started_at),
    )
}

pub(crate) fn build_batch(
    ctx: &Context,
    environment: &Environment,
    started_at: Timestamp,
    newer: &[Sighting],
) -> ArrivalBatch {
    let sightings = find_foreign_sightings(ctx, &environment.name, newer);
    let batch = find_large_batches(&sightings)
        .into_iter()
        .find(|batch| batch.iter().any(|recent| recent.sighting.seen_at == started_at));
    // Of two sightings of an artefact, the later one is shown.
    let mut members: BTreeMap<&ArtefactName, BatchedArrival> = BTreeMap::new();
    for RecentSighting { sighting, commit, .. } in batch.unwrap_or_default() {
        let provenance = ctx.sightings.read_artefact(&sighting.artefact, |artefact_sightings| {
            let entry = artefact_sightings
                .find_in(&environment.name)
                .filter(|entry| is_same_sighting(&entry.sighting, sighting));
            entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
        });
        let member = BatchedArrival {
            artefact: sighting.artefact.clone(),
            version: sighting.version.clone(),
            commit: commit.clone(),
            provenance,
            state: BatchedArrivalState::from_sighting(sighting),
        };
        members.insert(&sighting.artefact, member);
    }
    let catalogue = &ctx.config.catalogue;
    let artefact = members.keys().find_map(|name| catalogue.find_artefact(name.as_str()));
    let above = artefact.and_then(|artefact| catalogue.ladder.find_next_above(&environment.name, artefact));
    let below = artefact.and_then(|artefact| catalogue.ladder.find_next_below(&environment.name, artefact));
    ArrivalBatch {
        environment: environment.name.clone(),
        branch: environment.branch.clone(),
        began_at: started_at,
        next_environment: above.map(|next| next.name.clone()),
        is_first_environment: below.is_none(),
        members: members.into_values().collect(),
    }
}

/// The replies about new failures and recoveries. Each author is mentioned once in a batch.
pub(crate) fn build_batch_replies(
    batch: &ArrivalBatch,
    key: &MessageKey,
    updates: &[(SightingUpdate<'_>, ArrivalFacts)],
) -> Vec<ArrivalMessage> {
    let find_member =
        |update: &SightingUpdate<'_>| batch.members.iter().find(|member| member.artefact == update.artefact.name);
    let select_updates = |event: ArrivalEvent| updates.iter().filter(move |(update, _)| update.event == Some(event));
    let build_reply = |suffix: &str, artefacts: Vec<ArtefactName>, states, rendered, for_subscribers| ArrivalMessage {
        artefacts,
        states,
        key: MessageKey::new(&format!("{key}:{suffix}")),
        thread: Some(key.clone()),
        rendered,
        subscriber_content: SubscriberContent::Rendered(for_subscribers),
    };
    let mut replies = Vec::new();
    let is_new = |member: &&BatchedArrival| {
        select_updates(ArrivalEvent::Failed).any(|(update, _)| update.artefact.name == member.artefact)
    };
    let failed: Vec<&BatchedArrival> =
        batch.members.iter().filter(|member| matches!(member.state, BatchedArrivalState::Failed { .. })).collect();
    let earlier: Vec<&BatchedArrival> = failed.iter().copied().filter(|member| !is_new(member)).collect();
    // The authors of earlier failures of this batch were mentioned already.
    let logins = earlier.iter().filter_map(|member| member.commit.as_ref()?.login.as_deref());
    let mut mentioned_logins: BTreeSet<&str> = logins.collect();
    let mut mentioned: Vec<Author> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    let mut rest_authors: Vec<Author> = Vec::new();
    for (index, (update, facts)) in select_updates(ArrivalEvent::Failed).enumerate() {
        let Some(member) = find_member(update) else { continue };
        let login = facts.commit.as_ref().and_then(|commit| commit.login.as_deref());
        let is_mentioned = login.is_some_and(|login| !mentioned_logins.insert(login));
        let mut authors = facts.authors.clone();
        authors.retain(|author| !mentioned.contains(author));
        if is_mentioned {
            authors.retain(|author| matches!(author, Author::Named(_)));
        }
        mentioned.extend(authors.iter().filter(|author| matches!(author, Author::Person(_))).cloned());
        if earlier.len() + index < MAX_FAILURE_REPLIES {
            let suffix = format!("failed:{}:{}", member.artefact, update.sighting.seen_at.as_microsecond());
            let rendered = render::render_failure(member, &batch.environment, &authors);
            let for_subscribers = render::render_failure(member, &batch.environment, &[]);
            replies.push(build_reply(&suffix, vec![member.artefact.clone()], FAILED, rendered, for_subscribers));
        } else {
            rest.push(member.artefact.as_str());
            rest_authors.extend(authors);
        }
    }
    if !rest.is_empty() {
        // Later failures get a new reply instead of an edit, because a mention in an edit notifies no one.
        let rendered = render::render_more_failures(&rest, &batch.environment, &rest_authors);
        let artefacts = rest.iter().map(|name| ArtefactName::new(name)).collect();
        let for_subscribers = render::render_more_failures(&rest, &batch.environment, &[]);
        let suffix = format!("failed:more:{}", earlier.len());
        replies.push(build_reply(&suffix, artefacts, FAILED, rendered, for_subscribers));
    }
    for (update, _) in select_updates(ArrivalEvent::Recovered) {
        let Some(member) = find_member(update) else { continue };
        let suffix = format!("runs:{}:{}", member.artefact, update.sighting.seen_at.as_microsecond());
        let rendered = render::render_recovery(member, &batch.environment);
        replies.push(build_reply(&suffix, vec![member.artefact.clone()], RECOVERED, rendered.clone(), rendered));
    }
    replies
}

pub(crate) fn render_batch_message(batch: &ArrivalBatch, key: MessageKey) -> ArrivalMessage {
    let artefacts = batch.members.iter().map(|member| member.artefact.clone()).collect();
    let subscriber_content = SubscriberContent::Batch(batch.clone());
    ArrivalMessage {
        artefacts,
        states: find_batch_states(batch),
        key,
        thread: None,
        rendered: render::render_arrival_batch(batch),
        subscriber_content,
    }
}

/// The groups that are large enough for a batch. `sightings` must be sorted by time.
fn find_large_batches(sightings: &[RecentSighting]) -> Vec<&[RecentSighting]> {
    let moments: Vec<Timestamp> = sightings.iter().map(|recent| recent.sighting.seen_at).collect();
    let parts = split_into_batches(&moments).into_iter().map(|part| &sightings[part]);
    let is_large_enough = |part: &&[RecentSighting]| {
        let artefacts: BTreeSet<&ArtefactName> = part.iter().map(|recent| &recent.sighting.artefact).collect();
        artefacts.len() >= MIN_BATCH_SIZE
    };
    parts.filter(is_large_enough).collect()
}

fn is_same_sighting(left: &Sighting, right: &Sighting) -> bool {
    left.seen_at == right.seen_at && left.artefact == right.artefact
}
