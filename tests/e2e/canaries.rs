//! No secret comes out anywhere: each is one of a kind, everything that can happen does, and then all that was written, said
//! and told is searched for each of them, in every form that they have on their way.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gantry::config::{Config, Secrets};
use gantry::sim::faults::Fault;
use gantry::sim::town::Town;
use serde_json::{Value, json};

use crate::apart::{Apart, until};
use crate::receiving::hex_hmac;
use crate::town::has_button;

const LOGIN: &str = "canary-of-the-registry";
const RECEIVER: &str = "canary-of-the-flux-receiver";
const KUBE: &str = "canary-of-the-kubeconfig";

/// What each secret looks like in a header, a form, a dump.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned(), hex(secret), hex(secret).to_uppercase(), escaped(secret)]);
    // Whatever stands before it moves its bits: what is left of the middle is the same for each of three ways.
    for before in ["", "x", "xy"] {
        for engine in [&STANDARD, &URL_SAFE_NO_PAD] {
            let text = engine.encode(format!("{before}{secret}"));
            forms.insert(text[4..text.len() - 4].to_owned());
        }
    }
    forms
}

fn hex(text: &str) -> String {
    text.bytes()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from_digit(digit.into(), 16).unwrap())
        .collect()
}

/// As a form or an address may have it, with every letter spelled out.
fn escaped(text: &str) -> String {
    let digits = hex(text).to_uppercase();
    digits.as_bytes().chunks(2).flat_map(|pair| ['%', char::from(pair[0]), char::from(pair[1])]).collect()
}

fn found(secrets: &[String], where_from: &str, bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let shows = |secret: &&String| forms(secret).iter().any(|form| text.contains(form.as_str()));
    secrets.iter().filter(shows).map(|secret| format!("{secret} in {where_from}")).collect()
}

fn secrets() -> Vec<String> {
    let names = ["SLACK_SIGNING_SECRET", "SLACK_BOT_TOKEN", "GITHUB_TOKEN", "GITHUB_WEBHOOK_SECRET"];
    let webhooks = ["DEVELOPMENT", "QA", "STAGING", "PROD"].map(|name| format!("FLUX_{name}_SECRET"));
    let all = names.iter().map(|name| (*name).to_owned()).chain(webhooks);
    let mut secrets: Vec<String> = all.map(|name| Town::secret(&name).unwrap()).collect();
    secrets.extend([LOGIN, RECEIVER, KUBE].map(str::to_owned));
    secrets
}

/// A login for the registry, a receiver whose address is a permission, and a token for the cluster.
fn armed(yaml: &str, folder: &std::path::Path, origin: &str) -> String {
    let auth = STANDARD.encode(format!("robot:{LOGIN}"));
    let docker = json!({ "auths": { "ghcr.io": { "auth": auth } } });
    std::fs::write(folder.join("docker.json"), docker.to_string()).unwrap();
    let login = format!("registry:\n  docker_config: {}\n", folder.join("docker.json").display());
    let trigger = format!("branch: qa\n    trigger: {{ flux_receiver: \"{origin}/hook/{RECEIVER}\" }}\n");
    yaml.replace("registry:\n", &login).replace("branch: qa\n", &trigger)
}

