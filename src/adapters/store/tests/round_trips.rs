//! Every stored type comes back as it was: each variant, with all of its fields filled.

use jiff::Timestamp;

use super::*;
use crate::adapters::store::change::stored::StoredChange;
use crate::adapters::store::ledger::StoredLedgerDetails;
use crate::adapters::store::outbox::StoredMessage;
use crate::adapters::store::stored::{StoredBody, read_body, write_body};
use crate::domain::change::approval::{Approval, Awaiting, Ignored, IgnoredBecause, Voided, VoidedBecause, Waits, Way};
use crate::domain::change::{
    BranchSeen, BuildSeen, By, Change, Deploying, FailureEvidence, Frozen, FrozenResult, ImageSeen, Merging, Nudge,
    Other, OtherState, Progress, Proof, Pull, RolledBack, Runs, Silence, Stage, Tag, Trouble, Word, WordSaid,
};
use crate::domain::model::actor::Called;
use crate::domain::model::message::{Asked, File, LinkTo};
use crate::domain::view::history::ArrivalTold;

fn assert_comes_back<B: StoredBody>(value: &B::Domain)
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

fn trouble() -> Trouble {
    Trouble { since: later(1), tries: 3, why: "502".into() }
}

fn approval(way: Way) -> Approval {
    Approval { by: person("U0BOB"), at: later(2), way }
}

fn awaiting() -> Awaiting {
    Awaiting {
        required: 2,
        asked: vec![
            Called::Group { id: "S1".into(), handle: "managers".into() },
            Called::Person(person("U0BOB")),
            Called::Team("acme/platform".into()),
            Called::Handle("octocat".into()),
            Called::Everyone,
        ],
        approvals: vec![approval(Way::Slack), approval(Way::Github)],
        since: later(3),
        deadline: later(4),
        nudged: true,
        waits_for: vec![
            Waits::ChecksRunning { names: vec!["build".into()] },
            Waits::ChecksRed { names: vec!["test".into()] },
            Waits::NoCheck,
            Waits::ChangesRequested { logins: vec!["octocat".into()] },
            Waits::Mergeability,
            Waits::GithubRules { reviews: 2 },
            Waits::Retargeted { base: "main".into() },
            Waits::Locked { lock: sample::lock() },
            Waits::Frozen { until: later(5), reason: Some("Friday".into()) },
            Waits::Quarantined { quarantine: Box::new(sample::quarantine()) },
            Waits::RightLost,
            Waits::RightsUnknown { why: "502".into() },
        ],
        ignored: [
            IgnoredBecause::Unmapped,
            IgnoredBecause::RequesterUnmapped,
            IgnoredBecause::Requester,
            IgnoredBecause::NotAsked,
            IgnoredBecause::NoAccess,
        ]
        .map(|why| Ignored { login: "octocat".into(), why })
        .into(),
        voided: Some(Voided { at: later(6), count: 1, why: VoidedBecause::Pushed { commit: "abc".into() } }),
        trouble: Some(trouble()),
    }
}

fn silence(branch: BranchSeen, build: BuildSeen, image: ImageSeen, said: WordSaid) -> Box<Silence> {
    let word = Word { by: "Flux".into(), said, text: "applied".into(), commit: Some(sample::sha('c')), at: later(7) };
    let runs = Some(Runs { version: "1.4".into(), untold: true });
    Box::new(Silence { looked_at: later(8), branch, build, image, word: Some(word), runs })
}

fn deploying() -> Deploying {
    let other = |state| Other { artefact: ArtefactName::new("search"), version: Some("1.4".into()), state };
    Deploying {
        result: sample::sha('a'),
        merged_at: later(9),
        deadline: later(10),
        tag: Tag::Chosen { name: "qa/1".into(), tries: 2 },
        nudge: Some(Nudge::Failed { why: "401".into() }),
        rollout: Some(Progress { ready: 1, wanted: 2, delayed_by: Some("quota".into()) }),
        others: vec![
            other(OtherState::Runs { ready: 2 }),
            other(OtherState::RollsOut { ready: 1, wanted: 2 }),
            other(OtherState::Fails { reason: "OOMKilled".into() }),
            other(OtherState::Unknown),
        ],
        trouble: Some(trouble()),
        approvals: vec![approval(Way::Slack)],
        by_hand: Some("octocat".into()),
        unseen: Some(sample::sha('b')),
        runs_as: Some("1.4".into()),
        rolled_back: Some(RolledBack::Done { by: sample::change().id, at: later(11) }),
        built_at: Some(later(12)),
        seen_at: Some(later(13)),
        silence: Some(silence(
            BranchSeen::MovedOn { to: sample::sha('d') },
            BuildSeen::Failed { names: vec!["build".into()], url: Some("https://ci".into()) },
            ImageSeen::Missing { name: "checkout".into() },
            WordSaid::Failed,
        )),
        authors: Some(vec![person("U0ALICE")]),
    }
}

