//! Changes by manifest ask the registry for the image before they write. A rollback finds the previous version in the
//! ledger, the manifest's history, the cluster or the registry's tags.

use gantry::sim::faults::Fault;
use gantry::sim::world as sim;
use insta::assert_snapshot;

use crate::harness::manifest::{
    DELIVERY, IMAGE, card, head, list_own_commits, path, promote_newer, push_and_settle, put, redact_own_commits,
    replace_delivery, running_image, text,
};
use crate::harness::world::World;

/// The command that a message offers, without its backticks.
fn find_offered_command(message: &str, verb: &str) -> String {
    let (_, rest) = message.split_once(&format!("`{verb} ")).unwrap_or_else(|| panic!("no {verb} in {message}"));
    format!("{verb} {}", rest.split('`').next().unwrap())
}

#[tokio::test]
async fn a_rollback_asks_the_registry_for_the_old_image() {
    let world = World::open().await;
    promote_newer(&world, "Find plurals").await;
    let (lookups, writes) = (world.sim.registry.requests().len(), world.sim.github.request_faults().requests().len());
    world.bob().types("/rollback search qa").await;
    let lookups: Vec<_> = world.sim.registry.requests().split_off(lookups);
    assert!(lookups.contains(&"HEAD /v2/acme/search/manifests/1.0.2".to_owned()), "{lookups:#?}");
    let writes = world.sim.github.request_faults().requests().split_off(writes);
    assert!(writes.iter().any(|write| write.starts_with("PATCH")), "{writes:#?}");
}

#[tokio::test]
async fn a_rollback_to_a_missing_image_is_refused_and_offers_the_next_older_version() {
    let world = World::open().await;
    let bad = promote_newer(&world, "Find plurals").await;
    let before = head(&world);
    assert!(world.sim.registry.remove(IMAGE, "1.0.2"));
    world.bob().types("/rollback search qa").await;
    assert_eq!((head(&world), running_image(&world, "qa")), (before, format!("{IMAGE}:{bad}")), "nothing moved");
    assert_snapshot!(world.bob().reads(), @"
    The image of *search* `1.0.2` is not in the registry any more. Nothing was changed.
    Next: the newest earlier version whose image is there: `/rollback search qa 1.0.1`.
    ");

    world.bob().types(&find_offered_command(&world.bob().reads(), "/rollback")).await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"), "{}", world.bob().reads());
    assert!(text(&world, &path("qa")).contains("newTag: \"1.0.1\""));
}

#[tokio::test]
async fn a_rollback_without_any_old_image_is_refused_and_offers_no_version() {
    let world = World::open().await;
    promote_newer(&world, "Find plurals").await;
    let before = head(&world);
    for tag in ["1.0.1", "1.0.2"] {
        world.sim.registry.remove(IMAGE, tag);
    }
    world.bob().types("/rollback search qa").await;
    assert_snapshot!(world.bob().reads(), @"
    The image of *search* `1.0.2` is not in the registry any more. Nothing was changed.
    Next: build it again under that tag, or repair it by a push.
    ");
    assert_eq!(head(&world), before);
}

#[tokio::test]
async fn a_rollback_must_be_confirmed_if_the_registry_is_unreachable() {
    let world = World::open().await;
    let bad = promote_newer(&world, "Find plurals").await;
    let before = head(&world);
    world.sim.registry.set_down(true);
    world.bob().types("/rollback search qa").await;
    let plan = world.bob().reads();
    assert!(plan.contains("[Confirm]"), "{plan}");
    let line = plan.lines().find(|line| line.contains("I cannot tell")).expect("a warning");
    assert_snapshot!(line, @":warning: I cannot tell whether its image is still there: the registry is not available: it answered 503. If it is not, nothing will start. Confirm only if you know that it is there.");
    assert_eq!((head(&world), running_image(&world, "qa")), (before, format!("{IMAGE}:{bad}")));
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
}

#[tokio::test]
async fn a_promotion_must_be_confirmed_if_the_registry_is_unreachable() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    world.sim.registry.set_down(true);
    world.alice().types("/promote search qa").await;
    let plan = world.alice().reads();
    assert!(plan.contains("[Confirm]") && plan.contains("I cannot tell whether its image is"), "{plan}");
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"));
}

#[tokio::test]
async fn a_promotion_by_digest_is_refused_while_the_registry_is_unreachable() {
    let delivery = DELIVERY.replace("\" }", "\", pin: digest }");
    let prepare = |sim: &sim::World| {
        let digest = sim.registry.digest(IMAGE, "1.0.2").unwrap();
        put(sim, &[(&path("qa"), Some(&format!("images: [{{ name: {IMAGE}, digest: \"{digest}\" }}]\n")))]);
    };
    let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, &delivery)).await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    world.sim.registry.set_down(true);
    world.alice().types("/promote search qa").await;
    assert_snapshot!(world.alice().reads(), @"
    Nothing was done: the registry is not available: it answered 503, and 1.0.3 is written by its digest.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
    assert_eq!(head(&world), before);
    world.sim.registry.set_down(false);
    world.alice().types("/promote search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}@{}", world.sim.registry.digest(IMAGE, &tag).unwrap()));
}

