//! The part of a diff that GitHub answers for branches: the commits between two environments, and whether each branch
//! is ahead of the version that runs.

use crate::domain::git::comparison::{Comparison, ListedCommit, collapse_merges};
use crate::domain::git::pending::PendingCommits;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::environment::Environment;
use crate::domain::model::version::{Commit, Sha};
use crate::domain::view::diff::{GitState, UndeployedCommits};
use crate::workflow::commands::diff::compared_environment::ComparedEnvironment;
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

/// The commits between the two environments. Also sets the Git state of both; in most cases one comparison with each
/// branch answers both questions.
pub(super) async fn compare_branches(
    ctx: &Context,
    artefact: &Artefact,
    lower: &mut ComparedEnvironment<'_>,
    upper: &mut ComparedEnvironment<'_>,
    (lower_commit, upper_commit): (&Sha, &Sha),
) -> Result<Option<PendingCommits>, LookupError> {
    let repository = &artefact.repository;
    let Some(forward) = compare_with_branch(ctx, artefact, upper_commit, lower_commit, lower).await? else {
        return Ok(None);
    };
    let backward = if forward.behind_by == 0 {
        read_branch_state(ctx, artefact, upper).await?;
        None
    } else {
        compare_with_branch(ctx, artefact, lower_commit, upper_commit, upper).await?
    };
    let pending = PendingCommits::from_comparisons(forward, backward);
    if upper.image_commit == upper.code_commit && pending.may_be_rolled_back() {
        // A hotfix on top of a rollback, or a rollback that the ledger does not have: the restored code runs.
        let open_rollbacks = ctx.github.find_open_rollbacks(repository, upper_commit).await?;
        if let Some(newest) = open_rollbacks.first()
            && let Some(since_restored) =
                ctx.comparisons.compute_pending_between(repository, &newest.restores, lower_commit).await?
        {
            let PendingCommits { ahead_by, commits, files, url, .. } = since_restored;
            return Ok(Some(PendingCommits { ahead_by, commits, files, url, ..pending }));
        }
    }
    Ok(Some(pending))
}

/// The commits of `code` that `base` does not have. Also sets the Git state of the environment.
async fn compare_with_branch(
    ctx: &Context,
    artefact: &Artefact,
    base: &Sha,
    code: &Sha,
    compared: &mut ComparedEnvironment<'_>,
) -> Result<Option<Comparison>, LookupError> {
    let repository = &artefact.repository;
    if base == code {
        read_branch_state(ctx, artefact, compared).await?;
        return Ok(Some(Comparison::with_itself(base)));
    }
    // The request is the same each time, so that GitHub can answer "not modified".
    let Some(head) = ctx.comparisons.compare_with_head(repository, base, &compared.environment.branch).await? else {
        compared.side.git = read_incomparable_branch(ctx, artefact, compared.environment).await?;
        return ctx.comparisons.compare_commits(repository, base, code).await;
    };
    let deployed_part = compared
        .image_commit
        .as_ref()
        .filter(|commit| head.has_commit(commit))
        .and_then(|commit| head.restrict_to_ancestor(commit));
    match deployed_part.filter(|_| artefact.paths.is_empty()) {
        Some(deployed) => {
            let tree = |sha: &Sha| {
                head.commits.iter().find(|listed| listed.commit.sha == *sha).and_then(|it| it.tree.as_ref())
            };
            let same_tree = tree(&head.head).is_some() && tree(&head.head) == tree(&deployed.head);
            let undeployed = if same_tree {
                UndeployedCommits::Nothing
            } else {
                count_undeployed(head.commits.iter().filter(|listed| !deployed.has_commit(&listed.commit.sha)))
            };
            let branch = compared.environment.branch.clone();
            compared.side.git = GitState::Branch { branch, head: head.head.clone(), undeployed };
        }
        None => read_branch_state(ctx, artefact, compared).await?,
    }
    if head.head == *code {
        return Ok(Some(head));
    }
    ctx.comparisons.compare_commits(repository, base, code).await
}

/// Sets the Git state: how the branch compares with the running commit.
async fn read_branch_state(
    ctx: &Context,
    artefact: &Artefact,
    compared: &mut ComparedEnvironment<'_>,
) -> Result<(), LookupError> {
    let Some(commit) = &compared.image_commit else { return Ok(()) };
    let branch = compared.environment.branch.clone();
    compared.side.git = match ctx.comparisons.compare_with_head(&artefact.repository, commit, &branch).await? {
        None => read_incomparable_branch(ctx, artefact, compared.environment).await?,
        Some(head) => {
            let has_changes = head.files.cut || head.files.changed.iter().any(|file| file.is_relevant_to(artefact));
            let undeployed = match head.behind_by {
                0 if has_changes => count_undeployed(head.commits.iter()),
                // The branch has the same code in other commits, or changes no file of the artefact.
                0 => UndeployedCommits::Nothing,
                _ => UndeployedCommits::Diverged,
            };
            GitState::Branch { branch, head: head.head, undeployed }
        }
    };
    Ok(())
}

/// The Git state of a branch that has no common ancestor with the running commit, or does not exist.
async fn read_incomparable_branch(
    ctx: &Context,
    artefact: &Artefact,
    environment: &Environment,
) -> Result<GitState, LookupError> {
    let branch = environment.branch.clone();
    Ok(match ctx.github.fetch_branch_head(&artefact.repository, &branch).await? {
        Some(head) => GitState::Branch { branch, head, undeployed: UndeployedCommits::Diverged },
        None => GitState::NoBranch { branch },
    })
}

/// The number of undeployed commits, with each merge collapsed as people count it.
fn count_undeployed<'a>(commits: impl Iterator<Item = &'a ListedCommit>) -> UndeployedCommits {
    let commits: Vec<ListedCommit> = commits.cloned().collect();
    if commits.is_empty() {
        return UndeployedCommits::Nothing;
    }
    let count: u64 = collapse_merges(&commits).iter().map(Commit::count_commits).sum();
    // Merge commits alone also lead to a new image, so they count as one.
    UndeployedCommits::Commits(count.max(1))
}
