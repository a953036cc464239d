//! One artefact in one environment going from one version to another, and the stages it goes through.
//! A transition consumes the old stage: what is over cannot happen again.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Uuid};

use super::actor::PersonId;
use super::artefact::{ArtefactName, Repository};
use super::plan::Plan;
use super::version::Sha;

/// A UUID of version 7: sorted by when the change was asked for. People see and type its last eight digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(Uuid);

impl ChangeId {
    pub fn new(now: Timestamp) -> Self {
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
        Self(Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos)))
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

/// How many digits of a change's id people see.
pub const SHORT: usize = 8;

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub id: ChangeId,
    pub requester: PersonId,
    /// The channel in which it was asked for.
    pub asked_in: Option<String>,
    pub asked_at: Timestamp,
    pub plan: Plan,
    pub stage: Stage,
}

/// What a change moves, and nobody else may move meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Moves(String);

impl Moves {
    pub fn branch(repository: &Repository, branch: &str) -> Self {
        // To GitHub `Acme/Shop` is `acme/shop`; a branch is spelled one way only.
        Self(format!("branch {} {branch}", repository.to_string().to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Stage {
    Merging(Merging),
    Deploying(Deploying),
    Deployed { deploying: Deploying, at: Timestamp, ready: u32, proof: Proof },
    Failed { deploying: Deploying, at: Timestamp, reason: String },
    Stalled { deploying: Deploying, at: Timestamp, runs: Option<String> },
    Conflicted { at: Timestamp, files: Vec<String> },
    Errored { at: Timestamp, why: String, merging: Merging },
    Cancelled { at: Timestamp, by: PersonId },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merging {
    /// GitHub may have been asked already: look before asking again.
    pub begun: bool,
    pub trouble: Option<Trouble>,
}

/// Why something takes longer; it is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub since: Timestamp,
    pub tries: u32,
    pub why: String,
}

impl Trouble {
    /// The same trouble once more, or the first of it.
    pub fn again(before: Option<Self>, why: String, now: Timestamp) -> Self {
        match before {
            Some(before) => Self { tries: before.tries.saturating_add(1), why, ..before },
            None => Self { since: now, tries: 1, why },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deploying {
    /// The commit that the environment's branch got: what must run in the end, or a descendant of it.
    pub result: Sha,
    pub merged_at: Timestamp,
    pub deadline: Timestamp,
    pub tag: Tag,
    /// Set when the controller was told to look, or could not be.
    pub nudge: Option<Nudge>,
    pub rollout: Option<Progress>,
    /// What the artefacts do that are carried along.
    #[serde(default)]
    pub others: Vec<Other>,
    /// Why nobody can tell yet whether it runs.
    pub trouble: Option<Trouble>,
}

/// The tag that marks the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    NotYet,
    /// Its name is stored before it is made, so that a restart does not choose another.
    Chosen {
        name: String,
        tries: u32,
    },
    Made {
        name: String,
        at: Timestamp,
    },
    /// A warning on the card, no more.
    Missing {
        why: String,
    },
}

impl Tag {
    fn is_pending(&self) -> bool {
        matches!(self, Self::NotYet | Self::Chosen { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nudge {
    Done,
    Failed { why: String },
}

/// Another artefact of the same repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    pub artefact: ArtefactName,
    pub version: Option<String>,
    pub state: OtherState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherState {
    Runs { ready: u32 },
    RollsOut { ready: u32, wanted: u32 },
    Fails { reason: String },
    Unknown,
}

/// How far the rollout of the result has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub ready: u32,
    pub wanted: u32,
}

/// What told us which commit the running image was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    #[serde(rename = "tag")]
    TagPattern,
    #[serde(rename = "label")]
    RevisionLabel,
    GitTag,
    Report,
}

impl Proof {
    /// As the store keeps it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TagPattern => "tag",
            Self::RevisionLabel => "label",
            Self::GitTag => "git_tag",
            Self::Report => "report",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::TagPattern, Self::RevisionLabel, Self::GitTag, Self::Report].into_iter().find(|it| it.as_str() == text)
    }
}

/// A transition that the stage does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a change that is {from} cannot become {to}")]
pub struct Impossible {
    pub from: &'static str,
    pub to: &'static str,
}

impl Stage {
    pub fn begin() -> Self {
        Self::Merging(Merging::default())
    }

    /// As the store and the ledger have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Merging(_) => "merging",
            Self::Deploying(_) => "deploying",
            Self::Deployed { .. } => "deployed",
            Self::Failed { .. } => "failed",
            Self::Stalled { .. } => "stalled",
            Self::Conflicted { .. } => "conflicted",
            Self::Errored { .. } => "errored",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// Holds the lock on what moves.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Merging(_) | Self::Deploying(_))
    }

    /// Active, or there is something left to do: a tag to make, or to watch for a late proof until another change begins.
    pub fn is_open(&self) -> bool {
        self.is_active() || self.is_watched() || self.deploying().is_some_and(|deploying| deploying.tag.is_pending())
    }

    /// A late proof would turn it green.
    pub fn is_watched(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Stalled { .. })
    }

    /// What must run, once it is merged.
    pub fn deploying(&self) -> Option<&Deploying> {
        match self {
            Self::Deploying(deploying)
            | Self::Deployed { deploying, .. }
            | Self::Failed { deploying, .. }
            | Self::Stalled { deploying, .. } => Some(deploying),
            Self::Merging(_) | Self::Conflicted { .. } | Self::Errored { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// GitHub is about to be asked for the merge.
    pub fn merge_begun(self) -> Result<Self, Impossible> {
        self.merging("merging", |merging| Self::Merging(Merging { begun: true, ..merging }))
    }

    /// It could not be merged now. `begun` says whether GitHub may have done it nevertheless.
    pub fn merge_troubled(self, trouble: Trouble, begun: bool) -> Result<Self, Impossible> {
        self.merging("merging", |_| Self::Merging(Merging { begun, trouble: Some(trouble) }))
    }

    pub fn merged(self, result: Sha, now: Timestamp, deadline: Timestamp) -> Result<Self, Impossible> {
        self.merging("deploying", |_| {
            Self::Deploying(Deploying {
                result,
                merged_at: now,
                deadline,
                tag: Tag::NotYet,
                nudge: None,
                rollout: None,
                others: Vec::new(),
                trouble: None,
            })
        })
    }

    pub fn conflicted(self, files: Vec<String>, now: Timestamp) -> Result<Self, Impossible> {
        self.merging("conflicted", |_| Self::Conflicted { at: now, files })
    }

    pub fn errored(self, why: String, now: Timestamp) -> Result<Self, Impossible> {
        self.merging("errored", |merging| Self::Errored { at: now, why, merging: Merging { trouble: None, ..merging } })
    }

    pub fn cancelled(self, by: PersonId, now: Timestamp) -> Result<Self, Impossible> {
        self.merging("cancelled", |_| Self::Cancelled { at: now, by })
    }

    /// From the step that failed.
    pub fn retried(self) -> Result<Self, Impossible> {
        match self {
            Self::Errored { merging, .. } => Ok(Self::Merging(merging)),
            other => Err(other.impossible("merging")),
        }
    }

    /// Something about the deployment became known that does not change where it stands.
    pub fn still_deploying(self, learn: impl FnOnce(Deploying) -> Deploying) -> Result<Self, Impossible> {
        match self {
            Self::Deploying(deploying) => Ok(Self::Deploying(learn(deploying))),
            Self::Failed { deploying, at, reason } => Ok(Self::Failed { deploying: learn(deploying), at, reason }),
            Self::Stalled { deploying, at, runs } => Ok(Self::Stalled { deploying: learn(deploying), at, runs }),
            Self::Deployed { deploying, at, ready, proof } => {
                Ok(Self::Deployed { deploying: learn(deploying), at, ready, proof })
            }
            other => Err(other.impossible("deploying")),
        }
    }

    /// The cluster runs it. Late proof counts as well.
    pub fn deployed(self, ready: u32, proof: Proof, now: Timestamp) -> Result<Self, Impossible> {
        match self {
            Self::Deploying(deploying) | Self::Failed { deploying, .. } | Self::Stalled { deploying, .. } => {
                Ok(Self::Deployed { deploying, at: now, ready, proof })
            }
            other => Err(other.impossible("deployed")),
        }
    }

    /// The cluster or the controller says that it did not work.
    pub fn failed(self, reason: String, now: Timestamp) -> Result<Self, Impossible> {
        match self {
            Self::Deploying(deploying) | Self::Stalled { deploying, .. } => {
                Ok(Self::Failed { deploying, at: now, reason })
            }
            other => Err(other.impossible("failed")),
        }
    }

    /// No proof by the deadline.
    pub fn stalled(self, runs: Option<String>, now: Timestamp) -> Result<Self, Impossible> {
        match self {
            Self::Deploying(deploying) => Ok(Self::Stalled { deploying, at: now, runs }),
            other => Err(other.impossible("stalled")),
        }
    }

    fn merging(self, to: &'static str, become_: impl FnOnce(Merging) -> Self) -> Result<Self, Impossible> {
        match self {
            Self::Merging(merging) => Ok(become_(merging)),
            other => Err(other.impossible(to)),
        }
    }

    fn impossible(&self, to: &'static str) -> Impossible {
        Impossible { from: self.name(), to }
    }
}

impl Change {
    pub fn moves(&self) -> Moves {
        Moves::branch(&self.plan.repository, &self.plan.branch)
    }

    /// The line in the message of every commit and tag of ours, by which a restart finds its own work.
    pub fn trailer(&self) -> String {
        trailer(self.id)
    }
}

pub fn trailer(id: ChangeId) -> String {
    format!("Gantry-Change: {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn sha() -> Sha {
        "a".repeat(40).parse().unwrap()
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

    /// Every stage, and which transitions it has.
    #[test]
    fn a_stage_has_its_own_ways_on_and_no_others() {
        let person = PersonId::new("U0ALICE");
        let merging = Stage::begin;
        let deploying = || merging().merged(sha(), at(1), at(9)).unwrap();
        let stages = [
            (merging(), "merging deploying conflicted errored cancelled"),
            (deploying(), "deployed failed stalled"),
            (deploying().deployed(2, Proof::TagPattern, at(2)).unwrap(), ""),
            (deploying().failed("CrashLoopBackOff".into(), at(2)).unwrap(), "deployed"),
            (deploying().stalled(None, at(9)).unwrap(), "deployed failed"),
            (merging().conflicted(vec![], at(2)).unwrap(), ""),
            (merging().errored("403".into(), at(2)).unwrap(), "retried"),
            (merging().cancelled(person.clone(), at(2)).unwrap(), ""),
        ];
        for (stage, ways) in stages {
            let tried = [
                ("merging", stage.clone().merge_begun()),
                ("deploying", stage.clone().merged(sha(), at(3), at(9))),
                ("conflicted", stage.clone().conflicted(vec![], at(3))),
                ("errored", stage.clone().errored("x".into(), at(3))),
                ("cancelled", stage.clone().cancelled(person.clone(), at(3))),
                ("retried", stage.clone().retried()),
                ("deployed", stage.clone().deployed(1, Proof::Report, at(3))),
                ("failed", stage.clone().failed("x".into(), at(3))),
                ("stalled", stage.clone().stalled(None, at(3))),
            ];
            let possible: Vec<_> = tried.into_iter().filter(|(_, to)| to.is_ok()).map(|(name, _)| name).collect();
            assert_eq!(possible.join(" "), ways, "{}", stage.name());
        }
    }

    #[test]
    fn what_was_begun_is_not_forgotten_by_a_retry() {
        let begun = Stage::begin().merge_begun().unwrap();
        let retried = begun.errored("502".into(), at(2)).unwrap().retried().unwrap();
        assert_eq!(retried, Stage::Merging(Merging { begun: true, trouble: None }));
    }

    #[test]
    fn a_stage_survives_the_store() {
        let stage = Stage::begin().merged(sha(), at(1), at(9)).unwrap().deployed(2, Proof::GitTag, at(2)).unwrap();
        let text = serde_json::to_string(&stage).unwrap();
        assert_eq!(serde_json::from_str::<Stage>(&text).unwrap(), stage);
    }
}
