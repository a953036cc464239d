//! The rows of reports that belong to no artefact: counted by object and reason, and limited to a readable number.

use jiff::{SignedDuration, Timestamp};
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::handle::Store;
use super::ledger::{LedgerEntry, find_last_report};
use super::time::{to_micros, to_timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::attribution::{ControllerObject, UnmappedReport, UnmappedReportGroup};

/// The maximum number of rows. A sender that invents new names displaces only the oldest rows.
const MAX_ROWS: i64 = 500;
const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Longer texts are cut.
const MAX_TEXT_LENGTH: usize = 1000;

#[derive(sqlx::FromRow)]
struct Row {
    environment: String,
    sender: String,
    kind: String,
    namespace: String,
    name: String,
    reason: String,
    count: i64,
    first_at: i64,
    last_at: i64,
    sentence: String,
    repair: String,
    message: String,
}

impl From<Row> for UnmappedReportGroup {
    fn from(row: Row) -> Self {
        let last = UnmappedReport {
            environment: Some(row.environment.as_str()).filter(|name| !name.is_empty()).map(EnvironmentName::new),
            sender: row.sender,
            object: ControllerObject::new(&row.kind, &row.namespace, &row.name),
            reason: row.reason,
            problem: row.sentence,
            repair: row.repair,
            message: row.message,
            at: to_timestamp(row.last_at),
        };
        Self { last, count: u64::try_from(row.count).unwrap_or_default(), first_at: to_timestamp(row.first_at) }
    }
}

/// A summary of the stored reports for `doctor`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSummary {
    /// Reports that belong to no artefact, newest first.
    pub unmapped: Vec<UnmappedReportGroup>,
    /// The last report of each environment that had any.
    pub last_reports: Vec<LedgerEntry>,
}

impl ReportSummary {
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        environments: &[EnvironmentName],
        now: Timestamp,
    ) -> Result<Self, sqlx::Error> {
        let unmapped = list_unmapped_reports(&mut *connection, now).await?;
        let mut last_reports = Vec::new();
        for environment in environments {
            last_reports.extend(find_last_report(&mut *connection, environment).await?);
        }
        Ok(Self { unmapped, last_reports })
    }
}

impl Store {
    /// The reports of the last thirty days that belong to no artefact, newest first.
    pub async fn list_unmapped_reports(&self) -> Result<Vec<UnmappedReportGroup>, StoreError> {
        Ok(list_unmapped_reports(&self.0.readers, self.0.clock.now()).await?)
    }
}

async fn list_unmapped_reports(
    database: impl sqlx::SqliteExecutor<'_>,
    now: Timestamp,
) -> Result<Vec<UnmappedReportGroup>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT environment, sender, kind, namespace, name, reason, count, first_at, last_at, sentence, repair, message
         FROM unmapped_report WHERE last_at >= $1 ORDER BY last_at DESC, id DESC",
    )
    .bind(to_micros(now - RETENTION))
    .fetch_all(database)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

impl Transaction {
    /// Records a report that belongs to no artefact, or counts it if its object and reason are known.
    #[must_use]
    pub fn count_unmapped_report(self, report: UnmappedReport) -> Self {
        self.with_operation(CountUnmappedReport(Box::new(report)))
    }

    /// Deletes the rows of an object, after a later report of it was attributed to artefacts.
    #[must_use]
    pub fn forget_unmapped_reports(self, environment: EnvironmentName, sender: &str, object: ControllerObject) -> Self {
        self.with_operation(ForgetUnmappedReports { environment, sender: sender.to_owned(), object: Box::new(object) })
    }
}

#[derive(Debug)]
struct CountUnmappedReport(Box<UnmappedReport>);

impl Operation for CountUnmappedReport {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let report = &self.0;
        let cut = |text: &str| text.chars().take(MAX_TEXT_LENGTH).collect::<String>();
        let object = report.object.clone().unwrap_or_default();
        sqlx::query(
            "INSERT INTO unmapped_report (environment, sender, kind, namespace, name, reason, count, first_at, last_at, sentence,
                 repair, message)
             VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7, $8, $9, $10)
             ON CONFLICT (environment, sender, kind, namespace, name, reason) DO UPDATE
             SET count = unmapped_report.count + 1, last_at = excluded.last_at, sentence = excluded.sentence,
                 repair = excluded.repair, message = excluded.message",
        )
        .bind(report.environment.as_ref().map_or("", EnvironmentName::as_str))
        .bind(cut(&report.sender))
        .bind(object.kind)
        .bind(object.namespace)
        .bind(object.name)
        .bind(cut(&report.reason))
        .bind(to_micros(report.at))
        .bind(cut(&report.problem))
        .bind(cut(&report.repair))
        .bind(cut(&report.message))
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "DELETE FROM unmapped_report WHERE id NOT IN (SELECT id FROM unmapped_report ORDER BY last_at DESC, id DESC LIMIT $1)",
        )
        .bind(MAX_ROWS)
        .execute(connection)
        .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct ForgetUnmappedReports {
    environment: EnvironmentName,
    sender: String,
    object: Box<ControllerObject>,
}

impl Operation for ForgetUnmappedReports {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query(
            "DELETE FROM unmapped_report WHERE environment = $1 AND sender = $2 AND kind = $3 AND namespace = $4 AND name = $5",
        )
        .bind(self.environment.as_str())
        .bind(&self.sender)
        .bind(&self.object.kind)
        .bind(&self.object.namespace)
        .bind(&self.object.name)
        .execute(connection)
        .await?;
        Ok(())
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM unmapped_report WHERE last_at < $1")
        .bind(to_micros(now - RETENTION))
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::adapters::store::{LedgerDetails, LedgerKind, Transaction};
    use crate::clock::Clock;

