//! The diagnosis of a change that shows no progress.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::domain::change::RunningInstead;
use crate::domain::model::version::Sha;
use crate::domain::sample;

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    sample::change().requested_at + SignedDuration::from_secs(seconds)
}

fn diagnosis() -> StallDiagnosis {
    StallDiagnosis {
        checked_at: after(302),
        branch: BranchFinding::AsMerged,
        build: BuildFinding::Running { names: vec!["build".into()] },
        image: ImageFinding::Missing { name: "aaaaaaa".into() },
        last_report: None,
        running_instead: Some(RunningInstead { version: "qa-1111111".into(), is_commit_unknown: false }),
    }
}

fn deploying(diagnosis: StallDiagnosis) -> Stage {
    let stage = Stage::new_merging().into_deploying(sha("a"), after(2), after(902)).unwrap();
    stage.update_deploying(|known| DeployState { stall_diagnosis: Some(Box::new(diagnosis)), ..known }).unwrap()
}

fn render_stall_text(stage: Stage) -> String {
    describe_stall(&Change { stage, ..sample::change() }).map(Mrkdwn::into_string).unwrap_or_default()
}

#[test]
fn the_last_observations_are_shown_with_the_next_step() {
    assert_snapshot!(render_stall_text(deploying(diagnosis())), @"
    :warning: Merged <!date^1763283602^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa>, as merged
    • CI: `build` is still running
    • image: the registry has none for `aaaaaaa` yet
    • the cluster runs `qa-1111111`
    Next: wait for the build, or look what holds it up. I keep looking.
    ");
    let message = ControllerMessage {
        sender: "Flux".into(),
        outcome: ReportedOutcome::Failed,
        text: "kustomize build failed: <!channel> no such file.".into(),
        commit: Some(sha("b")),
        at: after(200),
    };
    let failed = StallDiagnosis {
        branch: BranchFinding::MovedOn { to: sha("c") },
        build: BuildFinding::Failed {
            names: vec!["build".into(), "lint".into()],
            url: Some("https://github.com/acme/checkout/commit/aaaaaaa/checks".into()),
        },
        last_report: Some(message),
        ..diagnosis()
    };
    assert_snapshot!(render_stall_text(deploying(failed)), @"
    :warning: Merged <!date^1763283602^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` has moved on to <https://github.com/acme/checkout/commit/cccccccccccccccccccccccccccccccccccccccc|ccccccc>
    • CI: `build`, `lint` failed (<https://github.com/acme/checkout/commit/aaaaaaa/checks|see>)
    • image: the registry has none for `aaaaaaa` yet
    • Flux said <!date^1763283800^{date_short_pretty} {time}|2025-11-16 09:03 UTC> that `bbbbbbb` failed: kustomize build failed: &lt;!channel&gt; no such file
    • the cluster runs `qa-1111111`
    Next: run the build again, or push a repair and promote it. I keep looking.
    ");
    let stuck = StallDiagnosis {
        build: BuildFinding::Done,
        image: ImageFinding::Present { tag: "qa-aaaaaaa".into() },
        ..diagnosis()
    };
    assert_snapshot!(render_stall_text(deploying(stuck.clone())), @"
    :warning: Merged <!date^1763283602^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa>, as merged
    • CI: all is green
    • image: `qa-aaaaaaa` is in the registry
    • the cluster runs `qa-1111111`
    Next: look why the controller does not pick it up. I keep looking.
    ");
    assert_snapshot!(render_stall_text(deploying(stuck).into_stalled(Some("qa-1111111".into()), false, after(902)).unwrap()), @"
    *Last seen:*
    • branch `qa` is at <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa>, as merged
    • CI: all is green
    • image: `qa-aaaaaaa` is in the registry
    ");
    let untold = StallDiagnosis {
        branch: BranchFinding::Unread { why: "GitHub is not available: it answered 502.".into() },
        build: BuildFinding::Unread { reason: "GitHub is not available: it answered 502.".into() },
        image: ImageFinding::Unrecognisable,
        running_instead: Some(RunningInstead { version: "build-8".into(), is_commit_unknown: true }),
        ..diagnosis()
    };
    assert_snapshot!(render_stall_text(deploying(untold)), @"
    :warning: Merged <!date^1763283602^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` cannot be read: GitHub is not available: it answered 502
    • CI: cannot be asked: GitHub is not available: it answered 502
    • the cluster runs `build-8`, and nothing tells which commit that was built from
    Next: see whether that is it; only a controller's report could tell me. I keep looking.
    ");
}

#[test]
fn a_change_with_progress_has_no_diagnosis() {
    let stage = Stage::new_merging().into_deploying(sha("a"), after(2), after(902)).unwrap();
    assert_eq!(render_stall_text(stage), "");
    assert_eq!(render_stall_text(Stage::new_merging()), "");
}
