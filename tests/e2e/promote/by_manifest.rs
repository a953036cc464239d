//! `promote` by manifest: the messages that people see, and the state of the file, Git and the cluster afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::world as sim;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::Value;

use crate::harness::manifest::{
    GITOPS, IMAGE, advance_until, api, card, deliver_checkout_by_manifest, head, list_own_commits, parents, path,
    push_and_settle, put, redact_own_commits, replace_delivery, running_image, text,
};
use crate::harness::world::{World, redact_origin_and_ids};

#[tokio::test]
async fn a_promotion_by_manifest_changes_only_the_tag() {
    let before = "# Ask the release managers before you touch this.\r\n\
        kind: Kustomization\r\n\
        images:\r\n\
        \x20 - newTag: '1.0.2'   # theirs\r\n\
        \x20   name: ghcr.io/acme/sidecar\r\n\
        \r\n\
        \x20 - name: ghcr.io/acme/search # ours\r\n\
        \x20   newTag: '1.0.2'\t # Gantry writes here\r\n\
        resources: [ ../../../base/search ]\r\n\
        apiVersion: \"kustomize.config.k8s.io/v1beta1\"\r\n";
    let world = World::with_setup(|sim| drop(put(sim, &[(&path("qa"), Some(before))])), |yaml| yaml).await;
    let (pinned, tag) = push_and_settle(&world, "Find plurals").await;
    let base = head(&world);

    let ack = world.alice().types("/promote search qa").await;
    assert_eq!(ack, "Looking at *search* for *qa*...");

    let result = head(&world);
    assert_eq!(parents(&world, GITOPS, &result), std::slice::from_ref(&base), "exactly one commit");
    let line = before.lines().nth(7).unwrap();
    assert_eq!(text(&world, &path("qa")), before.replace(line, &line.replace("1.0.2", &tag)));
    let (old, new) = (world.sim.github.files(GITOPS, &base).unwrap(), world.sim.github.files(GITOPS, &result).unwrap());
    let changed_paths: Vec<_> =
        new.iter().filter(|(path, blob)| old.get(*path) != Some(blob)).map(|(path, _)| path).collect();
    assert_eq!((changed_paths, old.len()), (vec![&path("qa")], new.len()));

    let commit = api(&world, &format!("/repos/{GITOPS}/git/commits/{result}")).await;
    let message = commit["message"].as_str().unwrap();
    let (body, change) = message.split_once("Gantry-Change: ").expect("a trailer");
    assert_eq!(change.trim().len(), 36);
    assert_snapshot!(body.replace(pinned.as_str(), "<pinned>"), @"
    Promote search 1.0.3 to qa

    <pinned> was seen running well in development.
    ");

    let name = "qa/search/2026.11.16-1";
    assert_eq!(
        world.sim.github.tags("acme/search").get(name),
        Some(&pinned),
        "the code is tagged at the commit of the image"
    );
    let tag_of = api(&world, &format!("/repos/acme/search/git/ref/tags/{name}")).await;
    assert_eq!(tag_of["object"]["type"], "tag", "annotated");
    assert_eq!(world.sim.github.tags(GITOPS), BTreeMap::new());
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"));
    assert_snapshot!(redact_own_commits(&world, &card(&world, "deploys")), @"
    :large_green_circle: *search* `1.0.3`: running in *qa*, 2 of 2 ready
    :white_check_mark: written 0 s  ›  :white_check_mark: picked up 0 s  ›  :white_check_mark: rolled out 3 s  ›  :white_check_mark: running after 3 s
    written to `envs/qa/search/kustomization.yaml` as <http://world/sim/github/acme/gitops/commit/<ours 1>|<ours 1>> · tagged `qa/search/2026.11.16-1` · known by its image
    `1.0.2` → `1.0.3`, commit `2b48be3` as it runs in development · <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...2b48be3e40bc824af3f3e76133d98f253041e9ed|compare>
    runs well in development since <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    1 commit:
    • <http://world/sim/github/acme/search/commit/2b48be3e40bc824af3f3e76133d98f253041e9ed|2b48be3> Find plurals · Alice Adler
    1 file, +1 −0
    Next: `/promote search staging`
    [Roll back]
    asked by <@U0ALICE> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
}

#[tokio::test]
async fn the_card_shows_each_step_and_turns_green_only_when_the_rollout_is_complete() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    let mut first_lines = Vec::new();
    for _ in 0..40 {
        world.wait_until_idle().await;
        let card = world.public_messages("deploys").into_iter().find(|message| message.contains("asked by"));
        let card = card.map(|card| card.lines().next().unwrap_or_default().to_owned());
        let state = world.sim.cluster.state("qa", &"deployment/search".parse().unwrap());
        let is_complete = state.state == "running" && state.image == Some(format!("{IMAGE}:{tag}"));
        assert!(is_complete || !card.as_ref().is_some_and(|card| card.contains("running in")), "{card:?} {state:?}");
        if let Some(card) = card.filter(|card| first_lines.last() != Some(card)) {
            first_lines.push(card);
        }
        world.clock.advance(SignedDuration::from_millis(500));
    }
    assert_snapshot!(first_lines.join("\n"), @"
    :hourglass_flowing_sand: *search* `1.0.3`: deploying to *qa*
    :hourglass_flowing_sand: *search* `1.0.3`: deploying to *qa*, 1 of 2 ready
    :large_green_circle: *search* `1.0.3`: running in *qa*, 2 of 2 ready
    ");
}

#[tokio::test]
async fn an_image_with_another_tag_is_no_proof_although_its_commit_is_the_same() {
    // No controller follows this file, so the test sets the running image.
    let elsewhere = "manifest: { repository: acme/gitops, file: \"apps/{environment}.yaml\" }";
    let prepare = |sim: &sim::World| drop(put(sim, &[("apps/qa.yaml", Some("image: ghcr.io/acme/search:1.0.2\n"))]));
    let world = World::with_setup(prepare, |yaml| replace_delivery(&yaml, elsewhere)).await;
    let (pinned, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    world.wait_until_idle().await;
    assert_eq!(text(&world, "apps/qa.yaml"), format!("image: ghcr.io/acme/search:{tag}\n"));

    let workload = "deployment/search".parse().unwrap();
    // An image of the same commit under another tag, completely rolled out.
    world.sim.registry.publish(IMAGE, "other", Some(&pinned), world.clock.now());
    world.sim.cluster.set_image("qa", &workload, "search", &format!("{IMAGE}:other"));
    for _ in 0..30 {
        world.wait_until_idle().await;
        assert!(card(&world, "deploys").contains("deploying to *qa*"), "{}", card(&world, "deploys"));
        world.clock.advance(SignedDuration::from_secs(1));
    }
    assert_eq!(world.sim.cluster.state("qa", &workload).state, "running");
    world.sim.cluster.set_image("qa", &workload, "search", &format!("{IMAGE}:{tag}"));
    world.settle().await;
    assert!(card(&world, "deploys").contains("running in *qa*"), "{}", card(&world, "deploys"));
}

#[tokio::test]
async fn a_version_that_already_runs_or_is_older_is_refused() {
    let world = World::open().await;
    let before = head(&world);
    world.alice().types("/promote search qa").await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *qa* has everything of *search* `1.0.2` already: `1.0.2` runs there.
    Next: push something new; `/list search` shows what runs where.
    ");
    assert_eq!(head(&world), before);

    let (_, older) = push_and_settle(&world, "Find plurals").await;
    push_and_settle(&world, "Find synonyms").await;
    world.alice().types("/promote search qa").await;
    let newer = head(&world);
    world.alice().types(&format!("/promote search qa @{older}")).await;
    assert_snapshot!(redact_origin_and_ids(&world, &world.alice().reads()), @"
    *qa* is newer than *search* `1.0.3`: `1.0.4` runs there. A promotion never goes back.
    Next: to go back on purpose, `/rollback search qa`.
    ");
    assert_eq!(head(&world), newer);
    assert_eq!(list_own_commits(&world).len(), 1);
}

#[tokio::test]
async fn the_plan_lists_the_commits_between_the_two_images() {
    let world = World::open().await;
    let (first, _) = push_and_settle(&world, "Find plurals").await;
    let (second, _) = push_and_settle(&world, "Find synonyms").await;
    let before = head(&world);
    world.alice().types("/promote search qa --dry-run").await;
    let seen = redact_origin_and_ids(&world, &world.alice().reads());
    let seen = [(&first, "<first>"), (&second, "<second>")]
        .iter()
        .fold(seen, |seen, (sha, name)| seen.replace(sha.as_str(), name).replace(sha.short(), name));
    assert_snapshot!(seen, @"
    Promote *search* `1.0.4` to *qa*, by a commit to `envs/qa/search/kustomization.yaml` and a tag
    `1.0.2` → `1.0.4`, commit `<second>` as it runs in development · <http://world/sim/github/acme/search/compare/cd8f8f26ad4965fc12d3673afb6513e44b891872...<second>|compare>
    runs well in development since <!date^1794819610^{date_short_pretty} {time}|2026-11-16 09:00 UTC>
    2 commits:
    • <http://world/sim/github/acme/search/commit/<second>|<second>> Find synonyms · Alice Adler
    • <http://world/sim/github/acme/search/commit/<first>|<first>> Find plurals · Alice Adler
    1 file, +2 −0
    Nothing was done. To do it: `/promote search qa`
    ");
    assert_eq!(head(&world), before);
}

#[tokio::test]
async fn the_plan_warns_of_running_commits_that_the_promotion_removes() {
    let world = World::open().await;
    let hotfix = world.sim.push("search", "hotfix", "Stop the bleeding", BTreeMap::new(), "bob").unwrap();
    world.sim.registry.publish(IMAGE, "1.0.2-hotfix", Some(&hotfix), world.clock.now());
    put(&world.sim, &[(&path("qa"), Some(&format!("images: [{{ name: {IMAGE}, newTag: 1.0.2-hotfix }}]\n")))]);
    push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa --dry-run").await;
    let seen = redact_origin_and_ids(&world, &world.alice().reads());
    let warning: Vec<_> = seen.lines().skip_while(|line| !line.starts_with(":warning:")).take(2).collect();
    assert_snapshot!(warning.join("\n").replace(hotfix.as_str(), "<hotfix>").replace(hotfix.short(), "<hotfix>"), @"
    :warning: 1 commit that runs there is not in it, and is lost by it
    • <http://world/sim/github/acme/search/commit/<hotfix>|<hotfix>> Stop the bleeding · Bob Brandt
    ");
}

#[tokio::test]
async fn staging_gets_the_image_that_runs_in_qa() {
    let world = World::open().await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    push_and_settle(&world, "Too new").await;
    world.alice().types("/promote search staging").await;
    assert_eq!(
        (running_image(&world, "qa"), running_image(&world, "staging")),
        (format!("{IMAGE}:{tag}"), format!("{IMAGE}:{tag}"))
    );
    assert!(text(&world, &path("staging")).contains(&format!("newTag: \"{tag}\"")));
    assert!(world.sim.github.tags("acme/search").contains_key("staging/search/2026.11.16-1"));
}

#[tokio::test]
async fn changes_of_two_manifests_in_one_repository_do_not_block_each_other() {
    let world = World::with_setup(
        |sim| {
            let text = "images:\n  - name: ghcr.io/acme/checkout\n    newTag: qa-6cff9ae\n";
            put(sim, &[("envs/qa/checkout/kustomization.yaml", Some(text))]);
        },
        |yaml| deliver_checkout_by_manifest(&yaml),
    )
    .await;
    let (_, tag) = push_and_settle(&world, "Find plurals").await;
    let faults = world.sim.github.request_faults();
    faults.inject("PATCH", "/acme/gitops/git/refs/heads/main", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    world.alice().types_without_waiting("deploys", "/promote search qa").await;
    advance_until(&world, &|| faults.has_paused_request()).await;

    world.bob().types_without_waiting("deploys", "/promote search qa").await;
    advance_until(&world, &|| {
        world.ephemeral_messages("bob", "deploys").concat().contains("is promoting *search* to *qa*")
    })
    .await;
    world.bob().types_without_waiting("deploys", "/promote checkout qa").await;
    let is_running = |message: &String| message.contains("*checkout*") && message.contains("running in *qa*");
    advance_until(&world, &|| world.public_messages("deploys").iter().any(is_running)).await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:1.0.2"), "the change of search is still paused");
    faults.resume();
    world.settle().await;
    assert_eq!(running_image(&world, "qa"), format!("{IMAGE}:{tag}"));
    assert_eq!(list_own_commits(&world).len(), 2, "one commit for each change, although the branch moved in between");
    assert_eq!(world.running_tag("checkout", "qa"), "develop-d6c66c2");
}

#[tokio::test]
async fn the_trigger_names_the_repository_of_the_manifest_and_its_new_commit() {
    let received = Arc::new(Mutex::new(Vec::<String>::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let log = received.clone();
    let router = axum::Router::new().fallback(move |body: String| async move { log.lock().unwrap().push(body) });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let trigger = format!("  - name: qa\n    trigger: {{ argocd_webhook: \"{url}\" }}\n");
    let world = World::with_config(|yaml| yaml.replace("  - name: qa\n", &trigger)).await;
    push_and_settle(&world, "Find plurals").await;
    world.alice().types("/promote search qa").await;
    let received = received.lock().unwrap().clone();
    assert_eq!(received.len(), 1, "{received:?}");
    let body: Value = serde_json::from_str(&received[0]).unwrap();
    assert_eq!((&body["ref"], &body["after"]), (&"refs/heads/main".into(), &head(&world).as_str().into()));
    let repository = &body["repository"];
    assert_eq!(repository["full_name"], GITOPS);
    assert_eq!(repository["html_url"], format!("{}/sim/github/{GITOPS}", world.origin), "the address that people open");
}
