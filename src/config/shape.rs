//! Checks the tree against the schema and reports every wrong key, type and choice with its position. Supports only the
//! part of JSON Schema that the types in `file` produce.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::problem::{Findings, Position, ProblemDescription, describe_problem};
use super::tree::{ConfigNode, ConfigValue, Located};
use crate::domain::model::nearest::find_nearest;

/// The result of the shape check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeVerdict {
    /// The file can be deserialised, although it may have unknown keys.
    Readable,
    Unreadable,
}

pub(super) fn check_shape(schema: &Json, tree: &ConfigNode, findings: &mut Findings) -> ShapeVerdict {
    let mut shape = ShapeChecker { root: schema, findings, verdict: ShapeVerdict::Readable };
    shape.check_node(schema, "the file", tree.position, tree);
    shape.verdict
}

struct ShapeChecker<'a> {
    root: &'a Json,
    findings: &'a mut Findings,
    verdict: ShapeVerdict,
}

impl<'a> ShapeChecker<'a> {
    fn add_fatal_problem(&mut self, position: Position, problem: ProblemDescription) {
        self.verdict = ShapeVerdict::Unreadable;
        self.findings.add(position, problem);
    }

    /// `name` is the name of the node in messages; `key_position` is the position of its key.
    fn check_node(&mut self, schema: &'a Json, name: &str, key_position: Position, node: &ConfigNode) {
        let choices = self.resolve_alternatives(schema);
        let Some(chosen) = choices.iter().copied().find(|choice| can_hold_value(choice, &node.value)) else {
            let position = if matches!(node.value, ConfigValue::Null) { key_position } else { node.position };
            return self.add_fatal_problem(position, describe_mismatch(schema, &choices, name, &node.value));
        };
        match &node.value {
            ConfigValue::Map(entries) => self.check_map(chosen, name, key_position, entries),
            ConfigValue::List(items) => {
                for item in items {
                    self.check_node(&chosen["items"], &format!("an item of {name}"), item.position, item);
                }
            }
            ConfigValue::Text(text) => self.check_text(&choices, name, node.position, text),
            ConfigValue::Integer(number) => self.check_integer(chosen, name, node.position, *number),
            ConfigValue::Null | ConfigValue::Bool(_) | ConfigValue::Float(_) => {}
        }
    }

    fn check_map(
        &mut self,
        schema: &'a Json,
        name: &str,
        key_position: Position,
        entries: &[(Located<String>, ConfigNode)],
    ) {
        let properties = schema["properties"].as_object();
        let mut seen: BTreeMap<&str, Position> = BTreeMap::new();
        let mut suggested: Vec<&str> = Vec::new();
        for (key, value) in entries {
            if let Some(first) = seen.insert(&key.value, key.position) {
                let advice = format!("keep one; the first is on line {}", first.line);
                // Deserialisation uses the last value. That does not matter, because the file is refused.
                self.findings.add(key.position, describe_problem(format!("`{}` is given twice", key.value), advice));
            }
            if let Some(inner) = properties.and_then(|properties| properties.get(&key.value)) {
                self.check_node(inner, &format!("`{}`", key.value), key.position, value);
            } else if schema["additionalProperties"].is_object() {
                self.check_node(&schema["additionalProperties"], &format!("`{}`", key.value), key.position, value);
            } else {
                let keys = || properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
                let nearest = find_nearest(&key.value, keys());
                suggested.extend(nearest);
                let advice = nearest.map_or_else(
                    || format!("the keys here are {}", join_quoted(keys(), "and")),
                    |nearest| format!("did you mean `{nearest}`?"),
                );
                self.findings.add(key.position, describe_problem(format!("unknown key `{}`", key.value), advice));
            }
        }
        if schema["maxProperties"] == 1 && entries.len() != 1 {
            self.verdict = ShapeVerdict::Unreadable;
            // If there is a required key, it is reported below as unknown or missing.
            if schema["required"].is_null() {
                let keys = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
                let message = format!("{name} must have one key and has {}", entries.len());
                self.findings
                    .add(key_position, describe_problem(message, format!("write either {}", join_quoted(keys, "or"))));
            }
        }
        for missing in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if seen.contains_key(missing) {
                continue;
            }
            self.verdict = ShapeVerdict::Unreadable;
            // The misspelt key has already been reported with this key as the suggestion.
            if suggested.contains(&missing) {
                continue;
            }
            let position = entries.first().map_or(key_position, |(first, _)| first.position);
            let location = if name == "the file" { String::new() } else { format!(" in {name}") };
            let property = properties.and_then(|properties| properties.get(missing)).unwrap_or(&Json::Null);
            self.findings.add(
                position,
                describe_problem(
                    format!("`{missing}` is missing{location}"),
                    format!("add it: {}", describe_key(property)),
                ),
            );
        }
    }

    fn check_text(&mut self, choices: &[&'a Json], name: &str, position: Position, text: &str) {
        let words: Vec<&str> = choices.iter().flat_map(|choice| list_allowed_words(choice)).collect();
        let accepts_any_text =
            choices.iter().any(|choice| has_type(choice, "string") && list_allowed_words(choice).is_empty());
        if accepts_any_text || words.contains(&text) {
            return;
        }
        let advice = match find_nearest(text, words.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("use {}", describe_alternatives(choices)),
        };
        self.add_fatal_problem(position, describe_problem(format!("{name} cannot be `{text}`"), advice));
    }

    fn check_integer(&mut self, schema: &'a Json, name: &str, position: Position, number: i128) {
        let minimum = schema["minimum"].as_i64().map_or(i128::MIN, i128::from);
        let maximum = schema["maximum"].as_i64().map_or(i128::MAX, i128::from);
        if number < minimum || number > maximum {
            self.add_fatal_problem(
                position,
                describe_problem(
                    format!("{name} cannot be {number}"),
                    format!("use a number from {minimum} to {maximum}"),
                ),
            );
        }
    }

    /// The alternatives of a schema, with references resolved. Most schemas have one.
    fn resolve_alternatives(&self, schema: &'a Json) -> Vec<&'a Json> {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or_else(Vec::new, |target| self.resolve_alternatives(target));
        }
        match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
            Some(choices) => choices.iter().flat_map(|choice| self.resolve_alternatives(choice)).collect(),
            None => vec![schema],
        }
    }
}