fn stages() -> Vec<Stage> {
    let id = sample::change().id;
    let with = |change: fn(&mut Deploying)| {
        let mut deploying = deploying();
        change(&mut deploying);
        Stage::Deploying(deploying)
    };
    let mut stages = vec![
        Stage::AwaitingApproval(awaiting()),
        Stage::AwaitingApproval(Awaiting {
            voided: Some(Voided { at: later(6), count: 1, why: VoidedBecause::BranchMoved }),
            ..awaiting()
        }),
        Stage::Merging(Merging { begun: true, trouble: Some(trouble()), awaiting: Some(Box::new(awaiting())) }),
        with(|deploying| deploying.tag = Tag::NotYet),
        with(|deploying| deploying.tag = Tag::Made { name: "qa/1".into(), at: later(1) }),
        with(|deploying| deploying.tag = Tag::Missing { why: "protected".into() }),
        with(|deploying| deploying.nudge = Some(Nudge::Done)),
        with(|deploying| deploying.rolled_back = Some(RolledBack::Begun { by: sample::change().id })),
        with(|deploying| deploying.rolled_back = Some(RolledBack::Impossible { why: "nothing ran".into() })),
        with(|deploying| {
            deploying.silence =
                Some(silence(BranchSeen::AsMerged, BuildSeen::NotNeeded, ImageSeen::Untold, WordSaid::Succeeded));
        }),
        with(|deploying| {
            let (build, image) = (BuildSeen::NotBegun, ImageSeen::There { tag: "1".into() });
            deploying.silence = Some(silence(BranchSeen::Gone, build, image, WordSaid::Progressing));
        }),
        with(|deploying| {
            let why = || "502".to_owned();
            let (build, image) = (BuildSeen::Unread { why: why() }, ImageSeen::Unread { why: why() });
            deploying.silence = Some(silence(BranchSeen::Unread { why: why() }, build, image, WordSaid::Failed));
        }),
        with(|deploying| {
            let build = BuildSeen::Running { names: vec!["build".into()] };
            deploying.silence = Some(silence(BranchSeen::AsMerged, build, ImageSeen::Untold, WordSaid::Failed));
        }),
        with(|deploying| {
            deploying.silence =
                Some(silence(BranchSeen::AsMerged, BuildSeen::Done, ImageSeen::Untold, WordSaid::Failed));
        }),
        Stage::Stalled { deploying: deploying(), at: later(14), runs: Some("1.3".into()), unread: true },
        Stage::Conflicted { at: later(15), files: vec!["Cargo.lock".into()] },
        Stage::Errored { at: later(16), why: "403".into(), merging: Merging::default() },
        Stage::Cancelled { at: later(17), by: By::Person(person("U0ALICE")) },
        Stage::Cancelled { at: later(17), by: By::Github { github: Some("octocat".into()) } },
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
fn a_change_comes_back_in_every_stage() {
    let mut names = std::collections::BTreeSet::new();
    for stage in stages() {
        names.insert(stage.name());
        assert_eq!(LedgerKind::from(&stage).as_str(), stage.name(), "the ledger calls a stage by its name");
        let result = FrozenResult { base: sample::sha('1'), head: sample::sha('2') };
        let frozen = Frozen {
            branch: "gantry/1".into(),
            result: Some(result.clone()),
            making: Some(result),
            pull: Some(Pull { number: 7, url: "https://github.com/acme/checkout/pull/7".into() }),
            tidy: true,
        };
        let mut change = Change { stage, frozen: Some(frozen), request: Some("r1".into()), ..sample::change() };
        change.taken_up_at = Some(later(23));
        assert_comes_back::<StoredChange>(&change);
        change.plan.rollback = Some(sample::rollback());
        assert_comes_back::<StoredChange>(&change);
    }
    assert_eq!(names.len(), 12, "all stages: {names:?}");
}

#[test]
fn a_message_comes_back_wherever_it_goes() {
    let key = || MessageKey::new("card:1");
    let url = || ResponseUrl { url: "https://hooks.slack.com/1".into(), until: later(1) };
    let asked = Some(Asked { person: person("U0ALICE"), channel: Some("C1".into()) });
    for to in [
        To::Post { channel: "C1".into(), key: key(), thread: Some(key()), asked },
        To::Edit { key: key() },
        To::Person {
            person: person("U0ALICE"),
            channel: Some("C1".into()),
            thread: Some(key()),
            response_url: Some(url()),
            replace: true,
        },
        To::Home { person: person("U0ALICE"), key: key() },
        To::Reply { response_url: url(), in_channel: true, replace: true },
    ] {
        assert_comes_back::<StoredMessage>(&Message {
            to,
            text: "text".into(),
            blocks: vec![json!({ "type": "divider" })],
            plain: Some(vec![json!({ "type": "section" })]),
            link_to: Some(LinkTo { key: key(), only_elsewhere: true }),
            file: Some(File { name: "a.diff".into(), title: "a".into(), text: "+b".into() }),
            broadcast: true,
            patient: true,
            request: Some("r1".into()),
        });
    }
}

#[test]
fn the_details_of_the_ledger_come_back() {
    let version = sample::plan().version;
    let overridden = crate::domain::rules::gate::Overridden {
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
    let arrival = ArrivalTold {
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
        assert_comes_back::<StoredLedgerDetails>(&details);
    }
}
