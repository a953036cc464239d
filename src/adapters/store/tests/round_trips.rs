//! Every stored type survives a round trip: each variant, with all of its fields filled.

use jiff::Timestamp;

use super::*;
use crate::adapters::store::change::stored::StoredChange;
use crate::adapters::store::ledger::StoredLedgerDetails;
use crate::adapters::store::outbox::StoredMessage;
use crate::adapters::store::stored::{StoredBody, read_body, write_body};
use crate::domain::change::approval::{
    Approval, ApprovalPlatform, ApprovalState, IgnoredReview, IgnoredReviewReason, VoidReason, VoidedApprovals,
};
use crate::domain::change::plan::Direction;
use crate::domain::change::{
    BranchFinding, BuildFinding, CancelledBy, Change, CoDeployedState, CoDeployedStatus, ControllerMessage,
    DeployState, FailureEvidence, ImageFinding, MergeState, Proof, PullRequestRef, ReportedOutcome, ResultBranch,
    ResultCommit, ResultTag, RetryState, RollbackStatus, RolloutProgress, RunningInstead, Stage, StallDiagnosis,
    TriggerOutcome,
};
use crate::domain::model::actor::MemberLabel;
use crate::domain::model::message::{FallbackRecipient, MessageFile, MessageLink};
use crate::domain::rules::merge_condition::MergeCondition;
use crate::domain::view::history::ArrivalDetails;

fn assert_round_trip<B: StoredBody>(value: &B::Domain)
where
    B::Domain: Clone + std::fmt::Debug + PartialEq,
{
    let text = write_body::<B>(value.clone()).unwrap();
    assert_eq!(read_body::<B>(&text).as_ref(), Ok(value), "{text}");
}

