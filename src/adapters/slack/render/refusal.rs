//! A refusal by the rules: a sentence with the reason, and the next step.

use super::Rendered;
use super::blocks::{actions, context, section};
use super::mrkdwn::{Mrkdwn, truncate_middle};
use super::refusal_buttons::build_buttons;
use super::{lock, quarantine};
use crate::adapters::slack::render::approve::{self, ApprovalSubject};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::conflict::ChangeInProgress;
use crate::domain::rules::refusal::Refusal;
use crate::domain::rules::refusal::RestrictedAction;

const MAX_REASON: usize = 600;
const MAX_NAMES: usize = 8;

pub fn render_refusal(refusal: &Refusal) -> Rendered {
    let (why, next) = explain_refusal(refusal);
    let text = why.as_str().to_owned();
    let mut blocks = vec![section(why)];
    let buttons = build_buttons(refusal);
    if !buttons.is_empty() {
        blocks.push(actions(buttons));
    }
    blocks.push(context(Mrkdwn::new("Next: ").append(&next)));
    Rendered { text, blocks }
}

/// The answer if a service that Gantry needs could not be reached or refused to answer.
pub fn render_lookup_failure(why: &str) -> Rendered {
    let text = Mrkdwn::new("Nothing was done: ").plain(truncate_middle(why, MAX_REASON).trim_end_matches('.')).raw(".");
    let next = Mrkdwn::new("Next: try again in a minute; if it stays so, ask whoever runs me.");
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text), context(next)] }
}

fn format_promote_command(artefact: &ArtefactName, environment: &EnvironmentName) -> String {
    format!("/promote {artefact} {environment}")
}

fn format_list_command(artefact: &ArtefactName) -> String {
    format!("/list {artefact}")
}

fn format_version(artefact: &ArtefactName, version: &Version) -> Mrkdwn {
    Mrkdwn::default().bold(artefact.as_str()).raw(" ").code(version.label())
}

fn append_names<T: AsRef<str>>(text: Mrkdwn, names: &[T]) -> Mrkdwn {
    let mut text = text;
    for (index, name) in names.iter().take(MAX_NAMES).enumerate() {
        text = if index > 0 { text.raw(", ") } else { text };
        text = text.code(&truncate_middle(name.as_ref(), 80));
    }
    match names.len().saturating_sub(MAX_NAMES) {
        0 => text,
        left => text.plain(&format!(" and {left} more")),
    }
}

fn link_commit(url: Option<&String>, pinned: &Sha) -> Mrkdwn {
    match url {
        Some(url) => Mrkdwn::default().link(url, pinned.short()),
        None => Mrkdwn::default().code(pinned.short()),
    }
}

