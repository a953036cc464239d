//! A YAML file as nodes that know their bytes, their line and what stands around them. Aliases are not followed, so
//! that no text can make the tree larger than itself. Knows nothing of images.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Span, StrInput};

use super::problem::Problem;

pub(super) const MOST_BYTES: usize = 1024 * 1024;
pub(super) const MOST_NODES: usize = 200_000;

/// A node's number, in the order of the file.
pub(super) type Id = usize;

pub(super) struct Node<'t> {
    pub(super) line: usize,
    pub(super) bytes: Range<usize>,
    pub(super) value: Value<'t>,
    /// A YAML tag that makes of it something else than text: `!!int`, `!custom`.
    pub(super) odd_tag: bool,
    anchor: Option<usize>,
    parent: Option<Id>,
    /// What the parent calls it, if that is a mapping and this is no key.
    key: Option<Id>,
}

pub(super) enum Value<'t> {
    Scalar(Cow<'t, str>, ScalarStyle),
    /// The node that it stands for.
    Alias(Option<Id>),
    List(Vec<Id>),
    /// Key and value, in the order of the file.
    Map(Vec<(Id, Id)>),
}

#[derive(Default)]
pub(super) struct Tree<'t> {
    nodes: Vec<Node<'t>>,
    pub(super) documents: Vec<Id>,
    aliased: HashSet<usize>,
    /// Of the comments, those that may be marks of Flux: their line and text.
    marks: Vec<(usize, Cow<'t, str>)>,
}

/// What keeps a node from being changed alone.
pub(super) enum Shared {
    Alias,
    Anchor(usize),
    Merge(usize),
}

pub(super) fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let options: Options = granit_parser::options! {
        // A values file may well begin with a page of comments; what it has in all is bounded by the file's size.
        max_buffered_comment_events: MOST_BYTES,
    };
    Parser::new_from_str_with_options(text, options)
}

/// A collection that has not ended yet.
struct Open {
    id: Id,
    key: Option<Id>,
    seen: HashMap<String, usize>,
}

