//! The bot's messages about arrivals are within Slack's limits.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::limits::{arbitrary_text, check_rendered};
use crate::adapters::slack::render::{arrival, arrival_batch};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::{Commit, Version};
use crate::domain::runtime::arrival::{Arrival, ArrivalOutcome, Author};
use crate::domain::runtime::arrival_batch::{ArrivalBatch, BatchedArrival, BatchedArrivalState};
use crate::domain::runtime::provenance::{GitMismatch, Provenance};
use crate::domain::sample;

fn provenance(number: usize, text: &str, specified: &Version) -> Provenance {
    let (branch, commit) = (text.to_owned(), sample::sha('c'));
    let mismatch = match number % 4 {
        0 => GitMismatch::NotInBranch { branch, commit },
        1 => GitMismatch::RolledBack { branch, commit },
        2 => GitMismatch::NotInManifest { file: text.to_owned(), specified: specified.clone() },
        _ => return Provenance::Git,
    };
    Provenance::NotFromGit { mismatch }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_arrival_and_any_batch_is_within_the_limits_and_escaped(
        text in arbitrary_text(), count in 0_usize..60, failed in 0_usize..60, name in 1_usize..80, first in any::<bool>(),
    ) {
        // The longest tag that a registry allows.
        let tag: String = text.chars().take(128).collect();
        let version = Version { tag: Some(tag.as_str().into()), digest: None, commit: Some(sample::sha('c')) };
        let commit = Commit { author: text.clone(), ..sample::commit('c', &text) };
        let environment = EnvironmentName::new(&"e".repeat(name));
        let people = [Author::Person(PersonId::new("U0BOB")), Author::Named(text.clone()), Author::Named(text.clone())];
        let member = |number: usize| BatchedArrival {
            artefact: ArtefactName::new(&format!("{}{number}", "a".repeat(name))),
            version: version.clone(),
            commit: (!number.is_multiple_of(3)).then(|| commit.clone()),
            provenance: provenance(number, &text, &version),
            state: match number {
                failing if failing < failed => BatchedArrivalState::Failed { reason: text.clone() },
                other if other.is_multiple_of(2) => BatchedArrivalState::Running,
                _ => BatchedArrivalState::RollingOut,
            },
        };
        let mut batch = ArrivalBatch {
            environment: environment.clone(),
            branch: "b".repeat(name),
            began_at: Timestamp::UNIX_EPOCH,
            members: (0..count).map(member).collect(),
            next_environment: first.then(|| environment.clone()),
            is_first_environment: first,
        };
        if first && count > 1 {
            batch.members[0].version.commit = Some(sample::sha('d'));
        }
        check_rendered(arrival_batch::render_arrival_batch(&batch))?;
        check_rendered(arrival_batch::render_failure(&member(0), &environment, &people))?;
        check_rendered(arrival_batch::render_recovery(&member(0), &environment))?;
        let names: Vec<&str> = batch.members.iter().map(|member| member.artefact.as_str()).collect();
        check_rendered(arrival_batch::render_more_failures(&names, &environment, &people))?;

        let arrival = Arrival {
            message_key: MessageKey::new("arrival"),
            artefact: ArtefactName::new(&"a".repeat(name)),
            environment: environment.clone(),
            branch: "b".repeat(name),
            version: version.clone(),
            commit: Some(commit),
            authors: people.to_vec(),
            provenance: provenance(count, &text, &version),
            outcome: if failed > 0 {
                ArrivalOutcome::Failed { reason: text.clone() }
            } else {
                ArrivalOutcome::Running { rollout_duration: Some(SignedDuration::from_secs(3)) }
            },
            next_environment: first.then(|| environment.clone()),
            is_first_environment: first,
        };
        check_rendered(arrival::render_arrival(&arrival))?;
        check_rendered(arrival::render_recovery(&arrival))?;
        check_rendered(arrival::render_authors_found(&arrival))?;
    }
}
