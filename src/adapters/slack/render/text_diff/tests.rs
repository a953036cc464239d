//! Rendered differences: from one word to more than a message can hold, in several scripts.

use insta::assert_snapshot;
use serde_json::Value;

use super::*;
use crate::adapters::slack::render::Rendered;
use crate::domain::model::message::{Destination, Message, MessageKey};

fn message(old: &str, new: &str, max: usize) -> (Message, bool) {
    let shown = render_text_diff(&LineDiff::from_texts(old, new), max);
    let rendered = Rendered { text: "what differs".into(), blocks: shown.blocks };
    (rendered.into_message(Destination::Edit { key: MessageKey::new("diff") }), shown.is_truncated)
}

fn pieces_of(message: &Message) -> Vec<Value> {
    message.blocks[0]["elements"][0]["elements"].as_array().unwrap().clone()
}

/// Code unchanged, bold in `*`, struck text in `~`, italics in `_`.
fn render_diff_text(old: &str, new: &str) -> String {
    let mark = |piece: &Value| {
        let mut text = piece["text"].as_str().unwrap().to_owned();
        for (style, mark) in [("bold", "*"), ("strike", "~"), ("italic", "_")] {
            if piece["style"][style] == true {
                text = format!("{mark}{text}{mark}");
            }
        }
        text
    };
    pieces_of(&message(old, new, MAX_CHARACTERS).0).iter().map(mark).collect()
}

fn plain(message: &Message) -> &str {
    message.plain.as_ref().unwrap()[0]["text"]["text"].as_str().unwrap()
}

