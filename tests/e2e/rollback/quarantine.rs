//! The effects of a rollback: the version is quarantined, the artefact is on hold, and the authors are notified.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::production;
use crate::harness::rollback::{card, head, redact_commits, tree};
use crate::harness::world::{World, has_button};

/// Promotes checkout to qa and rolls it back. Returns the bad version's commit on qa.
async fn promote_and_roll_back(world: &World) -> Sha {
    world.alice().types("/promote checkout qa").await;
    let bad = head(world, "qa");
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    bad
}

fn is_asked_to_confirm(world: &World, person: &str) -> bool {
    has_button(&world.last_message(person, "deploys"), "Confirm")
}

#[tokio::test]
async fn a_quarantined_version_may_not_be_promoted_further_up() {
    let world = World::open().await;
    let bad = promote_and_roll_back(&world).await;
    let before = head(&world, "staging");
    world.carol().types(&format!("/promote checkout staging @qa-{}", bad.short())).await;
    assert_snapshot!(redact_commits(&world, &world.carol().reads(), &[(&bad, "bad")]), @"
    *checkout* `qa-<bad>` may not come back to *staging*: <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.
    [Release]
    Next: promote what repairs it; or, if it was not to blame, `/gantry release checkout qa-<bad>`, or pass it with `--override reason` where you may.
    ");
    assert_eq!(head(&world, "staging"), before);
}

#[tokio::test]
async fn a_quarantine_does_not_apply_to_environments_below() {
    let world = World::open().await;
    let pinned = head(&world, "staging");
    world.alice().types("/promote checkout staging").await;
    let bad = head(&world, "staging");
    world.bob().types("/rollback checkout staging").await;
    assert_eq!(tree(&world, &head(&world, "staging")), tree(&world, &pinned));
    assert_ne!(head(&world, "staging"), bad);
    world.alice().types("/promote checkout qa").await;
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_quarantine_applies_to_the_same_code_on_another_commit() {
    let world = World::open().await;
    promote_and_roll_back(&world).await;
    let before = head(&world, "qa");
    let bad = world.sim.github.read_file("acme/checkout", &head(&world, "develop"), "src/checkout.txt").unwrap();
    world.push("checkout", "Something else");
    let put_back = BTreeMap::from([("src/checkout.txt".to_owned(), Some(bad))]);
    world.sim.push("checkout", "develop", "No, not that", put_back, "carol").unwrap();
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    assert!(
        world.alice().reads().contains("may not come back to *qa*: <@U0BOB> rolled it back in *qa*"),
        "{}",
        world.alice().reads()
    );
    assert_eq!(head(&world, "qa"), before);
}

#[tokio::test]
async fn only_an_overrider_may_override_a_quarantine_and_the_card_shows_it() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().clicks_in("releases", "Approve").await;
    let bad = head(&world, "prod");
    world.bob().types("/rollback checkout prod --reason people cannot pay").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    world.alice().types("/promote checkout prod").await;
    assert!(world.alice().reads().contains("may not come back to *prod*"), "{}", world.alice().reads());
    world.alice().types("/promote checkout prod --override it was the network").await;
    assert!(world.alice().reads().starts_with("You may not override anything in *prod*."), "{}", world.alice().reads());

    world.bob().types("/promote checkout prod --override it was the network").await;
    let plan = world.bob().reads();
    assert!(plan.contains(":rotating_light: <@U0BOB> overrides the quarantine: it was the network"), "{plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert!(
        card(&world, "releases").contains("<@U0BOB> overrides the quarantine: it was the network"),
        "{}",
        card(&world, "releases")
    );
    world.carol().clicks_in("releases", "Approve").await;
    assert_eq!(tree(&world, &head(&world, "prod")), tree(&world, &bad), "{}", card(&world, "releases"));
    assert!(card(&world, "releases").contains("running in *prod*"), "{}", card(&world, "releases"));
}

#[tokio::test]
async fn only_promoters_may_release_a_version_and_only_once() {
    let world = World::with_config(|yaml| {
        yaml.replace("  - name: qa\n", "  - name: qa\n    promoters: [\"@release-managers\"]\n")
    })
    .await;
    world.bob().types("/promote checkout qa").await;
    let bad = head(&world, "qa");
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let message_count = world.public_messages("deploys").len();

    let release = format!("/gantry release checkout qa-{}", bad.short());
    world.alice().types(&release).await;
    assert_snapshot!(world.alice().reads(), @"
    You may not release anything for *qa*.
    Next: ask @release-managers to do it.
    ");
    assert_eq!(world.public_messages("deploys").len(), message_count, "the channel gets no message");
    world.carol().types("/gantry release checkout 1.4").await;
    assert_snapshot!(redact_commits(&world, &world.carol().reads(), &[(&bad, "bad")]), @"
    There is nothing to release: *checkout* `1.4` is not quarantined.
    These are: `qa-<bad>` in qa
    ");
    world.carol().types(&release).await;
    let answer = world.ephemeral_messages("carol", "deploys").pop().unwrap();
    assert_snapshot!(redact_commits(&world, &answer, &[(&bad, "bad")]), @"
    Released: *checkout* `qa-<bad>` may come back to *qa* and above.
    Next: `/promote checkout qa`
    ");
    let announced = world.public_messages("deploys").pop().unwrap();
    assert!(announced.starts_with(":unlock: <@U0CAROL> released *checkout*"), "{announced}");
    world.carol().types(&release).await;
    let answer = world.ephemeral_messages("carol", "deploys").pop().unwrap();
    assert_snapshot!(redact_commits(&world, &answer, &[(&bad, "bad")]), @"
    There is nothing to release: *checkout* `qa-<bad>` is not quarantined.
    No version of it is.
    ");
    assert_eq!(world.public_messages("deploys").len(), message_count + 1);
}

#[tokio::test]
async fn a_version_can_be_released_by_any_of_its_names() {
    for case in ["its commit there", "the beginning of it", "what it was merged from"] {
        let world = World::open().await;
        let pinned = head(&world, "develop");
        let bad = promote_and_roll_back(&world).await;
        let name = match case {
            "its commit there" => bad.as_str().to_owned(),
            "the beginning of it" => bad.as_str()[..9].to_owned(),
            _ => pinned.short().to_owned(),
        };
        world.bob().types(&format!("/gantry release checkout {name}")).await;
        world.bob().types("/promote checkout qa").await;
        assert!(is_asked_to_confirm(&world, "bob"), "{case}: {}", world.bob().reads());
    }
}

#[tokio::test]
async fn a_waiting_change_is_not_merged_if_its_version_is_rolled_back_below_until_the_release() {
    let world = World::open().await;
    let before = head(&world, "prod");
    production::request_production(&world).await;
    let bad = head(&world, "staging");
    world.bob().types("/rollback checkout staging --reason totals are wrong").await;
    world.carol().clicks_in("releases", "Approve").await;
    let waiting = production::card(&world);
    let line = waiting.lines().find(|line| line.contains("totals are wrong")).unwrap_or_else(|| panic!("{waiting}"));
    // GitHub may need a second or two to compute whether it can merge, so the time of the rollback varies.
    let (before_time, rest) = line.split_once(" <!date^").unwrap_or_else(|| panic!("{line}"));
    let (_, after_time) = rest.split_once('>').unwrap_or_else(|| panic!("{line}"));
    assert_eq!(before_time, ":no_entry: it is quarantined: <@U0BOB> rolled it back in *staging*");
    let release = format!("/gantry release checkout staging-{}", bad.short());
    assert_eq!(after_time, format!(": totals are wrong. It goes on after `{release}`"));
    assert!(waiting.contains("1 of 1 approval"), "{waiting}");
    assert_eq!(head(&world, "prod"), before);

    world.bob().types(&format!("/gantry release checkout staging-{}", bad.short())).await;
    world.wait(SignedDuration::from_secs(61)).await;
    assert!(production::card(&world).contains("running in *prod*"), "{}", production::card(&world));
    assert_eq!(tree(&world, &head(&world, "prod")), tree(&world, &bad));
}

#[tokio::test]
async fn the_next_promotion_after_a_rollback_must_be_confirmed_and_lifts_the_hold() {
    let world = World::open().await;
    promote_and_roll_back(&world).await;
    world.push("checkout", "Repair the totals");
    world.push("search", "Nothing to do with it");
    world.settle().await;
    let rolled_back = head(&world, "qa");

    world.carol().types("/promote search qa").await;
    assert!(
        !is_asked_to_confirm(&world, "carol"),
        "the hold does not apply to another artefact: {}",
        world.carol().reads()
    );

    world.alice().types("/promote checkout qa").await;
    let plan = world.alice().reads();
    let line = plan.lines().find(|line| line.contains("on hold")).unwrap_or_else(|| panic!("{plan}"));
    let bad = line.split('`').nth(1).unwrap();
    assert_snapshot!(line.replace(bad, "<bad>"), @":warning: *qa* is on hold: <@U0BOB> rolled `<bad>` back <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong. Your yes lifts the hold");
    assert_eq!(head(&world, "qa"), rolled_back);
    // Cancelling the plan leaves the hold in place.
    world.alice().clicks_in("deploys", "Cancel").await;
    world.alice().types("/promote checkout qa").await;
    assert!(is_asked_to_confirm(&world, "alice"), "{}", world.alice().reads());
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &head(&world, "develop")));

    world.push("checkout", "And one more");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    assert_eq!(
        tree(&world, &head(&world, "qa")),
        tree(&world, &head(&world, "develop")),
        "the next promotion needs no confirmation"
    );
}

#[tokio::test]
async fn a_rollback_to_a_quarantined_version_is_refused_until_its_release() {
    let world = World::open().await;
    let bad = promote_and_roll_back(&world).await;
    let before = head(&world, "qa");
    world.carol().types(&format!("/rollback checkout qa qa-{}", bad.short())).await;
    assert_snapshot!(redact_commits(&world, &world.carol().reads(), &[(&bad, "bad")]), @"
    *checkout* `qa-<bad>` may not come back to *qa*: <@U0BOB> rolled it back in *qa* <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: totals are wrong.
    Next: choose another version; or, if it was not to blame, `/gantry release checkout qa-<bad>`.
    ");
    assert_eq!(head(&world, "qa"), before);
    world.carol().types(&format!("/gantry release checkout qa-{}", bad.short())).await;
    world.carol().types(&format!("/rollback checkout qa qa-{}", bad.short())).await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &bad), "{}", world.carol().reads());
}

#[tokio::test]
async fn a_rollback_is_refused_if_no_earlier_version_is_left() {
    let world = World::open().await;
    for _ in 0..2 {
        world.bob().types("/rollback checkout prod").await;
        world.bob().clicks_in("deploys", "Confirm").await;
    }
    let oldest = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    let answer = world.bob().reads();
    assert_snapshot!(redact_commits(&world, &answer, &[(&oldest, "oldest")]), @"
    I know of no version of *checkout* that ran in *prod* before `prod-<oldest>`, and that was not rolled back from.
    Next: repair it by a push and a promotion; or name a version that ran there: `/rollback checkout prod &lt;version&gt;`.
    ");
    assert_eq!(head(&world, "prod"), oldest);
}

#[tokio::test]
async fn authors_of_removed_commits_are_mentioned_once_if_they_are_in_slack() {
    let world = World::open().await;
    for (message, author) in [("One", "alice"), ("Two", "alice"), ("Three", "bob"), ("Four", "eve"), ("Five", "carol")]
    {
        world.sim.push("checkout", "develop", message, BTreeMap::new(), author).unwrap();
    }
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    let messages = world.sim.slack.messages("deploys", None);
    let notifications: Vec<_> = messages
        .iter()
        .filter(|message| crate::harness::world::render_message(message).contains("your commits"))
        .collect();
    assert_eq!(notifications.len(), 1, "{notifications:#?}");
    let text = crate::harness::world::render_message(notifications[0]);
    assert!(text.starts_with("<@U0CAROL> <@U0ALICE> your commits do not run in *qa* any more"), "{text}");
    let thread = messages
        .iter()
        .find(|message| Some(&message.id) == notifications[0].thread.as_ref())
        .expect("the first message of the thread");
    assert!(
        crate::harness::world::render_message(thread).contains("'s code, restored as"),
        "the thread is that of the rollback's card"
    );
    assert!(world.direct_messages("alice").is_empty() && world.direct_messages("carol").is_empty());
}
