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
    asked: Request<'_>,
    openly: bool,
    what: &str,
    artefact: Option<&ArtefactName>,
) -> Result<Response, RetryLater> {
    let named = artefact.and_then(|name| ctx.config.catalogue.find_artefact(name.as_str()));
    let Some(sought) = WhereQuery::parse(what) else {
        return Ok(asked.reply_private(render::render_unparsable(what)));
    };
    let meant = match find_commit(ctx, &sought, named).await {
        Ok(meant) => meant,
        Err(error) => return asked.reply_lookup_error(&error),
    };
    Ok(match meant {
        CommitMatch::Unique(QueryMatch::Commit { repository, sha, commit }) => {
            match trace_commit(ctx, repository, sha, commit, named).await {
                Ok(found) => {
                    asked.reply_with_visibility(render::render_where_is(&found), openly, found.find_single_change())
                }
                Err(error) => return asked.reply_lookup_error(&error),
            }
        }
        CommitMatch::Unique(unmerged @ QueryMatch::Unmerged { .. }) => {
            asked.reply_with_visibility(render::render_unmerged(&unmerged), openly, None)
        }
        CommitMatch::Ambiguous(all) => {
            asked.reply_private(render::render_candidate_choice(what, &all, MAX_CHOICES, artefact))
        }
        CommitMatch::CommitUnknown(of) => asked.reply_private(render::render_commit_unknown(what, &of)),
        CommitMatch::NotFound(repositories) => {
            asked.reply_private(render::render_not_found(what, artefact, repositories))
        }
        CommitMatch::UnknownRepository => {
            asked.reply_private(render::render_foreign_repository(sought.repository.as_ref(), artefact))
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
    let of_it = |artefact: &&Artefact| {
        artefact.repository.is_same_as(&repository) && named.is_none_or(|named| named.name == artefact.name)
    };
    let artefacts: Vec<&Artefact> = ctx.config.catalogue.artefacts.iter().filter(of_it).collect();
    let shown: Vec<&ArtefactName> = artefacts.iter().take(MAX_SHOWN_ARTEFACTS).map(|artefact| &artefact.name).collect();
    let mut past = TraceHistory::default();
    for stay in ctx.store.list_recent_sightings(&shown, MAX_SIGHTINGS).await? {
        past.sightings.entry((stay.artefact.clone(), stay.environment.clone())).or_default().push(stay);
    }
    let mut traces = Vec::with_capacity(artefacts.len());
    for (at, artefact) in artefacts.iter().enumerate() {
        traces.push(trace_artefact(ctx, artefact, at < MAX_SHOWN_ARTEFACTS, &mut past).await?);
    }
    let running: HashSet<&Sha> = traces.iter().flat_map(ArtefactTrace::image_commits).collect();
    past.restored_commits =
        ctx.store.find_restored_commits(&repository, &running.into_iter().collect::<Vec<_>>()).await?;
    for here in traces.iter_mut().flat_map(|trace| &mut trace.environments) {
        here.code_commit =
            here.image_commit.as_ref().map(|raw| past.resolve_code_commit(here.change_lock_key.as_ref(), raw));
        if let Some(restored) = find_restored_code(ctx, &repository, &sha, here).await? {
            here.code_commit = Some(restored);
        }
    }
    let known = load_containment(ctx, &repository, &sha, &traces, &past).await?;
    let mut query = Query {
        repository: &repository,
        sha: &sha,
        containment: known,
        incomparable: HashMap::new(),
        github_error: None,
    };
    for trace in traces.iter().take(MAX_SHOWN_ARTEFACTS) {
        query.resolve_containment(ctx, trace).await;
    }
    let only_moves = commit.as_ref().is_some_and(|commit| commit.only_moves);
    let shown = traces
        .iter()
        .take(MAX_SHOWN_ARTEFACTS)
        .map(|trace| describe_artefact(ctx, trace, &query, &past, only_moves))
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
    here: &EnvironmentState<'_>,
) -> Result<Option<Sha>, LookupError> {
    let (Some(_), Some(raw), Some(back)) = (&here.change_lock_key, &here.image_commit, &here.last_rollback) else {
        return Ok(None);
    };
    let (Some(result), Some(restored)) = (&back.result_commit, &back.restored_commit) else { return Ok(None) };
    if raw == result {
        return Ok(None);
    }
    let upon = ctx.comparisons.compare_commits(repository, result, raw).await?;
    Ok(upon.filter(|upon| upon.behind_by == 0 && !upon.has_commit(sha)).map(|_| restored.clone()))
}

/// The running versions of one artefact and their history, from memory and the store.
async fn trace_artefact<'a>(
    ctx: &'a Context,
    artefact: &'a Artefact,
    shown: bool,
    past: &mut TraceHistory,
) -> Result<ArtefactTrace<'a>, LookupError> {
    let mut rungs = Vec::new();
    for environment in ctx.config.catalogue.ladder.environments() {
        let Some(place) = artefact.places.get(&environment.name) else { continue };
        let moves = build_change_lock_key(artefact, environment);
        let by_branch = artefact.delivery == Delivery::Branch;
        // With delivery by branch, all artefacts of the repository share the changes.
        if (by_branch || shown) && !past.changes.contains_key(moves.as_str()) {
            let changes = ctx.store.list_changes_of(&moves, MAX_CHANGES).await?;
            past.source_maps.insert(moves.as_str().to_owned(), Change::build_source_map(&changes, &artefact.name));
            past.changes.insert(moves.as_str().to_owned(), changes);
        }
        let sighting = ctx.sightings.find_sighting(&artefact.name, &environment.name);
        let stays = past.sightings.remove(&(artefact.name.clone(), environment.name.clone())).unwrap_or_default();
        rungs.push(EnvironmentState {
            environment,
            rollout: ctx.cluster_view.read_rollout(place, &artefact.image),
            image_commit: sighting.as_ref().and_then(|sighting| sighting.version.commit.clone()),
            code_commit: None,
            sighting,
            recent_sightings: stays,
            last_rollback: past.find_last_rollback(artefact, &moves),
            change_lock_key: by_branch.then_some(moves),
        });
    }
    Ok(ArtefactTrace { artefact, environments: rungs })
}

/// The answers that follow from the stored comparisons.
async fn load_containment(
    ctx: &Context,
    repository: &Repository,
    sha: &Sha,
    traces: &[ArtefactTrace<'_>],
    past: &TraceHistory,
) -> Result<Containment, LookupError> {
    let mut commits: HashSet<Sha> = HashSet::from([sha.clone()]);
    for here in traces.iter().flat_map(|trace| &trace.environments) {
        commits.extend(here.code_commit.iter().chain(&here.image_commit).cloned());
        commits.extend(here.last_rollback.as_ref().and_then(|back| back.from_commit.clone()));
        let ran = here.recent_sightings.iter().filter_map(|stay| stay.version.commit.as_ref());
        commits.extend(ran.map(|commit| past.resolve_code_commit(here.change_lock_key.as_ref(), commit)));
    }
    commits.extend(ctx.open_changes.all().iter().filter_map(|change| change.plan.pinned_commit().cloned()));
    let pairs = ctx.store.list_compared_pairs(repository, sha, &commits.iter().collect::<Vec<_>>()).await?;
    Ok(Containment::from_pairs(sha, &pairs))
}

fn describe_artefact(
    ctx: &Context,
    trace: &ArtefactTrace<'_>,
    query: &Query<'_>,
    past: &TraceHistory,
    only_moves: bool,
) -> ArtefactLocations {
    let rungs: Vec<EnvironmentPresence> =
        trace.environments.iter().map(|here| here.describe_environment(query, past)).collect();
    let next =
        find_next_environment(&rungs).filter(|next| !(only_moves && matches!(next, NextEnvironment::Backward(_))));
    let waits = next.and_then(|next| find_next_requirement(ctx, trace.artefact, &rungs, next, &query.containment));
    ArtefactLocations { artefact: trace.artefact.name.clone(), environments: rungs, prerequisite: waits }
}

/// The change lock of the artefact in that environment.
fn build_change_lock_key(artefact: &Artefact, environment: &Environment) -> ChangeLockKey {
    match &artefact.delivery {
        Delivery::Branch => ChangeLockKey::from_branch(&artefact.repository, &environment.branch),
        Delivery::Manifest { repository, file, branch, .. } => {
            let file = file.replace("{environment}", environment.name.as_str());
            let at = ManifestFile { repository: repository.clone(), branch: branch.clone().unwrap_or_default(), file };
            ChangeLockKey::from_write_target(&artefact.repository, &environment.branch, Some(&at))
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
    /// The commit that the rollback made, and the commit that it restored.
    result_commit: Option<Sha>,
    restored_commit: Option<Sha>,
    from_commit: Option<Sha>,
    summary: CodeRemoval,
}

impl TraceHistory {
    /// The commit that the code comes from: for a rollback, the restored commit. A rollback by manifest restores the
    /// old image itself, so there `moves` is `None`.
    fn resolve_code_commit(&self, moves: Option<&ChangeLockKey>, commit: &Sha) -> Sha {
        let Some(codes) = moves.and_then(|moves| self.source_maps.get(moves.as_str())) else { return commit.clone() };
        let mut code = commit.clone();
        // Rollbacks to the results of rollbacks form a chain, which is short in practice.
        for _ in 0..8 {
            let version = Version { commit: Some(code.clone()), ..Version::default() };
            let original = codes.resolve_restored(&version).commit.unwrap_or_else(|| code.clone());
            let restored = self.restored_commits.get(&original).cloned().unwrap_or(original);
            if restored == code {
                break;
            }
            code = restored;
        }
        code
    }

    fn find_last_rollback(&self, artefact: &Artefact, moves: &ChangeLockKey) -> Option<LastRollback> {
        let changes = self.changes.get(moves.as_str())?;
        // Changes of another artefact in the same file do not belong to this history.
        let own = |change: &&Change| artefact.delivery == Delivery::Branch || change.plan.artefact == artefact.name;
        let last = changes.iter().filter(own).find(|change| change.stage.result_commit().is_some())?;
        let rollback = last.plan.rollback_details()?;
        Some(LastRollback {
            result_commit: last.stage.result_commit().cloned(),
            restored_commit: last.plan.version.commit.clone(),
            from_commit: last.plan.from.as_ref().and_then(|from| from.commit.clone()),
            summary: CodeRemoval {
                by: Some(last.requester.clone()).filter(|_| !rollback.automatic),
                at: Some(last.stage.deploying().map_or(last.asked_at, |deploying| deploying.merged_at)),
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
        self.environments.iter().filter_map(|here| here.image_commit.as_ref())
    }
}

/// The state of one environment.
struct EnvironmentState<'a> {
    environment: &'a Environment,
    rollout: Rollout,
    sighting: Option<Sighting>,
    /// Newest first.
    recent_sightings: Vec<Sighting>,
    /// The commit that the image was built from, and the commit that its code comes from.
    image_commit: Option<Sha>,
    code_commit: Option<Sha>,
    last_rollback: Option<LastRollback>,
    /// Only for delivery by branch.
    change_lock_key: Option<ChangeLockKey>,
}

impl EnvironmentState<'_> {
    fn describe_environment(&self, query: &Query<'_>, past: &TraceHistory) -> EnvironmentPresence {
        let unreadable = match &self.rollout.state {
            RolloutState::Unreadable { why, .. } => Some(why.to_string()),
            _ => None,
        };
        EnvironmentPresence {
            environment: self.environment.name.clone(),
            presence: self.check_presence(query, past),
            unreadable,
        }
    }

    fn check_presence(&self, query: &Query<'_>, past: &TraceHistory) -> CommitPresence {
        let unknown = |why: &str| CommitPresence::Unknown { why: why.to_owned() };
        if self.rollout.state == RolloutState::Missing {
            return CommitPresence::NoWorkload;
        }
        let (Some(sighting), known) = (&self.sighting, &query.containment) else {
            return unknown("I have not seen yet what runs there");
        };
        let (Some(raw), Some(code)) = (&self.image_commit, &self.code_commit) else {
            return CommitPresence::Unknown {
                why: format!("nothing tells which commit {} is of", sighting.version.label()),
            };
        };
        match contains_commit(query.sha, known, raw, code) {
            None => CommitPresence::Unknown { why: query.explain_unknown(code) },
            Some(true) => self.describe_running(sighting, query, past),
            Some(false) => {
                let ran = |commit: &Sha| known.is_contained_in(commit) == Some(true);
                let by_us =
                    self.last_rollback.as_ref().filter(|back| ran(raw) || back.from_commit.as_ref().is_some_and(ran));
                let by_another = (raw != code && ran(raw)).then(CodeRemoval::default);
                CommitPresence::Absent { removal: by_us.map(|back| back.summary.clone()).or(by_another) }
            }
        }
    }

    fn describe_running(&self, sighting: &Sighting, query: &Query<'_>, past: &TraceHistory) -> CommitPresence {
        let had_it = |stay: &&Sighting| {
            let Some(raw) = &stay.version.commit else { return false };
            contains_commit(
                query.sha,
                &query.containment,
                raw,
                &past.resolve_code_commit(self.change_lock_key.as_ref(), raw),
            ) == Some(true)
        };
        // The commit of the current sighting may be in memory only, so the stored one is skipped.
        let earlier = self.recent_sightings.iter().filter(|stay| stay.seen_at < sighting.seen_at).take_while(had_it);
        let since = std::iter::once(sighting).chain(earlier).filter_map(|stay| stay.running_at).last();
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

/// Whether an image built from `raw`, with the code of `code`, contains the sought commit. It always contains `raw`.
fn contains_commit(sought: &Sha, known: &Containment, raw: &Sha, code: &Sha) -> Option<bool> {
    if raw == sought { Some(true) } else { known.is_contained_in(code) }
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
            let open = |commit: &&Sha| !self.incomparable.contains_key(*commit);
            let of_itself = |here: &&EnvironmentState<'_>| here.image_commit.as_ref() != Some(self.sha);
            let codes = trace.environments.iter().filter(of_itself).filter_map(|here| here.code_commit.as_ref());
            let ladder: Vec<&Sha> = codes.filter(open).collect();
            let Some(commit) = self.containment.choose_next_commit(&ladder) else { break };
            if !self.compare_with(ctx, commit).await {
                return;
            }
        }
        // After a rollback, the answer says whether the environment had the commit before.
        for here in &trace.environments {
            if let (Some(raw), Some(code)) = (&here.image_commit, &here.code_commit)
                && raw != code
                && self.containment.is_contained_in(code) == Some(false)
                && self.containment.is_contained_in(raw).is_none()
                && !self.incomparable.contains_key(raw)
                && !self.compare_with(ctx, raw).await
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
            Ok(Some(compared)) => self.containment.record_answer(commit, compared.behind_by == 0),
            Ok(None) => {
                let why = format!("GitHub cannot compare it with {}, which runs there", commit.short());
                self.incomparable.insert(commit.clone(), why);
            }
            Err(error) => self.github_error = Some(error.to_string()),
        }
        self.github_error.is_none()
    }

    fn explain_unknown(&self, commit: &Sha) -> String {
        let known = self.incomparable.get(commit).or(self.github_error.as_ref());
        known.cloned().unwrap_or_else(|| format!("it was not compared with {} yet", commit.short()))
    }
}

/// How many artefacts contain the commit in each environment, by the answers so far.
fn count_artefacts(traces: &[ArtefactTrace<'_>], sha: &Sha, known: &Containment, ctx: &Context) -> Tally {
    let rungs = ctx.config.catalogue.ladder.environments().iter().filter_map(|rung| {
        let here: Vec<&EnvironmentState<'_>> = traces
            .iter()
            .flat_map(|trace| &trace.environments)
            .filter(|here| here.environment.name == rung.name)
            .collect();
        let has = |here: &&&EnvironmentState<'_>| match (&here.image_commit, &here.code_commit) {
            (Some(raw), Some(code)) => contains_commit(sha, known, raw, code) == Some(true),
            _ => false,
        };
        let having = here.iter().filter(has).count();
        (!here.is_empty()).then(|| (rung.name.clone(), having, here.len()))
    });
    Tally { artefacts: traces.len(), environments: rungs.collect() }
}
