//! Text to [`Command`]. The grammar, where words may stand in any order and case after the verb:
//!
//! ```text
//! command  = verb { word }                 an empty command asks for help
//! help     = "help" [ verb ] | verb "help"
//! list     = "list" [ artefact ] [ environment ]
//! promote  = "promote" artefact [ environment ] [ "@" version ] [ "--dry-run" ]
//! rollback = "rollback" artefact [ environment ] [ [ "@" ] version ] [ "--reason" text ]
//! diff     = "diff" environment environment [ artefact ]      also: diff staging..prod
//! status   = "status" [ artefact ] [ environment ]
//! cancel   = "cancel" change               the eight digits that a card shows
//! noise    = "to" | "in" | ...             between words, without meaning
//! ```
//!
//! The help is made from [`TABLE`], which is what the parser looks verbs up in.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::artefact::ArtefactName;
use super::change::SHORT;
use super::environment::{Catalogue, EnvironmentName};
use super::near::nearest;

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
    },
    Status {
        artefact: Option<ArtefactName>,
        environment: Option<EnvironmentName>,
    },
    Cancel {
        /// The end of its id, in lower case.
        change: Arc<str>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    List,
    Promote,
    Rollback,
    Diff,
    Status,
    Cancel,
    Help,
}

/// One row for each verb: what the parser knows it by, and what the help says of it.
#[derive(Debug)]
pub struct Entry {
    pub verb: Verb,
    /// The first is its name; the others are understood.
    pub names: &'static [&'static str],
    pub usage: &'static str,
    pub summary: &'static str,
    /// With `{artefact}`, `{environment}` and `{below}`, which the help fills with names that exist.
    pub examples: &'static [&'static str],
    /// Has a slash command of its own, beside `/gantry <verb>`.
    pub slash: bool,
    /// Whether this build can do it; what is only understood is said so.
    pub ready: bool,
}

pub const TABLE: &[Entry] = &[
    Entry {
        verb: Verb::List,
        names: &["list", "ls"],
        usage: "list [artefact] [environment]",
        summary: "which version runs where, in what state",
        examples: &["list", "list {artefact}", "list {environment}"],
        slash: true,
        ready: true,
    },
    Entry {
        verb: Verb::Promote,
        names: &["promote"],
        usage: "promote <artefact> [environment] [@version] [--dry-run]",
        summary: "move an artefact to the next environment, or to the one named",
        examples: &["promote {artefact}", "promote {artefact} to {environment}", "promote {artefact} --dry-run"],
        slash: true,
        ready: true,
    },
    Entry {
        verb: Verb::Rollback,
        names: &["rollback", "roll-back"],
        usage: "rollback <artefact> <environment> [version] [--reason text]",
        summary: "return an environment to the version that ran well before",
        examples: &["rollback {artefact} {environment}"],
        slash: true,
        ready: false,
    },
    Entry {
        verb: Verb::Diff,
        names: &["diff"],
        usage: "diff <source> <target> [artefact]",
        summary: "what differs between two environments, and what to do about it",
        examples: &["diff {below} {environment}"],
        slash: true,
        ready: false,
    },
    Entry {
        verb: Verb::Status,
        names: &["status"],
        usage: "status [artefact] [environment]",
        summary: "which changes are under way",
        examples: &["status", "status {environment}"],
        slash: false,
        ready: true,
    },
    Entry {
        verb: Verb::Cancel,
        names: &["cancel"],
        usage: "cancel <change>",
        summary: "stop a change that is not merged yet; the card shows its eight digits",
        examples: &["cancel 0badcafe"],
        slash: false,
        ready: true,
    },
    Entry {
        verb: Verb::Help,
        names: &["help", "?", "-h", "--help"],
        usage: "help [command]",
        summary: "what I understand",
        examples: &["help", "help promote"],
        slash: false,
        ready: true,
    },
];

impl Verb {
    pub fn entry(self) -> &'static Entry {
        // TABLE has a row for each verb: `every_verb_has_its_row` holds us to it.
        TABLE.iter().find(|entry| entry.verb == self).unwrap_or(&TABLE[TABLE.len() - 1])
    }

    pub fn name(self) -> &'static str {
        self.entry().names[0]
    }

    fn find(word: &str) -> Option<Self> {
        let same = |entry: &&Entry| entry.names.iter().any(|name| name.eq_ignore_ascii_case(word));
        TABLE.iter().find(same).map(|entry| entry.verb)
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
            Self::Status { .. } => Verb::Status,
            Self::Cancel { .. } => Verb::Cancel,
        }
    }
}

