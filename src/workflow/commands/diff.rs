//! `diff`: what differs between two environments. The cluster says what runs, Git what is to run and what lies between.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::domain::change::ChangeLockKey;
use crate::domain::change::plan::PendingCommits;
use crate::domain::git::comparison::{Comparison, ListedCommit, collapse_merges};
use crate::domain::git::text_diff::{LineDiff, OmissionReason};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::rules::promotion::Refusal;
use crate::domain::rules::rollback::SourceMap;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::diff;
use crate::domain::view::diff::{Diff, DiffResult, DiffSide, GitState, ManifestDiff, UndeployedCommits};

use crate::adapters::github::{Found, Patched};
use crate::adapters::slack::render::Said;
use crate::adapters::slack::render::commit_summary::Authors;
use crate::adapters::slack::render::diff as render;
use crate::adapters::slack::render::page_buttons::For;

use crate::workflow::context::Bot;
use crate::workflow::error::No;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::notifications::outbox::TableSupport;
use crate::workflow::planning::pending_commits::says;
use crate::workflow::planning::rollback_candidates::REMEMBERED;
use crate::workflow::requests::dispatch::{Asked, stored};
use crate::workflow::requests::inbox::{NotNow, Work};

/// How many artefacts are looked at at once; GitHub's client has limits of its own.
const AT_ONCE: usize = 8;

/// After so long the first results are shown; the others follow.
const FIRST: Duration = Duration::from_millis(1500);
/// How often a message that can be edited is filled in.
const FILLED: Duration = Duration::from_secs(3);

/// One of the two environments, with what has to be known to compare it.
struct Known<'a> {
    rung: &'a Environment,
    side: DiffSide,
    /// The commit that runs.
    commit: Option<Sha>,
    /// The commit whose code that is: after a rollback, the one that was restored.
    code: Option<Sha>,
    /// Its manifest, by name and text.
    manifest: Option<(String, String)>,
}

/// What was typed.
pub(crate) struct Wanted {
    pub(crate) source: EnvironmentName,
    pub(crate) target: EnvironmentName,
    pub(crate) artefact: Option<ArtefactName>,
    pub(crate) code: bool,
}

impl Bot {
    pub(crate) async fn diff(&self, asked: Asked<'_>, wanted: Wanted, openly: bool) -> Result<Work, NotNow> {
        let catalogue = &self.config.catalogue;
        let rung = |name: &EnvironmentName| catalogue.ladder.find(name.as_str());
        let (Some(source), Some(target)) = (rung(&wanted.source), rung(&wanted.target)) else {
            return Ok(Work::default());
        };
        if source.name == target.name {
            return Ok(asked.privately(render::same_environment(&source.name)));
        }
        let Some(artefact) = wanted.artefact.as_ref().and_then(|name| catalogue.find_artefact(name.as_str())) else {
            return self.diff_all(asked, source, target, openly).await;
        };
        let diff = match self.diff_of(artefact, source, target).await {
            Ok(diff) => diff,
            Err(error) => return asked.cannot(&error),
        };
        let code = match &diff.compared_commits {
            Some((upper, lower)) if wanted.code && matches!(diff.result, DiffResult::Different { .. }) => {
                match self.code_between(artefact, upper, lower).await {
                    Ok(code) => Some(code),
                    Err(error) => return asked.cannot(&error),
                }
            }
            _ => None,
        };
        let authors = if openly { Authors::new() } else { self.known_authors(&diff, &artefact.repository) };
        let render::One { said, cut } =
            render::one(&diff, code.as_deref(), &catalogue.ladder, &authors, self.clock.now());
        let mut work = if openly { asked.openly(said) } else { asked.privately(said) };
        if cut {
            let texts = code.as_deref().unwrap_or_default().iter().chain(&diff.manifest_diff);
            work.transaction =
                work.transaction.say(asked.beside(render::whole(&diff), render::file(&diff, texts), openly));
        }
        Ok(work)
    }

