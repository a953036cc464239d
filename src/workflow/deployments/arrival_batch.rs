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
pub(crate) fn find_batch_starts(ctx: &Context, found: &[SightingUpdate<'_>]) -> Vec<Option<Timestamp>> {
    let environments: BTreeSet<&EnvironmentName> = found.iter().map(|found| &found.environment.name).collect();
    let mut begun: HashMap<(EnvironmentName, ArtefactName), Timestamp> = HashMap::new();
    for environment in environments {
        let here = found.iter().filter(|found| found.environment.name == *environment);
        let coming: Vec<Sighting> = here.map(|found| found.sighting.clone()).collect();
        let stays = find_foreign_sightings(ctx, environment, &coming);
        for wave in find_large_batches(&stays) {
            let Some(first) = wave.first() else { continue };
            for stay in wave.iter().filter(|stay| coming.iter().any(|one| is_same_sighting(one, &stay.sighting))) {
                begun.insert((environment.clone(), stay.sighting.artefact.clone()), first.sighting.seen_at);
            }
        }
    }
    let first =
        |found: &SightingUpdate<'_>| begun.get(&(found.environment.name.clone(), found.artefact.name.clone())).copied();
    found.iter().map(first).collect()
}

/// The start of the batch of one recorded sighting.
pub(crate) fn find_batch_start(ctx: &Context, environment: &EnvironmentName, sighting: &Sighting) -> Option<Timestamp> {
    let stays = find_foreign_sightings(ctx, environment, std::slice::from_ref(sighting));
    let wave = find_large_batches(&stays)
        .into_iter()
        .find(|wave| wave.iter().any(|stay| is_same_sighting(sighting, &stay.sighting)))?;
    wave.first().map(|first| first.sighting.seen_at)
}

/// The sightings of the last hours without a Gantry change, oldest first. `newer` replaces the recorded ones.
fn find_foreign_sightings(ctx: &Context, environment: &EnvironmentName, newer: &[Sighting]) -> Vec<RecentSighting> {
    let ours = |stay: &RecentSighting| {
        stay.excluded_from_batch
            || ctx.open_changes.active_change_deploying_to(&stay.sighting.artefact, environment).is_some()
    };
    let mut stays: BTreeMap<(Timestamp, ArtefactName), RecentSighting> = BTreeMap::new();
    for stay in ctx.sightings.recent_sightings(environment) {
        stays.insert((stay.sighting.seen_at, stay.sighting.artefact.clone()), stay);
    }
    let coming: BTreeSet<_> = newer.iter().map(|one| (one.seen_at, one.artefact.clone())).collect();
    stays.retain(|here, stay| coming.contains(here) || !ours(stay));
    for (one, here) in newer.iter().map(|one| (one, (one.seen_at, one.artefact.clone()))) {
        let commit = stays.get(&here).and_then(|stay| stay.commit.clone());
        stays.insert(here, RecentSighting { sighting: one.clone(), excluded_from_batch: false, commit });
    }
    stays.into_values().collect()
}

/// The card of the batch. `newer` replaces the recorded sightings.
pub(crate) fn build_batch_message(
    ctx: &Context,
    environment: &Environment,
    began: Timestamp,
    newer: &[Sighting],
) -> ArrivalMessage {
    render_batch_message(
        &build_batch(ctx, environment, began, newer),
        ArrivalBatch::message_key(&environment.name, began),
    )
}

pub(crate) fn build_batch(
    ctx: &Context,
    environment: &Environment,
    began: Timestamp,
    newer: &[Sighting],
) -> ArrivalBatch {
    let stays = find_foreign_sightings(ctx, &environment.name, newer);
    let found =
        find_large_batches(&stays).into_iter().find(|wave| wave.iter().any(|stay| stay.sighting.seen_at == began));
    // Of two sightings of an artefact, the later one is shown.
    let mut members: BTreeMap<&ArtefactName, BatchedArrival> = BTreeMap::new();
    for RecentSighting { sighting, commit, .. } in found.unwrap_or_default() {
        let origin = ctx.sightings.read_artefact(&sighting.artefact, |seen| {
            let entry = seen.find_in(&environment.name).filter(|entry| is_same_sighting(&entry.sighting, sighting));
            entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
        });
        let member = BatchedArrival {
            artefact: sighting.artefact.clone(),
            version: sighting.version.clone(),
            commit: commit.clone(),
            provenance: origin,
            state: BatchedArrivalState::from_sighting(sighting),
        };
        members.insert(&sighting.artefact, member);
    }
    let catalogue = &ctx.config.catalogue;
    let known = members.keys().find_map(|name| catalogue.find_artefact(name.as_str()));
    let above = known.and_then(|artefact| catalogue.ladder.find_next_above(&environment.name, artefact));
    let below = known.and_then(|artefact| catalogue.ladder.find_next_below(&environment.name, artefact));
    ArrivalBatch {
        environment: environment.name.clone(),
        branch: environment.branch.clone(),
        began_at: began,
        next_environment: above.map(|rung| rung.name.clone()),
        is_first_environment: below.is_none(),
        members: members.into_values().collect(),
    }
}

/// The replies about new failures and recoveries. Each author is mentioned once in a batch.
pub(crate) fn build_batch_replies(
    wave: &ArrivalBatch,
    key: &MessageKey,
    found: &[(SightingUpdate<'_>, ArrivalFacts)],
) -> Vec<ArrivalMessage> {
    let member = |found: &SightingUpdate<'_>| wave.members.iter().find(|member| member.artefact == found.artefact.name);
    let news = |kind: ArrivalEvent| found.iter().filter(move |(found, _)| found.news == Some(kind));
    let reply = |what: &str, artefacts: Vec<ArtefactName>, tells, said, beside| ArrivalMessage {
        artefacts,
        states: tells,
        key: MessageKey::new(&format!("{key}:{what}")),
        thread: Some(key.clone()),
        rendered: said,
        subscriber_content: SubscriberContent::Rendered(beside),
    };
    let mut replies = Vec::new();
    let is_new =
        |member: &&BatchedArrival| news(ArrivalEvent::Failed).any(|(found, _)| found.artefact.name == member.artefact);
    let failed: Vec<&BatchedArrival> =
        wave.members.iter().filter(|it| matches!(it.state, BatchedArrivalState::Failed { .. })).collect();
    let earlier: Vec<&BatchedArrival> = failed.iter().copied().filter(|member| !is_new(member)).collect();
    // The authors of earlier failures of this batch were mentioned already.
    let logins = earlier.iter().filter_map(|member| member.commit.as_ref()?.login.as_deref());
    let mut called_logins: BTreeSet<&str> = logins.collect();
    let mut called: Vec<Author> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    let mut rest_authors: Vec<Author> = Vec::new();
    for (at, (found, known)) in news(ArrivalEvent::Failed).enumerate() {
        let Some(member) = member(found) else { continue };
        let login = known.commit.as_ref().and_then(|commit| commit.login.as_deref());
        let is_called = login.is_some_and(|login| !called_logins.insert(login));
        let mut authors = known.authors.clone();
        authors.retain(|author| !called.contains(author));
        if is_called {
            authors.retain(|author| matches!(author, Author::Named(_)));
        }
        called.extend(authors.iter().filter(|author| matches!(author, Author::Person(_))).cloned());
        if earlier.len() + at < MAX_FAILURE_REPLIES {
            let what = format!("failed:{}:{}", member.artefact, found.sighting.seen_at.as_microsecond());
            let said = render::render_failure(member, &wave.environment, &authors);
            let beside = render::render_failure(member, &wave.environment, &[]);
            replies.push(reply(&what, vec![member.artefact.clone()], FAILED, said, beside));
        } else {
            rest.push(member.artefact.as_str());
            rest_authors.extend(authors);
        }
    }
    if !rest.is_empty() {
        // Later failures get a new reply instead of an edit, because a mention in an edit notifies no one.
        let said = render::render_more_failures(&rest, &wave.environment, &rest_authors);
        let artefacts = rest.iter().map(|name| ArtefactName::new(name)).collect();
        let beside = render::render_more_failures(&rest, &wave.environment, &[]);
        let what = format!("failed:more:{}", earlier.len());
        replies.push(reply(&what, artefacts, FAILED, said, beside));
    }
    for (found, _) in news(ArrivalEvent::Recovered) {
        let Some(member) = member(found) else { continue };
        let what = format!("runs:{}:{}", member.artefact, found.sighting.seen_at.as_microsecond());
        let said = render::render_recovery(member, &wave.environment);
        replies.push(reply(&what, vec![member.artefact.clone()], RECOVERED, said.clone(), said));
    }
    replies
}

pub(crate) fn render_batch_message(wave: &ArrivalBatch, key: MessageKey) -> ArrivalMessage {
    let artefacts = wave.members.iter().map(|member| member.artefact.clone()).collect();
    let beside = SubscriberContent::Batch(wave.clone());
    ArrivalMessage {
        artefacts,
        states: find_batch_states(wave),
        key,
        thread: None,
        rendered: render::render_arrival_batch(wave),
        subscriber_content: beside,
    }
}

/// The groups that are large enough for a batch. `stays` must be sorted by time.
fn find_large_batches(stays: &[RecentSighting]) -> Vec<&[RecentSighting]> {
    let moments: Vec<Timestamp> = stays.iter().map(|stay| stay.sighting.seen_at).collect();
    let parts = split_into_batches(&moments).into_iter().map(|part| &stays[part]);
    let is_wave = |part: &&[RecentSighting]| {
        let artefacts: BTreeSet<&ArtefactName> = part.iter().map(|stay| &stay.sighting.artefact).collect();
        artefacts.len() >= MIN_BATCH_SIZE
    };
    parts.filter(is_wave).collect()
}

fn is_same_sighting(one: &Sighting, other: &Sighting) -> bool {
    one.seen_at == other.seen_at && one.artefact == other.artefact
}
