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
    let bad = || ManifestError::BadPath { path: path.to_owned() };
    let mut steps = Vec::new();
    // yq writes a dot before the first key. A path that was copied from it is accepted.
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    let mut wants_key = !rest.starts_with('[');
    while wants_key || !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[').filter(|_| !wants_key) {
            let step = if let Some(quote @ ('"' | '\'')) = inside.chars().next() {
                let (name, after) = inside[1..].split_once(quote).ok_or_else(bad)?;
                rest = after.strip_prefix(']').ok_or_else(bad)?;
                PathSegment::Key(name.to_owned())
            } else {
                let (index, after) = inside.split_once(']').ok_or_else(bad)?;
                rest = after;
                PathSegment::Index(index.parse().map_err(|_| bad())?)
            };
            steps.push(step);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 || rest[..end].contains([']', '"', '\'']) || rest[..end].trim() != &rest[..end] {
                return Err(bad());
            }
            steps.push(PathSegment::Key(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        wants_key = rest.starts_with('.');
        if wants_key {
            rest = &rest[1..];
        } else if !rest.is_empty() && !rest.starts_with('[') {
            return Err(bad());
        }
    }
    Ok(steps)
}

/// The one node in all documents that the path leads to.
pub(super) fn find_node(tree: &ManifestTree<'_>, path: &str) -> Result<NodeId, ManifestError> {
    let steps = parse_path(path)?;
    let mut found = Vec::new();
    let mut by_alias = None;
    for root in &tree.documents {
        match follow_path(tree, *root, &steps) {
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

fn follow_path(tree: &ManifestTree<'_>, root: NodeId, steps: &[PathSegment]) -> PathMatch {
    let mut at = root;
    for step in steps {
        let next = match (&tree.node(at).value, step) {
            (ManifestValue::Alias(_), _) => return PathMatch::Alias(tree.node(at).line),
            (ManifestValue::Map(_), PathSegment::Key(name)) => tree.find_value(at, name),
            (ManifestValue::Map(_), PathSegment::Index(index)) => tree.find_value(at, &index.to_string()),
            (ManifestValue::List(items), PathSegment::Index(index)) => items.get(*index).copied(),
            // Helm's own tools write `list.0.key`.
            (ManifestValue::List(items), PathSegment::Key(name)) => {
                name.parse().ok().and_then(|at: usize| items.get(at).copied())
            }
            (ManifestValue::Scalar(..), _) => None,
        };
        match next {
            Some(next) => at = next,
            None => {
                return tree
                    .find_value(at, "<<")
                    .map_or(PathMatch::Missing, |merged| PathMatch::Alias(tree.node(merged).line));
            }
        }
    }
    PathMatch::Found(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_keys_and_indices() {
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
        for (path, steps) in cases {
            assert_eq!(parse_path(path), Ok(steps), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [
            "", ".", "..a", "a.", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[0", "a[0]b", "a[\"b]", "a]", "a.[0]", "a .b",
        ] {
            assert_eq!(parse_path(path), Err(ManifestError::BadPath { path: path.to_owned() }), "{path}");
        }
    }
}
