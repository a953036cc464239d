//! The alert rules: a real scrape has the metrics and labels that they use, and the runbook explains each alert.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::harness::world::World;
use crate::ops::metrics::scrape::Scrape;

#[derive(Deserialize)]
struct File {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    alert: String,
    expr: String,
    #[serde(rename = "for")]
    lasting: String,
    labels: Severity,
    annotations: Annotations,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Severity {
    severity: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    summary: String,
    runbook_url: String,
}

fn file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn rules() -> Vec<Rule> {
    let file: File = serde_saphyr::from_str(&file("deploy/helm/gantry/files/alerts.yaml")).unwrap();
    file.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// A label, and the values that the expression selects.
type Matcher = (String, Vec<String>);

/// Each metric of an expression, with its matchers.
fn find_metrics(expr: &str) -> Vec<(String, Vec<Matcher>)> {
    let mut metrics = Vec::new();
    let mut rest = expr;
    while let Some(start) = rest.find("gantry_") {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after;
        let inner = after.strip_prefix('{').map(|inner| inner.split_once('}').unwrap().0).unwrap_or_default();
        let matcher = |text: &str| {
            let (label, values) = text.split_once('=').unwrap_or_else(|| panic!("{expr}"));
            let values = values.trim_start_matches('~').trim_matches('"').split('|').map(str::to_owned).collect();
            (label.to_owned(), values)
        };
        metrics.push((name.to_owned(), inner.split(", ").filter(|text| !text.is_empty()).map(matcher).collect()));
    }
    metrics
}

/// The labels of each `by`.
fn find_group_labels(expr: &str) -> Vec<String> {
    let inner = expr.split("by (").skip(1).map(|after| after.split_once(')').unwrap().0);
    inner.flat_map(|labels| labels.split(", ").map(str::to_owned)).collect()
}

#[tokio::test]
async fn every_alert_uses_metrics_and_labels_that_a_scrape_has() {
    let world = World::open().await;
    world.alice().types("/promote checkout qa").await;
    world.sim.slack.revoke_scope("users:read");
    world.bob().types("/gantry locks").await;
    let mut scrape = Scrape::of(&world.origin).await;
    // Only a bot in Socket Mode has the metrics of the socket.
    let by_socket = World::with_setup(|sim| sim.slack.use_sockets(), |yaml| yaml).await;
    scrape.samples.extend(Scrape::of(&by_socket.origin).await.samples);
    let rules = rules();
    assert!(rules.len() >= 10);
    for rule in rules {
        let metrics = find_metrics(&rule.expr);
        assert!(!metrics.is_empty(), "{}", rule.alert);
        let mut labels = BTreeSet::new();
        for (name, matchers) in metrics {
            let of: Vec<_> =
                scrape.samples.iter().filter(|(of, _, _)| *of == name).map(|(_, labels, _)| labels).collect();
            assert!(!of.is_empty(), "{}: there is no {name}", rule.alert);
            for (label, values) in matchers {
                for value in values {
                    let is_present = of.iter().any(|labels| labels.get(&label) == Some(&value));
                    assert!(is_present, "{}: no {name} has {label}={value}", rule.alert);
                }
            }
            labels.extend(of.iter().flat_map(|labels| labels.keys().cloned()));
        }
        let in_summary = rule.annotations.summary.split("$labels.").skip(1);
        let in_summary = in_summary.map(|rest| rest.split(' ').next().unwrap().to_owned());
        for label in find_group_labels(&rule.expr).into_iter().chain(in_summary) {
            assert!(labels.contains(&label), "{}: none of its metrics has the label {label}", rule.alert);
        }
        assert!(rule.lasting.ends_with('m'), "{}: {}", rule.alert, rule.lasting);
        assert!(["info", "warning", "critical"].contains(&rule.labels.severity.as_str()), "{}", rule.alert);
    }
}

#[test]
fn the_runbook_explains_every_alert() {
    let mut rows = BTreeSet::new();
    for rule in rules() {
        let (page, anchor) = rule.annotations.runbook_url.split_once('#').unwrap();
        assert_eq!(anchor, rule.alert.to_ascii_lowercase());
        let row = format!("| <a id=\"{anchor}\"></a>`{}` | ", rule.alert);
        assert!(file(page).contains(&row), "{page} does not explain {}", rule.alert);
        assert!(rows.insert(rule.alert), "each alert has one rule");
        let explained = file(page).matches("<a id=\"gantry").count();
        assert_eq!(explained, self::rules().len(), "{page} explains alerts that do not exist");
    }
}
