//! `where`: which environments run code that contains a commit, since when, and what it waits for in the next. Most follows
//! from what is kept; GitHub is asked one question at a time for the rest.

mod find;

use std::collections::{HashMap, HashSet};

use crate::adapters::slack::render::where_is as render;
use crate::domain::change::plan::ManifestFile;
use crate::domain::change::{Change, ChangeLockKey};
use crate::domain::git::containment::Containment;
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::{Commit, Sha, Version};
use crate::domain::rules::rollback::SourceMap;
use crate::domain::runtime::rollout::{Rollout, RolloutState};
use crate::domain::runtime::sighting::Sighting;
use crate::domain::view::where_is::{
    ArtefactLocations, CodeRemoval, CommitLocations, CommitPresence, EnvironmentPresence, NextEnvironment,
    Prerequisite, QueryMatch, Tally, find_next_environment,
};
use crate::domain::view::where_query::WhereQuery;

use crate::workflow::context::Bot;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::requests::dispatch::Asked;
use crate::workflow::requests::inbox::{NotNow, Work};

pub use find::Absent;
use find::{CHOICES, Meant};

/// How many artefacts of one repository are told of in full.
const SHOWN: usize = 12;
/// How far back stays are looked at to tell since when.
const STAYS: u32 = 30;
/// How far back changes are looked at to tell what was rolled back: what runs was brought by one of the newest.
const CHANGES: u32 = 50;

impl Bot {
    pub(crate) async fn where_is(
        &self,
        asked: Asked<'_>,
        openly: bool,
        what: &str,
        artefact: Option<&ArtefactName>,
    ) -> Result<Work, NotNow> {
        let named = artefact.and_then(|name| self.config.catalogue.find_artefact(name.as_str()));
        let Some(sought) = WhereQuery::parse(what) else { return Ok(asked.privately(render::meaningless(what))) };
        let meant = match Box::pin(self.find(&sought, named)).await {
            Ok(meant) => meant,
            Err(error) => return asked.cannot(&error),
        };
        Ok(match meant {
            Meant::One(QueryMatch::Commit { repository, sha, commit }) => {
                match Box::pin(self.whereabouts(repository, sha, commit, named)).await {
                    Ok(found) => asked.answered(render::whereabouts(&found), openly, found.find_single_change()),
                    Err(error) => return asked.cannot(&error),
                }
            }
            Meant::One(unmerged @ QueryMatch::Unmerged { .. }) => {
                asked.answered(render::unmerged(&unmerged), openly, None)
            }
            Meant::Several(all) => asked.privately(render::which(what, &all, CHOICES, artefact)),
            Meant::Untold(of) => asked.privately(render::untold(what, &of)),
            Meant::Nothing(repositories) => asked.privately(render::unknown(what, artefact, repositories)),
            Meant::NotOurs => asked.privately(render::not_ours(sought.repository.as_ref(), artefact)),
        })
    }

    async fn whereabouts(
        &self,
        repository: Repository,
        sha: Sha,
        commit: Option<Commit>,
        named: Option<&Artefact>,
    ) -> Result<CommitLocations, CannotAsk> {
        let of_it = |artefact: &&Artefact| {
            artefact.repository.is_same_as(&repository) && named.is_none_or(|named| named.name == artefact.name)
        };
        let artefacts: Vec<&Artefact> = self.config.catalogue.artefacts.iter().filter(of_it).collect();
        let shown: Vec<&ArtefactName> = artefacts.iter().take(SHOWN).map(|artefact| &artefact.name).collect();
        let mut past = Past::default();
        for stay in self.store.sightings_of(&shown, STAYS).await? {
            past.stays.entry((stay.artefact.clone(), stay.environment.clone())).or_default().push(stay);
        }
        let mut climbs = Vec::with_capacity(artefacts.len());
        for (at, artefact) in artefacts.iter().enumerate() {
            climbs.push(self.climb(artefact, at < SHOWN, &mut past).await?);
        }
        let running: HashSet<&Sha> = climbs.iter().flat_map(Climb::raw).collect();
        past.restored = self.store.restored_by(&repository, &running.into_iter().collect::<Vec<_>>()).await?;
        for here in climbs.iter_mut().flat_map(|climb| &mut climb.rungs) {
            here.code = here.raw.as_ref().map(|raw| past.code(here.moves.as_ref(), raw));
            if let Some(restored) = self.restored_below(&repository, &sha, here).await? {
                here.code = Some(restored);
            }
        }
        let known = self.kept_commit(&repository, &sha, &climbs, &past).await?;
        let mut asking = Asking { repository: &repository, sha: &sha, known, untold: HashMap::new(), away: None };
        for climb in climbs.iter().take(SHOWN) {
            asking.settle(self, climb).await;
        }
        let only_moves = commit.as_ref().is_some_and(|commit| commit.only_moves);
        let shown = climbs.iter().take(SHOWN).map(|climb| self.places(climb, &asking, &past, only_moves)).collect();
        let tally = (climbs.len() > SHOWN).then(|| tally(&climbs, &sha, &asking.known, self));
        Ok(CommitLocations { repository, sha, commit, artefacts: shown, tally })
    }

