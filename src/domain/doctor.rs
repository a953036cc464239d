//! What is well and what is not with Gantry itself, each with the way to repair it. A file for each service turns what was
//! found there into [`HealthCheck`]s: these sentences are all that people read, in Slack and at the terminal.

use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Good,
    /// It works, and somebody should look at it.
    Warning,
    /// It does not work.
    Bad,
}

/// Whom a check is about, in the order in which they are told.
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

/// One thing that was looked at. All of it is plain text, and may hold what anybody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    pub service: Service,
    pub health: Health,
    pub summary: String,
    /// When it last was so.
    pub last_seen_at: Option<Timestamp>,
    /// What is behind it, in a sentence.
    pub reason: Option<String>,
    /// What to do about it, in a sentence.
    pub repair: Option<String>,
}

impl HealthCheck {
    /// `repair` is empty if nothing is to be done, or another text says it.
    pub fn new(service: Service, health: Health, summary: impl Into<String>, repair: impl Into<String>) -> Self {
        let repair = Some(repair.into()).filter(|repair| !repair.is_empty());
        Self { service, health, summary: summary.into(), last_seen_at: None, reason: None, repair }
    }

    pub fn new_good(service: Service, what: impl Into<String>) -> Self {
        Self { service, health: Health::Good, summary: what.into(), last_seen_at: None, reason: None, repair: None }
    }

    pub fn new_warning(service: Service, what: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { health: Health::Warning, repair: Some(repair.into()), ..Self::new_good(service, what) }
    }

    pub fn new_bad(service: Service, what: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { health: Health::Bad, ..Self::new_warning(service, what, repair) }
    }

    #[must_use]
    pub fn with_reason(self, why: impl Into<String>) -> Self {
        let why = why.into();
        let why = why.trim().trim_end_matches('.');
        Self { reason: Some(format!("{why}.")), ..self }
    }
}

/// The worst of them; good where there is none.
pub fn worst_health(checks: &[HealthCheck]) -> Health {
    checks.iter().map(|check| check.health).max().unwrap_or(Health::Good)
}

/// As a terminal shows them: a line for each, under the name of its service. `checks` are in the order of services.
pub fn render_terminal(checks: &[HealthCheck], now: Timestamp) -> String {
    let mut text = String::new();
    let mut current_service = None;
    for check in checks {
        if current_service != Some(check.service) {
            text += check.service.name();
            text.push('\n');
            current_service = Some(check.service);
        }
        let mark = match check.health {
            Health::Good => "\u{2713}",
            Health::Warning => "!",
            Health::Bad => "\u{2717}",
        };
        text.extend(["  ", mark, " ", &replace_control_chars(&check.format_sentence(now)), "\n"]);
    }
    let count = |health| checks.iter().filter(|check| check.health == health).count();
    let (good, warnings, bad) = (count(Health::Good), count(Health::Warning), count(Health::Bad));
    text + &format!("{good} good, {warnings} to look at, {bad} broken\n")
}

/// What came from outside must not move the cursor or begin a line.
fn replace_control_chars(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl HealthCheck {
    /// All of it in a line.
    fn format_sentence(&self, now: Timestamp) -> String {
        let Self { summary: what, last_seen_at: last, reason: why, repair, .. } = self;
        let last = last.map(|last| format!(", last {} ago", format_age(now.duration_since(last)))).unwrap_or_default();
        let why = why.as_ref().map_or(".".to_owned(), |why| format!(": {why}"));
        let repair = repair.as_ref().map(|repair| format!(" {repair}")).unwrap_or_default();
        format!("{what}{last}{why}{repair}")
    }
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
    fn a_terminal_shows_a_line_for_each_under_its_service() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let checks = [
            HealthCheck::new_good(Service::Slack, "I am @gantry"),
            HealthCheck {
                last_seen_at: Some(now - SignedDuration::from_mins(3)),
                ..HealthCheck::new_warning(Service::Slack, "Hm", "Look.")
            },
            HealthCheck::new_bad(Service::GitHub, "No\u{1b}[2J", "Repair it.").with_reason("it says\nno"),
        ];
        assert_eq!(
            render_terminal(&checks, now),
            "Slack\n  \u{2713} I am @gantry.\n  ! Hm, last 3 min ago. Look.\nGitHub\n  \u{2717} No [2J: it says no. Repair it.\n\
             1 good, 1 to look at, 1 broken\n"
        );
        assert_eq!(worst_health(&checks), Health::Bad);
        assert_eq!(worst_health(&[]), Health::Good);
    }
}
