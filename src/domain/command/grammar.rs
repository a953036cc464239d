//! Text to [`Command`]. The grammar; after the verb, words may stand in any order and case:
//!
//! ```text
//! command  = verb { word }                 an empty command asks for help
//! help     = "help" [ verb ] | verb "help"
//! list     = "list" [ artefact ] [ environment ]
//! promote  = "promote" artefact [ environment ] [ "@" version ] [ "--dry-run" ] [ "--override" reason ]
//! rollback = "rollback" artefact [ environment ] [ [ "@" ] version ] [ "--reason" text ]
//! diff     = "diff" environment environment [ artefact ] [ "--code" ]     also: diff staging..prod
//! where    = "where" ( commit | pull | tag ) [ artefact ]
//! commit   = the first four or more digits of its SHA, alone or as `owner/name@4f1c2ab`, or its address
//! pull     = number | "#" number | `owner/name#42` | its address
//! why      = "why" artefact [ environment ]
//! status   = "status" [ change ] [ artefact ] [ environment ]
//! history  = "history" [ artefact ] [ environment ] [ number ]
//! cancel   = "cancel" change               the eight digits that a card shows
//! lock     = "lock" environment [ artefact ] [ "for" length ] text       the text is the reason, as it is typed
//! unlock   = "unlock" environment [ artefact ]
//! locks    = "locks" [ environment ]
//! doctor   = "doctor"
//! release  = "release" artefact [ "@" ] version
//! length   = { number ( "d" | "h" | "m" ) }
//! reject   = "reject" change reason        all text after the digits is the reason
//! filler   = "to" | "in" | ...             ignored between other words
//! ```
//!
//! The help is made from [`COMMANDS`], in which the parser looks verbs up.
//!
//! # How to add a command
//!
//! 1. Write its rule into the grammar above, and add a [`Verb`], a row in [`COMMANDS`] and a variant of [`Command`]:
//!    the help, did-you-mean and `@gantry` use them. Parse its arguments in `parse`, and add rows to the tables of the
//!    tests for valid and invalid commands. The compiler then names every other place.
//! 2. `workflow::requests::dispatch` calls it. It has a file of its own in `workflow::commands`: gather facts, ask
//!    `domain`, and store all effects in one transaction. An answer from memory or from Gantry's own database may be
//!    the acknowledgement itself (`workflow::requests::acknowledge`); every other request is stored first.
//! 3. Its text is rendered by pure functions in `slack::render`, in a file of the same name. The immediate reply is in
//!    `notice::render_acknowledgement`.
//! 4. Add a row to the table of `tests/e2e/commands/authorization.rs`, which says who may use the command and fails
//!    without it, and a file of tests that type the command. A slash command of its own, such as `/list`, is also
//!    listed in both manifests in `deploy/slack`.

