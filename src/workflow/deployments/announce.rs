//! Composes the announcement of one arrival, its replies and its ledger entry, and updates a posted announcement.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::slack::render::{Rendered, arrival};
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, Transaction};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Sha};
use crate::domain::runtime::arrival::{Arrival, ArrivalEvent, ArrivalOutcome, Author};
use crate::domain::runtime::arrival_batch::ArrivalBatch;
use crate::domain::runtime::sighting::Sighting;
use crate::domain::view::history::ArrivalDetails;
use crate::workflow::context::Context;
use crate::workflow::deployments::arrival_batch::{build_batch_message, find_batch_start};
use crate::workflow::deployments::arrival_message::{
    AnnouncedStates, ArrivalFacts, ArrivalMessage, FAILED, RECOVERED, RUNNING, SightingUpdate, SubscriberContent,
    enqueue_arrival_message,
};
use crate::workflow::error::LookupError;

/// The most authors that are mentioned for one failure.
const MAX_AUTHORS: usize = 5;

/// A posted or queued announcement of an arrival, with the facts that are needed to render it again.
#[derive(Debug)]
pub(crate) struct PostedArrival {
    /// The start of the batch. `None`: the arrival has a message of its own.
    batch_start: Option<Timestamp>,
    pub(crate) commit: Option<Commit>,
    authors: Vec<Author>,
    /// The message is posted, not only queued. A mention that an edit adds then notifies no one, so it needs a reply.
    is_posted: bool,
}

/// The authors of the commits since the previous version, each once. If those are not known, the author of the commit.
pub(crate) async fn find_arrival_authors(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    commit: Option<&Commit>,
) -> Vec<Author> {
    let Some(commit) = commit else { return Vec::new() };
    let mut commits = find_commits_since(ctx, artefact, environment, sighting, &commit.sha).await;
    commits.retain(|commit| !commit.only_moves);
    if commits.is_empty() {
        commits.push(commit.clone());
    }
    let mut authors: Vec<Author> = Vec::new();
    for commit in commits {
        let person = match &commit.login {
            // If the lookup fails, the author is only named. The announcement does not wait for it.
            Some(login) => ctx.permissions.find_person(login, &artefact.repository).await.ok().flatten(),
            None => None,
        };
        let author = person.map_or(Author::Named(commit.author), Author::Person);
        if !authors.contains(&author) {
            authors.push(author);
        }
        if authors.len() == MAX_AUTHORS {
            break;
        }
    }
    authors
}

async fn find_commits_since(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    sha: &Sha,
) -> Vec<Commit> {
    let sightings = ctx.store.list_sightings(&artefact.name, &environment.name, 2).await.unwrap_or_default();
    let previous = sightings.into_iter().find(|previous| !previous.version.is_same_image(&sighting.version));
    let Some(previous) = previous.and_then(|previous| previous.version.commit) else { return Vec::new() };
    let comparison = ctx.comparisons.compare_commits(&artefact.repository, &previous, sha).await;
    let Ok(Some(comparison)) = comparison else { return Vec::new() };
    comparison.commits.into_iter().map(|listed| listed.commit).collect()
}

/// The ledger entry of an arrival. `history` reads it.
pub(crate) fn build_arrival_entry(
    ctx: &Context,
    update: &SightingUpdate<'_>,
    commit: Option<Commit>,
    message: MessageKey,
) -> LedgerEntry {
    let sighting = &update.sighting;
    let details = ArrivalDetails {
        version: sighting.version.clone(),
        failed: sighting.failure.clone(),
        commit,
        took: measure_rollout_duration(sighting),
        message: Some(message),
    };
    LedgerEntry {
        at: ctx.clock.now(),
        change: None,
        kind: if update.event == Some(ArrivalEvent::Failed) { LedgerKind::ArrivalFailed } else { LedgerKind::Arrived },
        artefact: Some(update.artefact.name.clone()),
        environment: Some(update.environment.name.clone()),
        actor: Some(Actor::Controller),
        details: Some(LedgerDetails::Arrival(Box::new(details))),
    }
}

pub(crate) fn build_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    facts: ArrivalFacts,
) -> Arrival {
    let ladder = &ctx.config.catalogue.ladder;
    let outcome = match &sighting.failure {
        Some(reason) => ArrivalOutcome::Failed { reason: reason.clone() },
        None => ArrivalOutcome::Running { rollout_duration: measure_rollout_duration(sighting) },
    };
    Arrival {
        message_key: arrival_key(&artefact.name, &environment.name, sighting),
        artefact: artefact.name.clone(),
        environment: environment.name.clone(),
        branch: environment.branch.clone(),
        version: sighting.version.clone(),
        commit: facts.commit,
        authors: facts.authors,
        provenance: facts.provenance,
        outcome,
        next_environment: ladder.find_next_above(&environment.name, artefact).map(|next| next.name.clone()),
        is_first_environment: ladder.find_next_below(&environment.name, artefact).is_none(),
    }
}

