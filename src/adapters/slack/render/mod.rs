//! Renders everything that people read in Slack: pure functions from the domain to text and blocks.
//! No clock, no I/O, no dependency on the order of a hash map.

mod action_ids;
pub mod approve;
pub mod arrival;
pub mod arrival_batch;
pub mod blocks;
pub mod card;
pub mod command_button;
pub mod commit_summary;
pub mod diff;
pub mod doctor;
mod effects;
pub mod gate;
mod headline;
pub mod help;
pub mod history;
pub mod home;
pub mod list;
pub mod lock;
pub mod mrkdwn;
pub mod notice;
pub mod page_buttons;
mod plain_blocks;
pub mod plan;
mod progress;
pub mod promote_button;
mod quarantine;
pub mod refusal;
mod refusal_buttons;
mod rendered;
pub mod rollback;
mod stall_diagnosis;
pub mod status;
pub mod text_diff;
mod timeline;
pub mod where_is;
pub mod why;

pub use action_ids::{ACTIONS, INPUTS, MODALS};
pub use rendered::Rendered;
#[cfg(test)]
use rendered::serialize_blocks;
