//! Does our clock agree with those of the services? Slack's requests are refused when it does not.

use jiff::{SignedDuration, Timestamp};

use super::run::format_list;
use crate::domain::doctor::{HealthCheck, Service};

/// Seconds come rounded, and an answer takes its time.
const MAX_UNREMARKED_SKEW: SignedDuration = SignedDuration::from_secs(30);
/// Beyond this every request of Slack's is refused.
const MAX_ACCEPTED_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What each service said the time was, and when we heard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub service: String,
    pub service_time: Timestamp,
    pub local_time: Timestamp,
}

/// Nothing where nobody told the time.
pub fn check_clock(heard: &[ClockReading]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut agree = Vec::new();
    for ClockReading { service: from, service_time: said, local_time: at } in heard {
        let off = at.duration_since(*said);
        let (seconds, way) = (off.abs().as_secs(), if off.is_positive() { "ahead of" } else { "behind" });
        let what = || format!("My clock is {seconds} s {way} {from}'s");
        let repair = "Let NTP set this machine's clock.";
        if off.abs() > MAX_ACCEPTED_SKEW {
            let why = "Slack's requests are refused when they are more than 300 s off";
            checks.push(HealthCheck::new_bad(Service::Clock, what(), repair).with_reason(why));
        } else if off.abs() > MAX_UNREMARKED_SKEW {
            checks.push(HealthCheck::new_warning(Service::Clock, what(), repair));
        } else {
            agree.push(from.as_str());
        }
    }
    if !agree.is_empty() {
        checks.push(HealthCheck::new_good(
            Service::Clock,
            format!("My clock agrees with those of {}", format_list(&agree)),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    #[test]
    fn half_a_minute_is_nothing_and_five_minutes_are_too_much() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let heard = |from: &str, ahead: i64| ClockReading {
            service: from.to_owned(),
            service_time: now - SignedDuration::from_secs(ahead),
            local_time: now,
        };
        let checks = check_clock(&[heard("Slack", -30), heard("GitHub", 31), heard("the cluster", -301)]);
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        assert_eq!(
            said,
            [
                (Health::Warning, "My clock is 31 s ahead of GitHub's"),
                (Health::Bad, "My clock is 301 s behind the cluster's"),
                (Health::Good, "My clock agrees with those of Slack"),
            ]
        );
        assert_eq!(check_clock(&[]), []);
    }
}
