//! Stored types that the bodies of several tables embed.

use std::sync::Arc;

use jiff::Timestamp;

use super::stored::stored;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::ids::LockId;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::rules::lock::Lock;
use crate::domain::rules::quarantine::Quarantine;

stored! {
    struct StoredVersion for Version {
        tag: Option<Arc<str>>,
        digest: Option<Arc<str>>,
        commit: Option<Sha>,
    }

    struct StoredCommit for Commit {
        sha: Sha,
        subject: String,
        author: String,
        login: Option<String>,
        only_moves: bool,
        brings: Vec<StoredCommit>,
        url: String,
    }

    struct StoredLock for Lock {
        id: LockId,
        environment: EnvironmentName,
        artefact: Option<ArtefactName>,
        by: PersonId,
        reason: String,
        since: Timestamp,
        until: Option<Timestamp>,
    }

    struct StoredQuarantine for Quarantine {
        change: ChangeId,
        environment: EnvironmentName,
        artefacts: Vec<ArtefactName>,
        version: StoredVersion,
        commits: Vec<Sha>,
        trees: Vec<Sha>,
        by: Option<PersonId>,
        at: Timestamp,
        reason: Option<String>,
    }
}
