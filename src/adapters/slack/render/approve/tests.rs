//! All texts about a change that awaits approval.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::domain::change::approval::VoidedApprovals;
use crate::domain::change::{PullRequestRef, ResultBranch, ResultCommit};
use crate::domain::model::environment::PromotionMethod;
use crate::domain::sample;

fn at(seconds: i64) -> Timestamp {
    sample::change().requested_at + SignedDuration::from_secs(seconds)
}

fn awaiting(required: u32) -> ApprovalState {
    let group = MemberLabel::Group { id: "S0RELEASE".into(), handle: "release-managers".into() };
    ApprovalState::new(required, vec![group], at(0), SignedDuration::from_hours(24))
}

fn change(awaiting: ApprovalState) -> Change {
    let mut change = Change { stage: Stage::AwaitingApproval(awaiting), ..sample::change() };
    let sha = |digit: &str| digit.repeat(40).parse().unwrap();
    change.plan.method = PromotionMethod::PullRequest;
    change.result_branch = Some(ResultBranch {
        result: Some(ResultCommit { base: sha("1"), head: sha("2") }),
        pull: Some(PullRequestRef { number: 12, url: "https://github.com/acme/checkout/pull/12".into() }),
        ..ResultBranch::from_change_id(change.id)
    });
    change
}

