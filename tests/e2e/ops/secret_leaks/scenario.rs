//! A scenario with every kind of event: actions of people, every fault of the simulators, and requests of strangers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use gantry::sim::faults::Fault;
use gantry::sim::slack::VERIFICATION_TOKEN;
use gantry::sim::world::{GITHUB_TOKEN, SIGNING_SECRET, webhook_secrets};
use serde_json::{Value, json};

use crate::harness::process::{PauseWhen, ProcessHarness, wait_until};
use crate::harness::signing::hex_hmac;
use crate::harness::world::{has_button, render_message};

pub(super) struct LeakScenario<'a> {
    harness: &'a ProcessHarness,
    armed_faults: Mutex<BTreeSet<String>>,
    /// The acknowledgements and responses.
    pub(super) answers: Mutex<Vec<String>>,
}

impl<'a> LeakScenario<'a> {
    pub(super) fn new(harness: &'a ProcessHarness) -> Self {
        Self { harness, armed_faults: Mutex::default(), answers: Mutex::default() }
    }

    pub(super) async fn run(&self) {
        // The bot waits 15 s for an answer that never comes. The rest of the scenario runs in this time.
        self.harness.world.registry.demand_login();
        self.push("search").await;
        self.arm_fault(Fault::GithubTimeoutAfterEffect, 1, Some("gitops"), None);
        self.types("alice", "/promote search qa").await;
        for fault in [Fault::Github502, Fault::Slack429, Fault::SlackDown, Fault::DuplicateWebhook] {
            self.arm_fault(fault, 1, None, None);
        }
        tokio::join!(self.run_changes(), self.run_arrivals());
        self.arm_fault(Fault::ClusterDown, 3, None, None);
        self.run_questions().await;
        self.run_modals().await;
        if self.harness.world.slack.uses_sockets() {
            self.break_sockets().await;
        }
        self.send_webhooks().await;
        for fault in Fault::NAMES {
            self.wait_until_fault_struck(fault).await;
        }
        let unanswered = |line: &Value| {
            let is = |name: &str, part: &str| line[name].as_str().is_some_and(|text| text.contains(part));
            is("message", "the request to GitHub") && is("path", "acme/gitops")
        };
        wait_until("the request without an answer times out", async || self.harness.log().iter().any(unanswered)).await;
    }

    async fn run_changes(&self) {
        self.arm_fault(Fault::MergeConflict, 1, Some("checkout"), Some("staging"));
        self.types("alice", "/promote checkout staging").await;
        wait_until("the promotion conflicts", async || {
            self.has_public_message("deploys", &["conflicts with *staging*"])
        })
        .await;
        self.types("alice", "/promote checkout qa").await;
        wait_until("the promotion runs", async || {
            self.has_public_message("deploys", &["*checkout*", "running in *qa*"])
        })
        .await;
        self.arm_fault(Fault::CrashLoop, 1, Some("checkout"), Some("qa"));
        self.types("bob", "/rollback checkout qa").await;
        self.types("dave", "/promote checkout qa").await;
    }

    async fn run_arrivals(&self) {
        self.arm_fault(Fault::SlowRollout, 1, Some("storefront"), Some("development"));
        self.arm_fault(Fault::LostWebhook, 1, Some("storefront"), Some("development"));
        self.arm_fault(Fault::ImageMissing, 1, Some("mailer"), Some("development"));
        self.push("storefront").await;
        self.arm_fault(Fault::RedCheck, 1, Some("shop"), None);
        self.types("alice", "/promote storefront qa").await;
        wait_until("the promotion is refused by a red check", async || {
            self.has_ephemeral_message("alice", "Checks are red on ")
        })
        .await;
    }

    async fn run_questions(&self) {
        for text in ["/list", "/diff qa staging checkout --code", "/gantry why checkout prod", "/gantry doctor"] {
            self.types("bob", text).await;
        }
        let slack = &self.harness.world.slack;
        slack.type_message("alice", "deploys", None, "@gantry list checkout").await.unwrap();
        slack.type_message("alice", "@gantry", None, "why checkout prod").await.unwrap();
        slack.open_home("bob").await.unwrap();
        wait_until("the Home is shown", async || !slack.home("bob").is_null()).await;
    }

