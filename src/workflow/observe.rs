//! Looks at what the cluster runs and tells what arrived. Watches and reports only wake it: the cluster decides.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::actor::Actor;
use crate::domain::arrival::{Arrival, End, Look, News};
use crate::domain::artefact::{Artefact, ArtefactName, Namespace, Place};
use crate::domain::environment::{Environment, EnvironmentName};
use crate::domain::history::ArrivalTold;
use crate::domain::message::{Message, MessageKey, To};
use crate::domain::rollout::RolloutState;
use crate::domain::sighting::Sighting;
use crate::domain::version::{Commit, Sha};
use crate::slack::render;
use crate::store::{Batch, Entry};

use super::Bot;
use super::deploy::Belonging;
use super::source::CannotAsk;

/// A message about an arrival is completed only while people still read it.
const COMPLETED_WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// What is not known of an arrival by then is told without it.
const TELL_WITHIN: Duration = Duration::from_secs(5);

/// Sightings in one transaction: the first look at a large catalogue writes one for each workload.
const A_BATCH: usize = 500;

/// How many arrivals are looked into at once.
const AT_ONCE: usize = 8;

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
    pub(super) fn begin_work(&self) -> Working {
        self.0.busy.fetch_add(1, Ordering::SeqCst);
        Working(self.clone())
    }
}

pub(super) struct Working(Wake);

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

/// Something that is new, with all that is needed to tell it.
struct Found<'a> {
    artefact: &'a Artefact,
    environment: &'a Environment,
    sighting: Sighting,
    news: Option<News>,
}

impl Observer {
    /// Looks at everything, or only at what stands in some namespaces.
    async fn look(&mut self, only: Option<&BTreeSet<Namespace>>) {
        let config = self.bot.config.clone();
        let mut found = Vec::new();
        for artefact in &config.catalogue.artefacts {
            for environment in config.catalogue.ladder.rungs() {
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
        let look = Look {
            artefact: &artefact.name,
            environment: &environment.name,
            rollout: &rollout,
            before: before.as_ref(),
            first,
            deploy_timeout: environment.deploy_timeout,
            now: self.bot.clock.now(),
        };
        let Some(outcome) = look.outcome() else {
            self.looked.insert(here);
            return None;
        };
        Some(Found { artefact, environment, sighting: outcome.sighting, news: outcome.news })
    }

    async fn record(&self, found: Vec<Found<'_>>) {
        let (told, silent): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.news.is_some());
        for some in silent.chunks(A_BATCH) {
            let batch = some.iter().fold(Batch::new(), |batch, found| batch.saw(found.sighting.clone()));
            let _alone = self.bot.seen.alone().await;
            self.bot.commit_seen(batch, some.iter().map(|found| &found.sighting)).await;
        }
        futures::stream::iter(told).for_each_concurrent(AT_ONCE, |found| self.tell(found)).await;
    }

    async fn tell(&self, mut found: Found<'_>) {
        let bot = &self.bot;
        if bot.is_brought(found.artefact, found.environment, &found.sighting).await {
            let batch = Batch::new().saw(found.sighting.clone());
            let _alone = bot.seen.alone().await;
            return bot.commit_seen(batch, std::iter::once(&found.sighting)).await;
        }
        // GitHub or the registry may be away or slow: the channel is told now, and the message completed later.
        let described = tokio::time::timeout(TELL_WITHIN, bot.describe(found.artefact, &found.sighting)).await;
        let (sha, commit) = described.unwrap_or(Ok((None, None))).unwrap_or_default();
        found.sighting.version.commit = sha;
        if found.news == Some(News::Failed)
            && let Some(reason) = bot.reason(found.artefact, found.environment).await
        {
            found.sighting.failed = Some(reason);
        }
        let took = found.sighting.running_at.map(|at| at.duration_since(found.sighting.seen_at));
        let told = ArrivalTold {
            version: found.sighting.version.clone(),
            failed: found.sighting.failed.clone(),
            commit: commit.clone(),
            took: took.filter(|took| !took.is_zero()),
            message: Some(arrival_key(found.artefact, found.environment, &found.sighting)),
        };
        let entry = Entry {
            at: bot.clock.now(),
            change: None,
            kind: if found.news == Some(News::Failed) { "arrival_failed" } else { "arrived" }.to_owned(),
            artefact: Some(found.artefact.name.clone()),
            environment: Some(found.environment.name.clone()),
            actor: Some(Actor::Controller),
            body: json!(told),
        };
        let message = bot.arrival_message(found.artefact, found.environment, &found.sighting, commit);
        let batch = Batch::new().saw(found.sighting.clone()).ledger(entry).say(message);
        let _alone = bot.seen.alone().await;
        bot.commit_seen(batch, std::iter::once(&found.sighting)).await;
    }
}

impl Bot {
    /// Memory follows the store: what could not be stored is found again at the next look.
    async fn commit_seen(&self, batch: Batch, sightings: impl Iterator<Item = &Sighting>) {
        match self.store.commit(batch).await {
            Ok(()) => sightings.for_each(|sighting| {
                self.seen.put(sighting.clone());
                if let Some(change) = self.changes.bringing(&sighting.artefact, &sighting.environment) {
                    self.changes.poke(change.id);
                }
            }),
            Err(error) => tracing::error!(%error, "what was seen could not be stored"),
        }
    }

