//! Counts the requests to the simulated GitHub, and the part of the hourly rate limit that they use.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Sub};
use std::sync::MutexGuard;

use super::{GitHub, lock};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub requests: u64,
    /// The requests that the rate limit does not count: authenticated requests that were answered with 304.
    pub free: u64,
}

impl Cost {
    /// The requests that the rate limit counts.
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

/// The requests of the current hour that the rate limit counts.
#[derive(Clone, Copy, Default)]
pub(super) struct HourlyUsage {
    /// Hours since 1970.
    pub(super) hour: i64,
    pub(super) count: u64,
}

#[derive(Default)]
pub(super) struct Costs {
    this_hour: HourlyUsage,
    by_request: BTreeMap<String, Cost>,
}

impl GitHub {
    /// The cost of all requests so far, without those that met a request fault before their effect.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        for cost_of_request in lock(&self.0.costs).by_request.values() {
            cost += *cost_of_request;
        }
        cost
    }

    /// The same for each request, such as `GET /repos/acme/checkout/git/ref/heads/qa`.
    pub fn costs(&self) -> BTreeMap<String, Cost> {
        lock(&self.0.costs).by_request.clone()
    }

    /// Records a request and returns the usage of this hour. `counts`: the rate limit counts the request.
    pub(super) fn count_request(&self, request: String, counts: bool) -> HourlyUsage {
        let mut costs = self.costs_now();
        *costs.by_request.entry(request).or_default() += Cost { requests: 1, free: u64::from(!counts) };
        costs.this_hour.count += u64::from(counts);
        costs.this_hour
    }

    pub(super) fn this_hour(&self) -> HourlyUsage {
        self.costs_now().this_hour
    }

    fn costs_now(&self) -> MutexGuard<'_, Costs> {
        let hour = self.0.clock.now().as_second().div_euclid(3600);
        let mut costs = lock(&self.0.costs);
        if costs.this_hour.hour != hour {
            costs.this_hour = HourlyUsage { hour, count: 0 };
        }
        costs
    }
}