use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Command {
    Help {
        about: Option<Verb>,
    },
    List {
        artefact: Option<ArtefactName>,
        environment: Option<EnvironmentName>,
    },
    Promote {
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
        version: Option<Arc<str>>,
        dry_run: bool,
        /// The reason for an override of the gates.
        overriding: Option<Arc<str>>,
    },
    Rollback {
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
        version: Option<Arc<str>>,
        reason: Option<Arc<str>>,
    },
    Diff {
        source: EnvironmentName,
        target: EnvironmentName,
        artefact: Option<ArtefactName>,
        /// Shows the changed lines of code, not only the names of the files.
        code: bool,
    },
    /// Which environments run code that contains a commit.
    Where {
        /// A commit, a pull request or a tag, as typed.
        what: Arc<str>,
        artefact: Option<ArtefactName>,
    },
    /// The obstacles between an artefact and an environment.
    Why {
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
    },
    Status {
        change: Option<Arc<str>>,
        artefact: Option<ArtefactName>,
        environment: Option<EnvironmentName>,
    },
    History {
        artefact: Option<ArtefactName>,
        environment: Option<EnvironmentName>,
        /// The number of entries on a page.
        count: Option<u32>,
    },
    Cancel {
        /// The last digits of its id, in lower case.
        change: Arc<str>,
    },
    Lock {
        environment: EnvironmentName,
        artefact: Option<ArtefactName>,
        length: Option<SignedDuration>,
        reason: Arc<str>,
    },
    Unlock {
        environment: EnvironmentName,
        artefact: Option<ArtefactName>,
    },
    Locks {
        environment: Option<EnvironmentName>,
    },
    Reject {
        change: Arc<str>,
        reason: Arc<str>,
    },
    /// Checks Gantry itself.
    Doctor,
    /// Lets a version return that was rolled back from.
    Release {
        artefact: ArtefactName,
        version: Arc<str>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    List,
    Promote,
    Rollback,
    Diff,
    Where,
    Why,
    Status,
    History,
    Cancel,
    Lock,
    Unlock,
    Locks,
    Reject,
    Release,
    Doctor,
    Help,
}

/// One row for each verb, for the parser and for the help.
#[derive(Debug)]
pub struct CommandSpec {
    pub verb: Verb,
    /// The first is the name of the verb, the others are synonyms.
    pub names: &'static [&'static str],
    pub usage: &'static str,
    pub summary: &'static str,
    /// With `{artefact}`, `{environment}` and `{below}`, which the help replaces with configured names.
    pub examples: &'static [&'static str],
    /// Has a slash command of its own, beside `/gantry <verb>`.
    pub has_slash_command: bool,
}

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        verb: Verb::List,
        names: &["list", "ls"],
        usage: "list [artefact] [environment]",
        summary: "which version runs where, in what state",
        examples: &["list", "list {artefact}", "list {environment}"],
        has_slash_command: true,
    },
    CommandSpec {
        verb: Verb::Promote,
        names: &["promote"],
        usage: "promote <artefact> [environment] [@version] [--dry-run] [--override reason]",
        summary: "move an artefact to the next environment, or to the one named",
        examples: &["promote {artefact}", "promote {artefact} to {environment}", "promote {artefact} --dry-run"],
        has_slash_command: true,
    },
    CommandSpec {
        verb: Verb::Rollback,
        names: &["rollback", "roll-back"],
        usage: "rollback <artefact> <environment> [version] [--reason text]",
        summary: "return an environment to the version that ran well before, or to the one named",
        examples: &["rollback {artefact} {environment}", "rollback {artefact} {environment} --reason totals are wrong"],
        has_slash_command: true,
    },
    CommandSpec {
        verb: Verb::Diff,
        names: &["diff"],
        usage: "diff <source> <target> [artefact] [--code]",
        summary: "what differs between two environments, and what to do about it",
        examples: &["diff {below} {environment}", "diff {below} {environment} {artefact}"],
        has_slash_command: true,
    },
    CommandSpec {
        verb: Verb::Where,
        names: &["where"],
        usage: "where <commit|pull request|tag> [artefact]",
        summary: "which environments run code that contains it, and what it waits for in the next",
        examples: &["where 4f1c2ab", "where #42 {artefact}"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Why,
        names: &["why"],
        usage: "why <artefact> [environment]",
        summary: "what stands between an artefact and an environment",
        examples: &["why {artefact}", "why {artefact} {environment}"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Status,
        names: &["status"],
        usage: "status [change] [artefact] [environment]",
        summary: "which changes are under way, or how one stands",
        examples: &["status", "status {environment}", "status 0badcafe"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::History,
        names: &["history", "log"],
        usage: "history [artefact] [environment] [number]",
        summary: "what happened, by whom, and how long it took",
        examples: &["history", "history {artefact} {environment}", "history {environment} 20"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Cancel,
        names: &["cancel"],
        usage: "cancel <change>",
        summary: "stop a change that is not merged yet; the card shows its eight digits",
        examples: &["cancel 0badcafe"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Reject,
        names: &["reject"],
        usage: "reject <change> <reason>",
        summary: "say no to a change that waits for approval; its card has the button",
        examples: &["reject 0badcafe the migration is missing"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Lock,
        names: &["lock"],
        usage: "lock <environment> [artefact] [for 2h] <reason>",
        summary: "let nobody change an environment, or one artefact there",
        examples: &["lock {environment} for 2h database migration", "lock {environment} {artefact} wait for the fix"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Unlock,
        names: &["unlock"],
        usage: "unlock <environment> [artefact]",
        summary: "end a lock",
        examples: &["unlock {environment}", "unlock {environment} {artefact}"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Locks,
        names: &["locks"],
        usage: "locks [environment]",
        summary: "what is locked, by whom and why",
        examples: &["locks", "locks {environment}"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Release,
        names: &["release"],
        usage: "release <artefact> <version>",
        summary: "let a version come back that was rolled back from",
        examples: &["release {artefact} 1.4.2"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Doctor,
        names: &["doctor"],
        usage: "doctor",
        summary: "whether I can work with Slack, GitHub, clusters and registries, and what to repair",
        examples: &["doctor"],
        has_slash_command: false,
    },
    CommandSpec {
        verb: Verb::Help,
        names: &["help", "?", "-h", "--help"],
        usage: "help [command]",
        summary: "what I understand",
        examples: &["help", "help promote"],
        has_slash_command: false,
    },
];

impl Verb {
    pub fn spec(self) -> &'static CommandSpec {
        // COMMANDS has a row for each verb, which the test `every_verb_has_its_row` checks.
        COMMANDS.iter().find(|entry| entry.verb == self).unwrap_or(&COMMANDS[COMMANDS.len() - 1])
    }

    pub fn name(self) -> &'static str {
        self.spec().names[0]
    }

    pub(super) fn find_by_name(word: &str) -> Option<Self> {
        let has_name = |entry: &&CommandSpec| entry.names.iter().any(|name| name.eq_ignore_ascii_case(word));
        COMMANDS.iter().find(has_name).map(|entry| entry.verb)
    }
}

impl Command {
    pub fn verb(&self) -> Verb {
        match self {
            Self::Help { .. } => Verb::Help,
            Self::List { .. } => Verb::List,
            Self::Promote { .. } => Verb::Promote,
            Self::Rollback { .. } => Verb::Rollback,
            Self::Diff { .. } => Verb::Diff,
            Self::Where { .. } => Verb::Where,
            Self::Why { .. } => Verb::Why,
            Self::Status { .. } => Verb::Status,
            Self::History { .. } => Verb::History,
            Self::Cancel { .. } => Verb::Cancel,
            Self::Lock { .. } => Verb::Lock,
            Self::Unlock { .. } => Verb::Unlock,
            Self::Locks { .. } => Verb::Locks,
            Self::Reject { .. } => Verb::Reject,
            Self::Release { .. } => Verb::Release,
            Self::Doctor => Verb::Doctor,
        }
    }
}

/// Why a text is not a command, with a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandParseError {
    UnknownVerb {
        word: String,
        suggestion: Option<&'static str>,
    },
    UnknownArtefact {
        word: String,
        suggestion: Option<ArtefactName>,
    },
    UnknownEnvironment {
        verb: Verb,
        word: String,
        suggestion: Option<EnvironmentName>,
    },
    MissingArgument {
        verb: Verb,
        argument: &'static str,
    },
    UnexpectedArgument {
        verb: Verb,
        word: String,
    },
    /// A second value for an argument that the command takes once.
    RepeatedArgument {
        verb: Verb,
        argument: &'static str,
        word: String,
    },
    UnknownFlag {
        verb: Verb,
        word: String,
        suggestion: Option<&'static str>,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::command::parse::parse;
    use crate::domain::command::words::MAX_ECHO_CHARS;
    use crate::domain::sample::catalogue;

    fn parse_text(text: &str) -> Result<Command, CommandParseError> {
        parse(text, &catalogue())
    }

    fn list(artefact: Option<&str>, environment: Option<&str>) -> Command {
        Command::List { artefact: artefact.map(ArtefactName::new), environment: environment.map(EnvironmentName::new) }
    }

    fn promote(artefact: &str, environment: Option<&str>, version: Option<&str>, dry_run: bool) -> Command {
        Command::Promote {
            artefact: ArtefactName::new(artefact),
            environment: environment.map(EnvironmentName::new),
            version: version.map(Into::into),
            dry_run,
            overriding: None,
        }
    }

    fn rollback(environment: Option<&str>, version: Option<&str>, reason: Option<&str>) -> Command {
        Command::Rollback {
            artefact: ArtefactName::new("checkout"),
            environment: environment.map(EnvironmentName::new),
            version: version.map(Into::into),
            reason: reason.map(Into::into),
        }
    }

    fn diff(source: &str, target: &str, artefact: Option<&str>) -> Command {
        Command::Diff {
            source: EnvironmentName::new(source),
            target: EnvironmentName::new(target),
            artefact: artefact.map(ArtefactName::new),
            code: false,
        }
    }

    fn where_is(query: &str, artefact: Option<&str>) -> Command {
        Command::Where { what: query.into(), artefact: artefact.map(ArtefactName::new) }
    }

    fn why(environment: Option<&str>) -> Command {
        Command::Why { artefact: ArtefactName::new("checkout"), environment: environment.map(EnvironmentName::new) }
    }

    fn status(change: Option<&str>, artefact: Option<&str>, environment: Option<&str>) -> Command {
        Command::Status {
            change: change.map(Into::into),
            artefact: artefact.map(ArtefactName::new),
            environment: environment.map(EnvironmentName::new),
        }
    }

    fn history(artefact: Option<&str>, environment: Option<&str>, count: Option<u32>) -> Command {
        Command::History {
            artefact: artefact.map(ArtefactName::new),
            environment: environment.map(EnvironmentName::new),
            count,
        }
    }

    fn unlock(environment: &str, artefact: Option<&str>) -> Command {
        Command::Unlock { environment: EnvironmentName::new(environment), artefact: artefact.map(ArtefactName::new) }
    }

    #[test]
    fn every_verb_has_its_row() {
        let all = [Verb::List, Verb::Promote, Verb::Rollback, Verb::Diff, Verb::Status, Verb::Cancel, Verb::Lock];
        for verb in all.into_iter().chain([Verb::Unlock, Verb::Locks, Verb::Reject, Verb::Release, Verb::Help]).chain([
            Verb::Where,
            Verb::Why,
            Verb::History,
            Verb::Doctor,
        ]) {
            assert_eq!(verb.spec().verb, verb);
            assert!(verb.spec().usage.starts_with(verb.name()));
        }
    }

    #[test]
    fn valid_commands_are_parsed() {
        let cases = [
            ("", Command::Help { about: None }),
            ("   ", Command::Help { about: None }),
            ("help", Command::Help { about: None }),
            ("help promote", Command::Help { about: Some(Verb::Promote) }),
            ("promote help", Command::Help { about: Some(Verb::Promote) }),
            ("help me please", Command::Help { about: None }),
            ("list", list(None, None)),
            ("LS", list(None, None)),
            ("list qa", list(None, Some("qa"))),
            ("list in stg", list(None, Some("staging"))),
            ("list Checkout", list(Some("checkout"), None)),
            ("list checkout prod", list(Some("checkout"), Some("prod"))),
            ("promote checkout", promote("checkout", None, None, false)),
            ("  promote\u{a0}checkout   to  PRODUCTION ", promote("checkout", Some("prod"), None, false)),
            ("promote to qa checkout", promote("checkout", Some("qa"), None, false)),
            ("promote `checkout` qa @1.4", promote("checkout", Some("qa"), Some("1.4"), false)),
            ("promote checkout@1.4 qa", promote("checkout", Some("qa"), Some("1.4"), false)),
            ("promote checkout qa --dry-run", promote("checkout", Some("qa"), None, true)),
            ("promote checkout qa \u{2014}dry-run", promote("checkout", Some("qa"), None, true)),
            ("promote <http://checkout|checkout> <#C012|qa>", promote("checkout", Some("qa"), None, false)),
            ("promote <@U012|checkout> qa", promote("checkout", Some("qa"), None, false)),
            ("promote \u{201c}checkout\u{201d} \u{200b}qa", promote("checkout", Some("qa"), None, false)),
            ("rollback checkout prod", rollback(Some("prod"), None, None)),
            ("rollback checkout", rollback(None, None, None)),
            ("rollback checkout prod 1.3", rollback(Some("prod"), Some("1.3"), None)),
            (
                "rollback checkout prod @1.3 --reason prod is down",
                rollback(Some("prod"), Some("1.3"), Some("prod is down")),
            ),
            ("rollback checkout prod \u{2014}REASON  of  state", rollback(Some("prod"), None, Some("of state"))),
            ("rollback checkout prod --reason", rollback(Some("prod"), None, None)),
            ("where #42", where_is("#42", None)),
            ("where @4f1c2ab in checkout", where_is("4f1c2ab", Some("checkout"))),
            ("where <https://github.com/acme/checkout/pull/42>", where_is("github.com/acme/checkout/pull/42", None)),
            ("why checkout", why(None)),
            ("why checkout to production", why(Some("prod"))),
            ("status 0BADCAFE", status(Some("0badcafe"), None, None)),
            ("status checkout", status(None, Some("checkout"), None)),
            ("history", history(None, None, None)),
            ("history checkout prod 20", history(Some("checkout"), Some("prod"), Some(20))),
            ("log 5", history(None, None, Some(5))),
            ("diff staging prod", diff("staging", "prod", None)),
            ("diff between staging and prod", diff("staging", "prod", None)),
            ("diff staging..prod", diff("staging", "prod", None)),
            ("diff stg...prod checkout", diff("staging", "prod", Some("checkout"))),
            ("unlock production", unlock("prod", None)),
            ("unlock checkout in prod", unlock("prod", Some("checkout"))),
            (
                "release checkout 1.4",
                Command::Release { artefact: ArtefactName::new("checkout"), version: "1.4".into() },
            ),
            (
                "release checkout@1.4",
                Command::Release { artefact: ArtefactName::new("checkout"), version: "1.4".into() },
            ),
            ("Doctor", Command::Doctor),
            ("doctor help", Command::Help { about: Some(Verb::Doctor) }),
            ("locks", Command::Locks { environment: None }),
            ("locks in prod", Command::Locks { environment: Some(EnvironmentName::new("prod")) }),
        ];
        for (text, command) in cases {
            assert_eq!(parse_text(text), Ok(command), "{text}");
        }
    }

    #[test]
    fn invalid_commands_give_an_error_with_a_suggestion() {
        use CommandParseError::*;
        let artefact = |name: &str| Some(ArtefactName::new(name));
        let environment = |name: &str| Some(EnvironmentName::new(name));
        let cases = [
            ("promtoe checkout", UnknownVerb { word: "promtoe".into(), suggestion: Some("promote") }),
            ("<!channel>", UnknownVerb { word: "!channel".into(), suggestion: None }),
            ("promote", MissingArgument { verb: Verb::Promote, argument: "artefact" }),
            ("promote qa", MissingArgument { verb: Verb::Promote, argument: "artefact" }),
            ("promote chekout qa", UnknownArtefact { word: "chekout".into(), suggestion: artefact("checkout") }),
            (
                "promote checkout pord",
                UnknownEnvironment { verb: Verb::Promote, word: "pord".into(), suggestion: environment("prod") },
            ),
            (
                "promote checkout stagin",
                UnknownEnvironment { verb: Verb::Promote, word: "stagin".into(), suggestion: environment("staging") },
            ),
            (
                "promote checkout search",
                RepeatedArgument { verb: Verb::Promote, argument: "artefact", word: "search".into() },
            ),
            (
                "promote checkout qa staging",
                RepeatedArgument { verb: Verb::Promote, argument: "environment", word: "staging".into() },
            ),
            ("list checkout @1.2", UnexpectedArgument { verb: Verb::List, word: "1.2".into() }),
            ("promote checkout qa now", UnexpectedArgument { verb: Verb::Promote, word: "now".into() }),
            (
                "promote checkout --dryrun",
                UnknownFlag { verb: Verb::Promote, word: "dryrun".into(), suggestion: Some("dry-run") },
            ),
            ("list --reason why", UnknownFlag { verb: Verb::List, word: "reason".into(), suggestion: None }),
            (
                "rollback checkout prod --reasonable",
                UnknownFlag { verb: Verb::Rollback, word: "reasonable".into(), suggestion: None },
            ),
            (
                "rollback checkout pord",
                UnknownEnvironment { verb: Verb::Rollback, word: "pord".into(), suggestion: environment("prod") },
            ),
            ("list chekout", UnknownArtefact { word: "chekout".into(), suggestion: artefact("checkout") }),
            (
                "list pord",
                UnknownEnvironment { verb: Verb::List, word: "pord".into(), suggestion: environment("prod") },
            ),
            ("list nonsense", UnknownArtefact { word: "nonsense".into(), suggestion: None }),
            ("where", MissingArgument { verb: Verb::Where, argument: "commit, pull request or tag" }),
            ("where abc def", UnexpectedArgument { verb: Verb::Where, word: "def".into() }),
            ("why", MissingArgument { verb: Verb::Why, argument: "artefact" }),
            ("history 0", UnknownArtefact { word: "0".into(), suggestion: None }),
            ("diff staging", MissingArgument { verb: Verb::Diff, argument: "two environments" }),
            ("release", MissingArgument { verb: Verb::Release, argument: "artefact" }),
            ("release checkout", MissingArgument { verb: Verb::Release, argument: "version" }),
            ("release checkout 1 2", UnexpectedArgument { verb: Verb::Release, word: "2".into() }),
            ("unlock", MissingArgument { verb: Verb::Unlock, argument: "environment" }),
            ("unlock checkout", MissingArgument { verb: Verb::Unlock, argument: "environment" }),
            (
                "unlock pord",
                UnknownEnvironment { verb: Verb::Unlock, word: "pord".into(), suggestion: environment("prod") },
            ),
            ("unlock prod chekout", UnknownArtefact { word: "chekout".into(), suggestion: artefact("checkout") }),
            ("unlock prod qa", RepeatedArgument { verb: Verb::Unlock, argument: "environment", word: "qa".into() }),
            ("docter", UnknownVerb { word: "docter".into(), suggestion: Some("doctor") }),
            ("doctor qa", UnexpectedArgument { verb: Verb::Doctor, word: "qa".into() }),
            ("doctor who", UnexpectedArgument { verb: Verb::Doctor, word: "who".into() }),
            ("locks prod checkout", UnexpectedArgument { verb: Verb::Locks, word: "checkout".into() }),
            (
                "locks pord",
                UnknownEnvironment { verb: Verb::Locks, word: "pord".into(), suggestion: environment("prod") },
            ),
            (
                "diff staging pord",
                UnknownEnvironment { verb: Verb::Diff, word: "pord".into(), suggestion: environment("prod") },
            ),
        ];
        for (text, error) in cases {
            assert_eq!(parse_text(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_long_word_is_truncated_in_the_error() {
        let Err(CommandParseError::UnknownVerb { word, .. }) = parse_text(&"я".repeat(5000)) else {
            panic!("expected an unknown verb")
        };
        assert_eq!(word.chars().count(), MAX_ECHO_CHARS + 1);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_a_panic(text in "\\PC{0,80}") {
            let _ = parse_text(&text);
        }

        #[test]
        fn case_and_space_change_nothing(
            words in prop::sample::select(vec!["promote checkout qa", "list prod", "diff staging prod", "rollback checkout qa"]),
            gap in "[ \\t\\u{a0}]{1,3}",
            upper in any::<bool>(),
        ) {
            let typed = words.replace(' ', &gap);
            let typed = if upper { typed.to_uppercase() } else { typed };
            prop_assert_eq!(parse_text(&typed), parse_text(words));
        }
    }
}
