//! GitHub's accounts, their email addresses, and the teams of organisations.
//! Permissions belong to each repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::{Author, DEFAULT_LOGIN, lock};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) login: String,
    pub(super) name: String,
    /// The account's address, which GitHub does not show.
    pub(super) email: String,
    pub(super) public_email: Option<String>,
}

/// Clones share the data. GitHub treats `Alice` as `alice`, so all keys are in lower case.
#[derive(Clone, Default)]
pub(super) struct People(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    logins_by_email: BTreeMap<String, String>,
    accounts: BTreeMap<String, Account>,
    /// Logins by organisation and team.
    teams: BTreeMap<(String, String), BTreeSet<String>>,
}

impl People {
    /// An author with a login gets an account when first seen.
    pub(super) fn register(&self, author: &Author) {
        let Some(login) = &author.login else { return };
        let mut people = lock(&self.0);
        people.logins_by_email.insert(author.email.clone(), login.clone());
        people.accounts.entry(login.to_ascii_lowercase()).or_insert_with(|| Account {
            login: login.clone(),
            name: author.name.clone(),
            email: author.email.clone(),
            public_email: None,
        });
    }

    pub(super) fn login(&self, email: &str) -> Option<String> {
        lock(&self.0).logins_by_email.get(email).cloned()
    }

    pub(super) fn account(&self, login: &str) -> Option<Account> {
        lock(&self.0).accounts.get(&login.to_ascii_lowercase()).cloned()
    }

    /// The logins of all accounts except bots and GitHub's own.
    pub(super) fn human_logins(&self) -> Vec<String> {
        let people = lock(&self.0);
        let logins = people.accounts.values().map(|account| account.login.clone());
        logins.filter(|login| !login.ends_with("[bot]") && login != "web-flow" && login != DEFAULT_LOGIN).collect()
    }

    pub(super) fn show_email(&self, login: &str, email: Option<&str>) {
        if let Some(account) = lock(&self.0).accounts.get_mut(&login.to_ascii_lowercase()) {
            account.public_email = email.map(str::to_owned);
        }
    }

    pub(super) fn add_team(&self, org: &str, team: &str, logins: &[&str]) {
        let members = logins.iter().map(|login| login.to_ascii_lowercase());
        let key = (org.to_ascii_lowercase(), team.to_ascii_lowercase());
        lock(&self.0).teams.entry(key).or_default().extend(members);
    }

    pub(super) fn has_team(&self, org: &str, team: &str) -> bool {
        lock(&self.0).teams.contains_key(&(org.to_ascii_lowercase(), team.to_ascii_lowercase()))
    }

    pub(super) fn is_member(&self, org: &str, team: &str, login: &str) -> bool {
        let key = (org.to_ascii_lowercase(), team.to_ascii_lowercase());
        lock(&self.0).teams.get(&key).is_some_and(|team| team.contains(&login.to_ascii_lowercase()))
    }
}

impl Account {
    /// The account as the author of actions by hand.
    pub(super) fn author(&self) -> Author {
        Author { name: self.name.clone(), email: self.email.clone(), login: Some(self.login.clone()) }
    }
}
