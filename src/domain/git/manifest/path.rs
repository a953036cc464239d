//! A configured path into a YAML file: `image.tag`, `spec.containers[0].image`, `annotations["a.b/c"]`.

use super::problem::ManifestError;
use super::tree::{ManifestTree, ManifestValue, NodeId};

#[derive(Debug, PartialEq)]
enum PathSegment {
    Key(String),
    Index(usize),
}

/// Checks the syntax of a path, without a file.
pub fn check_path(path: &str) -> Result<(), ManifestError> {
    parse_path(path).map(|_| ())
}

fn parse_path(path: &str) -> Result<Vec<PathSegment>, ManifestError> {
    let bad_path = || ManifestError::BadPath { path: path.to_owned() };
    let mut segments = Vec::new();
    // yq writes a dot before the first key. A path that was copied from it is accepted.
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    let mut expects_key = !rest.starts_with('[');
    while expects_key || !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[').filter(|_| !expects_key) {
            let segment = if let Some(quote @ ('"' | '\'')) = inside.chars().next() {
                let (name, after) = inside[1..].split_once(quote).ok_or_else(bad_path)?;
                rest = after.strip_prefix(']').ok_or_else(bad_path)?;
                PathSegment::Key(name.to_owned())
            } else {
                let (index, after) = inside.split_once(']').ok_or_else(bad_path)?;
                rest = after;
                PathSegment::Index(index.parse().map_err(|_| bad_path())?)
            };
            segments.push(segment);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 || rest[..end].contains([']', '"', '\'']) || rest[..end].trim() != &rest[..end] {
                return Err(bad_path());
            }
            segments.push(PathSegment::Key(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        expects_key = rest.starts_with('.');
        if expects_key {
            rest = &rest[1..];
        } else if !rest.is_empty() && !rest.starts_with('[') {
            return Err(bad_path());
        }
    }
    Ok(segments)
}

/// The one node in all documents that the path leads to.
pub(super) fn find_node(tree: &ManifestTree<'_>, path: &str) -> Result<NodeId, ManifestError> {
    let segments = parse_path(path)?;
    let mut found = Vec::new();
    let mut by_alias = None;
    for root in &tree.documents {
        match follow_path(tree, *root, &segments) {
            PathMatch::Found(id) => found.push(id),
            PathMatch::Alias(line) => by_alias = Some(line),
            PathMatch::Missing => {}
        }
    }
    match (&*found, by_alias) {
        ([one], None) => Ok(*one),
        // The target of the alias might be a second location.
        (_, Some(line)) => Err(ManifestError::Alias { line }),
        ([], None) => Err(ManifestError::PathNotFound { path: path.to_owned() }),
        _ => {
            let lines = found.iter().map(|id| tree.node(*id).line).collect();
            Err(ManifestError::AmbiguousPath { path: path.to_owned(), lines })
        }
    }
}

enum PathMatch {
    Found(NodeId),
    /// The path passes an alias; the line of the alias.
    Alias(usize),
    Missing,
}

fn follow_path(tree: &ManifestTree<'_>, root: NodeId, segments: &[PathSegment]) -> PathMatch {
    let mut node = root;
    for segment in segments {
        let next = match (&tree.node(node).value, segment) {
            (ManifestValue::Alias(_), _) => return PathMatch::Alias(tree.node(node).line),
            (ManifestValue::Map(_), PathSegment::Key(name)) => tree.find_value(node, name),
            (ManifestValue::Map(_), PathSegment::Index(index)) => tree.find_value(node, &index.to_string()),
            (ManifestValue::List(items), PathSegment::Index(index)) => items.get(*index).copied(),
            // Helm's own tools write `list.0.key`.
            (ManifestValue::List(items), PathSegment::Key(name)) => {
                name.parse().ok().and_then(|index: usize| items.get(index).copied())
            }
            (ManifestValue::Scalar(..), _) => None,
        };
        match next {
            Some(next) => node = next,
            None => {
                return tree
                    .find_value(node, "<<")
                    .map_or(PathMatch::Missing, |merged| PathMatch::Alias(tree.node(merged).line));
            }
        }
    }
    PathMatch::Found(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_consists_of_keys_and_indices() {
        let key = |name: &str| PathSegment::Key(name.into());
        let cases = [
            ("image", vec![key("image")]),
            ("image.tag", vec![key("image"), key("tag")]),
            (".image.tag", vec![key("image"), key("tag")]),
            ("images[0].newTag", vec![key("images"), PathSegment::Index(0), key("newTag")]),
            ("[1].a", vec![PathSegment::Index(1), key("a")]),
            ("a[\"b.c/d\"].e", vec![key("a"), key("b.c/d"), key("e")]),
            ("a['b'][2][3]", vec![key("a"), key("b"), PathSegment::Index(2), PathSegment::Index(3)]),
            ("app-search.x_y", vec![key("app-search"), key("x_y")]),
        ];
        for (path, segments) in cases {
            assert_eq!(parse_path(path), Ok(segments), "{path}");
        }
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in [
            "", ".", "..a", "a.", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[0", "a[0]b", "a[\"b]", "a]", "a.[0]", "a .b",
        ] {
            assert_eq!(parse_path(path), Err(ManifestError::BadPath { path: path.to_owned() }), "{path}");
        }
    }
}
