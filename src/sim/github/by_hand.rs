//! The actions of people on GitHub's own pages, as methods for the world and for tests: pull requests, reviews, rules,
//! teams. The error of a refused action is a sentence.

use serde::Serialize;

use super::mergeability::MergeOptions;
use super::objects::{oid, sha};
use super::people::Account;
use super::pulls::{NewPull, PullEdit, PullRequest};
use super::reviews::{NewReview, Verdict};
use super::rules::{Rules, push_refused_message};
use super::{Author, DEFAULT_LOGIN, GitHub, Sha, WriteError};

/// A pull request in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pull {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub url: String,
    pub head: String,
    pub head_sha: Sha,
    pub base: String,
    /// `open`, `closed` or `merged`.
    pub state: &'static str,
    pub author: String,
    pub merge_commit: Option<Sha>,
    /// Oldest first, without the reviews.
    pub comments: Vec<String>,
}

impl Pull {
    fn from_pull_request(pull: &PullRequest, url: String) -> Self {
        Self {
            number: pull.number,
            title: pull.title.clone(),
            body: pull.body.clone().unwrap_or_default(),
            url,
            head: pull.head.clone(),
            head_sha: sha(pull.head_sha),
            base: pull.base.clone(),
            state: pull.state_name(),
            author: pull.author.clone(),
            merge_commit: pull.merge_commit().map(sha),
            comments: pull.comments.iter().map(|comment| comment.body.clone()).collect(),
        }
    }
}

fn refuse<T>(sentence: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError::Refused(sentence.into()))
}

impl GitHub {
    /// All pull requests, oldest first.
    pub fn pulls(&self, repository: &str) -> Vec<Pull> {
        self.read(repository, |repo| {
            repo.pulls.iter().map(|pull| Pull::from_pull_request(pull, repo.pull_url(pull.number))).collect()
        })
        .unwrap_or_default()
    }

    /// Opens a pull request and returns its number.
    pub fn open_pull(
        &self,
        repository: &str,
        login: &str,
        title: &str,
        head: &str,
        base: &str,
        body: &str,
    ) -> Result<u64, WriteError> {
        let (by, now) = (self.account(login)?.login, self.0.clock.now());
        let (title, head, base, body) = (title.to_owned(), head.to_owned(), base.to_owned(), Some(body.to_owned()));
        self.write(repository, &by, |repo| Ok(repo.open_pull(NewPull { title, head, base, body }, &by, now)?))
    }

    pub fn review(
        &self,
        repository: &str,
        number: u64,
        login: &str,
        verdict: Verdict,
        body: &str,
    ) -> Result<(), WriteError> {
        self.require_pull(repository, number)?;
        let (by, now) = (self.account(login)?.login, self.0.clock.now());
        self.write(repository, &by, |repo| {
            let new = NewReview { verdict, body: body.to_owned(), commit: None };
            repo.review_pull(number, new, &by, now)?;
            Ok(())
        })
    }

    pub fn comment(&self, repository: &str, number: u64, login: &str, body: &str) -> Result<(), WriteError> {
        self.require_pull(repository, number)?;
        let (by, now) = (self.account(login)?.login, self.0.clock.now());
        self.write(repository, &by, |repo| {
            repo.comment_on_pull(number, body.to_owned(), &by, now)?;
            Ok(())
        })
    }

    pub fn close_pull(&self, repository: &str, number: u64, login: &str) -> Result<(), WriteError> {
        self.edit(repository, number, login, PullEdit { state: Some("closed".to_owned()), ..PullEdit::default() })
    }

    pub fn reopen_pull(&self, repository: &str, number: u64, login: &str) -> Result<(), WriteError> {
        self.edit(repository, number, login, PullEdit { state: Some("open".to_owned()), ..PullEdit::default() })
    }

    pub fn retarget_pull(&self, repository: &str, number: u64, base: &str) -> Result<(), WriteError> {
        self.edit(repository, number, DEFAULT_LOGIN, PullEdit { base: Some(base.to_owned()), ..PullEdit::default() })
    }

    /// Merges by hand with a merge commit, if the rules allow it.
    pub fn merge_pull(&self, repository: &str, number: u64, login: &str) -> Result<Sha, WriteError> {
        self.require_pull(repository, number)?;
        let (person, now) = (self.account(login)?, self.0.clock.now());
        self.write(repository, &person.login, |repo| {
            if !repo.protection.may_write(&person.login) {
                return refuse(format!("{login} may not merge in {repository}: that takes write access."));
            }
            let id = repo.merge_pull(number, &MergeOptions::default(), &person.author(), &self.0.faults, now)?;
            Ok(sha(id))
        })
    }