/// The posted announcement of a sighting. `None`: there is none, or it is older than `within`.
pub(crate) async fn find_posted_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    within: SignedDuration,
) -> Result<Option<PostedArrival>, LookupError> {
    let announced_at = sighting.running_at.unwrap_or(sighting.seen_at);
    if !sighting.announced || ctx.clock.now().duration_since(announced_at) >= within {
        return Ok(None);
    }
    let mut batch_start = None;
    let mut key = arrival_key(&artefact.name, &environment.name, sighting);
    if !ctx.store.is_posted_or_queued(&key).await? {
        let Some(start) = find_batch_start(ctx, &environment.name, sighting) else { return Ok(None) };
        key = ArrivalBatch::message_key(&environment.name, start);
        if !ctx.store.is_posted_or_queued(&key).await? {
            return Ok(None);
        }
        batch_start = Some(start);
    }
    let commit = match &sighting.version.commit {
        Some(sha) => ctx.github.resolve_commit(&artefact.repository, sha.as_str()).await?.map(Into::into),
        None => None,
    };
    let has_failed = batch_start.is_none() && sighting.failure.is_some();
    let authors = if has_failed {
        find_arrival_authors(ctx, artefact, environment, sighting, commit.as_ref()).await
    } else {
        Vec::new()
    };
    let is_posted = ctx.store.find_posted_message(&key).await?.is_some();
    Ok(Some(PostedArrival { batch_start, commit, authors, is_posted }))
}

/// Renders a posted announcement again with the current facts. It has the same key, so the posted message is edited.
pub(crate) fn update_posted_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    posted: PostedArrival,
) -> Transaction {
    if let Some(batch_start) = posted.batch_start {
        if let Some(commit) = posted.commit {
            ctx.sightings.attach_commit(sighting, commit);
        }
        let message = build_batch_message(ctx, environment, batch_start, std::slice::from_ref(sighting));
        return enqueue_arrival_message(ctx, environment, message);
    }
    let provenance = ctx.sightings.read_artefact(&artefact.name, |sightings| {
        let entry = sightings.find_in(&environment.name).filter(|entry| entry.sighting.seen_at == sighting.seen_at);
        entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
    });
    let facts = ArrivalFacts { commit: posted.commit, provenance, authors: posted.authors };
    enqueue_arrival_message(
        ctx,
        environment,
        build_arrival_message(&build_arrival(ctx, artefact, environment, sighting, facts)),
    )
}

/// Mentions the authors of a failure in a reply, if they were not known when the failure was posted.
pub(crate) fn notify_failure_authors(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    posted: &PostedArrival,
) -> Transaction {
    if !posted.is_posted || posted.authors.is_empty() {
        return Transaction::new();
    }
    let facts = ArrivalFacts { authors: posted.authors.clone(), ..ArrivalFacts::default() };
    let arrival = build_arrival(ctx, artefact, environment, sighting, facts);
    enqueue_arrival_message(ctx, environment, build_authors_reply(&arrival))
}

pub(crate) fn build_arrival_message(arrival: &Arrival) -> ArrivalMessage {
    let states = match arrival.outcome {
        ArrivalOutcome::Running { .. } => RUNNING,
        ArrivalOutcome::Failed { .. } => FAILED,
    };
    let subscriber_content =
        SubscriberContent::Rendered(arrival::render_arrival(&Arrival { authors: Vec::new(), ..arrival.clone() }));
    let (artefacts, key) = (vec![arrival.artefact.clone()], arrival.message_key.clone());
    ArrivalMessage {
        artefacts,
        states,
        key,
        thread: None,
        rendered: arrival::render_arrival(arrival),
        subscriber_content,
    }
}

/// The reply that a failed arrival runs after all.
pub(crate) fn build_recovery_reply(arrival: &Arrival) -> ArrivalMessage {
    let rendered = arrival::render_recovery(arrival);
    build_arrival_reply(arrival, "runs", RECOVERED, rendered.clone(), SubscriberContent::Rendered(rendered))
}

/// The reply that mentions the authors of a failure. Subscribed channels do not get it.
fn build_authors_reply(arrival: &Arrival) -> ArrivalMessage {
    build_arrival_reply(arrival, "authors", FAILED, arrival::render_authors_found(arrival), SubscriberContent::Nothing)
}

fn build_arrival_reply(
    arrival: &Arrival,
    key_suffix: &str,
    states: AnnouncedStates,
    rendered: Rendered,
    subscriber_content: SubscriberContent,
) -> ArrivalMessage {
    let key = MessageKey::new(&format!("{}:{key_suffix}", arrival.message_key));
    ArrivalMessage {
        artefacts: vec![arrival.artefact.clone()],
        states,
        key,
        thread: Some(arrival.message_key.clone()),
        rendered,
        subscriber_content,
    }
}

/// `None`: the rollout was complete when it was first seen.
fn measure_rollout_duration(sighting: &Sighting) -> Option<SignedDuration> {
    let duration = sighting.running_at.map(|running_at| running_at.duration_since(sighting.seen_at));
    duration.filter(|duration| !duration.is_zero())
}

/// The key of the message about an arrival: one for each sighting.
pub(crate) fn arrival_key(artefact: &ArtefactName, environment: &EnvironmentName, sighting: &Sighting) -> MessageKey {
    MessageKey::new(&format!("arrival:{environment}:{artefact}:{}", sighting.seen_at.as_microsecond()))
}
