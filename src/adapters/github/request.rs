//! How GitHub is asked: a few at a time and not too fast, by `ETag` for what it told before, and again while it is away.
//! What is asked is not known here.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::client::{ANSWER_TIMEOUT, Answer, Ask, Client, GithubError, said};
use crate::adapters::github::etag_cache::Memory;

/// Pauses before a question is asked again; reading twice harms nobody.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// GitHub allows 100 requests at a time to all who use the token.
const AT_ONCE: usize = 8;
/// So long a turn is waited for; whoever would wait longer is told when to come again.
const PATIENCE: Duration = Duration::from_secs(3);
/// A timer may fire just before the clock has come so far.
const A_MOMENT: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<T> {
    Yes(T),
    /// With what GitHub said about it.
    No(String),
}

/// What all clones of a client share when they ask.
pub(super) struct Asking {
    memory: Mutex<Memory>,
    places: Semaphore,
}

impl Default for Asking {
    fn default() -> Self {
        Self { memory: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }
}

impl Asking {
    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// A GET, asked again while GitHub is not available.
    pub(super) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<Found<T>, GithubError> {
        let mut pauses = PAUSES.into_iter();
        loop {
            match self.read_once(path).await {
                Err(GithubError::Unavailable(why)) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(GithubError::Unavailable(why)),
                },
                answer => return answer,
            }
        }
    }

    /// The next to ask for it gets a whole answer, whatever GitHub thinks of the `ETag`.
    pub(super) fn forget(&self, path: &str) {
        self.asking.memory().forget(path);
    }

    async fn read_once<T: DeserializeOwned>(&self, path: &str) -> Result<Found<T>, GithubError> {
        let _place = self.turn().await?;
        let remembered = self.asking.memory().recall(path);
        let etag = remembered.as_ref().map(|remembered| &remembered.etag);
        let Answer { status, etag, body } = self.exchange(path, Ask::Read(etag)).await?;
        match (status, remembered) {
            (304, Some(remembered)) => parsed(&remembered.body),
            (200, _) => {
                let found = parsed(&body);
                // What cannot be read is not to be repeated.
                let etag = etag.filter(|_| found.is_ok());
                self.asking.memory().keep(path, etag, &body);
                found
            }
            // 409 is an empty repository, 422 a SHA that names no commit or several.
            _ => {
                self.forget(path);
                Ok(Found::No(said(&body)))
            }
        }
    }

    /// A place among those who ask, and a turn within the minute. Only who has a place waits for a turn, so nobody is
    /// overtaken.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, GithubError> {
        let place = tokio::time::timeout(ANSWER_TIMEOUT, self.asking.places.acquire()).await;
        let Ok(Ok(place)) = place else {
            return Err(GithubError::Unavailable("too many other questions wait for its answer".to_owned()));
        };
        if let Err(until) = self.pace.read() {
            let wait = Duration::try_from(until.duration_since(self.clock.now())).unwrap_or_default();
            if wait > PATIENCE {
                return Err(GithubError::Paced { until });
            }
            tokio::time::sleep(wait + A_MOMENT).await;
            self.pace.read().map_err(|until| GithubError::Paced { until })?;
        }
        Ok(place)
    }
}

fn parsed<T: DeserializeOwned>(body: &str) -> Result<Found<T>, GithubError> {
    serde_json::from_str(body).map(Found::Yes).map_err(|error| GithubError::Other(error.to_string()))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
