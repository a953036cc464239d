//! `list`: the running version of each artefact in each environment, answered from memory.

use gantry::adapters::store::LedgerFilter;
use gantry::sim::faults::Fault;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;

/// Replaces the commits at the end of tags, so that the snapshot does not repeat them.
fn without_commits(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('-').enumerate() {
        if index > 0 {
            out.push('-');
        }
        let hex = part.len() >= 7 && part.is_char_boundary(7) && part[..7].bytes().all(|b| b.is_ascii_hexdigit());
        if index > 0 && hex {
            out.push_str("<short>");
            out.push_str(&part[7..]);
        } else {
            out.push_str(part);
        }
    }
    out
}

#[tokio::test]
async fn list_shows_version_state_and_age_and_marks_environments_that_are_behind() {
    let world = World::open().await;
    world.alice().types("/list").await;
    assert_snapshot!(without_commits(&world.alice().reads()), @"
    *What runs where*
    artefact | development | qa | staging | prod
    checkout | 🟢 develop-<short> · running · 23 h | 🟢 qa-<short> · running · 21 h · ⬆ behind | 🟢 staging-<short> · running · 20 h · ⬆ behind | 🟢 prod-<short> · running · 19 h · ⬆ behind
    mailer | 🟢 build-5 · running · 4 d | 🟢 build-6 · running · 4 d | 🟢 build-7 · running · 4 d | 🟢 build-8 · running · 4 d
    search | 🟢 1.0.2 · running · 4 d | 🟢 1.0.2 · running · 4 d | 🟢 1.0.2 · running · 4 d | 🟢 1.0.2 · running · 4 d
    storefront | 🟢 develop-<short> · running · 4 d | 🟢 qa-<short> · running · 4 d | 🟢 staging-<short> · running · 4 d | 🟢 prod-<short> · running · 4 d
    ⬆ behind: the environment below runs something newer.
    [Share]
    ");
}

#[tokio::test]
async fn list_of_one_artefact_has_a_row_for_each_environment() {
    let world = World::open().await;
    world.alice().types("/list checkout").await;
    assert_snapshot!(without_commits(&world.alice().reads()), @"
    Where *checkout* runs
    environment | what runs
    development | 🟢 develop-<short> · running · 23 h
    qa | 🟢 qa-<short> · running · 21 h · ⬆ behind
    staging | 🟢 staging-<short> · running · 20 h · ⬆ behind
    prod | 🟢 prod-<short> · running · 19 h · ⬆ behind
    ⬆ behind: the environment below runs something newer.
    [Share]
    ");
}

#[tokio::test]
async fn list_of_one_environment_has_a_row_for_each_artefact() {
    let world = World::open().await;
    world.alice().types("/gantry list in STG").await;
    assert_snapshot!(without_commits(&world.alice().reads()), @"
    What runs in *staging*
    artefact | what runs
    checkout | 🟢 staging-<short> · running · 20 h · ⬆ behind
    mailer | 🟢 build-7 · running · 4 d
    search | 🟢 1.0.2 · running · 4 d
    storefront | 🟢 staging-<short> · running · 4 d
    ⬆ behind: the environment below runs something newer.
    [Share]
    ");
}

#[tokio::test]
async fn the_first_list_waits_for_the_lookup_of_the_person_and_the_next_is_immediate() {
    let world = World::open().await;
    assert_eq!(world.alice().types("/list").await, "One moment...", "alice must be looked up first");
    let calls = world.sim.slack.calls();
    let stored = world.bot.store.list_ledger_entries(&LedgerFilter::default(), 100).await.unwrap().len();
    let ack = world.alice().types("/list").await;
    assert!(ack.contains("What runs where"), "{ack}");
    assert_eq!(world.sim.slack.calls(), calls, "a list from memory sends no request");
    assert_eq!(
        world.bot.store.list_ledger_entries(&LedgerFilter::default(), 100).await.unwrap().len(),
        stored,
        "a list writes nothing"
    );
}

#[tokio::test]
async fn a_person_is_looked_up_again_after_ten_minutes() {
    let world = World::open().await;
    world.alice().types("/list").await;
    world.wait(SignedDuration::from_mins(11)).await;
    assert_eq!(world.alice().types("/list").await, "One moment...");
}

#[tokio::test]
async fn a_list_is_private_until_it_is_shared() {
    let world = World::open().await;
    world.alice().types("/list qa").await;
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
    world.alice().clicks("Share").await;
    let shared = world.public_messages("deploys");
    assert_eq!(shared.len(), 1);
    assert!(
        shared[0].starts_with("What runs in *qa*") && shared[0].ends_with("Shared by <@U0ALICE>."),
        "{}",
        shared[0]
    );
    assert!(!shared[0].contains("[Share]"));
}

#[tokio::test]
async fn lists_are_public_if_the_team_configures_it() {
    let world =
        World::with_config(|yaml| yaml.replace("channel: \"#deploys\"", "channel: \"#deploys\"\n  list_to: channel"))
            .await;
    world.alice().types("/list").await;
    world.bob().types("/list").await;
    world.bob().types("/list").await;
    let posted = world.public_messages("deploys").iter().filter(|text| text.starts_with("*What runs where*")).count();
    assert_eq!(posted, 3, "the first answer and the immediate ones are public");
}

#[tokio::test]
async fn a_workspace_that_refuses_tables_gets_sections_and_the_refusal_is_remembered() {
    let world = World::with_setup(|sim| sim.slack.refuse_tables(true), |yaml| yaml).await;
    world.alice().types("/list").await;
    let first = world.last_message("alice", "deploys");
    assert!(!has_table(&first), "{first:?}");
    assert!(crate::harness::world::render_message(&first).contains("`development`"), "{first:?}");
    let ack = world.alice().types("/list checkout").await;
    assert!(ack.contains("Where *checkout* runs"), "{ack}");
    assert!(!has_table(&world.last_message("alice", "deploys")));
}

fn has_table(message: &gantry::sim::slack::Message) -> bool {
    message.blocks.iter().any(|block| block["type"] == "table")
}

fn with_many_artefacts(yaml: &str, count: usize) -> String {
    let more: Vec<String> = (0..count)
        .map(|n| format!("  - {{ name: extra-{n:03}, repository: acme/extra, image: ghcr.io/acme/extra-{n:03}, workload: deployment/extra-{n:03} }}"))
        .collect();
    yaml.replace("people:", &format!("{}\npeople:", more.join("\n")))
}

#[tokio::test]
async fn many_artefacts_are_shown_page_by_page() {
    let world = World::with_config(|yaml| with_many_artefacts(&yaml, 96)).await;
    world.alice().types("/list").await;
    let first = world.alice().reads();
    assert!(first.starts_with("*What runs where* · page 1 of 5, 100 artefacts"), "{first}");
    assert!(first.contains("[Later] [Share]") && !first.contains("[Earlier]"), "{first}");
    world.alice().clicks("Later").await;
    let second = world.alice().reads();
    assert!(second.contains("page 2 of 5") && second.contains("[Earlier] [Later] [Share]"), "{second}");
    assert_eq!(
        world.ephemeral_messages("alice", "deploys").len(),
        2,
        "the acknowledgement, and one list that turns its pages in place"
    );
}

#[tokio::test]
async fn pages_of_a_public_list_turn_for_everyone() {
    let in_channel = |yaml: String| yaml.replace("channel: \"#deploys\"", "channel: \"#deploys\"\n  list_to: channel");
    let world = World::with_config(|yaml| in_channel(with_many_artefacts(&yaml, 96))).await;
    world.alice().types("/list").await;
    let lists = |world: &World| {
        world.public_messages("deploys").into_iter().filter(|text| text.contains("artefacts")).collect::<Vec<_>>()
    };
    assert!(lists(&world)[0].ends_with("[Later]"), "{:#?}", lists(&world));
    world.bob().clicks("Later").await;
    assert_eq!(lists(&world).len(), 1);
    assert!(
        lists(&world)[0].contains("page 2 of 5") && lists(&world)[0].ends_with("[Earlier] [Later]"),
        "{:#?}",
        lists(&world)
    );
}

#[tokio::test]
async fn list_shows_rollouts_failures_and_missing_workloads() {
    let world = World::with_config(|yaml| with_many_artefacts(&yaml, 1)).await;
    world.alice().types("/list").await;
    world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".to_owned()), None);
    world.push("checkout", "Break");
    // The image is built after 1.5 s, noticed after 2 s, fails after 3.5 s, and its deadline is 6 s later.
    world.clock.advance(SignedDuration::from_millis(1600));
    world.wait_until_idle().await;
    world.clock.advance(SignedDuration::from_millis(600));
    world.wait_until_idle().await;
    let rolling = world.alice().types_without_waiting("deploys", "/list checkout development").await;
    assert!(rolling.contains("rolling out 0/2"), "{rolling}");
    world.settle().await;
    let degraded = world.alice().types("/list checkout development").await;
    assert!(degraded.contains("\u{1f534}") && degraded.contains("degraded: "), "{degraded}");
    let missing = world.alice().types("/list extra-000").await;
    assert!(missing.contains("\u{26ab} missing"), "{missing}");
}

#[tokio::test]
async fn a_push_marks_the_next_environment_as_behind() {
    let world = World::open().await;
    world.alice().types("/list").await;
    let before = world.alice().types("/list storefront qa").await;
    assert!(!before.contains("behind"), "{before}");
    world.push("storefront", "One ahead");
    world.settle().await;
    let after = world.alice().types("/list storefront qa").await;
    assert!(after.contains("\u{2b06} behind"), "{after}");
}
