//! The permit of a plan.

use super::gate::GateOverride;

/// The proof that the rules said yes. Nothing takes effect without one, and only
/// [`check_promotion`](super::promotion::check_promotion) and [`check_rollback`](super::rollback::check_rollback) give it.
#[derive(Debug)]
pub struct Permit {
    gate_override: Option<GateOverride>,
}

impl Permit {
    pub(super) fn new(gate_override: Option<GateOverride>) -> Self {
        Self { gate_override }
    }

    /// What would have held it back, had nobody overridden it.
    pub(in crate::domain) fn into_gate_override(self) -> Option<GateOverride> {
        self.gate_override
    }
}
