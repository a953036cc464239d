//! Finds out whether Git explains what runs, and marks what it does not.

use jiff::SignedDuration;

use crate::domain::artefact::{Artefact, Delivery};
use crate::domain::environment::Environment;
use crate::domain::origin::Origin;
use crate::domain::sighting::Sighting;
use crate::domain::version::{Sha, Version};
use crate::store::Batch;

use super::Bot;
use super::no::No;
use super::source::CannotAsk;

/// A little less than the time between two looks: a branch that caught up takes the mark away at the next.
const MARKED: SignedDuration = SignedDuration::from_secs(50);
/// A manifest that cannot be read does not become readable by asking.
const UNKNOWN: SignedDuration = SignedDuration::from_mins(10);
/// The mark is a courtesy: so many of the hour's questions are left to what people ask for.
const LEFT_FOR_OTHERS: u64 = 1000;
/// So long a message says what is true by now; later nobody reads it.
const MARK_TOLD_WITHIN: SignedDuration = SignedDuration::from_hours(24);

impl Bot {
    pub(super) async fn origin_of(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        version: &Version,
    ) -> Result<Origin, CannotAsk> {
        match (&artefact.delivery, &version.commit) {
            (Delivery::Branch, Some(commit)) => self.origin_by_branch(artefact, environment, version, commit).await,
            (Delivery::Branch, None) => Ok(Origin::Unknown),
            (Delivery::Manifest { .. }, _) => self.origin_by_manifest(artefact, environment, version).await,
        }
    }

    async fn origin_by_branch(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        version: &Version,
        commit: &Sha,
    ) -> Result<Origin, CannotAsk> {
        let branch = &environment.branch;
        let Some(contained) = self.contains(&artefact.repository, branch, commit).await? else {
            return Ok(Origin::Unknown);
        };
        // A branch keeps in its past what a rollback took away. Of environments above, their own branch tells.
        let quarantines = if contained { self.store.quarantines().await? } else { Vec::new() };
        let rolled_back = quarantines
            .iter()
            .any(|it| it.environment == environment.name && it.concerns(&artefact.name) && it.bars(version, None));
        Ok(Origin::by_branch(branch, commit, contained, rolled_back))
    }

    async fn origin_by_manifest(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        version: &Version,
    ) -> Result<Origin, CannotAsk> {
        let read = async {
            let Some(at) = self.manifest_file(artefact, environment).await? else { return Ok(None) };
            let says = self.manifest_says(artefact, &at).await?;
            Ok(Some((at.file, says)))
        };
        match read.await {
            Ok(Some((file, says))) => Ok(Origin::by_manifest(&file, &says, version)),
            Ok(None) | Err(No::Refused(_)) => Ok(Origin::Unknown),
            Err(No::CannotAsk(error)) => Err(error),
        }
    }

    /// What could not be found out while it was told is asked for at the next look.
    pub(super) fn keep_origin(
        &self,
        artefact: &Artefact,
        environment: &Environment,
        sighting: &Sighting,
        origin: Origin,
    ) {
        if origin != Origin::Unknown {
            self.seen.explain(&artefact.name, &environment.name, &sighting.version, origin, self.clock.now());
        }
    }

    /// Marks what Git does not explain, everywhere.
    pub(super) async fn settle_origins(&self) {
        let mut failures = 0;
        for artefact in &self.config.catalogue.artefacts {
            for environment in self.config.catalogue.ladder.rungs() {
                if let Err(error) = self.settle_origin(artefact, environment).await {
                    tracing::debug!(%error, artefact = %artefact.name, "what Git explains cannot be asked for now");
                    failures += 1;
                }
                // Whoever was away three times would not answer for the next either: the next look asks again.
                if failures == 3 {
                    return;
                }
            }
        }
    }

    /// Marks what runs there, or takes the mark away, also from the message that told of it.
    async fn settle_origin(&self, artefact: &Artefact, environment: &Environment) -> Result<(), CannotAsk> {
        let entry = self.seen.with(&artefact.name, |seen| seen.of(&environment.name).cloned());
        let Some(entry) = entry else { return Ok(()) };
        let now = self.clock.now();
        let rests = |pause| entry.origin_asked.is_some_and(|asked| now.duration_since(asked) < pause);
        let settled = match &entry.origin {
            // How a branch stands to what it has had does not change.
            Origin::Git => true,
            Origin::NotFromGit { .. } => rests(MARKED),
            Origin::Unknown => rests(UNKNOWN),
        };
        let version = &entry.sighting.version;
        let untold = artefact.delivery == Delivery::Branch && version.commit.is_none();
        let scarce = self.github.rate_left().is_some_and(|left| left.requests < LEFT_FOR_OTHERS);
        // While a change of ours is on its way, Git is ahead of what runs, and that is as it should be.
        let changing = || self.changes.bringing(&artefact.name, &environment.name).is_some();
        if settled || untold || scarce || changing() {
            return Ok(());
        }
        let origin = self.origin_of(artefact, environment, version).await?;
        let turned = origin.is_not_from_git() != entry.origin.is_not_from_git();
        self.seen.explain(&artefact.name, &environment.name, version, origin, now);
        if !turned {
            return Ok(());
        }
        let sighting = &entry.sighting;
        let Some(telling) = self.telling_of(artefact, environment, sighting, MARK_TOLD_WITHIN).await? else {
            return Ok(());
        };
        let _alone = self.seen.alone().await;
        let there = self.seen.sighting(&artefact.name, &environment.name);
        let Some(there) = there.filter(|there| there.seen_at == sighting.seen_at) else { return Ok(()) };
        let messages = self.tell_again(artefact, environment, &there, telling);
        let batch = messages.into_iter().fold(Batch::new(), Batch::say);
        if let Err(error) = self.store.commit(batch).await {
            tracing::warn!(%error, "a message could not be completed");
        }
        Ok(())
    }
}
