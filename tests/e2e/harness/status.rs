//! Texts of `status` and `history` without their ids and times.

use gantry::sim::world::BOT_TOKEN;

use crate::harness::world::{World, redact_origin_and_ids, render_message};

/// Replaces the parts that differ in each run: commits, times, seconds, addresses.
pub(crate) fn redact_volatile_parts(world: &World, text: &str) -> String {
    let mut out = String::new();
    let text = redact_origin_and_ids(world, text);
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<!date^") {
        out += before;
        out += "<when>";
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    out += rest;
    let words = out.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|word| {
        let (name, end) = word.split_at(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        let is_hex = name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let masked = match name.len() {
            7 | 8 | 40 if is_hex => "<hex>",
            12.. if name.starts_with('p') && name[1..].bytes().all(|b| b.is_ascii_digit()) => "<message>",
            _ => name,
        };
        format!("{masked}{end}")
    });
    let masked: String = words.collect();
    masked.lines().map(without_seconds).collect::<Vec<_>>().join("\n")
}

pub(crate) fn without_seconds(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_second = |index: usize| words.get(index + 1).is_some_and(|unit| unit.trim_end_matches([',', ';']) == "s");
    let masked = words.iter().enumerate().map(|(index, word)| if is_second(index) { "<n>" } else { word });
    masked.collect::<Vec<_>>().join(" ")
}

/// The link to a message, from Slack itself.
pub(crate) async fn permalink(origin: &str, channel: &str, message: &str) -> String {
    let url = format!("{origin}/sim/slack/api/chat.getPermalink?channel={channel}&message_ts={message}");
    let answer = reqwest::Client::new().get(url).bearer_auth(BOT_TOKEN).send().await.unwrap();
    let answer: serde_json::Value = answer.json().await.unwrap();
    answer["permalink"].as_str().expect("an address").to_owned()
}

/// The id of the newest card in a channel.
pub(crate) fn newest_card_id(world: &World, channel: &str) -> String {
    let cards = world.sim.slack.messages(channel, None).into_iter().rev();
    cards
        .filter(|message| message.thread.is_none())
        .find(|message| render_message(message).contains("asked by"))
        .expect("a card")
        .id
}

/// The short id of the newest change.
pub(crate) fn newest_short_id(world: &World, channel: &str) -> String {
    let cards = world.public_messages(channel);
    let card = cards.iter().rev().find(|card| card.contains("change `")).expect("a card");
    card.split("change `").nth(1).unwrap().split('`').next().unwrap().to_owned()
}