#[tokio::test]
async fn auto_rollback_does_nothing_while_the_registry_is_unreachable_but_a_person_may_roll_back() {
    let world =
        World::with_config(|yaml| yaml.replace("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n")).await;
    let (_, bad) = push_and_settle(&world, "Crash").await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("search".into()), Some("qa".into()));
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    world.wait_until_idle().await;
    world.sim.registry.set_down(true);
    world.settle().await;
    let failed = card(&world, "deploys");
    assert!(failed.contains("failed in *qa*") && failed.contains("the registry cannot tell"), "{failed}");
    assert_eq!((list_own_commits(&world).len(), running_image(&world, "qa")), (1, format!("{IMAGE}:{bad}")));
    world.bob().clicks_in("deploys", "Roll back").await;
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"), "a person may roll back");
}

#[tokio::test]
async fn a_promotion_of_a_missing_or_replaced_image_is_refused() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    let other = world.sim.github.head("acme/checkout", "develop").unwrap();
    world.sim.registry.publish(IMAGE, &tag, Some(&other), world.clock.now());
    world.alice().types("/promote search qa").await;
    assert_snapshot!(world.alice().reads(), @"
    The image of *search* `1.0.3` is another one now: its tag was moved in the registry since it ran there. Nothing was changed.
    Next: build it again under that tag, or repair it by a push.
    ");
    world.sim.registry.remove(IMAGE, &tag);
    world.alice().types("/promote search qa").await;
    assert_snapshot!(world.alice().reads(), @"
    The image of *search* `1.0.3` is not in the registry any more. Nothing was changed.
    Next: build it again under that tag, or repair it by a push.
    ");
    assert_eq!(head(&world), before);
}

#[tokio::test]
async fn a_rollback_to_a_replaced_image_is_refused_and_offers_the_next_older_version() {
    // The revision label differs. The digest is not known, because the version ran before the bot was started.
    let world = World::open().await;
    promote_newer(&world, "Find plurals").await;
    let before = head(&world);
    let other = world.sim.github.head("acme/search", "develop").unwrap();
    world.sim.registry.publish(IMAGE, "1.0.2", Some(&other), world.clock.now());
    world.bob().types("/rollback search qa").await;
    assert_snapshot!(world.bob().reads(), @"
    The image of *search* `1.0.2` is another one now: its tag was moved in the registry since it ran there. Nothing was changed.
    Next: the newest earlier version whose image is there: `/rollback search qa 1.0.1`.
    ");
    assert_eq!(head(&world), before);
    world.bob().types(&find_offered_command(&world.bob().reads(), "/rollback")).await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"));

    // The digest differs, because the image was rebuilt from the same commit.
    let world = World::open().await;
    let (commit, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    promote_newer(&world, "Find synonyms").await;
    world.sim.registry.publish(IMAGE, &tag, Some(&commit), world.clock.now());
    world.bob().types("/rollback search qa").await;
    assert!(world.bob().reads().contains("is another one now"), "{}", world.bob().reads());
    assert_eq!(find_offered_command(&world.bob().reads(), "/rollback"), "/rollback search qa 1.0.2");
}

/// Renames the artefact `search`, so that the ledger does not know it.
fn rename_search_artefact(yaml: &str) -> String {
    yaml.replace("  - name: search\n", "  - name: finder\n")
}

#[tokio::test]
async fn without_a_ledger_a_rollback_finds_the_previous_version_in_the_manifests_history() {
    let world = World::with_config(|yaml| rename_search_artefact(&yaml)).await;
    let before = head(&world);
    world.bob().types("/rollback finder qa").await;
    assert_snapshot!(redact_own_commits(&world, &world.bob().reads()), @"
    :leftwards_arrow_with_hook: Roll *finder* back to `1.0.1` in *qa*, by a commit to `envs/qa/search/kustomization.yaml`
    `1.0.2` → `1.0.1`, commit `19e6a01` · <http://world/sim/github/acme/search/compare/19e6a014b8601383935035e0c82be65e794cc16c...cd8f8f26ad4965fc12d3673afb6513e44b891872|compare>
    The manifest named it before. I have not seen it run there myself
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/search/commit/cd8f8f26ad4965fc12d3673afb6513e44b891872|cd8f8f2> Rank exact matches first · Alice Adler
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(head(&world), before, "a version that Gantry has not seen running must be confirmed");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"));
    assert!(card(&world, "deploys").contains("restored: running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn an_older_version_offered_from_the_manifests_history_can_be_restored() {
    let prepare = |sim: &sim::World| {
        let revision = sim.github.head("acme/search", "develop").unwrap();
        let text = |tag: &str| format!("images: [{{ name: {IMAGE}, newTag: {tag} }}]\n");
        sim.registry.publish(IMAGE, "1.0.2-b", Some(&revision), sim.clock.now());
        put(sim, &[(&path("qa"), Some(&text("1.0.2-b")))]);
        put(sim, &[(&path("qa"), Some("kind: of broken: here\n"))]);
        let next = sim.push("search", "develop", "Find plurals", [].into(), "alice").unwrap();
        sim.registry.publish(IMAGE, "1.1.0", Some(&next), sim.clock.now());
        put(sim, &[(&path("qa"), Some(&text("1.1.0")))]);
        sim.registry.remove(IMAGE, "1.0.2-b");
        // This version ran before the bot was started.
        sim.cluster.set_running("qa", &"deployment/search".parse().unwrap(), "search", &format!("{IMAGE}:1.1.0"), 2);
    };
    let world = World::with_setup(prepare, |yaml| rename_search_artefact(&yaml)).await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.1.0"));
    world.bob().types("/rollback finder qa").await;
    let refused = world.bob().reads();
    assert!(refused.contains("`1.0.2-b` is not in the registry any more"), "{refused}");
    world.bob().types(&find_offered_command(&refused, "/rollback")).await;
    assert!(world.bob().reads().contains("The manifest named it before"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
}

/// Replaces the manifest by a file without history.
fn replace_manifest_without_history(sim: &sim::World) {
    let values = format!("image:\n  repository: {IMAGE}\n  tag: 1.0.2\n");
    put(sim, &[(&path("qa"), None), ("envs/qa/search/values.yaml", Some(&values))]);
}

fn deliver_by_values_file(yaml: &str) -> String {
    let delivery = "manifest: { repository: acme/gitops, file: \"envs/{environment}/search/values.yaml\" }";
    rename_search_artefact(&replace_delivery(yaml, delivery))
}

#[tokio::test]
async fn without_git_history_a_rollback_finds_the_previous_version_in_the_cluster() {
    let world = World::with_setup(replace_manifest_without_history, |yaml| deliver_by_values_file(&yaml)).await;
    world.bob().types("/rollback finder qa").await;
    let plan = world.bob().reads();
    assert!(plan.contains("The cluster remembers that it ran there before"), "{plan}");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"));
    assert!(text(&world, "envs/qa/search/values.yaml").contains("tag: 1.0.1"));
}

#[tokio::test]
async fn without_any_history_a_rollback_guesses_the_previous_version_from_the_registrys_tags() {
    let prepare = |sim: &sim::World| {
        replace_manifest_without_history(sim);
        let workload = "deployment/search".parse().unwrap();
        sim.cluster.remove("qa", &workload);
        sim.cluster.set_running("qa", &workload, "search", &format!("{IMAGE}:1.0.2"), 2);
        let revision = sim.github.head("acme/search", "develop").unwrap();
        sim.registry.publish(IMAGE, "1.0.10", Some(&revision), sim.clock.now());
        sim.registry.publish(IMAGE, "latest", Some(&revision), sim.clock.now());
    };
    let world = World::with_setup(prepare, |yaml| deliver_by_values_file(&yaml)).await;
    let before = head(&world);
    world.bob().types("/rollback finder qa").await;
    assert_snapshot!(redact_own_commits(&world, &world.bob().reads()), @"
    :leftwards_arrow_with_hook: Roll *finder* back to `1.0.1` in *qa*, by a commit to `envs/qa/search/values.yaml`
    `1.0.2` → `1.0.1`, commit `19e6a01` · <http://world/sim/github/acme/search/compare/19e6a014b8601383935035e0c82be65e794cc16c...cd8f8f26ad4965fc12d3673afb6513e44b891872|compare>
    :warning: A guess: it is the tag before the current one in the registry. Nobody has seen it run there
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/search/commit/cd8f8f26ad4965fc12d3673afb6513e44b891872|cd8f8f2> Rank exact matches first · Alice Adler
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    assert_eq!(head(&world), before);
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"));
    assert_eq!(list_own_commits(&world).len(), 1);
}