/// Why a text is not a command, with what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misunderstanding {
    NoVerb {
        word: String,
        meant: Option<&'static str>,
    },
    NoArtefact {
        word: String,
        meant: Option<ArtefactName>,
    },
    NoEnvironment {
        verb: Verb,
        word: String,
        meant: Option<EnvironmentName>,
    },
    Missing {
        verb: Verb,
        what: &'static str,
    },
    Surplus {
        verb: Verb,
        word: String,
    },
    /// One more of what the command takes one of.
    OneTooMany {
        verb: Verb,
        what: &'static str,
        word: String,
    },
    NoFlag {
        verb: Verb,
        word: String,
        meant: Option<&'static str>,
    },
}

const NOISE: &[&str] =
    &["to", "in", "into", "on", "onto", "from", "of", "for", "the", "with", "and", "between", "please", "vs", "->"];

/// Longer words than this are nobody's name; the rest of one is not repeated to anybody.
const LONGEST_ECHO: usize = 60;

/// Words with a meaning of their own here, which therefore cannot name an artefact or an environment.
pub fn is_reserved(word: &str) -> bool {
    NOISE.iter().any(|noise| noise.eq_ignore_ascii_case(word)) || Verb::find(word).is_some()
}

/// `text` is everything behind `/gantry` or the mention; behind `/promote` put the verb in front.
pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Command, Misunderstanding> {
    let mut words = words(text);
    let reason = match words.iter().position(|word| is_reason(word)) {
        Some(at) if words.first().and_then(|word| Verb::find(word)) == Some(Verb::Rollback) => {
            let reason = words.split_off(at).split_off(1).join(" ");
            Some(reason).filter(|reason| !reason.is_empty())
        }
        _ => None,
    };
    let Some((first, rest)) = words.split_first() else {
        return Ok(Command::Help { about: None });
    };
    let verb = Verb::find(first).ok_or_else(|| {
        let names = TABLE.iter().flat_map(|entry| entry.names).copied();
        Misunderstanding::NoVerb { word: echo(first), meant: nearest(first, names) }
    })?;
    if verb == Verb::Help {
        return Ok(Command::Help { about: rest.iter().find_map(|word| Verb::find(word)) });
    }
    if rest.iter().any(|word| Verb::find(word) == Some(Verb::Help)) {
        return Ok(Command::Help { about: Some(verb) });
    }
    Words::sort(verb, rest, catalogue)?.into_command(reason)
}

/// The words of a command, sorted by what they name.
struct Words<'a> {
    verb: Verb,
    catalogue: &'a Catalogue,
    artefacts: Vec<ArtefactName>,
    environments: Vec<EnvironmentName>,
    versions: Vec<String>,
    flags: Vec<String>,
    unknown: Vec<String>,
}

impl<'a> Words<'a> {
    fn sort(verb: Verb, words: &[String], catalogue: &'a Catalogue) -> Result<Self, Misunderstanding> {
        let mut sorted = Self {
            verb,
            catalogue,
            artefacts: Vec::new(),
            environments: Vec::new(),
            versions: Vec::new(),
            flags: Vec::new(),
            unknown: Vec::new(),
        };
        for word in words {
            if let Some(rung) = catalogue.ladder.find(word) {
                sorted.environments.push(rung.name.clone());
            } else if let Some(artefact) = catalogue.artefact(word) {
                sorted.artefacts.push(artefact.name.clone());
            } else if let Some(flag) = word.strip_prefix("--") {
                sorted.flags.push(flag.to_ascii_lowercase());
            } else if let Some(version) = word.strip_prefix('@') {
                sorted.versions.push(version.to_owned());
            } else if let Some((artefact, version)) =
                word.split_once('@').filter(|(name, _)| catalogue.artefact(name).is_some())
            {
                sorted.artefacts.extend(catalogue.artefact(artefact).map(|known| known.name.clone()));
                sorted.versions.push(version.to_owned());
            } else if let Some((source, target)) = range(word, catalogue) {
                sorted.environments.extend([source, target]);
            } else if !NOISE.iter().any(|noise| noise.eq_ignore_ascii_case(word)) {
                sorted.unknown.push(word.clone());
            }
        }
        let known: &[&str] = match verb {
            Verb::Promote => &["dry-run"],
            Verb::Rollback => &["reason"],
            _ => &[],
        };
        if let Some(flag) = sorted.flags.iter().find(|flag| !known.contains(&flag.as_str())) {
            let meant = nearest(flag, known.iter().copied());
            return Err(Misunderstanding::NoFlag { verb, word: echo(flag), meant });
        }
        Ok(sorted)
    }

