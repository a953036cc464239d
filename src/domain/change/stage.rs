//! The stages of a change, with the data of each. A transition consumes the old stage, so it cannot happen twice.

use jiff::Timestamp;

use super::deploying::{DeployState, Proof, ResultTag, RollbackStatus};
use super::failure::FailureEvidence;
use super::retry::RetryState;
use crate::domain::change::approval::ApprovalState;
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    AwaitingApproval(ApprovalState),
    Merging(MergeState),
    Deploying(DeployState),
    Deployed {
        deploying: DeployState,
        at: Timestamp,
        ready: u32,
        proof: Proof,
    },
    Failed {
        deploying: DeployState,
        at: Timestamp,
        reason: String,
        evidence: FailureEvidence,
    },
    Stalled {
        deploying: DeployState,
        at: Timestamp,
        /// The version that runs instead, or another description of the state at the deadline.
        runs: Option<String>,
        /// The cluster could not be read: the version may run after all.
        unread: bool,
    },
    Conflicted {
        at: Timestamp,
        files: Vec<String>,
    },
    Errored {
        at: Timestamp,
        reason: String,
        merging: MergeState,
    },
    Cancelled {
        at: Timestamp,
        by: CancelledBy,
    },
    Rejected {
        at: Timestamp,
        by: PersonId,
        reason: String,
    },
    /// The approvals or another condition did not come in time.
    Expired {
        at: Timestamp,
        awaiting: ApprovalState,
    },
    /// Another change replaced it: a newer promotion before its merge, or a rollback after it.
    Superseded {
        at: Timestamp,
        by: ChangeId,
        deploying: Option<Box<DeployState>>,
    },
}

/// The actor who cancelled a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelledBy {
    Person(PersonId),
    /// A person on GitHub, who closed the pull request or deleted its branch; by login, if GitHub reports it.
    Github {
        github: Option<String>,
    },
}

impl CancelledBy {
    pub fn to_actor(&self) -> Actor {
        match self {
            Self::Person(person) => Actor::Person(person.clone()),
            Self::Github { github } => Actor::Github(github.clone().unwrap_or_default()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeState {
    /// The merge may have been requested already: check before requesting it again.
    pub begun: bool,
    pub retry: Option<RetryState>,
    /// The approval state before the merge, to which the change returns if the merge cannot happen now.
    pub awaiting: Option<Box<ApprovalState>>,
}

/// A transition that the stage does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a change that is {from} cannot become {to}")]
pub struct InvalidTransition {
    pub from: &'static str,
    pub to: &'static str,
}

impl Stage {
    pub fn new_merging() -> Self {
        Self::Merging(MergeState::default())
    }

    pub fn new_awaiting_approval(awaiting: ApprovalState) -> Self {
        Self::AwaitingApproval(awaiting)
    }

    /// The name in the store and the ledger.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AwaitingApproval(_) => "awaiting_approval",
            Self::Merging(_) => "merging",
            Self::Deploying(_) => "deploying",
            Self::Deployed { .. } => "deployed",
            Self::Failed { .. } => "failed",
            Self::Stalled { .. } => "stalled",
            Self::Conflicted { .. } => "conflicted",
            Self::Errored { .. } => "errored",
            Self::Cancelled { .. } => "cancelled",
            Self::Rejected { .. } => "rejected",
            Self::Expired { .. } => "expired",
            Self::Superseded { .. } => "superseded",
        }
    }

    /// The name in messages.
    pub fn display_name(&self) -> &'static str {
        match self {
            Self::AwaitingApproval(_) => "waiting for approval",
            other => other.name(),
        }
    }

    /// Whether the change holds its change lock.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::AwaitingApproval(_) | Self::Merging(_) | Self::Deploying(_))
    }

    /// Whether the change is not merged yet and can be cancelled.
    pub fn can_cancel(&self) -> bool {
        matches!(self, Self::AwaitingApproval(_) | Self::Merging(_))
    }

    pub fn awaiting(&self) -> Option<&ApprovalState> {
        match self {
            Self::AwaitingApproval(awaiting) => Some(awaiting),
            _ => None,
        }
    }

