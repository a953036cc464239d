//! Can what must outlive the process be written?

use super::{Check, Service};

const STORE: Service = Service::Store;

/// What was found at `DATABASE_URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No file yet, and one can be made.
    New { file: String },
    /// Another process uses it.
    Held { file: String, by: Option<String> },
    /// It can be written. `schema` is what it has, `ours` what we know.
    Writable { file: String, schema: i64, ours: i64 },
    /// In a sentence.
    Broken(String),
}

pub fn store(found: &Found) -> Check {
    match found {
        Found::New { file } => Check::good(STORE, format!("`{file}` will be made at the first start, and can be")),
        Found::Held { file, by } => {
            let by = by.as_ref().map_or("another process".to_owned(), |by| format!("process {by}"));
            Check::good(STORE, format!("`{file}` is in use by {by}"))
        }
        Found::Writable { file, schema, ours } if schema > ours => Check::bad(
            STORE,
            format!("`{file}` was written by a newer Gantry (schema {schema}; this one knows {ours})"),
            "Start that one, or set DATABASE_URL to another file.",
        ),
        Found::Writable { file, schema, ours } if schema < ours => {
            let what = format!("`{file}` is writable; its schema {schema} is brought up to {ours} at the next start");
            Check::good(STORE, what)
        }
        Found::Writable { file, schema, .. } => Check::good(STORE, format!("`{file}` is writable, schema {schema}")),
        Found::Broken(why) => {
            let broken = Check::bad(STORE, "The database cannot be used", "").because(why);
            Check { repair: None, ..broken }
        }
    }
}
