//! No secret leaks: each secret is unique, the scenario has every kind of event, and then all files, messages, logs and
//! requests are searched for each secret in each of its encodings.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gantry::config::{Config, Secrets};
use gantry::sim::registry::TOKEN;
use gantry::sim::slack::VERIFICATION_TOKEN;
use gantry::sim::world::{APP_TOKEN, BOT_TOKEN, GITHUB_TOKEN, GITHUB_WEBHOOK_SECRET, SIGNING_SECRET, webhook_secrets};
use serde_json::{Value, json};

use crate::harness::process::{ProcessHarness, ProcessOptions};

mod scenario;

use scenario::LeakScenario;

const LOGIN: &str = "canary-of-the-registry";
const RECEIVER: &str = "canary-of-the-flux-receiver";
const KUBE: &str = "canary-of-the-kubeconfig";

/// The forms of a secret in a header, a form or a dump.
fn list_encodings(secret: &str) -> BTreeSet<String> {
    let mut forms =
        BTreeSet::from([secret.to_owned(), hex(secret), hex(secret).to_uppercase(), percent_encode(secret)]);
    // The text before a secret shifts its bits in base64. The middle is the same for each of the three shifts.
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

/// Percent-encodes every byte.
fn percent_encode(text: &str) -> String {
    let digits = hex(text).to_uppercase();
    digits.as_bytes().chunks(2).flat_map(|pair| ['%', char::from(pair[0]), char::from(pair[1])]).collect()
}

/// Every form with its secret, indexed by its first two bytes, so that one pass over a text finds all of them.
struct Canaries(Vec<Vec<(String, String)>>);

impl Canaries {
    fn of(secrets: &[String]) -> Self {
        let mut all = vec![Vec::new(); 1 << 16];
        for secret in secrets {
            for form in list_encodings(secret) {
                let begin = form.as_bytes();
                all[Self::bucket_index(begin[0], begin[1])].push((form, secret.clone()));
            }
        }
        Self(all)
    }

    fn bucket_index(first: u8, second: u8) -> usize {
        u16::from_be_bytes([first, second]).into()
    }

    fn find_leaks(&self, origin: &str, bytes: &[u8]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for position in 1..bytes.len() {
            for (form, secret) in &self.0[Self::bucket_index(bytes[position - 1], bytes[position])] {
                if bytes[position - 1..].starts_with(form.as_bytes()) {
                    found.insert(format!("{secret} in {origin}"));
                }
            }
        }
        found
    }
}

fn secrets() -> Vec<String> {
    let of_slack = [SIGNING_SECRET, BOT_TOKEN, APP_TOKEN, VERIFICATION_TOKEN];
    let others = [GITHUB_TOKEN, GITHUB_WEBHOOK_SECRET, LOGIN, RECEIVER, KUBE];
    let mut secrets: Vec<String> = of_slack.into_iter().chain(others).map(str::to_owned).collect();
    secrets.extend(webhook_secrets().into_values());
    // Encodings may change the line breaks of the key, so one of its lines is searched for.
    secrets.extend(private_key().lines().nth(12).map(str::to_owned));
    secrets
}

fn private_key() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/github-app.pem")).unwrap()
}

/// Requests over HTTP, and a token for GitHub.
fn http_options() -> ProcessOptions {
    ProcessOptions { cluster_token: Some(KUBE), ..ProcessOptions::default() }
}

/// Socket Mode, and a GitHub App.
fn socket_options() -> ProcessOptions {
    let variables = vec![
        ("GITHUB_TOKEN", String::new()),
        ("GITHUB_APP_ID", "1".to_owned()),
        ("GITHUB_APP_INSTALLATION_ID", "2".to_owned()),
        ("GITHUB_APP_PRIVATE_KEY", private_key()),
    ];
    ProcessOptions { variables, cluster_token: Some(KUBE), uses_socket_mode: true }
}

/// Adds a login for the registry and a Flux receiver with a secret address.
fn add_secrets_to_config(yaml: &str, folder: &std::path::Path, origin: &str) -> String {
    let auth = STANDARD.encode(format!("robot:{LOGIN}"));
    let host = origin.trim_start_matches("http://");
    let docker = json!({ "auths": { host: { "auth": auth } } });
    std::fs::write(folder.join("docker.json"), docker.to_string()).unwrap();
    let login = format!("registry:\n  docker_config: {}\n", folder.join("docker.json").display());
    let trigger = format!("branch: qa\n    trigger: {{ flux_receiver: \"{origin}/hook/{RECEIVER}\" }}\n");
    yaml.replace("registry:\n", &login).replace("branch: qa\n", &trigger)
}

