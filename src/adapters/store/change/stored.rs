//! The stored form of a change and of its stage.

use jiff::Timestamp;

use crate::adapters::store::plan::StoredPlan;
use crate::adapters::store::stored::{StoredBody, stored};
use crate::adapters::store::stored_parts::{StoredLock, StoredQuarantine};
use crate::domain::change::approval::{Approval, Awaiting, Ignored, IgnoredBecause, Voided, VoidedBecause, Waits, Way};
use crate::domain::change::{
    BranchSeen, BuildSeen, By, Change, ChangeId, Deploying, FailureEvidence, Frozen, FrozenResult, ImageSeen, Merging,
    Nudge, Other, OtherState, Progress, Proof, Pull, RolledBack, Runs, Silence, Stage, Tag, Trouble, Word, WordSaid,
};
use crate::domain::model::actor::{Called, PersonId};
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

    struct StoredFrozen for Frozen {
        branch: String,
        result: Option<StoredFrozenResult>,
        making: Option<StoredFrozenResult>,
        pull: Option<StoredPull>,
        tidy: bool,
    }

    struct StoredFrozenResult for FrozenResult {
        base: Sha,
        head: Sha,
    }

    struct StoredPull for Pull {
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

    enum StoredBy for By {
        Person(inner: PersonId),
        Github {
            github: Option<String>,
        },
    }

    struct StoredMerging for Merging {
        begun: bool,
        trouble: Option<StoredTrouble>,
        awaiting: Option<Box<StoredAwaiting>>,
    }

    struct StoredTrouble for Trouble {
        since: Timestamp,
        tries: u32,
        why: String,
    }

    struct StoredDeploying for Deploying {
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

    enum StoredRolledBack for RolledBack {
        Done { by: ChangeId, at: Timestamp, },
        Begun { by: ChangeId, },
        Impossible { why: String, },
    }

    enum StoredTag for Tag {
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

    enum StoredNudge for Nudge {
        Done,
        Failed { why: String, },
    }

    struct StoredOther for Other {
        artefact: ArtefactName,
        version: Option<String>,
        state: StoredOtherState,
    }

    enum StoredOtherState for OtherState {
        Runs { ready: u32, },
        RollsOut { ready: u32, wanted: u32, },
        Fails { reason: String, },
        Unknown,
    }

    struct StoredProgress for Progress {
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

    enum StoredWay for Way {
        Slack,
        Github,
    }

    struct StoredAwaiting for Awaiting {
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

    enum StoredWaits for Waits {
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

    struct StoredIgnored for Ignored {
        login: String,
        why: StoredIgnoredBecause,
    }

    enum StoredIgnoredBecause for IgnoredBecause {
        Unmapped,
        RequesterUnmapped,
        Requester,
        NotAsked,
        NoAccess,
    }

    struct StoredVoided for Voided {
        at: Timestamp,
        count: u32,
        why: StoredVoidedBecause,
    }

    enum StoredVoidedBecause for VoidedBecause {
        BranchMoved,
        Pushed { commit: String, },
    }

    enum StoredCalled for Called {
        Group {
            id: String,
            handle: String,
        },
        Person(inner: PersonId),
        Team(inner: String),
        Handle(inner: String),
        Everyone,
    }

    struct StoredSilence for Silence {
        looked_at: Timestamp,
        branch: StoredBranchSeen,
        build: StoredBuildSeen,
        image: StoredImageSeen,
        word: Option<StoredWord>,
        runs: Option<StoredRuns>,
    }

    enum StoredBranchSeen for BranchSeen {
        AsMerged,
        MovedOn { to: Sha, },
        Gone,
        Unread { why: String, },
    }

    enum StoredBuildSeen for BuildSeen {
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

    enum StoredImageSeen for ImageSeen {
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

    struct StoredWord for Word {
        by: String,
        said: StoredWordSaid,
        text: String,
        commit: Option<Sha>,
        at: Timestamp,
    }

    enum StoredWordSaid for WordSaid {
        Succeeded,
        Failed,
        Progressing,
    }

    struct StoredRuns for Runs {
        version: String,
        untold: bool,
    }
}