    /// A hotfix upon a rollback has what was taken back in its history, and its code is what was restored, save what came
    /// with the hotfix itself.
    async fn restored_below(
        &self,
        repository: &Repository,
        sha: &Sha,
        here: &Here<'_>,
    ) -> Result<Option<Sha>, CannotAsk> {
        let (Some(_), Some(raw), Some(back)) = (&here.moves, &here.raw, &here.back) else { return Ok(None) };
        let (Some(result), Some(restored)) = (&back.result, &back.restored) else { return Ok(None) };
        if raw == result {
            return Ok(None);
        }
        let upon = self.comparison(repository, result, raw).await?;
        Ok(upon.filter(|upon| upon.behind_by == 0 && !upon.has_commit(sha)).map(|_| restored.clone()))
    }

    /// What one artefact runs on each rung, and how that came, as far as memory and the store know.
    async fn climb<'a>(&'a self, artefact: &'a Artefact, shown: bool, past: &mut Past) -> Result<Climb<'a>, CannotAsk> {
        let mut rungs = Vec::new();
        for environment in self.config.catalogue.ladder.environments() {
            let Some(place) = artefact.places.get(&environment.name) else { continue };
            let moves = moves(artefact, environment);
            let by_branch = artefact.delivery == Delivery::Branch;
            // By branch all artefacts of the repository share what happened.
            if (by_branch || shown) && !past.changes.contains_key(moves.as_str()) {
                let changes = self.store.changes_of(&moves, CHANGES).await?;
                past.codes.insert(moves.as_str().to_owned(), SourceMap::from_changes(&changes, &artefact.name));
                past.changes.insert(moves.as_str().to_owned(), changes);
            }
            let sighting = self.seen.sighting(&artefact.name, &environment.name);
            let stays = past.stays.remove(&(artefact.name.clone(), environment.name.clone())).unwrap_or_default();
            rungs.push(Here {
                environment,
                rollout: self.view.rollout(place, &artefact.image),
                raw: sighting.as_ref().and_then(|sighting| sighting.version.commit.clone()),
                code: None,
                sighting,
                stays,
                back: past.taken_back(artefact, &moves),
                moves: by_branch.then_some(moves),
            });
        }
        Ok(Climb { artefact, rungs })
    }