/// Runs the scenario with these options, and asserts that no output has a secret. Returns the credentials that the bot
/// used.
async fn search_for_leaks(options: ProcessOptions) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut harness =
        ProcessHarness::with_options(options, |yaml, origin| add_secrets_to_config(&yaml, folder.path(), origin)).await;
    let scenario = LeakScenario::new(&harness);
    scenario.run().await;
    let mut answers = scenario.answers.into_inner().unwrap();
    let doctor = harness.doctor().await;
    answers.extend([doctor.stdout, doctor.stderr].map(|bytes| String::from_utf8(bytes).unwrap()));
    let metrics = reqwest::get(format!("{}/metrics", harness.metrics_url())).await.unwrap().text().await.unwrap();
    let readyz = reqwest::get(format!("http://{}/readyz", harness.address)).await.unwrap().text().await.unwrap();
    LeakScenario::revoke_github_access(&harness);
    harness.restart().await;
    let scenario = LeakScenario::new(&harness);
    scenario.run_without_access().await;
    answers.extend(scenario.answers.into_inner().unwrap());

    let slack = &harness.world.slack;
    let mut out = vec![("the metrics", metrics), ("/readyz", readyz)];
    out.extend(answers.into_iter().map(|answer| ("an answer", answer)));
    let everything = |channel| (channel, format!("{:?}", slack.messages(channel, None)));
    out.extend(["deploys", "releases", "@gantry"].map(everything));
    out.extend(["alice", "bob", "carol", "dave"].map(|person| ("a Home", slack.home(person).to_string())));
    let files = harness.files();
    assert!(files.iter().any(|(name, bytes)| name == "gantry.db" && !bytes.is_empty()));
    let (database_files, logs): (Vec<_>, Vec<_>) = files.iter().partition(|(name, _)| name != "log");
    out.push(("the log", String::from_utf8_lossy(&logs[0].1).into_owned()));

    // The credentials of the bot are secrets too: tokens that are valid for an hour, and JWTs signed with the private
    // key.
    let credentials = harness.interceptor.credentials();
    let mut secrets = secrets();
    secrets.extend(credentials.iter().cloned());
    secrets
        .extend(credentials.iter().filter_map(|jwt| jwt.rsplit_once('.')).map(|(_, signature)| signature.to_owned()));
    secrets.extend(slack.tickets());
    let canaries = Canaries::of(&secrets);
    let mut leaks = Vec::new();
    for (name, text) in &out {
        leaks.extend(canaries.find_leaks(name, text.as_bytes()));
        // The database stores these secrets, because they must survive a restart. They must appear nowhere else.
        let shows = |permission: &String| text.contains(permission.as_str());
        leaks.extend(slack.issued_secrets().into_iter().filter(shows).map(|it| format!("{it} in {name}")));
    }
    for (name, bytes) in database_files {
        leaks.extend(canaries.find_leaks(name, bytes));
    }
    for (path, body) in harness.interceptor.bodies() {
        leaks.extend(canaries.find_leaks(&path, &body));
    }
    // Over TLS, libraries would log headers that they do not log here. Therefore no library may log below `info`.
    let log = harness.log();
    let is_low = |line: &&Value| line["level"] == "DEBUG" || line["level"] == "TRACE";
    assert!(log.iter().any(|line| is_low(&line)), "the bot logs at debug");
    let targets: BTreeSet<&str> = log.iter().filter(is_low).map(|line| line["target"].as_str().unwrap()).collect();
    leaks.extend(
        targets.into_iter().filter(|target| !target.starts_with("gantry::")).map(|target| format!("{target} at debug")),
    );
    assert_eq!(leaks, Vec::<String>::new());
    credentials
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_leaks_over_http_with_a_github_token() {
    let shown = search_for_leaks(http_options()).await;
    for token in [BOT_TOKEN, GITHUB_TOKEN, KUBE, TOKEN, &STANDARD.encode(format!("robot:{LOGIN}"))] {
        assert!(shown.contains(token), "{token}: {shown:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_leaks_in_socket_mode_with_a_github_app() {
    let shown = search_for_leaks(socket_options()).await;
    for token in [BOT_TOKEN, APP_TOKEN, KUBE, TOKEN, &STANDARD.encode(format!("robot:{LOGIN}"))] {
        assert!(shown.contains(token), "{token}: {shown:?}");
    }
    for of_the_app in ["eyJ", "ghs_"] {
        assert!(shown.iter().any(|token| token.starts_with(of_the_app)), "{of_the_app}: {shown:?}");
    }
    assert!(!shown.contains(GITHUB_TOKEN), "only the App is used");
}

/// Tests the search itself.
#[test]
fn the_search_finds_a_secret_in_every_encoding() {
    let (canaries, token) = (Canaries::of(&secrets()), BOT_TOKEN);
    for leak in [
        format!("Authorization: Bearer {token}"),
        format!("Basic {}", STANDARD.encode(format!("robot:{token}"))),
        format!("x{}", STANDARD.encode(token)),
        percent_encode(token),
        hex(token),
    ] {
        assert_eq!(canaries.find_leaks("a leak", leak.as_bytes()).len(), 1, "{leak}");
    }
}

#[test]
fn the_error_about_a_wrong_secret_does_not_show_it() {
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
        let output_text =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && !output_text.is_empty(), "{name}");
        // A path is not a secret, and the message must name it.
        assert!(name.ends_with("_FILE") || !output_text.contains("canary"), "{name}: {output_text}");
    }
}

#[test]
fn the_debug_output_of_the_configuration_shows_no_secret() {
    let canary = |name: &str| Some(format!("canary-{name}"));
    let text = std::fs::read_to_string(format!("{}/config/gantry.yaml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let text = text.replace("https://flux.example.com/hook/", "https://flux.example.com/hook/canary-");
    assert!(text.contains("canary"), "the example configuration has a trigger");
    let config = Config::parse("test", &text).unwrap();
    let variable = |name: &str| match name {
        "GITHUB_APP_ID" | "GITHUB_APP_INSTALLATION_ID" => Some("1".to_owned()),
        "GITHUB_TOKEN" => None,
        "GITHUB_APP_PRIVATE_KEY" => {
            Some("-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----".to_owned())
        }
        name if name.ends_with("_FILE") => None,
        name => canary(name),
    };
    let secrets = Secrets::read(&config, variable).unwrap();
    let parts = BTreeMap::from([
        ("secrets", format!("{secrets:#?}")),
        ("github", format!("{:?}", secrets.github_auth)),
        ("webhooks", format!("{:?}", secrets.webhook_secrets)),
        ("registries", format!("{:?}", secrets.registry_logins)),
        ("config", format!("{config:?}")),
    ]);
    for (name, shown) in parts {
        assert!(!shown.contains("canary"), "{name}: {shown}");
    }
}