fn later(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

fn person(name: &str) -> PersonId {
    PersonId::new(name)
}

fn retry_state() -> RetryState {
    RetryState { since: later(1), attempts: 3, reason: "502".into() }
}

fn approval(way: ApprovalPlatform) -> Approval {
    Approval { by: person("U0BOB"), at: later(2), platform: way }
}

fn awaiting() -> ApprovalState {
    ApprovalState {
        required: 2,
        approvers: vec![
            MemberLabel::Group { id: "S1".into(), handle: "managers".into() },
            MemberLabel::Person(person("U0BOB")),
            MemberLabel::Team("acme/platform".into()),
            MemberLabel::Handle("octocat".into()),
            MemberLabel::Everyone,
        ],
        approvals: vec![approval(ApprovalPlatform::Slack), approval(ApprovalPlatform::Github)],
        since: later(3),
        deadline: later(4),
        reminded: true,
        waits_for: vec![
            MergeCondition::ChecksRunning { names: vec!["build".into()] },
            MergeCondition::ChecksRed { names: vec!["test".into()] },
            MergeCondition::NoCheck,
            MergeCondition::ChangesRequested { logins: vec!["octocat".into()] },
            MergeCondition::Mergeability,
            MergeCondition::GithubRules { reviews: 2 },
            MergeCondition::Retargeted { base: "main".into() },
            MergeCondition::Locked { lock: sample::lock() },
            MergeCondition::Frozen { until: later(5), reason: Some("Friday".into()) },
            MergeCondition::Quarantined { quarantine: Box::new(sample::quarantine()) },
            MergeCondition::PermissionLost,
            MergeCondition::PermissionUnknown { reason: "502".into() },
        ],
        ignored: [
            IgnoredReviewReason::Unmapped,
            IgnoredReviewReason::RequesterUnmapped,
            IgnoredReviewReason::Requester,
            IgnoredReviewReason::NotAsked,
            IgnoredReviewReason::NoAccess,
        ]
        .map(|why| IgnoredReview { login: "octocat".into(), reason: why })
        .into(),
        voided: Some(VoidedApprovals { at: later(6), count: 1, reason: VoidReason::Pushed { commit: "abc".into() } }),
        retry: Some(retry_state()),
    }
}

fn stall_diagnosis(
    branch: BranchFinding,
    build: BuildFinding,
    image: ImageFinding,
    said: ReportedOutcome,
) -> Box<StallDiagnosis> {
    let message = ControllerMessage {
        sender: "Flux".into(),
        outcome: said,
        text: "applied".into(),
        commit: Some(sample::sha('c')),
        at: later(7),
    };
    let runs = Some(RunningInstead { version: "1.4".into(), is_commit_unknown: true });
    Box::new(StallDiagnosis {
        checked_at: later(8),
        branch,
        build,
        image,
        last_report: Some(message),
        running_instead: runs,
    })
}

fn deploying() -> DeployState {
    let other = |state| CoDeployedStatus { artefact: ArtefactName::new("search"), version: Some("1.4".into()), state };
    DeployState {
        result: sample::sha('a'),
        merged_at: later(9),
        deadline: later(10),
        tag: ResultTag::Named { name: "qa/1".into(), tries: 2 },
        trigger_outcome: Some(TriggerOutcome::Failed { why: "401".into() }),
        rollout: Some(RolloutProgress { ready: 1, wanted: 2, delayed_by: Some("quota".into()) }),
        co_deployed: vec![
            other(CoDeployedState::Running { ready: 2 }),
            other(CoDeployedState::RollingOut { ready: 1, wanted: 2 }),
            other(CoDeployedState::Failed { reason: "OOMKilled".into() }),
            other(CoDeployedState::Unknown),
        ],
        retry: Some(retry_state()),
        approvals: vec![approval(ApprovalPlatform::Slack)],
        merged_by: Some("octocat".into()),
        unexpected_base: Some(sample::sha('b')),
        running_label: Some("1.4".into()),
        rolled_back: Some(RollbackStatus::Done { by: sample::change().id, at: later(11) }),
        built_at: Some(later(12)),
        seen_at: Some(later(13)),
        stall_diagnosis: Some(stall_diagnosis(
            BranchFinding::MovedOn { to: sample::sha('d') },
            BuildFinding::Failed { names: vec!["build".into()], url: Some("https://ci".into()) },
            ImageFinding::Missing { name: "checkout".into() },
            ReportedOutcome::Failed,
        )),
        notified_authors: Some(vec![person("U0ALICE")]),
    }
}

fn stages() -> Vec<Stage> {
    let id = sample::change().id;
    let with = |change: fn(&mut DeployState)| {
        let mut deploying = deploying();
        change(&mut deploying);
        Stage::Deploying(deploying)
    };
    let mut stages = vec![
        Stage::AwaitingApproval(awaiting()),
        Stage::AwaitingApproval(ApprovalState {
            voided: Some(VoidedApprovals { at: later(6), count: 1, reason: VoidReason::BranchMoved }),
            ..awaiting()
        }),
        Stage::Merging(MergeState { begun: true, retry: Some(retry_state()), awaiting: Some(Box::new(awaiting())) }),
        with(|deploying| deploying.tag = ResultTag::Pending),
        with(|deploying| deploying.tag = ResultTag::Created { name: "qa/1".into(), at: later(1) }),
        with(|deploying| deploying.tag = ResultTag::Failed { reason: "protected".into() }),
        with(|deploying| deploying.trigger_outcome = Some(TriggerOutcome::Done)),
        with(|deploying| deploying.rolled_back = Some(RollbackStatus::Begun { by: sample::change().id })),
        with(|deploying| deploying.rolled_back = Some(RollbackStatus::Impossible { why: "nothing ran".into() })),
        with(|deploying| {
            deploying.stall_diagnosis = Some(stall_diagnosis(
                BranchFinding::AsMerged,
                BuildFinding::NotNeeded,
                ImageFinding::Unrecognisable,
                ReportedOutcome::Succeeded,
            ));
        }),
        with(|deploying| {
            let (build, image) = (BuildFinding::NotBegun, ImageFinding::Present { tag: "1".into() });
            deploying.stall_diagnosis =
                Some(stall_diagnosis(BranchFinding::Gone, build, image, ReportedOutcome::Progressing));
        }),
        with(|deploying| {
            let why = || "502".to_owned();
            let (build, image) = (BuildFinding::Unread { reason: why() }, ImageFinding::Unread { reason: why() });
            deploying.stall_diagnosis =
                Some(stall_diagnosis(BranchFinding::Unread { why: why() }, build, image, ReportedOutcome::Failed));
        }),
        with(|deploying| {
            let build = BuildFinding::Running { names: vec!["build".into()] };
            deploying.stall_diagnosis = Some(stall_diagnosis(
                BranchFinding::AsMerged,
                build,
                ImageFinding::Unrecognisable,
                ReportedOutcome::Failed,
            ));
        }),
        with(|deploying| {
            deploying.stall_diagnosis = Some(stall_diagnosis(
                BranchFinding::AsMerged,
                BuildFinding::Done,
                ImageFinding::Unrecognisable,
                ReportedOutcome::Failed,
            ));
        }),
        Stage::Stalled { deploying: deploying(), at: later(14), runs: Some("1.3".into()), unread: true },
        Stage::Conflicted { at: later(15), files: vec!["Cargo.lock".into()] },
        Stage::Errored { at: later(16), reason: "403".into(), merging: MergeState::default() },
        Stage::Cancelled { at: later(17), by: CancelledBy::Person(person("U0ALICE")) },
        Stage::Cancelled { at: later(17), by: CancelledBy::Github { github: Some("octocat".into()) } },
        Stage::Rejected { at: later(18), by: person("U0BOB"), reason: "not today".into() },
        Stage::Expired { at: later(19), awaiting: awaiting() },
        Stage::Superseded { at: later(20), by: id, deploying: Some(Box::new(deploying())) },
    ];
    for proof in [Proof::TagPattern, Proof::RevisionLabel, Proof::GitTag, Proof::Report, Proof::Image] {
        stages.push(Stage::Deployed { deploying: deploying(), at: later(21), ready: 2, proof });
    }
    for evidence in [
        FailureEvidence::Workload,
        FailureEvidence::NotApplied,
        FailureEvidence::Deadline,
        FailureEvidence::HealthReport,
    ] {
        stages.push(Stage::Failed { deploying: deploying(), at: later(22), reason: "OOMKilled".into(), evidence });
    }
    stages
}

#[test]
fn a_change_round_trips_in_every_stage() {
    let mut names = std::collections::BTreeSet::new();
    for stage in stages() {
        names.insert(stage.name());
        assert_eq!(LedgerKind::from(&stage).as_str(), stage.name(), "the ledger uses the name of the stage");
        let result = ResultCommit { base: sample::sha('1'), head: sample::sha('2') };
        let frozen = ResultBranch {
            branch: "gantry/1".into(),
            result: Some(result.clone()),
            replacement: Some(result),
            pull: Some(PullRequestRef { number: 7, url: "https://github.com/acme/checkout/pull/7".into() }),
            is_cleaned_up: true,
        };
        let mut change = Change { stage, result_branch: Some(frozen), request: Some("r1".into()), ..sample::change() };
        change.retried_at = Some(later(23));
        assert_round_trip::<StoredChange>(&change);
        change.plan.direction = Direction::Rollback(sample::rollback());
        assert_round_trip::<StoredChange>(&change);
    }
    assert_eq!(names.len(), 12, "all stages: {names:?}");
}

#[test]
fn a_message_round_trips_for_every_destination() {
    let key = || MessageKey::new("card:1");
    let url = || ResponseUrl { url: "https://hooks.slack.com/1".into(), until: later(1) };
    let asked = Some(FallbackRecipient { person: person("U0ALICE"), channel: Some("C1".into()) });
    for to in [
        Destination::Post { channel: "C1".into(), key: key(), thread: Some(key()), asked },
        Destination::Edit { key: key() },
        Destination::Person {
            person: person("U0ALICE"),
            channel: Some("C1".into()),
            thread: Some(key()),
            response_url: Some(url()),
            replace: true,
        },
        Destination::Home { person: person("U0ALICE"), key: key() },
        Destination::Reply { response_url: url(), in_channel: true, replace: true },
    ] {
        assert_round_trip::<StoredMessage>(&Message {
            to,
            text: "text".into(),
            blocks: vec![json!({ "type": "divider" })],
            plain: Some(vec![json!({ "type": "section" })]),
            link_to: Some(MessageLink { key: key(), only_elsewhere: true }),
            file: Some(MessageFile { name: "a.diff".into(), title: "a".into(), text: "+b".into() }),
            broadcast: true,
            patient: true,
            request: Some("r1".into()),
        });
    }
}

#[test]
fn ledger_details_round_trip() {
    let version = sample::plan().version;
    let overridden = crate::domain::rules::gate::GateOverride {
        by: person("U0ALICE"),
        reason: "people cannot pay".into(),
        gates: vec![
            crate::domain::rules::gate::Gate::Lock { id: sample::lock().id, by: person("U0BOB") },
            crate::domain::rules::gate::Gate::Freeze,
            crate::domain::rules::gate::Gate::Soak,
            crate::domain::rules::gate::Gate::Checks,
            crate::domain::rules::gate::Gate::Quarantine { change: sample::change().id },
        ],
    };
    let arrival = ArrivalDetails {
        version: version.clone(),
        failed: Some("OOMKilled".into()),
        commit: Some(sample::commit('a', "Work")),
        took: Some(SignedDuration::from_secs(9)),
        message: Some(MessageKey::new("arrival:1")),
    };
    let stage = stages().remove(0);
    for details in [
        LedgerDetails::Change { stage: Box::new(stage), pinned: Some(sample::sha('a')), version: version.clone() },
        LedgerDetails::Overridden(overridden),
        LedgerDetails::Lock { lock: sample::lock(), taken_from: Some(person("U0BOB")) },
        LedgerDetails::Quarantine(Box::new(sample::quarantine())),
        LedgerDetails::Released { version },
        LedgerDetails::Arrival(Box::new(arrival)),
        LedgerDetails::Report {
            report: json!({ "key": "1" }),
            artefacts: Some(vec![ArtefactName::new("checkout")]),
            by: Some("label".into()),
        },
        LedgerDetails::Build(json!({ "commit": "a" })),
        LedgerDetails::Undelivered {
            queue: "C1".into(),
            key: Some(MessageKey::new("card:1")),
            text: Some("text".into()),
            file: Some("a.diff".into()),
            reason: "not_in_channel".into(),
        },
    ] {
        assert_round_trip::<StoredLedgerDetails>(&details);
    }
}
