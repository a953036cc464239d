//! The card of a wave: many that arrive in one environment at nearly the same time, and what of it failed, in its thread.

use super::Said;
use super::arrival::named;
use super::blocks::{Block, context, section};
use super::mrkdwn::{Mrkdwn, shorten};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Commit;
use crate::domain::runtime::arrival::Author;
use crate::domain::runtime::arrival_batch::{ArrivalBatch, BatchedArrival, BatchedArrivalState};

/// More lines would hide what matters; `list` has them all.
pub const LINES: usize = 20;

const NAME: usize = 40;
const VERSION: usize = 40;
const SUBJECT: usize = 60;
const REASON: usize = 120;
const WHOLE_REASON: usize = 600;
/// A section must stay below 3000 characters.
const SECTION: usize = 2800;

pub fn wave(wave: &ArrivalBatch) -> Said {
    let count = wave.count_by_state();
    let light = match (count.failed, count.rolling_out) {
        (1.., _) => ":red_circle: ",
        (0, 1..) => ":large_yellow_circle: ",
        (0, 0) => ":large_green_circle: ",
    };
    let arrive = match (wave.members.len(), wave.is_over()) {
        (1, true) => " artefact arrived in ",
        (1, false) => " artefact arrives in ",
        (_, true) => " artefacts arrived in ",
        (_, false) => " artefacts arrive in ",
    };
    let number = wave.members.len().to_string();
    let parts = [
        (count.running, "run"),
        (count.rolling_out, "roll out"),
        (count.failed, "failed"),
        (count.replaced, "replaced by something newer"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let stand = parts.collect::<Vec<_>>().join(", ");
    let head = Mrkdwn::new(light).bold(&number).raw(arrive).bold(wave.environment.as_str()).raw(": ").plain(&stand);
    let text = Mrkdwn::default().plain(&format!("{number}{arrive}{}: {stand}", wave.environment)).into_string();

    let common = wave.common_commit();
    let head = match common {
        Some(one) => head.raw("\n").and(&commit(one)),
        None => head,
    };
    let mut blocks = vec![section(head)];
    blocks.extend(lines(wave, common.is_some()));
    blocks.push(context(next(wave)));
    Said { text, blocks }
}

fn commit(commit: &Commit) -> Mrkdwn {
    Mrkdwn::default()
        .link(&commit.url, commit.sha.short())
        .raw(" ")
        .plain(&shorten(&commit.subject, SUBJECT))
        .raw(" \u{b7} ")
        .plain(&shorten(&commit.author, NAME))
}

fn lines(wave: &ArrivalBatch, one_commit: bool) -> Vec<Block> {
    let members = wave.sort_by_urgency();
    let mut blocks = Vec::new();
    let mut text = Mrkdwn::default();
    for member in members.iter().take(LINES) {
        let line = line(member, one_commit);
        if text.as_str().len() + line.as_str().len() > SECTION && !text.as_str().is_empty() {
            blocks.push(section(std::mem::take(&mut text)));
        }
        text = if text.as_str().is_empty() { text } else { text.raw("\n") }.and(&line);
    }
    if !text.as_str().is_empty() {
        blocks.push(section(text));
    }
    let more = members.len().saturating_sub(LINES);
    if more > 0 {
        let list = format!("/list {}", wave.environment);
        blocks
            .push(section(Mrkdwn::default().plain(&format!("and {more} more: ")).code(&list).raw(" shows them all.")));
    }
    blocks
}

fn line(member: &BatchedArrival, one_commit: bool) -> Mrkdwn {
    let (light, stands) = match &member.state {
        BatchedArrivalState::RollingOut => (":large_yellow_circle: ", " rolls out"),
        BatchedArrivalState::Running => (":large_green_circle: ", " runs"),
        BatchedArrivalState::Failed { .. } => (":red_circle: ", " failed: "),
        BatchedArrivalState::Replaced => (":white_circle: ", " was replaced by something newer"),
    };
    let mut line = Mrkdwn::new(light)
        .bold(&shorten(member.artefact.as_str(), NAME))
        .raw(" ")
        .code(&shorten(member.version.label(), VERSION))
        .raw(stands);
    if let BatchedArrivalState::Failed { reason } = &member.state {
        line = line.plain(&shorten(reason, REASON));
    }
    line = match (&member.commit, &member.version.commit) {
        _ if one_commit => line,
        (Some(known), _) => line.raw(" \u{b7} ").and(&commit(known)),
        (None, Some(sha)) => line.raw(" \u{b7} commit ").code(sha.short()),
        (None, None) => line,
    };
    if member.provenance.is_not_from_git() { line.raw(" \u{b7} :warning: not from Git") } else { line }
}

/// What to type or do next.
fn next(wave: &ArrivalBatch) -> Mrkdwn {
    let list = format!("/list {}", wave.environment);
    let failed = wave.members.iter().find(|member| matches!(member.state, BatchedArrivalState::Failed { .. }));
    match (failed, &wave.next_environment) {
        (Some(_), _) if wave.is_first_environment => {
            Mrkdwn::new("Next: push a repair to ").code(&wave.branch).raw("; ").code(&list).raw(" shows what runs.")
        }
        (Some(member), _) => Mrkdwn::new("Next: ")
            .code(&format!("/rollback {} {}", member.artefact, wave.environment))
            .raw("; ")
            .code(&list)
            .raw(" shows what runs."),
        (None, Some(above)) if wave.is_over() => Mrkdwn::new("Next: ")
            .code(&format!("/promote <artefact> {above}"))
            .raw("; ")
            .code(&list)
            .raw(" shows them all."),
        (None, _) => Mrkdwn::default().code(&list).raw(" shows them all."),
    }
}

/// For the thread, and the channel too: one that failed, and whom it concerns.
pub fn failed(member: &BatchedArrival, environment: &EnvironmentName, authors: &[Author]) -> Said {
    let reason = match &member.state {
        BatchedArrivalState::Failed { reason } => reason.as_str(),
        _ => "",
    };
    let head = about(":red_circle: ", member).raw(" failed in ").bold(environment.as_str());
    let head = if authors.is_empty() { head } else { head.raw(" \u{b7} ").and(&named(authors)) };
    let why = Mrkdwn::new("\n*Why:* ").plain(&shorten(reason, WHOLE_REASON));
    Said { text: head.clone().into_string(), blocks: vec![section(head.and(&why))] }
}

/// For the thread, and the channel too: the failures that have no message of their own.
pub fn failed_too(artefacts: &[&str], environment: &EnvironmentName, authors: &[Author]) -> Said {
    let shown: Vec<_> = artefacts.iter().take(LINES).map(|name| shorten(name, NAME)).collect();
    let more = artefacts.len().saturating_sub(LINES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = format!("{} more failed in ", artefacts.len());
    let text = Mrkdwn::new(":red_circle: ")
        .plain(&count)
        .bold(environment.as_str())
        .raw(": ")
        .plain(&shown.join(", "))
        .plain(&rest);
    let text = if authors.is_empty() { text } else { text.raw(" \u{b7} ").and(&named(authors)) };
    Said { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// For the thread, and the channel too: what was told as failed came to run.
pub fn recovered(member: &BatchedArrival, environment: &EnvironmentName) -> Said {
    let text = about(":large_green_circle: ", member).raw(" runs in ").bold(environment.as_str()).raw(" after all.");
    Said { text: text.clone().into_string(), blocks: vec![section(text)] }
}

fn about(light: &'static str, member: &BatchedArrival) -> Mrkdwn {
    Mrkdwn::new(light)
        .bold(&shorten(member.artefact.as_str(), NAME))
        .raw(" ")
        .code(&shorten(member.version.label(), VERSION))
}
