//! Each limit of Block Kit at its maximum, and one beyond.

use serde_json::{Value, json};

use super::{check_message, check_view, fill_in_ids};

fn x(length: usize) -> String {
    "x".repeat(length)
}

fn plain(length: usize) -> Value {
    json!({ "type": "plain_text", "text": x(length) })
}

fn mrkdwn(length: usize) -> Value {
    json!({ "type": "mrkdwn", "text": x(length) })
}

fn actions(elements: &[Value]) -> Value {
    json!({ "type": "actions", "elements": elements })
}

fn button(with: &Value) -> Value {
    let mut button = json!({ "type": "button", "text": plain(1) });
    for (name, value) in with.as_object().unwrap() {
        button[name] = value.clone();
    }
    button
}

fn confirm(title: usize, text: usize, confirm_chars: usize, deny_chars: usize) -> Value {
    actions(&[button(&json!({
        "confirm": { "title": plain(title), "text": mrkdwn(text), "confirm": plain(confirm_chars), "deny": plain(deny_chars) }
    }))])
}

fn table(rows: usize, columns: usize) -> Value {
    let cell = json!({ "type": "raw_text", "text": "x" });
    json!({ "type": "table", "rows": vec![vec![cell; columns]; rows] })
}

fn numbered(count: usize, make: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..count).map(make).collect()
}

#[track_caller]
fn verdict(blocks: &Value) -> Result<(), String> {
    check_message(blocks, false).map(drop).map_err(|e| e.code.to_owned())
}

