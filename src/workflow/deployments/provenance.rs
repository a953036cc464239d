//! Finds out whether Git explains what runs, and marks what it does not.

use jiff::SignedDuration;

use crate::domain::change::plan::ManifestFile;
use crate::domain::git::manifest;
use crate::domain::model::artefact::{Artefact, Delivery};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::provenance::Provenance;
use crate::domain::runtime::sighting::Sighting;

use crate::workflow::context::Context;
use crate::workflow::error::LookupError;
use crate::workflow::error::PlanError;

/// A little less than the time between two looks: a branch that caught up takes the mark away at the next.
const MARKED_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(50);
/// A manifest that cannot be read does not become readable by asking.
const UNKNOWN_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// How long Git's explanation holds before it is asked for again.
const EXPLAINED_RECHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(30);
/// So long what a file named before may arrive after what it names now.
const OVERTAKEN_WINDOW: SignedDuration = SignedDuration::from_mins(30);
/// So many are asked about in one look: the others come with the next.
const MAX_LOOKUPS_PER_PASS: usize = 50;
/// The mark is a courtesy: so many of the hour's questions are left to what people ask for.
const RESERVED_RATE_LIMIT: u64 = 1000;
/// So long a message says what is true by now; later nobody reads it.
const MARK_UPDATE_WINDOW: SignedDuration = SignedDuration::from_hours(24);

impl Context {
    pub(crate) async fn resolve_origin(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
    ) -> Result<Provenance, LookupError> {
        let version = &sighting.version;
        match (&artefact.delivery, &version.commit) {
            (Delivery::Branch, Some(commit)) => {
                self.resolve_origin_by_branch(artefact, environment, version, commit).await
            }
            (Delivery::Branch, None) => Ok(Provenance::Unknown),
            (Delivery::Manifest { .. }, _) => self.resolve_origin_by_manifest(artefact, environment, sighting).await,
        }
    }

    async fn resolve_origin_by_branch(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        version: &Version,
        commit: &Sha,
    ) -> Result<Provenance, LookupError> {
        let branch = &environment.branch;
        let Some(contained) = self.check_branch_contains(&artefact.repository, branch, commit).await? else {
            return Ok(Provenance::Unknown);
        };
        // A branch keeps in its past what a rollback took away. Of environments above, their own branch tells.
        let quarantines = if contained { self.store.list_quarantines().await? } else { Vec::new() };
        let rolled_back = quarantines.iter().any(|it| {
            it.environment == environment.name && it.has_artefact(&artefact.name) && it.has_version(version, None)
        });
        Ok(Provenance::from_branch(branch, commit, contained, rolled_back))
    }

    async fn resolve_origin_by_manifest(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
    ) -> Result<Provenance, LookupError> {
        let version = &sighting.version;
        let read = async {
            let Some(at) = self.resolve_manifest_file(artefact, environment).await? else { return Ok(None) };
            let says = self.read_manifest_version(artefact, &at).await?;
            let origin = Provenance::from_manifest(&at.file, &says, version);
            // Who pushes twice sees the first arrive while the file names the second.
            let fresh = self.clock.now().duration_since(sighting.seen_at) < OVERTAKEN_WINDOW;
            if fresh && origin.is_not_from_git() && self.is_previous_manifest_version(artefact, &at, version).await? {
                return Ok(None);
            }
            Ok(Some(origin))
        };
        match read.await {
            Ok(Some(origin)) => Ok(origin),
            Ok(None) | Err(PlanError::Refused(_)) => Ok(Provenance::Unknown),
            Err(PlanError::Lookup(error)) => Err(error),
        }
    }

    /// Did the file name it right before what it names now?
    async fn is_previous_manifest_version(
        &self,
        artefact: &Artefact,
        at: &ManifestFile,
        version: &Version,
    ) -> Result<bool, LookupError> {
        let Delivery::Manifest { path, pin, .. } = &artefact.delivery else { return Ok(false) };
        let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
        let history = self.github.fetch_file_history(&at.repository, &at.branch, &at.file, 2).await?;
        let Some(before) = history.get(1) else { return Ok(false) };
        let text = self.github.fetch_file(&at.repository, before.sha.as_str(), &at.file).await?;
        let said = text.and_then(|text| manifest::read_version(&text, &place).ok());
        Ok(said.is_some_and(|said| said.version.is_same_image(version)))
    }