async fn post(apart: &Apart, path: &str, headers: &[(&str, String)], body: &str) -> u16 {
    let mut request = reqwest::Client::new().post(format!("http://{}{path}", apart.address)).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_comes_out_whatever_happens() {
    let folder = tempfile::tempdir().unwrap();
    let mut apart = Apart::told(KUBE, |yaml, origin| armed(&yaml, folder.path(), origin)).await;
    let slack = apart.town.slack.clone();
    let shown = |words: &str| apart.says(words) > 0;

    // What people do, while the services fail in turn.
    for fault in [Fault::Github502, Fault::Slack429, Fault::SlackDown, Fault::DuplicateWebhook] {
        apart.town.faults.arm(fault, 1, None, None);
    }
    slack.command("alice", "deploys", "/promote checkout qa").await.unwrap();
    until("it runs", async || shown("running in *qa*")).await;
    slack.command("alice", "deploys", "/promote search qa").await.unwrap();
    apart.town.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), Some("qa".into()));
    for text in [
        "/list",
        "/diff qa staging checkout --code",
        "/gantry why checkout prod",
        "/rollback checkout qa",
        "/gantry doctor",
    ] {
        slack.command("bob", "deploys", text).await.unwrap();
    }
    slack.command("dave", "deploys", "/promote checkout qa").await.unwrap();
    slack.command("alice", "deploys", "/promote checkout prod").await.unwrap();
    let question = || slack.messages("deploys", Some("alice")).into_iter().rev().find(|it| has_button(it, "Confirm"));
    until("the plan is shown", async || question().is_some()).await;
    slack.click("alice", "deploys", &question().unwrap().id, "Confirm").await.unwrap();
    apart.town.faults.arm(Fault::ClusterDown, 3, None, None);
    apart.town.cluster.end_streams();

    // Webhooks, good and bad; a secret in the wrong place is still a secret.
    let (signing, flux) = (Town::secret("SLACK_SIGNING_SECRET").unwrap(), Town::secret("FLUX_QA_SECRET").unwrap());
    let signed =
        |secret: &str, body: &str| [("x-signature", format!("sha256={}", hex_hmac(secret, &[body.as_bytes()])))];
    let report = r#"{"artefact": "nobody", "state": "failed", "message": "no"}"#;
    assert_eq!(post(&apart, "/webhooks/deployments", &signed(&flux, report), report).await, 202);
    assert_eq!(post(&apart, "/webhooks/deployments", &signed(&flux, "nonsense"), "nonsense").await, 400);
    assert_eq!(post(&apart, "/webhooks/deployments", &signed(&signing, report), report).await, 401);
    assert_eq!(
        post(&apart, "/webhooks/flux/qa", &[("authorization", format!("Bearer {flux}"))], "nonsense").await,
        400
    );
    assert_eq!(post(&apart, "/webhooks/argocd/prod", &[("authorization", format!("Bearer {flux}"))], "{}").await, 401);
    assert_eq!(post(&apart, "/webhooks/github", &[("x-hub-signature-256", signing.clone())], "{}").await, 401);
    assert_eq!(post(&apart, "/slack/commands", &[("x-slack-signature", format!("v0={signing}"))], "text=x").await, 401);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let metrics = reqwest::get(format!("{}/metrics", apart.metrics())).await.unwrap().text().await.unwrap();
    let readyz = reqwest::get(format!("http://{}/readyz", apart.address)).await.unwrap().text().await.unwrap();
    apart.restart().await;

    let secrets = secrets();
    let mut leaks = found(&secrets, "the metrics", metrics.as_bytes());
    leaks.extend(found(&secrets, "/readyz", readyz.as_bytes()));
    for person in ["alice", "bob", "carol", "dave"] {
        for channel in ["deploys", "releases", "@gantry"] {
            let messages = slack.messages(channel, Some(person));
            leaks.extend(found(&secrets, channel, format!("{messages:?}").as_bytes()));
        }
    }
    let files = apart.files();
    assert!(files.iter().any(|(name, bytes)| name == "gantry.db" && !bytes.is_empty()));
    for (name, bytes) in &files {
        leaks.extend(found(&secrets, name, bytes));
    }
    // These must outlive the process, so the database has them; a log has no use for them.
    let (_, log) = files.iter().find(|(name, _)| name == "log").unwrap();
    let log = String::from_utf8_lossy(log);
    assert!(log.contains("\"level\":\"DEBUG\""), "it says what it does");
    for address in ["/sim/slack/hooks/", "trigger_id"] {
        leaks.extend(log.contains(address).then(|| format!("{address} in the log")));
    }
    // Over TLS, libraries would log headers that they do not log here: so none may say anything below `info`.
    let low = |line: &Value| line["level"] == "DEBUG" || line["level"] == "TRACE";
    let target = |line: &Value| line["target"].as_str().unwrap().to_owned();
    let loud: BTreeSet<String> = apart.log().iter().filter(|line| low(line)).map(target).collect();
    leaks.extend(loud.into_iter().filter(|target| !target.starts_with("gantry::")).map(|of| format!("{of} at debug")));
    assert_eq!(leaks, Vec::<String>::new());
}

