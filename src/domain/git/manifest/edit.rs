//! Changes one scalar and proves that nothing else changed: it parses the file again and compares the lines.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle};
use similar::{ChangeTag, TextDiff};

use super::find::{ImageLocation, split_tag_and_digest};
use super::problem::ManifestError;
use super::selector::{ImageSelector, ManifestFormat};
use super::tree::{ManifestTree, ManifestValue, NodeId, NodeSharing, new_parser};
use crate::domain::model::version::{Pin, Version, is_valid_digest, is_valid_tag};

/// The scalar to change and its new text.
pub(super) fn compute_edit(
    tree: &ManifestTree<'_>,
    location: &ImageLocation,
    selector: &ImageSelector<'_>,
    version: &Version,
) -> Result<(NodeId, String), ManifestError> {
    let (tag, digest) = (version.tag.as_deref(), version.digest.as_deref());
    for (part, kind, is_valid) in [(tag, "tag", is_valid_tag as fn(&str) -> bool), (digest, "digest", is_valid_digest)]
    {
        if let Some(value) = part.filter(|value| !is_valid(value)) {
            return Err(ManifestError::BadVersion { value: value.to_owned(), kind });
        }
    }
    let current_version = location.read_version(tree)?;
    match selector.pin {
        Pin::Tag => {
            let tag = tag.ok_or(ManifestError::VersionHasNoTag)?;
            let id = find_tag_scalar(tree, location, selector, &current_version)?;
            let value = if location.reference.is_some() { format!("{}:{tag}", selector.image) } else { tag.to_owned() };
            Ok((id, value))
        }
        Pin::Digest => {
            let digest = digest.ok_or(ManifestError::VersionHasNoDigest)?;
            let (id, form) = find_digest_scalar(tree, location, selector)?;
            let value = match (form, tag) {
                (DigestForm::Alone, _) => digest.to_owned(),
                (DigestForm::WithTag, Some(tag)) => format!("{tag}@{digest}"),
                (DigestForm::WithTag, None) => return Err(ManifestError::VersionHasNoTagForBoth),
                (DigestForm::Reference, Some(tag)) if current_version.tag.is_some() => {
                    format!("{}:{tag}@{digest}", selector.image)
                }
                (DigestForm::Reference, _) => format!("{}@{digest}", selector.image),
            };
            Ok((id, value))
        }
    }
}

/// The form of the scalar with the digest: the digest alone, `tag@digest`, or a whole image reference.
enum DigestForm {
    Alone,
    WithTag,
    Reference,
}

fn find_tag_scalar(
    tree: &ManifestTree<'_>,
    location: &ImageLocation,
    selector: &ImageSelector<'_>,
    current_version: &Version,
) -> Result<NodeId, ManifestError> {
    let line = |id: NodeId| tree.node(id).line;
    if let (ManifestFormat::Path, Some(path), true) =
        (location.format, selector.path, location.digest == Some(location.node))
    {
        return Err(ManifestError::PathToDigest { path: path.to_owned(), line: line(location.node) });
    }
    if let Some(digest) = current_version.digest.as_deref() {
        let mut scalars = [location.reference, location.tag, location.digest].into_iter().flatten();
        let holder = scalars.find(|id| tree.scalar_text(*id).is_some_and(|text| text.ends_with(digest)));
        return Err(ManifestError::PinnedByDigest { line: line(holder.unwrap_or(location.node)) });
    }
    let key = if location.format == ManifestFormat::Kustomize { "newTag" } else { "tag" };
    let no_tag = || ManifestError::NoTag { image: selector.image.to_owned(), line: line(location.node), key };
    location.reference.or(location.tag).ok_or_else(no_tag)
}

fn find_digest_scalar(
    tree: &ManifestTree<'_>,
    location: &ImageLocation,
    selector: &ImageSelector<'_>,
) -> Result<(NodeId, DigestForm), ManifestError> {
    if let Some(id) = location.reference {
        return Ok((id, DigestForm::Reference));
    }
    let combined = location.tag.filter(|id| {
        location.format != ManifestFormat::Kustomize
            && tree.scalar_text(*id).and_then(split_tag_and_digest).is_some_and(|(_, digest)| digest.is_some())
    });
    if let Some(id) = combined {
        // The path leads to an empty `digest`. Filling it would give a second digest.
        if selector.path.is_some() && id != location.node {
            return Err(ManifestError::TwoDigests { lines: [tree.node(id).line, tree.node(location.node).line] });
        }
        return Ok((id, DigestForm::WithTag));
    }
    let line = tree.node(location.node).line;
    match (location.digest, selector.path) {
        (digest, Some(path)) if digest != Some(location.node) => {
            Err(ManifestError::PathToTag { path: path.to_owned(), line })
        }
        (Some(id), _) => Ok((id, DigestForm::Alone)),
        (None, _) => Err(ManifestError::NoDigest { image: selector.image.to_owned(), line }),
    }
}

