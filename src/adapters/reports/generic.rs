//! Plain JSON at `/webhooks/deployments`, from any program that can sign a body: a pipeline, a script, a person with
//! `curl`. The secret determines the environment. An environment in the body is ignored.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Report, ReportError, ReportSender, ReportStatus, ReportTarget, failed_status, hash_key, parse_commit, parse_json,
    truncate_message,
};
use crate::domain::change::FailureEvidence;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;

/// The fields that Gantry reads; all others are ignored.
#[derive(Deserialize)]
struct GenericReportBody {
    #[serde(alias = "artifact")]
    artefact: Option<String>,
    image: Option<String>,
    version: Option<String>,
    commit: Option<String>,
    revision: Option<String>,
    state: Option<String>,
    message: Option<String>,
    at: Option<String>,
    id: Option<Value>,
    object: Option<GenericReportObject>,
}

#[derive(Default, Deserialize)]
struct GenericReportObject {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GenericReportState {
    Started,
    Succeeded,
    Failed,
}

impl GenericReportState {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "started" | "running" | "progressing" | "in_progress" | "deploying" | "pending" => Self::Started,
            "succeeded" | "success" | "deployed" | "healthy" => Self::Succeeded,
            "failed" | "failure" | "error" | "errored" | "degraded" => Self::Failed,
            _ => return None,
        })
    }

    /// Synonyms have the same text.
    fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

pub fn parse(environment: &EnvironmentName, body: &[u8]) -> Result<Report, ReportError> {
    let body: GenericReportBody = parse_json(body, |error| {
        format!(
            "The body is not a report: {error}. Send a JSON object such as \
             {{\"artefact\": \"checkout\", \"commit\": \"<40 hex digits>\", \"state\": \"succeeded\"}}."
        )
    })?;
    let state = parse_state(body.state.as_deref())?;
    let at = parse_time(body.at.as_deref())?;
    let (artefact, image, version) =
        (discard_blank(body.artefact), discard_blank(body.image), discard_blank(body.version));
    let object = body.object.unwrap_or_default();
    let name = discard_blank(object.name).unwrap_or_default();
    if artefact.is_none() && image.is_none() && name.is_empty() {
        return Err(ReportError::malformed(
            "Nothing says what was deployed: give `artefact`, `image` or `object.name`.",
        ));
    }
    let full_sha = parse_full_sha(discard_blank(body.commit))?;
    let revision = discard_blank(body.revision).or_else(|| version.clone());
    let commit = full_sha.or_else(|| revision.as_deref().and_then(parse_commit));
    let message = truncate_message(&body.message.unwrap_or_default());
    let images: Vec<String> = image.map(|image| add_version_tag(image, version)).into_iter().collect();
    let (kind, namespace) =
        (discard_blank(object.kind).unwrap_or_default(), discard_blank(object.namespace).unwrap_or_default());
    let time = at.map(|at| at.to_string()).unwrap_or_default();
    let key = hash_key(&[
        environment.as_str(),
        "deployments",
        artefact.as_deref().unwrap_or_default(),
        images.first().map_or("", String::as_str),
        &kind,
        &namespace,
        &name,
        revision.as_deref().unwrap_or_default(),
        commit.as_ref().map_or("", Sha::as_str),
        state.as_str(),
        &message,
        &time,
    ]);
    Ok(Report {
        sender: ReportSender::Deployments,
        environment: environment.clone(),
        about: ReportTarget { kind, namespace, name, artefact, images, repository: None },
        revision,
        commit,
        outcome: match state {
            GenericReportState::Started => ReportStatus::Progressing,
            GenericReportState::Succeeded => ReportStatus::Succeeded,
            GenericReportState::Failed => {
                failed_status(&message, "It said that it failed, and not why.", FailureEvidence::HealthReport)
            }
        },
        message,
        at,
        key,
        id: parse_id(body.id)?,
    })
}

