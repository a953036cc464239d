//! The people who opened their App Home lately, and a digest of the view that each of them sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::domain::model::actor::PersonId;

/// Slack takes a hundred a minute, and people who open theirs come first.
const MAX_READERS: usize = 30;

/// Who opened their Home lately, and what it showed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct HomeReaders(Arc<Mutex<BTreeMap<PersonId, HomeReader>>>);

#[derive(Clone, Copy, Debug)]
struct HomeReader {
    opened_at: Timestamp,
    snapshot: HomeSnapshot,
}

/// When it was made, and what stands for what it said then: it is another one only if it would have said something else then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeSnapshot {
    pub(crate) made_at: Timestamp,
    pub(crate) digest: u64,
}

impl HomeReaders {
    pub(crate) fn record_opened(&self, person: &PersonId, shown: HomeSnapshot) {
        let mut readers = self.lock_readers();
        readers.insert(person.clone(), HomeReader { opened_at: shown.made_at, snapshot: shown });
        if readers.len() > MAX_READERS {
            let longest = readers.iter().min_by_key(|(_, reader)| reader.opened_at).map(|(person, _)| person.clone());
            longest.map(|person| readers.remove(&person));
        }
    }

    /// Whoever opened it before that is forgotten.
    pub(crate) fn list_recent_readers(&self, opened_after: Timestamp) -> Vec<(PersonId, HomeSnapshot)> {
        let mut readers = self.lock_readers();
        readers.retain(|_, reader| reader.opened_at > opened_after);
        readers.iter().map(|(person, reader)| (person.clone(), reader.snapshot)).collect()
    }

    /// A new one is stored. Who has opened theirs meanwhile has one that is newer.
    pub(crate) fn record_refresh(&self, person: &PersonId, shown: HomeSnapshot) {
        if let Some(reader) = self.lock_readers().get_mut(person).filter(|reader| reader.opened_at <= shown.made_at) {
            reader.snapshot = shown;
        }
    }

    fn lock_readers(&self) -> MutexGuard<'_, BTreeMap<PersonId, HomeReader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
