//! The newest reports of controllers on each artefact in each environment. Reports may come in any order.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use jiff::{SignedDuration, Timestamp};

use crate::adapters::reports::{Report, ReportStatus};
use crate::domain::change::{ControllerMessage, FailureEvidence, ReportedOutcome};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::Sha;
use crate::domain::runtime::sighting::Sighting;

/// The longest part of a controller's message that is shown.
const MAX_MESSAGE_CHARS: usize = 600;

/// How long after a rollout was complete a controller's success report can still be about its version.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);

/// The reports on each artefact in each environment. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ReportHistory(Arc<RwLock<HashMap<(EnvironmentName, ArtefactName), ReportLog>>>);

impl ReportHistory {
    /// Records a report on an artefact.
    pub(crate) fn record_report(&self, artefact: &Artefact, report: &Report, now: Timestamp) {
        let key = (report.environment.clone(), artefact.name.clone());
        self.write_logs().entry(key).or_default().record_report(report, now);
    }

    /// The newest message of a controller on an artefact.
    pub(crate) fn find_last_message(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
    ) -> Option<ControllerMessage> {
        let logs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        logs.get(&(environment.clone(), artefact.clone()))?.last_message().cloned()
    }

    /// The reported failure of a commit.
    pub(crate) fn find_failure(
        &self,
        environment: &EnvironmentName,
        artefact: &ArtefactName,
        commit: &Sha,
    ) -> Option<(String, FailureEvidence)> {
        let logs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let log = logs.get(&(environment.clone(), artefact.clone()))?;
        log.find_failure(commit).map(|(message, evidence)| (message.to_owned(), evidence))
    }

    /// The commit that a controller reported as deployed for this sighting. The report must be no older than the
    /// sighting (in whole seconds, like Flux's times) and come soon after the version ran. A later one may be about a
    /// newer version.
    pub(crate) fn find_reported_commit(&self, sighting: &Sighting) -> Option<Sha> {
        let logs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let log = logs.get(&(sighting.environment.clone(), sighting.artefact.clone()))?;
        let (commit, reported_at) = log.last_success()?;
        let is_after_start = reported_at.as_second() >= sighting.seen_at.as_second();
        let is_soon_after =
            sighting.running_at.is_some_and(|running_at| reported_at.duration_since(running_at) <= REPORTED_WITHIN);
        (is_after_start && is_soon_after).then(|| commit.clone())
    }

    /// Removes a reported success, because its commit does not belong to this artefact.
    pub(crate) fn discard_report(&self, sighting: &Sighting, commit: &Sha) {
        let key = (sighting.environment.clone(), sighting.artefact.clone());
        if let Some(log) = self.write_logs().get_mut(&key) {
            log.forget_success(commit);
        }
    }

    fn write_logs(&self) -> RwLockWriteGuard<'_, HashMap<(EnvironmentName, ArtefactName), ReportLog>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest report of each kind, by the sender's time, because webhooks overtake each other.
#[derive(Debug, Default)]
struct ReportLog {
    start: Option<(Sha, Timestamp)>,
    success: Option<(Sha, Timestamp)>,
    failure: Option<(Sha, Timestamp, String, FailureEvidence)>,
    /// The newest message, with any outcome.
    message: Option<ControllerMessage>,
}

impl ReportLog {
    fn record_report(&mut self, report: &Report, now: Timestamp) {
        // A sender with a clock that is ahead must not hide later reports.
        let at = report.at.map_or(now, |at| at.min(now));
        self.record_last_message(report, at);
        let Some(commit) = &report.commit else { return };
        match &report.outcome {
            ReportStatus::Noise => {}
            ReportStatus::Progressing => {
                if self.start.as_ref().is_none_or(|(_, last)| *last <= at) {
                    self.start = Some((commit.clone(), at));
                }
                // The controller tries again, so the failure is outdated. In the same second, the failure counts as
                // the later one.
                if self.failure.as_ref().is_some_and(|(failed, last, ..)| failed == commit && *last < at) {
                    self.failure = None;
                }
            }
            ReportStatus::Succeeded => {
                if self.success.as_ref().is_none_or(|(_, last)| *last <= at) {
                    self.success = Some((commit.clone(), at));
                }
                if self.failure.as_ref().is_some_and(|(_, last, ..)| *last <= at) {
                    self.failure = None;
                }
            }
            ReportStatus::Failed { message, evidence } => {
                let tried_again = self.start.as_ref().is_some_and(|(started, last)| started == commit && *last > at);
                let overtaken = self.success.as_ref().is_some_and(|(_, last)| *last > at)
                    || self.failure.as_ref().is_some_and(|(_, last, ..)| *last > at);
                // A health report must not replace a stronger report on the same commit.
                let is_weaker = !evidence.can_trigger_auto_rollback()
                    && self.failure.as_ref().is_some_and(|(failed, _, _, recorded)| {
                        failed == commit && recorded.can_trigger_auto_rollback()
                    });
                if !tried_again && !overtaken && !is_weaker {
                    self.failure = Some((commit.clone(), at, message.clone(), *evidence));
                }
            }
        }
    }

