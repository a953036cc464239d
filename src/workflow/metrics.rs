//! The counters of the use cases: commands, refusals and reports.

use crate::adapters::reports::disposition::DispositionCounts;
use crate::domain::command::{COMMANDS, Verb};
use crate::telemetry::metrics::{EventCounter, LabelledCounter};

/// Clones share the counts.
#[derive(Clone, Debug)]
pub struct WorkflowMetrics {
    pub reports: DispositionCounts,
    commands: LabelledCounter<1>,
    /// In the order of [`COMMANDS`]. The counters are looked up once, because a `list` takes only a few microseconds.
    by_verb: Vec<EventCounter>,
    misunderstood: EventCounter,
    refusals: LabelledCounter<1>,
}

impl Default for WorkflowMetrics {
    fn default() -> Self {
        let commands = LabelledCounter::with_labels(["command"]);
        Self {
            reports: DispositionCounts::default(),
            by_verb: COMMANDS.iter().map(|entry| commands.ensure_counter([entry.names[0]])).collect(),
            misunderstood: commands.ensure_counter(["misunderstood"]),
            commands,
            refusals: LabelledCounter::with_labels(["refusal"]),
        }
    }
}

impl WorkflowMetrics {
    /// Counts an answered command. `None`: it was not understood.
    pub(super) fn count_command(&self, verb: Option<Verb>) {
        let index = verb.and_then(|verb| COMMANDS.iter().position(|entry| entry.verb == verb));
        index.and_then(|index| self.by_verb.get(index)).unwrap_or(&self.misunderstood).increment();
    }

    /// Counts a refusal by its code.
    pub(super) fn count_refusal(&self, refusal: &str) {
        self.refusals.increment([refusal]);
    }

    /// By verb, or `misunderstood`.
    pub fn commands(&self) -> &LabelledCounter<1> {
        &self.commands
    }

    /// By the name of the refusal.
    pub fn refusals(&self) -> &LabelledCounter<1> {
        &self.refusals
    }
}
