//! Every word about a change that waits, as people read it.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::domain::approval::Voided;
use crate::domain::change::{Frozen, FrozenResult, Pull};
use crate::domain::sample;

fn at(seconds: i64) -> Timestamp {
    sample::change().asked_at + SignedDuration::from_secs(seconds)
}

fn awaiting(required: u32) -> Awaiting {
    let group = Called::Group { id: "S0RELEASE".into(), handle: "release-managers".into() };
    Awaiting::new(required, vec![group], at(0), SignedDuration::from_hours(24))
}

fn change(awaiting: Awaiting) -> Change {
    let mut change = Change { stage: Stage::AwaitingApproval(awaiting), ..sample::change() };
    let sha = |digit: &str| digit.repeat(40).parse().unwrap();
    change.frozen = Some(Frozen {
        result: Some(FrozenResult { base: sha("1"), head: sha("2") }),
        pull: Some(Pull { number: 12, url: "https://github.com/acme/checkout/pull/12".into() }),
        ..Frozen::of(change.id)
    });
    change
}

fn shown(blocks: &[Block]) -> String {
    let message = Said { text: String::new(), blocks: blocks.to_vec() };
    let json: Value = serde_json::from_slice(&message.ack(false)).unwrap();
    let text = |block: &Value| block["text"]["text"].as_str().unwrap_or_default().to_owned();
    json["blocks"].as_array().unwrap().iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn everything_that_a_change_can_wait_for_has_its_words() {
    let lock = sample::lock();
    let all = vec![
        Waits::ChecksRunning { names: vec!["build".into(), "browser <tests>".into()] },
        Waits::ChecksRed { names: (0..10).map(|n| format!("check-{n}")).collect() },
        Waits::NoCheck,
        Waits::ChangesRequested { logins: vec!["octocat".into()] },
        Waits::Mergeability,
        Waits::GithubRules { reviews: 0 },
        Waits::GithubRules { reviews: 2 },
        Waits::Retargeted { base: "qa".into() },
        Waits::Locked { lock },
        Waits::Frozen { until: at(3600), reason: Some("weekend & <!here>".into()) },
        Waits::Frozen { until: at(3600), reason: None },
        Waits::RightLost,
        Waits::RightsUnknown { why: "Slack cannot tell me who is in @developers right now.".into() },
    ];
    let change = change(awaiting(1));
    let words: Vec<_> = all.iter().map(|waits| waits_for(&change, waits).into_string()).collect();
    assert_snapshot!(words.join("\n"), @"");
}

#[test]
fn a_review_that_does_not_count_says_why_and_what_to_do() {
    use IgnoredBecause::{NoAccess, NotAsked, Requester, RequesterUnmapped, Unmapped};
    let change = change(awaiting(1));
    let words = [Unmapped, RequesterUnmapped, Requester, NotAsked, NoAccess].map(|why| {
        let ignored = Ignored { login: "octo<cat>".into(), why };
        ignored_words(&change, &ignored).into_string()
    });
    assert_snapshot!(words.join("\n"), @"");
}

#[test]
fn the_card_shows_how_far_it_is() {
    let mut waits = awaiting(2);
    let bob = Approval { by: crate::domain::actor::PersonId::new("U0BOB"), at: at(60), way: Way::Github };
    waits.approvals.push(bob);
    waits.voided = Some(Voided { at: at(30), count: 2, why: VoidedBecause::BranchMoved });
    waits.waits_for = vec![Waits::Mergeability, Waits::NoCheck];
    let full = change(waits.clone());
    assert_snapshot!(shown(&waiting(&full, &waits)), @"");
    let making = Change { frozen: Some(Frozen::of(full.id)), ..full.clone() };
    assert_snapshot!(shown(&waiting(&making, &awaiting(1))), @"");
    assert_eq!(value(&making), None, "nobody approves what is not there yet");
    let straight = Change { frozen: None, ..full };
    assert_eq!(waiting(&straight, &awaiting(0)), [], "where nothing is to be said, nothing is");
}

#[test]
fn the_words_in_the_thread_and_to_those_who_press() {
    let mut waits = awaiting(1);
    waits.voided = Some(Voided { at: at(30), count: 1, why: VoidedBecause::Pushed { commit: "9be01d7c1f0f".into() } });
    let change = change(waits.clone());
    let all = [
        voided(&change).unwrap(),
        nudge(&change, &waits),
        moved_on(&change),
        changed_since(&change),
        own_change(),
        approved_before(),
        no_modal(&change),
    ];
    let words: Vec<_> = all.into_iter().map(|said| said.text).collect();
    assert_snapshot!(words.join("\n"), @"");
}

#[test]
fn a_modal_comes_back_to_where_its_button_was() {
    let change = change(awaiting(1));
    let value = value(&change).unwrap();
    let modal = reject_modal(&change, &value, "C0RELEASES");
    assert_eq!(modal_about(modal["private_metadata"].as_str().unwrap()), Some(("C0RELEASES", value.as_str())));
    assert!(modal["title"]["text"].as_str().unwrap().chars().count() <= 24, "Slack takes no longer title");
}
