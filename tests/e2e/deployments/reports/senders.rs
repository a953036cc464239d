//! Reports in the format of each sender, with its signature or token.

use Sender::{ArgoCd, CdEventsBinary, CdEventsStructured, Deployments, FluxBearer, FluxSigned, Github};
use gantry::sim::world::GITHUB_WEBHOOK_SECRET;
use serde_json::{Value, json};

use crate::harness::signing::hex_hmac;
use crate::harness::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    FluxSigned,
    FluxBearer,
    ArgoCd,
    Deployments,
    CdEventsBinary,
    CdEventsStructured,
    Github,
}

pub(super) const ALL_SENDERS: [Sender; 7] =
    [FluxSigned, FluxBearer, ArgoCd, Deployments, CdEventsBinary, CdEventsStructured, Github];

/// The content of a report about a commit of `checkout` in qa.
#[derive(Clone, Debug)]
pub(super) struct TestReport<'a> {
    pub(super) commit: &'a str,
    /// `started`, `succeeded` or `failed`.
    pub(super) state: &'a str,
    pub(super) message: &'a str,
    pub(super) at: &'a str,
    /// The sender's own id, for senders that have one.
    pub(super) id: u64,
}

impl Sender {
    /// CDEvents have no type for a failure.
    pub(super) fn can_report(self, state: &str) -> bool {
        !matches!((self, state), (CdEventsBinary | CdEventsStructured, "failed"))
    }

    pub(super) fn has_ids(self) -> bool {
        matches!(self, Deployments | CdEventsBinary | CdEventsStructured | Github)
    }

    /// The path names the environment for Flux and Argo CD only. For the others, the secret or the body does.
    pub(super) fn path(self) -> &'static str {
        match self {
            FluxSigned | FluxBearer => "/webhooks/flux/qa",
            ArgoCd => "/webhooks/argocd/qa",
            Deployments => "/webhooks/deployments",
            CdEventsBinary | CdEventsStructured => "/webhooks/cdevents",
            Github => "/webhooks/github",
        }
    }

    pub(super) fn right_secret(self) -> &'static str {
        if self == Github { GITHUB_WEBHOOK_SECRET } else { "flux-secret-of-qa" }
    }

    /// The headers that authenticate a body.
    pub(super) fn headers(self, secret: &str, body: &str) -> Vec<(&'static str, String)> {
        let signature = format!("sha256={}", hex_hmac(secret, &[body.as_bytes()]));
        match self {
            FluxSigned | Deployments => vec![("x-signature", signature)],
            FluxBearer | ArgoCd => vec![("authorization", format!("Bearer {secret}"))],
            // The headers are not signed. They contradict the body and must be ignored.
            CdEventsBinary => vec![
                ("x-signature", signature),
                ("content-type", "application/json".to_owned()),
                ("ce-specversion", "1.0".to_owned()),
                ("ce-type", "dev.cdevents.service.removed.0.2.0".to_owned()),
                ("ce-id", "a lie".to_owned()),
                ("ce-source", "/liar".to_owned()),
            ],
            CdEventsStructured => {
                vec![("x-signature", signature), ("content-type", "application/cloudevents+json".to_owned())]
            }
            Github => vec![("x-hub-signature-256", signature), ("x-github-event", "deployment_status".to_owned())],
        }
    }

    pub(super) fn body(self, report: &TestReport<'_>) -> String {
        match self {
            FluxSigned | FluxBearer => flux(report),
            ArgoCd => return argocd(report),
            Deployments => json!({
                "artefact": "checkout", "commit": report.commit, "state": report.state, "message": report.message, "at": report.at,
                "id": report.id, "environment": "prod",
            }),
            CdEventsBinary => cdevent(report),
            CdEventsStructured => json!({
                "specversion": "1.0", "id": report.id.to_string(), "source": "/ci", "type": "dev.cdevents.service.deployed.0.2.0",
                "datacontenttype": "application/json", "data": cdevent(report),
            }),
            Github => github(report),
        }
        .to_string()
    }

    pub(super) async fn send_report(self, world: &World, report: &TestReport<'_>) -> u16 {
        let body = self.body(report);
        send(world, self.path(), self.headers(self.right_secret(), &body), body).await.0
    }
}

