//! A YAML file as nodes with their bytes, lines and parents. Aliases are not followed, so that the tree cannot grow
//! larger than the text. Knows nothing of images.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Span, StrInput};

use super::problem::{MAX_BYTES, MAX_NODES, ManifestError};

/// The number of a node, in the order of the file.
pub(super) type NodeId = usize;

pub(super) struct ManifestNode<'t> {
    pub(super) line: usize,
    pub(super) bytes: Range<usize>,
    pub(super) value: ManifestValue<'t>,
    /// A YAML tag makes the value something other than a string: `!!int`, `!custom`.
    pub(super) has_non_string_tag: bool,
    anchor: Option<usize>,
    parent: Option<NodeId>,
    /// The node of its key, if the parent is a mapping and this node is a value.
    key: Option<NodeId>,
}

pub(super) enum ManifestValue<'t> {
    Scalar(Cow<'t, str>, ScalarStyle),
    /// The node that the alias refers to.
    Alias(Option<NodeId>),
    List(Vec<NodeId>),
    /// Keys and values in the order of the file.
    Map(Vec<(NodeId, NodeId)>),
}

#[derive(Default)]
pub(super) struct ManifestTree<'t> {
    nodes: Vec<ManifestNode<'t>>,
    pub(super) documents: Vec<NodeId>,
    aliased: HashSet<usize>,
    /// Comments that may be markers of Flux: their line and text.
    flux_markers: Vec<(usize, Cow<'t, str>)>,
}

/// The reason why a node cannot be changed alone.
pub(super) enum NodeSharing {
    Alias,
    Anchor(usize),
    Merge(usize),
}

pub(super) fn new_parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let options: Options = granit_parser::options! {
        // A values file may begin with a page of comments. The size of the file bounds their number.
        max_buffered_comment_events: MAX_BYTES,
    };
    Parser::new_from_str_with_options(text, options)
}

/// A collection that has not ended yet.
struct OpenCollection {
    id: NodeId,
    key: Option<NodeId>,
    key_lines: HashMap<String, usize>,
}

impl<'t> ManifestTree<'t> {
    pub(super) fn parse_yaml(text: &'t str) -> Result<Self, ManifestError> {
        if text.len() > MAX_BYTES {
            return Err(ManifestError::TooLarge);
        }
        let mut tree = Self::default();
        let mut open: Vec<OpenCollection> = Vec::new();
        let mut anchors: HashMap<usize, NodeId> = HashMap::new();
        for event in new_parser(text) {
            let (event, span) = event.map_err(|error| match error.kind() {
                ErrorKind::RecursionLimitExceeded => ManifestError::TooDeep,
                _ => ManifestError::NotYaml {
                    line: error.marker().line(),
                    column: error.marker().col() + 1,
                    message: error.info(),
                },
            })?;
            let has_non_string_tag = event.tag().is_some_and(|tag| !tag.is_yaml_core_schema_tag("str"));
            let anchor = event.anchor_id();
            let (value, opens) = match event {
                Event::Scalar(text, style, ..) => (ManifestValue::Scalar(text, style), false),
                Event::SequenceStart(..) => (ManifestValue::List(Vec::new()), true),
                Event::MappingStart(..) => (ManifestValue::Map(Vec::new()), true),
                Event::Alias(anchor) => {
                    tree.aliased.insert(anchor);
                    (ManifestValue::Alias(anchors.get(&anchor).copied()), false)
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                Event::Comment(text, _) => {
                    if text.contains("$imagepolicy") {
                        tree.flux_markers.push((span.start.line(), text));
                    }
                    continue;
                }
                _ => continue,
            };
            let id = tree.add_node(value, &span, open.last_mut())?;
            tree.nodes[id].has_non_string_tag = has_non_string_tag;
            if let Some(anchor) = anchor {
                tree.nodes[id].anchor = Some(anchor);
                anchors.insert(anchor, id);
            }
            if opens {
                open.push(OpenCollection { id, key: None, key_lines: HashMap::new() });
            }
        }
        Ok(tree)
    }

    fn add_node(
        &mut self,
        value: ManifestValue<'t>,
        span: &Span,
        open: Option<&mut OpenCollection>,
    ) -> Result<NodeId, ManifestError> {
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(ManifestError::TooLarge);
        }
        let bytes = span.byte_range().unwrap_or_default();
        let line = span.start.line();
        let parent = open.as_ref().map(|open| open.id);
        self.nodes.push(ManifestNode {
            line,
            bytes,
            value,
            has_non_string_tag: false,
            anchor: None,
            parent,
            key: None,
        });
        let Some(open) = open else {
            self.documents.push(id);
            return Ok(id);
        };
        let Some(key) = open.key.take_if(|_| matches!(self.nodes[open.id].value, ManifestValue::Map(_))) else {
            if let ManifestValue::List(items) = &mut self.nodes[open.id].value {
                items.push(id);
                return Ok(id);
            }
            open.key = Some(id);
            if let Some(text) = self.scalar_text(id)
                && let Some(first) = open.key_lines.insert(text.to_owned(), line)
            {
                return Err(ManifestError::DuplicateKey { key: text.to_owned(), lines: [first, line] });
            }
            return Ok(id);
        };
        self.nodes[id].key = Some(key);
        if let ManifestValue::Map(entries) = &mut self.nodes[open.id].value {
            entries.push((key, id));
        }
        Ok(id)
    }

