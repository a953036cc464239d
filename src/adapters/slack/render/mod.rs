//! Everything that people read in Slack: pure functions from the domain to text and blocks.
//! No clock, no I/O, no order of a map.

pub mod approve;
pub mod arrival;
pub mod arrival_batch;
pub mod blocks;
pub mod card;
pub mod command_button;
pub mod commit_summary;
pub mod diff;
pub mod doctor;
pub mod gate;
pub mod help;
pub mod history;
pub mod home;
pub mod list;
pub mod lock;
pub mod mrkdwn;
pub mod notice;
pub mod page_buttons;
pub mod plan;
mod progress;
pub mod promote_button;
pub mod refusal;
pub mod rollback;
mod stall_diagnosis;
pub mod status;
pub mod text_diff;
mod timeline;
pub mod where_is;
pub mod why;

use serde::Serialize;
use serde_json::Value;

use crate::domain::model::message::{Destination, Message};
use blocks::Block;

/// Every button that we show, by its `action_id`: each can come back from anybody, so each has its rule.
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
    list::EARLIER,
    list::LATER,
    list::OPEN_EARLIER,
    list::OPEN_LATER,
    list::SHARE,
];

/// Every modal, by its `callback_id`.
pub const MODALS: &[&str] = &[approve::REJECT];

/// The inputs of the modals.
pub const INPUTS: &[&str] = &[approve::REASON_INPUT];

/// Something to say, before it is known where.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// What notifications and screen readers get.
    pub text: String,
    pub blocks: Vec<Block>,
}

impl Rendered {
    pub fn into_message(self, to: Destination) -> Message {
        let plain = self.plain_blocks().as_deref().map(serialize_blocks);
        Message { plain, ..Message::new(to, self.text, serialize_blocks(&self.blocks)) }
    }

    /// As the answer to a slash command, in JSON.
    pub fn to_ack_body(&self, in_channel: bool) -> Vec<u8> {
        #[derive(Serialize)]
        struct AckBody<'a> {
            response_type: &'static str,
            text: &'a str,
            blocks: &'a [Block],
        }
        let response_type = if in_channel { "in_channel" } else { "ephemeral" };
        // All keys are strings, so this cannot fail.
        serde_json::to_vec(&AckBody { response_type, text: &self.text, blocks: &self.blocks }).unwrap_or_default()
    }

    /// For a workspace that is known to refuse tables.
    #[must_use]
    pub fn without_tables(self) -> Self {
        let is_table = |block: &Block| matches!(block, Block::Table { .. });
        match self.plain_blocks_where(is_table) {
            Some(blocks) => Self { blocks, ..self },
            None => self,
        }
    }

    /// The same with the lines of tables and rich text in sections; `None` where there is neither.
    fn plain_blocks(&self) -> Option<Vec<Block>> {
        self.plain_blocks_where(|block| matches!(block, Block::Table { .. } | Block::RichText { .. }))
    }

    fn plain_blocks_where(&self, unknown: impl Fn(&Block) -> bool) -> Option<Vec<Block>> {
        self.blocks.iter().any(&unknown).then(|| {
            let plain = |block: &Block| match block {
                Block::Table { rows } if unknown(block) => list::render_as_sections(rows),
                Block::RichText { elements: [section] } if unknown(block) => {
                    vec![text_diff::render_code_section(&section.elements)]
                }
                block => vec![block.clone()],
            };
            self.blocks.iter().flat_map(plain).collect()
        })
    }
}

/// As a message holds blocks, which is stored until Slack has taken it.
fn serialize_blocks(blocks: &[Block]) -> Vec<Value> {
    // All keys are strings, so this cannot fail.
    blocks.iter().map(|block| serde_json::to_value(block).unwrap_or_default()).collect()
}
