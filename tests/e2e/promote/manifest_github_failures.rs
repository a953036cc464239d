//! GitHub failures and concurrent commits during a promotion by manifest: Gantry writes one commit and overwrites none.

use gantry::sim::github::{FaultTiming, RequestFault, Rules};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::manifest::{
    GITOPS, IMAGE, advance_until, card, head, list_own_commits, parents, path, promote_newer, push_and_settle, put,
    redact_own_commits, running_image, text,
};
use crate::harness::world::World;

const MAIN: &str = "/acme/gitops/git/refs/heads/main";

fn error_response(status: u16, message: &'static str) -> RequestFault {
    RequestFault::Reply(status, message, vec![])
}

/// A world in which a promotion of `search` is paused right before it moves the branch.
async fn open_with_paused_promotion() -> (World, String) {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", MAIN, FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    advance_until(&world, &|| faults.has_paused_request()).await;
    (world, tag)
}

#[tokio::test]
async fn a_commit_pushed_before_the_write_stays_and_the_promotion_goes_on_top() {
    let (world, tag) = open_with_paused_promotion().await;
    let theirs = put(&world.sim, &[("README.md", Some("What stands here\n"))]);
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert_eq!(parents(&world, GITOPS, &head(&world)), [theirs]);
    assert_eq!((list_own_commits(&world).len(), text(&world, "README.md").as_str()), (1, "What stands here\n"));
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"), "{}", card(&world, "deploys"));
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn an_edit_of_the_same_manifest_before_the_write_stays() {
    let (world, tag) = open_with_paused_promotion().await;
    let theirs = format!("# Ask bob\n{}", text(&world, &path("qa")));
    put(&world.sim, &[(&path("qa"), Some(&theirs))]);
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert_eq!(text(&world, &path("qa")), theirs.replace("1.0.2", &tag));
    assert_eq!(list_own_commits(&world).len(), 1);
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_manifest_that_became_unwritable_ends_the_promotion_with_the_reason() {
    let (world, _) = open_with_paused_promotion().await;
    let theirs = put(&world.sim, &[(&path("qa"), Some("images: []\nkind: Kustomization\n"))]);
    world.sim.github.request_faults().resume();
    world.settle().await;
    let card = card(&world, "deploys");
    let reason = card.lines().find(|line| line.starts_with("*Why:*")).expect("a reason");
    assert_snapshot!(reason, @"*Why:* I cannot write envs/qa/search/kustomization.yaml of acme/gitops: this kustomization has no entry for ghcr.io/acme/search: add one to `images:`, with `name: ghcr.io/acme/search` and the version that runs now as `newTag`.");
    assert_eq!(head(&world), theirs);
}

#[tokio::test]
async fn a_promotion_by_manifest_is_retried_while_the_branch_keeps_moving() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let refused = error_response(422, "Update is not a fast forward");
    world.sim.github.request_faults().inject("PATCH", MAIN, FaultTiming::BeforeEffect, refused, 6);
    world.alice().types("/promote search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"), "{}", card(&world, "deploys"));
    assert_eq!(list_own_commits(&world).len(), 1);
}

