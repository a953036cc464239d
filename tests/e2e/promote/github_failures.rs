//! GitHub failures during a promotion by branch: each failure ends in the right stage with a clear sentence. Transient
//! failures are retried, and no write happens twice.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;
use crate::ops::metrics::scrape::Scrape;

fn head(world: &World) -> Sha {
    world.sim.github.head("acme/checkout", "qa").expect("a branch")
}

/// The card without the lines of the plan.
fn card(world: &World) -> String {
    let card = world.public_messages("deploys").into_iter().next().expect("a card");
    let end = card.find("\n`qa-6cff9ae` →").expect("the plan");
    let rest = &card[end..];
    let after = rest.find("Adler\n").map_or("", |start| &rest[start + "Adler\n".len()..]);
    let after = after.split("asked by").next().unwrap_or_default();
    format!("{}\n{after}", &card[..end]).trim_end().to_owned()
}

fn count_merge_requests(world: &World) -> usize {
    world
        .sim
        .github
        .request_faults()
        .requests()
        .iter()
        .filter(|request| *request == "POST /repos/acme/checkout/merges")
        .count()
}

/// The number of merge commits that Gantry made, and the number of today's tags of qa.
fn count_merges_and_tags(world: &World) -> (usize, usize) {
    let graph = world.sim.github.graph("acme/checkout", 100);
    let ours = graph.iter().filter(|commit| commit.subject.starts_with("Promote checkout")).count();
    let tags = world.sim.github.tags("acme/checkout");
    (ours, tags.keys().filter(|name| name.starts_with("qa/2026.11.16-")).count())
}

fn error_response(status: u16, message: &'static str) -> RequestFault {
    RequestFault::Reply(status, message, vec![])
}

async fn promote_with_fault(fault: RequestFault, when: FaultTiming, times: u32) -> World {
    let world = World::open().await;
    world.sim.github.request_faults().inject("POST", "/merges", when, fault, times);
    world.alice().types("/promote checkout qa").await;
    world
}

