//! A burst of reports, as a controller sends it that has much to tell: over many connections at once, some of it more
//! than once, in no order, and again what was not taken.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gantry::sim::chance::Rng;

use crate::Outcome;
use crate::flux::Told;
use crate::load::Connection;

const CONNECTIONS: usize = 64;
const MOST_TIMES: usize = 5;

/// Flux sends a report once and again four times; the pause grows with each.
const RETRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Burst<'a> {
    told: &'a [Told],
    /// Which report is sent, one after another.
    turns: Vec<usize>,
    next: AtomicUsize,
    accepted: AtomicUsize,
}

/// How it went.
#[derive(Default)]
pub(crate) struct Sent {
    /// How long each took that was accepted, in order. What met a dead process is not among them.
    pub(crate) took: Vec<Duration>,
    /// Sent again because nobody took them.
    pub(crate) again: usize,
    /// Given up.
    pub(crate) lost: usize,
    pub(crate) within: Duration,
}

impl Sent {
    pub(crate) fn percentile(&self, at: usize) -> f64 {
        let last = self.took.len().saturating_sub(1);
        self.took.get(at * last / 100).map_or(f64::INFINITY, |took| took.as_secs_f64() * 1000.0)
    }
}

impl<'a> Burst<'a> {
    /// Each report one to five times, shuffled.
    pub(crate) fn new(told: &'a [Told], seed: u64) -> Self {
        let mut chance = Rng::new(seed);
        let times = |number| std::iter::repeat_n(number, 1 + chance.next_below(MOST_TIMES));
        let mut turns: Vec<usize> = (0..told.len()).flat_map(times).collect();
        Rng::new(seed + 1).shuffle(&mut turns);
        Self { told, turns, next: AtomicUsize::new(0), accepted: AtomicUsize::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Outcome<Sent> {
        let begun = Instant::now();
        let ended: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(|| self.one(address))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut all = Sent { within: begun.elapsed(), ..Sent::default() };
        for one in ended {
            let one = one.map_err(|_| "A connection panicked.")?;
            all.took.extend(one.took);
            all.again += one.again;
            all.lost += one.lost;
        }
        all.took.sort();
        Ok(all)
    }

    fn one(&self, address: SocketAddr) -> Sent {
        let mut sent = Sent::default();
        let mut connection = None;
        while let Some(told) = self.turns.get(self.next.fetch_add(1, Ordering::SeqCst)) {
            let request = &self.told[*told].request;
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
                sent.again += 1;
                std::thread::sleep(PAUSE * tried);
            }
        }
        sent
    }
}

/// How long it took, if it was accepted.
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
