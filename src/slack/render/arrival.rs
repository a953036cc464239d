//! The message about a version that came to run, or that failed to, without a change of ours.

use super::Said;
use super::blocks::{actions, button, context, section};
use super::mrkdwn::{Mrkdwn, shorten, span};
use crate::domain::arrival::{Arrival, End};

pub const PROMOTE: &str = "arrival_promote";

const SUBJECT: usize = 120;
const REASON: usize = 600;

pub fn arrival(arrival: &Arrival) -> Said {
    let (light, words) = match &arrival.end {
        End::Runs { .. } => (":large_green_circle: ", " runs in "),
        End::Failed { .. } => (":red_circle: ", " failed in "),
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
    if let End::Failed { reason } = &arrival.end {
        blocks.push(section(Mrkdwn::new("*Why:* ").plain(&shorten(reason, REASON))));
    }
    blocks.push(context(next(arrival)));
    if let (End::Runs { .. }, Some(_)) = (&arrival.end, &arrival.above) {
        blocks.push(actions(vec![button("Promote", PROMOTE, arrival.name.as_str().to_owned())]));
    }
    Said { text, blocks }
}

fn commit(arrival: &Arrival) -> Mrkdwn {
    let line = match (&arrival.commit, &arrival.version.commit) {
        (Some(commit), _) => Mrkdwn::default()
            .link(&commit.url, commit.sha.short())
            .raw(" ")
            .plain(&shorten(&commit.subject, SUBJECT))
            .raw(" \u{b7} ")
            .plain(&shorten(&commit.author, SUBJECT)),
        (None, Some(sha)) => Mrkdwn::new("commit ").code(sha.short()),
        (None, None) => Mrkdwn::new("its image does not tell which commit it was built from"),
    };
    match &arrival.end {
        End::Runs { took: Some(took) } => {
            let (count, unit) = span(*took);
            line.raw(" \u{b7} rolled out in ").plain(&format!("{count} {unit}"))
        }
        _ => line,
    }
}

/// What to type or do next.
fn next(arrival: &Arrival) -> Mrkdwn {
    let artefact = arrival.artefact.as_str();
    match (&arrival.end, &arrival.above) {
        (End::Runs { .. }, Some(above)) => Mrkdwn::new("Next: ").code(&format!("/promote {artefact} {above}")),
        (End::Runs { .. }, None) => {
            Mrkdwn::new("That was the last rung: ").code(&format!("/list {artefact}")).raw(" shows it everywhere.")
        }
        (End::Failed { .. }, _) if arrival.is_first_rung => Mrkdwn::new("Next: push a repair to ")
            .code(&arrival.branch)
            .raw("; ")
            .code(&format!("/list {artefact}"))
            .raw(" shows what runs."),
        (End::Failed { .. }, _) => Mrkdwn::new("Next: ").code(&format!("/rollback {artefact} {}", arrival.environment)),
    }
}
