//! `promote` by branch: the messages that people see, and the state of Git and the cluster afterwards.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::{World, redact_origin_and_ids, render_message};

fn head(world: &World, branch: &str) -> Sha {
    world.sim.github.head("acme/checkout", branch).expect("a branch")
}

fn parents(world: &World, repository: &str, child: &Sha) -> Vec<Sha> {
    let graph = world.sim.github.graph(repository, 100);
    graph.into_iter().find(|commit| commit.sha == *child).expect("a commit").parents
}

#[tokio::test]
async fn a_promotion_merges_and_tags_and_turns_green_when_the_version_runs() {
    let world = World::open().await;
    let (pinned, before) = (head(&world, "develop"), head(&world, "qa"));

    let ack = world.alice().types("/promote checkout qa").await;
    assert_eq!(ack, "Looking at *checkout* for *qa*...");

    let result = head(&world, "qa");
    assert_eq!(parents(&world, "acme/checkout", &result), [before, pinned]);
    assert_eq!(world.sim.github.tags("acme/checkout").get("qa/2026.11.16-1"), Some(&result));
    assert!(world.running_tag("checkout", "qa").ends_with(result.short()));

    let texts = world.public_messages("deploys");
    assert_eq!(texts.len(), 2, "one card, and one message in its thread: {texts:#?}");
    let card = texts[0].replace(result.as_str(), "<result>").replace(result.short(), "<short>");
    assert_snapshot!(redact_origin_and_ids(&world, &card), @"
    :large_green_circle: *checkout* `develop-d6c66c2`: running in *qa*, 2 of 2 ready
    :white_check_mark: merged 0 s  ›  :white_check_mark: built 2 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 5 s
    merged into `qa` as <http://world/sim/github/acme/checkout/commit/<result>|<short>> · tagged `qa/2026.11.16-1` · known by the image's tag
    `qa-6cff9ae` → `develop-d6c66c2`, commit `d6c66c2` as it runs in development · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare>
    runs well in development since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    1 file, +1 −0
    Next: `/promote checkout staging`
    [Roll back]
    asked by <@U0ALICE> · <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    assert_snapshot!(redact_origin_and_ids(&world, &texts[1]), @"<@U0ALICE> *checkout* `develop-d6c66c2`: running in *qa*, 2 of 2 ready.");
    let mut messages = world.sim.slack.messages("deploys", None);
    messages.retain(|message| message.only_to.is_none());
    assert!(messages[0].thread.is_none() && messages[1].thread.as_ref() == Some(&messages[0].id));
    assert!(messages[0].edited > 0, "the card was edited in place");
}

#[tokio::test]
async fn the_ledger_records_every_stage_of_a_change() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let all =
        world.bot.store.list_ledger_entries(&gantry::adapters::store::LedgerFilter::default(), 100).await.unwrap();
    let id = all.iter().find_map(|entry| entry.change.clone()).expect("a change");
    let entries: Vec<_> = all.iter().rev().filter(|entry| entry.change.as_ref() == Some(&id)).collect();
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["begun", "deploying", "deployed"]);
    let alice = gantry::domain::model::actor::Actor::Person(gantry::domain::model::actor::PersonId::new("U0ALICE"));
    assert_eq!(entries[0].actor, Some(alice));
}

#[tokio::test]
async fn the_card_shows_each_step_as_it_happens() {
    let world = World::open().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    let mut first_lines = Vec::new();
    for _ in 0..40 {
        world.wait_until_idle().await;
        let card =
            world.public_messages("deploys").first().map(|card| card.lines().next().unwrap_or_default().to_owned());
        if let Some(card) = card.filter(|card| first_lines.last() != Some(card)) {
            first_lines.push(card);
        }
        world.clock.advance(SignedDuration::from_millis(500));
    }
    assert_snapshot!(first_lines.join("\n"), @"
    :hourglass_flowing_sand: *checkout* `develop-d6c66c2`: deploying to *qa*
    :hourglass_flowing_sand: *checkout* `develop-d6c66c2`: deploying to *qa*, 0 of 2 ready
    :large_green_circle: *checkout* `develop-d6c66c2`: running in *qa*, 2 of 2 ready
    ");
}

#[tokio::test]
async fn staging_gets_the_merge_commit_that_runs_in_qa() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let in_qa = head(&world, "qa");
    world.push("checkout", "Something newer");
    world.alice().types("/promote checkout staging").await;
    assert_eq!(parents(&world, "acme/checkout", &head(&world, "staging"))[1], in_qa);
    assert!(world.sim.github.tags("acme/checkout").contains_key("staging/2026.11.16-1"));
}

