//! Opens database files of earlier versions (`tests/data/databases` describes their origin): each is migrated, loses
//! nothing, and is completely readable. Also tests starts that are killed during a migration.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{Row, SqliteConnection};

use super::*;
use crate::adapters::store::change::stored::StoredChange;
use crate::adapters::store::comparison::StoredComparison;
use crate::adapters::store::hold::StoredHold;
use crate::adapters::store::open::MIGRATIONS;
use crate::adapters::store::outbox::StoredMessage;
use crate::adapters::store::plan::StoredPlan;
use crate::adapters::store::stored::{StoredBody, read_body};
use crate::adapters::store::stored_parts::{StoredCommit, StoredQuarantine};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::Cursor;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/databases");

/// A database file of an earlier version.
struct EarlierDatabase {
    name: String,
    sql: String,
}

impl EarlierDatabase {
    fn load_all() -> Vec<Self> {
        let files = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
        let dumps = files.filter(|path| path.extension().is_some_and(|ending| ending == "sql"));
        let mut all: Vec<_> = dumps
            .map(|path| Self {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                sql: std::fs::read_to_string(&path).unwrap(),
            })
            .collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn load(name: &str) -> Self {
        Self::load_all().into_iter().find(|database| database.name == name).unwrap()
    }

    /// Restores the database as a file.
    async fn restore(&self, dir: &Path) -> SqliteConnection {
        let mut connection = connect(dir).await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(self.sql.as_str())).execute(&mut connection).await.unwrap();
        connection
    }

    /// The time of its last event.
    async fn find_last_time(connection: &mut SqliteConnection) -> Timestamp {
        to_timestamp(sqlx::query_scalar("SELECT MAX(at) FROM ledger").fetch_one(connection).await.unwrap())
    }
}

async fn connect(dir: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("{}?mode=rwc", url(dir))).await.unwrap()
}

async fn query_texts(connection: &mut SqliteConnection, query: &str) -> Vec<String> {
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_all(connection).await.unwrap()
}

/// The rows of each table, with the given columns.
async fn rows(
    connection: &mut SqliteConnection,
    columns: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    for (table, columns) in columns {
        let row: Vec<_> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
        let query = format!("SELECT {} FROM \"{table}\" ORDER BY 1", row.join(" || ', ' || "));
        rows.insert(table.clone(), query_texts(connection, &query).await);
    }
    rows
}

async fn columns(connection: &mut SqliteConnection) -> BTreeMap<String, Vec<String>> {
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'";
    let mut columns = BTreeMap::new();
    for table in query_texts(connection, tables).await {
        let names = query_texts(connection, &format!("SELECT name FROM pragma_table_info('{table}')")).await;
        columns.insert(table, names);
    }
    columns
}

/// The complete schema of a database, and the migrations that ran.
async fn schema(connection: &mut SqliteConnection) -> Vec<String> {
    let statements = "SELECT type || ' ' || name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY 1";
    let mut schema: Vec<String> = query_texts(connection, statements)
        .await
        .iter()
        .map(|statements| statements.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let migrations = "SELECT version || ' ' || description || ' ' || success || ' ' || hex(checksum) FROM _sqlx_migrations ORDER BY 1";
    schema.extend(query_texts(connection, migrations).await);
    schema
}

async fn fresh_schema() -> Vec<String> {
    let dir = TempDir::new().unwrap();
    open(dir.path()).await.close().await;
    schema(&mut connect(dir.path()).await).await
}

async fn opened(dir: &Path, clock: Clock) -> Store {
    Store::open(&url(dir), clock).await.unwrap()
}

#[tokio::test]
async fn every_earlier_database_is_migrated_and_loses_nothing() {
    let fresh = fresh_schema().await;
    for database in EarlierDatabase::load_all() {
        let dir = TempDir::new().unwrap();
        let mut connection = database.restore(dir.path()).await;
        let columns = columns(&mut connection).await;
        let before = rows(&mut connection, &columns).await;
        assert!(before["ledger"].len() > 5 && before["outbox"].len() > 1, "{}: the fixture has rows", database.name);
        connection.close().await.unwrap();

        let store = Store::open(&url(dir.path()), Clock::new_manual(start())).await;
        store.unwrap_or_else(|error| panic!("{}: {error}", database.name)).close().await;

        let mut connection = connect(dir.path()).await;
        assert_eq!(query_texts(&mut connection, "PRAGMA integrity_check").await, ["ok"], "{}", database.name);
        let broken = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut connection).await.unwrap();
        assert!(broken.is_empty(), "{}", database.name);
        assert_eq!(schema(&mut connection).await, fresh, "{}", database.name);
        assert_eq!(rows(&mut connection, &columns).await, before, "{}", database.name);
    }
}

