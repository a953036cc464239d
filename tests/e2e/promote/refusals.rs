//! Refusals of promotions: each names the obstacle and the next step. No branch moves, and the channel gets no message.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::world::SIGNING_SECRET;
use insta::assert_snapshot;

use crate::harness::world::World;

/// Types a command as alice and returns her answer. Asserts that no branch moves and that the channel gets no message.
async fn expect_refusal(world: &World, text: &str) -> String {
    let branches =
        || world.sim.github.repositories().iter().map(|name| world.sim.github.branches(name)).collect::<Vec<_>>();
    let (before, messages) = (branches(), world.public_messages("deploys"));
    world.alice().types(text).await;
    assert_eq!(branches(), before, "no branch moves");
    assert_eq!(world.public_messages("deploys"), messages, "the channel gets no message");
    world.alice().reads().replace(&world.origin, "http://world")
}

fn with_qa_setting(key: &'static str, value: &'static str) -> impl FnOnce(String) -> String {
    move |configuration| configuration.replace("  - name: qa\n", &format!("  - name: qa\n    {key}: {value}\n"))
}

#[tokio::test]
async fn unknown_names_are_refused_and_so_are_the_first_and_excluded_environments() {
    let world = World::with_config(|configuration| {
        let shop = "    repository: acme/shop\n    paths: [\"storefront/**\", \"lib/**\"]\n";
        configuration.replace(shop, &format!("{shop}    environments: {{ staging: false }}\n"))
    })
    .await;
    assert_snapshot!(expect_refusal(&world, "/promote checkuot qa").await, @"There is no artefact `checkuot`. Did you mean `checkout`?");
    assert_snapshot!(expect_refusal(&world, "/promote checkout stagng").await, @"
    There is no environment `stagng`. Did you mean `staging`?
    Usage: `/promote &lt;artefact&gt; [environment] [@version] [--dry-run] [--override reason]`
    For example: `/promote checkout` or `/promote checkout to qa` or `/promote checkout --dry-run`
    ");
    assert_snapshot!(expect_refusal(&world, "/promote checkout development").await, @"
    Nothing is promoted to *development*: it is fed by pushes.
    Next: push to `develop`, or `/promote checkout qa`.
    ");
    assert_snapshot!(expect_refusal(&world, "/promote search qa").await, @"
    *qa* has everything of *search* `1.0.2` already: `1.0.2` runs there.
    Next: push something new; `/list search` shows what runs where.
    ");
    assert_snapshot!(expect_refusal(&world, "/promote storefront staging").await, @"
    *storefront* is not in *staging*.
    Next: choose one of `development`, `qa`, `prod`.
    ");
}

#[tokio::test]
async fn a_running_an_older_and_a_never_deployed_version_are_refused() {
    let world = World::open().await;
    let older = world.running_tag("checkout", "development");
    world.push("checkout", "Newer");
    world.settle().await;
    world.alice().types("/promote checkout qa").await;
    let same_refusal = expect_refusal(&world, "/promote checkout qa").await;
    let runs = world.running_tag("checkout", "qa");
    assert_snapshot!(same_refusal.replace(&runs, "<runs>"), @"
    *qa* has everything of *checkout* `develop-6e5c392` already: `<runs>` runs there.
    Next: push something new; `/list checkout` shows what runs where.
    ");
    let older_refusal = expect_refusal(&world, &format!("/promote checkout qa @{older}")).await;
    assert_snapshot!(older_refusal.replace(&runs, "<runs>"), @"
    *qa* is newer than *checkout* `develop-d6c66c2`: `<runs>` runs there. A promotion never goes back.
    Next: to go back on purpose, `/rollback checkout qa`.
    ");
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa @1.2.3").await, @"
    *checkout* `1.2.3` has never run well in *development*, as far as I have seen.
    Next: choose one that has: `develop-6e5c392`, `develop-d6c66c2`, `develop-7d03d5a`, `develop-8ea1fa5`, `develop-c335310`.
    ");
}

#[tokio::test]
async fn promote_without_an_environment_is_refused_if_none_is_behind() {
    let world = World::with_config(|configuration| {
        let checkout = "    repository: acme/checkout\n";
        configuration.replace(checkout, &format!("{checkout}    environments: {{ staging: false, prod: false }}\n"))
    })
    .await;
    world.alice().types("/promote checkout").await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout").await, @"
    Nothing to promote: every environment of *checkout* has what the one below runs.
    Next: push something new; `/list checkout` shows what runs where.
    ");
}

#[tokio::test]
async fn a_version_that_does_not_run_well_in_the_environment_below_is_not_promoted() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, None, None);
    world.push("checkout", "Take your time");
    for _ in 0..3 {
        world.clock.advance(jiff::SignedDuration::from_secs(1));
        world.wait_until_idle().await;
    }
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    assert_snapshot!(world.alice().reads(), @"
    *checkout* `develop-4039f1c` is still rolling out in *development*: 0 of 2 ready.
    Next: wait until it runs there, then type it again; `/list checkout` shows how far it is.
    ");
    world.settle().await;

    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), None);
    world.push("checkout", "Break it");
    world.settle().await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @r#"
    *checkout* `develop-9553d7b` does not run well in *development*: ReplicaSet "checkout-6b00017f" has timed out progressing.
    Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.
    "#);

    world.sim.cluster.remove("development", &"deployment/checkout".parse().unwrap());
    world.settle().await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    *checkout* does not run in *development*, so there is nothing to promote.
    Next: get it running there first; `/list checkout` shows what runs where.
    ");
}

#[tokio::test]
async fn a_promotion_is_refused_while_the_cluster_cannot_be_read() {
    let world = World::with_setup(|sim| sim.cluster.forbid("qa"), |yaml| yaml).await;
    let answer = expect_refusal(&world, "/promote checkout qa").await;
    assert!(answer.starts_with("I cannot read what runs in *qa* since"), "{answer}");
}

#[tokio::test]
async fn an_image_that_names_no_commit_is_not_promoted_by_branch() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::LostWebhook, 99, None, None);
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    world.settle().await;
    assert_snapshot!(expect_refusal(&world, "/promote mailer qa").await, @"
    Nothing tells which commit *mailer* `build-9` in *development* was built from, so I cannot pin it.
    Next: let its tag end in the commit, or set the label `org.opencontainers.image.revision` when it is built, or tag the commit with the image's tag in Git.
    ");
}

#[tokio::test]
async fn a_second_promotion_is_refused_and_names_the_requester_of_the_first() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, None, None);
    world.bob().types_without_waiting("deploys", "/promote checkout qa").await;
    world.wait_until_idle().await;
    world.alice().types_without_waiting("deploys", "/promote checkout qa").await;
    world.clock.advance(jiff::SignedDuration::from_secs(1));
    world.wait_until_idle().await;
    let answer = world.alice().reads();
    let (before, after) = answer.split_once("<https://acme.slack.com/archives/C0DEPLOYS/").expect("a link");
    assert_snapshot!(format!("{before}<link{}", &after[after.find('|').unwrap()..]), @"
    <@U0BOB> is promoting *checkout* to *qa* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: it is deploying, <link|follow it here>.
    Next: wait for it, and type it again.
    ");

    let status = world.alice().types_without_waiting("deploys", "/gantry status").await;
    assert!(status.starts_with("1 change is under way:\n:hourglass_flowing_sand: *checkout*"), "{status}");
    world.settle().await;
}

#[tokio::test]
async fn a_promotion_is_refused_while_checks_are_red_or_running() {
    let world = World::open().await;
    let develop = world.sim.github.head("acme/checkout", "develop").unwrap();
    let check =
        |name: &str, conclusion: &str| world.sim.github.set_check("acme/checkout", &develop, name, conclusion).unwrap();
    check("unit tests", "success");
    check("browser tests", "in_progress");
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    Checks are still running on <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2>: `browser tests`.
    Next: wait for them, and type it again.
    ");
    check("browser tests", "failure");
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    Checks are red on <http://world/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2>: `browser tests`.
    Next: repair them, or run them again on GitHub, and type it again.
    ");
    check("browser tests", "skipped");
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"));
}

#[tokio::test]
async fn commit_statuses_count_like_checks() {
    let world = World::open().await;
    let develop = world.sim.github.head("acme/checkout", "develop").unwrap();
    let url = format!("{}/sim/github/repos/acme/checkout/statuses/{develop}", world.origin);
    let set = async |state: &str| {
        let status = serde_json::json!({ "state": state, "context": "ci/legacy" });
        let response = reqwest::Client::new().post(&url).bearer_auth("x").json(&status).send().await.unwrap();
        assert_eq!(response.status(), 201);
    };
    set("pending").await;
    let refusal = expect_refusal(&world, "/promote checkout qa").await;
    assert!(refusal.starts_with("Checks are still running on ") && refusal.contains("`ci/legacy`"), "{refusal}");
    set("error").await;
    let refusal = expect_refusal(&world, "/promote checkout qa").await;
    assert!(refusal.starts_with("Checks are red on ") && refusal.contains("`ci/legacy`"), "{refusal}");
    set("success").await;
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"));
}

#[tokio::test]
async fn the_promote_button_of_an_arrival_is_refused_if_its_version_no_longer_runs() {
    let world = World::open().await;
    world.push("checkout", "Here today");
    world.settle().await;
    let arrival = world.last_message("alice", "deploys").id;
    world.sim.cluster.remove("development", &"deployment/checkout".parse().unwrap());
    world.settle().await;
    let before = world.sim.github.head("acme/checkout", "qa");
    world.sim.slack.click("alice", "deploys", &arrival, "Promote").await.unwrap();
    world.settle().await;
    assert!(world.alice().reads().starts_with("*checkout* does not run in *development*"), "{}", world.alice().reads());
    assert_eq!(world.sim.github.head("acme/checkout", "qa"), before);
}

#[tokio::test]
async fn the_simulated_red_check_refuses_a_promotion() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::RedCheck, 1, Some("checkout".into()), None);
    assert!(expect_refusal(&world, "/promote checkout qa").await.starts_with("Checks are red on "));
}

