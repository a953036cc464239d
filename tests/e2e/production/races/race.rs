//! One race to prod: people request, confirm and approve a promotion, and others interfere at random moments. At the
//! end, Git is compared with the commits that were shown and approved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use gantry::domain::model::version::Sha;
use gantry::domain::model::workload::Workload;
use gantry::sim::github::{Author, FaultTiming, GraphCommit, NewCommit, Pull, RequestFault, Verdict};
use gantry::sim::slack::Message;
use gantry::sim::world as sim;
use jiff::SignedDuration;

use super::{approve_button, click_stale_button};
use crate::harness::series::Random;
use crate::harness::world::{World, render_message};

/// An action of other people while a change is on its way to prod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interference {
    PushToDevelop,
    /// A push to staging, which is rolled out there.
    PushToStaging,
    Hotfix,
    PushToResultBranch,
    ForcePushResultBranch,
    DeleteResultBranch,
    Retarget,
    Close,
    Review,
    RequesterReviews,
    SecondClick,
    /// A click on an earlier state of the card.
    LateClick,
}

/// An action that appears twice is chosen twice as often.
const INTERFERENCES: [Interference; 15] = [
    Interference::PushToDevelop,
    Interference::PushToStaging,
    Interference::Hotfix,
    Interference::Hotfix,
    Interference::PushToResultBranch,
    Interference::PushToResultBranch,
    Interference::ForcePushResultBranch,
    Interference::DeleteResultBranch,
    Interference::Retarget,
    Interference::Close,
    Interference::Review,
    Interference::RequesterReviews,
    Interference::SecondClick,
    Interference::LateClick,
    Interference::LateClick,
];

/// The requests to GitHub that can be paused, before or after their effect.
const PAUSABLE_REQUESTS: [(&str, &str); 8] = [
    ("POST", "/git/refs"),
    ("PATCH", "/git/refs"),
    ("POST", "/merges"),
    ("POST", "/pulls"),
    ("GET", "/pulls/"),
    ("GET", "/reviews"),
    ("PUT", "/merge"),
    ("PUT", "/merge"),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RaceOutcome {
    Merged,
    MergedOntoSomethingNewer,
    NotMerged,
}

/// Runs the races of one world, one after another. Each race has a seed, an artefact and a repository of its own.
pub(super) async fn run_races(seeds: &[u64]) -> Vec<Result<RaceOutcome, String>> {
    let world = open_world(&seeds.iter().copied().map(name).collect::<Vec<_>>()).await;
    let mut outcomes = Vec::new();
    for seed in seeds {
        outcomes.push(Race::new(&world, *seed).run().await);
    }
    outcomes
}

fn name(seed: u64) -> String {
    format!("checkout-{seed}")
}

fn workload(name: &str) -> Workload {
    format!("deployment/{name}").parse().unwrap()
}

/// A world with artefacts that its CI does not build, so that only the races roll images out. Each artefact runs a
/// newer commit in staging than in prod.
async fn open_world(names: &[String]) -> World {
    World::with_setup(
        |sim| {
            for name in names {
                let repository = format!("acme/{name}");
                sim.github.create_repository(&repository, "develop").unwrap();
                let first = commit(sim, &repository, "develop", "Begin");
                for branch in ["qa", "staging", "prod"] {
                    sim.github.create_branch(&repository, branch, &first).unwrap();
                }
                deploy_commit(sim, name, "prod", &first);
                deploy_commit(sim, name, "staging", &commit(sim, &repository, "staging", "Go on"));
            }
        },
        |configuration| {
            let artefact = |name: &String| {
                format!("  - name: {name}\n    repository: acme/{name}\n    image: ghcr.io/acme/{name}\n    workload: deployment/{name}\n")
            };
            let artefacts = names.iter().map(artefact).collect::<Vec<_>>().concat();
            configuration.replace("people:", &format!("{artefacts}people:")).replace("    soak: 5s\n", "")
        },
    )
    .await
}

fn deploy_commit(sim: &sim::World, name: &str, environment: &str, sha: &Sha) {
    let image = format!("ghcr.io/acme/{name}");
    sim.registry.publish(&image, &sha.as_str()[..12], None, sim.clock.now());
    sim.cluster.set_running(environment, &workload(name), name, &format!("{image}:{}", &sha.as_str()[..12]), 1);
}

fn commit(sim: &sim::World, repository: &str, branch: &str, message: &str) -> Sha {
    let commit = NewCommit {
        repository: repository.to_owned(),
        branch: branch.to_owned(),
        message: message.to_owned(),
        author: Author { name: "Bob Brandt".into(), email: "bob@acme.example".into(), login: Some("bob".into()) },
        files: [(format!("{}.txt", message.replace(' ', "-")), Some(message.to_owned()))].into(),
        at: sim.clock.now(),
    };
    sim.github.commit(commit).unwrap()
}

struct Race<'a> {
    world: &'a World,
    seed: u64,
    random: Random,
    name: String,
    repository: String,
    /// The head of prod at the beginning.
    first: Sha,
    /// The commit that the plan showed.
    pinned: Option<Sha>,
    /// The commits that people approved: those that the card, or GitHub, showed them at that moment.
    approved: BTreeSet<Sha>,
    by_hand: BTreeSet<Sha>,
    interference_count: usize,
    /// Prod moved, or the pull request was retargeted, after an approval.
    moved_late: bool,
    log: String,
    violation: Option<String>,
}

