//! Can what must outlive the process be written?

use crate::domain::doctor::{HealthCheck, Service};

const STORE: Service = Service::Store;

/// What was found at `DATABASE_URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// No file yet, and one can be made.
    New { file: String },
    /// Another process uses it.
    InUse { file: String, by: Option<String> },
    /// It can be written. `schema` is what it has, `ours` what we know.
    Writable { file: String, schema: i64, known_schema: i64 },
    /// In a sentence.
    Broken(String),
}

pub fn check_store(found: &DatabaseState) -> HealthCheck {
    match found {
        DatabaseState::New { file } => {
            HealthCheck::new_good(STORE, format!("`{file}` will be made at the first start, and can be"))
        }
        DatabaseState::InUse { file, by } => {
            let by = by.as_ref().map_or("another process".to_owned(), |by| format!("process {by}"));
            HealthCheck::new_good(STORE, format!("`{file}` is in use by {by}"))
        }
        DatabaseState::Writable { file, schema, known_schema: ours } if schema > ours => HealthCheck::new_bad(
            STORE,
            format!("`{file}` was written by a newer Gantry (schema {schema}; this one knows {ours})"),
            "Start that one, or set DATABASE_URL to another file.",
        ),
        DatabaseState::Writable { file, schema, known_schema: ours } if schema < ours => {
            let what = format!("`{file}` is writable; its schema {schema} is brought up to {ours} at the next start");
            HealthCheck::new_good(STORE, what)
        }
        DatabaseState::Writable { file, schema, .. } => {
            HealthCheck::new_good(STORE, format!("`{file}` is writable, schema {schema}"))
        }
        DatabaseState::Broken(why) => {
            let broken = HealthCheck::new_bad(STORE, "The database cannot be used", "").with_reason(why);
            HealthCheck { repair: None, ..broken }
        }
    }
}