    fn into_command(mut self, reason: Option<String>) -> Result<Command, Misunderstanding> {
        let verb = self.verb;
        let command = match verb {
            Verb::Help => Command::Help { about: None },
            Verb::List => {
                let artefact = first(&mut self.artefacts);
                let environment = first(&mut self.environments);
                Command::List { artefact, environment }
            }
            Verb::Promote => Command::Promote {
                artefact: self.artefact()?,
                environment: first(&mut self.environments),
                version: first(&mut self.versions).map(Into::into),
                dry_run: self.flags.iter().any(|flag| flag == "dry-run"),
            },
            Verb::Rollback => {
                let artefact = self.artefact()?;
                let environment = first(&mut self.environments);
                // A version needs no `@` here, but only behind an environment: before it, the word is a slip of the pen.
                let bare =
                    if environment.is_some() && self.versions.is_empty() { first(&mut self.unknown) } else { None };
                let version = first(&mut self.versions).or(bare).map(Into::into);
                Command::Rollback { artefact, environment, version, reason: reason.map(Into::into) }
            }
            Verb::Diff => {
                let artefact = first(&mut self.artefacts);
                let (Some(source), Some(target)) = (first(&mut self.environments), first(&mut self.environments))
                else {
                    return Err(self.missing_environment());
                };
                Command::Diff { source, target, artefact }
            }
            Verb::Status => {
                let artefact = first(&mut self.artefacts);
                Command::Status { artefact, environment: first(&mut self.environments) }
            }
            Verb::Cancel => Command::Cancel { change: self.change()? },
        };
        self.nothing_is_left(&command)?;
        Ok(command)
    }

    fn artefact(&mut self) -> Result<ArtefactName, Misunderstanding> {
        if let Some(artefact) = first(&mut self.artefacts) {
            return Ok(artefact);
        }
        if self.unknown.is_empty() {
            return Err(Misunderstanding::Missing { verb: self.verb, what: "artefact" });
        }
        Err(self.no_artefact(0))
    }

    fn change(&mut self) -> Result<Arc<str>, Misunderstanding> {
        let is_change = |word: &String| word.len() == SHORT && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match self.unknown.iter().position(is_change) {
            Some(at) => Ok(self.unknown.remove(at).to_ascii_lowercase().into()),
            None => Err(Misunderstanding::Missing { verb: self.verb, what: "change" }),
        }
    }

    fn no_artefact(&self, at: usize) -> Misunderstanding {
        let word = &self.unknown[at];
        let names = self.catalogue.artefacts.iter().map(|artefact| artefact.name.as_str());
        Misunderstanding::NoArtefact { word: echo(word), meant: nearest(word, names).map(ArtefactName::new) }
    }

    fn no_environment(&self, at: usize) -> Misunderstanding {
        let word = &self.unknown[at];
        let rungs = self.catalogue.ladder.rungs();
        let names = rungs
            .iter()
            .flat_map(|rung| std::iter::once(rung.name.as_str()).chain(rung.aliases.iter().map(String::as_str)));
        let meant = nearest(word, names).and_then(|name| self.catalogue.ladder.find(name));
        Misunderstanding::NoEnvironment {
            verb: self.verb,
            word: echo(word),
            meant: meant.map(|rung| rung.name.clone()),
        }
    }

    fn missing_environment(&self) -> Misunderstanding {
        if self.unknown.is_empty() {
            Misunderstanding::Missing { verb: self.verb, what: "two environments" }
        } else {
            self.no_environment(0)
        }
    }