    /// All that follows from what is kept.
    async fn kept_commit(
        &self,
        repository: &Repository,
        sha: &Sha,
        climbs: &[Climb<'_>],
        past: &Past,
    ) -> Result<Containment, CannotAsk> {
        let mut commits: HashSet<Sha> = HashSet::from([sha.clone()]);
        for here in climbs.iter().flat_map(|climb| &climb.rungs) {
            commits.extend(here.code.iter().chain(&here.raw).cloned());
            commits.extend(here.back.as_ref().and_then(|back| back.from.clone()));
            let ran = here.stays.iter().filter_map(|stay| stay.version.commit.as_ref());
            commits.extend(ran.map(|commit| past.code(here.moves.as_ref(), commit)));
        }
        commits.extend(self.changes.all().iter().filter_map(|change| change.plan.pinned.clone()));
        let pairs = self.store.pairs(repository, sha, &commits.iter().collect::<Vec<_>>()).await?;
        Ok(Containment::from_pairs(sha, &pairs))
    }

    fn places(&self, climb: &Climb<'_>, asking: &Asking<'_>, past: &Past, only_moves: bool) -> ArtefactLocations {
        let rungs: Vec<EnvironmentPresence> = climb.rungs.iter().map(|here| here.rung(asking, past)).collect();
        let next =
            find_next_environment(&rungs).filter(|next| !(only_moves && matches!(next, NextEnvironment::Backward(_))));
        let waits = next.and_then(|next| self.waits_for(climb.artefact, &rungs, next, &asking.known));
        ArtefactLocations { artefact: climb.artefact.name.clone(), environments: rungs, prerequisite: waits }
    }

    /// What has to happen before the next rung has it. All that a promotion there would be refused for belongs here.
    fn waits_for(
        &self,
        artefact: &Artefact,
        rungs: &[EnvironmentPresence],
        next: NextEnvironment,
        known: &Containment,
    ) -> Option<(EnvironmentName, Prerequisite)> {
        let ladder = &self.config.catalogue.ladder;
        let (NextEnvironment::Upward(at) | NextEnvironment::Backward(at)) = next;
        let rung = rungs.get(at)?;
        let environment = ladder.find(rung.environment.as_str())?;
        let branch = environment.branch.clone();
        let waits = match (next, ladder.find_next_below(&environment.name, artefact)) {
            (NextEnvironment::Backward(_), _) if artefact.delivery == Delivery::Branch => {
                Prerequisite::BackMerge { branch }
            }
            (NextEnvironment::Backward(_), _) => return None,
            (NextEnvironment::Upward(_), None) => Prerequisite::Push { branch },
            (NextEnvironment::Upward(_), Some(below)) => {
                if let Some(under_way) = self.bringing(artefact, environment, known) {
                    under_way
                } else if matches!(&rung.presence, CommitPresence::Absent { removal: Some(_) }) {
                    Prerequisite::Repair { below: below.name.clone() }
                } else {
                    let trouble = rungs.iter().find(|other| other.environment == below.name).and_then(trouble_of);
                    Prerequisite::Promotion { below: below.name.clone(), problem: trouble }
                }
            }
        };
        Some((environment.name.clone(), waits))
    }

    /// A promotion to there that is under way or did not come to its end, unless it is known to bring something else.
    fn bringing(&self, artefact: &Artefact, environment: &Environment, known: &Containment) -> Option<Prerequisite> {
        let concerns = |change: &Change| {
            let plan = &change.plan;
            plan.environment == environment.name
                && plan.rollback.is_none()
                && (change.stage.is_active() || change.stage.is_watched())
                && (plan.artefact == artefact.name || plan.also.iter().any(|also| also.artefact == artefact.name))
        };
        self.changes.all().iter().rev().filter(|change| concerns(change)).find_map(|change| {
            let brings = change.plan.pinned.as_ref().and_then(|pinned| known.is_contained_in(pinned));
            let waits = Prerequisite::Change {
                id: change.id,
                stage_text: change.stage.display_name(),
                contains_commit: brings,
            };
            (brings != Some(false)).then_some(waits)
        })
    }
}

/// What moves where the artefact goes to that environment.
fn moves(artefact: &Artefact, environment: &Environment) -> ChangeLockKey {
    match &artefact.delivery {
        Delivery::Branch => ChangeLockKey::from_branch(&artefact.repository, &environment.branch),
        Delivery::Manifest { repository, file, branch, .. } => {
            let file = file.replace("{environment}", environment.name.as_str());
            let at = ManifestFile { repository: repository.clone(), branch: branch.clone().unwrap_or_default(), file };
            ChangeLockKey::from_write_target(&artefact.repository, &environment.branch, Some(&at))
        }
    }
}

fn trouble_of(rung: &EnvironmentPresence) -> Option<String> {
    match &rung.presence {
        CommitPresence::Present { problem: trouble, .. } => trouble.clone(),
        CommitPresence::RollingOut { .. } => Some("it is still rolling out there".to_owned()),
        CommitPresence::Absent { .. } | CommitPresence::NoWorkload | CommitPresence::Unknown { .. } => None,
    }
}

/// What happened where something moves, read once for all that move together.
#[derive(Default)]
struct Past {
    /// Of those that are shown, newest first.
    stays: HashMap<(ArtefactName, EnvironmentName), Vec<Sighting>>,
    changes: HashMap<String, Vec<Change>>,
    codes: HashMap<String, SourceMap>,
    /// What commits restored by their own word, also where the ledger knows nothing of them.
    restored: HashMap<Sha, Sha>,
}

/// The rollback that was the last to move something.
struct Back {
    /// The commit that it made, and the one whose code that is.
    result: Option<Sha>,
    restored: Option<Sha>,
    from: Option<Sha>,
    told: CodeRemoval,
}

impl Past {
    /// The commit whose code it is: a rollback's is what it restored. By manifest the old image itself came back.
    fn code(&self, moves: Option<&ChangeLockKey>, commit: &Sha) -> Sha {
        let Some(codes) = moves.and_then(|moves| self.codes.get(moves.as_str())) else { return commit.clone() };
        let mut code = commit.clone();
        // Rollbacks to what rollbacks restored make a chain; nobody makes a long one.
        for _ in 0..8 {
            let version = Version { commit: Some(code.clone()), ..Version::default() };
            let original = codes.resolve_restored(&version).commit.unwrap_or_else(|| code.clone());
            let restored = self.restored.get(&original).cloned().unwrap_or(original);
            if restored == code {
                break;
            }
            code = restored;
        }
        code
    }

