//! The elements of blocks: buttons, menus, inputs, options, confirm dialogs, and the parts of rich text and tables.

use serde_json::Value;

use super::check::{Check, MAX_ID_CHARS, TextKind};

/// The elements of an `actions` block.
const ACTIONS: &[&str] = &[
    "button",
    "overflow",
    "static_select",
    "external_select",
    "users_select",
    "conversations_select",
    "channels_select",
    "multi_static_select",
    "multi_users_select",
    "multi_conversations_select",
    "multi_channels_select",
    "datepicker",
    "timepicker",
    "datetimepicker",
    "checkboxes",
    "radio_buttons",
];

/// The styles of a piece of rich text.
const STYLES: &[&str] = &["bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementPosition {
    Actions,
    Accessory,
    Input,
}

impl Check {
    pub(super) fn element(&mut self, value: &Value, path: &str, position: ElementPosition) {
        let Some(kind) = value.get("type").and_then(Value::as_str) else {
            self.note(path, "missing required field: type");
            return;
        };
        let is_allowed = match (position, kind) {
            (ElementPosition::Accessory, "image") => return self.image_element(value, path),
            (ElementPosition::Input, "button" | "overflow") => false,
            (
                ElementPosition::Input,
                "plain_text_input" | "email_text_input" | "url_text_input" | "number_input" | "file_input",
            ) => true,
            _ => ACTIONS.contains(&kind),
        };
        if !is_allowed {
            self.note(&format!("{path}/type"), &format!("unsupported type: {kind}"));
            return;
        }
        self.string(value.get("action_id"), &format!("{path}/action_id"), 1, MAX_ID_CHARS);
        match kind {
            "button" => self.button(value, path),
            "overflow" => {
                if let Some(menu) = self.object(value, path, &["options"], &["action_id", "confirm"]) {
                    self.options(menu.get("options"), &format!("{path}/options"), 1, 5, true);
                    self.confirm(menu.get("confirm"), &format!("{path}/confirm"));
                }
            }
            "checkboxes" | "radio_buttons" => {
                let optional = &["action_id", "initial_option", "initial_options", "confirm", "focus_on_load"];
                if let Some(boxes) = self.object(value, path, &["options"], optional) {
                    self.options(boxes.get("options"), &format!("{path}/options"), 1, 10, false);
                    self.confirm(boxes.get("confirm"), &format!("{path}/confirm"));
                }
            }
            "plain_text_input" | "email_text_input" | "url_text_input" | "number_input" | "file_input" => {
                self.text_input(value, path);
            }
            _ => self.menu(value, path, kind),
        }
    }

    fn button(&mut self, value: &Value, path: &str) {
        let optional = &["action_id", "url", "value", "style", "confirm", "accessibility_label"];
        let Some(button) = self.object(value, path, &["text"], optional) else { return };
        self.text(button.get("text"), &format!("{path}/text"), TextKind::Plain, 75);
        self.string(button.get("value"), &format!("{path}/value"), 0, 2000);
        self.url(button.get("url"), &format!("{path}/url"));
        self.one_of(button.get("style"), &format!("{path}/style"), &["primary", "danger"]);
        self.string(button.get("accessibility_label"), &format!("{path}/accessibility_label"), 1, 75);
        self.confirm(button.get("confirm"), &format!("{path}/confirm"));
    }

