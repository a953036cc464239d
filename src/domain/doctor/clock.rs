//! Does our clock agree with those of the services? Slack's requests are refused when it does not.

use jiff::{SignedDuration, Timestamp};

use super::{Check, Service, listed};

/// Seconds come rounded, and an answer takes its time.
const MOST: SignedDuration = SignedDuration::from_secs(30);
/// Beyond this every request of Slack's is refused.
const REFUSED: SignedDuration = SignedDuration::from_mins(5);

/// What each service said the time was, and when we heard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    pub from: String,
    pub said: Timestamp,
    pub at: Timestamp,
}

/// Nothing where nobody told the time.
pub fn clock(heard: &[Heard]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut agree = Vec::new();
    for Heard { from, said, at } in heard {
        let off = at.duration_since(*said);
        let (seconds, way) = (off.abs().as_secs(), if off.is_positive() { "ahead of" } else { "behind" });
        let what = || format!("My clock is {seconds} s {way} {from}'s");
        let repair = "Let NTP set this machine's clock.";
        if off.abs() > REFUSED {
            let why = "Slack's requests are refused when they are more than 300 s off";
            checks.push(Check::bad(Service::Clock, what(), repair).because(why));
        } else if off.abs() > MOST {
            checks.push(Check::warning(Service::Clock, what(), repair));
        } else {
            agree.push(from.as_str());
        }
    }
    if !agree.is_empty() {
        checks.push(Check::good(Service::Clock, format!("My clock agrees with those of {}", listed(&agree))));
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
        let heard = |from: &str, ahead: i64| Heard {
            from: from.to_owned(),
            said: now - SignedDuration::from_secs(ahead),
            at: now,
        };
        let checks = clock(&[heard("Slack", -30), heard("GitHub", 31), heard("the cluster", -301)]);
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.what.as_str())).collect();
        assert_eq!(
            said,
            [
                (Health::Warning, "My clock is 31 s ahead of GitHub's"),
                (Health::Bad, "My clock is 301 s behind the cluster's"),
                (Health::Good, "My clock agrees with those of Slack"),
            ]
        );
        assert_eq!(clock(&[]), []);
    }
}