    /// What stands there without a place is a mistake that must not pass in silence.
    fn nothing_is_left(&self, command: &Command) -> Result<(), Misunderstanding> {
        let verb = self.verb;
        if !self.unknown.is_empty() {
            let artefact_is_open = matches!(
                command,
                Command::List { artefact: None, .. }
                    | Command::Diff { artefact: None, .. }
                    | Command::Status { artefact: None, .. }
            );
            let environment_is_open = matches!(
                command,
                Command::List { environment: None, .. }
                    | Command::Status { environment: None, .. }
                    | Command::Promote { environment: None, .. }
                    | Command::Rollback { environment: None, .. }
            );
            let near_environment =
                matches!(self.no_environment(0), Misunderstanding::NoEnvironment { meant: Some(_), .. });
            return Err(match (artefact_is_open, environment_is_open) {
                (_, true) if near_environment || !artefact_is_open => self.no_environment(0),
                (true, _) => self.no_artefact(0),
                _ => Misunderstanding::Surplus { verb, word: echo(&self.unknown[0]) },
            });
        }
        let surplus = [
            ("artefact", self.artefacts.first().map(ArtefactName::as_str)),
            ("environment", self.environments.first().map(EnvironmentName::as_str)),
            ("version", self.versions.first().map(String::as_str)),
        ];
        // A verb that takes none of them says so by not knowing the word.
        let takes = |what: &str| match verb {
            Verb::Promote | Verb::Rollback => true,
            Verb::List | Verb::Status => what != "version",
            Verb::Diff => what == "artefact",
            Verb::Cancel | Verb::Help => false,
        };
        match surplus.into_iter().find_map(|(what, word)| Some((what, word?))) {
            Some((what, word)) if takes(what) => Err(Misunderstanding::OneTooMany { verb, what, word: echo(word) }),
            Some((_, word)) => Err(Misunderstanding::Surplus { verb, word: echo(word) }),
            None => Ok(()),
        }
    }
}

fn first<T>(words: &mut Vec<T>) -> Option<T> {
    if words.is_empty() { None } else { Some(words.remove(0)) }
}

/// `staging..prod`, as people know it from Git.
fn range(word: &str, catalogue: &Catalogue) -> Option<(EnvironmentName, EnvironmentName)> {
    let (source, target) = word.split_once("..")?;
    let source = catalogue.ladder.find(source)?;
    let target = catalogue.ladder.find(target.trim_start_matches('.'))?;
    Some((source.name.clone(), target.name.clone()))
}

fn is_reason(word: &str) -> bool {
    word.eq_ignore_ascii_case("--reason")
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !is_gap(c)) {
        rest = &rest[start..];
        // Slack's `<#C01|the label>` is one word whatever its label holds.
        let end = if rest.starts_with('<') { rest.find('>').map(|at| at + 1) } else { None };
        let end = end.unwrap_or_else(|| rest.find(is_gap).unwrap_or(rest.len()));
        let word = plain(&rest[..end]);
        if !word.is_empty() {
            words.push(word);
        }
        rest = &rest[end..];
    }
    words
}

fn is_gap(c: char) -> bool {
    // Phones and copied text bring zero-width characters along, which are no white space by Unicode.
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | ',')
}

/// A word as it was typed, before Slack escaped it and a keyboard made it pretty.
fn plain(word: &str) -> String {
    let word = match word.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => match inner.split_once('|') {
            Some((_, label)) => label,
            None => inner.trim_start_matches("http://").trim_start_matches("https://"),
        },
        None => word,
    };
    let word = if word.contains('&') {
        Cow::Owned(word.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    } else {
        Cow::Borrowed(word)
    };
    let word = word.trim_matches(|c: char| is_gap(c) || matches!(c, '`' | '"' | '\'' | '*' | '\u{2018}'..='\u{201f}'));
    match word.strip_prefix(['\u{2014}', '\u{2013}']) {
        Some(flag) => format!("--{flag}"),
        None => word.to_owned(),
    }
}