fn has_type(schema: &Json, kind: &str) -> bool {
    match &schema["type"] {
        Json::String(only) => only == kind,
        Json::Array(any) => any.iter().any(|one| one == kind),
        _ => false,
    }
}

fn can_hold_value(schema: &Json, value: &ConfigValue) -> bool {
    let kind = match value {
        ConfigValue::Null => "null",
        ConfigValue::Bool(_) => "boolean",
        ConfigValue::Integer(_) => "integer",
        ConfigValue::Float(_) => "number",
        ConfigValue::Text(_) => "string",
        ConfigValue::List(_) => "array",
        ConfigValue::Map(_) => "object",
    };
    has_type(schema, kind)
}

fn describe_mismatch(schema: &Json, choices: &[&Json], name: &str, found: &ConfigValue) -> ProblemDescription {
    let text_wanted = choices.iter().any(|choice| has_type(choice, "string"));
    let found = match found {
        ConfigValue::Null if text_wanted => {
            return describe_problem(
                format!("{name} is empty"),
                "give it a value or remove the key; put text that begins with `#` in quotes, or YAML reads it as a \
                 comment",
            );
        }
        ConfigValue::Null => {
            return describe_problem(
                format!("{name} is empty"),
                format!("fill it or remove the key: {}", describe_key(schema)),
            );
        }
        ConfigValue::Bool(value) => format!("`{value}`"),
        ConfigValue::Integer(number) => format!("the number {number}"),
        ConfigValue::Float(number) => format!("the number {number}"),
        ConfigValue::Text(text) => format!("the text `{}`", truncate_text(text)),
        ConfigValue::List(_) => "a list".to_owned(),
        ConfigValue::Map(_) => "a block of keys".to_owned(),
    };
    let example = match schema["examples"][0].as_str() {
        Some(example) => format!(", for example \"{example}\""),
        None => String::new(),
    };
    describe_problem(format!("{name} cannot be {found}"), format!("write {}{example}", describe_alternatives(choices)))
}

/// Cuts a value that a message quotes, so that it does not fill the screen.
pub(super) fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The allowed words of an enum; empty for other schemas.
fn list_allowed_words(schema: &Json) -> Vec<&str> {
    let listed = schema["enum"].as_array().into_iter().flatten();
    listed.chain([&schema["const"]]).filter_map(Json::as_str).collect()
}

fn describe_alternatives(choices: &[&Json]) -> String {
    let mut descriptions: Vec<String> = Vec::new();
    for choice in choices {
        let words = list_allowed_words(choice);
        descriptions.extend(words.iter().map(|word| format!("`{word}`")));
        if words.is_empty() {
            let kinds = match &choice["type"] {
                Json::String(kind) => vec![kind.as_str()],
                Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
                _ => Vec::new(),
            };
            let keys = || choice["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
            descriptions.extend(kinds.into_iter().map(|kind| match kind {
                "string" => "text (in quotes if YAML would read it as another type)".to_owned(),
                "integer" => "a whole number".to_owned(),
                "boolean" => "`true` or `false`".to_owned(),
                "array" => "a list".to_owned(),
                "null" => "`~`".to_owned(),
                _ if keys().next().is_some() => {
                    format!("a block with {}", join_quoted(keys().map(String::as_str), "or"))
                }
                _ => "a block of `key: value`".to_owned(),
            }));
        }
    }
    descriptions.join(" or ")
}

fn join_quoted<'k>(words: impl Iterator<Item = &'k str>, last: &str) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => "none".to_owned(),
    }
}

/// The schema's description of a key, worded as the end of a sentence: it begins in lower case and has no full stop.
fn describe_key(schema: &Json) -> String {
    let text = schema["description"].as_str().unwrap_or("see the commented example in `config/gantry.yaml`");
    let text = text.replace('\n', " ");
    let text = text.trim_end_matches('.');
    let example = match schema["examples"][0].as_str() {
        Some(example) => format!(", for example \"{example}\""),
        None => String::new(),
    };
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}{example}", first.to_lowercase(), letters.as_str()),
        None => example,
    }
}
