//! Rollbacks with wrong input, by a person without the right, too late, or in an environment with a lock or a freeze.

use std::collections::BTreeMap;

use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::world::SIGNING_SECRET;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::json;

use crate::harness::configuration::with_environment_line;
use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, rollbacks, tree};
use crate::harness::signing;
use crate::harness::world::{World, has_button, render_message};

fn files(path: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(path.to_owned(), Some(text.to_owned()))])
}

#[tokio::test]
async fn a_rollback_to_a_version_that_never_ran_there_is_refused_and_lists_those_that_did() {
    let world = World::open().await;
    let before = head(&world, "qa");
    for typed in ["develop-d6c66c2", "1.4", "<!channel>"] {
        world.bob().types(&format!("/rollback checkout qa @{typed}")).await;
        let answer = world.bob().reads();
        assert!(
            answer.contains("has never run well in *qa*, as far as I have seen.") && !answer.contains("<!"),
            "{answer}"
        );
        assert!(answer.contains("choose one that has: `qa-d2aaacd`, `qa-99b4ea2`, `qa-fb8363b`"), "{answer}");
    }
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn a_rollback_to_the_current_version_or_the_same_code_is_refused() {
    let world = World::open().await;
    let (before, runs) = (head(&world, "qa"), world.running_tag("checkout", "qa"));
    world.bob().types(&format!("/rollback checkout qa {runs}")).await;
    assert_snapshot!(world.bob().reads(), @"
    *checkout* `qa-6cff9ae` is what *qa* has already, so there is nothing to roll back.
    Next: choose another version: `/rollback checkout qa &lt;version&gt;`; `/list checkout` shows what runs where.
    ");

    // The version before has the same code on another commit.
    let same = world.sim.github.read_file(REPOSITORY, &before, "README.md").unwrap();
    world.sim.push("checkout", "qa", "Nothing at all", files("README.md", &same), "carol").unwrap();
    world.settle().await;
    let same_code = head(&world, "qa");
    world.bob().types("/rollback checkout qa").await;
    assert!(world.bob().reads().contains("has already, so there is nothing to roll back."), "{}", world.bob().reads());
    assert_eq!(head(&world, "qa"), same_code);
}

#[tokio::test]
async fn a_rollback_to_the_version_just_restored_is_refused() {
    let world = World::open().await;
    let good = world.running_tag("checkout", "qa");
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    world.bob().types(&format!("/rollback checkout qa {good}")).await;
    assert!(world.bob().reads().contains("has already, so there is nothing to roll back."), "{}", world.bob().reads());
    assert_eq!(rollbacks(&world), 1);
}

#[tokio::test]
async fn a_version_can_be_named_by_image_tag_commit_promoted_tag_or_git_tag() {
    for case in ["its tag", "the beginning of its commit", "what it was merged from", "its tag in Git"] {
        let world = World::open().await;
        let pinned = head(&world, "develop");
        world.alice().types("/promote checkout qa").await;
        let wanted = head(&world, "qa");
        world.push("checkout", "One more");
        world.settle().await;
        world.alice().types("/promote checkout qa").await;
        world.push("checkout", "And one more");
        world.settle().await;
        world.alice().types("/promote checkout qa").await;
        let name = match case {
            "its tag" => format!("qa-{}", wanted.short()),
            "the beginning of its commit" => wanted.as_str()[..10].to_owned(),
            "what it was merged from" => format!("develop-{}", pinned.short()),
            _ => "qa/2026.11.16-1".to_owned(),
        };
        world.bob().types(&format!("/rollback checkout qa {name}")).await;
        assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &wanted), "{case}: {}", world.bob().reads());
    }
}

