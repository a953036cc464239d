//! What the use cases count of what people ask for, and of what webhooks told.

use crate::adapters::reports::disposition::DispositionCounts;
use crate::domain::command::{COMMANDS, Verb};
use crate::telemetry::metrics::{EventCounter, LabelledCounter};

/// Clones share the counts.
#[derive(Clone, Debug)]
pub struct WorkflowMetrics {
    pub reports: DispositionCounts,
    commands: LabelledCounter<1>,
    /// In the order of [`COMMANDS`]: a `list` is answered from memory in a few microseconds, and costs one atomic here.
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
    /// A command was answered; `None`: it was not understood.
    pub(super) fn count_command(&self, verb: Option<Verb>) {
        let at = verb.and_then(|verb| COMMANDS.iter().position(|entry| entry.verb == verb));
        at.and_then(|at| self.by_verb.get(at)).unwrap_or(&self.misunderstood).increment();
    }

    /// By its name.
    pub(super) fn count_refusal(&self, refusal: &str) {
        self.refusals.increment([refusal]);
    }

    /// By verb, or `misunderstood`.
    pub fn commands(&self) -> &LabelledCounter<1> {
        &self.commands
    }

    /// By the name of the rule that said no.
    pub fn refusals(&self) -> &LabelledCounter<1> {
        &self.refusals
    }
}
