//! Tells what arrived without a change of ours: one message for each arrival or one card for a wave of them, once.
//! What is learned later is edited in; a failure calls the authors, and a recovery is said in the thread and the channel.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

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
use crate::workflow::deployments::arrival_batch::{
    build_batch, build_batch_message, build_batch_replies, find_batch_start, find_batch_starts, render_batch_message,
};
use crate::workflow::deployments::arrival_message::{
    AnnouncedStates, ArrivalFacts, ArrivalMessage, FAILED, RECOVERED, RUNNING, SightingUpdate, SubscriberContent,
    enqueue_arrival_message,
};
use crate::workflow::deployments::provenance::{remember_origin, resolve_origin};
use crate::workflow::error::LookupError;
use crate::workflow::facts::rollout_check::{VersionOwnership, find_pod_failure_reason, is_result_of};

/// What is not known of an arrival by then is told without it.
pub(crate) const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many arrivals are looked into at once.
const MAX_CONCURRENT_LOOKUPS: usize = 8;

/// More people than these are not called for one failure.
const MAX_AUTHORS: usize = 5;

/// Where an arrival was told, and all that is needed to say it again.
#[derive(Debug)]
pub(crate) struct PostedArrival {
    /// The beginning of its wave; `None` where it has a message of its own.
    batch_start: Option<Timestamp>,
    pub(crate) commit: Option<Commit>,
    authors: Vec<Author>,
    /// Slack has it already: whoever is mentioned by an edit is not called.
    is_posted: bool,
}

