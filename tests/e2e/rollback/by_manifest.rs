//! `rollback` by manifest: the old image returns, and the version that was rolled back from is quarantined.

use gantry::sim::faults::Fault;
use gantry::sim::world as sim;
use insta::assert_snapshot;

use crate::harness::manifest::{
    DELIVERY, GITOPS, IMAGE, api, card, head, list_own_commits, parents, path, promote_newer, push_and_settle, put,
    redact_own_commits, replace_delivery, running_image, text,
};
use crate::harness::world::World;

#[tokio::test]
async fn a_rollback_by_manifest_restores_the_old_image() {
    let world = World::open().await;
    let before = text(&world, &path("qa"));
    let bad = promote_newer(&world, "Find plurals").await;
    let (base, built) = (head(&world), world.sim.registry.tags(IMAGE));

    let ack = world.bob().types("/rollback search qa --reason it finds too much").await;
    assert_eq!(ack, "Looking at what ran before of *search* in *qa*...");

    assert_eq!(text(&world, &path("qa")), before);
    assert_eq!(parents(&world, GITOPS, &head(&world)), [base], "one forward commit");
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    assert_eq!(world.sim.registry.tags(IMAGE), built, "nothing is built for it");
    let message = api(&world, &format!("/repos/{GITOPS}/git/commits/{}", head(&world))).await;
    let (body, trailers) = message["message"].as_str().unwrap().split_once("\n\nGantry-").expect("trailers");
    assert_snapshot!(body.replace(&bad, "<bad>"), @"
    Roll search back to 1.0.2 in qa

    Takes back <bad>. Reason: it finds too much
    ");
    assert!(trailers.contains("Rollback") || trailers.starts_with("Change"), "{trailers}");
    assert_snapshot!(redact_own_commits(&world, &card(&world, "deploys")), @"
    :large_green_circle: *search* `1.0.2`, restored: running in *qa*, 2 of 2 ready
    :white_check_mark: written 0 s  ›  :white_check_mark: picked up 0 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 3 s
    written to `envs/qa/search/kustomization.yaml` as <http://world/sim/github/acme/gitops/commit/<ours 2>|<ours 2>> · tagged `qa/search/2026.11.16-2` · known by its image
    `1.0.3` → `1.0.2`, commit `cd8f8f2` · <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...2b48be3e40bc824af3f3e76133d98f253041e9ed|compare>
    I saw it run well there from <!date^1794398400^{date_short_pretty} {time}|2026-11-11 12:00 UTC> to <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 4 d
    *Reason:* it finds too much
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/search/commit/2b48be3e40bc824af3f3e76133d98f253041e9ed|2b48be3> Find plurals · Alice Adler
    Quarantined: `1.0.3` does not come back here or above before `/gantry release search 1.0.3`. The next promotion asks once more.
    asked by <@U0BOB> · <!date^1794819608^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let lost = world
        .public_messages("deploys")
        .into_iter()
        .find(|message| message.contains("your commits"))
        .expect("a notification");
    assert_snapshot!(redact_own_commits(&world, &lost), @"
    <@U0ALICE> your commits do not run in *qa* any more: *search* was rolled back to `1.0.2`. Reason: it finds too much.
    Next: push a repair; once it runs below, `/promote search qa` brings your commits back together with it.
    ");
    let promoted =
        world.public_messages("deploys").into_iter().find(|message| message.contains("Rolled back")).expect("its card");
    assert!(!promoted.contains("[Roll back]"), "{promoted}");
}

#[tokio::test]
async fn a_second_rollback_by_manifest_goes_further_back_and_the_next_promotion_undoes_nothing() {
    let world = World::open().await;
    let first = promote_newer(&world, "Find plurals").await;
    promote_newer(&world, "Find synonyms").await;
    world.bob().types("/rollback search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{first}"));
    world.bob().types("/rollback search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    world.bob().types("/rollback search qa").await;
    assert_eq!(
        running_image(&world, "qa"),
        format!("{IMAGE}:1.0.1"),
        "the version that ran before the bot was started"
    );
    world.bob().types("/rollback search qa").await;
    assert_snapshot!(world.bob().reads(), @"
    I know of no version of *search* that ran in *qa* before `1.0.1`, and that was not rolled back from.
    Next: repair it by a push and a promotion; or name a version that ran there: `/rollback search qa &lt;version&gt;`.
    ");

    let (_, next) = push_and_settle(&world, "Find what is meant").await;
    world.alice().types("/promote search qa").await;
    let plan = world.alice().reads();
    assert!(plan.contains("[Confirm]"), "the hold asks for a confirmation: {plan}");
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{next}"));
    assert_eq!(list_own_commits(&world).len(), 6, "one commit for each change, and none that undoes a rollback");
    assert!(text(&world, &path("qa")).contains(&format!("newTag: \"{next}\"")));
}

#[tokio::test]
async fn a_version_that_was_rolled_back_returns_only_after_its_release() {
    let world = World::open().await;
    let bad = promote_newer(&world, "Find plurals").await;
    world.alice().types("/promote search staging").await;
    world.bob().types("/rollback search qa --reason too slow").await;
    let after = head(&world);
    world.alice().types("/promote search qa").await;
    assert_snapshot!(redact_own_commits(&world, &world.alice().reads()), @"
    *search* `1.0.3` may not come back to *qa*: <@U0BOB> rolled it back in *qa* <!date^1794819612^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: too slow.
    [Release]
    Next: promote what repairs it; or, if it was not to blame, `/gantry release search 1.0.3`, or pass it with `--override reason` where you may.
    ");

    // An image of the same commit under another tag is the same version.
    let revision = world.sim.github.head("acme/search", "develop").unwrap();
    world.sim.registry.publish(IMAGE, "other", Some(&revision), world.clock.now());
    let text = format!("images: [{{ name: {IMAGE}, newTag: other }}]\n");
    put(&world.sim, &[(&path("development"), Some(&text))]);
    world.settle().await;
    world.alice().types("/promote search qa").await;
    assert!(world.alice().reads().contains("may not come back to *qa*"), "{}", world.alice().reads());
    assert_eq!(list_own_commits(&world)[0], after, "nothing moved");

    world.bob().types(&format!("/gantry release search {bad}")).await;
    world.alice().types(&format!("/promote search qa @{bad}")).await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(
        running_image(&world, "qa"),
        format!("{IMAGE}:{bad}"),
        "the image that was named, and not the other one of its commit"
    );
}

#[tokio::test]
async fn a_production_rollback_by_manifest_must_be_confirmed() {
    let world = World::open().await;
    let before = head(&world);
    world.bob().types("/rollback search prod").await;
    assert_eq!(head(&world), before);
    assert_snapshot!(redact_own_commits(&world, &world.bob().reads()), @"
    :leftwards_arrow_with_hook: Roll *search* back to `1.0.1` in *prod*, by a commit to `envs/prod/search/kustomization.yaml`
    `1.0.2` → `1.0.1`, commit `19e6a01` · <http://world/sim/github/acme/search/compare/19e6a014b8601383935035e0c82be65e794cc16c...cd8f8f26ad4965fc12d3673afb6513e44b891872|compare>
    I saw it run well there from <!date^1794319200^{date_short_pretty} {time}|2026-11-10 14:00 UTC> to <!date^1794405600^{date_short_pretty} {time}|2026-11-11 14:00 UTC>, for 24 h
    *Lost by it:* 1 commit:
    • <http://world/sim/github/acme/search/commit/cd8f8f26ad4965fc12d3673afb6513e44b891872|cd8f8f2> Rank exact matches first · Alice Adler
    [Confirm] [Another version] [Cancel]
    Nothing is done before you confirm. This is good for 30 minutes.
    ");
    world.bob().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "prod"), format!("{IMAGE}:1.0.1"));
    assert_eq!(parents(&world, GITOPS, &head(&world)), [before], "by a commit, because a rollback needs no approval");
    assert!(card(&world, "releases").contains("restored: running in *prod*"), "{}", card(&world, "releases"));
}

#[tokio::test]
async fn a_rollback_by_manifest_can_be_configured_to_go_by_pull_request() {
    let world =
        World::with_config(|yaml| yaml.replace("  - name: qa\n", "  - name: qa\n    rollback: pull_request\n")).await;
    promote_newer(&world, "Find plurals").await;
    world.bob().types("/rollback search qa").await;
    if world.bob().reads().contains("[Confirm]") {
        world.bob().clicks_in("deploys", "Confirm").await;
    }
    let pull = world.sim.github.pulls(GITOPS).pop().expect("a pull request");
    assert_eq!((pull.state, pull.base.as_str()), ("merged", "main"));
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    assert!(!world.sim.github.branches(GITOPS).keys().any(|branch| branch.starts_with("gantry/")));
    assert!(card(&world, "deploys").contains("restored: running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_failed_promotion_by_manifest_can_be_rolled_back_by_its_button() {
    let world = World::open().await;
    push_and_settle(&world, "Crash").await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("search".into()), Some("qa".into()));
    world.alice().types("/promote search qa").await;
    assert!(card(&world, "deploys").contains("failed in *qa*"), "{}", card(&world, "deploys"));
    world.carol().clicks_in("deploys", "Roll back").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    assert!(card(&world, "deploys").contains("restored: running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_failed_rollback_by_manifest_says_the_next_step_and_offers_another_version() {
    let world = World::open().await;
    promote_newer(&world, "Find plurals").await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("search".into()), Some("qa".into()));
    world.bob().types("/rollback search qa").await;
    let card = card(&world, "deploys");
    assert!(card.contains("*search* back to `1.0.2` in *qa*: the rollback failed"), "{card}");
    let next = card.lines().find(|line| line.starts_with("Next:")).expect("the next step");
    assert_snapshot!(next, @"Next: choose *Another version*, or repair it by a push and a promotion. It is still watched: should it come to run, this turns green.");
    world.bob().clicks_in("deploys", "Another version").await;
    assert!(world.bob().reads().contains("[1.0.1]"), "{}", world.bob().reads());
    world.bob().clicks_in("deploys", "1.0.1").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.1"), "{}", world.bob().reads());
}

#[tokio::test]
async fn auto_rollback_rolls_a_failed_promotion_by_manifest_back() {
    let world =
        World::with_config(|yaml| yaml.replace("  - name: qa\n", "  - name: qa\n    auto_rollback: true\n")).await;
    let (_, bad) = push_and_settle(&world, "Crash").await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("search".into()), Some("qa".into()));
    world.alice().types("/promote search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"));
    assert_eq!(list_own_commits(&world).len(), 2);
    let card = card(&world, "deploys");
    assert!(card.contains("restored: running in *qa*"), "{card}");
    world.alice().types(&format!("/promote search qa @{bad}")).await;
    assert!(world.alice().reads().contains("may not come back to *qa*"), "{}", world.alice().reads());
}

#[tokio::test]
async fn two_artefacts_with_the_same_tags_in_one_manifest_are_kept_apart() {
    const CHECKOUT: &str = "ghcr.io/acme/checkout";
    let delivery = "manifest: { repository: acme/gitops, file: \"envs/{environment}/search/kustomization.yaml\" }";
    let workload = "deployment/checkout".parse().unwrap();
    let both = |search: &str, checkout: &str| {
        format!("images:\n- name: {IMAGE}\n  newTag: {search}\n- name: {CHECKOUT}\n  newTag: {checkout}\n")
    };
    let prepare = |sim: &sim::World| {
        for (image, tag) in [(IMAGE, "nightly-7"), (CHECKOUT, "nightly-7"), (IMAGE, "nightly-8")] {
            sim.registry.publish(image, tag, None, sim.clock.now());
        }
        put(sim, &[(&path("qa"), Some(&both("1.0.2", "qa-6cff9ae")))]);
        let image = format!("{CHECKOUT}:nightly-7");
        sim.cluster.set_running("development", &"deployment/checkout".parse().unwrap(), "checkout", &image, 2);
    };
    let world = World::with_setup(prepare, |yaml| {
        yaml.replace(
            "    workload: deployment/checkout\n    delivery: branch\n",
            &format!("    workload: deployment/checkout\n    delivery:\n      {delivery}\n"),
        )
    })
    .await;
    let in_development = |tag: &str| format!("images: [{{ name: {IMAGE}, newTag: {tag} }}]\n");
    put(&world.sim, &[(&path("development"), Some(&in_development("nightly-7")))]);
    world.settle().await;
    world.alice().types("/promote search qa").await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.bob().types_without_waiting("deploys", "/rollback search qa").await;
    for _ in 0..5 {
        world.clock.advance(jiff::SignedDuration::from_secs(1));
        world.wait_until_idle().await;
    }
    let answers = world.ephemeral_messages("bob", "deploys").concat();
    assert!(answers.contains("is promoting *checkout* to *qa*"), "one change of a file at a time: {answers}");
    // The world's controller expects each artefact in a folder of its own, so the test deploys checkout.
    world.sim.cluster.set_image("qa", &workload, "checkout", &format!("{CHECKOUT}:nightly-7"));
    world.settle().await;
    assert!(card(&world, "deploys").contains("*checkout* `nightly-7`: running in *qa*"), "{}", card(&world, "deploys"));
    put(&world.sim, &[(&path("development"), Some(&in_development("nightly-8")))]);
    world.settle().await;
    world.alice().types("/promote search qa").await;
    assert_eq!(text(&world, &path("qa")), both("nightly-8", "nightly-7"));

    world.bob().types("/rollback search qa").await;
    assert_eq!(text(&world, &path("qa")), both("nightly-7", "nightly-7"), "{}", world.bob().reads());
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:nightly-7"));
    world.bob().types_without_waiting("deploys", "/rollback checkout qa").await;
    world.wait_until_idle().await;
    world.sim.cluster.set_image("qa", &workload, "checkout", &format!("{CHECKOUT}:qa-6cff9ae"));
    world.settle().await;
    assert_eq!(text(&world, &path("qa")), both("nightly-7", "qa-6cff9ae"), "{}", world.bob().reads());
}

#[tokio::test]
async fn an_image_that_names_no_commit_can_be_promoted_and_rolled_back_by_manifest() {
    let prepare = |sim: &sim::World| {
        sim.registry.publish(IMAGE, "nightly-7", None, sim.clock.now());
        sim.registry.publish(IMAGE, "nightly-8", None, sim.clock.now());
    };
    let world = World::with_setup(prepare, |yaml| yaml).await;
    for tag in ["nightly-7", "nightly-8"] {
        put(&world.sim, &[(&path("development"), Some(&format!("images: [{{ name: {IMAGE}, newTag: {tag} }}]\n")))]);
        world.settle().await;
        world.alice().types("/promote search qa").await;
        assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"), "{}", world.alice().reads());
    }
    assert_snapshot!(redact_own_commits(&world, &card(&world, "deploys")), @"
    :large_green_circle: *search* `nightly-8`: running in *qa*, 2 of 2 ready
    :white_check_mark: written 0 s  ›  :white_check_mark: picked up 0 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 3 s
    written to `envs/qa/search/kustomization.yaml` as `<ours 2>` · known by its image
    :warning: not tagged: nothing tells which commit the image was built from
    `nightly-7` → `nightly-8`, of a commit that nothing tells, as it runs in development
    runs well in development since <!date^1794819610^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    Next: `/promote search staging`
    [Roll back]
    asked by <@U0ALICE> · <!date^1794819610^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");

    world.bob().types("/rollback search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:nightly-7"), "{}", world.bob().reads());
    assert_snapshot!(redact_own_commits(&world, &card(&world, "deploys")), @"
    :large_green_circle: *search* `nightly-7`, restored: running in *qa*, 2 of 2 ready
    :white_check_mark: written 0 s  ›  :white_check_mark: picked up 0 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 3 s
    written to `envs/qa/search/kustomization.yaml` as `<ours 3>` · known by its image
    :warning: not tagged: nothing tells which commit the image was built from
    `nightly-8` → `nightly-7`
    I saw it run well there from <!date^1794819607^{date_short_pretty} {time}|2026-11-16 09:00 UTC> to <!date^1794819611^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 4 s
    What is lost by it cannot be told: the commits are not known.
    Quarantined: `nightly-8` does not come back here or above before `/gantry release search nightly-8`. The next promotion asks once more.
    asked by <@U0BOB> · <!date^1794819614^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    world.alice().types("/promote search qa").await;
    assert!(
        world.alice().reads().contains("may not come back to *qa*"),
        "the version is recognised by its image alone: {}",
        world.alice().reads()
    );
    assert_eq!(world.sim.github.tags("acme/search").len(), 0);
    world.bob().types("/gantry release search nightly-8").await;
    world.alice().types("/promote search qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:nightly-8"));
}

#[tokio::test]
async fn a_bad_image_is_quarantined_and_released_by_its_digest() {
    let delivery = DELIVERY.replace("\" }", "\", pin: digest }");
    let prepare = |sim: &sim::World| {
        let first = sim.registry.publish(IMAGE, "nightly-7", None, sim.clock.now());
        sim.registry.publish(IMAGE, "nightly-8", None, sim.clock.now());
        put(sim, &[(&path("qa"), Some(&format!("images: [{{ name: {IMAGE}, digest: \"{first}\" }}]\n")))]);
    };
    let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, &delivery)).await;
    put(&world.sim, &[(&path("development"), Some(&format!("images: [{{ name: {IMAGE}, newTag: nightly-8 }}]\n")))]);
    world.settle().await;
    world.alice().types("/promote search qa").await;
    let digest = world.sim.registry.digest(IMAGE, "nightly-8").unwrap();
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}@{digest}"), "{}", world.alice().reads());
    world.bob().types("/rollback search qa").await;
    assert!(
        running_image(&world, "qa").ends_with(&world.sim.registry.digest(IMAGE, "nightly-7").unwrap()),
        "{}",
        running_image(&world, "qa")
    );
    world.alice().types("/promote search qa").await;
    let refused = world.alice().reads();
    assert!(refused.contains("*search* `nightly-8` may not come back to *qa*"), "{refused}");
    let (_, release) = refused.split_once("`/gantry release").expect("the release command");
    let release = format!("/gantry release{}", release.split('`').next().unwrap());
    world.bob().types(&release).await;
    assert!(world.bob().reads().contains("may come back"), "{release}: {}", world.bob().reads());
    world.alice().types("/promote search qa").await;
    world.alice().clicks_in("deploys", "Confirm").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}@{digest}"));
}
