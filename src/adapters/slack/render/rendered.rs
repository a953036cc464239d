//! Text and blocks of a message, and their form as JSON.

use serde::Serialize;
use serde_json::Value;

use super::blocks::Block;
use super::plain_blocks::{render_as_sections, render_code_section};
use crate::domain::model::message::{Destination, Message};

/// The content of a message without its destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The text for notifications and screen readers.
    pub text: String,
    pub blocks: Vec<Block>,
}

impl Rendered {
    pub fn into_message(self, to: Destination) -> Message {
        let plain = self.plain_blocks().as_deref().map(serialize_blocks);
        Message { plain, ..Message::new(to, self.text, serialize_blocks(&self.blocks)) }
    }

    /// The JSON response to a slash command.
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

    /// The blocks with tables and rich text as sections. `None` if there is neither.
    fn plain_blocks(&self) -> Option<Vec<Block>> {
        self.plain_blocks_where(|block| matches!(block, Block::Table { .. } | Block::RichText { .. }))
    }

    fn plain_blocks_where(&self, is_replaced: impl Fn(&Block) -> bool) -> Option<Vec<Block>> {
        self.blocks.iter().any(&is_replaced).then(|| {
            let plain = |block: &Block| match block {
                Block::Table { rows } if is_replaced(block) => render_as_sections(rows),
                Block::RichText { elements: [section] } if is_replaced(block) => {
                    vec![render_code_section(&section.elements)]
                }
                block => vec![block.clone()],
            };
            self.blocks.iter().flat_map(plain).collect()
        })
    }
}

/// The blocks as JSON, because the message is stored until Slack has accepted it.
pub(super) fn serialize_blocks(blocks: &[Block]) -> Vec<Value> {
    // All keys are strings, so this cannot fail.
    blocks.iter().map(|block| serde_json::to_value(block).unwrap_or_default()).collect()
}
