//! Manifests that Gantry cannot write: each is refused with the next step, and no branch moves.

use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::world as sim;
use insta::assert_snapshot;

use crate::harness::manifest::{
    DELIVERY, GITOPS, IMAGE, card, head, list_own_commits, path, push_and_settle, put, put_in, replace_delivery,
    running_image, text,
};
use crate::harness::world::World;

/// The refusals of a promotion and of a rollback if qa's manifest has this text. Asserts that nothing moves.
async fn expect_refusals(before: &str) -> (String, String) {
    expect_refusals_with(before, DELIVERY).await
}

async fn expect_refusals_with(before: &str, delivery: &str) -> (String, String) {
    let world =
        World::with_config(|yaml| if delivery == DELIVERY { yaml } else { replace_delivery(&yaml, delivery) }).await;
    push_and_settle(&world, "Find plurals").await;
    put(&world.sim, &[(&path("qa"), Some(before))]);
    world.settle().await;
    let (head_before, image_before) = (head(&world), running_image(&world, "qa"));
    world.alice().types("/promote search qa").await;
    world.bob().types("/rollback search qa").await;
    assert_eq!((head(&world), running_image(&world, "qa")), (head_before, image_before), "nothing moves");
    assert_eq!(text(&world, &path("qa")), before);
    assert_eq!(world.sim.github.tags("acme/search").len(), 0);
    assert!(!world.public_messages("deploys").iter().any(|message| message.contains("asked by")), "no change begins");
    (world.alice().reads(), world.bob().reads())
}

#[tokio::test]
async fn a_manifest_with_the_image_in_two_places_is_refused() {
    let twice = format!("images:\n- name: {IMAGE}\n  newTag: 1.0.2\n- name: {IMAGE}\n  newTag: 1.0.2\n");
    let (promote, rollback) = expect_refusals(&twice).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: ghcr.io/acme/search stands in 2 places (`images[0]` in line 2 and `images[1]` in line 4): keep one, or say which one counts with `path:`.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    assert!(rollback.contains("stands in 2 places"), "{rollback}");
}

#[tokio::test]
async fn a_manifest_with_the_image_in_two_documents_is_refused() {
    let (promote, _) = expect_refusals(&format!("image: {IMAGE}:1.0.2\n---\nspec:\n  image: {IMAGE}:1.0.2\n")).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: ghcr.io/acme/search stands in 2 places (`image` in line 1 and `spec.image` in line 4): keep one, or say which one counts with `path:`.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
}

#[tokio::test]
async fn a_manifest_with_a_shared_anchor_or_an_alias_is_refused() {
    let text = format!("images:\n- name: {IMAGE}\n  newTag: &v 1.0.2\n- name: ghcr.io/acme/web\n  newTag: *v\n");
    let (promote, _) = expect_refusals(&text).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: line 3 is part of an anchor (line 3) that is used elsewhere too, and would change there as well: write the value out where it is used.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    let text = format!("images:\n- name: ghcr.io/acme/web\n  newTag: &v 1.0.2\n- name: {IMAGE}\n  newTag: *v\n");
    let (promote, _) = expect_refusals(&text).await;
    assert!(promote.contains("line 5 takes its value from an alias"), "{promote}");
}

#[tokio::test]
async fn a_manifest_that_is_not_yaml_is_refused() {
    let (promote, rollback) = expect_refusals("images:\n- name: {{ .Values.image }}\n  newTag: [\n").await;
    assert!(promote.contains("it cannot be read as YAML (line ") && promote.contains("repair it there"), "{promote}");
    assert!(rollback.contains("it cannot be read as YAML"), "{rollback}");
}

#[tokio::test]
async fn a_kustomization_without_an_entry_for_the_image_is_refused() {
    let (promote, rollback) = expect_refusals("kind: Kustomization\nresources: [base]\n").await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: this kustomization has no entry for ghcr.io/acme/search: add one to `images:`, with `name: ghcr.io/acme/search` and the version that runs now as `newTag`.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    assert!(rollback.contains("this kustomization has no entry"), "{rollback}");
}

#[tokio::test]
async fn a_manifest_that_fluxs_image_automation_writes_is_refused_with_the_next_step() {
    let text =
        format!("images:\n- name: {IMAGE}\n  newTag: 1.0.2 # {{\"$imagepolicy\": \"flux-system:search:tag\"}}\n");
    let (promote, rollback) = expect_refusals(&text).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: line 3 is written by Flux's image automation, policy `flux-system:search`, which would undo the change: take the comment with `$imagepolicy` off that line. Until that is merged, stop Flux: find the ImageUpdateAutomation that writes this file with `flux get image update -A`, then `flux suspend image update &lt;its name&gt; -n &lt;its namespace&gt;`.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    assert!(rollback.contains("image automation"), "{rollback}");
}

#[tokio::test]
async fn a_configured_path_that_is_not_in_the_manifest_is_refused() {
    let delivery = DELIVERY.replace("\" }", "\", path: image.tag }");
    let (promote, _) = expect_refusals_with(&format!("images:\n- name: {IMAGE}\n  newTag: 1.0.2\n"), &delivery).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: `path: image.tag` leads nowhere in it: correct the path, or leave it out to have the place looked for.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
}

