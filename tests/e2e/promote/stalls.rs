//! Merged changes without a sign of life: the card shows the last observations until there is one. If every webhook is
//! lost, each change still ends in the right stage.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::{World, redact_origin_and_ids};

const PART: &str = "acme/part";

/// The newest card that contains `words`, without addresses and ids.
fn card(world: &World, words: &str) -> String {
    let all = world.public_messages("deploys");
    let found = all.iter().rev().find(|message| message.contains("asked by") && message.contains(words));
    redact_origin_and_ids(world, found.unwrap_or_else(|| panic!("no card says {words}: {all:#?}")))
}

/// The part of the card about the missing sign of life.
fn stall_notice(world: &World) -> String {
    let card = card(world, "*part*");
    let lines = card.lines().skip_while(|line| !line.contains("no sign of life") && !line.contains("*Last seen:*"));
    let is_other_part =
        |line: &&str| line.starts_with('[') || line.starts_with("asked by") || line.starts_with("Next: look at CI and");
    let lines: Vec<_> = lines.take_while(|line| !is_other_part(line) || line.ends_with("I keep looking.")).collect();
    let head = head(world);
    lines.join("\n").replace(head.as_str(), "<sha>").replace(head.short(), "<short>")
}

fn head(world: &World) -> Sha {
    world.sim.github.head(PART, "qa").unwrap()
}

/// A promotion into qa that is merged. No CI builds it, and no controller rolls it out.
async fn open_with_merged_change() -> World {
    let world = crate::harness::parts::with_parts_and(&["part".to_owned()], |configuration| {
        configuration.replace(
            "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: 90s",
            "branch: qa\n    cluster: { namespace: qa }\n    deploy_timeout: 15m",
        )
    })
    .await;
    world.alice().types_without_waiting("deploys", "/promote part qa").await;
    world.wait_until_idle().await;
    advance_by_seconds(&world, 5).await;
    world
}

/// Advances the clock second by second, so that each check of the bot happens at its own time.
async fn advance_by_seconds(world: &World, seconds: i64) {
    for _ in 0..seconds {
        world.clock.advance(SignedDuration::from_secs(1));
        world.wait_until_idle().await;
    }
}

/// Advances the clock past the next check and past the delay of a card's edit.
async fn advance_past_poll(world: &World) {
    for seconds in [60, 4] {
        world.clock.advance(SignedDuration::from_secs(seconds));
        world.wait_until_idle().await;
    }
}

async fn advance_five_minutes(world: &World) {
    for _ in 0..5 {
        advance_past_poll(world).await;
    }
}

async fn send_report(world: &World, commit: &str, reason: &str, severity: &str, message: &str) {
    let event = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "part", "namespace": "flux-system" },
        "severity": severity, "timestamp": world.clock.now().to_string(), "reason": reason, "message": message,
        "metadata": { "revision": format!("qa@sha1:{commit}") },
    });
    assert_eq!(
        crate::harness::signing::send_flux_report(world, "qa", &event.to_string(), "flux-secret-of-qa").await,
        202
    );
    world.wait_until_idle().await;
}

