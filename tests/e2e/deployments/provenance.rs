//! A running version that is not in its branch or manifest is marked as "not from Git" until Git has it.

use gantry::sim::faults::Fault;
use jiff::SignedDuration;

use crate::harness::manifest;
use crate::harness::parts::{commit, roll_out, with_parts};
use crate::harness::world::World;

const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(61);
const MARK: &str = "\u{26a0} not from Git";

async fn read_list_line(world: &World, artefact: &str, environment: &str) -> String {
    world.alice().types(&format!("/list {artefact}")).await;
    let list = world.alice().reads();
    list.lines().find(|line| line.starts_with(environment)).unwrap_or_else(|| panic!("{list}")).to_owned()
}

fn head(world: &World, branch: &str) -> String {
    world.sim.github.head("acme/part", branch).unwrap().as_str().to_owned()
}

/// The only message of the channel.
fn read_only_message(world: &World) -> String {
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    messages.concat()
}

async fn with_part() -> World {
    with_parts(&["part".to_owned()]).await
}

#[tokio::test]
async fn a_version_deployed_with_kubectl_is_marked_until_the_branch_has_it() {
    let world = with_part().await;
    let newer = head(&world, "develop");
    roll_out(&world, "part", &newer[..12], None);
    world.settle().await;
    let message = read_only_message(&world);
    let mark = format!(":warning: not from Git: `qa` does not contain `{}`. Bring it into `qa`", &newer[..7]);
    assert!(message.contains(&mark) && message.contains("Go on") && message.contains(&newer[..12]), "{message}");
    assert!(read_list_line(&world, "part", "qa").await.contains(MARK), "{}", world.alice().reads());
    assert!(!read_list_line(&world, "part", "development").await.contains(MARK), "{}", world.alice().reads());
    assert!(world.alice().reads().contains("does not explain this version"), "{}", world.alice().reads());

    world.wait(POLL_INTERVAL).await;
    assert!(
        read_only_message(&world).contains("not from Git"),
        "the mark stays while the branch does not have the commit"
    );
    world.sim.github.point_branch("acme/part", "qa", &newer.parse().unwrap()).unwrap();
    world.wait(POLL_INTERVAL).await;
    assert!(!read_only_message(&world).contains("not from Git"), "{}", read_only_message(&world));
    assert!(!read_list_line(&world, "part", "qa").await.contains(MARK), "{}", world.alice().reads());
}

#[tokio::test]
async fn an_arrival_after_a_failed_change_is_announced_and_marked() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    world.alice().types("/promote checkout qa").await;
    let newer = world.push("checkout", "By hand into qa");
    world.settle().await;
    let before = world.public_messages("deploys").len();
    let image = format!("ghcr.io/acme/checkout:{}", world.running_tag("checkout", "development"));
    world.sim.cluster.set_image("qa", &"deployment/checkout".parse().unwrap(), "checkout", &image);
    world.settle().await;
    world.wait(POLL_INTERVAL).await;
    let messages = world.public_messages("deploys").split_off(before).concat();
    let mark = format!("not from Git: `qa` does not contain `{}`", &newer[..7]);
    assert!(messages.contains(&mark) && messages.contains("By hand into qa"), "{messages}");
}

#[tokio::test]
async fn a_version_deployed_by_another_tool_is_not_marked_if_the_branch_has_it() {
    let world = with_part().await;
    let first = commit(&world.sim, "acme/part", "qa", "By another tool");
    commit(&world.sim, "acme/part", "qa", "Newer than what it deploys");
    roll_out(&world, "part", &first[..12], None);
    world.settle().await;
    let message = read_only_message(&world);
    assert!(message.contains("By another tool") && !message.contains("not from Git"), "{message}");
    assert!(!read_list_line(&world, "part", "qa").await.contains(MARK));
}

#[tokio::test]
async fn a_version_without_a_known_commit_is_not_marked() {
    let world = with_part().await;
    roll_out(&world, "part", "nightly", None);
    world.settle().await;
    world.wait(POLL_INTERVAL).await;
    assert!(
        read_only_message(&world).contains("`nightly`") && !read_only_message(&world).contains("not from Git"),
        "{}",
        read_only_message(&world)
    );
    assert!(!read_list_line(&world, "part", "qa").await.contains(MARK));
}

#[tokio::test]
async fn while_github_is_down_no_version_is_marked_and_the_mark_follows_later() {
    use gantry::sim::faults::Fault;
    let world = with_part().await;
    let newer = head(&world, "develop");
    world.sim.faults.arm(Fault::Github502, 1000, None, None);
    roll_out(&world, "part", &newer[..12], None);
    world.settle().await;
    assert!(!read_only_message(&world).contains("not from Git"), "{}", read_only_message(&world));
    while world.sim.faults.take_if_armed(Fault::Github502, None, None) {}
    for _ in 0..2 {
        world.wait(POLL_INTERVAL).await;
    }
    assert!(read_only_message(&world).contains("not from Git"), "{}", read_only_message(&world));
}

#[tokio::test]
async fn a_version_that_differs_from_the_manifest_is_marked_until_the_manifest_has_it() {
    let world = World::open().await;
    let workload = "deployment/search".parse().unwrap();
    let (pinned, _) = manifest::push_and_settle(&world, "Find plurals").await;
    let path = manifest::path("qa");
    let before = manifest::text(&world, &path);
    world.sim.registry.publish("ghcr.io/acme/search", "9.9.9", Some(&pinned), world.clock.now());
    world.sim.cluster.set_image("qa", &workload, "search", "ghcr.io/acme/search:9.9.9");
    world.settle().await;
    let about =
        |world: &World| world.public_messages("deploys").into_iter().find(|text| text.contains("9.9.9")).unwrap();
    let message = about(&world);
    assert!(message.contains(&format!("not from Git: `{path}` says `1.0.2`")), "{message}");
    assert!(read_list_line(&world, "search", "qa").await.contains(MARK), "{}", world.alice().reads());

    manifest::put(&world.sim, &[(&path, Some(&before.replace("1.0.2", "9.9.9")))]);
    world.settle().await;
    world.wait(POLL_INTERVAL).await;
    assert!(!about(&world).contains("not from Git"), "{}", about(&world));
    assert!(!read_list_line(&world, "search", "qa").await.contains(MARK), "{}", world.alice().reads());
}

#[tokio::test]
async fn a_version_that_a_rollback_removed_is_marked_although_the_branch_contains_it() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    let bad = world.running_tag("checkout", "qa");
    world.alice().types("/rollback checkout qa --reason totals are wrong").await;
    assert_ne!(world.running_tag("checkout", "qa"), bad);
    assert!(!read_list_line(&world, "checkout", "qa").await.contains(MARK), "{}", world.alice().reads());
    let image = format!("ghcr.io/acme/checkout:{bad}");
    world.sim.cluster.set_image("qa", &"deployment/checkout".parse().unwrap(), "checkout", &image);
    world.settle().await;
    let message = world.public_messages("deploys").pop().unwrap();
    assert!(
        message.contains(":warning: not from Git: a rollback took") && message.contains("away from `qa`"),
        "{message}"
    );
    assert!(read_list_line(&world, "checkout", "qa").await.contains(MARK), "{}", world.alice().reads());
}
