//! Parses branches, tags, paths in a repository, and GitHub logins and teams.

use super::ScalarResult;
use crate::config::problem::describe_problem;
use crate::domain::git::manifest;
use crate::domain::model::actor::Member;
use crate::domain::model::nearest::find_nearest;

/// Parses a branch by the rules of `git check-ref-format`.
pub(in crate::config) fn parse_branch(text: &str) -> ScalarResult<String> {
    if let Some(rest) = text.strip_prefix("refs/heads/").or_else(|| text.strip_prefix("origin/")) {
        return Err(describe_problem(format!("`{text}` is not the plain name of a branch"), format!("write `{rest}`")));
    }
    if text == "gantry" || text.starts_with("gantry/") {
        let advice = "Gantry creates and deletes branches under `gantry/`; use another branch";
        return Err(describe_problem(format!("`{text}` cannot be the branch of an environment"), advice));
    }
    if !is_valid_ref(text) {
        return Err(describe_problem(
            format!("`{text}` cannot be a branch"),
            "write its name as Git shows it, for example `develop`",
        ));
    }
    Ok(text.to_owned())
}

fn is_valid_ref(text: &str) -> bool {
    let is_valid_part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none();
    let is_forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    !text.starts_with('-')
        && !text.ends_with('.')
        && text != "@"
        && !text.contains("..")
        && !text.contains("@{")
        && text.len() <= 200
        && !text.contains(is_forbidden)
        && text.split('/').all(is_valid_part)
}

/// Parses the template of a tag, with the placeholders `{environment}`, `{artefact}`, `{date}` and `{n}`.
pub(in crate::config) fn parse_tag_template(text: &str) -> ScalarResult<String> {
    let filled = fill_placeholders(text, &["environment", "artefact", "date", "n"])?;
    if !text.contains("{n}") {
        let advice = "add `{n}`, the number of the change on that day, for example `{environment}/{date}-{n}`";
        return Err(describe_problem(format!("`{text}` would give all changes of a day the same tag"), advice));
    }
    if !is_valid_ref(&filled) {
        return Err(describe_problem(
            format!("`{text}` cannot be a Git tag"),
            "write for example `{environment}/{date}-{n}`",
        ));
    }
    Ok(text.to_owned())
}

/// Replaces each `{placeholder}` by a letter. All placeholders must be in `allowed`.
fn fill_placeholders(text: &str, allowed: &[&str]) -> ScalarResult<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((placeholder, after_brace)) = after.split_once('}') else {
            return Err(describe_problem(
                format!("a brace of `{text}` is not closed"),
                "write `}` after the placeholder",
            ));
        };
        if !allowed.contains(&placeholder) {
            let advice = match find_nearest(placeholder, allowed.iter().copied()) {
                Some(nearest) => format!("did you mean `{{{nearest}}}`?"),
                None => format!("use `{{{}}}`", allowed.join("}`, `{")),
            };
            return Err(describe_problem(format!("`{{{placeholder}}}` is not a placeholder here"), advice));
        }
        filled.push('x');
        rest = after_brace;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Parses the path of a manifest, which must contain `{environment}`.
pub(in crate::config) fn parse_manifest_file(text: &str) -> ScalarResult<String> {
    check_repository_path(&fill_placeholders(text, &["environment"])?, text)?;
    if !text.contains("{environment}") {
        let advice =
            "write `{environment}` in the place of the environment's name, for example `envs/{environment}/app.yaml`";
        return Err(describe_problem(format!("`{text}` is the same file for every environment"), advice));
    }
    Ok(text.to_owned())
}

/// Parses a glob for files of a repository.
pub(in crate::config) fn parse_glob(text: &str) -> ScalarResult<String> {
    check_repository_path(text, text)?;
    Ok(text.to_owned())
}

fn check_repository_path(path: &str, written: &str) -> ScalarResult<()> {
    let is_valid_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.is_empty() || path.contains(['\\', '\0', '\n']) || !path.trim_end_matches('/').split('/').all(is_valid_part)
    {
        let advice = "write the path from the root of the repository without a leading `/`, for example `lib/**`";
        return Err(describe_problem(format!("`{written}` is not a path in a repository"), advice));
    }
    Ok(())
}

pub(in crate::config) fn parse_login(text: &str) -> ScalarResult<String> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if text.is_empty() || text.len() > 60 || text.starts_with('-') || !text.bytes().all(is_allowed) {
        let advice = "write it as GitHub shows it, without `@`, for example `octocat`";
        return Err(describe_problem(format!("`{text}` is not a login on GitHub"), advice));
    }
    Ok(text.to_owned())
}

/// Parses a team as GitHub's URLs name it, without the prefix `github:`, for example `acme/release-managers`.
pub(super) fn parse_team(text: &str) -> ScalarResult<Member> {
    let example = "write organisation and team, for example `github:acme/release-managers`";
    let Some((organisation, team)) = text.split_once('/') else {
        return Err(describe_problem(format!("`github:{text}` names no team"), example));
    };
    let is_allowed_in_both = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    let is_organisation = (1..=39).contains(&organisation.len()) && organisation.bytes().all(is_allowed_in_both);
    let is_team = |name: &str| {
        (1..=100).contains(&name.len()) && name.bytes().all(|b| is_allowed_in_both(b) || matches!(b, b'_' | b'.'))
    };
    let url_name = team.trim().replace(' ', "-").to_ascii_lowercase();
    if is_organisation && team != url_name && is_team(&url_name) {
        let advice = format!("write the team as in its URL: `github:{organisation}/{url_name}`");
        return Err(describe_problem(format!("`{team}` is not how GitHub's URLs name a team"), advice));
    }
    if !is_organisation || !is_team(team) {
        return Err(describe_problem(format!("`github:{text}` is not a GitHub team"), example));
    }
    Ok(Member::Team { organisation: organisation.to_owned(), team: team.to_owned() })
}

/// Parses the path of a value inside a YAML file: keys and indices, for example `spec.containers[0].image`.
pub(in crate::config) fn parse_yaml_path(text: &str) -> ScalarResult<String> {
    if manifest::check_path(text).is_err() {
        let advice =
            "write keys separated by dots and indices in brackets, for example `image.tag` or `images[0].newTag`";
        return Err(describe_problem(format!("`{text}` is not a path inside a file"), advice));
    }
    Ok(text.to_owned())
}
