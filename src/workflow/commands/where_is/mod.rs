//! `where`: which environments run code that contains a commit, since when, and the step that brings it to the next
//! one. Most answers follow from stored comparisons; GitHub is asked one question at a time for the rest.

mod find;
mod prerequisite;

use std::collections::{HashMap, HashSet};

use find::{CommitMatch, MAX_CHOICES};

use crate::adapters::slack::render::where_is as render;
use crate::domain::change::{Change, ChangeLockKey};
use crate::domain::git::containment::Containment;
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, ManifestFile, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::rules::rollback::SourceMap;
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::domain::runtime::sighting::Sighting;
use crate::domain::view::where_is::{
    ArtefactLocations, CodeRemoval, CommitLocations, CommitPresence, EnvironmentPresence, NextEnvironment, QueryMatch,
    Tally, find_next_environment,
};
use crate::domain::view::where_query::WhereQuery;
use crate::workflow::commands::where_is::find::find_commit;
use crate::workflow::commands::where_is::prerequisite::find_next_requirement;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::requests::reply::{Request, Response};

/// How many artefacts of one repository are shown in full.
const MAX_SHOWN_ARTEFACTS: usize = 12;
/// How many sightings are read to find since when a commit runs.
const MAX_SIGHTINGS: u32 = 30;
/// How many changes are read to find rollbacks. One of the newest changes deployed the version that runs.
const MAX_CHANGES: u32 = 50;

pub(crate) async fn answer_where_is(
    ctx: &Context,
    request: Request<'_>,
    is_public: bool,
    text: &str,
    artefact: Option<&ArtefactName>,
) -> Result<Response, RetryLater> {
    let named = artefact.and_then(|name| ctx.config.catalogue.find_artefact(name.as_str()));
    let Some(query) = WhereQuery::parse(text) else {
        return Ok(request.reply_private(render::render_unparsable(text)));
    };
    let found_commit = match find_commit(ctx, &query, named).await {
        Ok(found_commit) => found_commit,
        Err(error) => return request.reply_lookup_error(&error),
    };
    Ok(match found_commit {
        CommitMatch::Unique(QueryMatch::Commit { repository, sha, commit }) => {
            match trace_commit(ctx, repository, sha, commit, named).await {
                Ok(found) => request.reply_with_visibility(
                    render::render_where_is(&found),
                    is_public,
                    found.find_single_change(),
                ),
                Err(error) => return request.reply_lookup_error(&error),
            }
        }
        CommitMatch::Unique(unmerged @ QueryMatch::Unmerged { .. }) => {
            request.reply_with_visibility(render::render_unmerged(&unmerged), is_public, None)
        }
        CommitMatch::Ambiguous(candidates) => {
            request.reply_private(render::render_candidate_choice(text, &candidates, MAX_CHOICES, artefact))
        }
        CommitMatch::CommitUnknown(unknown_artefact) => {
            request.reply_private(render::render_commit_unknown(text, &unknown_artefact))
        }
        CommitMatch::NotFound(repositories) => {
            request.reply_private(render::render_not_found(text, artefact, repositories))
        }
        CommitMatch::UnknownRepository => {
            request.reply_private(render::render_foreign_repository(query.repository.as_ref(), artefact))
        }
    })
}

