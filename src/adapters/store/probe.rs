//! Looks whether a database can be used, without using it: nothing is created, migrated or left behind.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::connection::{connect, shut};
use super::error::StoreError;
use super::open::{former_file, is_former, newest_migration, options};
use super::process_lock::lock_path;
use super::unmapped_report::Reported;
use crate::domain::model::environment::EnvironmentName;

/// The state of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// No file yet; its directory can be written.
    New { file: String },
    /// Another process uses it.
    Held { file: String, by: Option<String> },
    /// `schema` is the newest migration that it has, `ours` the newest that we know.
    Writable { file: String, schema: i64, ours: i64 },
}

/// The bytes that must fit on the disk.
const ROOM: usize = 1 << 20;
/// Short, because a person waits for the answer.
const BUSY: Duration = Duration::from_secs(2);

/// `ours`: we use the file ourselves, so the lock says nothing.
pub async fn look(url: &str, ours: bool) -> Result<Looked, StoreError> {
    let options = options(url)?.create_if_missing(false).busy_timeout(BUSY);
    let path = options.get_filename().to_path_buf();
    let file = path.display().to_string();
    // First, because a full disk also concerns a process that holds the file.
    has_room(&path)?;
    if !ours && let Some(by) = holder(&path) {
        return Ok(Looked::Held { file, by: Some(by).filter(|by| !by.is_empty()) });
    }
    if !path.exists() {
        return Ok(Looked::New { file });
    }
    let broken = |error: &sqlx::Error| {
        StoreError::Refused(format!(
            "`{file}` cannot be written: {error}. Is it a file that Gantry made and may write?"
        ))
    };
    let mut connection = connect(&options).await.map_err(|error| broken(&error))?;
    let is_former = is_former(&mut connection).await;
    let written = probe(&mut connection, !ours).await;
    shut(connection).await;
    if is_former.map_err(|error| broken(&error))? {
        return Err(former_file(file));
    }
    let schema = written.map_err(|error| broken(&error))?;
    Ok(Looked::Writable { file, schema, ours: newest_migration() })
}

/// The stored reports, even while another process uses the file; `None` without a file of our schema.
pub async fn reported(
    url: &str,
    environments: &[EnvironmentName],
    now: Timestamp,
) -> Result<Option<Reported>, StoreError> {
    let options = options(url)?.create_if_missing(false).busy_timeout(BUSY).pragma("query_only", "ON");
    if !options.get_filename().exists() {
        return Ok(None);
    }
    let mut connection = connect(&options).await?;
    let read = async {
        if schema(&mut connection).await? == newest_migration() && !is_former(&mut connection).await? {
            Reported::read(&mut connection, environments, now).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let read = read.await;
    shut(connection).await;
    Ok(read?)
}

/// The process that holds the lock, if there is one.
fn holder(path: &Path) -> Option<String> {
    let file = std::fs::File::open(lock_path(path)).ok()?;
    match file.try_lock_shared() {
        Err(std::fs::TryLockError::WouldBlock) => {
            Some(std::fs::read_to_string(lock_path(path)).unwrap_or_default().trim().to_owned())
        }
        _ => None,
    }
}

/// Writes a little beside the database, and takes it away again.
fn has_room(path: &Path) -> Result<(), StoreError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".doctor-{}", std::process::id()));
    let written = std::fs::File::create(&beside).and_then(|mut file| {
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()
    });
    // Also where only half of it could be written.
    let _ = std::fs::remove_file(&beside);
    written.map_err(|error| {
        let place = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        StoreError::Refused(format!(
            "nothing can be written in `{}`: {error}. Its directory must exist, be writable and have room",
            place.display()
        ))
    })
}

/// The schema's version, after a write that is taken back. Where we use the file ourselves the inbox has written just now.
async fn probe(connection: &mut SqliteConnection, write: bool) -> Result<i64, sqlx::Error> {
    if write {
        for step in ["BEGIN IMMEDIATE", "CREATE TABLE written_by_doctor (x INTEGER)", "ROLLBACK"] {
            sqlx::query(step).execute(&mut *connection).await?;
        }
    }
    schema(connection).await
}

async fn schema(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let known = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    let known: i64 = sqlx::query_scalar(known).fetch_one(&mut *connection).await?;
    if known == 0 {
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
    async fn looking_changes_nothing_and_steals_nothing() {
        let dir = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let here = || {
            let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert!(matches!(look(&url, false).await.unwrap(), Looked::New { .. }));
        assert!(here().is_empty(), "{:?}", here());

        let store = Store::open(&url, Clock::system()).await.unwrap();
        let Looked::Held { by, .. } = look(&url, false).await.unwrap() else { panic!("not held") };
        assert_eq!(by, Some(std::process::id().to_string()));
        let Looked::Writable { schema, ours, .. } = look(&url, true).await.unwrap() else { panic!("not ours") };
        assert!(schema == ours && ours > 0);
        store.close().await;

        let before = here();
        assert!(matches!(look(&url, false).await.unwrap(), Looked::Writable { .. }));
        assert_eq!(here(), before);
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_said() {
        let dir = tempfile::TempDir::new().unwrap();
        let nowhere = format!("sqlite://{}", dir.path().join("nowhere/gantry.db").display());
        let why = look(&nowhere, false).await.unwrap_err().to_string();
        assert!(why.starts_with("nothing can be written in "), "{why}");
        // Its lock's name is as long as a name can be, and the name beside it too long.
        let held = dir.path().join("x".repeat(250));
        let holder = std::fs::File::create(lock_path(&held)).unwrap();
        holder.lock().unwrap();
        let why = look(&format!("sqlite://{}", held.display()), false).await.unwrap_err().to_string();
        assert!(why.starts_with("nothing can be written in "), "that is told before who holds it: {why}");
        let text = dir.path().join("text.db");
        std::fs::write(&text, "no database at all, but long enough to be read as one by its first page").unwrap();
        let why = look(&format!("sqlite://{}", text.display()), false).await.unwrap_err().to_string();
        assert!(why.contains("cannot be written"), "{why}");
        assert!(look("postgres://u:secret@h/d", false).await.is_err_and(|error| !error.to_string().contains("secret")));
    }
}