#[tokio::test]
async fn after_five_minutes_without_a_sign_of_life_the_card_shows_the_last_observations() {
    let world = open_with_merged_change().await;
    assert!(card(&world, "*part*").contains(":hourglass_flowing_sand: building"), "{}", card(&world, "*part*"));
    assert_eq!(stall_notice(&world), "", "there is no notice yet");
    advance_five_minutes(&world).await;
    assert_snapshot!(stall_notice(&world), @"
    :warning: Merged <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <http://world/sim/github/acme/part/commit/<sha>|<short>>, as merged
    • CI: nothing is known of this commit, it has not begun or does not tell GitHub
    • image: the registry has none for `<short>` yet
    • the cluster runs `c3465688c4ea`
    Next: look why CI does not build this commit. I keep looking.
    ");

    world.sim.github.set_check(PART, &head(&world), "build", "in_progress").unwrap();
    advance_past_poll(&world).await;
    assert_snapshot!(stall_notice(&world), @"
    :warning: Merged <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <http://world/sim/github/acme/part/commit/<sha>|<short>>, as merged
    • CI: `build` is still running
    • image: the registry has none for `<short>` yet
    • the cluster runs `c3465688c4ea`
    Next: wait for the build, or look what holds it up. I keep looking.
    ");

    world.sim.github.set_check(PART, &head(&world), "build", "failure").unwrap();
    send_report(&world, &"b".repeat(40), "ReconciliationFailed", "error", "kustomize build failed: no such file").await;
    advance_past_poll(&world).await;
    assert_snapshot!(stall_notice(&world), @"
    :warning: Merged <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <http://world/sim/github/acme/part/commit/<sha>|<short>>, as merged
    • CI: `build` failed (<http://world/sim/github/acme/part/commit/<sha>/checks|see>)
    • image: the registry has none for `<short>` yet
    • Flux said <!date^1794819989^{date_short_pretty} {time}|2026-11-16 09:06 UTC> that `bbbbbbb` failed: kustomize build failed: no such file
    • the cluster runs `c3465688c4ea`
    Next: run the build again, or push a repair and promote it. I keep looking.
    ");

    world.sim.github.set_check(PART, &head(&world), "build", "success").unwrap();
    let tag = head(&world).as_str()[..12].to_owned();
    world.sim.registry.publish("ghcr.io/acme/part", &tag, None, world.clock.now());
    advance_past_poll(&world).await;
    assert_snapshot!(stall_notice(&world).replace(&format!("<short>{}", &tag[7..]), "<tag>"), @"
    :warning: Merged <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` is at <http://world/sim/github/acme/part/commit/<sha>|<short>>, as merged
    • CI: all is green
    • image: `<tag>` is in the registry
    • Flux said <!date^1794819989^{date_short_pretty} {time}|2026-11-16 09:06 UTC> that `bbbbbbb` failed: kustomize build failed: no such file
    • the cluster runs `c3465688c4ea`
    Next: look why the controller does not pick it up. I keep looking.
    ");

    crate::harness::parts::roll_out(&world, "part", &tag, None);
    advance_by_seconds(&world, 4).await;
    assert_eq!(stall_notice(&world), "", "the rollout is a sign of life");
    world.settle().await;
    let card = card(&world, "*part*");
    assert!(card.contains("running in *qa*") && !card.contains("Last seen"), "{card}");
}

#[tokio::test]
async fn checking_a_change_without_news_uses_no_github_rate_limit_and_edits_no_card() {
    let world = open_with_merged_change().await;
    world.sim.github.set_check(PART, &head(&world), "build", "in_progress").unwrap();
    advance_five_minutes(&world).await;
    assert!(stall_notice(&world).contains("is still running"), "{}", stall_notice(&world));
    let edits = |world: &World| world.sim.slack.messages("deploys", None).iter().map(|it| it.edited).sum::<usize>();
    let (before, edited) = (world.github_cost(), edits(&world));
    for _ in 0..3 {
        advance_past_poll(&world).await;
    }
    let cost = world.github_cost() - before;
    assert!(cost.requests >= 9, "head, runs and statuses, three times: {cost:?}");
    assert_eq!(cost.counted_requests(), 0, "{cost:?}");
    assert_eq!(edits(&world), edited, "the card is not edited");
}

#[tokio::test]
async fn a_report_about_the_merged_commit_is_a_sign_of_life() {
    let world = open_with_merged_change().await;
    advance_five_minutes(&world).await;
    assert!(!stall_notice(&world).is_empty());
    let result = head(&world).as_str().to_owned();
    send_report(&world, &result, "Progressing", "info", "applying").await;
    advance_by_seconds(&world, 4).await;
    assert_eq!(stall_notice(&world), "");
}

#[tokio::test]
async fn the_card_says_which_services_cannot_be_asked_and_that_the_branch_moved_on() {
    let world = open_with_merged_change().await;
    let other = crate::harness::parts::commit(&world.sim, PART, "qa", "A hotfix");
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("GET", "/check-runs", FaultTiming::BeforeEffect, down, 99);
    world.sim.registry.set_down(true);
    advance_five_minutes(&world).await;
    assert!(stall_notice(&world).contains("cannot be asked"), "{}", stall_notice(&world));
    assert_snapshot!(stall_notice(&world).replace(&other, "<other>").replace(&other[..7], "<other>"), @"
    :warning: Merged <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, and no sign of life since. Last seen:
    • branch `qa` has moved on to <http://world/sim/github/acme/part/commit/<sha>|<short>>
    • CI: cannot be asked: GitHub is not available: it answered 502
    • image: the registry cannot be asked: the registry is not available: it answered 503
    • the cluster runs `c3465688c4ea`
    Next: look at CI and at the controller. I keep looking.
    ");
    world.sim.registry.set_down(false);
}

#[tokio::test]
async fn a_stalled_change_keeps_its_last_observations_and_is_still_watched() {
    let world = open_with_merged_change().await;
    world.settle().await;
    let shown = card(&world, "*part*");
    assert!(shown.contains("no proof that it runs in *qa*"), "{shown}");
    assert_snapshot!(stall_notice(&world), @"
    *Last seen:*
    • branch `qa` is at <http://world/sim/github/acme/part/commit/<sha>|<short>>, as merged
    • CI: nothing is known of this commit, it has not begun or does not tell GitHub
    • image: the registry has none for `<short>` yet
    ");
    world.alice().types("/gantry status part qa").await;
    let answer = world.alice().reads();
    assert!(answer.contains("*Last seen:*"), "{answer}");

    // The change is still watched.
    let tag = head(&world).as_str()[..12].to_owned();
    crate::harness::parts::roll_out(&world, "part", &tag, None);
    world.settle().await;
    let shown = card(&world, "*part*");
    assert!(shown.contains("running in *qa*") && !shown.contains("Last seen"), "{shown}");
}

#[tokio::test]
async fn every_change_ends_in_the_right_stage_although_all_webhooks_are_lost() {
    let world = World::open().await;
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    world.settle().await;
    world.sim.faults.arm(Fault::LostWebhook, u32::MAX, None, None);

    world.alice().types("/promote checkout qa").await;
    assert!(card(&world, "*checkout*").contains("running in *qa*, 2 of 2 ready"), "{}", card(&world, "*checkout*"));
    crate::harness::manifest::push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    assert!(card(&world, "*search*").contains("running in *qa*, 2 of 2 ready"), "{}", card(&world, "*search*"));
    world.alice().types("/rollback checkout qa").await;
    assert!(card(&world, "restored").contains("running in *qa*"), "{}", card(&world, "restored"));

    world.sim.faults.arm(Fault::CrashLoop, 1, Some("search".into()), Some("staging".into()));
    world.alice().types("/promote search staging").await;
    assert!(card(&world, "*search*").contains("failed in *staging*"), "{}", card(&world, "*search*"));

    // Only a report could say which commit this image was built from, and the report is lost.
    world.alice().types("/promote mailer qa").await;
    world.alice().clicks("Confirm").await;
    let shown = card(&world, "*mailer*");
    assert!(shown.contains("no proof that it runs in *qa*"), "{shown}");
    assert!(shown.contains("and nothing tells which commit that was built from"), "{shown}");
}
