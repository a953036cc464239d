//! Gantry's messages are within Slack's limits, with any text from people, clusters and GitHub.

use proptest::prelude::*;
use serde_json::Value;

use super::check_message;
use crate::adapters::slack::render::Rendered;
use crate::adapters::slack::render::{refusal, why};
use crate::domain::model::message::{Destination, MessageKey};
use crate::domain::sample;

/// Slack accepts the message, and no text from outside is markup.
fn check_rendered(rendered: Rendered) -> Result<(), TestCaseError> {
    let message = rendered.into_message(Destination::Edit { key: MessageKey::new("ours") });
    let checked = check_message(&Value::Array(message.blocks.clone()), false);
    prop_assert!(checked.is_ok(), "{:?}", checked);
    prop_assert!(message.text.chars().count() <= 40_000);
    let mut texts = vec![message.text];
    collect_mrkdwn(&Value::Array(message.blocks), &mut texts);
    for text in texts {
        prop_assert_eq!(find_unescaped(&text), None, "{}", text);
    }
    Ok(())
}

/// Collects all `mrkdwn` texts. A button's label is plain text.
fn collect_mrkdwn(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|item| collect_mrkdwn(item, texts)),
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "mrkdwn") => {
            texts.push(fields["text"].as_str().unwrap_or_default().to_owned());
        }
        Value::Object(fields) => fields.values().for_each(|item| collect_mrkdwn(item, texts)),
        _ => {}
    }
}

/// The text from the first bracket that is not Gantry's own markup, or the first ampersand that begins no escape.
fn find_unescaped(text: &str) -> Option<&str> {
    let own_markup = ["<@U", "<!date^", "<!subteam^", "<https://", "<http://", "<{link}|"];
    let mut rest = text;
    while let Some(index) = rest.find(['<', '>', '&']) {
        let tail = &rest[index..];
        let length = match tail.as_bytes()[0] {
            b'&' => {
                ["&amp;", "&lt;", "&gt;"].iter().find(|escape| tail.starts_with(**escape)).map(|escape| escape.len())
            }
            b'<' if own_markup.iter().any(|mark| tail.starts_with(mark)) => tail.find('>').map(|end| end + 1),
            _ => None,
        };
        let Some(length) = length else { return Some(tail) };
        rest = &tail[length..];
    }
    None
}

/// Text from any person: plain, hostile, or very long.
fn arbitrary_text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "<!channel>",
        "&",
        "&amp;",
        "<@U0BOB>",
        "`",
        "*",
        "\n",
        "\u{202e}",
        "\u{1f6a7}",
        "Базу даних",
        "\u{5e9}",
        "<",
        ">",
        "x",
    ]);
    let many = prop::collection::vec(hostile, 0..40).prop_map(|all| all.concat());
    (prop_oneof![many, "\\PC{0,60}"], prop::sample::select(vec![1, 1, 3, 60]))
        .prop_map(|(text, times)| text.repeat(times).chars().take(2_000).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn why_is_within_the_limits(text in arbitrary_text(), picks in prop::collection::vec(0..16_usize, 1..40), has_lookup_failure in any::<bool>()) {
        let obstacles = sample::blockers(&text);
        for obstacle in &obstacles {
            check_rendered(refusal::render_refusal(obstacle))?;
        }
        let picked = picks.iter().filter_map(|index| obstacles.get(*index)).cloned().collect();
        let mut view = sample::why(picked);
        view.lookup_failure = has_lookup_failure.then(|| text.clone());
        check_rendered(why::render_why(&view))?;
        check_rendered(why::render_why(&sample::free(&text)))?;
    }
}
