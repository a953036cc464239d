//! How reports of deployments are received: those that are about nobody, and environments of which none comes.

use jiff::Timestamp;

use super::run::ProbeError;
use crate::domain::doctor::{Health, HealthCheck, Service};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::attribution::UnmappedReportGroup;

/// What is known of an environment's deployment webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookStatus {
    pub environment: EnvironmentName,
    pub has_secret: bool,
    /// The last report that came: when, and from whom.
    pub last_report: Option<(Timestamp, String)>,
}

/// First the reports that are about nobody, newest first; then how each environment is reported of, in the given order.
pub fn check_reports(strays: &[UnmappedReportGroup], environments: &[WebhookStatus]) -> Vec<HealthCheck> {
    let mut checks: Vec<HealthCheck> = strays.iter().map(explain_unmapped_report).collect();
    let reported = environments.iter().filter_map(|it| Some((it, it.last_report.as_ref()?)));
    if let Some((reporting, (at, sender))) = reported.max_by_key(|(_, (at, _))| *at)
        && strays.is_empty()
    {
        checks.push(HealthCheck {
            service: Service::Reports,
            health: Health::Good,
            summary: format!("Every report could be mapped; the last came from {sender} for {}", reporting.environment),
            last_seen_at: Some(*at),
            reason: None,
            repair: None,
        });
    }
    checks.extend(environments.iter().filter_map(check_webhook_status));
    checks
}

/// What the configuration alone tells: environments of which no report would be let in.
pub fn check_missing_secrets<'a>(without_secret: impl IntoIterator<Item = &'a EnvironmentName>) -> Vec<HealthCheck> {
    let reporting =
        |name: &EnvironmentName| WebhookStatus { environment: name.clone(), has_secret: false, last_report: None };
    without_secret.into_iter().filter_map(|name| check_webhook_status(&reporting(name))).collect()
}

/// What came could not be read.
pub fn explain_unreadable(trouble: &ProbeError) -> HealthCheck {
    let repair = "Ask the Gantry that serves, with `/gantry doctor`.";
    HealthCheck::new_warning(Service::Reports, "What was reported cannot be read here", repair)
        .with_reason(trouble.to_string())
}

fn explain_unmapped_report(strays: &UnmappedReportGroup) -> HealthCheck {
    let UnmappedReportGroup { last, count, .. } = strays;
    let object = last.object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
    let environment = last.environment.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
    HealthCheck {
        service: Service::Reports,
        health: Health::Warning,
        summary: format!("{count} x {}{object}{environment}", last.sender),
        last_seen_at: Some(last.at),
        reason: Some(last.problem.clone()),
        repair: Some(last.repair.clone()).filter(|repair| !repair.is_empty()),
    }
}

fn check_webhook_status(reporting: &WebhookStatus) -> Option<HealthCheck> {
    let WebhookStatus { environment, has_secret, last_report: last } = reporting;
    let (what, repair) = match (has_secret, last) {
        (false, _) => (
            format!("{environment} has no secret: reports are refused"),
            "Give it a `webhook_secret`; without reports I learn of everything by looking at the cluster.",
        ),
        (true, None) => (
            format!("No report came for {environment} yet"),
            "If its controller should send some, check its address and secret.",
        ),
        (true, Some(_)) => return None,
    };
    Some(HealthCheck::new_warning(Service::Reports, what, repair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runtime::attribution::{ControllerObject, UnmappedReport};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn reporting(environment: &str, has_secret: bool, last: Option<i64>) -> WebhookStatus {
        let last = last.map(|second| (at(second), "Flux".to_owned()));
        WebhookStatus { environment: EnvironmentName::new(environment), has_secret, last_report: last }
    }

    fn collect_summaries(checks: &[HealthCheck]) -> Vec<&str> {
        checks.iter().map(|check| check.summary.as_str()).collect()
    }

    #[test]
    fn where_every_report_is_mapped_the_newest_is_named_and_silence_is_told() {
        let environments = [
            reporting("development", true, Some(1)),
            reporting("qa", true, Some(2)),
            reporting("staging", true, None),
            reporting("prod", false, Some(0)),
        ];
        let checks = check_reports(&[], &environments);
        assert_eq!(
            collect_summaries(&checks),
            [
                "Every report could be mapped; the last came from Flux for qa",
                "No report came for staging yet",
                "prod has no secret: reports are refused",
            ]
        );
        assert_eq!(checks[0].health, Health::Good);
        assert_eq!(checks[0].last_seen_at, Some(at(2)));
        assert!(checks[1..].iter().all(|check| check.health == Health::Warning && check.repair.is_some()));
    }

    #[test]
    fn reports_that_are_about_nobody_come_first_and_take_the_place_of_the_praise() {
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
        let unread = UnmappedReport { environment: None, object: None, repair: String::new(), ..last.clone() };
        let strays = [(last, 3), (unread, 1)].map(|(last, count)| UnmappedReportGroup { last, count, first_at: at(0) });
        let checks = check_reports(&strays, &[reporting("qa", true, Some(5))]);
        assert_eq!(collect_summaries(&checks), ["3 x Flux Kustomization flux-system/apps for qa", "1 x Flux"]);
        assert_eq!(checks[0].reason.as_deref(), Some("It applied nothing."));
        assert_eq!((checks[0].last_seen_at, checks[1].repair.as_deref()), (Some(at(5)), None));
    }
}