#[tokio::test]
async fn a_server_error_at_any_write_is_retried_and_one_commit_is_written() {
    for when in [FaultTiming::BeforeEffect, FaultTiming::AfterEffect] {
        for (method, request_path) in
            [("POST", "/acme/gitops/git/trees"), ("POST", "/acme/gitops/git/commits"), ("PATCH", MAIN)]
        {
            for fault in [error_response(502, "Bad gateway"), error_response(500, "oops"), RequestFault::Disconnect] {
                let case = format!("{when:?} {method} {request_path} {fault:?}");
                let world = World::open().await;
                let (_, tag) = push_and_settle(&world, "Find plurals").await;
                let before = head(&world);
                world.sim.github.request_faults().inject(method, request_path, when, fault, 2);
                world.alice().types("/promote search qa").await;
                assert!(card(&world, "deploys").contains("running in *qa*"), "{case}: {}", card(&world, "deploys"));
                assert_eq!(parents(&world, GITOPS, &head(&world)), [before], "{case}");
                assert_eq!(
                    (list_own_commits(&world).len(), running_image(&world, "qa")),
                    (1, format!("{IMAGE}:{tag}")),
                    "{case}"
                );
                assert_eq!(world.sim.github.tags("acme/search").len(), 1, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_commit_without_a_response_is_found_below_later_commits_and_not_written_again() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", MAIN, FaultTiming::AfterEffect, error_response(502, "Bad gateway"), 1);
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    world.wait_until_idle().await;
    let written = head(&world);
    assert_eq!(list_own_commits(&world), std::slice::from_ref(&written));
    // Before the bot checks again, another person commits twice and even writes another version.
    let theirs = text(&world, &path("qa")).replace(&tag, "1.0.1");
    put(&world.sim, &[(&path("qa"), Some(&theirs))]);
    let last = put(&world.sim, &[("README.md", Some("And more\n"))]);
    world.clock.advance(SignedDuration::from_secs(3));
    world.settle().await;
    assert_eq!(
        (head(&world), list_own_commits(&world).len()),
        (last, 1),
        "Gantry wrote once, and did not overwrite the later commits"
    );
    let card = card(&world, "deploys");
    assert!(card.contains(written.short()) && !card.contains("running in *qa*"), "{card}");
}

#[tokio::test]
async fn a_write_without_a_response_is_found_and_not_repeated() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", MAIN, FaultTiming::AfterEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    // The timeout of the request runs in real time.
    world.settle_within(std::time::Duration::from_mins(1)).await;
    assert!(faults.has_paused_request(), "the request is still without a response");
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
    assert_eq!((list_own_commits(&world).len(), running_image(&world, "qa")), (1, format!("{IMAGE}:{tag}")));
    faults.resume();
}

#[tokio::test]
async fn a_promotion_by_manifest_waits_as_long_as_githubs_rate_limit_says() {
    for (method, request_path) in [("POST", "/acme/gitops/git/trees"), ("PATCH", MAIN)] {
        let world = World::open().await;
        push_and_settle(&world, "Find plurals").await;
        let limit = RequestFault::Reply(
            403,
            "You have exceeded a secondary rate limit",
            vec![("retry-after", "90".to_owned())],
        );
        world.sim.github.request_faults().inject(method, request_path, FaultTiming::BeforeEffect, limit, 1);
        let started_at = world.clock.now();
        world.alice().types("/promote search qa").await;
        assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
        assert!(world.clock.now().duration_since(started_at).as_secs() >= 90);
        assert_eq!(list_own_commits(&world).len(), 1);
    }
}

#[tokio::test]
async fn a_promotion_by_manifest_can_be_cancelled_while_it_waits_for_github() {
    let world = World::open().await;
    push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    let limit = RequestFault::Reply(429, "slow down", vec![("retry-after", "600".to_owned())]);
    world.sim.github.request_faults().inject("PATCH", MAIN, FaultTiming::BeforeEffect, limit, 1);
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    world.wait_until_idle().await;
    world.bob().clicks_without_waiting("deploys", "Cancel").await;
    world.clock.advance(SignedDuration::from_secs(2));
    world.wait_until_idle().await;
    assert!(card(&world, "deploys").contains("not promoted to *qa*, cancelled"), "{}", card(&world, "deploys"));
    world.settle().await;
    assert_eq!(head(&world), before);
}

fn protect_main(world: &World) {
    let rules = Rules { protected_from_pushes: true, ..Rules::default() };
    world.sim.github.protect(GITOPS, "main", rules).unwrap();
}

#[tokio::test]
async fn a_promotion_to_a_protected_branch_ends_in_an_error_with_the_next_step_and_can_be_retried() {
    let world = World::open().await;
    push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    protect_main(&world);
    world.alice().types("/promote search qa").await;
    let shown = redact_own_commits(&world, &card(&world, "deploys"));
    let lines: Vec<_> = shown.lines().filter(|line| line.contains("could not be") || line.contains("Why:")).collect();
    assert_snapshot!(lines.join("\n"), @"
    :red_circle: *search* `1.0.3`: could not be merged into *qa*
    *Why:* GitHub does not let me move main of acme/gitops: You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information. Cannot update this protected branch. Let me push there, or set `promote: pull_request` for qa.
    ");
    assert_eq!(head(&world), before);
    assert!(world.alice().types("/gantry status").await.contains("Nothing is under way"));

    world.sim.github.protect(GITOPS, "main", Rules::default()).unwrap();
    world.alice().types("/promote search qa").await;
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
    assert_eq!(list_own_commits(&world).len(), 1);
}

#[tokio::test]
async fn a_rollback_by_manifest_on_a_protected_branch_goes_by_pull_request() {
    let world = World::open().await;
    promote_newer(&world, "Find plurals").await;
    protect_main(&world);
    world.bob().types("/rollback search qa").await;
    let pull = world.sim.github.pulls(GITOPS).pop().expect("a pull request");
    assert_eq!((pull.base.as_str(), pull.state), ("main", "merged"), "{}", card(&world, "deploys"));
    assert_eq!(pull.title, "Roll search back to 1.0.2 in qa");
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    assert!(card(&world, "deploys").contains("restored: running in *qa*"), "{}", card(&world, "deploys"));
    assert!(!world.sim.github.branches(GITOPS).keys().any(|branch| branch.starts_with("gantry/")));
}
