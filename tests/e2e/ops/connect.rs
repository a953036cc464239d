//! `GET /sim/connect`: a separate Gantry works against the demo with the files and the variables that it returns.

use std::path::Path;

use gantry::clock::Clock;
use serde_json::{Value, json};
use tokio::process::Command;

use super::command_line::Demo;
use crate::harness::process::wait_until;
use crate::harness::signing::hex_hmac;

/// Fetches the details under a foreign name of the demo: only the bound address may appear in them.
async fn fetch_details(demo: &Demo) -> Value {
    let request = reqwest::Client::new().get(format!("http://{}/sim/connect", demo.address));
    request.header("host", "evil.example").send().await.unwrap().json().await.unwrap()
}

/// Saves the files as a caller does, and fills in the path of the kubeconfig.
fn save_files(folder: &Path, details: &Value) {
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, details["kubeconfig"].as_str().unwrap()).unwrap();
    let config = details["config"].as_str().unwrap().replace("{kubeconfig}", kubeconfig.to_str().unwrap());
    std::fs::write(folder.join("gantry.yaml"), config).unwrap();
}

/// The real binary, with exactly the variables of the details.
fn build_command(folder: &Path, details: &Value, verb: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
    let variables = details["env"].as_object().unwrap().iter();
    command.env_clear().envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
    command.current_dir(folder).args([verb, "--config", "gantry.yaml"]).kill_on_drop(true);
    command
}

/// Sends `/list checkout` of alice in #deploys, signed as Slack signs it.
async fn send_list_command(details: &Value, origin: &str) -> u16 {
    let [team, channel, user, secret] = [
        &details["team"],
        &details["channels"]["deploys"],
        &details["users"]["alice"],
        &details["env"]["SLACK_SIGNING_SECRET"],
    ]
    .map(|value| value.as_str().unwrap());
    let body = format!(
        "team_id={team}&channel_id={channel}&user_id={user}&command=%2Flist&text=checkout&trigger_id=1.1&response_url="
    );
    let timestamp = Clock::new_system().now().as_second().to_string();
    let signature = format!("v0={}", hex_hmac(secret, &[b"v0:", timestamp.as_bytes(), b":", body.as_bytes()]));
    let request = reqwest::Client::new().post(format!("{origin}/slack/commands"));
    let request = request.header("x-slack-request-timestamp", timestamp).header("x-slack-signature", signature);
    request.body(body).send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_separate_gantry_works_against_the_demo_with_the_connect_details_alone() {
    let demo = Demo::start();
    let details = fetch_details(&demo).await;
    assert_eq!(details["team"], "T0ACME");
    assert_eq!(details["channels"], json!({ "deploys": "C0DEPLOYS", "releases": "C0RELEASES" }));
    let names: Vec<&String> = details["users"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["alice", "bob", "carol", "dave"]);
    for file in ["config", "kubeconfig"] {
        let text = details[file].as_str().unwrap();
        assert!(text.contains(&format!("http://{}/sim/", demo.address)) && !text.contains("evil"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    save_files(folder.path(), &details);

    let check = build_command(folder.path(), &details, "check").output().await.unwrap();
    assert!(check.status.success(), "{check:?}");
    let doctor = build_command(folder.path(), &details, "doctor").output().await.unwrap();
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(report.trim_end().ends_with(", 0 broken"), "{report}");

    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut serve = build_command(folder.path(), &details, "serve");
    let _serve = serve.args(["--metrics-listen", "off", "--listen", &address]).spawn().unwrap();
    let origin = format!("http://{address}");
    wait_until("the separate Gantry is ready and reads the four namespaces", async || {
        match reqwest::get(format!("{origin}/readyz")).await {
            Ok(answer) => answer.status() == 200 && answer.text().await.unwrap().matches("\"readable\"").count() == 4,
            Err(_) => false,
        }
    })
    .await;
    assert_eq!(send_list_command(&details, &origin).await, 200);
    let messages = format!("http://{}/sim/messages?channel=deploys&user=alice", demo.address);
    wait_until("alice has her answer", async || {
        let answer: Value = reqwest::get(&messages).await.unwrap().json().await.unwrap();
        let messages = answer["messages"].as_array().unwrap();
        messages.iter().any(|message| message["only_to"] == "alice" && message.to_string().contains("checkout"))
    })
    .await;
}
