//! A version that its branch or its manifest does not explain is marked as such, until Git explains it.

use gantry::sim::faults::Fault;
use jiff::SignedDuration;

use crate::harness::world::World;
use crate::promote::by_manifest;
use crate::promote::many_at_once::{commit, roll_out, with_parts};

const POLL_INTERVAL: SignedDuration = SignedDuration::from_secs(61);
const MARK: &str = "\u{26a0} not from Git";

async fn read_list_line(town: &World, artefact: &str, environment: &str) -> String {
    town.alice().types(&format!("/list {artefact}")).await;
    let seen = town.alice().reads();
    seen.lines().find(|line| line.starts_with(environment)).unwrap_or_else(|| panic!("{seen}")).to_owned()
}

fn head(town: &World, branch: &str) -> String {
    town.sim.github.head("acme/part", branch).unwrap().as_str().to_owned()
}

/// The one message that the channel got, whole.
fn read_only_message(town: &World) -> String {
    let told = town.public_messages("deploys");
    assert_eq!(told.len(), 1, "{told:#?}");
    told.concat()
}

async fn with_part() -> World {
    with_parts(&["part".to_owned()]).await
}

#[tokio::test]
async fn a_hand_on_kubectl_is_marked_until_the_branch_has_caught_up() {
    let town = with_part().await;
    let newer = head(&town, "develop");
    roll_out(&town, "part", &newer[..12], None);
    town.settle().await;
    let told = read_only_message(&town);
    let mark = format!(":warning: not from Git: `qa` does not contain `{}`. Bring it into `qa`", &newer[..7]);
    assert!(told.contains(&mark) && told.contains("Go on") && told.contains(&newer[..12]), "{told}");
    assert!(read_list_line(&town, "part", "qa").await.contains(MARK), "{}", town.alice().reads());
    assert!(!read_list_line(&town, "part", "development").await.contains(MARK), "{}", town.alice().reads());
    assert!(town.alice().reads().contains("does not explain this version"), "{}", town.alice().reads());

    town.wait(POLL_INTERVAL).await;
    assert!(read_only_message(&town).contains("not from Git"), "as long as the branch does not have it");
    town.sim.github.point_branch("acme/part", "qa", &newer.parse().unwrap()).unwrap();
    town.wait(POLL_INTERVAL).await;
    assert!(!read_only_message(&town).contains("not from Git"), "{}", read_only_message(&town));
    assert!(!read_list_line(&town, "part", "qa").await.contains(MARK), "{}", town.alice().reads());
}

#[tokio::test]
async fn what_failed_before_hides_neither_what_others_bring_nor_its_mark() {
    let town = World::open().await;
    town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    town.alice().types("/promote checkout qa").await;
    let newer = town.push("checkout", "By hand into qa");
    town.settle().await;
    let before = town.public_messages("deploys").len();
    let image = format!("ghcr.io/acme/checkout:{}", town.running_tag("checkout", "development"));
    town.sim.cluster.set_image("qa", &"deployment/checkout".parse().unwrap(), "checkout", &image);
    town.settle().await;
    town.wait(POLL_INTERVAL).await;
    let told = town.public_messages("deploys").split_off(before).concat();
    let mark = format!("not from Git: `qa` does not contain `{}`", &newer[..7]);
    assert!(told.contains(&mark) && told.contains("By hand into qa"), "{told}");
}

#[tokio::test]
async fn another_tool_that_deploys_what_the_branch_has_is_not_marked() {
    let town = with_part().await;
    let first = commit(&town.sim, "acme/part", "qa", "By another tool");
    commit(&town.sim, "acme/part", "qa", "Newer than what it deploys");
    roll_out(&town, "part", &first[..12], None);
    town.settle().await;
    let told = read_only_message(&town);
    assert!(told.contains("By another tool") && !told.contains("not from Git"), "{told}");
    assert!(!read_list_line(&town, "part", "qa").await.contains(MARK));
}

#[tokio::test]
async fn what_nothing_tells_the_commit_of_is_not_marked() {
    let town = with_part().await;
    roll_out(&town, "part", "nightly", None);
    town.settle().await;
    town.wait(POLL_INTERVAL).await;
    assert!(
        read_only_message(&town).contains("`nightly`") && !read_only_message(&town).contains("not from Git"),
        "{}",
        read_only_message(&town)
    );
    assert!(!read_list_line(&town, "part", "qa").await.contains(MARK));
}

#[tokio::test]
async fn while_github_is_away_nothing_is_marked_and_the_mark_comes_later() {
    use gantry::sim::faults::Fault;
    let town = with_part().await;
    let newer = head(&town, "develop");
    town.sim.faults.arm(Fault::Github502, 1000, None, None);
    roll_out(&town, "part", &newer[..12], None);
    town.settle().await;
    assert!(!read_only_message(&town).contains("not from Git"), "{}", read_only_message(&town));
    while town.sim.faults.take_if_armed(Fault::Github502, None, None) {}
    for _ in 0..2 {
        town.wait(POLL_INTERVAL).await;
    }
    assert!(read_only_message(&town).contains("not from Git"), "{}", read_only_message(&town));
}

#[tokio::test]
async fn a_manifest_that_names_another_image_does_not_explain_what_runs() {
    let town = World::open().await;
    let workload = "deployment/search".parse().unwrap();
    let (pinned, _) = by_manifest::push_and_settle(&town, "Find plurals").await;
    let path = by_manifest::path("qa");
    let before = by_manifest::text(&town, &path);
    town.sim.registry.publish("ghcr.io/acme/search", "9.9.9", Some(&pinned), town.clock.now());
    town.sim.cluster.set_image("qa", &workload, "search", "ghcr.io/acme/search:9.9.9");
    town.settle().await;
    let about = |town: &World| town.public_messages("deploys").into_iter().find(|told| told.contains("9.9.9")).unwrap();
    let told = about(&town);
    assert!(told.contains(&format!("not from Git: `{path}` says `1.0.2`")), "{told}");
    assert!(read_list_line(&town, "search", "qa").await.contains(MARK), "{}", town.alice().reads());

    by_manifest::put(&town.sim, &[(&path, Some(&before.replace("1.0.2", "9.9.9")))]);
    town.settle().await;
    town.wait(POLL_INTERVAL).await;
    assert!(!about(&town).contains("not from Git"), "{}", about(&town));
    assert!(!read_list_line(&town, "search", "qa").await.contains(MARK), "{}", town.alice().reads());
}

#[tokio::test]
async fn what_a_rollback_took_away_is_not_explained_by_the_past_of_the_branch() {
    let town = World::open().await;
    town.alice().types("/promote checkout qa").await;
    let bad = town.running_tag("checkout", "qa");
    town.alice().types("/rollback checkout qa --reason totals are wrong").await;
    assert_ne!(town.running_tag("checkout", "qa"), bad);
    assert!(!read_list_line(&town, "checkout", "qa").await.contains(MARK), "{}", town.alice().reads());
    let image = format!("ghcr.io/acme/checkout:{bad}");
    town.sim.cluster.set_image("qa", &"deployment/checkout".parse().unwrap(), "checkout", &image);
    town.settle().await;
    let told = town.public_messages("deploys").pop().unwrap();
    assert!(told.contains(":warning: not from Git: a rollback took") && told.contains("away from `qa`"), "{told}");
    assert!(read_list_line(&town, "checkout", "qa").await.contains(MARK), "{}", town.alice().reads());
}
