//! Looks at what the cluster runs and tells what arrived. Watches and reports only wake it: the cluster decides.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::adapters::store::Transaction;
use crate::domain::model::artefact::{Artefact, ArtefactName, Namespace, Place};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::arrival::Observation;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Bot;
use crate::workflow::deployments::arrivals::Found;
use crate::workflow::facts::image_commits::CannotAsk;

/// A message about an arrival is completed only while people still read it.
const COMPLETED_WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// Sightings in one transaction: the first look at a large catalogue writes one for each workload.
const A_BATCH: usize = 500;

/// Wakes the observer from outside the watch, and knows whether it is at work.
#[derive(Clone, Debug)]
pub struct Wake(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    look: watch::Sender<u64>,
    sources: watch::Sender<u64>,
    busy: AtomicUsize,
}

impl Default for Wake {
    fn default() -> Self {
        Self(Arc::new(Inner { look: watch::channel(0).0, sources: watch::channel(0).0, busy: AtomicUsize::new(0) }))
    }
}

impl Wake {
    pub fn up(&self) {
        self.0.look.send_modify(|count| *count += 1);
    }

    /// Nothing is being looked at now.
    pub fn is_idle(&self) -> bool {
        self.0.busy.load(Ordering::SeqCst) == 0
    }

    async fn busy<T>(&self, work: impl Future<Output = T>) -> T {
        let _working = self.begin_work();
        work.await
    }

    /// Something is being done until this is dropped.
    pub(crate) fn begin_work(&self) -> Working {
        self.0.busy.fetch_add(1, Ordering::SeqCst);
        Working(self.clone())
    }
}

pub(crate) struct Working(Wake);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Looks whenever the watch saw something, and every `look_every` in any case. Runs until it is cancelled.
pub async fn run(bot: Bot, cancel: CancellationToken) {
    let wake = bot.wake.clone();
    let mut changes = bot.view.changes();
    let mut woken = wake.0.look.subscribe();
    let mut observer = Observer { bot, looked: HashSet::new() };
    let mut only: Option<BTreeSet<Namespace>> = None;
    // Replaces what a lost wake-up would have told, and judges rollouts that have no end.
    let mut next_look = observer.bot.clock.now() + observer.bot.config.look_every;
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = wake.busy(observer.look(only.as_ref())) => {}
        }
        wake.0.sources.send_modify(|count| *count += 1);
        tokio::select! {
            () = cancel.cancelled() => return,
            namespaces = changes.next() => only = Some(namespaces),
            alive = woken.changed() => {
                if alive.is_err() {
                    return;
                }
                only = None;
            }
            () = observer.bot.clock.sleep_until(next_look) => {
                next_look = observer.bot.clock.now() + observer.bot.config.look_every;
                only = None;
            }
        }
    }
}

/// Finds out the commits of what runs, apart from the looks: GitHub may take its time. Runs until it is cancelled.
pub async fn run_sources(bot: Bot, cancel: CancellationToken) {
    let wake = bot.wake.clone();
    let mut woken = wake.0.sources.subscribe();
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = wake.busy(bot.settle_sources()) => {}
        }
        tokio::select! {
            () = cancel.cancelled() => return,
            changed = woken.changed() => if changed.is_err() { return },
        }
    }
}

struct Observer {
    bot: Bot,
    /// Where we have looked since we started, whether or not anything stood there.
    looked: HashSet<(ArtefactName, EnvironmentName)>,
}

impl Observer {
    /// Looks at everything, or only at what stands in some namespaces.
    async fn look(&mut self, only: Option<&BTreeSet<Namespace>>) {
        let config = self.bot.config.clone();
        let mut found = Vec::new();
        for artefact in &config.catalogue.artefacts {
            for environment in config.catalogue.ladder.environments() {
                let Some(place) = artefact.places.get(&environment.name) else { continue };
                if only.is_none_or(|only| only.contains(&place.namespace)) {
                    found.extend(self.look_at(artefact, environment, place));
                }
            }
        }
        self.record(found).await;
    }

    fn look_at<'a>(
        &mut self,
        artefact: &'a Artefact,
        environment: &'a Environment,
        place: &Place,
    ) -> Option<Found<'a>> {
        let rollout = self.bot.view.rollout(place, &artefact.image);
        if matches!(rollout.state, RolloutState::Unreadable { .. }) {
            return None;
        }
        let here = (artefact.name.clone(), environment.name.clone());
        let first = !self.looked.contains(&here);
        let before = self.bot.seen.sighting(&artefact.name, &environment.name);
        let look = Observation {
            artefact: &artefact.name,
            environment: &environment.name,
            rollout: &rollout,
            previous: before.as_ref(),
            is_first: first,
            deploy_timeout: environment.deploy_timeout,
            now: self.bot.clock.now(),
        };
        let Some(outcome) = look.derive_update() else {
            self.looked.insert(here);
            return None;
        };
        Some(Found { artefact, environment, sighting: outcome.sighting, news: outcome.event })
    }

    async fn record(&self, found: Vec<Found<'_>>) {
        let (told, silent): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.news.is_some());
        let seen = &self.bot.seen;
        let is_known = |sighting: &Sighting| {
            let before = seen.sighting(&sighting.artefact, &sighting.environment);
            before.is_some_and(|before| before.seen_at == sighting.seen_at)
        };
        // What ran when we first looked came with nothing that comes now.
        let old: Vec<Sighting> = silent
            .iter()
            .map(|found| &found.sighting)
            .filter(|sighting| sighting.announced && !is_known(sighting))
            .cloned()
            .collect();
        for some in silent.chunks(A_BATCH) {
            let transaction =
                some.iter().fold(Transaction::new(), |transaction, found| transaction.saw(found.sighting.clone()));
            let _alone = self.bot.seen.alone().await;
            self.bot.commit_seen(transaction, some.iter().map(|found| &found.sighting)).await;
        }
        for sighting in &old {
            seen.set_apart(sighting);
        }
        self.bot.tell(told).await;
    }
}

