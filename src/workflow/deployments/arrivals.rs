//! Announces arrivals, which are versions that run without a Gantry change: each one once, in a message of its own or
//! on the card of a batch. The facts are gathered first, for a few seconds. Facts that come later are added to the
//! posted message.

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
use crate::workflow::deployments::provenance::{record_provenance, resolve_provenance};
use crate::workflow::error::LookupError;
use crate::workflow::facts::rollout_check::{VersionOwnership, find_pod_failure_reason, is_result_of};

/// After this time, an arrival is announced without the missing facts.
pub(crate) const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_CONCURRENT_LOOKUPS: usize = 8;

/// Announces the arrivals of one observation. A version that a change brings is shown on the card of the change
/// instead.
pub(crate) async fn announce_arrivals(ctx: &Context, updates: Vec<SightingUpdate<'_>>) {
    let lookups: Vec<_> = updates
        .into_iter()
        .map(|update| async move {
            let from_change = is_from_change(ctx, update.artefact, update.environment, &update.sighting).await;
            (update, from_change)
        })
        .collect();
    let checked: Vec<(SightingUpdate<'_>, bool)> =
        futures::stream::iter(lookups).buffer_unordered(MAX_CONCURRENT_LOOKUPS).collect().await;
    let mut arrivals = Vec::new();
    for (update, from_change) in checked {
        if !from_change {
            arrivals.push(update);
            continue;
        }
        let _guard = ctx.sightings.lock_for_write().await;
        commit_sightings(
            ctx,
            Transaction::new().record_sighting(update.sighting.clone()),
            std::iter::once(&update.sighting),
        )
        .await;
        ctx.sightings.exclude_from_batch(&update.sighting);
    }
    let mut single = Vec::new();
    let mut batches: BTreeMap<(EnvironmentName, Timestamp), Vec<SightingUpdate<'_>>> = BTreeMap::new();
    let batch_starts = find_batch_starts(ctx, &arrivals);
    for (update, batch_start) in arrivals.into_iter().zip(batch_starts) {
        match batch_start {
            Some(started_at) if !has_own_message(ctx, &update).await => {
                batches.entry((update.environment.name.clone(), started_at)).or_default().push(update);
            }
            _ => single.push(update),
        }
    }
    let single: Vec<_> = single.into_iter().map(|update| announce_single_arrival(ctx, update)).collect();
    futures::stream::iter(single).buffer_unordered(MAX_CONCURRENT_LOOKUPS).collect::<Vec<()>>().await;
    for ((_, started_at), updates) in batches {
        announce_batch(ctx, started_at, updates).await;
    }
}

/// An arrival with a message of its own keeps it, even if it now belongs to a batch.
async fn has_own_message(ctx: &Context, update: &SightingUpdate<'_>) -> bool {
    let key = arrival_key(&update.artefact.name, &update.environment.name, &update.sighting);
    ctx.store.is_posted_or_queued(&key).await.unwrap_or_default()
}

/// Whether an open change brought the version.
async fn is_from_change(ctx: &Context, artefact: &Artefact, environment: &Environment, sighting: &Sighting) -> bool {
    let Some(change) = ctx.open_changes.change_deploying_to(&artefact.name, &environment.name) else {
        return false;
    };
    let Some(deploying) = change.stage.deploying() else { return false };
    let ownership =
        tokio::time::timeout(ANNOUNCE_TIMEOUT, is_result_of(ctx, artefact, &change, &deploying.result, sighting));
    match ownership.await {
        Ok(Ok(VersionOwnership::Ours(_))) => true,
        Ok(Ok(VersionOwnership::Foreign)) => false,
        // A version without a known commit probably belongs to the change while the change is still deploying. For a
        // failed or stalled change it probably does not.
        Ok(Ok(VersionOwnership::Unknown) | Err(_)) | Err(_) => change.stage.is_active(),
    }
}

async fn announce_single_arrival(ctx: &Context, mut update: SightingUpdate<'_>) {
    let facts = gather_arrival_facts(ctx, &mut update).await;
    let SightingUpdate { artefact, environment, sighting, .. } = &update;
    let key = arrival_key(&artefact.name, &environment.name, sighting);
    let entry = build_arrival_entry(ctx, &update, facts.commit.clone(), key.clone());
    let mut transaction = Transaction::new().record_sighting(sighting.clone()).append_to_ledger(entry);
    let provenance = facts.provenance.clone();
    let arrival = build_arrival(ctx, artefact, environment, sighting, facts);
    if update.event == Some(ArrivalEvent::Recovered) {
        transaction = transaction.append(enqueue_arrival_message(ctx, environment, build_recovery_reply(&arrival)));
    }
    transaction = transaction.append(enqueue_arrival_message(ctx, environment, build_arrival_message(&arrival)));
    let _guard = ctx.sightings.lock_for_write().await;
    commit_sightings(ctx, transaction, std::iter::once(sighting)).await;
    record_provenance(ctx, artefact, environment, sighting, provenance);
}

/// Announces the updates of one batch: the sightings, the ledger entries and the card, in one transaction.
async fn announce_batch(ctx: &Context, started_at: Timestamp, updates: Vec<SightingUpdate<'_>>) {
    let Some(environment) = updates.first().map(|update| update.environment) else { return };
    let key = ArrivalBatch::message_key(&environment.name, started_at);
    let lookups: Vec<_> = updates
        .into_iter()
        .map(|mut update| async move {
            let facts = gather_arrival_facts(ctx, &mut update).await;
            (update, facts)
        })
        .collect();
    let updates: Vec<(SightingUpdate<'_>, ArrivalFacts)> =
        futures::stream::iter(lookups).buffered(MAX_CONCURRENT_LOOKUPS).collect().await;
    let sightings: Vec<Sighting> = updates.iter().map(|(update, _)| update.sighting.clone()).collect();

    let _guard = ctx.sightings.lock_for_write().await;
    let mut transaction = sightings
        .iter()
        .fold(Transaction::new(), |transaction, sighting| transaction.record_sighting(sighting.clone()));
    for (update, facts) in &updates {
        transaction = transaction.append_to_ledger(build_arrival_entry(ctx, update, facts.commit.clone(), key.clone()));
    }
    let mut batch = build_batch(ctx, environment, started_at, &sightings);
    for (update, facts) in &updates {
        let member = batch.members.iter_mut().find(|member| member.artefact == update.artefact.name);
        if let Some(member) = member.filter(|member| member.version.is_same_as(&update.sighting.version)) {
            member.commit = facts.commit.clone().or(member.commit.take());
            member.provenance = facts.provenance.clone();
        }
    }
    transaction =
        transaction.append(enqueue_arrival_message(ctx, environment, render_batch_message(&batch, key.clone())));
    for reply in build_batch_replies(&batch, &key, &updates) {
        transaction = transaction.append(enqueue_arrival_message(ctx, environment, reply));
    }
    commit_sightings(ctx, transaction, sightings.iter()).await;
    for (update, facts) in updates {
        let SightingUpdate { artefact, sighting, .. } = &update;
        if let Some(commit) = facts.commit {
            ctx.sightings.attach_commit(sighting, commit);
        }
        record_provenance(ctx, artefact, environment, sighting, facts.provenance);
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
        Err(error) => tracing::error!(%error, "sightings could not be stored; the next observation tries again"),
    }
}

/// Gathers the facts of an arrival until the timeout. GitHub and the registry may be slow, so the message is posted
/// without the missing facts and completed later.
async fn gather_arrival_facts(ctx: &Context, update: &mut SightingUpdate<'_>) -> ArrivalFacts {
    let deadline = Instant::now() + ANNOUNCE_TIMEOUT;
    let lookup = timeout_at(deadline, resolve_arrival_commit(ctx, update.artefact, &update.sighting)).await;
    let (sha, commit) = lookup.unwrap_or(Ok((None, None))).unwrap_or_default();
    update.sighting.version.commit = sha;
    let (artefact, environment) = (update.artefact, update.environment);
    // An open change waits for this sighting, so only the cached provenance is used. A later check adds it if needed.
    let provenance = if ctx.open_changes.change_deploying_to(&artefact.name, &environment.name).is_some() {
        ctx.sightings.read_artefact(&artefact.name, |sightings| {
            let entry = sightings
                .find_in(&environment.name)
                .filter(|entry| entry.sighting.version.is_same_as(&update.sighting.version));
            entry.map(|entry| entry.provenance.clone()).unwrap_or_default()
        })
    } else {
        let lookup = timeout_at(deadline, resolve_provenance(ctx, artefact, environment, &update.sighting)).await;
        lookup.ok().and_then(Result::ok).unwrap_or_default()
    };
    let mut authors = Vec::new();
    if update.event == Some(ArrivalEvent::Failed) {
        if let Some(reason) = find_pod_failure_reason(ctx, artefact, environment).await {
            update.sighting.failure = Some(reason);
        }
        let lookup = find_arrival_authors(ctx, artefact, environment, &update.sighting, commit.as_ref());
        let commit_author = || commit.iter().map(|commit| Author::Named(commit.author.clone())).collect();
        authors = timeout_at(deadline, lookup).await.unwrap_or_else(|_| commit_author());
    }
    ArrivalFacts { commit, provenance, authors }
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
