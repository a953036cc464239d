//! The simulated GitHub: repositories of real Git objects in memory, behind GitHub's REST API. The rest of the
//! simulated world uses its Rust API: `pushes` has the effects of `git push`, `by_hand` the actions on GitHub's pages.

mod by_hand;
mod checks;
mod compare;
mod costs;
mod errors;
mod events;
mod export;
mod html;
mod json;
mod merge;
mod mergeability;
mod objects;
mod people;
mod pull_json;
mod pull_view;
mod pulls;
mod pushes;
mod refs;
mod renames;
mod request_faults;
mod reviews;
mod routes;
mod rules;
#[cfg(test)]
mod tests;
mod webhook;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

pub use self::by_hand::Pull;
pub use self::costs::Cost;
use self::costs::Costs;
use self::errors::ApiError;
pub use self::events::Event;
use self::objects::{Repo, oid, sha};
use self::people::People;
pub use self::request_faults::{FaultTiming, RequestFault, RequestFaults};
pub use self::reviews::Verdict;
pub use self::routes::Installation;
pub use self::rules::Rules;
pub use self::webhook::Webhooks;
use crate::clock::Clock;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;
use crate::sim::faults::Faults;
use crate::sim::unknown_requests::UnknownRequests;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// The login on GitHub. GitHub remembers it for the email address.
    pub login: Option<String>,
}

impl Author {
    fn login_or_name(&self) -> &str {
        self.login.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Clone, Debug)]
pub struct NewCommit {
    /// `owner/name`
    pub repository: String,
    /// If it does not exist, it starts at the default branch's head. The very first commit has no parent.
    pub branch: String,
    pub message: String,
    pub author: Author,
    /// By path; `None` deletes.
    pub files: BTreeMap<String, Option<String>>,
    pub at: Timestamp,
}

/// A branch was created or moved. Deleted branches and tags make no such event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchMove {
    pub repository: String,
    pub branch: String,
    pub before: Option<Sha>,
    pub after: Sha,
}

#[derive(Clone, Debug, Serialize)]
pub struct GraphCommit {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub subject: String,
    pub author: String,
    pub at: Timestamp,
    /// The branches and tags that point to it.
    pub refs: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("Git cannot merge them: both sides changed the same place")]
    Conflict,
    #[error("{0}")]
    Refused(String),
}

impl From<git2::Error> for WriteError {
    fn from(error: git2::Error) -> Self {
        Self::Refused(format!("Git refused it: {}", error.message()))
    }
}

impl From<ApiError> for WriteError {
    fn from(error: ApiError) -> Self {
        Self::Refused(error.sentence())
    }
}

type Listener = Arc<dyn Fn(&BranchMove) + Send + Sync>;
type TagListener = Arc<dyn Fn() + Send + Sync>;
type EventListener = Arc<dyn Fn(&Event) + Send + Sync>;

/// The login for actions by hand without a login of their own.
const DEFAULT_LOGIN: &str = "octocat";

#[derive(Clone)]
pub struct GitHub(Arc<Inner>);

struct Inner {
    clock: Clock,
    faults: Faults,
    unknown_requests: UnknownRequests,
    api_url: Arc<str>,
    people: People,
    /// By name in lower case, because GitHub treats `Acme/Checkout` as `acme/checkout`.
    repositories: Mutex<BTreeMap<String, Arc<Mutex<Repo>>>>,
    listeners: Mutex<Vec<Listener>>,
    tag_listeners: Mutex<Vec<TagListener>>,
    event_listeners: Mutex<Vec<EventListener>>,
    webhooks: Mutex<WebhookState>,
    costs: Mutex<Costs>,
    installation: Mutex<Installation>,
    request_faults: RequestFaults,
}

