//! A burst of reports, as a busy controller sends it: over many connections at once, with duplicates, in random order,
//! and with retries.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gantry::sim::rng::Rng;

use crate::Outcome;
use crate::flux::SignedReport;
use crate::load::Connection;

const CONNECTIONS: usize = 64;
const MAX_COPIES: usize = 5;

/// Flux sends a report once and retries it four times. The pause grows each time.
const RETRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Burst<'a> {
    reports: &'a [SignedReport],
    /// The indexes of the reports in the order of sending.
    send_order: Vec<usize>,
    next: AtomicUsize,
    accepted: AtomicUsize,
}

/// The result of a burst.
#[derive(Default)]
pub(crate) struct BurstResult {
    /// The duration of each accepted request, sorted. Requests to a dead process are not included.
    pub(crate) durations: Vec<Duration>,
    /// Requests that were sent again because they were not accepted.
    pub(crate) retries: usize,
    /// Reports that were given up.
    pub(crate) lost: usize,
    pub(crate) elapsed: Duration,
}

impl BurstResult {
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let last = self.durations.len().saturating_sub(1);
        self.durations.get(percent * last / 100).map_or(f64::INFINITY, |took| took.as_secs_f64() * 1000.0)
    }
}

impl<'a> Burst<'a> {
    /// Each report one to five times, shuffled.
    pub(crate) fn new(reports: &'a [SignedReport], seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let times = |number| std::iter::repeat_n(number, 1 + rng.next_below(MAX_COPIES));
        let mut send_order: Vec<usize> = (0..reports.len()).flat_map(times).collect();
        Rng::new(seed + 1).shuffle(&mut send_order);
        Self { reports, send_order, next: AtomicUsize::new(0), accepted: AtomicUsize::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.send_order.len()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Outcome<BurstResult> {
        let started = Instant::now();
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..CONNECTIONS).map(|_| scope.spawn(|| self.send_over_connection(address))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut total = BurstResult { elapsed: started.elapsed(), ..BurstResult::default() };
        for result in results {
            let result = result.map_err(|_| "A connection panicked.")?;
            total.durations.extend(result.durations);
            total.retries += result.retries;
            total.lost += result.lost;
        }
        total.durations.sort();
        Ok(total)
    }

    fn send_over_connection(&self, address: SocketAddr) -> BurstResult {
        let mut result = BurstResult::default();
        let mut connection = None;
        while let Some(index) = self.send_order.get(self.next.fetch_add(1, Ordering::SeqCst)) {
            let request = &self.reports[*index].request;
            let mut retries = 0;
            loop {
                if let Some(took) = deliver(&mut connection, address, request) {
                    result.durations.push(took);
                    self.accepted.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                if retries == RETRIES {
                    result.lost += 1;
                    break;
                }
                retries += 1;
                result.retries += 1;
                std::thread::sleep(PAUSE * retries);
            }
        }
        result
    }
}

/// The duration of the request, if it was accepted.
fn deliver(connection: &mut Option<Connection>, address: SocketAddr, request: &[u8]) -> Option<Duration> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => Connection::open(address).ok()?,
    };
    let started = Instant::now();
    let (status, _) = open.exchange(request).ok()?;
    let took = started.elapsed();
    *connection = Some(open);
    (200..300).contains(&status).then_some(took)
}
