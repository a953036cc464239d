//! The rows of plans that were shown and may be confirmed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::comparison::StoredChangedFile;
use super::error::{StoreError, require_changed_row};
use super::handle::Store;
use super::hold::StoredHold;
use super::stored::{Stored, StoredBody, read_or_log, stored, write_body};
use super::stored_parts::{StoredCommit, StoredLock, StoredVersion};
use super::time::{to_micros, to_timestamp};
use super::transaction::{Operation, Transaction};
use crate::domain::change::plan::{CoDeployed, Direction, GitWrite, PLAN_VALIDITY, Plan};
use crate::domain::git::commit_summary::{CommitSummary, FileSummary};
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{ArtefactName, ManifestFile, Repository};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};
use crate::domain::model::ids::{ChangeId, LockId};
use crate::domain::model::version::Sha;
use crate::domain::rules::conflict::ConflictingChange;
use crate::domain::rules::gate::{Gate, GateOverride};
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::rollback::{BadVersion, HealthyPeriod, Rollback, RollbackEvidence};

/// A plan that was shown to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPlan {
    pub id: ChangeId,
    pub person: PersonId,
    pub plan: Plan,
    pub made_at: Timestamp,
}

impl Store {
    /// A shown plan that was not used. The caller checks whether it has expired.
    pub async fn find_shown_plan(&self, id: ChangeId) -> Result<Option<ShownPlan>, StoreError> {
        let row: Option<(String, String, i64)> = sqlx::query_as("SELECT person, body, made_at FROM plan WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(row.and_then(|(person, body, made_at)| {
            let plan = read_or_log::<StoredPlan>("plan", &body)?;
            Some(ShownPlan { id, person: PersonId::new(&person), plan, made_at: to_timestamp(made_at) })
        }))
    }
}

impl Transaction {
    /// Stores a plan that is shown and may be confirmed.
    #[must_use]
    pub fn insert_plan(self, shown: ShownPlan) -> Self {
        self.with_operation(InsertPlan(Box::new(shown)))
    }

    /// Removes a plan that is confirmed or dropped. The transaction fails with `Overtaken` at a second click.
    #[must_use]
    pub fn use_plan(self, plan: ChangeId) -> Self {
        self.with_operation(UsePlan(plan))
    }
}

#[derive(Debug)]
struct InsertPlan(Box<ShownPlan>);

impl Operation for InsertPlan {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let shown = &self.0;
        sqlx::query("INSERT INTO plan (id, person, body, made_at) VALUES ($1, $2, $3, $4)")
            .bind(shown.id.to_string())
            .bind(shown.person.as_str())
            .bind(write_body::<StoredPlan>(shown.plan.clone())?)
            .bind(to_micros(shown.made_at))
            .execute(connection)
            .await?;
        Ok(())
    }
}

#[derive(Debug)]
struct UsePlan(ChangeId);

impl Operation for UsePlan {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, _: Timestamp) -> Result<(), sqlx::Error> {
        let used = sqlx::query("DELETE FROM plan WHERE id = $1").bind(self.0.to_string()).execute(connection).await?;
        require_changed_row(&used)
    }
}

pub(super) async fn prune(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM plan WHERE made_at < $1").bind(to_micros(now - PLAN_VALIDITY)).execute(connection).await?;
    Ok(())
}

impl StoredBody for StoredPlan {
    const VERSION: u32 = 1;
}

/// Two fields of the stored plan, `manifest` and `pinned`. The manifest of a branch is `null`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StoredGitWrite {
    Branch { manifest: (), pinned: Sha },
    Manifest { manifest: StoredManifestFile, pinned: Option<Sha> },
}

impl Stored for StoredGitWrite {
    type Domain = GitWrite;

    fn from_domain(domain: GitWrite) -> Self {
        match domain {
            GitWrite::Branch { pinned } => Self::Branch { manifest: (), pinned },
            GitWrite::Manifest { file, pinned } => {
                Self::Manifest { manifest: StoredManifestFile::from_domain(file), pinned }
            }
        }
    }

    fn into_domain(self) -> GitWrite {
        match self {
            Self::Branch { pinned, .. } => GitWrite::Branch { pinned },
            Self::Manifest { manifest, pinned } => GitWrite::Manifest { file: manifest.into_domain(), pinned },
        }
    }
}

/// The details of a rollback, and `null` for a promotion.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct StoredDirection(Option<StoredRollback>);

impl Stored for StoredDirection {
    type Domain = Direction;

    fn from_domain(domain: Direction) -> Self {
        match domain {
            Direction::Promotion => Self(None),
            Direction::Rollback(rollback) => Self(Some(StoredRollback::from_domain(rollback))),
        }
    }

