//! Where a change stands, with the data of each stage. A transition consumes the old stage: what is over cannot happen
//! again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::actor::PersonId;
use crate::domain::artefact::ArtefactName;
use crate::domain::version::Sha;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn sha() -> Sha {
        "a".repeat(40).parse().unwrap()
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
