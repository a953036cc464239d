//! Everything that people read in Slack: pure functions from the domain to text and blocks.
//! No clock, no I/O, no order of a map.

pub mod arrival;
pub mod blocks;
pub mod card;
pub mod help;
pub mod list;
pub mod mrkdwn;
pub mod notice;
pub mod plan;
pub mod refusal;
pub mod status;

use serde::Serialize;
use serde_json::Value;

use crate::domain::message::{Message, To};
use blocks::Block;

/// Something to say, before it is known where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// What notifications and screen readers get.
    pub text: String,
    pub blocks: Vec<Block>,
}

impl Said {
    pub fn to(self, to: To) -> Message {
        let plain = self.plain().as_deref().map(json);
        Message { to, blocks: json(&self.blocks), plain, text: self.text, link_to: None }
    }

    /// As the answer to a slash command, in JSON.
    pub fn ack(&self, in_channel: bool) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            response_type: &'static str,
            text: &'a str,
            blocks: &'a [Block],
        }
        let response_type = if in_channel { "in_channel" } else { "ephemeral" };
        let body = Body { response_type, text: &self.text, blocks: &self.blocks };
        // A list says in its blocks what it says in its text, and a little more.
        let mut json = Vec::with_capacity(3 * self.text.len() + 512);
        // Strings always serialise.
        let _ = serde_json::to_writer(&mut json, &body);
        json
    }

    /// For a workspace that is known to refuse tables.
    #[must_use]
    pub fn without_tables(self) -> Self {
        match self.plain() {
            Some(blocks) => Self { blocks, ..self },
            None => self,
        }
    }

    /// The same with the lines of tables in sections; `None` where there is no table.
    fn plain(&self) -> Option<Vec<Block>> {
        let is_table = |block: &Block| matches!(block, Block::Table { .. });
        self.blocks.iter().any(is_table).then(|| {
            let plain = |block: &Block| match block {
                Block::Table { rows } => list::sections(rows),
                block => vec![block.clone()],
            };
            self.blocks.iter().flat_map(plain).collect()
        })
    }
}

/// As a message holds blocks, which is stored until Slack has taken it.
fn json(blocks: &[Block]) -> Vec<Value> {
    blocks.iter().map(|block| serde_json::to_value(block).unwrap_or_default()).collect()
}