    /// The text of what differs, of the files that concern the artefact.
    async fn code_between(
        &self,
        artefact: &Artefact,
        upper: &Sha,
        lower: &Sha,
    ) -> Result<Vec<ManifestDiff>, CannotAsk> {
        let patches = match self.github.patches(&artefact.repository, upper, lower).await? {
            Found::Yes(patches) => patches,
            Found::No(why) => return Err(CannotAsk::never(why)),
        };
        let concerned = patches.into_iter().filter(|patched| patched.file.is_relevant_to(artefact)).map(
            |Patched { file, patch }| {
                // What was only moved has no text that differs, and neither has what is no text.
                let is_long = file.additions + file.deletions > 0;
                let unseen = if is_long { OmissionReason::TooLong } else { OmissionReason::Binary };
                let unseen = || LineDiff { omitted: Some(unseen), ..LineDiff::default() };
                ManifestDiff { difference: patch.as_deref().map_or_else(unseen, LineDiff::from_patch), file: file.path }
            },
        );
        Ok(concerned.collect())
    }

    /// Of every artefact that is in either. What takes its time is shown as far as it is known, and filled in.
    async fn diff_all(
        &self,
        asked: Asked<'_>,
        source: &Environment,
        target: &Environment,
        openly: bool,
    ) -> Result<Work, NotNow> {
        let artefacts = self.in_either(source, target);
        let (count, whom) = (artefacts.len(), if openly { For::Channel { shared_by: None } } else { For::Person });
        let said = |diffs: &[Diff]| {
            let said = self.all_said(diffs.to_vec(), count, (source, target), 0, whom);
            if openly { asked.openly(said) } else { asked.privately(said) }
        };
        let mut diffs: Vec<Diff> = Vec::with_capacity(count);
        let mut coming = std::pin::pin!(self.diffs(artefacts, source, target));
        let mut show_at = Some(Instant::now() + FIRST);
        loop {
            let next = match show_at {
                Some(at) => timeout_at(at, coming.next()).await,
                None => Ok(coming.next().await),
            };
            match next {
                Ok(Some(diff)) => diffs.push(diff),
                Ok(None) => return Ok(said(&diffs)),
                Err(_) => {
                    self.store.commit(said(&diffs).transaction).await.map_err(|error| stored(&error))?;
                    // A private answer to a command cannot be edited: it is said once before the end.
                    show_at = openly.then(|| Instant::now() + FILLED);
                }
            }
        }
    }

    /// Another page of the same: nearly all of it is known by now.
    pub(crate) async fn diff_page(
        &self,
        source: &EnvironmentName,
        target: &EnvironmentName,
        page: usize,
        whom: For<'_>,
    ) -> Option<Said> {
        let rung = |name: &EnvironmentName| self.config.catalogue.ladder.find(name.as_str());
        let (source, target) = (rung(source)?, rung(target)?);
        let artefacts = self.in_either(source, target);
        let count = artefacts.len();
        let diffs: Vec<Diff> = self.diffs(artefacts, source, target).collect().await;
        Some(self.all_said(diffs, count, (source, target), page, whom))
    }

    fn in_either(&self, source: &Environment, target: &Environment) -> Vec<&Artefact> {
        let either = |it: &&Artefact| [source, target].iter().any(|rung| it.places.contains_key(&rung.name));
        self.config.catalogue.artefacts.iter().filter(either).collect()
    }

    fn all_said(
        &self,
        mut diffs: Vec<Diff>,
        count: usize,
        (source, target): (&Environment, &Environment),
        page: usize,
        whom: For<'_>,
    ) -> Said {
        let catalogue = &self.config.catalogue;
        diffs.sort_by_key(|diff| catalogue.artefacts.iter().position(|artefact| artefact.name == diff.artefact));
        let pair = (&source.name, &target.name);
        let said = render::all(&diffs, count, pair, page, whom, &catalogue.ladder, self.clock.now());
        match self.tables.support() {
            TableSupport::Refused => said.without_tables(),
            TableSupport::Taken | TableSupport::Unknown => said,
        }
    }

    /// Who wrote what is shown, as far as that is known.
    fn known_authors(&self, diff: &Diff, repository: &Repository) -> Authors {
        let DiffResult::Different { drift, .. } = &diff.result else { return Authors::new() };
        let logins = drift.commits.iter().chain(&drift.hotfixes).filter_map(|commit| commit.login.clone());
        logins.filter_map(|login| self.known_person(&login, repository).map(|person| (login, person))).collect()
    }

