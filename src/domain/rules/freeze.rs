//! Finds the freeze that is in force: weekly or once. Both ends are local times. A local time that a clock change skips
//! moves forward; a local time that occurs twice is frozen both times.

use std::slice;

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, ToSpan};

use crate::domain::model::freeze::{Freeze, Period, WeekdayTime};

/// The freeze in force: its beginning, its end and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeWindow {
    pub from: Timestamp,
    pub until: Timestamp,
    pub reason: Option<String>,
}

/// Limits the search for the end. Weekly freezes without a gap never end, and the result is then a time years away.
const MAX_CHAINED_FREEZES: usize = 1_000;

/// The freeze in force; of several, the one that ends last. Freezes that overlap or adjoin it extend its end.
pub fn find_active_window(freezes: &[Freeze], now: Timestamp) -> Option<FreezeWindow> {
    let last_to_end = |at| {
        let covering = freezes.iter().filter_map(|freeze| Some((freeze, freeze.find_occurrence(at)?)));
        // The first of those with the same end.
        covering.rev().max_by_key(|(_, (_, until))| *until)
    };
    let (freeze, (from, mut until)) = last_to_end(now)?;
    for _ in 0..MAX_CHAINED_FREEZES {
        let Some((_, (_, later))) = last_to_end(until) else { break };
        until = later;
    }
    Some(FreezeWindow { from, until, reason: freeze.reason.clone() })
}

impl Freeze {
    pub fn find_active_window(&self, now: Timestamp) -> Option<FreezeWindow> {
        find_active_window(slice::from_ref(self), now)
    }

    /// The occurrence that covers a moment. Later occurrences do not extend it.
    fn find_occurrence(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let covers = |(from, until): &(Timestamp, Timestamp)| *from <= at && at < *until;
        match self.period {
            Period::Dated { from, to } => self.resolve_bounds(from, to).filter(covers),
            Period::Weekly { from, to } => {
                let today = self.timezone.to_datetime(at).date();
                let since = i64::from(today.weekday().since(from.weekday));
                // A repeated hour can make two occurrences overlap.
                let starts = [since, since + 7].into_iter().filter_map(|days| today.checked_sub(days.days()).ok());
                starts
                    .filter_map(|day| self.resolve_weekly_occurrence(day, from, to))
                    .filter(covers)
                    .max_by_key(|(_, until)| *until)
            }
        }
    }

    /// The occurrence of a weekly freeze that begins on that day.
    fn resolve_weekly_occurrence(
        &self,
        day: Date,
        from: WeekdayTime,
        to: WeekdayTime,
    ) -> Option<(Timestamp, Timestamp)> {
        let days = match from.weekday.until(to.weekday) {
            0 if to.time <= from.time => 7,
            days => days,
        };
        let last = day.checked_add(i64::from(days).days()).ok()?;
        self.resolve_bounds(day.to_datetime(from.time), last.to_datetime(to.time))
    }

    /// Of a repeated local time, the beginning takes the first and the end takes the second.
    fn resolve_bounds(&self, from: DateTime, to: DateTime) -> Option<(Timestamp, Timestamp)> {
        let from = self.timezone.to_ambiguous_timestamp(from).compatible().ok()?;
        let until = self.timezone.to_ambiguous_timestamp(to).later().ok()?;
        Some((from, until))
    }
}

#[cfg(test)]
mod tests;
