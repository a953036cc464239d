//! `why`: each kind of obstacle between an artefact and an environment, with the button for the next step.

mod random;

use gantry::sim::faults::Fault;
use gantry::sim::slack::Message;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::configuration::with_environment_line;
use crate::harness::production::{REPOSITORY, card, head, promote_newer_to_staging, pull, request_production};
use crate::harness::world::{World, has_button, redact_origin_and_ids, render_message};

/// Alice's answer to `/gantry why`, without commits, ids and links.
async fn why(world: &World, text: &str) -> String {
    world.alice().types(&format!("/gantry why {text}")).await;
    redact_heads_and_ids(world, &world.alice().reads())
}

fn redact_heads_and_ids(world: &World, text: &str) -> String {
    let mut text = redact_origin_and_ids(world, text);
    for branch in ["develop", "qa", "staging", "prod"] {
        let (head, name) = (head(world, branch), format!("<{branch}>"));
        text = text.replace(head.as_str(), &name).replace(head.short(), &name);
    }
    // The link to a card and the id of a change differ in each run.
    while let Some(start) = text.find("<https://acme.slack.com/") {
        let end = start + text[start..].find('|').expect("a label");
        text.replace_range(start..end, "<card");
    }
    match text.find("/gantry cancel ") {
        Some(start) => {
            let digits = start + "/gantry cancel ".len();
            text.replace_range(digits..digits + 8, "<id>");
            text
        }
        None => text,
    }
}

async fn click_button(world: &World, person: &str, message: &Message, button: &str) {
    world.sim.slack.click(person, "deploys", &message.id, button).await.unwrap();
    world.settle().await;
}