    /// What differs of one artefact.
    pub(crate) async fn diff_of(
        &self,
        artefact: &Artefact,
        source: &Environment,
        target: &Environment,
    ) -> Result<Diff, CannotAsk> {
        let ladder = &self.config.catalogue.ladder;
        let (mut from, mut to) = (self.known_of(artefact, source).await?, self.known_of(artefact, target).await?);
        let (lower, upper) = if diff::is_above(ladder, &source.name, &target.name) {
            (&mut to, &mut from)
        } else {
            (&mut from, &mut to)
        };
        if matches!(artefact.delivery, Delivery::Manifest { .. }) {
            self.look_at_manifest(artefact, lower).await?;
            self.look_at_manifest(artefact, upper).await?;
        }
        let same_image = match (&lower.side.running, &upper.side.running) {
            (Some(below), Some(above)) => below.is_same_image(above),
            _ => false,
        };
        let between = match missing(artefact, lower).or_else(|| missing(artefact, upper)) {
            Some(DiffResult::CommitUnknown(_)) if same_image => DiffResult::Same,
            Some(between) => between,
            None => self.lies_between(artefact, lower, upper).await?,
        };
        let is_first = matches!(&between, DiffResult::NotRunning(name) if *name == upper.rung.name);
        // What a rollback restored is older code with the bad one in its history: it goes nowhere.
        let restored = lower.commit != lower.code;
        let next = if !restored && (between.behind_environment().is_some() || is_first) {
            diff::find_next_promotion(artefact, &lower.side, upper.rung, ladder)
        } else {
            None
        };
        let compared = upper.code.clone().zip(lower.code.clone());
        let manifest = match (upper.manifest.take(), lower.manifest.take()) {
            (Some((file, above)), Some((_, below))) if above != below => {
                Some(ManifestDiff { file, difference: LineDiff::from_texts(&above, &below) })
            }
            _ => None,
        };
        let artefact = artefact.name.clone();
        Ok(Diff {
            artefact,
            source: from.side,
            target: to.side,
            result: between,
            next_promotion: next,
            compared_commits: compared,
            manifest_diff: manifest,
        })
    }

