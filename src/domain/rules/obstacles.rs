//! The obstacles of a promotion: only the first, which becomes the refusal, or all of them. Both modes run the same
//! rules, so that `promote` and `why` cannot disagree.

use super::refusal::Refusal;
use crate::domain::model::version::Version;

/// Collects obstacles in the order of the rules.
#[derive(Debug)]
pub struct Obstacles {
    collects_all: bool,
    refusals: Vec<Refusal>,
    version: Option<Version>,
}

impl Obstacles {
    /// First-only mode: the first obstacle ends the check.
    pub fn new_first_only() -> Self {
        Self { collects_all: false, refusals: Vec::new(), version: None }
    }

    /// Collects all obstacles. An obstacle after which no further check is possible is returned as an error in this
    /// mode too.
    pub fn new_collecting_all() -> Self {
        Self { collects_all: true, ..Self::new_first_only() }
    }

    /// Records an obstacle. In first-only mode it is returned as the error instead.
    pub fn record_refusal(&mut self, refusal: Refusal) -> Result<(), Refusal> {
        if !self.collects_all {
            return Err(refusal);
        }
        self.refusals.push(refusal);
        Ok(())
    }

    /// Ends the check: removes the last recorded obstacle, if any, and returns it as the error. Only `Ok` means that
    /// the promotion may proceed.
    pub fn finish_check(&mut self) -> Result<(), Refusal> {
        self.refusals.pop().map_or(Ok(()), Err)
    }

    /// Records the version to promote.
    pub fn set_version(&mut self, version: &Version) {
        self.version = Some(version.clone());
    }

    /// The version to promote, if known, and the recorded obstacles.
    pub fn into_parts(self) -> (Option<Version>, Vec<Refusal>) {
        (self.version, self.refusals)
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::domain::git::checks::CiChecks;
    use crate::domain::git::pending::PendingCommits;
    use crate::domain::model::actor::PersonId;
    use crate::domain::model::artefact::ManifestFile;
    use crate::domain::rules::facts::{CheckedCommit, GateInputs, HealthySince, PromotionFacts};
    use crate::domain::rules::freeze::FreezeWindow;
    use crate::domain::rules::promotion;
    use crate::domain::sample;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn gate_inputs() -> impl Strategy<Value = GateInputs> {
        let counts = (0..3_usize, 0..3_usize);
        let checked = (checks(), any::<bool>());
        (counts, any::<bool>(), any::<bool>(), prop::option::of(0..1_000_i64), checked).prop_map(
            |((locks, quarantines), frozen, soaks, healthy_since, (checks, checks_required))| GateInputs {
                locks: vec![sample::lock(); locks],
                quarantines: vec![sample::quarantine(); quarantines],
                freeze: frozen.then(|| FreezeWindow { from: at(0), until: at(2_000), reason: None }),
                soak: soaks.then(|| SignedDuration::from_secs(500)),
                healthy_since: healthy_since.map(|since| HealthySince { since: at(since), until: None }),
                holds: Vec::new(),
                checked_commit: Some(CheckedCommit { commit: sample::sha('a'), checks }),
                checks_required,
                now: at(1_000),
            },
        )
    }

    fn checks() -> impl Strategy<Value = CiChecks> {
        let names = || prop::collection::vec(Just("build".to_owned()), 0..2);
        (0..2_usize, names(), names()).prop_map(|(green, red, running)| CiChecks { green, red, running })
    }

    fn pending() -> impl Strategy<Value = PendingCommits> {
        let path = prop::sample::select(vec!["mailer/a.rs", "storefront/a.rs"]);
        (0..2_u64, 0..2_u64, path).prop_map(|(ahead_by, behind_by, path)| {
            let mut pending = PendingCommits { ahead_by, behind_by, ..PendingCommits::default() };
            pending.files.changed.extend(sample::files(&[path]).changed);
            pending
        })
    }

    proptest! {
        /// The first obstacle of the collecting mode is the refusal of the first-only mode.
        #[test]
        fn the_first_collected_obstacle_is_the_refusal(
            gate_inputs in gate_inputs(),
            pending in pending(),
            (by_manifest, overrides, is_permitted) in any::<(bool, bool, bool)>(),
        ) {
            let catalogue = sample::catalogue();
            let manifest = by_manifest.then(|| ManifestFile {
                repository: sample::plan().repository,
                branch: "main".to_owned(),
                file: "tag.yaml".to_owned(),
            });
            let overriding = overrides.then(|| (PersonId::new("U0BOB"), "it burns".into()));
            let facts = PromotionFacts { manifest, pending, overriding, ..sample::facts(&catalogue, gate_inputs) };
            // An obstacle that was found before the facts were gathered.
            let earlier = sample::blockers("").swap_remove(0);
            let check = |mut obstacles: Obstacles| {
                let recorded = if is_permitted { Ok(()) } else { obstacles.record_refusal(earlier.clone()) };
                let end = recorded.and_then(|()| promotion::check_promotion(&facts, &mut obstacles).map(drop));
                (end.clone().err(), [obstacles.into_parts().1, end.err().into_iter().collect()].concat())
            };
            let (refused, first_only) = check(Obstacles::new_first_only());
            let (_, all) = check(Obstacles::new_collecting_all());
            prop_assert_eq!(refused.as_ref(), all.first(), "{:?}", all);
            prop_assert_eq!(first_only.len(), all.len().min(1));
        }
    }
}
