//! Brings a world into random states, and compares the answer of `why` with the answer of `promote` in each of them.

use gantry::adapters::store::LedgerFilter;
use gantry::domain::runtime::rollout::RolloutState;
use gantry::sim::faults::Fault;
use gantry::sim::slack::Message;
use jiff::SignedDuration;

use super::head;
use crate::harness::production::REPOSITORY;
use crate::harness::series::Random;
use crate::harness::world::{World, has_button, render_message};

const RUNS: u64 = 4;
const STEPS: usize = 25;
/// An environment, and the branch of the environment below.
const ENVIRONMENTS: [(&str, &str); 3] = [("qa", "develop"), ("staging", "qa"), ("prod", "staging")];
const PEOPLE: [&str; 3] = ["alice", "bob", "carol"];

/// Counts of the answers. They prove that the runs were not all alike.
#[derive(Debug, Default)]
struct Statistics {
    free: usize,
    blocked: usize,
    with_several_obstacles: usize,
    /// Promotions without `--dry-run`.
    promotions_typed: usize,
    /// Counts by the text that identifies a kind of obstacle.
    kinds: std::collections::BTreeMap<&'static str, usize>,
}

const KINDS: [&str; 13] = [
    "You may not promote",
    "is still rolling out",
    "does not run well",
    "I cannot read",
    "is promoting",
    "It still needs 1 approval",
    "has everything of",
    "may not come back",
    "is locked by",
    "is frozen until",
    "has not run well",
    "Checks are red",
    "Checks are still running",
];

#[expect(clippy::needless_pass_by_value, reason = "the signature of an edit of the configuration")]
fn configuration(yaml: String) -> String {
    let freezes = (0..24).step_by(3).map(|hour| {
        let window = |day: &str| format!("{{ from: \"{day} {hour:02}:00\", to: \"{day} {hour:02}:20\" }}");
        ["Mon", "Tue", "Wed"].map(window).join(", ")
    });
    let freezes = freezes.collect::<Vec<_>>().join(", ");
    yaml.replace("  - name: staging\n", "  - name: staging\n    promoters: [\"@release-managers\"]\n")
        .replace("  - name: qa\n", &format!("  - name: qa\n    freezes: [{freezes}]\n"))
        .replace("soak: 5s", "soak: 10m")
}

struct RandomRun<'a> {
    world: &'a World,
    random: Random,
    stats: &'a mut Statistics,
}