/// All bodies of a table, as the current type reads them, with the rows and the columns in `rest`.
async fn read<B: StoredBody>(store: &Store, table: &str, rest: &str) -> Vec<(B::Domain, sqlx::sqlite::SqliteRow)> {
    let query = format!("SELECT body, {rest} FROM {table} WHERE body IS NOT NULL");
    let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(&store.0.readers).await.unwrap();
    let read = rows.into_iter().map(|row| {
        let body: String = row.get(0);
        let parsed = read_body::<B>(&body);
        (parsed.unwrap_or_else(|error| panic!("a row of {table} cannot be read: {error}\n{body}")), row)
    });
    read.collect()
}

async fn count(store: &Store, table: &str) -> usize {
    let query = format!("SELECT COUNT(*) FROM {table}");
    let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&store.0.readers).await.unwrap();
    usize::try_from(count).unwrap()
}

#[tokio::test]
async fn all_rows_of_earlier_versions_can_be_read() {
    let mut stages = BTreeSet::new();
    for database in EarlierDatabase::load_all() {
        println!("{}", database.name);
        let dir = TempDir::new().unwrap();
        let mut connection = database.restore(dir.path()).await;
        let clock = Clock::new_manual(EarlierDatabase::find_last_time(&mut connection).await);
        connection.close().await.unwrap();
        let store = opened(dir.path(), clock).await;

        for (change, row) in read::<StoredChange>(&store, "change", "id, short, stage, moves, active, open").await {
            let columns: Vec<String> = (1..5).map(|column| row.get(column)).collect();
            let (active, open): (bool, bool) = (row.get(5), row.get(6));
            // A failed or stalled change that a newer change has closed is not open, in spite of its stage.
            assert_eq!((change.stage.is_active(), change.is_open() || !open), (active, true), "{change:?}");
            let now = [change.id.to_string(), change.id.to_short_id(), change.stage.name().to_owned()];
            assert_eq!(columns[..3], now, "the columns match the body");
            assert_eq!(columns[3], change.change_lock_key().as_str(), "the column has the change lock key of the body");
            stages.insert(change.stage.name().to_owned());
        }
        for (plan, row) in read::<StoredPlan>(&store, "plan", "id, person").await {
            let shown = store.find_shown_plan(ChangeId::parse(row.get(1)).unwrap()).await.unwrap().unwrap();
            assert_eq!((shown.plan, shown.person.as_str()), (plan, row.get(2)));
        }
        for (message, row) in read::<StoredMessage>(&store, "outbox", "key").await {
            assert_eq!(message.key().map(MessageKey::as_str), row.get(1));
        }
        for (quarantine, row) in read::<StoredQuarantine>(&store, "quarantine", "change_id").await {
            assert_eq!(quarantine.change.to_string(), row.get::<String, _>(1));
        }
        for (hold, row) in read::<StoredHold>(&store, "hold", "change_id").await {
            assert_eq!(hold.change.to_string(), row.get::<String, _>(1));
        }
        for (comparison, row) in read::<StoredComparison>(&store, "comparison", "base, head").await {
            assert_eq!((comparison.base.as_str(), comparison.head.as_str()), (row.get(1), row.get(2)));
        }
        read::<StoredCommit>(&store, "found_commit", "sha").await;
        assert_eq!(store.list_locks(None).await.unwrap().len(), count(&store, "lock").await);
        assert_eq!(store.list_unmapped_reports().await.unwrap().len(), count(&store, "unmapped_report").await);
        assert_eq!(store.list_image_commits().await.unwrap().len(), count(&store, "image_commit").await);

        let happened = store.list_history_entries(&ListFilter::default(), Cursor::Start, 1000).await.unwrap();
        assert!(happened.iter().any(|past| past.entry.kind == LedgerKind::Arrived), "{happened:?}");
        for past in happened.iter().filter(|past| past.entry.kind == LedgerKind::Begun) {
            assert!(past.change.is_some() && past.entry.actor.is_some(), "{past:?}");
        }
        let entries = store.list_ledger_entries(&LedgerFilter::default(), 10_000).await.unwrap();
        assert_eq!(entries.len(), count(&store, "ledger").await);
        let bare = entries.iter().filter(|entry| entry.details.is_none()).count();
        assert_eq!(bare, count(&store, "ledger WHERE body IS NULL").await, "all bodies can be read");
        let nameless = entries.iter().filter(|entry| entry.actor.is_none()).count();
        assert_eq!(nameless, count(&store, "ledger WHERE actor IS NULL").await);

        for sha in "sighting image_commit".split(' ') {
            let query = format!("SELECT commit_sha FROM {sha} WHERE commit_sha IS NOT NULL");
            let commits: Vec<String> =
                sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_all(&store.0.readers).await.unwrap();
            assert!(!commits.is_empty() && commits.iter().all(|sha| sha.parse::<Sha>().is_ok()), "{commits:?}");
        }
        let sources: Vec<String> =
            sqlx::query_scalar("SELECT DISTINCT source FROM inbox").fetch_all(&store.0.readers).await.unwrap();
        assert!(sources.iter().all(|source| InboxOrigin::parse(source).is_some()), "{sources:?}");
        store.close().await;
    }
    let expected = ["awaiting_approval", "deployed", "deploying", "failed"];
    assert_eq!(stages.iter().map(String::as_str).collect::<Vec<_>>(), expected, "ended changes and changes under way");
}

