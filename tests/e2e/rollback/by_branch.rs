//! `rollback` by branch: the messages that people see, and the state of Git and the cluster afterwards.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use insta::assert_snapshot;

use crate::harness::rollback::{REPOSITORY, card, head, parents, redact_commits, text, tree};
use crate::harness::world::{World, has_button, redact_origin_and_ids};

#[tokio::test]
async fn a_rollback_restores_the_code_that_ran_before_by_one_commit() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    let bad = head(&world, "qa");

    let ack = world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    assert_eq!(ack, "Looking at what ran before of *checkout* in *qa*...");

    let result = head(&world, "qa");
    assert_eq!(parents(&world, &result), std::slice::from_ref(&bad), "one forward commit");
    assert_eq!(text(&world, &result), text(&world, &good), "with the code that ran before");
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()), "and the cluster runs it");

    let messages = world.public_messages("deploys");
    let card = messages.iter().find(|card| card.contains("'s code")).expect("the card");
    assert_snapshot!(redact_commits(&world, card, &[(&result, "result"), (&bad, "bad")]), @"
    :large_green_circle: *checkout* `qa-6cff9ae`'s code, restored as `qa-<result>`: running in *qa*, 2 of 2 ready
    :white_check_mark: restored 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 5 s
    restored on `qa` as <http://world/sim/github/acme/checkout/commit/<result>|<result>> · tagged `qa/2026.11.16-2` · known by the image's tag
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Reason:* totals are wrong
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    Quarantined: `qa-<bad>` does not come back here or above before `/gantry release checkout qa-<bad>`. The next promotion asks once more.
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let lost = messages.iter().find(|message| message.contains("your commits")).expect("a notification of the authors");
    assert_snapshot!(redact_origin_and_ids(&world, lost), @"
    <@U0ALICE> your commits do not run in *qa* any more: *checkout* was rolled back to `qa-6cff9ae`. Reason: totals are wrong.
    Next: push a repair; once it runs below, `/promote checkout qa` brings your commits back together with it.
    ");
    let promoted = messages.iter().find(|card| card.contains("Rolled back")).expect("the card of the promotion");
    assert!(!promoted.contains("[Roll back]"), "{promoted}");
}

#[tokio::test]
async fn a_production_rollback_must_be_confirmed_and_its_card_goes_to_the_environments_channel() {
    let world = World::open().await;
    let before = head(&world, "prod");
    let good = parents(&world, &before)[0].clone();
    world.bob().types("/rollback checkout prod --reason <!channel> people cannot pay").await;
    let plan = world.bob().reads();
    assert_snapshot!(redact_commits(&world, &plan, &[(&good, "good"), (&before, "bad")]), @"
    :leftwards_arrow_with_hook: Roll *checkout* back to `prod-<good>` in *prod*, by a commit on `prod`
    `prod-<bad>` → `prod-<good>`, commit `<good>` · <http://world/sim/github/acme/checkout/compare/<good>...<bad>|compare>
    I saw it run well there from <!date^1794664800^{date_short_pretty} {time}|2026-11-14 14:00 UTC> to <!date^1794751200^{date_short_pretty} {time}|2026-11-15 14:00 UTC>, for 24 h
    *Reason:* &lt;!channel&gt; people cannot pay
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/checkout/commit/c3353102330f55a1e65b8c4cd7d632caabf3f8cd|c335310> Show delivery costs before payment · Carol Castro
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(
        (head(&world, "prod"), world.public_messages("releases").len()),
        (before.clone(), 0),
        "nothing is done before the confirmation"
    );

    world.bob().clicks_in("deploys", "Confirm").await;
    let result = head(&world, "prod");
    assert_eq!(parents(&world, &result), std::slice::from_ref(&before));
    assert_eq!(tree(&world, &result), tree(&world, &good));
    assert!(world.running_tag("checkout", "prod").ends_with(result.short()));
    assert!(world.sim.github.pulls(REPOSITORY).is_empty(), "by a commit, without a pull request or an approval");
    assert!(card(&world, "releases").contains(": running in *prod*, 3 of 3 ready"), "{}", card(&world, "releases"));
    assert!(
        !world.public_messages("deploys").iter().any(|message| message.contains("asked by")),
        "{:#?}",
        world.public_messages("deploys")
    );
    let answer = world.bob().reads();
    assert!(answer.contains("follow it here") && !answer.contains("[Confirm]"), "{answer}");
}

#[tokio::test]
async fn a_rollback_plan_can_be_cancelled() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.bob().types("/rollback checkout prod").await;
    world.bob().clicks_in("deploys", "Cancel").await;
    assert!(world.bob().reads().starts_with("Cancelled: nothing was done."), "{}", world.bob().reads());
    assert_eq!((head(&world, "prod"), world.public_messages("releases").len()), (before, 0));
}

#[tokio::test]
async fn the_card_lists_the_removed_commits_with_authors_and_pull_requests() {
    let world = World::open().await;
    world.push("checkout", "Pay by card (#42)");
    world.sim.push("checkout", "develop", "Pay by <b>cheque</b>", BTreeMap::new(), "carol").unwrap();
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    let card = card(&world, "deploys");
    assert!(card.contains("*Lost by it:* 3 commits:"), "{card}");
    assert!(card.contains("/pull/42|#42>") && card.contains("Pay by card"), "{card}");
    assert!(card.contains("Pay by &lt;b&gt;cheque&lt;/b&gt; \u{b7} Carol Castro"), "{card}");
    assert!(!card.contains("*Reason:*"), "{card}");
}

#[tokio::test]
async fn a_rollback_that_moves_other_artefacts_of_the_repository_must_be_confirmed() {
    let world = World::open().await;
    let good = world.sim.github.head("acme/shop", "qa").unwrap();
    let file = |path: &str| BTreeMap::from([(path.to_owned(), Some("new".to_owned()))]);
    world.sim.push("storefront", "develop", "Paint it blue", file("lib/colour"), "alice").unwrap();
    world.settle().await;
    world.alice().types("/promote storefront qa").await;
    world.alice().clicks("Confirm").await;
    let bad = world.sim.github.head("acme/shop", "qa").unwrap();
    let bad_tag = world.running_tag("storefront", "qa");

    world.bob().types("/rollback storefront qa").await;
    let plan = world.bob().reads();
    assert!(plan.contains("[Confirm] [Another version] [Cancel]"), "{plan}");
    assert!(plan.contains("Moves as well, as it is in the same repository: *mailer*"), "{plan}");
    assert_eq!(world.sim.github.head("acme/shop", "qa").unwrap(), bad);

    world.bob().clicks_in("deploys", "Confirm").await;
    let result = world.sim.github.head("acme/shop", "qa").unwrap();
    let files = |commit: &Sha| world.sim.github.files("acme/shop", commit).unwrap();
    assert_eq!(files(&result), files(&good));
    assert_ne!(world.running_tag("storefront", "qa"), bad_tag);
    let card = card(&world, "deploys");
    assert_snapshot!(redact_commits(&world, &card, &[(&result, "result"), (&bad, "bad")]), @"
    :large_green_circle: *storefront* `qa-58c6a35`'s code, restored as `qa-<result>`: running in *qa*, 2 of 2 ready
    :white_check_mark: restored 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 5 s
    restored on `qa` as <http://world/sim/github/acme/shop/commit/<result>|<result>> · tagged `qa/2026.11.16-2` · known by the image's tag
    :small_blue_diamond: *mailer* `build-11` runs, 4 of 4 ready
    `qa-<bad>` → `qa-58c6a35`, commit `58c6a35` · <http://world/sim/github/acme/shop/compare/58c6a35c450e66a817309588ef113328953314a9...<bad>|compare>
    I saw it run well there from <!date^1794398400^{date_short_pretty} {time}|2026-11-11 12:00 UTC> to <!date^1794819607^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 4 d
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/shop/commit/93a8acb014a12ebb17866d458363d48bb3aa2199|93a8acb> Paint it blue · Alice Adler
    :twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer*
    Quarantined: `qa-<bad>` does not come back here or above before `/gantry release storefront qa-<bad>`. The next promotion asks once more.
    asked by <@U0BOB> · <!date^1794819610^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
}

#[tokio::test]
async fn the_first_environment_cannot_be_rolled_back() {
    let world = World::open().await;
    let before = head(&world, "develop");
    world.bob().types("/rollback checkout development").await;
    assert_snapshot!(world.bob().reads(), @"
    *development* is never rolled back: it is fed by pushes, and the next push would bring it all back.
    Next: repair it by a push to `develop`, for example of a `git revert`.
    ");
    assert_eq!(head(&world, "develop"), before);
}

#[tokio::test]
async fn rollback_without_an_environment_offers_buttons_that_keep_the_version_and_the_reason() {
    let world = World::open().await;
    let older = parents(&world, &parents(&world, &head(&world, "qa"))[0])[0].clone();
    let ack = world.bob().types(&format!("/rollback checkout @qa-{} --reason it burns <!here>", older.short())).await;
    assert_eq!(ack, "Looking at what ran before of *checkout*...");
    assert_snapshot!(redact_origin_and_ids(&world, &world.bob().reads()), @"
    In which environment is *checkout* to be rolled back?
    [qa] [staging] [prod]
    Or type it: `/rollback checkout qa`
    ");
    world.bob().clicks_in("deploys", "qa").await;
    let result = head(&world, "qa");
    assert_eq!(tree(&world, &result), tree(&world, &older));
    let card = card(&world, "deploys");
    assert!(card.contains("*Reason:* it burns &lt;!here&gt;"), "{card}");
    assert!(card.contains(&format!("`qa-{}`'s code", older.short())), "{card}");
}

#[tokio::test]
async fn the_roll_back_button_of_a_card_rolls_its_promotion_back() {
    let world = World::open().await;
    let good = head(&world, "qa");
    world.alice().types("/promote checkout qa").await;
    world.bob().clicks_in("deploys", "Roll back").await;
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good));
    assert!(card(&world, "deploys").contains("asked by <@U0BOB>"), "{}", card(&world, "deploys"));
    let messages = world.sim.slack.messages("deploys", Some("bob"));
    assert!(!messages.iter().any(|message| has_button(message, "Roll back")), "{messages:#?}");
}

#[tokio::test]
async fn the_roll_back_button_of_a_card_must_be_confirmed_in_production() {
    let world = World::open().await;
    let good = head(&world, "prod");
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    world.bob().clicks_in("releases", "Approve").await;
    let bad = head(&world, "prod");
    world.carol().clicks_in("releases", "Roll back").await;
    let plan = world.ephemeral_messages("carol", "releases").pop().expect("a plan");
    assert!(plan.contains("[Confirm] [Another version] [Cancel]"), "{plan}");
    assert_eq!(head(&world, "prod"), bad);
    world.carol().clicks_in("releases", "Confirm").await;
    assert_eq!(tree(&world, &head(&world, "prod")), tree(&world, &good));
}

#[tokio::test]
async fn another_version_that_ran_well_can_be_chosen_for_a_rollback() {
    let world = World::open().await;
    let bad = head(&world, "prod");
    let oldest = parents(&world, &parents(&world, &bad)[0])[0].clone();
    world.bob().types("/rollback checkout prod --reason it burns").await;
    world.bob().clicks_in("deploys", "Another version").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.bob().reads()), @"
    Versions of *checkout* in *prod* that ran well:
    • `prod-585116d` from <!date^1794664800^{date_short_pretty} {time}|2026-11-14 14:00 UTC>, for 24 h
    • `prod-1555c48` from <!date^1794578400^{date_short_pretty} {time}|2026-11-13 14:00 UTC>, for 24 h
    [prod-585116d] [prod-1555c48]
    A button rolls back to that version; in production you are asked once more.
    ");
    world.bob().clicks_in("deploys", &format!("prod-{}", oldest.short())).await;
    let plan = world.bob().reads();
    assert!(plan.contains(&format!("back to `prod-{}` in *prod*", oldest.short())), "{plan}");
    assert!(plan.contains("*Reason:* it burns"), "the reason is kept: {plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    let result = head(&world, "prod");
    assert_eq!((tree(&world, &result), parents(&world, &result)), (tree(&world, &oldest), vec![bad]));
    assert!(card(&world, "releases").contains(": running in *prod*"), "{}", card(&world, "releases"));
}

#[tokio::test]
async fn a_missing_old_image_is_only_a_warning_in_a_rollback_by_branch() {
    let world = World::open().await;
    let (good, old) = (head(&world, "qa"), world.running_tag("checkout", "qa"));
    world.alice().types("/promote checkout qa").await;
    assert!(world.sim.registry.remove("ghcr.io/acme/checkout", &old));
    world.bob().types("/rollback checkout qa").await;
    let card = card(&world, "deploys");
    assert!(card.contains(":warning: Its old image is not in the registry any more. That does no harm"), "{card}");
    assert!(card.contains(": running in *qa*"), "{card}");
    assert_eq!(tree(&world, &head(&world, "qa")), tree(&world, &good));
}
