//! The card in every stage.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::domain::change::{
    CoDeployedState, CoDeployedStatus, FailureEvidence, Proof, ResultTag, RetryState, RolloutProgress, TriggerOutcome,
};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::model::version::Sha;
use crate::domain::sample;

fn after(seconds: i64) -> Timestamp {
    sample::change().requested_at + SignedDuration::from_secs(seconds)
}

fn in_stage(stage: Stage) -> Change {
    Change { stage, ..sample::change() }
}

fn deploying() -> Stage {
    let result: Sha = "9be01d7".repeat(6)[..40].parse().unwrap();
    Stage::new_merging().into_deploying(result, after(2), after(902)).unwrap()
}

/// The text of the card without the plan, which is the same on every card.
fn render_card_text(change: &Change) -> String {
    let rendered = render_card(change, Some(&EnvironmentName::new("staging")));
    let blocks = rendered.into_message(Destination::Edit { key: MessageKey::new("card") }).blocks;
    let lines = blocks.iter().map(|block| match block["type"].as_str() {
        Some("section") => block["text"]["text"].as_str().unwrap_or_default().to_owned(),
        Some("context") => block["elements"][0]["text"].as_str().unwrap_or_default().to_owned(),
        _ => format!("[{}]", block["elements"][0]["text"]["text"].as_str().unwrap_or_default()),
    });
    let plan = "`qa-1111111`";
    lines.filter(|line| !line.starts_with(plan) && !line.starts_with("asked by")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_card_shows_the_effects_and_the_requester() {
    let rendered = render_card(&sample::change(), None);
    assert_eq!(rendered.text, "*checkout* `develop-4f1c2ab`: merging into *qa*");
    let text = serde_json::to_string(&rendered.into_message(Destination::Edit { key: MessageKey::new("card") }).blocks)
        .unwrap();
    for part in [
        "`qa-1111111` \u{2192} `develop-4f1c2ab`, commit `4f1c2ab` as it runs in development",
        "2 commits:",
        "Retry the payment provider once \u{b7} Alice Adler \u{b7} <https://github.com/acme/checkout/pull/42|#42>",
        "Ask &lt;!channel&gt; &amp; more \u{b7} Bob",
        "asked by <@U0ALICE>",
        "change `0badcafe`",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn every_stage_shows_its_progress_and_the_next_step() {
    let now = after(20);
    assert_snapshot!(render_card_text(&sample::change()), @"
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: merging into *qa*
    :hourglass_flowing_sand: merging  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    ");

    let why = "GitHub is not available: it answered 502.".to_owned();
    let troubled =
        Stage::new_merging().record_merge_failure(RetryState { since: now, attempts: 1, reason: why }, true).unwrap();
    assert_snapshot!(render_card_text(&in_stage(troubled)), @"
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: merging into *qa*
    :hourglass_flowing_sand: merging  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :warning: GitHub is not available: it answered 502. I keep trying.
    [Cancel]
    ");

    let tagged = deploying().update_deploying(|it| DeployState {
        tag: ResultTag::Created { name: "qa/2026.11.16-1".into(), at: after(3) },
        trigger_outcome: Some(TriggerOutcome::Failed { why: "it answered 500".into() }),
        rollout: Some(RolloutProgress { ready: 1, wanted: 2, delayed_by: None }),
        ..it
    });
    let tagged = tagged.unwrap();
    assert_snapshot!(render_card_text(&in_stage(tagged.clone())), @"
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: deploying to *qa*, 1 of 2 ready
    :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: rolling out 1/2  ›  :white_circle: running
    merged into `qa` as <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · tagged `qa/2026.11.16-1`
    :warning: the controller could not be told, it looks by itself: it answered 500
    [Roll back]
    ");
    assert_snapshot!(render_card_text(&in_stage(tagged.clone().into_deployed(2, Proof::RevisionLabel, now).unwrap())), @"
    :large_green_circle: *checkout* `develop-4f1c2ab`: running in *qa*, 2 of 2 ready
    :white_check_mark: merged 2 s  ›  :white_check_mark: rolled out 18 s  ›  :white_check_mark: running after 20 s
    merged into `qa` as <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · tagged `qa/2026.11.16-1` · known by the image's revision label
    :warning: the controller could not be told, it looks by itself: it answered 500
    Next: `/promote checkout staging`
    [Roll back]
    ");
    assert_snapshot!(render_card_text(&in_stage(tagged.clone().into_failed("CrashLoopBackOff: exit code 1".into(), FailureEvidence::Workload, now).unwrap())), @"
    :red_circle: *checkout* `develop-4f1c2ab`: failed in *qa*
    :white_check_mark: merged 2 s  ›  :x: failed after 18 s  ›  :white_circle: running
    merged into `qa` as <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · tagged `qa/2026.11.16-1`
    :warning: the controller could not be told, it looks by itself: it answered 500
    *Why:* CrashLoopBackOff: exit code 1
    Next: *Roll back*, or push a repair and promote it. It is still watched: should it come to run, this turns green.
    [Roll back]
    ");
    assert_snapshot!(render_card_text(&in_stage(tagged.into_stalled(Some("qa-1111111".into()), false, after(902)).unwrap())), @"
    :large_yellow_circle: *checkout* `develop-4f1c2ab`: no proof that it runs in *qa*
    :white_check_mark: merged 2 s  ›  :grey_question: rolling out 1/2 after 15 min  ›  :white_circle: running
    merged into `qa` as <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · tagged `qa/2026.11.16-1`
    :warning: the controller could not be told, it looks by itself: it answered 500
    *Why:* After 15 min the cluster runs qa-1111111.
    Next: look at CI and at the controller, or *Roll back*. It is still watched: should it come to run, this turns green.
    [Roll back]
    ");

    let untagged = deploying().update_deploying(|it| DeployState {
        tag: ResultTag::Failed { reason: "GitHub refuses us: no".into() },
        retry: Some(RetryState { since: now, attempts: 1, reason: "I cannot read qa: forbidden.".into() }),
        co_deployed: vec![
            CoDeployedStatus {
                artefact: ArtefactName::new("mailer"),
                version: Some("build-7".into()),
                state: CoDeployedState::Running { ready: 2 },
            },
            CoDeployedStatus {
                artefact: ArtefactName::new("storefront"),
                version: None,
                state: CoDeployedState::Failed { reason: "OOMKilled".into() },
            },
        ],
        ..it
    });
    assert_snapshot!(render_card_text(&in_stage(untagged.unwrap())), @"
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: deploying to *qa*
    :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: building  ›  :white_circle: rollout  ›  :white_circle: running
    merged into `qa` as <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7>
    :warning: not tagged: GitHub refuses us: no
    :small_blue_diamond: *mailer* `build-7` runs, 2 of 2 ready
    :x: *storefront* fails: OOMKilled
    :warning: I cannot read qa: forbidden. I keep trying.
    [Roll back]
    ");

    let files: Vec<String> = (0..12).map(|n| format!("src/file_{n}.rs")).collect();
    assert_snapshot!(render_card_text(&in_stage(Stage::new_merging().into_conflicted(files, now).unwrap())), @"
    :red_circle: *checkout* `develop-4f1c2ab`: conflicts with *qa*
    *Why:* both sides changed `src/file_0.rs`, `src/file_1.rs`, `src/file_2.rs`, `src/file_3.rs`, `src/file_4.rs`, `src/file_5.rs`, `src/file_6.rs`, `src/file_7.rs`, `src/file_8.rs`, `src/file_9.rs` and 2 more.
    Next: merge `qa` into what is to be promoted, resolve it there and push; once that runs in development, `/promote checkout qa`
    ");
    assert_snapshot!(render_card_text(&in_stage(Stage::new_merging().into_errored("GitHub refuses us: Bad credentials.".into(), now).unwrap())), @"
    :red_circle: *checkout* `develop-4f1c2ab`: could not be merged into *qa*
    *Why:* GitHub refuses us: Bad credentials.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");
    assert_snapshot!(render_card_text(&in_stage(Stage::new_merging().into_cancelled(CancelledBy::Person(PersonId::new("U0BOB")), now).unwrap())), @"
    :white_circle: *checkout* `develop-4f1c2ab`: not promoted to *qa*, cancelled
    Cancelled by <@U0BOB>; nothing was merged. Again: `/promote checkout qa`
    ");
}

#[test]
fn many_commits_are_listed_completely_and_counted() {
    let mut change = sample::change();
    assert_eq!(render_all_commits(&change), None, "the card shows all of them");
    let one = change.plan.drift.commits[0].clone();
    change.plan.drift.commits = vec![crate::domain::model::version::Commit { subject: "x".repeat(200), ..one }; 20];
    change.plan.drift.commits_in_all = 120;
    let rendered = render_all_commits(&change).unwrap();
    assert_eq!(rendered.text, "The newest 20 of 120 commits of this change");
    let blocks = rendered.into_message(Destination::Edit { key: MessageKey::new("card") }).blocks;
    let texts: Vec<&str> = blocks.iter().map(|block| block["text"]["text"].as_str().unwrap()).collect();
    assert_eq!(texts.concat().matches("Alice Adler").count(), 20);
    assert!(texts.iter().all(|text| text.chars().count() < 3000 && !text.ends_with('\u{2026}')));
}

#[test]
fn the_outcome_mentions_the_requester() {
    let done = deploying().into_deployed(2, Proof::TagPattern, after(9)).unwrap();
    let running = "*checkout* `develop-4f1c2ab`: running in *qa*, 2 of 2 ready.";
    assert_eq!(render_outcome(&in_stage(done.clone()), &deploying()).text, format!("<@U0ALICE> {running}"));
    let stalled = deploying().into_stalled(None, false, after(902)).unwrap();
    assert_eq!(render_outcome(&in_stage(done), &stalled).text, format!("<@U0ALICE> It runs after all. {running}"));
}

#[test]
fn authors_of_a_failed_change_are_mentioned_once() {
    let (bob, carol) = (PersonId::new("U0BOB"), PersonId::new("U0CAROL"));
    let failed = deploying().into_failed("CrashLoopBackOff".into(), FailureEvidence::Workload, after(20)).unwrap();
    let with_authors = |authors: Vec<PersonId>| {
        failed.clone().update_deploying(|state| DeployState { notified_authors: Some(authors), ..state }).unwrap()
    };
    let both = with_authors(vec![bob, carol]);
    let head = "<@U0ALICE> *checkout* `develop-4f1c2ab`: failed in *qa*.";
    assert_eq!(
        render_outcome(&in_stage(both.clone()), &deploying()).text,
        format!("{head} Written by <@U0BOB> <@U0CAROL>.")
    );
    assert_eq!(render_outcome(&in_stage(both.clone()), &both).text, head, "the authors were already mentioned");
    assert_eq!(render_outcome(&in_stage(with_authors(vec![])), &deploying()).text, head, "no author is known");
}

/// The line of steps of a change.
fn bar(change: &Change) -> String {
    progress::format_progress_bar(change).map(Mrkdwn::into_string).unwrap_or_default()
}

#[test]
fn the_progress_bar_shows_each_step_with_its_duration() {
    let update = |change_state: fn(DeployState) -> DeployState| deploying().update_deploying(change_state).unwrap();
    let seen = || {
        update(|it| DeployState {
            seen_at: Some(after(42)),
            rollout: Some(RolloutProgress { ready: 3, wanted: 5, delayed_by: None }),
            ..it
        })
    };
    let awaiting = Stage::new_awaiting_approval(ApprovalState::new(1, vec![], after(0), SignedDuration::from_hours(1)));
    let approved = awaiting.clone().update_awaiting(|it| ApprovalState {
        approvals: vec![crate::domain::change::approval::Approval {
            by: PersonId::new("U0BOB"),
            at: after(180),
            platform: crate::domain::change::approval::ApprovalPlatform::Slack,
        }],
        ..it
    });
    let approved = approved.unwrap().into_merging().unwrap();
    let lines: Vec<String> = [
        awaiting,
        approved.clone(),
        approved.into_deploying("a".repeat(40).parse().unwrap(), after(182), after(902)).unwrap(),
        Stage::new_merging(),
        deploying(),
        seen(),
        seen().into_deployed(5, Proof::TagPattern, after(57)).unwrap(),
        seen().into_failed("CrashLoopBackOff".into(), FailureEvidence::Workload, after(57)).unwrap(),
        deploying().into_failed("no".into(), FailureEvidence::Workload, after(57)).unwrap(),
        seen().into_stalled(None, false, after(902)).unwrap(),
        deploying().into_stalled(None, false, after(902)).unwrap(),
        Stage::new_merging().into_conflicted(vec![], after(2)).unwrap(),
    ]
    .into_iter()
    .map(|stage| bar(&in_stage(stage)))
    .collect();
    assert_snapshot!(lines.join("\n"), @"
    :raised_hand: waiting for approval  ›  :white_circle: merged  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :white_check_mark: approved 3 min  ›  :hourglass_flowing_sand: merging  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :white_check_mark: approved 3 min  ›  :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: building  ›  :white_circle: rollout  ›  :white_circle: running
    :hourglass_flowing_sand: merging  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: building  ›  :white_circle: rollout  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :white_check_mark: built 40 s  ›  :hourglass_flowing_sand: rolling out 3/5  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :white_check_mark: built 40 s  ›  :white_check_mark: rolled out 15 s  ›  :white_check_mark: running after 57 s
    :white_check_mark: merged 2 s  ›  :white_check_mark: built 40 s  ›  :x: rollout failed after 15 s  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :x: failed after 55 s  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :white_check_mark: built 40 s  ›  :grey_question: rolling out 3/5 after 14 min  ›  :white_circle: running
    :white_check_mark: merged 2 s  ›  :grey_question: not seen after 15 min  ›  :white_circle: running
    ");
}
