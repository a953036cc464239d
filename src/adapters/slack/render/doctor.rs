//! The answer to `doctor`: a line for each problem with advice, and the number of healthy checks.

use jiff::Timestamp;

use super::Rendered;
use super::blocks::{context, section};
use super::mrkdwn::{Mrkdwn, humanize_duration, truncate_middle};
use crate::domain::doctor::{Health, HealthCheck};

/// Slack accepts somewhat more in one message.
const MAX_CHARACTERS: usize = 10_000;
const MAX_CHECKS: usize = 20;
/// Escaping can make five characters of one. Even then a line fits into a section.
const MAX_SUBJECT: usize = 160;
const MAX_REASON: usize = 180;
const MAX_REPAIR: usize = 230;

/// One line for each check with a problem; healthy checks are counted. `checks` are in the order of services.
pub fn render_doctor(checks: &[HealthCheck], now: Timestamp) -> Rendered {
    let (healthy, problems): (Vec<&HealthCheck>, Vec<&HealthCheck>) =
        checks.iter().partition(|check| check.health == Health::Good);
    let head = match problems.len() {
        0 => Mrkdwn::new("All that I looked at is well."),
        1 => Mrkdwn::new("One thing needs a look:"),
        problems => Mrkdwn::default().plain(&format!("{problems} things need a look:")),
    };
    let mut blocks = vec![section(head.clone())];
    let (mut shown, mut remaining) = (0, MAX_CHARACTERS);
    // The worst problems come first.
    let mut worst = problems.clone();
    worst.sort_by_key(|check| std::cmp::Reverse(check.health));
    for check in worst.iter().take(MAX_CHECKS) {
        let line = format_check(check, now);
        let Some(left) = remaining.checked_sub(line.as_str().chars().count()) else { break };
        remaining = left;
        shown += 1;
        blocks.push(section(line));
    }
    if shown < problems.len() {
        blocks.push(context(Mrkdwn::default().plain(&format!("and {} more", problems.len() - shown))));
    }
    if !healthy.is_empty() {
        blocks.push(context(summarize_healthy(&healthy)));
    }
    Rendered { text: head.into_string(), blocks }
}

/// `23 checks are well: Slack 6, GitHub 9 ...`
fn summarize_healthy(healthy: &[&HealthCheck]) -> Mrkdwn {
    let services = healthy.chunk_by(|one, next| one.service == next.service);
    let services: Vec<String> = services.map(|all| format!("{} {}", all[0].service.name(), all.len())).collect();
    let head =
        if healthy.len() == 1 { "One check is well".to_owned() } else { format!("{} checks are well", healthy.len()) };
    Mrkdwn::new(":white_check_mark: ").plain(&format!("{head}: {}", services.join(", ")))
}

fn format_check(check: &HealthCheck, now: Timestamp) -> Mrkdwn {
    let mark = match check.health {
        Health::Good => ":white_check_mark: ",
        Health::Warning => ":warning: ",
        Health::Bad => ":x: ",
    };
    let mut line = Mrkdwn::new(mark).plain(&truncate_middle(&check.summary, MAX_SUBJECT));
    if let Some(last) = check.last_seen_at {
        let (count, unit) = humanize_duration(now.duration_since(last));
        let prefix = if check.health == Health::Good { "" } else { "last " };
        line = line.raw(", ").plain(&format!("{prefix}{count} {unit} ago"));
    }
    line = match &check.reason {
        Some(reason) => line.raw(": ").plain(&truncate_middle(reason, MAX_REASON)),
        None => line.raw("."),
    };
    match &check.repair {
        Some(repair) => line.raw(" ").plain(&truncate_middle(repair, MAX_REPAIR)),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::adapters::slack::render::serialize_blocks;
    use crate::domain::doctor::Service;

    fn check(health: Health, summary: &str, reason: Option<&str>) -> HealthCheck {
        HealthCheck {
            service: Service::Slack,
            health,
            summary: summary.to_owned(),
            last_seen_at: reason.map(|_| Timestamp::UNIX_EPOCH),
            reason: reason.map(str::to_owned),
            repair: reason.map(|_| "Repair it.".to_owned()),
        }
    }

    fn lines(checks: &[HealthCheck]) -> Vec<String> {
        let rendered = render_doctor(checks, Timestamp::UNIX_EPOCH + SignedDuration::from_mins(2));
        let text = |block: &Value| {
            block["text"]["text"].as_str().or(block["elements"][0]["text"].as_str()).unwrap().to_owned()
        };
        serialize_blocks(&rendered.blocks).iter().map(text).collect()
    }

    #[test]
    fn problems_have_a_mark_and_advice_and_healthy_checks_are_counted() {
        let checks = [
            check(Health::Warning, "3 x Flux Kustomization flux-system/<!channel> for qa", Some("It applied nothing.")),
            check(Health::Bad, "GitHub rejects the credentials", None),
            check(Health::Good, "I am @gantry", None),
            check(Health::Good, "I am in #deploys", None),
            HealthCheck { service: Service::Registry, ..check(Health::Good, "The registry answers", None) },
        ];
        assert_eq!(
            lines(&checks),
            [
                "2 things need a look:",
                ":x: GitHub rejects the credentials.",
                ":warning: 3 x Flux Kustomization flux-system/&lt;!channel&gt; for qa, last 2 min ago: It applied nothing. Repair it.",
                ":white_check_mark: 3 checks are well: Slack 2, Registry 1",
            ]
        );
        assert_eq!(
            lines(&checks[4..]),
            ["All that I looked at is well.", ":white_check_mark: One check is well: Registry 1"]
        );
    }

    #[test]
    fn many_long_checks_stay_within_slacks_limits() {
        let long = "&".repeat(2_000);
        let hostile = HealthCheck { repair: Some(long.clone()), ..check(Health::Warning, &long, Some(&long)) };
        let small = check(Health::Warning, "x", Some("y"));
        for one in [hostile, small] {
            let mut checks = vec![one; 500];
            checks.extend(vec![check(Health::Good, "well", None); 500]);
            let lines = lines(&checks);
            assert!(lines.len() <= 23, "{}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= 3_000));
            assert!(lines.iter().map(|line| line.chars().count()).sum::<usize>() < 12_000);
            let shown = lines.len() - 3;
            assert_eq!(lines[lines.len() - 2], format!("and {} more", 500 - shown));
            assert!(shown >= 3, "{shown}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_checks_stay_within_slacks_limits(
            checks in prop::collection::vec((0..3_u8, ".{0,400}", prop::option::of(".{0,600}"), prop::option::of(".{0,600}")), 0..60)
        ) {
            let check = |(health, summary, reason, repair): (u8, String, Option<String>, Option<String>)| {
                let health = [Health::Good, Health::Warning, Health::Bad][usize::from(health)];
                HealthCheck { service: Service::GitHub, health, summary, last_seen_at: None, reason, repair }
            };
            let checks: Vec<HealthCheck> = checks.into_iter().map(check).collect();
            let problems = checks.iter().filter(|check| check.health != Health::Good).count();
            let lines = lines(&checks);
            prop_assert!(lines.len() <= 23 && lines.iter().all(|line| line.chars().count() <= 3_000));
            prop_assert!(lines.iter().map(|line| line.chars().count()).sum::<usize>() < 13_000);
            prop_assert_eq!(lines[0] == "All that I looked at is well.", problems == 0);
        }
    }
}
