//! `where`: a commit, a pull request or a tag, by every name that people have for it; and what it costs GitHub.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::demo::Demo;
use gantry::sim::faults::Fault;
use gantry::sim::world::World as Sim;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::process::{ProcessHarness, wait_until};
use crate::harness::world::{World, redact_origin_and_ids, render_message};
use crate::rollback::by_branch::{REPOSITORY, head, redact_commits};

/// What Alice sees when she asks.
async fn ask(town: &World, what: &str) -> String {
    town.alice().types(&format!("/gantry where {what}")).await;
    redact_origin_and_ids(town, &town.alice().reads())
}

/// What GitHub was asked so far.
fn requests(sim: &Sim) -> Vec<String> {
    sim.github.request_faults().requests()
}

/// A pull request of one commit, which stands on `branch`.
fn open_pull(sim: &Sim, artefact: &str, repository: &str, branch: &str, title: &str) -> u64 {
    sim.push(artefact, branch, &format!("Work on {branch}"), BTreeMap::new(), "bob").unwrap();
    sim.github.open_pull(repository, "bob", title, branch, "develop", "").unwrap()
}

fn merge(sim: &Sim, repository: &str, number: u64) -> Sha {
    sim.github.merge_pull(repository, number, "carol").unwrap()
}

#[tokio::test]
async fn a_commit_is_found_by_its_whole_name_and_by_its_beginning() {
    let town = World::open().await;
    let ack = town.alice().types("/gantry where d6c66c2").await;
    assert_eq!(ack, "Looking for `d6c66c2`...");
    let answer = redact_origin_and_ids(&town, &town.alice().reads());
    assert_snapshot!(answer, @"
    <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote checkout qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    let whole = head(&town, "develop");
    assert!(whole.as_str().starts_with("d6c66c2"));
    for name in [whole.as_str(), "D6C66C2", "d6c6", "acme/checkout@d6c66c2", "d6c66c2 checkout"] {
        assert_eq!(ask(&town, name).await, answer, "{name}");
    }
    let page = format!("{}/sim/github/acme/checkout/commit/{whole}", town.origin);
    assert_eq!(ask(&town, &page).await, answer, "by its address");
}

#[tokio::test]
async fn a_pull_request_is_found_by_number_and_by_address() {
    let town = World::open().await;
    let number = open_pull(&town.sim, "checkout", REPOSITORY, "totals", "Round totals again");
    let merged = merge(&town.sim, REPOSITORY, number);
    town.settle().await;
    let before = requests(&town.sim).len();
    let answer = ask(&town, "#1").await;
    assert_snapshot!(redact_commits(&town, &answer, &[(&merged, "merge")]), @"
    <http://town/sim/github/acme/checkout/commit/<merge>|<merge>> Round totals again · Carol Castro · <http://town/sim/github/acme/checkout/pull/1|#1>
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *qa* yet: it waits for `/promote checkout qa`, which takes what runs well in *development*
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    let page = format!("{}/sim/github/acme/checkout/pull/1", town.origin);
    for name in ["1", "acme/checkout#1", "#1 checkout", page.as_str(), &format!("{page}/files")] {
        assert_eq!(ask(&town, name).await, answer, "{name}");
    }
    assert_eq!(requests(&town.sim).len() - before, 1, "the ladder above is asked once: {:#?}", requests(&town.sim));
}

#[tokio::test]
async fn a_version_is_found_by_the_tag_of_its_image_and_by_the_tag_of_git() {
    let town = World::open().await;
    let answer = ask(&town, "d6c66c2").await;
    assert_eq!(ask(&town, "develop-d6c66c2").await, answer);

    town.alice().types("/promote checkout qa").await;
    let merge = head(&town, "qa");
    let by_tag = ask(&town, "qa/2026.11.16-1").await;
    assert_snapshot!(redact_commits(&town, &by_tag, &[(&merge, "merge")]), @"
    <http://town/sim/github/acme/checkout/commit/<merge>|<merge>> Promote checkout develop-d6c66c2 to qa · gantry[bot]
    in `acme/checkout`
    *checkout*
    :heavy_minus_sign: not in *development*
    :white_check_mark: in *qa* since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    :heavy_minus_sign: not in *staging* yet: it waits for `/promote checkout staging`, which takes what runs well in *qa*
    :heavy_minus_sign: not in *prod* yet
    ");
    assert_eq!(ask(&town, merge.as_str()).await, by_tag);
    assert_eq!(ask(&town, &format!("qa-{}", merge.short())).await, by_tag);
}

#[tokio::test]
async fn a_pull_request_that_is_not_merged_is_nowhere() {
    let town = World::open().await;
    let number = open_pull(&town.sim, "checkout", REPOSITORY, "totals", "Round <!channel> totals");
    town.settle().await;
    assert_snapshot!(ask(&town, "#1").await, @"<http://town/sim/github/acme/checkout/pull/1|acme/checkout#1> Round &lt;!channel&gt; totals is not merged: it is nowhere yet.");
    town.sim.github.close_pull(REPOSITORY, number, "bob").unwrap();
    assert_snapshot!(ask(&town, "acme/checkout#1").await, @"<http://town/sim/github/acme/checkout/pull/1|acme/checkout#1> Round &lt;!channel&gt; totals was closed without a merge: it is nowhere.");
}

#[tokio::test]
async fn what_nobody_knows_is_said_so_and_asked_once() {
    let town = World::open().await;
    assert_snapshot!(ask(&town, "4f1c2ab").await, @"
    I find no commit, pull request or tag `4f1c2ab` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    let before = requests(&town.sim).len();
    ask(&town, "4f1c2ab").await;
    assert_eq!(requests(&town.sim).len(), before, "for a while");
    assert_snapshot!(ask(&town, "#77 checkout").await, @"
    I find no commit, pull request or tag `#77` in the repository of *checkout*.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(ask(&town, "acme/gitops#1").await, @"
    No artefact is built from `acme/gitops`.
    Next: `/list` shows which artefacts there are.
    ");
    assert_snapshot!(ask(&town, "acme/shop#1 checkout").await, @"
    *checkout* is not built from `acme/shop`.
    Next: `/list` shows which artefacts there are.
    ");
    assert_snapshot!(ask(&town, "https://example.com/x").await, @"
    I find no commit, pull request or tag `example.com/x` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(ask(&town, "no-such-tag").await, @"
    I find no commit, pull request or tag `no-such-tag` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    // What came since is found.
    let pushed = town.push("checkout", "Round totals");
    town.wait(SignedDuration::from_mins(4)).await;
    assert!(ask(&town, &pushed[..7]).await.contains("in *development* since"));
}

#[tokio::test]
async fn what_is_typed_wrong_is_answered_at_once() {
    let town = World::open().await;
    let ack = town.alice().types("/gantry where").await;
    assert!(ack.contains("commit, pull request or tag"), "{ack}");
    let ack = town.alice().types("/gantry where d6c66c2 chekout").await;
    assert!(ack.contains("chekout"), "{ack}");
}

#[tokio::test]
async fn whoever_means_one_of_several_is_asked_and_a_button_answers() {
    let town = World::open().await;
    let first = open_pull(&town.sim, "checkout", REPOSITORY, "totals", "Round totals again");
    merge(&town.sim, REPOSITORY, first);
    open_pull(&town.sim, "mailer", "acme/shop", "letters", "Letters in blue");
    town.settle().await;
    // What is kept is enough where it is one; the other is known to GitHub only.
    let asked = ask(&town, "#1").await;
    assert!(asked.contains("Round totals again") && !asked.contains("Which"), "{asked}");

    let second = open_pull(&town.sim, "storefront", "acme/shop", "windows", "Windows in blue");
    assert_eq!(second, 2);
    let other = open_pull(&town.sim, "search", "acme/search", "names", "Names first");
    open_pull(&town.sim, "search", "acme/search", "words", "Words first");
    assert_eq!(other, 1);
    let asked = ask(&town, "#2").await;
    assert_snapshot!(asked, @"
    Which `#2` is meant?
    1. <http://town/sim/github/acme/shop/pull/2|acme/shop#2> Windows in blue (not merged)
    2. <http://town/sim/github/acme/search/pull/2|acme/search#2> Words first (not merged)
    [1. #2 in shop] [2. #2 in search]
    ");
    town.alice().clicks("2. #2 in search").await;
    let answer = redact_origin_and_ids(&town, &town.alice().reads());
    assert!(answer.contains("Words first is not merged: it is nowhere yet."), "{answer}");
    assert!(
        !town.ephemeral_messages("alice", "deploys").iter().any(|told| told.contains("Which")),
        "it gives way to the answer"
    );
}

#[tokio::test]
async fn commits_that_begin_alike_are_asked_about() {
    let town = World::open().await;
    // Somebody copied a commit with its subject and the number in it.
    for branch in ["develop", "qa"] {
        town.sim.push("checkout", branch, "Round totals (#9)", BTreeMap::new(), "bob").unwrap();
        town.settle().await;
    }
    let asked = ask(&town, "#9").await;
    let (one, other) = (head(&town, "develop"), head(&town, "qa"));
    let mut both = [one.clone(), other.clone()];
    both.sort();
    assert!(asked.starts_with("Which `#9` is meant?"), "{asked}");
    let at = both.iter().position(|sha| *sha == other).unwrap() + 1;
    town.alice().clicks(&format!("{at}. {} in checkout", other.short())).await;
    let answer = redact_commits(&town, &town.alice().reads(), &[(&other, "copy")]);
    assert!(answer.contains(":white_check_mark: in *qa* since"), "{answer}");
    assert!(answer.contains(":heavy_minus_sign: not in *development*"), "{answer}");
}

#[tokio::test]
async fn what_was_rolled_back_is_not_there_though_git_has_it() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    assert!(ask(&town, "d6c66c2").await.contains(":white_check_mark: in *qa* since"));
    town.bob().types("/rollback checkout qa --reason totals are wrong").await;
    assert_snapshot!(ask(&town, "d6c66c2").await, @"
    <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1794736800^{date_short_pretty} {time}|2026-11-15 10:00 UTC>
    :leftwards_arrow_with_hook: not in *qa*: it was rolled back there by <@U0BOB> <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> (totals are wrong). It waits for a repair that runs in *development*, with which `/promote checkout qa` brings it back
    :heavy_minus_sign: not in *staging* yet
    :heavy_minus_sign: not in *prod* yet
    ");
    // What came before it is still there, since before.
    let older = ask(&town, "7d03d5a").await;
    assert!(older.contains(":white_check_mark: in *qa* since <!date^1794744000^"), "{older}");

    let result = head(&town, "qa");
    let rollback = ask(&town, result.as_str()).await;
    assert!(rollback.contains(":white_check_mark: in *qa* since"), "the rollback itself: {rollback}");
}

#[tokio::test]
async fn a_rollback_that_the_ledger_does_not_know_counts_by_its_trailers() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    town.bob().types("/rollback checkout qa").await;
    // Another bot, which has seen nothing of it, in the same world.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    town.sim.slack.set_bot_url(&format!("http://{}", listener.local_addr().unwrap()));
    let demo = Demo::build_with_history(false, town.sim.clone(), |yaml| yaml).await.unwrap();
    let bot = demo.app.context.clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(demo.serve(listener, async {
        let _ = ended.await;
    }));
    let restored = head(&town, "qa");
    wait_until("it has compared what runs", async || {
        !bot.store.find_restored_commits(&REPOSITORY.parse().unwrap(), &[&restored]).await.unwrap().is_empty()
    })
    .await;
    town.sim.slack.type_command("alice", "deploys", "/gantry where d6c66c2").await.unwrap();
    let told = || redact_origin_and_ids(&town, &town.alice().reads());
    wait_until("it answers", async || told().contains("in *development*")).await;
    assert!(told().contains("not in *qa*: it was rolled back there. It waits for a repair"), "{}", told());
    drop(end);
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_hotfix_is_only_where_it_was_pushed() {
    let town = World::open().await;
    town.sim.push("checkout", "prod", "Stop double charges", BTreeMap::new(), "carol").unwrap();
    town.settle().await;
    let hotfix = head(&town, "prod");
    let before = requests(&town.sim).len();
    let answer = ask(&town, hotfix.short()).await;
    assert_snapshot!(redact_commits(&town, &answer, &[(&hotfix, "hotfix")]), @"
    <http://town/sim/github/acme/checkout/commit/<hotfix>|<hotfix>> Stop double charges · Carol Castro
    in `acme/checkout`
    *checkout*
    :heavy_minus_sign: not in *development*: it came past it, and waits to be merged into `develop` as well
    :heavy_minus_sign: not in *qa*
    :heavy_minus_sign: not in *staging*
    :white_check_mark: in *prod* since <!date^1794819606^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    ");
    let asked = requests(&town.sim).split_off(before);
    assert!(asked.len() <= 2, "{asked:#?}");
}

#[tokio::test]
async fn each_artefact_of_a_repository_has_its_lines() {
    let town = World::open().await;
    let file = BTreeMap::from([("storefront/a.txt".to_owned(), Some("a".to_owned()))]);
    let pushed = town.sim.push("storefront", "develop", "Windows in blue", file, "alice").unwrap();
    town.settle().await;
    let answer = ask(&town, pushed.short()).await;
    assert_snapshot!(redact_commits(&town, &answer, &[(&pushed, "push")]), @"
    <http://town/sim/github/acme/shop/commit/<push>|<push>> Windows in blue · Alice Adler
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
    let one = ask(&town, &format!("{} mailer", pushed.short())).await;
    assert!(one.contains("*mailer*") && !one.contains("*storefront*"), "{one}");
}

#[tokio::test]
async fn it_is_there_since_the_first_version_that_had_it() {
    let town = World::open().await;
    let first = town.push("checkout", "Round totals");
    town.settle().await;
    let since = ask(&town, &first[..7]).await;
    town.wait(SignedDuration::from_hours(5)).await;
    town.push("checkout", "Accept cards");
    town.settle().await;
    assert_eq!(ask(&town, &first[..7]).await, since, "whatever came after");
}

#[tokio::test]
async fn it_says_what_it_waits_for() {
    let town = World::open().await;
    // In staging, and next is prod, where somebody must approve.
    let staged = ask(&town, "d2aaacd").await;
    assert!(staged.contains("in *qa* since"), "{staged}");
    let round = town.sim.github.graph(REPOSITORY, 100).into_iter().find(|it| it.subject.starts_with("Round totals"));
    let round = round.expect("a commit").sha;
    let answer = ask(&town, round.short()).await;
    assert!(answer.contains("not in *prod* yet: it waits for `/promote checkout prod`"), "{answer}");
    town.alice().types("/promote checkout prod").await;
    town.alice().clicks_in("deploys", "Confirm").await;
    let answer = ask(&town, round.short()).await;
    assert!(answer.contains("not in *prod* yet: change `<id>` brings it and is waiting for approval"), "{answer}");
    let card = town.alice().reads();
    assert!(card.contains("|its card>") && !card.contains("{link}"), "{card}");
}

#[tokio::test]
async fn what_does_not_run_well_below_waits_for_that() {
    let town = World::open().await;
    town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("development".into()));
    let pushed = town.push("checkout", "Round totals");
    town.settle().await;
    let answer = ask(&town, &pushed[..7]).await;
    assert!(answer.contains(":red_circle: in *development*"), "{answer}");
    assert!(answer.contains("not in *qa* yet: it waits to run well in *development*"), "{answer}");
}

#[tokio::test]
async fn a_cluster_that_cannot_be_read_is_told_with_what_was_last_seen() {
    let town = World::open().await;
    town.sim.cluster.set_down("qa", true);
    let mut answer = String::new();
    for _ in 0..100 {
        answer = ask(&town, "7d03d5a").await;
        if answer.contains("cannot be read") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(answer.contains("in *qa* since") && answer.contains("(what was last seen: the cluster cannot"), "{answer}");
    town.sim.cluster.set_down("qa", false);
}

#[tokio::test]
async fn what_rolls_out_is_not_there_yet() {
    let town = World::open().await;
    let before = town.running_tag("checkout", "development");
    town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("development".into()));
    let pushed = town.push("checkout", "Round totals");
    town.settle_until(|| town.running_tag("checkout", "development") != before).await;
    town.wait_until_idle().await;
    town.alice().types_without_waiting("deploys", &format!("/gantry where {}", &pushed[..7])).await;
    town.wait_until_idle().await;
    let answer = redact_origin_and_ids(&town, &town.alice().reads());
    assert!(answer.contains(":hourglass_flowing_sand: rolling out in *development*, "), "{answer}");
    assert!(
        answer.contains("not in *qa* yet: it waits to run well in *development* (it is still rolling out"),
        "{answer}"
    );
    town.settle().await;
    let answer = ask(&town, &pushed[..7]).await;
    assert!(answer.contains(":white_check_mark: in *development* since"), "{answer}");
}

#[tokio::test]
async fn what_goes_by_manifest_is_found_as_well_and_what_was_rolled_back_there() {
    let town = World::open().await;
    let pushed = town.push("search", "Rank by price");
    town.settle().await;
    town.alice().types("/promote search qa").await;
    let tag = town.running_tag("search", "qa");
    let answer = ask(&town, &pushed[..7]).await;
    assert!(answer.contains(":white_check_mark: in *qa* since"), "{answer}");
    assert!(answer.contains("not in *staging* yet: it waits for `/promote search staging`"), "{answer}");
    assert_eq!(ask(&town, &tag).await, answer, "by its tag");
    town.bob().types("/rollback search qa").await;
    let answer = ask(&town, &pushed[..7]).await;
    assert!(answer.contains("not in *qa*: it was rolled back there by <@U0BOB>"), "{answer}");
    assert!(answer.contains(":white_check_mark: in *development* since"), "{answer}");
}

#[tokio::test]
async fn a_warm_answer_costs_github_nothing_and_a_cold_one_two_requests_an_artefact() {
    let town = World::open().await;
    let graph = town.sim.github.graph(REPOSITORY, 100);
    for commit in graph.iter().filter(|commit| commit.parents.len() < 2) {
        let before = requests(&town.sim).len();
        let cold = ask(&town, commit.sha.short()).await;
        let asked = requests(&town.sim).split_off(before);
        assert!(asked.len() <= 2, "{}: {asked:#?}", commit.subject);
        assert!(!cold.contains("not known"), "{cold}");
        let before = requests(&town.sim).len();
        assert_eq!(ask(&town, commit.sha.as_str()).await, cold);
        assert_eq!(requests(&town.sim).len(), before, "{}", commit.subject);
    }
}

#[tokio::test]
async fn github_is_not_needed_for_what_is_kept() {
    let town = World::open().await;
    let known = ask(&town, "d6c66c2").await;
    town.sim.faults.arm(Fault::Github502, 1000, None, None);
    assert_eq!(ask(&town, "d6c66c2").await, known);
    let unknown = ask(&town, "7d03d5a").await;
    assert!(unknown.contains("not known for *"), "{unknown}");
    assert!(unknown.contains("GitHub is not available"), "{unknown}");
}

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_there_for_all() {
    let town = World::open().await;
    let first = town.alice().posts("deploys", None, "Is it out?").await;
    town.alice().posts("deploys", Some(&first), "@gantry where d6c66c2").await;
    let told = town.sim.slack.messages("deploys", None);
    let answer = told.iter().rfind(|message| message.thread.as_deref() == Some(first.as_str())).expect("an answer");
    assert!(render_message(answer).contains(":white_check_mark: in *development* since"), "{}", render_message(answer));
    assert_eq!(answer.only_to, None);
}

#[tokio::test]
async fn a_guest_learns_nothing() {
    let town = World::open().await;
    town.dave().types("/gantry where d6c66c2").await;
    let told = town.ephemeral_messages("dave", "deploys");
    assert!(told.iter().all(|told| !told.contains("development")), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_found_is_known_after_a_restart() {
    let mut harness = ProcessHarness::open().await;
    let sim = harness.town.clone();
    // No comparison lists it: it is older than what runs anywhere.
    let first = sim.github.graph(REPOSITORY, 100).pop().expect("the first commit").sha;
    sim.github.tag(REPOSITORY, "begin", &first, "the first").unwrap();
    let answers = || {
        let told = sim.slack.messages("deploys", Some("alice"));
        told.iter().map(render_message).filter(|told| told.contains("Start the checkout")).collect::<Vec<_>>()
    };
    // The background learns the commits; until then the answer is another.
    for environment in ["development", "qa", "staging", "prod"] {
        let learned = "sighting WHERE artefact = 'checkout' AND environment = $1 AND commit_sha IS NOT NULL";
        harness.wait_until_stored(learned, environment).await;
    }
    harness.wait_until_idle().await;
    sim.slack.type_command("alice", "deploys", "/gantry where begin").await.unwrap();
    wait_until("it is answered", async || answers().len() == 1).await;
    harness.wait_until_idle().await;
    harness.restart().await;
    harness.wait_until_cluster_read().await;
    harness.wait_until_idle().await;
    // The background asks for what it needs itself.
    let of_it = |request: &String| request.contains(first.short()) || request.contains("begin");
    let asked = || requests(&sim).into_iter().filter(of_it).collect::<Vec<_>>();
    let before = asked();
    for what in ["begin", first.short()] {
        let count = answers().len();
        sim.slack.type_command("alice", "deploys", &format!("/gantry where {what}")).await.unwrap();
        wait_until("it is answered again", async || answers().len() > count).await;
    }
    assert_eq!(asked(), before);
    let told = answers();
    assert!(told.iter().all(|one| *one == told[0]), "{told:#?}");
}

#[tokio::test]
async fn a_hotfix_upon_a_rollback_brings_nothing_back() {
    let town = World::open().await;
    let bad = town.running_tag("checkout", "development")["develop-".len()..].to_owned();
    town.alice().types("/promote checkout qa").await;
    town.bob().types("/rollback checkout qa --reason totals are wrong").await;
    let hotfix = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    let hotfix = town.sim.push("checkout", "qa", "Stop the bleeding", hotfix, "bob").unwrap();
    town.settle().await;
    let seen = ask(&town, &bad).await;
    assert!(seen.contains("not in *qa*"), "{seen}");
    let seen = ask(&town, hotfix.short()).await;
    assert!(seen.contains("in *qa* since"), "{seen}");
}
