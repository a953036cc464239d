//! The permit for a plan.

use super::gate::GateOverride;

/// Proves that the rules allowed an operation. Nothing takes effect without a permit. Only
/// [`check_promotion`](super::promotion::check_promotion) and [`check_rollback`](super::rollback::check_rollback)
/// create one.
#[derive(Debug)]
pub struct Permit {
    gate_override: Option<GateOverride>,
}

impl Permit {
    pub(super) fn new(gate_override: Option<GateOverride>) -> Self {
        Self { gate_override }
    }

    /// The closed gates that were overridden.
    pub(in crate::domain) fn into_gate_override(self) -> Option<GateOverride> {
        self.gate_override
    }
}