    fn report(name: &str, at: Timestamp) -> UnmappedReport {
        UnmappedReport {
            environment: Some(EnvironmentName::new("qa")),
            sender: "Flux".to_owned(),
            object: ControllerObject::new("Kustomization", "flux-system", name),
            reason: "nothing_applied_by_it".to_owned(),
            problem: format!("{name} applied nothing."),
            repair: "Add a rule.".to_owned(),
            message: "applied".to_owned(),
            at,
        }
    }

    async fn open(dir: &TempDir, clock: &Clock) -> Store {
        Store::open(&format!("sqlite://{}", dir.path().join("gantry.db").display()), clock.clone()).await.unwrap()
    }

    fn names(all: &[UnmappedReportGroup]) -> Vec<(String, u64)> {
        let name =
            |group: &UnmappedReportGroup| group.last.object.as_ref().map_or("nobody", |object| &object.name).to_owned();
        all.iter().map(|group| (name(group), group.count)).collect()
    }

    fn counted(name: &str, count: u64) -> (String, u64) {
        (name.to_owned(), count)
    }

    #[tokio::test]
    async fn reports_are_counted_by_object_and_reason_even_after_a_restart() {
        let dir = TempDir::new().unwrap();
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let clock = Clock::new_manual(start);
        let store = open(&dir, &clock).await;
        let later = start + SignedDuration::from_secs(5);
        let last = UnmappedReport { message: "x".repeat(5_000), ..report("apps", later) };
        let unread =
            UnmappedReport { environment: None, object: None, reason: "unread".to_owned(), ..report("apps", start) };
        let other = UnmappedReport { reason: "not_there".to_owned(), ..report("apps", start) };
        let transaction = Transaction::new()
            .count_unmapped_report(report("apps", start))
            .count_unmapped_report(unread.clone())
            .count_unmapped_report(other);
        store.commit(transaction.count_unmapped_report(last)).await.unwrap();
        store.close().await;

        let store = open(&dir, &clock).await;
        let all = store.list_unmapped_reports().await.unwrap();
        assert_eq!(names(&all), [counted("apps", 2), counted("apps", 1), counted("nobody", 1)]);
        assert_eq!((all[0].first_at, all[0].last.at), (start, later));
        assert_eq!(all[0].last.message.len(), MAX_TEXT_LENGTH);
        assert_eq!(all[2].last, unread);

        let object = ControllerObject::new("Kustomization", "flux-system", "apps").unwrap();
        let mapped = Transaction::new().forget_unmapped_reports(EnvironmentName::new("prod"), "Flux", object.clone());
        store.commit(mapped).await.unwrap();
        assert_eq!(store.list_unmapped_reports().await.unwrap().len(), 3, "the rows of another environment stay");
        store
            .commit(Transaction::new().forget_unmapped_reports(EnvironmentName::new("qa"), "Flux", object))
            .await
            .unwrap();
        assert_eq!(names(&store.list_unmapped_reports().await.unwrap()), [counted("nobody", 1)]);
        store.close().await;
    }

    #[tokio::test]
    async fn a_flood_displaces_the_oldest_rows_and_old_rows_are_pruned() {
        let dir = TempDir::new().unwrap();
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let clock = Clock::new_manual(start);
        let store = open(&dir, &clock).await;
        // Most of them have the same time.
        let flood = (0..600).map(|n| report(&format!("n{n:03}"), start + SignedDuration::from_micros((n == 0).into())));
        store.commit(flood.fold(Transaction::new(), Transaction::count_unmapped_report)).await.unwrap();
        let all = store.list_unmapped_reports().await.unwrap();
        assert_eq!(all.len(), 500);
        let names = names(&all);
        assert_eq!((&*names[0].0, &*names[1].0, &*names[499].0), ("n000", "n599", "n101"));

        clock.advance(RETENTION + SignedDuration::from_secs(1));
        assert_eq!(store.list_unmapped_reports().await.unwrap(), []);
        store.commit(Transaction::new().write_setting("a", "b")).await.unwrap();
        let left: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM unmapped_report").fetch_one(&store.0.readers).await.unwrap();
        assert_eq!(left, 0);
        store.close().await;
    }

    #[tokio::test]
    async fn the_last_report_of_an_environment_is_found_by_its_index() {
        let dir = TempDir::new().unwrap();
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let store = open(&dir, &Clock::new_manual(start)).await;
        let entry = |kind: LedgerKind, environment: &str, number: i64| LedgerEntry {
            at: start,
            change: None,
            kind,
            artefact: None,
            environment: Some(EnvironmentName::new(environment)),
            actor: None,
            details: Some(LedgerDetails::Build(json!(number))),
        };
        let all = [
            entry(LedgerKind::Report, "qa", 1),
            entry(LedgerKind::Report, "qa", 2),
            entry(LedgerKind::Arrived, "qa", 3),
            entry(LedgerKind::Report, "prod", 4),
        ];
        store.commit(all.into_iter().fold(Transaction::new(), Transaction::append_to_ledger)).await.unwrap();
        let environments = ["qa", "staging"].map(EnvironmentName::new);
        let mut reader = store.0.readers.acquire().await.unwrap();
        let reported = ReportSummary::read(&mut reader, &environments, start).await.unwrap();
        let last: Vec<_> = reported.last_reports.into_iter().filter_map(|entry| entry.details).collect();
        assert_eq!(last, [LedgerDetails::Build(json!(2))]);
        drop(reader);
        let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(
            "EXPLAIN QUERY PLAN SELECT at FROM ledger WHERE kind = 'report' AND environment = 'qa' ORDER BY id DESC LIMIT 1",
        )
        .fetch_all(&store.0.readers)
        .await
        .unwrap();
        assert!(plan[0].3.contains("ledger_report"), "{plan:?}");
        store.close().await;
    }
}
