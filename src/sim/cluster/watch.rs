//! A watch: the events after a resourceVersion as lines of JSON, until the watch times out, is cut or falls behind.
//! Its timers belong to the transport, so they run on real time.

use std::io;
use std::time::Duration;

use futures::Stream;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Cluster;
use super::api::Failure;
use super::selector::Selector;
use super::store::{Collection, Event, TooOld};

/// How often a watch without events checks for an armed fault.
const FAULT_POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Watch {
    pub(super) cluster: Cluster,
    pub(super) collection: Collection,
    pub(super) namespace: Option<String>,
    pub(super) selector: Selector,
    /// `None`: begin with the objects that exist.
    pub(super) from: Option<u64>,
    pub(super) bookmarks: bool,
    pub(super) timeout: Duration,
}

struct Progress {
    watch: Watch,
    seen: Option<u64>,
    wakeup: tokio::sync::watch::Receiver<()>,
    cuts: u64,
    deadline: Instant,
    bookmark: Instant,
    done: bool,
}

impl Watch {
    pub(super) fn stream(self) -> impl Stream<Item = io::Result<String>> {
        let wakeup = self.cluster.0.watch_wakeup.subscribe();
        let now = Instant::now();
        let state = self.cluster.lock();
        let cuts = state.cuts.get(&self.namespace).copied().unwrap_or_default();
        let bookmark = now + state.bookmark_every;
        drop(state);
        let seen = self.from;
        let progress =
            Progress { seen, wakeup, cuts, deadline: now + self.timeout, bookmark, done: false, watch: self };
        futures::stream::unfold(progress, |mut progress| async move {
            let line = progress.next().await?;
            Some((line, progress))
        })
    }

    fn format_event(&self, event: &Event) -> Option<String> {
        let is_watched = event.key.collection == self.collection
            && self.namespace.as_ref().is_none_or(|namespace| event.key.namespace == *namespace);
        if !is_watched {
            return None;
        }
        let selected =
            |object: &Option<_>| object.clone().filter(|object: &std::sync::Arc<Value>| self.selector.selects(object));
        match (selected(&event.before), selected(&event.after)) {
            (None, None) => None,
            (None, Some(object)) => Some(format_line("ADDED", &object)),
            (Some(_), Some(object)) => Some(format_line("MODIFIED", &object)),
            (Some(object), None) => {
                let mut last = Value::clone(&object);
                last["metadata"]["resourceVersion"] = json!(event.version.to_string());
                Some(format_line("DELETED", &last))
            }
        }
    }

    fn bookmark(&self, version: u64) -> String {
        let object = json!({
            "apiVersion": self.collection.api_version(), "kind": self.collection.kind(),
            "metadata": { "resourceVersion": version.to_string(), "creationTimestamp": null },
        });
        format_line("BOOKMARK", &object)
    }
}

impl Progress {
    async fn next(&mut self) -> Option<io::Result<String>> {
        let ended = self.watch.cluster.0.shutdown.clone();
        loop {
            if self.done || ended.is_cancelled() || Instant::now() >= self.deadline {
                return None;
            }
            self.wakeup.borrow_and_update();
            if self.is_cut() {
                self.done = true;
                return Some(Err(io::Error::new(io::ErrorKind::ConnectionReset, "the simulated cluster is down")));
            }
            match self.read_new_lines() {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Some(Ok(lines)),
                Err(TooOld) => {
                    self.done = true;
                    let failure = Failure::too_old(self.seen.unwrap_or_default());
                    return Some(Ok(format_line("ERROR", &failure.status())));
                }
            }
            if let Some(bookmark) = self.due_bookmark() {
                return Some(Ok(bookmark));
            }
            let mut wake = self.deadline.min(Instant::now() + FAULT_POLL_INTERVAL);
            if self.watch.bookmarks {
                wake = wake.min(self.bookmark);
            }
            tokio::select! {
                _ = self.wakeup.changed() => {}
                () = tokio::time::sleep_until(wake) => {}
                () = ended.cancelled() => {}
            }
        }
    }

    fn is_cut(&self) -> bool {
        let cluster = &self.watch.cluster;
        let was_cut =
            |cluster: &Cluster| cluster.lock().cuts.get(&self.watch.namespace).copied().unwrap_or_default() > self.cuts;
        was_cut(cluster) || cluster.is_down(self.watch.namespace.as_deref())
    }

    fn read_new_lines(&mut self) -> Result<String, TooOld> {
        let state = self.watch.cluster.lock();
        let lines = match self.seen {
            Some(seen) => state.store.since(seen)?.filter_map(|event| self.watch.format_event(event)).collect(),
            None => state
                .store
                .list(self.watch.collection, self.watch.namespace.as_deref())
                .filter(|(_, object)| self.watch.selector.selects(object))
                .map(|(_, object)| format_line("ADDED", object))
                .collect(),
        };
        let version = state.store.version();
        drop(state);
        // A version from the future stays: the watch waits until the store reaches it.
        self.seen = Some(self.seen.unwrap_or_default().max(version));
        Ok(lines)
    }

    fn due_bookmark(&mut self) -> Option<String> {
        let now = Instant::now();
        if !self.watch.bookmarks || now < self.bookmark {
            return None;
        }
        self.bookmark = now + self.watch.cluster.lock().bookmark_every;
        Some(self.watch.bookmark(self.seen.unwrap_or_default()))
    }
}

fn format_line(kind: &str, object: &Value) -> String {
    // Formatted without serde so that the object, which may be large, is not copied.
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}
