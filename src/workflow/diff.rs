//! `diff`: what differs between two environments. The cluster says what runs, Git what is to run and what lies between.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::domain::artefact::{Artefact, ArtefactName, Delivery, Repository};
use crate::domain::change::Moves;
use crate::domain::comparison::{Comparison, Lone, folded};
use crate::domain::diff::{self, Between, Diff, InGit, Side, Undeployed};
use crate::domain::environment::{Environment, EnvironmentName};
use crate::domain::plan::Pending;
use crate::domain::policy::Refusal;
use crate::domain::rollback::Codes;
use crate::domain::rollout::RolloutState;
use crate::domain::version::{Commit, Sha, Version};

use crate::slack::render::diff as render;
use crate::slack::render::drift::Authors;

use super::Bot;
use super::inbox::{NotNow, Work};
use super::no::No;
use super::previous::REMEMBERED;
use super::respond::{Asked, stored};
use super::source::CannotAsk;

/// How many artefacts are looked at at once; GitHub's client has limits of its own.
const AT_ONCE: usize = 8;

/// After so long the first results are shown; the others follow.
const FIRST: Duration = Duration::from_millis(1500);
/// How often a message that can be edited is filled in.
const FILLED: Duration = Duration::from_secs(3);

/// One of the two environments, with what has to be known to compare it.
struct Known<'a> {
    rung: &'a Environment,
    side: Side,
    /// The commit that runs.
    commit: Option<Sha>,
    /// The commit whose code that is: after a rollback, the one that was restored.
    code: Option<Sha>,
}

/// What was typed.
pub(super) struct Wanted {
    pub(super) source: EnvironmentName,
    pub(super) target: EnvironmentName,
    pub(super) artefact: Option<ArtefactName>,
    pub(super) code: bool,
}

impl Bot {
    pub(super) async fn diff(&self, asked: Asked<'_>, wanted: Wanted, openly: bool) -> Result<Work, NotNow> {
        let catalogue = &self.config.catalogue;
        let rung = |name: &EnvironmentName| catalogue.ladder.find(name.as_str());
        let (Some(source), Some(target)) = (rung(&wanted.source), rung(&wanted.target)) else {
            return Ok(Work::default());
        };
        if source.name == target.name {
            return Ok(asked.privately(render::same_environment(&source.name)));
        }
        let Some(artefact) = wanted.artefact.as_ref().and_then(|name| catalogue.artefact(name.as_str())) else {
            return self.diff_all(asked, source, target, openly).await;
        };
        let diff = match self.diff_of(artefact, source, target).await {
            Ok(diff) => diff,
            Err(error) => return asked.cannot(&error),
        };
        let authors = if openly { Authors::new() } else { self.known_authors(&diff, &artefact.repository) };
        let said = render::one(&diff, catalogue, &authors, self.clock.now());
        Ok(if openly { asked.openly(said) } else { asked.privately(said) })
    }

