//! The log of the real program: every line has the id of its change or request, so that one change can be followed from
//! the command to the last pod.

use serde_json::Value;

use crate::harness::process::{ProcessHarness, wait_until};

fn text_field<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field].as_str().unwrap_or_default()
}

/// Waits until the log has this message with the id of the change.
async fn wait_until_logged(harness: &ProcessHarness, change: &str, message: &str) {
    wait_until(message, async || {
        harness
            .log()
            .iter()
            .any(|line| text_field(line, "change.id") == change && text_field(line, "message") == message)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_log_line_of_a_promotion_has_its_change_id_and_request_id() {
    let mut harness = ProcessHarness::open().await;
    harness.world.slack.type_command("alice", "deploys", "/promote checkout qa").await.unwrap();
    wait_until("the change is begun", async || harness.log().iter().any(|line| text_field(line, "message") == "begun"))
        .await;
    let log = harness.log();
    let received = log.iter().find(|line| line["message"] == "request stored" && line["what"] == "promote").unwrap();
    let request = text_field(received, "request.id").to_owned();
    assert_eq!(
        (request.len(), text_field(received, "person"), text_field(received, "source")),
        (12, "U0ALICE", "slack_command")
    );
    let begun = log.iter().find(|line| line["message"] == "begun").unwrap();
    let change = text_field(begun, "change.id").to_owned();
    wait_until_logged(&harness, &change, "deployed").await;

    let log = harness.log();
    let from = log
        .iter()
        .position(|line| line["message"] == "request stored" && text_field(line, "request.id") == request)
        .unwrap();
    let to = log.iter().position(|line| line["message"] == "deployed").unwrap();
    let between = &log[from..=to];
    for line in between {
        let is_of_change = text_field(line, "change.id") == change || text_field(line, "request.id") == request;
        let is_of_other_request = !text_field(line, "request.id").is_empty() && !text_field(line, "source").is_empty();
        // Lines of background tasks and of the watches belong to no request.
        let is_background =
            !text_field(line, "task").is_empty() || text_field(line, "target") == "gantry::adapters::cluster::watch";
        assert!(is_of_change || is_of_other_request || is_background, "{line}");
    }
    let of_change = |line: &&Value| text_field(line, "change.id") == change;
    assert!(
        between.iter().filter(of_change).all(|line| text_field(line, "request.id") == request),
        "every line of the change has both ids"
    );
    let messages: Vec<_> = between
        .iter()
        .filter(of_change)
        .filter(|line| line["level"] == "INFO")
        .map(|line| text_field(line, "message"))
        .collect();
    assert_eq!(messages, ["begun", "merged", "deployed"]);
    let merges = |line: &&Value| text_field(line, "path").ends_with("/merges") && line["status"] == 201;
    assert_eq!(between.iter().filter(merges).map(|line| text_field(line, "change.id")).collect::<Vec<_>>(), [&change]);
    let card = |line: &&Value| line["method"] == "chat.postMessage" || line["method"] == "chat.update";
    assert!(
        between.iter().filter(card).filter(of_change).count() >= 2,
        "the requests for the card have the id of the change"
    );
    assert!(between.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()));

    // The next process logs the same request id.
    harness.world.slack.type_command("alice", "deploys", "/promote checkout staging").await.unwrap();
    let of_staging = |line: &&Value| line["message"] == "begun" && line["environment"] == "staging";
    wait_until("the change is begun", async || harness.log().iter().any(|line| of_staging(&line))).await;
    let begun = harness.log().iter().find(of_staging).cloned().unwrap();
    harness.restart().await;
    let change = text_field(&begun, "change.id");
    wait_until_logged(&harness, change, "deployed").await;
    let log = harness.log();
    let deployed =
        log.iter().find(|line| text_field(line, "change.id") == change && line["message"] == "deployed").unwrap();
    assert_eq!(deployed["request.id"], begun["request.id"]);
}