    pub fn delete_branch(&self, repository: &str, branch: &str) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            let full_name = format!("refs/heads/{branch}");
            if branch == repo.default_branch || repo.protection.forbids_pushes(&full_name) {
                return refuse(format!("`{branch}` is protected in {repository} and cannot be deleted."));
            }
            match repo.refs.remove(&full_name) {
                Some(_) => Ok(()),
                None => refuse(format!("There is no branch `{branch}` in {repository}.")),
            }
        })
    }

    /// Moves a branch to any commit, as a force push by a person does.
    pub fn point_branch(&self, repository: &str, branch: &str, commit: &Sha) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            let full_name = format!("refs/heads/{branch}");
            if repo.branch(branch).is_none() {
                return refuse(format!("There is no branch `{branch}` in {repository}."));
            }
            if !repo.is_commit(oid(commit)) {
                return refuse(format!("There is no commit {commit} in {repository}."));
            }
            if repo.protection.forbids_pushes(&full_name) {
                return refuse(push_refused_message(true));
            }
            repo.point(&full_name, oid(commit));
            Ok(())
        })
    }

    /// Moves a tag by force.
    pub fn point_tag(&self, repository: &str, name: &str, commit: &Sha) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            if !repo.is_commit(oid(commit)) {
                return refuse(format!("There is no commit {commit} in {repository}."));
            }
            repo.point(&format!("refs/tags/{name}"), oid(commit));
            Ok(())
        })
    }

    /// `admin`, `write`, `read` or `none`. People without an entry may write.
    pub fn set_permission(&self, repository: &str, login: &str, permission: &str) -> Result<(), WriteError> {
        if !matches!(permission, "admin" | "write" | "read" | "none") {
            return refuse(format!("`{permission}` is no permission: use `admin`, `write`, `read` or `none`."));
        }
        self.write(repository, DEFAULT_LOGIN, |repo| {
            repo.protection.set_permission(login, permission);
            Ok(())
        })
    }

    /// The settings of a repository that an admin can change. GitHub shows them; they are not enforced here.
    pub fn set_repository_options(
        &self,
        repository: &str,
        archived: bool,
        merge_commits: bool,
        writable: bool,
    ) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            repo.protection.archived = archived;
            repo.protection.no_merge_commits = !merge_commits;
            repo.protection.read_only = !writable;
            Ok(())
        })
    }

    pub fn protect(&self, repository: &str, branch: &str, rules: Rules) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            repo.protection.protect(branch, rules);
            Ok(())
        })
    }

    /// Adds an account. People who commit with a login have one already.
    pub fn add_person(&self, person: &Author) {
        self.0.people.register(person);
    }

    /// The logins of all people, without bots.
    pub fn people(&self) -> Vec<String> {
        self.0.people.human_logins()
    }

    pub fn add_team(&self, org: &str, team: &str, logins: &[&str]) {
        self.0.people.add_team(org, team, logins);
    }

    /// Sets the email that the person's profile shows. Without this call it shows none.
    pub fn set_public_email(&self, login: &str, email: Option<&str>) {
        self.0.people.show_email(login, email);
    }

    fn edit(&self, repository: &str, number: u64, login: &str, edit: PullEdit) -> Result<(), WriteError> {
        self.require_pull(repository, number)?;
        let (by, now) = (self.account(login)?.login, self.0.clock.now());
        self.write(repository, &by, |repo| {
            if !repo.protection.may_write(&by) && repo.pull(number)?.author != by {
                return refuse(format!("{login} may not change pull request {number}: that takes write access."));
            }
            Ok(repo.edit_pull(number, edit, &by, now)?)
        })
    }

    fn account(&self, login: &str) -> Result<Account, WriteError> {
        self.0.people.account(login).ok_or_else(|| WriteError::Refused(format!("There is no `{login}` on GitHub.")))
    }

    fn require_pull(&self, repository: &str, number: u64) -> Result<(), WriteError> {
        match self.read(repository, |repo| repo.pull(number).is_ok()) {
            Some(true) => Ok(()),
            _ => refuse(format!("There is no pull request {number} in {repository}.")),
        }
    }
}