    fn record_last_message(&mut self, report: &Report, at: Timestamp) {
        let (outcome, text) = match &report.outcome {
            ReportStatus::Succeeded => (ReportedOutcome::Succeeded, &report.message),
            ReportStatus::Failed { message, .. } => (ReportedOutcome::Failed, message),
            ReportStatus::Progressing => (ReportedOutcome::Progressing, &report.message),
            ReportStatus::Noise => return,
        };
        if self.message.as_ref().is_none_or(|previous| previous.at <= at) {
            let text = text.chars().take(MAX_MESSAGE_CHARS).collect();
            let (by, commit) = (report.sender.display_name().to_owned(), report.commit.clone());
            self.message = Some(ControllerMessage { sender: by, outcome, text, commit, at });
        }
    }

    fn last_message(&self) -> Option<&ControllerMessage> {
        self.message.as_ref()
    }

    /// The newest success and its time.
    fn last_success(&self) -> Option<&(Sha, Timestamp)> {
        self.success.as_ref()
    }

    fn forget_success(&mut self, commit: &Sha) {
        if self.success.as_ref().is_some_and(|(succeeded, _)| succeeded == commit) {
            self.success = None;
        }
    }

    /// The failure of a commit, unless a newer report replaced it.
    fn find_failure(&self, commit: &Sha) -> Option<(&str, FailureEvidence)> {
        let (failed, _, message, evidence) = self.failure.as_ref()?;
        (failed == commit).then_some((message.as_str(), *evidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::reports::{ReportSender, ReportTarget, flux};
    use crate::domain::model::version::Version;
    use crate::domain::sample;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn sha(digit: char) -> Sha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn report(commit: char, outcome: ReportStatus, second: Option<i64>) -> Report {
        Report {
            sender: ReportSender::Flux,
            environment: EnvironmentName::new("qa"),
            about: ReportTarget::default(),
            revision: None,
            commit: Some(sha(commit)),
            outcome,
            message: String::new(),
            at: second.map(at),
            key: String::new(),
            id: None,
        }
    }

    /// The log after some reports. Each report is a commit, an outcome and a second: `a+3` began, `a!3` failed, `a=3`
    /// succeeded, `a.3` is noise.
    fn build_log(reports: &str) -> ReportLog {
        let mut log = ReportLog::default();
        for (n, short_form) in reports.split_whitespace().enumerate() {
            let mut letters = short_form.chars();
            let (commit, sign) = (letters.next().unwrap(), letters.next().unwrap());
            let outcome = match sign {
                '+' => ReportStatus::Progressing,
                '!' => ReportStatus::Failed { message: short_form.to_owned(), evidence: FailureEvidence::NotApplied },
                '=' => ReportStatus::Succeeded,
                _ => ReportStatus::Noise,
            };
            let second = letters.as_str().parse().ok();
            log.record_report(&report(commit, outcome, second), at(100 + i64::try_from(n).unwrap()));
        }
        log
    }

    #[test]
    fn the_newest_report_counts_in_any_order_of_receipt() {
        let cases = [
            // reports, failure of `a`, last success
            ("a+1 a!2", Some("a!2"), None),
            ("a!2 a+1", Some("a!2"), None),
            ("a!2 a+3", None, None),
            ("a+3 a!2", None, None),
            ("a!2 a+2", Some("a!2"), None),
            ("a+2 a!2", Some("a!2"), None),
            ("a!2 b+3", Some("a!2"), None),
            ("b+3 a!2", Some("a!2"), None),
            ("a!2 a=3", None, Some(('a', 3))),
            ("a=3 a!2", None, Some(('a', 3))),
            ("a=2 a!3", Some("a!3"), Some(('a', 2))),
            ("a!3 a=2", Some("a!3"), Some(('a', 2))),
            ("a!2 b=3", None, Some(('b', 3))),
            ("b=3 a!2", None, Some(('b', 3))),
            ("b=3 a=2", None, Some(('b', 3))),
            ("a=2 b=3 a=4", None, Some(('a', 4))),
            ("a!3 a!2", Some("a!3"), None),
            ("a!2 a.3", Some("a!2"), None),
            ("a=5 b+6 a=4", None, Some(('a', 5))),
            // A report without a time has the time of its receipt.
            ("a! a+", None, None),
            ("a+ a!", Some("a!"), None),
            // The sender's clock is an hour ahead.
            ("a=3600 a!", Some("a!"), Some(('a', 100))),
            ("a!3600 a+", None, None),
        ];
        for (reports, failure, success) in cases {
            let log = build_log(reports);
            assert_eq!(log.find_failure(&sha('a')).map(|(message, _)| message), failure, "{reports}");
            let success = success.map(|(commit, second)| (sha(commit), at(second)));
            assert_eq!(log.last_success(), success.as_ref(), "{reports}");
        }
    }

    #[test]
    fn a_health_report_does_not_hide_that_a_commit_could_not_be_applied() {
        let failed = |message: &str, evidence| ReportStatus::Failed { message: message.to_owned(), evidence };
        let health = |second| report('a', failed("unhealthy", FailureEvidence::HealthReport), Some(second));
        let not_applied = |second| report('a', failed("refused", FailureEvidence::NotApplied), Some(second));
        for reports in [[not_applied(2), health(3)], [health(2), not_applied(3)]] {
            let mut log = ReportLog::default();
            for report in &reports {
                log.record_report(report, at(100));
            }
            assert_eq!(log.find_failure(&sha('a')), Some(("refused", FailureEvidence::NotApplied)));
        }
        let mut tried_again = build_log("a!2 a+3");
        tried_again.record_report(&health(4), at(100));
        assert_eq!(tried_again.find_failure(&sha('a')), Some(("unhealthy", FailureEvidence::HealthReport)));
    }

    #[test]
    fn a_report_without_a_commit_does_not_change_the_failure_of_a_commit() {
        let mut log = build_log("a!2");
        log.record_report(&Report { commit: None, ..report('a', ReportStatus::Succeeded, Some(3)) }, at(100));
        let failure = |commit| log.find_failure(&sha(commit)).map(|(message, _)| message);
        assert_eq!((failure('a'), failure('b')), (Some("a!2"), None));
    }

    #[test]
    fn the_newest_message_is_kept_for_every_outcome() {
        let catalogue = sample::catalogue();
        let mailer = catalogue.find_artefact("mailer").unwrap();
        let environment = EnvironmentName::new("qa");
        let history = ReportHistory::default();
        let last =
            || history.find_last_message(&environment, &mailer.name).map(|message| (message.outcome, message.at));
        assert_eq!(last(), None);
        let reports = [
            ("ReconciliationSucceeded", "info", 10, (ReportedOutcome::Succeeded, at(10))),
            ("HealthCheckFailed", "error", 20, (ReportedOutcome::Failed, at(20))),
            ("ReconciliationSucceeded", "info", 15, (ReportedOutcome::Failed, at(20))),
        ];
        for (reason, severity, seconds, expected) in reports {
            let event = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "mailer" }, "severity": severity,
                "reason": reason, "timestamp": at(seconds).to_string(), "message": "a message",
                "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
            });
            let report = flux::parse(&environment, event.to_string().as_bytes()).unwrap();
            history.record_report(mailer, &report, at(100));
            assert_eq!(last(), Some(expected), "{reason} at {seconds}");
        }
    }