impl RandomRun<'_> {
    /// Changes the world in a random way.
    async fn step(&mut self) {
        let world = self.world;
        let (environment, below) = ENVIRONMENTS[self.random.below(3)];
        let person = PEOPLE[self.random.below(3)];
        match self.random.below(20) {
            0 => self.types("carol", &format!("/gantry lock {environment} the database moves")).await,
            1 => self.types("bob", &format!("/gantry lock {environment} checkout not this one")).await,
            2 | 3 => {
                for environment in ENVIRONMENTS {
                    self.types("carol", &format!("/gantry unlock {}", environment.0)).await;
                    self.types("carol", &format!("/gantry unlock {} checkout", environment.0)).await;
                }
            }
            4 => {
                let state = ["failure", "in_progress"][self.random.below(2)];
                world.sim.github.set_check(REPOSITORY, &head(world, below), "build", state).unwrap();
            }
            5 => {
                for branch in ["develop", "qa", "staging"] {
                    world.sim.github.set_check(REPOSITORY, &head(world, branch), "build", "success").unwrap();
                }
            }
            6 | 7 => {
                world.push("checkout", "Newer");
            }
            8 => {
                world.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), None);
                world.push("checkout", "Slow");
            }
            9 => {
                world.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), None);
                world.push("checkout", "Broken");
            }
            10 => {
                let namespace = ["development", "qa", "staging", "prod"][self.random.below(4)];
                self.set_readable(namespace, false).await;
                self.compare().await;
                self.compare().await;
                self.set_readable(namespace, true).await;
            }
            11..15 => {
                self.types(person, &format!("/promote checkout {environment}")).await;
                self.confirm_if_asked(person).await;
            }
            15 | 16 => {
                self.types("bob", &format!("/rollback checkout {environment} --reason totals")).await;
                self.confirm_if_asked("bob").await;
            }
            17 => {
                let quarantines = world.bot.store.list_quarantines().await.unwrap();
                if let Some(quarantine) = quarantines.first() {
                    let label = quarantine.version.label().to_owned();
                    self.types("bob", &format!("/gantry release checkout {label}")).await;
                }
            }
            _ => {
                let messages = world.sim.slack.messages("releases", Some("bob"));
                if let Some(card) = messages.iter().rev().find(|message| has_button(message, "Approve")) {
                    world.sim.slack.click("bob", "releases", &card.id, "Approve").await.unwrap();
                }
            }
        }
        if self.random.below(2) == 0 {
            return world.settle().await;
        }
        world.clock.advance(SignedDuration::from_secs([1, 2, 5, 60, 700][self.random.below(5)]));
        world.wait_until_idle().await;
    }

    /// Allows or forbids reading a namespace, and waits until the bot has noticed.
    async fn set_readable(&self, namespace: &str, readable: bool) {
        let world = self.world;
        if readable {
            world.sim.cluster.allow(namespace);
        } else {
            world.sim.cluster.forbid(namespace);
        }
        let catalogue = &world.bot.config.catalogue;
        let checkout = catalogue.find_artefact("checkout").expect("an artefact");
        let place = &checkout.places[&catalogue.ladder.find(namespace).expect("an environment").name];
        for _ in 0..500 {
            let unreadable = matches!(
                world.bot.cluster_view.read_rollout(place, &checkout.image).state,
                RolloutState::Unreadable { .. }
            );
            if unreadable != readable {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("the bot does not notice that {namespace} is readable: {readable}");
    }

    async fn types(&self, person: &str, text: &str) {
        self.world.sim.slack.type_command(person, "deploys", text).await.unwrap();
        self.world.wait_until_idle().await;
        // Slack's rate limit may delay an answer by a second or two.
        for _ in 0..10 {
            let due = self.world.bot.store.measure_outstanding_work().await.unwrap().next_due;
            let soon = self.world.clock.now() + SignedDuration::from_secs(2);
            let Some(due) = due.filter(|due| *due <= soon) else { return };
            self.world.clock.advance_to(due);
            self.world.wait_until_idle().await;
        }
    }

    /// Confirms the plan, if one is shown.
    async fn confirm_if_asked(&self, person: &str) {
        let last = self.ephemeral_messages(person).pop();
        if let Some(last) = last.filter(|last| has_button(last, "Confirm")) {
            self.world.sim.slack.click(person, "deploys", &last.id, "Confirm").await.unwrap();
            self.world.wait_until_idle().await;
        }
    }

    /// The private messages to this person, without acknowledgements.
    fn ephemeral_messages(&self, person: &str) -> Vec<Message> {
        let mut all = self.world.sim.slack.messages("deploys", Some(person));
        all.retain(|message| message.only_to.is_some() && !message.text.starts_with("Looking at"));
        all
    }

    /// Types a command and returns its answer. The clock moves only if Slack's rate limit or a slow service delays it.
    async fn ask(&self, person: &str, text: &str) -> Message {
        let before = self.ephemeral_messages(person).len();
        self.types(person, text).await;
        for _ in 0..60 {
            if let Some(answer) = self.ephemeral_messages(person).get(before) {
                return answer.clone();
            }
            self.world.clock.advance(SignedDuration::from_secs(1));
            self.world.wait_until_idle().await;
        }
        panic!("{person} gets no answer to {text}");
    }

    /// A random person types `why` and then `promote`; the answers must agree.
    async fn compare(&mut self) {
        let environment = ENVIRONMENTS[self.random.below(3)].0;
        let person = PEOPLE[self.random.below(3)];
        for attempt in 0.. {
            let before = self.world.clock.now();
            let why = self.ask(person, &format!("/gantry why checkout {environment}")).await;
            let promote = self.ask(person, &format!("/promote checkout {environment} --dry-run")).await;
            let difference = match check_agreement(&why, &promote) {
                Err(difference) => difference,
                Ok(free) => {
                    self.stats.count(&why);
                    let again = if self.random.below(4) == 0 {
                        self.promote_without_dry_run(person, environment, free, &why).await
                    } else {
                        Ok(())
                    };
                    let Err(difference) = again else { return };
                    difference
                }
            };
            // If time passed between the two answers, the state may have changed. Then the comparison is repeated.
            let same = self.world.clock.now() == before;
            assert!(
                !same && attempt < 3,
                "{person} for {environment}: {difference}\n{}\n---\n{}",
                render_message(&why),
                render_message(&promote)
            );
        }
    }

    /// Promotes without `--dry-run`. Without obstacles a change must begin or a plan be shown. Otherwise the refusal
    /// must be the one that `why` named.
    async fn promote_without_dry_run(
        &mut self,
        person: &str,
        environment: &str,
        free: bool,
        why: &Message,
    ) -> Result<(), String> {
        let command = format!("/promote checkout {environment}");
        if !free {
            return check_agreement(why, &self.ask(person, &command).await).map(drop);
        }
        let begun = self.count_begun_changes().await;
        self.types(person, &command).await;
        let last = self.ephemeral_messages(person).pop().expect("an answer before");
        let has_begun = has_button(&last, "Confirm") || self.count_begun_changes().await > begun;
        self.stats.promotions_typed += 1;
        if has_begun { Ok(()) } else { Err(format!("the promotion does not begin: {}", render_message(&last))) }
    }

    /// The number of changes that began or were retried.
    async fn count_begun_changes(&self) -> usize {
        let all = self.world.bot.store.list_ledger_entries(&LedgerFilter::default(), 10_000).await.unwrap();
        all.iter().filter(|entry| matches!(entry.kind.as_str(), "begun" | "retried")).count()
    }
}

/// Returns whether there is no obstacle. Otherwise the first obstacle of `why` must be the refusal of `promote`.
fn check_agreement(why: &Message, promote: &Message) -> Result<bool, String> {
    let text = |block: &serde_json::Value| block["text"]["text"].as_str().unwrap_or_default().to_owned();
    let next = |message: &Message| {
        let context = message.blocks.iter().find(|block| block["type"] == "context");
        context.and_then(|block| block["elements"][0]["text"].as_str()).unwrap_or_default().to_owned()
    };
    let (head, answer) = (text(&why.blocks[0]), text(&promote.blocks[0]));
    let free = head.contains("Nothing stands between");
    if free != answer.starts_with("Promote *checkout*") {
        return Err("only one of them allows the promotion".to_owned());
    }
    if free {
        return Ok(true);
    }
    let count: usize = head.split(' ').next().and_then(|count| count.parse().ok()).ok_or("no number")?;
    let sections: Vec<String> = why.blocks[1..].iter().filter(|block| block["type"] == "section").map(text).collect();
    if count != sections.len() {
        return Err(format!("why counts {count} obstacles and names {}", sections.len()));
    }
    let first = sections[0].split_once(": ").map_or("", |(_, sentence)| sentence);
    if first != answer || next(why) != next(promote) {
        return Err(format!("why gives another reason: {first}"));
    }
    Ok(false)
}

impl Statistics {
    fn count(&mut self, why: &Message) {
        let text = render_message(why);
        if text.contains("Nothing stands between") {
            self.free += 1;
            return;
        }
        self.blocked += 1;
        self.with_several_obstacles += usize::from(text.contains("things stand"));
        for kind in KINDS.into_iter().filter(|kind| text.contains(kind)) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }
}

async fn run_seed(seed: u64) -> Statistics {
    let mut statistics = Statistics::default();
    let world = World::with_config(configuration).await;
    let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut run = RandomRun { world: &world, random, stats: &mut statistics };
    for _ in 0..STEPS {
        run.step().await;
        run.compare().await;
    }
    statistics
}

impl std::ops::Add for Statistics {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        Self {
            free: self.free + other.free,
            blocked: self.blocked + other.blocked,
            with_several_obstacles: self.with_several_obstacles + other.with_several_obstacles,
            promotions_typed: self.promotions_typed + other.promotions_typed,
            kinds: self.kinds,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_and_promote_agree_in_random_states() {
    let runs: Vec<_> = (1..=RUNS).map(|seed| tokio::spawn(run_seed(seed))).collect();
    let mut stats = Statistics::default();
    for run in runs {
        stats = stats + run.await.unwrap();
    }
    let enough = [
        stats.free > 5,
        stats.blocked > 50,
        stats.with_several_obstacles > 20,
        stats.promotions_typed > 0,
        // Two kinds may be missing: a short rollout or check may be over before the next command.
        stats.kinds.len() + 2 >= KINDS.len(),
    ];
    assert_eq!(enough, [true; 5], "{stats:?}");
}