/// Before a migration is added, a file of the version before it must exist.
#[tokio::test]
async fn every_version_but_the_newest_has_a_fixture() {
    let fixtures: BTreeSet<String> = EarlierDatabase::load_all().into_iter().map(|database| database.name).collect();
    let versions: Vec<_> = MIGRATIONS.iter().map(|migration| format!("{:04}", migration.version)).collect();
    let (_, earlier) = versions.split_last().unwrap();
    for version in earlier {
        assert!(
            fixtures.contains(version),
            "there is no {FOLDER}/{version}.sql: build the last commit before the next migration, and run `make` there"
        );
        let run = EarlierDatabase::load(version).sql.matches("INSERT INTO \"_sqlx_migrations\"").count();
        assert_eq!(run.to_string(), version.trim_start_matches('0'), "{version}.sql is from another version");
    }
}

#[tokio::test]
async fn an_applied_migration_is_never_changed() {
    for database in EarlierDatabase::load_all() {
        let dir = TempDir::new().unwrap();
        let mut connection = database.restore(dir.path()).await;
        let run: Vec<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations").fetch_all(&mut connection).await.unwrap();
        for (version, checksum) in run {
            let now = MIGRATIONS.iter().find(|migration| migration.version == version).unwrap();
            assert_eq!(
                *now.checksum, *checksum,
                "migration {version} differs from the one in {}: restore it, and add another",
                database.name
            );
        }
    }
}

