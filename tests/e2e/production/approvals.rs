//! Approvals: the people who may approve, the ways to do it, the commit that an approval is for, and the time limit.

use std::collections::BTreeMap;

use gantry::sim::github::{Author, FaultTiming, RequestFault, Verdict};
use gantry::sim::slack::Person;
use gantry::sim::world::SIGNING_SECRET;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::json;

use crate::harness::production::{REPOSITORY, card, head, pull, request_production};
use crate::harness::world::{World, redact_origin_and_ids};

#[expect(clippy::needless_pass_by_value, reason = "the harness passes the configuration by value")]
fn require_two_approvals(yaml: String) -> String {
    yaml.replace("required: 1", "required: 2")
}

fn file(path: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(path.to_owned(), Some("x".to_owned()))])
}

/// Erin is a member of the workspace, but of no group.
fn with_erin(sim: &gantry::sim::world::World) {
    let erin = Person {
        id: "U0ERIN".into(),
        name: "erin".into(),
        real_name: "Erin Egger".into(),
        email: "erin@acme.example".into(),
        ..Person::default()
    };
    sim.slack.add_person(erin);
    sim.github.add_person(&Author {
        name: "Erin Egger".into(),
        email: "erin@elsewhere.example".into(),
        login: Some("erin-gh".into()),
    });
}

fn last_ephemeral_message(world: &World, person: &str) -> String {
    world.ephemeral_messages(person, "releases").pop().expect("an answer")
}

#[tokio::test]
async fn each_person_counts_once_towards_two_required_approvals() {
    let world = World::with_config(require_two_approvals).await;
    let before = head(&world, "prod");
    request_production(&world).await;
    assert!(
        card(&world).contains("waiting for 2 approvals") && card(&world).contains("0 of 2 approvals"),
        "{}",
        card(&world)
    );
    world.bob().clicks_in("releases", "Approve").await;
    assert!(
        card(&world).contains("waiting for 1 approval") && card(&world).contains("1 of 2 approvals"),
        "{}",
        card(&world)
    );
    assert!(card(&world).contains("approved by <@U0BOB>"), "{}", card(&world));
    world.bob().clicks_in("releases", "Approve").await;
    assert_eq!(last_ephemeral_message(&world, "bob"), "You have approved this already, and each person counts once.");
    // A review on GitHub by the same person does not count a second time.
    world.sim.github.review(REPOSITORY, pull(&world).unwrap().number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert_eq!(head(&world, "prod"), before);
    assert!(card(&world).contains("1 of 2 approvals"), "{}", card(&world));
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn two_simultaneous_approvals_both_count() {
    let world = World::with_config(require_two_approvals).await;
    request_production(&world).await;
    let id = world.last_message("bob", "releases").id;
    let slack = &world.sim.slack;
    let (bob, carol) =
        tokio::join!(slack.click("bob", "releases", &id, "Approve"), slack.click("carol", "releases", &id, "Approve"));
    assert_eq!((bob.unwrap().status, carol.unwrap().status), (200, 200));
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert!(card(&world).contains("<@U0BOB>") && card(&world).contains("<@U0CAROL>"), "{}", card(&world));
}

#[tokio::test]
async fn a_double_click_merges_once_and_a_late_click_is_answered() {
    let world = World::open().await;
    request_production(&world).await;
    let id = world.last_message("bob", "releases").id;
    let slack = &world.sim.slack;
    let (one, two) =
        tokio::join!(slack.click("bob", "releases", &id, "Approve"), slack.click("bob", "releases", &id, "Approve"));
    assert_eq!((one.unwrap().status, two.unwrap().status), (200, 200));
    world.settle().await;
    let graph = world.sim.github.graph(REPOSITORY, 100);
    assert_eq!(
        graph.iter().filter(|commit| commit.subject.starts_with("Promote checkout")).count(),
        2,
        "one result and one merge"
    );

    // The card has no buttons any more, so the test sends a late click itself.
    let change = pull(&world).unwrap().head.strip_prefix("gantry/").unwrap().to_owned();
    send_click(&world, "U0CAROL", "change_approve", &format!("{change}:{}", pull(&world).unwrap().head_sha)).await;
    let last = world.ephemeral_messages("carol", "releases").pop().expect("an answer");
    assert!(last.contains("running in *prod*") && last.contains("There is nothing left to decide."), "{last}");
}

/// Sends a click on a button that no message shows any more.
async fn send_click(world: &World, person: &str, action: &str, value: &str) {
    let payload = json!({
        "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": person }, "channel": { "id": "C0RELEASES" },
        "trigger_id": format!("{person}.{action}.{value}"), "actions": [{ "action_id": action, "value": value }],
    });
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let now = world.clock.now().as_second();
    let (status, _) =
        crate::harness::signing::send_slack_request(world, "/slack/interactions", &body, SIGNING_SECRET, now).await;
    assert_eq!(status, 200);
    world.settle().await;
}

#[tokio::test]
async fn forged_and_outdated_buttons_approve_nothing() {
    let world = World::open().await;
    let before = head(&world, "prod");
    let pull = request_production(&world).await;
    let change = pull.head.strip_prefix("gantry/").unwrap();
    let other = head(&world, "staging");
    for value in [
        "",
        "x",
        ":",
        "01939f3e-5c00-7000-8000-00000badcafe:x",
        change,
        &format!("{change}:"),
        &format!("{change}:{other}"),
    ] {
        send_click(&world, "U0BOB", "change_approve", value).await;
        send_click(&world, "U0BOB", "change_reject", value).await;
    }
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    assert!(
        last_ephemeral_message(&world, "bob").starts_with("What you saw has changed since:"),
        "{}",
        last_ephemeral_message(&world, "bob")
    );
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn only_approvers_may_approve_reject_or_cancel() {
    let world = World::with_setup(with_erin, |yaml| yaml).await;
    request_production(&world).await;
    let id = world.last_message("bob", "releases").id;
    for button in ["Approve", "Reject", "Cancel"] {
        world.sim.slack.click("erin", "releases", &id, button).await.unwrap();
        world.settle().await;
        let answer = last_ephemeral_message(&world, "erin");
        assert!(answer.starts_with("You may not ") && answer.contains("ask @release-managers to do it"), "{answer}");
    }
    world.sim.slack.click("dave", "releases", &id, "Approve").await.unwrap();
    world.settle().await;
    assert!(last_ephemeral_message(&world, "dave").contains("you are a guest here"));
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    assert!(world.sim.slack.views("erin").is_empty());
    assert_snapshot!(last_ephemeral_message(&world, "erin"), @"
    You may not cancel changes of others in *prod*.
    Next: ask @release-managers to do it.
    ");
}

#[tokio::test]
async fn a_review_on_github_counts_as_an_approval() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Comment, "hm").unwrap();
    world.settle().await;
    assert!(card(&world).contains("0 of 1 approval"), "a comment is no approval: {}", card(&world));
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "go").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert!(card(&world).contains("by a review on GitHub"), "{}", card(&world));
}

