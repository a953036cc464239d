//! Parses a command: sorts its words by the kind of name. A word that the command cannot use is an error.

use std::sync::Arc;

use super::words::{FILLER_WORDS, skip_first_word, split_words, truncate_word};
use super::{COMMANDS, Command, CommandParseError, Verb};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::SHORT_ID_LENGTH;
use crate::domain::model::nearest::find_nearest;

/// Whether a word is a verb or a filler word, and so cannot name an artefact or an environment.
pub fn is_reserved(word: &str) -> bool {
    FILLER_WORDS.iter().any(|filler| filler.eq_ignore_ascii_case(word)) || Verb::find_by_name(word).is_some()
}

/// `text` is the text after `/gantry` or the mention. For `/promote`, the caller puts the verb in front.
pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Command, CommandParseError> {
    let mut words = split_words(text);
    let reason = words.first().and_then(|word| Verb::find_by_name(word)).and_then(|verb| take_reason(verb, &mut words));
    let Some((first, rest)) = words.split_first() else {
        return Ok(Command::Help { about: None });
    };
    let verb = Verb::find_by_name(first).ok_or_else(|| {
        let names = COMMANDS.iter().flat_map(|entry| entry.names).copied();
        CommandParseError::UnknownVerb { word: truncate_word(first), suggestion: find_nearest(first, names) }
    })?;
    if verb == Verb::Lock {
        // The reason of a lock is free text, in which words must not be taken for names.
        return super::parse_lock::parse(skip_first_word(text), catalogue);
    }
    if verb == Verb::Help {
        return Ok(Command::Help { about: rest.iter().find_map(|word| Verb::find_by_name(word)) });
    }
    if rest.iter().any(|word| Verb::find_by_name(word) == Some(Verb::Help)) {
        return Ok(Command::Help { about: Some(verb) });
    }
    if verb == Verb::Reject {
        return parse_reject(rest);
    }
    CommandArguments::from_words(verb, rest, catalogue)?.into_command(reason)
}

/// Takes the words after the flag for a reason, up to the next flag. They are free text and name nothing.
fn take_reason(verb: Verb, words: &mut Vec<String>) -> Option<String> {
    let flag = match verb {
        Verb::Rollback => "--reason",
        Verb::Promote => "--override",
        _ => return None,
    };
    let index = words.iter().position(|word| word.eq_ignore_ascii_case(flag))?;
    let end =
        words[index + 1..].iter().position(|word| word.starts_with("--")).map_or(words.len(), |next| index + 1 + next);
    // The flag itself stays and is checked with the other flags. A flag without words gives an empty reason.
    Some(words.drain(index + 1..end).collect::<Vec<_>>().join(" "))
}

/// The digits of a change, and the reason as free text after them.
fn parse_reject(words: &[String]) -> Result<Command, CommandParseError> {
    let missing = |argument| CommandParseError::MissingArgument { verb: Verb::Reject, argument };
    let (change, reason) =
        words.split_first().filter(|(first, _)| is_change_id(first)).ok_or_else(|| missing("change"))?;
    if reason.is_empty() {
        return Err(missing("reason"));
    }
    Ok(Command::Reject { change: change.to_ascii_lowercase().into(), reason: reason.join(" ").into() })
}

fn is_change_id(word: &str) -> bool {
    word.len() == SHORT_ID_LENGTH && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The words of a command, sorted by the kind of name.
struct CommandArguments<'a> {
    verb: Verb,
    catalogue: &'a Catalogue,
    artefacts: Vec<ArtefactName>,
    environments: Vec<EnvironmentName>,
    versions: Vec<String>,
    flags: Vec<String>,
    unknown: Vec<String>,
}

impl<'a> CommandArguments<'a> {
    fn from_words(verb: Verb, words: &[String], catalogue: &'a Catalogue) -> Result<Self, CommandParseError> {
        let mut arguments = Self {
            verb,
            catalogue,
            artefacts: Vec::new(),
            environments: Vec::new(),
            versions: Vec::new(),
            flags: Vec::new(),
            unknown: Vec::new(),
        };
        for word in words {
            if let Some(environment) = catalogue.ladder.find(word) {
                arguments.environments.push(environment.name.clone());
            } else if let Some(artefact) = catalogue.find_artefact(word) {
                arguments.artefacts.push(artefact.name.clone());
            } else if let Some(flag) = word.strip_prefix("--") {
                arguments.flags.push(flag.to_ascii_lowercase());
            } else if let Some(version) = word.strip_prefix('@') {
                arguments.versions.push(version.to_owned());
            } else if let Some((artefact, version)) =
                word.split_once('@').filter(|(name, _)| catalogue.find_artefact(name).is_some())
            {
                arguments.artefacts.extend(catalogue.find_artefact(artefact).map(|artefact| artefact.name.clone()));
                arguments.versions.push(version.to_owned());
            } else if let Some((source, target)) = parse_environment_range(word, catalogue) {
                arguments.environments.extend([source, target]);
            } else if !FILLER_WORDS.iter().any(|filler| filler.eq_ignore_ascii_case(word)) {
                arguments.unknown.push(word.clone());
            }
        }
        let known_flags: &[&str] = match verb {
            Verb::Promote => &["dry-run", "override"],
            Verb::Rollback => &["reason"],
            Verb::Diff => &["code"],
            _ => &[],
        };
        if let Some(flag) = arguments.flags.iter().find(|flag| !known_flags.contains(&flag.as_str())) {
            let suggestion = find_nearest(flag, known_flags.iter().copied());
            return Err(CommandParseError::UnknownFlag { verb, word: truncate_word(flag), suggestion });
        }
        Ok(arguments)
    }

