//! Announces arrivals, which are versions that run without a Gantry change: each one once, in a message of its own or
//! on the card of a batch. The facts are gathered first. The observer adds late facts.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use crate::adapters::store::Transaction;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Commit, Sha};
use crate::domain::runtime::arrival::{ArrivalEvent, Author};
use crate::domain::runtime::arrival_batch::ArrivalBatch;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::deployments::announce::{
    arrival_key, build_arrival, build_arrival_entry, build_arrival_message, build_recovery_reply, find_arrival_authors,
};
use crate::workflow::deployments::arrival_batch::{
    build_batch, build_batch_replies, find_batch_starts, render_batch_message,
};
use crate::workflow::deployments::arrival_message::{ArrivalFacts, SightingUpdate, enqueue_arrival_message};
use crate::workflow::deployments::provenance::{remember_origin, resolve_origin};
use crate::workflow::error::LookupError;
use crate::workflow::facts::rollout_check::{VersionOwnership, find_pod_failure_reason, is_result_of};

/// After this time, an arrival is announced without the missing facts.
pub(crate) const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_CONCURRENT_LOOKUPS: usize = 8;

/// Announces the arrivals of one observation. A version that a change brings is shown on the card of the change
/// instead.
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

/// An arrival with a message of its own keeps it, even if it now belongs to a batch.
async fn has_own_message(ctx: &Context, found: &SightingUpdate<'_>) -> bool {
    let key = arrival_key(&found.artefact.name, &found.environment.name, &found.sighting);
    ctx.store.is_posted_or_queued(&key).await.unwrap_or_default()
}

/// Whether an open change brought the version.
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
        // A version without a known commit probably belongs to the change while the change waits for one, and not
        // afterwards.
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

/// Announces the updates of one batch: the sightings, the ledger entries and the card, in one transaction.
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

/// Commits the transaction, then updates the sightings in memory. After a failed commit, the next observation finds the
/// same updates again.
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

/// Gathers the facts of an arrival until the timeout. GitHub and the registry may be slow, so the message is posted
/// without the missing facts and completed later.
async fn gather_arrival_facts(ctx: &Context, found: &mut SightingUpdate<'_>) -> ArrivalFacts {
    let until = Instant::now() + ANNOUNCE_TIMEOUT;
    let described = timeout_at(until, resolve_arrival_commit(ctx, found.artefact, &found.sighting)).await;
    let (sha, commit) = described.unwrap_or(Ok((None, None))).unwrap_or_default();
    found.sighting.version.commit = sha;
    let (artefact, environment) = (found.artefact, found.environment);
    // An open change waits for this sighting, so only the cached provenance is used. A later check adds it if needed.
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

/// The commit of a sighting, with its details from GitHub.
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
