//! Resolves the code that runs in an environment: the version of the image, the restored version, and the source.

use crate::domain::change::{Change, ChangeLockKey};
use crate::domain::model::artefact::{Artefact, Delivery};
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Sha, Version};
use crate::domain::rules::rollback::SourceMap;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

/// How many changes of a branch are searched for the origin of a version.
const MAX_SEARCHED_CHANGES: u32 = 200;

/// The code that runs in an environment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningCode {
    /// The version that the cluster runs, with the commit of its image if that is known.
    pub(crate) version: Version,
    /// After a rollback the version that was restored, otherwise the same version.
    pub(crate) restored_version: Version,
    /// The commit on the first environment's branch that the code comes from. `None`: no commit is known.
    pub(crate) source: Option<Sha>,
}

impl RunningCode {
    fn from_version(version: Version, source_map: &SourceMap) -> Self {
        let restored_version = source_map.resolve_restored(&version);
        let source = restored_version.commit.as_ref().map(|commit| source_map.resolve_source(commit));
        Self { version, restored_version, source }
    }
}

/// Resolves the code of a version that runs in an environment.
pub(crate) async fn resolve_running_code(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    version: &Version,
) -> Result<RunningCode, LookupError> {
    let commit = match &version.commit {
        Some(commit) => Some(commit.clone()),
        None => find_image_commit(ctx, artefact, environment, version).await?,
    };
    let source_map = match artefact.delivery {
        // A manifest names the image itself: a rollback restores the image, and the commit is that of its code.
        Delivery::Manifest { .. } => SourceMap::default(),
        Delivery::Branch => {
            let lock_key = ChangeLockKey::from_branch(&artefact.repository, &environment.branch);
            let changes = ctx.store.list_changes_of(&lock_key, MAX_SEARCHED_CHANGES).await?;
            Change::build_source_map(&changes, &artefact.name)
        }
    };
    Ok(RunningCode::from_version(Version { commit, ..version.clone() }, &source_map))
}

async fn find_image_commit(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
    version: &Version,
) -> Result<Option<Sha>, LookupError> {
    let found = match ctx.sightings.find_sighting(&artefact.name, &environment.name) {
        Some(sighting) if sighting.version.is_same_image(version) => {
            ctx.image_commits.resolve_sighting_commit(artefact, &sighting).await?
        }
        _ => ctx.image_commits.find_version_commit(artefact, version).await?,
    };
    Ok(found.map(|(commit, _)| commit))
}

/// Returns a transient error until the workloads were read after a start, so that the request is tried again and not
/// refused.
pub(crate) fn require_cluster_was_read(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
) -> Result<(), LookupError> {
    if artefact.places.get(&environment.name).is_some_and(|place| !ctx.cluster_view.has_been_read(place)) {
        let reason = format!("what runs in {} has not been read yet", environment.name);
        return Err(LookupError::new_transient(reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::Stage;
    use crate::domain::change::plan::{Direction, GitWrite, Plan};
    use crate::domain::sample;

    fn version(tag: &str, commit: Option<char>) -> Version {
        Version { tag: Some(tag.into()), digest: None, commit: commit.map(sample::sha) }
    }

    /// A change that made the commit `result`.
    fn merged(result: char, plan: Plan) -> Change {
        let now = sample::change().requested_at;
        let stage = Stage::new_merging().into_deploying(sample::sha(result), now, now).unwrap();
        Change { plan, stage, ..sample::change() }
    }

    fn promotion(result: char, pinned: char) -> Change {
        merged(result, Plan { write: GitWrite::Branch { pinned: sample::sha(pinned) }, ..sample::plan() })
    }

    fn rollback(result: char, restored: Version) -> Change {
        let write = GitWrite::Branch { pinned: restored.commit.clone().unwrap() };
        let direction = Direction::Rollback(sample::rollback());
        merged(result, Plan { write, version: restored, direction, ..sample::plan() })
    }

    #[test]
    fn the_source_is_found_through_promotions_and_rollbacks() {
        // `a` was promoted as `b`, and `b` as `c`; then a rollback `d` restored `c`, and a rollback `e` restored `d`.
        let c = version("1.4", Some('c'));
        let changes = [
            promotion('b', 'a'),
            promotion('c', 'b'),
            rollback('d', c.clone()),
            rollback('e', version("1.5", Some('d'))),
        ];
        let artefact = changes[0].plan.artefact.clone();
        let source_map = Change::build_source_map(&changes, &artefact);
        let cases = [
            ("a version that no change of ours made", version("1.2", Some('f')), version("1.2", Some('f')), Some('f')),
            ("the result of two promotions", c.clone(), c.clone(), Some('a')),
            ("the result of a rollback", version("1.5", Some('d')), c.clone(), Some('a')),
            ("a rollback to the result of a rollback", version("1.6", Some('e')), c.clone(), Some('a')),
            ("a version without a commit", version("1.7", None), version("1.7", None), None),
        ];
        for (name, runs, restored_version, source) in cases {
            let expected = RunningCode { version: runs.clone(), restored_version, source: source.map(sample::sha) };
            assert_eq!(RunningCode::from_version(runs, &source_map), expected, "{name}");
        }
    }
}