#[tokio::test]
async fn a_push_during_the_merge_is_not_promoted() {
    let world = World::open().await;
    let pinned = head(&world, "develop");
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    wait_until(|| world.sim.github.request_faults().requests().iter().any(|request| request.ends_with("/merges")))
        .await;
    wait_until(|| !world.public_messages("deploys").is_empty()).await;
    let card = &world.public_messages("deploys")[0];
    assert!(card.starts_with(":hourglass_flowing_sand: *checkout* `develop-d6c66c2`: merging into *qa*"), "{card}");
    let newer = world.push("checkout", "Too late for this one");
    world.sim.github.request_faults().resume();
    world.settle().await;
    let merged = parents(&world, "acme/checkout", &head(&world, "qa"));
    assert_eq!(merged[1], pinned);
    assert_ne!(merged[1].as_str(), newer);
}

#[tokio::test]
async fn promote_without_an_environment_takes_the_first_that_is_behind() {
    let world = World::open().await;
    world.alice().types("/promote checkout").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"));
    let answer = world.ephemeral_messages("alice", "deploys").pop().unwrap();
    assert_snapshot!(without_link(&answer), @"
    *qa* is the first environment behind the one below, so *checkout* goes there: <link|follow it here>.
    Also behind: `/promote checkout staging`, `/promote checkout prod`
    ");

    world.alice().types("/promote checkout").await;
    assert!(world.public_messages("deploys").iter().any(|card| card.contains("running in *staging*")));
}

fn without_link(text: &str) -> String {
    let (before, after) = text.split_once("<https://acme.slack.com/").expect("a link");
    format!("{before}<link{}", &after[after.find('|').unwrap()..])
}

#[tokio::test]
async fn a_request_in_another_channel_is_answered_with_a_link_to_the_card() {
    let world = World::open().await;
    world.alice().types_without_waiting("releases", "/promote checkout qa").await;
    world.settle().await;
    assert_eq!(world.public_messages("releases"), Vec::<String>::new(), "the card is in the environment's channel");
    let answer = world.ephemeral_messages("alice", "releases").pop().unwrap();
    assert_snapshot!(without_link(&answer), @"*checkout* is on its way to *qa*: <link|follow it here>.");
    let card = &world.sim.slack.messages("deploys", None)[0];
    assert!(answer.contains(&format!("C0DEPLOYS/p{}", card.id.replace('.', ""))), "{answer}");
}

#[tokio::test]
async fn an_older_version_that_ran_well_can_be_promoted_by_name() {
    let world = World::open().await;
    let older = world.running_tag("checkout", "development");
    world.push("checkout", "Not this one");
    world.settle().await;
    world.alice().types(&format!("/promote checkout qa @{older}")).await;
    let merged = parents(&world, "acme/checkout", &head(&world, "qa"));
    assert!(older.ends_with(merged[1].short()));
}

#[tokio::test]
async fn a_dry_run_shows_the_plan_and_does_nothing() {
    let world = World::open().await;
    let before = head(&world, "qa");
    world.alice().types("/promote checkout qa --dry-run").await;
    assert_eq!(head(&world, "qa"), before);
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    Promote *checkout* `develop-d6c66c2` to *qa*, by a merge into `qa` and a tag
    `qa-6cff9ae` → `develop-d6c66c2`, commit `d6c66c2` as it runs in development · <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare>
    runs well in development since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    1 file, +1 −0
    Nothing was done. To do it: `/promote checkout qa`
    ");
    assert!(world.alice().types("/gantry status").await.contains("Nothing is under way"));
}

#[tokio::test]
async fn the_plan_names_hotfixes_and_pull_requests() {
    let world = World::open().await;
    let file = |text: &str| BTreeMap::from([("hotfix.txt".to_owned(), Some(text.to_owned()))]);
    world.sim.push("checkout", "qa", "Stop the bleeding <!channel>", file("x"), "bob").unwrap();
    world.push("checkout", "Round totals (#42)");
    world.settle().await;
    world.alice().types("/promote checkout qa --dry-run").await;
    let seen = world.alice().reads();
    assert!(seen.contains("1 hotfix is only in `qa`: it stays there"), "{seen}");
    assert!(seen.contains("Stop the bleeding &lt;!channel&gt; · Bob Brandt"), "{seen}");
    assert!(seen.contains("/pull/42|#42>"), "{seen}");
}

#[tokio::test]
async fn a_long_list_of_commits_goes_to_the_thread_of_the_card() {
    let world = World::open().await;
    for number in 0..7 {
        world.push("checkout", &format!("Commit number {number}"));
    }
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let card = world
        .sim
        .slack
        .messages("deploys", None)
        .into_iter()
        .find(|message| render_message(message).contains("running in *qa*"));
    let card = card.expect("a card");
    assert!(
        render_message(&card).contains("8 commits:") && render_message(&card).contains("and 3 more"),
        "{}",
        render_message(&card)
    );
    let all = world.sim.slack.messages("deploys", None);
    let details = all.iter().find(|message| {
        message.thread.as_ref() == Some(&card.id) && render_message(message).contains("Commit number 0")
    });
    assert!(details.is_some());
}

#[tokio::test]
async fn a_first_deployment_to_an_environment_is_allowed() {
    let world = World::with_setup(
        |sim| sim.cluster.remove("qa", &"deployment/checkout".parse().unwrap()),
        |configuration| configuration,
    )
    .await;
    world.alice().types("/promote checkout qa").await;
    let card = &world.public_messages("deploys")[0];
    assert!(card.contains("running in *qa*") && card.contains("its first deployment there"), "{card}");
}

#[tokio::test]
async fn an_existing_git_tag_is_kept_and_the_next_number_is_used() {
    let world = World::open().await;
    let other = head(&world, "prod");
    for number in [1, 2] {
        world.sim.github.tag("acme/checkout", &format!("qa/2026.11.16-{number}"), &other, "by hand").unwrap();
    }
    world.alice().types("/promote checkout qa").await;
    let tags = world.sim.github.tags("acme/checkout");
    assert_eq!(tags.get("qa/2026.11.16-1"), Some(&other));
    assert_eq!(tags.get("qa/2026.11.16-3"), Some(&head(&world, "qa")));
}

#[tokio::test]
async fn git_tags_are_named_by_the_configured_template() {
    let world = World::with_config(|configuration| {
        configuration.replace("  - name: qa\n", "  - name: qa\n    tag: \"released/{artefact}/{environment}.{n}\"\n")
    })
    .await;
    world.alice().types("/promote checkout qa").await;
    assert!(world.sim.github.tags("acme/checkout").contains_key("released/checkout/qa.1"));
}

#[tokio::test]
async fn a_git_tag_that_fails_is_only_a_warning_on_the_card() {
    let world = World::open().await;
    world.sim.github.request_faults().inject(
        "POST",
        "/git/refs",
        FaultTiming::BeforeEffect,
        RequestFault::Reply(403, "Resource not accessible by integration", vec![]),
        9,
    );
    world.alice().types("/promote checkout qa").await;
    let card = &world.public_messages("deploys")[0];
    assert!(card.contains("running in *qa*"), "{card}");
    assert!(card.contains(":warning: not tagged: GitHub refuses us: Resource not accessible"), "{card}");
}

/// Polls the condition in real time.
async fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the condition was never met");
}