impl<'a> Race<'a> {
    fn new(world: &'a World, seed: u64) -> Self {
        let mut random = Random(seed);
        // Neighbouring seeds begin with similar numbers, so the first numbers are skipped.
        (0..8).for_each(|_| _ = random.below(2));
        let (name, repository) = (name(seed), format!("acme/{}", name(seed)));
        let first = world.sim.github.head(&repository, "prod").unwrap();
        Self {
            world,
            seed,
            random,
            name,
            repository,
            first,
            pinned: None,
            approved: BTreeSet::new(),
            by_hand: BTreeSet::new(),
            interference_count: 0,
            moved_late: false,
            log: String::new(),
            violation: None,
        }
    }

    /// Returns the outcome; or the violation with the seed, the log and the card.
    async fn run(mut self) -> Result<RaceOutcome, String> {
        // Gantry limits its own writes to GitHub: each race begins with the full allowance.
        self.world.clock.advance(SignedDuration::from_mins(4));
        self.pinned = self.world.sim.github.head(&self.repository, "staging");
        self.world.alice().types(&format!("/promote {} prod", self.name)).await;
        let plan = self.world.alice().reads();
        let pinned = self.pinned.clone().unwrap();
        self.record_violation_unless(
            plan.contains(&format!("commit `{}` as it runs in staging", pinned.short())),
            "the plan does not show the commit of staging",
        );
        if self.one_in(3) {
            self.interfere().await;
        }
        if self.one_in(2) {
            self.pause_next_request();
        }
        self.world.alice().clicks_without_waiting("deploys", "Confirm").await;
        self.note("alice confirms");
        for _ in 0..3 {
            self.advance_race().await;
        }
        self.finish_race().await;
        self.close_open_pull();
        let outcome = self.violation.take().map_or_else(|| self.check_outcome(), Err);
        outcome.map_err(|violation| {
            let card = self.card().map(|card| render_message(&card)).unwrap_or_default();
            format!("seed {}: {violation}\n{}\n{card}", self.seed, self.log)
        })
    }

    /// Waits until the change rests or a request is paused, then lets people interfere and approve.
    async fn advance_race(&mut self) {
        let faults = self.world.sim.github.request_faults();
        self.world.settle_until(|| faults.has_paused_request()).await;
        if faults.has_paused_request() {
            self.note("  a request to GitHub is paused");
            self.interfere().await;
            if self.one_in(2) {
                self.approve().await;
            }
            self.wait_until_inbox_empty().await;
            faults.resume();
            return;
        }
        if self.one_in(3) {
            self.interfere().await;
        }
        if self.one_in(2) {
            self.pause_next_request();
        }
        if !self.one_in(4) && self.approve().await && self.one_in(4) {
            // At the same moment, before the bot has handled the approval.
            self.interfere().await;
        }
    }

    /// Removes the faults, points the pull request back at prod, and in most races approves once more.
    async fn finish_race(&mut self) {
        self.world.sim.github.request_faults().clear();
        self.world.settle().await;
        let retargeted = self.pull().filter(|pull| pull.state == "open" && pull.base != "prod");
        if let Some(pull) = &retargeted {
            self.world.sim.github.retarget_pull(&self.repository, pull.number, "prod").unwrap();
            self.note("  pointed back at prod");
        }
        let approved_again = !self.one_in(3) && self.approve().await;
        if retargeted.is_some() || approved_again {
            self.world.settle().await;
        }
    }