async fn trace_commit(
    ctx: &Context,
    repository: Repository,
    sha: Sha,
    commit: Option<Commit>,
    named: Option<&Artefact>,
) -> Result<CommitLocations, LookupError> {
    let is_built_from_it = |artefact: &&Artefact| {
        artefact.repository.is_same_as(&repository) && named.is_none_or(|named| named.name == artefact.name)
    };
    let artefacts: Vec<&Artefact> = ctx.config.catalogue.artefacts.iter().filter(is_built_from_it).collect();
    let shown: Vec<&ArtefactName> = artefacts.iter().take(MAX_SHOWN_ARTEFACTS).map(|artefact| &artefact.name).collect();
    let mut history = TraceHistory::default();
    for sighting in ctx.store.list_recent_sightings(&shown, MAX_SIGHTINGS).await? {
        history.sightings.entry((sighting.artefact.clone(), sighting.environment.clone())).or_default().push(sighting);
    }
    let mut traces = Vec::with_capacity(artefacts.len());
    for (index, artefact) in artefacts.iter().enumerate() {
        traces.push(trace_artefact(ctx, artefact, index < MAX_SHOWN_ARTEFACTS, &mut history).await?);
    }
    let running: HashSet<&Sha> = traces.iter().flat_map(ArtefactTrace::image_commits).collect();
    history.restored_commits =
        ctx.store.find_restored_commits(&repository, &running.into_iter().collect::<Vec<_>>()).await?;
    for state in traces.iter_mut().flat_map(|trace| &mut trace.environments) {
        state.code_commit = state
            .image_commit
            .as_ref()
            .map(|image_commit| history.resolve_code_commit(state.change_lock_key.as_ref(), image_commit));
        if let Some(restored) = find_restored_code(ctx, &repository, &sha, state).await? {
            state.code_commit = Some(restored);
        }
    }
    let containment = load_containment(ctx, &repository, &sha, &traces, &history).await?;
    let mut query =
        Query { repository: &repository, sha: &sha, containment, incomparable: HashMap::new(), github_error: None };
    for trace in traces.iter().take(MAX_SHOWN_ARTEFACTS) {
        query.resolve_containment(ctx, trace).await;
    }
    let only_moves = commit.as_ref().is_some_and(|commit| commit.only_moves);
    let shown = traces
        .iter()
        .take(MAX_SHOWN_ARTEFACTS)
        .map(|trace| describe_artefact(ctx, trace, &query, &history, only_moves))
        .collect();
    let tally = (traces.len() > MAX_SHOWN_ARTEFACTS).then(|| count_artefacts(&traces, &sha, &query.containment, ctx));
    Ok(CommitLocations { repository, sha, commit, artefacts: shown, tally })
}

/// The commit restored by a rollback, if a hotfix on top of that rollback runs and `sha` is no part of the hotfix. The
/// history of the hotfix has the removed commits, but its code does not.
async fn find_restored_code(
    ctx: &Context,
    repository: &Repository,
    sha: &Sha,
    state: &EnvironmentState<'_>,
) -> Result<Option<Sha>, LookupError> {
    let (Some(_), Some(image_commit), Some(rollback)) =
        (&state.change_lock_key, &state.image_commit, &state.last_rollback)
    else {
        return Ok(None);
    };
    let (Some(result), Some(restored)) = (&rollback.result_commit, &rollback.restored_commit) else { return Ok(None) };
    if image_commit == result {
        return Ok(None);
    }
    let hotfix = ctx.comparisons.compare_commits(repository, result, image_commit).await?;
    Ok(hotfix.filter(|hotfix| hotfix.behind_by == 0 && !hotfix.has_commit(sha)).map(|_| restored.clone()))
}

/// The running versions of one artefact and their history, from memory and the store.
async fn trace_artefact<'a>(
    ctx: &'a Context,
    artefact: &'a Artefact,
    is_shown: bool,
    history: &mut TraceHistory,
) -> Result<ArtefactTrace<'a>, LookupError> {
    let mut environments = Vec::new();
    for environment in ctx.config.catalogue.ladder.environments() {
        let Some(place) = artefact.places.get(&environment.name) else { continue };
        let lock_key = build_change_lock_key(artefact, environment);
        let by_branch = artefact.delivery == Delivery::Branch;
        // With delivery by branch, all artefacts of the repository share the changes.
        if (by_branch || is_shown) && !history.changes.contains_key(lock_key.as_str()) {
            let changes = ctx.store.list_changes_of(&lock_key, MAX_CHANGES).await?;
            history
                .source_maps
                .insert(lock_key.as_str().to_owned(), Change::build_source_map(&changes, &artefact.name));
            history.changes.insert(lock_key.as_str().to_owned(), changes);
        }
        let sighting = ctx.sightings.find_sighting(&artefact.name, &environment.name);
        let recent_sightings =
            history.sightings.remove(&(artefact.name.clone(), environment.name.clone())).unwrap_or_default();
        environments.push(EnvironmentState {
            environment,
            rollout: ctx.cluster_view.read_rollout(place, &artefact.image),
            image_commit: sighting.as_ref().and_then(|sighting| sighting.version.commit.clone()),
            code_commit: None,
            sighting,
            recent_sightings,
            last_rollback: history.find_last_rollback(artefact, &lock_key),
            change_lock_key: by_branch.then_some(lock_key),
        });
    }
    Ok(ArtefactTrace { artefact, environments })
}

