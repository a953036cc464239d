//! `lock`, `unlock`, `locks`: a lock refuses every change, and shows its owner, its reason and its end.

use gantry::adapters::store::{LedgerDetails, LedgerFilter, LedgerKind, Store, Transaction};
use gantry::app::{App, Setup};
use gantry::config::{Config, Secrets};
use gantry::domain::model::actor::{Actor, PersonId};
use gantry::domain::model::environment::EnvironmentName;
use gantry::domain::model::ids::LockId;
use gantry::domain::rules::lock::Lock;
use gantry::sim::faults::Fault;
use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::slack::Person;
use gantry::sim::world::SIGNING_SECRET;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;

fn head(world: &World, environment: &str) -> String {
    world.sim.github.head("acme/checkout", environment).expect("a branch").as_str().to_owned()
}

/// Only release managers may promote to qa.
fn restrict_qa_promoters(configuration: &str) -> String {
    configuration.replace("  - name: qa\n", "  - name: qa\n    promoters: [\"@release-managers\"]\n")
}

/// Clicks *Take over* with any value, as a person who knows the signing secret could.
async fn send_take_over_click(world: &World, person: &str, value: &str) {
    let payload = serde_json::json!({
        "type": "block_actions", "team": { "id": "T0ACME" }, "user": { "id": person }, "channel": { "id": "C0DEPLOYS" },
        "trigger_id": format!("{person}.{value}.{}", world.clock.now()),
        "actions": [{ "action_id": "lock_take_over", "value": value }],
    });
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let now = world.clock.now().as_second();
    let (status, _) =
        crate::harness::signing::send_slack_request(world, "/slack/interactions", &body, SIGNING_SECRET, now).await;
    assert_eq!(status, 200, "{value}");
    world.settle().await;
}

/// The newest private message to this person in #deploys.
fn answer(world: &World, person: &str) -> String {
    world.ephemeral_messages(person, "deploys").pop().expect("an answer")
}

async fn click_take_over(world: &World, person: &str) {
    let mut messages = world.sim.slack.messages("deploys", Some(person));
    messages.retain(|message| message.only_to.is_some());
    let button = messages.last().expect("an answer").id.clone();
    world.sim.slack.click(person, "deploys", &button, "Take over").await.unwrap();
    world.settle().await;
}

