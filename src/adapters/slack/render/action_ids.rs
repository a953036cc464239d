//! Lists the ids of all buttons, modals and inputs.

use super::{approve, arrival, card, command_button, lock, page_buttons, plan, promote_button, rollback};

/// The `action_id` of every button. Any person can send any of them, so each has an authorization rule.
pub const ACTIONS: &[&str] = &[
    plan::CONFIRM,
    plan::CANCEL,
    card::CANCEL,
    card::RETRY,
    approve::APPROVE,
    approve::REJECT,
    arrival::PROMOTE,
    promote_button::PROMOTE,
    command_button::COMMAND,
    lock::TAKE_OVER,
    rollback::ROLL_BACK,
    rollback::OTHER_VERSION,
    rollback::CANCEL_AND_ROLL_BACK,
    rollback::WAIT_AND_ROLL_BACK,
    page_buttons::EARLIER,
    page_buttons::LATER,
    page_buttons::OPEN_EARLIER,
    page_buttons::OPEN_LATER,
    page_buttons::LIST_EARLIER,
    page_buttons::LIST_LATER,
    page_buttons::LIST_OPEN_EARLIER,
    page_buttons::LIST_OPEN_LATER,
    page_buttons::SHARE_LIST,
];

/// The `callback_id` of every modal.
pub const MODALS: &[&str] = &[approve::REJECT];

/// The inputs of the modals.
pub const INPUTS: &[&str] = &[approve::REASON_INPUT];
