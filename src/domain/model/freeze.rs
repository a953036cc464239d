//! A configured freeze: every week, or once from one date to another.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    pub period: Period,
    /// The time zone of both ends.
    pub timezone: TimeZone,
    pub reason: Option<String>,
}

/// `from` is inclusive, `to` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// A weekly period may pass the end of the week. `from` and `to` differ.
    Weekly { from: WeekdayTime, to: WeekdayTime },
    /// `to` is later than `from`.
    Dated { from: DateTime, to: DateTime },
}

/// A moment of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekdayTime {
    pub weekday: Weekday,
    pub time: Time,
}
