//! `doctor`: a line for each thing that was looked at, with its tick or its warning and what to do about it.

use jiff::Timestamp;

use super::Said;
use super::blocks::{context, section};
use super::mrkdwn::{Mrkdwn, shorten, span};
use crate::domain::doctor::{Check, Health};

/// Slack takes some more in one message, and nobody reads so much.
const ROOM: usize = 10_000;
const MOST: usize = 20;
/// Escaped, each character can become five: even then a line stays within a section.
const WHAT: usize = 150;
const WHY: usize = 250;
const REPAIR: usize = 150;

pub fn doctor(checks: &[Check], now: Timestamp) -> Said {
    let ill = checks.iter().filter(|check| check.health != Health::Good).count();
    let head = match ill {
        0 => Mrkdwn::new("All that I looked at is well."),
        1 => Mrkdwn::new("One thing needs a look:"),
        ill => Mrkdwn::default().plain(&format!("{ill} things need a look:")),
    };
    let mut blocks = vec![section(head.clone())];
    let (mut shown, mut room) = (0, ROOM);
    for check in checks.iter().take(MOST) {
        let line = line(check, now);
        let Some(left) = room.checked_sub(line.as_str().chars().count()) else { break };
        room = left;
        shown += 1;
        blocks.push(section(line));
    }
    if shown < checks.len() {
        blocks.push(context(Mrkdwn::default().plain(&format!("and {} more", checks.len() - shown))));
    }
    Said { text: head.into_string(), blocks }
}

fn line(check: &Check, now: Timestamp) -> Mrkdwn {
    let mark = match check.health {
        Health::Good => ":white_check_mark: ",
        Health::Warning => ":warning: ",
        Health::Bad => ":x: ",
    };
    let mut line = Mrkdwn::new(mark).plain(&shorten(&check.what, WHAT));
    if let Some(last) = check.last {
        let (count, unit) = span(now.duration_since(last));
        let said = if check.health == Health::Good { "" } else { "last " };
        line = line.raw(", ").plain(&format!("{said}{count} {unit} ago"));
    }
    line = match &check.why {
        Some(why) => line.raw(": ").plain(&shorten(why, WHY)),
        None => line.raw("."),
    };
    match &check.repair {
        Some(repair) => line.raw(" ").plain(&shorten(repair, REPAIR)),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::Value;

    use super::*;
    use crate::slack::render::stored;

    fn check(health: Health, what: &str, why: Option<&str>) -> Check {
        Check {
            health,
            what: what.to_owned(),
            last: why.map(|_| Timestamp::UNIX_EPOCH),
            why: why.map(str::to_owned),
            repair: why.map(|_| "Repair it.".to_owned()),
        }
    }

    fn lines(checks: &[Check]) -> Vec<String> {
        let said = doctor(checks, Timestamp::UNIX_EPOCH + SignedDuration::from_mins(2));
        let text = |block: &Value| {
            block["text"]["text"].as_str().or(block["elements"][0]["text"].as_str()).unwrap().to_owned()
        };
        stored(&said.blocks).iter().map(text).collect()
    }

    #[test]
    fn each_line_begins_with_its_mark_and_ends_with_what_to_do() {
        let checks = [
            check(Health::Warning, "3 x Flux Kustomization flux-system/<!channel> for qa", Some("It applied nothing.")),
            check(Health::Bad, "GitHub does not let me in", None),
            check(Health::Good, "The registry answers", None),
        ];
        assert_eq!(
            lines(&checks),
            [
                "2 things need a look:",
                ":warning: 3 x Flux Kustomization flux-system/&lt;!channel&gt; for qa, last 2 min ago: It applied nothing. Repair it.",
                ":x: GitHub does not let me in.",
                ":white_check_mark: The registry answers.",
            ]
        );
        assert_eq!(lines(&checks[2..])[0], "All that I looked at is well.");
    }

    #[test]
    fn however_much_there_is_and_whatever_it_says_slack_takes_it() {
        let long = "&".repeat(2_000);
        let hostile = Check { repair: Some(long.clone()), ..check(Health::Warning, &long, Some(&long)) };
        let small = check(Health::Warning, "x", Some("y"));
        for one in [hostile, small] {
            let lines = lines(&vec![one; 500]);
            assert!(lines.len() <= 22, "{}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= 3_000));
            assert!(lines.iter().map(|line| line.chars().count()).sum::<usize>() < 12_000);
            let told = lines.len() - 2;
            assert_eq!(lines.last().unwrap(), &format!("and {} more", 500 - told));
            assert!(told >= 3, "{told}");
        }
    }
}
