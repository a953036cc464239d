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
    spot: &ImageLocation,
    place: &ImageSelector<'_>,
    version: &Version,
) -> Result<(NodeId, String), ManifestError> {
    let (tag, digest) = (version.tag.as_deref(), version.digest.as_deref());
    for (said, what, fits) in [(tag, "tag", is_valid_tag as fn(&str) -> bool), (digest, "digest", is_valid_digest)] {
        if let Some(said) = said.filter(|said| !fits(said)) {
            return Err(ManifestError::BadVersion { said: said.to_owned(), what });
        }
    }
    let current_version = spot.read_version(tree)?;
    match place.pin {
        Pin::Tag => {
            let tag = tag.ok_or(ManifestError::VersionHasNoTag)?;
            let id = find_tag_scalar(tree, spot, place, &current_version)?;
            let said = if spot.reference.is_some() { format!("{}:{tag}", place.image) } else { tag.to_owned() };
            Ok((id, said))
        }
        Pin::Digest => {
            let digest = digest.ok_or(ManifestError::VersionHasNoDigest)?;
            let (id, form) = find_digest_scalar(tree, spot, place)?;
            let said = match (form, tag) {
                (DigestForm::Alone, _) => digest.to_owned(),
                (DigestForm::WithTag, Some(tag)) => format!("{tag}@{digest}"),
                (DigestForm::WithTag, None) => return Err(ManifestError::VersionHasNoTagForBoth),
                (DigestForm::Reference, Some(tag)) if current_version.tag.is_some() => {
                    format!("{}:{tag}@{digest}", place.image)
                }
                (DigestForm::Reference, _) => format!("{}@{digest}", place.image),
            };
            Ok((id, said))
        }
    }
}

/// The other parts in the scalar of a digest.
enum DigestForm {
    Alone,
    WithTag,
    Reference,
}

fn find_tag_scalar(
    tree: &ManifestTree<'_>,
    spot: &ImageLocation,
    place: &ImageSelector<'_>,
    current_version: &Version,
) -> Result<NodeId, ManifestError> {
    let line = |id: NodeId| tree.node(id).line;
    if let (ManifestFormat::Path, Some(path), true) = (spot.format, place.path, spot.digest == Some(spot.node)) {
        return Err(ManifestError::PathToDigest { path: path.to_owned(), line: line(spot.node) });
    }
    if let Some(digest) = current_version.digest.as_deref() {
        let mut scalars = [spot.reference, spot.tag, spot.digest].into_iter().flatten();
        let holder = scalars.find(|id| tree.scalar_text(*id).is_some_and(|text| text.ends_with(digest)));
        return Err(ManifestError::PinnedByDigest { line: line(holder.unwrap_or(spot.node)) });
    }
    let key = if spot.format == ManifestFormat::Kustomize { "newTag" } else { "tag" };
    let no_tag = || ManifestError::NoTag { image: place.image.to_owned(), line: line(spot.node), key };
    spot.reference.or(spot.tag).ok_or_else(no_tag)
}

fn find_digest_scalar(
    tree: &ManifestTree<'_>,
    spot: &ImageLocation,
    place: &ImageSelector<'_>,
) -> Result<(NodeId, DigestForm), ManifestError> {
    if let Some(id) = spot.reference {
        return Ok((id, DigestForm::Reference));
    }
    let combined = spot.tag.filter(|id| {
        spot.format != ManifestFormat::Kustomize
            && tree.scalar_text(*id).and_then(split_tag_and_digest).is_some_and(|(_, digest)| digest.is_some())
    });
    if let Some(id) = combined {
        // The path leads to an empty `digest`. Filling it would give a second digest.
        if place.path.is_some() && id != spot.node {
            return Err(ManifestError::TwoDigests { lines: [tree.node(id).line, tree.node(spot.node).line] });
        }
        return Ok((id, DigestForm::WithTag));
    }
    let line = tree.node(spot.node).line;
    match (spot.digest, place.path) {
        (digest, Some(path)) if digest != Some(spot.node) => {
            Err(ManifestError::PathToTag { path: path.to_owned(), line })
        }
        (Some(id), _) => Ok((id, DigestForm::Alone)),
        (None, _) => Err(ManifestError::NoDigest { image: place.image.to_owned(), line }),
    }
}

/// Writes the text into the scalar, or says why this scalar must not be changed.
pub(super) fn replace_scalar(
    text: &str,
    tree: &ManifestTree<'_>,
    id: NodeId,
    said: &str,
) -> Result<String, ManifestError> {
    let node = tree.node(id);
    let line = node.line;
    if let Some(mark) = tree.find_flux_marker(line) {
        return Err(ManifestError::Automated { line, policy: parse_policy_name(mark) });
    }
    match tree.find_sharing(id) {
        Some(NodeSharing::Alias) => return Err(ManifestError::Alias { line }),
        Some(NodeSharing::Anchor(anchor)) => return Err(ManifestError::SharedAnchor { line, anchor }),
        Some(NodeSharing::Merge(merge)) => return Err(ManifestError::MergeKey { line, merge }),
        None => {}
    }
    let ManifestValue::Scalar(now, style) = &node.value else { return Err(ManifestError::UnsafeEdit { line }) };
    if node.has_non_string_tag {
        return Err(ManifestError::NonStringTag { line });
    }
    let source = text.get(node.bytes.clone()).ok_or(ManifestError::UnsafeEdit { line })?;
    let quoted = match style {
        ScalarStyle::Literal | ScalarStyle::Folded => return Err(ManifestError::Multiline { line }),
        _ if source.contains(['\n', '\r']) => return Err(ManifestError::Multiline { line }),
        ScalarStyle::SingleQuoted => format!("'{said}'"),
        ScalarStyle::Plain if is_safe_unquoted(said) => said.to_owned(),
        ScalarStyle::Plain | ScalarStyle::DoubleQuoted => format!("\"{said}\""),
    };
    // A quoted scalar may spell the same text with escapes. Then the file stays as it is.
    if now == said && (*style != ScalarStyle::Plain || quoted == source) {
        return Ok(text.to_owned());
    }
    let (before, after) = (&text[..node.bytes.start], &text[node.bytes.end..]);
    let changed = [before, &quoted, after].concat();
    let proven = is_parsed_as_string(&quoted, said)
        && is_only_scalar_changed(text, &changed, &node.bytes, said)
        && is_only_line_changed(text, &changed, &node.bytes);
    if proven { Ok(changed) } else { Err(ManifestError::UnsafeEdit { line }) }
}