    fn into_command(mut self, reason: Option<String>) -> Result<Command, CommandParseError> {
        let verb = self.verb;
        let command = match verb {
            Verb::Help => Command::Help { about: None },
            Verb::List => {
                let artefact = take_first(&mut self.artefacts);
                let environment = take_first(&mut self.environments);
                Command::List { artefact, environment }
            }
            Verb::Promote => Command::Promote {
                artefact: self.take_artefact()?,
                environment: take_first(&mut self.environments),
                version: take_first(&mut self.versions).map(Into::into),
                dry_run: self.flags.iter().any(|flag| flag == "dry-run"),
                overriding: match reason {
                    Some(reason) if reason.is_empty() => {
                        return Err(CommandParseError::MissingArgument { verb, argument: "reason" });
                    }
                    reason => reason.map(Into::into),
                },
            },
            Verb::Rollback => {
                let artefact = self.take_artefact()?;
                let environment = take_first(&mut self.environments);
                // A version needs no `@` here, but only if an environment is given: otherwise the word is most likely a
                // typing error.
                let version_without_sign = if environment.is_some() && self.versions.is_empty() {
                    take_first(&mut self.unknown)
                } else {
                    None
                };
                let version = take_first(&mut self.versions).or(version_without_sign).map(Into::into);
                let reason = reason.filter(|reason| !reason.is_empty()).map(Into::into);
                Command::Rollback { artefact, environment, version, reason }
            }
            Verb::Diff => {
                let artefact = take_first(&mut self.artefacts);
                let (Some(source), Some(target)) =
                    (take_first(&mut self.environments), take_first(&mut self.environments))
                else {
                    return Err(self.explain_missing_environment("two environments"));
                };
                let code = self.flags.iter().any(|flag| flag == "code");
                Command::Diff { source, target, artefact, code }
            }
            Verb::Where => {
                let query = take_first(&mut self.versions).or_else(|| take_first(&mut self.unknown));
                let query = query
                    .ok_or(CommandParseError::MissingArgument { verb, argument: "commit, pull request or tag" })?;
                Command::Where { what: query.into(), artefact: take_first(&mut self.artefacts) }
            }
            Verb::Why => {
                Command::Why { artefact: self.take_artefact()?, environment: take_first(&mut self.environments) }
            }
            Verb::Status => {
                let change = self.take_change_id().ok();
                let artefact = take_first(&mut self.artefacts);
                Command::Status { change, artefact, environment: take_first(&mut self.environments) }
            }
            Verb::History => {
                let number = self.unknown.iter().position(|word| word.parse::<u32>().is_ok_and(|number| number > 0));
                let count = number.and_then(|index| self.unknown.remove(index).parse().ok());
                let artefact = take_first(&mut self.artefacts);
                Command::History { artefact, environment: take_first(&mut self.environments), count }
            }
            Verb::Cancel => Command::Cancel { change: self.take_change_id()? },
            Verb::Unlock => {
                let artefact = take_first(&mut self.artefacts);
                let environment = take_first(&mut self.environments)
                    .ok_or_else(|| self.explain_missing_environment("environment"))?;
                Command::Unlock { environment, artefact }
            }
            Verb::Locks => Command::Locks { environment: take_first(&mut self.environments) },
            Verb::Doctor => Command::Doctor,
            Verb::Release => {
                let artefact = self.take_artefact()?;
                let version = take_first(&mut self.versions).or_else(|| take_first(&mut self.unknown));
                let version = version.ok_or(CommandParseError::MissingArgument { verb, argument: "version" })?;
                Command::Release { artefact, version: version.into() }
            }
            // Both have their own parsers, because their reasons are free text.
            Verb::Lock => return Err(CommandParseError::MissingArgument { verb, argument: "environment" }),
            Verb::Reject => return Err(CommandParseError::MissingArgument { verb, argument: "change" }),
        };
        self.ensure_nothing_left(&command)?;
        Ok(command)
    }

