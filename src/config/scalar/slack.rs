//! Channels, people and user groups of Slack.

use super::Checked;
use super::git::team;
use crate::config::problem::wrong;
use crate::domain::model::actor::{Member, PersonId};

/// `#deploys`, or a channel's id.
pub(in crate::config) fn channel(text: &str) -> Checked<String> {
    if is_slack_id(text, &['C', 'G']) {
        return Ok(text.to_owned());
    }
    let banned = |c: char| c.is_whitespace() || c.is_control() || c.is_uppercase() || "#@<>&,.".contains(c);
    let legal = |name: &str| !name.is_empty() && name.chars().count() <= 80 && !name.contains(banned);
    match text.strip_prefix('#') {
        Some(name) if legal(name) => Ok(text.to_owned()),
        None if legal(text) => {
            Err(wrong(format!("`{text}` is not a channel"), format!("write it with its sign: \"#{text}\"")))
        }
        _ => {
            let advice = "write its name, for example \"#deploys\", or its id, for example C024BE7LH";
            Err(wrong(format!("`{text}` is not a channel"), advice))
        }
    }
}

fn is_slack_id(text: &str, kinds: &[char]) -> bool {
    text.starts_with(kinds)
        && (5..=30).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

pub(in crate::config) fn person(text: &str) -> Checked<PersonId> {
    if is_slack_id(text, &['U', 'W']) {
        return Ok(PersonId::new(text));
    }
    let advice = "use the member ID of the person's Slack profile, for example U024BE7LH";
    Err(wrong(format!("`{text}` is not a person's id in Slack"), advice))
}

/// A user group or a person of Slack (`@release-managers`, or the id of either), or a team of GitHub.
pub(in crate::config) fn member(text: &str) -> Checked<Member> {
    if let Ok(person) = person(text) {
        return Ok(Member::Person(person));
    }
    if is_slack_id(text, &['S']) {
        return Ok(Member::Group(text.to_owned()));
    }
    if let Some(named) = text.strip_prefix("github:") {
        return team(named);
    }
    let banned = |c: char| c.is_whitespace() || c.is_control() || "@#<>&,/".contains(c);
    match text.strip_prefix('@') {
        Some("channel" | "here" | "everyone") => Err(wrong(
            format!("`{text}` is nobody in particular"),
            "name a user group, people or a team; where everyone may, leave `promoters` or `from` out",
        )),
        Some(handle) if !handle.is_empty() && handle.len() <= 80 && !handle.contains(banned) => {
            Ok(Member::Handle(handle.to_owned()))
        }
        // As GitHub itself writes it where people are mentioned.
        Some(mention) if team(mention).is_ok() => {
            Err(wrong(format!("`{text}` is nobody of Slack"), format!("write a team of GitHub as `github:{mention}`")))
        }
        _ => {
            let advice = "write a handle of Slack, for example \"@release-managers\", an id, for example U024BE7LH, or a \
                          team of GitHub, for example `github:acme/release-managers`";
            Err(wrong(format!("`{text}` names nobody"), advice))
        }
    }
}