#[tokio::test]
async fn a_card_goes_to_the_requesters_channel_if_the_environments_channel_is_unwritable() {
    let world = World::with_config(|configuration| {
        configuration.replace("  - name: qa\n", "  - name: qa\n    channel: \"#nowhere\"\n")
    })
    .await;
    world.alice().types("/promote checkout qa").await;
    let card = &world.public_messages("deploys")[0];
    assert!(card.contains("This is here because I cannot write to #nowhere"), "{card}");
    assert!(card.contains("running in *qa*"), "{card}");
}

#[tokio::test]
async fn a_version_deployed_by_a_change_is_not_announced_as_an_arrival_but_a_hotfix_is() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    assert!(!world.public_messages("deploys").iter().any(|message| message.contains("runs in *qa*")));
    // A hotfix on qa's branch is an arrival.
    world.sim.push("checkout", "qa", "Straight into qa", BTreeMap::new(), "bob").unwrap();
    world.settle().await;
    assert!(
        world.public_messages("deploys").iter().any(|message| message.contains("runs in *qa*")),
        "{:#?}",
        world.public_messages("deploys")
    );
}

#[tokio::test]
async fn a_promotion_that_moves_other_artefacts_of_the_repository_must_be_confirmed() {
    let world = World::open().await;
    let file = |path: &str| BTreeMap::from([(path.to_owned(), Some("new".to_owned()))]);
    world.sim.push("storefront", "develop", "Paint it blue", file("storefront/colour"), "alice").unwrap();
    world.settle().await;
    let before = world.sim.github.head("acme/shop", "qa").unwrap();

    world.alice().types("/promote storefront qa").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    Promote *storefront* `develop-160abfe` to *qa*, by a merge into `qa` and a tag
    `qa-58c6a35` → `develop-160abfe`, commit `160abfe` as it runs in development · <http://world/sim/github/acme/shop/compare/58c6a35c450e66a817309588ef113328953314a9...160abfecfc12258da5166360c350e752aa5b060f|compare>
    runs well in development since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/shop/commit/160abfecfc12258da5166360c350e752aa5b060f|160abfe> Paint it blue · Alice Adler
    1 file, +1 −0
    :twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer* (only built anew)
    [Confirm] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(
        world.sim.github.head("acme/shop", "qa").unwrap(),
        before,
        "the branch does not move before the confirmation"
    );

    let plan = world.last_message("alice", "deploys").id;
    let click_by_bob = world.sim.slack.click("bob", "deploys", &plan, "Confirm").await;
    assert!(click_by_bob.is_err(), "only the requester sees the plan");

    world.alice().clicks("Confirm").await;
    let result = world.sim.github.head("acme/shop", "qa").unwrap();
    assert_eq!(parents(&world, "acme/shop", &result)[0], before);
    let cards = world.public_messages("deploys");
    let card = cards.iter().find(|card| card.contains("running in *qa*")).expect("a card");
    assert!(card.contains("*mailer* `build-") && card.contains("Moves as well"), "{card}");
    assert!(!cards.iter().any(|card| card.contains("*mailer*") && card.contains("runs in *qa*")), "{cards:#?}");
}