/// The answers that follow from the stored comparisons.
async fn load_containment(
    ctx: &Context,
    repository: &Repository,
    sha: &Sha,
    traces: &[ArtefactTrace<'_>],
    history: &TraceHistory,
) -> Result<Containment, LookupError> {
    let mut commits: HashSet<Sha> = HashSet::from([sha.clone()]);
    for state in traces.iter().flat_map(|trace| &trace.environments) {
        commits.extend(state.code_commit.iter().chain(&state.image_commit).cloned());
        commits.extend(state.last_rollback.as_ref().and_then(|rollback| rollback.from_commit.clone()));
        let earlier_commits = state.recent_sightings.iter().filter_map(|sighting| sighting.version.commit.as_ref());
        commits
            .extend(earlier_commits.map(|commit| history.resolve_code_commit(state.change_lock_key.as_ref(), commit)));
    }
    commits.extend(ctx.open_changes.all().iter().filter_map(|change| change.plan.pinned_commit().cloned()));
    let pairs = ctx.store.list_compared_pairs(repository, sha, &commits.iter().collect::<Vec<_>>()).await?;
    Ok(Containment::from_pairs(sha, &pairs))
}

fn describe_artefact(
    ctx: &Context,
    trace: &ArtefactTrace<'_>,
    query: &Query<'_>,
    history: &TraceHistory,
    only_moves: bool,
) -> ArtefactLocations {
    let environments: Vec<EnvironmentPresence> =
        trace.environments.iter().map(|state| state.describe_environment(query, history)).collect();
    let next = find_next_environment(&environments)
        .filter(|next| !(only_moves && matches!(next, NextEnvironment::Backward(_))));
    let prerequisite =
        next.and_then(|next| find_next_requirement(ctx, trace.artefact, &environments, next, &query.containment));
    ArtefactLocations { artefact: trace.artefact.name.clone(), environments, prerequisite }
}

/// The change lock of the artefact in that environment.
fn build_change_lock_key(artefact: &Artefact, environment: &Environment) -> ChangeLockKey {
    match &artefact.delivery {
        Delivery::Branch => ChangeLockKey::from_branch(&artefact.repository, &environment.branch),
        Delivery::Manifest { repository, file, branch, .. } => {
            let file = file.replace("{environment}", environment.name.as_str());
            let manifest_file =
                ManifestFile { repository: repository.clone(), branch: branch.clone().unwrap_or_default(), file };
            ChangeLockKey::from_write_target(&artefact.repository, &environment.branch, Some(&manifest_file))
        }
    }
}

/// The sightings and changes of the artefacts. The changes under one change lock are read once for all its artefacts.
#[derive(Default)]
struct TraceHistory {
    /// The sightings of the shown artefacts, newest first.
    sightings: HashMap<(ArtefactName, EnvironmentName), Vec<Sighting>>,
    changes: HashMap<String, Vec<Change>>,
    source_maps: HashMap<String, SourceMap>,
    /// The commits that rollbacks restored, by their trailers, including rollbacks that the ledger does not have.
    restored_commits: HashMap<Sha, Sha>,
}

/// The last merged change under a change lock, if it is a rollback.
struct LastRollback {
    /// The commit that the rollback made.
    result_commit: Option<Sha>,
    /// The commit that it restored.
    restored_commit: Option<Sha>,
    /// The commit that ran before it.
    from_commit: Option<Sha>,
    summary: CodeRemoval,
}

impl TraceHistory {
    /// The commit that the code comes from: for a rollback, the restored commit. A rollback by manifest restores the
    /// old image itself, so there `lock_key` is `None`.
    fn resolve_code_commit(&self, lock_key: Option<&ChangeLockKey>, commit: &Sha) -> Sha {
        let Some(source_map) = lock_key.and_then(|lock_key| self.source_maps.get(lock_key.as_str())) else {
            return commit.clone();
        };
        let mut code = commit.clone();
        // Rollbacks to the results of rollbacks form a chain, which is short in practice.
        for _ in 0..8 {
            let version = Version { commit: Some(code.clone()), ..Version::default() };
            let original = source_map.resolve_restored(&version).commit.unwrap_or_else(|| code.clone());
            let restored = self.restored_commits.get(&original).cloned().unwrap_or(original);
            if restored == code {
                break;
            }
            code = restored;
        }
        code
    }

    fn find_last_rollback(&self, artefact: &Artefact, lock_key: &ChangeLockKey) -> Option<LastRollback> {
        let changes = self.changes.get(lock_key.as_str())?;
        // Changes of another artefact in the same file do not belong to this history.
        let is_own = |change: &&Change| artefact.delivery == Delivery::Branch || change.plan.artefact == artefact.name;
        let last = changes.iter().filter(is_own).find(|change| change.stage.result_commit().is_some())?;
        let rollback = last.plan.rollback_details()?;
        Some(LastRollback {
            result_commit: last.stage.result_commit().cloned(),
            restored_commit: last.plan.version.commit.clone(),
            from_commit: last.plan.from.as_ref().and_then(|from| from.commit.clone()),
            summary: CodeRemoval {
                by: Some(last.requester.clone()).filter(|_| !rollback.automatic),
                at: Some(last.stage.deploying().map_or(last.requested_at, |deploying| deploying.merged_at)),
                reason: rollback.reason.clone(),
            },
        })
    }
}

struct ArtefactTrace<'a> {
    artefact: &'a Artefact,
    environments: Vec<EnvironmentState<'a>>,
}