async fn owners(world: &World) -> Vec<String> {
    world.bot.store.list_locks(None).await.unwrap().into_iter().map(|lock| lock.by.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_lock_is_announced_in_the_channel_and_explained_to_its_owner() {
    let world = World::open().await;
    let ack = world.bob().types("/gantry lock prod for 2h the database <!channel> is moving").await;
    assert_eq!(ack, "Locking *prod*...");
    assert_snapshot!(world.public_messages("releases").join("\n"), @"
    :lock: <@U0BOB> locked *prod*: the database &lt;!channel&gt; is moving.
    Nobody can change it until <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>: `/gantry unlock prod`
    ");
    assert_snapshot!(answer(&world, "bob"), @"
    *prod* is locked: from now on every change there is refused, yours as well.
    It ends by itself <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>, or by `/gantry unlock prod`
    ");
    assert!(world.public_messages("deploys").is_empty(), "other channels get no message");

    world.alice().types("/gantry lock qa checkout waiting for a fix of the fix").await;
    assert_snapshot!(world.public_messages("deploys").join("\n"), @"
    :lock: <@U0ALICE> locked *checkout* in *qa*: waiting for a fix of the fix.
    Nobody can change it until somebody unlocks it: `/gantry unlock qa checkout`
    ");
    assert_snapshot!(answer(&world, "alice"), @"
    *checkout* in *qa* is locked: from now on every change there is refused, yours as well.
    I ask you every day whether it is still needed. To end it: `/gantry unlock qa checkout`
    ");
}

#[tokio::test]
async fn a_lock_refuses_promotions_and_names_its_owner() {
    let world = World::open().await;
    let before = head(&world, "qa");
    world.bob().types("/gantry lock qa for 2h load test").await;
    let announced = world.public_messages("deploys");
    world.alice().types("/promote checkout qa").await;
    assert_snapshot!(answer(&world, "alice"), @"
    *qa* is locked by <@U0BOB> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> until <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>: load test.
    [Take over]
    Next: ask <@U0BOB>, make the lock yours with *Take over*, or end it: `/gantry unlock qa`
    ");
    assert_eq!(
        (head(&world, "qa"), world.public_messages("deploys")),
        (before, announced),
        "nothing moves, and no message is public"
    );

    world.bob().types("/promote checkout qa").await;
    assert!(answer(&world, "bob").starts_with("*qa* is locked by"), "the lock refuses its owner as well");
    world.alice().types("/promote checkout staging").await;
    assert!(world.public_messages("deploys").concat().contains("running in *staging*"), "other environments are open");
}

#[tokio::test]
async fn a_lock_on_one_artefact_refuses_only_promotions_that_would_deploy_it() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa mailer mails are sent twice").await;
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys").concat().contains("running in *qa*"));

    let file = std::collections::BTreeMap::from([("storefront/a.txt".to_owned(), Some("a".to_owned()))]);
    world.sim.push("storefront", "develop", "Only the shop", file, "alice").unwrap();
    world.settle().await;
    world.alice().types("/promote storefront qa").await;
    assert_snapshot!(answer(&world, "alice"), @"
    *qa* stays as it is: *mailer* there is locked by <@U0BOB> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: mails are sent twice.
    [Take over]
    Next: ask <@U0BOB>, make the lock yours with *Take over*, or end it: `/gantry unlock qa mailer`
    ");
}

#[tokio::test]
async fn a_lock_can_be_taken_over_and_its_former_owner_is_notified() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa for 2h load test").await;
    world.alice().types("/gantry lock qa another reason").await;
    assert_snapshot!(answer(&world, "alice"), @"
    *qa* is locked by <@U0BOB> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> until <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>: load test.
    [Take over]
    Next: ask <@U0BOB>, make the lock yours with *Take over*, or end it: `/gantry unlock qa`
    ");
    let question = world.last_message("alice", "deploys").id;
    world.carol().types("/gantry lock qa mine").await;

    click_take_over(&world, "alice").await;
    assert_snapshot!(answer(&world, "alice"), @"
    The lock on *qa* is yours now: load test.
    To end it: `/gantry unlock qa`
    ");
    assert_snapshot!(world.public_messages("deploys").pop().unwrap(), @":lock: <@U0ALICE> took over the lock on *qa* from <@U0BOB>: load test.");
    assert_snapshot!(world.direct_messages("bob").join("\n"), @"<@U0ALICE> took over your lock on *qa*: load test. It stays locked; you need not do anything.");
    assert_eq!(owners(&world).await, ["U0ALICE"]);

    click_take_over(&world, "carol").await;
    assert_snapshot!(answer(&world, "carol"), @"
    This lock is not in force any more: it was ended or taken over since.
    Next: `/gantry locks` shows what is locked.
    ");
    let again = world.sim.slack.click("alice", "deploys", &question, "Take over").await;
    assert!(again.is_err(), "the button is gone: {again:?}");
    assert_eq!(owners(&world).await, ["U0ALICE"]);

    world.alice().types("/gantry lock qa once more").await;
    assert_snapshot!(answer(&world, "alice"), @"
    You have locked *qa* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> until <!date^1794826800^{date_short_pretty} {time}|2026-11-16 11:00 UTC>: load test.
    Next: to lock it otherwise, end this first: `/gantry unlock qa`
    ");
}

#[tokio::test]
async fn a_promotion_refused_by_a_lock_has_the_take_over_button() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    world.alice().types("/promote checkout qa").await;
    click_take_over(&world, "alice").await;
    assert_eq!(owners(&world).await, ["U0ALICE"]);
    world.alice().types("/gantry unlock qa").await;
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys").concat().contains("running in *qa*"));
}

#[tokio::test]
async fn a_lock_with_a_duration_ends_by_itself() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa for 1h30m load test").await;
    world.wait(SignedDuration::from_mins(89)).await;
    world.alice().types("/promote checkout qa").await;
    assert!(answer(&world, "alice").starts_with("*qa* is locked by"));
    world.wait(SignedDuration::from_mins(1)).await;
    click_take_over(&world, "alice").await;
    assert!(answer(&world, "alice").starts_with("This lock is not in force any more"), "{}", answer(&world, "alice"));
    world.alice().types("/gantry unlock qa").await;
    assert!(answer(&world, "alice").starts_with("There is nothing to unlock"), "{}", answer(&world, "alice"));
    world.alice().types("/promote checkout qa").await;
    assert!(world.public_messages("deploys").concat().contains("running in *qa*"));
    world.alice().types("/gantry lock qa again").await;
    assert_eq!(owners(&world).await, ["U0ALICE"]);
}

#[tokio::test]
async fn a_lock_can_be_ended_by_its_owner_or_by_another_person_with_the_right() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    assert_eq!(world.bob().types("/gantry unlock qa").await, "Unlocking *qa*...");
    assert_snapshot!(answer(&world, "bob"), @"Unlocked: changes may go to *qa* again.");
    assert_snapshot!(world.public_messages("deploys").pop().unwrap(), @":unlock: <@U0BOB> unlocked *qa*: changes may go there again.");
    assert!(world.direct_messages("bob").is_empty(), "bob needs no notification of his own action");

    world.bob().types("/gantry lock qa checkout load test.").await;
    world.alice().types("/gantry unlock qa").await;
    assert_snapshot!(answer(&world, "alice"), @"
    There is nothing to unlock: *qa* is not locked.
    Next: *checkout* in *qa* is. To end that: `/gantry unlock qa checkout`
    ");
    world.alice().types("/gantry unlock checkout in qa").await;
    assert_snapshot!(world.public_messages("deploys").pop().unwrap(), @":unlock: <@U0ALICE> unlocked *checkout* in *qa*, which <@U0BOB> had locked: load test.");
    assert_snapshot!(world.direct_messages("bob").join("\n"), @"<@U0ALICE> ended your lock on *checkout* in *qa*: load test.");
    assert!(owners(&world).await.is_empty());

    world.alice().types("/gantry unlock qa").await;
    assert_snapshot!(answer(&world, "alice"), @"
    There is nothing to unlock: *qa* is not locked.
    Next: `/gantry locks` shows what is locked.
    ");
}

#[tokio::test]
async fn locks_are_listed_privately() {
    let world = World::open().await;
    world.alice().types("/gantry locks").await;
    assert_snapshot!(answer(&world, "alice"), @"
    Nothing is locked.
    To lock an environment: `/gantry lock &lt;environment&gt; [for 2h] &lt;reason&gt;`
    ");
    world.bob().types("/gantry lock qa for 2d load test").await;
    world.wait(SignedDuration::from_mins(5)).await;
    world.carol().types("/gantry lock prod checkout waits for legal").await;
    let announced = world.public_messages("deploys");
    world.alice().types("/gantry locks").await;
    assert_snapshot!(answer(&world, "alice"), @"
    2 locks are in force:
    *qa* by <@U0BOB> since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC> until <!date^1794992400^{date_short_pretty} {time}|2026-11-18 09:00 UTC>: load test. To end it: `/gantry unlock qa`
    *checkout* in *prod* by <@U0CAROL> since <!date^1794819900^{date_short_pretty} {time}|2026-11-16 09:05 UTC>: waits for legal. To end it: `/gantry unlock prod checkout`
    ");
    world.alice().types("/gantry locks prod").await;
    assert!(!answer(&world, "alice").contains("*qa*"), "{}", answer(&world, "alice"));
    world.alice().types("/gantry locks staging").await;
    assert!(answer(&world, "alice").starts_with("Nothing is locked in *staging*."), "{}", answer(&world, "alice"));
    assert_eq!(world.public_messages("deploys"), announced, "no message is public");
}

#[tokio::test]
async fn the_owner_of_a_lock_without_an_end_is_reminded_every_day() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    world.carol().types("/gantry lock staging for 1d until tomorrow").await;
    world.wait(SignedDuration::from_hours(23)).await;
    assert!(world.direct_messages("bob").is_empty());
    world.wait(SignedDuration::from_hours(2)).await;
    assert_snapshot!(world.direct_messages("bob").join("\n"), @"
    You have locked *qa* since <!date^1794819600^{date_short_pretty} {time}|2026-11-16 09:00 UTC>: load test.
    Is it still needed? To end it: `/gantry unlock qa`. Else I ask again tomorrow.
    ");
    world.wait(SignedDuration::from_hours(24)).await;
    assert_eq!(world.direct_messages("bob").len(), 2);
    assert!(world.direct_messages("carol").is_empty(), "a lock that ended needs no reminder");
    world.bob().types("/gantry unlock qa").await;
    world.wait(SignedDuration::from_hours(48)).await;
    assert_eq!(world.direct_messages("bob").len(), 2);
}

#[tokio::test]
async fn a_lock_reminder_that_was_due_while_the_bot_was_down_is_sent_after_the_start() {
    let world = World::open().await;
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", directory.path().join("gantry.db").display());
    let since = world.clock.now();
    let lock = Lock {
        id: LockId::new(since),
        environment: EnvironmentName::new("qa"),
        artefact: None,
        by: PersonId::new("U0BOB"),
        reason: "load test".to_owned(),
        since,
        until: None,
    };
    let store = Store::open(&database, world.clock.clone()).await.unwrap();
    store.commit(Transaction::new().insert_lock(lock)).await.unwrap();
    store.close().await;

    world.wait(SignedDuration::from_hours(30)).await;
    let details = world.sim.connect_details();
    let config = Config::parse("the world", &details.write_kubeconfig(directory.path()).unwrap()).unwrap();
    let secrets = Secrets::read(&config, |name| details.find_variable(name)).unwrap();
    let store = Store::open(&database, world.clock.clone()).await.unwrap();
    let app = App::build(Setup { config, secrets, clock: world.clock.clone(), store }).await.unwrap();
    crate::harness::process::wait_until("bob is reminded", async || !world.direct_messages("bob").is_empty()).await;
    app.stop(std::time::Duration::from_secs(5)).await;
    assert!(
        world.direct_messages("bob").concat().starts_with("You have locked *qa* since"),
        "{:#?}",
        world.direct_messages("bob")
    );
}

#[tokio::test]
async fn only_people_who_may_promote_or_approve_may_lock_unlock_and_take_over() {
    let world = World::with_config(|configuration| restrict_qa_promoters(&configuration)).await;
    world.alice().types("/gantry lock qa mine").await;
    assert_snapshot!(answer(&world, "alice"), @"
    Only @release-managers may lock and unlock *qa*.
    Next: ask one of them.
    ");
    world.bob().types("/gantry lock qa load test").await;
    assert_eq!(owners(&world).await, ["U0BOB"]);
    world.alice().types("/gantry unlock qa").await;
    assert!(answer(&world, "alice").starts_with("Only @release-managers may"), "{}", answer(&world, "alice"));
    let id = world.bot.store.list_locks(None).await.unwrap()[0].id.to_string();
    send_take_over_click(&world, "U0ALICE", &id).await;
    assert!(answer(&world, "alice").starts_with("Only @release-managers may"), "{}", answer(&world, "alice"));
    assert_eq!(owners(&world).await, ["U0BOB"]);

    // The owner of a lock may end it after they lost the right to lock.
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["carol"]);
    world.wait(SignedDuration::from_secs(60)).await;
    world.bob().types("/gantry lock qa checkout more").await;
    assert!(answer(&world, "bob").starts_with("Only @release-managers may"), "{}", answer(&world, "bob"));
    world.bob().types("/gantry unlock qa").await;
    assert!(owners(&world).await.is_empty());
}

#[tokio::test]
async fn guests_and_deactivated_people_can_neither_lock_nor_take_over() {
    let world = World::with_config(|configuration| restrict_qa_promoters(&configuration)).await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["bob", "dave"]);
    world.dave().types("/gantry lock qa mine").await;
    assert!(answer(&world, "dave").contains("you are a guest here"), "{}", answer(&world, "dave"));
    world.bob().types("/gantry lock qa load test").await;
    let id = world.bot.store.list_locks(None).await.unwrap()[0].id.to_string();
    send_take_over_click(&world, "U0DAVE", &id).await;
    assert_eq!(owners(&world).await, ["U0BOB"]);

    // Bob is deactivated, and clicks while his role is still cached.
    world.bob().types("/gantry unlock qa").await;
    world.sim.slack.add_group("S0RELEASE", "release-managers", &["bob", "carol"]);
    world.wait(SignedDuration::from_secs(60)).await;
    world.carol().types("/gantry lock qa load test").await;
    let deactivate_bob = |person: Person| (person.name == "bob").then_some(Person { deleted: true, ..person });
    world.sim.slack.people().into_iter().filter_map(deactivate_bob).for_each(|bob| world.sim.slack.add_person(bob));
    world.wait(SignedDuration::from_secs(60)).await;
    let id = world.bot.store.list_locks(None).await.unwrap()[0].id.to_string();
    send_take_over_click(&world, "U0BOB", &id).await;
    assert_eq!(owners(&world).await, ["U0CAROL"]);
}

#[tokio::test]
async fn lock_is_refused_while_slack_cannot_list_the_group_of_lockers() {
    let world = World::with_config(|configuration| restrict_qa_promoters(&configuration)).await;
    world.bob().types("/gantry locks").await;
    // As many failures as there are attempts.
    world.sim.faults.arm(Fault::SlackDown, 6, None, None);
    world.bob().types("/gantry lock qa load test").await;
    assert_snapshot!(answer(&world, "bob"), @"
    Slack cannot tell me who is in @release-managers right now, so *qa* stays as it is.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
    assert!(owners(&world).await.is_empty());
    world.sim.faults.arm(Fault::SlackDown, 2, None, None);
    world.bob().types("/gantry lock qa load test").await;
    assert_eq!(owners(&world).await, ["U0BOB"], "a short outage is retried");
}

#[tokio::test]
async fn lock_is_refused_while_github_cannot_list_the_team_of_lockers() {
    let world = World::with_config(|configuration| {
        let qa = "  - name: qa\n    promoters: [\"github:acme/release\"]\n";
        configuration.replace("  - name: qa\n", qa)
    })
    .await;
    let forbidden = RequestFault::Reply(403, "Resource not accessible by integration", vec![]);
    world.sim.github.request_faults().inject(
        "GET",
        "/orgs/acme/teams/release/memberships/bob",
        FaultTiming::BeforeEffect,
        forbidden,
        9,
    );
    world.bob().types("/gantry lock qa load test").await;
    assert_snapshot!(answer(&world, "bob"), @"
    GitHub cannot tell me who is in acme/release right now, so *qa* stays as it is.
    Next: try again in a minute; if it stays so, ask whoever runs me.
    ");
    assert!(owners(&world).await.is_empty());
}

#[tokio::test]
async fn the_value_of_a_take_over_button_is_checked() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    let before = world.ephemeral_messages("alice", "deploys").len();
    for nonsense in ["", "x", "<!channel>", "qa", "lock:qa"] {
        send_take_over_click(&world, "U0ALICE", nonsense).await;
    }
    assert_eq!(world.ephemeral_messages("alice", "deploys").len(), before, "an invalid value gets no answer");
    send_take_over_click(&world, "U0ALICE", "01939f3e-5c00-7000-8000-00000badcafe").await;
    assert_snapshot!(answer(&world, "alice"), @"
    This lock is not in force any more: it was ended or taken over since.
    Next: `/gantry locks` shows what is locked.
    ");
    let id = world.bot.store.list_locks(None).await.unwrap()[0].id.to_string();
    send_take_over_click(&world, "U0BOB", &id).await;
    assert_snapshot!(answer(&world, "bob"), @"
    The lock on *qa* is yours already.
    To end it: `/gantry unlock qa`
    ");
    send_take_over_click(&world, "U0ALICE", &id).await;
    world.wait(SignedDuration::from_secs(1)).await;
    send_take_over_click(&world, "U0ALICE", &id).await;
    assert!(answer(&world, "alice").starts_with("This lock is not in force any more"), "{}", answer(&world, "alice"));
    assert_eq!(owners(&world).await, ["U0ALICE"]);
}

#[tokio::test]
async fn of_two_people_who_take_over_at_once_one_succeeds_and_the_other_is_told() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa load test").await;
    for person in ["alice", "carol"] {
        world.sim.slack.type_command(person, "deploys", "/gantry lock qa mine").await.unwrap();
    }
    world.settle().await;
    let (alice, carol) = (world.last_message("alice", "deploys").id, world.last_message("carol", "deploys").id);
    let (first, second) = tokio::join!(
        world.sim.slack.click("alice", "deploys", &alice, "Take over"),
        world.sim.slack.click("carol", "deploys", &carol, "Take over"),
    );
    first.unwrap();
    second.unwrap();
    world.settle().await;
    let answers = [answer(&world, "alice"), answer(&world, "carol")];
    assert_eq!(
        answers.iter().filter(|answer| answer.starts_with("The lock on *qa* is yours now")).count(),
        1,
        "{answers:#?}"
    );
    assert_eq!(
        answers.iter().filter(|answer| answer.starts_with("This lock is not in force any more")).count(),
        1,
        "{answers:#?}"
    );
    assert_eq!((owners(&world).await.len(), world.direct_messages("bob").len()), (1, 1));
}

#[tokio::test]
async fn typing_errors_in_lock_commands_are_answered_with_a_suggestion() {
    let world = World::with_config(|configuration| {
        let shop = "    repository: acme/shop\n    paths: [\"storefront/**\", \"lib/**\"]\n";
        configuration.replace(shop, &format!("{shop}    environments: {{ staging: false }}\n"))
    })
    .await;
    assert_snapshot!(world.alice().types("/gantry lock qa for 2h").await, @"
    `lock` needs a reason.
    Usage: `/gantry lock &lt;environment&gt; [artefact] [for 2h] &lt;reason&gt;`
    For example: `/gantry lock qa for 2h database migration` or `/gantry lock qa checkout wait for the fix`
    ");
    assert_snapshot!(world.alice().types("/gantry help lock").await, @"
    `/gantry lock &lt;environment&gt; [artefact] [for 2h] &lt;reason&gt;`
    let nobody change an environment, or one artefact there
    For example: `/gantry lock qa for 2h database migration` or `/gantry lock qa checkout wait for the fix`
    The environments are `development` → `qa` → `staging` → `prod`.
    ");
    let mut answers = Vec::new();
    for typed in
        ["/gantry lock", "/gantry lokc qa x", "/gantry lock pord x", "/gantry unlock", "/gantry unlock qa chekout"]
    {
        let answer = world.alice().types(typed).await;
        answers.push(format!("{typed}\n{}", answer.lines().next().unwrap_or_default()));
    }
    assert_snapshot!(answers.join("\n\n"), @"
    /gantry lock
    `lock` needs an environment.

    /gantry lokc qa x
    I do not know `lokc`. Did you mean `lock`?

    /gantry lock pord x
    There is no environment `pord`. Did you mean `prod`?

    /gantry unlock
    `unlock` needs an environment.

    /gantry unlock qa chekout
    There is no artefact `chekout`. Did you mean `checkout`?
    ");
    world.alice().types("/gantry lock staging storefront x").await;
    assert_snapshot!(answer(&world, "alice"), @"
    *storefront* is not in *staging*.
    Next: choose one of `development`, `qa`, `prod`.
    ");
    assert!(owners(&world).await.is_empty());
}

#[tokio::test]
async fn the_ledger_records_lock_take_over_and_unlock() {
    let world = World::open().await;
    world.bob().types("/gantry lock qa checkout load test").await;
    world.alice().types("/gantry lock qa checkout mine").await;
    click_take_over(&world, "alice").await;
    world.carol().types("/gantry unlock qa checkout").await;
    let entries = world.bot.store.list_ledger_entries(&LedgerFilter::default(), 100).await.unwrap();
    let person = |name: &str| Some(Actor::Person(PersonId::new(name)));
    let of_locks: Vec<_> = entries
        .iter()
        .rev()
        .filter(|entry| matches!(entry.details, Some(LedgerDetails::Lock { .. })))
        .map(|e| (e.kind.as_str(), e.actor.clone()))
        .collect();
    assert_eq!(
        of_locks,
        [("locked", person("U0BOB")), ("taken_over", person("U0ALICE")), ("unlocked", person("U0CAROL"))]
    );
    let taken = entries.iter().find(|entry| entry.kind == LedgerKind::TakenOver).unwrap();
    let Some(LedgerDetails::Lock { lock, taken_from }) = &taken.details else { panic!("{taken:?}") };
    assert_eq!((taken_from.as_ref(), lock.reason.as_str()), (Some(&PersonId::new("U0BOB")), "load test"));
    assert_eq!(
        (taken.environment.as_ref().unwrap().as_str(), taken.artefact.as_ref().unwrap().as_str()),
        ("qa", "checkout")
    );
}