#[tokio::test]
async fn requested_changes_on_github_stop_the_merge_until_they_are_withdrawn() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::RequestChanges, "no").unwrap();
    world.settle().await;
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("changes are requested on GitHub by `carol`"), "{}", card(&world));
    assert_ne!(crate::harness::production::pull(&world).unwrap().state, "merged");
    world.sim.github.review(REPOSITORY, pull.number, "carol", Verdict::Approve, "yes").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn the_requester_cannot_approve_on_github_either() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "alice", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(
        card(&world).contains("the review of `alice` does not count: nobody approves what they asked for"),
        "{}",
        card(&world)
    );
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
}

#[tokio::test]
async fn a_review_by_an_unmapped_github_user_does_not_count() {
    let world = World::with_setup(with_erin, |yaml| yaml).await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "erin-gh", Verdict::Approve, "").unwrap();
    world.settle().await;
    let shown = card(&world);
    assert!(
        shown.contains(
            "the review of `erin-gh` does not count: I do not know who that is in Slack. Name them under `people`"
        ),
        "{shown}"
    );
    assert!(shown.contains("0 of 1 approval"), "{shown}");
}

#[tokio::test]
async fn no_review_counts_if_the_requesters_github_user_is_unknown() {
    let unmapped = |yaml: String| yaml.replace("  U0ERIN: erin-gh\n", "");
    let world = World::with_setup(with_erin, unmapped).await;
    world.sim.slack.type_command("erin", "deploys", "/promote checkout prod").await.unwrap();
    world.settle().await;
    let plan = world.last_message("erin", "deploys").id;
    world.sim.slack.click("erin", "deploys", &plan, "Confirm").await.unwrap();
    world.settle().await;
    let pull = pull(&world).expect("a pull request");
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    let shown = card(&world);
    assert!(shown.contains("the review of `bob` does not count: I do not know who <@U0ERIN> is on GitHub"), "{shown}");
    assert!(shown.contains("0 of 1 approval"), "{shown}");
    // An approval in Slack needs no GitHub account.
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn people_without_a_configured_github_user_are_found_by_e_mail_address() {
    let world =
        World::with_config(|yaml| yaml.replace("people:\n  U0ALICE: alice\n  U0BOB: bob\n  U0CAROL: carol\n", ""))
            .await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert!(card(&world).contains("approved by <@U0BOB>"), "{}", card(&world));
}

#[tokio::test]
async fn a_review_by_a_person_who_lost_write_access_does_not_count() {
    let world = World::with_config(require_two_approvals).await;
    let pull = request_production(&world).await;
    world.sim.github.review(REPOSITORY, pull.number, "bob", Verdict::Approve, "").unwrap();
    world.settle().await;
    assert!(card(&world).contains("1 of 2 approvals"), "{}", card(&world));
    world.sim.github.set_permission(REPOSITORY, "bob", "read").unwrap();
    world.wait(SignedDuration::from_secs(61)).await;
    assert!(card(&world).contains("0 of 2 approvals"), "{}", card(&world));
    assert!(
        card(&world).contains("the review of `bob` does not count: they cannot write to the repository"),
        "{}",
        card(&world)
    );
}

#[tokio::test]
async fn an_approval_by_a_person_who_lost_the_right_does_not_count() {
    let world = World::with_config(require_two_approvals).await;
    request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(61)).await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("1 of 2 approvals"), "{}", card(&world));
}

