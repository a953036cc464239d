//! Production by manifest: a pull request in the repository of the manifests, and the same approvals as by branch.

use gantry::domain::model::version::Sha;
use gantry::sim::github::{Pull, Verdict};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::manifest::{
    GITOPS, IMAGE, api, card, head, list_own_commits, parents, path, push_and_settle, put, redact_own_commits,
    running_image, text,
};
use crate::harness::world::{World, redact_origin_and_ids};

/// Pushes a version and promotes it up to staging, until it may go to prod. Returns its commit and its tag.
async fn promote_to_staging(world: &World, message: &str) -> (Sha, String) {
    let pushed = push_and_settle(world, message).await;
    world.alice().types("/promote search qa").await;
    world.alice().types("/promote search staging").await;
    // Prod requires a soak of some seconds in staging.
    world.wait(SignedDuration::from_secs(6)).await;
    pushed
}

async fn request_production(world: &World) -> Pull {
    world.alice().types("/promote search prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    pull(world)
}

fn pull(world: &World) -> Pull {
    world.sim.github.pulls(GITOPS).pop().expect("a pull request")
}

fn manifest_has_tag(world: &World, tag: &str) -> bool {
    text(world, &path("prod")).contains(&format!("newTag: \"{tag}\""))
}

fn assert_no_branch_left(world: &World) {
    let branches = world.sim.github.branches(GITOPS);
    assert!(!branches.keys().any(|branch| branch.starts_with("gantry/")), "{branches:#?}");
}

fn require_two_approvals(yaml: &str) -> String {
    yaml.replace("approvals: { required: 1,", "approvals: { required: 2,")
}

#[tokio::test]
async fn a_second_person_must_approve_production_by_manifest() {
    let world = World::open().await;
    let (pinned, tag) = promote_to_staging(&world, "Find plurals (#42)").await;
    let before = head(&world);
    world.alice().types("/promote search prod").await;
    assert_snapshot!(redact_own_commits(&world, &world.alice().reads()), @"
    Promote *search* `1.0.3` to *prod*, by a pull request that changes `envs/prod/search/kustomization.yaml` and a tag
    `1.0.2` → `1.0.3`, commit `16ce161` as it runs in staging · <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...16ce161342ed3b94e902d178cfa005522789cfe1|compare>
    runs well in staging since <!date^1794819612^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/search/commit/16ce161342ed3b94e902d178cfa005522789cfe1|16ce161> Find plurals · Alice Adler · <http://world/sim/github/acme/search/pull/42|#42>
    1 file, +1 −0
    [Confirm] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(world.sim.github.pulls(GITOPS).len(), 0);

    world.alice().clicks_in("deploys", "Confirm").await;
    let pull = pull(&world);
    assert_eq!((pull.base.as_str(), pull.state), ("main", "open"));
    assert!(pull.head.starts_with("gantry/"), "{}", pull.head);
    assert_eq!(
        parents(&world, GITOPS, &pull.head_sha),
        std::slice::from_ref(&before),
        "one commit on top of the branch"
    );
    assert_eq!(world.sim.github.pulls("acme/search").len(), 0, "no pull request in the repository of the code");
    let result_files = world.sim.github.files(GITOPS, &pull.head_sha).unwrap();
    let base = world.sim.github.files(GITOPS, &before).unwrap();
    let changed: Vec<_> = result_files.iter().filter(|(path, blob)| base.get(*path) != Some(blob)).collect();
    assert_eq!(changed.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [path("prod")]);
    assert_snapshot!(redact_own_commits(&world, &card(&world, "releases")), @"
    :raised_hand: *search* `1.0.3` for *prod*: waiting for 1 approval
    :raised_hand: waiting for approval  ›  :white_circle: written  ›  :white_circle: picked up  ›  :white_circle: rollout  ›  :white_circle: running
    :twisted_rightwards_arrows: pull request <http://world/sim/github/acme/gitops/pull/1|#1>, frozen at `<ours 3>`
    0 of 1 approval, asked of <!subteam^S0RELEASE|@release-managers>; not of <@U0ALICE>
    `1.0.2` → `1.0.3`, commit `16ce161` as it runs in staging · <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...16ce161342ed3b94e902d178cfa005522789cfe1|compare>
    runs well in staging since <!date^1794819612^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/search/commit/16ce161342ed3b94e902d178cfa005522789cfe1|16ce161> Find plurals · Alice Adler · <http://world/sim/github/acme/search/pull/42|#42>
    1 file, +1 −0
    [Approve] [Reject] [Cancel]
    asked by <@U0ALICE> · <!date^1794819618^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let (body, trailer) = pull.body.split_once("Gantry-Change: ").expect("a trailer");
    assert_eq!((pull.title.as_str(), trailer.trim().len()), ("Promote search 1.0.3 to prod", 36));
    assert_snapshot!(redact_origin_and_ids(&world, body), @"
    Asked for by alice in Slack. **search** in **prod**: `1.0.2` → `1.0.3`, commit acme/search@16ce161342ed3b94e902d178cfa005522789cfe1 as it runs in **staging**.

    It has run well in staging since 2026-11-16 09:00 UTC (0 min).

    No check ran on that commit.

    Commits (1):

    - acme/search@16ce161342ed3b94e902d178cfa005522789cfe1 Find plurals (acme/search#42) · Alice Adler

    Files that change: 1, +1 −0.

    It is merged when 1 person has approved it, in Slack or here. Do not push to this branch: it is frozen, so that what is merged is what was seen.
    ");
    assert!(manifest_has_tag(&world, "1.0.2"));

    world.alice().clicks_in("releases", "Approve").await;
    assert_eq!(head(&world), before, "the requester may not approve");
    world.bob().clicks_in("releases", "Approve").await;
    assert_eq!(parents(&world, GITOPS, &head(&world)), [before, pull.head_sha]);
    assert!(manifest_has_tag(&world, &tag));
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    let card = card(&world, "releases");
    assert!(card.contains("running in *prod*, 3 of 3 ready") && card.contains("approved by <@U0BOB>"), "{card}");
    assert!(card.contains("written to `envs/prod/search/kustomization.yaml`"), "{card}");
    assert_eq!(world.sim.github.tags("acme/search").get("prod/search/2026.11.16-1"), Some(&pinned));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn commits_to_other_files_void_no_approval() {
    let world = World::with_config(|yaml| require_two_approvals(&yaml)).await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    let shown = request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    put(&world.sim, &[("README.md", Some("What stands here\n"))]);
    world.wait(jiff::SignedDuration::from_secs(61)).await;
    assert!(card(&world, "releases").contains("1 of 2 approvals"), "{}", card(&world, "releases"));
    assert_eq!(pull(&world).head_sha, shown.head_sha, "the result that was shown is merged");
    let newest = put(&world.sim, &[("README.md", Some("What stands here now\n"))]);

    world.carol().clicks_in("releases", "Approve").await;
    assert_eq!(parents(&world, GITOPS, &head(&world)), [newest, shown.head_sha]);
    assert!(manifest_has_tag(&world, &tag), "{}", card(&world, "releases"));
    assert_eq!(text(&world, "README.md"), "What stands here now\n");
    assert!(!card(&world, "releases").contains("at the last moment"), "{}", card(&world, "releases"));
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn an_edit_of_the_same_manifest_voids_the_approvals_and_both_edits_are_kept() {
    let world = World::with_config(|yaml| require_two_approvals(&yaml)).await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    let first = request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world, "releases").contains("1 of 2 approvals"), "{}", card(&world, "releases"));

    let theirs = format!("# Ask bob\n{}", text(&world, &path("prod")));
    let other = put(&world.sim, &[(&path("prod"), Some(&theirs))]);
    // Carol approves the old result, so her approval does not count.
    world.carol().clicks_in("releases", "Approve").await;
    let second = pull(&world);
    assert_eq!((second.number, second.state), (first.number, "open"), "the same pull request");
    assert_ne!(second.head_sha, first.head_sha);
    assert_eq!(parents(&world, GITOPS, &second.head_sha), [other], "rebuilt on top of the new commit");
    assert!(card(&world, "releases").contains("0 of 2 approvals"), "{}", card(&world, "releases"));
    let notice = "the branch moved, so the frozen branch was made anew on top of it";
    assert!(card(&world, "releases").contains(notice), "{}", card(&world, "releases"));
    let messages = world.public_messages("releases");
    assert!(messages.iter().any(|message| message.contains("Please look again")), "{messages:#?}");

    for person in [world.bob(), world.carol()] {
        person.clicks_in("releases", "Approve").await;
    }
    assert!(manifest_has_tag(&world, &tag), "{}", card(&world, "releases"));
    assert!(text(&world, &path("prod")).starts_with("# Ask bob\n"));
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn an_edit_of_the_same_manifest_before_the_approval_is_kept() {
    let world = World::open().await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    request_production(&world).await;
    let theirs = format!("# Ask bob\n{}", text(&world, &path("prod")));
    put(&world.sim, &[(&path("prod"), Some(&theirs))]);
    for _ in 0..2 {
        world.bob().clicks_in("releases", "Approve").await;
    }
    assert_eq!(text(&world, &path("prod")), theirs.replace("1.0.2", &tag));
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
}

#[tokio::test]
async fn the_same_version_written_by_hand_is_adopted() {
    let world = World::open().await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    request_production(&world).await;
    let theirs = text(&world, &path("prod")).replace("1.0.2", &tag);
    put(&world.sim, &[(&path("prod"), Some(&theirs))]);
    world.wait(SignedDuration::from_secs(61)).await;
    let card = card(&world, "releases");
    assert!(card.contains("running in *prod*") && card.contains("by hand"), "{card}");
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    assert_ne!(pull(&world).state, "open");
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn a_review_on_github_counts_as_an_approval_by_manifest() {
    let world = World::open().await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    let pull = request_production(&world).await;
    world.sim.github.review(GITOPS, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"), "{}", card(&world, "releases"));
    assert!(card(&world, "releases").contains("approved by"), "{}", card(&world, "releases"));
}

#[tokio::test]
async fn a_pull_request_closed_by_hand_cancels_the_change_and_one_merged_by_hand_is_adopted() {
    let world = World::open().await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    let first = request_production(&world).await;
    world.sim.github.close_pull(GITOPS, first.number, "carol").unwrap();
    world.settle().await;
    let closed = card(&world, "releases");
    assert!(closed.contains("not promoted to *prod*, cancelled"), "{closed}");
    assert!(closed.contains("Its pull request was closed on GitHub"), "{closed}");
    assert!(manifest_has_tag(&world, "1.0.2"));
    assert_no_branch_left(&world);

    let second = request_production(&world).await;
    world.sim.github.merge_pull(GITOPS, second.number, "carol").unwrap();
    world.settle().await;
    let merged = card(&world, "releases");
    assert!(merged.contains("running in *prod*") && merged.contains("by hand, by `carol` on GitHub"), "{merged}");
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn requested_changes_on_github_stop_the_merge_by_manifest() {
    let world = World::open().await;
    promote_to_staging(&world, "Find plurals").await;
    let pull = request_production(&world).await;
    world.sim.github.review(GITOPS, pull.number, "bob", Verdict::RequestChanges, "Not on a Monday").unwrap();
    world.settle().await;
    let card = card(&world, "releases");
    assert!(!card.contains("running in *prod*"), "{card}");
    assert!(manifest_has_tag(&world, "1.0.2"));
}

#[tokio::test]
async fn a_newer_version_supersedes_the_one_that_waits_for_approval() {
    let world = World::open().await;
    promote_to_staging(&world, "Find plurals").await;
    let first = request_production(&world).await;
    let (_, tag) = promote_to_staging(&world, "Find synonyms").await;
    let second = request_production(&world).await;
    assert_ne!(first.number, second.number);
    assert_eq!(world.sim.github.pulls(GITOPS)[0].state, "closed");
    world.bob().clicks_in("releases", "Approve").await;
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"));
    assert!(manifest_has_tag(&world, &tag));
    assert_no_branch_left(&world);
}

#[tokio::test]
async fn approvals_by_manifest_can_be_required_without_a_pull_request() {
    let world = World::with_config(|yaml| yaml.replace("    promote: pull_request\n", "")).await;
    let (_, tag) = promote_to_staging(&world, "Find plurals").await;
    world.alice().types("/promote search prod").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    let (before, written) = (head(&world), list_own_commits(&world).len());
    assert_eq!(world.sim.github.pulls(GITOPS).len(), 0);
    put(&world.sim, &[("README.md", Some("Somebody else"))]);
    world.settle().await;
    assert_ne!(head(&world), before);
    world.bob().clicks_in("releases", "Approve").await;
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:{tag}"), "{}", card(&world, "releases"));
    assert_eq!(list_own_commits(&world).len(), written + 1);
    let commit = api(&world, &format!("/repos/{GITOPS}/git/commits/{}", head(&world))).await;
    assert!(commit["message"].as_str().unwrap().contains("Gantry-Change: "));
}
