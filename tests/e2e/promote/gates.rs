//! Gates: freezes, soaks, locks and the right to promote, on request and at the merge; and overrides of them.

use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::harness::configuration::with_environment_line;
use crate::harness::production::{REPOSITORY, card, head, promote_newer_to_staging, pull, request_production};
use crate::harness::world::World;

/// Parses a time of the test. The world opens on Monday, 16 November 2026, at 09:00 UTC.
fn parse_time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_freeze_refuses_promotions_until_it_ends() {
    let freezes = "freezes: [{ from: \"Mon 08:00\", to: \"Mon 18:00\", timezone: Europe/Kyiv, reason: inventory }]";
    let world = World::with_config(with_environment_line("qa", freezes)).await;
    let before = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    assert_snapshot!(world.alice().reads(), @"
    *qa* is frozen until <!date^1794844800^{date_short_pretty} {time}|2026-11-16 16:00 UTC>: inventory.
    Next: type it again then, or pass it with `--override reason` where you may.
    ");
    assert_eq!(head(&world, "qa"), before);
    world.clock.advance_to(parse_time("2026-11-16T15:59:59.999Z"));
    world.alice().types("/promote checkout qa").await;
    assert!(world.alice().reads().contains("is frozen until"), "{}", world.alice().reads());
    world.clock.advance_to(parse_time("2026-11-16T16:00:00Z"));
    world.alice().types("/promote checkout qa").await;
    assert_ne!(head(&world, "qa"), before, "the freeze ends at exactly this time");
}

#[tokio::test]
async fn an_approved_change_is_not_merged_during_a_freeze() {
    let freezes = "freezes: [{ from: \"2026-11-16 12:00\", to: \"2026-11-17 08:00\", reason: release party }]";
    let world = World::with_config(|yaml| {
        with_environment_line("prod", freezes)(yaml).replace("approval_timeout: 15m", "approval_timeout: 24h")
    })
    .await;
    let before = head(&world, "prod");
    request_production(&world).await;
    world.clock.advance_to(parse_time("2026-11-16T12:00:00Z"));
    world.bob().clicks_in("releases", "Approve").await;
    assert!(
        card(&world).contains(":no_entry: *prod* is frozen until") && card(&world).contains("release party"),
        "{}",
        card(&world)
    );
    assert!(card(&world).contains("1 of 1 approval"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
    world.clock.advance_to(parse_time("2026-11-17T08:00:00Z"));
    world.wait(SignedDuration::from_secs(61)).await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn an_approved_change_is_not_merged_under_a_new_lock_and_continues_after_the_unlock() {
    let world = World::open().await;
    let before = head(&world, "prod");
    request_production(&world).await;
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().clicks_in("releases", "Approve").await;
    let shown = card(&world);
    assert!(
        shown.contains(
            ":no_entry: *prod* is locked by <@U0CAROL>: the database moves. It goes on after `/gantry unlock prod`"
        ),
        "{shown}"
    );
    assert_eq!(head(&world, "prod"), before);
    world.carol().types("/gantry unlock prod").await;
    assert!(card(&world).contains("running in *prod*"), "the change continues at once: {}", card(&world));
}

#[tokio::test]
async fn a_lock_set_while_a_merge_is_rate_limited_delays_the_merge_until_the_unlock() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let limited = gantry::sim::github::RequestFault::Reply(429, "Too many", vec![("retry-after", "30".to_owned())]);
    world.sim.github.request_faults().inject(
        "POST",
        "/merges",
        gantry::sim::github::FaultTiming::BeforeEffect,
        limited,
        1,
    );
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.bob().types_without_waiting("deploys", "/gantry lock qa wait for me").await;
    world.wait_until_idle().await;
    world.settle().await;
    let card = world.public_messages("deploys").into_iter().find(|message| message.contains("asked by")).unwrap();
    assert!(card.contains("waiting for what the rules ask for") && card.contains("wait for me"), "{card}");
    assert_eq!(head(&world, "qa"), before);
    world.bob().types("/gantry unlock qa").await;
    assert_ne!(head(&world, "qa"), before);
}

#[tokio::test]
async fn a_version_must_run_well_in_the_environment_below_for_the_soak_time() {
    let world = World::with_config(|yaml| yaml.replace("soak: 5s", "soak: 30m")).await;
    promote_newer_to_staging(&world).await;
    world.alice().types("/promote checkout prod").await;
    let runs = world.running_tag("checkout", "staging");
    // The second at which the version began to run varies, so the time is masked.
    let answer = world.alice().reads().replace(&runs, "<runs>");
    let (before, after) = answer.split_once("<!date^").expect("a time");
    let (_, after) = after.split_once('>').expect("the end of the time");
    assert_snapshot!(format!("{before}<then>{after}"), @"
    *checkout* `<runs>` has not run well in *staging* for 30m yet, as *prod* asks for.
    Next: type it again at <then>, if nothing interrupts it, or pass it with `--override reason` where you may.
    ");
    assert_eq!(pull(&world), None);
    world.wait(SignedDuration::from_mins(31)).await;
    world.alice().types("/promote checkout prod").await;
    assert!(
        crate::harness::world::has_button(&world.last_message("alice", "deploys"), "Confirm"),
        "{}",
        world.alice().reads()
    );
}

#[tokio::test]
async fn an_interruption_restarts_the_soak_time() {
    let world = World::with_config(|yaml| yaml.replace("soak: 5s", "soak: 30m")).await;
    world.wait(SignedDuration::from_mins(40)).await;
    let workload = "deployment/checkout".parse().unwrap();
    let image = world.sim.cluster.state("staging", &workload).image.unwrap();
    world.sim.cluster.remove("staging", &workload);
    world.settle().await;
    world.sim.cluster.set_running("staging", &workload, "checkout", &image, 2);
    world.settle().await;
    world.alice().types("/promote checkout prod").await;
    assert!(world.alice().reads().contains("has not run well in *staging* for 30m yet"), "{}", world.alice().reads());
    world.wait(SignedDuration::from_mins(31)).await;
    world.alice().types("/promote checkout prod").await;
    assert!(
        crate::harness::world::has_button(&world.last_message("alice", "deploys"), "Confirm"),
        "{}",
        world.alice().reads()
    );
}

#[tokio::test]
async fn only_overriders_override_gates_and_the_override_is_announced_and_recorded() {
    let yaml = |yaml: String| {
        let yaml = yaml.replace("soak: 5s", "soak: 12h");
        with_environment_line("prod", "freezes: [{ from: \"Mon 08:00\", to: \"Mon 18:00\", reason: inventory }]")(yaml)
    };
    let world = World::with_config(yaml).await;
    promote_newer_to_staging(&world).await;
    let staging = head(&world, "staging");
    world.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    world.carol().types("/gantry lock prod the database moves").await;

    world.alice().types("/promote checkout prod --override \"people cannot pay\"").await;
    assert_snapshot!(world.alice().reads(), @"
    You may not override anything in *prod*.
    Next: ask @release-managers to do it.
    ");

    world.bob().types("/promote checkout prod --override \"people cannot pay\"").await;
    let plan = world.bob().reads();
    let line = plan.lines().find(|line| line.contains("overrides")).unwrap_or_else(|| panic!("{plan}"));
    assert_snapshot!(line, @":rotating_light: <@U0BOB> overrides the lock of <@U0CAROL>, the freeze, the soak, the checks: people cannot pay");
    assert_eq!(pull(&world), None, "nothing is done before the confirmation");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(
        card(&world)
            .contains("<@U0BOB> overrides the lock of <@U0CAROL>, the freeze, the soak, the checks: people cannot pay"),
        "{}",
        card(&world)
    );
    let announcement = world
        .public_messages("releases")
        .into_iter()
        .find(|message| message.starts_with(":rotating_light:"))
        .expect("an announcement in the channel");
    assert!(announcement.contains("people cannot pay") && announcement.contains("to *prod*"), "{announcement}");
    let all =
        world.bot.store.list_ledger_entries(&gantry::adapters::store::LedgerFilter::default(), 100).await.unwrap();
    let entry = all
        .iter()
        .find(|entry| entry.kind == gantry::adapters::store::LedgerKind::Overridden)
        .expect("an entry in the ledger");
    let Some(gantry::adapters::store::LedgerDetails::Overridden(overridden)) = &entry.details else {
        panic!("{entry:?}")
    };
    assert_eq!(overridden.reason, "people cannot pay");

    assert!(card(&world).contains("0 of 1 approval"), "approvals are never overridden: {}", card(&world));
    let result = pull(&world).unwrap().head_sha;
    world.sim.github.set_check(REPOSITORY, &result, "build", "failure").unwrap();
    world.settle().await;
    assert!(
        !card(&world).contains("checks are red"),
        "the checks on the result branch are overridden too: {}",
        card(&world)
    );
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn an_override_does_not_cover_a_later_lock() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().types("/promote checkout prod --override it must go").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    world.carol().types("/gantry unlock prod").await;
    world.alice().types("/gantry lock prod now really").await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("*prod* is locked by <@U0ALICE>: now really"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn an_override_must_be_confirmed_again_if_another_gate_closed_since_the_plan() {
    let world = World::open().await;
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().types("/promote checkout prod --override it must go").await;
    let staging = head(&world, "staging");
    world.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(pull(&world), None);
    let messages = world.ephemeral_messages("bob", "deploys");
    assert!(
        messages.iter().any(|message| message.contains("the lock of <@U0CAROL>, the checks: it must go")),
        "{messages:#?}"
    );
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(pull(&world).is_some());
}

#[tokio::test]
async fn an_override_needs_a_reason_and_a_configured_overrider() {
    let without_overriders = |yaml: String| yaml.replace("    overriders: [\"@release-managers\"]\n", "");
    let world = World::with_config(without_overriders).await;
    let ack = world.alice().types("/promote checkout prod --override").await;
    assert!(ack.starts_with("`promote` needs a reason."), "{ack}");
    world.bob().types("/promote checkout prod --override because").await;
    assert_snapshot!(world.bob().reads(), @"
    You may not override anything in *prod*: nobody may.
    Next: name them under `overriders` in my configuration, or wait.
    ");
}

#[tokio::test]
async fn only_promoters_promote_and_the_right_is_checked_again_at_the_merge() {
    let world = World::with_config(with_environment_line("prod", "promoters: [\"@release-managers\"]")).await;
    world.alice().types("/promote checkout prod").await;
    assert_snapshot!(world.alice().reads(), @"
    You may not promote to *prod*.
    Next: ask @release-managers to do it.
    ");
    world.bob().types("/promote checkout prod").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    // Bob leaves the group before the merge, and so loses the right to promote.
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(61)).await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("<@U0BOB> may not promote to *prod* any more"), "{}", card(&world));
    assert_ne!(pull(&world).unwrap().state, "merged");
}

#[tokio::test]
async fn promoters_can_be_people_by_slack_id_or_name() {
    for promoter in ["U0BOB", "\"@bob\""] {
        let world = World::with_config(|yaml| {
            yaml.replace("  - name: prod\n", &format!("  - name: prod\n    promoters: [{promoter}]\n"))
        })
        .await;
        world.alice().types("/promote checkout prod").await;
        assert!(
            world.alice().reads().starts_with("You may not promote to *prod*."),
            "{promoter}: {}",
            world.alice().reads()
        );
        world.bob().types("/promote checkout prod").await;
        world.bob().clicks_in("deploys", "Confirm").await;
        assert!(pull(&world).is_some(), "{promoter}");
    }
}

#[tokio::test]
async fn promoters_can_be_a_github_team() {
    let yaml = with_environment_line("prod", "promoters: [\"github:acme/release\"]");
    let world = World::with_setup(|sim| sim.github.add_team("acme", "release", &["bob"]), yaml).await;
    world.alice().types("/promote checkout prod").await;
    assert!(world.alice().reads().starts_with("You may not promote to *prod*."), "{}", world.alice().reads());
    assert!(world.alice().reads().contains("the GitHub team `acme/release`"), "{}", world.alice().reads());
    world.bob().types("/promote checkout prod").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(pull(&world).is_some());
}

#[tokio::test]
async fn an_environment_with_promoters_refuses_while_slack_cannot_list_their_group() {
    let world = World::with_config(with_environment_line("prod", "promoters: [\"@release-managers\"]")).await;
    world.bob().types("/list checkout").await;
    let before = head(&world, "prod");
    // The bot has all other answers of Slack in memory. Only the members of the group are missing.
    world.sim.faults.arm(gantry::sim::faults::Fault::SlackDown, 40, None, None);
    world.bob().types("/promote checkout prod").await;
    let answer = world.ephemeral_messages("bob", "deploys").pop().unwrap();
    assert_snapshot!(answer, @"
    Nothing was done: Slack cannot tell me who is in @release-managers right now.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
    assert_eq!((head(&world, "prod"), pull(&world)), (before, None));
}

#[tokio::test]
async fn an_override_is_void_after_its_author_lost_the_right() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().types("/promote checkout prod --override it must go").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(61)).await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("*prod* is locked by <@U0CAROL>: the database moves"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn overridden_checks_do_not_stop_the_merge_of_the_pull_request() {
    let world = World::open().await;
    let staging = head(&world, "staging");
    world.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    world.bob().types("/promote checkout prod --override people cannot pay").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    let result = pull(&world).unwrap().head_sha;
    world.sim.github.set_check(REPOSITORY, &result, "build", "failure").unwrap();
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn an_override_can_be_added_when_a_promotion_is_retried_after_an_error() {
    let world = World::open().await;
    request_production(&world).await;
    let refused = RequestFault::Reply(422, "Validation Failed", vec![]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, refused, 1);
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("could not be merged"), "{}", card(&world));
    world.carol().types("/gantry lock prod the database moves").await;
    world.bob().types("/promote checkout prod --override it must go").await;
    assert!(world.bob().reads().contains("overrides the lock of <@U0CAROL>: it must go"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(card(&world).contains("overrides the lock of <@U0CAROL>: it must go"), "{}", card(&world));
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn an_override_is_not_kept_when_a_promotion_is_retried_after_an_error() {
    let yaml = |yaml: String| {
        with_environment_line(
            "prod",
            "freezes: [{ from: \"Mon 08:00\", to: \"Mon 10:00\" }, { from: \"Mon 11:00\", to: \"Mon 18:00\" }]",
        )(yaml)
        .replace("approval_timeout: 15m", "approval_timeout: 24h")
    };
    let world = World::with_config(yaml).await;
    let before = head(&world, "prod");
    world.bob().types("/promote checkout prod --override it must go").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    let refused = RequestFault::Reply(422, "Validation Failed", vec![]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, refused, 1);
    world.carol().clicks_in("releases", "Approve").await;
    world.clock.advance_to(parse_time("2026-11-16T10:30:00Z"));
    world.alice().clicks_in("releases", "Promote").await;
    if crate::harness::world::has_button(&world.last_message("alice", "releases"), "Confirm") {
        world.alice().clicks_in("releases", "Confirm").await;
    }
    world.clock.advance_to(parse_time("2026-11-16T11:30:00Z"));
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("*prod* is frozen until"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn a_lock_set_between_two_attempts_stops_the_merge() {
    let world = World::open().await;
    let before = head(&world, "qa");
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, down, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.carol().types_without_waiting("deploys", "/gantry lock qa not now").await;
    world.wait_until_idle().await;
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert!(messages.iter().any(|message| message.contains("*qa* is locked by <@U0CAROL>: not now")), "{messages:#?}");
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn a_promotion_that_waits_at_a_gate_can_be_superseded() {
    let world = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    let limited = RequestFault::Reply(429, "Too many", vec![("retry-after", "90".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, limited, 1);
    world.bob().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(61)).await;
    let is_waiting = |message: &String| message.contains("<@U0BOB> may not promote to *qa* any more");
    assert!(world.public_messages("deploys").iter().any(is_waiting), "{:#?}", world.public_messages("deploys"));
    world.push("checkout", "Newer");
    world.settle().await;
    world.carol().types("/promote checkout qa").await;
    assert!(world.carol().reads().contains("This takes the place of"), "{}", world.carol().reads());
    world.carol().clicks_in("deploys", "Confirm").await;
    let is_running = |message: &String| message.contains("running in *qa*");
    assert!(world.public_messages("deploys").iter().any(is_running), "{:#?}", world.public_messages("deploys"));
}
