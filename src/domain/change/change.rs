//! One artefact in one environment going from one version to another: its id, what it moves, and where it stands.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Uuid};

use crate::domain::change::plan::{ManifestFile, Plan};
use crate::domain::git::trailer::Trailers;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::PromoteBy;
use crate::domain::model::version::Sha;

use super::{Frozen, Stage};

/// A UUID of version 7: sorted by when the change was asked for. People see and type its last eight digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(Uuid);

impl ChangeId {
    pub fn new(now: Timestamp) -> Self {
        Self(id_at(now))
    }

    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }

    /// What people call it.
    pub fn short(self) -> String {
        let text = self.0.simple().to_string();
        text[text.len() - SHORT..].to_owned()
    }
}

/// Of version 7, so that ids sort by time.
pub(in crate::domain) fn id_at(now: Timestamp) -> Uuid {
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos))
}

/// How many digits of a change's id people see.
pub const SHORT: usize = 8;

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: ChangeId,
    pub requester: PersonId,
    /// The channel in which it was asked for.
    pub asked_in: Option<String>,
    pub asked_at: Timestamp,
    /// When it was last taken up again, after it could not be done.
    pub taken_up_at: Option<Timestamp>,
    pub plan: Plan,
    pub stage: Stage,
    /// What the request that asked for it is called in the log.
    pub request: Option<String>,
    /// The branch and the pull request of a promotion that goes by one.
    pub frozen: Option<Frozen>,
}

/// What a change moves, and nobody else may move meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Moves(String);

impl Moves {
    pub fn branch(repository: &Repository, branch: &str) -> Self {
        // To GitHub `Acme/Shop` is `acme/shop`; a branch is spelled one way only.
        Self(format!("branch {} {branch}", repository.to_string().to_ascii_lowercase()))
    }

    fn file(repository: &Repository, file: &str) -> Self {
        Self(format!("file {} {file}", repository.to_string().to_ascii_lowercase()))
    }

    /// The file where it goes by manifest, else the environment's branch of the code.
    pub fn of(repository: &Repository, branch: &str, manifest: Option<&ManifestFile>) -> Self {
        match manifest {
            Some(at) => Self::file(&at.repository, &at.file),
            None => Self::branch(repository, branch),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Change {
    /// There is something left to do.
    pub fn is_open(&self) -> bool {
        self.stage.is_open() || self.must_tidy()
    }

    /// The frozen branch has served its time, and is still there.
    pub fn must_tidy(&self) -> bool {
        !self.stage.can_cancel() && self.frozen.as_ref().is_some_and(|frozen| !frozen.tidy)
    }

    /// The commit that people approve: the frozen result, else what goes itself. `None` while there is nothing to see.
    pub fn shown(&self) -> Option<&Sha> {
        match self.by_pull() {
            // Whoever says yes to what is being replaced has not seen what takes its place.
            Some(frozen) if frozen.making.is_some() => None,
            Some(frozen) => frozen.pull.as_ref().and(frozen.result.as_ref()).map(|result| &result.head),
            None => self.plan.pinned.as_ref(),
        }
    }

    pub fn moves(&self) -> Moves {
        self.plan.moves()
    }

    /// Is it shown by a pull request?
    pub fn by_pull(&self) -> Option<&Frozen> {
        self.frozen.as_ref().filter(|_| self.plan.promote == PromoteBy::PullRequest)
    }

    /// The line in the message of every commit and tag of ours, by which a restart finds its own work.
    pub fn trailer(&self) -> String {
        trailer(self.id)
    }

    /// All that the commit says of itself which Git gets by it.
    pub fn trailers(&self) -> String {
        let plan = &self.plan;
        if plan.rollback.is_none() {
            return self.trailer();
        }
        // A manifest restores one file, and no commit of its repository.
        let restores = plan.pinned.clone().filter(|_| plan.manifest.is_none());
        Trailers::Rollback { change: self.id, restores }.to_string()
    }
}

pub fn trailer(id: ChangeId) -> String {
    Trailers::Change(id).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn an_id_grows_with_time_and_is_known_by_its_end() {
        let (early, late) = (ChangeId::new(at(1_000)), ChangeId::new(at(2_000)));
        assert!(early < late);
        assert_ne!(ChangeId::new(at(1_000)), early, "two of the same moment differ");
        assert_eq!(early.short().len(), SHORT);
        assert!(early.to_string().ends_with(&early.short()));
        assert_eq!(ChangeId::parse(&early.to_string()), Some(early));
    }
}