#[tokio::test]
async fn a_plan_can_be_cancelled_and_expires_after_30_minutes() {
    let world = World::open().await;
    let file = |path: &str| BTreeMap::from([(path.to_owned(), Some("new".to_owned()))]);
    world.sim.push("storefront", "develop", "Paint it blue", file("storefront/colour"), "alice").unwrap();
    world.settle().await;
    let before = world.sim.github.head("acme/shop", "qa").unwrap();
    world.alice().types("/promote storefront qa").await;
    world.alice().clicks("Cancel").await;
    assert_eq!(world.alice().reads(), "Cancelled: nothing was done.");

    world.alice().types("/promote storefront qa").await;
    world.wait(SignedDuration::from_mins(29)).await;
    let plan = world.last_message("alice", "deploys").id;
    world.wait(SignedDuration::from_mins(2)).await;
    world.sim.slack.click("alice", "deploys", &plan, "Confirm").await.unwrap();
    world.settle().await;
    assert!(world.alice().reads().contains("older than 30 minutes"), "{}", world.alice().reads());
    assert_eq!(world.sim.github.head("acme/shop", "qa").unwrap(), before);
}

#[tokio::test]
async fn a_mention_promotes_and_is_refused_like_a_command() {
    let world = World::open().await;
    let thread = world.bob().posts("deploys", None, "what about checkout?").await;
    world.alice().posts("deploys", Some(&thread), "@gantry promote checkout to qa").await;
    assert!(world.public_messages("deploys").iter().any(|card| card.contains("running in *qa*")));
    world.alice().posts("deploys", Some(&thread), "@gantry promote checkout to qa").await;
    let answers = world.ephemeral_messages("alice", "deploys");
    assert!(answers.last().unwrap().contains("has everything of *checkout*"), "{answers:#?}");
}

#[tokio::test]
async fn the_promote_button_of_an_arrival_promotes_exactly_its_commit() {
    let world = World::open().await;
    let sha = world.push("checkout", "The one with the button");
    world.settle().await;
    let arrival = world.last_message("alice", "deploys").id;
    world.push("checkout", "A later one");
    world.settle().await;
    world.sim.slack.click("alice", "deploys", &arrival, "Promote").await.unwrap();
    world.settle().await;
    assert_eq!(parents(&world, "acme/checkout", &head(&world, "qa"))[1].as_str(), sha);

    world.sim.slack.click("bob", "deploys", &arrival, "Promote").await.unwrap();
    world.settle().await;
    let answers = world.ephemeral_messages("bob", "deploys");
    assert!(answers.last().unwrap().contains("has everything of *checkout*"), "{answers:#?}");
}

#[tokio::test]
async fn a_promotion_makes_at_most_ten_requests_to_github() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.push("checkout", "One more");
    world.settle().await;
    let before = world.sim.github.request_faults().requests().len();
    world.alice().types("/promote checkout qa").await;
    let requests = world.sim.github.request_faults().requests().split_off(before);
    assert!(requests.len() <= 10, "{requests:#?}");
}

#[tokio::test]
async fn a_promotion_turns_green_without_any_webhook() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::LostWebhook, 99, None, None);
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*, 2 of 2 ready"));
}
