//! An arrival is announced once in the environment's channel, when the cluster runs it.

use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;

/// Replaces the address only. The commits are the same in each run, because the test moves the clock.
fn redact_origin(world: &World, text: &str) -> String {
    text.replace(&world.origin, "http://world")
}

#[tokio::test]
async fn versions_that_run_at_the_first_start_are_not_announced() {
    let world = World::open().await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    assert_eq!(world.public_messages("releases"), Vec::<String>::new());
}

#[tokio::test]
async fn a_push_is_announced_once_in_the_channel_when_it_runs() {
    let world = World::open().await;
    let sha = world.push("checkout", "Sort the basket by name");
    world.settle().await;

    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    let message = redact_origin(&world, &messages[0]).replace(&sha, "<sha>").replace(&sha[..7], "<short>");
    assert_snapshot!(message, @"
    :large_green_circle: *checkout* `develop-<short>` runs in *development*
    <http://world/sim/github/acme/checkout/commit/<sha>|<short>> Sort the basket by name · Alice Adler · rolled out in 3 s
    Next: `/promote checkout qa`
    [Promote]
    ");
    assert!(world.running_tag("checkout", "development").ends_with(&sha[..7]));
    assert_eq!(world.public_messages("releases"), Vec::<String>::new());
}

#[tokio::test]
async fn a_push_is_not_announced_before_the_cluster_runs_it() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::SlowRollout, 1, None, None);
    world.push("checkout", "Take your time");
    for _ in 0..3 {
        world.clock.advance(SignedDuration::from_secs(2));
        world.wait_until_idle().await;
    }
    assert_eq!(
        world.public_messages("deploys"),
        Vec::<String>::new(),
        "the controller has reported, but not one replica is ready"
    );
    world.settle().await;
    assert_eq!(world.public_messages("deploys").len(), 1);
}

#[tokio::test]
async fn a_late_answer_of_github_is_not_used_for_a_version_that_arrived_meanwhile() {
    let world = World::open().await;
    world.sim.github.request_faults().inject("GET", "/commits/", FaultTiming::BeforeEffect, RequestFault::Pause, 1);
    let first = world.push("checkout", "The first");
    let second = loop {
        world.clock.advance(SignedDuration::from_millis(500));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let requests = world.sim.github.request_faults().requests();
        if requests.iter().any(|request| request.contains(&format!("/commits/{}", &first[..7]))) {
            break world.push("checkout", "The second");
        }
    };
    crate::harness::process::wait_until("the bot's watch has seen the second run", async || {
        world.clock.advance(SignedDuration::from_millis(500));
        let is_rolled_out = world.sim.scheduler.next_due().is_none();
        is_rolled_out
            && world.running_tag("checkout", "development").ends_with(&second[..7])
            && world.watches_are_up_to_date()
    })
    .await;
    world.sim.github.request_faults().resume();
    world.settle().await;
    assert!(world.running_tag("checkout", "development").ends_with(&second[..7]));
    let messages = world.public_messages("deploys");
    let about = |sha: &str| messages.iter().find(|text| text.contains(&format!("`develop-{}`", &sha[..7]))).cloned();
    assert!(
        about(&second).is_some_and(|text| text.contains("The second") && !text.contains("The first")),
        "{messages:#?}"
    );
    assert!(about(&first).is_none_or(|text| !text.contains("The second")), "{messages:#?}");
    world.alice().types("/promote checkout qa --dry-run").await;
    assert!(world.alice().reads().contains(&format!("commit `{}`", &second[..7])), "{}", world.alice().reads());
}

#[tokio::test]
async fn a_report_of_success_alone_announces_nothing() {
    let world = World::open().await;
    let body = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": "info", "reason": "ReconciliationSucceeded", "message": "all is well", "timestamp": "2026-11-16T09:00:00Z",
        "metadata": { "revision": format!("develop@sha1:{}", "a".repeat(40)) },
    });
    assert_eq!(
        crate::harness::signing::send_flux_report(
            &world,
            "development",
            &body.to_string(),
            "flux-secret-of-development"
        )
        .await,
        202
    );
    world.settle().await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
}