/// A limit: its name, the maximum, and a function that makes a block of a given size.
type Limit = (&'static str, usize, fn(usize) -> Value);

#[test]
fn every_limit_is_allowed_and_one_beyond_is_refused() {
    let limits: &[Limit] = &[
        ("section text", 3000, |n| json!({ "type": "section", "text": mrkdwn(n) })),
        ("section field", 2000, |n| json!({ "type": "section", "fields": [mrkdwn(n)] })),
        ("section fields", 10, |n| json!({ "type": "section", "fields": vec![mrkdwn(1); n] })),
        ("header", 150, |n| json!({ "type": "header", "text": plain(n) })),
        ("context elements", 10, |n| json!({ "type": "context", "elements": vec![mrkdwn(1); n] })),
        ("actions", 25, |n| actions(&numbered(n, |i| button(&json!({ "action_id": format!("a{i}") }))))),
        ("button text", 75, |n| actions(&[json!({ "type": "button", "text": plain(n) })])),
        ("button value", 2000, |n| actions(&[button(&json!({ "value": x(n) }))])),
        ("button url", 3000, |n| actions(&[button(&json!({ "url": format!("https://{}", x(n - 8)) }))])),
        ("accessibility label", 75, |n| actions(&[button(&json!({ "accessibility_label": x(n) }))])),
        ("action_id", 255, |n| actions(&[button(&json!({ "action_id": x(n) }))])),
        ("block_id", 255, |n| json!({ "type": "divider", "block_id": x(n) })),
        ("confirm title", 100, |n| confirm(n, 1, 1, 1)),
        ("confirm text", 300, |n| confirm(1, n, 1, 1)),
        ("confirm button", 30, |n| confirm(1, 1, n, 1)),
        ("confirm deny", 30, |n| confirm(1, 1, 1, n)),
        ("table rows", 100, |n| table(n, 2)),
        ("table columns", 20, |n| table(2, n)),
        ("table column settings", 20, |n| {
            let mut table = table(1, 1);
            table["column_settings"] = json!(vec![json!({ "align": "right", "is_wrapped": true }); n]);
            table
        }),
        ("markdown", 12_000, |n| json!({ "type": "markdown", "text": x(n) })),
        ("image alt text", 2000, |n| json!({ "type": "image", "image_url": "https://x.test/a.png", "alt_text": x(n) })),
        ("overflow options", 5, |n| {
            let options = numbered(n, |i| json!({ "text": plain(1), "value": format!("{i}") }));
            actions(&[json!({ "type": "overflow", "options": options })])
        }),
        ("select options", 100, |n| {
            let options = numbered(n, |i| json!({ "text": plain(1), "value": format!("{i}") }));
            actions(&[json!({ "type": "static_select", "options": options })])
        }),
        ("option text", 75, |n| {
            actions(&[json!({ "type": "static_select", "options": [{ "text": plain(n), "value": "v" }] })])
        }),
        ("option value", 150, |n| {
            actions(&[json!({ "type": "static_select", "options": [{ "text": plain(1), "value": x(n) }] })])
        }),
        ("placeholder", 150, |n| {
            let options = json!([{ "text": plain(1), "value": "v" }]);
            actions(&[json!({ "type": "static_select", "options": options, "placeholder": plain(n) })])
        }),
    ];
    for (name, max, make) in limits {
        assert_eq!(verdict(&json!([make(*max)])), Ok(()), "{name} at {max}");
        assert_eq!(verdict(&json!([make(max + 1)])), Err("invalid_blocks".to_owned()), "{name} one beyond {max}");
    }
}

#[test]
fn a_message_may_have_fifty_blocks_and_a_view_a_hundred() {
    let dividers = |n| json!(vec![json!({ "type": "divider" }); n]);
    assert_eq!(verdict(&dividers(50)), Ok(()));
    let refused = check_message(&dividers(51), false).unwrap_err();
    assert_eq!(refused.messages, ["no more than 50 items allowed [json-pointer:/blocks]"]);
    let view = |n| json!({ "type": "modal", "title": plain(1), "blocks": dividers(n) });
    assert!(check_view(&view(100), "modal").is_ok());
    assert!(check_view(&view(101), "modal").is_err());
}

#[test]
fn all_blocks_together_may_have_13200_characters() {
    let sections = |last| {
        let mut all = vec![json!({ "type": "section", "text": mrkdwn(3000) }); 4];
        all.push(json!({ "type": "section", "text": mrkdwn(last) }));
        json!(all)
    };
    assert_eq!(verdict(&sections(1200)), Ok(()));
    assert_eq!(verdict(&sections(1201)), Err("msg_blocks_too_long".to_owned()));
}

#[test]
fn markdown_blocks_share_one_limit() {
    let markdown = |n| json!({ "type": "markdown", "text": x(n) });
    assert_eq!(verdict(&json!([markdown(6000), markdown(6000)])), Ok(()));
    assert_eq!(verdict(&json!([markdown(6000), markdown(6001)])), Err("invalid_blocks".to_owned()));
}

#[test]
fn a_view_has_its_own_limits() {
    let view = |field: &str, value: Value| {
        let mut view = json!({ "type": "modal", "title": plain(1), "blocks": [] });
        view[field] = value;
        check_view(&view, "modal").map_err(|e| e.code)
    };
    for field in ["title", "submit", "close"] {
        assert_eq!(view(field, plain(24)), Ok(()), "{field}");
        assert_eq!(view(field, plain(25)), Err("invalid_arguments"), "{field}");
    }
    for (field, max) in [("private_metadata", 3000), ("callback_id", 255), ("external_id", 255)] {
        assert_eq!(view(field, json!(x(max))), Ok(()), "{field}");
        assert_eq!(view(field, json!(x(max + 1))), Err("invalid_arguments"), "{field}");
    }
    let input = json!([{ "type": "input", "label": plain(2000), "element": { "type": "plain_text_input" } }]);
    assert_eq!(view("blocks", input.clone()), Err("invalid_arguments"), "an input needs a submit button");
    let with_submit = json!({ "type": "modal", "title": plain(1), "submit": plain(1), "blocks": input });
    assert!(check_view(&with_submit, "modal").is_ok());
    assert!(check_view(&with_submit, "home").is_err(), "a modal is not a home");
    let table = json!([table(1, 1)]);
    assert_eq!(view("blocks", table), Err("invalid_arguments"), "tables are allowed in messages only");
}

#[test]
fn invalid_blocks_are_refused_with_a_json_pointer() {
    let cases = [
        (json!([{ "type": "sparkline" }]), "unsupported type: sparkline [json-pointer:/blocks/0/type]"),
        (json!([{ "text": "x" }]), "missing required field: type [json-pointer:/blocks/0]"),
        (json!([{ "type": "section" }]), "must define either `text` or `fields` [json-pointer:/blocks/0]"),
        (
            json!([{ "type": "section", "text": mrkdwn(0) }]),
            "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
        ),
        (json!([{ "type": "section", "text": "bare" }]), "must be an object [json-pointer:/blocks/0/text]"),
        (
            json!([{ "type": "section", "text": { "type": "mrkdwn", "text": "x", "emoji": true } }]),
            "invalid additional property: emoji [json-pointer:/blocks/0/text]",
        ),
        (
            json!([{ "type": "header", "text": mrkdwn(1) }]),
            "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
        ),
        (
            json!([{ "type": "divider", "colour": "red" }]),
            "invalid additional property: colour [json-pointer:/blocks/0]",
        ),
        (json!([actions(&[])]), "no fewer than 1 items required [json-pointer:/blocks/0/elements]"),
        (
            json!([actions(&[button(&json!({ "style": "loud" }))])]),
            "must be one of: primary, danger [json-pointer:/blocks/0/elements/0/style]",
        ),
        (
            json!([actions(&[json!({ "type": "plain_text_input" })])]),
            "unsupported type: plain_text_input [json-pointer:/blocks/0/elements/0/type]",
        ),
        (
            json!([{ "type": "table", "rows": [[{ "type": "raw_text", "text": "" }]] }]),
            "must be more than 0 characters [json-pointer:/blocks/0/rows/0/0/text]",
        ),
        (
            json!([{ "type": "divider", "block_id": "b" }, { "type": "divider", "block_id": "b" }]),
            "`block_id` b already exists [json-pointer:/blocks/1/block_id]",
        ),
        (
            json!([actions(&[button(&json!({ "action_id": "a" })), button(&json!({ "action_id": "a" }))])]),
            "`action_id` a already exists in this block [json-pointer:/blocks/0/elements]",
        ),
        (
            json!([actions(&[button(&json!({ "url": "nowhere" }))])]),
            "must be a valid URL [json-pointer:/blocks/0/elements/0/url]",
        ),
    ];
    for (blocks, message) in cases {
        let refused = check_message(&blocks, false).unwrap_err();
        assert_eq!((refused.code, refused.messages), ("invalid_blocks", vec![message.to_owned()]), "{blocks}");
    }
}

#[test]
fn blocks_that_are_not_a_list_have_their_own_error() {
    assert_eq!(verdict(&json!({ "blocks": [] })), Err("invalid_blocks_format".to_owned()));
}

#[test]
fn a_message_may_have_one_table_and_in_some_workspaces_none() {
    assert_eq!(verdict(&json!([table(1, 1), table(1, 1)])), Err("invalid_attachments".to_owned()));
    let refused = check_message(&json!([table(1, 1)]), true).unwrap_err();
    assert_eq!(refused.messages, ["unsupported type: table [json-pointer:/blocks/0/type]"]);
}

#[test]
fn rich_text_is_checked_down_to_its_pieces() {
    let rich = |piece: Value| {
        json!([{ "type": "rich_text", "elements": [
            { "type": "rich_text_list", "style": "bullet", "elements": [
                { "type": "rich_text_section", "elements": [piece] }
            ] }
        ] }])
    };
    assert_eq!(verdict(&rich(json!({ "type": "text", "text": "x", "style": { "bold": true } }))), Ok(()));
    assert_eq!(verdict(&rich(json!({ "type": "link", "url": "https://x.test", "text": "x" }))), Ok(()));
    assert_eq!(verdict(&rich(json!({ "type": "text" }))), Err("invalid_blocks".to_owned()));
    assert_eq!(verdict(&rich(json!({ "type": "blink", "text": "x" }))), Err("invalid_blocks".to_owned()));
    let style = |style: Value| verdict(&rich(json!({ "type": "text", "text": "x", "style": style })));
    assert_eq!(style(json!({ "bold": true, "strike": true, "code": true, "italic": false })), Ok(()));
    for invalid in [json!("bold"), json!({ "bold": "yes" }), json!({ "loud": true })] {
        assert_eq!(style(invalid.clone()), Err("invalid_blocks".to_owned()), "{invalid}");
    }
    assert_eq!(verdict(&rich(json!({ "type": "text", "text": "" }))), Err("invalid_blocks".to_owned()));
    assert_eq!(verdict(&rich(json!({ "type": "user", "user_id": 7 }))), Err("invalid_blocks".to_owned()));
}

#[test]
fn each_part_of_rich_text_allows_only_its_own_elements() {
    let text = json!({ "type": "text", "text": "x" });
    let emoji = json!({ "type": "emoji", "name": "tada" });
    let section = json!({ "type": "rich_text_section", "elements": [text, emoji] });
    let part = |part: Value| verdict(&json!([{ "type": "rich_text", "elements": [part] }]));
    assert_eq!(part(section.clone()), Ok(()));
    assert_eq!(part(json!({ "type": "rich_text_preformatted", "elements": [text], "border": 1 })), Ok(()));
    assert_eq!(part(json!({ "type": "rich_text_quote", "elements": [text, emoji], "border": 0 })), Ok(()));
    assert_eq!(
        part(json!({ "type": "rich_text_list", "style": "ordered", "elements": [section], "indent": 8 })),
        Ok(())
    );
    for invalid in [
        json!({ "type": "rich_text_section" }),
        json!({ "type": "rich_text_section", "elements": [section] }),
        json!({ "type": "rich_text_section", "elements": [text], "border": 1 }),
        json!({ "type": "rich_text_preformatted", "elements": [emoji] }),
        json!({ "type": "rich_text_quote", "elements": [text], "border": 2 }),
        json!({ "type": "rich_text_list", "elements": [section] }),
        json!({ "type": "rich_text_list", "style": "bullet", "elements": [text] }),
        json!({ "type": "rich_text_list", "style": "bullet", "elements": [section], "indent": 9 }),
        text,
    ] {
        assert_eq!(part(invalid.clone()), Err("invalid_blocks".to_owned()), "{invalid}");
    }
    assert_eq!(verdict(&json!([{ "type": "rich_text", "elements": [] }])), Err("invalid_blocks".to_owned()));
}

#[test]
fn missing_ids_are_added_and_existing_ones_kept() {
    let mut blocks = vec![
        actions(&[button(&json!({})), button(&json!({ "action_id": "mine" }))]),
        json!({ "type": "section", "block_id": "b", "text": mrkdwn(1), "accessory": button(&json!({})) }),
    ];
    let mut count = 0;
    fill_in_ids(&mut blocks, || {
        count += 1;
        format!("id{count}")
    });
    assert_eq!(blocks[0]["block_id"], "id1");
    assert_eq!(blocks[0]["elements"][0]["action_id"], "id2");
    assert_eq!(blocks[0]["elements"][1]["action_id"], "mine");
    assert_eq!(blocks[1]["block_id"], "b");
    assert_eq!(blocks[1]["accessory"]["action_id"], "id3");
}