    /// What could not be found out while it was told is asked for at the next look.
    pub(crate) fn remember_origin(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        origin: Provenance,
    ) {
        if origin != Provenance::Unknown {
            self.sightings.set_provenance(
                &artefact.name,
                &environment.name,
                &sighting.version,
                origin,
                self.clock.now(),
            );
        }
    }

    /// Marks what Git does not explain, everywhere.
    pub(crate) async fn refresh_origins(&self) {
        let (mut failures, mut asked) = (0, 0);
        for artefact in &self.config.catalogue.artefacts {
            for environment in self.config.catalogue.ladder.environments() {
                match self.refresh_origin(artefact, environment).await {
                    Ok(false) => {}
                    Ok(true) => (failures, asked) = (0, asked + 1),
                    Err(error) if error.transient => {
                        tracing::debug!(%error, artefact = %artefact.name, "what Git explains cannot be asked for now");
                        failures += 1;
                    }
                    Err(error) => {
                        tracing::debug!(%error, artefact = %artefact.name, "what Git explains is not told to us");
                        self.sightings.postpone_provenance_check(&artefact.name, &environment.name, self.clock.now());
                    }
                }
                // Whoever was away three times would not answer for the next either, and who asked much lets others ask:
                // the next look goes on.
                if failures == 3 || asked == MAX_LOOKUPS_PER_PASS {
                    return;
                }
            }
        }
    }

    /// Marks what runs there, or takes the mark away, also from the message that told of it. `false`: nobody was asked.
    async fn refresh_origin(&self, artefact: &Artefact, environment: &Environment) -> Result<bool, LookupError> {
        let entry = self.sightings.read_artefact(&artefact.name, |seen| seen.find_in(&environment.name).cloned());
        let Some(entry) = entry else { return Ok(false) };
        let now = self.clock.now();
        let rests = |pause| entry.provenance_checked_at.is_some_and(|asked| now.duration_since(asked) < pause);
        let settled = match &entry.provenance {
            // What a branch has had it keeps; a file, or a rollback, may take it away.
            Provenance::Git => rests(EXPLAINED_RECHECK_INTERVAL),
            Provenance::NotFromGit { .. } => rests(MARKED_RECHECK_INTERVAL),
            Provenance::Unknown => rests(UNKNOWN_RECHECK_INTERVAL),
        };
        let version = &entry.sighting.version;
        let untold = artefact.delivery == Delivery::Branch && version.commit.is_none();
        let scarce = self.github.rate_limit_state().is_some_and(|left| left.remaining < RESERVED_RATE_LIMIT);
        // While a change of ours is on its way, Git is ahead of what runs, and that is as it should be.
        let changing = || self.open_changes.active_change_deploying_to(&artefact.name, &environment.name).is_some();
        if settled || untold || scarce || changing() {
            return Ok(false);
        }
        let origin = self.resolve_origin(artefact, environment, &entry.sighting).await?;
        let turned = origin.is_not_from_git() != entry.provenance.is_not_from_git();
        self.sightings.set_provenance(&artefact.name, &environment.name, version, origin, now);
        if !turned {
            return Ok(true);
        }
        let sighting = &entry.sighting;
        let Some(posted) = self.find_posted_arrival(artefact, environment, sighting, MARK_UPDATE_WINDOW).await? else {
            return Ok(true);
        };
        let _alone = self.sightings.lock_for_write().await;
        let there = self.sightings.find_sighting(&artefact.name, &environment.name);
        let Some(there) = there.filter(|there| there.seen_at == sighting.seen_at) else { return Ok(true) };
        let transaction = self.update_posted_arrival(artefact, environment, &there, posted);
        if let Err(error) = self.store.commit(transaction).await {
            tracing::warn!(%error, "a message could not be completed");
        }
        Ok(true)
    }
}