#[expect(clippy::too_many_lines, reason = "one sentence for each refusal, and they are read side by side")]
pub(super) fn explain_refusal(refusal: &Refusal) -> (Mrkdwn, Mrkdwn) {
    let text = Mrkdwn::new;
    match refusal {
        Refusal::NotInEnvironment { artefact, environment, environments: names } => {
            let names: Vec<_> = names.iter().map(EnvironmentName::as_str).collect();
            (
                Mrkdwn::default().bold(artefact.as_str()).raw(" is not in ").bold(environment.as_str()).raw("."),
                append_names(text("choose one of "), &names).raw("."),
            )
        }
        Refusal::FirstEnvironment { artefact, environment, branch, next_environment } => {
            let next = text("push to ").code(branch);
            (
                text("Nothing is promoted to ").bold(environment.as_str()).raw(": it is fed by pushes."),
                match next_environment {
                    Some(next_environment) => {
                        next.raw(", or ").code(&format_promote_command(artefact, next_environment)).raw(".")
                    }
                    None => next.raw("."),
                },
            )
        }
        Refusal::RepairByPush { environment, branch, .. } => (
            Mrkdwn::default()
                .bold(environment.as_str())
                .raw(" is never rolled back: it is fed by pushes, and the next push would bring it all back."),
            text("repair it by a push to ").code(branch).raw(", for example of a ").code("git revert").raw("."),
        ),
        Refusal::Quarantined { artefact, environment, version, quarantine, by_rollback } => (
            format_version(artefact, version)
                .raw(" may not come back to ")
                .bold(environment.as_str())
                .raw(": ")
                .append(&quarantine::describe_quarantine(quarantine))
                .raw("."),
            text(if *by_rollback { "choose another version" } else { "promote what repairs it" })
                .raw("; or, if it was not to blame, ")
                .code(&format!("/gantry release {artefact} {}", quarantine.version.label()))
                .append(&if *by_rollback { Mrkdwn::new(".") } else { suggest_override() }),
        ),
        Refusal::RolledBackBelow { artefact, environment, below, version, would_revert_target, restored } => {
            let why = Mrkdwn::default().bold(below.as_str()).raw(" was rolled back: ").code(version.label());
            let why = if *would_revert_target {
                why.raw(" is older code there, and would take ")
                    .bold(environment.as_str())
                    .raw(" back as well. A promotion never goes back.")
            } else {
                why.raw(" is that rollback, with what it took back in its history. A rollback is never promoted.")
            };
            let next = text("repair it below, and promote that");
            (
                why,
                match restored {
                    Some(restored) => next
                        .raw("; or, if that is newer than what runs there, promote what was restored: ")
                        .code(&format!("/promote {artefact} {environment} @{restored}"))
                        .raw("."),
                    None => next.raw("."),
                },
            )
        }
        Refusal::MergedBeforeRollback { artefact, environment, version, ran_as } => (
            Mrkdwn::default()
                .bold(environment.as_str())
                .raw(" had ")
                .append(&format_version(artefact, version))
                .raw(" before it was rolled back, so there is nothing to merge."),
            text("bring it back as what it was: ")
                .code(&format!("/rollback {artefact} {environment} {ran_as}"))
                .raw("."),
        ),
        Refusal::NoPreviousVersion { artefact, environment, current } => {
            let why = text("I know of no version of ")
                .bold(artefact.as_str())
                .raw(" that ran in ")
                .bold(environment.as_str())
                .raw(" before");
            (
                match current {
                    Some(current) => why.raw(" ").code(current.label()).raw(", and that was not rolled back from."),
                    None => why.raw(" what is there now."),
                },
                text("repair it by a push and a promotion; or name a version that ran there: ")
                    .code(&format!("/rollback {artefact} {environment} <version>"))
                    .raw("."),
            )
        }
        Refusal::SameCode { artefact, environment, version } => (
            format_version(artefact, version)
                .raw(" is what ")
                .bold(environment.as_str())
                .raw(" has already, so there is nothing to roll back."),
            text("choose another version: ")
                .code(&format!("/rollback {artefact} {environment} <version>"))
                .raw("; ")
                .code(&format_list_command(artefact))
                .raw(" shows what runs where."),
        ),
        Refusal::TagMoved { artefact, environment, tag, version, current_commit } => (
            text("The tag ")
                .code(&truncate_middle(tag, 80))
                .raw(" was of ")
                .append(&format_version(artefact, version))
                .raw(", and somebody moved it to ")
                .code(current_commit.short())
                .raw(", so I do not know which of them you mean."),
            text("name the version itself: ")
                .code(&format!("/rollback {artefact} {environment} {}", version.label()))
                .raw("."),
        ),
        Refusal::NoLongerDeployed { artefact, environment, version, current } => {
            let why =
                format_version(artefact, version).raw(" is not what ").bold(environment.as_str()).raw(" has any more");
            (
                match current {
                    Some(current) => why.raw(": ").code(current.label()).raw(" is. Nothing was rolled back."),
                    None => why.raw(". Nothing was rolled back."),
                },
                text("to roll back what is there now: ").code(&format!("/rollback {artefact} {environment}")).raw("."),
            )
        }
        Refusal::ImageMissing { artefact, environment, version, tag_moved, alternative } => {
            let why = text("The image of ").append(&format_version(artefact, version));
            let why = if *tag_moved {
                why.raw(" is another one now: its tag was moved in the registry since it ran there.")
            } else {
                why.raw(" is not in the registry any more.")
            };
            (
                why.raw(" Nothing was changed."),
                match alternative {
                    Some(alternative) => text("the newest earlier version whose image is there: ")
                        .code(&format!("/rollback {artefact} {environment} {alternative}"))
                        .raw("."),
                    None => text("build it again under that tag, or repair it by a push."),
                },
            )
        }
        Refusal::ManifestProblem { artefact, repository, file, problem } => (
            text("I cannot change the version of ")
                .bold(artefact.as_str())
                .raw(" in ")
                .code(file)
                .raw(" of ")
                .code(&repository.to_string())
                .raw(": ")
                .plain(truncate_middle(problem, MAX_REASON).trim_end_matches('.'))
                .raw("."),
            text("repair the file, or tell me under ").code("delivery").raw(" where the version stands."),
        ),
        Refusal::NotPermitted { action, environment, permitted } => {
            let text = text("You may not ").raw(match action {
                RestrictedAction::Promote => "promote to ",
                RestrictedAction::Approve => "approve changes of ",
                RestrictedAction::Cancel => "cancel changes of others in ",
                RestrictedAction::Override => "override anything in ",
                RestrictedAction::RollBack => "roll back in ",
                RestrictedAction::Release => "release anything for ",
            });
            if permitted.is_empty() {
                return (
                    text.bold(environment.as_str()).raw(": nobody may."),
                    Mrkdwn::new("name them under ").code("overriders").raw(" in my configuration, or wait."),
                );
            }
            (text.bold(environment.as_str()).raw("."), Mrkdwn::new("ask ").name_people(permitted).raw(" to do it."))
        }
        Refusal::NothingToPromote { artefact } => (
            text("Nothing to promote: every environment of ")
                .bold(artefact.as_str())
                .raw(" has what the one below runs."),
            text("push something new; ").code(&format_list_command(artefact)).raw(" shows what runs where."),
        ),
        Refusal::NotRunningBelow { artefact, below } => (
            Mrkdwn::default()
                .bold(artefact.as_str())
                .raw(" does not run in ")
                .bold(below.as_str())
                .raw(", so there is nothing to promote."),
            text("get it running there first; ").code(&format_list_command(artefact)).raw(" shows what runs where."),
        ),
        Refusal::RollingOut { artefact, below, version, ready, wanted } => (
            format_version(artefact, version)
                .raw(" is still rolling out in ")
                .bold(below.as_str())
                .plain(&format!(": {ready} of {wanted} ready.")),
            text("wait until it runs there, then type it again; ")
                .code(&format_list_command(artefact))
                .raw(" shows how far it is."),
        ),
        Refusal::Unhealthy { artefact, below, version, reason, .. } => {
            let name = version
                .as_ref()
                .map_or_else(|| Mrkdwn::default().bold(artefact.as_str()), |version| format_version(artefact, version));
            (
                name.raw(" does not run well in ")
                    .bold(below.as_str())
                    .raw(": ")
                    .plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.'))
                    .raw("."),
                text("repair it there, or name a version that ran well there before: ")
                    .code(&format!("/promote {artefact} @version"))
                    .raw("."),
            )
        }
        Refusal::Unreadable { below, reason: why, since } => (
            text("I cannot read what runs in ")
                .bold(below.as_str())
                .raw(" since ")
                .date_time(*since)
                .raw(": ")
                .plain(truncate_middle(why, MAX_REASON).trim_end_matches('.'))
                .raw("."),
            text("try again when its cluster answers."),
        ),
        Refusal::NeverRanHealthy { artefact, below, version, healthy_versions } => (
            format_version(
                artefact,
                &Version { tag: Some(truncate_middle(version, 80).as_ref().into()), ..Version::default() },
            )
            .raw(" has never run well in ")
            .bold(below.as_str())
            .raw(", as far as I have seen."),
            if healthy_versions.is_empty() {
                text("deploy it there first.")
            } else {
                append_names(text("choose one that has: "), healthy_versions).raw(".")
            },
        ),
        Refusal::CommitUnknown { artefact, below, version } => (
            text("Nothing tells which commit ")
                .append(&format_version(artefact, version))
                .raw(" in ")
                .bold(below.as_str())
                .raw(" was built from, so I cannot pin it."),
            text("let its tag end in the commit, or set the label ")
                .code("org.opencontainers.image.revision")
                .raw(" when it is built, or tag the commit with the image's tag in Git."),
        ),
        Refusal::ChangeInProgress(under_way) => explain_under_way(under_way),
        Refusal::Locked { lock, environment } => {
            let scope = Mrkdwn::default().bold(environment.as_str());
            let scope = match &lock.artefact {
                // The locked artefact may be another one, which would move with the requested one.
                Some(artefact) => scope.raw(" stays as it is: ").bold(artefact.as_str()).raw(" there"),
                None => scope,
            };
            let owner = scope.raw(" is locked by ").person(&lock.by);
            (owner.append(&lock::format_period(lock)).append(&lock::format_reason(lock)), lock::describe_options(lock))
        }
        Refusal::BranchMissing { environment, repository, branch, pinned } => (
            text("The branch ")
                .code(branch)
                .raw(" of ")
                .bold(environment.as_str())
                .raw(" does not exist in ")
                .code(&repository.to_string())
                .raw("."),
            text("make it from what runs below, which is then deployed from there: ")
                .code(&format!("git push origin {pinned}:refs/heads/{branch}")),
        ),
        Refusal::NoCommonAncestor { repository, branch, pinned } => (
            Mrkdwn::default()
                .code(pinned.short())
                .raw(" and the branch ")
                .code(branch)
                .raw(" of ")
                .code(&repository.to_string())
                .raw(" have no commit in common, so they cannot be merged."),
            text("make the branch anew from the one below, or join the histories by hand with ")
                .code("git merge --allow-unrelated-histories"),
        ),
        Refusal::NothingNew { artefact, environment, version, running } => {
            let commit_is_known = running.as_ref().is_some_and(|running| running.commit.is_some());
            let head = Mrkdwn::default()
                .bold(environment.as_str())
                .raw(" has everything of ")
                .append(&format_version(artefact, version))
                .raw(" already");
            (
                match running {
                    Some(running) if commit_is_known => head.raw(": ").code(running.label()).raw(" runs there."),
                    _ => head.raw("."),
                },
                text("push something new; ").code(&format_list_command(artefact)).raw(" shows what runs where."),
            )
        }
        Refusal::NoRelevantChanges { artefact, environment, commits, paths } => (
            append_names(
                Mrkdwn::default()
                    .plain(&format!("{commits} {} new for ", if *commits == 1 { "commit is" } else { "commits are" }))
                    .bold(environment.as_str())
                    .raw(", but none concerns ")
                    .bold(artefact.as_str())
                    .raw(": none changes "),
                paths,
            )
            .raw("."),
            text("promote the artefact that changed; ").code("/list").raw(" shows what is behind."),
        ),
        Refusal::Downgrade { artefact, environment, version, running } => {
            let head = Mrkdwn::default()
                .bold(environment.as_str())
                .raw(" is newer than ")
                .append(&format_version(artefact, version));
            (
                match running {
                    Some(running) => {
                        head.raw(": ").code(running.label()).raw(" runs there. A promotion never goes back.")
                    }
                    None => head.raw(". A promotion never goes back."),
                },
                text("to go back on purpose, ").code(&format!("/rollback {artefact} {environment}")).raw("."),
            )
        }
        Refusal::RedChecks { pinned, names, url } => (
            append_names(text("Checks are red on ").append(&link_commit(url.as_ref(), pinned)).raw(": "), names)
                .raw("."),
            text("repair them, or run them again on GitHub, and type it again."),
        ),
        Refusal::RunningChecks { pinned, names, url } => (
            append_names(
                text("Checks are still running on ").append(&link_commit(url.as_ref(), pinned)).raw(": "),
                names,
            )
            .raw("."),
            text("wait for them, and type it again."),
        ),
        Refusal::Frozen { environment, until, reason } => {
            let why = Mrkdwn::default().bold(environment.as_str()).raw(" is frozen until ").date_time(*until);
            let why = match reason {
                Some(reason) => why.raw(": ").plain(truncate_middle(reason, MAX_REASON).trim_end_matches('.')),
                None => why,
            };
            (why.raw("."), text("type it again then").append(&suggest_override()))
        }
        Refusal::Soaking { artefact, environment, below, version, soak, until } => {
            let why = format_version(artefact, version)
                .raw(" has not run well in ")
                .bold(below.as_str())
                .plain(&format!(" for {soak:#} yet, as "))
                .bold(environment.as_str())
                .raw(" asks for.");
            let next = match until {
                Some(until) => text("type it again at ")
                    .date_time(*until)
                    .raw(", if nothing interrupts it")
                    .append(&suggest_override()),
                None => text("let it run there again, or promote what runs there now").append(&suggest_override()),
            };
            (why, next)
        }
        Refusal::NoChecks { environment, pinned } => (
            Mrkdwn::default()
                .bold(environment.as_str())
                .raw(" requires a green check, and ")
                .code(pinned.short())
                .raw(" has none."),
            text("let CI check the commit, and type it again."),
        ),
    }
}

/// The hint for people with the right to override.
fn suggest_override() -> Mrkdwn {
    Mrkdwn::new(", or pass it with ").code("--override reason").raw(" where you may.")
}

fn explain_under_way(under_way: &ChangeInProgress) -> (Mrkdwn, Mrkdwn) {
    let why = Mrkdwn::default()
        .person(&under_way.requester)
        .raw(if under_way.is_rollback { " rolls back " } else { " is promoting " })
        .bold(under_way.artefact.as_str())
        .raw(if under_way.is_rollback { " in " } else { " to " })
        .bold(under_way.environment.as_str())
        .raw(" since ")
        .date_time(under_way.since)
        .raw(": it is ")
        .raw(under_way.stage)
        .raw(", <{link}|follow it here>.");
    let why = match under_way.awaiting_approval.as_deref() {
        Some(approval) => {
            let change = ApprovalSubject::from_pending(under_way, approval);
            why.append(&approve::describe_open_conditions(&change, approval))
        }
        None => why,
    };
    let next = if under_way.can_cancel {
        Mrkdwn::new("wait for it, or ").code(&format!("/gantry cancel {}", under_way.id.to_short_id())).raw(".")
    } else {
        Mrkdwn::new("wait for it, and type it again.")
    };
    (why, next)
}