#[tokio::test]
async fn a_push_to_the_result_branch_voids_the_approvals_and_is_left_out() {
    let world = World::with_config(require_two_approvals).await;
    let before = head(&world, "prod");
    let pull = request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    let pushed = world.sim.push("checkout", &pull.head, "Just this one more", file("more.txt"), "alice").unwrap();
    world.settle().await;
    let shown = card(&world).replace(pushed.short(), "<pushed>");
    let note = shown.lines().find(|line| line.contains("somebody pushed")).unwrap_or_else(|| panic!("{shown}"));
    assert_snapshot!(note, @":recycle: somebody pushed `<pushed>` to the frozen branch. It was not seen running below, so it is left out, and the branch was made anew. 1 approval does not count any more");
    assert!(shown.contains("0 of 2 approvals"), "{shown}");
    let thread = world.public_messages("releases").into_iter().find(|message| message.contains("Please look again"));
    assert!(thread.is_some_and(|message| message.contains("<!subteam^S0RELEASE|@release-managers>")));
    world.bob().clicks_in("releases", "Approve").await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    assert_ne!(head(&world, "prod"), before);
    assert_eq!(
        world.sim.github.read_file(REPOSITORY, &head(&world, "prod"), "more.txt"),
        None,
        "the pushed commit was not seen running"
    );
}

#[tokio::test]
async fn a_push_to_prod_voids_the_approvals_and_the_result_branch_is_rebuilt() {
    let world = World::with_config(require_two_approvals).await;
    let pull = request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    world.sim.push("checkout", "prod", "Stop the bleeding", file("hotfix.txt"), "bob").unwrap();
    // No webhook reports a push to prod; the check each minute finds it.
    world.wait(SignedDuration::from_secs(61)).await;
    let shown = card(&world);
    assert!(
        shown.contains(
            "the branch moved, so the frozen branch was made anew on top of it. 1 approval does not count any more"
        ),
        "{shown}"
    );
    assert!(shown.contains("0 of 2 approvals"), "{shown}");
    let rebuilt = crate::harness::production::pull(&world).unwrap();
    assert_eq!((rebuilt.number, rebuilt.state), (pull.number, "open"), "the same pull request");
    assert_ne!(rebuilt.head_sha, pull.head_sha);
    world.bob().clicks_in("releases", "Approve").await;
    world.carol().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
    let merged = head(&world, "prod");
    assert!(world.sim.github.read_file(REPOSITORY, &merged, "hotfix.txt").is_some(), "the hotfix stays");
}