fn parents(world: &World, branch: &str) -> Vec<String> {
    let head = head(world, branch);
    let graph = world.sim.github.graph(REPOSITORY, 100);
    let commit = graph.into_iter().find(|commit| commit.sha == head).expect("a commit");
    commit.parents.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn without_obstacles_the_promote_button_promotes_exactly_the_shown_version() {
    let world = World::open().await;
    let (shown, before) = (head(&world, "develop"), head(&world, "qa"));
    assert_snapshot!(why(&world, "checkout qa").await, @"
    :large_green_circle: Nothing stands between *checkout* `develop-<develop>` and *qa*: `/promote checkout qa` brings it there.
    [Promote]
    ");
    let answer = world.last_message("alice", "deploys");
    world.bob().types("/gantry why checkout qa").await;
    let answer_to_bob = world.last_message("bob", "deploys");
    assert_eq!(head(&world, "qa"), before, "why moves nothing");

    world.push("checkout", "Something newer");
    world.settle().await;
    click_button(&world, "alice", &answer, "Promote").await;
    assert_eq!(parents(&world, "qa"), [before.as_str(), shown.as_str()], "the shown version, and not the newer one");
    let replaced =
        world.sim.slack.messages("deploys", Some("alice")).into_iter().find(|message| message.id == answer.id).unwrap();
    assert!(render_message(&replaced).starts_with("*checkout* is on its way to *qa*"), "{}", render_message(&replaced));

    click_button(&world, "bob", &answer_to_bob, "Promote").await;
    let late = world
        .sim
        .slack
        .messages("deploys", Some("bob"))
        .into_iter()
        .find(|message| message.id == answer_to_bob.id)
        .unwrap();
    assert!(
        render_message(&late).starts_with("*qa* has everything of *checkout*"),
        "too late: {}",
        render_message(&late)
    );
}

#[tokio::test]
async fn why_names_the_approval_that_follows_when_there_is_no_obstacle() {
    let world = World::open().await;
    assert_snapshot!(why(&world, "checkout prod").await, @"
    :large_green_circle: Nothing stands between *checkout* `staging-<staging>` and *prod*: `/promote checkout prod` brings it there.
    :raised_hand: It then needs 1 approval of @release-managers, by a pull request.
    [Promote]
    ");
    world.alice().clicks("Promote").await;
    assert!(has_button(&world.last_message("alice", "deploys"), "Confirm"), "{}", world.alice().reads());
    assert_eq!(pull(&world), None, "a change to production needs a confirmation");
}

#[tokio::test]
async fn why_without_an_environment_takes_the_first_one_that_is_behind() {
    let world = World::open().await;
    let answer = why(&world, "checkout").await;
    let last = answer.lines().last().unwrap();
    assert_snapshot!(last, @"*qa* is the first environment behind the one below. Also behind: `/gantry why checkout staging`, `/gantry why checkout prod`");
    world.alice().types("/promote checkout").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"), "promote chooses the same environment");
}

#[tokio::test]
async fn why_shows_all_obstacles_and_promote_refuses_with_the_first() {
    let world = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    world.carol().types("/gantry lock qa for 2h the database moves").await;
    assert_snapshot!(why(&world, "checkout qa").await, @"
    2 things stand between *checkout* `develop-<develop>` and *qa*:
    :no_entry: You may not promote to *qa*.
    Next: ask @release-managers to do it.
    :lock: *qa* is locked by <@U0CAROL> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> until <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>: the database moves.
    [Take over]
    Next: ask <@U0CAROL>, make the lock yours with *Take over*, or end it: `/gantry unlock qa`
    [Look again]
    ");
    world.alice().types("/promote checkout qa").await;
    assert!(world.alice().reads().starts_with("You may not promote to *qa*."), "{}", world.alice().reads());

    world.bob().types("/gantry why checkout qa").await;
    assert!(
        world.bob().reads().starts_with("1 thing stands"),
        "the answer depends on the rights of the person: {}",
        world.bob().reads()
    );
    world.bob().clicks("Take over").await;
    let answer = world.ephemeral_messages("bob", "deploys").pop().unwrap();
    assert!(answer.starts_with("The lock on *qa* is yours now"), "{answer}");
}

#[tokio::test]
async fn why_shows_a_freeze_and_look_again_replaces_the_answer_after_its_end() {
    let freeze = "freezes: [{ from: \"Mon 08:00\", to: \"Mon 10:00\", reason: inventory }]";
    let world = World::with_config(with_environment_line("qa", freeze)).await;
    assert_snapshot!(why(&world, "checkout qa").await, @"
    1 thing stands between *checkout* `develop-<develop>` and *qa*:
    :hourglass_flowing_sand: *qa* is frozen until <!date^1794823200^{date_short_pretty} {time}|2026-11-16 10:00 UTC>: inventory.
    [Look again]
    Next: type it again then, or pass it with `--override reason` where you may.
    ");
    let (answer, count) = (world.last_message("alice", "deploys"), world.ephemeral_messages("alice", "deploys").len());
    world.clock.advance_to("2026-11-16T10:00:00Z".parse().unwrap());
    click_button(&world, "alice", &answer, "Look again").await;
    let now = world.last_message("alice", "deploys");
    assert_eq!((now.id, world.ephemeral_messages("alice", "deploys").len()), (answer.id, count), "in its place");
    assert!(world.alice().reads().starts_with(":large_green_circle: Nothing stands"), "{}", world.alice().reads());
}

#[tokio::test]
async fn why_shows_that_the_soak_time_is_not_over() {
    let world = World::with_config(|yaml| yaml.replace("soak: 5s", "soak: 30m")).await;
    promote_newer_to_staging(&world).await;
    let answer = why(&world, "checkout prod").await;
    assert!(
        answer.contains("has not run well in *staging* for 30m yet") && answer.contains("[Look again]"),
        "{answer}"
    );
    world.wait(SignedDuration::from_mins(31)).await;
    world.alice().clicks("Look again").await;
    assert!(world.alice().reads().contains("Nothing stands between"), "{}", world.alice().reads());
}

#[tokio::test]
async fn why_names_checks_that_are_running_or_red() {
    let world = World::open().await;
    let develop = head(&world, "develop");
    world.sim.github.set_check(REPOSITORY, &develop, "browser tests", "in_progress").unwrap();
    assert_snapshot!(why(&world, "checkout qa").await, @"
    1 thing stands between *checkout* `develop-<develop>` and *qa*:
    :hourglass_flowing_sand: Checks are still running on <http://world/sim/github/acme/checkout/commit/<develop>|<develop>>: `browser tests`.
    [Look again]
    Next: wait for them, and type it again.
    ");
    world.sim.github.set_check(REPOSITORY, &develop, "browser tests", "failure").unwrap();
    world.alice().clicks("Look again").await;
    assert!(world.alice().reads().contains("Checks are red on"), "{}", world.alice().reads());
}

#[tokio::test]
async fn why_shows_a_rollout_below_together_with_all_other_obstacles() {
    let world = World::open().await;
    world.carol().types("/gantry lock qa not now").await;
    world.sim.faults.arm(Fault::SlowRollout, 1, None, None);
    let sha = world.push("checkout", "Take your time");
    for _ in 0..3 {
        world.clock.advance(SignedDuration::from_secs(1));
        world.wait_until_idle().await;
    }
    world.sim.github.set_check(REPOSITORY, &sha.parse().unwrap(), "build", "failure").unwrap();
    world.alice().types_without_waiting("deploys", "/gantry why checkout qa").await;
    world.wait_until_idle().await;
    assert_snapshot!(redact_heads_and_ids(&world, &world.alice().reads()), @"
    3 things stand between *checkout* `develop-<develop>` and *qa*:
    :hourglass_flowing_sand: *checkout* `develop-<develop>` is still rolling out in *development*: 0 of 2 ready.
    [Look again]
    Next: wait until it runs there, then type it again; `/list checkout` shows how far it is.
    :lock: *qa* is locked by <@U0CAROL> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: not now.
    [Take over]
    Next: ask <@U0CAROL>, make the lock yours with *Take over*, or end it: `/gantry unlock qa`
    :no_entry: Checks are red on <http://world/sim/github/acme/checkout/commit/<develop>|<develop>>: `build`.
    [Look again]
    Next: repair them, or run them again on GitHub, and type it again.
    ");
    world.settle().await;
}

#[tokio::test]
async fn why_offers_to_roll_back_a_failed_version_below_but_not_in_the_first_environment() {
    let world = World::open().await;
    let good = world.running_tag("checkout", "qa");
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    assert_snapshot!(why(&world, "checkout staging").await.replace(&world.running_tag("checkout", "qa"), "<bad>"), @r#"
    1 thing stands between *checkout* `qa-<qa>` and *staging*:
    :no_entry: *checkout* `qa-<qa>` does not run well in *qa*: ReplicaSet "checkout-6b000178" has timed out progressing.
    [Roll back]
    Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.
    [Look again]
    "#);
    world.alice().clicks("Roll back").await;
    let messages = world.public_messages("deploys");
    assert!(messages.iter().any(|text| text.contains(&good) && text.contains("restored as")), "{messages:#?}");

    // The first environment is repaired by a push only.
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), None);
    world.push("checkout", "Break it");
    world.settle().await;
    let answer = why(&world, "checkout qa").await;
    assert!(answer.contains("does not run well in *development*") && !answer.contains("[Roll back]"), "{answer}");
}

#[tokio::test]
async fn why_shows_a_lock_although_a_cluster_cannot_be_read() {
    let world = World::with_setup(|sim| sim.cluster.forbid("qa"), |yaml| yaml).await;
    world.carol().types("/gantry lock staging not now").await;
    let answer = why(&world, "checkout staging").await;
    assert!(answer.starts_with("2 things stand between *checkout* and *staging*:"), "{answer}");
    assert!(
        answer.contains("I cannot read what runs in *qa* since") && answer.contains("is locked by <@U0CAROL>"),
        "{answer}"
    );
    let answer = why(&world, "checkout qa").await;
    assert!(answer.contains("I cannot read what runs in *qa* since"), "the target must be readable as well: {answer}");
}

#[tokio::test]
async fn why_offers_to_release_a_quarantined_version_and_then_shows_the_hold() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let answer = why(&world, "checkout qa").await.replace(bad.short(), "<bad>");
    assert_snapshot!(answer, @"
    1 thing stands between *checkout* `develop-<develop>` and *qa*:
    :no_entry: *checkout* `develop-<develop>` may not come back to *qa*: <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.
    [Release]
    Next: promote what repairs it; or, if it was not to blame, `/gantry release checkout qa-<bad>`, or pass it with `--override reason` where you may.
    [Look again]
    ");
    world.alice().clicks("Release").await;
    let answer = why(&world, "checkout qa").await.replace(bad.short(), "<bad>");
    assert_snapshot!(answer, @"
    :large_green_circle: Nothing stands between *checkout* `develop-<develop>` and *qa*: `/promote checkout qa` brings it there.
    :warning: *qa* is on hold: <@U0BOB> rolled `qa-<bad>` back <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong. Your yes lifts the hold.
    [Promote]
    ");
}

#[tokio::test]
async fn why_shows_who_must_approve_an_open_change_and_has_the_approve_button() {
    let world = World::open().await;
    request_production(&world).await;
    let before = head(&world, "prod");
    assert_snapshot!(why(&world, "checkout prod").await, @"
    1 thing stands between *checkout* `staging-<staging>` and *prod*:
    :hourglass_flowing_sand: <@U0ALICE> is promoting *checkout* to *prod* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: it is waiting for approval, <card|follow it here>. It still needs 1 approval of @release-managers, not of <@U0ALICE>.
    [Cancel]
    Next: wait for it, or `/gantry cancel <id>`.
    [Look again]
    ");
    world.bob().types("/gantry why checkout prod").await;
    assert!(world.bob().reads().contains("[Approve] [Cancel]"), "{}", world.bob().reads());
    world.bob().clicks("Approve").await;
    assert_ne!(head(&world, "prod"), before);
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    let answer = world.ephemeral_messages("bob", "deploys").pop().unwrap();
    assert!(answer.starts_with("Approved: ") && answer.contains("|follow it here>"), "{answer}");
}

#[tokio::test]
async fn an_open_change_can_be_cancelled_from_why_by_its_requester() {
    let world = World::open().await;
    request_production(&world).await;
    world.carol().types("/gantry lock prod not now").await;
    let answer = why(&world, "checkout prod").await;
    assert!(
        answer.starts_with("2 things stand") && answer.contains("is locked by"),
        "the open change hides no other obstacle: {answer}"
    );
    world.alice().clicks("Cancel").await;
    assert!(card(&world).contains("cancelled"), "{}", card(&world));
}

#[tokio::test]
async fn why_links_to_the_card_of_a_change_that_is_deploying() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, None, None);
    world.bob().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_secs(1));
    world.wait_until_idle().await;
    world.alice().types_without_waiting("deploys", "/gantry why checkout qa").await;
    world.wait_until_idle().await;
    let answer = redact_heads_and_ids(&world, &world.alice().reads());
    let line = answer.lines().nth(1).unwrap();
    assert_snapshot!(line, @":hourglass_flowing_sand: <@U0BOB> is promoting *checkout* to *qa* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: it is deploying, <card|follow it here>.");
    assert!(answer.contains("[Look again]"), "{answer}");
    world.settle().await;
}

#[tokio::test]
async fn why_says_that_an_artefact_can_never_be_promoted_to_an_environment() {
    let world = World::with_config(|configuration| {
        let shop = "    repository: acme/shop\n    paths: [\"storefront/**\", \"lib/**\"]\n";
        configuration.replace(shop, &format!("{shop}    environments: {{ staging: false }}\n"))
    })
    .await;
    assert_snapshot!(why(&world, "checkout development").await, @"
    1 thing stands between *checkout* and *development*:
    :no_entry: Nothing is promoted to *development*: it is fed by pushes.
    Next: push to `develop`, or `/promote checkout qa`.
    ");
    assert_snapshot!(why(&world, "storefront staging").await, @"
    1 thing stands between *storefront* and *staging*:
    :no_entry: *storefront* is not in *staging*.
    Next: choose one of `development`, `qa`, `prod`.
    ");
    world.carol().types("/gantry lock qa not now").await;
    assert_snapshot!(why(&world, "search qa").await, @"
    2 things stand between *search* `1.0.2` and *qa*:
    :white_check_mark: *qa* has everything of *search* `1.0.2` already: `1.0.2` runs there.
    [Look again]
    Next: push something new; `/list search` shows what runs where.
    :lock: *qa* is locked by <@U0CAROL> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: not now.
    [Take over]
    Next: ask <@U0CAROL>, make the lock yours with *Take over*, or end it: `/gantry unlock qa`
    ");
}

#[tokio::test]
async fn why_says_that_the_artefact_does_not_run_below() {
    let world = World::open().await;
    world.sim.cluster.remove("development", &"deployment/checkout".parse().unwrap());
    world.settle().await;
    let answer = why(&world, "checkout qa").await;
    assert!(answer.contains("*checkout* does not run in *development*"), "{answer}");
}

#[tokio::test]
async fn why_in_a_thread_is_answered_there_and_look_again_updates_it_in_place() {
    let world = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    world.carol().types("/gantry lock qa not now").await;
    let parent = world.last_message("alice", "deploys").id;
    world.bob().posts("deploys", Some(&parent), "@gantry why checkout qa").await;
    let answer = world.last_message("alice", "deploys");
    assert_eq!((answer.thread.as_deref(), answer.only_to.as_deref()), (Some(parent.as_str()), None));
    assert!(render_message(&answer).starts_with("1 thing stands between"), "{}", render_message(&answer));
    world.carol().types("/gantry unlock qa").await;
    click_button(&world, "carol", &answer, "Look again").await;
    let all = world.sim.slack.messages("deploys", Some("alice"));
    let now = all.into_iter().find(|message| message.id == answer.id).expect("the public answer");
    assert!(
        now.only_to.is_none() && render_message(&now).contains("Nothing stands between"),
        "{}",
        render_message(&now)
    );
}

#[tokio::test]
async fn a_private_answer_does_not_replace_a_public_why() {
    let world = World::open().await;
    world.carol().types("/gantry lock qa not now").await;
    let parent = world.last_message("alice", "deploys").id;
    world.bob().posts("deploys", Some(&parent), "@gantry why checkout qa").await;
    let answer = world.last_message("alice", "deploys");
    click_button(&world, "bob", &answer, "Take over").await;
    let all = world.sim.slack.messages("deploys", Some("alice"));
    let now = all.into_iter().find(|message| message.id == answer.id).expect("the public answer");
    assert_eq!(render_message(&now), render_message(&answer));
}

#[tokio::test]
async fn the_promote_button_for_manifest_delivery_promotes_the_shown_image() {
    let world = World::open().await;
    let (_, tag) = crate::harness::manifest::push_and_settle(&world, "Rank titles higher").await;
    let shown = why(&world, "search qa").await;
    assert!(shown.contains("Nothing stands between *search*") && shown.contains(&tag), "{shown}");
    let answer = world.last_message("alice", "deploys");
    crate::harness::manifest::push_and_settle(&world, "Something newer").await;
    click_button(&world, "alice", &answer, "Promote").await;
    assert!(
        crate::harness::manifest::running_image(&world, "qa").ends_with(&tag),
        "{}",
        crate::harness::manifest::running_image(&world, "qa")
    );
}

#[tokio::test]
async fn why_shows_the_known_obstacles_while_github_is_down() {
    let world = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    world.alice().types("/gantry why checkout staging").await;
    world.sim.faults.arm(Fault::Github502, 99, None, None);
    let answer = why(&world, "checkout qa").await;
    assert!(answer.starts_with("At least 1 thing stands between"), "{answer}");
    assert!(
        answer.contains("You may not promote to *qa*.") && answer.contains(":grey_question: There may be more"),
        "{answer}"
    );
}
