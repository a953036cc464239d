//! The simulated world with its bot: the real clients talk to the simulators over HTTP, and only the test moves the
//! clock.

use std::path::Path;
use std::time::Duration;

use gantry::adapters::cluster::NamespaceReadability;
use gantry::clock::Clock;
use gantry::domain::model::workload::{Namespace, WorkloadKind};
use gantry::sim::demo::Demo;
use gantry::sim::github::Cost;
use gantry::sim::pace::Pace;
use gantry::sim::slack::{Ack, Message};
use gantry::sim::world as sim;
use gantry::sim::world::ENVIRONMENTS;
use gantry::workflow::context::Context;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// In real time. A world that is not at rest by then is stuck, even on a busy machine.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);

pub(crate) struct World {
    pub(crate) sim: sim::World,
    pub(crate) bot: Context,
    pub(crate) clock: Clock,
    pub(crate) origin: String,
    shutdown: Option<oneshot::Sender<()>>,
}

/// The time that the simulated Slack waits for the bot. Slack waits 3 s, but a hundred commands at once take longer on
/// a busy machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

impl World {
    pub(crate) async fn open() -> Self {
        Self::with_config(|configuration| configuration).await
    }

    /// A world with a changed configuration.
    pub(crate) async fn with_config(edit: impl FnOnce(String) -> String) -> Self {
        Self::with_setup(|_| {}, edit).await
    }

    /// A world that `prepare` changes before the bot starts.
    pub(crate) async fn with_setup(prepare: impl FnOnce(&sim::World), edit: impl FnOnce(String) -> String) -> Self {
        Self::build_at_default_start(true, prepare, edit).await
    }

    /// A world with a bot that starts today with an empty database.
    pub(crate) async fn without_history(
        prepare: impl FnOnce(&sim::World),
        edit: impl FnOnce(String) -> String,
    ) -> Self {
        Self::build_at_default_start(false, prepare, edit).await
    }

    async fn build_at_default_start(
        with_history: bool,
        prepare: impl FnOnce(&sim::World),
        edit: impl FnOnce(String) -> String,
    ) -> Self {
        let start = "2026-11-16T09:00:00Z".parse().unwrap();
        Self::build(start, with_history, async |_, _| {}, prepare, edit).await
    }

    /// A world with a bot that starts on an existing database. `write_database` gets the folder and the world's
    /// address.
    pub(crate) async fn with_existing_database(
        start: Timestamp,
        write_database: impl AsyncFnOnce(&Path, &str),
    ) -> Self {
        Self::build(start, false, write_database, |_| {}, |configuration| configuration).await
    }

    async fn build(
        start: Timestamp,
        with_history: bool,
        write_database: impl AsyncFnOnce(&Path, &str),
        prepare: impl FnOnce(&sim::World),
        edit: impl FnOnce(String) -> String,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::new_manual(start);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let sim = sim::World::new(clock.clone(), Pace::default(), &origin).unwrap();
        sim.slack.set_response_timeout(RESPONSE_TIMEOUT);
        prepare(&sim);
        let folder = tempfile::tempdir().unwrap();
        write_database(folder.path(), &origin).await;
        let demo = Demo::build_in_directory(folder, with_history, sim.clone(), edit).await.unwrap();
        let bot = demo.app.context.clone();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(demo.serve(listener, async {
            let _ = stopped.await;
        }));
        let world = Self { sim, bot, clock, origin, shutdown: Some(stop) };
        world.settle().await;
        world
    }