#[tokio::test]
async fn a_moved_git_tag_is_refused_as_the_name_of_a_version() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let wanted = head(&world, "qa");
    world.push("checkout", "One more");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let before = head(&world, "qa");
    world.sim.github.point_tag(REPOSITORY, "qa/2026.11.16-1", &before).unwrap();
    world.bob().types("/rollback checkout qa qa/2026.11.16-1").await;
    assert_snapshot!(redact_commits(&world, &world.bob().reads(), &[(&wanted, "wanted"), (&before, "elsewhere")]), @"
    The tag `qa/2026.11.16-1` was of *checkout* `qa-<wanted>`, and somebody moved it to `<elsewhere>`, so I do not know which of them you mean.
    Next: name the version itself: `/rollback checkout qa qa-<wanted>`.
    ");
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn a_person_who_may_neither_promote_nor_approve_may_not_roll_back() {
    let world = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    let before = head(&world, "qa");
    world.alice().types("/rollback checkout qa").await;
    assert_snapshot!(world.alice().reads(), @"
    You may not roll back in *qa*.
    Next: ask @release-managers to do it.
    ");
    assert_eq!(head(&world, "qa"), before);
    world.bob().types("/rollback checkout qa").await;
    assert_eq!(parents(&world, &head(&world, "qa")), [before]);
}

#[tokio::test]
async fn an_approver_may_roll_back_without_being_a_promoter() {
    let world = World::with_config(with_environment_line("prod", "promoters: [U0ALICE]")).await;
    let before = head(&world, "prod");
    world.carol().types("/rollback checkout prod").await;
    world.carol().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "prod")), [before], "without an approval");
}

#[tokio::test]
async fn the_right_to_roll_back_is_checked_again_at_confirm() {
    let world = World::with_config(with_environment_line("prod", "promoters: [\"@release-managers\"]")).await;
    let before = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(61)).await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(world.bob().reads().starts_with("You may not roll back in *prod*."), "{}", world.bob().reads());
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn a_rollback_is_allowed_during_a_freeze() {
    let freezes = "freezes: [{ from: \"Mon 08:00\", to: \"Mon 18:00\", timezone: Europe/Kyiv, reason: inventory }]";
    let world = World::with_config(with_environment_line("qa", freezes)).await;
    let before = head(&world, "qa");
    world.bob().types("/rollback checkout qa").await;
    assert_eq!(parents(&world, &head(&world, "qa")), [before]);
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_confirmed_rollback_passes_a_lock_and_its_owner_is_notified() {
    let world = World::open().await;
    let before = head(&world, "qa");
    world.carol().types("/gantry lock qa load test").await;
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let plan = world.bob().reads();
    let line = plan.lines().find(|line| line.contains(":lock:")).unwrap_or_else(|| panic!("{plan}"));
    assert_snapshot!(line, @":lock: *qa* is locked by <@U0CAROL> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: load test. A rollback passes it, and its owner is told.");
    assert_eq!((head(&world, "qa"), world.direct_messages("carol").len()), (before.clone(), 0));

    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "qa")), [before]);
    let messages = world.direct_messages("carol");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    let (text, address) = messages[0].split_once("<https://acme.slack.com/").expect("a link");
    assert_snapshot!(format!("{text}<{}", &address[address.find('|').unwrap()..]), @"<@U0BOB> rolls *checkout* back to `qa-d2aaacd` in *qa* in spite of your lock: load test. The lock stays: <|follow it here>.");
    assert_eq!(world.bot.store.list_locks(None).await.unwrap().len(), 1, "the lock stays");
}

#[tokio::test]
async fn the_owner_of_a_lock_must_confirm_too_and_is_not_notified() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    world.bob().types("/rollback checkout qa").await;
    assert!(has_button(&world.last_message("bob", "deploys"), "Confirm"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
    assert!(world.direct_messages("bob").is_empty());
}

#[tokio::test]
async fn a_lock_set_after_the_plan_is_shown_before_the_rollback() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    let plan = world.bob().reads();
    assert!(plan.contains("is locked by <@U0CAROL>") && plan.contains("[Confirm]"), "{plan}");
    assert_eq!((head(&world, "prod"), world.direct_messages("carol").len()), (before.clone(), 0));
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "prod")), [before]);
    assert_eq!(world.direct_messages("carol").len(), 1);
}

#[tokio::test]
async fn a_commit_pushed_after_the_plan_is_shown_before_the_rollback() {
    let world = World::open().await;
    world.bob().types("/rollback checkout prod").await;
    let hotfix = world.sim.push("checkout", "prod", "Stop the bleeding", files("hotfix.txt", "x"), "carol").unwrap();
    // The image of the hotfix is not deployed yet.
    world.bob().clicks_without_waiting("deploys", "Confirm").await;
    world.wait_until_idle().await;
    let plan = world.bob().reads();
    assert!(plan.contains("Stop the bleeding") && plan.contains("[Confirm]"), "{plan}");
    assert_eq!(head(&world, "prod"), hotfix);
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "prod")), [hotfix], "{}", world.bob().reads());
}

