//! The report of `doctor`: a [`HealthCheck`] for each thing that was checked, shown by the shell and by Slack.

use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Good,
    /// The service works, but an operator should look at it.
    Warning,
    /// The service does not work.
    Bad,
}

/// The services in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    Configuration,
    Slack,
    GitHub,
    Cluster,
    Registry,
    Store,
    Clock,
    Reports,
}

impl Service {
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Slack => "Slack",
            Self::GitHub => "GitHub",
            Self::Cluster => "Cluster",
            Self::Registry => "Registry",
            Self::Store => "Store",
            Self::Clock => "Clock",
            Self::Reports => "Reports",
        }
    }
}

/// The result of one check. All texts are plain text and may quote text from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    pub service: Service,
    pub health: Health,
    pub summary: String,
    /// The last time at which the summary was true.
    pub last_seen_at: Option<Timestamp>,
    /// The cause, in a sentence.
    pub reason: Option<String>,
    /// The next step, in a sentence.
    pub repair: Option<String>,
}

impl HealthCheck {
    /// `repair` is empty if there is nothing to do or another text names the next step.
    pub fn new(service: Service, health: Health, summary: impl Into<String>, repair: impl Into<String>) -> Self {
        let repair = Some(repair.into()).filter(|repair| !repair.is_empty());
        Self { service, health, summary: summary.into(), last_seen_at: None, reason: None, repair }
    }

    #[must_use]
    pub fn with_reason(self, reason: &str) -> Self {
        let reason = reason.trim().trim_end_matches('.');
        Self { reason: Some(format!("{reason}.")), ..self }
    }

    /// All texts in one line.
    fn format_sentence(&self, now: Timestamp) -> String {
        let Self { summary, last_seen_at, reason, repair, .. } = self;
        let last = last_seen_at.map(|at| format!(", last {} ago", format_age(now.duration_since(at))));
        let reason = reason.as_ref().map_or(".".to_owned(), |reason| format!(": {reason}"));
        let repair = repair.as_ref().map(|repair| format!(" {repair}")).unwrap_or_default();
        format!("{summary}{}{reason}{repair}", last.unwrap_or_default())
    }
}

/// Good if there are no checks.
pub fn worst_health(checks: &[HealthCheck]) -> Health {
    checks.iter().map(|check| check.health).max().unwrap_or(Health::Good)
}

/// A line for each check, under the name of its service. `checks` are in the order of the services.
pub fn render_terminal(checks: &[HealthCheck], now: Timestamp) -> String {
    let mut text = String::new();
    for checks in checks.chunk_by(|one, next| one.service == next.service) {
        text.extend([checks[0].service.name(), "\n"]);
        for check in checks {
            let mark = match check.health {
                Health::Good => "\u{2713}",
                Health::Warning => "!",
                Health::Bad => "\u{2717}",
            };
            // Text from outside must not move the cursor or begin a line.
            let sentence = check.format_sentence(now).replace(char::is_control, " ");
            text.extend(["  ", mark, " ", &sentence, "\n"]);
        }
    }
    let count = |health| checks.iter().filter(|check| check.health == health).count();
    let (good, warnings, bad) = (count(Health::Good), count(Health::Warning), count(Health::Bad));
    text + &format!("{good} good, {warnings} to check, {bad} broken\n")
}

fn format_age(duration: SignedDuration) -> String {
    match duration.as_secs().max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_shows_each_check_under_its_service() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let checks = [
            HealthCheck::new(Service::Slack, Health::Good, "I am @gantry", ""),
            HealthCheck {
                last_seen_at: Some(now - SignedDuration::from_mins(3)),
                ..HealthCheck::new(Service::Slack, Health::Warning, "Hm", "Look.")
            },
            HealthCheck::new(Service::GitHub, Health::Bad, "No\u{1b}[2J", "Repair it.").with_reason("it says\nno"),
        ];
        assert_eq!(
            render_terminal(&checks, now),
            "Slack\n  \u{2713} I am @gantry.\n  ! Hm, last 3 min ago. Look.\nGitHub\n  \u{2717} No [2J: it says no. Repair it.\n\
             1 good, 1 to check, 1 broken\n"
        );
        assert_eq!(worst_health(&checks), Health::Bad);
        assert_eq!(worst_health(&[]), Health::Good);
    }
}
