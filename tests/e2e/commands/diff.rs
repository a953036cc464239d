//! `diff`: the difference between two environments, and the next step.

use std::collections::BTreeMap;

use gantry::domain::runtime::rollout::RolloutState;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::parts::{commit, with_parts};
use crate::harness::world::{World, has_button, redact_origin_and_ids, render_message};

fn file(name: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(name.to_owned(), Some(text.to_owned()))])
}

#[tokio::test]
async fn diff_shows_the_commits_between_two_environments_and_the_next_step() {
    let world = World::open().await;
    world.alice().types("/diff development qa checkout").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn diff_in_the_other_direction_says_which_environment_is_behind() {
    let world = World::open().await;
    world.alice().types("/diff qa development checkout").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *checkout*: *qa* is behind *development* by 1 commit.
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn diff_without_an_artefact_shows_one_line_for_each() {
    let world = World::open().await;
    world.alice().types("/diff development prod").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    1 of 4 artefacts differs between *development* and *prod*.
    artefact | development in Git | runs in development | runs in prod | between
    checkout | d6c66c2 | develop-d6c66c2 · 23 h | prod-0702d4d · 19 h | 3 commits, 1 file
    The same in both: mailer, search, storefront
    To bring them up to date: `/promote checkout qa`
    One in full: `/diff development prod checkout`
    ");
}

#[tokio::test]
async fn diff_without_differences_is_one_line() {
    let world = World::open().await;
    world.alice().types("/diff qa staging search").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"*search*: *qa* and *staging* run the same code.");
    world.alice().types("/diff qa qa").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"*qa* is the same as itself. Name two environments: `/diff staging prod`.");
}

#[tokio::test]
async fn diff_shows_commits_that_are_merged_and_not_deployed() {
    // The world's CI does not build this artefact: the commits are on the branches and run nowhere.
    let world = with_parts(&["part".to_owned()]).await;
    for (branch, message) in [("develop", "Go further"), ("qa", "Stop the bleeding")] {
        commit(&world.sim, "acme/part", branch, message);
    }
    world.settle().await;
    world.alice().types("/diff development qa part").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *part*: 1 commit is in *development* and not in *qa*.
    *development* runs `a279aad1c913`, commit `a279aad` for 0 s · branch `develop` is at `34572ae`, :hourglass_flowing_sand: 1 commit merged, not deployed
    *qa* runs `c3465688c4ea`, commit `c346568` for 0 s · branch `qa` is at `583d7d7`, :hourglass_flowing_sand: 1 commit merged, not deployed
    • <http://world/sim/github/acme/part/commit/a279aad1c9137fa6f41f5b492121d7d59f78dbb6|a279aad> Go on · A
    <http://world/sim/github/acme/part/compare/c3465688c4ea41c17d7a5b78748e8dd1d4d9ec4e...a279aad1c9137fa6f41f5b492121d7d59f78dbb6|compare on GitHub>
    1 file, +1 −1
    • `a.txt` +1 −1
    To bring it there: `/promote part qa`
    [Promote] [Show code]
    ");
    world.alice().types("/diff development qa").await;
    let answer = world.alice().reads();
    assert_eq!(answer.matches("1 not deployed").count(), 2, "{answer}");
}

