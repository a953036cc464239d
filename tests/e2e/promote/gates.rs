//! What holds a promotion back for a time: freezes, soaks, locks that come later; and who passes them by force.

use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::harness::world::World;
use crate::production::pull_request::{REPOSITORY, card, head, promote_newer_to_staging, pull, request_production};

/// Adds a line to an environment of the demo's configuration.
pub(crate) fn with_environment_line(environment: &'static str, line: &'static str) -> impl FnOnce(String) -> String {
    move |yaml| {
        let name = format!("  - name: {environment}\n");
        yaml.replace(&name, &format!("{name}    {line}\n"))
    }
}

/// The town opens on Monday, 16 November 2026, at 09:00 UTC.
fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_freeze_refuses_until_it_is_over() {
    let freezes = "freezes: [{ from: \"Mon 08:00\", to: \"Mon 18:00\", timezone: Europe/Kyiv, reason: inventory }]";
    let town = World::with_config(with_environment_line("qa", freezes)).await;
    let before = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    assert_snapshot!(town.alice().reads(), @"
    *qa* is frozen until <!date^1794844800^{date_short_pretty} {time}|2026-11-16 16:00 UTC>: inventory.
    Next: type it again then, or pass it with `--override reason` where you may.
    ");
    assert_eq!(head(&town, "qa"), before);
    town.clock.advance_to(at("2026-11-16T15:59:59.999Z"));
    town.alice().types("/promote checkout qa").await;
    assert!(town.alice().reads().contains("is frozen until"), "{}", town.alice().reads());
    town.clock.advance_to(at("2026-11-16T16:00:00Z"));
    town.alice().types("/promote checkout qa").await;
    assert_ne!(head(&town, "qa"), before, "the end is excluded");
}

#[tokio::test]
async fn a_change_that_waits_meets_a_freeze_at_its_merge() {
    let freezes = "freezes: [{ from: \"2026-11-16 12:00\", to: \"2026-11-17 08:00\", reason: release party }]";
    let town = World::with_config(|yaml| {
        with_environment_line("prod", freezes)(yaml).replace("approval_timeout: 15m", "approval_timeout: 24h")
    })
    .await;
    let before = head(&town, "prod");
    request_production(&town).await;
    town.clock.advance_to(at("2026-11-16T12:00:00Z"));
    town.bob().clicks_in("releases", "Approve").await;
    assert!(
        card(&town).contains(":no_entry: *prod* is frozen until") && card(&town).contains("release party"),
        "{}",
        card(&town)
    );
    assert!(card(&town).contains("1 of 1 approval"), "{}", card(&town));
    assert_eq!(head(&town, "prod"), before);
    town.clock.advance_to(at("2026-11-17T08:00:00Z"));
    town.wait(SignedDuration::from_secs(61)).await;
    assert!(card(&town).contains("running in *prod*"), "{}", card(&town));
}

#[tokio::test]
async fn a_change_that_waits_meets_a_new_lock_at_its_merge() {
    let town = World::open().await;
    let before = head(&town, "prod");
    request_production(&town).await;
    town.carol().types("/gantry lock prod the database moves").await;
    town.bob().clicks_in("releases", "Approve").await;
    let told = card(&town);
    assert!(
        told.contains(
            ":no_entry: *prod* is locked by <@U0CAROL>: the database moves. It goes on after `/gantry unlock prod`"
        ),
        "{told}"
    );
    assert_eq!(head(&town, "prod"), before);
    town.carol().types("/gantry unlock prod").await;
    assert!(card(&town).contains("running in *prod*"), "it goes on at once: {}", card(&town));
}

#[tokio::test]
async fn a_straight_merge_that_is_put_off_meets_the_rules_again() {
    let town = World::open().await;
    let before = head(&town, "qa");
    let limited = gantry::sim::github::RequestFault::Reply(429, "Too many", vec![("retry-after", "30".to_owned())]);
    town.sim.github.request_faults().inject(
        "POST",
        "/merges",
        gantry::sim::github::FaultTiming::BeforeEffect,
        limited,
        1,
    );
    town.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    town.wait_until_idle().await;
    town.bob().types_without_waiting("deploys", "/gantry lock qa wait for me").await;
    town.wait_until_idle().await;
    town.settle().await;
    let card = town.public_messages("deploys").into_iter().find(|told| told.contains("asked by")).unwrap();
    assert!(card.contains("waiting for what the rules ask for") && card.contains("wait for me"), "{card}");
    assert_eq!(head(&town, "qa"), before);
    town.bob().types("/gantry unlock qa").await;
    assert_ne!(head(&town, "qa"), before);
}

#[tokio::test]
async fn a_version_must_have_run_well_below_for_the_soak() {
    let town = World::with_config(|yaml| yaml.replace("soak: 5s", "soak: 30m")).await;
    promote_newer_to_staging(&town).await;
    town.alice().types("/promote checkout prod").await;
    let runs = town.running_tag("checkout", "staging");
    // When exactly it began to run is a matter of a second.
    let told = town.alice().reads().replace(&runs, "<runs>");
    let (before, behind) = told.split_once("<!date^").expect("a moment");
    let (_, behind) = behind.split_once('>').expect("its end");
    assert_snapshot!(format!("{before}<then>{behind}"), @"
    *checkout* `<runs>` has not run well in *staging* for 30m yet, as *prod* asks for.
    Next: type it again at <then>, if nothing interrupts it, or pass it with `--override reason` where you may.
    ");
    assert_eq!(pull(&town), None);
    town.wait(SignedDuration::from_mins(31)).await;
    town.alice().types("/promote checkout prod").await;
    assert!(
        crate::harness::world::has_button(&town.last_message("alice", "deploys"), "Confirm"),
        "{}",
        town.alice().reads()
    );
}

#[tokio::test]
async fn an_interruption_begins_the_soak_anew() {
    let town = World::with_config(|yaml| yaml.replace("soak: 5s", "soak: 30m")).await;
    town.wait(SignedDuration::from_mins(40)).await;
    let workload = "deployment/checkout".parse().unwrap();
    let image = town.sim.cluster.state("staging", &workload).image.unwrap();
    town.sim.cluster.remove("staging", &workload);
    town.settle().await;
    town.sim.cluster.set_running("staging", &workload, "checkout", &image, 2);
    town.settle().await;
    town.alice().types("/promote checkout prod").await;
    assert!(town.alice().reads().contains("has not run well in *staging* for 30m yet"), "{}", town.alice().reads());
    town.wait(SignedDuration::from_mins(31)).await;
    town.alice().types("/promote checkout prod").await;
    assert!(
        crate::harness::world::has_button(&town.last_message("alice", "deploys"), "Confirm"),
        "{}",
        town.alice().reads()
    );
}

#[tokio::test]
async fn only_overriders_override_and_everybody_sees_it() {
    let yaml = |yaml: String| {
        let yaml = yaml.replace("soak: 5s", "soak: 12h");
        with_environment_line("prod", "freezes: [{ from: \"Mon 08:00\", to: \"Mon 18:00\", reason: inventory }]")(yaml)
    };
    let town = World::with_config(yaml).await;
    promote_newer_to_staging(&town).await;
    let staging = head(&town, "staging");
    town.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    town.carol().types("/gantry lock prod the database moves").await;

    town.alice().types("/promote checkout prod --override \"people cannot pay\"").await;
    assert_snapshot!(town.alice().reads(), @"
    You may not override anything in *prod*.
    Next: ask @release-managers to do it.
    ");

    town.bob().types("/promote checkout prod --override \"people cannot pay\"").await;
    let question = town.bob().reads();
    let line = question.lines().find(|line| line.contains("overrides")).unwrap_or_else(|| panic!("{question}"));
    assert_snapshot!(line, @":rotating_light: <@U0BOB> overrides the lock of <@U0CAROL>, the freeze, the soak, the checks: people cannot pay");
    assert_eq!(pull(&town), None, "asked before anything is done");
    town.bob().clicks_in("deploys", "Confirm").await;
    assert!(
        card(&town)
            .contains("<@U0BOB> overrides the lock of <@U0CAROL>, the freeze, the soak, the checks: people cannot pay"),
        "{}",
        card(&town)
    );
    let loud = town
        .public_messages("releases")
        .into_iter()
        .find(|told| told.starts_with(":rotating_light:"))
        .expect("told in the channel");
    assert!(loud.contains("people cannot pay") && loud.contains("to *prod*"), "{loud}");
    let all = town.bot.store.list_ledger_entries(&gantry::adapters::store::LedgerFilter::default(), 100).await.unwrap();
    let entry =
        all.iter().find(|entry| entry.kind == gantry::adapters::store::LedgerKind::Overridden).expect("in the ledger");
    let Some(gantry::adapters::store::LedgerDetails::Overridden(overridden)) = &entry.details else {
        panic!("{entry:?}")
    };
    assert_eq!(overridden.reason, "people cannot pay");

    assert!(card(&town).contains("0 of 1 approval"), "never the approvals: {}", card(&town));
    let frozen = pull(&town).unwrap().head_sha;
    town.sim.github.set_check(REPOSITORY, &frozen, "build", "failure").unwrap();
    town.settle().await;
    assert!(!card(&town).contains("checks are red"), "those of the frozen branch as well: {}", card(&town));
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("running in *prod*"), "{}", card(&town));
}

#[tokio::test]
async fn a_lock_that_comes_after_the_override_holds() {
    let town = World::open().await;
    let before = head(&town, "prod");
    town.carol().types("/gantry lock prod the database moves").await;
    town.bob().types("/promote checkout prod --override it must go").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    town.carol().types("/gantry unlock prod").await;
    town.alice().types("/gantry lock prod now really").await;
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("*prod* is locked by <@U0ALICE>: now really"), "{}", card(&town));
    assert_eq!(head(&town, "prod"), before);
}

#[tokio::test]
async fn what_is_to_be_overridden_is_asked_again_where_it_became_more() {
    let town = World::open().await;
    town.carol().types("/gantry lock prod the database moves").await;
    town.bob().types("/promote checkout prod --override it must go").await;
    let staging = head(&town, "staging");
    town.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    town.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(pull(&town), None);
    let told = town.ephemeral_messages("bob", "deploys");
    assert!(told.iter().any(|told| told.contains("the lock of <@U0CAROL>, the checks: it must go")), "{told:#?}");
    town.bob().clicks_in("deploys", "Confirm").await;
    assert!(pull(&town).is_some());
}

#[tokio::test]
async fn an_override_needs_a_reason_and_somebody_who_may() {
    let nobody = |yaml: String| yaml.replace("    overriders: [\"@release-managers\"]\n", "");
    let town = World::with_config(nobody).await;
    let ack = town.alice().types("/promote checkout prod --override").await;
    assert!(ack.starts_with("`promote` needs a reason."), "{ack}");
    town.bob().types("/promote checkout prod --override because").await;
    assert_snapshot!(town.bob().reads(), @"
    You may not override anything in *prod*: nobody may.
    Next: name them under `overriders` in my configuration, or wait.
    ");
}

#[tokio::test]
async fn only_promoters_promote() {
    let town = World::with_config(with_environment_line("prod", "promoters: [\"@release-managers\"]")).await;
    town.alice().types("/promote checkout prod").await;
    assert_snapshot!(town.alice().reads(), @"
    You may not promote to *prod*.
    Next: ask @release-managers to do it.
    ");
    town.bob().types("/promote checkout prod").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    // Who was taken out of the group since has lost the right when it would take effect.
    town.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    town.wait(SignedDuration::from_secs(61)).await;
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("<@U0BOB> may not promote to *prod* any more"), "{}", card(&town));
    assert_ne!(pull(&town).unwrap().state, "merged");
}

#[tokio::test]
async fn promoters_can_be_people_by_their_id_or_name() {
    for who in ["U0BOB", "\"@bob\""] {
        let town = World::with_config(|yaml| {
            yaml.replace("  - name: prod\n", &format!("  - name: prod\n    promoters: [{who}]\n"))
        })
        .await;
        town.alice().types("/promote checkout prod").await;
        assert!(town.alice().reads().starts_with("You may not promote to *prod*."), "{who}: {}", town.alice().reads());
        town.bob().types("/promote checkout prod").await;
        town.bob().clicks_in("deploys", "Confirm").await;
        assert!(pull(&town).is_some(), "{who}");
    }
}

#[tokio::test]
async fn promoters_can_be_a_team_of_github() {
    let yaml = with_environment_line("prod", "promoters: [\"github:acme/release\"]");
    let town = World::with_setup(|sim| sim.github.add_team("acme", "release", &["bob"]), yaml).await;
    town.alice().types("/promote checkout prod").await;
    assert!(town.alice().reads().starts_with("You may not promote to *prod*."), "{}", town.alice().reads());
    assert!(town.alice().reads().contains("the GitHub team `acme/release`"), "{}", town.alice().reads());
    town.bob().types("/promote checkout prod").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    assert!(pull(&town).is_some());
}

#[tokio::test]
async fn an_environment_with_rules_stays_shut_while_slack_cannot_tell() {
    let town = World::with_config(with_environment_line("prod", "promoters: [\"@release-managers\"]")).await;
    town.bob().types("/list checkout").await;
    let before = head(&town, "prod");
    // Of the answers that are needed only the groups are missing: everything else is remembered.
    town.sim.faults.arm(gantry::sim::faults::Fault::SlackDown, 40, None, None);
    town.bob().types("/promote checkout prod").await;
    let told = town.ephemeral_messages("bob", "deploys").pop().unwrap();
    assert_snapshot!(told, @"
    Nothing was done: Slack cannot tell me who is in @release-managers right now.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
    assert_eq!((head(&town, "prod"), pull(&town)), (before, None));
}

#[tokio::test]
async fn whoever_lost_the_right_to_override_overrides_nothing() {
    let town = World::open().await;
    let before = head(&town, "prod");
    town.carol().types("/gantry lock prod the database moves").await;
    town.bob().types("/promote checkout prod --override it must go").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    town.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    town.wait(SignedDuration::from_secs(61)).await;
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("*prod* is locked by <@U0CAROL>: the database moves"), "{}", card(&town));
    assert_eq!(head(&town, "prod"), before);
}

#[tokio::test]
async fn checks_that_were_overridden_do_not_hold_the_pull_request_either() {
    let town = World::open().await;
    let staging = head(&town, "staging");
    town.sim.github.set_check(REPOSITORY, &staging, "build", "failure").unwrap();
    town.bob().types("/promote checkout prod --override people cannot pay").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    let frozen = pull(&town).unwrap().head_sha;
    town.sim.github.set_check(REPOSITORY, &frozen, "build", "failure").unwrap();
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("running in *prod*"), "{}", card(&town));
}

#[tokio::test]
async fn an_override_is_shown_and_recorded_after_an_error_too() {
    let town = World::open().await;
    request_production(&town).await;
    let refused = RequestFault::Reply(422, "Validation Failed", vec![]);
    town.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, refused, 1);
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("could not be merged"), "{}", card(&town));
    town.carol().types("/gantry lock prod the database moves").await;
    town.bob().types("/promote checkout prod --override it must go").await;
    assert!(town.bob().reads().contains("overrides the lock of <@U0CAROL>: it must go"), "{}", town.bob().reads());
    town.bob().clicks_in("deploys", "Confirm").await;
    assert!(card(&town).contains("overrides the lock of <@U0CAROL>: it must go"), "{}", card(&town));
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("running in *prod*"), "{}", card(&town));
}

