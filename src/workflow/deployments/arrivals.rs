//! Tells what arrived without a change of ours: one message for each arrival or one card for a wave of them, once.
//! What is learned later is edited in; a failure calls the authors, and a recovery is said in the thread and the channel.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

use crate::adapters::slack::render::{self, Said, arrival};
use crate::adapters::store::{Entry, LedgerDetails, LedgerKind, Transaction};
use crate::domain::change::subscription::{SubscribedChannel, SubscribedState};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::model::version::{Commit, Sha};
use crate::domain::runtime::arrival::{Arrival, ArrivalEvent, ArrivalOutcome, Author};
use crate::domain::runtime::arrival_batch::ArrivalBatch;
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;
use crate::domain::view::history::ArrivalDetails;

use crate::workflow::changes::verify::Belonging;
use crate::workflow::context::Bot;
use crate::workflow::facts::image_commits::CannotAsk;

/// What is not known of an arrival by then is told without it.
pub(crate) const TELL_WITHIN: Duration = Duration::from_secs(5);

/// How many arrivals are looked into at once.
pub(crate) const AT_ONCE: usize = 8;

/// More people than these are not called for one failure.
const MOST_AUTHORS: usize = 5;

/// Something that is new, with all that is needed to tell it.
pub(crate) struct Found<'a> {
    pub(crate) artefact: &'a Artefact,
    pub(crate) environment: &'a Environment,
    pub(crate) sighting: Sighting,
    pub(crate) news: Option<ArrivalEvent>,
}

/// What was found out about an arrival in time.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) commit: Option<Commit>,
    pub(crate) origin: Provenance,
    /// Whom a failure concerns.
    pub(crate) authors: Vec<Author>,
}

/// What a message tells, for channels that listen to some of it: any of these is enough.
type Tells = &'static [SubscribedState];

/// Of a wave some run, and some still roll out.
pub(crate) const ARRIVING: Tells = &[SubscribedState::Started, SubscribedState::Deployed];
pub(crate) const RUNS: Tells = &[SubscribedState::Deployed];
pub(crate) const FAILED: Tells = &[SubscribedState::Failed];
/// Who heard of the failure hears that it is over.
pub(crate) const RECOVERED: Tells = &[SubscribedState::Deployed, SubscribedState::Failed];

/// One message about arrivals, before it is known who gets it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) artefacts: Vec<ArtefactName>,
    pub(crate) tells: Tells,
    pub(crate) key: MessageKey,
    /// A reply stands in the channel too.
    pub(crate) thread: Option<MessageKey>,
    pub(crate) said: Said,
    pub(crate) beside: Beside,
}

/// What other channels than the environment's own are told. It calls nobody: that was done once.
#[derive(Debug)]
pub(crate) enum Beside {
    Said(Said),
    Nothing,
    /// Of a wave, each channel is told of what it listens to.
    Wave(ArrivalBatch),
}

/// Where an arrival was told, and all that is needed to say it again.
#[derive(Debug)]
pub(crate) struct Telling {
    /// The beginning of its wave; `None` where it has a message of its own.
    wave: Option<Timestamp>,
    pub(crate) commit: Option<Commit>,
    authors: Vec<Author>,
    /// Slack has it already: whoever is mentioned by an edit is not called.
    stands: bool,
}

impl Bot {
    /// Every message about an arrival is made here: what is said, and where. The same key edits what was said.
    pub(crate) fn say_arrival(&self, environment: &Environment, told: Told) -> Transaction {
        let Told { artefacts, tells, key, thread, said, beside } = told;
        let audience = &self.config.audience;
        let wanted: BTreeSet<SubscribedState> =
            artefacts.iter().flat_map(|artefact| audience.own_channel_states(artefact, environment)).collect();
        let hears = |wanted: &BTreeSet<SubscribedState>, tells: Tells| tells.iter().any(|state| wanted.contains(state));
        let patient = matches!(beside, Beside::Wave(_));
        let place = |channel: &str, key, thread| At { channel: channel.to_owned(), key, thread, patient };
        let mut transaction =
            say(place(&environment.channel, key.clone(), thread.clone()), said, hears(&wanted, tells));
        for (ear, heard) in audience.group_subscribed_channels(&artefacts, environment) {
            let (tells, said) = match &beside {
                Beside::Nothing => continue,
                Beside::Said(said) => (tells, said.clone()),
                Beside::Wave(wave) => {
                    let wave = wave.filter_artefacts(&heard);
                    (told_by(&wave), render::arrival_batch::wave(&wave))
                }
            };
            let (key, thread) = (there(&key, &ear), thread.as_ref().map(|thread| there(thread, &ear)));
            transaction = transaction.and(say(place(&ear.channel, key, thread), said, hears(&ear.states, tells)));
        }
        transaction
    }