    /// Whether the change is active or has work left: a tag to create, or a late proof to watch for until another
    /// change begins.
    pub fn is_open(&self) -> bool {
        self.is_active() || self.is_watched() || self.deploying().is_some_and(|deploying| deploying.tag.is_pending())
    }

    /// Whether a late proof would turn the change into a success.
    pub fn is_watched(&self) -> bool {
        match self {
            Self::Failed { deploying, .. } | Self::Stalled { deploying, .. } => {
                !matches!(deploying.rolled_back, Some(RollbackStatus::Done { .. }))
            }
            _ => false,
        }
    }

    /// Whether the change failed in any way.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Stalled { .. } | Self::Errored { .. } | Self::Conflicted { .. })
    }

    /// Whether only progress is new: counts, a tag, co-deployed artefacts. More than progress: trouble or a stall
    /// diagnosis that begins or ends, or another state of the rollback.
    pub fn is_only_progress(&self, before: &Self) -> bool {
        let is_same = self.deploying().zip(before.deploying()).is_some_and(|(now, earlier)| {
            now.retry.is_some() == earlier.retry.is_some()
                && now.stall_diagnosis.is_some() == earlier.stall_diagnosis.is_some()
                && now.rolled_back == earlier.rolled_back
        });
        is_same && self.name() == before.name()
    }

    /// Whether the change was a failure in `before` and is deployed now.
    pub fn is_recovery(&self, before: &Self) -> bool {
        matches!(self, Self::Deployed { .. }) && before.is_failure()
    }

    /// The commit that the change made in Git.
    pub fn result_commit(&self) -> Option<&Sha> {
        match self {
            Self::Superseded { deploying, .. } => deploying.as_ref().map(|deploying| &deploying.result),
            other => other.deploying().map(|deploying| &deploying.result),
        }
    }

    /// The data on the deployment; `None` before the merge.
    pub fn deploying(&self) -> Option<&DeployState> {
        match self {
            Self::Deploying(deploying)
            | Self::Deployed { deploying, .. }
            | Self::Failed { deploying, .. }
            | Self::Stalled { deploying, .. } => Some(deploying),
            Self::AwaitingApproval(_)
            | Self::Merging(_)
            | Self::Conflicted { .. }
            | Self::Errored { .. }
            | Self::Cancelled { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Superseded { .. } => None,
        }
    }

    /// Records new facts about the wait.
    pub fn update_awaiting(
        self,
        update: impl FnOnce(ApprovalState) -> ApprovalState,
    ) -> Result<Self, InvalidTransition> {
        self.transition_if_awaiting("awaiting_approval", |awaiting| Self::AwaitingApproval(update(awaiting)))
    }

    /// All conditions hold.
    pub fn into_merging(self) -> Result<Self, InvalidTransition> {
        self.transition_if_awaiting("merging", |awaiting| {
            // The count of failed attempts is kept.
            let trouble = awaiting.retry.clone();
            Self::Merging(MergeState { begun: false, retry: trouble, awaiting: Some(Box::new(awaiting)) })
        })
    }

    /// The merge cannot happen now: the change waits again in its earlier approval state, or for the first time in
    /// `initial`.
    pub fn return_to_awaiting(self, initial: ApprovalState) -> Result<Self, InvalidTransition> {
        self.transition_if_merging("awaiting_approval", |MergeState { awaiting, retry: trouble, .. }| {
            let awaiting = awaiting.map_or(initial, |awaiting| *awaiting);
            Self::AwaitingApproval(ApprovalState { retry: trouble.or(awaiting.retry.clone()), ..awaiting })
        })
    }

    pub fn into_rejected(self, by: PersonId, reason: String, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_awaiting("rejected", |_| Self::Rejected { at: now, by, reason })
    }

    pub fn into_expired(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_awaiting("expired", |awaiting| Self::Expired { at: now, awaiting })
    }

    /// A newer promotion replaces it while it waits, or a rollback after its merge.
    pub fn into_superseded(self, by: ChangeId, now: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Deploying(deploying) => Ok(Self::Superseded { at: now, by, deploying: Some(Box::new(deploying)) }),
            other => other.transition_if_awaiting("superseded", |_| Self::Superseded { at: now, by, deploying: None }),
        }
    }

    /// Records that the merge is about to be requested from GitHub.
    pub fn begin_merge(self) -> Result<Self, InvalidTransition> {
        self.transition_if_merging("merging", |merging| Self::Merging(MergeState { begun: true, ..merging }))
    }

    /// The merge failed for now. `begun` says whether GitHub may have merged nevertheless.
    pub fn record_merge_failure(self, trouble: RetryState, begun: bool) -> Result<Self, InvalidTransition> {
        self.transition_if_merging("merging", |merging| {
            Self::Merging(MergeState { begun, retry: Some(trouble), ..merging })
        })
    }

    /// The branch has the result. A person may have merged it by hand while the change still waited.
    pub fn into_deploying(self, result: Sha, now: Timestamp, deadline: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_unmerged("deploying", |merging| {
            Self::Deploying(DeployState {
                result,
                merged_at: now,
                deadline,
                tag: ResultTag::Pending,
                trigger_outcome: None,
                rollout: None,
                co_deployed: Vec::new(),
                retry: None,
                approvals: merging.awaiting.map(|awaiting| awaiting.approvals).unwrap_or_default(),
                merged_by: None,
                unexpected_base: None,
                running_label: None,
                rolled_back: None,
                built_at: None,
                seen_at: None,
                stall_diagnosis: None,
                notified_authors: None,
            })
        })
    }

    pub fn into_conflicted(self, files: Vec<String>, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_unmerged("conflicted", |_| Self::Conflicted { at: now, files })
    }

    pub fn into_errored(self, why: String, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_unmerged("errored", |merging| Self::Errored {
            at: now,
            reason: why,
            merging: MergeState { retry: None, ..merging },
        })
    }

    pub fn into_cancelled(self, by: CancelledBy, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition_if_unmerged("cancelled", |_| Self::Cancelled { at: now, by })
    }

    /// Continues with the stage that failed. Approvals must be given again.
    pub fn retry_from_error(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Errored { merging: MergeState { awaiting: Some(awaiting), .. }, .. } => {
                Ok(Self::AwaitingApproval(awaiting.restart_at(now)))
            }
            Self::Errored { merging, .. } => Ok(Self::Merging(merging)),
            other => Err(other.invalid_transition("merging")),
        }
    }

    /// Records new facts about the deployment without a change of stage.
    pub fn update_deploying(self, update: impl FnOnce(DeployState) -> DeployState) -> Result<Self, InvalidTransition> {
        match self {
            Self::Deploying(deploying) => Ok(Self::Deploying(update(deploying))),
            Self::Failed { deploying, at, reason, evidence } => {
                Ok(Self::Failed { deploying: update(deploying), at, reason, evidence })
            }
            Self::Stalled { deploying, at, runs, unread } => {
                Ok(Self::Stalled { deploying: update(deploying), at, runs, unread })
            }
            Self::Deployed { deploying, at, ready, proof } => {
                Ok(Self::Deployed { deploying: update(deploying), at, ready, proof })
            }
            other => Err(other.invalid_transition("deploying")),
        }
    }

    /// The cluster runs the result. A late proof counts too.
    pub fn into_deployed(self, ready: u32, proof: Proof, now: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Deploying(deploying) | Self::Failed { deploying, .. } | Self::Stalled { deploying, .. } => {
                Ok(Self::Deployed { deploying, at: now, ready, proof })
            }
            other => Err(other.invalid_transition("deployed")),
        }
    }

    /// The cluster or the controller reports a failure.
    pub fn into_failed(
        self,
        reason: String,
        evidence: FailureEvidence,
        now: Timestamp,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::Deploying(deploying) | Self::Stalled { deploying, .. } => {
                Ok(Self::Failed { deploying, at: now, reason, evidence })
            }
            // Only a health report supported this failure. Stronger evidence replaces it.
            Self::Failed { deploying, evidence: FailureEvidence::HealthReport, .. }
                if evidence != FailureEvidence::HealthReport =>
            {
                Ok(Self::Failed { deploying, at: now, reason, evidence })
            }
            other => Err(other.invalid_transition("failed")),
        }
    }

    /// The reason of a failure that only a health report supports. The cluster or the deadline may still confirm it.
    pub fn unconfirmed_failure(&self) -> Option<&str> {
        match self {
            Self::Failed { reason, evidence: FailureEvidence::HealthReport, .. } => Some(reason),
            _ => None,
        }
    }

    /// There was no proof by the deadline.
    pub fn into_stalled(self, runs: Option<String>, unread: bool, now: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Deploying(deploying) => Ok(Self::Stalled { deploying, at: now, runs, unread }),
            other => Err(other.invalid_transition("stalled")),
        }
    }

    fn transition_if_awaiting(
        self,
        to: &'static str,
        make_stage: impl FnOnce(ApprovalState) -> Self,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::AwaitingApproval(awaiting) => Ok(make_stage(awaiting)),
            other => Err(other.invalid_transition(to)),
        }
    }

    /// Allows the stages `AwaitingApproval` and `Merging`.
    fn transition_if_unmerged(
        self,
        to: &'static str,
        make_stage: impl FnOnce(MergeState) -> Self,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::AwaitingApproval(awaiting) => {
                Ok(make_stage(MergeState { awaiting: Some(Box::new(awaiting)), ..MergeState::default() }))
            }
            other => other.transition_if_merging(to, make_stage),
        }
    }

    fn transition_if_merging(
        self,
        to: &'static str,
        make_stage: impl FnOnce(MergeState) -> Self,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::Merging(merging) => Ok(make_stage(merging)),
            other => Err(other.invalid_transition(to)),
        }
    }

    fn invalid_transition(&self, to: &'static str) -> InvalidTransition {
        InvalidTransition { from: self.name(), to }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::domain::model::actor::MemberLabel;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn sha() -> Sha {
        "a".repeat(40).parse().unwrap()
    }

    fn approval_state() -> ApprovalState {
        ApprovalState::new(1, vec![MemberLabel::Everyone], at(0), SignedDuration::from_hours(1))
    }

    fn awaiting() -> Stage {
        Stage::new_awaiting_approval(approval_state())
    }

    #[test]
    fn only_better_evidence_replaces_a_health_report() {
        use FailureEvidence::{Deadline, HealthReport, NotApplied, Workload};
        let deploying = || Stage::new_merging().into_deploying(sha(), at(1), at(9)).unwrap();
        let failed = |evidence| deploying().into_failed("unhealthy".into(), evidence, at(2)).unwrap();
        for better in [Workload, NotApplied, Deadline] {
            let upgraded = failed(HealthReport).into_failed("crashed".into(), better, at(3)).unwrap();
            assert!(upgraded.unconfirmed_failure().is_none());
            assert!(failed(better).into_failed("again".into(), Workload, at(3)).is_err());
        }
        assert!(failed(HealthReport).into_failed("again".into(), HealthReport, at(3)).is_err());
        assert_eq!(failed(HealthReport).unconfirmed_failure(), Some("unhealthy"));
    }

    /// Every stage with the transitions that it allows.
    #[test]
    fn each_stage_allows_only_its_own_transitions() {
        let (person, id) = (PersonId::new("U0ALICE"), ChangeId::new(at(5)));
        let by = || CancelledBy::Person(person.clone());
        let merging = Stage::new_merging;
        let deploying = || merging().into_deploying(sha(), at(1), at(9)).unwrap();
        let stages = [
            (awaiting(), "awaiting approved deploying conflicted errored cancelled rejected expired superseded"),
            (awaiting().into_merging().unwrap(), "again merging deploying conflicted errored cancelled"),
            (merging(), "again merging deploying conflicted errored cancelled"),
            (deploying(), "superseded deployed failed stalled"),
            (deploying().into_deployed(2, Proof::TagPattern, at(2)).unwrap(), ""),
            (deploying().into_failed("CrashLoopBackOff".into(), FailureEvidence::Workload, at(2)).unwrap(), "deployed"),
            (deploying().into_stalled(None, false, at(9)).unwrap(), "deployed failed"),
            (merging().into_conflicted(vec![], at(2)).unwrap(), ""),
            (merging().into_errored("403".into(), at(2)).unwrap(), "retried"),
            (awaiting().into_errored("403".into(), at(2)).unwrap(), "retried"),
            (merging().into_cancelled(by(), at(2)).unwrap(), ""),
            (awaiting().into_rejected(person.clone(), "no".into(), at(2)).unwrap(), ""),
            (awaiting().into_expired(at(2)).unwrap(), ""),
            (awaiting().into_superseded(id, at(2)).unwrap(), ""),
            (deploying().into_superseded(id, at(2)).unwrap(), ""),
        ];
        for (stage, allowed) in stages {
            let transitions = [
                ("awaiting", stage.clone().update_awaiting(|awaiting| awaiting)),
                ("approved", stage.clone().into_merging()),
                ("again", stage.clone().return_to_awaiting(approval_state())),
                ("merging", stage.clone().begin_merge()),
                ("deploying", stage.clone().into_deploying(sha(), at(3), at(9))),
                ("conflicted", stage.clone().into_conflicted(vec![], at(3))),
                ("errored", stage.clone().into_errored("x".into(), at(3))),
                ("cancelled", stage.clone().into_cancelled(by(), at(3))),
                ("rejected", stage.clone().into_rejected(person.clone(), "x".into(), at(3))),
                ("expired", stage.clone().into_expired(at(3))),
                ("superseded", stage.clone().into_superseded(id, at(3))),
                ("retried", stage.clone().retry_from_error(at(3))),
                ("deployed", stage.clone().into_deployed(1, Proof::Report, at(3))),
                ("failed", stage.clone().into_failed("x".into(), FailureEvidence::Workload, at(3))),
                ("stalled", stage.clone().into_stalled(None, false, at(3))),
            ];
            let possible: Vec<_> = transitions.into_iter().filter(|(_, to)| to.is_ok()).map(|(name, _)| name).collect();
            assert_eq!(possible.join(" "), allowed, "{}", stage.name());
        }
    }

    #[test]
    fn a_deployment_after_a_failure_is_a_recovery() {
        let deploying = Stage::new_merging().into_deploying(sha(), at(1), at(9)).unwrap();
        let stalled = deploying.clone().into_stalled(None, false, at(9)).unwrap();
        let late = stalled.clone().into_deployed(2, Proof::TagPattern, at(10)).unwrap();
        assert!(late.is_recovery(&stalled) && !late.is_recovery(&deploying) && !stalled.is_recovery(&deploying));
        assert!(stalled.is_failure() && !late.is_failure());
        let trouble = RetryState::record_failure(None, "GitHub is away".into(), at(3));
        let delayed =
            deploying.clone().update_deploying(|state| DeployState { retry: Some(trouble), ..state }).unwrap();
        let tag = ResultTag::Failed { reason: "no".into() };
        let untagged = deploying.clone().update_deploying(|state| DeployState { tag, ..state }).unwrap();
        assert!(untagged.is_only_progress(&deploying));
        assert!(!delayed.is_only_progress(&deploying) && !late.is_only_progress(&stalled));
    }

    #[test]
    fn a_retry_remembers_that_the_merge_was_begun() {
        let begun = Stage::new_merging().begin_merge().unwrap();
        let retried = begun.into_errored("502".into(), at(2)).unwrap().retry_from_error(at(3)).unwrap();
        assert_eq!(retried, Stage::Merging(MergeState { begun: true, ..MergeState::default() }));
    }

    #[test]
    fn a_retry_asks_for_approvals_again() {
        let retried = awaiting().into_errored("403".into(), at(2)).unwrap().retry_from_error(at(60)).unwrap();
        assert_eq!(retried.awaiting().map(|awaiting| awaiting.deadline), Some(at(3660)));
    }
}
