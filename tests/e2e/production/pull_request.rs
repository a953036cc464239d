//! Production by branch: the pull request, its approval and its merge. No commit is merged that was not shown.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;
use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault, Rules, Verdict};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::production::{REPOSITORY, card, head, promote_newer_to_staging, pull, request_production};
use crate::harness::world::{World, redact_origin_and_ids, render_message};

fn parents(world: &World, sha: &Sha) -> Vec<Sha> {
    let graph = world.sim.github.graph(REPOSITORY, 100);
    graph.into_iter().find(|commit| commit.sha == *sha).expect("a commit").parents
}

fn assert_no_branch_left(world: &World) {
    let branches = world.sim.github.branches(REPOSITORY);
    assert!(!branches.keys().any(|branch| branch.starts_with("gantry/")), "{branches:#?}");
}

#[tokio::test]
async fn a_second_person_must_approve_production() {
    let world = World::open().await;
    let (pinned, before) = (head(&world, "staging"), head(&world, "prod"));
    world.alice().types("/promote checkout prod").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    Promote *checkout* `staging-84d172a` to *prod*, by a pull request into `prod` and a tag
    `prod-0702d4d` → `staging-84d172a`, commit `84d172a` as it runs in staging · <http://world/sim/github/acme/checkout/compare/0702d4deb94bb002366e986264d69205d7f07e8e...84d172adf91d04a6d97bb88e3ffc330537fadd1f|compare>
    runs well in staging since <!date^1794747600^{date_short_pretty} {time}|2026-11-15 13:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/checkout/commit/8ea1fa5d91fe5f6eb30b2748889b98467d94ed87|8ea1fa5> Round totals per line, as the invoice does · Alice Adler
    1 file, +1 −0
    [Confirm] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(
        world.public_messages("releases"),
        Vec::<String>::new(),
        "the channel gets no message before the confirmation"
    );

    world.alice().clicks_in("deploys", "Confirm").await;
    let pull = pull(&world).expect("a pull request");
    assert_eq!((pull.base.as_str(), pull.state), ("prod", "open"));
    assert_snapshot!(card(&world), @"
    :raised_hand: *checkout* `staging-84d172a` for *prod*: waiting for 1 approval
    :raised_hand: waiting for approval  ›  :white_circle: merged  ›  :white_circle: built  ›  :white_circle: rollout  ›  :white_circle: running
    :twisted_rightwards_arrows: pull request <http://world/sim/github/acme/checkout/pull/1|#1>, frozen at `<frozen>`
    0 of 1 approval, asked of <!subteam^S0RELEASE|@release-managers>; not of <@U0ALICE>
    `prod-<prod>` → `staging-84d172a`, commit `84d172a` as it runs in staging · <http://world/sim/github/acme/checkout/compare/<prod>...84d172adf91d04a6d97bb88e3ffc330537fadd1f|compare>
    runs well in staging since <!date^1794747600^{date_short_pretty} {time}|2026-11-15 13:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/checkout/commit/8ea1fa5d91fe5f6eb30b2748889b98467d94ed87|8ea1fa5> Round totals per line, as the invoice does · Alice Adler
    1 file, +1 −0
    [Approve] [Reject] [Cancel]
    asked by <@U0ALICE> · <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    assert_eq!(head(&world, "prod"), before);

    world.alice().clicks_in("releases", "Approve").await;
    assert_snapshot!(world.ephemeral_messages("alice", "releases").pop().unwrap(), @"You asked for this change, so somebody else must approve it.");
    assert_eq!(head(&world, "prod"), before);

    world.bob().clicks_in("releases", "Approve").await;
    let merged = head(&world, "prod");
    assert_ne!(merged, before);
    assert_eq!(parents(&world, &merged), [before.clone(), pull.head_sha.clone()]);
    assert_eq!(parents(&world, &pull.head_sha), [before, pinned], "the result is the planned merge");
    assert!(world.running_tag("checkout", "prod").ends_with(merged.short()));
    assert_snapshot!(card(&world), @"
    :large_green_circle: *checkout* `staging-84d172a`: running in *prod*, 3 of 3 ready
    :white_check_mark: approved  ›  :white_check_mark: merged  ›  :white_check_mark: built  ›  :white_check_mark: rolled out  ›  :white_check_mark: running after
    merged into `prod` as <http://world/sim/github/acme/checkout/commit/<prod>|<prod>> · tagged `prod/2026.11.16-1` · known by the image's tag
    approved by <@U0BOB>
    `prod-0702d4d` → `staging-84d172a`, commit `84d172a` as it runs in staging · <http://world/sim/github/acme/checkout/compare/0702d4deb94bb002366e986264d69205d7f07e8e...84d172adf91d04a6d97bb88e3ffc330537fadd1f|compare>
    runs well in staging since <!date^1794747600^{date_short_pretty} {time}|2026-11-15 13:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/checkout/commit/8ea1fa5d91fe5f6eb30b2748889b98467d94ed87|8ea1fa5> Round totals per line, as the invoice does · Alice Adler
    1 file, +1 −0
    [Roll back]
    asked by <@U0ALICE> · <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    assert_no_branch_left(&world);
    assert!(world.sim.github.tags(REPOSITORY).contains_key("prod/2026.11.16-1"));
}

#[tokio::test]
async fn the_pull_request_describes_the_versions_checks_commits_and_hotfixes() {
    let world = World::open().await;
    let staging = head(&world, "staging");
    world.sim.github.set_check(REPOSITORY, &staging, "build", "success").unwrap();
    let file = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    world.sim.push("checkout", "prod", "Stop the bleeding @here", file, "bob").unwrap();
    world.settle().await;
    let pull = request_production(&world).await;
    assert_eq!(pull.title, "Promote checkout staging-84d172a to prod");
    let hotfix = head(&world, "prod");
    let body = redact_origin_and_ids(&world, &pull.body).replace(hotfix.as_str(), "<hotfix>");
    let (body, trailer) = body.split_once("Gantry-Change: ").expect("a trailer");
    assert_eq!(trailer.trim().len(), 36);
    assert_snapshot!(body.replace(&world.running_tag("checkout", "prod"), "<prod>"), @"
    Asked for by alice in Slack. **checkout** in **prod**: `<prod>` → `staging-84d172a`, commit 84d172adf91d04a6d97bb88e3ffc330537fadd1f as it runs in **staging**.

    It has run well in staging since 2026-11-15 13:00 UTC (20 h).

    1 check is green on that commit.

    Commits (1):

    - 8ea1fa5d91fe5f6eb30b2748889b98467d94ed87 Round totals per line, as the invoice does · Alice Adler

    Only `prod` has these; they stay there, and are not below (1):

    - <hotfix> Stop the bleeding @&#8203;here · Bob Brandt

    Files that change: 1, +1 −0.

    It is merged when 1 person has approved it, in Slack or here. Do not push to this branch: it is frozen, so that what is merged is what was seen.
    ");
}

#[tokio::test]
async fn a_cancelled_plan_does_nothing() {
    let world = World::open().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Cancel").await;
    assert!(world.alice().reads().starts_with("Cancelled: nothing was done."));
    assert_eq!(pull(&world), None);
    assert_eq!(world.public_messages("releases"), Vec::<String>::new());
}

#[tokio::test]
async fn a_plan_is_checked_again_at_confirm_and_promotes_the_commit_that_was_shown() {
    let world = World::open().await;
    let pinned = head(&world, "staging");
    world.alice().types("/promote checkout prod").await;
    promote_newer_to_staging(&world).await;
    world.sim.github.set_check(REPOSITORY, &pinned, "build", "failure").unwrap();
    world.alice().clicks_in("deploys", "Confirm").await;
    let answers = world.ephemeral_messages("alice", "deploys");
    assert!(answers.iter().any(|message| message.starts_with("Checks are red on ")), "{answers:#?}");
    assert_eq!(pull(&world), None);

    world.sim.github.set_check(REPOSITORY, &pinned, "build", "success").unwrap();
    world.alice().types(&format!("/promote checkout prod @{}", &pinned.as_str()[..12])).await;
    world.alice().clicks_in("deploys", "Confirm").await;
    let pull = pull(&world).expect("a pull request");
    assert_eq!(
        parents(&world, &pull.head_sha)[1],
        pinned,
        "the commit that was shown, and not the one that runs in staging now"
    );
}

#[tokio::test]
async fn a_pull_request_is_opened_and_merged_once_although_responses_were_lost() {
    let world = World::open().await;
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("POST", "/pulls", FaultTiming::AfterEffect, down.clone(), 1);
    world.sim.github.request_faults().inject("POST", "/merges", FaultTiming::AfterEffect, down.clone(), 1);
    request_production(&world).await;
    assert_eq!(world.sim.github.pulls(REPOSITORY).len(), 1);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::AfterEffect, down, 1);
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    let graph = world.sim.github.graph(REPOSITORY, 100);
    let ours = graph.iter().filter(|commit| commit.subject.starts_with("Promote checkout staging-84d172a to prod"));
    assert_eq!(ours.count(), 2, "the result and its merge, once each");
}

#[tokio::test]
async fn a_newer_promotion_asks_before_it_supersedes_the_waiting_one() {
    let world = World::open().await;
    let first = request_production(&world).await;
    promote_newer_to_staging(&world).await;
    world.bob().types("/promote checkout prod").await;
    let plan = world.bob().reads();
    let line = plan.lines().find(|line| line.contains("takes the place")).expect("a warning");
    assert_snapshot!(line, @":warning: This takes the place of `staging-84d172a`, which <@U0ALICE> asked for and which waits for approval since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: its pull request is closed");
    assert_eq!(world.sim.github.pulls(REPOSITORY)[0].state, "open");

    world.bob().clicks_in("deploys", "Confirm").await;
    let pulls = world.sim.github.pulls(REPOSITORY);
    assert_eq!(pulls.iter().map(|pull| pull.state).collect::<Vec<_>>(), ["closed", "open"]);
    assert!(pulls[0].comments[0].starts_with("Another change takes its place: change "), "{:?}", pulls[0].comments);
    assert!(!world.sim.github.branches(REPOSITORY).contains_key(&first.head), "its result branch is deleted");
    let cards: Vec<_> =
        world.public_messages("releases").into_iter().filter(|message| message.contains("asked by")).collect();
    assert!(cards[0].contains("not promoted to *prod*, another change takes its place"), "{}", cards[0]);
    assert!(cards[1].contains("waiting for 1 approval"), "{}", cards[1]);
    let announcement = world
        .public_messages("releases")
        .into_iter()
        .find(|message| message.starts_with("<@U0ALICE>"))
        .expect("a message to alice");
    assert!(announcement.contains("another change takes its place"), "{announcement}");

    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_second_request_for_the_same_version_is_refused_and_names_the_first_requester() {
    let world = World::open().await;
    request_production(&world).await;
    world.bob().types("/promote checkout prod").await;
    let answer = world.bob().reads();
    assert!(answer.starts_with("<@U0ALICE> is promoting *checkout* to *prod* since"), "{answer}");
    assert!(answer.contains("it is waiting for approval"), "{answer}");
    assert!(answer.contains("/gantry cancel"), "{answer}");
    let status = world.bob().types("/gantry status").await;
    assert!(status.contains("waiting for 1 approval") && status.contains("/gantry cancel"), "{status}");
}

#[tokio::test]
async fn a_conflict_is_shown_before_approval_is_asked_for() {
    let world = World::open().await;
    let clash = |text: &str| BTreeMap::from([("src/checkout.txt".to_owned(), Some(text.to_owned()))]);
    world.sim.push("checkout", "prod", "One way", clash("one\n"), "bob").unwrap();
    world.settle().await;
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert!(card(&world).contains("conflicts with *prod*"), "{}", card(&world));
    assert!(card(&world).contains("both sides changed `src/checkout.txt`"), "{}", card(&world));
    assert_eq!(pull(&world), None);
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn if_no_approval_is_required_the_pull_request_is_merged_when_github_allows_it() {
    let world =
        World::with_config(|yaml| yaml.replace("    approvals: { required: 1, from: [\"@release-managers\"] }\n", ""))
            .await;
    request_production(&world).await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert_eq!(pull(&world).map(|pull| pull.state), Some("merged"));
}

#[tokio::test]
async fn approvals_can_be_required_without_a_pull_request() {
    let world = World::with_config(|yaml| yaml.replace("    promote: pull_request\n", "")).await;
    let pinned = head(&world, "staging");
    world.alice().types("/promote checkout prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(pull(&world), None);
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert_eq!(parents(&world, &head(&world, "prod"))[1], pinned);
}

#[tokio::test]
async fn a_pull_request_merged_by_hand_is_adopted() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    let merged = world.sim.github.merge_pull(REPOSITORY, pull.number, "carol").unwrap();
    world.settle().await;
    assert_eq!(head(&world, "prod"), merged);
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert!(card(&world).contains("by hand, by `carol` on GitHub"), "{}", card(&world));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_pull_request_closed_by_hand_cancels_the_change() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.github.close_pull(REPOSITORY, pull.number, "carol").unwrap();
    world.settle().await;
    assert!(card(&world).contains("not promoted to *prod*, cancelled"), "{}", card(&world));
    assert!(card(&world).contains("Its pull request was closed on GitHub; nothing was merged."), "{}", card(&world));
    assert_no_branch_left(&world);
    // The change lock is free again.
    request_production(&world).await;
    assert!(card(&world).contains("waiting for 1 approval"), "{}", card(&world));
}

#[tokio::test]
async fn a_deleted_result_branch_or_environment_branch_ends_the_change() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.github.delete_branch(REPOSITORY, &pull.head).unwrap();
    world.settle().await;
    assert!(card(&world).contains("closed on GitHub; nothing was merged"), "{}", card(&world));

    request_production(&world).await;
    world.sim.github.delete_branch(REPOSITORY, "prod").unwrap();
    world.settle().await;
    let cards: Vec<_> =
        world.public_messages("releases").into_iter().filter(|message| message.contains("asked by")).collect();
    let last = cards.last().unwrap();
    assert!(last.contains("The branch prod is gone from acme/checkout. Make it again: git push origin"), "{last}");
}

#[tokio::test]
async fn a_retargeted_pull_request_is_not_merged_until_it_points_back_at_prod() {
    let world = World::open().await;
    let before = head(&world, "prod");
    let pull = request_production(&world).await;
    world.sim.github.retarget_pull(REPOSITORY, pull.number, "qa").unwrap();
    world.settle().await;
    world.bob().clicks_in("releases", "Approve").await;
    assert!(
        card(&world)
            .contains("somebody pointed the pull request at `qa`. Point it back at `prod` on GitHub, or cancel"),
        "{}",
        card(&world)
    );
    assert_eq!(head(&world, "prod"), before);
    world.sim.github.retarget_pull(REPOSITORY, pull.number, "prod").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_review_that_githubs_rules_require_is_waited_for() {
    let world = World::open().await;
    let rules = Rules { required_reviews: 1, protected_from_pushes: true, ..Rules::default() };
    world.sim.github.protect(REPOSITORY, "prod", rules).unwrap();
    let before = head(&world, "prod");
    let pull = request_production(&world).await;
    world.carol().clicks_in("releases", "Approve").await;
    assert_eq!(head(&world, "prod"), before, "an approval in Slack is no review on GitHub");
    let shown = card(&world);
    assert!(
        shown.contains("GitHub's own rules for `prod` want 1 approving review there: an approval in Slack is none"),
        "{shown}"
    );
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn each_error_response_to_a_merge_is_retried_or_ends_the_change() {
    let answers = [
        (405, "Base branch was modified. Review and try the merge again.", "running in *prod*"),
        (405, "Pull Request is not mergeable", "running in *prod*"),
        (409, "Head branch was modified. Review and try the merge again.", "running in *prod*"),
        (
            405,
            "Merge commits are not allowed on this repository.",
            "GitHub does not let me merge the pull request #1: Merge commits are not allowed",
        ),
        (422, "Validation Failed", "GitHub does not let me merge the pull request #1: Validation Failed."),
        (502, "Bad gateway", "running in *prod*"),
        (403, "Resource not accessible by integration", "GitHub refuses us: Resource not accessible by integration"),
    ];
    for (status, message, expected) in answers {
        let world = World::open().await;
        request_production(&world).await;
        world.sim.github.request_faults().inject(
            "PUT",
            "/merge",
            FaultTiming::BeforeEffect,
            RequestFault::Reply(status, message, vec![]),
            1,
        );
        world.bob().clicks_in("releases", "Approve").await;
        assert!(card(&world).contains(expected), "{status} {message}: {}", card(&world));
        if !expected.contains("running") {
            assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"), "{status} {message}");
            assert_no_branch_left(&world);
        }
    }
}

#[tokio::test]
async fn a_retry_after_an_error_opens_a_new_pull_request_and_needs_new_approvals() {
    let world = World::open().await;
    request_production(&world).await;
    let refused = RequestFault::Reply(422, "Validation Failed", vec![]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, refused, 1);
    world.bob().clicks_in("releases", "Approve").await;
    world.alice().clicks_in("releases", "Promote").await;
    assert!(card(&world).contains("0 of 1 approval"), "new approvals are required: {}", card(&world));
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_commit_pushed_just_before_the_merge_is_reported_on_the_card() {
    let world = World::open().await;
    request_production(&world).await;
    let faults = world.sim.github.request_faults();
    faults.inject("PUT", "/merge", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.bob().clicks_without_waiting("releases", "Approve").await;
    crate::harness::process::wait_until("the merge is paused", async || faults.has_paused_request()).await;
    let file = BTreeMap::from([("hotfix.txt".to_owned(), Some("x".to_owned()))]);
    world.sim.push("checkout", "prod", "Stop the bleeding", file, "bob").unwrap();
    faults.resume();
    world.settle().await;
    let shown = card(&world);
    assert!(shown.contains("at the last moment: what came with that was not shown when this was approved"), "{shown}");
}

#[tokio::test]
async fn a_review_without_its_webhook_is_found_within_a_minute() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.faults.arm(Fault::LostWebhook, 99, None, None);
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    world.wait(SignedDuration::from_secs(61)).await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_github_webhook_is_accepted_only_with_a_valid_signature_and_body() {
    let world = World::open().await;
    let body = r#"{"action":"closed","repository":{"full_name":"acme/checkout"},"pull_request":{"number":1}}"#;
    let send = async |secret: &str, event: &str, body: &str| {
        let signature = format!("sha256={}", crate::harness::signing::hex_hmac(secret, &[body.as_bytes()]));
        let request = reqwest::Client::new()
            .post(format!("{}/webhooks/github", world.origin))
            .header("x-hub-signature-256", signature)
            .header("x-github-event", event);
        request.body(body.to_owned()).send().await.unwrap().status().as_u16()
    };
    let secret = gantry::sim::world::GITHUB_WEBHOOK_SECRET;
    assert_eq!(send(secret, "pull_request", body).await, 202);
    assert_eq!(send(secret, "pull_request", body).await, 202, "a replay is acknowledged");
    assert_eq!(send("guess", "pull_request", body).await, 401);
    assert_eq!(send(secret, "ping", body).await, 204);
    assert_eq!(send(secret, "status", "{}").await, 400);
    let unsigned =
        reqwest::Client::new().post(format!("{}/webhooks/github", world.origin)).body(body).send().await.unwrap();
    assert_eq!(unsigned.status(), 401);
}

#[tokio::test]
async fn of_a_hundred_simultaneous_production_requests_one_begins_and_the_others_are_refused() {
    let world = World::open().await;
    let requests = (0..100).map(|n| {
        let person = if n % 2 == 0 { "alice" } else { "bob" };
        world.sim.slack.type_command(person, "deploys", "/promote checkout prod")
    });
    for ack in futures::future::join_all(requests).await {
        assert_eq!(ack.unwrap().status, 200);
    }
    world.settle().await;
    // Every plan is confirmed by its requester, all at the same moment.
    let mut clicks = Vec::new();
    for person in ["alice", "bob"] {
        let messages = world.sim.slack.messages("deploys", Some(person));
        let plans = messages.into_iter().filter(|message| crate::harness::world::has_button(message, "Confirm"));
        clicks.extend(plans.map(|message| (person, message.id)));
    }
    assert_eq!(clicks.len(), 100);
    let slack = &world.sim.slack;
    let confirmations = clicks.iter().map(|(person, id)| slack.click(person, "deploys", id, "Confirm"));
    futures::future::join_all(confirmations).await;
    world.settle().await;
    assert_eq!(world.sim.github.pulls(REPOSITORY).len(), 1);
    let cards = world.public_messages("releases").into_iter().filter(|message| message.contains("asked by")).count();
    assert_eq!(cards, 1);
    let answers = ["alice", "bob"].map(|person| world.sim.slack.messages("deploys", Some(person))).concat();
    let mut refused: Vec<_> = answers
        .iter()
        .filter(|message| render_message(message).contains("is promoting *checkout* to *prod* since"))
        .map(|message| message.id.clone())
        .collect();
    refused.sort();
    refused.dedup();
    assert_eq!(refused.len(), 99);
}

#[tokio::test]
async fn a_merge_that_keeps_failing_is_given_up_after_twelve_attempts() {
    let world = World::open().await;
    request_production(&world).await;
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, down, 99);
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("GitHub is not available: it answered 502."), "{}", card(&world));
    assert!(card(&world).contains("could not be merged into *prod*"), "{}", card(&world));
    let puts = world.sim.github.request_faults().requests().iter().filter(|request| request.starts_with("PUT")).count();
    assert_eq!(puts, 12);
    assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
}

#[tokio::test]
async fn a_lock_set_between_two_attempts_stops_the_merge_of_the_pull_request() {
    let world = World::open().await;
    let before = head(&world, "prod");
    request_production(&world).await;
    let limited = RequestFault::Reply(429, "Too many", vec![("retry-after", "30".to_owned())]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, limited, 1);
    world.bob().clicks_without_waiting("releases", "Approve").await;
    world.wait_until_idle().await;
    world.carol().types_without_waiting("releases", "/gantry lock prod not now").await;
    world.wait_until_idle().await;
    world.settle().await;
    assert!(card(&world).contains("*prod* is locked by <@U0CAROL>: not now"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn a_change_without_a_pull_request_can_be_rejected_or_cancelled_or_expire() {
    let world = World::with_config(|yaml| yaml.replace("    promote: pull_request\n", "")).await;
    let before = head(&world, "prod");
    for end in ["rejected", "cancelled", "nobody decided in time"] {
        world.alice().types("/promote checkout prod").await;
        world.alice().clicks_in("deploys", "Confirm").await;
        match end {
            "rejected" => {
                world.bob().clicks_in("releases", "Reject").await;
                world.bob().submits(serde_json::json!({ "reason": "not today" })).await;
            }
            "cancelled" => world.bob().clicks_in("releases", "Cancel").await,
            _ => world.wait(SignedDuration::from_hours(24)).await,
        }
        assert!(card(&world).contains(&format!("not promoted to *prod*, {end}")), "{}", card(&world));
    }
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn clean_up_waits_for_a_rate_limit_and_does_not_retry_without_a_pause() {
    let world = World::open().await;
    request_production(&world).await;
    let limited = RequestFault::Reply(429, "Too many", vec![("retry-after", "600".to_owned())]);
    world.sim.github.request_faults().inject("PATCH", "/pulls", FaultTiming::BeforeEffect, limited, 1);
    world.alice().clicks_without_waiting("releases", "Cancel").await;
    let idle = tokio::time::timeout(std::time::Duration::from_secs(10), world.wait_until_idle()).await;
    assert!(idle.is_ok(), "clean-up is retried without a pause");
    assert!(card(&world).contains("not promoted to *prod*, cancelled"), "{}", card(&world));
    world.settle().await;
    assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_merge_refused_for_a_moved_head_is_retried_after_a_pause() {
    let world = World::open().await;
    request_production(&world).await;
    let moved = RequestFault::Reply(409, "Head branch was modified. Review and try the merge again.", vec![]);
    let faults = world.sim.github.request_faults();
    faults.inject("PUT", "/merge", FaultTiming::BeforeEffect, moved, 9999);
    world.bob().clicks_without_waiting("releases", "Approve").await;
    world.wait_until_idle().await;
    let puts = faults.requests().iter().filter(|request| request.starts_with("PUT")).count();
    assert_eq!(puts, 1, "the next attempt is after a pause");
    faults.clear();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn another_commit_merged_by_hand_between_two_attempts_is_reported_as_merged_by_hand() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    let down = RequestFault::Reply(502, "Bad gateway", vec![]);
    world.sim.github.request_faults().inject("PUT", "/merge", FaultTiming::BeforeEffect, down, 1);
    world.bob().clicks_without_waiting("releases", "Approve").await;
    world.wait_until_idle().await;
    let file = BTreeMap::from([("more.txt".to_owned(), Some("x".to_owned()))]);
    world.sim.push("checkout", &pull.head, "One more thing", file, "carol").unwrap();
    world.sim.github.merge_pull(REPOSITORY, pull.number, "carol").unwrap();
    world.settle().await;
    assert!(card(&world).contains("by hand, by `carol` on GitHub"), "{}", card(&world));
}

#[tokio::test]
async fn githubs_rules_are_waited_for_although_they_cannot_be_read() {
    let world = World::open().await;
    let rules = Rules { required_reviews: 1, ..Rules::default() };
    world.sim.github.protect(REPOSITORY, "prod", rules).unwrap();
    let hidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("GET", "/rules/branches", FaultTiming::BeforeEffect, hidden, 999);
    let pull = request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("ask for something that is still missing there"), "{}", card(&world));
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn a_pull_request_that_github_does_not_show_is_an_error_and_not_a_cancellation() {
    let world = World::open().await;
    request_production(&world).await;
    let hidden = RequestFault::Reply(404, "Not Found", vec![]);
    world.sim.github.request_faults().inject("GET", "/pulls/1", FaultTiming::BeforeEffect, hidden, 1);
    world.bob().clicks_in("releases", "Approve").await;
    assert!(
        card(&world).contains("GitHub does not have it: the pull request #1 of acme/checkout."),
        "{}",
        card(&world)
    );
}

#[tokio::test]
async fn clean_up_is_retried_after_github_refused_it() {
    let world = World::open().await;
    request_production(&world).await;
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("PATCH", "/pulls/", FaultTiming::BeforeEffect, forbidden, 1);
    world.alice().clicks_without_waiting("releases", "Cancel").await;
    world.wait_until_idle().await;
    assert_eq!(pull(&world).map(|pull| pull.state), Some("open"));
    world.settle().await;
    assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
    assert_no_branch_left(&world);
}
