//! The bot's messages are within Slack's limits, with any content.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::adapters::slack::render::commit_summary::Authors;
use crate::adapters::slack::render::history::render_history;
use crate::adapters::slack::render::list::render_list;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::status::{PAGE_SIZE, StatusCounts, StatusDetails, render_details, render_status};
use crate::adapters::slack::render::{Rendered, diff, text_diff};
use crate::domain::change::approval::ApprovalState;
use crate::domain::change::plan::{CoDeployed, Direction};
use crate::domain::change::{Change, FailureEvidence, MergeState, PullRequestRef, ResultBranch, RetryState, Stage};
use crate::domain::git::commit_summary::{CommitSummary, FileSummary};
use crate::domain::git::text_diff::LineDiff;
use crate::domain::model::actor::{Actor, MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::catalogue::{Catalogue, Ladder};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::model::version::{Commit, Version};
use crate::domain::rules::gate::{Gate, GateOverride};
use crate::domain::rules::lock::Lock;
use crate::domain::rules::merge_condition::MergeCondition;
use crate::domain::rules::rollback::Rollback;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::sample;
use crate::domain::view::diff::{Diff, DiffResult, DiffSide, GitState, ManifestDiff, NextPromotion, UndeployedCommits};
use crate::domain::view::history::{
    ArrivalDetails, ArrivalRecord, ChangeEvent, HistoryEntry, HistoryEvent, LedgerPosition,
};
use crate::domain::view::list::{ListCell, ListFilter, Listing};
use crate::domain::view::page::{Cursor, Order, Page};
use crate::sim::slack::check_blocks;

fn catalogue(environment_count: usize, artefacts: usize, name: usize) -> Catalogue {
    let template = sample::catalogue().ladder.environments()[0].clone();
    let environment = |n: usize| {
        let mut environment = template.clone();
        environment.name = EnvironmentName::new(&format!("{}{n}", "e".repeat(name)));
        environment
    };
    let ladder = Ladder::new((0..environment_count).map(environment).collect());
    let artefact = |n: usize| sample::artefact(&format!("{}{n:04}", "a".repeat(name)), "acme/a", &ladder);
    Catalogue { artefacts: (0..artefacts).map(artefact).collect(), ladder: ladder.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_page_of_a_list_is_within_the_limits(
        environment_count in 2_usize..30, artefacts in 0_usize..130, name in 1_usize..80,
        version in "[A-Za-z0-9_.-]{1,128}", reason in "\\PC{0,300}", page in 0_usize..5, is_filtered in any::<bool>(),
    ) {
        let catalogue = catalogue(environment_count, artefacts, name);
        let filter = ListFilter { artefact: None, environment: is_filtered.then(|| catalogue.ladder.environments()[0].name.clone()) };
        let listing = Listing::from_catalogue(&catalogue, filter, page, |_, _| ListCell {
            version: Some(version.as_str().into()),
            state: RolloutState::Degraded { reason: reason.as_str().into() },
            since: Some(Timestamp::UNIX_EPOCH),
            is_behind: Some(true),
            not_from_git: true,
        });
        let rendered = render_list(&listing, Viewer::Person, Timestamp::UNIX_EPOCH);
        let message = rendered.into_message(Destination::Edit { key: MessageKey::new("list") });
        prop_assert_eq!(check_blocks(&message.blocks), Ok(()));
        prop_assert_eq!(check_blocks(message.plain.as_ref().unwrap_or(&message.blocks)), Ok(()));
    }
    #[test]
    fn any_text_diff_is_within_the_limits(
        old in "(\\PC{0,20}\n){0,60}", new in "([<>&`\ta b.]{0,90}\n?){0,60}", chars in any::<String>(), max_chars in 0_usize..4_000,
    ) {
        for (old, new) in [(&old, &new), (&new, &chars), (&chars, &old)] {
            for difference in [LineDiff::from_texts(old, new), LineDiff::from_patch(&LineDiff::from_texts(old, new).to_unified_patch(&chars))] {
                let shown = text_diff::render_text_diff(&difference, max_chars);
                if shown.blocks.is_empty() {
                    continue;
                }
                let rendered = Rendered { text: "what differs".to_owned(), blocks: shown.blocks };
                let message = rendered.into_message(Destination::Edit { key: MessageKey::new("diff") });
                prop_assert_eq!(check_blocks(&message.blocks), Ok(()));
                let plain = message.plain.as_ref().unwrap_or(&message.blocks);
                prop_assert_eq!(check_blocks(plain), Ok(()));
                let fenced = plain[0]["text"]["text"].as_str().unwrap_or("``````").matches("```").count();
                prop_assert_eq!(fenced, 2, "text cannot close the fence");
            }
        }
    }
}

/// Texts that outsiders could write.
pub(super) fn arbitrary_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,300}",
        Just("<!channel> & <@U1> `x` *y* ".repeat(80)),
        Just("Українська ".repeat(190)),
        Just("\u{202e}שלום \u{1f680}".repeat(200)),
    ]
}