#[tokio::test]
async fn a_permanent_github_error_ends_the_change_at_once_without_a_retry() {
    let before = head(&World::open().await);
    let world = promote_with_fault(error_response(401, "Bad credentials"), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub refuses us: Bad credentials. Check the token, or the app's installation and permissions.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");
    assert_eq!((count_merge_requests(&world), head(&world)), (1, before.clone()));

    let world =
        promote_with_fault(error_response(403, "Resource not accessible by integration"), FaultTiming::BeforeEffect, 9)
            .await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub refuses us: Resource not accessible by integration. Check the token, or the app's installation and permissions.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");
    assert_eq!(count_merge_requests(&world), 1);

    let world = promote_with_fault(error_response(404, "Not Found"), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub does not find acme/checkout, or does not let me see it (Not Found). Check what the token may do.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");

    let world = promote_with_fault(error_response(404, "Base does not exist"), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* The branch qa is gone from acme/checkout. Make it again: git push origin d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf:refs/heads/qa
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");

    let world = promote_with_fault(error_response(404, "Head does not exist"), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* The commit d6c66c2 is not in acme/checkout any more.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");

    let protected = "You're not authorized to push to this branch. Visit https://docs.github.com for more information.";
    let world = promote_with_fault(error_response(409, protected), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub does not let me merge into qa: You're not authorized to push to this branch. Visit https://docs.github.com for more information. Let me push there, or change the branch's rules.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");

    let world = promote_with_fault(error_response(422, "Validation Failed"), FaultTiming::BeforeEffect, 9).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub does not let me merge into qa: Validation Failed. Let me push there, or change the branch's rules.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");
    assert_eq!((count_merge_requests(&world), count_merges_and_tags(&world)), (1, (0, 0)));
}

#[tokio::test]
async fn a_merge_waits_as_long_as_githubs_rate_limit_says() {
    for (status, wait) in [(403, "90"), (429, "3000")] {
        let fault = RequestFault::Reply(
            status,
            "You have exceeded a secondary rate limit",
            vec![("retry-after", wait.to_owned())],
        );
        let world = World::open().await;
        world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, fault, 1);
        let started_at = world.clock.now();
        world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
        world.wait_until_idle().await;
        world.wait(SignedDuration::from_secs(2)).await;
        assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
        assert!(world.clock.now().duration_since(started_at).as_secs() >= wait.parse().unwrap());
        assert_eq!((count_merge_requests(&world), count_merges_and_tags(&world)), (2, (1, 1)));
    }
}

#[tokio::test]
async fn a_merge_that_waits_for_github_says_why_and_can_be_cancelled() {
    let world = World::open().await;
    let before = head(&world);
    let fault = RequestFault::Reply(429, "slow down", vec![("retry-after", "600".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, fault, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    assert_snapshot!(card(&world), @"
    :hourglass_flowing_sand: *checkout* `develop-d6c66c2`: merging into *qa*
    :hourglass_flowing_sand: merging  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    1 file, +1 −0
    :warning: GitHub's rate limit is used up until 09:10 UTC. I keep trying.
    [Cancel]
    ");

    let message =
        world.sim.slack.messages("deploys", None).into_iter().find(|message| message.only_to.is_none()).unwrap();
    world.sim.slack.click("bob", "deploys", &message.id, "Cancel").await.unwrap();
    world.clock.advance(SignedDuration::from_secs(2));
    world.wait_until_idle().await;
    assert_snapshot!(card(&world), @"
    :white_circle: *checkout* `develop-d6c66c2`: not promoted to *qa*, cancelled
    1 file, +1 −0
    Cancelled by <@U0BOB>; nothing was merged. Again: `/promote checkout qa`
    ");
    world.settle().await;
    assert_eq!((count_merge_requests(&world), head(&world)), (1, before));
    let messages = world.public_messages("deploys");
    assert!(
        messages.last().unwrap().contains("<@U0ALICE> *checkout* `develop-d6c66c2`: not promoted"),
        "{messages:#?}"
    );

    world.wait(SignedDuration::from_mins(10)).await;
    world.alice().types("/promote checkout qa").await;
    assert!(
        world.public_messages("deploys").iter().any(|card| card.contains("running in *qa*")),
        "the change lock is free again"
    );
}

#[tokio::test]
async fn a_server_error_is_retried_and_merges_once() {
    for when in [FaultTiming::BeforeEffect, FaultTiming::AfterEffect] {
        for fault in [
            error_response(500, "oops"),
            error_response(502, "Bad gateway"),
            error_response(504, "timeout"),
            RequestFault::Disconnect,
        ] {
            let name = format!("{when:?} {fault:?}");
            let world = promote_with_fault(fault, when, 2).await;
            assert!(card(&world).contains("running in *qa*"), "{name}: {}", card(&world));
            assert_eq!(count_merges_and_tags(&world), (1, 1), "{name}");
        }
    }
}

#[tokio::test]
async fn a_merge_without_a_response_is_found_and_not_repeated() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::GithubTimeoutAfterEffect, 1, Some("checkout".into()), None);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    // The timeout of the request runs in real time.
    world.settle_within(std::time::Duration::from_mins(1)).await;
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert_eq!((count_merge_requests(&world), count_merges_and_tags(&world)), (1, (1, 1)));
}

#[tokio::test]
async fn a_change_can_be_cancelled_by_its_short_id_only_once() {
    let world = World::open().await;
    let fault = RequestFault::Reply(429, "slow down", vec![("retry-after", "600".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, fault, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let status = world.alice().types_without_waiting("deploys", "/gantry status").await;
    let (_, digits) = status.split_once("/gantry cancel ").expect("the cancel command");
    let cancel = format!("/gantry cancel {}", &digits[..8]);
    world.bob().types_without_waiting("deploys", &cancel).await;
    world.clock.advance(SignedDuration::from_secs(3));
    world.wait_until_idle().await;
    assert!(card(&world).contains("Cancelled by <@U0BOB>"), "{}", card(&world));
    world.bob().types(&cancel).await;
    assert!(world.bob().reads().contains("There is nothing left to cancel"), "{}", world.bob().reads());
    world.bob().types("/gantry cancel 0badcafe").await;
    assert!(world.bob().reads().contains("I know no change `0badcafe`"), "{}", world.bob().reads());
    assert!(world.bob().types("/gantry cancel").await.contains("`cancel` needs a change"));
}

#[tokio::test]
async fn cancel_first_checks_whether_the_merge_already_happened() {
    let world = World::open().await;
    let faults = world.sim.github.request_faults();
    faults.inject("POST", "/merges", FaultTiming::AfterEffect, error_response(502, "Bad gateway"), 1);
    let limit = RequestFault::Reply(429, "slow down", vec![("retry-after", "300".to_owned())]);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    assert!(card(&world).contains("it answered 502"), "{}", card(&world));
    faults.inject("GET", "/repos/acme/checkout/commits", FaultTiming::BeforeEffect, limit, 1);
    world.clock.advance(SignedDuration::from_secs(3));
    world.wait_until_idle().await;
    assert!(card(&world).contains("rate limit"), "{}", card(&world));
    let message =
        world.sim.slack.messages("deploys", None).into_iter().find(|message| message.only_to.is_none()).unwrap();
    world.sim.slack.click("bob", "deploys", &message.id, "Cancel").await.unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *qa*"), "the merge had happened before: {}", card(&world));
    assert_eq!(count_merges_and_tags(&world), (1, 1));
}

#[tokio::test]
async fn waiting_for_a_rate_limit_does_not_use_up_the_retries() {
    let world = World::open().await;
    let limit = RequestFault::Reply(429, "slow down", vec![("retry-after", "3500".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, limit, 1);
    world.sim.github.request_faults().inject(
        "POST",
        "/merges",
        FaultTiming::BeforeEffect,
        error_response(502, "Bad gateway"),
        1,
    );
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    for _ in 0..70 {
        world.wait_until_idle().await;
        world.clock.advance(SignedDuration::from_mins(1));
    }
    world.settle().await;
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert_eq!((count_merge_requests(&world), count_merges_and_tags(&world)), (3, (1, 1)));
}

#[tokio::test]
async fn a_merged_change_cannot_be_cancelled() {
    let world = World::open().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    let shown = world.public_messages("deploys").remove(0);
    let (_, digits) = shown.split_once("change `").expect("the id of the change");
    world.alice().types(&format!("/gantry cancel {}", &digits[..8])).await;
    let answers = world.ephemeral_messages("alice", "deploys").concat();
    assert!(answers.contains("It is merged already, so it cannot be cancelled"), "{answers}");
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
}

#[tokio::test]
async fn a_promotion_survives_simulated_502_responses() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::Github502, 5, Some("checkout".into()), None);
    world.alice().types("/promote checkout qa").await;
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert_eq!(count_merges_and_tags(&world), (1, 1));
}

#[tokio::test]
async fn a_promotion_ends_in_an_error_if_github_stays_unavailable_and_can_be_retried() {
    let world = promote_with_fault(error_response(503, "Unicorn"), FaultTiming::BeforeEffect, 99).await;
    assert_snapshot!(card(&world), @"
    :red_circle: *checkout* `develop-d6c66c2`: could not be merged into *qa*
    1 file, +1 −0
    *Why:* GitHub is not available: it answered 503.
    Next: once that is repaired, `/promote checkout qa` goes on from there.
    [Promote]
    ");
    let attempts = count_merge_requests(&world);
    assert!((6..=14).contains(&attempts), "{attempts}");
    assert!(world.alice().types("/gantry status").await.contains("Nothing is under way"));

    world.sim.github.request_faults().clear();
    world.alice().types("/promote checkout qa").await;
    let cards: Vec<_> =
        world.public_messages("deploys").into_iter().filter(|message| message.contains("asked by")).collect();
    assert_eq!(cards.len(), 1, "the same change, the same card: {cards:#?}");
    assert!(cards[0].contains("running in *qa*"), "{}", cards[0]);
    assert_eq!(count_merges_and_tags(&world), (1, 1));
}

#[tokio::test]
async fn each_end_of_a_retried_change_is_announced_to_the_person_who_requested_it() {
    let world = promote_with_fault(error_response(401, "Bad credentials"), FaultTiming::BeforeEffect, 2).await;
    // The key of an end's message contains the time: two ends in the same microsecond would share one message.
    world.wait(SignedDuration::from_secs(1)).await;
    world.bob().types("/promote checkout qa").await;
    let ends: Vec<_> = world
        .public_messages("deploys")
        .into_iter()
        .filter(|message| message.contains("could not be merged") && message.starts_with("<@"))
        .collect();
    assert_eq!(ends.len(), 2, "{ends:#?}");
    assert!(ends[0].starts_with("<@U0ALICE>") && ends[1].starts_with("<@U0BOB>"), "{ends:#?}");
}

#[tokio::test]
async fn a_retry_finds_the_merge_that_happened_before_the_error() {
    let world = World::open().await;
    world.sim.github.request_faults().inject(
        "POST",
        "/merges",
        FaultTiming::AfterEffect,
        error_response(401, "Bad credentials"),
        1,
    );
    world.alice().types("/promote checkout qa").await;
    assert!(card(&world).contains("could not be merged"), "{}", card(&world));
    let merged = head(&world);
    let message =
        world.sim.slack.messages("deploys", None).into_iter().find(|message| message.only_to.is_none()).unwrap();
    world.sim.slack.click("bob", "deploys", &message.id, "Promote").await.unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert_eq!((head(&world), count_merges_and_tags(&world), count_merge_requests(&world)), (merged, (1, 1), 1));
}

#[tokio::test]
async fn durations_of_a_retried_change_count_from_the_retry() {
    let world = promote_with_fault(error_response(401, "Bad credentials"), FaultTiming::BeforeEffect, 1).await;
    world.wait(SignedDuration::from_hours(3)).await;
    // The merge is paused, so that `status` shows the change under way.
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.bob().clicks_without_waiting("deploys", "Promote").await;
    world.settle_until(|| count_merge_requests(&world) == 2).await;
    let status = world.bob().types_without_waiting("deploys", "/gantry status").await;
    assert!(status.contains("under way for 0 s"), "{status}");
    let age = |scrape: &Scrape| scrape.sum("gantry_change_oldest_seconds", &[("stage", "merging")]).unwrap();
    let scrape = Scrape::of(&world.origin).await;
    assert!(age(&scrape) < 60.0, "{}", age(&scrape));
    world.sim.github.request_faults().resume();
    world.settle().await;

    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert!(!card(&world).contains(" h"), "{}", card(&world));
    let history = world.bob().types("/gantry history checkout qa").await;
    let line = history.lines().find(|line| line.contains("deployed, took")).unwrap_or_else(|| panic!("{history}"));
    assert!(!line.contains(" h"), "{line}");
    let scrape = Scrape::of(&world.origin).await;
    let merge = scrape.sum("gantry_change_step_duration_seconds_sum", &[("step", "merge")]).unwrap();
    let whole = scrape.sum("gantry_change_duration_seconds_sum", &[]).unwrap();
    assert!(merge < 60.0 && whole < 60.0, "{merge} {whole}");
}

#[tokio::test]
async fn another_persons_merge_of_the_same_commit_is_adopted() {
    let world = World::open().await;
    let pinned = world.sim.github.head("acme/checkout", "develop").unwrap();
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    crate::harness::process::wait_until("the merge is paused", async || {
        world.sim.github.request_faults().has_paused_request()
    })
    .await;
    let author = gantry::sim::github::Author { name: "Bob".into(), email: "bob@acme.example".into(), login: None };
    let theirs = world.sim.github.merge("acme/checkout", "qa", &pinned, "By hand", &author, world.clock.now()).unwrap();
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert_eq!(head(&world), theirs);
    assert!(card(&world).contains("running in *qa*"), "{}", card(&world));
    assert!(card(&world).contains(theirs.short()), "{}", card(&world));
}

#[tokio::test]
async fn a_merge_conflict_names_the_files() {
    let world = World::open().await;
    let file = |text: &str| BTreeMap::from([("src/price.rs".to_owned(), Some(text.to_owned()))]);
    world.sim.push("checkout", "qa", "Price by hand", file("1"), "bob").unwrap();
    world.sim.push("checkout", "develop", "Price by law", file("2"), "alice").unwrap();
    world.settle().await;
    let before = head(&world);
    world.alice().types("/promote checkout qa").await;
    let messages = world.public_messages("deploys");
    let card = messages.iter().find(|message| message.contains("conflicts with *qa*")).expect("a card");
    assert!(card.contains("*Why:* both sides changed `src/price.rs`."), "{card}");
    assert!(card.contains("Next: merge `qa` into what is to be promoted"), "{card}");
    assert_eq!(head(&world), before);
    assert!(world.alice().types("/gantry status").await.contains("Nothing is under way"));
}

#[tokio::test]
async fn the_simulated_merge_conflict_is_shown_on_the_card() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::MergeConflict, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    assert!(card(&world).contains("conflicts with *qa*"), "{}", card(&world));
}

#[tokio::test]
async fn a_git_tag_is_created_once_although_the_response_was_lost() {
    for when in [FaultTiming::BeforeEffect, FaultTiming::AfterEffect] {
        for path in ["/git/tags", "/git/refs"] {
            let world = World::open().await;
            world.sim.github.request_faults().inject("POST", path, when, error_response(502, "Bad gateway"), 1);
            world.alice().types("/promote checkout qa").await;
            assert!(card(&world).contains("tagged `qa/2026.11.16-1`"), "{path} {when:?}: {}", card(&world));
            assert_eq!(count_merges_and_tags(&world), (1, 1), "{path} {when:?}");
        }
    }
}

#[tokio::test]
async fn a_slow_response_of_github_does_not_delay_other_changes() {
    let world = World::open().await;
    world.sim.github.request_faults().inject(
        "POST",
        "/acme/checkout/merges",
        FaultTiming::BeforeEffect,
        RequestFault::Pause,
        1,
    );
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    let file = BTreeMap::from([("storefront/a".to_owned(), Some("a".to_owned()))]);
    world.sim.push("storefront", "develop", "Paint it blue", file, "alice").unwrap();
    // `settle` would wait for the paused merge.
    let advance_until = async |condition: &dyn Fn() -> bool| {
        for _ in 0..400 {
            world.clock.advance(SignedDuration::from_millis(250));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            if condition() {
                return;
            }
        }
        panic!("the condition was never met: {:#?}", world.public_messages("deploys"));
    };
    advance_until(&|| {
        world.public_messages("deploys").iter().any(|message| message.contains("*storefront* `develop-"))
    })
    .await;
    world.bob().types_without_waiting("deploys", "/promote storefront qa").await;
    advance_until(&|| world.bob().reads().contains("[Confirm]")).await;
    let plan = world.last_message("bob", "deploys").id;
    world.sim.slack.click("bob", "deploys", &plan, "Confirm").await.unwrap();
    advance_until(&|| {
        world
            .public_messages("deploys")
            .iter()
            .any(|message| message.contains("*storefront*") && message.contains("running in *qa*"))
    })
    .await;
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert!(
        world
            .public_messages("deploys")
            .iter()
            .any(|message| message.contains("*checkout*") && message.contains("running in *qa*"))
    );
}