#[tokio::test]
async fn diff_shows_hotfixes_that_only_the_target_has() {
    let world = World::open().await;
    world.sim.push("checkout", "qa", "Stop the bleeding <!channel>", file("hotfix.txt", "x"), "bob").unwrap();
    world.settle().await;
    world.alice().types("/diff development qa checkout").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-f5d0030` for 0 s · branch `qa` is at `f5d0030`
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://world/sim/github/acme/checkout/compare/f5d00300020823dff0bc6de64b42017cf417c776...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    :warning: 1 hotfix is only in *qa*, and not below
    • <http://world/sim/github/acme/checkout/commit/f5d00300020823dff0bc6de64b42017cf417c776|f5d0030> Stop the bleeding &lt;!channel&gt; · <@U0BOB>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn the_promote_button_of_a_diff_promotes_the_shown_version_and_nothing_newer() {
    let world = World::open().await;
    let shown = world.running_tag("checkout", "development");
    world.alice().types("/diff development qa checkout").await;
    let diff = world.last_message("alice", "deploys");
    world.push("checkout", "Not this one");
    world.settle().await;
    assert_ne!(world.running_tag("checkout", "development"), shown);
    world.sim.slack.click("alice", "deploys", &diff.id, "Promote").await.unwrap();
    world.settle().await;
    let qa = world.sim.github.graph("acme/checkout", 10);
    let merge = qa.iter().find(|commit| commit.subject.starts_with("Promote checkout")).expect("a promotion");
    assert!(merge.parents[1].as_str().starts_with(&shown["develop-".len()..]), "{merge:?} of {shown}");
}

#[tokio::test]
async fn diff_across_an_environment_offers_the_promotion_to_that_environment_first() {
    let world = World::open().await;
    world.alice().types("/diff development staging checkout").await;
    let answer = world.alice().reads();
    assert!(answer.contains("Next: `/promote checkout qa`, as *qa* comes before *staging*"), "{answer}");
    assert!(!has_button(&world.last_message("alice", "deploys"), "Promote"), "{answer}");
}

#[tokio::test]
async fn show_code_adds_the_changed_lines_to_a_diff() {
    let world = World::open().await;
    world.alice().types("/diff development qa checkout").await;
    world.alice().clicks("Show code").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    • <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://world/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    `src/checkout.txt` +1 −0
    <rich_text>
    To bring it there: `/promote checkout qa`
    [Promote]
    ");
    let blocks = serde_json::to_string(&world.last_message("alice", "deploys").blocks).unwrap();
    assert!(blocks.contains("rich_text"), "{blocks}");
}

#[tokio::test]
async fn a_long_diff_with_code_is_sent_as_a_file() {
    let world = World::open().await;
    let long = (0..400).map(|line| format!("line {line} of a long file\n")).collect::<Vec<_>>().concat();
    world.sim.push("checkout", "develop", "Write a lot", file("src/long.txt", &long), "alice").unwrap();
    world.settle().await;
    world.alice().types("/diff development qa checkout --code").await;
    let sent = world.sim.slack.messages("@gantry", Some("alice"));
    let files: Vec<_> = sent.iter().flat_map(|message| &message.files).collect();
    assert_eq!(files.len(), 1, "{sent:#?}");
    assert_eq!(files[0]["name"], "checkout-development-qa.diff");

    let first = world.sim.slack.messages("deploys", None)[0].id.clone();
    world.alice().posts("deploys", Some(&first), "@gantry diff development qa checkout --code").await;
    let messages = world.sim.slack.messages("deploys", None);
    let with_file = messages.iter().find(|message| !message.files.is_empty()).expect("a file");
    assert_eq!(with_file.thread.as_deref(), Some(first.as_str()), "the file is in the thread of the request");
}

#[tokio::test]
async fn diff_shows_the_change_of_the_manifest() {
    let world = World::open().await;
    world.push("search", "Find plurals (#42)");
    world.settle().await;
    world.alice().types("/promote search qa").await;
    world.settle().await;
    world.alice().types("/diff qa staging search").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *search*: 1 commit is in *qa* and not in *staging*.
    *qa* runs `1.0.3`, commit `16ce161` for 0 s · `envs/qa/search/kustomization.yaml` says `1.0.3`
    *staging* runs `1.0.2`, commit `cd8f8f2` for 4 d · `envs/staging/search/kustomization.yaml` says `1.0.2`
    • <http://world/sim/github/acme/search/commit/16ce161342ed3b94e902d178cfa005522789cfe1|16ce161> Find plurals · <@U0ALICE> · <http://world/sim/github/acme/search/pull/42|#42>
    <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...16ce161342ed3b94e902d178cfa005522789cfe1|compare on GitHub>
    1 file, +1 −0
    • `src/search.txt` +1 −0
    `envs/staging/search/kustomization.yaml` +1 −1
    <rich_text>
    To bring it there: `/promote search staging`
    [Promote] [Show code]
    ");
}

#[tokio::test]
async fn diff_and_dry_run_show_the_same_commits_and_files() {
    let world = World::open().await;
    world.push("checkout", "Round totals (#42)");
    world.settle().await;
    world.alice().types("/diff development qa checkout").await;
    let diff = world.alice().reads().replace("<@U0ALICE>", "Alice Adler");
    world.alice().types("/promote checkout qa --dry-run").await;
    let plan = world.alice().reads();
    let commits: Vec<&str> = plan.lines().filter(|line| line.starts_with('\u{2022}')).collect();
    assert_eq!(commits.len(), 2, "{plan}");
    for commit in commits.into_iter().chain(["1 file, +2 \u{2212}0"]) {
        assert!(diff.contains(commit), "{commit} in {diff}");
    }
}

#[tokio::test]
async fn diff_in_a_thread_is_answered_in_the_thread_without_mentions() {
    let world = World::open().await;
    world.push("checkout", "Round totals (#42)");
    world.settle().await;
    let first = world.sim.slack.messages("deploys", None)[0].id.clone();
    world.alice().posts("deploys", Some(&first), "@gantry diff development qa checkout").await;
    let answer = world.last_message("alice", "deploys");
    assert_eq!((answer.thread.as_deref(), answer.only_to.as_deref()), (Some(first.as_str()), None));
    let text = world.alice().reads();
    assert!(text.contains("2 commits are in *development* and not in *qa*"), "{text}");
    assert!(!text.contains("<@"), "diff mentions no one: {text}");
}

#[tokio::test]
async fn the_first_diff_needs_two_github_requests_for_each_artefact_and_the_second_none() {
    let world = World::open().await;
    let before = world.github_cost();
    world.alice().types("/diff development prod checkout").await;
    let first = world.github_cost() - before;
    assert!(first.requests <= 2, "{first:?}");
    let before = world.github_cost();
    world.alice().types("/diff development prod checkout").await;
    assert_eq!((world.github_cost() - before).requests, 0);
    world.wait(SignedDuration::from_mins(5)).await;
    let before = world.github_cost();
    world.alice().types("/diff development prod checkout").await;
    assert_eq!((world.github_cost() - before).counted_requests(), 0, "the heads of branches are read with an ETag");
}

#[tokio::test]
async fn after_a_rollback_diff_shows_the_removed_commits_again() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.settle().await;
    world.alice().types("/diff development qa checkout").await;
    assert!(world.alice().reads().contains("run the same code"), "{}", world.alice().reads());
    world.alice().types("/rollback checkout qa --reason totals are wrong").await;
    world.settle().await;
    world.alice().types("/diff development qa checkout").await;
    let answer = world.alice().reads();
    assert!(answer.contains("1 commit is in *development* and not in *qa*"), "{answer}");
    assert!(answer.contains("Retry the payment provider once"), "{answer}");
}

#[tokio::test]
async fn a_diff_of_many_artefacts_shows_the_first_results_early_and_has_pages() {
    let names: Vec<String> = (0..24).map(|n| format!("part-{n:03}")).collect();
    let world = with_parts(&names).await;
    let faults = world.sim.github.request_faults();
    faults.inject("GET", "/acme/part-007/compare/", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    let command = world.sim.slack.type_command("alice", "deploys", "/diff development qa");
    assert_eq!(command.await.unwrap().status, 200);
    for _ in 0..100 {
        world.wait_until_idle().await;
        if world.ephemeral_messages("alice", "deploys").iter().any(|text| text.contains("compared between")) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let first = world.ephemeral_messages("alice", "deploys").join("\n");
    assert!(first.contains("compared between *development* and *qa*; the others follow."), "{first}");
    faults.resume();
    world.settle().await;
    let answer = world.alice().reads();
    assert!(answer.contains("25 of 28 artefacts differ between *development* and *qa*. Page 1 of 3."), "{answer}");
    assert!(answer.contains("part-008") && !answer.contains("part-010"), "{answer}");
    let (before, shown) = (world.github_cost(), world.last_message("alice", "deploys").id);
    world.alice().clicks("Later").await;
    assert_eq!(world.last_message("alice", "deploys").id, shown, "the page turns in place");
    let second_page = world.alice().reads();
    assert!(second_page.contains("Page 2 of 3.") && second_page.contains("part-010"), "{second_page}");
    assert_eq!((world.github_cost() - before).counted_requests(), 0, "another page needs no counted request");
}

#[tokio::test]
async fn diff_does_not_offer_to_promote_a_version_that_a_rollback_restored() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.settle().await;
    world.push("checkout", "Not this one");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    world.settle().await;
    world.alice().types("/rollback checkout qa --reason totals are wrong").await;
    world.settle().await;
    world.alice().types("/diff qa staging checkout").await;
    let answer = world.alice().reads();
    assert!(answer.contains("are in *qa* and not in *staging*"), "{answer}");
    assert!(!answer.contains("/promote"), "promote would refuse it: {answer}");
}

#[tokio::test]
async fn a_hotfix_after_a_rollback_does_not_hide_the_removed_commits() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.settle().await;
    world.alice().types("/rollback checkout qa --reason totals are wrong").await;
    world.settle().await;
    world.sim.push("checkout", "qa", "Stop the bleeding", file("hotfix.txt", "x"), "bob").unwrap();
    world.settle().await;
    world.alice().types("/diff development qa checkout").await;
    let answer = world.alice().reads();
    assert!(answer.contains("1 commit is in *development* and not in *qa*"), "{answer}");
    assert!(answer.contains("Retry the payment provider once") && answer.contains("Stop the bleeding"), "{answer}");
}

#[tokio::test]
async fn diff_ignores_commits_of_other_artefacts_in_the_repository() {
    let world = World::open().await;
    world.sim.push("storefront", "develop", "Paint it", file("storefront/a.txt", "x"), "bob").unwrap();
    world.settle().await;
    world.alice().types("/diff development qa mailer").await;
    assert!(world.alice().reads().contains("run the same code"), "{}", world.alice().reads());
    world.alice().types("/diff development qa storefront").await;
    assert!(world.alice().reads().contains("1 commit is in *development*"), "{}", world.alice().reads());
}

#[tokio::test]
async fn diff_says_that_a_cluster_cannot_be_read() {
    let world = World::open().await;
    world.sim.cluster.forbid("prod");
    let catalogue = &world.bot.config.catalogue;
    let checkout = catalogue.find_artefact("checkout").unwrap();
    let place = &checkout.places[&catalogue.ladder.find("prod").unwrap().name];
    while !matches!(world.bot.cluster_view.read_rollout(place, &checkout.image).state, RolloutState::Unreadable { .. })
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    world.alice().types("/diff staging prod checkout").await;
    let answer = world.alice().reads();
    assert!(answer.contains("cannot be read") && !answer.contains("does not run in"), "{answer}");
}

#[tokio::test]
async fn a_diff_of_many_artefacts_in_a_thread_is_completed_in_place() {
    let names: Vec<String> = (0..12).map(|n| format!("part-{n:03}")).collect();
    let world = with_parts(&names).await;
    world.alice().posts("deploys", None, "look at this").await;
    let first = world.sim.slack.messages("deploys", None)[0].id.clone();
    let faults = world.sim.github.request_faults();
    faults.inject("GET", "/acme/part-007/compare/", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.sim.slack.type_message("alice", "deploys", Some(&first), "@gantry diff development qa").await.unwrap();
    let answer = || world.sim.slack.messages("deploys", None).into_iter().rfind(|message| message.thread.is_some());
    let first_results = async {
        while !answer().is_some_and(|message| render_message(&message).contains("the others follow")) {
            world.wait_until_idle().await;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), first_results).await.expect("the first results");
    let incomplete = answer().unwrap();
    faults.resume();
    world.settle().await;
    let complete = answer().unwrap();
    assert_eq!((complete.id, complete.thread), (incomplete.id, Some(first)), "the same message");
    assert!(
        render_message(&answer().unwrap()).contains("13 of 16 artefacts differ"),
        "{}",
        render_message(&answer().unwrap())
    );
}