/// Tells all that one look found. What a change of ours brings is on its card.
pub(crate) async fn announce_arrivals(ctx: &Context, found: Vec<SightingUpdate<'_>>) {
    let asked: Vec<_> = found
        .into_iter()
        .map(|found| async move {
            let brought = is_from_change(ctx, found.artefact, found.environment, &found.sighting).await;
            (found, brought)
        })
        .collect();
    let known: Vec<(SightingUpdate<'_>, bool)> =
        futures::stream::iter(asked).buffer_unordered(MAX_CONCURRENT_LOOKUPS).collect().await;
    let mut foreign = Vec::new();
    for (found, brought) in known {
        if !brought {
            foreign.push(found);
            continue;
        }
        let _alone = ctx.sightings.lock_for_write().await;
        commit_sightings(
            ctx,
            Transaction::new().record_sighting(found.sighting.clone()),
            std::iter::once(&found.sighting),
        )
        .await;
        ctx.sightings.exclude_from_batch(&found.sighting);
    }
    let mut alone = Vec::new();
    let mut batches: BTreeMap<(EnvironmentName, Timestamp), Vec<SightingUpdate<'_>>> = BTreeMap::new();
    let batch_starts = find_batch_starts(ctx, &foreign);
    for (found, first) in foreign.into_iter().zip(batch_starts) {
        match first {
            Some(first) if !has_own_message(ctx, &found).await => {
                batches.entry((found.environment.name.clone(), first)).or_default().push(found);
            }
            _ => alone.push(found),
        }
    }
    let alone: Vec<_> = alone.into_iter().map(|found| announce_single_arrival(ctx, found)).collect();
    futures::stream::iter(alone).buffer_unordered(MAX_CONCURRENT_LOOKUPS).collect::<Vec<()>>().await;
    for ((_, began), found) in batches {
        announce_batch(ctx, began, found).await;
    }
}

/// What has a message of its own keeps it, whatever came after it.
async fn has_own_message(ctx: &Context, found: &SightingUpdate<'_>) -> bool {
    let key = arrival_key(&found.artefact.name, &found.environment.name, &found.sighting);
    ctx.store.is_posted_or_queued(&key).await.unwrap_or_default()
}

/// Does it come by a change of ours? Then its card tells of it.
async fn is_from_change(ctx: &Context, artefact: &Artefact, environment: &Environment, sighting: &Sighting) -> bool {
    let Some(change) = ctx.open_changes.change_deploying_to(&artefact.name, &environment.name) else {
        return false;
    };
    let Some(deploying) = change.stage.deploying() else { return false };
    let known =
        tokio::time::timeout(ANNOUNCE_TIMEOUT, is_result_of(ctx, artefact, &change, &deploying.result, sighting));
    match known.await {
        Ok(Ok(VersionOwnership::Ours(_))) => true,
        Ok(Ok(VersionOwnership::Foreign)) => false,
        // What nothing tells yet is most likely ours while we wait for it, and anybody's when that was given up.
        Ok(Ok(VersionOwnership::Unknown) | Err(_)) | Err(_) => change.stage.is_active(),
    }
}

async fn announce_single_arrival(ctx: &Context, mut found: SightingUpdate<'_>) {
    let known = gather_arrival_facts(ctx, &mut found).await;
    let SightingUpdate { artefact, environment, sighting, .. } = &found;
    let key = arrival_key(&artefact.name, &environment.name, sighting);
    let entry = build_arrival_entry(ctx, &found, known.commit.clone(), key.clone());
    let mut transaction = Transaction::new().record_sighting(sighting.clone()).append_to_ledger(entry);
    let origin = known.origin.clone();
    let arrival = build_arrival(ctx, artefact, environment, sighting, known);
    if found.news == Some(ArrivalEvent::Recovered) {
        transaction = transaction.append(enqueue_arrival_message(ctx, environment, build_recovery_reply(&arrival)));
    }
    transaction = transaction.append(enqueue_arrival_message(ctx, environment, build_arrival_message(&arrival)));
    let _alone = ctx.sightings.lock_for_write().await;
    commit_sightings(ctx, transaction, std::iter::once(sighting)).await;
    remember_origin(ctx, artefact, environment, sighting, origin);
}

/// All that one look found of a wave, in one transaction with its card.
async fn announce_batch(ctx: &Context, began: Timestamp, found: Vec<SightingUpdate<'_>>) {
    let Some(environment) = found.first().map(|found| found.environment) else { return };
    let key = ArrivalBatch::message_key(&environment.name, began);
    let asked: Vec<_> = found
        .into_iter()
        .map(|mut found| async move {
            let known = gather_arrival_facts(ctx, &mut found).await;
            (found, known)
        })
        .collect();
    let found: Vec<(SightingUpdate<'_>, ArrivalFacts)> =
        futures::stream::iter(asked).buffered(MAX_CONCURRENT_LOOKUPS).collect().await;
    let sightings: Vec<Sighting> = found.iter().map(|(found, _)| found.sighting.clone()).collect();

    let _alone = ctx.sightings.lock_for_write().await;
    let mut transaction = sightings
        .iter()
        .fold(Transaction::new(), |transaction, sighting| transaction.record_sighting(sighting.clone()));
    for (found, known) in &found {
        transaction = transaction.append_to_ledger(build_arrival_entry(ctx, found, known.commit.clone(), key.clone()));
    }
    let mut wave = build_batch(ctx, environment, began, &sightings);
    for (found, known) in &found {
        let member = wave.members.iter_mut().find(|member| member.artefact == found.artefact.name);
        if let Some(member) = member.filter(|member| member.version.is_same_as(&found.sighting.version)) {
            member.commit = known.commit.clone().or(member.commit.take());
            member.provenance = known.origin.clone();
        }
    }
    transaction =
        transaction.append(enqueue_arrival_message(ctx, environment, render_batch_message(&wave, key.clone())));
    for told in build_batch_replies(&wave, &key, &found) {
        transaction = transaction.append(enqueue_arrival_message(ctx, environment, told));
    }
    commit_sightings(ctx, transaction, sightings.iter()).await;
    for (found, known) in found {
        let SightingUpdate { artefact, sighting, .. } = &found;
        if let Some(commit) = known.commit {
            ctx.sightings.attach_commit(sighting, commit);
        }
        remember_origin(ctx, artefact, environment, sighting, known.origin);
    }
}

/// Memory follows the store: what could not be stored is found again at the next look.
pub(crate) async fn commit_sightings(
    ctx: &Context,
    transaction: Transaction,
    sightings: impl Iterator<Item = &Sighting>,
) {
    match ctx.store.commit(transaction).await {
        Ok(()) => sightings.for_each(|sighting| {
            ctx.sightings.record_sighting(sighting.clone());
            if let Some(change) = ctx.open_changes.change_deploying_to(&sighting.artefact, &sighting.environment) {
                ctx.open_changes.wake(change.id);
            }
        }),
        Err(error) => tracing::error!(%error, "what was seen could not be stored"),
    }
}

/// Finds out what can be found out in time. GitHub or the registry may be away or slow: the channel is told now, and
/// the message completed later.
async fn gather_arrival_facts(ctx: &Context, found: &mut SightingUpdate<'_>) -> ArrivalFacts {
    let until = Instant::now() + ANNOUNCE_TIMEOUT;
    let described = timeout_at(until, resolve_arrival_commit(ctx, found.artefact, &found.sighting)).await;
    let (sha, commit) = described.unwrap_or(Ok((None, None))).unwrap_or_default();
    found.sighting.version.commit = sha;
    let (artefact, environment) = (found.artefact, found.environment);
    // A change that waits for its proof, or may still get it, does not wait for a mark: that is known, or comes a little later.
    let origin = if ctx.open_changes.change_deploying_to(&artefact.name, &environment.name).is_some() {
        ctx.sightings.read_artefact(&artefact.name, |seen| {
            let entry = seen
                .find_in(&environment.name)
                .filter(|entry| entry.sighting.version.is_same_as(&found.sighting.version));
            entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
        })
    } else {
        let asked = timeout_at(until, resolve_origin(ctx, artefact, environment, &found.sighting)).await;
        asked.ok().and_then(Result::ok).unwrap_or_default()
    };
    let mut authors = Vec::new();
    if found.news == Some(ArrivalEvent::Failed) {
        if let Some(reason) = find_pod_failure_reason(ctx, artefact, environment).await {
            found.sighting.failure = Some(reason);
        }
        let asked = find_arrival_authors(ctx, artefact, environment, &found.sighting, commit.as_ref());
        let named = || commit.iter().map(|commit| Author::Named(commit.author.clone())).collect();
        authors = timeout_at(until, asked).await.unwrap_or_else(|_| named());
    }
    ArrivalFacts { commit, origin, authors }
}

/// The commit of what was seen, and how people know it.
async fn resolve_arrival_commit(
    ctx: &Context,
    artefact: &Artefact,
    sighting: &Sighting,
) -> Result<(Option<Sha>, Option<Commit>), LookupError> {
    let sha = match &sighting.version.commit {
        Some(sha) => sha.clone(),
        None => match ctx.image_commits.resolve_sighting_commit(artefact, sighting).await? {
            Some((sha, _)) => sha,
            None => return Ok((None, None)),
        },
    };
    let commit = ctx.github.resolve_commit(&artefact.repository, sha.as_str()).await?;
    Ok((Some(sha), commit.map(Into::into)))
}

/// Who wrote what came with a version, each once: all since the version before, as far as that can be known.
async fn find_arrival_authors(
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
            // Who cannot be found now is named: nothing waits for it.
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
    let stays = ctx.store.list_sightings(&artefact.name, &environment.name, 2).await.unwrap_or_default();
    let before = stays.into_iter().find(|stay| !stay.version.is_same_image(&sighting.version));
    let Some(before) = before.and_then(|stay| stay.version.commit) else { return Vec::new() };
    let comparison = ctx.comparisons.compare_commits(&artefact.repository, &before, sha).await;
    let Ok(Some(comparison)) = comparison else { return Vec::new() };
    comparison.commits.into_iter().map(|lone| lone.commit).collect()
}

/// For the ledger, which `history` reads.
pub(crate) fn build_arrival_entry(
    ctx: &Context,
    found: &SightingUpdate<'_>,
    commit: Option<Commit>,
    message: MessageKey,
) -> LedgerEntry {
    let sighting = &found.sighting;
    let told = ArrivalDetails {
        version: sighting.version.clone(),
        failed: sighting.failure.clone(),
        commit,
        took: measure_rollout_duration(sighting),
        message: Some(message),
    };
    LedgerEntry {
        at: ctx.clock.now(),
        change: None,
        kind: if found.news == Some(ArrivalEvent::Failed) { LedgerKind::ArrivalFailed } else { LedgerKind::Arrived },
        artefact: Some(found.artefact.name.clone()),
        environment: Some(found.environment.name.clone()),
        actor: Some(Actor::Controller),
        details: Some(LedgerDetails::Arrival(Box::new(told))),
    }
}

fn build_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    known: ArrivalFacts,
) -> Arrival {
    let ladder = &ctx.config.catalogue.ladder;
    let end = match &sighting.failure {
        Some(reason) => ArrivalOutcome::Failed { reason: reason.clone() },
        None => ArrivalOutcome::Running { rollout_duration: measure_rollout_duration(sighting) },
    };
    Arrival {
        message_key: arrival_key(&artefact.name, &environment.name, sighting),
        artefact: artefact.name.clone(),
        environment: environment.name.clone(),
        branch: environment.branch.clone(),
        version: sighting.version.clone(),
        commit: known.commit,
        authors: known.authors,
        provenance: known.origin,
        outcome: end,
        next_environment: ladder.find_next_above(&environment.name, artefact).map(|rung| rung.name.clone()),
        is_first_environment: ladder.find_next_below(&environment.name, artefact).is_none(),
    }
}

/// Where a stay was told, if that was so lately that people still read it.
pub(crate) async fn find_posted_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    within: SignedDuration,
) -> Result<Option<PostedArrival>, LookupError> {
    let told_at = sighting.running_at.unwrap_or(sighting.seen_at);
    if !sighting.announced || ctx.clock.now().duration_since(told_at) >= within {
        return Ok(None);
    }
    let own = arrival_key(&artefact.name, &environment.name, sighting);
    let mut wave = None;
    let mut key = own;
    if !ctx.store.is_posted_or_queued(&key).await? {
        let Some(began) = find_batch_start(ctx, &environment.name, sighting) else { return Ok(None) };
        key = ArrivalBatch::message_key(&environment.name, began);
        if !ctx.store.is_posted_or_queued(&key).await? {
            return Ok(None);
        }
        wave = Some(began);
    }
    let commit = match &sighting.version.commit {
        Some(sha) => ctx.github.resolve_commit(&artefact.repository, sha.as_str()).await?.map(Into::into),
        None => None,
    };
    let failed = wave.is_none() && sighting.failure.is_some();
    let authors = if failed {
        find_arrival_authors(ctx, artefact, environment, sighting, commit.as_ref()).await
    } else {
        Vec::new()
    };
    let stands = ctx.store.find_posted_message(&key).await?.is_some();
    Ok(Some(PostedArrival { batch_start: wave, commit, authors, is_posted: stands }))
}