#[tokio::test]
async fn checks_on_the_result_branch_must_be_green() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    let check = |conclusion: &str| world.sim.github.set_check(REPOSITORY, &pull.head_sha, "build", conclusion).unwrap();
    check("in_progress");
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("checks are still running: `build`"), "{}", card(&world));
    check("failure");
    world.settle().await;
    assert!(card(&world).contains("checks are red: `build`"), "{}", card(&world));
    check("success");
    world.settle().await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

/// Commit statuses have a webhook of their own, so the change does not wait for the check each minute.
#[tokio::test]
async fn commit_statuses_on_the_result_branch_wake_the_change() {
    let world = World::open().await;
    let pull = request_production(&world).await;
    let url = format!("{}/sim/github/repos/{REPOSITORY}/statuses/{}", world.origin, pull.head_sha);
    let set = async |state: &str| {
        let status = json!({ "state": state, "context": "ci/legacy" });
        let response = reqwest::Client::new().post(&url).bearer_auth("x").json(&status).send().await.unwrap();
        assert_eq!(response.status(), 201);
        world.settle().await;
    };
    set("failure").await;
    world.bob().clicks_in("releases", "Approve").await;
    assert!(card(&world).contains("checks are red: `ci/legacy`"), "{}", card(&world));
    set("success").await;
    assert!(card(&world).contains("running in *prod*"), "{}", card(&world));
}

#[tokio::test]
async fn approvers_are_reminded_once_of_an_undecided_change_which_then_expires() {
    let world = World::open().await;
    let before = head(&world, "prod");
    request_production(&world).await;
    world.wait(SignedDuration::from_secs(7 * 60 + 30)).await;
    let reminder = world.public_messages("releases").pop().unwrap();
    assert_snapshot!(redact_origin_and_ids(&world, &reminder), @":wave: <!subteam^S0RELEASE|@release-managers> *checkout* `staging-84d172a` for *prod*: waiting for 1 approval. It waits until <!date^1794820500^{date_short_pretty} {time}|2026-11-16 09:15 UTC> and is given up then.");
    world.wait(SignedDuration::from_mins(1)).await;
    assert_eq!(world.public_messages("releases").len(), 2, "one reminder");
    world.wait(SignedDuration::from_mins(7)).await;
    let shown = card(&world);
    assert!(shown.contains("not promoted to *prod*, nobody decided in time"), "{shown}");
    assert!(shown.contains("after 15 min 1 of 1 approvals were still missing"), "{shown}");
    assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
    assert_eq!(head(&world, "prod"), before);
    request_production(&world).await;
    assert!(card(&world).contains("waiting for 1 approval"), "the change lock is free again");
}

#[tokio::test]
async fn a_rejection_needs_a_reason() {
    let world = World::open().await;
    let before = head(&world, "prod");
    request_production(&world).await;
    world.bob().clicks_in("releases", "Reject").await;
    let view = world.sim.slack.views("bob").pop().expect("a modal");
    assert_eq!(view["title"]["text"], "Reject this change");
    assert!(card(&world).contains("waiting for 1 approval"), "nothing is decided before the reason is given");
    world.bob().submits(json!({ "reason": "The migration is <!channel> missing" })).await;
    let shown = card(&world);
    assert!(shown.contains("not promoted to *prod*, rejected"), "{shown}");
    assert!(shown.contains("*Why:* The migration is &lt;!channel&gt; missing"), "{shown}");
    assert!(shown.contains("Rejected by <@U0BOB>"), "{shown}");
    let closed = pull(&world).unwrap();
    assert_eq!(closed.state, "closed");
    assert!(
        closed.comments[0].starts_with("Rejected in Slack: The migration is &lt;\\!channel&gt; missing"),
        "{:?}",
        closed.comments
    );
    assert_eq!(head(&world, "prod"), before);
    let reply = world
        .public_messages("releases")
        .into_iter()
        .find(|message| message.starts_with("<@U0ALICE>"))
        .expect("a message to alice");
    assert!(reply.contains("rejected"), "{reply}");
    // The same by a command, for the case that Slack opens no modal in time.
    request_production(&world).await;
    let card_text =
        world.public_messages("releases").into_iter().rfind(|message| message.contains("asked by")).unwrap();
    let short_id = card_text.rsplit_once("change `").unwrap().1.trim_end_matches('`').to_owned();
    world.carol().types(&format!("/gantry reject {short_id}")).await;
    assert!(world.carol().reads().contains("needs a reason"), "{}", world.carol().reads());
    world.carol().types(&format!("/gantry reject {short_id} not on a Friday")).await;
    assert!(card(&world).contains("*Why:* not on a Friday"), "{}", card(&world));
}