/// A change with text from outside in every possible field.
fn change(number: u64, text: &str, stage: usize) -> Change {
    let at = Timestamp::UNIX_EPOCH;
    let by = PersonId::new("U0BOB");
    let mut change = sample::change();
    let id = format!("01939f3e-5c00-7000-8000-{number:012x}");
    change.id = ChangeId::parse(&id).expect("an id");
    change.plan.version.tag = Some(text.into());
    change.plan.from = Some(Version { tag: Some(text.into()), ..Version::default() });
    change.plan.branch = text.to_owned();
    for commit in &mut change.plan.drift.commits {
        (commit.subject, commit.author) = (text.to_owned(), text.to_owned());
    }
    change.plan.gate_override = Some(GateOverride { by: by.clone(), reason: text.to_owned(), gates: vec![Gate::Soak] });
    change.plan.co_deployed = vec![CoDeployed { artefact: ArtefactName::new("mailer"), changes: true }; 30];
    if number.is_multiple_of(2) {
        change.plan.direction = Direction::Rollback(Rollback { reason: Some(text.to_owned()), ..sample::rollback() });
    }
    let url = format!(
        "https://github.com/acme/{}/pull/1",
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>()
    );
    change.result_branch =
        Some(ResultBranch { pull: Some(PullRequestRef { number, url }), ..ResultBranch::from_change_id(change.id) });
    let mut awaiting =
        ApprovalState::new(3, vec![MemberLabel::Handle(text.to_owned()); 20], at, SignedDuration::from_hours(1));
    awaiting.waits_for = vec![MergeCondition::ChecksRed { names: vec![text.to_owned(); 20] }; 5];
    awaiting.retry = Some(RetryState { since: at, attempts: 1, reason: text.to_owned() });
    let merged =
        || Stage::new_merging().into_deploying("a".repeat(40).parse().expect("a commit"), at, at).expect("merged");
    let Stage::Deploying(deploying) = merged() else { return change };
    let reason = text.to_owned();
    change.stage = match stage {
        0 => Stage::new_merging(),
        1 => Stage::new_awaiting_approval(awaiting),
        2 => merged(),
        3 => Stage::Failed { deploying, at, reason, evidence: FailureEvidence::Workload },
        4 => Stage::Stalled { deploying, at, runs: Some(reason), unread: false },
        5 => Stage::Rejected { at, by, reason },
        6 => Stage::Errored { at, reason, merging: MergeState::default() },
        _ => Stage::Conflicted { at, files: vec![reason; 40] },
    };
    change
}

