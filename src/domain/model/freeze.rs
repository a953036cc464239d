//! A freeze as it is configured: every week, or once from one date to another.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    pub period: Period,
    /// Of both ends.
    pub timezone: TimeZone,
    pub reason: Option<String>,
}

/// `from` is in it, `to` is not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Around the end of the week if need be. The two ends differ.
    Weekly { from: WeekdayTime, to: WeekdayTime },
    /// Ends after it begins.
    Dated { from: DateTime, to: DateTime },
}

/// A moment of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekdayTime {
    pub weekday: Weekday,
    pub time: Time,
}
