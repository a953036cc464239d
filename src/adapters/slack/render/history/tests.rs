//! The answer to `history` at its smallest, usual and largest size.

use insta::assert_snapshot;
use jiff::SignedDuration;

use super::*;
use crate::domain::change::plan::{CoDeployed, Direction};
use crate::domain::change::{FailureEvidence, Proof, PullRequestRef, ResultBranch};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::Destination;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::gate::{Gate, GateOverride};
use crate::domain::sample;
use crate::domain::view::history::{ArrivalDetails, LedgerPosition};
use crate::domain::view::page::{Cursor, Order};

fn after(seconds: i64) -> Timestamp {
    sample::change().requested_at + SignedDuration::from_secs(seconds)
}

fn deploying() -> Stage {
    let result: Sha = "9be01d7".repeat(6)[..40].parse().unwrap();
    Stage::new_merging().into_deploying(result, after(2), after(902)).unwrap()
}

fn change_entry(change: Change) -> HistoryEntry {
    let message = Some(MessageKey::new("card"));
    HistoryEntry {
        position: LedgerPosition(7),
        at: change.requested_at,
        event: HistoryEvent::Change(Box::new(change)),
        message_key: message,
    }
}

fn event_entry(event: HistoryEvent) -> HistoryEntry {
    HistoryEntry { position: LedgerPosition(7), at: after(60), event, message_key: Some(MessageKey::new("card")) }
}

