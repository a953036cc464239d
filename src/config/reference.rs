//! Renders the reference of the configuration: the schema as a Markdown page, and the variables. A test compares it
//! with the end of `docs/configuration.md`.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::build_schema;
use super::secrets::KNOWN_VARIABLES;

const HEAD: &str = "## Reference

Unknown keys are errors. Keys in bold are required. A duration is a number with a unit: `90s`, `30m`, `1h30m`. A member is a Slack
user group (`@release-managers`), a person (`U024BE7LH`) or a GitHub team (`github:acme/sre`).
";

const VARIABLES: &str = "
## Variables

Secrets are not in the file. Each variable can also be given as `<NAME>_FILE`, the path of a file that holds the value. Gantry does
not start if a variable is empty, or is set in both ways. If a variable is missing, only the functions that need it are refused. The
same rules apply to the variables of `webhook_secret: { env: ... }`.

| variable | meaning |
|---|---|
";

const PLAIN_VARIABLES: &str = "
Two variables are not secrets and have no `_FILE`: `KUBECONFIG` is the path of a kubeconfig, used if the file has no `kubeconfig`.
`RUST_LOG` selects the log lines. Default: `warn,gantry=info`.
";

/// The reference, in Markdown.
pub fn render_reference() -> String {
    let schema = build_schema();
    let mut page = ReferencePage { root: &schema, text: HEAD.to_owned() };
    page.write_section(None, &schema);
    let mut text = page.text + VARIABLES;
    for (name, description) in KNOWN_VARIABLES {
        let _ = writeln!(text, "| `{name}` | {description} |");
    }
    text + PLAIN_VARIABLES
}

struct ReferencePage<'a> {
    root: &'a Value,
    text: String,
}

impl<'a> ReferencePage<'a> {
    /// Writes a table of the keys at `path`, then a section for each key that has keys of its own.
    fn write_section(&mut self, path: Option<&str>, schema: &'a Value) {
        let heading = path.map_or_else(|| "The file".to_owned(), |path| format!("`{path}`"));
        let _ = writeln!(self.text, "\n### {heading}\n\n| key | meaning | value | example |\n|---|---|---|---|");
        let mut inner = Vec::new();
        for (key, property) in list_keys(schema) {
            let key_path = path.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}"));
            let value = self.describe_value(&key_path, property, &mut inner);
            let bold = if is_required(schema, key) { "**" } else { "" };
            // The key of a `oneOf` variant has no description of its own; the variant has it.
            let description = property["description"].as_str().or(schema["description"].as_str()).unwrap_or_default();
            let description = description.replace('\n', " ");
            let example = property["examples"][0].clone();
            let example = if example.is_null() { String::new() } else { format!("`{}`", format_yaml(&example)) };
            let _ = writeln!(self.text, "| {bold}`{key}`{bold} | {description} | {value} | {example} |");
        }
        for (path, schema) in inner {
            self.write_section(Some(&path), schema);
        }
    }

    /// Describes the allowed values in words. Objects with keys of their own are added to `inner`.
    fn describe_value(&self, path: &str, schema: &'a Value, inner: &mut Vec<(String, &'a Value)>) -> String {
        if let Some(reference) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            return self
                .root
                .pointer(reference)
                .map_or_else(String::new, |found| self.describe_value(path, found, inner));
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            let choices: Vec<_> = choices.iter().map(|choice| self.describe_value(path, choice, inner)).collect();
            return choices.join(" or ");
        }
        if let Some(choices) = schema["enum"].as_array() {
            let choices: Vec<_> = choices.iter().map(|choice| format!("`{}`", format_yaml(choice))).collect();
            return choices.join(" or ");
        }
        if !schema["const"].is_null() {
            return format!("`{}`", format_yaml(&schema["const"]));
        }
        match schema["type"].as_str() {
            Some("boolean") => "`true` or `false`".to_owned(),
            Some("integer") => format!("{} to {}", schema["minimum"], schema["maximum"]),
            Some("array") => format!("a list: {}", self.describe_value(&format!("{path}[]"), &schema["items"], inner)),
            Some("object") if schema["additionalProperties"].is_object() => {
                let path = format!("{path}.<name>");
                format!("for each name: {}", self.describe_value(&path, &schema["additionalProperties"], inner))
            }
            Some("object") => {
                let link = format!("[keys](#{})", format_anchor(path));
                inner.push((path.to_owned(), schema));
                link
            }
            _ => "text".to_owned(),
        }
    }
}

/// The required keys in their declared order, then the optional keys by name.
fn list_keys(schema: &Value) -> Vec<(&str, &Value)> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let first = required.filter_map(|key| Some((key, properties.get(key)?)));
    let rest = properties.iter().map(|(key, property)| (key.as_str(), property));
    first.chain(rest.filter(|(key, _)| !is_required(schema, key))).collect()
}

fn is_required(schema: &Value, key: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == key)
}

/// Formats a value so that it can be copied into the file. JSON is valid YAML; plain words need no quotes.
fn format_yaml(value: &Value) -> String {
    let is_plain = |text: &&str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte));
    match value.as_str().filter(is_plain) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// The anchor that GitHub gives a heading.
fn format_anchor(heading: &str) -> String {
    heading
        .chars()
        .filter(|character| character.is_alphanumeric() || "-_".contains(*character))
        .collect::<String>()
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn docs_configuration_has_this_reference() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        let page = std::fs::read_to_string(path).unwrap();
        let reference = &page[page.find("## Reference").unwrap()..];
        assert!(reference == render_reference(), "replace it by the output of: cargo run -- schema --markdown");
    }

    #[test]
    fn the_reference_has_every_key_and_only_valid_links() {
        fn count(schema: &Value) -> usize {
            let here = schema["properties"].as_object().map_or(0, serde_json::Map::len);
            here + schema["$defs"].as_object().into_iter().flatten().map(|(_, schema)| count(schema)).sum::<usize>()
        }
        let page = render_reference();
        let file = page.split("## Variables").next().unwrap();
        let rows = file.lines().filter(|line| line.starts_with("| `") || line.starts_with("| **`")).count();
        // `manifest` is the only key inside a `oneOf` variant.
        assert_eq!(rows, count(&build_schema()) + 1);
        let headings: Vec<_> = file.lines().filter_map(|line| line.strip_prefix("### ")).map(format_anchor).collect();
        assert_eq!(headings.iter().collect::<BTreeSet<_>>().len(), headings.len());
        let links = file.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links {
            assert!(headings.iter().any(|heading| heading == link), "{link}");
        }
    }
}