    fn taken_back(&self, artefact: &Artefact, moves: &ChangeLockKey) -> Option<Back> {
        let changes = self.changes.get(moves.as_str())?;
        // Another artefact in the same file is none of this one's past.
        let own = |change: &&Change| artefact.delivery == Delivery::Branch || change.plan.artefact == artefact.name;
        let last = changes.iter().filter(own).find(|change| change.stage.result_commit().is_some())?;
        let rollback = last.plan.rollback.as_ref()?;
        Some(Back {
            result: last.stage.result_commit().cloned(),
            restored: last.plan.version.commit.clone(),
            from: last.plan.from.as_ref().and_then(|from| from.commit.clone()),
            told: CodeRemoval {
                by: Some(last.requester.clone()).filter(|_| !rollback.automatic),
                at: Some(last.stage.deploying().map_or(last.asked_at, |deploying| deploying.merged_at)),
                reason: rollback.reason.clone(),
            },
        })
    }
}

struct Climb<'a> {
    artefact: &'a Artefact,
    rungs: Vec<Here<'a>>,
}

impl Climb<'_> {
    fn raw(&self) -> impl Iterator<Item = &Sha> {
        self.rungs.iter().filter_map(|here| here.raw.as_ref())
    }
}

/// What stands on one rung.
struct Here<'a> {
    environment: &'a Environment,
    rollout: Rollout,
    sighting: Option<Sighting>,
    /// Newest first.
    stays: Vec<Sighting>,
    /// The commit that the image was built from, and the one whose code that is.
    raw: Option<Sha>,
    code: Option<Sha>,
    back: Option<Back>,
    /// By branch only.
    moves: Option<ChangeLockKey>,
}

