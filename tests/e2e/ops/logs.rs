//! The log of the real program: one change can be followed from the command to the last pod by one field, and every line
//! says what it belongs to.

use serde_json::Value;

use crate::harness::process::{Apart, until};

fn word<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field].as_str().unwrap_or_default()
}

/// Until a line says `message` of the change.
async fn logged(apart: &Apart, change: &str, message: &str) {
    until(message, async || {
        apart.log().iter().any(|line| word(line, "change.id") == change && word(line, "message") == message)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_line_between_command_and_deployed_says_what_it_belongs_to() {
    let mut apart = Apart::open().await;
    apart.town.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
    until("it is begun", async || apart.log().iter().any(|line| word(line, "message") == "begun")).await;
    let log = apart.log();
    let asked = log.iter().find(|line| line["message"] == "asked" && line["what"] == "promote").unwrap();
    let request = word(asked, "request.id").to_owned();
    assert_eq!((request.len(), word(asked, "person"), word(asked, "source")), (12, "U0ALICE", "slack_command"));
    let begun = log.iter().find(|line| line["message"] == "begun").unwrap();
    let change = word(begun, "change.id").to_owned();
    logged(&apart, &change, "deployed").await;

    let log = apart.log();
    let from = log.iter().position(|line| line["message"] == "asked" && word(line, "request.id") == request).unwrap();
    let to = log.iter().position(|line| line["message"] == "deployed").unwrap();
    let between = &log[from..=to];
    for line in between {
        let ours = word(line, "change.id") == change || word(line, "request.id") == request;
        let anothers = !word(line, "request.id").is_empty() && !word(line, "source").is_empty();
        // The wave of arrivals, the watches and what they lead to are nobody's request.
        let nobodys = !word(line, "task").is_empty() || word(line, "target") == "gantry::adapters::cluster::watch";
        assert!(ours || anothers || nobodys, "{line}");
    }
    let of_change = |line: &&Value| word(line, "change.id") == change;
    assert!(between.iter().filter(of_change).all(|line| word(line, "request.id") == request), "both ids on each");
    let life: Vec<_> = between
        .iter()
        .filter(of_change)
        .filter(|line| line["level"] == "INFO")
        .map(|line| word(line, "message"))
        .collect();
    assert_eq!(life, ["begun", "merged", "deployed"]);
    let merges = |line: &&Value| word(line, "path").ends_with("/merges") && line["status"] == 201;
    assert_eq!(between.iter().filter(merges).map(|line| word(line, "change.id")).collect::<Vec<_>>(), [&change]);
    let card = |line: &&Value| line["method"] == "chat.postMessage" || line["method"] == "chat.update";
    assert!(between.iter().filter(card).filter(of_change).count() >= 2, "the card's way to Slack");
    assert!(between.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()));

    // The next process knows who asked.
    apart.town.slack.type_command("alice", "deploys", "/promote checkout staging").await.unwrap();
    let of_staging = |line: &&Value| line["message"] == "begun" && line["environment"] == "staging";
    until("it is begun", async || apart.log().iter().any(|line| of_staging(&line))).await;
    let begun = apart.log().iter().find(of_staging).cloned().unwrap();
    apart.restart().await;
    let change = word(&begun, "change.id");
    logged(&apart, change, "deployed").await;
    let log = apart.log();
    let deployed = log.iter().find(|line| word(line, "change.id") == change && line["message"] == "deployed").unwrap();
    assert_eq!(deployed["request.id"], begun["request.id"]);
}
