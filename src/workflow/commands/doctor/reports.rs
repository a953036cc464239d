//! Whether reports of deployments arrive: lists the reports that match no artefact, and the environments without
//! reports.

use jiff::Timestamp;

use super::run::{Doctor, DoctorRun, ServiceFindings};
use crate::adapters::reports::Report;
use crate::adapters::store::{self, LedgerDetails, ReportSummary};
use crate::domain::doctor::{Health, HealthCheck, Service};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::attribution::UnmappedReportGroup;

/// The state of the report webhook of one environment.
struct WebhookStatus {
    environment: EnvironmentName,
    has_secret: bool,
    /// The time and the sender of the last report.
    last_report: Option<(Timestamp, String)>,
}

/// Without a readable database only the configuration is checked.
pub(super) async fn check_reports(run: &DoctorRun<'_>, is_database_readable: bool) -> ServiceFindings {
    let Doctor { config, secrets, clock, .. } = run.doctor;
    let names: Vec<_> = config.catalogue.ladder.environments().iter().map(|it| it.name.clone()).collect();
    let summary = if is_database_readable {
        run.limit_time(store::read_report_summary(&secrets.database_url, &names, clock.now())).await
    } else {
        Ok(None)
    };
    let summary = match summary {
        Ok(summary) => summary,
        Err(error) => {
            let mut found = ServiceFindings::new(Service::Reports);
            let repair = "Type `/gantry doctor` in Slack.";
            found.add_explained(
                Health::Warning,
                "The reports are stored by the Gantry that serves and cannot be read here",
                error,
                repair,
            );
            return found;
        }
    };
    let is_known = summary.is_some();
    let ReportSummary { unmapped, last_reports } = summary.unwrap_or_default();
    let find_last = |name: &EnvironmentName| {
        let entry = last_reports.iter().find(|entry| entry.environment.as_ref() == Some(name))?;
        let Some(LedgerDetails::Report { report, .. }) = &entry.details else { return None };
        let report: Report = serde_json::from_value(report.clone()).ok()?;
        Some((entry.at, report.sender.display_name().to_owned()))
    };
    let status = |environment: EnvironmentName| WebhookStatus {
        has_secret: config.webhook_secrets.contains_key(&environment),
        last_report: find_last(&environment),
        environment,
    };
    let statuses = names.into_iter().map(status).filter(|status| is_known || !status.has_secret);
    describe_reports(&unmapped, &statuses.collect::<Vec<_>>())
}

/// First the reports about no artefact, newest first; then the environments, in the given order.
fn describe_reports(unmapped: &[UnmappedReportGroup], environments: &[WebhookStatus]) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Reports);
    for UnmappedReportGroup { last, count, .. } in unmapped {
        let object = last.object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
        let environment = last.environment.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
        let summary = format!("{count} x {}{object}{environment}", last.sender);
        let check = HealthCheck::new(Service::Reports, Health::Warning, summary, &last.repair);
        found.checks.push(HealthCheck { last_seen_at: Some(last.at), reason: Some(last.problem.clone()), ..check });
    }
    let reported = environments.iter().filter_map(|it| Some((it, it.last_report.as_ref()?)));
    if let Some((status, (at, sender))) = reported.max_by_key(|(_, (at, _))| *at)
        && unmapped.is_empty()
    {
        let summary = format!("Every report could be mapped; the last came from {sender} for {}", status.environment);
        let check = HealthCheck::new(Service::Reports, Health::Good, summary, "");
        found.checks.push(HealthCheck { last_seen_at: Some(*at), ..check });
    }
    for WebhookStatus { environment, has_secret, last_report } in environments {
        if !has_secret {
            let repair =
                "Set its `webhook_secret`. Without reports, Gantry learns about deployments only from the cluster.";
            found.add_warning(format!("{environment} has no webhook secret, so its reports are refused"), repair);
        } else if last_report.is_none() {
            let repair = "If its controller should send reports, check the address and the secret there.";
            found.add_warning(format!("No report has arrived for {environment} yet"), repair);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runtime::attribution::{ControllerObject, UnmappedReport};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn webhook_status(environment: &str, has_secret: bool, last: Option<i64>) -> WebhookStatus {
        let last = last.map(|second| (at(second), "Flux".to_owned()));
        WebhookStatus { environment: EnvironmentName::new(environment), has_secret, last_report: last }
    }

    fn collect_summaries(checks: &[HealthCheck]) -> Vec<&str> {
        checks.iter().map(|check| check.summary.as_str()).collect()
    }

    #[test]
    fn the_good_finding_names_the_newest_report_and_environments_without_reports_get_a_warning() {
        let environments = [
            webhook_status("development", true, Some(1)),
            webhook_status("qa", true, Some(2)),
            webhook_status("staging", true, None),
            webhook_status("prod", false, Some(0)),
        ];
        let checks = describe_reports(&[], &environments).checks;
        assert_eq!(
            collect_summaries(&checks),
            [
                "Every report could be mapped; the last came from Flux for qa",
                "No report has arrived for staging yet",
                "prod has no webhook secret, so its reports are refused",
            ]
        );
        assert_eq!(checks[0].health, Health::Good);
        assert_eq!(checks[0].last_seen_at, Some(at(2)));
        assert!(checks[1..].iter().all(|check| check.health == Health::Warning && check.repair.is_some()));
    }

    #[test]
    fn unmapped_reports_come_first_and_replace_the_good_finding() {
        let last = UnmappedReport {
            environment: Some(EnvironmentName::new("qa")),
            sender: "Flux".to_owned(),
            object: ControllerObject::new("Kustomization", "flux-system", "apps"),
            reason: "nothing_applied_by_it".to_owned(),
            problem: "It applied nothing.".to_owned(),
            repair: "Add a rule.".to_owned(),
            message: String::new(),
            at: at(5),
        };
        let without_object = UnmappedReport { environment: None, object: None, repair: String::new(), ..last.clone() };
        let unmapped =
            [(last, 3), (without_object, 1)].map(|(last, count)| UnmappedReportGroup { last, count, first_at: at(0) });
        let checks = describe_reports(&unmapped, &[webhook_status("qa", true, Some(5))]).checks;
        assert_eq!(collect_summaries(&checks), ["3 x Flux Kustomization flux-system/apps for qa", "1 x Flux"]);
        assert_eq!(checks[0].reason.as_deref(), Some("It applied nothing."));
        assert_eq!((checks[0].last_seen_at, checks[1].repair.as_deref()), (Some(at(5)), None));
    }
}
