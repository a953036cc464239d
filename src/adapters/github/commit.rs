//! A commit as GitHub's API describes it, and its conversion to the domain's types.

use jiff::Timestamp;
use serde::Deserialize;

use super::error::{GithubError, parse_sha};
use crate::domain::git::trailer::Trailers;
use crate::domain::model::version;
use crate::domain::model::version::Sha;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubCommit {
    pub sha: Sha,
    pub subject: String,
    pub author_name: String,
    /// `None` if GitHub cannot match the author's e-mail address to an account.
    pub author_login: Option<String>,
    pub author_email: String,
    pub authored_at: Option<Timestamp>,
    pub parents: Vec<Sha>,
    pub tree: Sha,
    /// `None` if Gantry did not write the message.
    pub trailers: Option<Trailers>,
    pub html_url: String,
}

impl From<GithubCommit> for version::Commit {
    fn from(commit: GithubCommit) -> Self {
        let (author, login) = (commit.author_name, commit.author_login);
        let converted = Self {
            sha: commit.sha,
            subject: commit.subject,
            author,
            login,
            only_moves: false,
            brings: Vec::new(),
            url: commit.html_url,
        };
        let merges = commit.parents.len() > 1 && converted.parse_pull_request().is_none();
        Self { only_moves: commit.trailers.is_some() || merges, ..converted }
    }
}

#[derive(Deserialize)]
pub(super) struct WireCommit {
    sha: String,
    #[serde(default)]
    html_url: String,
    pub(super) commit: WireCommitBody,
    author: Option<WireCommitUser>,
    #[serde(default)]
    parents: Vec<WireObjectSha>,
}

#[derive(Deserialize)]
pub(super) struct WireCommitBody {
    #[serde(default)]
    pub(super) message: String,
    author: Option<WireAuthor>,
    tree: WireObjectSha,
}

#[derive(Default, Deserialize)]
struct WireAuthor {
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    date: Option<String>,
}

#[derive(Deserialize)]
struct WireCommitUser {
    /// Missing if the account was deleted: GitHub then sends an empty object.
    login: Option<String>,
}

/// A Git object of which only the SHA is needed.
#[derive(Deserialize)]
pub(super) struct WireObjectSha {
    pub(super) sha: String,
}

impl WireCommit {
    pub(super) fn into_commit(self) -> Result<GithubCommit, GithubError> {
        let author = self.commit.author.unwrap_or_default();
        Ok(GithubCommit {
            sha: parse_sha(&self.sha)?,
            subject: parse_subject(&self.commit.message),
            author_name: author.name,
            author_login: self.author.and_then(|account| account.login),
            author_email: author.email,
            authored_at: author.date.and_then(|date| date.parse().ok()),
            parents: self.parents.iter().map(|parent| parse_sha(&parent.sha)).collect::<Result<_, _>>()?,
            tree: parse_sha(&self.commit.tree.sha)?,
            trailers: Trailers::parse_message(&self.commit.message),
            html_url: self.html_url,
        })
    }
}

/// The first line. For the merge of a pull request: its title, which GitHub writes below the first line, and its
/// number.
fn parse_subject(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let number = first.strip_prefix("Merge pull request #").and_then(|rest| rest.split_whitespace().next());
    match (number, lines.next()) {
        (Some(number), Some(title)) => format!("{title} (#{number})"),
        _ => first.to_owned(),
    }
}