fn echo(word: &str) -> String {
    match word.char_indices().nth(LONGEST_ECHO) {
        Some((end, _)) => format!("{}\u{2026}", &word[..end]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::sample::catalogue;

    fn parsed(text: &str) -> Result<Command, Misunderstanding> {
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
        }
    }

    #[test]
    fn every_verb_has_its_row() {
        for verb in [Verb::List, Verb::Promote, Verb::Rollback, Verb::Diff, Verb::Help] {
            assert_eq!(verb.entry().verb, verb);
            assert!(verb.entry().usage.starts_with(verb.name()));
        }
    }

    #[test]
    fn what_people_type_is_understood() {
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
            ("diff staging prod", diff("staging", "prod", None)),
            ("diff between staging and prod", diff("staging", "prod", None)),
            ("diff staging..prod", diff("staging", "prod", None)),
            ("diff stg...prod checkout", diff("staging", "prod", Some("checkout"))),
        ];
        for (text, command) in cases {
            assert_eq!(parsed(text), Ok(command), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_was_meant() {
        use Misunderstanding::*;
        let artefact = |name: &str| Some(ArtefactName::new(name));
        let environment = |name: &str| Some(EnvironmentName::new(name));
        let cases = [
            ("promtoe checkout", NoVerb { word: "promtoe".into(), meant: Some("promote") }),
            ("<!channel>", NoVerb { word: "!channel".into(), meant: None }),
            ("promote", Missing { verb: Verb::Promote, what: "artefact" }),
            ("promote qa", Missing { verb: Verb::Promote, what: "artefact" }),
            ("promote chekout qa", NoArtefact { word: "chekout".into(), meant: artefact("checkout") }),
            (
                "promote checkout pord",
                NoEnvironment { verb: Verb::Promote, word: "pord".into(), meant: environment("prod") },
            ),
            (
                "promote checkout stagin",
                NoEnvironment { verb: Verb::Promote, word: "stagin".into(), meant: environment("staging") },
            ),
            ("promote checkout search", OneTooMany { verb: Verb::Promote, what: "artefact", word: "search".into() }),
            (
                "promote checkout qa staging",
                OneTooMany { verb: Verb::Promote, what: "environment", word: "staging".into() },
            ),
            ("list checkout @1.2", Surplus { verb: Verb::List, word: "1.2".into() }),
            ("promote checkout qa now", Surplus { verb: Verb::Promote, word: "now".into() }),
            (
                "promote checkout --dryrun",
                NoFlag { verb: Verb::Promote, word: "dryrun".into(), meant: Some("dry-run") },
            ),
            ("list --reason why", NoFlag { verb: Verb::List, word: "reason".into(), meant: None }),
            (
                "rollback checkout prod --reasonable",
                NoFlag { verb: Verb::Rollback, word: "reasonable".into(), meant: None },
            ),
            (
                "rollback checkout pord",
                NoEnvironment { verb: Verb::Rollback, word: "pord".into(), meant: environment("prod") },
            ),
            ("list chekout", NoArtefact { word: "chekout".into(), meant: artefact("checkout") }),
            ("list pord", NoEnvironment { verb: Verb::List, word: "pord".into(), meant: environment("prod") }),
            ("list nonsense", NoArtefact { word: "nonsense".into(), meant: None }),
            ("diff staging", Missing { verb: Verb::Diff, what: "two environments" }),
            ("diff staging pord", NoEnvironment { verb: Verb::Diff, word: "pord".into(), meant: environment("prod") }),
        ];
        for (text, misunderstanding) in cases {
            assert_eq!(parsed(text), Err(misunderstanding), "{text}");
        }
    }

    #[test]
    fn a_word_of_any_length_is_repeated_only_in_part() {
        let Err(Misunderstanding::NoVerb { word, .. }) = parsed(&"я".repeat(5000)) else { panic!("no verb") };
        assert_eq!(word.chars().count(), LONGEST_ECHO + 1);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC{0,80}") {
            let _ = parsed(&text);
        }

        #[test]
        fn case_and_space_change_nothing(
            words in prop::sample::select(vec!["promote checkout qa", "list prod", "diff staging prod", "rollback checkout qa"]),
            gap in "[ \\t\\u{a0}]{1,3}",
            upper in any::<bool>(),
        ) {
            let typed = words.replace(' ', &gap);
            let typed = if upper { typed.to_uppercase() } else { typed };
            prop_assert_eq!(parsed(&typed), parsed(words));
        }
    }
}
