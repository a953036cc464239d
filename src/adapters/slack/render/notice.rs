//! Short sentences about the conversation itself: acknowledgements and refusals to answer.

use super::Rendered;
use super::blocks::section;
use super::mrkdwn::{Mrkdwn, truncate_middle};
use crate::domain::command::Command;
use crate::domain::model::actor::Role;

fn render_sentence(text: Mrkdwn) -> Rendered {
    Rendered { text: text.as_str().to_owned(), blocks: vec![section(text)] }
}

/// The acknowledgement of a command that needs calls to other services.
pub fn render_acknowledgement(command: &Command) -> Rendered {
    render_sentence(match command {
        Command::Promote { artefact, environment, .. } => {
            let text = Mrkdwn::new("Looking at ").bold(artefact.as_str());
            match environment {
                Some(environment) => text.raw(" for ").bold(environment.as_str()).raw("..."),
                None => text.raw("..."),
            }
        }
        Command::Rollback { artefact, environment, .. } => {
            let text = Mrkdwn::new("Looking at what ran before of ").bold(artefact.as_str());
            match environment {
                Some(environment) => text.raw(" in ").bold(environment.as_str()).raw("..."),
                None => text.raw("..."),
            }
        }
        Command::Release { artefact, .. } => Mrkdwn::new("Releasing ").bold(artefact.as_str()).raw("..."),
        Command::Diff { source, target, .. } => {
            Mrkdwn::new("Comparing ").bold(source.as_str()).raw(" with ").bold(target.as_str()).raw("...")
        }
        Command::Where { what, .. } => Mrkdwn::new("Looking for ").code(&truncate_middle(what, 80)).raw("..."),
        Command::Why { artefact, environment } => {
            let text = Mrkdwn::new("Looking at what stands between ").bold(artefact.as_str()).raw(" and ");
            match environment {
                Some(environment) => text.bold(environment.as_str()).raw("..."),
                None => text.raw("the next environment..."),
            }
        }
        Command::Cancel { change } | Command::Reject { change, .. } => {
            Mrkdwn::new("Looking at the change ").code(change).raw("...")
        }
        Command::Lock { environment, .. } => Mrkdwn::new("Locking ").bold(environment.as_str()).raw("..."),
        Command::Unlock { environment, .. } => Mrkdwn::new("Unlocking ").bold(environment.as_str()).raw("..."),
        Command::List { .. }
        | Command::Status { .. }
        | Command::History { .. }
        | Command::Locks { .. }
        | Command::Help { .. } => Mrkdwn::new("One moment..."),
        Command::Doctor => Mrkdwn::new("Asking Slack, GitHub, the clusters and the registries..."),
    })
}

/// The reason why Gantry does not answer this person.
pub fn render_role_refusal(role: Role) -> Rendered {
    render_sentence(match role {
        Role::Guest => Mrkdwn::new(
            "I answer members of this workspace only, and you are a guest here. Ask a member to do it for you.",
        ),
        Role::Stranger => Mrkdwn::new(
            "I answer members of this workspace only, and you belong to another one. Ask a member to do it for you.",
        ),
        Role::Bot => Mrkdwn::new("I answer people only."),
        Role::Deactivated => Mrkdwn::new("This account is deactivated, so I cannot do anything for it."),
        Role::Member => Mrkdwn::new("You are welcome here."),
    })
}

pub fn render_role_unknown() -> Rendered {
    render_sentence(Mrkdwn::new(
        "Slack does not tell me right now who you are, so I cannot answer. Please try again in a minute.",
    ))
}

pub fn render_not_stored() -> Rendered {
    render_sentence(Mrkdwn::new(
        "I could not keep your request, so nothing was done. Please send it again in a minute.",
    ))
}