    #[test]
    fn a_report_counts_only_for_a_version_that_started_shortly_before() {
        let catalogue = sample::catalogue();
        let mailer = catalogue.find_artefact("mailer").unwrap();
        let environment = EnvironmentName::new("qa");
        let running = Sighting {
            artefact: mailer.name.clone(),
            environment: environment.clone(),
            version: Version { tag: Some("build-7".into()), ..Version::default() },
            seen_at: at(0),
            running_at: Some(at(60)),
            healthy_since: Some(at(60)),
            failure: None,
            ended_at: None,
            announced: true,
        };
        let rolling = Sighting { running_at: None, healthy_since: None, ..running.clone() };
        let cases = [
            ("before the rollout", -1, &running, false),
            ("during the rollout", 30, &running, true),
            ("just after the rollout", 61, &running, true),
            ("long after the rollout", 3600, &running, false),
            ("a version that does not run yet", 30, &rolling, false),
        ];
        for (name, seconds, sighting, counts) in cases {
            let history = ReportHistory::default();
            let event = serde_json::json!({
                "involvedObject": { "kind": "Kustomization", "name": "mailer" }, "severity": "info",
                "reason": "ReconciliationSucceeded", "timestamp": at(seconds).to_string(),
                "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
            });
            let report = flux::parse(&environment, event.to_string().as_bytes()).unwrap();
            history.record_report(mailer, &report, at(seconds));
            assert_eq!(history.find_reported_commit(sighting).is_some(), counts, "{name}");
        }
    }
}
