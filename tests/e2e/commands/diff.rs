//! `diff`: what differs between two environments, and what to do about it.

use std::collections::BTreeMap;

use gantry::domain::runtime::rollout::RolloutState;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::{World, has_button, redact_origin_and_ids, render_message};
use crate::promote::many_at_once::{commit, with_parts};

fn file(name: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(name.to_owned(), Some(text.to_owned()))])
}

#[tokio::test]
async fn the_commits_between_two_environments_are_shown_with_what_to_do() {
    let town = World::open().await;
    town.alice().types("/diff development qa checkout").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn asked_the_other_way_round_it_says_which_is_behind() {
    let town = World::open().await;
    town.alice().types("/diff qa development checkout").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *checkout*: *qa* is behind *development* by 1 commit.
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn all_artefacts_are_shown_in_lines() {
    let town = World::open().await;
    town.alice().types("/diff development prod").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    1 of 4 artefacts differs between *development* and *prod*.
    artefact | development in Git | runs in development | runs in prod | between
    checkout | d6c66c2 | develop-d6c66c2 · 23 h | prod-0702d4d · 19 h | 3 commits, 1 file
    The same in both: mailer, search, storefront
    To bring them up to date: `/promote checkout qa`
    One in full: `/diff development prod checkout`
    ");
}

#[tokio::test]
async fn nothing_different_is_one_line() {
    let town = World::open().await;
    town.alice().types("/diff qa staging search").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"*search*: *qa* and *staging* run the same code.");
    town.alice().types("/diff qa qa").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"*qa* is the same as itself. Name two environments: `/diff staging prod`.");
}

#[tokio::test]
async fn what_is_merged_and_not_deployed_is_seen() {
    // CI of the town does not build it: the branches have it, and nobody runs it.
    let town = with_parts(&["part".to_owned()]).await;
    for (branch, message) in [("develop", "Go further"), ("qa", "Stop the bleeding")] {
        commit(&town.sim, "acme/part", branch, message);
    }
    town.settle().await;
    town.alice().types("/diff development qa part").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *part*: 1 commit is in *development* and not in *qa*.
    *development* runs `a279aad1c913`, commit `a279aad` for 0 s · branch `develop` is at `34572ae`, :hourglass_flowing_sand: 1 commit merged, not deployed
    *qa* runs `c3465688c4ea`, commit `c346568` for 0 s · branch `qa` is at `583d7d7`, :hourglass_flowing_sand: 1 commit merged, not deployed
    • <http://town/sim/github/acme/part/commit/a279aad1c9137fa6f41f5b492121d7d59f78dbb6|a279aad> Go on · A
    <http://town/sim/github/acme/part/compare/c3465688c4ea41c17d7a5b78748e8dd1d4d9ec4e...a279aad1c9137fa6f41f5b492121d7d59f78dbb6|compare on GitHub>
    1 file, +1 −1
    • `a.txt` +1 −1
    To bring it there: `/promote part qa`
    [Promote] [Show code]
    ");
    town.alice().types("/diff development qa").await;
    let seen = town.alice().reads();
    assert_eq!(seen.matches("1 not deployed").count(), 2, "{seen}");
}

