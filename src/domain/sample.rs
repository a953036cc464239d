//! Sample values for tests: the demo's artefacts on the demo's ladder, and plans, changes and refusals.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::change::{Change, Stage};
use crate::domain::change::approval::{Approval, ApprovalPlatform, ApprovalState};
use crate::domain::change::plan::{Direction, GitWrite, Plan};
use crate::domain::git::commit_summary::CommitSummary;
use crate::domain::git::comparison::{ChangedFile, ChangedFiles};
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Place};
use crate::domain::model::catalogue::{Catalogue, Ladder};
use crate::domain::model::environment::{Environment, EnvironmentName, Policy, PromotionMethod};
use crate::domain::model::ids::ChangeId;
use crate::domain::model::ids::LockId;
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::model::workload::Namespace;
use crate::domain::rules::conflict::{AskerRole, ChangeInProgress};
use crate::domain::rules::facts::GateInputs;
use crate::domain::rules::facts::PromotionFacts;
use crate::domain::rules::image_presence::ImagePresence;
use crate::domain::rules::lock::Lock;
use crate::domain::rules::merge_condition::MergeCondition;
use crate::domain::rules::quarantine::{Hold, Quarantine};
use crate::domain::rules::refusal::{Refusal, RestrictedAction};
use crate::domain::rules::rollback::{BadVersion, HealthyPeriod, Rollback, RollbackEvidence};
use crate::domain::view::why::{ReadyPromotion, WhyAnswer};

pub(crate) fn catalogue() -> Catalogue {
    let environments = [
        ("development", "develop", ""),
        ("qa", "qa", ""),
        ("staging", "staging", "stg"),
        ("prod", "prod", "production"),
    ];
    let ladder =
        Ladder::new(environments.iter().map(|(name, branch, alias)| environment(name, branch, alias)).collect());
    let artefacts = [
        ("checkout", "acme/checkout"),
        ("mailer", "acme/shop"),
        ("search", "acme/search"),
        ("storefront", "acme/shop"),
    ];
    let artefacts = artefacts.iter().map(|(name, repository)| Artefact {
        paths: if *repository == "acme/shop" { vec![format!("{name}/**")] } else { Vec::new() },
        ..artefact(name, repository, &ladder)
    });
    Catalogue { artefacts: artefacts.collect(), ladder }
}

/// The commit with the SHA that repeats this digit.
pub(crate) fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().expect("a commit")
}

/// A commit by Alice.
pub(crate) fn commit(digit: char, subject: &str) -> Commit {
    let sha = sha(digit);
    let url = format!("https://github.com/acme/checkout/commit/{sha}");
    Commit {
        sha,
        subject: subject.to_owned(),
        author: "Alice Adler".to_owned(),
        login: None,
        only_moves: false,
        brings: Vec::new(),
        url,
    }
}

/// A promotion of `checkout` to `qa`.
pub(crate) fn plan() -> Plan {
    let sha: Sha = "4f1c2ab".repeat(6)[..40].parse().expect("a commit");
    Plan {
        artefact: ArtefactName::new("checkout"),
        environment: EnvironmentName::new("qa"),
        seen_in: EnvironmentName::new("development"),
        repository: "acme/checkout".parse().expect("a repository"),
        branch: "qa".to_owned(),
        version: Version { tag: Some("develop-4f1c2ab".into()), digest: None, commit: Some(sha.clone()) },
        write: GitWrite::Branch { pinned: sha },
        from: Some(Version { tag: Some("qa-1111111".into()), ..Version::default() }),
        drift: CommitSummary {
            commits: vec![
                commit('a', "Retry the payment provider once (#42)"),
                Commit { author: "Bob".to_owned(), ..commit('b', "Ask <!channel> & more") },
            ],
            commits_in_all: 2,
            url: Some("https://github.com/acme/checkout/compare/qa...4f1c2ab".to_owned()),
            ..CommitSummary::default()
        },
        co_deployed: Vec::new(),
        head: None,
        behind_by: 0,
        method: PromotionMethod::Merge,
        healthy_since: None,
        green_checks: 0,
        supersedes: None,
        gate_override: None,
        sources: Vec::new(),
        tree: None,
        rollbacks_to_undo: Vec::new(),
        holds_to_lift: Vec::new(),
        image: ImagePresence::Present,
        direction: Direction::Promotion,
    }
}

/// Files with one changed line each.
pub(crate) fn files(paths: &[&str]) -> ChangedFiles {
    let changed = |path: &&str| ChangedFile { path: (*path).to_owned(), previous: None, additions: 1, deletions: 1 };
    ChangedFiles { changed: paths.iter().map(changed).collect(), cut: false }
}