#[test]
fn the_smallest_answer_is_one_line() {
    let (message, cut) = message("", "a\n", MAX_CHARACTERS);
    assert_snapshot!(serde_json::to_string(&message.blocks).unwrap(), @r#"[{"elements":[{"elements":[{"style":{"italic":true},"text":"@@ -0,0 +1 @@","type":"text"},{"text":"\n","type":"text"},{"style":{"code":true},"text":"+ a","type":"text"}],"type":"rich_text_section"}],"type":"rich_text"}]"#);
    assert_snapshot!(plain(&message), @"
    ```
    @@ -0,0 +1 @@
    + a
    ```
    ");
    assert!(!cut);
    assert_eq!(
        render_text_diff(&LineDiff::from_texts("a", "a"), MAX_CHARACTERS),
        RenderedTextDiff { blocks: vec![], is_truncated: false }
    );
}

#[test]
fn the_usual_diff_marks_removed_and_added_words() {
    let old = "spec:\n\treplicas: 2\n  image: acme/checkout:1.4.2\n  note: `x` <!channel> & co\n\nend\n";
    let new = "spec:\n\treplicas: 3\n  image: acme/checkout:1.5.0\n  note: `y` <!channel> & co\n\nend";
    assert_snapshot!(render_diff_text(old, new), @"
    _@@ -1,6 +1,6 @@_
      spec:
    -     replicas: ~*2*~
    -   image: acme/checkout:~*1.4.2*~
    -   note: `~*x*~` <!channel> & co
    +     replicas: *3*
    +   image: acme/checkout:*1.5.0*
    +   note: `*y*` <!channel> & co
      
    - end
    + end_ no line break at the end_
    ");
    let (message, cut) = message(old, new, MAX_CHARACTERS);
    assert!(!cut);
    assert_snapshot!(plain(&message), @"
    ```
    @@ -1,6 +1,6 @@
      spec:
    -     replicas: 2
    -   image: acme/checkout:1.4.2
    -   note: ‘x‘ &lt;!channel&gt; &amp; co
    +     replicas: 3
    +   image: acme/checkout:1.5.0
    +   note: ‘y‘ &lt;!channel&gt; &amp; co
      
    - end
    + end no line break at the end
    ```
    ");
}

#[test]
fn every_script_is_shown_and_invisible_characters_are_escaped() {
    let old = "тариф: старий кошик 🛒\nשלום: עולם ישן\ncrew: 👩‍💻 rests\nadmin: no\r\nplain\n";
    let new = "тариф: новий кошик 🛒\nשלום: עולם חדש\ncrew: 👩‍💻 works\nadmin: \u{202e}on\u{200d}\n\u{1b}[1mplain\n";
    assert_snapshot!(render_diff_text(old, new), @r"
    _@@ -1,5 +1,5 @@_
    - тариф: ~*старий*~ кошик 🛒
    - שלום: עולם ~*ישן*~
    - crew: 👩‍💻 ~*rests*~
    - admin:~* no*~\r
    - plain
    + тариф: *новий* кошик 🛒
    + שלום: עולם *חדש*
    + crew: 👩‍💻 *works*
    + admin:* \u{202e}on\u{200d}*
    + \u{1b}[1mplain
    ");
}

#[test]
fn a_long_line_keeps_the_difference() {
    let same = "minified;".repeat(400);
    let old = format!("{same} one {same}\n");
    let new = format!("{same} two {same}\n");
    assert_snapshot!(render_diff_text(&old, &new), @"
    _@@ -1 +1 @@_
    - minified;minified;minif…fied;minified;minified; ~*one*~ minified;minified;mini…ified;minified;minified;
    + minified;minified;minif…fied;minified;minified; *two* minified;minified;mini…ified;minified;minified;
    ");
    assert!(message(&old, &new, MAX_CHARACTERS).1, "it was shortened");
    let (message, cut) = message("", &"x".repeat(100_000), MAX_CHARACTERS);
    assert!(cut && plain(&message).len() < 400);
}

#[test]
fn the_largest_diff_ends_with_the_number_of_omitted_lines() {
    let new = (0..5_000).map(|n| format!("line {n} <&> `\n")).collect::<Vec<_>>().concat();
    let (largest, cut) = message("", &new, usize::MAX);
    assert!(cut);
    let text = plain(&largest);
    assert!(text.ends_with(" more lines\n```"), "{text}");
    let shown = text.matches("line ").count();
    assert!(text.contains(&format!("and {} more lines", 5_000 - shown)), "{shown}: {text}");
    assert!(text.chars().count() <= 3_000);

    let (little, cut) = message("", &new, 120);
    assert!(cut);
    assert_snapshot!(plain(&little), @"
    ```
    @@ -0,0 +1,5000 @@
    + line 0 &lt;&amp;&gt; ‘
    and 4999 more lines
    ```
    ");
    let (nothing, cut) = message("", &new, 0);
    assert!(cut);
    assert_eq!(plain(&nothing), "```\n5000 lines\n```");
    assert_eq!(plain(&message("", "a\n", 0).0), "```\n1 line\n```");
}

#[test]
fn texts_that_cannot_be_compared_have_a_sentence() {
    let long = "x".repeat(crate::domain::git::text_diff::MAX_TEXT_BYTES + 1);
    for (new, words) in
        [("\0", "They differ, and are no text."), (long.as_str(), "They differ, and are too long to be compared here.")]
    {
        let (message, cut) = message("", new, MAX_CHARACTERS);
        assert_eq!((message.blocks[0]["elements"][0]["text"].as_str(), cut), (Some(words), false));
        assert_eq!(message.plain, None);
    }
}

#[test]
fn a_heading_is_above_its_hunk_and_cannot_become_mark_up() {
    let patch = "@@ -1 +1 @@ fn <!here>\u{202e} {\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n";
    let shown = render_text_diff(&LineDiff::from_patch(patch), MAX_CHARACTERS);
    let rendered = Rendered { text: String::new(), blocks: shown.blocks };
    assert_snapshot!(plain(&rendered.into_message(Destination::Edit { key: MessageKey::new("diff") })), @r"
    ```
    @@ -1 +1 @@ fn &lt;!here&gt;\u{202e} {
    - a
    + b
    @@ -9 +9 @@
    - c
    + d
    ```
    ");
}
