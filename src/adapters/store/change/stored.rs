//! The stored form of a change and of its stage.

use jiff::Timestamp;

use crate::adapters::store::plan::StoredPlan;
use crate::adapters::store::stored::{StoredBody, stored};
use crate::adapters::store::stored_parts::{StoredLock, StoredQuarantine};
use crate::domain::change::approval::{
    Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason, VoidReason, VoidedApprovals,
};
use crate::domain::change::{
    BranchFinding, BuildFinding, CancelledBy, Change, CoDeployedState, CoDeployedStatus, ControllerMessage,
    DeployState, FailureEvidence, ImageFinding, MergeState, Proof, PullRequestRef, ReportedOutcome, ResultBranch,
    ResultCommit, ResultTag, RetryState, RollbackStatus, RolloutProgress, RunningInstead, Stage, StallDiagnosis,
    TriggerOutcome,
};
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;
use crate::domain::rules::merge_condition::MergeCondition;

impl StoredBody for StoredChange {
    const VERSION: u32 = 1;
}

stored! {
    struct StoredChange for Change {
        id: ChangeId,
        requester: PersonId,
        requested_in: Option<String>,
        requested_at: Timestamp,
        retried_at: Option<Timestamp>,
        plan: StoredPlan,
        stage: StoredStage,
        request: Option<String>,
        result_branch: Option<StoredResultBranch>,
    }

    struct StoredResultBranch for ResultBranch {
        branch: String,
        result: Option<StoredResultCommit>,
        replacement: Option<StoredResultCommit>,
        pull: Option<StoredPullRequestRef>,
        is_cleaned_up: bool,
    }

    struct StoredResultCommit for ResultCommit {
        base: Sha,
        head: Sha,
    }

    struct StoredPullRequestRef for PullRequestRef {
        number: u64,
        url: String,
    }

    enum StoredStage for Stage {
        AwaitingApproval(inner: StoredApprovalState),
        Merging(inner: StoredMergeState),
        Deploying(inner: StoredDeployState),
        Deployed {
            deploying: StoredDeployState,
            at: Timestamp,
            ready: u32,
            proof: StoredProof,
        },
        Failed {
            deploying: StoredDeployState,
            at: Timestamp,
            reason: String,
            evidence: StoredFailureEvidence,
        },
        Stalled {
            deploying: StoredDeployState,
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
            reason: String,
            merging: StoredMergeState,
        },
        Cancelled {
            at: Timestamp,
            by: StoredCancelledBy,
        },
        Rejected {
            at: Timestamp,
            by: PersonId,
            reason: String,
        },
        Expired {
            at: Timestamp,
            awaiting: StoredApprovalState,
        },
        Superseded {
            at: Timestamp,
            by: ChangeId,
            deploying: Option<Box<StoredDeployState>>,
        },
    }

    enum StoredCancelledBy for CancelledBy {
        Person(inner: PersonId),
        Github {
            github: Option<String>,
        },
    }

    struct StoredMergeState for MergeState {
        begun: bool,
        retry: Option<StoredRetryState>,
        awaiting: Option<Box<StoredApprovalState>>,
    }

    struct StoredRetryState for RetryState {
        since: Timestamp,
        attempts: u32,
        reason: String,
    }

    struct StoredDeployState for DeployState {
        result: Sha,
        merged_at: Timestamp,
        deadline: Timestamp,
        tag: StoredResultTag,
        trigger_outcome: Option<StoredTriggerOutcome>,
        rollout: Option<StoredRolloutProgress>,
        co_deployed: Vec<StoredCoDeployedStatus>,
        retry: Option<StoredRetryState>,
        approvals: Vec<StoredApproval>,
        merged_by: Option<String>,
        unexpected_base: Option<Sha>,
        running_label: Option<String>,
        rolled_back: Option<StoredRollbackStatus>,
        built_at: Option<Timestamp>,
        seen_at: Option<Timestamp>,
        stall_diagnosis: Option<Box<StoredStallDiagnosis>>,
        notified_authors: Option<Vec<PersonId>>,
    }

    enum StoredRollbackStatus for RollbackStatus {
        Done { by: ChangeId, at: Timestamp, },
        Begun { by: ChangeId, },
        Impossible { why: String, },
    }

    enum StoredResultTag for ResultTag {
        Pending,
        Named {
            name: String,
            tries: u32,
        },
        Created {
            name: String,
            at: Timestamp,
        },
        Failed {
            reason: String,
        },
    }

    enum StoredTriggerOutcome for TriggerOutcome {
        Done,
        Failed { why: String, },
    }

    struct StoredCoDeployedStatus for CoDeployedStatus {
        artefact: ArtefactName,
        version: Option<String>,
        state: StoredCoDeployedState,
    }

    enum StoredCoDeployedState for CoDeployedState {
        Running { ready: u32, },
        RollingOut { ready: u32, wanted: u32, },
        Failed { reason: String, },
        Unknown,
    }

    struct StoredRolloutProgress for RolloutProgress {
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
        platform: StoredApprovalPlatform,
    }

    enum StoredApprovalPlatform for ApprovalPlatform {
        Slack,
        Github,
    }

    struct StoredApprovalState for ApprovalState {
        required: u32,
        approvers: Vec<StoredMemberLabel>,
        approvals: Vec<StoredApproval>,
        since: Timestamp,
        deadline: Timestamp,
        reminded: bool,
        waits_for: Vec<StoredMergeCondition>,
        ignored: Vec<StoredIgnoredReview>,
        voided: Option<StoredVoidedApprovals>,
        retry: Option<StoredRetryState>,
    }

    enum StoredMergeCondition for MergeCondition {
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
        PermissionLost,
        PermissionUnknown {
            reason: String,
        },
    }

    struct StoredIgnoredReview for IgnoredReview {
        login: String,
        reason: StoredIgnoredReviewReason,
    }

    enum StoredIgnoredReviewReason for IgnoredReviewReason {
        Unmapped,
        RequesterUnmapped,
        Requester,
        NotAsked,
        NoAccess,
    }

    struct StoredVoidedApprovals for VoidedApprovals {
        at: Timestamp,
        count: u32,
        reason: StoredVoidReason,
    }

    enum StoredVoidReason for VoidReason {
        BranchMoved,
        Pushed { commit: String, },
    }

    enum StoredMemberLabel for MemberLabel {
        Group {
            id: String,
            handle: String,
        },
        Person(inner: PersonId),
        Team(inner: String),
        Handle(inner: String),
        Everyone,
    }

    struct StoredStallDiagnosis for StallDiagnosis {
        checked_at: Timestamp,
        branch: StoredBranchFinding,
        build: StoredBuildFinding,
        image: StoredImageFinding,
        last_report: Option<StoredControllerMessage>,
        running_instead: Option<StoredRunningInstead>,
    }

    enum StoredBranchFinding for BranchFinding {
        AsMerged,
        MovedOn { to: Sha, },
        Gone,
        Unread { why: String, },
    }

    enum StoredBuildFinding for BuildFinding {
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
            reason: String,
        },
    }

    enum StoredImageFinding for ImageFinding {
        Present {
            tag: String,
        },
        Missing {
            name: String,
        },
        Unrecognisable,
        Unread {
            reason: String,
        },
    }

    struct StoredControllerMessage for ControllerMessage {
        sender: String,
        outcome: StoredReportedOutcome,
        text: String,
        commit: Option<Sha>,
        at: Timestamp,
    }

    enum StoredReportedOutcome for ReportedOutcome {
        Succeeded,
        Failed,
        Progressing,
    }

    struct StoredRunningInstead for RunningInstead {
        version: String,
        is_commit_unknown: bool,
    }
}
