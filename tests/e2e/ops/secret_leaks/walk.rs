//! Everything that can happen, by whichever way the bot comes to its services: what people do, every fault that the
//! simulators know, and what strangers send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use gantry::sim::faults::Fault;
use gantry::sim::slack::VERIFICATION_TOKEN;
use gantry::sim::town::{GITHUB_TOKEN, World};
use serde_json::{Value, json};

use crate::harness::process::{Apart, Hold, until};
use crate::harness::world::{has_button, shown};
use crate::ops::receiving::hex_hmac;

pub(super) struct Walk<'a> {
    apart: &'a Apart,
    walked: Mutex<BTreeSet<String>>,
    /// What was answered at once.
    pub(super) answers: Mutex<Vec<String>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(apart: &'a Apart) -> Self {
        Self { apart, walked: Mutex::default(), answers: Mutex::default() }
    }

    pub(super) async fn all(&self) {
        // For an answer that never comes it waits 15 s, in which the rest can happen.
        self.apart.town.registry.demand_login();
        self.push("search").await;
        self.suffers(Fault::GithubTimeoutAfterEffect, 1, Some("gitops"), None);
        self.types("alice", "/promote search qa").await;
        for fault in [Fault::Github502, Fault::Slack429, Fault::SlackDown, Fault::DuplicateWebhook] {
            self.suffers(fault, 1, None, None);
        }
        tokio::join!(self.changes(), self.arrivals());
        self.suffers(Fault::ClusterDown, 3, None, None);
        self.questions().await;
        self.modals().await;
        if self.apart.town.slack.uses_sockets() {
            self.sockets().await;
        }
        self.webhooks().await;
        for fault in Fault::NAMES {
            self.struck(fault).await;
        }
        let unanswered = |line: &Value| {
            let is = |name: &str, part: &str| line[name].as_str().is_some_and(|text| text.contains(part));
            is("message", "GitHub gave no answer") && is("path", "acme/gitops")
        };
        until("no answer came", async || self.apart.log().iter().any(unanswered)).await;
    }

    async fn changes(&self) {
        self.suffers(Fault::MergeConflict, 1, Some("checkout"), Some("staging"));
        self.types("alice", "/promote checkout staging").await;
        until("it conflicts", async || self.says("deploys", &["conflicts with *staging*"])).await;
        self.types("alice", "/promote checkout qa").await;
        until("it runs", async || self.says("deploys", &["*checkout*", "running in *qa*"])).await;
        self.suffers(Fault::CrashLoop, 1, Some("checkout"), Some("qa"));
        self.types("bob", "/rollback checkout qa").await;
        self.types("dave", "/promote checkout qa").await;
    }

    async fn arrivals(&self) {
        self.suffers(Fault::SlowRollout, 1, Some("storefront"), Some("development"));
        self.suffers(Fault::LostWebhook, 1, Some("storefront"), Some("development"));
        self.suffers(Fault::ImageMissing, 1, Some("mailer"), Some("development"));
        self.push("storefront").await;
        self.suffers(Fault::RedCheck, 1, Some("shop"), None);
        self.types("alice", "/promote storefront qa").await;
        until("it is red", async || self.sees("alice", "Checks are red on ")).await;
    }

    async fn questions(&self) {
        for text in ["/list", "/diff qa staging checkout --code", "/gantry why checkout prod", "/gantry doctor"] {
            self.types("bob", text).await;
        }
        let slack = &self.apart.town.slack;
        slack.type_message("alice", "deploys", None, "@gantry list checkout").await.unwrap();
        slack.type_message("alice", "@gantry", None, "why checkout prod").await.unwrap();
        slack.open_home("bob").await.unwrap();
        until("the Home is shown", async || !slack.home("bob").is_null()).await;
    }

    /// Into production: a modal that cannot be opened, one that is filled in, and a yes.
    async fn modals(&self) {
        let (slack, gate) = (&self.apart.town.slack, &self.apart.gate);
        self.types("alice", "/promote checkout prod").await;
        self.presses("alice", "deploys", "Confirm").await;
        gate.close_for("POST /sim/slack/api/views.open", Hold::BeforeTheEffect);
        self.presses("bob", "releases", "Reject").await;
        until("the modal is asked for", async || gate.held().is_some()).await;
        gate.open();
        until("it is not opened", async || self.logs("the modal for a rejection could not be opened")).await;
        self.presses("bob", "releases", "Reject").await;
        until("the modal is open", async || !slack.views("bob").is_empty()).await;
        let modal = slack.views("bob").remove(0);
        assert!(modal["private_metadata"].as_str().is_some_and(|about| !about.is_empty()), "{modal}");
        let ack = slack.submit("bob", modal["id"].as_str().unwrap(), &json!({ "reason": "not today" })).await.unwrap();
        self.answers.lock().unwrap().push(format!("{modal} {ack:?}"));
        until("it is rejected", async || self.says("releases", &["not today"])).await;
        self.types("bob", "/promote checkout prod").await;
        self.presses("bob", "deploys", "Confirm").await;
        self.presses("carol", "releases", "Approve").await;
        until("it runs", async || self.says("releases", &["running in *prod*"])).await;
    }

    /// Connections that end, are refused, and bring what cannot be read.
    async fn sockets(&self) {
        let (slack, gate) = (&self.apart.town.slack, &self.apart.gate);
        slack.send_disconnect("warning");
        until("there is another", async || slack.socket_count() > 1).await;
        let payload = json!({ "token": VERIFICATION_TOKEN, "response_url": slack.issued_secrets().pop() });
        slack.send_raw(&json!({ "type": "slash_commands", "envelope_id": "1", "payload": payload }).to_string());
        slack.send_raw("no JSON");
        until("it cannot be read", async || self.logs("something came by Slack's socket that cannot be read")).await;
        gate.close_for("GET /sim/slack/link", Hold::BeforeTheEffect);
        slack.break_sockets();
        until("it comes with its ticket", async || gate.held().is_some()).await;
        gate.open();
        until("it is refused", async || self.logs("the socket was refused with HTTP status 503")).await;
        until("it is connected", async || slack.socket_count() > 0).await;
    }

    /// Good and bad ones; a secret in the wrong place is still a secret.
    async fn webhooks(&self) {
        let (signing, flux) =
            (World::secret("SLACK_SIGNING_SECRET").unwrap(), World::secret("FLUX_QA_SECRET").unwrap());
        let signed =
            |secret: &str, body: &str| ("x-signature", format!("sha256={}", hex_hmac(secret, &[body.as_bytes()])));
        let bearer = ("authorization", format!("Bearer {flux}"));
        let report = r#"{"artefact": "nobody", "state": "failed", "message": "no"}"#;
        let slack = ("x-slack-signature", format!("v0={signing}"));
        for (path, header, body, status) in [
            ("/webhooks/deployments", signed(&flux, report), report, 202),
            ("/webhooks/deployments", signed(&flux, "nonsense"), "nonsense", 400),
            ("/webhooks/deployments", signed(&signing, report), report, 401),
            ("/webhooks/flux/qa", bearer.clone(), "nonsense", 400),
            ("/webhooks/argocd/prod", bearer, "{}", 401),
            ("/webhooks/github", ("x-hub-signature-256", signing.clone()), "{}", 401),
            ("/slack/commands", slack, "text=x", 401),
        ] {
            let to = format!("http://{}{path}", self.apart.address);
            let (name, value) = header;
            let answer = reqwest::Client::new().post(to).header(name, value).body(body).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path} {body}");
            let text = answer.text().await.unwrap();
            self.answers.lock().unwrap().push(text);
        }
    }

    /// To be called before the bot starts: then GitHub does not let it in.
    pub(super) fn shut_out(apart: &Apart) {
        apart.town.github.update_installation(|it| {
            it.suspended = true;
            it.revoked.push(GITHUB_TOKEN.to_owned());
        });
    }

    /// Whom GitHub does not let in, and then Slack neither.
    pub(super) async fn outside(&self) {
        self.types("alice", "/promote checkout qa").await;
        let refused = ["This installation has been suspended", "Bad credentials"];
        until("GitHub refuses", async || refused.iter().any(|why| self.logs(why) || self.sees("alice", why))).await;
        let slack = &self.apart.town.slack;
        if slack.uses_sockets() {
            slack.set_app_token("another");
            slack.break_sockets();
            until("Slack refuses", async || self.logs("Slack refuses the app-level token")).await;
        }
    }

    fn suffers(&self, fault: Fault, times: u32, artefact: Option<&str>, environment: Option<&str>) {
        self.walked.lock().unwrap().insert(name(fault));
        self.apart.town.faults.arm(fault, times, artefact.map(str::to_owned), environment.map(str::to_owned));
    }

    async fn struck(&self, fault: &str) {
        assert!(self.walked.lock().unwrap().contains(fault), "nothing suffers {fault}");
        let faults = &self.apart.town.faults;
        until(&format!("{fault} strikes"), async || faults.list_armed().iter().all(|armed| name(armed.fault) != fault))
            .await;
    }

    async fn push(&self, artefact: &str) {
        let message = format!("More of {artefact}");
        self.apart.town.push(artefact, "develop", &message, BTreeMap::new(), "alice").unwrap();
        until(&message, async || self.says("deploys", &[&format!("*{artefact}*"), &message])).await;
    }

    async fn types(&self, who: &str, text: &str) {
        let ack = self.apart.town.slack.type_command(who, "deploys", text).await.unwrap();
        assert_eq!(ack.status, 200, "{text}: {ack:?}");
        self.answers.lock().unwrap().push(format!("{ack:?}"));
    }

    /// The newest such button that there is, once there is one.
    async fn presses(&self, who: &str, channel: &str, button: &str) {
        let slack = &self.apart.town.slack;
        let messages = || slack.messages(channel, Some(who)).into_iter().rev();
        let found = || messages().find(|message| has_button(message, button));
        until(&format!("{who} sees {button}"), async || found().is_some()).await;
        slack.click(who, channel, &found().unwrap().id, button).await.unwrap();
    }

    /// A message for all has these words, each of them.
    fn says(&self, channel: &str, words: &[&str]) -> bool {
        let messages = self.apart.town.slack.messages(channel, None);
        let mut all = messages.iter().filter(|message| message.only_to.is_none()).map(shown);
        all.any(|text| words.iter().all(|word| text.contains(word)))
    }

    fn sees(&self, who: &str, words: &str) -> bool {
        let messages = self.apart.town.slack.messages("deploys", Some(who));
        messages.iter().any(|message| message.only_to.is_some() && shown(message).contains(words))
    }

    fn logs(&self, words: &str) -> bool {
        self.apart.files().iter().any(|(file, bytes)| file == "log" && String::from_utf8_lossy(bytes).contains(words))
    }
}

fn name(fault: Fault) -> String {
    let Value::String(name) = serde_json::to_value(fault).unwrap() else { panic!("{fault:?} has no name") };
    name
}