    fn menu(&mut self, value: &Value, path: &str, kind: &str) {
        let optional = &[
            "action_id",
            "placeholder",
            "options",
            "option_groups",
            "initial_option",
            "initial_options",
            "initial_user",
            "initial_users",
            "initial_channel",
            "initial_channels",
            "initial_conversation",
            "initial_conversations",
            "initial_date",
            "initial_time",
            "initial_date_time",
            "default_to_current_conversation",
            "response_url_enabled",
            "filter",
            "timezone",
            "min_query_length",
            "max_selected_items",
            "confirm",
            "focus_on_load",
        ];
        let Some(menu) = self.object(value, path, &[], optional) else { return };
        self.text(menu.get("placeholder"), &format!("{path}/placeholder"), TextKind::Plain, 150);
        self.confirm(menu.get("confirm"), &format!("{path}/confirm"));
        if !matches!(kind, "static_select" | "multi_static_select") {
            return;
        }
        match (menu.get("options"), menu.get("option_groups")) {
            (Some(options), None) => self.options(Some(options), &format!("{path}/options"), 1, 100, false),
            (None, Some(groups)) => {
                let groups_path = format!("{path}/option_groups");
                for (n, group) in self.items(Some(groups), &groups_path, 1, 100).iter().enumerate() {
                    let path = format!("{groups_path}/{n}");
                    if let Some(group) = self.object(group, &path, &["label", "options"], &[]) {
                        self.text(group.get("label"), &format!("{path}/label"), TextKind::Plain, 75);
                        self.options(group.get("options"), &format!("{path}/options"), 1, 100, false);
                    }
                }
            }
            _ => self.note(path, "must define either `options` or `option_groups`"),
        }
    }

    fn text_input(&mut self, value: &Value, path: &str) {
        let optional = &[
            "action_id",
            "placeholder",
            "initial_value",
            "multiline",
            "min_length",
            "max_length",
            "dispatch_action_config",
            "focus_on_load",
            "is_decimal_allowed",
            "min_value",
            "max_value",
            "filetypes",
            "max_files",
        ];
        let Some(input) = self.object(value, path, &[], optional) else { return };
        self.text(input.get("placeholder"), &format!("{path}/placeholder"), TextKind::Plain, 150);
        self.string(input.get("initial_value"), &format!("{path}/initial_value"), 0, 3000);
        self.flag(input.get("multiline"), &format!("{path}/multiline"));
        for field in ["min_length", "max_length"] {
            if input.get(field).is_some_and(|n| n.as_u64().is_none_or(|n| n > 3000)) {
                self.note(&format!("{path}/{field}"), "must be a number from 0 to 3000");
            }
        }
    }

    fn options(&mut self, value: Option<&Value>, path: &str, at_least: usize, at_most: usize, with_url: bool) {
        let optional: &[&str] = if with_url { &["description", "url"] } else { &["description"] };
        for (n, option) in self.items(value, path, at_least, at_most).iter().enumerate() {
            let path = format!("{path}/{n}");
            let Some(option) = self.object(option, &path, &["text", "value"], optional) else { continue };
            self.text(option.get("text"), &format!("{path}/text"), TextKind::Any, 75);
            self.string(option.get("value"), &format!("{path}/value"), 1, 150);
            self.text(option.get("description"), &format!("{path}/description"), TextKind::Any, 75);
            self.url(option.get("url"), &format!("{path}/url"));
        }
    }

    fn confirm(&mut self, value: Option<&Value>, path: &str) {
        let Some(value) = value else { return };
        let Some(dialog) = self.object(value, path, &["title", "text", "confirm", "deny"], &["style"]) else { return };
        self.text(dialog.get("title"), &format!("{path}/title"), TextKind::Plain, 100);
        self.text(dialog.get("text"), &format!("{path}/text"), TextKind::Any, 300);
        self.text(dialog.get("confirm"), &format!("{path}/confirm"), TextKind::Plain, 30);
        self.text(dialog.get("deny"), &format!("{path}/deny"), TextKind::Plain, 30);
        self.one_of(dialog.get("style"), &format!("{path}/style"), &["primary", "danger"]);
    }

    pub(super) fn image_element(&mut self, value: &Value, path: &str) {
        let Some(image) = self.object(value, path, &["alt_text"], &["image_url", "slack_file"]) else { return };
        self.url(image.get("image_url"), &format!("{path}/image_url"));
        self.string(image.get("alt_text"), &format!("{path}/alt_text"), 1, 2000);
        if image.get("image_url").is_some() == image.get("slack_file").is_some() {
            self.note(path, "must define either `image_url` or `slack_file`");
        }
    }

    /// A `rich_text` block, or a cell of a table.
    pub(super) fn rich_text(&mut self, value: &Value, path: &str) {
        let Some(block) = self.object(value, path, &["elements"], &["block_id"]) else { return };
        let path = format!("{path}/elements");
        for (n, part) in self.items(block.get("elements"), &path, 1, usize::MAX).iter().enumerate() {
            self.rich_part(part, &format!("{path}/{n}"));
        }
    }

