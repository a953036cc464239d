//! Parses Slack channels, people and user groups.

use super::ScalarResult;
use super::git::parse_team;
use crate::config::problem::describe_problem;
use crate::domain::model::actor::{Member, PersonId};

/// Parses a channel's name (`#deploys`) or id.
pub(in crate::config) fn parse_channel(text: &str) -> ScalarResult<String> {
    if is_slack_id(text, &['C', 'G']) {
        return Ok(text.to_owned());
    }
    let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || c.is_uppercase() || "#@<>&,.".contains(c);
    let is_valid_name = |name: &str| !name.is_empty() && name.chars().count() <= 80 && !name.contains(is_forbidden);
    match text.strip_prefix('#') {
        Some(name) if is_valid_name(name) => Ok(text.to_owned()),
        None if is_valid_name(text) => {
            Err(describe_problem(format!("`{text}` is not a channel"), format!("write it with `#`: \"#{text}\"")))
        }
        _ => {
            let advice = "write the channel's name, for example \"#deploys\", or its id, for example C024BE7LH";
            Err(describe_problem(format!("`{text}` is not a channel"), advice))
        }
    }
}

fn is_slack_id(text: &str, kinds: &[char]) -> bool {
    text.starts_with(kinds)
        && (5..=30).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

pub(in crate::config) fn parse_person(text: &str) -> ScalarResult<PersonId> {
    if is_slack_id(text, &['U', 'W']) {
        return Ok(PersonId::new(text));
    }
    let advice = "use the member ID of the person's Slack profile, for example U024BE7LH";
    Err(describe_problem(format!("`{text}` is not a person's id in Slack"), advice))
}

/// Parses a Slack user group or person (`@release-managers`, or the id of either), or a GitHub team.
pub(in crate::config) fn parse_member(text: &str) -> ScalarResult<Member> {
    if let Ok(person) = parse_person(text) {
        return Ok(Member::Person(person));
    }
    if is_slack_id(text, &['S']) {
        return Ok(Member::Group(text.to_owned()));
    }
    if let Some(team) = text.strip_prefix("github:") {
        return parse_team(team);
    }
    let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || "@#<>&,/".contains(c);
    match text.strip_prefix('@') {
        Some("channel" | "here" | "everyone") => Err(describe_problem(
            format!("`{text}` is not a user group or a person"),
            "name a user group, people or a team; to allow everyone, remove `promoters` or `from`",
        )),
        Some(handle) if !handle.is_empty() && handle.len() <= 80 && !handle.contains(is_forbidden) => {
            Ok(Member::Handle(handle.to_owned()))
        }
        // GitHub writes mentions of teams in this form.
        Some(mention) if parse_team(mention).is_ok() => Err(describe_problem(
            format!("`{text}` is not a Slack handle"),
            format!("write a GitHub team as `github:{mention}`"),
        )),
        _ => {
            let advice = "write a Slack handle, for example \"@release-managers\", a Slack id, for example U024BE7LH, \
                          or a GitHub team, for example `github:acme/release-managers`";
            Err(describe_problem(format!("`{text}` is not a user group, a person or a team"), advice))
        }
    }
}
