//! Slack's rate limits: the tiers of methods, and one message a second in a channel with short bursts.
//! They follow the clock, so that a test does not wait in real time.

use std::collections::BTreeMap;

use jiff::Timestamp;

const SECOND: i64 = 1_000_000;
/// Slack documents one message a second and "allows short bursts" without a number. A quiet channel accepted five.
const POST_BURST: i64 = 5;
const RETRY_AFTER: [i64; 4] = [2, 5, 12, 30];

#[derive(Debug, Default)]
pub(super) struct Limits {
    /// The time of the next call if all calls came evenly (GCRA), in microseconds.
    next_slots: BTreeMap<String, i64>,
    /// The end of a forced `Retry-After`.
    blocked: BTreeMap<String, i64>,
    forced_count: usize,
}

/// The number of calls a minute; `None` is unlimited.
fn per_minute(method: &str) -> Option<i64> {
    match method {
        "conversations.list"
        | "usergroups.list"
        | "usergroups.users.list"
        | "users.list"
        | "reactions.remove"
        | "apps.connections.open" => Some(20),
        "chat.update"
        | "chat.delete"
        | "conversations.info"
        | "users.conversations"
        | "conversations.open"
        | "users.lookupByEmail"
        | "reactions.add" => Some(50),
        "chat.postEphemeral"
        | "users.info"
        | "conversations.members"
        | "views.open"
        | "views.update"
        | "views.publish"
        | "files.getUploadURLExternal"
        | "files.completeUploadExternal" => Some(100),
        _ => None,
    }
}

impl Limits {
    /// The error is the number of seconds to wait. `channel` is the channel of a posted message.
    pub(super) fn admit(&mut self, method: &str, channel: Option<&str>, now: Timestamp) -> Result<(), i64> {
        let now = now.as_microsecond();
        let key = key(method, channel);
        if let Some(until) = self.blocked.get(&key).copied()
            && now < until
        {
            return Err(seconds(until - now));
        }
        let (period, burst) = match per_minute(method) {
            _ if method == "chat.postMessage" => (SECOND, POST_BURST),
            Some(calls) => (60 * SECOND / calls, calls),
            None => return Ok(()),
        };
        let arrival = self.next_slots.get(&key).copied().unwrap_or(now).max(now);
        let early = arrival - now - (burst - 1) * period;
        if early > 0 {
            return Err(seconds(early));
        }
        self.next_slots.insert(key, arrival + period);
        Ok(())
    }

    /// Refuses a call that is within the limits, and every such call until the returned time is over.
    pub(super) fn force_rate_limit(&mut self, method: &str, channel: Option<&str>, now: Timestamp) -> i64 {
        let wait = RETRY_AFTER[self.forced_count % RETRY_AFTER.len()];
        self.forced_count += 1;
        self.blocked.insert(key(method, channel), now.as_microsecond() + wait * SECOND);
        wait
    }
}

fn key(method: &str, channel: Option<&str>) -> String {
    match channel {
        Some(channel) if method == "chat.postMessage" => format!("{method} {channel}"),
        _ => method.to_owned(),
    }
}

fn seconds(micros: i64) -> i64 {
    (micros + SECOND - 1).div_euclid(SECOND).max(1)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_channel_accepts_a_short_burst_and_then_one_message_a_second() {
        let mut limits = Limits::default();
        let mut now = Timestamp::UNIX_EPOCH;
        for _ in 0..5 {
            assert_eq!(limits.admit("chat.postMessage", Some("C1"), now), Ok(()));
        }
        assert_eq!(limits.admit("chat.postMessage", Some("C1"), now), Err(1));
        assert_eq!(limits.admit("chat.postMessage", Some("C2"), now), Ok(()), "another channel has its own limit");
        now += SignedDuration::from_secs(1);
        assert_eq!(limits.admit("chat.postMessage", Some("C1"), now), Ok(()));
        assert_eq!(limits.admit("chat.postMessage", Some("C1"), now), Err(1));
        now += SignedDuration::from_secs(60);
        for _ in 0..5 {
            assert_eq!(limits.admit("chat.postMessage", Some("C1"), now), Ok(()));
        }
        assert_eq!(
            limits.admit("chat.postMessage", Some("C1"), now),
            Err(1),
            "an idle minute does not extend the burst"
        );
    }

    #[test]
    fn each_tier_has_its_own_calls_a_minute() {
        for (method, calls) in [("usergroups.list", 20), ("chat.update", 50), ("users.info", 100)] {
            let mut limits = Limits::default();
            let now = Timestamp::UNIX_EPOCH;
            for _ in 0..calls {
                assert_eq!(limits.admit(method, None, now), Ok(()), "{method}");
            }
            assert!(limits.admit(method, None, now).is_err(), "{method}");
            assert_eq!(limits.admit(method, None, now + SignedDuration::from_secs(3)), Ok(()), "{method}");
        }
    }

    #[test]
    fn a_call_before_the_end_of_retry_after_is_refused_again() {
        let mut limits = Limits::default();
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(limits.force_rate_limit("chat.update", None, now), 2);
        assert_eq!(limits.admit("chat.update", None, now + SignedDuration::from_secs(1)), Err(1));
        assert_eq!(limits.admit("chat.update", None, now + SignedDuration::from_secs(2)), Ok(()));
        let longer: Vec<_> = (0..4).map(|_| limits.force_rate_limit("chat.update", None, now)).collect();
        assert_eq!(longer, [5, 12, 30, 2]);
    }
}
