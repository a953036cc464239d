//! Opens the database: checks the address, takes the process lock, checks the version of `SQLite`, migrates, connects.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::sync::{Mutex, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::connection::open_connection;
use super::error::StoreError;
use super::handle::{Inner, Store};
use super::process_lock::ProcessLock;
use super::prune::Prune;
use super::transaction::Wakeups;
use super::writer::{self, QUEUE_CAPACITY, WriteConnection, WriterMetrics};
use crate::clock::Clock;

pub(super) static MIGRATIONS: Migrator = sqlx::migrate!("src/adapters/store/migrations");

/// Older versions from 3.7.0 on could corrupt a write-ahead log by a race during a checkpoint.
const MIN_SQLITE_VERSION: [u32; 3] = [3, 51, 3];

const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

impl Store {
    /// Opens `sqlite://path`. Creates and migrates the file if needed.
    pub async fn open(url: &str, clock: Clock) -> Result<Self, StoreError> {
        Self::open_with_timeout(url, clock, LOCK_TIMEOUT).await
    }

    pub(super) async fn open_with_timeout(url: &str, clock: Clock, timeout: Duration) -> Result<Self, StoreError> {
        let options = parse_database_url(url)?;
        let lock = ProcessLock::acquire(options.get_filename(), timeout).await?;
        let cannot_open = |error: &sqlx::Error| {
            StoreError::Refused(format!(
                "The database `{}` cannot be opened: {error}. Is it a file that Gantry made and may write?",
                options.get_filename().display()
            ))
        };
        // SQLite would create a file that everyone can read, and gives its log the same permissions. If the file cannot
        // be created here, `open_connection` reports the error.
        drop(File::options().append(true).create(true).mode(0o600).open(options.get_filename()));
        let mut connection = open_connection(&options).await.map_err(|error| cannot_open(&error))?;
        check_sqlite_version(&mut connection).await?;
        run_migrations(&mut connection, options.get_filename()).await?;

        let readers = SqlitePoolOptions::new()
            .max_connections(2)
            .min_connections(0)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().create_if_missing(false).pragma("query_only", "ON"));
        let (jobs, queue) = mpsc::channel(QUEUE_CAPACITY);
        let (wakeup_sender, wakeups) = watch::channel(Wakeups::default());
        let closing = CancellationToken::new();
        let metrics = WriterMetrics::default();
        let connection = WriteConnection::new(connection, options, lock);
        let task =
            writer::run(connection, clock.clone(), queue, Prune, wakeup_sender, closing.clone(), metrics.clone());
        let panicked = CancellationToken::new();
        let guard = panicked.clone().drop_guard();
        let task = async move {
            task.await;
            guard.disarm();
        };
        Ok(Self(Arc::new(Inner {
            readers,
            jobs,
            wakeups,
            closing,
            panicked,
            writer: Mutex::new(Some(tokio::spawn(task))),
            clock,
            metrics,
        })))
    }
}

/// The newest migration that this program knows.
pub(super) fn find_newest_migration() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

pub(super) fn parse_database_url(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let refused = |why: &str| Err(StoreError::Refused(why.to_owned()));
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        // The address may contain a password, so the message does not repeat it.
        return refused(
            "PostgreSQL is not supported yet: set DATABASE_URL to a file, as in `sqlite://gantry.db`, and run one \
             Gantry per file.",
        );
    }
    if !url.starts_with("sqlite:") {
        return refused("DATABASE_URL must name a SQLite file, as in `sqlite://gantry.db`.");
    }
    if url.contains(":memory:") || url.contains("mode=memory") {
        return refused("A database in memory would forget everything: name a file, as in `sqlite://gantry.db`.");
    }
    let options = SqliteConnectOptions::from_str(url).map_err(|error| {
        StoreError::Refused(format!("DATABASE_URL is not understood: {error}. Write it as `sqlite://gantry.db`."))
    })?;
    if options.get_filename().as_os_str().is_empty() {
        return refused("DATABASE_URL names no file: write it as `sqlite://gantry.db`.");
    }
    Ok(options
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5))
        // A few hundred KiB suffice for small rows; SQLite's default would be 2 MiB for each connection.
        .pragma("cache_size", "-256")
        .pragma("journal_size_limit", "4194304")
        .statement_cache_capacity(48))
}