    fn take_artefact(&mut self) -> Result<ArtefactName, CommandParseError> {
        if let Some(artefact) = take_first(&mut self.artefacts) {
            return Ok(artefact);
        }
        if self.unknown.is_empty() {
            return Err(CommandParseError::MissingArgument { verb: self.verb, argument: "artefact" });
        }
        Err(self.explain_unknown_artefact(0))
    }

    fn take_change_id(&mut self) -> Result<Arc<str>, CommandParseError> {
        match self.unknown.iter().position(|word| is_change_id(word)) {
            Some(index) => Ok(self.unknown.remove(index).to_ascii_lowercase().into()),
            None => Err(CommandParseError::MissingArgument { verb: self.verb, argument: "change" }),
        }
    }

    fn explain_unknown_artefact(&self, index: usize) -> CommandParseError {
        let word = &self.unknown[index];
        let names = self.catalogue.artefacts.iter().map(|artefact| artefact.name.as_str());
        CommandParseError::UnknownArtefact {
            word: truncate_word(word),
            suggestion: find_nearest(word, names).map(ArtefactName::new),
        }
    }

    fn explain_unknown_environment(&self, index: usize) -> CommandParseError {
        let word = &self.unknown[index];
        let environments = self.catalogue.ladder.environments();
        let names = environments.iter().flat_map(|environment| {
            std::iter::once(environment.name.as_str()).chain(environment.aliases.iter().map(String::as_str))
        });
        let suggestion = find_nearest(word, names).and_then(|name| self.catalogue.ladder.find(name));
        CommandParseError::UnknownEnvironment {
            verb: self.verb,
            word: truncate_word(word),
            suggestion: suggestion.map(|environment| environment.name.clone()),
        }
    }

    fn explain_missing_environment(&self, argument: &'static str) -> CommandParseError {
        if self.unknown.is_empty() {
            CommandParseError::MissingArgument { verb: self.verb, argument }
        } else {
            self.explain_unknown_environment(0)
        }
    }

    /// Returns an error for the first word that the command did not use.
    fn ensure_nothing_left(&self, command: &Command) -> Result<(), CommandParseError> {
        let verb = self.verb;
        if !self.unknown.is_empty() {
            let artefact_is_open = matches!(
                command,
                Command::List { artefact: None, .. }
                    | Command::Diff { artefact: None, .. }
                    | Command::Status { artefact: None, .. }
                    | Command::History { artefact: None, .. }
                    | Command::Unlock { artefact: None, .. }
            );
            let environment_is_open = matches!(
                command,
                Command::List { environment: None, .. }
                    | Command::Status { environment: None, .. }
                    | Command::History { environment: None, .. }
                    | Command::Why { environment: None, .. }
                    | Command::Promote { environment: None, .. }
                    | Command::Rollback { environment: None, .. }
                    | Command::Locks { environment: None }
            );
            let near_environment = matches!(
                self.explain_unknown_environment(0),
                CommandParseError::UnknownEnvironment { suggestion: Some(_), .. }
            );
            return Err(match (artefact_is_open, environment_is_open) {
                (_, true) if near_environment || !artefact_is_open => self.explain_unknown_environment(0),
                (true, _) => self.explain_unknown_artefact(0),
                _ => CommandParseError::UnexpectedArgument { verb, word: truncate_word(&self.unknown[0]) },
            });
        }
        let surplus = [
            ("artefact", self.artefacts.first().map(ArtefactName::as_str)),
            ("environment", self.environments.first().map(EnvironmentName::as_str)),
            ("version", self.versions.first().map(String::as_str)),
        ];
        // A verb that takes no such argument reports the word as unexpected.
        let takes_argument = |argument: &str| match verb {
            Verb::Promote | Verb::Rollback => true,
            Verb::Release => argument != "environment",
            Verb::List | Verb::Status | Verb::History | Verb::Why | Verb::Unlock => argument != "version",
            Verb::Diff | Verb::Where => argument == "artefact",
            Verb::Locks => argument == "environment",
            Verb::Cancel | Verb::Reject | Verb::Lock | Verb::Doctor | Verb::Help => false,
        };
        match surplus.into_iter().find_map(|(argument, word)| Some((argument, word?))) {
            Some((argument, word)) if takes_argument(argument) => {
                Err(CommandParseError::RepeatedArgument { verb, argument, word: truncate_word(word) })
            }
            Some((_, word)) => Err(CommandParseError::UnexpectedArgument { verb, word: truncate_word(word) }),
            None => Ok(()),
        }
    }
}

fn take_first<T>(words: &mut Vec<T>) -> Option<T> {
    if words.is_empty() { None } else { Some(words.remove(0)) }
}

/// `staging..prod`, as in Git.
fn parse_environment_range(word: &str, catalogue: &Catalogue) -> Option<(EnvironmentName, EnvironmentName)> {
    let (source, target) = word.split_once("..")?;
    let source = catalogue.ladder.find(source)?;
    let target = catalogue.ladder.find(target.trim_start_matches('.'))?;
    Some((source.name.clone(), target.name.clone()))
}