    /// Changes to production: a modal that cannot be opened, a modal that is submitted, and an approval.
    async fn run_modals(&self) {
        let (slack, interceptor) = (&self.harness.world.slack, &self.harness.interceptor);
        self.types("alice", "/promote checkout prod").await;
        self.clicks("alice", "deploys", "Confirm").await;
        interceptor.pause_matching("POST /sim/slack/api/views.open", PauseWhen::BeforeTheEffect);
        self.clicks("bob", "releases", "Reject").await;
        wait_until("the request for the modal is paused", async || interceptor.paused_request().is_some()).await;
        interceptor.resume();
        wait_until("the modal could not be opened", async || {
            self.log_contains("the modal for a rejection could not be opened")
        })
        .await;
        self.clicks("bob", "releases", "Reject").await;
        wait_until("the modal is open", async || !slack.views("bob").is_empty()).await;
        let modal = slack.views("bob").remove(0);
        assert!(modal["private_metadata"].as_str().is_some_and(|about| !about.is_empty()), "{modal}");
        let ack = slack.submit("bob", modal["id"].as_str().unwrap(), &json!({ "reason": "not today" })).await.unwrap();
        self.answers.lock().unwrap().push(format!("{modal} {ack:?}"));
        wait_until("the change is rejected", async || self.has_public_message("releases", &["not today"])).await;
        self.types("bob", "/promote checkout prod").await;
        self.clicks("bob", "deploys", "Confirm").await;
        self.clicks("carol", "releases", "Approve").await;
        wait_until("the promotion runs", async || self.has_public_message("releases", &["running in *prod*"])).await;
    }

    /// Sockets that end, are refused, and deliver content that cannot be parsed.
    async fn break_sockets(&self) {
        let (slack, interceptor) = (&self.harness.world.slack, &self.harness.interceptor);
        slack.send_disconnect("warning");
        wait_until("there is a second socket", async || slack.socket_count() > 1).await;
        let payload = json!({ "token": VERIFICATION_TOKEN, "response_url": slack.issued_secrets().pop() });
        slack.send_raw(&json!({ "type": "slash_commands", "envelope_id": "1", "payload": payload }).to_string());
        slack.send_raw("no JSON");
        wait_until("the content is logged as unreadable", async || {
            self.log_contains("a message from Slack's socket is unreadable")
        })
        .await;
        interceptor.pause_matching("GET /sim/slack/link", PauseWhen::BeforeTheEffect);
        slack.break_sockets();
        wait_until("the bot connects with its ticket", async || interceptor.paused_request().is_some()).await;
        interceptor.resume();
        wait_until("the socket is refused", async || self.log_contains("the socket was refused with HTTP status 503"))
            .await;
        wait_until("the socket is connected", async || slack.socket_count() > 0).await;
    }