    fn into_domain(self) -> Direction {
        self.0.map_or(Direction::Promotion, |rollback| Direction::Rollback(rollback.into_domain()))
    }
}

stored! {
    struct StoredPlan for Plan {
        artefact: ArtefactName,
        environment: EnvironmentName,
        seen_in: EnvironmentName,
        repository: Repository,
        branch: String,
        #[serde(flatten)]
        write: StoredGitWrite,
        version: StoredVersion,
        from: Option<StoredVersion>,
        drift: StoredCommitSummary,
        co_deployed: Vec<StoredCoDeployed>,
        head: Option<Sha>,
        behind_by: u64,
        method: StoredPromotionMethod,
        healthy_since: Option<Timestamp>,
        green_checks: usize,
        supersedes: Option<StoredConflictingChange>,
        gate_override: Option<StoredGateOverride>,
        sources: Vec<Sha>,
        tree: Option<Sha>,
        rollbacks_to_undo: Vec<ChangeId>,
        holds_to_lift: Vec<StoredHold>,
        image: StoredImageAvailability,
        #[serde(rename = "rollback")]
        direction: StoredDirection,
    }

    enum StoredPromotionMethod for PromotionMethod {
        Merge,
        PullRequest,
    }

    struct StoredManifestFile for ManifestFile {
        repository: Repository,
        branch: String,
        file: String,
    }

    struct StoredConflictingChange for ConflictingChange {
        id: ChangeId,
        requester: PersonId,
        version: StoredVersion,
        since: Timestamp,
        merged: bool,
    }

    struct StoredCoDeployed for CoDeployed {
        artefact: ArtefactName,
        changes: bool,
    }

    struct StoredCommitSummary for CommitSummary {
        commits: Vec<StoredCommit>,
        commits_in_all: u64,
        hotfixes: Vec<StoredCommit>,
        hotfixes_in_all: u64,
        hotfixes_cut: bool,
        files: StoredFileSummary,
        url: Option<String>,
    }

    struct StoredFileSummary for FileSummary {
        files: u64,
        additions: u64,
        deletions: u64,
        cut: bool,
        concern: Option<u64>,
        most: Vec<StoredChangedFile>,
    }

    struct StoredGateOverride for GateOverride {
        by: PersonId,
        reason: String,
        gates: Vec<StoredGate>,
    }

    enum StoredGate for Gate {
        Lock {
            id: LockId,
            by: PersonId,
        },
        Freeze,
        Soak,
        Checks,
        Quarantine {
            change: ChangeId,
        },
    }

    struct StoredRollback for Rollback {
        reason: Option<String>,
        evidence: StoredRollbackEvidence,
        healthy_period: Option<StoredHealthyPeriod>,
        automatic: bool,
        rolled_back_change: Option<ChangeId>,
        bad_version: StoredBadVersion,
        locks: Vec<StoredLock>,
    }

    enum StoredRollbackEvidence for RollbackEvidence {
        Ledger,
        Git,
        Cluster,
        Registry,
    }

    struct StoredHealthyPeriod for HealthyPeriod {
        since: Timestamp,
        until: Option<Timestamp>,
    }

    struct StoredBadVersion for BadVersion {
        commits: Vec<Sha>,
        trees: Vec<Sha>,
    }

    enum StoredImageAvailability for ImagePresence {
        Present,
        Missing,
        Unknown {
            reason: String,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::store::stored::read_body;
    use crate::domain::sample;

    #[test]
    fn a_stored_plan_without_a_commit_is_read_only_with_a_manifest() {
        let file = ManifestFile {
            repository: "acme/deploy".parse().unwrap(),
            branch: "main".to_owned(),
            file: "qa/checkout.yaml".to_owned(),
        };
        let by_branch = write_body::<StoredPlan>(sample::plan()).unwrap();
        let by_manifest = Plan { write: GitWrite::Manifest { file, pinned: None }, ..sample::plan() };
        let (pinned, without) =
            (format!("\"pinned\":\"{}\"", sample::plan().pinned_commit().unwrap()), "\"pinned\":null");
        assert!(
            by_branch.contains(&format!("\"branch\":\"qa\",\"manifest\":null,{pinned},\"version\"")),
            "{by_branch}"
        );
        assert!(by_branch.ends_with("\"rollback\":null}}"), "{by_branch}");
        assert!(read_body::<StoredPlan>(&by_branch.replace(&pinned, without)).is_err());

        let text = write_body::<StoredPlan>(by_manifest.clone()).unwrap();
        assert!(text.contains(without), "{text}");
        assert_eq!(read_body::<StoredPlan>(&text).unwrap(), by_manifest);
    }
}
