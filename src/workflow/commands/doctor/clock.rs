//! Compares this machine's clock with the clocks of the services. Gantry refuses Slack's requests if it is too far off.

use jiff::SignedDuration;

use super::run::ServiceFindings;
use crate::domain::doctor::{Health, Service};

/// A smaller difference is not reported: services send whole seconds, and an answer takes some time.
const MAX_UNREMARKED_SKEW: SignedDuration = SignedDuration::from_secs(30);
/// Beyond this, Gantry refuses every request from Slack.
const MAX_ACCEPTED_SKEW: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn check_clock(skews: &[(String, SignedDuration)]) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Clock);
    let mut agreeing = Vec::new();
    for (service, skew) in skews {
        let (seconds, direction) = (skew.abs().as_secs(), if skew.is_positive() { "ahead of" } else { "behind" });
        let summary = format!("The local clock is {seconds} s {direction} {service}'s");
        let repair = "Let NTP set this machine's clock.";
        if skew.abs() > MAX_ACCEPTED_SKEW {
            let reason = "Slack's requests are refused if the clocks differ by more than 300 s";
            found.add_explained(Health::Bad, summary, reason, repair);
        } else if skew.abs() > MAX_UNREMARKED_SKEW {
            found.add_warning(summary, repair);
        } else {
            agreeing.push(service);
        }
    }
    found.add_good_names(&agreeing, |names| format!("The local clock agrees with those of {names}"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skew_over_30_seconds_warns_and_over_5_minutes_fails() {
        let skew = |service: &str, ahead: i64| (service.to_owned(), SignedDuration::from_secs(ahead));
        let checks = check_clock(&[skew("Slack", -30), skew("GitHub", 31), skew("the cluster", -301)]).checks;
        let findings: Vec<_> = checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        assert_eq!(
            findings,
            [
                (Health::Warning, "The local clock is 31 s ahead of GitHub's"),
                (Health::Bad, "The local clock is 301 s behind the cluster's"),
                (Health::Good, "The local clock agrees with those of Slack"),
            ]
        );
        assert_eq!(check_clock(&[]).checks, []);
    }
}
