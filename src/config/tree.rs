//! A YAML file as a tree of nodes and keys with their positions.
//! Does not know the keys of Gantry's configuration.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, MessageFormatter as _, Options, Spanned, UserMessageFormatter};

use super::problem::{Position, ProblemDescription, describe_problem};

/// A file with 10,000 artefacts that use every key has about 4 MB.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct ConfigNode {
    pub(super) position: Position,
    pub(super) value: ConfigValue,
}

#[derive(Debug)]
pub(super) enum ConfigValue {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<ConfigNode>),
    /// In the order of the file; duplicate keys are kept.
    Map(Vec<(Located<String>, ConfigNode)>),
}

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) position: Position,
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        // For an alias, the position of its use, because the error concerns that line.
        Ok(Self { value: spanned.value, position: spanned.referenced.into() })
    }
}

impl<'de> Deserialize<'de> for ConfigNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Located { value, position } = Located::<ConfigValue>::deserialize(deserializer)?;
        Ok(Self { position, value })
    }
}

impl<'de> Deserialize<'de> for ConfigValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConfigValueVisitor)
    }
}

struct ConfigValueVisitor;

impl<'de> Visitor<'de> for ConfigValueVisitor {
    type Value = ConfigValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Null)
    }

    fn visit_none<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<ConfigValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Integer(value))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<ConfigValue, E> {
        i128::try_from(value).map(ConfigValue::Integer).map_err(|_| E::custom("this number is too large"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ConfigValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(ConfigValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(ConfigValue::Map(entries))
    }
}

/// Parses one YAML document into any type. The limits are far above any real configuration.
pub(super) fn parse_yaml<T: de::DeserializeOwned>(text: &str) -> Result<T, (Position, ProblemDescription)> {
    if text.len() > MAX_BYTES {
        return Err((
            Position::WHOLE_FILE,
            describe_problem(
                format!("the file has more than {MAX_BYTES} bytes"),
                "is this the right file? A configuration of ten thousand artefacts is half as large",
            ),
        ));
    }
    serde_saphyr::from_str_with_options(text, parser_options()).map_err(|error| explain_yaml_error(text, &error))
}

fn parser_options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 24,
            // Two, so that a second document gets its own error instead of a budget error.
            max_documents: 2,
            max_nodes: 1_000_000,
            max_events: 2_000_000,
            max_aliases: 10_000,
            max_anchors: 1_000,
            // Many artefacts may share one anchor for their common settings.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 200_000, max_replay_stack_depth: 8 },
        emit_comments: false,
        // `ConfigNode` keeps duplicates, and `shape` reports them with all other problems.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

fn explain_yaml_error(text: &str, error: &Error) -> (Position, ProblemDescription) {
    let mut position =
        error.location().filter(|position| position.line() > 0).map_or(Position { line: 1, column: 1 }, Position::from);
    let error = match error.without_snippet() {
        Error::AliasError { error, .. } => error.without_snippet(),
        other => other,
    };
    let parser_message = UserMessageFormatter.format_message(error);
    let problem = match error {
        Error::Eof { .. } => describe_problem("the file ends too early", "close the open quotes, brackets or braces"),
        Error::MultipleDocuments { .. } => describe_problem(
            "a second document begins here",
            "keep one document, and remove the line `---` between them",
        ),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => describe_problem(
            format!("the file is too large or has too many levels ({parser_message})"),
            "write it with fewer levels and fewer aliases",
        ),
        Error::UnknownAnchor { .. } => {
            describe_problem(parser_message, "define it above with `&name`, or put text that begins with `*` in quotes")
        }
        Error::UnsupportedTag { .. } => {
            describe_problem(parser_message, "remove it, or put text that begins with `!` in quotes")
        }
        _ if parser_message.contains("tab") || is_indented_by_tab(text, position) => {
            // The scanner reports the position of the word before the tab, on the line above.
            let next = Position { line: position.line + 1, column: 1 };
            if !is_indented_by_tab(text, position) && is_indented_by_tab(text, next) {
                position = next;
            }
            describe_problem("YAML does not allow tabs for indentation", "indent with spaces")
        }
        _ => match find_character(text, position) {
            Some(character @ ('@' | '`' | '%')) => describe_problem(
                format!("text cannot begin with `{character}` in YAML"),
                "put it in quotes, for example \"@developers\"",
            ),
            _ => describe_problem(
                format!("this cannot be read as YAML ({parser_message})"),
                "check the indentation, the brackets and the quotes (text with `#` or `: ` needs them) on this line \
                 and on the line before",
            ),
        },
    };
    (position, problem)
}

fn find_line(text: &str, position: Position) -> Option<&str> {
    text.lines().nth(usize::try_from(position.line).ok()?.checked_sub(1)?)
}

fn find_character(text: &str, position: Position) -> Option<char> {
    find_line(text, position)?.chars().nth(usize::try_from(position.column).ok()?.checked_sub(1)?)
}

fn is_indented_by_tab(text: &str, position: Position) -> bool {
    find_line(text, position).is_some_and(|line| line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t'))
}