/// A rollback to a version that the ledger recorded.
pub(crate) fn rollback() -> Rollback {
    let since = Timestamp::from_second(1_763_200_000).expect("a moment");
    Rollback {
        reason: None,
        evidence: RollbackEvidence::Ledger,
        healthy_period: Some(HealthyPeriod { since, until: Some(since + SignedDuration::from_hours(5)) }),
        automatic: false,
        rolled_back_change: None,
        bad_version: BadVersion::default(),
        locks: Vec::new(),
    }
}

/// Bob rolled `checkout` back in `qa`.
pub(crate) fn quarantine() -> Quarantine {
    Quarantine {
        change: ChangeId::parse("01939f3e-5c00-7000-8000-00000badcafe").expect("an id"),
        environment: EnvironmentName::new("qa"),
        artefacts: vec![ArtefactName::new("checkout")],
        version: Version { tag: Some("qa-1111111".into()), ..Version::default() },
        commits: Vec::new(),
        trees: Vec::new(),
        by: Some(PersonId::new("U0BOB")),
        at: Timestamp::from_second(1_763_283_600).expect("a moment"),
        reason: Some("totals <!channel> are wrong".to_owned()),
    }
}

/// The change of [`plan`] when it begins.
pub(crate) fn change() -> Change {
    Change {
        request: None,
        id: ChangeId::parse("01939f3e-5c00-7000-8000-00000badcafe").expect("an id"),
        requester: PersonId::new("U0ALICE"),
        requested_in: Some("C0DEPLOYS".to_owned()),
        requested_at: Timestamp::from_second(1_763_283_600).expect("a moment"),
        retried_at: None,
        plan: plan(),
        stage: Stage::new_merging(),
        result_branch: None,
    }
}

/// A promotion of `mailer` to `qa` with one commit that touches it.
pub(crate) fn facts(catalogue: &Catalogue, gate_inputs: GateInputs) -> PromotionFacts<'_> {
    PromotionFacts {
        artefact: catalogue.find_artefact("mailer").expect("an artefact"),
        target: catalogue.ladder.find("qa").expect("an environment"),
        below: catalogue.ladder.find("development").expect("an environment"),
        version: Version { tag: Some("2".into()), ..Version::default() },
        pinned: Some("a".repeat(40).parse().expect("a commit")),
        from: None,
        manifest: None,
        rollbacks_to_undo: Vec::new(),
        image: ImagePresence::Present,
        pending: PendingCommits { ahead_by: 1, files: files(&["mailer/a.rs"]), ..PendingCommits::default() },
        gate_inputs,
        overriding: None,
        supersedes: None,
    }
}

/// Bob locked `prod`.
pub(crate) fn lock() -> Lock {
    Lock {
        id: LockId::parse("01939f3e-5c00-7000-8000-00000badcafe").expect("an id"),
        environment: EnvironmentName::new("prod"),
        artefact: None,
        by: PersonId::new("U0BOB"),
        reason: "database <!channel> migration".to_owned(),
        since: Timestamp::from_second(1_763_283_600).expect("a moment"),
        until: None,
    }
}

/// `checkout` waits for the second of two approvals in `prod`.
pub(crate) fn waiting() -> Change {
    let change = change();
    let group = MemberLabel::Group { id: "S0RELEASE".into(), handle: "release-managers".into() };
    let mut awaiting = ApprovalState::new(2, vec![group], change.requested_at, SignedDuration::from_hours(24));
    awaiting.approvals.push(Approval {
        by: PersonId::new("U0BOB"),
        at: change.requested_at,
        platform: ApprovalPlatform::Slack,
    });
    let plan = Plan { environment: EnvironmentName::new("prod"), ..plan() };
    Change { plan, stage: Stage::AwaitingApproval(awaiting), ..change }
}

/// The answer of `why` for `checkout` in `prod` with these obstacles.
pub(crate) fn why(obstacles: Vec<Refusal>) -> WhyAnswer {
    WhyAnswer {
        artefact: ArtefactName::new("checkout"),
        environment: Some(EnvironmentName::new("prod")),
        other_environments: None,
        version: Some(plan().version),
        obstacles,
        ready_promotion: None,
        lookup_failure: None,
    }
}

/// The same answer without obstacles. All free texts in it are `text`.
pub(crate) fn free(text: &str) -> WhyAnswer {
    let hold = Hold {
        change: quarantine().change,
        environment: EnvironmentName::new("prod"),
        artefacts: vec![ArtefactName::new("checkout")],
        from: Some(quarantine().version),
        by: None,
        at: quarantine().at,
        reason: Some(text.to_owned()),
    };
    let plan = Plan {
        environment: EnvironmentName::new("prod"),
        holds_to_lift: vec![hold; 5],
        supersedes: waiting().to_conflicting_change(),
        image: ImagePresence::Unknown { reason: text.to_owned() },
        ..plan()
    };
    let awaiting = waiting().stage.awaiting().cloned();
    WhyAnswer { ready_promotion: Some(ReadyPromotion { plan: Box::new(plan), awaiting }), ..why(Vec::new()) }
}

