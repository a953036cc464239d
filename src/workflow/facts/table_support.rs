//! Whether this workspace accepts table blocks: learned from the first message that has one, and stored.

use std::sync::Arc;

use tokio::sync::watch;

use crate::adapters::store::{Store, StoreError};

pub(crate) const TABLE_SUPPORT_SETTING: &str = "slack.tables";

#[derive(Clone, Debug)]
pub struct TableSupportCache(Arc<watch::Sender<TableSupport>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableSupport {
    Unknown,
    Accepted,
    Refused,
}

impl TableSupportCache {
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let support = match store.read_setting(TABLE_SUPPORT_SETTING).await?.as_deref() {
            Some("taken") => TableSupport::Accepted,
            Some("refused") => TableSupport::Refused,
            _ => TableSupport::Unknown,
        };
        Ok(Self(Arc::new(watch::channel(support).0)))
    }

    pub fn support(&self) -> TableSupport {
        *self.0.borrow()
    }

    pub(crate) fn set_support(&self, support: TableSupport) {
        self.0.send_replace(support);
    }
}
