//! `where`: finds a commit, a pull request or a tag by each of its names, says which environments run it, and needs few
//! requests to GitHub.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::demo::Demo;
use gantry::sim::faults::Fault;
use gantry::sim::world::World as Sim;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::process::{ProcessHarness, wait_until};
use crate::harness::rollback::{REPOSITORY, head, redact_commits};
use crate::harness::world::{World, redact_origin_and_ids, render_message};

/// Alice's answer to `/gantry where`.
async fn ask(world: &World, query: &str) -> String {
    world.alice().types(&format!("/gantry where {query}")).await;
    redact_origin_and_ids(world, &world.alice().reads())
}

/// All requests to GitHub so far.
fn requests(sim: &Sim) -> Vec<String> {
    sim.github.request_faults().requests()
}

/// Opens a pull request from `branch`, which gets one commit.
fn open_pull(sim: &Sim, artefact: &str, repository: &str, branch: &str, title: &str) -> u64 {
    sim.push(artefact, branch, &format!("Work on {branch}"), BTreeMap::new(), "bob").unwrap();
    sim.github.open_pull(repository, "bob", title, branch, "develop", "").unwrap()
}

fn merge(sim: &Sim, repository: &str, number: u64) -> Sha {
    sim.github.merge_pull(repository, number, "carol").unwrap()
}