/// Writes the text into the scalar, or says why this scalar must not be changed.
pub(super) fn replace_scalar(
    text: &str,
    tree: &ManifestTree<'_>,
    id: NodeId,
    value: &str,
) -> Result<String, ManifestError> {
    let node = tree.node(id);
    let line = node.line;
    if let Some(marker) = tree.find_flux_marker(line) {
        return Err(ManifestError::Automated { line, policy: parse_policy_name(marker) });
    }
    match tree.find_sharing(id) {
        Some(NodeSharing::Alias) => return Err(ManifestError::Alias { line }),
        Some(NodeSharing::Anchor(anchor)) => return Err(ManifestError::SharedAnchor { line, anchor }),
        Some(NodeSharing::Merge(merge)) => return Err(ManifestError::MergeKey { line, merge }),
        None => {}
    }
    let ManifestValue::Scalar(current, style) = &node.value else { return Err(ManifestError::UnsafeEdit { line }) };
    if node.has_non_string_tag {
        return Err(ManifestError::NonStringTag { line });
    }
    let source = text.get(node.bytes.clone()).ok_or(ManifestError::UnsafeEdit { line })?;
    let quoted = match style {
        ScalarStyle::Literal | ScalarStyle::Folded => return Err(ManifestError::Multiline { line }),
        _ if source.contains(['\n', '\r']) => return Err(ManifestError::Multiline { line }),
        ScalarStyle::SingleQuoted => format!("'{value}'"),
        ScalarStyle::Plain if is_safe_unquoted(value) => value.to_owned(),
        ScalarStyle::Plain | ScalarStyle::DoubleQuoted => format!("\"{value}\""),
    };
    // A quoted scalar may spell the same text with escapes. Then the file stays as it is.
    if current == value && (*style != ScalarStyle::Plain || quoted == source) {
        return Ok(text.to_owned());
    }
    let (before, after) = (&text[..node.bytes.start], &text[node.bytes.end..]);
    let changed = [before, &quoted, after].concat();
    let is_proven = is_parsed_as_string(&quoted, value)
        && is_only_scalar_changed(text, &changed, &node.bytes, value)
        && is_only_line_changed(text, &changed, &node.bytes);
    if is_proven { Ok(changed) } else { Err(ManifestError::UnsafeEdit { line }) }
}

/// The policy's namespace and name in Flux's marker. The marker may also say whether it sets the tag, the name or the
/// digest.
fn parse_policy_name(marker: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(marker.trim()).ok();
    let policy = value.as_ref().and_then(|value| value.get("$imagepolicy")?.as_str());
    policy.map_or("unknown".to_owned(), |policy| policy.split(':').take(2).collect::<Vec<_>>().join(":"))
}

/// Whether every YAML reader takes the unquoted text for a string. kustomize and Helm read YAML 1.1, in which `on` is a
/// boolean, `1_000` and `12:30` are numbers, and `2026-11-16` is a date.
fn is_safe_unquoted(value: &str) -> bool {
    const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"];
    let normalised = value.replace('_', "").to_ascii_lowercase();
    let is_number = normalised.is_empty() || normalised.parse::<f64>().is_ok();
    let has_base_prefix = ["0x", "0o", "0b"].iter().any(|base| normalised.starts_with(base))
        && !normalised.contains(['-', '/', ':', '@']);
    let is_sexagesimal =
        normalised.contains(':') && normalised.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'));
    let is_date = || {
        let mut parts = normalised.splitn(3, '-');
        let digits = |part: Option<&str>| part.map(|part| part.bytes().take_while(u8::is_ascii_digit).count());
        let (year, month, day) = (parts.next(), parts.next(), parts.next());
        year.is_some_and(|year| year.len() == 4)
            && digits(year) == Some(4)
            && matches!(digits(month), Some(1 | 2))
            && digits(day).is_some_and(|digits| digits > 0)
    };
    value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !value.ends_with(':')
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/:@".contains(&b))
        && !(WORDS.contains(&&*normalised) || is_number || has_base_prefix || is_sexagesimal || is_date())
}

