//! When the calendar lets nobody change an environment: every week, or once from one date to another.
//! Ends are local times: what a change of clocks skips moves forward, and what it doubles belongs to the freeze.

use std::slice;

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, ToSpan};

use crate::domain::model::freeze::{Freeze, Period, WeekdayTime};

/// What holds now: the freeze that began at `from` for this reason, and when changes are welcome again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeWindow {
    pub from: Timestamp,
    pub until: Timestamp,
    pub reason: Option<String>,
}

/// Weekly freezes that leave no time between them never end; then the end is one that is years away.
const MAX_CHAINED_FREEZES: usize = 1_000;

/// The freeze that holds now; of several the one that ends last. Its end is put off by all that overlap or adjoin it.
pub fn find_active_window(freezes: &[Freeze], now: Timestamp) -> Option<FreezeWindow> {
    let last_to_end = |at| {
        let covering = freezes.iter().filter_map(|freeze| Some((freeze, freeze.find_occurrence(at)?)));
        // The first of those that end together.
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

    /// The one time of it that covers a moment, whatever follows at once.
    fn find_occurrence(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let covers = |(from, until): &(Timestamp, Timestamp)| *from <= at && at < *until;
        match self.period {
            Period::Dated { from, to } => self.resolve_bounds(from, to).filter(covers),
            Period::Weekly { from, to } => {
                let today = self.timezone.to_datetime(at).date();
                let since = i64::from(today.weekday().since(from.weekday));
                // A doubled hour can make two of them overlap.
                let begun = [since, since + 7].into_iter().filter_map(|days| today.checked_sub(days.days()).ok());
                begun
                    .filter_map(|day| self.resolve_weekly_occurrence(day, from, to))
                    .filter(covers)
                    .max_by_key(|(_, until)| *until)
            }
        }
    }

    /// A weekly freeze that begins on that day.
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

    /// A doubled local time is the first for the beginning and the second for the end.
    fn resolve_bounds(&self, from: DateTime, to: DateTime) -> Option<(Timestamp, Timestamp)> {
        let from = self.timezone.to_ambiguous_timestamp(from).compatible().ok()?;
        let until = self.timezone.to_ambiguous_timestamp(to).later().ok()?;
        Some((from, until))
    }
}

#[cfg(test)]
mod tests;
