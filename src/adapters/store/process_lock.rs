//! Ensures one process per database file with a lock on `<db>.lock`, which the system releases when the process ends.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StoreError;

#[derive(Debug)]
pub(super) struct ProcessLock {
    _file: File,
}

impl ProcessLock {
    /// Waits for `timeout`, so that a new process can start while the old one is still shutting down.
    pub(super) async fn acquire(database: &Path, timeout: Duration) -> Result<Self, StoreError> {
        let path = lock_path(database);
        let refused = |error: &std::io::Error| {
            StoreError::Refused(format!(
                "Gantry cannot use the lock file `{}`: {error}. Its directory must exist and be writable.",
                path.display()
            ))
        };
        let mut file = File::options()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| refused(&error))?;
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(refused(&error)),
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() >= deadline => {
                    return Err(StoreError::Refused(describe_holder(database, &path, &mut file)));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()))
            .map_err(|error| refused(&error))?;
        Ok(Self { _file: file })
    }
}

pub(super) fn lock_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

fn describe_holder(database: &Path, path: &Path, file: &mut File) -> String {
    let mut holder = String::new();
    // If the system does not allow reading a locked file, the message has no process id.
    let process = match file.rewind().and_then(|()| file.read_to_string(&mut holder)) {
        Ok(_) if !holder.trim().is_empty() => format!("process {}", holder.trim()),
        _ => "another process".to_owned(),
    };
    format!(
        "The database `{}` is in use by {process}, which holds the lock on `{}`. Only one Gantry may use a file: \
         stop the other one, or set DATABASE_URL to another file.",
        database.display(),
        path.display()
    )
}