pub(super) async fn send(world: &World, path: &str, headers: Vec<(&str, String)>, body: String) -> (u16, String) {
    let mut request = reqwest::Client::new().post(format!("{}{path}", world.origin));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.body(body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn flux(report: &TestReport<'_>) -> Value {
    let (severity, reason) = match report.state {
        "started" => ("info", "Progressing"),
        "succeeded" => ("info", "ReconciliationSucceeded"),
        _ => ("error", "HealthCheckFailed"),
    };
    json!({
        "involvedObject": { "kind": "Kustomization", "name": "checkout", "namespace": "flux-system" },
        "severity": severity, "reason": reason, "timestamp": report.at, "message": report.message,
        "metadata": { "kustomize.toolkit.fluxcd.io/revision": format!("qa@sha1:{}", report.commit) },
        "reportingController": "kustomize-controller",
    })
}

/// An Application, rendered with the shipped template as Argo CD's notifications do.
fn argocd(report: &TestReport<'_>) -> String {
    let read = |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut app: Value = serde_json::from_str(&read("tests/data/reports/argocd/healthy.json")).unwrap();
    let operation = &mut app["status"]["operationState"];
    operation["phase"] = match report.state {
        "started" => "Running",
        "succeeded" => "Succeeded",
        _ => "Failed",
    }
    .into();
    operation["message"] = report.message.into();
    operation["finishedAt"] = report.at.into();
    operation["syncResult"]["revision"] = report.commit.into();
    let shipped: Value = serde_saphyr::from_str(&read("deploy/argocd/notifications.yaml")).unwrap();
    let template: Value = serde_saphyr::from_str(shipped["data"]["template.gantry"].as_str().unwrap()).unwrap();
    let mut out = String::new();
    for part in template["webhook"]["gantry-qa"]["body"].as_str().unwrap().split("{{") {
        let Some((expression, behind)) = part.split_once("}}") else {
            out += part;
            continue;
        };
        // The unit tests of the parser cover Go's handling of missing fields. This Application has all fields.
        let path = expression.trim().strip_suffix(" | toJson").unwrap();
        let path = match path.strip_prefix("dig ") {
            Some(keys) => keys.rsplitn(3, ' ').last().unwrap().replace('"', "").replace(' ', "/"),
            None => path.strip_prefix(".app.").unwrap().replace('.', "/"),
        };
        out += &app.pointer(&format!("/{path}")).unwrap_or(&Value::Null).to_string();
        out += behind;
    }
    out
}

fn cdevent(report: &TestReport<'_>) -> Value {
    let predicate = if report.state == "succeeded" { "deployed" } else { "rolledback" };
    json!({
        "context": {
            "version": "0.4.0", "id": report.id.to_string(), "source": "/ci", "timestamp": report.at,
            "type": format!("dev.cdevents.service.{predicate}.0.2.0"),
        },
        "subject": {
            "id": "deployment/checkout", "source": "/ci", "type": "service",
            "content": { "environment": { "id": "prod" }, "artifactId": "pkg:oci/checkout?repository_url=ghcr.io/acme" },
        },
        "customData": { "artefact": "checkout", "commit": report.commit },
        "customDataContentType": "application/json",
    })
}

fn github(report: &TestReport<'_>) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reports/github/deployment_status-success.json");
    let mut event: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    event["repository"]["full_name"] = "acme/checkout".into();
    event["deployment"]["environment"] = "qa".into();
    event["deployment"]["sha"] = report.commit.into();
    event["deployment"]["payload"] = json!({ "artefact": "checkout" });
    event["deployment_status"]["id"] = report.id.into();
    event["deployment_status"]["created_at"] = report.at.into();
    event["deployment_status"]["description"] = report.message.into();
    event["deployment_status"]["state"] = match report.state {
        "started" => "in_progress",
        "succeeded" => "success",
        _ => "failure",
    }
    .into();
    event
}
