//! The answer to `why` at its smallest, usual and largest size.

use insta::assert_snapshot;
use serde_json::Value;

use super::*;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::sample;

fn render_why_text(why: &WhyAnswer) -> String {
    let json: Value = serde_json::from_slice(&super::render_why(why).to_ack_body(false)).unwrap();
    let labels = |block: &Value| {
        let elements = block["elements"].as_array().cloned().unwrap_or_default();
        elements.iter().map(|one| format!("[{}]", one["text"]["text"].as_str().unwrap_or_default())).collect::<Vec<_>>()
    };
    let line = |block: &Value| match block["type"].as_str() {
        Some("section") => block["text"]["text"].as_str().unwrap_or_default().to_owned(),
        Some("context") => format!("| {}", block["elements"][0]["text"].as_str().unwrap_or_default()),
        _ => labels(block).join(" "),
    };
    json["blocks"].as_array().unwrap().iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_smallest_answer_has_nothing_to_promote() {
    let nothing = Refusal::NothingToPromote { artefact: ArtefactName::new("checkout") };
    let why = WhyAnswer { environment: None, version: None, ..sample::why(vec![nothing]) };
    assert_snapshot!(render_why_text(&why), @"
    :white_check_mark: Nothing to promote: every environment of *checkout* has what the one below runs.
    [Look again]
    | Next: push something new; `/list checkout` shows what runs where.
    ");
}

#[test]
fn the_usual_answer_has_each_obstacle_with_its_button() {
    let usual = |refusal: &Refusal| matches!(refusal, Refusal::Locked { .. } | Refusal::Soaking { .. });
    let two: Vec<_> = sample::blockers("the database moves").into_iter().filter(usual).collect();
    let why = WhyAnswer { other_environments: Some(vec![EnvironmentName::new("qa")]), ..sample::why(two) };
    assert_snapshot!(render_why_text(&why), @"
    2 things stand between *checkout* `develop-4f1c2ab` and *prod*:
    :lock: *prod* is locked by <@U0BOB> since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: the database moves.
    [Take over]
    | Next: ask <@U0BOB>, make the lock yours with *Take over*, or end it: `/gantry unlock prod`
    :hourglass_flowing_sand: *checkout* `the database moves` has not run well in *staging* for 30m yet, as *prod* asks for.
    [Look again]
    | Next: type it again at <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>, if nothing interrupts it, or pass it with `--override reason` where you may.
    | *prod* is the first environment behind the one below. Also behind: `/gantry why checkout qa`
    ");
    assert_snapshot!(super::render_why(&why).text, @"
    2 things stand between *checkout* `develop-4f1c2ab` and *prod*:
    *prod* is locked by <@U0BOB> since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: the database moves.
    *checkout* `the database moves` has not run well in *staging* for 30m yet, as *prod* asks for.
    ");
}

#[test]
fn every_kind_of_obstacle_has_a_text_and_a_button() {
    for obstacle in sample::blockers("something") {
        let text = render_why_text(&sample::why(vec![obstacle.clone()]));
        // A click cannot grant a right.
        let click = text.contains("\n[") || matches!(obstacle, Refusal::NotPermitted { .. });
        assert!(click && text.contains("\n| Next: "), "{obstacle:?}: {text}");
    }
}

#[test]
fn an_answer_without_obstacles_has_the_command_a_button_and_the_approvals() {
    assert_snapshot!(render_why_text(&sample::free("totals are wrong")), @"
    :large_green_circle: Nothing stands between *checkout* `develop-4f1c2ab` and *prod*: `/promote checkout prod` brings it there.
    :raised_hand: It then needs 2 approvals of @release-managers.
    :warning: *prod* is on hold: I, by the rule of that environment, rolled `qa-1111111` back <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: totals are wrong. Your yes lifts the hold.
    :warning: *prod* is on hold: I, by the rule of that environment, rolled `qa-1111111` back <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: totals are wrong. Your yes lifts the hold.
    :warning: *prod* is on hold: I, by the rule of that environment, rolled `qa-1111111` back <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: totals are wrong. Your yes lifts the hold.
    | and 2 more holds, which it shows you
    :warning: This takes the place of `develop-4f1c2ab`, which <@U0ALICE> asked for and which waits for approval since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    [Promote]
    ");
    let mut quiet = sample::free("");
    if let Some(promotion) = &mut quiet.ready_promotion {
        promotion.awaiting = None;
        *promotion.plan = sample::plan();
    }
    assert_snapshot!(render_why_text(&quiet), @"
    :large_green_circle: Nothing stands between *checkout* `develop-4f1c2ab` and *qa*: `/promote checkout qa` brings it there.
    [Promote]
    ");
}

#[test]
fn a_failed_lookup_is_shown() {
    let why = WhyAnswer {
        lookup_failure: Some("GitHub does not answer <now>.".into()),
        version: None,
        ..sample::why(sample::blockers("x").drain(..1).collect())
    };
    assert_snapshot!(render_why_text(&why), @"
    At least 1 thing stands between *checkout* and *prod*:
    :no_entry: You may not promote to *prod*.
    | Next: ask @x and <@U0CAROL> to do it.
    :grey_question: There may be more: GitHub does not answer &lt;now&gt;.
    [Look again]
    ");
}

#[test]
fn the_largest_answer_has_the_number_of_omitted_obstacles() {
    let reason = "Базу даних переносимо \u{1f6a7} \u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd} <!channel> & ".repeat(40);
    let all = sample::blockers(&reason[..]);
    let many: Vec<_> = all.iter().cycle().take(60).cloned().collect();
    let text = render_why_text(&sample::why(many));
    let kept: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| and ") || line.contains("stand between")).collect();
    assert_snapshot!(kept.join("\n"), @"
    60 things stand between *checkout* `develop-4f1c2ab` and *prod*:
    | and 52 more
    ");
    assert!(!text.contains("<!channel>") && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_pending_change_shows_its_approvals_and_conditions() {
    let waits: Vec<_> =
        sample::blockers("unit").into_iter().filter(|it| matches!(it, Refusal::ChangeInProgress(_))).collect();
    assert_snapshot!(render_why_text(&sample::why(waits)), @"
    1 thing stands between *checkout* `develop-4f1c2ab` and *prod*:
    :hourglass_flowing_sand: <@U0ALICE> is promoting *checkout* to *prod* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>: it is waiting for approval, <{link}|follow it here>. It still needs 1 approval of @release-managers, not of <@U0ALICE>. Approved by <@U0BOB>.
    :no_entry: checks are red: `0 unit`, `1 unit`, `2 unit`, `3 unit`, `4 unit`, `5 unit`, `6 unit`, `7 unit` and 4 more. Repair them, or run them again on GitHub.
    [Approve] [Cancel]
    | Next: wait for it, or `/gantry cancel 0badcafe`.
    [Look again]
    ");
}
