//! Block Kit's limits, enforced as Slack enforces them: blocks that Slack would refuse are refused here.
//! This file knows only JSON. The caller knows the sender and the place.

mod check;
mod elements;
#[cfg(test)]
mod rendered;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use self::check::{Check, MAX_ID_CHARS, TextKind};
use self::elements::ElementPosition;

const BLOCKS_IN_MESSAGE: usize = 50;
const BLOCKS_IN_VIEW: usize = 100;
const CHARACTERS_IN_MESSAGE: usize = 13_200;
const MARKDOWN_IN_MESSAGE: usize = 12_000;
const TABLE_ROWS: usize = 100;
const TABLE_COLUMNS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surface {
    Message,
    View,
}

/// Slack's error code, and messages that say where the problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invalid {
    pub(super) code: &'static str,
    pub(super) messages: Vec<String>,
}

impl Invalid {
    fn from_code(code: &'static str) -> Self {
        Self { code, messages: Vec::new() }
    }
}

/// Checks the blocks of a message. With `refuse_tables`, the workspace does not support table blocks yet.
pub(super) fn check_message(blocks: &Value, refuse_tables: bool) -> Result<Vec<Value>, Invalid> {
    let Some(blocks_list) = blocks.as_array() else { return Err(Invalid::from_code("invalid_blocks_format")) };
    let mut check = Check::default();
    check.items(Some(blocks), "/blocks", 0, BLOCKS_IN_MESSAGE);
    for (n, block) in blocks_list.iter().enumerate() {
        let path = format!("/blocks/{n}");
        if refuse_tables && block["type"] == "table" {
            check.note(&format!("{path}/type"), "unsupported type: table");
        } else {
            check.block(block, &path, Surface::Message);
        }
    }
    let markdown: usize = blocks_list.iter().filter(|b| b["type"] == "markdown").map(characters).sum();
    if markdown > MARKDOWN_IN_MESSAGE {
        check.note("/blocks", &format!("markdown must be less than {} characters", MARKDOWN_IN_MESSAGE + 1));
    }
    if !check.problems.is_empty() {
        return Err(Invalid { code: "invalid_blocks", messages: check.problems });
    }
    if blocks_list.iter().filter(|b| b["type"] == "table").count() > 1 {
        return Err(Invalid { code: "invalid_attachments", messages: vec!["only_one_table_allowed".to_owned()] });
    }
    if characters(blocks) > CHARACTERS_IN_MESSAGE {
        return Err(Invalid::from_code("msg_blocks_too_long"));
    }
    Ok(blocks_list.clone())
}

/// Checks a modal or an App Home.
pub(super) fn check_view(view: &Value, kind: &str) -> Result<(), Invalid> {
    let mut check = Check::default();
    let optional: &[&str] = match kind {
        "modal" => &[
            "title",
            "submit",
            "close",
            "private_metadata",
            "callback_id",
            "external_id",
            "clear_on_close",
            "notify_on_close",
            "submit_disabled",
        ],
        _ => &["private_metadata", "callback_id", "external_id"],
    };
    if view["type"] != kind {
        check.note("/view/type", &format!("must be {kind}"));
    }
    if let Some(fields) = check.object(view, "/view", &["blocks"], optional) {
        for field in ["title", "submit", "close"] {
            check.text(fields.get(field), &format!("/view/{field}"), TextKind::Plain, 24);
        }
        check.string(fields.get("private_metadata"), "/view/private_metadata", 0, 3000);
        check.string(fields.get("callback_id"), "/view/callback_id", 0, MAX_ID_CHARS);
        check.string(fields.get("external_id"), "/view/external_id", 0, MAX_ID_CHARS);
        let blocks = check.items(fields.get("blocks"), "/view/blocks", 0, BLOCKS_IN_VIEW);
        for (n, block) in blocks.iter().enumerate() {
            check.block(block, &format!("/view/blocks/{n}"), Surface::View);
        }
        if kind == "modal" && !fields.contains_key("title") {
            check.note("/view", "missing required field: title");
        }
        if kind == "modal" && !fields.contains_key("submit") && blocks.iter().any(|b| b["type"] == "input") {
            check.note("/view", "`submit` must be set when there is an input block");
        }
    }
    if check.problems.is_empty() {
        Ok(())
    } else {
        Err(Invalid { code: "invalid_arguments", messages: check.problems })
    }
}

/// Adds a missing `block_id` and `action_id`, as Slack does.
pub(super) fn fill_in_ids(blocks: &mut [Value], mut next: impl FnMut() -> String) {
    for block in blocks {
        let Some(block) = block.as_object_mut() else { continue };
        if !block.contains_key("block_id") {
            block.insert("block_id".to_owned(), json!(next()));
        }
        let interactive = match block["type"].as_str() {
            Some("actions") => block.get_mut("elements").and_then(Value::as_array_mut),
            _ => None,
        };
        for element in interactive.into_iter().flatten() {
            if element.get("action_id").is_none() {
                element["action_id"] = json!(next());
            }
        }
        for field in ["accessory", "element"] {
            if let Some(element) = block.get_mut(field)
                && element["type"] != "image"
                && element.get("action_id").is_none()
            {
                element["action_id"] = json!(next());
            }
        }
    }
}

/// The number of visible characters.
fn characters(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "text" => text.chars().count(),
                Value::String(_) => 0,
                other => characters(other),
            })
            .sum(),
        _ => 0,
    }
}

