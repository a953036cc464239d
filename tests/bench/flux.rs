//! Reports as Flux sends them: signed, all different, some of them about objects that are not configured.

use std::fmt::Write as _;

use gantry::adapters::reports::flux;
use gantry::domain::model::environment::EnvironmentName;
use gantry::sim::rng::Rng;
use gantry::sim::world::{ENVIRONMENTS, webhook_secrets};
use hmac::{Hmac, Mac};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::Outcome;

/// The last two are not configured.
const OBJECTS: [&str; 6] = ["checkout", "search", "storefront", "mailer", "infrastructure", "flux-system"];

/// The HTTP request of one report, and the key of its one ledger entry.
pub(crate) struct SignedReport {
    pub(crate) request: Vec<u8>,
    pub(crate) key: String,
}

pub(crate) fn reports(count: usize, seed: u64, now: Timestamp) -> Outcome<Vec<SignedReport>> {
    let mut rng = Rng::new(seed);
    (0..count).map(|number| build_report(number, &mut rng, now)).collect()
}

fn build_report(number: usize, rng: &mut Rng, now: Timestamp) -> Outcome<SignedReport> {
    let (environment, branch) = ENVIRONMENTS[rng.next_below(ENVIRONMENTS.len())];
    let at = now + SignedDuration::from_secs(i64::try_from(number / 20)?);
    let body = event(number, OBJECTS[rng.next_below(OBJECTS.len())], environment, branch, at, rng).to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(webhook_secrets()[environment].as_bytes())?;
    mac.update(body.as_bytes());
    let signature = mac.finalize().into_bytes().iter().try_fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}")?;
        Ok::<_, std::fmt::Error>(text)
    })?;
    let request = format!(
        "POST /webhooks/flux/{environment} HTTP/1.1\r\nHost: gantry.example.com\r\nUser-Agent: Go-http-client/1.1\r\n\
         Content-Type: application/json\r\nGotk-Component: kustomize-controller\r\nX-Signature: sha256={signature}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let key = flux::parse(&EnvironmentName::new(environment), body.as_bytes())?.key;
    Ok(SignedReport { request: request.into_bytes(), key })
}

fn event(number: usize, name: &str, environment: &str, branch: &str, at: Timestamp, rng: &mut Rng) -> Value {
    let (kind, severity, reason) = [
        ("Kustomization", "info", "Progressing"),
        ("Kustomization", "info", "ReconciliationSucceeded"),
        ("Kustomization", "error", "HealthCheckFailed"),
        ("HelmRelease", "info", "UpgradeSucceeded"),
        ("GitRepository", "info", "NewArtifact"),
    ][rng.next_below(5)];
    // A failed apply names all objects that it touched.
    let lines = if severity == "error" { 30 } else { 1 };
    let message = (0..lines).fold(String::new(), |mut message, line| {
        let _ = writeln!(message, "Deployment/{environment}/{name}-{line} configured, {number}");
        message
    });
    json!({
        "involvedObject": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": kind, "name": name, "namespace": environment,
            "uid": format!("5c5c8a4d-{:04x}-4c7e-9b62-{number:012x}", rng.next_below(0x1_0000)), "resourceVersion": number.to_string(),
        },
        "severity": severity, "timestamp": at.to_string(), "message": message, "reason": reason,
        "metadata": { "kustomize.toolkit.fluxcd.io/revision": format!("{branch}@sha1:{number:040x}") },
        "reportingController": "kustomize-controller", "reportingInstance": "kustomize-controller-7b7b47d5f6-x2x9z",
    })
}