#[tokio::test]
async fn an_override_ends_with_the_error_that_it_led_to() {
    let yaml = |yaml: String| {
        with_environment_line(
            "prod",
            "freezes: [{ from: \"Mon 08:00\", to: \"Mon 10:00\" }, { from: \"Mon 11:00\", to: \"Mon 18:00\" }]",
        )(yaml)
        .replace("approval_timeout: 15m", "approval_timeout: 24h")
    };
    let town = World::with_config(yaml).await;
    let before = head(&town, "prod");
    town.bob().types("/promote checkout prod --override it must go").await;
    town.bob().clicks_in("deploys", "Confirm").await;
    let refused = RequestFault::Reply(422, "Validation Failed", vec![]);
    town.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, refused, 1);
    town.carol().clicks_in("releases", "Approve").await;
    town.clock.advance_to(at("2026-11-16T10:30:00Z"));
    town.alice().clicks_in("releases", "Promote").await;
    if crate::harness::world::has_button(&town.last_message("alice", "releases"), "Confirm") {
        town.alice().clicks_in("releases", "Confirm").await;
    }
    town.clock.advance_to(at("2026-11-16T11:30:00Z"));
    town.carol().clicks_in("releases", "Approve").await;
    assert!(card(&town).contains("*prod* is frozen until"), "{}", card(&town));
    assert_eq!(head(&town, "prod"), before);
}

