//! Migrations whose files were changed after some Gantry had run them: sqlx would refuse such a database for ever.
//! It is known by the checksum, and is given what it lacks. No more are to come: a new migration does it instead.

use sqlx::{Connection, SqliteConnection};

use super::open::MIGRATIONS;

pub(super) struct Amended {
    pub(super) version: i64,
    /// SHA-384 of the file as it was, in hex.
    pub(super) was: &'static str,
    /// What the file as it is does besides.
    lacks: &'static str,
}

pub(super) const AMENDED: [Amended; 3] = [
    Amended {
        version: 2,
        was: "b5e0a86cb66c75603c54fd6002490ef8e45126bdeab1a58b0ef78f7e7443e40669455322de7e2f1e4b4383e12b4876bf",
        lacks: "CREATE INDEX said_channel ON said (channel)",
    },
    Amended {
        version: 7,
        was: "da29370bcb17c0701ed06c2dc4a1575b8c7bf9ef7c46aa6833be4fa652d58f263a87155c2d1b9b86b5aa2052b829249d",
        lacks: "DROP INDEX compared_commit_sha;
                CREATE INDEX compared_commit_sha ON compared_commit (sha, repository, base, head)",
    },
    Amended {
        version: 9,
        was: "c6db2010a8ac2d7606f06d1bbe95309dfc67effaabd9afde650a8b814106c20246c3aa9b145a0cc51f327fd7dd582a9a",
        lacks: "CREATE INDEX compared_commit_restores ON compared_commit (repository, sha, restores)
                WHERE restores IS NOT NULL",
    },
];

/// All of it or nothing, for each of them: whoever is killed in between goes on at the next start.
pub(super) async fn catch_up(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let kept: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')")
        .fetch_one(&mut *connection)
        .await?;
    if !kept {
        return Ok(());
    }
    for amended in AMENDED {
        let Some(now) = MIGRATIONS.iter().find(|migration| migration.version == amended.version) else { continue };
        let mut transaction = connection.begin().await?;
        let met =
            sqlx::query("UPDATE _sqlx_migrations SET checksum = $1 WHERE version = $2 AND lower(hex(checksum)) = $3")
                .bind(&*now.checksum)
                .bind(amended.version)
                .bind(amended.was)
                .execute(&mut *transaction)
                .await?;
        if met.rows_affected() > 0 {
            sqlx::raw_sql(amended.lacks).execute(&mut *transaction).await?;
            tracing::info!(version = amended.version, "a migration that was changed since has been caught up with");
        }
        transaction.commit().await?;
    }
    Ok(())
}
