//! The errors of reading and changing a manifest. Each is a sentence that follows the file's name and ends with the
//! next step.

use std::fmt::Write as _;

pub(super) const MAX_BYTES: usize = 1024 * 1024;
pub(super) const MAX_NODES: usize = 200_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("it has more than {MAX_BYTES} bytes or {MAX_NODES} values: is this the right file?")]
    TooLarge,
    #[error("it nests deeper than a manifest does: is this the right file?")]
    TooDeep,
    #[error(
        "it cannot be read as YAML (line {line}, column {column}: {message}): repair it there, or, if it is a template, \
         name the file that holds its values"
    )]
    NotYaml { line: usize, column: usize, message: String },
    #[error(
        "the key `{}` stands twice in one mapping (lines {} and {}): keep one of them", shorten_text(key), lines[0], lines[1]
    )]
    DuplicateKey { key: String, lines: [usize; 2] },

    #[error("`path: {path}` is no path: write keys and indices, as in `image.tag` or `images[0].newTag`")]
    BadPath { path: String },
    #[error("`path: {path}` leads nowhere in it: correct the path, or leave it out to have the place looked for")]
    PathNotFound { path: String },
    #[error(
        "`path: {path}` leads to {} places, one in each document (lines {}): put the documents into files of their own",
        lines.len(), format_lines(lines)
    )]
    AmbiguousPath { path: String, lines: Vec<usize> },
    #[error("`path: {path}` leads to several values (line {line}): let it lead to the one that holds the version")]
    PathTooShort { path: String, line: usize },
    #[error("`path: {path}` leads to nothing (line {line}): write the version that runs now there once, in quotes")]
    PathEmpty { path: String, line: usize },
    #[error("`path: {path}` leads to a digest (line {line}): let it lead to the tag, or set `pin: digest`")]
    PathToDigest { path: String, line: usize },
    #[error("`path: {path}` leads to a tag (line {line}): let it lead to the digest, or set `pin: tag`")]
    PathToTag { path: String, line: usize },
    #[error("line {line} names `{}`, not {image}: correct the path, or the artefact's image", shorten_text(value))]
    OtherImage { line: usize, value: String, image: String },

    #[error(
        "it names {image} nowhere: an entry in a kustomization's `images:`, a `repository:` with a `tag:`, or an \
         `image:` would; if its version stands elsewhere, give the `path:` to it"
    )]
    ImageNotFound { image: String },
    #[error(
        "this kustomization has no entry for {image}: add one to `images:`, with `name: {image}` and the version that \
         runs now as `{key}`"
    )]
    NoEntry { image: String, key: &'static str },
    #[error("{image} has no `{key}` (line {line}): write the version that runs now there once, as in `{key}: \"1.0\"`")]
    NoTag { image: String, line: usize, key: &'static str },
    #[error("{image} has no `digest` (line {line}): write `digest: sha256:...` there once, or set `pin: tag`")]
    NoDigest { image: String, line: usize },
    #[error("{image} stands in {all} places ({}): keep one, or say which one counts with `path:`", format_places(first, *all))]
    AmbiguousImage { image: String, all: usize, first: Vec<(String, usize)> },
    #[error("line {line} says `{}`, which is no version: name the file in which it is filled in", shorten_text(value))]
    NoVersion { line: usize, value: String },
    #[error("line {line} pins a digest, beside which a tag means nothing: remove the digest, or set `pin: digest`")]
    PinnedByDigest { line: usize },
    #[error("both the tag and `digest` are to hold a digest (lines {} and {}): keep one of them", lines[0], lines[1])]
    TwoDigests { lines: [usize; 2] },

    #[error(
        "line {line} is written by Flux's image automation, policy `{}`, which would undo the change: take the \
         comment with `$imagepolicy` off that line. Until that is merged, stop Flux: find the ImageUpdateAutomation \
         that writes this file with `flux get image update -A`, then `flux suspend image update <its name> -n <its \
         namespace>`",
        shorten_text(policy)
    )]
    Automated { line: usize, policy: String },
    #[error("line {line} takes its value from an alias: write the value out there, for this image alone")]
    Alias { line: usize },
    #[error(
        "line {line} is part of an anchor (line {anchor}) that is used elsewhere too, and would change there as well: \
         write the value out where it is used"
    )]
    SharedAnchor { line: usize, anchor: usize },
    #[error("line {line} is under a merge key `<<` (line {merge}): write the value out beside it")]
    MergeKey { line: usize, merge: usize },
    #[error("the value in line {line} is written over several lines: put it on one, in quotes")]
    Multiline { line: usize },
    #[error("the value in line {line} has a YAML tag that makes it something else than text: remove the tag")]
    NonStringTag { line: usize },

    #[error("the version to write has no tag: choose one that has, or set `pin: digest`")]
    VersionHasNoTag,
    #[error("the version to write has no tag, and this place holds both: choose one that has")]
    VersionHasNoTagForBoth,
    #[error("the version to write has no digest: choose one that has, or set `pin: tag`")]
    VersionHasNoDigest,
    #[error("`{}` is no {kind} that a registry can have: choose another version", shorten_text(value))]
    BadVersion { value: String, kind: &'static str },
    /// The check of Gantry's own edit failed. No file is expected to lead here.
    #[error(
        "the change to line {line} would have changed more than the version, so nothing was written: change it by hand"
    )]
    UnsafeEdit { line: usize },
}

/// Shortens a value of a file to one line for a sentence.
fn shorten_text(value: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS + 1).collect();
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The number of locations that a sentence lists; a file with many of them must not fill a page.
pub(super) const MAX_NAMED: usize = 4;

fn format_lines(lines: &[usize]) -> String {
    join_items(lines.iter().map(ToString::to_string), lines.len())
}

fn format_places(first: &[(String, usize)], total: usize) -> String {
    join_items(first.iter().map(|(path, line)| format!("`{}` in line {line}", shorten_text(path))), total)
}

fn join_items(items: impl Iterator<Item = String>, total: usize) -> String {
    let mut text = String::new();
    for (index, item) in items.take(MAX_NAMED).enumerate() {
        text.push_str(match index {
            0 => "",
            _ if index + 1 == total => " and ",
            _ => ", ",
        });
        text.push_str(&item);
    }
    if total > MAX_NAMED {
        let _ = write!(text, " and {} more", total - MAX_NAMED);
    }
    text
}