    /// Closes the pull request if it is open, so that the next race does not wait for its approval.
    fn close_open_pull(&self) {
        if let Some(pull) = self.pull().filter(|pull| pull.state == "open") {
            self.world.sim.github.close_pull(&self.repository, pull.number, "bob").unwrap();
        }
    }

    fn pause_next_request(&mut self) {
        let (method, path) = PAUSABLE_REQUESTS[self.random.below(PAUSABLE_REQUESTS.len())];
        let when = if self.one_in(2) { FaultTiming::BeforeEffect } else { FaultTiming::AfterEffect };
        let faults = self.world.sim.github.request_faults();
        if faults.has_paused_request() {
            return;
        }
        faults.clear();
        faults.inject(method, path, when, RequestFault::Pause, 1);
        self.note(&format!("  to be paused: {method} {path} {when:?}"));
    }

    async fn interfere(&mut self) {
        let act = INTERFERENCES[self.random.below(INTERFERENCES.len())];
        self.interference_count += 1;
        self.note(&format!("  {act:?}"));
        let (github, repository, sim) = (&self.world.sim.github, &self.repository, &self.world.sim);
        let message = format!("Act {}", self.interference_count);
        let pull = self.pull().filter(|pull| pull.state == "open");
        let result_branch: Vec<String> =
            github.branches(repository).into_keys().filter(|branch| branch.starts_with("gantry/")).collect();
        let result_branch =
            (!result_branch.is_empty()).then(|| result_branch[self.random.below(result_branch.len())].clone());
        match act {
            Interference::PushToDevelop => drop(commit(sim, repository, "develop", &message)),
            Interference::PushToStaging => {
                let newer = commit(sim, repository, "staging", &message);
                let image = format!("ghcr.io/acme/{}:{}", self.name, &newer.as_str()[..12]);
                sim.registry.publish(image.split(':').next().unwrap(), &newer.as_str()[..12], None, sim.clock.now());
                sim.cluster.set_image("staging", &workload(&self.name), &self.name, &image);
            }
            Interference::Hotfix => {
                self.by_hand.insert(commit(sim, repository, "prod", &message));
                self.moved_late |= !self.approved.is_empty();
            }
            Interference::PushToResultBranch => {
                if let Some(branch) = result_branch {
                    commit(sim, repository, &branch, &message);
                }
            }
            Interference::ForcePushResultBranch => {
                if let Some(branch) = result_branch {
                    let target = ["develop", "staging", "prod"][self.random.below(3)];
                    github.point_branch(repository, &branch, &github.head(repository, target).unwrap()).unwrap();
                }
            }
            Interference::DeleteResultBranch => {
                if let Some(branch) = result_branch {
                    github.delete_branch(repository, &branch).unwrap();
                }
            }
            Interference::Retarget => {
                if let Some(pull) = pull {
                    let base = if pull.base == "prod" { "staging" } else { "prod" };
                    // GitHub refuses if the other branch already contains the commits.
                    let _ = github.retarget_pull(repository, pull.number, base);
                    self.moved_late |= !self.approved.is_empty();
                }
            }
            Interference::Close => {
                if let Some(pull) = pull {
                    github.close_pull(repository, pull.number, "carol").unwrap();
                }
            }
            Interference::Review => {
                if let Some(pull) = pull {
                    github.review(repository, pull.number, "carol", Verdict::Approve, "").unwrap();
                    self.approved.insert(pull.head_sha);
                }
            }
            Interference::RequesterReviews => {
                if let Some(pull) = pull {
                    github.review(repository, pull.number, "alice", Verdict::Approve, "").unwrap();
                }
            }
            Interference::SecondClick => drop(self.approve().await),
            Interference::LateClick => self.approve_late().await,
        }
    }

    /// Bob or carol clicks Approve, if the card has that button.
    async fn approve(&mut self) -> bool {
        let Some(card) = self.card() else { return false };
        let Some(value) = approve_button(&card.blocks) else { return false };
        let commit: Sha = value.split_once(':').unwrap().1.parse().unwrap();
        self.record_violation_unless(
            render_message(&card).contains(&format!("frozen at `{}`", commit.short())),
            "the Approve button is for another commit than the card shows",
        );
        let person = if self.one_in(2) { "bob" } else { "carol" };
        self.note(&format!("{person} approves {}", commit.short()));
        self.approved.insert(commit);
        self.world.sim.slack.click(person, "releases", &card.id, "Approve").await.unwrap();
        true
    }

