//! The text of a pull request: shows reviewers on GitHub the evidence that the requester saw in Slack. No I/O. Text
//! from outside is escaped, so that it cannot become markup or mention anyone.

use jiff::Timestamp;

use crate::domain::change::plan::Plan;
use crate::domain::change::{Change, Stage};
use crate::domain::model::version::Commit;
use crate::domain::rules::gate::Gate;
use crate::domain::rules::rollback::Rollback;

pub fn render_title(plan: &Plan) -> String {
    if plan.is_rollback() {
        return format!("Roll {} back to {} in {}", plan.artefact, plan.version.label(), plan.environment);
    }
    format!("Promote {} {} to {}", plan.artefact, plan.version.label(), plan.environment)
}

/// `requester` is the requester's name, `required` the number of required approvals.
pub fn render_body(change: &Change, requester: &str, required: u32, now: Timestamp) -> String {
    let plan = &change.plan;
    if let Some(rollback) = plan.rollback_details() {
        return render_rollback_body(change, rollback, requester);
    }
    let from = plan.from.as_ref().map_or_else(|| "nothing yet".to_owned(), |from| format_code(from.label()));
    let link_prefix = commit_link_prefix(plan);
    let commit = plan.pinned_commit().map(|pinned| format!(", commit {link_prefix}{pinned}")).unwrap_or_default();
    let mut paragraphs = vec![format!(
        "Asked for by {} in Slack. **{}** in **{}**: {from} \u{2192} {}{commit} as it runs in **{}**.",
        escape_text(requester),
        escape_text(plan.artefact.as_str()),
        escape_text(plan.environment.as_str()),
        format_code(plan.version.label()),
        escape_text(plan.seen_in.as_str()),
    )];
    for hold in &plan.holds_to_lift {
        let reason = hold.reason.as_deref().map_or_else(|| "no reason was given".to_owned(), escape_text);
        paragraphs.push(format!("**It was rolled back there before:** {reason}."));
    }
    if let Some(since) = plan.healthy_since {
        let (below, since_text) = (escape_text(plan.seen_in.as_str()), since.strftime("%Y-%m-%d %H:%M UTC"));
        paragraphs.push(format!("It has run well in {below} since {since_text} ({}).", format_duration(since, now)));
    }
    paragraphs.push(match plan.green_checks {
        0 => "No check ran on that commit.".to_owned(),
        1 => "1 check is green on that commit.".to_owned(),
        count => format!("{count} checks are green on that commit."),
    });
    if let Some(overridden) = &plan.gate_override {
        let gates: Vec<_> = overridden.gates.iter().map(Gate::name).collect();
        paragraphs.push(format!("**Overridden: {}.** {}", gates.join(", "), escape_text(&overridden.reason)));
    }
    paragraphs.extend(render_commits("Commits", plan, &plan.drift.commits, plan.drift.commits_in_all));
    let hotfixes_heading = match plan.manifest_file() {
        // A manifest change replaces the whole image.
        Some(_) => "**These run there, are not in it, and are lost by it**".to_owned(),
        None => format!("Only {} has these; they stay there, and are not below", format_code(&plan.branch)),
    };
    paragraphs.extend(render_commits(&hotfixes_heading, plan, &plan.drift.hotfixes, plan.drift.hotfixes_in_all));
    let files = &plan.drift.files;
    if files.files > 0 {
        let (lines, more) =
            (format!("+{} \u{2212}{}", files.additions, files.deletions), if files.cut { " and more" } else { "" });
        paragraphs.push(format!("Files that change: {}{more}, {lines}.", files.files));
    }
    if !plan.co_deployed.is_empty() {
        let names: Vec<_> = plan.co_deployed.iter().map(|also| escape_text(also.artefact.as_str())).collect();
        paragraphs.push(format!("Moves as well, as it is in the same repository: {}.", names.join(", ")));
    }
    let merged = match required {
        0 => "It is merged as soon as GitHub lets it be.".to_owned(),
        1 => "It is merged when 1 person has approved it, in Slack or here.".to_owned(),
        count => format!("It is merged when {count} people have approved it, in Slack or here."),
    };
    paragraphs
        .push(format!("{merged} Do not push to this branch: it is frozen, so that what is merged is what was seen."));
    paragraphs.push(change.format_change_trailer());
    paragraphs.join("\n\n") + "\n"
}

