//! Random states of one town: what `why` says is held against what whoever types `promote` then receives.

use gantry::adapters::store::LedgerFilter;
use gantry::domain::runtime::rollout::RolloutState;
use gantry::sim::faults::Fault;
use gantry::sim::slack::Message;
use jiff::SignedDuration;

use super::head;
use crate::harness::world::{Town, has_button, shown};
use crate::ops::receiving::Random;
use crate::production::pull_request::REPOSITORY;

const LIVES: u64 = 4;
const STEPS: usize = 25;
/// A rung, and the branch of the one below.
const RUNGS: [(&str, &str); 3] = [("qa", "develop"), ("staging", "qa"), ("prod", "staging")];
const PEOPLE: [&str; 3] = ["alice", "bob", "carol"];

/// What came of it, so that nobody is proud of a test in which nothing happened.
#[derive(Debug, Default)]
struct Told {
    free: usize,
    blocked: usize,
    several: usize,
    /// Typed without a net.
    did: usize,
    /// By the words that tell the kinds apart.
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

#[expect(clippy::needless_pass_by_value, reason = "as a town is configured")]
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

struct Life<'a> {
    town: &'a Town,
    dice: Random,
    told: &'a mut Told,
}

impl Life<'_> {
    /// Something happens.
    async fn step(&mut self) {
        let town = self.town;
        let (rung, below) = RUNGS[self.dice.below(3)];
        let somebody = PEOPLE[self.dice.below(3)];
        match self.dice.below(20) {
            0 => self.types("carol", &format!("/gantry lock {rung} the database moves")).await,
            1 => self.types("bob", &format!("/gantry lock {rung} checkout not this one")).await,
            2 | 3 => {
                for rung in RUNGS {
                    self.types("carol", &format!("/gantry unlock {}", rung.0)).await;
                    self.types("carol", &format!("/gantry unlock {} checkout", rung.0)).await;
                }
            }
            4 => {
                let state = ["failure", "in_progress"][self.dice.below(2)];
                town.sim.github.set_check(REPOSITORY, &head(town, below), "build", state).unwrap();
            }
            5 => {
                for branch in ["develop", "qa", "staging"] {
                    town.sim.github.set_check(REPOSITORY, &head(town, branch), "build", "success").unwrap();
                }
            }
            6 | 7 => {
                town.push("checkout", "Newer");
            }
            8 => {
                town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), None);
                town.push("checkout", "Slow");
            }
            9 => {
                town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), None);
                town.push("checkout", "Broken");
            }
            10 => {
                let namespace = ["development", "qa", "staging", "prod"][self.dice.below(4)];
                self.reads(namespace, false).await;
                self.compare().await;
                self.compare().await;
                self.reads(namespace, true).await;
            }
            11..15 => {
                self.types(somebody, &format!("/promote checkout {rung}")).await;
                self.says_yes(somebody).await;
            }
            15 | 16 => {
                self.types("bob", &format!("/rollback checkout {rung} --reason totals")).await;
                self.says_yes("bob").await;
            }
            17 => {
                let quarantines = town.bot.store.list_quarantines().await.unwrap();
                if let Some(quarantine) = quarantines.first() {
                    let label = quarantine.version.label().to_owned();
                    self.types("bob", &format!("/gantry release checkout {label}")).await;
                }
            }
            _ => {
                let waits = town.sim.slack.messages("releases", Some("bob"));
                if let Some(card) = waits.iter().rev().find(|message| has_button(message, "Approve")) {
                    town.sim.slack.click("bob", "releases", &card.id, "Approve").await.unwrap();
                }
            }
        }
        if self.dice.below(2) == 0 {
            return town.settle().await;
        }
        town.clock.advance(SignedDuration::from_secs([1, 2, 5, 60, 700][self.dice.below(5)]));
        town.quiet().await;
    }

    /// A cluster lets the bot read, or does not, and the bot has noticed.
    async fn reads(&self, namespace: &str, readable: bool) {
        let town = self.town;
        if readable {
            town.sim.cluster.allow(namespace);
        } else {
            town.sim.cluster.forbid(namespace);
        }
        let catalogue = &town.bot.config.catalogue;
        let checkout = catalogue.find_artefact("checkout").expect("an artefact");
        let place = &checkout.places[&catalogue.ladder.find(namespace).expect("a rung").name];
        for _ in 0..500 {
            let unreadable = matches!(
                town.bot.cluster_view.read_rollout(place, &checkout.image).state,
                RolloutState::Unreadable { .. }
            );
            if unreadable != readable {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("the bot does not notice what became of {namespace}");
    }

    async fn types(&self, person: &str, text: &str) {
        self.town.sim.slack.type_command(person, "deploys", text).await.unwrap();
        self.town.quiet().await;
        // Slack's pace may hold an answer up for a second or two.
        for _ in 0..10 {
            let due = self.town.bot.store.measure_outstanding_work().await.unwrap().next_due;
            let soon = self.town.clock.now() + SignedDuration::from_secs(2);
            let Some(due) = due.filter(|due| *due <= soon) else { return };
            self.town.clock.advance_to(due);
            self.town.quiet().await;
        }
    }

    /// To what was shown, if anything was.
    async fn says_yes(&self, person: &str) {
        let last = self.whispers(person).pop();
        if let Some(last) = last.filter(|last| has_button(last, "Confirm")) {
            self.town.sim.slack.click(person, "deploys", &last.id, "Confirm").await.unwrap();
            self.town.quiet().await;
        }
    }

    /// What only this person sees, and is no acknowledgement.
    fn whispers(&self, person: &str) -> Vec<Message> {
        let mut all = self.town.sim.slack.messages("deploys", Some(person));
        all.retain(|message| message.only_to.is_some() && !message.text.starts_with("Looking at"));
        all
    }

    /// What a person is told, in the moment in which they ask unless Slack's pace or somebody's silence holds it up.
    async fn told(&self, person: &str, text: &str) -> Message {
        let before = self.whispers(person).len();
        self.types(person, text).await;
        for _ in 0..60 {
            if let Some(answer) = self.whispers(person).get(before) {
                return answer.clone();
            }
            self.town.clock.advance(SignedDuration::from_secs(1));
            self.town.quiet().await;
        }
        panic!("{person} is not answered: {text}");
    }

    /// Somebody asks, and types it then.
    async fn compare(&mut self) {
        let rung = RUNGS[self.dice.below(3)].0;
        let person = PEOPLE[self.dice.below(3)];
        for tries in 0.. {
            let before = self.town.clock.now();
            let why = self.told(person, &format!("/gantry why checkout {rung}")).await;
            let promote = self.told(person, &format!("/promote checkout {rung} --dry-run")).await;
            let differ = match agree(&why, &promote) {
                Err(differ) => differ,
                Ok(free) => {
                    self.told.count(&why);
                    let again =
                        if self.dice.below(4) == 0 { self.does_it(person, rung, free, &why).await } else { Ok(()) };
                    let Err(differ) = again else { return };
                    differ
                }
            };
            // Between two moments something may have changed.
            let same = self.town.clock.now() == before;
            assert!(!same && tries < 3, "{person} for {rung}: {differ}\n{}\n---\n{}", shown(&why), shown(&promote));
        }
    }

    /// The same without a net: where the way is free something begins or is asked, and else it is refused by the same words.
    async fn does_it(&mut self, person: &str, rung: &str, free: bool, why: &Message) -> Result<(), String> {
        let command = format!("/promote checkout {rung}");
        if !free {
            return agree(why, &self.told(person, &command).await).map(drop);
        }
        let begun = self.begun().await;
        self.types(person, &command).await;
        let last = self.whispers(person).pop().expect("an answer before");
        let goes = has_button(&last, "Confirm") || self.begun().await > begun;
        self.told.did += 1;
        if goes { Ok(()) } else { Err(format!("it does not go: {}", shown(&last))) }
    }

    /// How many changes began, or were taken up again.
    async fn begun(&self) -> usize {
        let all = self.town.bot.store.list_ledger_entries(&LedgerFilter::default(), 10_000).await.unwrap();
        all.iter().filter(|entry| matches!(entry.kind.as_str(), "begun" | "retried")).count()
    }
}

/// The first that `why` names is what `promote` refuses because of; it names none where there is a plan, and says so.
fn agree(why: &Message, promote: &Message) -> Result<bool, String> {
    let text = |block: &serde_json::Value| block["text"]["text"].as_str().unwrap_or_default().to_owned();
    let next = |message: &Message| {
        let context = message.blocks.iter().find(|block| block["type"] == "context");
        context.and_then(|block| block["elements"][0]["text"].as_str()).unwrap_or_default().to_owned()
    };
    let (head, answer) = (text(&why.blocks[0]), text(&promote.blocks[0]));
    let free = head.contains("Nothing stands between");
    if free != answer.starts_with("Promote *checkout*") {
        return Err("one says that it goes, and the other that it does not".to_owned());
    }
    if free {
        return Ok(true);
    }
    let count: usize = head.split(' ').next().and_then(|count| count.parse().ok()).ok_or("no number")?;
    let sections: Vec<String> = why.blocks[1..].iter().filter(|block| block["type"] == "section").map(text).collect();
    if count != sections.len() {
        return Err(format!("it says {count} and names {}", sections.len()));
    }
    let first = sections[0].split_once(": ").map_or("", |(_, sentence)| sentence);
    if first != answer || next(why) != next(promote) {
        return Err(format!("another reason: {first}"));
    }
    Ok(false)
}

impl Told {
    fn count(&mut self, why: &Message) {
        let text = shown(why);
        if text.contains("Nothing stands between") {
            self.free += 1;
            return;
        }
        self.blocked += 1;
        self.several += usize::from(text.contains("things stand"));
        for kind in KINDS.into_iter().filter(|kind| text.contains(kind)) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }
}

async fn live(seed: u64) -> Told {
    let mut told = Told::default();
    let town = Town::configured(configuration).await;
    let dice = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut life = Life { town: &town, dice, told: &mut told };
    for _ in 0..STEPS {
        life.step().await;
        life.compare().await;
    }
    told
}

impl std::ops::Add for Told {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        Self {
            free: self.free + other.free,
            blocked: self.blocked + other.blocked,
            several: self.several + other.several,
            did: self.did + other.did,
            kinds: self.kinds,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_and_promote_never_disagree() {
    let lives: Vec<_> = (1..=LIVES).map(|seed| tokio::spawn(live(seed))).collect();
    let mut told = Told::default();
    for life in lives {
        told = told + life.await.unwrap();
    }
    let enough = [
        told.free > 5,
        told.blocked > 50,
        told.several > 20,
        told.did > 0,
        // What takes seconds to come about may be over before anybody asks.
        told.kinds.len() + 2 >= KINDS.len(),
    ];
    assert_eq!(enough, [true; 5], "{told:?}");
}