/// Asks the library that resolves scalars, so that the check does not rest on the list above alone.
fn is_parsed_as_string(quoted: &str, expected: &str) -> bool {
    serde_saphyr::from_str::<serde_json::Value>(quoted).is_ok_and(|value| value.as_str() == Some(expected))
}

fn is_only_scalar_changed(before: &str, after: &str, range: &Range<usize>, value: &str) -> bool {
    let mut found = false;
    let (mut old, mut new) = (new_parser(before), new_parser(after));
    loop {
        let (old, new) = match (old.next(), new.next()) {
            (None, None) => return found,
            (Some(Ok(old)), Some(Ok(new))) => (old, new),
            _ => return false,
        };
        let same = match (&old, &new) {
            ((Event::Scalar(_, _, anchor, tag), span), (Event::Scalar(text, _, new_anchor, new_tag), _))
                if !found && span.byte_range().as_ref() == Some(range) =>
            {
                found = true;
                text == value && anchor == new_anchor && tag == new_tag
            }
            ((old, _), (new, _)) => old == new,
        };
        if !same {
            return false;
        }
    }
}

fn is_only_line_changed(before: &str, after: &str, range: &Range<usize>) -> bool {
    let diff = TextDiff::from_lines(before, after);
    let mut start = 0;
    let (mut removed, mut added) = (0, 0);
    for change in diff.iter_all_changes() {
        let line = start..start + change.value().len();
        match change.tag() {
            ChangeTag::Insert => {
                added += 1;
                continue;
            }
            ChangeTag::Delete if line.start <= range.start && range.end <= line.end => removed += 1,
            ChangeTag::Delete => return false,
            ChangeTag::Equal => {}
        }
        start = line.end;
    }
    (removed, added) == (1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_reader_could_take_for_a_number_a_boolean_or_a_date_needs_quotes() {
        for text in [
            "1",
            "1.10",
            "1.",
            "1e3",
            "1E400",
            "0x1",
            "0b1",
            "0o7",
            "017",
            "1_000",
            "_1",
            "true",
            "True",
            "null",
            "NULL",
            "y",
            "No",
            "on",
            "OFF",
            "2026-11-16",
            "2026-1-2",
            "2026-11-16t10",
            "nan",
            "inf",
            "12:30",
            "_",
            "",
            "a b",
            "a:",
            "-1",
            "a#b",
            "12e03",
        ] {
            assert!(!is_safe_unquoted(text), "{text}");
        }
        for text in [
            "1.2.3",
            "v1",
            "v1.10",
            "4f1c2ab",
            "12e",
            "latest",
            "1.2-rc.1",
            "2026.11.16-1",
            "x",
            "ghcr.io/acme/search:1.10",
            "search:1",
            "0xyz-1",
            "20261116-1",
            "2026-w1",
        ] {
            assert!(is_safe_unquoted(text), "{text}");
        }
    }

    #[test]
    fn the_proof_fails_if_anything_else_changed() {
        let before = "a: 1 # one\nb: 2\n";
        let range = 3..4;
        for (after, expected) in [
            ("a: x # one\nb: 2\n", true),
            ("a: y # one\nb: 2\n", false),
            ("a: x # two\nb: 2\n", false),
            ("a: x # one\nb: 3\n", false),
            ("a: x # one\nb: \"2\"\n", false),
            ("a: x # one\nb: 2\nc: 3\n", false),
            ("a: &n x # one\nb: 2\n", false),
            ("a: x # one\n", false),
            ("a: [x # one\nb: 2\n", false),
        ] {
            assert_eq!(is_only_scalar_changed(before, after, &range, "x"), expected, "{after}");
        }
        for (after, expected) in [
            ("a: x # one\nb: 2\n", true),
            ("a: x # one\nb: 2", false),
            ("a: x # one\r\nb: 2\r\n", false),
            ("a: x # one\n\nb: 2\n", false),
            (before, false),
        ] {
            assert_eq!(is_only_line_changed(before, after, &range), expected, "{after}");
        }
    }
}