impl ArtefactTrace<'_> {
    fn image_commits(&self) -> impl Iterator<Item = &Sha> {
        self.environments.iter().filter_map(|state| state.image_commit.as_ref())
    }
}

/// The state of one environment.
struct EnvironmentState<'a> {
    environment: &'a Environment,
    rollout: Rollout,
    sighting: Option<Sighting>,
    /// Newest first.
    recent_sightings: Vec<Sighting>,
    /// The commit that the running image was built from.
    image_commit: Option<Sha>,
    code_commit: Option<Sha>,
    last_rollback: Option<LastRollback>,
    /// Only for delivery by branch.
    change_lock_key: Option<ChangeLockKey>,
}

impl EnvironmentState<'_> {
    fn describe_environment(&self, query: &Query<'_>, history: &TraceHistory) -> EnvironmentPresence {
        let unreadable = match &self.rollout.state {
            RolloutState::Unreadable { reason: why, .. } => Some(why.to_string()),
            _ => None,
        };
        EnvironmentPresence {
            environment: self.environment.name.clone(),
            presence: self.check_presence(query, history),
            unreadable,
        }
    }

    fn check_presence(&self, query: &Query<'_>, history: &TraceHistory) -> CommitPresence {
        let unknown = |reason: &str| CommitPresence::Unknown { reason: reason.to_owned() };
        if self.rollout.state == RolloutState::Missing {
            return CommitPresence::NoWorkload;
        }
        let (Some(sighting), containment) = (&self.sighting, &query.containment) else {
            return unknown("I have not seen yet what runs there");
        };
        let (Some(image_commit), Some(code_commit)) = (&self.image_commit, &self.code_commit) else {
            return CommitPresence::Unknown {
                reason: format!("nothing tells which commit {} is of", sighting.version.label()),
            };
        };
        match contains_commit(query.sha, containment, image_commit, code_commit) {
            None => CommitPresence::Unknown { reason: query.explain_unknown(code_commit) },
            Some(true) => self.describe_running(sighting, query, history),
            Some(false) => {
                let had_commit = |commit: &Sha| containment.is_contained_in(commit) == Some(true);
                let by_gantry = self.last_rollback.as_ref().filter(|rollback| {
                    had_commit(image_commit) || rollback.from_commit.as_ref().is_some_and(had_commit)
                });
                let by_others = (image_commit != code_commit && had_commit(image_commit)).then(CodeRemoval::default);
                CommitPresence::Absent { removal: by_gantry.map(|rollback| rollback.summary.clone()).or(by_others) }
            }
        }
    }

    fn describe_running(&self, sighting: &Sighting, query: &Query<'_>, history: &TraceHistory) -> CommitPresence {
        let has_commit = |other: &&Sighting| {
            let Some(image_commit) = &other.version.commit else { return false };
            contains_commit(
                query.sha,
                &query.containment,
                image_commit,
                &history.resolve_code_commit(self.change_lock_key.as_ref(), image_commit),
            ) == Some(true)
        };
        // The commit of the current sighting may be in memory only, so the stored one is skipped.
        let earlier =
            self.recent_sightings.iter().filter(|other| other.seen_at < sighting.seen_at).take_while(has_commit);
        let since = std::iter::once(sighting).chain(earlier).filter_map(|other| other.running_at).last();
        match (&self.rollout.state, since) {
            (RolloutState::RollingOut { ready, wanted, .. }, None) if sighting.failure.is_none() => {
                CommitPresence::RollingOut { ready: *ready, wanted: *wanted }
            }
            (RolloutState::Degraded { reason }, since) => {
                CommitPresence::Present { since, problem: Some(reason.to_string()) }
            }
            (RolloutState::RollingOut { delayed_by, .. }, since) => {
                let delay = delayed_by.as_ref().map(ToString::to_string);
                CommitPresence::Present { since, problem: sighting.failure.clone().or(delay) }
            }
            (_, since) => CommitPresence::Present { since, problem: None },
        }
    }
}