fn render_text(rendered: &Rendered) -> String {
    let blocks = rendered.clone().into_message(Destination::Edit { key: MessageKey::new("x") }).blocks;
    let lines = blocks.iter().map(|block| match block["type"].as_str() {
        Some("section") => block["text"]["text"].as_str().unwrap_or_default().to_owned(),
        Some("context") => block["elements"][0]["text"].as_str().unwrap_or_default().to_owned(),
        _ => {
            let buttons = block["elements"].as_array().into_iter().flatten();
            buttons.map(|it| format!("[{} {}]", it["text"]["text"], it["value"])).collect::<Vec<_>>().concat()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn page(entries: Vec<HistoryEntry>, cursor: &Cursor<LedgerPosition>) -> Page<HistoryEntry> {
    Page::from_cursor(Order::NewestFirst, cursor, entries, 10)
}

fn render_entries(entries: Vec<HistoryEntry>) -> String {
    let links = HashMap::from([(MessageKey::new("card"), "https://acme.slack.com/archives/C0DEPLOYS/p1".to_owned())]);
    let page = page(entries, &Cursor::Start);
    render_text(&render_history(&ListFilter::default(), None, page, &links, Viewer::Person, after(240)))
}

/// The text of one entry, without the title.
fn render_entry(entry: HistoryEntry) -> String {
    render_entries(vec![entry]).split_once('\n').expect("an item").1.to_owned()
}

#[test]
fn an_empty_history_is_one_line_with_the_next_step() {
    assert_snapshot!(render_entries(Vec::new()), @"
    *What happened*: nothing yet that I know of.
    Next: `/list` shows what runs where.
    ");
    let filter =
        ListFilter { artefact: Some(ArtefactName::new("checkout")), environment: Some(EnvironmentName::new("qa")) };
    let nothing = |cursor| {
        render_text(&render_history(
            &filter,
            None,
            page(Vec::new(), &cursor),
            &HashMap::new(),
            Viewer::Person,
            after(0),
        ))
    };
    assert_snapshot!(nothing(Cursor::Start), @"
    What happened to *checkout* in *qa*: nothing yet that I know of.
    Next: `/list checkout` shows what of it runs where.
    ");
    assert_snapshot!(nothing(Cursor::Earlier(LedgerPosition(0))), @"
    What happened to *checkout* in *qa*: nothing more.
    Next: `/gantry history` shows the newest.
    ");
}

#[test]
fn a_change_has_versions_environment_requester_and_outcome() {
    let in_stage = |stage| change_entry(Change { stage, ..sample::change() });
    assert_snapshot!(render_entry(in_stage(Stage::new_merging())), @"
    :hourglass_flowing_sand: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: merging, for 4 min
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    ");
    assert_snapshot!(render_entry(in_stage(deploying().into_deployed(2, Proof::TagPattern, after(32)).unwrap())), @"
    :large_green_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: deployed, took 32 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
    let Stage::Deploying(merged) = deploying() else { panic!("deploying") };
    assert_snapshot!(render_entry(in_stage(Stage::Failed { deploying: merged.clone(), at: after(30), reason: "OOMKilled <!channel>".into(), evidence: FailureEvidence::Workload })), @"
    :red_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: failed after 30 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    *Why:* OOMKilled &lt;!channel&gt;
    ");
    assert_snapshot!(render_entry(in_stage(Stage::Stalled { deploying: merged.clone(), at: after(900), runs: None, unread: false })), @"
    :large_yellow_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: no proof that it runs after 15 min
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    ");
    assert_snapshot!(render_entry(in_stage(Stage::new_merging().into_conflicted(vec!["a.rs".into()], after(3)).unwrap())), @"
    :red_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: Git could not merge it, after 3 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    ");
    assert_snapshot!(render_entry(in_stage(Stage::new_merging().into_errored("GitHub says no.".into(), after(3)).unwrap())), @"
    :red_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: could not be done, after 3 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    *Why:* GitHub says no.
    ");
    assert_snapshot!(render_entry(in_stage(Stage::Cancelled { at: after(9), by: CancelledBy::Person(PersonId::new("U0BOB")) })), @"
    :white_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: cancelled by <@U0BOB> after 9 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    ");
    assert_snapshot!(render_entry(in_stage(Stage::Cancelled { at: after(9), by: CancelledBy::Github { github: None } })), @"
    :white_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: cancelled on GitHub after 9 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    ");
    let reason = "the migration is missing".to_owned();
    assert_snapshot!(render_entry(in_stage(Stage::Rejected { at: after(9), by: PersonId::new("U0BOB"), reason })), @"
    :no_entry: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: rejected by <@U0BOB> after 9 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    *Why:* the migration is missing
    ");
    let by = ChangeId::parse("01939f3e-5c00-7000-8000-00000badf00d").unwrap();
    assert_snapshot!(render_entry(in_stage(Stage::Superseded { at: after(9), by, deploying: None })), @"
    :white_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: gave way to change `0badf00d` after 9 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2|4f1c2ab> · change `0badcafe`
    ");
}

#[test]
fn rollbacks_overrides_and_co_deployed_artefacts_are_shown() {
    let mut back = sample::change();
    back.plan.direction = Direction::Rollback(crate::domain::rules::rollback::Rollback {
        reason: Some("totals <are> wrong".into()),
        ..sample::rollback()
    });
    let merged = deploying().into_deployed(2, Proof::TagPattern, after(32)).unwrap();
    assert_snapshot!(render_entry(change_entry(Change { stage: merged.clone(), ..back })), @"
    :large_green_circle: *checkout* rolled back `qa-1111111` → `develop-4f1c2ab` in *qa*: deployed, took 32 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    *Reason:* totals &lt;are&gt; wrong
    ");

    let mut forced = Change { stage: merged, ..sample::change() };
    forced.plan.co_deployed = vec![CoDeployed { artefact: ArtefactName::new("mailer"), changes: true }];
    forced.plan.gate_override = Some(GateOverride {
        by: PersonId::new("U0BOB"),
        reason: "it burns".into(),
        gates: vec![Gate::Freeze, Gate::Soak],
    });
    let pull = PullRequestRef { number: 12, url: "https://github.com/acme/checkout/pull/12".into() };
    forced.result_branch = Some(ResultBranch { pull: Some(pull), ..ResultBranch::from_change_id(forced.id) });
    assert_snapshot!(render_entry(change_entry(forced)), @"
    :large_green_circle: *checkout* `qa-1111111` → `develop-4f1c2ab` in *qa*: deployed, took 32 s
    asked by <@U0ALICE> <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|card> · pull request <https://github.com/acme/checkout/pull/12|#12> · commit <https://github.com/acme/checkout/commit/9be01d79be01d79be01d79be01d79be01d79be01|9be01d7> · change `0badcafe`
    with it: *mailer*
    :rotating_light: <@U0BOB> overrides the freeze, the soak: it burns
    ");
}

fn arrival() -> ArrivalRecord {
    let plan = sample::plan();
    let details = ArrivalDetails {
        version: plan.version,
        failed: None,
        commit: plan.drift.commits.into_iter().next(),
        took: Some(SignedDuration::from_secs(4)),
        message: None,
    };
    ArrivalRecord { artefact: plan.artefact, environment: plan.seen_in, details }
}

#[test]
fn an_arrival_has_its_version_and_commit() {
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Arrival(Box::new(arrival())))), @"
    :inbox_tray: *checkout* `develop-4f1c2ab` came to *development*, rolled out in 4 s
    without a change of mine <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message> · commit <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> Retry the payment provider once (#42) · Alice Adler
    ");
    let mut failed = arrival();
    failed.details =
        ArrivalDetails { failed: Some("CrashLoopBackOff".into()), commit: None, took: None, ..failed.details };
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Arrival(Box::new(failed)))), @"
    :red_circle: *checkout* `develop-4f1c2ab` failed in *development*: CrashLoopBackOff
    without a change of mine <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message> · commit `4f1c2ab`
    ");
}

#[test]
fn locks_and_releases_are_shown() {
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Locked(sample::lock()))), @"
    :lock: *prod* locked: database &lt;!channel&gt; migration
    by <@U0BOB> <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message>
    ");
    let by = Some(PersonId::new("U0CAROL"));
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Unlocked { lock: sample::lock(), by: by.clone() })), @"
    :unlock: *prod* unlocked, after 1 min
    by <@U0CAROL> <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message>
    ");
    assert_snapshot!(render_entry(event_entry(HistoryEvent::TakenOver { lock: sample::lock(), from: by.clone() })), @"
    :lock: the lock on *prod* taken over from <@U0CAROL>: database &lt;!channel&gt; migration
    by <@U0BOB> <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message>
    ");
    let plan = sample::plan();
    let released =
        HistoryEvent::Released { artefact: plan.artefact, environment: plan.environment, version: plan.version, by };
    assert_snapshot!(render_entry(event_entry(released)), @"
    :leftwards_arrow_with_hook: *checkout* `develop-4f1c2ab` released: it may come back to *qa*
    by <@U0CAROL> <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message>
    ");
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Unreadable)), @"
    :grey_question: something that another version of me wrote, and I cannot read
    <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message>
    ");
}

#[test]
fn the_largest_answer_keeps_its_lines_whole() {
    let long = |word: &str| word.repeat(2000 / word.chars().count());
    let mut arrived = arrival();
    arrived.details.version = Version { tag: Some(long("гілка-").into()), ..Version::default() };
    if let Some(commit) = &mut arrived.details.commit {
        commit.subject = long("\u{202e}שלום \u{1f680} <!here> & ");
        commit.author = long("Олександра ");
    }
    assert_snapshot!(render_entry(event_entry(HistoryEvent::Arrival(Box::new(arrived)))), @"
    :inbox_tray: *checkout* `гілка-гілка-гілка-гілка-гілка-гілка-гіл…лка-гілка-гілка-гілка-гілка-гілка-гілка-` came to *development*, rolled out in 4 s
    without a change of mine <!date^1763283660^{date_short_pretty} {time}|2025-11-16 09:01 UTC> · <https://acme.slack.com/archives/C0DEPLOYS/p1|message> · commit <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> שלום 🚀 &lt;!here&gt; &amp; שלום 🚀 &lt;!here&gt; &amp; של…&gt; &amp; שלום 🚀 &lt;!here&gt; &amp; שלום 🚀 &lt;!here&gt; &amp;  · Олександра Олександра Олександра Олекса…сандра Олександра Олександра Олександра
    ");
}

#[test]
fn a_count_above_the_maximum_is_limited_with_a_note() {
    let entries = (0..40).map(|n| HistoryEntry {
        position: LedgerPosition(100 - n),
        ..event_entry(HistoryEvent::Locked(sample::lock()))
    });
    let page = Page::from_cursor(
        Order::NewestFirst,
        &Cursor::Earlier(LedgerPosition(101)),
        entries.collect(),
        MAX_PAGE_SIZE as usize,
    );
    let text = render_text(&render_history(
        &ListFilter::default(),
        Some(500),
        page,
        &HashMap::new(),
        Viewer::Person,
        after(0),
    ));
    assert_eq!(text.matches(":lock:").count(), 20);
    let end = text.lines().rev().take(2).collect::<Vec<_>>().join("\n");
    assert_snapshot!(end, @r#"
    ["Earlier" "history|500|<81||"]["Later" "history|500|>100||"]
    More than 20 do not fit into one message: *Earlier* shows the next.
    "#);
}
