//! What is said of a change that shows no sign of life.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::domain::change::Runs;
use crate::domain::sample;
use crate::domain::version::Sha;

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    sample::change().asked_at + SignedDuration::from_secs(seconds)
}

fn silent() -> Silence {
    Silence {
        looked_at: after(302),
        branch: BranchSeen::AsMerged,
        build: BuildSeen::Running { names: vec!["build".into()] },
        image: ImageSeen::Missing { name: "aaaaaaa".into() },
        word: None,
        runs: Some(Runs { version: "qa-1111111".into(), untold: false }),
    }
}

fn deploying(silence: Silence) -> Stage {
    let stage = Stage::begin().merged(sha("a"), after(2), after(902)).unwrap();
    stage.still_deploying(|known| Deploying { silence: Some(Box::new(silence)), ..known }).unwrap()
}

fn said(stage: Stage) -> String {
    silence(&Change { stage, ..sample::change() }).map(Mrkdwn::into_string).unwrap_or_default()
}

#[test]
fn what_was_last_seen_is_said_with_where_to_look() {
    assert_snapshot!(said(deploying(silent())), @"");
    let word = Word {
        by: "Flux".into(),
        said: WordSaid::Failed,
        text: "kustomize build failed: <!channel> no such file.".into(),
        commit: Some(sha("b")),
        at: after(200),
    };
    let failed = Silence {
        branch: BranchSeen::MovedOn { to: sha("c") },
        build: BuildSeen::Failed {
            names: vec!["build".into(), "lint".into()],
            url: Some("https://github.com/acme/checkout/commit/aaaaaaa/checks".into()),
        },
        word: Some(word),
        ..silent()
    };
    assert_snapshot!(said(deploying(failed)), @"");
    let stuck = Silence { build: BuildSeen::Done, image: ImageSeen::There { tag: "qa-aaaaaaa".into() }, ..silent() };
    assert_snapshot!(said(deploying(stuck.clone())), @"");
    assert_snapshot!(said(deploying(stuck).stalled(Some("qa-1111111".into()), false, after(902)).unwrap()), @"");
    let untold = Silence {
        branch: BranchSeen::Unread { why: "GitHub is not available: it answered 502.".into() },
        build: BuildSeen::Unread { why: "GitHub is not available: it answered 502.".into() },
        image: ImageSeen::Untold,
        runs: Some(Runs { version: "build-8".into(), untold: true }),
        ..silent()
    };
    assert_snapshot!(said(deploying(untold)), @"");
}

#[test]
fn of_what_was_seen_nothing_is_said() {
    let stage = Stage::begin().merged(sha("a"), after(2), after(902)).unwrap();
    assert_eq!(said(stage), "");
    assert_eq!(said(Stage::begin()), "");
}
