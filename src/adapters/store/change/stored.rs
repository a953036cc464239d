//! The stored form of a change and of its stage.

use jiff::Timestamp;

use crate::adapters::store::plan::StoredPlan;
use crate::adapters::store::stored::{StoredBody, stored};
use crate::adapters::store::stored_parts::{StoredLock, StoredQuarantine};
use crate::domain::change::approval::{
    Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason, MergeCondition, VoidReason,
    VoidedApprovals,
};
use crate::domain::change::{
    BranchFinding, BuildFinding, CancelledBy, Change, ChangeId, CoDeployedState, CoDeployedStatus, ControllerMessage,
    DeployState, FailureEvidence, ImageFinding, MergeState, Proof, PullRequestRef, ReportedOutcome, ResultBranch,
    ResultCommit, ResultTag, RetryState, RollbackStatus, RolloutProgress, RunningInstead, Stage, StallDiagnosis,
    TriggerOutcome,
};
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::version::Sha;

impl StoredBody for StoredChange {
    const VERSION: u32 = 1;
}

stored! {
    struct StoredChange for Change {
        id: ChangeId,
        requester: PersonId,
        asked_in: Option<String>,
        asked_at: Timestamp,
        taken_up_at: Option<Timestamp>,
        plan: StoredPlan,
        stage: StoredStage,
        request: Option<String>,
        frozen: Option<StoredFrozen>,
    }

    struct StoredFrozen for ResultBranch {
        branch: String,
        result: Option<StoredFrozenResult>,
        making: Option<StoredFrozenResult>,
        pull: Option<StoredPull>,
        tidy: bool,
    }

    struct StoredFrozenResult for ResultCommit {
        base: Sha,
        head: Sha,
    }

    struct StoredPull for PullRequestRef {
        number: u64,
        url: String,
    }

    enum StoredStage for Stage {
        AwaitingApproval(inner: StoredAwaiting),
        Merging(inner: StoredMerging),
        Deploying(inner: StoredDeploying),
        Deployed {
            deploying: StoredDeploying,
            at: Timestamp,
            ready: u32,
            proof: StoredProof,
        },
        Failed {
            deploying: StoredDeploying,
            at: Timestamp,
            reason: String,
            evidence: StoredFailureEvidence,
        },
        Stalled {
            deploying: StoredDeploying,
            at: Timestamp,
            runs: Option<String>,
            unread: bool,
        },
        Conflicted {
            at: Timestamp,
            files: Vec<String>,
        },
        Errored {
            at: Timestamp,
            why: String,
            merging: StoredMerging,
        },
        Cancelled {
            at: Timestamp,
            by: StoredBy,
        },
        Rejected {
            at: Timestamp,
            by: PersonId,
            reason: String,
        },
        Expired {
            at: Timestamp,
            awaiting: StoredAwaiting,
        },
        Superseded {
            at: Timestamp,
            by: ChangeId,
            deploying: Option<Box<StoredDeploying>>,
        },
    }

    enum StoredBy for CancelledBy {
        Person(inner: PersonId),
        Github {
            github: Option<String>,
        },
    }

    struct StoredMerging for MergeState {
        begun: bool,
        trouble: Option<StoredTrouble>,
        awaiting: Option<Box<StoredAwaiting>>,
    }

    struct StoredTrouble for RetryState {
        since: Timestamp,
        tries: u32,
        why: String,
    }

    struct StoredDeploying for DeployState {
        result: Sha,
        merged_at: Timestamp,
        deadline: Timestamp,
        tag: StoredTag,
        nudge: Option<StoredNudge>,
        rollout: Option<StoredProgress>,
        others: Vec<StoredOther>,
        trouble: Option<StoredTrouble>,
        approvals: Vec<StoredApproval>,
        by_hand: Option<String>,
        unseen: Option<Sha>,
        runs_as: Option<String>,
        rolled_back: Option<StoredRolledBack>,
        built_at: Option<Timestamp>,
        seen_at: Option<Timestamp>,
        silence: Option<Box<StoredSilence>>,
        authors: Option<Vec<PersonId>>,
    }

    enum StoredRolledBack for RollbackStatus {
        Done { by: ChangeId, at: Timestamp, },
        Begun { by: ChangeId, },
        Impossible { why: String, },
    }

    enum StoredTag for ResultTag {
        NotYet,
        Chosen {
            name: String,
            tries: u32,
        },
        Made {
            name: String,
            at: Timestamp,
        },
        Missing {
            why: String,
        },
    }

    enum StoredNudge for TriggerOutcome {
        Done,
        Failed { why: String, },
    }

    struct StoredOther for CoDeployedStatus {
        artefact: ArtefactName,
        version: Option<String>,
        state: StoredOtherState,
    }

    enum StoredOtherState for CoDeployedState {
        Runs { ready: u32, },
        RollsOut { ready: u32, wanted: u32, },
        Fails { reason: String, },
        Unknown,
    }

    struct StoredProgress for RolloutProgress {
        ready: u32,
        wanted: u32,
        delayed_by: Option<String>,
    }

    enum StoredProof for Proof {
        #[serde(rename = "tag")]
        TagPattern,
        #[serde(rename = "label")]
        RevisionLabel,
        GitTag,
        Report,
        Image,
    }

    enum StoredFailureEvidence for FailureEvidence {
        Workload,
        NotApplied,
        Deadline,
        HealthReport,
    }

    struct StoredApproval for Approval {
        by: PersonId,
        at: Timestamp,
        way: StoredWay,
    }

    enum StoredWay for ApprovalPlatform {
        Slack,
        Github,
    }

    struct StoredAwaiting for ApprovalState {
        required: u32,
        asked: Vec<StoredCalled>,
        approvals: Vec<StoredApproval>,
        since: Timestamp,
        deadline: Timestamp,
        nudged: bool,
        waits_for: Vec<StoredWaits>,
        ignored: Vec<StoredIgnored>,
        voided: Option<StoredVoided>,
        trouble: Option<StoredTrouble>,
    }

    enum StoredWaits for MergeCondition {
        ChecksRunning {
            names: Vec<String>,
        },
        ChecksRed {
            names: Vec<String>,
        },
        NoCheck,
        ChangesRequested {
            logins: Vec<String>,
        },
        Mergeability,
        GithubRules {
            reviews: u64,
        },
        Retargeted {
            base: String,
        },
        Locked {
            lock: StoredLock,
        },
        Frozen {
            until: Timestamp,
            reason: Option<String>,
        },
        Quarantined {
            quarantine: Box<StoredQuarantine>,
        },
        RightLost,
        RightsUnknown {
            why: String,
        },
    }

    struct StoredIgnored for IgnoredReview {
        login: String,
        why: StoredIgnoredBecause,
    }

    enum StoredIgnoredBecause for IgnoredReviewReason {
        Unmapped,
        RequesterUnmapped,
        Requester,
        NotAsked,
        NoAccess,
    }

    struct StoredVoided for VoidedApprovals {
        at: Timestamp,
        count: u32,
        why: StoredVoidedBecause,
    }

    enum StoredVoidedBecause for VoidReason {
        BranchMoved,
        Pushed { commit: String, },
    }

    enum StoredCalled for MemberLabel {
        Group {
            id: String,
            handle: String,
        },
        Person(inner: PersonId),
        Team(inner: String),
        Handle(inner: String),
        Everyone,
    }

    struct StoredSilence for StallDiagnosis {
        looked_at: Timestamp,
        branch: StoredBranchSeen,
        build: StoredBuildSeen,
        image: StoredImageSeen,
        word: Option<StoredWord>,
        runs: Option<StoredRuns>,
    }

    enum StoredBranchSeen for BranchFinding {
        AsMerged,
        MovedOn { to: Sha, },
        Gone,
        Unread { why: String, },
    }

    enum StoredBuildSeen for BuildFinding {
        NotNeeded,
        NotBegun,
        Running {
            names: Vec<String>,
        },
        Failed {
            names: Vec<String>,
            url: Option<String>,
        },
        Done,
        Unread {
            why: String,
        },
    }

    enum StoredImageSeen for ImageFinding {
        There {
            tag: String,
        },
        Missing {
            name: String,
        },
        Untold,
        Unread {
            why: String,
        },
    }

    struct StoredWord for ControllerMessage {
        by: String,
        said: StoredWordSaid,
        text: String,
        commit: Option<Sha>,
        at: Timestamp,
    }

    enum StoredWordSaid for ReportedOutcome {
        Succeeded,
        Failed,
        Progressing,
    }

    struct StoredRuns for RunningInstead {
        version: String,
        untold: bool,
    }
}