/// Whether an image built from `image_commit`, with the code of `code_commit`, contains the sought commit. The image
/// always contains `image_commit`.
fn contains_commit(sought: &Sha, containment: &Containment, image_commit: &Sha, code_commit: &Sha) -> Option<bool> {
    if image_commit == sought { Some(true) } else { containment.is_contained_in(code_commit) }
}

/// Asks GitHub one question at a time, because each answer may decide other commits as well.
struct Query<'a> {
    repository: &'a Repository,
    sha: &'a Sha,
    containment: Containment,
    /// The commits that GitHub cannot compare, with the reason.
    incomparable: HashMap<Sha, String>,
    /// The failure after which GitHub is not asked again.
    github_error: Option<String>,
}

impl Query<'_> {
    async fn resolve_containment(&mut self, ctx: &Context, trace: &ArtefactTrace<'_>) {
        loop {
            let is_comparable = |commit: &&Sha| !self.incomparable.contains_key(*commit);
            let is_other_image = |state: &&EnvironmentState<'_>| state.image_commit.as_ref() != Some(self.sha);
            let code_commits =
                trace.environments.iter().filter(is_other_image).filter_map(|state| state.code_commit.as_ref());
            let ladder: Vec<&Sha> = code_commits.filter(is_comparable).collect();
            let Some(commit) = self.containment.choose_next_commit(&ladder) else { break };
            if !self.compare_with(ctx, commit).await {
                return;
            }
        }
        // After a rollback, the answer says whether the environment had the commit before.
        for state in &trace.environments {
            if let (Some(image_commit), Some(code_commit)) = (&state.image_commit, &state.code_commit)
                && image_commit != code_commit
                && self.containment.is_contained_in(code_commit) == Some(false)
                && self.containment.is_contained_in(image_commit).is_none()
                && !self.incomparable.contains_key(image_commit)
                && !self.compare_with(ctx, image_commit).await
            {
                return;
            }
        }
    }

    /// `false`: GitHub cannot be asked.
    async fn compare_with(&mut self, ctx: &Context, commit: &Sha) -> bool {
        if self.github_error.is_some() {
            return false;
        }
        match ctx.comparisons.compare_commits(self.repository, self.sha, commit).await {
            Ok(Some(comparison)) => self.containment.record_answer(commit, comparison.behind_by == 0),
            Ok(None) => {
                let reason = format!("GitHub cannot compare it with {}, which runs there", commit.short());
                self.incomparable.insert(commit.clone(), reason);
            }
            Err(error) => self.github_error = Some(error.to_string()),
        }
        self.github_error.is_none()
    }

    fn explain_unknown(&self, commit: &Sha) -> String {
        let reason = self.incomparable.get(commit).or(self.github_error.as_ref());
        reason.cloned().unwrap_or_else(|| format!("it was not compared with {} yet", commit.short()))
    }
}

/// How many artefacts contain the commit in each environment, by the answers so far.
fn count_artefacts(traces: &[ArtefactTrace<'_>], sha: &Sha, containment: &Containment, ctx: &Context) -> Tally {
    let counts = ctx.config.catalogue.ladder.environments().iter().filter_map(|environment| {
        let states: Vec<&EnvironmentState<'_>> = traces
            .iter()
            .flat_map(|trace| &trace.environments)
            .filter(|state| state.environment.name == environment.name)
            .collect();
        let has_commit = |state: &&&EnvironmentState<'_>| match (&state.image_commit, &state.code_commit) {
            (Some(image_commit), Some(code_commit)) => {
                contains_commit(sha, containment, image_commit, code_commit) == Some(true)
            }
            _ => false,
        };
        let count = states.iter().filter(has_commit).count();
        (!states.is_empty()).then(|| (environment.name.clone(), count, states.len()))
    });
    Tally { artefacts: traces.len(), environments: counts.collect() }
}
