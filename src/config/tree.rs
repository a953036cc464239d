//! A YAML file as a tree in which every node and key knows where it stands.
//! Knows nothing of what Gantry expects to find there.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, MessageFormatter as _, Options, Spanned, UserMessageFormatter};

use super::problem::{Position, Wrong, wrong};

/// Ten thousand artefacts with every key are some 4 MB.
pub(super) const MOST_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Nothing,
    Truth(bool),
    Integer(i128),
    Fraction(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file, and a key as often as it is written.
    Map(Vec<(At<String>, Node)>),
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) at: Position,
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        // Of an alias, the place where it is used: that is what the reader is looking at.
        Ok(Self { value: spanned.value, at: spanned.referenced.into() })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let At { value, at } = At::<Value>::deserialize(deserializer)?;
        Ok(Self { at, value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        i128::try_from(value).map(Value::Integer).map_err(|_| E::custom("this number is too large"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Fraction(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

/// Reads one YAML document into any type, within limits that no honest configuration reaches.
pub(super) fn read<T: de::DeserializeOwned>(text: &str) -> Result<T, (Position, Wrong)> {
    if text.len() > MOST_BYTES {
        return Err((
            Position::WHOLE_FILE,
            wrong(
                format!("the file has more than {MOST_BYTES} bytes"),
                "is this the right file? A configuration of ten thousand artefacts is half as large",
            ),
        ));
    }
    serde_saphyr::from_str_with_options(text, limits()).map_err(|error| explain(text, &error))
}

fn limits() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 24,
            // Two, so that the second is refused by its own name.
            max_documents: 2,
            max_nodes: 1_000_000,
            max_events: 2_000_000,
            max_aliases: 10_000,
            max_anchors: 1_000,
            // Every artefact may well use the one anchor for what is common to all.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 200_000, max_replay_stack_depth: 8 },
        emit_comments: false,
        // The tree keeps both, so that each is reported together with everything else that is wrong.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

fn explain(text: &str, error: &Error) -> (Position, Wrong) {
    let mut at = error.location().filter(|at| at.line() > 0).map_or(Position { line: 1, column: 1 }, Position::from);
    let error = match error.without_snippet() {
        Error::AliasError { error, .. } => error.without_snippet(),
        other => other,
    };
    let said = UserMessageFormatter.format_message(error);
    let wrong = match error {
        Error::Eof { .. } => wrong("the file ends too early", "close what was opened above: quotes, brackets, braces"),
        Error::MultipleDocuments { .. } => {
            wrong("a second document begins here", "keep one, and remove the line `---` between them")
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => wrong(
            format!("the file is larger or deeper than a configuration can be ({said})"),
            "write it with fewer levels and fewer aliases",
        ),
        Error::UnknownAnchor { .. } => {
            wrong(said, "define it above with `&name`, or put text that begins with `*` in quotes")
        }
        Error::UnsupportedTag { .. } => wrong(said, "remove it, or put text that begins with `!` in quotes"),
        _ if said.contains("tab") || indented_by_tab(text, at) => {
            // The scanner complains of the word before the tab, on the line above.
            let next = Position { line: at.line + 1, column: 1 };
            if !indented_by_tab(text, at) && indented_by_tab(text, next) {
                at = next;
            }
            wrong("YAML takes no tab for indentation", "indent with spaces")
        }
        _ => match character(text, at) {
            Some(sign @ ('@' | '`' | '%')) => {
                wrong(format!("text cannot begin with `{sign}` in YAML"), "put it in quotes, as in \"@developers\"")
            }
            _ => wrong(
                format!("this cannot be read as YAML ({said})"),
                "check the indentation, the brackets and the quotes (text with `#` or `: ` needs them) here and on the line \
                 before",
            ),
        },
    };
    (at, wrong)
}

fn line(text: &str, at: Position) -> Option<&str> {
    text.lines().nth(usize::try_from(at.line).ok()?.checked_sub(1)?)
}

fn character(text: &str, at: Position) -> Option<char> {
    line(text, at)?.chars().nth(usize::try_from(at.column).ok()?.checked_sub(1)?)
}

fn indented_by_tab(text: &str, at: Position) -> bool {
    line(text, at).is_some_and(|line| line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t'))
}
