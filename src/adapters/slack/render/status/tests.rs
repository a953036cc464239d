//! The answer to `status` at its smallest, usual and largest size.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::*;
use crate::domain::change::approval::{Approval, ApprovalPlatform};
use crate::domain::change::{FailureEvidence, PullRequestRef, ResultBranch, RetryState, RolloutProgress};
use crate::domain::model::actor::{Actor, MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::model::version::{Sha, Version};
use crate::domain::sample;
use crate::domain::view::page::{Cursor, Order};

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

/// A change with one of two approvals.
fn waiting() -> Change {
    let asked = vec![MemberLabel::Group { id: "S0RELEASE".into(), handle: "release-managers".into() }];
    let mut awaiting = ApprovalState::new(2, asked, after(0), SignedDuration::from_hours(24));
    awaiting.approvals.push(Approval { by: PersonId::new("U0BOB"), at: after(60), platform: ApprovalPlatform::Github });
    awaiting.waits_for.push(MergeCondition::ChecksRunning { names: vec!["ci / <unit>".into()] });
    let pull = PullRequestRef { number: 12, url: "https://github.com/acme/checkout/pull/12".into() };
    let frozen = Some(ResultBranch { pull: Some(pull), ..ResultBranch::from_change_id(sample::change().id) });
    Change { result_branch: frozen, ..in_stage(Stage::new_awaiting_approval(awaiting)) }
}

fn sample_details() -> StatusDetails {
    let id = sample::change().id;
    let card = "https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100".to_owned();
    StatusDetails { stage_since: HashMap::from([(id, after(30))]), card_links: HashMap::from([(id, card)]) }
}

fn render_text(rendered: &Rendered) -> String {
    let blocks = rendered.clone().into_message(Destination::Edit { key: MessageKey::new("x") }).blocks;
    let lines = blocks.iter().map(|block| match block["type"].as_str() {
        Some("section") => block["text"]["text"].as_str().unwrap_or_default().to_owned(),
        Some("context") => block["elements"][0]["text"].as_str().unwrap_or_default().to_owned(),
        _ => format!("[{}]", block["elements"][0]["text"]["text"].as_str().unwrap_or_default()),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn render_changes(changes: &[Change], details: &StatusDetails) -> String {
    let page = Page::from_cursor(Order::OldestFirst, &Cursor::<ChangeId>::Start, changes.iter().collect(), PAGE_SIZE);
    let watched = changes.iter().filter(|change| change.stage.is_watched()).count();
    let count = StatusCounts { under_way: changes.len() - watched, watched };
    render_text(&render_status(&ListFilter::default(), page, count, details, Viewer::Person, after(240)))
}

#[test]
fn an_empty_status_has_the_next_step() {
    assert_snapshot!(render_changes(&[], &StatusDetails::default()), @"
    Nothing is under way.
    Next: `/list` shows what runs where, `/gantry history` what happened.
    ");
    let filter =
        ListFilter { artefact: Some(ArtefactName::new("checkout")), environment: Some(EnvironmentName::new("qa")) };
    let page = Page::from_cursor(Order::OldestFirst, &Cursor::<ChangeId>::Start, Vec::new(), PAGE_SIZE);
    let rendered =
        render_status(&filter, page, StatusCounts::default(), &StatusDetails::default(), Viewer::Person, after(0));
    assert_snapshot!(rendered.text, @"Nothing is under way with *checkout* in *qa*.");
}

#[test]
fn a_change_without_known_links_shows_none() {
    let mut change = sample::change();
    change.plan.drift.commits.clear();
    change.plan.from = None;
    assert_snapshot!(render_changes(&[change], &StatusDetails::default()), @"
    1 change is under way:
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: merging into *qa*
    nothing → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min
    commit `4f1c2ab` · change `0badcafe`
    To stop it: `/gantry cancel 0badcafe`
    ");
}

#[test]
fn every_stage_shows_its_age_and_its_open_conditions() {
    assert_snapshot!(render_changes(&[waiting()], &sample_details()), @"
    1 change is under way:
    :raised_hand: *checkout* `develop-4f1c2ab` for *qa*: waiting for 1 approval
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :raised_hand: 1 of 2 approvals, by <@U0BOB>; 1 missing, of @release-managers · it waits until <!date^1763370000^{date_short_pretty} {time}|2025-11-17 09:00 UTC>
    :hourglass_flowing_sand: checks are still running: `ci / &lt;unit&gt;`
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · pull request <https://github.com/acme/checkout/pull/12|#12> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    To stop it: `/gantry cancel 0badcafe`
    ");
    let trouble = RetryState { since: after(3), attempts: 2, reason: "GitHub does not answer.".into() };
    assert_snapshot!(render_changes(&[in_stage(Stage::new_merging().record_merge_failure(trouble, true).unwrap())], &sample_details()), @"
    1 change is under way:
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: merging into *qa*
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :warning: GitHub does not answer. I keep trying.
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    To stop it: `/gantry cancel 0badcafe`
    ");
    assert_snapshot!(render_changes(&[in_stage(deploying())], &sample_details()), @"
    1 change is under way:
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: deploying to *qa*
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: building  ›  :white_circle: rollout  ›  :white_circle: running
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
    let rolling = deploying()
        .update_deploying(|state| DeployState {
            rollout: Some(RolloutProgress { ready: 3, wanted: 5, delayed_by: None }),
            ..state
        })
        .unwrap();
    assert_snapshot!(render_changes(&[in_stage(rolling)], &sample_details()), @"
    1 change is under way:
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: deploying to *qa*, 3 of 5 ready
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :white_check_mark: merged 2 s  ›  :hourglass_flowing_sand: rolling out 3/5  ›  :white_circle: running
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
    let Stage::Deploying(merged) = deploying() else { panic!("deploying") };
    let failed = Stage::Failed {
        deploying: merged.clone(),
        at: after(30),
        reason: "OOMKilled <!channel>".into(),
        evidence: FailureEvidence::Workload,
    };
    assert_snapshot!(render_changes(&[in_stage(failed)], &sample_details()), @"
    1 change is still watched:
    :red_circle: *checkout* `develop-4f1c2ab`: failed in *qa*
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    still watched, for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    *Why:* OOMKilled &lt;!channel&gt;
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
    let stalled = Stage::Stalled { deploying: merged, at: after(30), runs: Some("qa-1111111".into()), unread: false };
    assert_snapshot!(render_changes(&[in_stage(stalled)], &sample_details()), @"
    1 change is still watched:
    :large_yellow_circle: *checkout* `develop-4f1c2ab`: no proof that it runs in *qa*
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    still watched, for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    *Why:* The cluster runs qa-1111111.
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
}

#[test]
fn the_details_of_a_change_have_its_timeline() {
    let step = |seconds, kind: &str, by: Option<&str>| ChangeEvent {
        at: after(seconds),
        kind: kind.to_owned(),
        by: Some(by.map_or(Actor::Controller, |id| Actor::Person(PersonId::new(id)))),
    };
    let Stage::Deploying(mut merged) = deploying() else { panic!("deploying") };
    merged.approvals.push(Approval { by: PersonId::new("U0CAROL"), at: after(90), platform: ApprovalPlatform::Github });
    let deployed = Stage::Deployed {
        deploying: merged,
        at: after(122),
        ready: 2,
        proof: crate::domain::change::Proof::TagPattern,
    };
    let steps = vec![
        step(0, "begun", Some("U0ALICE")),
        step(60, "approved", Some("U0BOB")),
        step(91, "merging", None),
        step(92, "deploying", None),
        step(122, "deployed", None),
    ];
    let rendered = render_details(&[(in_stage(deployed), steps)], &sample_details(), after(7200));
    assert_snapshot!(render_text(&rendered), @"
    :large_green_circle: *checkout* `develop-4f1c2ab`: running in *qa*, 2 of 2 ready
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    • <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> asked for by <@U0ALICE>
    • <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> approved by <@U0BOB> · after 1 min
    • <!date^1763283690^{date_short_pretty} {time}|2025-11-16 09:01 UTC> approved by <@U0CAROL> · after 30 s
    • <!date^1763283691^{date_short_pretty} {time}|2025-11-16 09:01 UTC> all that it waited for holds · after 1 s
    • <!date^1763283692^{date_short_pretty} {time}|2025-11-16 09:01 UTC> merged into `qa` · after 1 s
    • <!date^1763283722^{date_short_pretty} {time}|2025-11-16 09:02 UTC> seen running · after 30 s
    In all 2 min
    ");
    let steps = vec![step(0, "begun", Some("U0ALICE"))];
    assert_snapshot!(render_text(&render_details(&[(waiting(), steps)], &sample_details(), after(240))), @"
    :raised_hand: *checkout* `develop-4f1c2ab` for *qa*: waiting for 1 approval
    `qa-1111111` → `develop-4f1c2ab` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :raised_hand: 1 of 2 approvals, by <@U0BOB>; 1 missing, of @release-managers · it waits until <!date^1763370000^{date_short_pretty} {time}|2025-11-17 09:00 UTC>
    :hourglass_flowing_sand: checks are still running: `ci / &lt;unit&gt;`
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · pull request <https://github.com/acme/checkout/pull/12|#12> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    To stop it: `/gantry cancel 0badcafe`
    • <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> asked for by <@U0ALICE>
    • <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> approved by <@U0BOB> · after 1 min
    So far 4 min
    [Cancel]
    ");
}

#[test]
fn two_changes_with_the_same_short_id_are_both_shown() {
    let rendered = render_details(
        &[(sample::change(), Vec::new()), (in_stage(deploying()), Vec::new())],
        &sample_details(),
        after(240),
    );
    assert_snapshot!(rendered.text, @"
    2 changes are called the same:
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: merging into *qa*
    :hourglass_flowing_sand: *checkout* `develop-4f1c2ab`: deploying to *qa*
    ");
}

#[test]
fn a_long_timeline_leaves_out_its_middle() {
    let steps: Vec<ChangeEvent> =
        (0..100).map(|n| ChangeEvent { at: after(n), kind: "voided".into(), by: Some(Actor::Controller) }).collect();
    let text = render_text(&render_details(&[(waiting(), steps)], &sample_details(), after(240)));
    assert_eq!(text.matches("made anew").count(), MAX_TIMELINE_LINES, "{text}");
    assert!(text.contains("77 more are left out here"), "with the review on GitHub: {text}");
}

#[test]
fn the_largest_answer_keeps_its_lines_whole() {
    let long = |word: &str| word.repeat(2000 / word.chars().count());
    let mut change = waiting();
    change.plan.version = Version { tag: Some(long("гілка-").into()), ..Version::default() };
    change.plan.from = Some(Version { tag: Some(long("<!channel>&").into()), ..Version::default() });
    let Stage::AwaitingApproval(awaiting) = &mut change.stage else { panic!("waiting") };
    awaiting.retry =
        Some(RetryState { since: after(0), attempts: 1, reason: long("\u{202e}שלום \u{1f680} <!here> ") });
    awaiting.waits_for.push(MergeCondition::ChecksRed { names: vec![long("<&>"); 30] });
    assert_snapshot!(render_changes(&[change], &sample_details()), @"
    1 change is under way:
    :raised_hand: *checkout* `гілка-гілка-гілка-гілка-гілка-гілка-гіл…лка-гілка-гілка-гілка-гілка-гілка-гілка-` for *qa*: waiting for 1 approval
    `&lt;!channel&gt;&amp;&lt;!channel&gt;&amp;&lt;!channel&gt;&amp;&lt;!chan…annel&gt;&amp;&lt;!channel&gt;&amp;&lt;!channel&gt;&amp;&lt;!channel&gt;&amp;` → `гілка-гілка-гілка-гілка-гілка-гілка-гіл…лка-гілка-гілка-гілка-гілка-гілка-гілка-` · asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    under way for 4 min · in this stage since <!date^1763283630^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, for 3 min
    :raised_hand: 1 of 2 approvals, by <@U0BOB>; 1 missing, of @release-managers · it waits until <!date^1763370000^{date_short_pretty} {time}|2025-11-17 09:00 UTC>
    :hourglass_flowing_sand: checks are still running: `ci / &lt;unit&gt;`
    :warning: שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום…here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt; שלום 🚀 &lt;!here&gt;  I keep trying.
    <https://acme.slack.com/archives/C0DEPLOYS/p1763283600000100|card> · pull request <https://github.com/acme/checkout/pull/12|#12> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    To stop it: `/gantry cancel 0badcafe`
    …
    ");
}