#[tokio::test]
async fn a_push_that_fails_is_announced_with_the_reason() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, None, None);
    let sha = world.push("checkout", "Break the basket");
    world.settle().await;

    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    let message = redact_origin(&world, &messages[0]).replace(&sha, "<sha>").replace(&sha[..7], "<short>");
    assert_snapshot!(message, @"
    :red_circle: *checkout* `develop-<short>` failed in *development*
    <http://world/sim/github/acme/checkout/commit/<sha>|<short>> Break the basket · <@U0ALICE>
    *Why:* CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts
    Next: push a repair to `develop`; `/list checkout` shows what runs.
    ");
}

#[tokio::test]
async fn a_missing_image_is_announced_as_the_reason_of_a_failure() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::ImageMissing, 1, None, None);
    world.push("storefront", "Vanish");
    world.settle().await;
    let messages = world.public_messages("deploys").join("\n");
    assert!(messages.contains("*storefront*") && messages.contains("ImagePullBackOff"), "{messages}");
}

#[tokio::test]
async fn a_failed_push_and_its_fix_are_two_announcements() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, None, None);
    world.push("checkout", "Break the basket");
    world.settle().await;
    world.push("checkout", "Mend the basket");
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 2);
    assert!(
        messages[0].starts_with(":red_circle:") && messages[1].starts_with(":large_green_circle:"),
        "{messages:#?}"
    );
    assert!(messages[1].contains("Mend the basket"));
}

#[tokio::test]
async fn a_push_is_announced_without_its_webhook() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::LostWebhook, 9, None, None);
    world.push("checkout", "Nobody reports me");
    world.settle().await;
    assert_eq!(world.public_messages("deploys").len(), 1);
}

#[tokio::test]
async fn a_repeated_webhook_does_not_repeat_the_announcement() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::DuplicateWebhook, 9, None, None);
    world.push("checkout", "Reported twice");
    world.settle().await;
    assert_eq!(world.public_messages("deploys").len(), 1);
}

#[tokio::test]
async fn a_push_to_a_shared_repository_is_announced_for_each_artefact() {
    let world = World::open().await;
    let sha = world.push("mailer", "Write nicer mails");
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let mailer = messages.iter().find(|text| text.contains("*mailer*")).expect("the mailer");
    // Its tag and its labels do not name the commit: it comes from the controller's report.
    assert!(mailer.contains(&sha[..7]) && mailer.contains("Write nicer mails"), "{mailer}");
    assert!(messages.iter().any(|text| text.contains("*storefront*")));
}

#[tokio::test]
async fn an_arrival_by_manifest_is_announced_with_the_commit_of_its_image() {
    let world = World::open().await;
    world.push("search", "Find more");
    world.settle().await;
    let messages = world.public_messages("deploys");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert!(
        messages[0].contains("*search*") && messages[0].contains("Find more") && messages[0].contains("Alice Adler"),
        "{}",
        messages[0]
    );
}

/// The tag of checkout names the commit, and GitHub must confirm it. The label of search's image names it.
#[tokio::test]
async fn while_github_is_down_an_arrival_is_announced_and_its_commit_is_added_later() {
    for artefact in ["checkout", "search"] {
        let world = World::open().await;
        world.push(artefact, "GitHub sleeps");
        world.sim.faults.arm(Fault::Github502, 1000, None, None);
        world.settle().await;
        let messages = world.public_messages("deploys");
        assert_eq!(messages.len(), 1);
        assert!(!messages[0].contains("GitHub sleeps"), "{}", messages[0]);

        while world.sim.faults.take_if_armed(Fault::Github502, None, None) {}
        world.wait(SignedDuration::from_secs(61)).await;
        let messages = world.public_messages("deploys");
        assert_eq!(messages.len(), 1, "the same message, edited");
        assert!(messages[0].contains("GitHub sleeps") && messages[0].contains("Alice Adler"), "{}", messages[0]);
    }
}