async fn check_sqlite_version(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(connection).await?;
    if is_at_least(&version, MIN_SQLITE_VERSION) {
        return Ok(());
    }
    let [major, minor, patch] = MIN_SQLITE_VERSION;
    Err(StoreError::Refused(format!(
        "SQLite {version} can corrupt its write-ahead log: build Gantry with {major}.{minor}.{patch} or newer."
    )))
}

fn is_at_least(version: &str, oldest: [u32; 3]) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0)) >= oldest
}

async fn run_migrations(connection: &mut SqliteConnection, file: &Path) -> Result<(), StoreError> {
    let file = file.display();
    let migrated = match is_prerelease_file(connection).await {
        Ok(true) => return Err(build_prerelease_error(file)),
        Ok(false) => MIGRATIONS.run_direct(None, connection, false).await,
        Err(error) => Err(MigrateError::Execute(error)),
    };
    migrated.map_err(|error| {
        StoreError::Refused(match error {
            MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => format!(
                "The database `{file}` was written by a newer Gantry: start that one, or set DATABASE_URL to another \
                 file."
            ),
            other => format!(
                "The database `{file}` cannot be brought up to date: {other}. Keep a copy of the file before you try \
                 another version of Gantry on it."
            ),
        })
    })
}

/// SHA-384 of the first of the thirteen migrations that existed before the first release.
const PRERELEASE_FIRST_MIGRATION: [u8; 48] = [
    0x1d, 0x84, 0xab, 0xe1, 0x0f, 0x04, 0xc3, 0xe3, 0xfc, 0xb3, 0x1d, 0x9b, 0x0d, 0xc5, 0x5b, 0xfe, 0xa3, 0xe4, 0x86,
    0xa7, 0xc3, 0x32, 0x98, 0x98, 0xf8, 0xbc, 0x92, 0xa9, 0x1b, 0x2c, 0x17, 0xfe, 0xd1, 0xa1, 0xe5, 0x12, 0x9b, 0x78,
    0x95, 0xe0, 0x25, 0x66, 0x4e, 0xcb, 0xe6, 0xab, 0x3c, 0x6e,
];

/// The refusal of a database from before the first release: the same text at the start and from `doctor`.
pub(super) fn build_prerelease_error(file: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!(
        "The database `{file}` was written by a Gantry from before its first release, and this one cannot read it. Move the \
         file away, or set DATABASE_URL to another file: Gantry then starts with an empty one."
    ))
}

/// Whether a Gantry from before the first release wrote the file.
pub(super) async fn is_prerelease_file(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let has_migrations = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')";
    if !sqlx::query_scalar::<_, bool>(has_migrations).fetch_one(&mut *connection).await? {
        return Ok(false);
    }
    let first: Option<Vec<u8>> = sqlx::query_scalar("SELECT checksum FROM _sqlx_migrations WHERE version = 1")
        .fetch_optional(connection)
        .await?;
    Ok(first.is_some_and(|first| first == PRERELEASE_FIRST_MIGRATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number_and_not_by_text() {
        for (version, fine) in
            [("3.51.3", true), ("3.51.2", false), ("3.7.17", false), ("3.100.0", true), ("4.0", true), ("", false)]
        {
            assert_eq!(is_at_least(version, MIN_SQLITE_VERSION), fine, "{version}");
        }
    }

    #[tokio::test]
    async fn the_database_files_are_readable_only_by_their_owner() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, Clock::new_system()).await.unwrap();
        for name in ["gantry.db", "gantry.db-wal", "gantry.db-shm"] {
            let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        store.close().await;
    }

    #[test]
    fn a_wrong_address_is_refused_with_the_right_form() {
        for url in ["postgres://gantry:secret@db/gantry", "sqlite::memory:", "sqlite://", "mysql://x", "gantry.db", ""]
        {
            let refusal = parse_database_url(url).expect_err(url).to_string();
            assert!(refusal.contains("sqlite://gantry.db"), "{url}: {refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }
}