    fn rich_part(&mut self, value: &Value, path: &str) {
        let kind = value.get("type").and_then(Value::as_str);
        let (required, optional): (&[&str], &[&str]) = match kind {
            Some("rich_text_section") => (&["elements"], &[]),
            Some("rich_text_preformatted") => (&["elements"], &["border", "language"]),
            Some("rich_text_quote") => (&["elements"], &["border"]),
            Some("rich_text_list") => (&["elements", "style"], &["indent", "offset", "border"]),
            other => {
                return self.note(&format!("{path}/type"), &format!("unsupported type: {}", other.unwrap_or("none")));
            }
        };
        let Some(part) = self.object(value, path, required, optional) else { return };
        self.number(part.get("border"), &format!("{path}/border"), 1);
        self.number(part.get("indent"), &format!("{path}/indent"), 8);
        let is_list = kind == Some("rich_text_list");
        if is_list {
            self.one_of(part.get("style"), &format!("{path}/style"), &["bullet", "ordered"]);
        }
        let path = format!("{path}/elements");
        for (n, piece) in self.items(part.get("elements"), &path, 0, usize::MAX).iter().enumerate() {
            let path = format!("{path}/{n}");
            let piece_kind = piece.get("type").and_then(Value::as_str);
            match kind {
                _ if is_list && piece_kind == Some("rich_text_section") => self.rich_part(piece, &path),
                Some("rich_text_preformatted") if !matches!(piece_kind, Some("text" | "link")) => {
                    self.unsupported(piece_kind, &path);
                }
                _ if is_list => self.unsupported(piece_kind, &path),
                _ => self.rich_piece(piece, &path),
            }
        }
    }

    fn rich_piece(&mut self, value: &Value, path: &str) {
        let kind = value.get("type").and_then(Value::as_str);
        let (required, optional): (&[&str], &[&str]) = match kind {
            Some("text") => (&["text"], &["style"]),
            Some("link") => (&["url"], &["text", "unsafe", "style"]),
            Some("emoji") => (&["name"], &["unicode", "style", "skin_tone"]),
            Some("user") => (&["user_id"], &["style"]),
            Some("channel") => (&["channel_id"], &["style"]),
            Some("usergroup") => (&["usergroup_id"], &["style"]),
            Some("broadcast") => (&["range"], &["style"]),
            Some("color") => (&["value"], &["style"]),
            Some("date") => (&["timestamp", "format"], &["url", "fallback", "style"]),
            other => return self.unsupported(other, path),
        };
        let Some(piece) = self.object(value, path, required, optional) else { return };
        for field in required.iter().filter(|field| !matches!(**field, "url" | "timestamp")) {
            self.string(piece.get(*field), &format!("{path}/{field}"), 1, usize::MAX - 1);
        }
        self.url(piece.get("url"), &format!("{path}/url"));
        if let Some(style) = piece.get("style") {
            let path = format!("{path}/style");
            if let Some(style) = self.object(style, &path, &[], STYLES) {
                for (name, on) in style {
                    self.flag(Some(on), &format!("{path}/{name}"));
                }
            }
        }
    }

    fn unsupported(&mut self, kind: Option<&str>, path: &str) {
        self.note(&format!("{path}/type"), &format!("unsupported type: {}", kind.unwrap_or("none")));
    }

    fn number(&mut self, value: Option<&Value>, path: &str, at_most: u64) {
        if value.is_some_and(|value| value.as_u64().is_none_or(|number| number > at_most)) {
            self.note(path, &format!("must be a number from 0 to {at_most}"));
        }
    }

    pub(super) fn cell(&mut self, value: &Value, path: &str) {
        match value.get("type").and_then(Value::as_str) {
            Some("raw_text") => {
                if let Some(cell) = self.object(value, path, &["text"], &[]) {
                    self.string(cell.get("text"), &format!("{path}/text"), 1, usize::MAX - 1);
                }
            }
            Some("rich_text") => self.rich_text(value, path),
            other => self.note(&format!("{path}/type"), &format!("unsupported type: {}", other.unwrap_or("none"))),
        }
    }
}
