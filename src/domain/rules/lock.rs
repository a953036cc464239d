//! Locks: a person forbids changes to an environment, or to one artefact in it, and gives a reason.

use jiff::{SignedDuration, Timestamp};

use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::LockId;

/// A longer duration is most likely a typing error.
const MAX_DURATION: SignedDuration = SignedDuration::from_hours(366 * 24);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub id: LockId,
    pub environment: EnvironmentName,
    /// `None`: the whole environment.
    pub artefact: Option<ArtefactName>,
    pub by: PersonId,
    pub reason: String,
    pub since: Timestamp,
    /// `None`: until a person unlocks it.
    pub until: Option<Timestamp>,
}

impl Lock {
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    pub fn is_applicable_to(&self, artefact: &ArtefactName) -> bool {
        self.artefact.as_ref().is_none_or(|locked| locked == artefact)
    }
}

/// Parses the duration of a lock: `2h`, `30m`, `1h30m`, `2d`.
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut total = SignedDuration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().ok()?;
        let minutes = match rest.as_bytes().get(digits)? {
            b'd' | b'D' => 24 * 60,
            b'h' | b'H' => 60,
            b'm' | b'M' => 1,
            _ => return None,
        };
        total = total.checked_add(SignedDuration::from_secs(number.checked_mul(minutes * 60)?))?;
        rest = &rest[digits + 1..];
    }
    (total.is_positive() && total <= MAX_DURATION).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_parsed_as_people_type_it_and_other_text_is_refused() {
        let minutes = |text| parse_duration(text).map(|duration| duration.as_mins());
        for (text, expected) in [("2h", 120), ("30m", 30), ("1h30m", 90), ("2d", 2880), ("1D12H", 2160), ("90m", 90)] {
            assert_eq!(minutes(text), Some(expected), "{text}");
        }
        for text in ["", "2", "h", "2x", "0m", "-2h", "2h!", "now", "1.5h", "2é", "99999d", "9223372036854775807d"] {
            assert_eq!(minutes(text), None, "{text}");
        }
    }

    #[test]
    fn a_lock_ends_on_time_and_a_lock_on_the_environment_covers_every_artefact() {
        let now: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
        let mut lock = Lock {
            id: LockId::new(now),
            environment: EnvironmentName::new("prod"),
            artefact: None,
            by: PersonId::new("U0BOB"),
            reason: "migration".to_owned(),
            since: now,
            until: Some(now + SignedDuration::from_hours(2)),
        };
        let (checkout, search) = (ArtefactName::new("checkout"), ArtefactName::new("search"));
        assert!(lock.is_in_force(now + SignedDuration::from_mins(119)));
        assert!(!lock.is_in_force(now + SignedDuration::from_mins(120)));
        assert!(lock.is_applicable_to(&checkout) && lock.is_applicable_to(&search));
        lock.artefact = Some(checkout.clone());
        assert!(lock.is_applicable_to(&checkout) && !lock.is_applicable_to(&search));
        lock.until = None;
        assert!(lock.is_in_force(Timestamp::MAX));
        assert_eq!(LockId::parse(&lock.id.to_string()), Some(lock.id));
    }
}