/// Files of the first and of the second migration from before the first release. The rows of `_sqlx_migrations` are
/// copied from such files.
#[tokio::test]
async fn a_file_from_before_the_first_release_is_refused_and_not_changed() {
    const FIRST: &str = "
        CREATE TABLE _sqlx_migrations (
            version BIGINT PRIMARY KEY,
            description TEXT NOT NULL,
            installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
            success BOOLEAN NOT NULL,
            checksum BLOB NOT NULL,
            execution_time BIGINT NOT NULL
        );
        INSERT INTO _sqlx_migrations VALUES (1, 'first', '2026-11-17 10:58:17', 1,
            X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E', 15993971);
        CREATE TABLE ledger (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL);
        INSERT INTO ledger VALUES (1, 'begun', '{}', 1763373497000);";
    const SECOND: &str = "
        INSERT INTO _sqlx_migrations VALUES (2, 'changes', '2026-11-17 10:58:17', 1,
            X'832FE61AC2FF89D965A444C23FE806EEBED0CFC40375D141D9343377D08DF5902F26A1634703E7AF4EDD50204A7AF106', 36119545);";
    for sql in [FIRST.to_owned(), format!("{FIRST}{SECOND}")] {
        let database = EarlierDatabase { name: "before the first release".to_owned(), sql };
        let dir = TempDir::new().unwrap();
        let mut connection = database.restore(dir.path()).await;
        let columns = columns(&mut connection).await;
        let before = rows(&mut connection, &columns).await;
        connection.close().await.unwrap();
        let at_start = Store::open(&url(dir.path()), Clock::new_manual(start())).await.unwrap_err().to_string();
        assert!(at_start.contains("gantry.db` was written by a Gantry from before its first release"), "{at_start}");
        assert!(at_start.contains("Move the file away"), "{at_start}");
        let by_doctor = probe(&url(dir.path()), false).await.unwrap_err().to_string();
        assert_eq!(by_doctor, at_start, "the doctor has the same message");
        assert_eq!(read_report_summary(&url(dir.path()), &[], start()).await.unwrap(), None);
        assert_eq!(rows(&mut connect(dir.path()).await, &columns).await, before);
    }
}

#[tokio::test]
async fn a_failed_migration_is_rolled_back_and_can_be_retried() {
    let dir = TempDir::new().unwrap();
    let mut connection = connect(dir.path()).await;
    // One of the last tables that the first migration creates.
    sqlx::query("CREATE TABLE hold (obstacle TEXT)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let refusal = Store::open(&url(dir.path()), Clock::new_manual(start())).await.unwrap_err().to_string();
    assert!(refusal.contains("gantry.db` cannot be brought up to date"), "{refusal}");
    assert!(refusal.contains("table hold already exists"), "{refusal}");

    let mut connection = connect(dir.path()).await;
    let half = query_texts(&mut connection, "SELECT name FROM sqlite_master WHERE name LIKE '%quarantine%'").await;
    assert_eq!(half, Vec::<String>::new(), "the tables that it created before are gone");
    sqlx::query("DROP TABLE hold").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    open(dir.path()).await.close().await;
    assert_eq!(schema(&mut connect(dir.path()).await).await, fresh_schema().await);
}

/// After `kill -9`, exactly the contents of the two files at that moment remain.
#[tokio::test]
async fn a_start_killed_during_a_migration_is_completed_by_the_next() {
    let fresh = fresh_schema().await;
    let oldest = EarlierDatabase::load("0001");
    let mut torn = 0;
    for next in MIGRATIONS.iter() {
        let (dir, killed) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut connection =
            if next.version == 1 { connect(dir.path()).await } else { oldest.restore(dir.path()).await };
        let columns = columns(&mut connection).await;
        let before = rows(&mut connection, &columns).await;
        sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut connection).await.unwrap();
        MIGRATIONS.run_direct(Some(next.version - 1), &mut connection, false).await.unwrap();
        // With a tiny cache, uncommitted pages go into the log, as they do in a large migration.
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 1; BEGIN")
            .execute(&mut connection)
            .await
            .unwrap();
        sqlx::raw_sql(next.sql.clone()).execute(&mut connection).await.unwrap();
        for file in ["gantry.db", "gantry.db-wal"] {
            std::fs::copy(dir.path().join(file), killed.path().join(file)).unwrap();
        }
        torn += usize::from(std::fs::metadata(killed.path().join("gantry.db-wal")).unwrap().len() > 0);
        drop(connection);

        open(killed.path()).await.close().await;
        let mut connection = connect(killed.path()).await;
        assert_eq!(query_texts(&mut connection, "PRAGMA integrity_check").await, ["ok"], "{}", next.version);
        assert_eq!(schema(&mut connection).await, fresh, "{}", next.version);
        assert_eq!(rows(&mut connection, &columns).await, before, "{}", next.version);
    }
    assert_eq!(torn, MIGRATIONS.iter().count(), "a part of each migration was written");
}
