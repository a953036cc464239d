//! What was asked of GitHub, and how much of the hour's limit that used.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Sub};
use std::sync::MutexGuard;

use super::{GitHub, lock};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub requests: u64,
    /// Those of them that the hour's limit does not count: answered with 304 to somebody who is known.
    pub free: u64,
}

impl Cost {
    /// What the hour's limit counts.
    pub fn counted_requests(self) -> u64 {
        self.requests - self.free
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        *self = Self { requests: self.requests + more.requests, free: self.free + more.free };
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { requests: self.requests - before.requests, free: self.free - before.free }
    }
}

/// How much of the rate limit is used.
#[derive(Clone, Copy, Default)]
pub(super) struct ThisHour {
    /// Since 1970.
    pub(super) hour: i64,
    pub(super) count: u64,
}

#[derive(Default)]
pub(super) struct Costs {
    this_hour: ThisHour,
    by_request: BTreeMap<String, Cost>,
}

impl GitHub {
    /// Of everything that was asked so far. What suffered a whim is not in it.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        for more in lock(&self.0.costs).by_request.values() {
            cost += *more;
        }
        cost
    }

    /// The same by request, as in `GET /repos/acme/checkout/git/ref/heads/qa`.
    pub fn costs(&self) -> BTreeMap<String, Cost> {
        lock(&self.0.costs).by_request.clone()
    }

    /// Tells how many requests there were this hour, with this one where it counts.
    pub(super) fn count_request(&self, asked: String, counts: bool) -> ThisHour {
        let mut costs = self.costs_now();
        *costs.by_request.entry(asked).or_default() += Cost { requests: 1, free: u64::from(!counts) };
        costs.this_hour.count += u64::from(counts);
        costs.this_hour
    }

    pub(super) fn this_hour(&self) -> ThisHour {
        self.costs_now().this_hour
    }

    fn costs_now(&self) -> MutexGuard<'_, Costs> {
        let hour = self.0.clock.now().as_second().div_euclid(3600);
        let mut costs = lock(&self.0.costs);
        if costs.this_hour.hour != hour {
            costs.this_hour = ThisHour { hour, count: 0 };
        }
        costs
    }
}