#[tokio::test]
async fn the_requester_or_an_approver_may_cancel() {
    let world = World::open().await;
    for person in ["alice", "carol"] {
        request_production(&world).await;
        let id = world
            .sim
            .slack
            .messages("releases", Some(person))
            .into_iter()
            .rfind(|message| crate::harness::world::has_button(message, "Cancel"))
            .unwrap()
            .id;
        world.sim.slack.click(person, "releases", &id, "Cancel").await.unwrap();
        world.settle().await;
        let shown = card(&world);
        assert!(
            shown.contains("cancelled") && shown.contains(&format!("Cancelled by <@U0{}>", person.to_uppercase())),
            "{shown}"
        );
        assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
    }
}

#[tokio::test]
async fn the_ledger_records_who_approved() {
    let world = World::open().await;
    request_production(&world).await;
    world.bob().clicks_in("releases", "Approve").await;
    let all =
        world.bot.store.list_ledger_entries(&gantry::adapters::store::LedgerFilter::default(), 100).await.unwrap();
    let kinds: Vec<_> =
        all.iter().rev().filter(|entry| entry.change.is_some()).map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["begun", "approved", "merging", "deploying", "deployed"]);
    let approved = all.iter().find(|entry| entry.kind == gantry::adapters::store::LedgerKind::Approved).unwrap();
    let bob = gantry::domain::model::actor::PersonId::new("U0BOB");
    assert_eq!(approved.actor, Some(gantry::domain::model::actor::Actor::Person(bob)));
}

#[tokio::test]
async fn a_change_cannot_be_approved_before_its_result_is_shown() {
    let world = World::open().await;
    let before = head(&world, "prod");
    world.alice().types("/promote checkout prod").await;
    let limited = RequestFault::Reply(429, "Too many", vec![("retry-after", "30".to_owned())]);
    world.sim.github.request_faults().inject("POST", "/pulls", FaultTiming::BeforeEffect, limited, 1);
    world.alice().clicks_without_waiting("deploys", "Confirm").await;
    world.wait_until_idle().await;
    let change = world.bot.store.list_open_changes().await.unwrap().pop().expect("a change").id;
    send_click(&world, "U0BOB", "change_approve", &format!("{change}:")).await;
    assert!(
        last_ephemeral_message(&world, "bob").starts_with("What you saw has changed since:"),
        "{}",
        last_ephemeral_message(&world, "bob")
    );
    assert!(card(&world).contains("0 of 1 approval"), "{}", card(&world));
    assert_eq!(head(&world, "prod"), before);
}

#[tokio::test]
async fn an_approved_change_that_github_does_not_merge_expires() {
    let world = World::open().await;
    let before = head(&world, "prod");
    request_production(&world).await;
    let faults = world.sim.github.request_faults();
    let unmergeable = RequestFault::Reply(405, "Pull Request is not mergeable", vec![]);
    faults.inject("PUT", "/merge", FaultTiming::BeforeEffect, unmergeable, 999);
    world.bob().clicks_without_waiting("releases", "Approve").await;
    let is_reported = || card(&world).contains("GitHub does not merge it yet: Pull Request is not mergeable.");
    world.settle_until(is_reported).await;
    world.clock.advance(SignedDuration::from_hours(24));
    world.wait_until_idle().await;
    assert!(card(&world).contains("not promoted to *prod*, it could not be merged in time"), "{}", card(&world));
    assert_eq!((head(&world, "prod"), pull(&world).map(|pull| pull.state)), (before, Some("closed")));
}

#[tokio::test]
async fn a_change_expires_on_time_although_github_is_unavailable() {
    let world = World::open().await;
    request_production(&world).await;
    let unavailable = RequestFault::Reply(503, "Unicorn", vec![]);
    world.sim.github.request_faults().inject("GET", "/pulls/1", FaultTiming::BeforeEffect, unavailable, 99);
    world.clock.advance(SignedDuration::from_hours(24));
    world.wait_until_idle().await;
    assert!(card(&world).contains("not promoted to *prod*, nobody decided in time"), "{}", card(&world));
    world.sim.github.request_faults().clear();
    world.settle().await;
    assert_eq!(pull(&world).map(|pull| pull.state), Some("closed"));
}