impl<'t> Tree<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Problem> {
        if text.len() > MOST_BYTES {
            return Err(Problem::TooLarge);
        }
        let mut tree = Self::default();
        let mut open: Vec<Open> = Vec::new();
        let mut anchors: HashMap<usize, Id> = HashMap::new();
        for next in parser(text) {
            let (event, span) = next.map_err(|error| match error.kind() {
                ErrorKind::RecursionLimitExceeded => Problem::TooDeep,
                _ => Problem::NotYaml {
                    line: error.marker().line(),
                    column: error.marker().col() + 1,
                    said: error.info(),
                },
            })?;
            let odd_tag = event.tag().is_some_and(|tag| !tag.is_yaml_core_schema_tag("str"));
            let anchor = event.anchor_id();
            let (value, opens) = match event {
                Event::Scalar(text, style, ..) => (Value::Scalar(text, style), false),
                Event::SequenceStart(..) => (Value::List(Vec::new()), true),
                Event::MappingStart(..) => (Value::Map(Vec::new()), true),
                Event::Alias(anchor) => {
                    tree.aliased.insert(anchor);
                    (Value::Alias(anchors.get(&anchor).copied()), false)
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                Event::Comment(text, _) => {
                    if text.contains("$imagepolicy") {
                        tree.marks.push((span.start.line(), text));
                    }
                    continue;
                }
                _ => continue,
            };
            let id = tree.add(value, &span, open.last_mut())?;
            tree.nodes[id].odd_tag = odd_tag;
            if let Some(anchor) = anchor {
                tree.nodes[id].anchor = Some(anchor);
                anchors.insert(anchor, id);
            }
            if opens {
                open.push(Open { id, key: None, seen: HashMap::new() });
            }
        }
        Ok(tree)
    }

    fn add(&mut self, value: Value<'t>, span: &Span, open: Option<&mut Open>) -> Result<Id, Problem> {
        let id = self.nodes.len();
        if id >= MOST_NODES {
            return Err(Problem::TooLarge);
        }
        let bytes = span.byte_range().unwrap_or_default();
        let line = span.start.line();
        let parent = open.as_ref().map(|open| open.id);
        self.nodes.push(Node { line, bytes, value, odd_tag: false, anchor: None, parent, key: None });
        let Some(open) = open else {
            self.documents.push(id);
            return Ok(id);
        };
        let Some(key) = open.key.take_if(|_| matches!(self.nodes[open.id].value, Value::Map(_))) else {
            if let Value::List(items) = &mut self.nodes[open.id].value {
                items.push(id);
                return Ok(id);
            }
            open.key = Some(id);
            if let Some(text) = self.text(id)
                && let Some(first) = open.seen.insert(text.to_owned(), line)
            {
                return Err(Problem::KeyTwice { key: text.to_owned(), lines: [first, line] });
            }
            return Ok(id);
        };
        self.nodes[id].key = Some(key);
        if let Value::Map(entries) = &mut self.nodes[open.id].value {
            entries.push((key, id));
        }
        Ok(id)
    }

    pub(super) fn node(&self, id: Id) -> &Node<'t> {
        &self.nodes[id]
    }

    pub(super) fn ids(&self) -> Range<Id> {
        0..self.nodes.len()
    }

    /// A scalar's text, also that of an alias's.
    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match &self.nodes[id].value {
            Value::Scalar(text, _) => Some(text),
            Value::Alias(Some(to)) => match &self.nodes[*to].value {
                Value::Scalar(text, _) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Nothing is written there, or a word for nothing.
    pub(super) fn is_null(&self, id: Id) -> bool {
        let node = &self.nodes[id];
        match &node.value {
            Value::Scalar(text, ScalarStyle::Plain) => {
                node.bytes.is_empty() || matches!(&**text, "~" | "null" | "Null" | "NULL")
            }
            Value::Alias(Some(to)) => matches!(self.nodes[*to].value, Value::Scalar(..)) && self.is_null(*to),
            _ => false,
        }
    }

    /// What a mapping has under a key.
    pub(super) fn under(&self, map: Id, key: &str) -> Option<Id> {
        let Value::Map(entries) = &self.nodes[map].value else { return None };
        entries.iter().find(|(name, _)| self.text(*name) == Some(key)).map(|(_, value)| *value)
    }

    /// The text that a mapping has under a key.
    pub(super) fn text_under(&self, map: Id, key: &str) -> Option<&str> {
        self.under(map, key).filter(|id| !self.is_null(*id)).and_then(|id| self.text(id))
    }

    /// What its mapping calls it.
    pub(super) fn key(&self, id: Id) -> Option<&str> {
        self.nodes[id].key.and_then(|key| self.text(key))
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.nodes[id].parent
    }

    /// The node itself and all that it lies in, outwards.
    fn outwards(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(Some(id), |id| self.nodes[*id].parent)
    }

    pub(super) fn shared(&self, id: Id) -> Option<Shared> {
        if matches!(self.nodes[id].value, Value::Alias(_)) {
            return Some(Shared::Alias);
        }
        self.outwards(id).find_map(|id| {
            let node = &self.nodes[id];
            if node.anchor.is_some_and(|anchor| self.aliased.contains(&anchor)) {
                return Some(Shared::Anchor(node.line));
            }
            (self.key(id) == Some("<<")).then_some(Shared::Merge(node.line))
        })
    }

    /// Flux's mark on a line, without the `#`.
    pub(super) fn mark(&self, line: usize) -> Option<&str> {
        self.marks.iter().find(|(at, _)| *at == line).map(|(_, text)| &**text)
    }

    /// The way to a node, as a configured path is written.
    pub(super) fn path(&self, id: Id) -> String {
        let mut steps: Vec<String> = Vec::new();
        for id in self.outwards(id) {
            let Some(parent) = self.nodes[id].parent else { break };
            match &self.nodes[parent].value {
                Value::List(items) => {
                    let index = items.iter().position(|item| *item == id).unwrap_or_default();
                    steps.push(format!("[{index}]"));
                }
                _ => steps.push(super::path::key(self.key(id).unwrap_or("?"))),
            }
        }
        let path: String = steps.iter().rev().map(String::as_str).collect();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
    }
}
