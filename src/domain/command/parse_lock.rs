//! Parses `lock`: the environment, the artefact and the duration, and then the reason as typed.

use std::sync::Arc;

use super::words::{FILLER_WORDS, is_separator, next_word, normalise_word, truncate_word};
use super::{Command, CommandParseError, Verb};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::nearest::find_nearest;
use crate::domain::rules::lock::parse_duration;

/// `text` is the text after the verb.
pub(super) fn parse(text: &str, catalogue: &Catalogue) -> Result<Command, CommandParseError> {
    let (mut environment, mut artefact, mut duration) = (None, None, None);
    let mut rest = text;
    let mut is_first_word = true;
    while let Some((typed, after)) = next_word(rest) {
        let word = normalise_word(typed);
        // Only directly after the verb: a reason may contain the word "help".
        if std::mem::take(&mut is_first_word) && Verb::find_by_name(&word) == Some(Verb::Help) {
            return Ok(Command::Help { about: Some(Verb::Lock) });
        }
        if let (Some(found), None) = (catalogue.ladder.find(&word), &environment) {
            environment = Some(found.name.clone());
        } else if let (Some(found), None, None) = (catalogue.find_artefact(&word), &artefact, duration) {
            artefact = Some(found.name.clone());
        } else if let (true, None, Some((length, after_duration))) =
            (word.eq_ignore_ascii_case("for"), duration, parse_length(after))
        {
            duration = Some(length);
            rest = after_duration;
            continue;
        } else if environment.is_some() {
            break;
        } else if !FILLER_WORDS.iter().any(|filler| filler.eq_ignore_ascii_case(&word)) && !word.is_empty() {
            return Err(explain_unknown_name(&word, artefact.is_none(), catalogue));
        }
        rest = after;
    }
    let missing = |argument| CommandParseError::MissingArgument { verb: Verb::Lock, argument };
    let environment = environment.ok_or_else(|| missing("environment"))?;
    let reason = unescape_reason(rest);
    if reason.is_empty() {
        return Err(missing("reason"));
    }
    Ok(Command::Lock { environment, artefact, length: duration, reason })
}

fn parse_length(text: &str) -> Option<(jiff::SignedDuration, &str)> {
    let (word, after) = next_word(text)?;
    Some((parse_duration(&normalise_word(word))?, after))
}

/// The error for a word before the environment that names nothing.
fn explain_unknown_name(word: &str, artefact_is_open: bool, catalogue: &Catalogue) -> CommandParseError {
    let environments = catalogue.ladder.environments().iter();
    let names = environments.flat_map(|environment| {
        std::iter::once(environment.name.as_str()).chain(environment.aliases.iter().map(String::as_str))
    });
    let environment = find_nearest(word, names).and_then(|name| catalogue.ladder.find(name));
    let artefact = find_nearest(word, catalogue.artefacts.iter().map(|artefact| artefact.name.as_str()));
    match (environment, artefact) {
        (None, Some(artefact)) if artefact_is_open => CommandParseError::UnknownArtefact {
            word: truncate_word(word),
            suggestion: Some(ArtefactName::new(artefact)),
        },
        (environment, _) => CommandParseError::UnknownEnvironment {
            verb: Verb::Lock,
            word: truncate_word(word),
            suggestion: environment.map(|environment| EnvironmentName::new(environment.name.as_str())),
        },
    }
}

/// The text before Slack escaped it, on one line, without quotes around the whole.
fn unescape_reason(text: &str) -> Arc<str> {
    let mut typed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let link_end = if rest.starts_with('<') { rest.find('>').map(|index| index + 1) } else { None };
        let end = link_end.unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        if !typed.is_empty() {
            typed.push(' ');
        }
        typed.push_str(&unescape_word(&rest[..end]));
        rest = &rest[end..];
    }
    let is_quote = |c: char| is_separator(c) || matches!(c, '"' | '\'' | '\u{2018}'..='\u{201f}');
    typed.trim_matches(is_quote).into()
}