    /// Accepted and refused webhooks. Some of them have a secret in the wrong place.
    async fn send_webhooks(&self) {
        let secrets = webhook_secrets();
        let (signing, flux) = (SIGNING_SECRET, secrets["qa"].as_str());
        let signed =
            |secret: &str, body: &str| ("x-signature", format!("sha256={}", hex_hmac(secret, &[body.as_bytes()])));
        let bearer = ("authorization", format!("Bearer {flux}"));
        let report = r#"{"artefact": "nobody", "state": "failed", "message": "no"}"#;
        let slack = ("x-slack-signature", format!("v0={signing}"));
        for (path, header, body, status) in [
            ("/webhooks/deployments", signed(flux, report), report, 202),
            ("/webhooks/deployments", signed(flux, "nonsense"), "nonsense", 400),
            ("/webhooks/deployments", signed(signing, report), report, 401),
            ("/webhooks/flux/qa", bearer.clone(), "nonsense", 400),
            ("/webhooks/argocd/prod", bearer, "{}", 401),
            ("/webhooks/github", ("x-hub-signature-256", signing.to_owned()), "{}", 401),
            ("/slack/commands", slack, "text=x", 401),
        ] {
            let to = format!("http://{}{path}", self.harness.address);
            let (name, value) = header;
            let answer = reqwest::Client::new().post(to).header(name, value).body(body).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path} {body}");
            let text = answer.text().await.unwrap();
            self.answers.lock().unwrap().push(text);
        }
    }

    /// Makes GitHub refuse the bot. The bot must be started after this call.
    pub(super) fn revoke_github_access(harness: &ProcessHarness) {
        harness.world.github.update_installation(|it| {
            it.suspended = true;
            it.revoked.push(GITHUB_TOKEN.to_owned());
        });
    }

    /// Commands of a bot that GitHub refuses, and then Slack as well.
    pub(super) async fn run_without_access(&self) {
        self.types("alice", "/promote checkout qa").await;
        let refused = ["This installation has been suspended", "Bad credentials"];
        wait_until("GitHub refuses", async || {
            refused.iter().any(|reason| self.log_contains(reason) || self.has_ephemeral_message("alice", reason))
        })
        .await;
        let slack = &self.harness.world.slack;
        if slack.uses_sockets() {
            slack.set_app_token("another");
            slack.break_sockets();
            wait_until("Slack refuses", async || self.log_contains("Slack refuses the app-level token")).await;
        }
    }

    fn arm_fault(&self, fault: Fault, times: u32, artefact: Option<&str>, environment: Option<&str>) {
        self.armed_faults.lock().unwrap().insert(name(fault));
        self.harness.world.faults.arm(fault, times, artefact.map(str::to_owned), environment.map(str::to_owned));
    }

    async fn wait_until_fault_struck(&self, fault: &str) {
        assert!(self.armed_faults.lock().unwrap().contains(fault), "the scenario does not arm {fault}");
        let faults = &self.harness.world.faults;
        wait_until(&format!("{fault} strikes"), async || {
            faults.list_armed().iter().all(|armed| name(armed.fault) != fault)
        })
        .await;
    }

    async fn push(&self, artefact: &str) {
        let message = format!("More of {artefact}");
        self.harness.world.push(artefact, "develop", &message, BTreeMap::new(), "alice").unwrap();
        wait_until(&message, async || self.has_public_message("deploys", &[&format!("*{artefact}*"), &message])).await;
    }

    async fn types(&self, person: &str, text: &str) {
        let ack = self.harness.world.slack.type_command(person, "deploys", text).await.unwrap();
        assert_eq!(ack.status, 200, "{text}: {ack:?}");
        self.answers.lock().unwrap().push(format!("{ack:?}"));
    }

    /// Waits for the button, and clicks the newest one.
    async fn clicks(&self, person: &str, channel: &str, button: &str) {
        let slack = &self.harness.world.slack;
        let messages = || slack.messages(channel, Some(person)).into_iter().rev();
        let found = || messages().find(|message| has_button(message, button));
        wait_until(&format!("{person} sees {button}"), async || found().is_some()).await;
        slack.click(person, channel, &found().unwrap().id, button).await.unwrap();
    }

    /// Whether a public message contains all of these texts.
    fn has_public_message(&self, channel: &str, texts: &[&str]) -> bool {
        let messages = self.harness.world.slack.messages(channel, None);
        let mut all = messages.iter().filter(|message| message.only_to.is_none()).map(render_message);
        all.any(|text| texts.iter().all(|part| text.contains(part)))
    }

    fn has_ephemeral_message(&self, person: &str, text: &str) -> bool {
        let messages = self.harness.world.slack.messages("deploys", Some(person));
        messages.iter().any(|message| message.only_to.is_some() && render_message(message).contains(text))
    }

    fn log_contains(&self, text: &str) -> bool {
        self.harness.files().iter().any(|(file, bytes)| file == "log" && String::from_utf8_lossy(bytes).contains(text))
    }
}

fn name(fault: Fault) -> String {
    let Value::String(name) = serde_json::to_value(fault).unwrap() else { panic!("{fault:?} has no name") };
    name
}