/// All obstacles that a promotion of `checkout` to `prod` can meet. All free texts in them are `text`.
pub(crate) fn blockers(text: &str) -> Vec<Refusal> {
    let (artefact, environment) = (ArtefactName::new("checkout"), EnvironmentName::new("prod"));
    let (below, at) = (EnvironmentName::new("staging"), Timestamp::from_second(1_763_283_600).expect("a moment"));
    let tag: String = text.chars().take(128).collect();
    let version = Version { tag: Some(tag.into()), ..plan().version };
    let pinned: Sha = "4f1c2ab".repeat(6)[..40].parse().expect("a commit");
    let names: Vec<String> = (0..12).map(|number| format!("{number} {text}")).collect();
    let (repository, url) = (plan().repository, plan().drift.url);
    let running = Some(version.clone());
    let quarantine = Quarantine { reason: Some(text.to_owned()), version: version.clone(), ..quarantine() };
    let mut waiting_change = waiting();
    if let Stage::AwaitingApproval(awaiting) = &mut waiting_change.stage {
        awaiting.waits_for = vec![MergeCondition::ChecksRed { names: names.clone() }];
    }
    vec![
        Refusal::NotPermitted {
            action: RestrictedAction::Promote,
            environment: environment.clone(),
            permitted: vec![
                MemberLabel::Handle(text.chars().take(80).collect()),
                MemberLabel::Person(PersonId::new("U0CAROL")),
            ],
        },
        Refusal::Unhealthy {
            artefact: artefact.clone(),
            below: below.clone(),
            version: running.clone(),
            reason: text.into(),
            can_roll_back: true,
        },
        Refusal::RollingOut {
            artefact: artefact.clone(),
            below: below.clone(),
            version: version.clone(),
            ready: 1,
            wanted: 3,
        },
        Refusal::Unreadable { below: below.clone(), reason: text.into(), since: at },
        Refusal::ChangeInProgress(ChangeInProgress {
            asker_role: AskerRole::Approver,
            ..ChangeInProgress::from(&waiting_change)
        }),
        Refusal::CommitUnknown { artefact: artefact.clone(), below: below.clone(), version: version.clone() },
        Refusal::ManifestProblem {
            artefact: artefact.clone(),
            repository,
            file: text.chars().take(200).collect(),
            problem: text.to_owned(),
        },
        Refusal::NothingNew {
            artefact: artefact.clone(),
            environment: environment.clone(),
            version: version.clone(),
            running,
        },
        Refusal::Quarantined {
            artefact: artefact.clone(),
            environment: environment.clone(),
            version: version.clone(),
            quarantine: Box::new(quarantine),
            by_rollback: false,
        },
        Refusal::Locked { lock: Lock { reason: text.to_owned(), ..lock() }, environment: environment.clone() },
        Refusal::Frozen { environment: environment.clone(), until: at, reason: Some(text.to_owned()) },
        Refusal::Soaking {
            artefact: artefact.clone(),
            environment: environment.clone(),
            below: below.clone(),
            version,
            soak: SignedDuration::from_mins(30),
            until: Some(at),
        },
        Refusal::RedChecks { pinned: pinned.clone(), names: names.clone(), url: url.clone() },
        Refusal::RunningChecks { pinned: pinned.clone(), names, url },
        Refusal::NoChecks { environment, pinned },
        Refusal::NotRunningBelow { artefact, below },
    ]
}

fn environment(name: &str, branch: &str, alias: &str) -> Environment {
    Environment {
        name: EnvironmentName::new(name),
        aliases: if alias.is_empty() { Vec::new() } else { vec![alias.to_owned()] },
        branch: branch.to_owned(),
        namespace: Namespace { context: None, name: name.into() },
        channel: "#deploys".to_owned(),
        promotion_method: PromotionMethod::Merge,
        deploy_timeout: SignedDuration::from_mins(20),
        policy: Policy::default(),
    }
}

pub(crate) fn artefact(name: &str, repository: &str, ladder: &Ladder) -> Artefact {
    let place = |environment: &Environment| Place {
        namespace: environment.namespace.clone(),
        workloads: format!("deployment/{name}").parse().into_iter().collect(),
        container: None,
    };
    Artefact {
        name: ArtefactName::new(name),
        repository: repository.parse().expect("a repository"),
        image: format!("ghcr.io/acme/{name}").into(),
        paths: Vec::new(),
        delivery: Delivery::Branch,
        places: ladder
            .environments()
            .iter()
            .map(|environment| (environment.name.clone(), place(environment)))
            .collect::<BTreeMap<_, _>>(),
    }
}