/// `<@U024BE7LH|bob>` is `@bob`, `<#C024|deploys>` is `#deploys`, and a link is its label.
fn unescape_word(word: &str) -> String {
    let unmarked = match word.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => match inner.split_once('|') {
            Some((target, label)) => {
                let prefix = if target.starts_with('@') || target.starts_with('#') { &target[..1] } else { "" };
                format!("{prefix}{label}")
            }
            None => inner.to_owned(),
        },
        None => word.to_owned(),
    };
    unmarked.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::domain::sample::catalogue;

    fn lock(environment: &str, artefact: Option<&str>, minutes: Option<i64>, reason: &str) -> Command {
        Command::Lock {
            environment: EnvironmentName::new(environment),
            artefact: artefact.map(ArtefactName::new),
            length: minutes.map(SignedDuration::from_mins),
            reason: reason.into(),
        }
    }

    #[test]
    fn the_text_after_the_names_is_the_reason_as_typed() {
        let (some, none) = (Some("checkout"), None);
        let cases = [
            ("lock prod database migration", lock("prod", none, None, "database migration")),
            ("LOCK Production for 2h the Migration of  users", lock("prod", none, Some(120), "the Migration of users")),
            ("lock the prod for 1h30m x", lock("prod", none, Some(90), "x")),
            (
                "lock prod checkout for 2d waiting for a fix in qa",
                lock("prod", some, Some(2880), "waiting for a fix in qa"),
            ),
            ("lock checkout in prod for 30m \u{201c}hot fix\u{201d}", lock("prod", some, Some(30), "hot fix")),
            ("lock for 2h prod because", lock("prod", none, Some(120), "because")),
            ("lock prod for the migration", lock("prod", none, None, "for the migration")),
            ("lock prod for 2h for 3h", lock("prod", none, Some(120), "for 3h")),
            ("lock prod for 2h checkout is broken", lock("prod", none, Some(120), "checkout is broken")),
            ("lock prod need help, please", lock("prod", none, None, "need help, please")),
            ("lock prod qa found a bug", lock("prod", none, None, "qa found a bug")),
            ("lock prod ask <@U012|bob> in <#C012|deploys>", lock("prod", none, None, "ask @bob in #deploys")),
            ("lock prod a &lt; b &amp; <http://x.io|x.io>", lock("prod", none, None, "a < b & x.io")),
            ("lock prod two\nlines", lock("prod", none, None, "two lines")),
            ("lock help", Command::Help { about: Some(Verb::Lock) }),
        ];
        for (text, command) in cases {
            assert_eq!(super::super::parse(text, &catalogue()), Ok(command), "{text}");
        }
    }

    #[test]
    fn a_lock_without_an_environment_or_a_reason_is_an_error() {
        let missing = |argument| CommandParseError::MissingArgument { verb: Verb::Lock, argument };
        let unknown_environment = |word: &str, suggestion: Option<&str>| CommandParseError::UnknownEnvironment {
            verb: Verb::Lock,
            word: word.into(),
            suggestion: suggestion.map(EnvironmentName::new),
        };
        let cases = [
            ("lock", missing("environment")),
            ("lock checkout", missing("environment")),
            ("lock prod", missing("reason")),
            ("lock prod checkout for 2h", missing("reason")),
            ("lock prod \"\"", missing("reason")),
            ("lock pord migration", unknown_environment("pord", Some("prod"))),
            ("lock everything now", unknown_environment("everything", None)),
            (
                "lock chekout prod x",
                CommandParseError::UnknownArtefact {
                    word: "chekout".into(),
                    suggestion: Some(ArtefactName::new("checkout")),
                },
            ),
        ];
        for (text, error) in cases {
            assert_eq!(super::super::parse(text, &catalogue()), Err(error), "{text}");
        }
    }
}