/// What was told, with what is known by now: it takes the place of what was said.
pub(crate) fn update_posted_arrival(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    sighting: &Sighting,
    posted: PostedArrival,
) -> Transaction {
    if let Some(began) = posted.batch_start {
        if let Some(commit) = posted.commit {
            ctx.sightings.attach_commit(sighting, commit);
        }
        let told = build_batch_message(ctx, environment, began, std::slice::from_ref(sighting));
        return enqueue_arrival_message(ctx, environment, told);
    }
    let origin = ctx.sightings.read_artefact(&artefact.name, |seen| {
        let entry = seen.find_in(&environment.name).filter(|entry| entry.sighting.seen_at == sighting.seen_at);
        entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
    });
    let known = ArrivalFacts { commit: posted.commit, origin, authors: posted.authors };
    enqueue_arrival_message(
        ctx,
        environment,
        build_arrival_message(&build_arrival(ctx, artefact, environment, sighting, known)),
    )
}

/// Calls the authors of a failure that was told before they were known.
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
    let known = ArrivalFacts { authors: posted.authors.clone(), ..ArrivalFacts::default() };
    let arrival = build_arrival(ctx, artefact, environment, sighting, known);
    enqueue_arrival_message(ctx, environment, build_authors_reply(&arrival))
}

