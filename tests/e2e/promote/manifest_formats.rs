//! Every supported manifest format: the version is found, changed in its one place, and deployed by the controller.

use gantry::sim::world as sim;

use crate::harness::manifest::{
    DELIVERY, GITOPS, IMAGE, card, head, list_own_commits, parents, path, push_and_settle, put, replace_delivery,
    running_image, text,
};
use crate::harness::world::World;

/// A world in which qa's manifest has this name and content. `settings` are appended to its delivery.
async fn with_file(name: &str, before: &str, settings: &str) -> World {
    let file = format!("envs/qa/search/{name}");
    let prepare = |sim: &sim::World| {
        // If both paths are the same, the second entry counts.
        put(sim, &[(&path("qa"), None), (&file, Some(before))]);
    };
    let delivery =
        format!("manifest: {{ repository: acme/gitops, file: \"envs/{{environment}}/search/{name}\"{settings} }}");
    World::with_setup(prepare, |yaml| if delivery == DELIVERY { yaml } else { replace_delivery(&yaml, &delivery) })
        .await
}

/// Promotes. Returns the manifest, the running image and the promoted tag.
async fn promote_and_read(world: &World, name: &str) -> (String, String, String) {
    let (_, tag) = push_and_settle(world, "Find plurals").await;
    let base = head(world);
    world.alice().types("/promote search qa").await;
    assert!(card(world, "deploys").contains("running in *qa*"), "{}", card(world, "deploys"));
    assert!(card(world, "deploys").contains("known by its image"), "{}", card(world, "deploys"));
    assert_eq!(parents(world, GITOPS, &head(world)), [base]);
    assert_eq!(list_own_commits(world).len(), 1);
    (text(world, &format!("envs/qa/search/{name}")), running_image(world, "qa"), tag)
}

fn digest(world: &World, tag: &str) -> String {
    world.sim.registry.digest(IMAGE, tag).expect("a digest")
}

/// The digest of the image that qa runs at the start. It is the same in every world.
fn old_digest(sim: &sim::World) -> String {
    sim.registry.digest(IMAGE, "1.0.2").expect("a digest")
}

#[tokio::test]
async fn every_manifest_format_with_a_tag_is_changed_in_one_place() {
    let cases = [
        (
            "a kustomization that renames the image",
            "kustomization.yaml",
            "images:\n- name: search\n  newName: ghcr.io/acme/search\n  newTag: 1.0.2 # ours\n- name: web\n  newTag: 1.0.2\n",
            "",
            "newTag: 1.0.2 # ours",
        ),
        (
            "the values of a chart",
            "values.yaml",
            "replicas: 2\nimage:\n  pullPolicy: Always\n  repository: ghcr.io/acme/search\n  tag: \"1.0.2\"\n",
            "",
            "tag: \"1.0.2\"",
        ),
        (
            "with the registry apart",
            "values.yaml",
            "web:\n  image: { registry: ghcr.io, repository: acme/search, tag: \"1.0.2\" }\n",
            "",
            "tag: \"1.0.2\"",
        ),
        (
            "values without the image's name, by path",
            "values.yaml",
            "sidecar: { tag: \"1.0.2\" }\nimage:\n    tag: '1.0.2'\n",
            ", path: image.tag",
            "tag: '1.0.2'",
        ),
        (
            "a plain object among others",
            "deployment.yaml",
            "kind: Service\n---\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - image: envoy:1.0.2\n      \
             - name: search\n        image: ghcr.io/acme/search:1.0.2\n",
            "",
            "ghcr.io/acme/search:1.0.2",
        ),
        (
            "an index in the path",
            "kustomization.yaml",
            "images:\n- name: ghcr.io/acme/search\n  newTag: 1.0.2\n",
            ", path: \"images[0].newTag\"",
            "newTag: 1.0.2",
        ),
    ];
    for (case, name, before, settings, version_text) in cases {
        let world = with_file(name, before, settings).await;
        let (after, image, tag) = promote_and_read(&world, name).await;
        assert_eq!(after, before.replacen(version_text, &version_text.replace("1.0.2", &tag), 1), "{case}");
        assert_eq!(image, format!("{IMAGE}:{tag}"), "{case}");
    }
}

#[tokio::test]
async fn every_manifest_format_with_a_digest_is_changed_in_one_place_and_restored_by_a_rollback() {
    // The file's name, its content before, more settings of the delivery, its content afterwards, the running image.
    let cases = [
        (
            "kustomization.yaml",
            "images:\n- name: ghcr.io/acme/search\n  digest: <digest>\n",
            "",
            "images:\n- name: ghcr.io/acme/search\n  digest: <digest>\n",
            "@<digest>",
        ),
        (
            "values.yaml",
            "image:\n  repository: ghcr.io/acme/search\n  digest: \"<digest>\"\n",
            "",
            "image:\n  repository: ghcr.io/acme/search\n  digest: \"<digest>\"\n",
            "@<digest>",
        ),
        (
            "values.yaml",
            "image:\n  repository: ghcr.io/acme/search\n  tag: 1.0.2@<digest>\n",
            "",
            "image:\n  repository: ghcr.io/acme/search\n  tag: <tag>@<digest>\n",
            ":<tag>@<digest>",
        ),
        (
            "deployment.yaml",
            "spec: { containers: [{ image: \"ghcr.io/acme/search:1.0.2@<digest>\" }] }\n",
            "",
            "spec: { containers: [{ image: \"ghcr.io/acme/search:<tag>@<digest>\" }] }\n",
            ":<tag>@<digest>",
        ),
        (
            "deployment.yaml",
            "image: ghcr.io/acme/search@<digest>\n",
            ", path: image",
            "image: ghcr.io/acme/search@<digest>\n",
            "@<digest>",
        ),
    ];
    for (name, before, settings, after, expected_image) in cases {
        let file = format!("envs/qa/search/{name}");
        let prepare = |sim: &sim::World| {
            let before = before.replace("<digest>", &old_digest(sim));
            put(sim, &[(&path("qa"), None), (&file, Some(&before))]);
        };
        let delivery = format!(
            "manifest: {{ repository: acme/gitops, file: \"envs/{{environment}}/search/{name}\", pin: digest{settings} }}"
        );
        let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, &delivery)).await;
        let (text, image, tag) = promote_and_read(&world, name).await;
        let fill_in = |text: &str| text.replace("<tag>", &tag).replace("<digest>", &digest(&world, &tag));
        assert_eq!(text, fill_in(after), "{before}");
        assert_eq!(image, format!("{IMAGE}{}", fill_in(expected_image)), "{before}");
        assert_ne!(digest(&world, &tag), old_digest(&world.sim));

        // A rollback writes the old digest again.
        world.alice().types("/rollback search qa").await;
        let card = card(&world, "deploys");
        assert!(card.contains("restored: running in *qa*"), "{before}: {card} {}", world.alice().reads());
        let restored = before.replace("<digest>", &old_digest(&world.sim));
        assert_eq!(crate::harness::manifest::text(&world, &file), restored, "the old image is restored");
    }
}
