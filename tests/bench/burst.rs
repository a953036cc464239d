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
const MOST_TIMES: usize = 5;

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
    pub(crate) took: Vec<Duration>,
    /// Requests that were sent again because they were not accepted.
    pub(crate) retries: usize,
    /// Reports that were given up.
    pub(crate) lost: usize,
    pub(crate) elapsed: Duration,
}

impl BurstResult {
    pub(crate) fn percentile(&self, at: usize) -> f64 {
        let last = self.took.len().saturating_sub(1);
        self.took.get(at * last / 100).map_or(f64::INFINITY, |took| took.as_secs_f64() * 1000.0)
    }
}

impl<'a> Burst<'a> {
    /// Each report one to five times, shuffled.
    pub(crate) fn new(told: &'a [SignedReport], seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let times = |number| std::iter::repeat_n(number, 1 + rng.next_below(MOST_TIMES));
        let mut turns: Vec<usize> = (0..told.len()).flat_map(times).collect();
        Rng::new(seed + 1).shuffle(&mut turns);
        Self { reports: told, send_order: turns, next: AtomicUsize::new(0), accepted: AtomicUsize::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.send_order.len()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Outcome<BurstResult> {
        let begun = Instant::now();
        let ended: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..CONNECTIONS).map(|_| scope.spawn(|| self.send_over_connection(address))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut all = BurstResult { elapsed: begun.elapsed(), ..BurstResult::default() };
        for one in ended {
            let one = one.map_err(|_| "A connection panicked.")?;
            all.took.extend(one.took);
            all.retries += one.retries;
            all.lost += one.lost;
        }
        all.took.sort();
        Ok(all)
    }

    fn send_over_connection(&self, address: SocketAddr) -> BurstResult {
        let mut sent = BurstResult::default();
        let mut connection = None;
        while let Some(index) = self.send_order.get(self.next.fetch_add(1, Ordering::SeqCst)) {
            let request = &self.reports[*index].request;
            let mut tried = 0;
            loop {
                if let Some(took) = deliver(&mut connection, address, request) {
                    sent.took.push(took);
                    self.accepted.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                if tried == RETRIES {
                    sent.lost += 1;
                    break;
                }
                tried += 1;
                sent.retries += 1;
                std::thread::sleep(PAUSE * tried);
            }
        }
        sent
    }
}

/// The duration of the request, if it was accepted.
fn deliver(connection: &mut Option<Connection>, address: SocketAddr, request: &[u8]) -> Option<Duration> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => Connection::open(address).ok()?,
    };
    let begun = Instant::now();
    let (status, _) = open.exchange(request).ok()?;
    let took = begun.elapsed();
    *connection = Some(open);
    (200..300).contains(&status).then_some(took)
}