/// The message of an arrival.
fn build_arrival_message(of: &Arrival) -> ArrivalMessage {
    let tells = match of.outcome {
        ArrivalOutcome::Running { .. } => RUNNING,
        ArrivalOutcome::Failed { .. } => FAILED,
    };
    let beside = SubscriberContent::Rendered(arrival::render_arrival(&Arrival { authors: Vec::new(), ..of.clone() }));
    let (artefacts, key) = (vec![of.artefact.clone()], of.message_key.clone());
    ArrivalMessage {
        artefacts,
        states: tells,
        key,
        thread: None,
        rendered: arrival::render_arrival(of),
        subscriber_content: beside,
    }
}

/// Said in its thread, once: it runs after all.
fn build_recovery_reply(of: &Arrival) -> ArrivalMessage {
    let said = arrival::render_recovery(of);
    build_arrival_reply(of, "runs", RECOVERED, said.clone(), SubscriberContent::Rendered(said))
}

/// The same for whom a failure concerns. Only those who are called need to hear it.
fn build_authors_reply(of: &Arrival) -> ArrivalMessage {
    build_arrival_reply(of, "authors", FAILED, arrival::render_authors_found(of), SubscriberContent::Nothing)
}

fn build_arrival_reply(
    of: &Arrival,
    what: &str,
    tells: AnnouncedStates,
    said: Rendered,
    beside: SubscriberContent,
) -> ArrivalMessage {
    let key = MessageKey::new(&format!("{}:{what}", of.message_key));
    ArrivalMessage {
        artefacts: vec![of.artefact.clone()],
        states: tells,
        key,
        thread: Some(of.message_key.clone()),
        rendered: said,
        subscriber_content: beside,
    }
}

/// Unknown where the rollout was over before it was seen.
fn measure_rollout_duration(sighting: &Sighting) -> Option<SignedDuration> {
    let took = sighting.running_at.map(|at| at.duration_since(sighting.seen_at));
    took.filter(|took| !took.is_zero())
}

/// How the message of an arrival is called: by the stay that it is about.
fn arrival_key(artefact: &ArtefactName, environment: &EnvironmentName, sighting: &Sighting) -> MessageKey {
    MessageKey::new(&format!("arrival:{environment}:{artefact}:{}", sighting.seen_at.as_microsecond()))
}
