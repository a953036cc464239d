//! CDEvents at `/webhooks/cdevents`, as CloudEvents over HTTP: structured, or binary with the event itself as the body.
//! Headers are not signed, so the `ce-*` headers are ignored: a `CDEvent` repeats all of them in its `context`.

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::{Report, ReportError, ReportSender, ReportStatus, ReportTarget, hash_key, parse_commit, parse_json};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;

#[derive(Deserialize)]
struct CdEvent {
    context: CdEventContext,
    subject: CdEventSubject,
    #[serde(rename = "customData", default)]
    custom: Value,
}

#[derive(Deserialize)]
struct CdEventContext {
    id: String,
    source: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct CdEventSubject {
    id: String,
    #[serde(default)]
    content: Value,
}

/// `None` for events that are not about services.
pub fn parse(environment: &EnvironmentName, body: &[u8]) -> Result<Option<Report>, ReportError> {
    let describe_error = |error: serde_json::Error| {
        format!("The body is not a CDEvent: {error}. Send one as JSON, alone or as the `data` of a CloudEvent.")
    };
    let mut value: Value = parse_json(body, describe_error)?;
    // The envelope of structured mode. The event itself has no field of this name.
    if value.get("specversion").is_some() && value.get("context").is_none() {
        value = value.get_mut("data").map(Value::take).unwrap_or_default();
    }
    let event: CdEvent =
        serde_json::from_value(value).map_err(|error| ReportError::Malformed(describe_error(error)))?;
    let Some(rest) = event.context.kind.strip_prefix("dev.cdevents.") else {
        return Err(ReportError::malformed(format!(
            "`{}` is not a type of CDEvents: they begin with `dev.cdevents.`.",
            super::truncate_message(&event.context.kind)
        )));
    };
    let mut parts = rest.split('.');
    let (subject, predicate) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if subject != "service" {
        return Ok(None);
    }
    let outcome = match predicate {
        "deployed" | "upgraded" => ReportStatus::Succeeded,
        // Another version runs now, and the event does not say whether that was intended: it wakes a check and proves
        // nothing.
        "rolledback" => ReportStatus::Progressing,
        "removed" | "published" => ReportStatus::Noise,
        _ => return Ok(None),
    };
    let non_blank = |value: &Value| value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let purl = non_blank(&event.subject.content["artifactId"]);
    let custom_text = |name: &str| event.custom.get(name).and_then(non_blank);
    let named_revision = custom_text("commit").or_else(|| custom_text("revision"));
    let at = event.context.timestamp.unwrap_or_default();
    // `deployment/checkout` as well as `checkout`.
    let (kind, name) = event.subject.id.rsplit_once('/').unwrap_or(("service", &event.subject.id));
    let commit = named_revision.as_deref().and_then(parse_commit);
    let key = hash_key(&[
        environment.as_str(),
        "cdevents",
        predicate,
        &event.subject.id,
        purl.as_deref().unwrap_or_default(),
        commit.as_ref().map_or("", Sha::as_str),
        &at,
    ]);
    Ok(Some(Report {
        sender: ReportSender::CdEvents,
        environment: environment.clone(),
        about: ReportTarget {
            kind: kind.to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
            artefact: custom_text("artefact").or_else(|| custom_text("artifact")),
            images: purl.as_deref().and_then(parse_package_url).into_iter().collect(),
            repository: None,
        },
        revision: named_revision.or(purl),
        commit,
        outcome,
        message: format!("service {predicate}"),
        at: at.parse().ok(),
        key,
        id: Some(format!("{} {}", event.context.source, event.context.id)),
    }))
}

/// Converts `pkg:oci/checkout@sha256%3Aab..?repository_url=ghcr.io/acme/checkout&tag=2.1` or
/// `pkg:docker/acme/checkout@2.1` to the usual notation of an image.
fn parse_package_url(purl: &str) -> Option<String> {
    let rest = purl.strip_prefix("pkg:")?;
    let (rest, _subpath) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, qualifiers) = rest.split_once('?').unwrap_or((rest, ""));
    let (path, version) = rest.split_once('@').unwrap_or((rest, ""));
    let path = path.strip_prefix("oci/").or_else(|| path.strip_prefix("docker/"))?;
    // A plus sign stays a plus sign, unlike in a form.
    let decode = |text| percent_decode_str(text).decode_utf8_lossy();
    let (path, version) = (decode(path), decode(version));
    let qualifier = |name: &str| {
        let mut pairs = form_urlencoded::parse(qualifiers.as_bytes());
        pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    if last.is_empty() {
        return None;
    }
    // The registry's address may or may not end with the image's own name.
    let name = match qualifier("repository_url") {
        Some(url) => {
            let url = url.trim_start_matches("https://").trim_end_matches('/');
            if url.rsplit('/').next() == Some(last) { url.to_owned() } else { format!("{url}/{path}") }
        }
        None => path.clone().into_owned(),
    };
    let is_digest = version.starts_with("sha256:");
    let tag = qualifier("tag").or_else(|| (!is_digest && !version.is_empty()).then(|| version.clone().into_owned()));
    let tag = tag.map(|tag| format!(":{tag}")).unwrap_or_default();
    let digest = if is_digest { format!("@{version}") } else { String::new() };
    Some(format!("{name}{tag}{digest}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn qa() -> EnvironmentName {
        EnvironmentName::new("qa")
    }

    /// The conformance files of the specification.
    fn conformance(predicate: &str) -> Value {
        let path = format!("{}/tests/data/reports/cdevents/service_{predicate}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn read(body: &Value) -> Option<Report> {
        parse(&qa(), body.to_string().as_bytes()).unwrap()
    }

    /// The same event as the `data` of a CloudEvent.
    fn structured(event: &Value) -> Value {
        json!({
            "specversion": "1.0", "id": event["context"]["id"], "source": event["context"]["source"],
            "type": event["context"]["type"], "subject": event["subject"]["id"], "time": event["context"]["timestamp"],
            "datacontenttype": "application/json", "data": event,
        })
    }

    #[test]
    fn each_predicate_of_a_service_has_its_outcome_in_both_modes() {
        let cases = [
            ("deployed", ReportStatus::Succeeded),
            ("upgraded", ReportStatus::Succeeded),
            ("rolledback", ReportStatus::Progressing),
            ("removed", ReportStatus::Noise),
            ("published", ReportStatus::Noise),
        ];
        for (predicate, expected) in cases {
            let event = conformance(predicate);
            let report = read(&event).unwrap();
            assert_eq!(report.outcome, expected, "{predicate}");
            assert_eq!(read(&structured(&event)).unwrap(), report, "{predicate}");
        }
    }

    #[test]
    fn an_event_becomes_a_report_of_its_environment() {
        let report = read(&conformance("deployed")).unwrap();
        assert_eq!((report.sender, report.environment), (ReportSender::CdEvents, qa()));
        assert_eq!((&*report.about.kind, &*report.about.name), ("service", "mySubject123"));
        let digest = "sha256:0b31b1c02ff458ad9b7b81cbdf8f028bd54699fa151f221d1e8de6817db93427";
        assert_eq!(report.about.images, [format!("myapp@{digest}")]);
        assert_eq!(report.id.as_deref(), Some("/event/source/123 271069a8-fc18-44f1-b38f-9d70a1695819"));
        assert_eq!(report.at.unwrap().to_string(), "2023-03-20T14:27:05.315384Z");
        assert_eq!((report.commit, report.about.artefact), (None, None));
    }

    #[test]
    fn every_version_of_the_specification_is_parsed() {
        for version in ["0.1.0", "0.1.1", "0.2.0", "0.3.0", "0.3.0-draft", "0.4.0"] {
            let mut event = conformance("upgraded");
            event["context"]["type"] = format!("dev.cdevents.service.upgraded.{version}").into();
            assert_eq!(read(&event).unwrap().outcome, ReportStatus::Succeeded, "{version}");
        }
    }

    #[test]
    fn custom_data_can_name_the_artefact_and_its_commit() {
        let sha = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
        let mut event = conformance("deployed");
        event["customData"] = json!({ "artefact": "checkout", "commit": sha });
        event["subject"]["id"] = "deployment/checkout-web".into();
        let report = read(&event).unwrap();
        assert_eq!((report.about.artefact.as_deref(), report.commit.unwrap().as_str()), (Some("checkout"), sha));
        assert_eq!((&*report.about.kind, &*report.about.name), ("deployment", "checkout-web"));
        event["customData"] = json!("VGhpcyBpcyBub3QgSlNPTg==");
        assert_eq!(read(&event).unwrap().about.artefact, None);
    }

    #[test]
    fn other_events_are_ignored_and_invalid_bodies_are_refused_with_a_message() {
        let mut event = conformance("deployed");
        for kind in [
            "dev.cdevents.build.finished.0.2.0",
            "dev.cdevents.environment.created.0.2.0",
            "dev.cdevents.service",
            "dev.cdevents.service.sung.1.0",
        ] {
            event["context"]["type"] = kind.into();
            assert_eq!(read(&event), None, "{kind}");
        }
        event["context"]["type"] = "com.github.push".into();
        let refusal = parse(&qa(), event.to_string().as_bytes()).unwrap_err().to_string();
        assert_eq!(refusal, "`com.github.push` is not a type of CDEvents: they begin with `dev.cdevents.`.");
        for wrong in ["", "[]", "{}", r#"{"specversion":"1.0"}"#, r#"{"specversion":"1.0","data":"x"}"#] {
            let refusal = parse(&qa(), wrong.as_bytes()).unwrap_err().to_string();
            assert!(refusal.starts_with("The body is not a CDEvent: "), "{wrong}: {refusal}");
        }
    }

    #[test]
    fn an_image_is_parsed_from_a_package_url() {
        let cases = [
            (
                "pkg:oci/checkout@sha256%3Aab12?repository_url=ghcr.io/acme/checkout&tag=2.1",
                Some("ghcr.io/acme/checkout:2.1@sha256:ab12"),
            ),
            ("pkg:oci/checkout?repository_url=ghcr.io/acme&tag=2.1", Some("ghcr.io/acme/checkout:2.1")),
            ("pkg:oci/checkout?repository_url=ghcr.io%2Facme%2Fcheckout", Some("ghcr.io/acme/checkout")),
            ("pkg:oci/checkout@sha256:ab12", Some("checkout@sha256:ab12")),
            ("pkg:docker/acme/checkout@2.1?repository_url=ghcr.io", Some("ghcr.io/acme/checkout:2.1")),
            ("pkg:docker/acme/checkout@2.1", Some("acme/checkout:2.1")),
            ("pkg:golang/example.com/acme@234fd47e07d1004f0aed9c", None),
            ("pkg:oci/", None),
            ("checkout:2.1", None),
            ("", None),
        ];
        for (purl, expected) in cases {
            assert_eq!(parse_package_url(purl).as_deref(), expected, "{purl}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&qa(), &body);
        }

        #[test]
        fn any_package_url_is_parsed_without_panic(rest in ".{0,60}", junk in "[%@?/&=:#a-f0-9]{0,40}") {
            let _ = parse_package_url(&format!("pkg:oci/{rest}"));
            let _ = parse_package_url(&format!("pkg:docker/{junk}"));
        }
    }
}
