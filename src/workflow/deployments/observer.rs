//! Compares the cluster with the recorded sightings and announces arrivals. Watches and reports only wake the observer;
//! the cluster's state decides.

use std::collections::{BTreeSet, HashSet};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::ViewSubscription;
use crate::adapters::store::{StoreError, Transaction};
use crate::domain::model::artefact::{Artefact, ArtefactName, Place};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Sha, Version};
use crate::domain::model::workload::Namespace;
use crate::domain::runtime::arrival::Observation;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::runtime::sighting::Sighting;
use crate::workflow::context::Context;
use crate::workflow::deployments::announce::{find_posted_arrival, notify_failure_authors, update_posted_arrival};
use crate::workflow::deployments::arrival_message::SightingUpdate;
use crate::workflow::deployments::arrivals::{announce_arrivals, commit_sightings};
use crate::workflow::deployments::provenance::refresh_all_provenances;
use crate::workflow::error::LookupError;
use crate::workflow::worker::{NextRound, Rounds, run_rounds};

/// A message about an arrival is completed only while people still read it.
const COMPLETION_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Sightings in one transaction. The first observation of a large catalogue writes one for each workload.
const SIGHTINGS_PER_TRANSACTION: usize = 500;

/// Observes the cluster whenever its watch has news, and every `look_every` in any case. Runs until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let rounds = ObserverRounds {
        cluster_updates: ctx.cluster_view.subscribe_changes(),
        wakeups: ctx.activity.subscribe_observer_wakeups(),
        only: None,
        next_full_round: ctx.clock.now() + ctx.config.look_every,
        observer: Observer { ctx: ctx.clone(), observed: HashSet::new() },
        cancel: cancel.clone(),
    };
    run_rounds(rounds, &ctx.clock, &cancel).await;
}

struct ObserverRounds {
    observer: Observer,
    cluster_updates: ViewSubscription,
    wakeups: watch::Receiver<u64>,
    /// The namespaces that the next round observes. `None`: all.
    only: Option<BTreeSet<Namespace>>,
    /// When all namespaces are observed again: in case a wake-up was lost, and to find rollouts that exceed their
    /// timeout.
    next_full_round: Timestamp,
    cancel: CancellationToken,
}

impl Rounds for ObserverRounds {
    const FAILURE: &'static str = "the cluster cannot be observed; trying again";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        let activity = self.observer.ctx.activity.clone();
        let round = activity.track_work(self.observer.observe_namespaces(self.only.as_ref()));
        if self.cancel.run_until_cancelled(round).await.is_some() {
            activity.wake_commit_lookups();
        }
        Ok(NextRound::WhenWoken)
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        let clock = &self.observer.ctx.clock;
        self.only = tokio::select! {
            namespaces = self.cluster_updates.next_changed_namespaces() => Some(namespaces),
            alive = self.wakeups.changed() => {
                if alive.is_err() {
                    return false;
                }
                None
            }
            () = clock.sleep_until(self.next_full_round) => {
                self.next_full_round = clock.now() + self.observer.ctx.config.look_every;
                None
            }
        };
        true
    }
}

/// Looks up the commits of the running versions until it is cancelled. It is a task of its own, because GitHub may be
/// slow.
pub async fn run_commit_lookups(ctx: Context, cancel: CancellationToken) {
    let wakeups = ctx.activity.subscribe_commit_lookup_wakeups();
    let rounds = CommitLookups { ctx: ctx.clone(), wakeups, cancel: cancel.clone() };
    run_rounds(rounds, &ctx.clock, &cancel).await;
}

struct CommitLookups {
    ctx: Context,
    wakeups: watch::Receiver<u64>,
    cancel: CancellationToken,
}

impl Rounds for CommitLookups {
    const FAILURE: &'static str = "commits cannot be looked up; trying again";

    async fn run_round(&mut self) -> Result<NextRound, StoreError> {
        let round = self.ctx.activity.track_work(Box::pin(resolve_missing_commits(&self.ctx)));
        self.cancel.run_until_cancelled(round).await;
        Ok(NextRound::WhenWoken)
    }

    async fn wait_for_wakeup(&mut self) -> bool {
        self.wakeups.changed().await.is_ok()
    }
}

struct Observer {
    ctx: Context,
    /// The artefacts that were observed since the start, with or without a workload.
    observed: HashSet<(ArtefactName, EnvironmentName)>,
}

impl Observer {
    /// Observes all artefacts, or only those in some namespaces.
    async fn observe_namespaces(&mut self, only: Option<&BTreeSet<Namespace>>) {
        let config = self.ctx.config.clone();
        let mut updates = Vec::new();
        for artefact in &config.catalogue.artefacts {
            for environment in config.catalogue.ladder.environments() {
                let Some(place) = artefact.places.get(&environment.name) else { continue };
                if only.is_none_or(|only| only.contains(&place.namespace)) {
                    updates.extend(self.observe_artefact(artefact, environment, place));
                }
            }
        }
        self.record_updates(updates).await;
    }