    pub(crate) fn alice(&self) -> Person<'_> {
        Person { world: self, name: "alice" }
    }

    pub(crate) fn bob(&self) -> Person<'_> {
        Person { world: self, name: "bob" }
    }

    pub(crate) fn carol(&self) -> Person<'_> {
        Person { world: self, name: "carol" }
    }

    pub(crate) fn dave(&self) -> Person<'_> {
        Person { world: self, name: "dave" }
    }

    pub(crate) fn push(&self, artefact: &str, message: &str) -> String {
        let sha = self.sim.push(artefact, "develop", message, std::collections::BTreeMap::new(), "alice").unwrap();
        sha.as_str().to_owned()
    }

    /// The messages that the whole channel sees, oldest first.
    pub(crate) fn public_messages(&self, name: &str) -> Vec<String> {
        self.sim
            .slack
            .messages(name, None)
            .iter()
            .filter(|message| message.only_to.is_none())
            .map(render_message)
            .collect()
    }

    /// The messages that only `person` sees in a channel, oldest first.
    pub(crate) fn ephemeral_messages(&self, person: &str, channel: &str) -> Vec<String> {
        let messages = self.sim.slack.messages(channel, Some(person));
        messages.iter().filter(|message| message.only_to.is_some()).map(render_message).collect()
    }

    /// The direct messages of the bot to one person, oldest first.
    pub(crate) fn direct_messages(&self, person: &str) -> Vec<String> {
        self.sim.slack.messages("@gantry", Some(person)).iter().map(render_message).collect()
    }

    pub(crate) fn last_message(&self, person: &str, channel: &str) -> Message {
        self.sim.slack.messages(channel, Some(person)).pop().expect("a message")
    }

    /// The tag that runs in the simulated cluster.
    pub(crate) fn running_tag(&self, artefact: &str, environment: &str) -> String {
        let workload = format!("deployment/{artefact}").parse().unwrap();
        let image = self.sim.cluster.state(environment, &workload).image.expect("an image");
        image.rsplit_once(':').unwrap().1.to_owned()
    }

    /// The bot's requests to GitHub so far, and the number of them that the rate limit counts.
    pub(crate) fn github_cost(&self) -> Cost {
        self.sim.github.cost()
    }

    /// Moves the clock, and waits until the world is at rest.
    pub(crate) async fn wait(&self, pause: SignedDuration) {
        self.clock.advance(pause);
        self.settle().await;
    }

    /// Moves the clock until no work is left: inbox and outbox are empty, the simulators have no scheduled work, and
    /// the watches are up to date.
    pub(crate) async fn settle(&self) {
        self.settle_within(SETTLE_TIMEOUT).await;
    }

    /// The same with another timeout, for a world with much work.
    pub(crate) async fn settle_within(&self, timeout: Duration) {
        let at_rest = tokio::time::timeout(timeout, async {
            loop {
                self.wait_until_idle().await;
                let Some(due) = self.next_due().await else { return };
                self.clock.advance_to(due);
            }
        });
        assert!(
            at_rest.await.is_ok(),
            "the world is not at rest after the timeout: {}",
            self.describe_pending_work().await
        );
    }

    /// The reasons why the world is not at rest.
    async fn describe_pending_work(&self) -> String {
        format!(
            "at {}: store {:?}, next event of the simulators {:?}, idle {}, watches up to date {}",
            self.clock.now(),
            self.bot.store.measure_outstanding_work().await,
            self.sim.scheduler.next_due(),
            self.bot.activity.is_idle(),
            self.watches_are_up_to_date(),
        )
    }

    /// Moves the clock until the condition holds or no work is left. A world with a paused request is never at rest.
    pub(crate) async fn settle_until(&self, condition: impl Fn() -> bool) {
        let reached = tokio::time::timeout(SETTLE_TIMEOUT, async {
            let mut idle_polls = 0;
            while !condition() {
                idle_polls = if self.is_idle().await { idle_polls + 1 } else { 0 };
                if idle_polls == 4 {
                    let Some(due) = self.next_due().await else { return };
                    self.clock.advance_to(due);
                    idle_polls = 0;
                }
                tokio::time::sleep(Duration::from_millis(8)).await;
            }
        });
        assert!(
            reached.await.is_ok(),
            "the condition does not hold after the timeout: {}",
            self.describe_pending_work().await
        );
    }

    /// Waits until nothing more happens at the present time of the clock.
    pub(crate) async fn wait_until_idle(&self) {
        let mut idle_polls = 0;
        while idle_polls < 4 {
            idle_polls = if self.is_idle().await { idle_polls + 1 } else { 0 };
            tokio::time::sleep(Duration::from_millis(8)).await;
        }
    }

    async fn is_idle(&self) -> bool {
        let nothing_due = self.next_due().await.is_none_or(|due| due > self.clock.now());
        nothing_due && self.bot.activity.is_idle() && self.watches_are_up_to_date()
    }

    async fn next_due(&self) -> Option<Timestamp> {
        let pending = self.bot.store.measure_outstanding_work().await.unwrap();
        [self.sim.scheduler.next_due(), pending.next_due].into_iter().flatten().min()
    }

    pub(crate) fn watches_are_up_to_date(&self) -> bool {
        ENVIRONMENTS.iter().all(|(environment, _)| {
            let namespace = Namespace { context: None, name: (*environment).into() };
            let unreadable =
                self.bot.cluster_view.list_readability().iter().any(|(of, reading)| {
                    *of == namespace && matches!(reading, NamespaceReadability::Unreadable { .. })
                });
            let reached = |kind| {
                self.bot.cluster_view.resource_version(&namespace, kind)
                    >= self.sim.cluster.last_change(environment, kind)
            };
            unreadable || [WorkloadKind::Deployment, WorkloadKind::StatefulSet].into_iter().all(reached)
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.sim.close();
        drop(self.shutdown.take());
        if !std::thread::panicking() {
            assert_eq!(
                self.sim.unknown_requests.all(),
                Vec::<String>::new(),
                "the bot sent requests that the simulators do not know"
            );
        }
    }
}

pub(crate) struct Person<'a> {
    world: &'a World,
    name: &'static str,
}