#[tokio::test]
async fn a_green_check_can_be_required() {
    let world = World::with_config(with_qa_setting("checks", "required")).await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    *qa* requires a green check, and `d6c66c2` has none.
    Next: let CI check the commit, and type it again.
    ");
    let develop = world.sim.github.head("acme/checkout", "develop").unwrap();
    world.sim.github.set_check("acme/checkout", &develop, "build", "success").unwrap();
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"));
}

#[tokio::test]
async fn a_missing_branch_is_refused_with_the_git_command_that_creates_it() {
    let world = World::with_config(|configuration| configuration.replace("branch: qa\n", "branch: quality\n")).await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    The branch `quality` of *qa* does not exist in `acme/checkout`.
    Next: make it from what runs below, which is then deployed from there: `git push origin d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf:refs/heads/quality`
    ");
}

#[tokio::test]
async fn branches_without_a_common_ancestor_are_refused() {
    let world = World::with_config(|configuration| configuration.replace("branch: qa\n", "branch: orphan\n")).await;
    let api = format!("{}/sim/github/repos/acme/checkout/git", world.origin);
    let http = reqwest::Client::new();
    let post = async |path: &str, body: serde_json::Value| -> serde_json::Value {
        let request = http.post(format!("{api}/{path}")).bearer_auth("x").json(&body);
        request.send().await.unwrap().json().await.unwrap()
    };
    let tree = serde_json::json!({ "tree": [{ "path": "a", "mode": "100644", "content": "a" }] });
    let tree = post("trees", tree).await["sha"].clone();
    let commit =
        post("commits", serde_json::json!({ "message": "Alone", "tree": tree, "parents": [] })).await["sha"].clone();
    post("refs", serde_json::json!({ "ref": "refs/heads/orphan", "sha": commit })).await;
    assert_snapshot!(expect_refusal(&world, "/promote checkout qa").await, @"
    `d6c66c2` and the branch `orphan` of `acme/checkout` have no commit in common, so they cannot be merged.
    Next: make the branch anew from the one below, or join the histories by hand with `git merge --allow-unrelated-histories`
    ");
}

#[tokio::test]
async fn a_promotion_is_refused_if_no_new_commit_touches_the_artefacts_paths() {
    let world = World::open().await;
    let file = BTreeMap::from([("mailer/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("mailer", "develop", "Only mails", file, "alice").unwrap();
    world.settle().await;
    assert_snapshot!(expect_refusal(&world, "/promote storefront qa").await, @"
    1 commit is new for *qa*, but none concerns *storefront*: none changes `storefront/**`, `lib/**`.
    Next: promote the artefact that changed; `/list` shows what is behind.
    ");
}

#[tokio::test]
async fn guests_may_not_promote() {
    let world = World::open().await;
    let before = world.sim.github.head("acme/checkout", "qa");
    world.dave().types("/promote checkout qa").await;
    assert!(world.dave().reads().contains("you are a guest here"));
    world.dave().posts("deploys", None, "@gantry promote checkout qa").await;
    assert_eq!(world.sim.github.head("acme/checkout", "qa"), before);
}

#[tokio::test]
async fn planning_retries_while_github_is_unavailable_and_then_refuses() {
    let world = World::open().await;
    let down = RequestFault::Reply(503, "Service unavailable", vec![]);
    world.sim.github.request_faults().inject("GET", "/compare/", FaultTiming::BeforeEffect, down.clone(), 4);
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys")[0].contains("running in *qa*"), "GitHub recovers");

    world.sim.github.request_faults().inject("GET", "/compare/", FaultTiming::BeforeEffect, down, 999);
    world.alice().types("/promote checkout staging").await;
    assert_snapshot!(world.alice().reads(), @"
    Nothing was done: GitHub is not available: it answered 503.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
}

#[tokio::test]
async fn promote_buttons_with_invalid_values_do_nothing() {
    let world = World::open().await;
    let before = world.sim.github.head("acme/checkout", "qa");
    for (action, value) in [
        ("plan_confirm", "x"),
        ("plan_confirm", "01939f3e-5c00-7000-8000-00000badcafe"),
        ("change_cancel", "<!channel>"),
        ("change_retry", "01939f3e-5c00-7000-8000-00000badcafe"),
        ("arrival_promote", "arrival:qa:checkout:nonsense"),
        ("arrival_promote", "arrival:development:checkout:9223372036854775807"),
        ("arrival_promote", "arrival:prod:checkout:1"),
    ] {
        let origin = serde_json::json!({ "id": "T0ACME" });
        let payload = serde_json::json!({
            "type": "block_actions", "team": origin, "user": { "id": "U0ALICE" }, "channel": { "id": "C0DEPLOYS" },
            "trigger_id": format!("{action}.{value}"), "actions": [{ "action_id": action, "value": value }],
        });
        let body =
            form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
        let now = world.clock.now().as_second();
        let (status, _) =
            crate::harness::signing::send_slack_request(&world, "/slack/interactions", &body, SIGNING_SECRET, now)
                .await;
        assert_eq!(status, 200, "{action} {value}");
        world.settle().await;
    }
    assert_eq!(world.sim.github.head("acme/checkout", "qa"), before);
}
