//! Random states of one town: what `why` says is held against what whoever types `promote` then receives.

use gantry::sim::faults::Fault;
use gantry::sim::slack::Message;
use jiff::SignedDuration;

use super::head;
use crate::production::REPOSITORY;
use crate::receiving::Random;
use crate::town::{Town, has_button, shown};

const SEEDS: u64 = 2;
const STEPS: usize = 45;
/// A rung, its branch's name, and that of the one below.
const RUNGS: [(&str, &str); 3] = [("qa", "develop"), ("staging", "qa"), ("prod", "staging")];
const BELOW: [&str; 3] = ["development", "qa", "staging"];

/// What came of it, so that nobody is proud of a test in which nothing happened.
#[derive(Debug, Default)]
struct Told {
    free: usize,
    blocked: usize,
    several: usize,
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

fn configuration(yaml: String) -> String {
    let freezes = (0..24).step_by(3).map(|hour| {
        let window = |day: &str| format!("{{ from: \"{day} {hour:02}:00\", to: \"{day} {hour:02}:40\" }}");
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
    down: Option<&'static str>,
}

impl Life<'_> {
    /// Something happens.
    async fn step(&mut self) {
        let Self { town, dice, down } = self;
        let at = dice.below(3);
        let (rung, below) = RUNGS[at];
        let somebody = ["alice", "bob", "carol"][dice.below(3)];
        match dice.below(14) {
            0 => self.types("carol", &format!("/gantry lock {rung} the database moves")).await,
            1 | 2 => {
                for rung in RUNGS {
                    self.types("carol", &format!("/gantry unlock {}", rung.0)).await;
                }
            }
            3 => {
                let state = ["failure", "in_progress"][dice.below(2)];
                town.sim.github.set_check(REPOSITORY, &head(town, below), "build", state).unwrap();
            }
            4 => {
                for branch in ["develop", "qa", "staging"] {
                    town.sim.github.set_check(REPOSITORY, &head(town, branch), "build", "success").unwrap();
                }
            }
            5 => {
                town.push("checkout", "Newer");
            }
            6 => {
                town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), None);
                town.push("checkout", "Slow");
            }
            7 => {
                town.sim.faults.arm(Fault::CrashLoop, 1, Some("checkout".into()), None);
                town.push("checkout", "Broken");
            }
            8 => match down.take() {
                Some(namespace) => town.sim.cluster.allow(namespace),
                None => {
                    town.sim.cluster.forbid(BELOW[at]);
                    *down = Some(BELOW[at]);
                }
            },
            9 | 10 => {
                self.types(somebody, &format!("/promote checkout {rung}")).await;
                self.says_yes(somebody).await;
            }
            11 => {
                self.types("bob", &format!("/rollback checkout {rung} --reason totals")).await;
                self.says_yes("bob").await;
            }
            12 => {
                let quarantines = town.bot.store.quarantines().await.unwrap();
                if let Some(quarantine) = quarantines.first() {
                    let label = quarantine.version.label().to_owned();
                    self.types("bob", &format!("/gantry release checkout {label}")).await;
                }
            }
            _ => {
                let waits = self.town.sim.slack.messages("releases", Some("bob"));
                if let Some(card) = waits.iter().rev().find(|message| has_button(message, "Approve")) {
                    self.town.sim.slack.click("bob", "releases", &card.id, "Approve").await.unwrap();
                }
            }
        }
        let pause = [1, 2, 5, 30, 300, 1200][self.dice.below(6)];
        for _ in 0..2 {
            self.town.clock.advance(SignedDuration::from_secs(pause));
            self.town.quiet().await;
        }
    }

    async fn types(&self, person: &str, text: &str) {
        self.town.sim.slack.command(person, "deploys", text).await.unwrap();
        self.town.quiet().await;
    }

    /// To what was shown, if anything was.
    async fn says_yes(&self, person: &str) {
        let last = self.town.sim.slack.messages("deploys", Some(person)).pop();
        if let Some(last) = last.filter(|last| has_button(last, "Confirm")) {
            self.town.sim.slack.click(person, "deploys", &last.id, "Confirm").await.unwrap();
            self.town.quiet().await;
        }
    }

    /// What a person is told, in the moment in which they ask unless Slack's pace or somebody's silence holds it up.
    async fn told(&self, person: &str, text: &str) -> Message {
        self.types(person, text).await;
        for _ in 0..60 {
            let last = self.town.sim.slack.messages("deploys", Some(person)).pop().expect("a message");
            if last.only_to.is_some() && !last.text.starts_with("Looking at") {
                return last;
            }
            self.town.clock.advance(SignedDuration::from_secs(1));
            self.town.quiet().await;
        }
        panic!("{person} is not answered: {text}");
    }

    async fn compare(&mut self, told: &mut Told) {
        let rung = RUNGS[self.dice.below(3)].0;
        let person = ["alice", "bob", "carol"][self.dice.below(3)];
        for tries in 0.. {
            let before = self.town.clock.now();
            let why = self.told(person, &format!("/gantry why checkout {rung}")).await;
            let promote = self.told(person, &format!("/promote checkout {rung} --dry-run")).await;
            let Err(differ) = agree(&why, &promote) else {
                told.count(&why);
                return;
            };
            // Between two moments something may have changed.
            let same = self.town.clock.now() == before;
            assert!(!same && tries < 3, "{person} for {rung}: {differ}\n{}\n---\n{}", shown(&why), shown(&promote));
        }
    }
}

/// The first that `why` names is what `promote` refuses because of; it names none where there is a plan.
fn agree(why: &Message, promote: &Message) -> Result<(), String> {
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
        return Ok(());
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
    Ok(())
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

#[tokio::test]
async fn why_and_promote_never_disagree() {
    let mut told = Told::default();
    for seed in 0..SEEDS {
        let town = Town::configured(configuration).await;
        let mut life = Life { town: &town, dice: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1), down: None };
        for _ in 0..STEPS {
            life.step().await;
            life.compare(&mut told).await;
        }
    }
    println!("{told:?}");
}