    pub(super) fn node(&self, id: NodeId) -> &ManifestNode<'t> {
        &self.nodes[id]
    }

    pub(super) fn node_ids(&self) -> Range<NodeId> {
        0..self.nodes.len()
    }

    /// The text of a scalar, or of the scalar that an alias refers to.
    pub(super) fn scalar_text(&self, id: NodeId) -> Option<&str> {
        match &self.nodes[id].value {
            ManifestValue::Scalar(text, _) => Some(text),
            ManifestValue::Alias(Some(to)) => match &self.nodes[*to].value {
                ManifestValue::Scalar(text, _) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the value is missing or spelled as null.
    pub(super) fn is_null(&self, id: NodeId) -> bool {
        let node = &self.nodes[id];
        match &node.value {
            ManifestValue::Scalar(text, ScalarStyle::Plain) => {
                node.bytes.is_empty() || matches!(&**text, "~" | "null" | "Null" | "NULL")
            }
            ManifestValue::Alias(Some(to)) => {
                matches!(self.nodes[*to].value, ManifestValue::Scalar(..)) && self.is_null(*to)
            }
            _ => false,
        }
    }

    /// The value under a key of a mapping.
    pub(super) fn find_value(&self, map: NodeId, key: &str) -> Option<NodeId> {
        let ManifestValue::Map(entries) = &self.nodes[map].value else { return None };
        entries.iter().find(|(name, _)| self.scalar_text(*name) == Some(key)).map(|(_, value)| *value)
    }

    /// The text under a key of a mapping.
    pub(super) fn find_text(&self, map: NodeId, key: &str) -> Option<&str> {
        self.find_value(map, key).filter(|id| !self.is_null(*id)).and_then(|id| self.scalar_text(id))
    }

    /// The key of a value in its mapping.
    pub(super) fn key(&self, id: NodeId) -> Option<&str> {
        self.nodes[id].key.and_then(|key| self.scalar_text(key))
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id].parent
    }

    /// The node itself and its ancestors, outwards.
    fn iter_ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(id), |id| self.nodes[*id].parent)
    }

    pub(super) fn find_sharing(&self, id: NodeId) -> Option<NodeSharing> {
        if matches!(self.nodes[id].value, ManifestValue::Alias(_)) {
            return Some(NodeSharing::Alias);
        }
        self.iter_ancestors(id).find_map(|id| {
            let node = &self.nodes[id];
            if node.anchor.is_some_and(|anchor| self.aliased.contains(&anchor)) {
                return Some(NodeSharing::Anchor(node.line));
            }
            (self.key(id) == Some("<<")).then_some(NodeSharing::Merge(node.line))
        })
    }

    /// Flux's marker on a line, without the `#`.
    pub(super) fn find_flux_marker(&self, line: usize) -> Option<&str> {
        self.flux_markers.iter().find(|(marked_line, _)| *marked_line == line).map(|(_, text)| &**text)
    }

    /// The path to a node, in the syntax of a configured path.
    pub(super) fn format_path(&self, id: NodeId) -> String {
        let mut segments: Vec<String> = Vec::new();
        for id in self.iter_ancestors(id) {
            let Some(parent) = self.nodes[id].parent else { break };
            match &self.nodes[parent].value {
                ManifestValue::List(items) => {
                    let index = items.iter().position(|item| *item == id).unwrap_or_default();
                    segments.push(format!("[{index}]"));
                }
                _ => segments.push(format_key(self.key(id).unwrap_or("?"))),
            }
        }
        let path: String = segments.iter().rev().map(String::as_str).collect();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
    }
}

/// A key in the syntax of a path, with its separator.
fn format_key(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '$' | '<');
    if !name.is_empty() && name.chars().all(plain) { format!(".{name}") } else { format!("[\"{name}\"]") }
}
