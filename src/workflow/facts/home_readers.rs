//! The people who opened their App Home lately, and a digest of the view that each of them sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::domain::model::actor::PersonId;

/// Slack allows a hundred updates a minute, and most are left for people who open their Home.
const MAX_READERS: usize = 30;

/// The recent readers of the Home, and the view that each has. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct HomeReaders(Arc<Mutex<BTreeMap<PersonId, HomeReader>>>);

#[derive(Clone, Copy, Debug)]
struct HomeReader {
    opened_at: Timestamp,
    snapshot: HomeSnapshot,
}

/// A digest of a rendered view. To compare, the view is rendered again as of `made_at`: then a different digest means
/// different contents, and not only other relative times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeSnapshot {
    pub(crate) made_at: Timestamp,
    pub(crate) digest: u64,
}

impl HomeReaders {
    pub(crate) fn record_opened(&self, person: &PersonId, snapshot: HomeSnapshot) {
        let mut readers = self.lock_readers();
        readers.insert(person.clone(), HomeReader { opened_at: snapshot.made_at, snapshot });
        if readers.len() > MAX_READERS {
            let oldest = readers.iter().min_by_key(|(_, reader)| reader.opened_at).map(|(person, _)| person.clone());
            oldest.map(|person| readers.remove(&person));
        }
    }

    /// The people who opened their Home after this time. The others are removed.
    pub(crate) fn list_recent_readers(&self, opened_after: Timestamp) -> Vec<(PersonId, HomeSnapshot)> {
        let mut readers = self.lock_readers();
        readers.retain(|_, reader| reader.opened_at > opened_after);
        readers.iter().map(|(person, reader)| (person.clone(), reader.snapshot)).collect()
    }

    /// Records a refreshed view, unless the person has opened a newer one meanwhile.
    pub(crate) fn record_refresh(&self, person: &PersonId, snapshot: HomeSnapshot) {
        if let Some(reader) = self.lock_readers().get_mut(person).filter(|reader| reader.opened_at <= snapshot.made_at)
        {
            reader.snapshot = snapshot;
        }
    }

    fn lock_readers(&self) -> MutexGuard<'_, BTreeMap<PersonId, HomeReader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