fn render_rollback_body(change: &Change, rollback: &Rollback, requester: &str) -> String {
    let plan = &change.plan;
    let from = plan.from.as_ref().map_or_else(|| "what is there".to_owned(), |from| format_code(from.label()));
    let origin = if rollback.automatic {
        "Begun by the environment's own rule.".to_owned()
    } else {
        format!("Asked for by {} in Slack.", escape_text(requester))
    };
    let mut paragraphs = vec![format!(
        "{origin} **{}** in **{}** goes back: {from} \u{2192} {}.",
        escape_text(plan.artefact.as_str()),
        escape_text(plan.environment.as_str()),
        format_code(plan.version.label()),
    )];
    if let Some(reason) = &rollback.reason {
        paragraphs.push(format!("**Reason:** {}", escape_text(reason)));
    }
    paragraphs.extend(render_commits("Lost by it", plan, &plan.drift.commits, plan.drift.commits_in_all));
    paragraphs.push("It is merged as soon as GitHub lets it be. Do not push to this branch.".to_owned());
    paragraphs.push(change.format_change_trailer());
    paragraphs.join("\n\n") + "\n"
}

/// The comment on a pull request that is closed without a merge.
pub fn render_closing_comment(change: &Change) -> Option<String> {
    let verb = if change.plan.is_rollback() { "rollback" } else { "promote" };
    let again = format!("/{verb} {} {}", change.plan.artefact, change.plan.environment);
    let why = match &change.stage {
        Stage::Rejected { reason, .. } => format!("Rejected in Slack: {}", escape_text(reason)),
        Stage::Cancelled { .. } => "Cancelled in Slack.".to_owned(),
        Stage::Expired { .. } => "Not all that it waited for came in time.".to_owned(),
        Stage::Superseded { by, .. } => format!("Another change takes its place: change {}.", by.to_short_id()),
        Stage::Conflicted { .. } => "It cannot be merged without a conflict.".to_owned(),
        Stage::Errored { reason: why, .. } => {
            format!("{} Once that is repaired, {} goes on with a new one.", escape_text(why), format_code(&again))
        }
        _ => return None,
    };
    Some(format!("{why}\n\n{}\n", change.format_change_trailer()))
}

/// The prefix that GitHub needs to link a commit of another repository than the pull request's.
fn commit_link_prefix(plan: &Plan) -> String {
    plan.manifest_file().map(|_| format!("{}@", plan.repository)).unwrap_or_default()
}

fn render_commits(head: &str, plan: &Plan, commits: &[Commit], total: u64) -> Option<String> {
    let link_prefix = commit_link_prefix(plan);
    let subject = |commit: &Commit| match plan.manifest_file() {
        // `#42` in a subject is a pull request of the code's repository, and GitHub would link one of the manifests'
        // repository.
        Some(_) => escape_text(&commit.subject)
            .replace(" #", &format!(" {}#", plan.repository))
            .replace("(#", &format!("({}#", plan.repository)),
        None => escape_text(&commit.subject),
    };
    let line = |commit: &Commit| {
        let line = format!("- {link_prefix}{} {} \u{b7} {}", commit.sha, subject(commit), escape_text(&commit.author));
        if commit.brings.is_empty() { line } else { format!("{line} \u{b7} {} commits", commit.brings.len()) }
    };
    let mut lines: Vec<String> = commits.iter().map(line).collect();
    let remaining = total.saturating_sub(commits.iter().map(Commit::count_commits).sum());
    if remaining > 0 {
        lines.push(format!("- and {remaining} more"));
    }
    (!commits.is_empty()).then(|| format!("{head} ({total}):\n\n{}", lines.join("\n")))
}

fn format_duration(from: Timestamp, to: Timestamp) -> String {
    let minutes = to.duration_since(from).as_mins().max(0);
    match minutes {
        0..120 => format!("{minutes} min"),
        120..2880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

/// Escapes text from outside: it is shown as written and mentions no one.
fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // An entity alone is not enough: GitHub searches the rendered text for mentions.
            '@' => out.push_str("@&#8203;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn format_code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace(|c: char| c.is_control(), " "))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::domain::sample;

    #[test]
    fn a_pull_request_shows_the_evidence_and_mentions_no_one() {
        let mut change = sample::change();
        change.plan.healthy_since = Some(change.requested_at - jiff::SignedDuration::from_hours(5));
        change.plan.green_checks = 3;
        change.plan.drift.commits[1].subject = "Tell @everyone <!--x--> [here](http://x) & *now*".into();
        assert_snapshot!(render_title(&change.plan), @"Promote checkout develop-4f1c2ab to qa");
        assert_snapshot!(render_body(&change, "Alice @Adler", 2, change.requested_at), @r"
        Asked for by Alice @&#8203;Adler in Slack. **checkout** in **qa**: `qa-1111111` → `develop-4f1c2ab`, commit 4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2ab4f1c2 as it runs in **development**.

        It has run well in development since 2025-11-16 04:00 UTC (5 h).

        3 checks are green on that commit.

        Commits (2):

        - aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa Retry the payment provider once (#42) · Alice Adler
        - bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb Tell @&#8203;everyone &lt;\!--x--&gt; \[here\](http://x) &amp; \*now\* · Bob

        It is merged when 2 people have approved it, in Slack or here. Do not push to this branch: it is frozen, so that what is merged is what was seen.

        Gantry-Change: 01939f3e-5c00-7000-8000-00000badcafe
        ");
    }
}