/// Blank text counts as missing.
fn discard_blank(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn parse_state(text: Option<&str>) -> Result<GenericReportState, ReportError> {
    let advice = "write `started`, `succeeded` or `failed`";
    let Some(text) = text else { return Err(ReportError::malformed(format!("`state` is missing: {advice}."))) };
    GenericReportState::parse(text)
        .ok_or_else(|| ReportError::malformed(format!("`{}` is not a state: {advice}.", truncate_message(text))))
}

fn parse_time(text: Option<&str>) -> Result<Option<Timestamp>, ReportError> {
    let malformed = |text: &str| {
        let text = truncate_message(text);
        ReportError::malformed(format!("`at` is `{text}`, which is no time: write it like `2026-11-16T09:00:00Z`."))
    };
    text.map(|text| text.trim().parse().map_err(|_| malformed(text))).transpose()
}

fn parse_full_sha(commit: Option<String>) -> Result<Option<Sha>, ReportError> {
    let Some(text) = commit else { return Ok(None) };
    let malformed = |_| {
        let text = truncate_message(&text);
        ReportError::malformed(format!(
            "`commit` is `{text}`: write all 40 hex digits, or leave it away and give `version`."
        ))
    };
    text.parse().map(Some).map_err(malformed)
}

/// The id may be a string or a number.
fn parse_id(id: Option<Value>) -> Result<Option<String>, ReportError> {
    match id {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(discard_blank(Some(text))),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(ReportError::malformed("`id` is neither a text nor a number: give one, or leave it away.")),
    }
}

/// An image without a tag gets the version as its tag.
fn add_version_tag(image: String, version: Option<String>) -> String {
    // The port of a registry is followed by a slash.
    let tagged = image.contains('@') || image.rsplit('/').next().is_some_and(|last| last.contains(':'));
    match version {
        Some(version) if !tagged => format!("{image}:{version}"),
        _ => image,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

    fn qa() -> EnvironmentName {
        EnvironmentName::new("qa")
    }

    fn read(body: &Value) -> Result<Report, ReportError> {
        parse(&qa(), body.to_string().as_bytes())
    }

    #[test]
    fn a_body_becomes_a_report() {
        let report = read(&json!({
            "artefact": "checkout", "image": "ghcr.io/acme/checkout", "version": "2.1.0", "commit": SHA, "state": "succeeded",
            "message": "all green", "at": "2026-11-16T09:00:00+02:00", "id": 77, "environment": "prod", "colour": "blue",
            "object": { "kind": "Deployment", "namespace": "qa", "name": "checkout-web" },
        }))
        .unwrap();
        assert_eq!(
            (report.sender, report.environment.as_str()),
            (ReportSender::Deployments, "qa"),
            "the environment in the body is ignored"
        );
        assert_eq!(report.about.artefact.as_deref(), Some("checkout"));
        assert_eq!(report.about.images, ["ghcr.io/acme/checkout:2.1.0"]);
        assert_eq!(
            (&*report.about.kind, &*report.about.namespace, &*report.about.name),
            ("Deployment", "qa", "checkout-web")
        );
        assert_eq!((report.revision.as_deref(), report.commit.unwrap().as_str()), (Some("2.1.0"), SHA));
        assert_eq!(report.at.unwrap().to_string(), "2026-11-16T07:00:00Z");
        assert_eq!((report.id.as_deref(), &*report.message), (Some("77"), "all green"));
        assert_eq!(report.outcome, ReportStatus::Succeeded);
    }

    #[test]
    fn each_synonym_of_a_state_is_parsed() {
        let failed = ReportStatus::Failed {
            message: "It said that it failed, and not why.".to_owned(),
            evidence: FailureEvidence::HealthReport,
        };
        let cases = [
            (
                &["started", "running", "progressing", "in_progress", "Deploying", "pending"][..],
                ReportStatus::Progressing,
            ),
            (&["succeeded", "success", "deployed", " SUCCESS "], ReportStatus::Succeeded),
            (&["failed", "failure", "error"], failed),
        ];
        for (synonyms, expected) in cases {
            for synonym in synonyms {
                let report = read(&json!({ "artefact": "checkout", "state": synonym })).unwrap();
                assert_eq!(report.outcome, expected, "{synonym}");
            }
        }
        let report = read(&json!({ "artefact": "checkout", "state": "failed", "message": "no room" })).unwrap();
        assert_eq!(
            report.outcome,
            ReportStatus::Failed { message: "no room".to_owned(), evidence: FailureEvidence::HealthReport }
        );
    }

    #[test]
    fn each_error_says_how_to_correct_it() {
        let cases = [
            (json!({ "artefact": "checkout" }), "`state` is missing: write `started`, `succeeded` or `failed`."),
            (
                json!({ "artefact": "checkout", "state": "ok?" }),
                "`ok?` is not a state: write `started`, `succeeded` or `failed`.",
            ),
            (
                json!({ "state": "failed" }),
                "Nothing says what was deployed: give `artefact`, `image` or `object.name`.",
            ),
            (
                json!({ "artefact": " ", "state": "failed" }),
                "Nothing says what was deployed: give `artefact`, `image` or `object.name`.",
            ),
            (
                json!({ "artefact": "checkout", "state": "failed", "commit": "9be01d7" }),
                "`commit` is `9be01d7`: write all 40 hex digits, or leave it away and give `version`.",
            ),
            (
                json!({ "artefact": "checkout", "state": "failed", "at": "today" }),
                "`at` is `today`, which is no time: write it like `2026-11-16T09:00:00Z`.",
            ),
            (
                json!({ "artefact": "checkout", "state": "failed", "id": [] }),
                "`id` is neither a text nor a number: give one, or leave it away.",
            ),
        ];
        for (body, sentence) in cases {
            assert_eq!(read(&body).unwrap_err().to_string(), sentence, "{body}");
        }
        for wrong in [&b""[..], b"[1]", b"null", b"\xff", br#"{"artefact":7,"state":"failed"}"#] {
            let sentence = parse(&qa(), wrong).unwrap_err().to_string();
            assert!(
                sentence.starts_with("The body is not a report: ") && sentence.contains("Send a JSON object"),
                "{sentence}"
            );
        }
    }

    #[test]
    fn an_image_without_a_tag_gets_the_version_as_its_tag() {
        let cases = [
            ("ghcr.io/acme/checkout", Some("2.1"), "ghcr.io/acme/checkout:2.1"),
            ("localhost:5000/checkout", Some("2.1"), "localhost:5000/checkout:2.1"),
            ("ghcr.io/acme/checkout:2.0", Some("2.1"), "ghcr.io/acme/checkout:2.0"),
            ("ghcr.io/acme/checkout@sha256:ab", Some("2.1"), "ghcr.io/acme/checkout@sha256:ab"),
            ("ghcr.io/acme/checkout", None, "ghcr.io/acme/checkout"),
        ];
        for (image, version, expected) in cases {
            assert_eq!(add_version_tag(image.to_owned(), version.map(str::to_owned)), expected);
        }
    }

    #[test]
    fn the_same_meaning_has_the_same_key_with_any_synonym() {
        let first = json!({ "artefact": "checkout", "state": "success", "id": "1", "at": "2026-11-16T09:00:00Z" });
        let same = json!({ "at": "2026-11-16T10:00:00+01:00", "id": "2", "state": "deployed", "artifact": "checkout" });
        let (first, same) = (read(&first).unwrap(), read(&same).unwrap());
        assert_eq!(first.key, same.key);
        assert_ne!(first.id_key(), same.id_key());
        let later = read(&json!({ "artefact": "checkout", "state": "success", "at": "2026-11-16T09:00:01Z" })).unwrap();
        assert_ne!(first.key, later.key);
        let elsewhere = Report { environment: EnvironmentName::new("prod"), ..first.clone() };
        assert_ne!(first.id_key(), elsewhere.id_key(), "each environment has its own ids");
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&qa(), &body);
        }

        #[test]
        fn any_texts_are_parsed_without_panic(texts in prop::collection::vec(".{0,40}", 6)) {
            let _ = read(&json!({
                "artefact": texts[0], "image": texts[1], "version": texts[2], "commit": texts[3], "revision": texts[4],
                "state": "started", "at": texts[5],
            }));
        }
    }
}