    fn observe_artefact<'a>(
        &mut self,
        artefact: &'a Artefact,
        environment: &'a Environment,
        place: &Place,
    ) -> Option<SightingUpdate<'a>> {
        let rollout = self.ctx.cluster_view.read_rollout(place, &artefact.image);
        if matches!(rollout.state, RolloutState::Unreadable { .. }) {
            return None;
        }
        let key = (artefact.name.clone(), environment.name.clone());
        let is_first = !self.observed.contains(&key);
        let previous = self.ctx.sightings.find_sighting(&artefact.name, &environment.name);
        let observation = Observation {
            artefact: &artefact.name,
            environment: &environment.name,
            rollout: &rollout,
            previous: previous.as_ref(),
            is_first,
            deploy_timeout: environment.deploy_timeout,
            now: self.ctx.clock.now(),
        };
        let Some(outcome) = observation.derive_update() else {
            self.observed.insert(key);
            return None;
        };
        // The key is not inserted yet: if the update cannot be stored, the next observation still counts as the first.
        Some(SightingUpdate { artefact, environment, sighting: outcome.sighting, event: outcome.event })
    }

    async fn record_updates(&self, updates: Vec<SightingUpdate<'_>>) {
        let (to_announce, silent): (Vec<_>, Vec<_>) = updates.into_iter().partition(|update| update.event.is_some());
        let sightings = &self.ctx.sightings;
        let is_recorded = |sighting: &Sighting| {
            let recorded = sightings.find_sighting(&sighting.artefact, &sighting.environment);
            recorded.is_some_and(|recorded| recorded.seen_at == sighting.seen_at)
        };
        // A version that ran at the first observation is not part of a batch of arrivals.
        let initial: Vec<Sighting> = silent
            .iter()
            .map(|update| &update.sighting)
            .filter(|sighting| sighting.announced && !is_recorded(sighting))
            .cloned()
            .collect();
        for chunk in silent.chunks(SIGHTINGS_PER_TRANSACTION) {
            let transaction = chunk
                .iter()
                .fold(Transaction::new(), |transaction, update| transaction.record_sighting(update.sighting.clone()));
            let _guard = self.ctx.sightings.lock_for_write().await;
            commit_sightings(&self.ctx, transaction, chunk.iter().map(|update| &update.sighting)).await;
        }
        for sighting in &initial {
            sightings.exclude_from_batch(sighting);
        }
        announce_arrivals(&self.ctx, to_announce).await;
    }
}

/// Looks up the missing commits of running versions, and marks the environments that are behind the one below.
/// GitHub is asked once for each new pair of commits, because a comparison of two commits never changes.
async fn resolve_missing_commits(ctx: &Context) {
    let mut failures = 0;
    for artefact in &ctx.config.catalogue.artefacts {
        if ctx.image_commits.is_backing_off(&artefact.name, ctx.clock.now()) {
            continue;
        }
        match resolve_artefact_commits(ctx, artefact).await {
            Ok(()) => failures = 0,
            Err(error) if error.transient => {
                tracing::debug!(%error, artefact = %artefact.name, "commits cannot be looked up now; trying again");
                failures += 1;
            }
            Err(error) => {
                tracing::warn!(%error, artefact = %artefact.name, "commit lookup was refused; trying again later");
                ctx.image_commits.back_off(&artefact.name, ctx.clock.now());
            }
        }
        // After three failures in a row, more requests would fail too. The next round continues.
        if failures == 3 {
            return;
        }
    }
    // Commits first: people wait for them, but not for the provenance.
    refresh_all_provenances(ctx).await;
}

async fn resolve_artefact_commits(ctx: &Context, artefact: &Artefact) -> Result<(), LookupError> {
    let mut commit_below: Option<Sha> = None;
    for environment in ctx.config.catalogue.ladder.environments() {
        let Some(sighting) = ctx.sightings.find_sighting(&artefact.name, &environment.name) else { continue };
        let commit = match &sighting.version.commit {
            Some(commit) => Some(commit.clone()),
            None => record_late_commit(ctx, artefact, environment, sighting).await?,
        };
        if let (Some(commit), Some(commit_below)) = (&commit, &commit_below) {
            let pair = (commit.clone(), commit_below.clone());
            let is_compared = ctx.sightings.read_artefact(&artefact.name, |sightings| {
                sightings.find_in(&environment.name).is_some_and(|entry| entry.compared_commits.as_ref() == Some(&pair))
            });
            if !is_compared {
                let behind = ctx.comparisons.is_behind(artefact, commit, commit_below).await?;
                ctx.sightings.set_behind(&artefact.name, &environment.name, pair, behind);
            }
        }
        commit_below = commit;
    }
    Ok(())
}

/// Records a commit that was found after the announcement, and completes the posted message.
async fn record_late_commit(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    observed: Sighting,
) -> Result<Option<Sha>, LookupError> {
    let Some((sha, _)) = ctx.image_commits.resolve_sighting_commit(artefact, &observed).await? else {
        return Ok(None);
    };
    let version = Version { commit: Some(sha.clone()), ..observed.version.clone() };
    let completed = Sighting { version, ..observed.clone() };
    // The details of the commit are fetched only if there is a recent message to complete.
    let posted = find_posted_arrival(ctx, artefact, environment, &completed, COMPLETION_WINDOW).await?;
    // The lookup took time, so the sighting is completed only if the same image still runs.
    let _guard = ctx.sightings.lock_for_write().await;
    let current = ctx.sightings.find_sighting(&artefact.name, &environment.name);
    let Some(mut sighting) = current.filter(|current| current.version.is_same_image(&observed.version)) else {
        return Ok(None);
    };
    sighting.version.commit = Some(sha.clone());
    let mut transaction = Transaction::new().record_sighting(sighting.clone());
    if let Some(posted) = posted.filter(|posted| posted.commit.is_some()) {
        // The update has the key of the announcement, so it edits a posted message or replaces a queued one.
        let author_reply = notify_failure_authors(ctx, artefact, environment, &sighting, &posted);
        let edits = update_posted_arrival(ctx, artefact, environment, &sighting, posted);
        transaction = transaction.append(edits).append(author_reply);
    }
    commit_sightings(ctx, transaction, std::iter::once(&sighting)).await;
    Ok(Some(sha))
}