impl Person<'_> {
    /// Types a command in #deploys, waits until the world is at rest, and returns the acknowledgement.
    pub(crate) async fn types(&self, text: &str) -> String {
        let ack = self.types_without_waiting("deploys", text).await;
        self.world.settle().await;
        ack
    }

    pub(crate) async fn types_without_waiting(&self, channel: &str, text: &str) -> String {
        let ack = self.world.sim.slack.type_command(self.name, channel, text).await.unwrap();
        assert_eq!(ack.status, 200, "{ack:?}");
        render_ack(&ack)
    }

    pub(crate) async fn posts(&self, channel: &str, thread: Option<&str>, text: &str) -> String {
        let message = self.world.sim.slack.type_message(self.name, channel, thread, text).await.unwrap();
        self.world.settle().await;
        message.id
    }

    /// Clicks a button of the newest message that this person sees in #deploys.
    pub(crate) async fn clicks(&self, button: &str) {
        let message = self.world.last_message(self.name, "deploys");
        self.world.sim.slack.click(self.name, "deploys", &message.id, button).await.unwrap();
        self.world.settle().await;
    }

    /// Clicks a button in the newest message of the channel that has this button.
    pub(crate) async fn clicks_in(&self, channel: &str, button: &str) {
        self.clicks_without_waiting(channel, button).await;
        self.world.settle().await;
    }

    /// The same without waiting for the effect.
    pub(crate) async fn clicks_without_waiting(&self, channel: &str, button: &str) {
        let messages = self.world.sim.slack.messages(channel, Some(self.name));
        let newest = messages.iter().rev().find(|message| has_button(message, button));
        let message = newest.unwrap_or_else(|| panic!("{} sees no {button} in {channel}: {messages:#?}", self.name));
        self.world.sim.slack.click(self.name, channel, &message.id, button).await.unwrap();
    }

    /// Fills in the modal that is open, and submits it.
    pub(crate) async fn submits(&self, values: Value) {
        let view = self.world.sim.slack.views(self.name).pop().expect("an open modal");
        let id = view["id"].as_str().expect("an id").to_owned();
        let ack = self.world.sim.slack.submit(self.name, &id, &values).await.unwrap();
        assert_eq!(ack.status, 200, "{ack:?}");
        self.world.settle().await;
    }

    pub(crate) fn reads(&self) -> String {
        render_message(&self.world.last_message(self.name, "deploys"))
    }
}

pub(crate) fn has_button(message: &Message, label: &str) -> bool {
    let elements = message.blocks.iter().filter(|block| block["type"] == "actions");
    elements
        .flat_map(|block| block["elements"].as_array().cloned().unwrap_or_default())
        .any(|element| element["text"]["text"] == label)
}

fn render_ack(ack: &Ack) -> String {
    let blocks = ack.body["blocks"].as_array().cloned().unwrap_or_default();
    if blocks.is_empty() { ack.body["text"].as_str().unwrap_or_default().to_owned() } else { render_blocks(&blocks) }
}

pub(crate) fn render_message(message: &Message) -> String {
    if message.blocks.is_empty() { message.text.clone() } else { render_blocks(&message.blocks) }
}

/// A message as text: cells are separated by a bar, and buttons are in brackets.
pub(crate) fn render_blocks(blocks: &[Value]) -> String {
    blocks.iter().map(render_block).collect::<Vec<_>>().join("\n")
}

fn render_block(block: &Value) -> String {
    let texts = |values: &Value, join: &str| {
        let all = values.as_array().into_iter().flatten();
        all.filter_map(|value| value["text"].as_str().or(value["text"]["text"].as_str())).collect::<Vec<_>>().join(join)
    };
    match block["type"].as_str().unwrap_or_default() {
        "section" => block["text"]["text"].as_str().unwrap_or_default().to_owned(),
        "context" => texts(&block["elements"], " "),
        "actions" => format!("[{}]", texts(&block["elements"], "] [")),
        "table" => {
            block["rows"].as_array().into_iter().flatten().map(|row| texts(row, " | ")).collect::<Vec<_>>().join("\n")
        }
        other => format!("<{other}>"),
    }
}

/// A line of steps without their durations.
pub(crate) fn remove_durations(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_count = |index: usize| {
        words.get(index).is_some_and(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_unit = |index: usize| words.get(index).is_some_and(|word| matches!(*word, "s" | "min"));
    let kept = (0..words.len()).filter(|index| {
        let (is_number, is_unit_of_number) =
            (is_count(*index) && is_unit(index + 1), *index > 0 && is_unit(*index) && is_count(index - 1));
        !is_number && !is_unit_of_number
    });
    kept.map(|index| words[index]).collect::<Vec<_>>().join(" ")
}

/// Replaces the address and the ids of changes, which differ in each run.
pub(crate) fn redact_origin_and_ids(world: &World, text: &str) -> String {
    let text = text.replace(&world.origin, "http://world");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("change `") {
        out += before;
        out += "change `<id>`";
        rest = after.split_once('`').map_or("", |(_, after)| after);
    }
    out + rest
}
