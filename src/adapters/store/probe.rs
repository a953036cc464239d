//! Checks whether a database can be used, without side effects: nothing is created, migrated or left behind.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::connection::{close_connection, open_connection};
use super::error::StoreError;
use super::open::{build_prerelease_error, find_newest_migration, is_prerelease_file, parse_database_url};
use super::process_lock::lock_path;
use super::unmapped_report::ReportSummary;
use crate::domain::model::environment::EnvironmentName;

/// The state of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseProbe {
    /// The file does not exist yet; its directory is writable.
    New { file: String },
    /// Another process uses the file.
    InUse { file: String, by: Option<String> },
    /// `schema` is the newest migration in the file, `ours` the newest that this program knows.
    Writable { file: String, schema: i64, ours: i64 },
}

/// This number of bytes must fit on the disk.
const PROBE_BYTES: usize = 1 << 20;
/// Short, because a person waits for the answer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// `in_use_by_us`: this process uses the file itself, so the process lock proves nothing.
pub async fn probe(url: &str, in_use_by_us: bool) -> Result<DatabaseProbe, StoreError> {
    let options = parse_database_url(url)?.create_if_missing(false).busy_timeout(BUSY_TIMEOUT);
    let path = options.get_filename().to_path_buf();
    let file = path.display().to_string();
    // First, because a full disk also affects a process that holds the file.
    check_disk_space(&path)?;
    if !in_use_by_us && let Some(by) = find_lock_holder(&path) {
        return Ok(DatabaseProbe::InUse { file, by: Some(by).filter(|by| !by.is_empty()) });
    }
    if !path.exists() {
        return Ok(DatabaseProbe::New { file });
    }
    let describe_error = |error: &sqlx::Error| {
        StoreError::Refused(format!(
            "`{file}` cannot be written: {error}. Is it a file that Gantry made and may write?"
        ))
    };
    let mut connection = open_connection(&options).await.map_err(|error| describe_error(&error))?;
    let is_prerelease = is_prerelease_file(&mut connection).await;
    let written = probe_connection(&mut connection, !in_use_by_us).await;
    close_connection(connection).await;
    if is_prerelease.map_err(|error| describe_error(&error))? {
        return Err(build_prerelease_error(file));
    }
    let schema = written.map_err(|error| describe_error(&error))?;
    Ok(DatabaseProbe::Writable { file, schema, ours: find_newest_migration() })
}

/// The stored reports, even while another process uses the file; `None` without a file with the current schema.
pub async fn read_report_summary(
    url: &str,
    environments: &[EnvironmentName],
    now: Timestamp,
) -> Result<Option<ReportSummary>, StoreError> {
    let options =
        parse_database_url(url)?.create_if_missing(false).busy_timeout(BUSY_TIMEOUT).pragma("query_only", "ON");
    if !options.get_filename().exists() {
        return Ok(None);
    }
    let mut connection = open_connection(&options).await?;
    let read = async {
        if read_schema_version(&mut connection).await? == find_newest_migration()
            && !is_prerelease_file(&mut connection).await?
        {
            ReportSummary::read(&mut connection, environments, now).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let read = read.await;
    close_connection(connection).await;
    Ok(read?)
}

/// The process that holds the lock, if there is one.
fn find_lock_holder(path: &Path) -> Option<String> {
    let file = std::fs::File::open(lock_path(path)).ok()?;
    match file.try_lock_shared() {
        Err(std::fs::TryLockError::WouldBlock) => {
            Some(std::fs::read_to_string(lock_path(path)).unwrap_or_default().trim().to_owned())
        }
        _ => None,
    }
}

/// Writes a temporary file beside the database, and deletes it.
fn check_disk_space(path: &Path) -> Result<(), StoreError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".doctor-{}", std::process::id()));
    let written = std::fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    });
    // Also after a partial write.
    let _ = std::fs::remove_file(&temporary);
    written.map_err(|error| {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        StoreError::Refused(format!(
            "nothing can be written in `{}`: {error}. Its directory must exist, be writable and have room",
            directory.display()
        ))
    })
}

/// The version of the schema, after a write that is rolled back. If this process uses the file, the inbox has just
/// written to it, so `write` is false.
async fn probe_connection(connection: &mut SqliteConnection, write: bool) -> Result<i64, sqlx::Error> {
    if write {
        for step in ["BEGIN IMMEDIATE", "CREATE TABLE written_by_doctor (x INTEGER)", "ROLLBACK"] {
            sqlx::query(step).execute(&mut *connection).await?;
        }
    }
    read_schema_version(connection).await
}

async fn read_schema_version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let query = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    let tables: i64 = sqlx::query_scalar(query).fetch_one(&mut *connection).await?;
    if tables == 0 {
        return Ok(0);
    }
    sqlx::query_scalar("SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations").fetch_one(connection).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::store::Store;
    use crate::clock::Clock;

    #[tokio::test]
    async fn a_probe_changes_nothing() {
        let dir = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let list_files = || {
            let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert!(matches!(probe(&url, false).await.unwrap(), DatabaseProbe::New { .. }));
        assert!(list_files().is_empty(), "{:?}", list_files());

        let store = Store::open(&url, Clock::new_system()).await.unwrap();
        let DatabaseProbe::InUse { by, .. } = probe(&url, false).await.unwrap() else { panic!("not held") };
        assert_eq!(by, Some(std::process::id().to_string()));
        let DatabaseProbe::Writable { schema, ours, .. } = probe(&url, true).await.unwrap() else { panic!("not ours") };
        assert!(schema == ours && ours > 0);
        store.close().await;

        let before = list_files();
        assert!(matches!(probe(&url, false).await.unwrap(), DatabaseProbe::Writable { .. }));
        assert_eq!(list_files(), before);
    }

    #[tokio::test]
    async fn an_unwritable_database_is_an_error() {
        let dir = tempfile::TempDir::new().unwrap();
        let nowhere = format!("sqlite://{}", dir.path().join("nowhere/gantry.db").display());
        let why = probe(&nowhere, false).await.unwrap_err().to_string();
        assert!(why.starts_with("nothing can be written in "), "{why}");
        // The name of the lock file has the maximum length, so the name of the temporary file is too long.
        let held = dir.path().join("x".repeat(250));
        let holder = std::fs::File::create(lock_path(&held)).unwrap();
        holder.lock().unwrap();
        let why = probe(&format!("sqlite://{}", held.display()), false).await.unwrap_err().to_string();
        assert!(why.starts_with("nothing can be written in "), "this is reported before the lock holder: {why}");
        let text = dir.path().join("text.db");
        std::fs::write(&text, "no database at all, but long enough to be read as one by its first page").unwrap();
        let why = probe(&format!("sqlite://{}", text.display()), false).await.unwrap_err().to_string();
        assert!(why.contains("cannot be written"), "{why}");
        assert!(
            probe("postgres://u:secret@h/d", false).await.is_err_and(|error| !error.to_string().contains("secret"))
        );
    }
}
