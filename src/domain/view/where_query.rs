//! Parses the argument of `where`: a commit, a pull request or a tag, alone or with its repository. It does not check
//! whether they exist.

use crate::domain::model::artefact::Repository;

/// A shorter prefix would match too many commits.
const MIN_HEX_DIGITS: usize = 4;
const MAX_HEX_DIGITS: usize = 40;
/// A number with this many digits is more likely the beginning of a commit, which can consist of digits only.
const MIN_COMMIT_LIKE_DIGITS: usize = 7;
/// A longer number is no pull request: no repository has so many.
const MAX_PULL_REQUEST_DIGITS: usize = 9;

/// All possible meanings of a word, the likeliest first, and the repository if given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhereQuery {
    pub repository: Option<Repository>,
    pub interpretations: Vec<QueryInterpretation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueryInterpretation {
    /// The beginning of a SHA, in lower case.
    Commit(String),
    PullRequest(u64),
    /// A tag of an image or of Git.
    Tag(String),
}

impl WhereQuery {
    /// `None` if the text can have no such meaning, for example an address of another page.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bare = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        if let Some(found) = parse_url(bare.unwrap_or(text)) {
            return Some(found);
        }
        if bare.is_some() || text.is_empty() {
            return None;
        }
        if let Some((repository, number)) = text.split_once('#') {
            let repository = if repository.is_empty() { None } else { Some(repository.parse().ok()?) };
            return Some(Self {
                repository,
                interpretations: vec![QueryInterpretation::PullRequest(parse_pull_request_number(number)?)],
            });
        }
        if let Some((repository, hex)) = text.split_once('@')
            && let (Ok(repository), Some(hex)) = (repository.parse(), parse_commit_prefix(hex))
        {
            return Some(Self {
                repository: Some(repository),
                interpretations: vec![QueryInterpretation::Commit(hex)],
            });
        }
        Some(Self { repository: None, interpretations: interpret_word(text) })
    }
}

fn interpret_word(text: &str) -> Vec<QueryInterpretation> {
    let number = parse_pull_request_number(text).map(QueryInterpretation::PullRequest);
    let commit = parse_commit_prefix(text)
        .filter(|hex| number.is_none() || hex.len() >= MIN_COMMIT_LIKE_DIGITS)
        .map(QueryInterpretation::Commit);
    let tag = Some(QueryInterpretation::Tag(text.to_owned()));
    // No tag is a full SHA.
    let tag = if text.len() == MAX_HEX_DIGITS && commit.is_some() { None } else { tag };
    commit.into_iter().chain(number).chain(tag).collect()
}

fn parse_commit_prefix(text: &str) -> Option<String> {
    let is_hex =
        (MIN_HEX_DIGITS..=MAX_HEX_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| text.to_ascii_lowercase())
}

fn parse_pull_request_number(text: &str) -> Option<u64> {
    let is_digits = text.len() <= MAX_PULL_REQUEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_digits && *number > 0)
}

/// `host/owner/name/pull/42/files`, `.../commit/<sha>`, `.../releases/tag/<tag>`: the pages of GitHub, on any host.
fn parse_url(text: &str) -> Option<WhereQuery> {
    let path = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    let parse_repository =
        |index: usize| format!("{}/{}", parts[index - 2], parts[index - 1]).parse::<Repository>().ok();
    // A host comes before the owner.
    for index in 3..parts.len() {
        let after = &parts[index + 1..];
        let kind = match (parts[index], after) {
            ("pull", [_, "commits", sha, ..]) | ("commit", [sha, ..]) => {
                parse_commit_prefix(sha).map(QueryInterpretation::Commit)
            }
            ("pull", [number, ..]) => parse_pull_request_number(number).map(QueryInterpretation::PullRequest),
            ("releases", ["tag", tag @ ..]) if !tag.is_empty() => Some(QueryInterpretation::Tag(tag.join("/"))),
            _ => None,
        };
        if let (Some(kind), Some(repository)) = (kind, parse_repository(index)) {
            return Some(WhereQuery { repository: Some(repository), interpretations: vec![kind] });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn describe_query(text: &str) -> String {
        let Some(query) = WhereQuery::parse(text) else { return "nothing".to_owned() };
        let kinds = query.interpretations.iter().map(|kind| match kind {
            QueryInterpretation::Commit(hex) => format!("commit {hex}"),
            QueryInterpretation::PullRequest(number) => format!("pull {number}"),
            QueryInterpretation::Tag(tag) => format!("tag {tag}"),
        });
        let kinds = kinds.collect::<Vec<_>>().join(" or ");
        query.repository.map_or(kinds.clone(), |repository| format!("{repository}: {kinds}"))
    }

    #[test]
    fn pasted_queries_are_parsed() {
        let full_sha = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
        let cases = [
            ("#42", "pull 42"),
            ("42", "pull 42 or tag 42"),
            ("acme/checkout#42", "acme/checkout: pull 42"),
            ("github.com/acme/checkout/pull/42", "acme/checkout: pull 42"),
            ("https://github.com/acme/checkout/pull/42/files#diff-1", "acme/checkout: pull 42"),
            ("http://127.0.0.1:8484/sim/github/acme/checkout/pull/7/", "acme/checkout: pull 7"),
            ("ghe.acme.example/acme/checkout/commit/9be01d7", "acme/checkout: commit 9be01d7"),
            ("github.com/acme/checkout/pull/42/commits/9BE01D7", "acme/checkout: commit 9be01d7"),
            ("github.com/acme/checkout/releases/tag/qa/2026.11.16-1", "acme/checkout: tag qa/2026.11.16-1"),
            ("acme/checkout@9be01d7", "acme/checkout: commit 9be01d7"),
            ("9be01d7", "commit 9be01d7 or tag 9be01d7"),
            ("9BE0", "commit 9be0 or tag 9BE0"),
            (full_sha, &format!("commit {full_sha}")),
            ("1234567", "commit 1234567 or pull 1234567 or tag 1234567"),
            ("123456", "pull 123456 or tag 123456"),
            ("20261116120000", "commit 20261116120000 or tag 20261116120000"),
            ("1.4.2", "tag 1.4.2"),
            ("qa/2026.11.16-1", "tag qa/2026.11.16-1"),
            ("develop-4f1c2ab", "tag develop-4f1c2ab"),
            ("abc", "tag abc"),
            ("0", "tag 0"),
        ];
        for (text, expected) in cases {
            assert_eq!(describe_query(text), expected, "{text}");
        }
    }

    #[test]
    fn text_with_another_meaning_gives_none() {
        for text in ["", "#", "#x", "#0", "#1234567890123", "acme#1", "https://github.com/acme/checkout", "http://x"] {
            assert_eq!(describe_query(text), "nothing", "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_word_is_parsed_without_a_panic(text in "\\PC{0,80}") {
            if let Some(query) = WhereQuery::parse(&text) {
                prop_assert!(!query.interpretations.is_empty());
            }
        }

        #[test]
        fn any_address_is_parsed_without_a_panic(parts in prop::collection::vec("[a-z0-9#.]{0,8}|pull|commit|releases|tag|commits", 0..9)) {
            let _ = WhereQuery::parse(&parts.join("/"));
        }
    }
}
