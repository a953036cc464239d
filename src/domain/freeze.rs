//! When the calendar lets nobody change an environment.

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;

/// Every week from one moment to the other, around the end of the week if need be.
#[derive(Clone, Debug)]
pub struct Freeze {
    pub from: Moment,
    pub to: Moment,
    pub timezone: TimeZone,
    pub reason: Option<String>,
}

/// A moment of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub weekday: Weekday,
    pub time: Time,
}
