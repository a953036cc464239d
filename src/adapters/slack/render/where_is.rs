//! The answer to `where`: the commit, and for each artefact a line for each environment, with an emoji and a text.

use super::Rendered;
use super::blocks::{Block, Button, actions, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::adapters::slack::render::command_button::COMMAND;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::version::{Commit, Sha};
use crate::domain::view::where_is::{
    ArtefactLocations, CodeRemoval, CommitLocations, CommitPresence, EnvironmentPresence, Prerequisite, QueryMatch,
};

const MAX_SUBJECT: usize = 150;
const MAX_NAME: usize = 60;
const MAX_REASON: usize = 160;
const MAX_QUERY: usize = 80;
const MAX_LABEL: usize = 70;
/// A section is cut at 3000 characters, even in the middle of mark-up.
const MAX_SECTION: usize = 2700;
/// For all sections together, so that Slack accepts the message.
const MAX_SECTIONS_TOTAL: usize = 9500;

pub fn render_where_is(found: &CommitLocations) -> Rendered {
    let linked = found.find_single_change().is_some();
    let mut blocks = vec![section(describe_found_commit(found))];
    let (mut shown, mut length) = (0, 0);
    for locations in &found.artefacts {
        let text = describe_artefact(locations, linked);
        length += text.as_str().chars().count();
        if length > MAX_SECTIONS_TOTAL && shown > 0 {
            break;
        }
        blocks.push(section(text));
        shown += 1;
    }
    blocks.extend(render_omitted(found, shown));
    Rendered { text: format_summary(found), blocks }
}

/// The commit with its subject, and its repository.
fn describe_found_commit(found: &CommitLocations) -> Mrkdwn {
    format_commit(&found.sha, found.commit.as_ref()).raw("\nin ").code(&found.repository.to_string())
}

fn format_commit(sha: &Sha, commit: Option<&Commit>) -> Mrkdwn {
    let Some(commit) = commit else { return Mrkdwn::default().code(sha.short()) };
    let pull = commit.parse_pull_request();
    let subject = match &pull {
        // The number follows at the end of the line, as a link.
        Some((number, _)) => commit.subject.strip_suffix(&format!(" (#{number})")).unwrap_or(&commit.subject),
        None => &commit.subject,
    };
    let line = Mrkdwn::default().link(&commit.url, sha.short()).raw(" ").plain(&truncate_middle(subject, MAX_SUBJECT));
    let line = if commit.author.is_empty() {
        line
    } else {
        line.raw(" \u{b7} ").plain(&truncate_middle(&commit.author, MAX_NAME))
    };
    match pull {
        Some((number, url)) => line.raw(" \u{b7} ").link(&url, &format!("#{number}")),
        None => line,
    }
}

fn describe_artefact(locations: &ArtefactLocations, linked: bool) -> Mrkdwn {
    let name = Mrkdwn::default().bold(&truncate_middle(locations.artefact.as_str(), MAX_NAME));
    let nowhere = locations.environments.iter().all(|environment| {
        environment.presence == CommitPresence::Absent { removal: None } && environment.unreadable.is_none()
    });
    if nowhere {
        let text = name.raw(": in no environment yet");
        return match &locations.prerequisite {
            Some((environment, prerequisite)) => {
                text.append(&describe_wait(locations, environment.as_str(), prerequisite, linked))
            }
            None => text,
        };
    }
    let mut text = name;
    for (index, presence) in locations.environments.iter().enumerate() {
        let line = Mrkdwn::new("\n").append(&describe_environment(locations, index, presence, linked));
        if text.as_str().chars().count() + line.as_str().chars().count() > MAX_SECTION {
            return text.raw("\n").plain(&format!("and {} more environments", locations.environments.len() - index));
        }
        text = text.append(&line);
    }
    text
}

fn describe_environment(
    locations: &ArtefactLocations,
    index: usize,
    presence: &EnvironmentPresence,
    linked: bool,
) -> Mrkdwn {
    let environment = truncate_middle(presence.environment.as_str(), MAX_NAME);
    let further_up = locations.environments[index + 1..].iter().any(|above| above.presence.has_commit());
    let text = match &presence.presence {
        CommitPresence::Present { since, problem } => {
            let text = match problem {
                None => Mrkdwn::new(":white_check_mark: in "),
                Some(_) => Mrkdwn::new(":red_circle: in "),
            };
            let text = text.bold(&environment);
            let text = match since {
                Some(since) => text.raw(" since ").date_time(*since),
                None => text,
            };
            match problem {
                Some(why) => text.raw(", where it does not run as it should: ").plain(&shorten_reason(why)),
                None => text,
            }
        }
        CommitPresence::RollingOut { ready, wanted } => Mrkdwn::new(":hourglass_flowing_sand: rolling out in ")
            .bold(&environment)
            .plain(&format!(", {ready} of {wanted} ready")),
        CommitPresence::Absent { removal: Some(removal) } => describe_rollback(&environment, removal),
        CommitPresence::Absent { removal: None } if further_up => {
            Mrkdwn::new(":heavy_minus_sign: not in ").bold(&environment)
        }
        CommitPresence::Absent { removal: None } => {
            Mrkdwn::new(":heavy_minus_sign: not in ").bold(&environment).raw(" yet")
        }
        CommitPresence::NoWorkload => {
            Mrkdwn::new(":heavy_minus_sign: not in ").bold(&environment).raw(", where nothing runs")
        }
        CommitPresence::Unknown { reason: why } => {
            Mrkdwn::new(":grey_question: not known for ").bold(&environment).raw(": ").plain(&shorten_reason(why))
        }
    };
    let text = match &locations.prerequisite {
        Some((next, prerequisite)) if *next == presence.environment => {
            text.append(&describe_wait(locations, next.as_str(), prerequisite, linked))
        }
        _ => text,
    };
    match &presence.unreadable {
        Some(why) => {
            text.raw(" (what was last seen: the cluster cannot be read now, ").plain(&shorten_reason(why)).raw(")")
        }
        None => text,
    }
}

fn describe_rollback(environment: &str, removal: &CodeRemoval) -> Mrkdwn {
    let text = Mrkdwn::new(":leftwards_arrow_with_hook: not in ").bold(environment).raw(": it was rolled back there");
    let text = match &removal.by {
        Some(person) => text.raw(" by ").person(person),
        None => text,
    };
    let text = match removal.at {
        Some(at) => text.raw(" ").date_time(at),
        None => text,
    };
    match &removal.reason {
        Some(reason) => text.raw(" (").plain(&shorten_reason(reason)).raw(")"),
        None => text,
    }
}

fn describe_wait(
    locations: &ArtefactLocations,
    environment: &str,
    prerequisite: &Prerequisite,
    linked: bool,
) -> Mrkdwn {
    let promote = format!("/promote {} {environment}", locations.artefact);
    match prerequisite {
        Prerequisite::Push { branch } => Mrkdwn::new(": it waits to be merged into ")
            .code(&truncate_middle(branch, MAX_NAME))
            .raw(" and deployed from there"),
        Prerequisite::Change { id, stage_text, contains_commit } => {
            let text = Mrkdwn::new(": change ").code(&id.to_short_id());
            let text = match contains_commit {
                Some(_) => text.raw(" brings it and is "),
                None => text.raw(", which may bring it, is "),
            };
            let text = text.raw(stage_text);
            if linked { text.raw(" (<{link}|its card>)") } else { text }
        }
        Prerequisite::Promotion { below, problem: None } => {
            Mrkdwn::new(": it waits for ").code(&promote).raw(", which takes what runs well in ").bold(below.as_str())
        }
        Prerequisite::Promotion { below, problem: Some(why) } => Mrkdwn::new(": it waits to run well in ")
            .bold(below.as_str())
            .raw(" (")
            .plain(&shorten_reason(why))
            .raw("), then for ")
            .code(&promote),
        Prerequisite::Repair { below } => Mrkdwn::new(". It waits for a repair that runs in ")
            .bold(below.as_str())
            .raw(", with which ")
            .code(&promote)
            .raw(" brings it back"),
        Prerequisite::BackMerge { branch } => Mrkdwn::new(": it came past it, and waits to be merged into ")
            .code(&truncate_middle(branch, MAX_NAME))
            .raw(" as well"),
    }
}

fn shorten_reason(reason: &str) -> String {
    truncate_middle(reason.trim_end_matches('.'), MAX_REASON).into_owned()
}

/// The number of omitted artefacts, and the command that shows them.
fn render_omitted(found: &CommitLocations, shown: usize) -> Option<Block> {
    let all = found.tally.as_ref().map_or(found.artefacts.len(), |tally| tally.artefacts);
    if shown >= all {
        return None;
    }
    let mut text = Mrkdwn::default().plain(&format!("{shown} of {all} artefacts are shown"));
    if let Some(tally) = &found.tally {
        text = text.raw("; of all, as far as I know without asking GitHub, have it");
        for (index, (environment, having, total)) in tally.environments.iter().enumerate().take(10) {
            text = text.raw(if index == 0 { ": " } else { ", " });
            text = text.plain(&format!("{having} of {total} in {}", truncate_middle(environment.as_str(), MAX_NAME)));
        }
    }
    let command = format!("/gantry where {} <artefact>", found.sha.short());
    Some(context(text.raw(". One of them: ").code(&command)))
}

/// The text for notifications and screen readers.
fn format_summary(found: &CommitLocations) -> String {
    const NAMED: usize = 5;
    let mut text = Mrkdwn::default().plain(found.sha.short()).raw(" is");
    for (index, locations) in found.artefacts.iter().take(NAMED).enumerate() {
        let having = locations.environments.iter().filter(|environment| environment.presence.has_commit()).take(10);
        let having: Vec<&str> = having.map(|environment| environment.environment.as_str()).collect();
        let having = if having.is_empty() { "nowhere yet".to_owned() } else { format!("in {}", having.join(", ")) };
        text = text.raw(if index == 0 { " " } else { "; " });
        text = text.plain(&format!("{having} ({})", locations.artefact));
    }
    if found.artefacts.len() > NAMED { text.raw("; and more").into_string() } else { text.into_string() }
}

/// The answer for a pull request that is not merged, so no environment can contain it.
pub fn render_unmerged(candidate: &QueryMatch) -> Rendered {
    let text = match candidate {
        QueryMatch::Unmerged { is_closed: true, .. } => {
            describe_candidate(candidate).raw(" was closed without a merge: it is nowhere.")
        }
        _ => describe_candidate(candidate).raw(" is not merged: it is nowhere yet."),
    };
    render_sentence(text)
}

fn describe_candidate(candidate: &QueryMatch) -> Mrkdwn {
    match candidate {
        QueryMatch::Commit { repository, sha, commit } => {
            format_commit(sha, commit.as_ref()).raw(" in ").code(&repository.to_string())
        }
        QueryMatch::Unmerged { repository, pull, title, .. } => Mrkdwn::default()
            .link(&pull.url, &format!("{repository}#{}", pull.number))
            .raw(" ")
            .plain(&truncate_middle(title, MAX_SUBJECT)),
    }
}

/// The choice between several matches.
pub fn render_candidate_choice(
    query: &str,
    candidates: &[QueryMatch],
    max: usize,
    artefact: Option<&ArtefactName>,
) -> Rendered {
    let text = Mrkdwn::new("Which ").code(&truncate_middle(query, MAX_QUERY)).raw(" is meant?");
    let mut lines = text.clone();
    let mut buttons = Vec::new();
    for (index, candidate) in candidates.iter().take(max).enumerate() {
        lines = lines.raw("\n").plain(&format!("{}. ", index + 1)).append(&describe_candidate(candidate));
        if let QueryMatch::Unmerged { is_closed, .. } = candidate {
            lines = lines.raw(if *is_closed { " (closed)" } else { " (not merged)" });
        }
        buttons.push(build_choice_button(index + 1, candidate, artefact));
    }
    let mut blocks = vec![section(lines), actions(buttons)];
    match candidates.len().saturating_sub(max) {
        0 => {}
        left => blocks.push(context(
            Mrkdwn::default()
                .plain(&format!("and {left} more: name an artefact, or more digits, as in "))
                .code("/gantry where 4f1c2ab <artefact>"),
        )),
    }
    Rendered { text: text.into_string(), blocks }
}

/// The value of the button is the whole command.
fn build_choice_button(number: usize, candidate: &QueryMatch, artefact: Option<&ArtefactName>) -> Button {
    let repository = candidate.repository();
    let (label, query) = match candidate {
        QueryMatch::Commit { sha, .. } => (sha.short().to_owned(), format!("{repository}@{sha}")),
        QueryMatch::Unmerged { pull, .. } => (format!("#{}", pull.number), format!("{repository}#{}", pull.number)),
    };
    let label = truncate_middle(&format!("{number}. {label} in {}", repository.name()), MAX_LABEL).into_owned();
    let artefact = artefact.map(|name| format!(" {name}")).unwrap_or_default();
    Button::with_label(&label, COMMAND, format!("where {query}{artefact}"))
}

/// The answer if nothing matches the query.
pub fn render_not_found(query: &str, artefact: Option<&ArtefactName>, repositories: usize) -> Rendered {
    let text =
        Mrkdwn::new("I find no commit, pull request or tag ").code(&truncate_middle(query, MAX_QUERY)).raw(" in ");
    let text = match (artefact, repositories) {
        (Some(artefact), _) => text.raw("the repository of ").bold(artefact.as_str()).raw("."),
        (None, 1) => text.raw("the repository."),
        (None, count) => text.plain(&format!("the {count} repositories that artefacts are built from.")),
    };
    render_with_next_step(text, suggest_examples())
}

/// The answer to a query that cannot be a commit, a pull request or a tag.
pub fn render_unparsable(query: &str) -> Rendered {
    let text =
        Mrkdwn::new("I can make no commit, pull request or tag of ").code(&truncate_middle(query, MAX_QUERY)).raw(".");
    render_with_next_step(text, suggest_examples())
}

/// The answer for a known image tag with an unknown commit.
pub fn render_commit_unknown(query: &str, artefact: &ArtefactName) -> Rendered {
    let text = Mrkdwn::default()
        .code(&truncate_middle(query, MAX_QUERY))
        .raw(" is an image of ")
        .bold(artefact.as_str())
        .raw(" that I have seen, but nothing tells which commit it was built from.");
    let next =
        Mrkdwn::new("Next: name the commit itself; ").code(&format!("/list {artefact}")).raw(" shows what runs.");
    render_with_next_step(text, next)
}

/// The answer for a repository that no artefact is built from.
pub fn render_foreign_repository(repository: Option<&Repository>, artefact: Option<&ArtefactName>) -> Rendered {
    let text = match (repository, artefact) {
        (Some(repository), Some(artefact)) => {
            Mrkdwn::default().bold(artefact.as_str()).raw(" is not built from ").code(&repository.to_string()).raw(".")
        }
        (Some(repository), None) => Mrkdwn::new("No artefact is built from ").code(&repository.to_string()).raw("."),
        (None, _) => Mrkdwn::new("There are no artefacts."),
    };
    render_with_next_step(text, Mrkdwn::new("Next: ").code("/list").raw(" shows which artefacts there are."))
}

fn suggest_examples() -> Mrkdwn {
    Mrkdwn::new("Next: ")
        .code("/gantry where 4f1c2ab")
        .raw(", ")
        .code("/gantry where #42 <artefact>")
        .raw(", or paste the address of the pull request or the commit.")
}

fn render_sentence(text: Mrkdwn) -> Rendered {
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

fn render_with_next_step(text: Mrkdwn, next: Mrkdwn) -> Rendered {
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

#[cfg(test)]
mod tests;