    /// Does it come by a change of ours? Then its card tells of it.
    async fn is_brought(&self, artefact: &Artefact, environment: &Environment, sighting: &Sighting) -> bool {
        let Some(change) = self.changes.bringing(&artefact.name, &environment.name) else { return false };
        let Some(deploying) = change.stage.deploying() else { return false };
        let known = tokio::time::timeout(TELL_WITHIN, self.belongs(artefact, &change, &deploying.result, sighting));
        match known.await {
            Ok(Ok(Belonging::Foreign)) => false,
            // What nothing tells yet is most likely ours: it came after our merge.
            Ok(Ok(_) | Err(_)) | Err(_) => true,
        }
    }

    pub(super) async fn reason(&self, artefact: &Artefact, environment: &Environment) -> Option<String> {
        let place = artefact.places.get(&environment.name)?;
        for workload in &place.workloads {
            if let Some(reason) = crate::cluster::pods::reason(&self.clients, &place.namespace, workload).await {
                return Some(reason);
            }
        }
        None
    }

    /// The commit of what was seen, and how people know it.
    async fn describe(
        &self,
        artefact: &Artefact,
        sighting: &Sighting,
    ) -> Result<(Option<Sha>, Option<Commit>), CannotAsk> {
        let sha = match &sighting.version.commit {
            Some(sha) => sha.clone(),
            None => match self.source_of(artefact, sighting).await? {
                Some((sha, _)) => sha,
                None => return Ok((None, None)),
            },
        };
        let commit = self.github.commit(&artefact.repository, sha.as_str()).await?;
        Ok((Some(sha), commit.map(Into::into)))
    }

    fn arrival_message(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        commit: Option<Commit>,
    ) -> Message {
        let ladder = &self.config.catalogue.ladder;
        let end = match (&sighting.failed, sighting.running_at) {
            (Some(reason), _) => End::Failed { reason: reason.clone() },
            (None, running_at) => End::Runs {
                took: running_at.map(|at| at.duration_since(sighting.seen_at)).filter(|took| !took.is_zero()),
            },
        };
        let key = arrival_key(artefact, environment, sighting);
        let arrival = Arrival {
            name: key.clone(),
            artefact: artefact.name.clone(),
            environment: environment.name.clone(),
            branch: environment.branch.clone(),
            version: sighting.version.clone(),
            commit,
            end,
            above: ladder.above(&environment.name, artefact).map(|rung| rung.name.clone()),
            is_first_rung: ladder.below(&environment.name, artefact).is_none(),
        };
        let to = To::Post { channel: environment.channel.clone(), key, thread: None, asked: None };
        render::arrival::arrival(&arrival).to(to)
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
    }

    async fn settle_source(&self, artefact: &Artefact) -> Result<(), CannotAsk> {
        let mut below: Option<Sha> = None;
        for environment in self.config.catalogue.ladder.rungs() {
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
        let told_at = seen.running_at.unwrap_or(seen.seen_at);
        let fresh = seen.announced && self.clock.now().duration_since(told_at) < COMPLETED_WITHIN;
        let key = arrival_key(artefact, environment, &seen);
        // GitHub is asked how people know the commit only where somebody reads it.
        let commit = if fresh && self.store.is_spoken(&key).await.unwrap_or_default() {
            self.github.commit(&artefact.repository, sha.as_str()).await?.map(Into::into)
        } else {
            None
        };
        // Asking took time: only what still stands there is completed.
        let _alone = self.seen.alone().await;
        let now_there = self.seen.sighting(&artefact.name, &environment.name);
        let Some(mut sighting) = now_there.filter(|there| there.version.is_image(&seen.version)) else {
            return Ok(None);
        };
        sighting.version.commit = Some(sha.clone());
        let mut batch = Batch::new().saw(sighting.clone());
        if commit.is_some() {
            // Said again under the same name, it takes the place of what was said, or is still to be said.
            batch = batch.say(self.arrival_message(artefact, environment, &sighting, commit));
        }
        self.commit_seen(batch, std::iter::once(&sighting)).await;
        Ok(Some(sha))
    }

    pub(super) async fn is_behind(&self, artefact: &Artefact, here: &Sha, below: &Sha) -> Result<bool, CannotAsk> {
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

/// How the message of an arrival is called: by the stay that it is about.
fn arrival_key(artefact: &Artefact, environment: &Environment, sighting: &Sighting) -> MessageKey {
    let seen_at = sighting.seen_at.as_microsecond();
    MessageKey::new(&format!("arrival:{}:{}:{seen_at}", environment.name, artefact.name))
}