/// The search itself finds what it is meant to.
#[test]
fn a_leak_would_be_found_in_every_form() {
    let secrets = secrets();
    let token = &secrets[1];
    for leak in [
        format!("Authorization: Bearer {token}"),
        format!("Basic {}", STANDARD.encode(format!("robot:{token}"))),
        format!("x{}", STANDARD.encode(token)),
        escaped(token),
        hex(token),
    ] {
        assert_eq!(found(&secrets, "a leak", leak.as_bytes()).len(), 1, "{leak}");
    }
}

#[test]
fn what_is_wrong_with_a_secret_is_said_without_it() {
    let wrong = [
        ("DATABASE_URL", "postgres://gantry:canary-password@db/gantry"),
        ("DATABASE_URL", "sqlite://nowhere/at/all/gantry.db?password=canary-password"),
        ("GITHUB_APP_PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\ncanary-password\n-----END RSA PRIVATE KEY-----"),
        ("SLACK_BOT_TOKEN_FILE", "/dev/null/canary-password"),
    ];
    for (name, value) in wrong {
        let folder = tempfile::tempdir().unwrap();
        let mut serve = Command::new(env!("CARGO_BIN_EXE_gantry"));
        serve.current_dir(env!("CARGO_MANIFEST_DIR")).env_clear();
        serve.args(["serve", "--metrics-listen", "off", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "trace");
        let set = [("FLUX_PROD_SECRET", "s"), ("SLACK_SIGNING_SECRET", "s"), ("SLACK_BOT_TOKEN", "t")];
        serve.envs(set).env("GITHUB_APP_ID", "1").env("GITHUB_APP_INSTALLATION_ID", "2");
        serve.env("DATABASE_URL", format!("sqlite://{}", folder.path().join("gantry.db").display()));
        if name.ends_with("_FILE") {
            serve.env_remove("SLACK_BOT_TOKEN");
        }
        if name != "GITHUB_APP_PRIVATE_KEY" {
            serve.env_remove("GITHUB_APP_ID").env_remove("GITHUB_APP_INSTALLATION_ID");
        }
        let output = serve.env(name, value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && !said.is_empty(), "{name}");
        // A path is no secret, and must be named to be repaired.
        assert!(name.ends_with("_FILE") || !said.contains("canary"), "{name}: {said}");
    }
}

#[test]
fn nothing_of_the_configuration_shows_a_secret_by_debug() {
    let town = |name: &str| Some(format!("canary-{name}"));
    let text = std::fs::read_to_string(format!("{}/config/gantry.yaml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let text = text.replace("https://flux.example.com/hook/", "https://flux.example.com/hook/canary-");
    assert!(text.contains("canary"), "the example has a trigger");
    let config = Config::parse("test", &text).unwrap();
    let known = |name: &str| match name {
        "GITHUB_APP_ID" | "GITHUB_APP_INSTALLATION_ID" => Some("1".to_owned()),
        "GITHUB_TOKEN" => None,
        "GITHUB_APP_PRIVATE_KEY" => {
            Some("-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----".to_owned())
        }
        name if name.ends_with("_FILE") => None,
        name => town(name),
    };
    let secrets = Secrets::read(&config, known).unwrap();
    let parts = BTreeMap::from([
        ("secrets", format!("{secrets:#?}")),
        ("github", format!("{:?}", secrets.github)),
        ("webhooks", format!("{:?}", secrets.webhooks)),
        ("registries", format!("{:?}", secrets.registries)),
        ("config", format!("{config:?}")),
    ]);
    for (name, shown) in parts {
        assert!(!shown.contains("canary"), "{name}: {shown}");
    }
}