    /// The same of many, as they become known: first what nobody has to be asked for.
    pub(crate) fn diffs<'a>(
        &'a self,
        artefacts: Vec<&'a Artefact>,
        source: &'a Environment,
        target: &'a Environment,
    ) -> impl futures::Stream<Item = Diff> + 'a {
        let one = async move |artefact: &'a Artefact| match self.diff_of(artefact, source, target).await {
            Ok(diff) => diff,
            Err(error) => self.undiffed(artefact, source, target, error.to_string()),
        };
        futures::stream::iter(artefacts).map(one).buffer_unordered(AT_ONCE)
    }

    /// What the cluster alone tells, where somebody who must be asked does not answer.
    fn undiffed(&self, artefact: &Artefact, source: &Environment, target: &Environment, why: String) -> Diff {
        let side = |rung: &Environment| self.side(artefact, rung);
        Diff {
            artefact: artefact.name.clone(),
            source: side(source),
            target: side(target),
            result: DiffResult::Unknown(why),
            next_promotion: None,
            compared_commits: None,
            manifest_diff: None,
        }
    }

    /// What runs there, by the cluster's word; where it cannot be read, what was seen last.
    fn side(&self, artefact: &Artefact, rung: &Environment) -> DiffSide {
        let environment = rung.name.clone();
        let Some(place) = artefact.places.get(&rung.name) else {
            return DiffSide {
                environment,
                running: None,
                state: RolloutState::Missing,
                since: None,
                git: GitState::Unknown,
            };
        };
        let rollout = self.view.rollout(place, &artefact.image);
        let seen = self.seen.sighting(&artefact.name, &rung.name);
        let unreadable = matches!(rollout.state, RolloutState::Unreadable { .. });
        let known = seen.filter(|seen| match &rollout.version {
            Some(version) => seen.version.is_same_image(version),
            None => unreadable,
        });
        let since = known.as_ref().and_then(|seen| seen.running_at).or(rollout.since);
        let version = known.map(|seen| seen.version).or(rollout.version);
        DiffSide { environment, running: version, state: rollout.state, since, git: GitState::Unknown }
    }

    async fn known_of<'a>(&self, artefact: &Artefact, rung: &'a Environment) -> Result<Known<'a>, CannotAsk> {
        if artefact.places.get(&rung.name).is_some_and(|place| !self.view.is_read(place)) {
            return Err(CannotAsk::later(format!("what runs in {} has not been read yet", rung.name)));
        }
        let mut side = self.side(artefact, rung);
        let Some(version) = &mut side.running else {
            return Ok(Known { rung, side, commit: None, code: None, manifest: None });
        };
        if version.commit.is_none() {
            version.commit = match self.seen.sighting(&artefact.name, &rung.name) {
                Some(seen) if seen.version.is_same_image(version) => self.source_of(artefact, &seen).await?,
                _ => self.commit_of(artefact, version).await?,
            }
            .map(|(commit, _)| commit);
        }
        let commit = version.commit.clone();
        let code = self.code_of(artefact, rung, version).await?;
        Ok(Known { rung, side, commit, code, manifest: None })
    }

    /// The commit whose code a version is: a rollback's is that which it restored.
    pub(crate) async fn code_of(
        &self,
        artefact: &Artefact,
        rung: &Environment,
        version: &Version,
    ) -> Result<Option<Sha>, CannotAsk> {
        if matches!(artefact.delivery, Delivery::Manifest { .. }) {
            return Ok(version.commit.clone());
        }
        let moves = ChangeLockKey::from_branch(&artefact.repository, &rung.branch);
        let changes = self.store.changes_of(&moves, REMEMBERED).await?;
        Ok(SourceMap::from_changes(&changes, &artefact.name).resolve_restored(version).commit)
    }

    async fn lies_between(
        &self,
        artefact: &Artefact,
        lower: &mut Known<'_>,
        upper: &mut Known<'_>,
    ) -> Result<DiffResult, CannotAsk> {
        let (Some(down), Some(up)) = (lower.code.clone(), upper.code.clone()) else {
            return Ok(DiffResult::Incomparable);
        };
        let pending = if matches!(artefact.delivery, Delivery::Manifest { .. }) {
            self.pending_between(&artefact.repository, &up, &down).await?
        } else {
            self.pending_by_branch(artefact, lower, upper, (&down, &up)).await?
        };
        Ok(pending
            .map_or(DiffResult::Incomparable, |pending| DiffResult::from_pending(&pending, artefact, &upper.rung.name)))
    }

    /// What lies between, and where the branches stand. One question for each branch tells both, in most cases.
    async fn pending_by_branch(
        &self,
        artefact: &Artefact,
        lower: &mut Known<'_>,
        upper: &mut Known<'_>,
        (down, up): (&Sha, &Sha),
    ) -> Result<Option<PendingCommits>, CannotAsk> {
        let repository = &artefact.repository;
        let Some(there) = self.beyond(artefact, up, down, lower).await? else { return Ok(None) };
        let back = if there.behind_by == 0 {
            self.look_at_branch(artefact, upper).await?;
            None
        } else {
            self.beyond(artefact, down, up, upper).await?
        };
        let pending = PendingCommits::from_comparisons(there, back);
        if upper.commit == upper.code && pending.may_be_rolled_back() {
            // A hotfix upon a rollback, or one that the ledger does not know: what runs is what was restored.
            let open = self.github.open_rollbacks(repository, up).await?;
            if let Some(newest) = open.first()
                && let Some(live) = self.pending_between(repository, &newest.restores, down).await?
            {
                let PendingCommits { ahead_by, commits, files, url, .. } = live;
                return Ok(Some(PendingCommits { ahead_by, commits, files, url, ..pending }));
            }
        }
        Ok(Some(pending))
    }

    /// What the code of `known` has that `base` does not; tells on the way where its branch stands.
    async fn beyond(
        &self,
        artefact: &Artefact,
        base: &Sha,
        code: &Sha,
        known: &mut Known<'_>,
    ) -> Result<Option<Comparison>, CannotAsk> {
        let repository = &artefact.repository;
        if base == code {
            self.look_at_branch(artefact, known).await?;
            return Ok(Some(Comparison::with_itself(base)));
        }
        // Asked the same way each time, so that GitHub can say that nothing is new.
        let Some(head) = self.comparison_with_head(repository, base, &known.rung.branch).await? else {
            known.side.git = self.incomparable_branch(artefact, known.rung).await?;
            return self.comparison(repository, base, code).await;
        };
        let told = known
            .commit
            .as_ref()
            .filter(|commit| head.has_commit(commit))
            .and_then(|commit| head.restrict_to_ancestor(commit));
        match told.filter(|_| artefact.paths.is_empty()) {
            Some(deployed) => {
                let tree =
                    |of: &Sha| head.commits.iter().find(|lone| lone.commit.sha == *of).and_then(|it| it.tree.as_ref());
                let same_tree = tree(&head.head).is_some() && tree(&head.head) == tree(&deployed.head);
                let undeployed = if same_tree {
                    UndeployedCommits::Nothing
                } else {
                    undeployed(head.commits.iter().filter(|lone| !deployed.has_commit(&lone.commit.sha)))
                };
                let branch = known.rung.branch.clone();
                known.side.git = GitState::Branch { branch, head: head.head.clone(), undeployed };
            }
            None => self.look_at_branch(artefact, known).await?,
        }
        if head.head == *code {
            return Ok(Some(head));
        }
        self.comparison(repository, base, code).await
    }

    /// Where the branch stands to what runs.
    async fn look_at_branch(&self, artefact: &Artefact, known: &mut Known<'_>) -> Result<(), CannotAsk> {
        let Some(commit) = &known.commit else { return Ok(()) };
        let branch = known.rung.branch.clone();
        known.side.git = match self.comparison_with_head(&artefact.repository, commit, &branch).await? {
            None => self.incomparable_branch(artefact, known.rung).await?,
            Some(head) => {
                let changes = head.files.cut || head.files.changed.iter().any(|file| file.is_relevant_to(artefact));
                let undeployed = match head.behind_by {
                    0 if changes => undeployed(head.commits.iter()),
                    // The same code under another name, or nothing that is built for it.
                    0 => UndeployedCommits::Nothing,
                    _ => UndeployedCommits::Diverged,
                };
                GitState::Branch { branch, head: head.head, undeployed }
            }
        };
        Ok(())
    }

    /// A branch that has nothing in common with what runs, or that is not there.
    async fn incomparable_branch(&self, artefact: &Artefact, rung: &Environment) -> Result<GitState, CannotAsk> {
        let branch = rung.branch.clone();
        Ok(match self.github.head(&artefact.repository, &branch).await? {
            Some(head) => GitState::Branch { branch, head, undeployed: UndeployedCommits::Diverged },
            None => GitState::NoBranch { branch },
        })
    }

    /// What the manifest says, and whether that runs.
    async fn look_at_manifest(&self, artefact: &Artefact, known: &mut Known<'_>) -> Result<(), CannotAsk> {
        let read = async {
            let Some(at) = self.manifest_file(artefact, known.rung).await? else { return Ok(None) };
            let text = self.manifest_text(artefact, &at).await?;
            let says = says(artefact, &at, &text)?;
            Ok(Some((at.file, text, says)))
        };
        match read.await {
            Ok(Some((file, text, says))) => {
                let runs = known.side.running.as_ref().is_some_and(|runs| runs.is_same_image(&says));
                known.manifest = Some((file.clone(), text));
                known.side.git = GitState::Manifest { file, specified: says, is_running: runs };
            }
            Ok(None) => {}
            Err(No::Refused(refusal)) => known.side.git = unreadable(refusal),
            Err(No::CannotAsk(error)) => return Err(error),
        }
        Ok(())
    }
}

