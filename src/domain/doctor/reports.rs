//! How reports of deployments are received: those that are about nobody, and environments of which none comes.

use jiff::Timestamp;

use super::{Check, Health, Service, Trouble};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::attribution::Strays;

/// What is known of an environment's deployment webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporting {
    pub environment: EnvironmentName,
    pub has_secret: bool,
    /// The last report that came: when, and from whom.
    pub last: Option<(Timestamp, String)>,
}

/// First the reports that are about nobody, newest first; then how each environment is reported of, in the given order.
pub fn reports(strays: &[Strays], environments: &[Reporting]) -> Vec<Check> {
    let mut checks: Vec<Check> = strays.iter().map(stray).collect();
    let heard = environments.iter().filter_map(|it| Some((it, it.last.as_ref()?)));
    if let Some((reporting, (at, sender))) = heard.max_by_key(|(_, (at, _))| *at)
        && strays.is_empty()
    {
        checks.push(Check {
            service: Service::Reports,
            health: Health::Good,
            what: format!("Every report could be mapped; the last came from {sender} for {}", reporting.environment),
            last: Some(*at),
            why: None,
            repair: None,
        });
    }
    checks.extend(environments.iter().filter_map(silent));
    checks
}

/// What the configuration alone tells: environments of which no report would be let in.
pub fn unheard<'a>(without_secret: impl IntoIterator<Item = &'a EnvironmentName>) -> Vec<Check> {
    let reporting = |name: &EnvironmentName| Reporting { environment: name.clone(), has_secret: false, last: None };
    without_secret.into_iter().filter_map(|name| silent(&reporting(name))).collect()
}

/// What came could not be read.
pub fn unreadable(trouble: &Trouble) -> Check {
    let repair = "Ask the Gantry that serves, with `/gantry doctor`.";
    Check::warning(Service::Reports, "What was reported cannot be read here", repair).because(trouble.to_string())
}

fn stray(strays: &Strays) -> Check {
    let Strays { last, count, .. } = strays;
    let object = last.object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
    let environment = last.environment.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
    Check {
        service: Service::Reports,
        health: Health::Warning,
        what: format!("{count} x {}{object}{environment}", last.sender),
        last: Some(last.at),
        why: Some(last.sentence.clone()),
        repair: Some(last.repair.clone()).filter(|repair| !repair.is_empty()),
    }
}

fn silent(reporting: &Reporting) -> Option<Check> {
    let Reporting { environment, has_secret, last } = reporting;
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
    Some(Check::warning(Service::Reports, what, repair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runtime::attribution::{Object, Stray};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn reporting(environment: &str, has_secret: bool, last: Option<i64>) -> Reporting {
        let last = last.map(|second| (at(second), "Flux".to_owned()));
        Reporting { environment: EnvironmentName::new(environment), has_secret, last }
    }

    fn said(checks: &[Check]) -> Vec<&str> {
        checks.iter().map(|check| check.what.as_str()).collect()
    }

    #[test]
    fn where_every_report_is_mapped_the_newest_is_named_and_silence_is_told() {
        let environments = [
            reporting("development", true, Some(1)),
            reporting("qa", true, Some(2)),
            reporting("staging", true, None),
            reporting("prod", false, Some(0)),
        ];
        let checks = reports(&[], &environments);
        assert_eq!(
            said(&checks),
            [
                "Every report could be mapped; the last came from Flux for qa",
                "No report came for staging yet",
                "prod has no secret: reports are refused",
            ]
        );
        assert_eq!(checks[0].health, Health::Good);
        assert_eq!(checks[0].last, Some(at(2)));
        assert!(checks[1..].iter().all(|check| check.health == Health::Warning && check.repair.is_some()));
    }

    #[test]
    fn reports_that_are_about_nobody_come_first_and_take_the_place_of_the_praise() {
        let last = Stray {
            environment: Some(EnvironmentName::new("qa")),
            sender: "Flux".to_owned(),
            object: Object::new("Kustomization", "flux-system", "apps"),
            reason: "nothing_applied_by_it".to_owned(),
            sentence: "It applied nothing.".to_owned(),
            repair: "Add a rule.".to_owned(),
            message: String::new(),
            at: at(5),
        };
        let unread = Stray { environment: None, object: None, repair: String::new(), ..last.clone() };
        let strays = [(last, 3), (unread, 1)].map(|(last, count)| Strays { last, count, first_at: at(0) });
        let checks = reports(&strays, &[reporting("qa", true, Some(5))]);
        assert_eq!(said(&checks), ["3 x Flux Kustomization flux-system/apps for qa", "1 x Flux"]);
        assert_eq!(checks[0].why.as_deref(), Some("It applied nothing."));
        assert_eq!((checks[0].last, checks[1].repair.as_deref()), (Some(at(5)), None));
    }
}
