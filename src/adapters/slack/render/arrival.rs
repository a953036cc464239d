//! The message about a version that came to run, or that failed to, without a change of ours.

use super::Said;
use super::blocks::{actions, button, context, section};
use super::mrkdwn::{Mrkdwn, shorten, span};
use crate::domain::runtime::arrival::{Arrival, ArrivalOutcome, Author};
use crate::domain::runtime::provenance::GitMismatch;

pub const PROMOTE: &str = "arrival_promote";

const SUBJECT: usize = 120;
const REASON: usize = 600;
const NAME: usize = 60;
const FILE: usize = 120;

pub fn arrival(arrival: &Arrival) -> Said {
    let (light, words) = match &arrival.outcome {
        ArrivalOutcome::Running { .. } => (":large_green_circle: ", " runs in "),
        ArrivalOutcome::Failed { .. } => (":red_circle: ", " failed in "),
    };
    let head = Mrkdwn::new(light)
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(arrival.version.label())
        .raw(words)
        .bold(arrival.environment.as_str());
    let text = format!("{} {}{}{}", arrival.artefact, arrival.version.label(), words, arrival.environment);
    let text = Mrkdwn::default().plain(&text).into_string();

    let mut blocks = vec![section(head.raw("\n").and(&commit(arrival)))];
    if let ArrivalOutcome::Failed { reason } = &arrival.outcome {
        blocks.push(section(Mrkdwn::new("*Why:* ").plain(&shorten(reason, REASON))));
    }
    if let Some(why) = arrival.provenance.git_mismatch() {
        blocks.push(section(not_from_git(why)));
    }
    blocks.push(context(next(arrival)));
    if let (ArrivalOutcome::Running { .. }, Some(_)) = (&arrival.outcome, &arrival.next_environment) {
        blocks.push(actions(vec![button("Promote", PROMOTE, arrival.message_key.as_str().to_owned())]));
    }
    Said { text, blocks }
}

/// For its thread, and the channel too: what was told as failed came to run.
pub fn recovered(arrival: &Arrival) -> Said {
    let text = Mrkdwn::new(":large_green_circle: ")
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(&shorten(arrival.version.label(), SUBJECT))
        .raw(" runs in ")
        .bold(arrival.environment.as_str())
        .raw(" after all.");
    Said { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// For its thread, and the channel too: whose commit it was became known only after the failure was told.
pub fn concerned(arrival: &Arrival) -> Said {
    let text = Mrkdwn::new(":red_circle: ")
        .bold(arrival.artefact.as_str())
        .raw(" ")
        .code(&shorten(arrival.version.label(), SUBJECT))
        .raw(" failed in ")
        .bold(arrival.environment.as_str())
        .raw("; it was written by ")
        .and(&named(&arrival.authors))
        .raw(".");
    Said { text: text.clone().into_string(), blocks: vec![section(text)] }
}

/// What Git says instead, and what to do about it.
pub(super) fn not_from_git(why: &GitMismatch) -> Mrkdwn {
    let text = Mrkdwn::new(":warning: not from Git: ");
    match why {
        GitMismatch::NotInBranch { branch, commit } => text
            .code(&shorten(branch, NAME))
            .raw(" does not contain ")
            .code(commit.short())
            .raw(". Bring it into ")
            .code(&shorten(branch, NAME))
            .raw(", or let the controller put back what Git says."),
        GitMismatch::RolledBack { branch, commit } => text
            .raw("a rollback took ")
            .code(commit.short())
            .raw(" away from ")
            .code(&shorten(branch, NAME))
            .raw(". Let the controller put back what Git says, or release it and promote it again."),
        GitMismatch::NotInManifest { file, specified: says } => text
            .code(&shorten(file, FILE))
            .raw(" says ")
            .code(&shorten(says.label(), NAME))
            .raw(". Write this version there, or let the controller put back what Git says."),
    }
}

/// People are mentioned, who is not in Slack is named.
pub(super) fn named(authors: &[Author]) -> Mrkdwn {
    let mut text = Mrkdwn::default();
    for (index, author) in authors.iter().enumerate() {
        text = match index {
            0 => text,
            last if last + 1 == authors.len() => text.raw(" and "),
            _ => text.raw(", "),
        };
        text = match author {
            Author::Person(person) => text.person(person),
            Author::Named(name) => text.plain(&shorten(name, NAME)),
        };
    }
    text
}

fn written_by(arrival: &Arrival, author: &str) -> Mrkdwn {
    match (&arrival.outcome, &arrival.authors[..]) {
        (ArrivalOutcome::Failed { .. }, [_, ..]) => named(&arrival.authors),
        _ => Mrkdwn::default().plain(&shorten(author, SUBJECT)),
    }
}

fn commit(arrival: &Arrival) -> Mrkdwn {
    let line = match (&arrival.commit, &arrival.version.commit) {
        (Some(commit), _) => Mrkdwn::default()
            .link(&commit.url, commit.sha.short())
            .raw(" ")
            .plain(&shorten(&commit.subject, SUBJECT))
            .raw(" \u{b7} ")
            .and(&written_by(arrival, &commit.author)),
        (None, Some(sha)) => Mrkdwn::new("commit ").code(sha.short()),
        (None, None) => Mrkdwn::new("its image does not tell which commit it was built from"),
    };
    match &arrival.outcome {
        ArrivalOutcome::Running { rollout_duration: Some(took) } => {
            let (count, unit) = span(*took);
            line.raw(" \u{b7} rolled out in ").plain(&format!("{count} {unit}"))
        }
        _ => line,
    }
}

/// What to type or do next.
fn next(arrival: &Arrival) -> Mrkdwn {
    let artefact = arrival.artefact.as_str();
    match (&arrival.outcome, &arrival.next_environment) {
        (ArrivalOutcome::Running { .. }, Some(above)) => {
            Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {above}"))
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