impl Bot {
    /// Memory follows the store: what could not be stored is found again at the next look.
    pub(crate) async fn commit_seen(&self, transaction: Transaction, sightings: impl Iterator<Item = &Sighting>) {
        match self.store.commit(transaction).await {
            Ok(()) => sightings.for_each(|sighting| {
                self.seen.put(sighting.clone());
                if let Some(change) = self.changes.bringing(&sighting.artefact, &sighting.environment) {
                    self.changes.poke(change.id);
                }
            }),
            Err(error) => tracing::error!(%error, "what was seen could not be stored"),
        }
    }

    pub(crate) async fn reason(&self, artefact: &Artefact, environment: &Environment) -> Option<String> {
        let place = artefact.places.get(&environment.name)?;
        for workload in &place.workloads {
            if let Some(reason) =
                crate::adapters::cluster::pod_reasons::reason(&self.clients, &place.namespace, workload).await
            {
                return Some(reason);
            }
        }
        None
    }

    /// Finds out the commits of what runs, where they are not known yet, and marks the rungs that are behind.
    /// GitHub is asked once for each new pair of commits: how two commits stand to each other never changes.
    async fn settle_sources(&self) {
        let mut failures = 0;
        for artefact in &self.config.catalogue.artefacts {
            if self.sources.rests(&artefact.name, self.clock.now()) {
                continue;
            }
            match self.settle_source(artefact).await {
                Ok(()) => failures = 0,
                Err(error) if error.passes => {
                    tracing::debug!(%error, artefact = %artefact.name, "commits cannot be asked for now");
                    failures += 1;
                }
                Err(error) => {
                    tracing::warn!(%error, artefact = %artefact.name, "commits cannot be found out; asking again later");
                    self.sources.rest(&artefact.name, self.clock.now());
                }
            }
            // Whoever was away three times would not answer for the next either: the next look asks again.
            if failures == 3 {
                return;
            }
        }
        // People wait for commits, and nobody for the mark.
        self.settle_origins().await;
    }

    async fn settle_source(&self, artefact: &Artefact) -> Result<(), CannotAsk> {
        let mut below: Option<Sha> = None;
        for environment in self.config.catalogue.ladder.environments() {
            let Some(sighting) = self.seen.sighting(&artefact.name, &environment.name) else { continue };
            let commit = match &sighting.version.commit {
                Some(commit) => Some(commit.clone()),
                None => self.learn_commit(artefact, environment, sighting).await?,
            };
            if let (Some(here), Some(below)) = (&commit, &below) {
                let pair = (here.clone(), below.clone());
                let known = self.seen.with(&artefact.name, |seen| {
                    seen.of(&environment.name).is_some_and(|entry| entry.compared.as_ref() == Some(&pair))
                });
                if !known {
                    let behind = self.is_behind(artefact, here, below).await?;
                    self.seen.mark(&artefact.name, &environment.name, pair, behind);
                }
            }
            below = commit;
        }
        Ok(())
    }

    /// Keeps a commit that was learned late, and completes the message that went out without it.
    async fn learn_commit(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        seen: Sighting,
    ) -> Result<Option<Sha>, CannotAsk> {
        let Some((sha, _)) = self.source_of(artefact, &seen).await? else { return Ok(None) };
        let learned = Version { commit: Some(sha.clone()), ..seen.version.clone() };
        let described = Sighting { version: learned, ..seen.clone() };
        // GitHub is asked how people know the commit only where somebody reads it.
        let telling = self.telling_of(artefact, environment, &described, COMPLETED_WITHIN).await?;
        // Asking took time: only what still stands there is completed.
        let _alone = self.seen.alone().await;
        let now_there = self.seen.sighting(&artefact.name, &environment.name);
        let Some(mut sighting) = now_there.filter(|there| there.version.is_same_image(&seen.version)) else {
            return Ok(None);
        };
        sighting.version.commit = Some(sha.clone());
        let mut transaction = Transaction::new().saw(sighting.clone());
        if let Some(telling) = telling.filter(|telling| telling.commit.is_some()) {
            // Said again under the same name, it takes the place of what was said, or is still to be said.
            let concerned = self.tell_concerned(artefact, environment, &sighting, &telling);
            let messages = self.tell_again(artefact, environment, &sighting, telling);
            transaction = transaction.and(messages).and(concerned);
        }
        self.commit_seen(transaction, std::iter::once(&sighting)).await;
        Ok(Some(sha))
    }

    pub(crate) async fn is_behind(&self, artefact: &Artefact, here: &Sha, below: &Sha) -> Result<bool, CannotAsk> {
        if here == below {
            return Ok(false);
        }
        if let Some(comparison) = self.comparison(&artefact.repository, here, below).await? {
            return Ok(comparison.ahead_by > 0);
        }
        let why = format!("{} and {} cannot be compared in {}", here.short(), below.short(), artefact.repository);
        Err(CannotAsk::never(why))
    }
}