    /// Of every artefact that is in either. What takes its time is shown as far as it is known, and filled in.
    async fn diff_all(
        &self,
        asked: Asked<'_>,
        source: &Environment,
        target: &Environment,
        openly: bool,
    ) -> Result<Work, NotNow> {
        let catalogue = &self.config.catalogue;
        let either = |it: &&Artefact| [source, target].iter().any(|rung| it.places.contains_key(&rung.name));
        let artefacts: Vec<&Artefact> = catalogue.artefacts.iter().filter(either).collect();
        let count = artefacts.len();
        let said = |diffs: &[Diff]| {
            let order = |diff: &Diff| catalogue.artefacts.iter().position(|artefact| artefact.name == diff.artefact);
            let mut diffs: Vec<Diff> = diffs.to_vec();
            diffs.sort_by_key(order);
            let said = render::all(&diffs, count, (&source.name, &target.name), &catalogue.ladder, self.clock.now());
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
                    self.store.commit(said(&diffs).batch).await.map_err(|error| stored(&error))?;
                    // A private answer to a command cannot be edited: it is said once before the end.
                    show_at = openly.then(|| Instant::now() + FILLED);
                }
            }
        }
    }

    /// Who wrote what is shown, as far as that is known.
    fn known_authors(&self, diff: &Diff, repository: &Repository) -> Authors {
        let Between::Differs { drift, .. } = &diff.between else { return Authors::new() };
        let logins = drift.commits.iter().chain(&drift.hotfixes).filter_map(|commit| commit.login.clone());
        logins.filter_map(|login| self.known_person(&login, repository).map(|person| (login, person))).collect()
    }

    /// What differs of one artefact.
    pub(super) async fn diff_of(
        &self,
        artefact: &Artefact,
        source: &Environment,
        target: &Environment,
    ) -> Result<Diff, CannotAsk> {
        let ladder = &self.config.catalogue.ladder;
        let (mut from, mut to) = (self.known_of(artefact, source).await?, self.known_of(artefact, target).await?);
        let (lower, upper) =
            if diff::above(ladder, &source.name, &target.name) { (&mut to, &mut from) } else { (&mut from, &mut to) };
        let between = match missing(artefact, lower).or_else(|| missing(artefact, upper)) {
            Some(between) => between,
            None => self.lies_between(artefact, lower, upper).await?,
        };
        let is_first = matches!(&between, Between::NothingRuns(name) if *name == upper.rung.name);
        let next = if between.behind().is_some() || is_first {
            diff::next(artefact, &lower.side, upper.rung, ladder)
        } else {
            None
        };
        Ok(Diff { artefact: artefact.name.clone(), source: from.side, target: to.side, between, next })
    }

    /// The same of many, as they become known: first what nobody has to be asked for.
    pub(super) fn diffs<'a>(
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
            between: Between::Unknown(why),
            next: None,
        }
    }

    /// What runs there, by the cluster's word; where it cannot be read, what was seen last.
    fn side(&self, artefact: &Artefact, rung: &Environment) -> Side {
        let environment = rung.name.clone();
        let Some(place) = artefact.places.get(&rung.name) else {
            return Side { environment, runs: None, state: RolloutState::Missing, since: None, git: InGit::Unknown };
        };
        let rollout = self.view.rollout(place, &artefact.image);
        let seen = self.seen.sighting(&artefact.name, &rung.name);
        let unreadable = matches!(rollout.state, RolloutState::Unreadable { .. });
        let known = seen.filter(|seen| match &rollout.version {
            Some(version) => seen.version.is_image(version),
            None => unreadable,
        });
        let since = known.as_ref().and_then(|seen| seen.running_at).or(rollout.since);
        let runs = known.map(|seen| seen.version).or(rollout.version);
        Side { environment, runs, state: rollout.state, since, git: InGit::Unknown }
    }

    async fn known_of<'a>(&self, artefact: &Artefact, rung: &'a Environment) -> Result<Known<'a>, CannotAsk> {
        if artefact.places.get(&rung.name).is_some_and(|place| !self.view.is_read(place)) {
            return Err(CannotAsk::later(format!("what runs in {} has not been read yet", rung.name)));
        }
        let mut side = self.side(artefact, rung);
        let Some(version) = &mut side.runs else { return Ok(Known { rung, side, commit: None, code: None }) };
        if version.commit.is_none() {
            version.commit = match self.seen.sighting(&artefact.name, &rung.name) {
                Some(seen) if seen.version.is_image(version) => self.source_of(artefact, &seen).await?,
                _ => self.commit_of(artefact, version).await?,
            }
            .map(|(commit, _)| commit);
        }
        let commit = version.commit.clone();
        let code = self.code_of(artefact, rung, version).await?;
        Ok(Known { rung, side, commit, code })
    }

    /// The commit whose code a version is: a rollback's is that which it restored.
    pub(super) async fn code_of(
        &self,
        artefact: &Artefact,
        rung: &Environment,
        version: &Version,
    ) -> Result<Option<Sha>, CannotAsk> {
        if matches!(artefact.delivery, Delivery::Manifest { .. }) {
            return Ok(version.commit.clone());
        }
        let moves = Moves::branch(&artefact.repository, &rung.branch);
        let changes = self.store.changes_of(&moves, REMEMBERED).await?;
        Ok(Codes::of(&changes, &artefact.name).original(version).commit)
    }

    async fn lies_between(
        &self,
        artefact: &Artefact,
        lower: &mut Known<'_>,
        upper: &mut Known<'_>,
    ) -> Result<Between, CannotAsk> {
        let (Some(down), Some(up)) = (lower.code.clone(), upper.code.clone()) else { return Ok(Between::NoComparison) };
        let pending = if matches!(artefact.delivery, Delivery::Manifest { .. }) {
            lower.side.git = self.manifest_has(artefact, lower).await?;
            upper.side.git = self.manifest_has(artefact, upper).await?;
            self.pending_between(&artefact.repository, &up, &down).await?
        } else {
            self.pending_by_branch(artefact, lower, upper, (&down, &up)).await?
        };
        Ok(pending.map_or(Between::NoComparison, |pending| Between::of(&pending, artefact, &upper.rung.name)))
    }

    /// What lies between, and where the branches stand. One question for each branch tells both, in most cases.
    async fn pending_by_branch(
        &self,
        artefact: &Artefact,
        lower: &mut Known<'_>,
        upper: &mut Known<'_>,
        (down, up): (&Sha, &Sha),
    ) -> Result<Option<Pending>, CannotAsk> {
        let repository = &artefact.repository;
        let Some(there) = self.beyond(repository, up, down, lower).await? else { return Ok(None) };
        let back = if there.behind_by == 0 {
            self.look_at_branch(repository, upper).await?;
            None
        } else {
            self.beyond(repository, down, up, upper).await?
        };
        Ok(Some(Pending::of(there, back)))
    }

    /// What the code of `known` has that `base` does not; tells on the way where its branch stands.
    async fn beyond(
        &self,
        repository: &Repository,
        base: &Sha,
        code: &Sha,
        known: &mut Known<'_>,
    ) -> Result<Option<Comparison>, CannotAsk> {
        let kept = if base == code {
            Some(Comparison::with_itself(base))
        } else {
            self.store.comparison(repository, base, code).await?
        };
        if kept.is_some() {
            self.look_at_branch(repository, known).await?;
            return Ok(kept);
        }
        let Some(head) = self.comparison_with_head(repository, base, &known.rung.branch).await? else {
            known.side.git = InGit::NoBranch { branch: known.rung.branch.clone() };
            return self.comparison(repository, base, code).await;
        };
        let told = known.commit.as_ref().filter(|commit| head.has(commit)).and_then(|commit| head.up_to(commit));
        match told {
            Some(deployed) => {
                let undeployed = undeployed(head.commits.iter().filter(|lone| !deployed.has(&lone.commit.sha)));
                let branch = known.rung.branch.clone();
                known.side.git = InGit::Branch { branch, head: head.head.clone(), undeployed };
            }
            None => self.look_at_branch(repository, known).await?,
        }
        if head.head == *code {
            return Ok(Some(head));
        }
        self.comparison(repository, base, code).await
    }

    /// Where the branch stands to what runs.
    async fn look_at_branch(&self, repository: &Repository, known: &mut Known<'_>) -> Result<(), CannotAsk> {
        let Some(commit) = &known.commit else { return Ok(()) };
        let branch = known.rung.branch.clone();
        known.side.git = match self.comparison_with_head(repository, commit, &branch).await? {
            None => InGit::NoBranch { branch },
            Some(head) => {
                let undeployed = if head.behind_by > 0 { Undeployed::Other } else { undeployed(head.commits.iter()) };
                InGit::Branch { branch, head: head.head, undeployed }
            }
        };
        Ok(())
    }

    /// What the manifest says, and whether that runs.
    async fn manifest_has(&self, artefact: &Artefact, known: &Known<'_>) -> Result<InGit, CannotAsk> {
        let file = match self.manifest_file(artefact, known.rung).await {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(InGit::Unknown),
            Err(No::Refused(refusal)) => return Ok(unreadable(refusal)),
            Err(No::CannotAsk(error)) => return Err(error),
        };
        match self.manifest_says(artefact, &file).await {
            Ok(says) => {
                let runs = known.side.runs.as_ref().is_some_and(|runs| runs.is_image(&says));
                Ok(InGit::Manifest { file: file.file, says, runs })
            }
            Err(No::Refused(refusal)) => Ok(unreadable(refusal)),
            Err(No::CannotAsk(error)) => Err(error),
        }
    }
}

fn unreadable(refusal: Refusal) -> InGit {
    match refusal {
        Refusal::Manifest { file, problem, .. } => InGit::Unreadable { file, why: problem },
        _ => InGit::Unknown,
    }
}

fn missing(artefact: &Artefact, known: &Known<'_>) -> Option<Between> {
    let name = known.rung.name.clone();
    if !artefact.places.contains_key(&name) {
        return Some(Between::NotThere(name));
    }
    match (&known.side.runs, &known.code) {
        (None, _) => Some(Between::NothingRuns(name)),
        (Some(_), None) => Some(Between::CommitUnknown(name)),
        _ => None,
    }
}

/// As people count what was merged and does not run.
fn undeployed<'a>(commits: impl Iterator<Item = &'a Lone>) -> Undeployed {
    let commits: Vec<Lone> = commits.cloned().collect();
    if commits.is_empty() {
        return Undeployed::Nothing;
    }
    let count: u64 = folded(&commits).iter().map(Commit::count).sum();
    // Merges alone make an image too.
    Undeployed::Commits(count.max(1))
}
