//! The message about an arrival: a version that runs or failed without a Gantry change.

use super::Rendered;
use super::blocks::{actions, button, context, section};
use super::mrkdwn::{Mrkdwn, humanize_duration, truncate_middle};
use crate::domain::runtime::arrival::{Arrival, ArrivalOutcome, Author};
use crate::domain::runtime::provenance::GitMismatch;

pub const PROMOTE: &str = "arrival_promote";

const MAX_SUBJECT: usize = 120;
const MAX_REASON: usize = 600;
const MAX_NAME: usize = 60;
const MAX_PATH: usize = 120;

pub fn render_arrival(arrival: &Arrival) -> Rendered {
    let (emoji, verb) = match &arrival.outcome {
        ArrivalOutcome::Running { .. } => (":large_green_circle: ", " runs in "),
        ArrivalOutcome::Failed { .. } => (":red_circle: ", " failed in "),
    };
    let head = Mrkdwn::new(emoji)
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(arrival.version.label())
        .raw(verb)
        .bold(arrival.environment.as_str());
    let text = format!("{} {}{}{}", arrival.artefact, arrival.version.label(), verb, arrival.environment);
    let text = Mrkdwn::default().plain(&text).into_string();

    let mut blocks = vec![section(head.raw("\n").append(&format_commit(arrival)))];
    if let ArrivalOutcome::Failed { reason } = &arrival.outcome {
        blocks.push(section(Mrkdwn::new("*Why:* ").plain(&truncate_middle(reason, MAX_REASON))));
    }
    if let Some(mismatch) = arrival.provenance.git_mismatch() {
        blocks.push(section(warn_not_from_git(mismatch)));
    }
    blocks.push(context(suggest_next_step(arrival)));
    if let (ArrivalOutcome::Running { .. }, Some(_)) = (&arrival.outcome, &arrival.next_environment) {
        blocks.push(actions(vec![button("Promote", PROMOTE, arrival.message_key.as_str().to_owned())]));
    }
    Rendered { text, blocks }
}

/// Posted in the thread and in the channel: an arrival that was announced as failed runs after all.
pub fn render_recovery(arrival: &Arrival) -> Rendered {
    let text = Mrkdwn::new(":large_green_circle: ")
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(&truncate_middle(arrival.version.label(), MAX_SUBJECT))
        .raw(" runs in ")
        .bold(arrival.environment.as_str())
        .raw(" after all.");
    Rendered { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// Posted in the thread and in the channel: the authors of a failed arrival became known after its announcement.
pub fn render_authors_found(arrival: &Arrival) -> Rendered {
    let text = Mrkdwn::new(":red_circle: ")
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(&truncate_middle(arrival.version.label(), MAX_SUBJECT))
        .raw(" failed in ")
        .bold(arrival.environment.as_str())
        .raw("; it was written by ")
        .append(&mention_authors(&arrival.authors))
        .raw(".");
    Rendered { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// The version that Git specifies, and the next step.
pub(super) fn warn_not_from_git(mismatch: &GitMismatch) -> Mrkdwn {
    let text = Mrkdwn::new(":warning: not from Git: ");
    match mismatch {
        GitMismatch::NotInBranch { branch, commit } => text
            .code(&truncate_middle(branch, MAX_NAME))
            .raw(" does not contain ")
            .code(commit.short())
            .raw(". Bring it into ")
            .code(&truncate_middle(branch, MAX_NAME))
            .raw(", or let the controller put back what Git says."),
        GitMismatch::RolledBack { branch, commit } => text
            .raw("a rollback took ")
            .code(commit.short())
            .raw(" away from ")
            .code(&truncate_middle(branch, MAX_NAME))
            .raw(". Let the controller put back what Git says, or release it and promote it again."),
        GitMismatch::NotInManifest { file, specified } => text
            .code(&truncate_middle(file, MAX_PATH))
            .raw(" says ")
            .code(&truncate_middle(specified.label(), MAX_NAME))
            .raw(". Write this version there, or let the controller put back what Git says."),
    }
}

/// Mentions the authors; authors without a Slack account are only named.
pub(super) fn mention_authors(authors: &[Author]) -> Mrkdwn {
    let mut text = Mrkdwn::default();
    for (index, author) in authors.iter().enumerate() {
        text = match index {
            0 => text,
            last if last + 1 == authors.len() => text.raw(" and "),
            _ => text.raw(", "),
        };
        text = match author {
            Author::Person(person) => text.person(person),
            Author::Named(name) => text.plain(&truncate_middle(name, MAX_NAME)),
        };
    }
    text
}

fn format_author(arrival: &Arrival, author: &str) -> Mrkdwn {
    match (&arrival.outcome, &arrival.authors[..]) {
        (ArrivalOutcome::Failed { .. }, [_, ..]) => mention_authors(&arrival.authors),
        _ => Mrkdwn::default().plain(&truncate_middle(author, MAX_SUBJECT)),
    }
}

fn format_commit(arrival: &Arrival) -> Mrkdwn {
    let line = match (&arrival.commit, &arrival.version.commit) {
        (Some(commit), _) => Mrkdwn::default()
            .link(&commit.url, commit.sha.short())
            .raw(" ")
            .plain(&truncate_middle(&commit.subject, MAX_SUBJECT))
            .raw(" \u{b7} ")
            .append(&format_author(arrival, &commit.author)),
        (None, Some(sha)) => Mrkdwn::new("commit ").code(sha.short()),
        (None, None) => Mrkdwn::new("its image does not tell which commit it was built from"),
    };
    match &arrival.outcome {
        ArrivalOutcome::Running { rollout_duration: Some(duration) } => {
            let (count, unit) = humanize_duration(*duration);
            line.raw(" \u{b7} rolled out in ").plain(&format!("{count} {unit}"))
        }
        _ => line,
    }
}

/// The next step for the reader.
fn suggest_next_step(arrival: &Arrival) -> Mrkdwn {
    let artefact = arrival.artefact.as_str();
    match (&arrival.outcome, &arrival.next_environment) {
        (ArrivalOutcome::Running { .. }, Some(next_environment)) => {
            Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {next_environment}"))
        }
        (ArrivalOutcome::Running { .. }, None) => {
            Mrkdwn::new("That was the last rung: ").code(&format!("/list {artefact}")).raw(" shows it everywhere.")
        }
        (ArrivalOutcome::Failed { .. }, _) if arrival.is_first_environment => Mrkdwn::new("Next: push a repair to ")
            .code(&arrival.branch)
            .raw("; ")
            .code(&format!("/list {artefact}"))
            .raw(" shows what runs."),
        (ArrivalOutcome::Failed { .. }, _) => {
            Mrkdwn::new("Next: ").code(&format!("/rollback {artefact} {}", arrival.environment))
        }
    }
}