/// The policy's namespace and name in Flux's marker. The marker may also say whether it sets the tag, the name or the
/// digest.
fn parse_policy_name(mark: &str) -> String {
    let said = serde_json::from_str::<serde_json::Value>(mark.trim()).ok();
    let policy = said.as_ref().and_then(|said| said.get("$imagepolicy")?.as_str());
    policy.map_or("unknown".to_owned(), |policy| policy.split(':').take(2).collect::<Vec<_>>().join(":"))
}

/// Whether every YAML reader takes the unquoted text for a string. kustomize and Helm read YAML 1.1, in which `on` is a
/// boolean, `1_000` and `12:30` are numbers, and `2026-11-16` is a date.
fn is_safe_unquoted(said: &str) -> bool {
    const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"];
    let bare = said.replace('_', "").to_ascii_lowercase();
    let number = bare.is_empty() || bare.parse::<f64>().is_ok();
    let based = ["0x", "0o", "0b"].iter().any(|base| bare.starts_with(base)) && !bare.contains(['-', '/', ':', '@']);
    let in_sixties = bare.contains(':') && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'));
    let is_day = || {
        let mut parts = bare.splitn(3, '-');
        let digits = |part: Option<&str>| part.map(|part| part.bytes().take_while(u8::is_ascii_digit).count());
        let (year, month, day) = (parts.next(), parts.next(), parts.next());
        year.is_some_and(|year| year.len() == 4)
            && digits(year) == Some(4)
            && matches!(digits(month), Some(1 | 2))
            && digits(day).is_some_and(|digits| digits > 0)
    };
    said.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !said.ends_with(':')
        && said.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/:@".contains(&b))
        && !(WORDS.contains(&&*bare) || number || based || in_sixties || is_day())
}

/// Asks the library that resolves scalars, so that the check does not rest on the list above alone.
fn is_parsed_as_string(quoted: &str, said: &str) -> bool {
    serde_saphyr::from_str::<serde_json::Value>(quoted).is_ok_and(|value| value.as_str() == Some(said))
}

fn is_only_scalar_changed(before: &str, after: &str, at: &Range<usize>, said: &str) -> bool {
    let mut met = false;
    let (mut old, mut new) = (new_parser(before), new_parser(after));
    loop {
        let (old, new) = match (old.next(), new.next()) {
            (None, None) => return met,
            (Some(Ok(old)), Some(Ok(new))) => (old, new),
            _ => return false,
        };
        let same = match (&old, &new) {
            ((Event::Scalar(_, _, anchor, tag), span), (Event::Scalar(text, _, new_anchor, new_tag), _))
                if !met && span.byte_range().as_ref() == Some(at) =>
            {
                met = true;
                text == said && anchor == new_anchor && tag == new_tag
            }
            ((old, _), (new, _)) => old == new,
        };
        if !same {
            return false;
        }
    }
}

fn is_only_line_changed(before: &str, after: &str, at: &Range<usize>) -> bool {
    let diff = TextDiff::from_lines(before, after);
    let mut start = 0;
    let (mut gone, mut come) = (0, 0);
    for change in diff.iter_all_changes() {
        let line = start..start + change.value().len();
        match change.tag() {
            ChangeTag::Insert => {
                come += 1;
                continue;
            }
            ChangeTag::Delete if line.start <= at.start && at.end <= line.end => gone += 1,
            ChangeTag::Delete => return false,
            ChangeTag::Equal => {}
        }
        start = line.end;
    }
    (gone, come) == (1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_reader_would_take_for_a_number_a_truth_or_a_day_is_not_left_bare() {
        for said in [
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
            assert!(!is_safe_unquoted(said), "{said}");
        }
        for said in [
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
            assert!(is_safe_unquoted(said), "{said}");
        }
    }

    #[test]
    fn the_proof_fails_for_whatever_else_changed() {
        let before = "a: 1 # one\nb: 2\n";
        let at = 3..4;
        for (after, holds) in [
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
            assert_eq!(is_only_scalar_changed(before, after, &at, "x"), holds, "{after}");
        }
        for (after, holds) in [
            ("a: x # one\nb: 2\n", true),
            ("a: x # one\nb: 2", false),
            ("a: x # one\r\nb: 2\r\n", false),
            ("a: x # one\n\nb: 2\n", false),
            (before, false),
        ] {
            assert_eq!(is_only_line_changed(before, after, &at), holds, "{after}");
        }
    }
}