#[tokio::test]
async fn the_text_of_a_commit_cannot_mention_anyone() {
    let world = World::open().await;
    world.push("checkout", "<!channel> <@U0BOB> & `rm`");
    world.settle().await;
    let message = &world.public_messages("deploys")[0];
    assert!(message.contains("&lt;!channel&gt; &lt;@U0BOB&gt; &amp; `rm`"), "{message}");
}

/// The author is mentioned once: an edit of a message notifies no one, and no message is posted again.
#[tokio::test]
async fn a_recovery_is_announced_once_in_the_thread_and_the_channel() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, None, None);
    world.push("checkout", "Break the basket");
    world.settle().await;
    let image = format!("ghcr.io/acme/checkout:{}", world.running_tag("checkout", "development"));
    world.sim.cluster.set_running("development", &"deployment/checkout".parse().unwrap(), "checkout", &image, 2);
    world.settle().await;
    for _ in 0..3 {
        world.wait(SignedDuration::from_secs(61)).await;
    }
    let messages = world.sim.slack.messages("deploys", None);
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let texts: Vec<String> = messages.iter().map(crate::harness::world::render_message).collect();
    assert!(texts[0].starts_with(":large_green_circle:") && !texts[0].contains("<@"), "{texts:#?}");
    assert!(texts[1].contains("runs in *development* after all."), "{texts:#?}");
    assert_eq!((messages[1].thread.as_ref(), messages[1].broadcast), (Some(&messages[0].id), true));
}

#[tokio::test]
async fn an_author_who_becomes_known_late_is_mentioned_in_the_thread() {
    let world = World::open().await;
    world.sim.faults.arm(Fault::CrashLoop, 1, None, None);
    world.push("checkout", "Break the basket");
    world.sim.faults.arm(Fault::Github502, 1000, None, None);
    world.settle().await;
    assert!(
        !world.public_messages("deploys").concat().contains("<@U0ALICE>"),
        "{:#?}",
        world.public_messages("deploys")
    );
    while world.sim.faults.take_if_armed(Fault::Github502, None, None) {}
    for _ in 0..3 {
        world.wait(SignedDuration::from_secs(61)).await;
    }
    let messages = world.sim.slack.messages("deploys", None);
    assert_eq!(messages.len(), 2, "{messages:#?}");
    assert!(crate::harness::world::render_message(&messages[0]).contains("Break the basket"));
    assert!(
        messages[1].broadcast && crate::harness::world::render_message(&messages[1]).contains("<@U0ALICE>"),
        "{messages:#?}"
    );
}

#[tokio::test]
async fn repeated_reports_and_observations_do_not_repeat_the_announcement() {
    let world = World::open().await;
    let sha = world.push("checkout", "Sort the basket by name");
    world.settle().await;
    let before = world.sim.slack.messages("deploys", None);
    for round in 0..10 {
        // The same message, and a different message with the same meaning.
        for message in ["Reconciliation finished".to_owned(), format!("Reconciliation finished in {round} s")] {
            let body = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
                "severity": "info", "reason": "ReconciliationSucceeded", "message": message,
                "timestamp": "2026-11-16T09:00:09Z", "metadata": { "revision": format!("develop@sha1:{sha}") },
            });
            let answer = crate::harness::signing::send_flux_report(
                &world,
                "development",
                &body.to_string(),
                "flux-secret-of-development",
            )
            .await;
            assert_eq!(answer, 202);
        }
        world.wait(SignedDuration::from_secs(61)).await;
    }
    let after = world.sim.slack.messages("deploys", None);
    assert_eq!(after, before, "neither posted nor edited");
}