impl GitHub {
    /// `api_url` is the address of [`GitHub::router`], without a slash at the end.
    #[expect(clippy::needless_pass_by_value, reason = "all simulators have the same constructor")]
    pub fn new(clock: Clock, faults: Faults, unknown_requests: UnknownRequests, api_url: String) -> Self {
        let people = People::default();
        let octocat = Author {
            name: "The Octocat".to_owned(),
            email: "octocat@users.noreply.github.com".to_owned(),
            login: Some(DEFAULT_LOGIN.to_owned()),
        };
        for author in [octocat, routes::bot(), routes::web_flow()] {
            people.register(&author);
        }
        Self(Arc::new(Inner {
            clock,
            faults,
            unknown_requests,
            installation: Mutex::new(Installation::new(api_url.trim_end_matches("/sim/github"))),
            api_url: api_url.trim_end_matches('/').into(),
            people,
            repositories: Mutex::default(),
            listeners: Mutex::default(),
            tag_listeners: Mutex::default(),
            event_listeners: Mutex::default(),
            webhooks: Mutex::default(),
            costs: Mutex::default(),
            request_faults: RequestFaults::default(),
        }))
    }

    /// GitHub's REST API: `/repos/{owner}/{repo}/...`.
    pub fn router(&self) -> axum::Router {
        routes::router(self.clone())
    }

    pub fn create_repository(&self, name: &str, default_branch: &str) -> Result<(), WriteError> {
        let parsed: Repository = name.parse().map_err(WriteError::Refused)?;
        let mut repositories = lock(&self.0.repositories);
        let key = name.to_ascii_lowercase();
        if repositories.contains_key(&key) {
            return Err(WriteError::Refused(format!("The repository `{name}` exists already: use another name.")));
        }
        let (now, people) = (self.0.clock.now(), self.0.people.clone());
        let repo = Repo::new(
            &parsed.to_string(),
            repositories.len() + 1,
            default_branch,
            now,
            self.0.api_url.clone(),
            people,
        )?;
        repositories.insert(key, Arc::new(Mutex::new(repo)));
        Ok(())
    }

    /// `None` if there is no such repository.
    pub fn default_branch(&self, repository: &str) -> Option<String> {
        self.read(repository, |repo| repo.default_branch.clone())
    }

    pub fn repositories(&self) -> Vec<String> {
        lock(&self.0.repositories).values().map(|repo| lock(repo).full_name.clone()).collect()
    }

    pub fn branches(&self, repository: &str) -> BTreeMap<String, Sha> {
        self.read(repository, |repo| {
            repo.refs.under("refs/heads/").map(|(name, id)| (name.to_owned(), sha(id))).collect()
        })
        .unwrap_or_default()
    }

    /// Each tag with the commit that it resolves to.
    pub fn tags(&self, repository: &str) -> BTreeMap<String, Sha> {
        self.read(repository, |repo| {
            let tags = repo.refs.under("refs/tags/");
            tags.filter_map(|(name, id)| Some((name.to_owned(), sha(repo.peel(id)?)))).collect()
        })
        .unwrap_or_default()
    }

    pub fn head(&self, repository: &str, branch: &str) -> Option<Sha> {
        self.read(repository, |repo| repo.branch(branch).map(sha)).flatten()
    }

    pub fn read_file(&self, repository: &str, commit: &Sha, path: &str) -> Option<String> {
        let bytes = self.read(repository, |repo| repo.read(oid(commit), path)).flatten()?;
        String::from_utf8(bytes).ok()
    }

    /// Every file of a commit by path, with the id of its blob.
    pub fn files(&self, repository: &str, commit: &Sha) -> Option<BTreeMap<String, Sha>> {
        let files = self.read(repository, |repo| repo.files_of(oid(commit)).ok()).flatten()?;
        Some(files.into_iter().map(|(path, entry)| (path, sha(entry.id))).collect())
    }

    /// The newest commits of all branches, children before parents.
    pub fn graph(&self, repository: &str, limit: usize) -> Vec<GraphCommit> {
        self.read(repository, |repo| repo.graph(limit).unwrap_or_default()).unwrap_or_default()
    }

    /// Sets the result of CI for a commit: one of GitHub's conclusions, or `queued` or `in_progress` before that.
    pub fn set_check(&self, repository: &str, commit: &Sha, name: &str, conclusion: &str) -> Result<(), WriteError> {
        let now = self.0.clock.now();
        self.write(repository, DEFAULT_LOGIN, |repo| {
            repo.checks.set(oid(commit), name, conclusion, now);
            repo.record_check_event(oid(commit), name, DEFAULT_LOGIN);
            Ok(())
        })
    }

