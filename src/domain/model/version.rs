//! Versions, commits and image references.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The SHA of a commit: 40 hex digits, lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(Arc<str>);

impl Sha {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, as people read them.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for Sha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase().into()))
        } else {
            Err("a commit is named by 40 hex digits".to_owned())
        }
    }
}

impl TryFrom<String> for Sha {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0.as_ref().to_owned()
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Two versions are equal by commit if both commits are known, else by digest, else by tag. Use [`Version::is_same_as`]
/// instead of `==`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    pub tag: Option<Arc<str>>,
    pub digest: Option<Arc<str>>,
    pub commit: Option<Sha>,
}

impl Version {
    pub fn is_same_as(&self, other: &Self) -> bool {
        if let (Some(a), Some(b)) = (&self.commit, &other.commit) {
            return a == b;
        }
        self.is_same_image(other)
    }

    /// Whether both are the same image. Commits are ignored.
    pub fn is_same_image(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(a), Some(b)) => a == b,
            _ => self.tag.is_some() && self.tag == other.tag,
        }
    }

    /// Whether `name` is the tag, or a prefix of the commit or the digest.
    pub fn is_named(&self, name: &str) -> bool {
        const MIN_PREFIX_DIGITS: usize = 7;
        let lower = name.to_ascii_lowercase();
        let is_prefix = |whole: &str, scheme_length: usize| {
            name.len() >= scheme_length + MIN_PREFIX_DIGITS && whole.starts_with(&lower)
        };
        self.tag.as_deref() == Some(name)
            || self.commit.as_ref().is_some_and(|commit| is_prefix(commit.as_str(), 0))
            || self.digest.as_deref().is_some_and(|digest| is_prefix(digest, "sha256:".len()))
    }

    /// The name that people read: the tag, else the short commit, else the first digits of the digest.
    pub fn label(&self) -> &str {
        match (&self.tag, &self.commit, &self.digest) {
            (Some(tag), _, _) => tag,
            (None, Some(commit), _) => commit.short(),
            (None, None, Some(digest)) => digest.get(.."sha256:".len() + 12).unwrap_or(digest),
            (None, None, None) => "unknown",
        }
    }
}

/// A commit with the data that people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub subject: String,
    pub author: String,
    /// The author's login, if GitHub knows it.
    pub login: Option<String>,
    /// The commit has no code of its own: it is a merge without a pull request, or a commit that Gantry made.
    pub only_moves: bool,
    /// If this is the merge of a pull request: the commits of that pull request, newest first.
    pub brings: Vec<Self>,
    pub url: String,
}

impl Commit {
    /// The number of commits that people count for this one.
    pub fn count_commits(&self) -> u64 {
        self.brings.len().max(1) as u64
    }

    /// The number and the address of its pull request, from the subject that GitHub writes.
    pub fn parse_pull_request(&self) -> Option<(u64, String)> {
        let digits = match self.subject.strip_prefix("Merge pull request #") {
            Some(rest) => rest.split_whitespace().next(),
            None => self.subject.rsplit_once(" (#").and_then(|(_, rest)| rest.strip_suffix(')')),
        };
        let number = digits?.parse().ok()?;
        let (repository, _) = self.url.rsplit_once("/commit/")?;
        Some((number, format!("{repository}/pull/{number}")))
    }
}

/// The image reference of a container: `name[:tag][@digest]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    pub name: Arc<str>,
    pub tag: Option<Arc<str>>,
    pub digest: Option<Arc<str>>,
}

impl Image {
    /// Parses any text. A reference without tag and digest gets the tag `latest`, as container runtimes do it.
    pub fn parse(text: &str) -> Self {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.into())),
            None => (text, None),
        };
        // A colon before the last slash belongs to the registry's port.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag.into())),
            _ if digest.is_none() => (rest, Some("latest".into())),
            _ => (rest, None),
        };
        Self { name: name.into(), tag, digest }
    }

    pub fn to_version(&self) -> Version {
        Version { tag: self.tag.clone(), digest: self.digest.clone(), commit: None }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// The part of a version that is written into a manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    #[default]
    Tag,
    Digest,
}

const MAX_TAG_LENGTH: usize = 128;