impl Check {
    fn block(&mut self, block: &Value, path: &str, surface: Surface) {
        let Some(kind) = block.get("type").and_then(Value::as_str) else {
            self.note(path, "missing required field: type");
            return;
        };
        self.block_id(block, path);
        match kind {
            "section" => self.section(block, path),
            "divider" => {
                self.object(block, path, &[], &["block_id"]);
            }
            "header" => {
                if let Some(header) = self.object(block, path, &["text"], &["block_id"]) {
                    self.text(header.get("text"), &format!("{path}/text"), TextKind::Plain, 150);
                }
            }
            "context" => self.context(block, path),
            "actions" => {
                let Some(actions) = self.object(block, path, &["elements"], &["block_id"]) else { return };
                let path = format!("{path}/elements");
                let elements = self.items(actions.get("elements"), &path, 1, 25);
                for (n, element) in elements.iter().enumerate() {
                    self.element(element, &format!("{path}/{n}"), ElementPosition::Actions);
                }
                self.unique_actions(elements.iter(), &path);
            }
            "image" => self.image(block, path),
            "input" => self.input(block, path),
            "rich_text" => self.rich_text(block, path),
            "markdown" if surface == Surface::Message => {
                if let Some(markdown) = self.object(block, path, &["text"], &["block_id"]) {
                    self.string(markdown.get("text"), &format!("{path}/text"), 1, MARKDOWN_IN_MESSAGE);
                }
            }
            "table" if surface == Surface::Message => self.table(block, path),
            other => self.note(&format!("{path}/type"), &format!("unsupported type: {other}")),
        }
    }

    fn section(&mut self, block: &Value, path: &str) {
        let optional = &["block_id", "text", "fields", "accessory", "expand"];
        let Some(section) = self.object(block, path, &[], optional) else { return };
        if !section.contains_key("text") && !section.contains_key("fields") {
            self.note(path, "must define either `text` or `fields`");
        }
        self.text(section.get("text"), &format!("{path}/text"), TextKind::Any, 3000);
        let fields_path = format!("{path}/fields");
        for (n, field) in self.items(section.get("fields"), &fields_path, 1, 10).iter().enumerate() {
            self.text(Some(field), &format!("{fields_path}/{n}"), TextKind::Any, 2000);
        }
        if let Some(accessory) = section.get("accessory") {
            self.element(accessory, &format!("{path}/accessory"), ElementPosition::Accessory);
        }
        self.flag(section.get("expand"), &format!("{path}/expand"));
    }

    fn context(&mut self, block: &Value, path: &str) {
        let Some(context) = self.object(block, path, &["elements"], &["block_id"]) else { return };
        let path = format!("{path}/elements");
        for (n, element) in self.items(context.get("elements"), &path, 1, 10).iter().enumerate() {
            let path = format!("{path}/{n}");
            if element["type"] == "image" {
                self.image_element(element, &path);
            } else {
                self.text(Some(element), &path, TextKind::Any, 3000);
            }
        }
    }

    fn image(&mut self, block: &Value, path: &str) {
        let optional = &["block_id", "title", "image_url", "slack_file"];
        let Some(image) = self.object(block, path, &["alt_text"], optional) else { return };
        self.url(image.get("image_url"), &format!("{path}/image_url"));
        self.string(image.get("alt_text"), &format!("{path}/alt_text"), 1, 2000);
        self.text(image.get("title"), &format!("{path}/title"), TextKind::Plain, 2000);
        if image.contains_key("image_url") == image.contains_key("slack_file") {
            self.note(path, "must define either `image_url` or `slack_file`");
        }
    }

    fn input(&mut self, block: &Value, path: &str) {
        let optional = &["block_id", "dispatch_action", "hint", "optional"];
        let Some(input) = self.object(block, path, &["label", "element"], optional) else { return };
        self.text(input.get("label"), &format!("{path}/label"), TextKind::Plain, 2000);
        self.text(input.get("hint"), &format!("{path}/hint"), TextKind::Plain, 2000);
        self.flag(input.get("optional"), &format!("{path}/optional"));
        self.flag(input.get("dispatch_action"), &format!("{path}/dispatch_action"));
        if let Some(element) = input.get("element") {
            self.element(element, &format!("{path}/element"), ElementPosition::Input);
        }
    }

    fn table(&mut self, block: &Value, path: &str) {
        let Some(table) = self.object(block, path, &["rows"], &["block_id", "column_settings"]) else { return };
        let rows_path = format!("{path}/rows");
        for (n, row) in self.items(table.get("rows"), &rows_path, 1, TABLE_ROWS).iter().enumerate() {
            let row_path = format!("{rows_path}/{n}");
            for (m, cell) in self.items(Some(row), &row_path, 1, TABLE_COLUMNS).iter().enumerate() {
                self.cell(cell, &format!("{row_path}/{m}"));
            }
        }
        let settings_path = format!("{path}/column_settings");
        for (n, setting) in
            self.items(table.get("column_settings"), &settings_path, 0, TABLE_COLUMNS).iter().enumerate()
        {
            let path = format!("{settings_path}/{n}");
            // `null` skips a column that keeps its defaults.
            if setting.is_null() {
                continue;
            }
            if let Some(setting) = self.object(setting, &path, &[], &["align", "is_wrapped"]) {
                self.one_of(setting.get("align"), &format!("{path}/align"), &["left", "center", "right"]);
                self.flag(setting.get("is_wrapped"), &format!("{path}/is_wrapped"));
            }
        }
    }
}