fn render_blocks_text(blocks: &[Block]) -> String {
    let message = Rendered { text: String::new(), blocks: blocks.to_vec() };
    let json: Value = serde_json::from_slice(&message.to_ack_body(false)).unwrap();
    let text = |block: &Value| block["text"]["text"].as_str().unwrap_or_default().to_owned();
    json["blocks"].as_array().unwrap().iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_merge_condition_has_a_text() {
    let lock = sample::lock();
    let all = vec![
        MergeCondition::ChecksRunning { names: vec!["build".into(), "browser <tests>".into()] },
        MergeCondition::ChecksRed { names: (0..10).map(|n| format!("check-{n}")).collect() },
        MergeCondition::NoCheck,
        MergeCondition::ChangesRequested { logins: vec!["octocat".into()] },
        MergeCondition::Mergeability,
        MergeCondition::GithubRules { reviews: 0 },
        MergeCondition::GithubRules { reviews: 2 },
        MergeCondition::Retargeted { base: "qa".into() },
        MergeCondition::Locked { lock },
        MergeCondition::Frozen { until: at(3600), reason: Some("weekend & <!here>".into()) },
        MergeCondition::Frozen { until: at(3600), reason: None },
        MergeCondition::PermissionLost,
        MergeCondition::PermissionUnknown { reason: "Slack cannot tell me who is in @developers right now.".into() },
    ];
    let change = change(awaiting(1));
    let words: Vec<_> =
        all.iter().map(|waits| describe_merge_condition(&(&change).into(), waits).into_string()).collect();
    assert_snapshot!(words.join("\n"), @"
    :hourglass_flowing_sand: checks are still running: `build`, `browser &lt;tests&gt;`
    :no_entry: checks are red: `check-0`, `check-1`, `check-2`, `check-3`, `check-4`, `check-5`, `check-6`, `check-7` and 2 more. Repair them, or run them again on GitHub
    :no_entry: *qa* requires a green check, and none ran on the frozen branch
    :no_entry: changes are requested on GitHub by `octocat`. It goes on when that review is changed or dismissed
    :hourglass_flowing_sand: GitHub computes whether it can be merged
    :hourglass_flowing_sand: GitHub's own rules for `qa` ask for something that is still missing there
    :hourglass_flowing_sand: GitHub's own rules for `qa` want 2 approving reviews there: an approval in Slack is none
    :no_entry: somebody pointed the pull request at `qa`. Point it back at `qa` on GitHub, or cancel
    :no_entry: *qa* is locked by <@U0BOB>: database &lt;!channel&gt; migration. It goes on after `/gantry unlock prod`
    :no_entry: *qa* is frozen until <!date^1763287200^{date_short_pretty} {time}|2025-11-16 10:00 UTC>: weekend &amp; &lt;!here&gt;
    :no_entry: *qa* is frozen until <!date^1763287200^{date_short_pretty} {time}|2025-11-16 10:00 UTC>
    :no_entry: <@U0ALICE> may not promote to *qa* any more. Somebody who may must ask for it anew
    :no_entry: *qa* stays shut while nobody can tell who may: Slack cannot tell me who is in @developers right now
    ");
}

#[test]
fn an_ignored_review_has_a_reason_and_advice() {
    use IgnoredReviewReason::{NoAccess, NotAsked, Requester, RequesterUnmapped, Unmapped};
    let change = change(awaiting(1));
    let words = [Unmapped, RequesterUnmapped, Requester, NotAsked, NoAccess].map(|why| {
        let ignored = IgnoredReview { login: "octo<cat>".into(), reason: why };
        describe_ignored_review(&change, &ignored).into_string()
    });
    assert_snapshot!(words.join("\n"), @"
    :grey_question: the review of `octo&lt;cat&gt;` does not count: I do not know who that is in Slack. Name them under `people` in my configuration, or let their e-mail addresses be the same
    :grey_question: the review of `octo&lt;cat&gt;` does not count: I do not know who <@U0ALICE> is on GitHub, so it could be the same person. Name them under `people` in my configuration
    :grey_question: the review of `octo&lt;cat&gt;` does not count: nobody approves what they asked for
    :grey_question: the review of `octo&lt;cat&gt;` does not count: they are none of those who may approve here
    :grey_question: the review of `octo&lt;cat&gt;` does not count: they cannot write to the repository
    ");
}

#[test]
fn the_card_shows_the_approvals_and_the_pull_request() {
    let mut waits = awaiting(2);
    let bob = Approval {
        by: crate::domain::model::actor::PersonId::new("U0BOB"),
        at: at(60),
        platform: ApprovalPlatform::Github,
    };
    waits.approvals.push(bob);
    waits.voided = Some(VoidedApprovals { at: at(30), count: 2, reason: VoidReason::BranchMoved });
    waits.waits_for = vec![MergeCondition::Mergeability, MergeCondition::NoCheck];
    let full = change(waits.clone());
    assert_snapshot!(render_blocks_text(&render_waiting(&full, &waits)), @"
    :twisted_rightwards_arrows: pull request <https://github.com/acme/checkout/pull/12|#12>, frozen at `2222222`
    1 of 2 approvals, asked of <!subteam^S0RELEASE|@release-managers>; not of <@U0ALICE>
    :white_check_mark: approved by <@U0BOB> · <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · by a review on GitHub
    :recycle: the branch moved, so the frozen branch was made anew on top of it. 2 approvals do not count any more
    :no_entry: *qa* requires a green check, and none ran on the frozen branch
    ");
    let making = Change { result_branch: Some(ResultBranch::from_change_id(full.id)), ..full.clone() };
    assert_snapshot!(render_blocks_text(&render_waiting(&making, &awaiting(1))), @"
    :hourglass_flowing_sand: making the frozen branch and its pull request
    0 of 1 approval, asked of <!subteam^S0RELEASE|@release-managers>; not of <@U0ALICE>
    ");
    assert_eq!(encode_button_value(&making), None, "there is no commit to approve yet");
    let straight = Change { result_branch: None, ..full };
    assert_eq!(render_waiting(&straight, &awaiting(0)), [], "no empty section");
}

#[test]
fn texts_in_the_thread_and_answers_to_clicks() {
    let mut waits = awaiting(1);
    waits.voided =
        Some(VoidedApprovals { at: at(30), count: 1, reason: VoidReason::Pushed { commit: "9be01d7c1f0f".into() } });
    let change = change(waits.clone());
    let all = [
        render_approvals_voided(&change).unwrap(),
        render_reminder(&change, &waits),
        render_already_decided(&change),
        render_changed_since(&change),
        render_own_change(),
        render_already_approved(),
        render_modal_failed(&change),
    ];
    let texts: Vec<_> = all.into_iter().map(|rendered| rendered.text).collect();
    assert_snapshot!(texts.join("\n"), @"
    :recycle: somebody pushed `9be01d7` to the frozen branch. It was not seen running below, so it is left out, and the branch was made anew. 1 approval does not count any more. Please look again: <!subteam^S0RELEASE|@release-managers>
    :wave: <!subteam^S0RELEASE|@release-managers> *checkout* `develop-4f1c2ab` for *qa*: waiting for 1 approval. It waits until <!date^1763370000^{date_short_pretty} {time}|2025-11-17 09:00 UTC> and is given up then.
    *checkout* `develop-4f1c2ab` for *qa*: waiting for 1 approval. It is decided already.
    What you saw has changed since: *checkout* `develop-4f1c2ab` for *qa*: waiting for 1 approval. Look at <{link}|its card> again, and decide on what it shows now.
    You asked for this change, so somebody else must approve it.
    You have approved this already, and each person counts once.
    Slack did not let me ask for the reason in time. Press again, or type `/gantry reject 0badcafe &lt;reason&gt;`.
    ");
}

#[test]
fn the_metadata_of_a_modal_has_the_channel_of_its_button() {
    let change = change(awaiting(1));
    let value = encode_button_value(&change).unwrap();
    let modal = build_reject_modal(&change, &value, "C0RELEASES");
    assert_eq!(parse_modal_metadata(modal["private_metadata"].as_str().unwrap()), Some(("C0RELEASES", value.as_str())));
    assert!(modal["title"]["text"].as_str().unwrap().chars().count() <= 24, "Slack refuses a longer title");
}

#[test]
fn the_approve_button_disappears_after_the_last_approval() {
    let labels = |awaiting: ApprovalState| {
        let change = change(awaiting.clone());
        let message = Rendered { text: String::new(), blocks: vec![render_buttons(&change, &awaiting)] };
        let json: Value = serde_json::from_slice(&message.to_ack_body(false)).unwrap();
        let all = json["blocks"][0]["elements"].as_array().unwrap();
        all.iter().map(|button| button["text"]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let mut given = awaiting(1);
    assert_eq!(labels(given.clone()), "Approve Reject Cancel");
    given.approvals.push(Approval {
        by: crate::domain::model::actor::PersonId::new("U0BOB"),
        at: at(60),
        platform: ApprovalPlatform::Slack,
    });
    assert_eq!(labels(given), "Reject Cancel");
    assert_eq!(labels(awaiting(0)), "Cancel");
}
