//! The arguments of a Web API call, from the query, a form or JSON.

use serde_json::{Map, Value};

use super::{ApiError, invalid_argument};

/// Methods that only read. Slack takes their arguments from the query and the form, and ignores a JSON body.
const WITHOUT_JSON: &[&str] = &[
    "chat.getPermalink",
    "conversations.info",
    "conversations.list",
    "conversations.members",
    "files.getUploadURLExternal",
    "usergroups.list",
    "usergroups.users.list",
    "users.info",
    "users.list",
    "users.lookupByEmail",
];

pub(super) fn takes_json(method: &str) -> bool {
    !WITHOUT_JSON.contains(&method)
}

#[derive(Debug, Default)]
pub(super) struct Params(pub(super) Map<String, Value>);

impl Params {
    pub(super) fn add(&mut self, pairs: Vec<(String, String)>) {
        self.0.extend(pairs.into_iter().map(|(name, value)| (name, Value::String(value))));
    }

    /// A scalar as text. An empty one counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<String, ApiError> {
        self.text(name).ok_or_else(|| invalid_argument(&format!("missing required field: {name}")))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).as_deref(), Some("true" | "1"))
    }

    /// A structure: as JSON, or as a string of JSON, as forms need it. `Err` if the string is not JSON.
    pub(super) fn structure(&self, name: &str) -> Result<Option<Value>, serde_json::Error> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text).map(Some),
            Some(other) => Ok(Some(other.clone())),
        }
    }

    /// Ids, as a list or separated by commas.
    pub(super) fn ids(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => {
                text.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// One page of `all` by `limit` and `cursor`, and the cursor of the next one (empty at the end).
    pub(super) fn page<T>(&self, all: Vec<T>) -> Result<(Vec<T>, String), ApiError> {
        let start = match self.text("cursor") {
            None => 0,
            Some(cursor) => cursor.strip_prefix("next:").and_then(|n| n.parse().ok()).ok_or("invalid_cursor")?,
        };
        let limit = match self.text("limit") {
            None => 100,
            Some(limit) => match limit.parse::<usize>() {
                Ok(0) => 100,
                Ok(limit) if limit <= 1000 => limit,
                _ => return Err("invalid_limit".into()),
            },
        };
        let total = all.len();
        let page: Vec<T> = all.into_iter().skip(start).take(limit).collect();
        let end = start + page.len();
        Ok((page, if end < total { format!("next:{end}") } else { String::new() }))
    }
}