impl Here<'_> {
    fn rung(&self, asking: &Asking<'_>, past: &Past) -> EnvironmentPresence {
        let unreadable = match &self.rollout.state {
            RolloutState::Unreadable { why, .. } => Some(why.to_string()),
            _ => None,
        };
        EnvironmentPresence {
            environment: self.environment.name.clone(),
            presence: self.standing(asking, past),
            unreadable,
        }
    }

    fn standing(&self, asking: &Asking<'_>, past: &Past) -> CommitPresence {
        let unknown = |why: &str| CommitPresence::Unknown { why: why.to_owned() };
        if self.rollout.state == RolloutState::Missing {
            return CommitPresence::NoWorkload;
        }
        let (Some(sighting), known) = (&self.sighting, &asking.known) else {
            return unknown("I have not seen yet what runs there");
        };
        let (Some(raw), Some(code)) = (&self.raw, &self.code) else {
            return CommitPresence::Unknown {
                why: format!("nothing tells which commit {} is of", sighting.version.label()),
            };
        };
        match contains(asking.sha, known, raw, code) {
            None => CommitPresence::Unknown { why: asking.why(code) },
            Some(true) => self.runs(sighting, asking, past),
            Some(false) => {
                let ran = |commit: &Sha| known.is_contained_in(commit) == Some(true);
                let by_us = self.back.as_ref().filter(|back| ran(raw) || back.from.as_ref().is_some_and(ran));
                let by_another = (raw != code && ran(raw)).then(CodeRemoval::default);
                CommitPresence::Absent { removal: by_us.map(|back| back.told.clone()).or(by_another) }
            }
        }
    }

    fn runs(&self, sighting: &Sighting, asking: &Asking<'_>, past: &Past) -> CommitPresence {
        let had_it = |stay: &&Sighting| {
            let Some(raw) = &stay.version.commit else { return false };
            contains(asking.sha, &asking.known, raw, &past.code(self.moves.as_ref(), raw)) == Some(true)
        };
        // The stay of now may have learned its commit only in memory.
        let earlier = self.stays.iter().filter(|stay| stay.seen_at < sighting.seen_at).take_while(had_it);
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

/// Whether what was built from `raw`, whose code is that of another, has the one that is sought. It has itself in any case.
fn contains(sought: &Sha, known: &Containment, raw: &Sha, code: &Sha) -> Option<bool> {
    if raw == sought { Some(true) } else { known.is_contained_in(code) }
}

/// One question at a time, as each answer may decide more than what was asked.
struct Asking<'a> {
    repository: &'a Repository,
    sha: &'a Sha,
    known: Containment,
    /// What GitHub cannot compare.
    untold: HashMap<Sha, String>,
    /// Why GitHub cannot be asked now.
    away: Option<String>,
}

impl Asking<'_> {
    async fn settle(&mut self, bot: &Bot, climb: &Climb<'_>) {
        loop {
            let open = |commit: &&Sha| !self.untold.contains_key(*commit);
            let of_itself = |here: &&Here<'_>| here.raw.as_ref() != Some(self.sha);
            let codes = climb.rungs.iter().filter(of_itself).filter_map(|here| here.code.as_ref());
            let ladder: Vec<&Sha> = codes.filter(open).collect();
            let Some(commit) = self.known.choose_next_commit(&ladder) else { break };
            if !self.ask(bot, commit).await {
                return;
            }
        }
        // Where code was taken back, it matters whether it had been there.
        for here in &climb.rungs {
            if let (Some(raw), Some(code)) = (&here.raw, &here.code)
                && raw != code
                && self.known.is_contained_in(code) == Some(false)
                && self.known.is_contained_in(raw).is_none()
                && !self.untold.contains_key(raw)
                && !self.ask(bot, raw).await
            {
                return;
            }
        }
    }

    /// `false`: there is nobody to ask.
    async fn ask(&mut self, bot: &Bot, commit: &Sha) -> bool {
        if self.away.is_some() {
            return false;
        }
        match bot.comparison(self.repository, self.sha, commit).await {
            Ok(Some(compared)) => self.known.record_answer(commit, compared.behind_by == 0),
            Ok(None) => {
                let why = format!("GitHub cannot compare it with {}, which runs there", commit.short());
                self.untold.insert(commit.clone(), why);
            }
            Err(error) => self.away = Some(error.to_string()),
        }
        self.away.is_none()
    }

    fn why(&self, commit: &Sha) -> String {
        let known = self.untold.get(commit).or(self.away.as_ref());
        known.cloned().unwrap_or_else(|| format!("it was not compared with {} yet", commit.short()))
    }
}

/// How many have it on each rung, by what is kept.
fn tally(climbs: &[Climb<'_>], sha: &Sha, known: &Containment, bot: &Bot) -> Tally {
    let rungs = bot.config.catalogue.ladder.environments().iter().filter_map(|rung| {
        let here: Vec<&Here<'_>> =
            climbs.iter().flat_map(|climb| &climb.rungs).filter(|here| here.environment.name == rung.name).collect();
        let has = |here: &&&Here<'_>| match (&here.raw, &here.code) {
            (Some(raw), Some(code)) => contains(sha, known, raw, code) == Some(true),
            _ => false,
        };
        let having = here.iter().filter(has).count();
        (!here.is_empty()).then(|| (rung.name.clone(), having, here.len()))
    });
    Tally { artefacts: climbs.len(), environments: rungs.collect() }
}