#[tokio::test]
async fn a_commit_is_found_by_its_sha_a_prefix_of_it_and_its_address() {
    let world = World::open().await;
    let ack = world.alice().types("/gantry where d6c66c2").await;
    assert_eq!(ack, "Looking for `d6c66c2`...");
    let answer = redact_origin_and_ids(&world, &world.alice().reads());
    assert_snapshot!(answer, @"
    <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote checkout qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    let sha = head(&world, "develop");
    assert!(sha.as_str().starts_with("d6c66c2"));
    for name in [sha.as_str(), "D6C66C2", "d6c6", "acme/checkout@d6c66c2", "d6c66c2 checkout"] {
        assert_eq!(ask(&world, name).await, answer, "{name}");
    }
    let page = format!("{}/sim/github/acme/checkout/commit/{sha}", world.origin);
    assert_eq!(ask(&world, &page).await, answer, "by its address");
}

#[tokio::test]
async fn a_pull_request_is_found_by_number_and_by_address() {
    let world = World::open().await;
    let number = open_pull(&world.sim, "checkout", REPOSITORY, "totals", "Round totals again");
    let merged = merge(&world.sim, REPOSITORY, number);
    world.settle().await;
    let before = requests(&world.sim).len();
    let answer = ask(&world, "#1").await;
    assert_snapshot!(redact_commits(&world, &answer, &[(&merged, "merge")]), @"
    <http://world/sim/github/acme/checkout/commit/<merge>|<merge>> Round totals again · Carol Castro · <http://world/sim/github/acme/checkout/pull/1|#1>
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote checkout qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    let page = format!("{}/sim/github/acme/checkout/pull/1", world.origin);
    for name in ["1", "acme/checkout#1", "#1 checkout", page.as_str(), &format!("{page}/files")] {
        assert_eq!(ask(&world, name).await, answer, "{name}");
    }
    assert_eq!(
        requests(&world.sim).len() - before,
        1,
        "only the first answer needs a request: {:#?}",
        requests(&world.sim)
    );
}

#[tokio::test]
async fn a_version_is_found_by_its_image_tag_and_its_git_tag() {
    let world = World::open().await;
    let answer = ask(&world, "d6c66c2").await;
    assert_eq!(ask(&world, "develop-d6c66c2").await, answer);

    world.alice().types("/promote checkout qa").await;
    let merge = head(&world, "qa");
    let by_tag = ask(&world, "qa/2026.11.16-1").await;
    assert_snapshot!(redact_commits(&world, &by_tag, &[(&merge, "merge")]), @"
    <http://world/sim/github/acme/checkout/commit/<merge>|<merge>> Promote checkout develop-d6c66c2 to qa · gantry[bot]
    in `acme/checkout`
    *checkout*
    :heavy_minus_sign: not in *development*
    :white_check_mark: in *qa* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *staging* yet: it waits for `/promote checkout staging`, which takes what runs well in *qa*
    :heavy_minus_sign: not in *prod* yet
    ");
    assert_eq!(ask(&world, merge.as_str()).await, by_tag);
    assert_eq!(ask(&world, &format!("qa-{}", merge.short())).await, by_tag);
}

#[tokio::test]
async fn a_pull_request_that_is_not_merged_is_in_no_environment() {
    let world = World::open().await;
    let number = open_pull(&world.sim, "checkout", REPOSITORY, "totals", "Round <!channel> totals");
    world.settle().await;
    assert_snapshot!(ask(&world, "#1").await, @"<http://world/sim/github/acme/checkout/pull/1|acme/checkout#1> Round &lt;!channel&gt; totals is not merged: it is nowhere yet.");
    world.sim.github.close_pull(REPOSITORY, number, "bob").unwrap();
    assert_snapshot!(ask(&world, "acme/checkout#1").await, @"<http://world/sim/github/acme/checkout/pull/1|acme/checkout#1> Round &lt;!channel&gt; totals was closed without a merge: it is nowhere.");
}

#[tokio::test]
async fn an_unknown_name_is_answered_as_unknown_and_looked_up_on_github_once() {
    let world = World::open().await;
    assert_snapshot!(ask(&world, "4f1c2ab").await, @"
    I find no commit, pull request or tag `4f1c2ab` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    let before = requests(&world.sim).len();
    ask(&world, "4f1c2ab").await;
    assert_eq!(requests(&world.sim).len(), before, "the unknown name is cached for a while");
    assert_snapshot!(ask(&world, "#77 checkout").await, @"
    I find no commit, pull request or tag `#77` in the repository of *checkout*.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(ask(&world, "acme/gitops#1").await, @"
    No artefact is built from `acme/gitops`.
    Next: `/list` shows which artefacts there are.
    ");
    assert_snapshot!(ask(&world, "acme/shop#1 checkout").await, @"
    *checkout* is not built from `acme/shop`.
    Next: `/list` shows which artefacts there are.
    ");
    assert_snapshot!(ask(&world, "https://example.com/x").await, @"
    I find no commit, pull request or tag `example.com/x` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(ask(&world, "no-such-tag").await, @"
    I find no commit, pull request or tag `no-such-tag` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    // A commit that was pushed after the first search is found.
    let pushed = world.push("checkout", "Round totals");
    world.wait(SignedDuration::from_mins(4)).await;
    assert!(ask(&world, &pushed[..7]).await.contains("in *development* since"));
}

#[tokio::test]
async fn a_typing_error_in_a_where_command_is_answered_at_once() {
    let world = World::open().await;
    let ack = world.alice().types("/gantry where").await;
    assert!(ack.contains("commit, pull request or tag"), "{ack}");
    let ack = world.alice().types("/gantry where d6c66c2 chekout").await;
    assert!(ack.contains("chekout"), "{ack}");
}

#[tokio::test]
async fn an_ambiguous_pull_request_number_is_resolved_by_a_button() {
    let world = World::open().await;
    let first = open_pull(&world.sim, "checkout", REPOSITORY, "totals", "Round totals again");
    merge(&world.sim, REPOSITORY, first);
    open_pull(&world.sim, "mailer", "acme/shop", "letters", "Letters in blue");
    world.settle().await;
    // One stored match is enough. The other pull request is known to GitHub only.
    let answer = ask(&world, "#1").await;
    assert!(answer.contains("Round totals again") && !answer.contains("Which"), "{answer}");

    let second = open_pull(&world.sim, "storefront", "acme/shop", "windows", "Windows in blue");
    assert_eq!(second, 2);
    let pull_of_search = open_pull(&world.sim, "search", "acme/search", "names", "Names first");
    open_pull(&world.sim, "search", "acme/search", "words", "Words first");
    assert_eq!(pull_of_search, 1);
    let question = ask(&world, "#2").await;
    assert_snapshot!(question, @"
    Which `#2` is meant?
    1. <http://world/sim/github/acme/shop/pull/2|acme/shop#2> Windows in blue (not merged)
    2. <http://world/sim/github/acme/search/pull/2|acme/search#2> Words first (not merged)
    [1. #2 in shop] [2. #2 in search]
    ");
    world.alice().clicks("2. #2 in search").await;
    let answer = redact_origin_and_ids(&world, &world.alice().reads());
    assert!(answer.contains("Words first is not merged: it is nowhere yet."), "{answer}");
    assert!(
        !world.ephemeral_messages("alice", "deploys").iter().any(|text| text.contains("Which")),
        "the answer replaces the question"
    );
}

#[tokio::test]
async fn an_ambiguous_number_in_commit_subjects_is_resolved_by_a_button() {
    let world = World::open().await;
    // Two commits have the same subject, with the same pull request number in it.
    for branch in ["develop", "qa"] {
        world.sim.push("checkout", branch, "Round totals (#9)", BTreeMap::new(), "bob").unwrap();
        world.settle().await;
    }
    let question = ask(&world, "#9").await;
    let (original, copy) = (head(&world, "develop"), head(&world, "qa"));
    let mut both = [original.clone(), copy.clone()];
    both.sort();
    assert!(question.starts_with("Which `#9` is meant?"), "{question}");
    let position = both.iter().position(|sha| *sha == copy).unwrap() + 1;
    world.alice().clicks(&format!("{position}. {} in checkout", copy.short())).await;
    let answer = redact_commits(&world, &world.alice().reads(), &[(&copy, "copy")]);
    assert!(answer.contains(":white_check_mark: in *qa* since"), "{answer}");
    assert!(answer.contains(":heavy_minus_sign: not in *development*"), "{answer}");
}

#[tokio::test]
async fn a_commit_that_was_rolled_back_is_not_in_the_environment() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    assert!(ask(&world, "d6c66c2").await.contains(":white_check_mark: in *qa* since"));
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    assert_snapshot!(ask(&world, "d6c66c2").await, @"
    <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    :leftwards_arrow_with_hook: not in *qa*: it was rolled back there by <@U0BOB> <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> (totals are wrong). It waits for a repair that runs in *development*, with which `/promote checkout qa` brings it back
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    // An older commit is in qa since its first deployment.
    let older = ask(&world, "7d03d5a").await;
    assert!(older.contains(":white_check_mark: in *qa* since <!date^1794744000^"), "{older}");

    let result = head(&world, "qa");
    let rollback = ask(&world, result.as_str()).await;
    assert!(rollback.contains(":white_check_mark: in *qa* since"), "the rollback itself: {rollback}");
}

#[tokio::test]
async fn a_rollback_that_is_not_in_the_ledger_is_recognised_by_its_trailers() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa").await;
    // A second bot with an empty database in the same world.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    world.sim.slack.set_bot_url(&format!("http://{}", listener.local_addr().unwrap()));
    let demo = Demo::build_with_history(false, world.sim.clone(), |yaml| yaml).await.unwrap();
    let ctx = demo.app.context.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(demo.serve(listener, async {
        let _ = stopped.await;
    }));
    let restored = head(&world, "qa");
    wait_until("the running versions are compared", async || {
        !ctx.store.find_restored_commits(&REPOSITORY.parse().unwrap(), &[&restored]).await.unwrap().is_empty()
    })
    .await;
    world.sim.slack.type_command("alice", "deploys", "/gantry where d6c66c2").await.unwrap();
    let answer = || redact_origin_and_ids(&world, &world.alice().reads());
    wait_until("the second bot answers", async || answer().contains("in *development*")).await;
    assert!(answer().contains("not in *qa*: it was rolled back there. It waits for a repair"), "{}", answer());
    drop(stop);
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_hotfix_is_only_in_the_environment_it_was_pushed_to() {
    let world = World::open().await;
    world.sim.push("checkout", "prod", "Stop double charges", BTreeMap::new(), "carol").unwrap();
    world.settle().await;
    let hotfix = head(&world, "prod");
    let before = requests(&world.sim).len();
    let answer = ask(&world, hotfix.short()).await;
    assert_snapshot!(redact_commits(&world, &answer, &[(&hotfix, "hotfix")]), @"
    <http://world/sim/github/acme/checkout/commit/<hotfix>|<hotfix>> Stop double charges · Carol Castro
    in `acme/checkout`
    *checkout*
    :heavy_minus_sign: not in *development*: it came past it, and waits to be merged into `develop` as well
    :heavy_minus_sign: not in *qa*
    :heavy_minus_sign: not in *staging*
    :white_check_mark: in *prod* since <!date^1794819606^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    ");
    let sent = requests(&world.sim).split_off(before);
    assert!(sent.len() <= 2, "{sent:#?}");
}

#[tokio::test]
async fn where_shows_each_artefact_of_the_repository() {
    let world = World::open().await;
    let file = BTreeMap::from([("storefront/a.txt".to_owned(), Some("a".to_owned()))]);
    let pushed = world.sim.push("storefront", "develop", "Windows in blue", file, "alice").unwrap();
    world.settle().await;
    let answer = ask(&world, pushed.short()).await;
    assert_snapshot!(redact_commits(&world, &answer, &[(&pushed, "push")]), @"
    <http://world/sim/github/acme/shop/commit/<push>|<push>> Windows in blue · Alice Adler
    in `acme/shop`
    *mailer*
    :white_check_mark: in *development* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote mailer qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    *storefront*
    :white_check_mark: in *development* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote storefront qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    let of_mailer = ask(&world, &format!("{} mailer", pushed.short())).await;
    assert!(of_mailer.contains("*mailer*") && !of_mailer.contains("*storefront*"), "{of_mailer}");
}

#[tokio::test]
async fn where_shows_the_time_of_the_first_version_with_the_commit() {
    let world = World::open().await;
    let first = world.push("checkout", "Round totals");
    world.settle().await;
    let since = ask(&world, &first[..7]).await;
    world.wait(SignedDuration::from_hours(5)).await;
    world.push("checkout", "Accept cards");
    world.settle().await;
    assert_eq!(ask(&world, &first[..7]).await, since, "a later version does not change the time");
}

#[tokio::test]
async fn where_says_which_promotion_or_approval_a_commit_waits_for() {
    let world = World::open().await;
    // The commit is in staging. Prod is next and needs an approval.
    let staged = ask(&world, "d2aaacd").await;
    assert!(staged.contains("in *qa* since"), "{staged}");
    let rounding =
        world.sim.github.graph(REPOSITORY, 100).into_iter().find(|commit| commit.subject.starts_with("Round totals"));
    let rounding = rounding.expect("a commit").sha;
    let answer = ask(&world, rounding.short()).await;
    assert!(answer.contains("not in *prod* yet: it waits for `/promote checkout prod`"), "{answer}");
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    let answer = ask(&world, rounding.short()).await;
    assert!(answer.contains("not in *prod* yet: change `<id>` brings it and is waiting for approval"), "{answer}");
    let card = world.alice().reads();
    assert!(card.contains("|its card>") && !card.contains("{link}"), "{card}");
}

#[tokio::test]
async fn where_says_that_a_failed_version_must_run_well_before_its_promotion() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("development".into()));
    let pushed = world.push("checkout", "Round totals");
    world.settle().await;
    let answer = ask(&world, &pushed[..7]).await;
    assert!(answer.contains(":red_circle: in *development*"), "{answer}");
    assert!(answer.contains("not in *qa* yet: it waits to run well in *development*"), "{answer}");
}

#[tokio::test]
async fn where_shows_the_last_seen_version_of_a_cluster_that_cannot_be_read() {
    let world = World::open().await;
    world.sim.cluster.set_down("qa", true);
    let mut answer = String::new();
    for _ in 0..100 {
        answer = ask(&world, "7d03d5a").await;
        if answer.contains("cannot be read") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(answer.contains("in *qa* since") && answer.contains("(what was last seen: the cluster cannot"), "{answer}");
    world.sim.cluster.set_down("qa", false);
}

#[tokio::test]
async fn a_commit_whose_rollout_is_not_complete_is_shown_as_rolling_out() {
    let world = World::open().await;
    let before = world.running_tag("checkout", "development");
    world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("development".into()));
    let pushed = world.push("checkout", "Round totals");
    world.settle_until(|| world.running_tag("checkout", "development") != before).await;
    world.wait_until_idle().await;
    world.alice().types_without_waiting("deploys", &format!("/gantry where {}", &pushed[..7])).await;
    world.wait_until_idle().await;
    let answer = redact_origin_and_ids(&world, &world.alice().reads());
    assert!(answer.contains(":hourglass_flowing_sand: rolling out in *development*, "), "{answer}");
    assert!(
        answer.contains("not in *qa* yet: it waits to run well in *development* (it is still rolling out"),
        "{answer}"
    );
    world.settle().await;
    let answer = ask(&world, &pushed[..7]).await;
    assert!(answer.contains(":white_check_mark: in *development* since"), "{answer}");
}

#[tokio::test]
async fn where_works_for_manifest_delivery_and_its_rollbacks() {
    let world = World::open().await;
    let pushed = world.push("search", "Rank by price");
    world.settle().await;
    world.alice().types("/promote search qa").await;
    let tag = world.running_tag("search", "qa");
    let answer = ask(&world, &pushed[..7]).await;
    assert!(answer.contains(":white_check_mark: in *qa* since"), "{answer}");
    assert!(answer.contains("not in *staging* yet: it waits for `/promote search staging`"), "{answer}");
    assert_eq!(ask(&world, &tag).await, answer, "by its tag");
    world.bob().types("/rollback search qa").await;
    let answer = ask(&world, &pushed[..7]).await;
    assert!(answer.contains("not in *qa*: it was rolled back there by <@U0BOB>"), "{answer}");
    assert!(answer.contains(":white_check_mark: in *development* since"), "{answer}");
}

#[tokio::test]
async fn the_first_where_needs_two_github_requests_for_each_artefact_and_the_second_none() {
    let world = World::open().await;
    let graph = world.sim.github.graph(REPOSITORY, 100);
    for commit in graph.iter().filter(|commit| commit.parents.len() < 2) {
        let before = requests(&world.sim).len();
        let first_answer = ask(&world, commit.sha.short()).await;
        let sent = requests(&world.sim).split_off(before);
        assert!(sent.len() <= 2, "{}: {sent:#?}", commit.subject);
        assert!(!first_answer.contains("not known"), "{first_answer}");
        let before = requests(&world.sim).len();
        assert_eq!(ask(&world, commit.sha.as_str()).await, first_answer);
        assert_eq!(requests(&world.sim).len(), before, "{}", commit.subject);
    }
}

#[tokio::test]
async fn where_answers_from_the_store_while_github_is_down() {
    let world = World::open().await;
    let stored_answer = ask(&world, "d6c66c2").await;
    world.sim.faults.arm(Fault::Github502, 1000, None, None);
    assert_eq!(ask(&world, "d6c66c2").await, stored_answer);
    let other_answer = ask(&world, "7d03d5a").await;
    assert!(other_answer.contains("not known for *"), "{other_answer}");
    assert!(other_answer.contains("GitHub is not available"), "{other_answer}");
}

#[tokio::test]
async fn where_in_a_thread_is_answered_publicly_in_the_thread() {
    let world = World::open().await;
    let first = world.alice().posts("deploys", None, "Is it out?").await;
    world.alice().posts("deploys", Some(&first), "@gantry where d6c66c2").await;
    let messages = world.sim.slack.messages("deploys", None);
    let answer = messages.iter().rfind(|message| message.thread.as_deref() == Some(first.as_str())).expect("an answer");
    assert!(render_message(answer).contains(":white_check_mark: in *development* since"), "{}", render_message(answer));
    assert_eq!(answer.only_to, None);
}

#[tokio::test]
async fn where_tells_a_guest_nothing() {
    let world = World::open().await;
    world.dave().types("/gantry where d6c66c2").await;
    let messages = world.ephemeral_messages("dave", "deploys");
    assert!(messages.iter().all(|text| !text.contains("development")), "{messages:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_needs_no_github_request_for_a_known_commit_after_a_restart() {
    let mut harness = ProcessHarness::open().await;
    let sim = harness.world.clone();
    // No comparison lists the first commit, because every environment runs a newer one.
    let first = sim.github.graph(REPOSITORY, 100).pop().expect("the first commit").sha;
    sim.github.tag(REPOSITORY, "begin", &first, "the first").unwrap();
    let answers = || {
        let messages = sim.slack.messages("deploys", Some("alice"));
        messages.iter().map(render_message).filter(|text| text.contains("Start the checkout")).collect::<Vec<_>>()
    };
    // The observer finds the commits of the images in the background. Before that, the answer is different.
    for environment in ["development", "qa", "staging", "prod"] {
        let with_commit = "sighting WHERE artefact = 'checkout' AND environment = $1 AND commit_sha IS NOT NULL";
        harness.wait_until_stored(with_commit, environment).await;
    }
    harness.wait_until_idle().await;
    sim.slack.type_command("alice", "deploys", "/gantry where begin").await.unwrap();
    wait_until("the first answer comes", async || answers().len() == 1).await;
    harness.wait_until_idle().await;
    harness.restart().await;
    harness.wait_until_cluster_read().await;
    harness.wait_until_idle().await;
    // Only requests about this commit count: the background tasks send requests of their own.
    let is_about_commit = |request: &String| request.contains(first.short()) || request.contains("begin");
    let requests_about_commit = || requests(&sim).into_iter().filter(is_about_commit).collect::<Vec<_>>();
    let before = requests_about_commit();
    for name in ["begin", first.short()] {
        let count = answers().len();
        sim.slack.type_command("alice", "deploys", &format!("/gantry where {name}")).await.unwrap();
        wait_until("the next answer comes", async || answers().len() > count).await;
    }
    assert_eq!(requests_about_commit(), before);
    let messages = answers();
    assert!(messages.iter().all(|answer| *answer == messages[0]), "{messages:#?}");
}

#[tokio::test]
async fn a_hotfix_after_a_rollback_does_not_bring_the_removed_commit_back() {
    let world = World::open().await;
    let bad = world.running_tag("checkout", "development")["develop-".len()..].to_owned();
    world.alice().types("/promote checkout qa").await;
    world.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let hotfix = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    let hotfix = world.sim.push("checkout", "qa", "Stop the bleeding", hotfix, "bob").unwrap();
    world.settle().await;
    let answer = ask(&world, &bad).await;
    assert!(answer.contains("not in *qa*"), "{answer}");
    let answer = ask(&world, hotfix.short()).await;
    assert!(answer.contains("in *qa* since"), "{answer}");
}