    /// Carol clicks an Approve button of the current or an earlier state of the card.
    async fn approve_late(&mut self) {
        let Some(card) = self.card() else { return };
        let shown = card.history.iter().map(|before| &before.blocks).chain([&card.blocks]);
        let buttons: Vec<String> = shown.filter_map(|blocks| approve_button(blocks)).collect();
        if buttons.is_empty() {
            return;
        }
        let value = &buttons[self.random.below(buttons.len())];
        let commit: Sha = value.split_once(':').unwrap().1.parse().unwrap();
        self.note(&format!("carol approves late {}", commit.short()));
        self.approved.insert(commit);
        click_stale_button(self.world, "U0CAROL", value).await;
    }

    /// Waits until the inbox is empty, while a request to GitHub is still paused.
    async fn wait_until_inbox_empty(&self) {
        for _ in 0..500 {
            if self.world.bot.store.measure_outstanding_work().await.unwrap().inbox == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(4)).await;
        }
    }

    fn pull(&self) -> Option<Pull> {
        self.world.sim.github.pulls(&self.repository).pop()
    }

    fn card(&self) -> Option<Message> {
        let artefact = format!("*{}*", self.name);
        let is_card = |message: &Message| {
            message.only_to.is_none() && message.thread.is_none() && render_message(message).contains(&artefact)
        };
        self.world.sim.slack.messages("releases", None).into_iter().rev().find(is_card)
    }

    /// Compares the final state of Git with the plan, the approvals and the card.
    fn check_outcome(&self) -> Result<RaceOutcome, String> {
        let github = &self.world.sim.github;
        let all: BTreeMap<Sha, GraphCommit> =
            github.graph(&self.repository, 500).into_iter().map(|commit| (commit.sha.clone(), commit)).collect();
        let card = self.card().map(|card| render_message(&card)).unwrap_or_default();
        let mut merges = Vec::new();
        let mut current = github.head(&self.repository, "prod").unwrap();
        while current != self.first {
            let commit =
                all.get(&current).ok_or(format!("prod no longer contains its first commit: {current} is unknown"))?;
            if !self.by_hand.contains(&current) {
                merges.push(commit);
            }
            current = commit.parents.first().cloned().ok_or(format!("prod has another first commit, {current}"))?;
        }
        let card_says_merged = card.contains("merged into `prod` as");
        let merge = match merges.as_slice() {
            [] if card_says_merged => return Err("the card says merged, and prod has nothing".into()),
            [] => return Ok(RaceOutcome::NotMerged),
            [merge] if card_says_merged => *merge,
            [_] => return Err("prod has it, and the card does not say so".into()),
            _ => return Err(format!("{} merges by one change", merges.len())),
        };
        if !merge.subject.starts_with(&format!("Promote {}", self.name)) {
            return Err(format!("another merge than that of the change: {:?}", merge.subject));
        }
        let [onto, result] = merge.parents.as_slice() else {
            return Err("the merge commit has not two parents".into());
        };
        if !self.approved.contains(result) {
            return Err(format!("{} was merged, and nobody approved it", result.short()));
        }
        let result_parents = all.get(result).map(|commit| commit.parents.as_slice()).unwrap_or_default();
        let [base, pinned] = result_parents else {
            return Err(format!("{} is not the result of a merge", result.short()));
        };
        if Some(pinned) != self.pinned.as_ref() {
            return Err(format!("{} was merged, which is not what the plan showed", pinned.short()));
        }
        match (base == onto, card.contains("at the last moment")) {
            (true, false) => Ok(RaceOutcome::Merged),
            (false, true) if self.moved_late => Ok(RaceOutcome::MergedOntoSomethingNewer),
            (true, true) => Err("the card warns of a late commit that prod does not have".into()),
            (false, _) => {
                Err(format!("merged onto {} instead of {}, and the card does not say so", onto.short(), base.short()))
            }
        }
    }

    /// True once in that many calls, on average.
    fn one_in(&mut self, calls: usize) -> bool {
        self.random.below(calls) == 0
    }

    fn note(&mut self, entry: &str) {
        writeln!(self.log, "{entry}").unwrap();
    }

    fn record_violation_unless(&mut self, holds: bool, violation: &str) {
        if !holds {
            self.violation.get_or_insert_with(|| violation.to_owned());
        }
    }
}