    /// Calls `listener` after every move of a branch by any user, in the thread that moved it and with no lock held.
    pub fn on_move(&self, listener: impl Fn(&BranchMove) + Send + Sync + 'static) {
        lock(&self.0.listeners).push(Arc::new(listener));
    }

    /// Calls `listener` after every new tag, as [`GitHub::on_move`] does.
    pub fn on_tag(&self, listener: impl Fn() + Send + Sync + 'static) {
        lock(&self.0.tag_listeners).push(Arc::new(listener));
    }

    /// Calls `listener` with every event for which GitHub would send a webhook, as [`GitHub::on_move`] does.
    pub fn on_event(&self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        lock(&self.0.event_listeners).push(Arc::new(listener));
    }

    /// Sends webhooks to the bot from now on.
    pub fn send_webhooks(&self, webhooks: Webhooks) {
        lock(&self.0.webhooks).target = Some(webhooks);
    }

    /// Changes the address of the bot.
    pub fn set_bot_url(&self, bot_url: &str) {
        if let Some(webhooks) = &mut lock(&self.0.webhooks).target {
            bot_url.clone_into(&mut webhooks.bot_url);
        }
    }

    /// Faults beyond the named ones, for tests. They also record all requests.
    pub fn request_faults(&self) -> &RequestFaults {
        &self.0.request_faults
    }

    fn find(&self, repository: &str) -> Option<Arc<Mutex<Repo>>> {
        lock(&self.0.repositories).get(&repository.to_ascii_lowercase()).cloned()
    }

    fn read<T>(&self, repository: &str, query: impl FnOnce(&Repo) -> T) -> Option<T> {
        let repo = self.find(repository)?;
        let repo = lock(&repo);
        Some(query(&repo))
    }

    fn write<T>(
        &self,
        repository: &str,
        by: &str,
        act: impl FnOnce(&mut Repo) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        let repo = self.find(repository).ok_or_else(|| {
            WriteError::Refused(format!("There is no repository `{repository}`: create it before you write to it."))
        })?;
        self.run_and_notify(&repo, by, act)
    }

    /// `by` is the login of the acting user.
    fn run_and_notify<T>(&self, repo: &Mutex<Repo>, by: &str, act: impl FnOnce(&mut Repo) -> T) -> T {
        let (result, moves, tagged, events) = {
            let mut repo = lock(repo);
            let result = act(&mut repo);
            if let Err(error) = repo.sync_pulls(by, self.0.clock.now()) {
                tracing::error!(%error, "the simulated GitHub's pull requests could not follow their branches");
            }
            (result, repo.take_moves(), repo.take_tagged(), repo.take_events())
        };
        if tagged {
            let listeners = lock(&self.0.tag_listeners).clone();
            for listener in &listeners {
                listener();
            }
        }
        for branch_move in &moves {
            // Cloned, so that a listener may add another.
            let listeners = lock(&self.0.listeners).clone();
            for listener in listeners {
                listener(branch_move);
            }
        }
        for event in &events {
            self.deliver(event);
            let listeners = lock(&self.0.event_listeners).clone();
            for listener in listeners {
                listener(event);
            }
        }
        result
    }

    fn deliver(&self, event: &Event) {
        let mut state = lock(&self.0.webhooks);
        state.sent += 1;
        if let Some(webhooks) = &state.target {
            webhooks.send(event, state.sent, &self.0.faults);
        }
    }

    /// The same for a request. Git's work is short, but must not block the threads that serve connections. It is
    /// completed even if the client disconnects.
    async fn serve<T: Send + 'static>(
        &self,
        owner: &str,
        name: &str,
        act: impl FnOnce(&mut Repo) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let repo = self.find(&format!("{owner}/{name}")).ok_or_else(ApiError::not_found)?;
        let github = self.clone();
        let done = tokio::task::spawn_blocking(move || github.run_and_notify(&repo, routes::BOT, act)).await;
        done.unwrap_or_else(|_| Err(git2::Error::from_str("the work of a request was aborted").into()))
    }
}

/// The target of webhooks, and the number of events so far.
#[derive(Default)]
struct WebhookState {
    target: Option<Webhooks>,
    sent: u64,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the path is valid for a file. libgit2 enforces Git's own rules for each name.
fn is_path(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