#[tokio::test]
async fn a_lock_that_comes_between_two_tries_of_a_merge_holds() {
    let town = World::open().await;
    let before = head(&town, "qa");
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    town.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, down, 1);
    town.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    town.wait_until_idle().await;
    town.carol().types_without_waiting("deploys", "/gantry lock qa not now").await;
    town.wait_until_idle().await;
    town.settle().await;
    let told = town.public_messages("deploys");
    assert!(told.iter().any(|told| told.contains("*qa* is locked by <@U0CAROL>: not now")), "{told:#?}");
    assert_eq!(head(&town, "qa"), before);
}

#[tokio::test]
async fn what_waits_where_nobody_approves_gives_way_as_well() {
    let town = World::with_config(with_environment_line("qa", "promoters: [\"@release-managers\"]")).await;
    let limited = RequestFault::Reply(429, "Too many", vec![("retry-after", "90".to_owned())]);
    town.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, limited, 1);
    town.bob().types_without_waiting("deploys", "/promote checkout qa").await;
    town.wait_until_idle().await;
    town.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    town.wait(SignedDuration::from_secs(61)).await;
    let waits = |told: &String| told.contains("<@U0BOB> may not promote to *qa* any more");
    assert!(town.public_messages("deploys").iter().any(waits), "{:#?}", town.public_messages("deploys"));
    town.push("checkout", "Newer");
    town.settle().await;
    town.carol().types("/promote checkout qa").await;
    assert!(town.carol().reads().contains("This takes the place of"), "{}", town.carol().reads());
    town.carol().clicks_in("deploys", "Confirm").await;
    let runs = |told: &String| told.contains("running in *qa*");
    assert!(town.public_messages("deploys").iter().any(runs), "{:#?}", town.public_messages("deploys"));
}