#[tokio::test]
async fn a_lock_set_while_github_is_unavailable_stops_a_rollback_until_it_is_confirmed() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("POST", "/git/commits", FaultTiming::BeforeEffect, down, 2);
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    world.carol().types_without_waiting("deploys", "/gantry lock qa load test").await;
    world.wait_until_idle().await;
    for _ in 0..10 {
        world.clock.advance(SignedDuration::from_secs(5));
        world.wait_until_idle().await;
    }
    let waiting = card(&world, "deploys");
    assert!(waiting.contains("in *qa*: waiting for what the rules ask for"), "{waiting}");
    assert!(waiting.contains("*qa* is locked by <@U0CAROL>: load test."), "{waiting}");
    assert_eq!(head(&world, "qa"), before);
    // A new plan shows the lock to bob, so his confirmation passes it.
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    assert!(world.bob().reads().contains(":lock: *qa* is locked by <@U0CAROL>"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "qa")), [before]);
    assert!(card(&world, "deploys").contains(": running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_rollback_plan_expires_after_30_minutes() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    world.wait(SignedDuration::from_mins(31)).await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(world.bob().reads().contains("older than 30 minutes"), "{}", world.bob().reads());
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn only_the_requester_can_confirm_a_rollback_plan() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    let plan = world.last_message("bob", "deploys");
    assert!(
        world.sim.slack.click("carol", "deploys", &plan.id, "Confirm").await.is_err(),
        "carol does not see the plan"
    );
    let elements = plan.blocks.iter().flat_map(|block| block["elements"].as_array().into_iter().flatten());
    let confirm = elements.clone().find(|element| element["text"]["text"] == "Confirm").unwrap();
    let payload = json!({
        "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": "U0CAROL" },
        "channel": { "id": "C0DEPLOYS" }, "trigger_id": "forged",
        "actions": [{ "action_id": confirm["action_id"], "value": confirm["value"] }],
    });
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let now = world.clock.now().as_second();
    assert_eq!(signing::send_slack_request(&world, "/slack/interactions", &body, SIGNING_SECRET, now).await.0, 200);
    world.settle().await;
    assert!(
        world.carol().reads().starts_with("Only the one who asked can decide on this plan."),
        "{}",
        world.carol().reads()
    );
    assert_eq!(head(&world, "prod"), before);
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(parents(&world, &head(&world, "prod")), [before], "the requester can still confirm it");
}

#[tokio::test]
async fn the_roll_back_button_of_an_outdated_card_is_refused() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let old = world
        .sim
        .slack
        .messages("deploys", Some("bob"))
        .into_iter()
        .find(|message| has_button(message, "Roll back"))
        .unwrap();
    world.push("checkout", "One more");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let before = head(&world, "qa");
    world.sim.slack.click("bob", "deploys", &old.id, "Roll back").await.unwrap();
    world.settle().await;
    let answer = world.bob().reads();
    assert_snapshot!(redact_commits(&world, &answer, &[(&before, "now")]), @"
    *checkout* `develop-d6c66c2` is not what *qa* has any more: `qa-<now>` is. Nothing was rolled back.
    Next: to roll back what is there now: `/rollback checkout qa`.
    ");
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn rollback_buttons_with_invalid_values_do_nothing() {
    let world = World::open().await;
    let heads = world.sim.github.branches(REPOSITORY);
    let values =
        ["", "x", "promote checkout qa", "rollback", "rollback checkout nowhere", "<!channel>", "lock qa mine"];
    for (action, values) in
        [("rollback_command", values.as_slice()), ("rollback_another", &["", "qa", "qa:x", "x:checkout", ":::"])]
    {
        for value in values {
            let payload = json!({
                "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": "U0CAROL" },
                "channel": { "id": "C0DEPLOYS" }, "trigger_id": format!("{action}{value}"),
                "actions": [{ "action_id": action, "value": value }],
            });
            let form =
                form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
            let now = world.clock.now().as_second();
            assert_eq!(
                signing::send_slack_request(&world, "/slack/interactions", &form, SIGNING_SECRET, now).await.0,
                200
            );
        }
    }
    world.settle().await;
    assert_eq!(world.sim.github.branches(REPOSITORY), heads);
    assert!(
        world
            .sim
            .slack
            .messages("deploys", Some("carol"))
            .iter()
            .all(|message| !render_message(message).contains("<!channel>"))
    );
}