#[tokio::test]
async fn hotfixes_that_only_the_target_has_are_shown() {
    let town = World::open().await;
    town.sim.push("checkout", "qa", "Stop the bleeding <!channel>", file("hotfix.txt", "x"), "bob").unwrap();
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-f5d0030` for 0 s · branch `qa` is at `f5d0030`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/f5d00300020823dff0bc6de64b42017cf417c776...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    :warning: 1 hotfix is only in *qa*, and not below
    • <http://town/sim/github/acme/checkout/commit/f5d00300020823dff0bc6de64b42017cf417c776|f5d0030> Stop the bleeding &lt;!channel&gt; · <@U0BOB>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn the_button_promotes_what_was_shown_and_nothing_newer() {
    let town = World::open().await;
    let shown = town.running_tag("checkout", "development");
    town.alice().types("/diff development qa checkout").await;
    let diff = town.last_message("alice", "deploys");
    town.push("checkout", "Not this one");
    town.settle().await;
    assert_ne!(town.running_tag("checkout", "development"), shown);
    town.sim.slack.click("alice", "deploys", &diff.id, "Promote").await.unwrap();
    town.settle().await;
    let qa = town.sim.github.graph("acme/checkout", 10);
    let merge = qa.iter().find(|commit| commit.subject.starts_with("Promote checkout")).expect("it was promoted");
    assert!(merge.parents[1].as_str().starts_with(&shown["develop-".len()..]), "{merge:?} of {shown}");
}

#[tokio::test]
async fn an_environment_between_comes_first() {
    let town = World::open().await;
    town.alice().types("/diff development staging checkout").await;
    let seen = town.alice().reads();
    assert!(seen.contains("Next: `/promote checkout qa`, as *qa* comes before *staging*"), "{seen}");
    assert!(!has_button(&town.last_message("alice", "deploys"), "Promote"), "{seen}");
}

#[tokio::test]
async fn the_code_is_shown_on_request_with_the_words_that_differ() {
    let town = World::open().await;
    town.alice().types("/diff development qa checkout").await;
    town.alice().clicks("Show code").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    `src/checkout.txt` +1 −0
    <rich_text>
    To bring it there: `/promote checkout qa`
    [Promote]
    ");
    let blocks = serde_json::to_string(&town.last_message("alice", "deploys").blocks).unwrap();
    assert!(blocks.contains("rich_text"), "{blocks}");
}

#[tokio::test]
async fn long_code_is_a_file_in_a_thread() {
    let town = World::open().await;
    let long = (0..400).map(|line| format!("line {line} of a long file\n")).collect::<Vec<_>>().concat();
    town.sim.push("checkout", "develop", "Write a lot", file("src/long.txt", &long), "alice").unwrap();
    town.settle().await;
    town.alice().types("/diff development qa checkout --code").await;
    let sent = town.sim.slack.messages("@gantry", Some("alice"));
    let files: Vec<_> = sent.iter().flat_map(|message| &message.files).collect();
    assert_eq!(files.len(), 1, "{sent:#?}");
    assert_eq!(files[0]["name"], "checkout-development-qa.diff");

    let first = town.sim.slack.messages("deploys", None)[0].id.clone();
    town.alice().posts("deploys", Some(&first), "@gantry diff development qa checkout --code").await;
    let there = town.sim.slack.messages("deploys", None);
    let with_file = there.iter().find(|message| !message.files.is_empty()).expect("a file");
    assert_eq!(with_file.thread.as_deref(), Some(first.as_str()), "in the thread where it was asked");
}

#[tokio::test]
async fn manifests_are_compared_as_text() {
    let town = World::open().await;
    town.push("search", "Find plurals (#42)");
    town.settle().await;
    town.alice().types("/promote search qa").await;
    town.settle().await;
    town.alice().types("/diff qa staging search").await;
    assert_snapshot!(redact_origin_and_ids(&town, &town.alice().reads()), @"
    *search*: 1 commit is in *qa* and not in *staging*.
    *qa* runs `1.0.3`, commit `16ce161` for 0 s · `envs/qa/search/kustomization.yaml` says `1.0.3`
    *staging* runs `1.0.2`, commit `cd8f8f2` for 4 d · `envs/staging/search/kustomization.yaml` says `1.0.2`
    • <http://town/sim/github/acme/search/commit/16ce161342ed3b94e902d178cfa005522789cfe1|16ce161> Find plurals · <@U0ALICE> · <http://town/sim/github/acme/search/pull/42|#42>
    <http://town/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...16ce161342ed3b94e902d178cfa005522789cfe1|compare on GitHub>
    1 file, +1 −0
    • `src/search.txt` +1 −0
    `envs/staging/search/kustomization.yaml` +1 −1
    <rich_text>
    To bring it there: `/promote search staging`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn a_dry_run_and_a_diff_say_the_same() {
    let town = World::open().await;
    town.push("checkout", "Round totals (#42)");
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    let diff = town.alice().reads().replace("<@U0ALICE>", "Alice Adler");
    town.alice().types("/promote checkout qa --dry-run").await;
    let plan = town.alice().reads();
    let commits: Vec<&str> = plan.lines().filter(|line| line.starts_with('\u{2022}')).collect();
    assert_eq!(commits.len(), 2, "{plan}");
    for commit in commits.into_iter().chain(["1 file, +2 \u{2212}0"]) {
        assert!(diff.contains(commit), "{commit} in {diff}");
    }
}

#[tokio::test]
async fn asked_in_a_thread_it_answers_there() {
    let town = World::open().await;
    town.push("checkout", "Round totals (#42)");
    town.settle().await;
    let first = town.sim.slack.messages("deploys", None)[0].id.clone();
    town.alice().posts("deploys", Some(&first), "@gantry diff development qa checkout").await;
    let answer = town.last_message("alice", "deploys");
    assert_eq!((answer.thread.as_deref(), answer.only_to.as_deref()), (Some(first.as_str()), None));
    let text = town.alice().reads();
    assert!(text.contains("2 commits are in *development* and not in *qa*"), "{text}");
    assert!(!text.contains("<@"), "nobody is called by it: {text}");
}

#[tokio::test]
async fn a_second_diff_costs_github_nothing_and_a_first_one_two_requests_an_artefact() {
    let town = World::open().await;
    let before = town.github_cost();
    town.alice().types("/diff development prod checkout").await;
    let first = town.github_cost() - before;
    assert!(first.requests <= 2, "{first:?}");
    let before = town.github_cost();
    town.alice().types("/diff development prod checkout").await;
    assert_eq!((town.github_cost() - before).requests, 0);
    town.wait(SignedDuration::from_mins(5)).await;
    let before = town.github_cost();
    town.alice().types("/diff development prod checkout").await;
    assert_eq!((town.github_cost() - before).counted_requests(), 0, "where the branches stand is asked by ETag");
}

#[tokio::test]
async fn after_a_rollback_what_it_took_away_differs_again() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    assert!(town.alice().reads().contains("run the same code"), "{}", town.alice().reads());
    town.alice().types("/rollback checkout qa --reason totals are wrong").await;
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    let seen = town.alice().reads();
    assert!(seen.contains("1 commit is in *development* and not in *qa*"), "{seen}");
    assert!(seen.contains("Retry the payment provider once"), "{seen}");
}

#[tokio::test]
async fn many_are_shown_as_they_become_known_and_page_by_page() {
    let names: Vec<String> = (0..24).map(|n| format!("part-{n:03}")).collect();
    let town = with_parts(&names).await;
    let faults = town.sim.github.request_faults();
    faults.inject("GET", "/acme/part-007/compare/", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    let asks = town.sim.slack.type_command("alice", "deploys", "/diff development qa");
    assert_eq!(asks.await.unwrap().status, 200);
    for _ in 0..100 {
        town.wait_until_idle().await;
        if town.ephemeral_messages("alice", "deploys").iter().any(|told| told.contains("compared between")) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let first = town.ephemeral_messages("alice", "deploys").join("\n");
    assert!(first.contains("compared between *development* and *qa*; the others follow."), "{first}");
    faults.resume();
    town.settle().await;
    let seen = town.alice().reads();
    assert!(seen.contains("25 of 28 artefacts differ between *development* and *qa*. Page 1 of 3."), "{seen}");
    assert!(seen.contains("part-008") && !seen.contains("part-010"), "{seen}");
    let (before, shown) = (town.github_cost(), town.last_message("alice", "deploys").id);
    town.alice().clicks("Later").await;
    assert_eq!(town.last_message("alice", "deploys").id, shown, "in place");
    let turned = town.alice().reads();
    assert!(turned.contains("Page 2 of 3.") && turned.contains("part-010"), "{turned}");
    assert_eq!((town.github_cost() - before).counted_requests(), 0, "another page is known");
}

#[tokio::test]
async fn what_a_rollback_restored_below_is_not_offered_upwards() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    town.settle().await;
    town.push("checkout", "Not this one");
    town.settle().await;
    town.alice().types("/promote checkout qa").await;
    town.settle().await;
    town.alice().types("/rollback checkout qa --reason totals are wrong").await;
    town.settle().await;
    town.alice().types("/diff qa staging checkout").await;
    let seen = town.alice().reads();
    assert!(seen.contains("are in *qa* and not in *staging*"), "{seen}");
    assert!(!seen.contains("/promote"), "promote would refuse it: {seen}");
}

#[tokio::test]
async fn a_hotfix_upon_a_rollback_brings_nothing_back() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    town.settle().await;
    town.alice().types("/rollback checkout qa --reason totals are wrong").await;
    town.settle().await;
    town.sim.push("checkout", "qa", "Stop the bleeding", file("hotfix.txt", "x"), "bob").unwrap();
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    let seen = town.alice().reads();
    assert!(seen.contains("1 commit is in *development* and not in *qa*"), "{seen}");
    assert!(seen.contains("Retry the payment provider once") && seen.contains("Stop the bleeding"), "{seen}");
}

#[tokio::test]
async fn what_concerns_another_artefact_of_the_repository_is_nothing_new() {
    let town = World::open().await;
    town.sim.push("storefront", "develop", "Paint it", file("storefront/a.txt", "x"), "bob").unwrap();
    town.settle().await;
    town.alice().types("/diff development qa mailer").await;
    assert!(town.alice().reads().contains("run the same code"), "{}", town.alice().reads());
    town.alice().types("/diff development qa storefront").await;
    assert!(town.alice().reads().contains("1 commit is in *development*"), "{}", town.alice().reads());
}

#[tokio::test]
async fn a_cluster_that_cannot_be_read_is_no_place_where_nothing_runs() {
    let town = World::open().await;
    town.sim.cluster.forbid("prod");
    let catalogue = &town.bot.config.catalogue;
    let checkout = catalogue.find_artefact("checkout").unwrap();
    let place = &checkout.places[&catalogue.ladder.find("prod").unwrap().name];
    while !matches!(town.bot.cluster_view.read_rollout(place, &checkout.image).state, RolloutState::Unreadable { .. }) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    town.alice().types("/diff staging prod checkout").await;
    let seen = town.alice().reads();
    assert!(seen.contains("cannot be read") && !seen.contains("does not run in"), "{seen}");
}

#[tokio::test]
async fn in_a_thread_many_are_filled_in_in_place() {
    let names: Vec<String> = (0..12).map(|n| format!("part-{n:03}")).collect();
    let town = with_parts(&names).await;
    town.alice().posts("deploys", None, "look at this").await;
    let first = town.sim.slack.messages("deploys", None)[0].id.clone();
    let faults = town.sim.github.request_faults();
    faults.inject("GET", "/acme/part-007/compare/", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    town.sim.slack.type_message("alice", "deploys", Some(&first), "@gantry diff development qa").await.unwrap();
    let answer = || town.sim.slack.messages("deploys", None).into_iter().rfind(|it| it.thread.is_some());
    let waits = async {
        while !answer().is_some_and(|it| render_message(&it).contains("the others follow")) {
            town.wait_until_idle().await;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waits).await.expect("the first results");
    let partly = answer().unwrap();
    faults.resume();
    town.settle().await;
    let whole = answer().unwrap();
    assert_eq!((whole.id, whole.thread), (partly.id, Some(first)), "the same message");
    assert!(
        render_message(&answer().unwrap()).contains("13 of 16 artefacts differ"),
        "{}",
        render_message(&answer().unwrap())
    );
}