/// Whether a registry accepts the text as a tag.
pub fn is_valid_tag(text: &str) -> bool {
    let is_word_byte = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= MAX_TAG_LENGTH
        && text.bytes().next().is_some_and(is_word_byte)
        && text.bytes().all(|b| is_word_byte(b) || matches!(b, b'.' | b'-'))
}

/// Whether a registry accepts the text as a digest.
pub fn is_valid_digest(text: &str) -> bool {
    let digits = match text.split_once(':') {
        Some(("sha256", digits)) if digits.len() == 64 => digits,
        Some(("sha384", digits)) if digits.len() == 96 => digits,
        Some(("sha512", digits)) if digits.len() == 128 => digits,
        _ => return false,
    };
    digits.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(tag: Option<&str>, digest: Option<&str>, commit: Option<&str>) -> Version {
        Version {
            tag: tag.map(Into::into),
            digest: digest.map(Into::into),
            commit: commit.map(|c| c.repeat(40).parse().unwrap()),
        }
    }

    #[test]
    fn versions_are_equal_by_commit_else_digest_else_tag() {
        let cases = [
            (version(Some("1"), None, Some("a")), version(Some("2"), None, Some("a")), true),
            (version(Some("1"), None, Some("a")), version(Some("1"), None, Some("b")), false),
            (version(Some("1"), Some("d"), Some("a")), version(Some("2"), Some("d"), None), true),
            (version(Some("1"), Some("d"), None), version(Some("1"), Some("e"), None), false),
            (version(Some("1"), Some("d"), None), version(Some("1"), None, None), true),
            (version(None, None, None), version(None, None, None), false),
        ];
        for (a, b, same) in cases {
            assert_eq!(a.is_same_as(&b), same, "{a:?} {b:?}");
            assert_eq!(b.is_same_as(&a), same, "{b:?} {a:?}");
        }
    }

    #[test]
    fn a_version_is_named_by_its_tag_or_a_prefix_of_its_commit_or_digest() {
        let named = version(Some("1.4"), Some("sha256:0123456789ab"), Some("a"));
        for name in ["1.4", "aaaaaaa", "AAAAAAAA", "sha256:0123456", "sha256:0123456789ab"] {
            assert!(named.is_named(name), "{name}");
        }
        for name in ["1", "1.4.0", "aaaaaa", "sha256:", "sha256:012345", "0123456", "sha256:1123456", ""] {
            assert!(!named.is_named(name), "{name}");
        }
        let unnamed = version(None, Some("sha256:0123456789abcdef"), None);
        assert!(unnamed.is_named(unnamed.label()), "by its own label");
    }

    #[test]
    fn a_pull_request_is_found_in_the_subject_that_github_writes() {
        let parse_subject = |subject: &str| {
            let url = "https://github.com/acme/checkout/commit/aaaa".to_owned();
            Commit {
                sha: "a".repeat(40).parse().unwrap(),
                subject: subject.into(),
                author: String::new(),
                login: None,
                only_moves: false,
                brings: Vec::new(),
                url,
            }
            .parse_pull_request()
            .map(|(number, url)| format!("{number} {url}"))
        };
        let found = Some("42 https://github.com/acme/checkout/pull/42".to_owned());
        assert_eq!(parse_subject("Round totals (#42)"), found);
        assert_eq!(parse_subject("Merge pull request #42 from acme/totals"), found);
        for subject in ["Round totals", "Fixes #42", "Round (#x)", "(#42)", ""] {
            assert_eq!(parse_subject(subject), None, "{subject}");
        }
    }

    #[test]
    fn an_image_reference_is_split_into_name_tag_and_digest() {
        let cases = [
            ("ghcr.io/acme/checkout:1.4", "ghcr.io/acme/checkout", Some("1.4"), None),
            ("localhost:5000/checkout", "localhost:5000/checkout", Some("latest"), None),
            ("localhost:5000/checkout:2", "localhost:5000/checkout", Some("2"), None),
            ("checkout@sha256:ab", "checkout", None, Some("sha256:ab")),
            ("checkout:3@sha256:ab", "checkout", Some("3"), Some("sha256:ab")),
            ("", "", Some("latest"), None),
        ];
        for (text, name, tag, digest) in cases {
            let image = Image::parse(text);
            assert_eq!((&*image.name, image.tag.as_deref(), image.digest.as_deref()), (name, tag, digest), "{text}");
        }
    }
}
