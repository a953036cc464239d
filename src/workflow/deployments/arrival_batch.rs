//! A wave of arrivals on one card, edited in place as they go on; what of it fails or recovers is said in its thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::StreamExt;
use jiff::Timestamp;

use crate::adapters::slack::render::arrival_batch as render;
use crate::adapters::store::Transaction;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::message::MessageKey;
use crate::domain::runtime::arrival::{ArrivalEvent, Author};
use crate::domain::runtime::arrival_batch::{
    ArrivalBatch, BatchedArrival, BatchedArrivalState, MIN_BATCH_SIZE, split_into_batches,
};
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Bot;
use crate::workflow::deployments::arrivals::{AT_ONCE, Beside, FAILED, Found, Known, RECOVERED, Told, told_by};
use crate::workflow::facts::sightings::Stay;

/// So many failures of a wave have a message of their own.
const FAILURES: usize = 5;

impl Bot {
    /// When the wave began that each belongs to, where there are enough for one.
    pub(crate) fn begun(&self, found: &[Found<'_>]) -> Vec<Option<Timestamp>> {
        let environments: BTreeSet<&EnvironmentName> = found.iter().map(|found| &found.environment.name).collect();
        let mut begun: HashMap<(EnvironmentName, ArtefactName), Timestamp> = HashMap::new();
        for environment in environments {
            let here = found.iter().filter(|found| found.environment.name == *environment);
            let coming: Vec<Sighting> = here.map(|found| found.sighting.clone()).collect();
            let stays = self.foreign_stays(environment, &coming);
            for wave in waves(&stays) {
                let Some(first) = wave.first() else { continue };
                for stay in wave.iter().filter(|stay| coming.iter().any(|one| is_stay(one, &stay.sighting))) {
                    begun.insert((environment.clone(), stay.sighting.artefact.clone()), first.sighting.seen_at);
                }
            }
        }
        let first =
            |found: &Found<'_>| begun.get(&(found.environment.name.clone(), found.artefact.name.clone())).copied();
        found.iter().map(first).collect()
    }

    /// The same for one that is known already.
    pub(crate) fn wave_of(&self, environment: &EnvironmentName, sighting: &Sighting) -> Option<Timestamp> {
        let stays = self.foreign_stays(environment, std::slice::from_ref(sighting));
        let wave = waves(&stays).into_iter().find(|wave| wave.iter().any(|stay| is_stay(sighting, &stay.sighting)))?;
        wave.first().map(|first| first.sighting.seen_at)
    }

    /// What arrived in the last hours without a change of ours, oldest first, `newer` in the place of what was known.
    fn foreign_stays(&self, environment: &EnvironmentName, newer: &[Sighting]) -> Vec<Stay> {
        let ours = |stay: &Stay| stay.apart || self.changes.awaited(&stay.sighting.artefact, environment).is_some();
        let mut stays: BTreeMap<(Timestamp, ArtefactName), Stay> = BTreeMap::new();
        for stay in self.seen.recent(environment) {
            stays.insert((stay.sighting.seen_at, stay.sighting.artefact.clone()), stay);
        }
        let coming: BTreeSet<_> = newer.iter().map(|one| (one.seen_at, one.artefact.clone())).collect();
        stays.retain(|here, stay| coming.contains(here) || !ours(stay));
        for (one, here) in newer.iter().map(|one| (one, (one.seen_at, one.artefact.clone()))) {
            let commit = stays.get(&here).and_then(|stay| stay.commit.clone());
            stays.insert(here, Stay { sighting: one.clone(), apart: false, commit });
        }
        stays.into_values().collect()
    }

    /// All that one look found of a wave, in one transaction with its card.
    pub(crate) async fn tell_wave(&self, began: Timestamp, found: Vec<Found<'_>>) {
        let Some(environment) = found.first().map(|found| found.environment) else { return };
        let key = ArrivalBatch::message_key(&environment.name, began);
        let asked: Vec<_> = found
            .into_iter()
            .map(|mut found| async move {
                let known = self.look_into(&mut found).await;
                (found, known)
            })
            .collect();
        let found: Vec<(Found<'_>, Known)> = futures::stream::iter(asked).buffered(AT_ONCE).collect().await;
        let sightings: Vec<Sighting> = found.iter().map(|(found, _)| found.sighting.clone()).collect();

        let _alone = self.seen.alone().await;
        let mut transaction =
            sightings.iter().fold(Transaction::new(), |transaction, sighting| transaction.saw(sighting.clone()));
        for (found, known) in &found {
            transaction = transaction.ledger(self.arrival_entry(found, known.commit.clone(), key.clone()));
        }
        let mut wave = self.wave(environment, began, &sightings);
        for (found, known) in &found {
            let member = wave.members.iter_mut().find(|member| member.artefact == found.artefact.name);
            if let Some(member) = member.filter(|member| member.version.is_same_as(&found.sighting.version)) {
                member.commit = known.commit.clone().or(member.commit.take());
                member.provenance = known.origin.clone();
            }
        }
        transaction = transaction.and(self.say_arrival(environment, told(&wave, key.clone())));
        for told in Self::replies(&wave, &key, &found) {
            transaction = transaction.and(self.say_arrival(environment, told));
        }
        self.commit_seen(transaction, sightings.iter()).await;
        for (found, known) in found {
            let Found { artefact, sighting, .. } = &found;
            if let Some(commit) = known.commit {
                self.seen.describe(sighting, commit);
            }
            self.keep_origin(artefact, environment, sighting, known.origin);
        }
    }

    /// The card, with `newer` in the place of what was known.
    pub(crate) fn told_wave(&self, environment: &Environment, began: Timestamp, newer: &[Sighting]) -> Told {
        told(&self.wave(environment, began, newer), ArrivalBatch::message_key(&environment.name, began))
    }

    fn wave(&self, environment: &Environment, began: Timestamp, newer: &[Sighting]) -> ArrivalBatch {
        let stays = self.foreign_stays(&environment.name, newer);
        let found = waves(&stays).into_iter().find(|wave| wave.iter().any(|stay| stay.sighting.seen_at == began));
        // Of two stays of an artefact, the later is told.
        let mut members: BTreeMap<&ArtefactName, BatchedArrival> = BTreeMap::new();
        for Stay { sighting, commit, .. } in found.unwrap_or_default() {
            let origin = self.seen.with(&sighting.artefact, |seen| {
                let entry = seen.of(&environment.name).filter(|entry| is_stay(&entry.sighting, sighting));
                entry.map(|entry| entry.origin.clone()).unwrap_or_default()
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
        let catalogue = &self.config.catalogue;
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

    /// What failed or recovered since the last look. Each author is called once in a wave.
    fn replies(wave: &ArrivalBatch, key: &MessageKey, found: &[(Found<'_>, Known)]) -> Vec<Told> {
        let member = |found: &Found<'_>| wave.members.iter().find(|member| member.artefact == found.artefact.name);
        let news = |kind: ArrivalEvent| found.iter().filter(move |(found, _)| found.news == Some(kind));
        let reply = |what: &str, artefacts: Vec<ArtefactName>, tells, said, beside| Told {
            artefacts,
            tells,
            key: MessageKey::new(&format!("{key}:{what}")),
            thread: Some(key.clone()),
            said,
            beside: Beside::Said(beside),
        };
        let mut replies = Vec::new();
        let is_new = |member: &&BatchedArrival| {
            news(ArrivalEvent::Failed).any(|(found, _)| found.artefact.name == member.artefact)
        };
        let failed: Vec<&BatchedArrival> =
            wave.members.iter().filter(|it| matches!(it.state, BatchedArrivalState::Failed { .. })).collect();
        let earlier: Vec<&BatchedArrival> = failed.iter().copied().filter(|member| !is_new(member)).collect();
        // Who was called for an earlier one of the same wave has been told of the wave.
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
            if earlier.len() + at < FAILURES {
                let what = format!("failed:{}:{}", member.artefact, found.sighting.seen_at.as_microsecond());
                let said = render::failed(member, &wave.environment, &authors);
                let beside = render::failed(member, &wave.environment, &[]);
                replies.push(reply(&what, vec![member.artefact.clone()], FAILED, said, beside));
            } else {
                rest.push(member.artefact.as_str());
                rest_authors.extend(authors);
            }
        }
        if !rest.is_empty() {
            // Those that fail later have a line of their own: whoever is called by an edit is not called.
            let said = render::failed_too(&rest, &wave.environment, &rest_authors);
            let artefacts = rest.iter().map(|name| ArtefactName::new(name)).collect();
            let beside = render::failed_too(&rest, &wave.environment, &[]);
            let what = format!("failed:more:{}", earlier.len());
            replies.push(reply(&what, artefacts, FAILED, said, beside));
        }
        for (found, _) in news(ArrivalEvent::Recovered) {
            let Some(member) = member(found) else { continue };
            let what = format!("runs:{}:{}", member.artefact, found.sighting.seen_at.as_microsecond());
            let said = render::recovered(member, &wave.environment);
            replies.push(reply(&what, vec![member.artefact.clone()], RECOVERED, said.clone(), said));
        }
        replies
    }
}

fn told(wave: &ArrivalBatch, key: MessageKey) -> Told {
    let artefacts = wave.members.iter().map(|member| member.artefact.clone()).collect();
    let beside = Beside::Wave(wave.clone());
    Told { artefacts, tells: told_by(wave), key, thread: None, said: render::wave(wave), beside }
}

/// Those that are large enough; `stays` are in order.
fn waves(stays: &[Stay]) -> Vec<&[Stay]> {
    let moments: Vec<Timestamp> = stays.iter().map(|stay| stay.sighting.seen_at).collect();
    let parts = split_into_batches(&moments).into_iter().map(|part| &stays[part]);
    let is_wave = |part: &&[Stay]| {
        let artefacts: BTreeSet<&ArtefactName> = part.iter().map(|stay| &stay.sighting.artefact).collect();
        artefacts.len() >= MIN_BATCH_SIZE
    };
    parts.filter(is_wave).collect()
}

fn is_stay(one: &Sighting, other: &Sighting) -> bool {
    one.seen_at == other.seen_at && one.artefact == other.artefact
}