fn unreadable(refusal: Refusal) -> GitState {
    match refusal {
        Refusal::ManifestProblem { file, problem, .. } => GitState::Unreadable { file, why: problem },
        _ => GitState::Unknown,
    }
}

fn missing(artefact: &Artefact, known: &Known<'_>) -> Option<DiffResult> {
    let name = known.rung.name.clone();
    if !artefact.places.contains_key(&name) {
        return Some(DiffResult::NotInEnvironment(name));
    }
    match (&known.side.running, &known.code) {
        (None, _) if let RolloutState::Unreadable { why, .. } = &known.side.state => {
            Some(DiffResult::Unknown(format!("the cluster of {name} cannot be read: {why}")))
        }
        (None, _) => Some(DiffResult::NotRunning(name)),
        (Some(_), None) => Some(DiffResult::CommitUnknown(name)),
        _ => None,
    }
}

/// As people count what was merged and does not run.
fn undeployed<'a>(commits: impl Iterator<Item = &'a ListedCommit>) -> UndeployedCommits {
    let commits: Vec<ListedCommit> = commits.cloned().collect();
    if commits.is_empty() {
        return UndeployedCommits::Nothing;
    }
    let count: u64 = collapse_merges(&commits).iter().map(Commit::count_commits).sum();
    // Merges alone make an image too.
    UndeployedCommits::Commits(count.max(1))
}