    /// Tells all that one look found. What a change of ours brings is on its card.
    pub(crate) async fn tell(&self, found: Vec<Found<'_>>) {
        let asked: Vec<_> = found
            .into_iter()
            .map(|found| async move {
                let brought = self.is_brought(found.artefact, found.environment, &found.sighting).await;
                (found, brought)
            })
            .collect();
        let known: Vec<(Found<'_>, bool)> = futures::stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
        let mut foreign = Vec::new();
        for (found, brought) in known {
            if !brought {
                foreign.push(found);
                continue;
            }
            let _alone = self.seen.alone().await;
            self.commit_seen(Transaction::new().saw(found.sighting.clone()), std::iter::once(&found.sighting)).await;
            self.seen.set_apart(&found.sighting);
        }
        let mut alone = Vec::new();
        let mut waves: BTreeMap<(EnvironmentName, Timestamp), Vec<Found<'_>>> = BTreeMap::new();
        let begun = self.begun(&foreign);
        for (found, first) in foreign.into_iter().zip(begun) {
            match first {
                Some(first) if !self.is_told_alone(&found).await => {
                    waves.entry((found.environment.name.clone(), first)).or_default().push(found);
                }
                _ => alone.push(found),
            }
        }
        let alone: Vec<_> = alone.into_iter().map(|found| self.tell_alone(found)).collect();
        futures::stream::iter(alone).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
        for ((_, began), found) in waves {
            self.tell_wave(began, found).await;
        }
    }

    /// What has a message of its own keeps it, whatever came after it.
    async fn is_told_alone(&self, found: &Found<'_>) -> bool {
        let key = arrival_key(&found.artefact.name, &found.environment.name, &found.sighting);
        self.store.is_spoken(&key).await.unwrap_or_default()
    }

    /// Does it come by a change of ours? Then its card tells of it.
    async fn is_brought(&self, artefact: &Artefact, environment: &Environment, sighting: &Sighting) -> bool {
        let Some(change) = self.changes.bringing(&artefact.name, &environment.name) else { return false };
        let Some(deploying) = change.stage.deploying() else { return false };
        let known = tokio::time::timeout(TELL_WITHIN, self.belongs(artefact, &change, &deploying.result, sighting));
        match known.await {
            Ok(Ok(Belonging::Ours(_))) => true,
            Ok(Ok(Belonging::Foreign)) => false,
            // What nothing tells yet is most likely ours while we wait for it, and anybody's when that was given up.
            Ok(Ok(Belonging::Unknown) | Err(_)) | Err(_) => change.stage.is_active(),
        }
    }

    async fn tell_alone(&self, mut found: Found<'_>) {
        let known = self.look_into(&mut found).await;
        let Found { artefact, environment, sighting, .. } = &found;
        let key = arrival_key(&artefact.name, &environment.name, sighting);
        let entry = self.arrival_entry(&found, known.commit.clone(), key.clone());
        let mut transaction = Transaction::new().saw(sighting.clone()).ledger(entry);
        let origin = known.origin.clone();
        let arrival = self.arrival(artefact, environment, sighting, known);
        if found.news == Some(ArrivalEvent::Recovered) {
            transaction = transaction.and(self.say_arrival(environment, recovered(&arrival)));
        }
        transaction = transaction.and(self.say_arrival(environment, told(&arrival)));
        let _alone = self.seen.alone().await;
        self.commit_seen(transaction, std::iter::once(sighting)).await;
        self.keep_origin(artefact, environment, sighting, origin);
    }

    /// Finds out what can be found out in time. GitHub or the registry may be away or slow: the channel is told now, and
    /// the message completed later.
    pub(crate) async fn look_into(&self, found: &mut Found<'_>) -> Known {
        let until = Instant::now() + TELL_WITHIN;
        let described = timeout_at(until, self.describe(found.artefact, &found.sighting)).await;
        let (sha, commit) = described.unwrap_or(Ok((None, None))).unwrap_or_default();
        found.sighting.version.commit = sha;
        let (artefact, environment) = (found.artefact, found.environment);
        // A change that waits for its proof, or may still get it, does not wait for a mark: that is known, or comes a little later.
        let origin = if self.changes.bringing(&artefact.name, &environment.name).is_some() {
            self.seen.with(&artefact.name, |seen| {
                let entry = seen
                    .of(&environment.name)
                    .filter(|entry| entry.sighting.version.is_same_as(&found.sighting.version));
                entry.map(|entry| entry.origin.clone()).unwrap_or_default()
            })
        } else {
            let asked = timeout_at(until, self.origin_of(artefact, environment, &found.sighting)).await;
            asked.ok().and_then(Result::ok).unwrap_or_default()
        };
        let mut authors = Vec::new();
        if found.news == Some(ArrivalEvent::Failed) {
            if let Some(reason) = self.reason(artefact, environment).await {
                found.sighting.failure = Some(reason);
            }
            let asked = self.authors_of(artefact, environment, &found.sighting, commit.as_ref());
            let named = || commit.iter().map(|commit| Author::Named(commit.author.clone())).collect();
            authors = timeout_at(until, asked).await.unwrap_or_else(|_| named());
        }
        Known { commit, origin, authors }
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

    /// Who wrote what came with a version, each once: all since the version before, as far as that can be known.
    async fn authors_of(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        commit: Option<&Commit>,
    ) -> Vec<Author> {
        let Some(commit) = commit else { return Vec::new() };
        let mut commits = self.commits_since(artefact, environment, sighting, &commit.sha).await;
        commits.retain(|commit| !commit.only_moves);
        if commits.is_empty() {
            commits.push(commit.clone());
        }
        let mut authors: Vec<Author> = Vec::new();
        for commit in commits {
            let person = match &commit.login {
                // Who cannot be found now is named: nothing waits for it.
                Some(login) => self.person_of(login, &artefact.repository).await.ok().flatten(),
                None => None,
            };
            let author = person.map_or(Author::Named(commit.author), Author::Person);
            if !authors.contains(&author) {
                authors.push(author);
            }
            if authors.len() == MOST_AUTHORS {
                break;
            }
        }
        authors
    }

    async fn commits_since(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        sha: &Sha,
    ) -> Vec<Commit> {
        let stays = self.store.sightings(&artefact.name, &environment.name, 2).await.unwrap_or_default();
        let before = stays.into_iter().find(|stay| !stay.version.is_same_image(&sighting.version));
        let Some(before) = before.and_then(|stay| stay.version.commit) else { return Vec::new() };
        let comparison = self.comparison(&artefact.repository, &before, sha).await;
        let Ok(Some(comparison)) = comparison else { return Vec::new() };
        comparison.commits.into_iter().map(|lone| lone.commit).collect()
    }

    /// For the ledger, which `history` reads.
    pub(crate) fn arrival_entry(&self, found: &Found<'_>, commit: Option<Commit>, message: MessageKey) -> Entry {
        let sighting = &found.sighting;
        let told = ArrivalDetails {
            version: sighting.version.clone(),
            failed: sighting.failure.clone(),
            commit,
            took: took(sighting),
            message: Some(message),
        };
        Entry {
            at: self.clock.now(),
            change: None,
            kind: if found.news == Some(ArrivalEvent::Failed) {
                LedgerKind::ArrivalFailed
            } else {
                LedgerKind::Arrived
            },
            artefact: Some(found.artefact.name.clone()),
            environment: Some(found.environment.name.clone()),
            actor: Some(Actor::Controller),
            details: Some(LedgerDetails::Arrival(Box::new(told))),
        }
    }

    fn arrival(&self, artefact: &Artefact, environment: &Environment, sighting: &Sighting, known: Known) -> Arrival {
        let ladder = &self.config.catalogue.ladder;
        let end = match &sighting.failure {
            Some(reason) => ArrivalOutcome::Failed { reason: reason.clone() },
            None => ArrivalOutcome::Running { rollout_duration: took(sighting) },
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
    pub(crate) async fn telling_of(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        within: SignedDuration,
    ) -> Result<Option<Telling>, CannotAsk> {
        let told_at = sighting.running_at.unwrap_or(sighting.seen_at);
        if !sighting.announced || self.clock.now().duration_since(told_at) >= within {
            return Ok(None);
        }
        let own = arrival_key(&artefact.name, &environment.name, sighting);
        let mut wave = None;
        let mut key = own;
        if !self.store.is_spoken(&key).await? {
            let Some(began) = self.wave_of(&environment.name, sighting) else { return Ok(None) };
            key = ArrivalBatch::message_key(&environment.name, began);
            if !self.store.is_spoken(&key).await? {
                return Ok(None);
            }
            wave = Some(began);
        }
        let commit = match &sighting.version.commit {
            Some(sha) => self.github.commit(&artefact.repository, sha.as_str()).await?.map(Into::into),
            None => None,
        };
        let failed = wave.is_none() && sighting.failure.is_some();
        let authors =
            if failed { self.authors_of(artefact, environment, sighting, commit.as_ref()).await } else { Vec::new() };
        let stands = self.store.said(&key).await?.is_some();
        Ok(Some(Telling { wave, commit, authors, stands }))
    }

    /// What was told, with what is known by now: it takes the place of what was said.
    pub(crate) fn tell_again(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        telling: Telling,
    ) -> Transaction {
        if let Some(began) = telling.wave {
            if let Some(commit) = telling.commit {
                self.seen.describe(sighting, commit);
            }
            let told = self.told_wave(environment, began, std::slice::from_ref(sighting));
            return self.say_arrival(environment, told);
        }
        let origin = self.seen.with(&artefact.name, |seen| {
            let entry = seen.of(&environment.name).filter(|entry| entry.sighting.seen_at == sighting.seen_at);
            entry.map(|entry| entry.origin.clone()).unwrap_or_default()
        });
        let known = Known { commit: telling.commit, origin, authors: telling.authors };
        self.say_arrival(environment, told(&self.arrival(artefact, environment, sighting, known)))
    }

    /// Calls the authors of a failure that was told before they were known.
    pub(crate) fn tell_concerned(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        telling: &Telling,
    ) -> Transaction {
        if !telling.stands || telling.authors.is_empty() {
            return Transaction::new();
        }
        let known = Known { authors: telling.authors.clone(), ..Known::default() };
        let arrival = self.arrival(artefact, environment, sighting, known);
        self.say_arrival(environment, concerned(&arrival))
    }
}

/// The message of an arrival.
fn told(of: &Arrival) -> Told {
    let tells = match of.outcome {
        ArrivalOutcome::Running { .. } => RUNS,
        ArrivalOutcome::Failed { .. } => FAILED,
    };
    let beside = Beside::Said(arrival::arrival(&Arrival { authors: Vec::new(), ..of.clone() }));
    let (artefacts, key) = (vec![of.artefact.clone()], of.message_key.clone());
    Told { artefacts, tells, key, thread: None, said: arrival::arrival(of), beside }
}

/// Said in its thread, once: it runs after all.
fn recovered(of: &Arrival) -> Told {
    let said = arrival::recovered(of);
    in_thread(of, "runs", RECOVERED, said.clone(), Beside::Said(said))
}

/// The same for whom a failure concerns. Only those who are called need to hear it.
fn concerned(of: &Arrival) -> Told {
    in_thread(of, "authors", FAILED, arrival::concerned(of), Beside::Nothing)
}

fn in_thread(of: &Arrival, what: &str, tells: Tells, said: Said, beside: Beside) -> Told {
    let key = MessageKey::new(&format!("{}:{what}", of.message_key));
    Told { artefacts: vec![of.artefact.clone()], tells, key, thread: Some(of.message_key.clone()), said, beside }
}

/// A reply stands in the channel too. What a channel does not listen to is said only in the place of what stands there, or
/// to what stands there.
fn say(at: At, said: Said, heard: bool) -> Transaction {
    let At { channel, key, thread, patient } = at;
    let message = said.to(Destination::Post { channel, key: key.clone(), thread: thread.clone(), asked: None });
    let message = if patient { message.with_coalescing() } else { message };
    match (thread, heard) {
        (Some(thread), true) => Transaction::new().say_upon(thread, message.with_broadcast()),
        (Some(_), false) => Transaction::new(),
        (None, true) => Transaction::new().say(message),
        (None, false) => Transaction::new().say_upon(key, message),
    }
}

/// Where a message about arrivals goes.
struct At {
    channel: String,
    key: MessageKey,
    thread: Option<MessageKey>,
    /// Its edits can wait: many of them come one behind the other.
    patient: bool,
}

/// How a message is called in another channel.
fn there(key: &MessageKey, ear: &SubscribedChannel) -> MessageKey {
    MessageKey::new(&format!("{key}@{}", ear.channel))
}

pub(crate) fn told_by(wave: &ArrivalBatch) -> Tells {
    let count = wave.count_by_state();
    match (count.failed, count.rolling_out) {
        (1.., _) => FAILED,
        (0, 1..) => ARRIVING,
        (0, 0) => RUNS,
    }
}

/// Unknown where the rollout was over before it was seen.
fn took(sighting: &Sighting) -> Option<SignedDuration> {
    let took = sighting.running_at.map(|at| at.duration_since(sighting.seen_at));
    took.filter(|took| !took.is_zero())
}

/// How the message of an arrival is called: by the stay that it is about.
fn arrival_key(artefact: &ArtefactName, environment: &EnvironmentName, sighting: &Sighting) -> MessageKey {
    MessageKey::new(&format!("arrival:{environment}:{artefact}:{}", sighting.seen_at.as_microsecond()))
}