#[tokio::test]
async fn a_manifest_with_a_digest_is_refused_if_a_tag_is_to_be_written() {
    let text = format!("images:\n- name: {IMAGE}\n  digest: sha256:{}\n", "0".repeat(64));
    let (promote, _) = expect_refusals(&text).await;
    assert_snapshot!(promote, @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: line 3 pins a digest, beside which a tag means nothing: remove the digest, or set `pin: digest`.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
}

#[tokio::test]
async fn a_missing_manifest_is_refused() {
    let world = World::with_config(|yaml| replace_delivery(&yaml, &DELIVERY.replace("kustomization", "missing"))).await;
    push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    world.alice().types("/promote search qa").await;
    assert_snapshot!(world.alice().reads(), @"
    I cannot change the version of *search* in `envs/qa/search/missing.yaml` of `acme/gitops`: it is not on the branch main: write it there once, with the version that runs now.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    world.bob().types("/rollback search qa").await;
    assert!(world.bob().reads().contains("it is not on the branch main"), "{}", world.bob().reads());
    assert_eq!(head(&world), before);
    assert!(!world.public_messages("deploys").iter().any(|message| message.contains("asked by")));
}

#[tokio::test]
async fn a_missing_manifest_branch_is_refused() {
    let world =
        World::with_config(|yaml| replace_delivery(&yaml, &DELIVERY.replace("\" }", "\", branch: trunk }"))).await;
    push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    assert_snapshot!(world.alice().reads(), @"
    I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/gitops`: there is no branch trunk: correct `branch`, or leave it out to have the default one.
    Next: repair the file, or tell me under `delivery` where the version stands.
    ");
    assert_eq!(list_own_commits(&world).len(), 0);
}

#[tokio::test]
async fn a_missing_manifest_repository_is_refused_with_and_without_a_configured_branch() {
    for branch_setting in ["", ", branch: main"] {
        let delivery =
            DELIVERY.replace("acme/gitops", "acme/nowhere").replace("\" }", &format!("\"{branch_setting} }}"));
        let world = World::with_config(|yaml| replace_delivery(&yaml, &delivery)).await;
        push_and_settle(&world, "Find plurals").await;
        world.alice().types("/promote search qa").await;
        insta::allow_duplicates! {
            assert_snapshot!(world.alice().reads(), @"
            I cannot change the version of *search* in `envs/qa/search/kustomization.yaml` of `acme/nowhere`: GitHub does not find that repository, or does not let me see it: correct its name, or let the token or the app read and write it.
            Next: repair the file, or tell me under `delivery` where the version stands.
            ");
        }
        world.bob().types("/rollback search qa").await;
        assert!(world.bob().reads().contains("GitHub does not find that repository"), "{}", world.bob().reads());
    }
}

#[tokio::test]
async fn missing_write_access_to_the_manifests_ends_in_an_error_with_the_next_step_and_can_be_retried() {
    let world = World::open().await;
    push_and_settle(&world, "Find plurals").await;
    let before = head(&world);
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject("POST", "/acme/gitops/git/trees", FaultTiming::BeforeEffect, forbidden, 9);
    world.alice().types("/promote search qa").await;
    let card = card(&world, "deploys");
    let reason = card.lines().find(|line| line.starts_with("*Why:*")).expect("a reason");
    assert_snapshot!(reason, @"*Why:* GitHub refuses us: Resource not accessible by integration. Check the token, or the app's installation and permissions.");
    assert_eq!(head(&world), before);
    world.sim.github.request_faults().clear();
    world.alice().types("/promote search qa").await;
    assert_ne!(head(&world), before, "the promotion can be retried after the repair");
}

#[tokio::test]
async fn without_a_configured_branch_the_default_branch_is_written() {
    let repository = "acme/deployments";
    let prepare = |sim: &sim::World| {
        sim.github.create_repository(repository, "trunk").unwrap();
        let text = format!("images:\n- name: {IMAGE}\n  newTag: 1.0.2\n");
        put_in(sim, repository, "trunk", &[(&path("qa"), Some(&text))]);
        sim.github.create_branch(repository, "main", &sim.github.head(repository, "trunk").unwrap()).unwrap();
    };
    let delivery = DELIVERY.replace("acme/gitops", repository);
    let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, &delivery)).await;
    let (main, gitops) = (world.sim.github.head(repository, "main"), head(&world));
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"), "{}", world.alice().reads());
    let trunk = world.sim.github.head(repository, "trunk").unwrap();
    let content = world.sim.github.read_file(repository, &trunk, &path("qa")).unwrap();
    assert_eq!(content, format!("images:\n- name: {IMAGE}\n  newTag: {tag}\n"));
    assert_eq!(world.sim.github.head(repository, "main"), main);
    assert_eq!(list_own_commits(&world).len(), 0, "Gantry writes nothing to {GITOPS}: {gitops}");
}

#[tokio::test]
async fn a_configured_branch_is_written_instead_of_the_default_branch() {
    let repository = "acme/deployments";
    let prepare = |sim: &sim::World| {
        sim.github.create_repository(repository, "trunk").unwrap();
        let text = format!("images:\n- name: {IMAGE}\n  newTag: 1.0.2\n");
        put_in(sim, repository, "trunk", &[(&path("qa"), Some(&text))]);
        sim.github.create_branch(repository, "live", &sim.github.head(repository, "trunk").unwrap()).unwrap();
    };
    let delivery = DELIVERY.replace("acme/gitops", repository).replace("\" }", "\", branch: live }");
    let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, &delivery)).await;
    let trunk = world.sim.github.head(repository, "trunk");
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    world.wait_until_idle().await;
    let live = world.sim.github.head(repository, "live").unwrap();
    assert!(world.sim.github.read_file(repository, &live, &path("qa")).unwrap().contains(&tag));
    assert_eq!(world.sim.github.head(repository, "trunk"), trunk);
    // No controller follows that branch, so there is no proof that the version runs.
    world.settle().await;
    assert!(card(&world, "deploys").contains("no proof that it runs in *qa*"), "{}", card(&world, "deploys"));
}
