//! Single checks of Block Kit's schema, such as the length of a text or the number of items.
//! Every problem is recorded in Slack's words, with a JSON pointer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub(super) const MAX_ID_CHARS: usize = 255;
pub(super) const MAX_URL_CHARS: usize = 3000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Plain,
    Any,
}

#[derive(Default)]
pub(super) struct Check {
    pub(super) problems: Vec<String>,
    block_ids: BTreeSet<String>,
}

impl Check {
    pub(super) fn note(&mut self, path: &str, problem: &str) {
        self.problems.push(format!("{problem} [json-pointer:{path}]"));
    }

    /// An object with exactly these fields. Unknown fields are refused, as Slack does.
    pub(super) fn object<'v>(
        &mut self,
        value: &'v Value,
        path: &str,
        required: &[&str],
        optional: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(object) = value.as_object() else {
            self.note(path, "must be an object");
            return None;
        };
        for field in required {
            if !object.contains_key(*field) {
                self.note(path, &format!("missing required field: {field}"));
            }
        }
        for field in object.keys() {
            if field != "type" && !required.contains(&field.as_str()) && !optional.contains(&field.as_str()) {
                self.note(path, &format!("invalid additional property: {field}"));
            }
        }
        Some(object)
    }

    pub(super) fn items<'v>(
        &mut self,
        value: Option<&'v Value>,
        path: &str,
        at_least: usize,
        at_most: usize,
    ) -> &'v [Value] {
        let Some(value) = value else { return &[] };
        let Some(items) = value.as_array() else {
            self.note(path, "must be an array");
            return &[];
        };
        if items.len() > at_most {
            self.note(path, &format!("no more than {at_most} items allowed"));
        }
        if items.len() < at_least {
            self.note(path, &format!("no fewer than {at_least} items required"));
        }
        items
    }

    pub(super) fn string(&mut self, value: Option<&Value>, path: &str, at_least: usize, at_most: usize) {
        let Some(value) = value else { return };
        let Some(text) = value.as_str() else {
            self.note(path, "must be a string");
            return;
        };
        let length = text.chars().count();
        if length > at_most {
            self.note(path, &format!("must be less than {} characters", at_most + 1));
        }
        if length < at_least {
            self.note(path, &format!("must be more than {} characters", at_least.saturating_sub(1)));
        }
    }

    pub(super) fn url(&mut self, value: Option<&Value>, path: &str) {
        self.string(value, path, 1, MAX_URL_CHARS);
        if let Some(url) = value.and_then(Value::as_str)
            && !url.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
            && !url.starts_with("mailto:")
        {
            self.note(path, "must be a valid URL");
        }
    }

    pub(super) fn flag(&mut self, value: Option<&Value>, path: &str) {
        if value.is_some_and(|v| !v.is_boolean()) {
            self.note(path, "must be a boolean");
        }
    }

    pub(super) fn one_of(&mut self, value: Option<&Value>, path: &str, allowed: &[&str]) {
        if let Some(value) = value
            && !value.as_str().is_some_and(|v| allowed.contains(&v))
        {
            self.note(path, &format!("must be one of: {}", allowed.join(", ")));
        }
    }

    /// A text object: `plain_text` or `mrkdwn`, never empty.
    pub(super) fn text(&mut self, value: Option<&Value>, path: &str, kind: TextKind, at_most: usize) {
        let Some(value) = value else { return };
        let optional: &[&str] = match value.get("type").and_then(Value::as_str) {
            Some("plain_text") => &["emoji"],
            Some("mrkdwn") if kind == TextKind::Any => &["verbatim"],
            Some(other) => {
                self.note(&format!("{path}/type"), &format!("unsupported type: {other}"));
                return;
            }
            None if value.is_object() => {
                self.note(path, "missing required field: type");
                return;
            }
            None => {
                self.note(path, "must be an object");
                return;
            }
        };
        if let Some(text) = self.object(value, path, &["text"], optional) {
            self.string(text.get("text"), &format!("{path}/text"), 1, at_most);
            self.flag(text.get("emoji"), &format!("{path}/emoji"));
            self.flag(text.get("verbatim"), &format!("{path}/verbatim"));
        }
    }

    pub(super) fn block_id(&mut self, block: &Value, path: &str) {
        let id_path = format!("{path}/block_id");
        self.string(block.get("block_id"), &id_path, 1, MAX_ID_CHARS);
        if let Some(id) = block.get("block_id").and_then(Value::as_str)
            && !self.block_ids.insert(id.to_owned())
        {
            self.note(&id_path, &format!("`block_id` {id} already exists"));
        }
    }

    /// Within one block every `action_id` is unique.
    pub(super) fn unique_actions<'v>(&mut self, elements: impl Iterator<Item = &'v Value>, path: &str) {
        let mut seen = BTreeSet::new();
        for id in elements.filter_map(|e| e.get("action_id")?.as_str()) {
            if !seen.insert(id) {
                self.note(path, &format!("`action_id` {id} already exists in this block"));
            }
        }
    }
}
