//! People on GitHub: the login of an e-mail address, the address of a login, and the members of a team. A login is that
//! of the account that GitHub shows for a commit, because GitHub verifies the addresses of accounts, and the address in
//! a commit can be forged.

use serde::Deserialize;

use super::client::Client;
use super::commit::WireCommit;
use super::error::GithubError;
use super::request::FetchResult;
use super::request_path::percent_encode_segment;
use crate::domain::model::artefact::Repository;

#[derive(Deserialize)]
struct WireUser {
    login: String,
    email: Option<String>,
}

#[derive(Deserialize)]
struct WireMembership {
    state: String,
}

impl Client {
    /// The login of the account that GitHub credits with commits from this address in the repository.
    pub async fn find_login_by_email(
        &self,
        email: &str,
        repository: &Repository,
    ) -> Result<Option<String>, GithubError> {
        if !email.contains('@') {
            // GitHub would take the text for a login and list the commits of that login.
            return Ok(None);
        }
        let Some((login, author)) = self.find_commit_author(email, repository).await? else { return Ok(None) };
        Ok(Some(login).filter(|_| author.eq_ignore_ascii_case(email)))
    }

    /// The address of a login: the public one, else the one in its commits in the repository.
    pub async fn find_email_by_login(
        &self,
        login: &str,
        repository: &Repository,
    ) -> Result<Option<String>, GithubError> {
        if !is_login(login) {
            return Ok(None);
        }
        let user = match self.fetch_json::<WireUser>(&format!("/users/{login}")).await? {
            FetchResult::Found(user) if user.login.eq_ignore_ascii_case(login) => user,
            FetchResult::Found(_) | FetchResult::Missing(_) => return Ok(None),
        };
        if let Some(email) = user.email.filter(|email| !email.is_empty()) {
            return Ok(Some(email));
        }
        let author = self.find_commit_author(login, repository).await?;
        Ok(author.filter(|(found, _)| found.eq_ignore_ascii_case(login)).map(|(_, email)| email))
    }

    /// Counts only people who accepted their invitation. A team that Gantry cannot see has no members.
    pub async fn is_in_team(&self, organisation: &str, team: &str, login: &str) -> Result<bool, GithubError> {
        if !is_login(login) {
            return Ok(false);
        }
        let path = format!(
            "/orgs/{}/teams/{}/memberships/{login}",
            percent_encode_segment(organisation),
            percent_encode_segment(team)
        );
        Ok(match self.fetch_json::<WireMembership>(&path).await? {
            FetchResult::Found(membership) => membership.state == "active",
            FetchResult::Missing(_) => false,
        })
    }

    /// The login and address of the author of the newest commit that GitHub finds for a login or an address.
    async fn find_commit_author(
        &self,
        login_or_email: &str,
        repository: &Repository,
    ) -> Result<Option<(String, String)>, GithubError> {
        let path = format!("/repos/{repository}/commits?author={}&per_page=1", percent_encode_segment(login_or_email));
        let FetchResult::Found(commits) = self.fetch_json::<Vec<WireCommit>>(&path).await? else { return Ok(None) };
        let Some(commit) = commits.into_iter().next() else { return Ok(None) };
        let commit = commit.into_commit()?;
        Ok(commit.author_login.map(|login| (login, commit.author_email)))
    }
}

/// Names of bots contain brackets. They are rejected here: a bot is not a person.
fn is_login(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