/// Slack accepts the message, and no text from outside is markup.
pub(super) fn check_rendered(rendered: Rendered) -> Result<(), TestCaseError> {
    let text = rendered.text.clone();
    let ack = rendered.to_ack_body(false);
    let message = rendered.into_message(Destination::Edit { key: MessageKey::new("x") });
    prop_assert_eq!(check_blocks(&message.blocks), Ok(()));
    prop_assert!(serde_json::from_slice::<serde_json::Value>(&ack).is_ok());
    let mut texts = vec![text];
    for block in &message.blocks {
        texts.extend(block["text"]["text"].as_str().map(str::to_owned));
        texts.extend(block["elements"][0]["text"].as_str().map(str::to_owned));
    }
    for text in texts {
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('<') {
            prop_assert!(!before.contains('>'), "an end without a beginning in {}", text);
            let (inside, after) = after.split_once('>').expect("an end");
            let own_markup = ["@U0", "https://github.com/acme/", "https://acme.slack.com/", "!date^"];
            prop_assert!(own_markup.iter().any(|markup| inside.starts_with(markup)), "<{}> in {}", inside, text);
            rest = after;
        }
        prop_assert!(!rest.contains('>'), "an end without a beginning in {}", text);
        for (index, _) in text.match_indices('&') {
            let escapes = ["&amp;", "&lt;", "&gt;"];
            prop_assert!(escapes.iter().any(|escape| text[index..].starts_with(escape)), "a bare & in {}", text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_status_is_within_the_limits_and_escaped(
        text in arbitrary_text(), count in 0_usize..12, stage in 0_usize..8, steps in 0_usize..60,
    ) {
        let now = Timestamp::UNIX_EPOCH;
        let changes: Vec<Change> = (0..count).map(|n| change(n as u64, &text, (stage + n) % 8)).collect();
        let card = |change: &Change| (change.id, "https://acme.slack.com/archives/C0DEPLOYS/p1".to_owned());
        let details = StatusDetails {
            stage_since: changes.iter().map(|change| (change.id, now)).collect(),
            card_links: changes.iter().map(card).collect(),
        };
        let page = Page::from_cursor(Order::OldestFirst, &Cursor::<ChangeId>::Start, changes.iter().collect(), PAGE_SIZE);
        check_rendered(render_status(&ListFilter::default(), page, StatusCounts { under_way: count, watched: 0 }, &details, Viewer::Person, now))?;
        let step = ChangeEvent { at: now, kind: text.clone(), by: Some(Actor::Github(text.clone())) };
        let detailed: Vec<_> = changes.into_iter().map(|change| (change, vec![step.clone(); steps])).collect();
        if !detailed.is_empty() {
            check_rendered(render_details(&detailed, &details, now))?;
            check_rendered(render_details(&detailed[..1], &details, now))?;
        }
    }

    #[test]
    fn any_history_is_within_the_limits_and_escaped(
        text in arbitrary_text(), count in 0_usize..25, stage in 0_usize..8, back in any::<bool>(),
    ) {
        let now = Timestamp::UNIX_EPOCH;
        let plan = change(1, &text, 0).plan;
        let arrival = ArrivalDetails {
            version: plan.version.clone(),
            failed: back.then(|| text.clone()),
            commit: plan.drift.commits.first().cloned(),
            took: None,
            message: None,
        };
        let entry = |n: usize| {
            let lock = Lock { reason: text.clone(), ..sample::lock() };
            let (artefact, environment) = (plan.artefact.clone(), plan.environment.clone());
            let event = match n % 4 {
                0 | 1 => HistoryEvent::Change(Box::new(change(n as u64, &text, (stage + n) % 8))),
                2 => HistoryEvent::Arrival(Box::new(ArrivalRecord { artefact, environment, details: arrival.clone() })),
                _ => HistoryEvent::Locked(lock),
            };
            HistoryEntry { position: LedgerPosition(i64::try_from(n).unwrap_or_default()), at: now, event, message_key: Some(MessageKey::new("card")) }
        };
        let links: std::collections::HashMap<_, _> = std::iter::once((MessageKey::new("card"), "https://acme.slack.com/archives/C0/p1".to_owned())).collect();
        let cursor = if back { Cursor::Later(LedgerPosition(0)) } else { Cursor::Start };
        let page = Page::from_cursor(Order::NewestFirst, &cursor, (0..count).map(entry).collect(), 20);
        check_rendered(render_history(&ListFilter::default(), Some(99), page, &links, Viewer::Person, now))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_diff_is_within_the_limits_and_escaped(
        text in arbitrary_text(), commits in 0_usize..21, hotfixes in 0_usize..21, files in 0_usize..300, is_reversed in any::<bool>(),
        count in 0_usize..40, page in 0_usize..5, waiting in 0_usize..3, state in 0_usize..5,
    ) {
        let now = Timestamp::UNIX_EPOCH;
        let ladder = sample::catalogue().ladder;
        let commit = Commit { author: text.clone(), brings: vec![sample::commit('a', &text)], ..sample::commit('b', &text) };
        let drift = CommitSummary {
            commits: vec![commit.clone(); commits],
            commits_in_all: 250,
            hotfixes: vec![commit; hotfixes],
            hotfixes_in_all: hotfixes as u64,
            hotfixes_cut: is_reversed,
            files: FileSummary {
                files: files as u64,
                additions: u64::MAX,
                deletions: 7,
                cut: files > 250,
                concern: is_reversed.then_some(3),
                most: sample::files(&vec![text.as_str(); files.min(10)]).changed,
            },
            url: Some("https://github.com/acme/checkout/compare/a...b".to_owned()),
        };
        // The longest tag that a registry allows.
        let tag: String = text.chars().take(128).collect();
        let version = Version { tag: Some(tag.as_str().into()), digest: None, commit: Some(sample::sha('c')) };
        let side = |environment: &str| DiffSide {
            environment: EnvironmentName::new(environment),
            running: Some(version.clone()),
            state: match state {
                0 => RolloutState::Degraded { reason: text.as_str().into() },
                1 => RolloutState::Unreadable { reason: text.as_str().into(), since: now },
                _ => RolloutState::Running { ready: 1 },
            },
            since: Some(now),
            git: match state {
                2 => GitState::Manifest { file: text.clone(), specified: version.clone(), is_running: false },
                3 => GitState::Unreadable { file: text.clone(), reason: text.clone() },
                _ => GitState::Branch { branch: text.clone(), head: sample::sha('d'), undeployed: UndeployedCommits::Commits(2) },
            },
        };
        let (source, target) = if is_reversed { ("prod", "staging") } else { ("staging", "prod") };
        let prod = EnvironmentName::new("prod");
        let manifest_diff = ManifestDiff { file: text.clone(), difference: LineDiff::from_texts(&text, &text.replace('a', "b\n")) };
        let diff = Diff {
            artefact: ArtefactName::new(&"a".repeat(80)),
            source: side(source),
            target: side(target),
            result: match state {
                4 => DiffResult::Unknown(text.clone()),
                _ => DiffResult::Different { behind: (commits > 0).then(|| prod.clone()), drift: Box::new(drift), upper_is_newer: is_reversed },
            },
            next_promotion: Some(NextPromotion { environment: prod, version: is_reversed.then(|| version.clone()) }),
            compared_commits: None,
            manifest_diff: Some(manifest_diff.clone()),
        };
        let artefact_diff = diff::render_artefact_diff(&diff, Some(&vec![manifest_diff; files.min(30)]), &ladder, &Authors::new(), now);
        check_rendered(artefact_diff.rendered)?;
        check_rendered(diff::render_file_comment(&diff))?;
        let pair = (&EnvironmentName::new(source), &EnvironmentName::new(target));
        let all = diff::render_all_diffs(&vec![diff; count], count + waiting, pair, page, Viewer::Person, &ladder, now);
        prop_assert_eq!(check_blocks(all.clone().without_tables().into_message(Destination::Edit { key: MessageKey::new("x") }).blocks.as_slice()), Ok(()));
        check_rendered(all)?;
    }
}
