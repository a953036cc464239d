//! Whether the database can be written.

use std::cmp::Ordering;

use super::run::{Doctor, DoctorRun, ServiceFindings};
use crate::adapters::store::{self, DatabaseProbe};
use crate::domain::doctor::{Health, Service};

pub(super) async fn check_store(run: &DoctorRun<'_>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Store);
    let Doctor { secrets, owns_database, .. } = run.doctor;
    match run.limit_time(store::probe(&secrets.database_url, *owns_database)).await {
        Ok(DatabaseProbe::New { file }) => {
            found.add_good(format!("`{file}` does not exist yet and can be created at the first start"));
        }
        Ok(DatabaseProbe::InUse { file, by }) => {
            let by = by.map_or("another process".to_owned(), |by| format!("process {by}"));
            found.add_good(format!("`{file}` is in use by {by}"));
        }
        Ok(DatabaseProbe::Writable { file, schema, ours }) => match schema.cmp(&ours) {
            Ordering::Greater => found.add_bad(
                format!("`{file}` was written by a newer Gantry (schema {schema}; this one knows {ours})"),
                "Start the newer version, or set DATABASE_URL to another file.",
            ),
            Ordering::Less => found.add_good(format!(
                "`{file}` is writable; its schema {schema} is brought up to {ours} at the next start"
            )),
            Ordering::Equal => found.add_good(format!("`{file}` is writable, schema {schema}")),
        },
        Err(error) => found.add_explained(Health::Bad, "The database cannot be used", error, ""),
    }
    found
}
