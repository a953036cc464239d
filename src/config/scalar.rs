//! Parsers for texts of the file: names, URLs, durations, channels, images, times of the calendar.
//! Errors have a message and advice. The parsers do not know positions.

mod git;
mod slack;
mod time;
mod web;

pub(super) use git::{parse_branch, parse_glob, parse_login, parse_manifest_file, parse_tag_template, parse_yaml_path};
pub(super) use slack::{parse_channel, parse_member, parse_person};
pub(super) use time::{FreezeBound, parse_duration, parse_freeze_bound, parse_timezone};
pub(super) use web::{parse_base_url, parse_hook_url, parse_image, parse_origin, parse_registry_host};

use super::problem::{ProblemDescription, describe_problem};
use crate::domain::command::is_reserved;

type ScalarResult<T> = Result<T, ProblemDescription>;

/// Checks a name that people type in commands, and that is used in URLs and in Git tags.
pub(super) fn check_name(text: &str) -> ScalarResult<()> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let is_valid_end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    if !bytes.iter().all(|b| is_allowed(*b))
        || !is_valid_end(bytes.first())
        || !is_valid_end(bytes.last())
        || text.contains("..")
    {
        let advice = "use letters, digits, `-`, `_` and `.`, with a letter or digit at both ends";
        return Err(describe_problem(format!("`{text}` cannot be a name"), advice));
    }
    if text.len() > 63 {
        return Err(describe_problem(format!("`{text}` is too long for a name"), "use at most 63 characters"));
    }
    if is_reserved(text) {
        return Err(describe_problem(format!("`{text}` is a word of the command language"), "choose another name"));
    }
    if text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(describe_problem(
            format!("`{text}` looks like the id of a change"),
            "choose a name that is not 8 hex digits",
        ));
    }
    if text.to_ascii_lowercase().ends_with(".lock") {
        return Err(describe_problem(
            format!("`{text}` cannot be part of a Git tag"),
            "choose a name that does not end in `.lock`",
        ));
    }
    Ok(())
}

/// Parses a DNS label: the name of a namespace or a container.
pub(super) fn parse_label(text: &str, kind: &str) -> ScalarResult<String> {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if text.is_empty()
        || text.len() > 63
        || !text.bytes().all(is_allowed)
        || text.starts_with('-')
        || text.ends_with('-')
    {
        let advice = "Kubernetes allows lower-case letters, digits and `-`, at most 63 characters";
        return Err(describe_problem(format!("`{text}` cannot be the name of a {kind}"), advice));
    }
    Ok(text.to_owned())
}

/// Parses a glob for the kind, the namespace or the name of a Kubernetes object.
pub(super) fn parse_name_glob(text: &str) -> ScalarResult<String> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'*');
    if text.is_empty() || text.len() > 253 || !text.bytes().all(is_allowed) {
        let advice = "Kubernetes allows letters, digits, `-` and `.`; `*` matches any text, for example `apps-*`";
        return Err(describe_problem(format!("`{text}` cannot match the name of an object"), advice));
    }
    Ok(text.to_owned())
}

/// Parses the name of a kubeconfig context. These names have no syntax rules.
pub(super) fn parse_context(text: &str) -> ScalarResult<String> {
    if text.trim().is_empty() {
        return Err(describe_problem(
            "the context is empty",
            "write a name that `kubectl config get-contexts` shows, or remove the key",
        ));
    }
    Ok(text.to_owned())
}

/// Parses the name of an environment variable.
pub(super) fn parse_variable_name(text: &str) -> ScalarResult<String> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if text.is_empty() || !text.bytes().all(is_allowed) || text.as_bytes()[0].is_ascii_digit() {
        let advice = "write the variable's name here, never the secret itself; for example `FLUX_PROD_SECRET`";
        return Err(describe_problem("this is not the name of an environment variable", advice));
    }
    Ok(text.to_owned())
}

/// Parses a path on the machine that runs Gantry.
pub(super) fn parse_path(text: &str) -> ScalarResult<std::path::PathBuf> {
    if text.is_empty() || text.contains('\0') {
        return Err(describe_problem("the path is empty", "write the path of a file, or remove the key"));
    }
    if text.starts_with('~') {
        let advice = "write the full path: only a shell expands `~`";
        return Err(describe_problem(format!("`{text}` begins with `~`"), advice));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests;
