//! Lines about commits with their authors and pull requests, hotfixes and files. Used by diffs, plans and cards.

use std::collections::BTreeMap;

use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::git::commit_summary::{CommitSummary, FileSummary};
use crate::domain::model::actor::PersonId;
use crate::domain::model::version::Commit;

const MAX_SUBJECT: usize = 100;
const MAX_NAME: usize = 60;
const MAX_PATH: usize = 80;

/// The number of commits in a message; the thread of a card has more.
pub(super) const MAX_COMMITS: usize = 5;

/// The Slack accounts of authors by their GitHub logins. Only messages for one reader use it, because Slack does not
/// notify the people that such a message mentions.
pub type Authors = BTreeMap<String, PersonId>;

/// A line for each commit.
pub(super) fn format_commit_lines(commits: &[Commit], authors: &Authors) -> Mrkdwn {
    let mut text = Mrkdwn::default();
    for (index, commit) in commits.iter().enumerate() {
        text = if index > 0 { text.raw("\n") } else { text };
        text = text.append(&format_commit(commit, authors));
    }
    text
}

/// The number of commits, and the newest of them.
pub(super) fn format_commits(drift: &CommitSummary, max: usize, authors: &Authors) -> Mrkdwn {
    let head = Mrkdwn::default().plain(&format!("{}:", format_count(drift.commits_in_all, "commit"))).raw("\n");
    let shown = &drift.commits[..max.min(drift.commits.len())];
    append_remaining(head.append(&format_commit_lines(shown, authors)), drift.commits_in_all, shown)
}

/// The hotfixes, below the sentence `head`.
pub(super) fn format_hotfixes(head: Mrkdwn, drift: &CommitSummary, max: usize, authors: &Authors) -> Mrkdwn {
    let shown = &drift.hotfixes[..max.min(drift.hotfixes.len())];
    append_remaining(head.raw("\n").append(&format_commit_lines(shown, authors)), drift.hotfixes_in_all, shown)
}

fn append_remaining(text: Mrkdwn, count: u64, shown: &[Commit]) -> Mrkdwn {
    match count.saturating_sub(shown.iter().map(Commit::count_commits).sum()) {
        0 => text,
        left => text.raw("\n").plain(&format!("and {left} more")),
    }
}

pub(super) fn format_count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `12 files, +120 −30`, and how many of the files concern the artefact, if not all do. `None` if no file is known.
pub(super) fn format_file_count(count: &FileSummary) -> Option<Mrkdwn> {
    if count.files == 0 {
        return None;
    }
    let text = Mrkdwn::default().plain(&format_count(count.files, "file"));
    let text = if count.cut { text.raw(" and more, which GitHub does not name") } else { text };
    let text = text.plain(&format!(", +{} \u{2212}{}", count.additions, count.deletions));
    Some(match count.concern {
        Some(0) => text.raw(", of which none concerns it"),
        Some(1) => text.raw(", of which 1 concerns it"),
        Some(concerned) => text.plain(&format!(", of which {concerned} concern it")),
        None => text,
    })
}

/// The files that changed most, a line each.
pub(super) fn list_most_changed(count: &FileSummary, max: usize) -> Mrkdwn {
    let mut text = Mrkdwn::default();
    for (index, file) in count.most.iter().take(max).enumerate() {
        text = if index > 0 { text.raw("\n") } else { text };
        let lines = format!(" +{} \u{2212}{}", file.additions, file.deletions);
        text = text.raw("\u{2022} ").code(&truncate_middle(&file.path, MAX_PATH)).plain(&lines);
    }
    let all = count.concern.unwrap_or(count.files);
    match all.saturating_sub(count.most.len().min(max) as u64) {
        0 => text,
        left => text.raw("\n").plain(&format!("and {left} more")),
    }
}

fn format_commit(commit: &Commit, authors: &Authors) -> Mrkdwn {
    let pull = commit.parse_pull_request();
    let subject = match &pull {
        // The number follows at the end of the line, as a link.
        Some((number, _)) => commit.subject.strip_suffix(&format!(" (#{number})")).unwrap_or(&commit.subject),
        None => &commit.subject,
    };
    let line = Mrkdwn::new("\u{2022} ")
        .link(&commit.url, commit.sha.short())
        .raw(" ")
        .plain(&truncate_middle(subject, MAX_SUBJECT))
        .raw(" \u{b7} ");
    let line = match commit.login.as_ref().and_then(|login| authors.get(login)) {
        Some(person) => line.person(person),
        None => line.plain(&truncate_middle(&commit.author, MAX_NAME)),
    };
    let line = match pull {
        Some((number, url)) => line.raw(" \u{b7} ").link(&url, &format!("#{number}")),
        None => line,
    };
    match commit.brings.len() {
        0 => line,
        count => line.raw(" \u{b7} ").plain(&format_count(count as u64, "commit")),
    }
}
