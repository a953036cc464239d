//! Finds out where a merged change may be stuck if neither the cluster nor the controller has shown a sign of it. The
//! requests to GitHub use `ETag`s, so that an unchanged answer costs no rate limit.

use jiff::Timestamp;

use crate::adapters::github::extract_sha_candidate;
use crate::adapters::reports::github::BuildState;
use crate::domain::change::{
    BranchFinding, BuildFinding, Change, DeployState, ImageFinding, RunningInstead, Stage, StallDiagnosis,
};
use crate::domain::model::version::Image;
use crate::workflow::context::Context;
use crate::workflow::facts::rollout_check::RolloutCheck;

/// When a change without a sign of life is diagnosed.
pub(crate) fn compute_stall_time(ctx: &Context, change: &Change, deploying: &DeployState) -> Timestamp {
    let policy = ctx.config.catalogue.ladder.find_policy(&change.plan.environment).cloned().unwrap_or_default();
    deploying.merged_at + policy.stall_after
}

/// Diagnoses a merged change without a sign of life. `None`: the change is rolling out, or it is too early.
pub(crate) async fn diagnose_stall(
    ctx: &Context,
    change: &Change,
    check: &RolloutCheck,
) -> Option<Box<StallDiagnosis>> {
    let deploying = change.stage.deploying()?;
    let previous = deploying.stall_diagnosis.as_deref();
    let running_version = match check {
        // The cluster cannot be read, so the last diagnosis stays.
        RolloutCheck::Unclear(_) => return deploying.stall_diagnosis.clone(),
        RolloutCheck::NotDeployed { running_version, commit_unknown } if deploying.seen_at.is_none() => {
            running_version.clone().map(|version| RunningInstead { version, is_commit_unknown: *commit_unknown })
        }
        _ => return None,
    };
    // A change that is no longer `Deploying` keeps its last diagnosis.
    if !matches!(change.stage, Stage::Deploying(_)) {
        return deploying.stall_diagnosis.clone();
    }
    let now = ctx.clock.now();
    let message = ctx.report_history.find_last_message(&change.plan.environment, &change.plan.artefact);
    let is_reported = message.as_ref().is_some_and(|message| message.commit.as_ref() == Some(&deploying.result));
    let is_late = now >= deploying.deadline;
    // A failed build is diagnosed at once.
    let has_failed_build =
        ctx.builds.find_build(&change.plan.repository, &deploying.result).is_some_and(|build| build.has_failed());
    if !is_late && (is_reported || (now < compute_stall_time(ctx, change, deploying) && !has_failed_build)) {
        return None;
    }
    let recent = previous.filter(|previous| now.duration_since(previous.checked_at) < ctx.config.look_every / 2);
    Some(Box::new(match recent {
        Some(previous) => StallDiagnosis { last_report: message, running_instead: running_version, ..previous.clone() },
        None => StallDiagnosis {
            checked_at: now,
            branch: inspect_branch(ctx, change, deploying).await,
            build: inspect_build(ctx, change, deploying).await,
            image: inspect_image(ctx, change, deploying).await,
            last_report: message,
            running_instead: running_version,
        },
    }))
}

/// The time at which CI finished the build of the result, if a webhook reported it. With delivery by manifest there is
/// no build.
pub(crate) fn find_build_time(ctx: &Context, change: &Change, deploying: &DeployState) -> Option<Timestamp> {
    let plan = &change.plan;
    let build =
        ctx.builds.find_build(&plan.repository, &deploying.result).filter(|_| plan.manifest_file().is_none())?;
    let finished_at = build.at.filter(|_| build.state == BuildState::Succeeded)?;
    Some(finished_at.clamp(deploying.merged_at, ctx.clock.now().max(deploying.merged_at)))
}

async fn inspect_branch(ctx: &Context, change: &Change, deploying: &DeployState) -> BranchFinding {
    let (repository, branch) = change.plan.write_target();
    match ctx.github.fetch_branch_head(repository, branch).await {
        Ok(Some(head)) if head == deploying.result => BranchFinding::AsMerged,
        Ok(Some(to)) => BranchFinding::MovedOn { to },
        Ok(None) => BranchFinding::Gone,
        Err(error) => BranchFinding::Unread { why: error.to_string() },
    }
}

/// The state of the build of the result, from the webhook of its workflow, else from the commit's checks.
async fn inspect_build(ctx: &Context, change: &Change, deploying: &DeployState) -> BuildFinding {
    let plan = &change.plan;
    if plan.manifest_file().is_some() {
        return BuildFinding::NotNeeded;
    }
    // If a webhook reported a build that failed or is not finished, that decides. Otherwise the checks of all workflows
    // decide.
    if let Some(build) = ctx.builds.find_build(&plan.repository, &deploying.result) {
        match build.state {
            BuildState::Failed { .. } => {
                return BuildFinding::Failed { names: vec![build.name], url: Some(build.url) };
            }
            BuildState::Queued | BuildState::Running => return BuildFinding::Running { names: vec![build.name] },
            BuildState::Succeeded => {}
        }
    }
    match ctx.github.fetch_checks(&plan.repository, &deploying.result).await {
        Err(error) => BuildFinding::Unread { reason: error.to_string() },
        Ok(checks) if !checks.red.is_empty() => {
            let url = plan.repository_url().map(|page| format!("{page}/commit/{}/checks", deploying.result));
            BuildFinding::Failed { names: checks.red, url }
        }
        Ok(checks) if !checks.running.is_empty() => BuildFinding::Running { names: checks.running },
        Ok(checks) if checks.green == 0 => BuildFinding::NotBegun,
        Ok(_) => BuildFinding::Done,
    }
}

/// Whether the registry has the image of the result. With delivery by branch, only tags that name a commit can show it.
async fn inspect_image(ctx: &Context, change: &Change, deploying: &DeployState) -> ImageFinding {
    let plan = &change.plan;
    let Some(artefact) = ctx.config.catalogue.find_artefact(plan.artefact.as_str()) else {
        return ImageFinding::Unrecognisable;
    };
    let label = plan.version.label();
    if plan.manifest_file().is_some() {
        let (tag, digest) = (plan.version.tag.clone(), plan.version.digest.clone());
        return match ctx.registry.fetch_digest(&Image { name: artefact.image.clone(), tag, digest }).await {
            Ok(Some(_)) => ImageFinding::Present { tag: label.to_owned() },
            Ok(None) => ImageFinding::Missing { name: label.to_owned() },
            Err(error) => ImageFinding::Unread { reason: error.to_string() },
        };
    }
    if plan.version.tag.as_deref().and_then(extract_sha_candidate).is_none() {
        return ImageFinding::Unrecognisable;
    }
    let result = &deploying.result;
    let names_result =
        |tag: &String| extract_sha_candidate(tag).is_some_and(|prefix| result.as_str().starts_with(prefix));
    match ctx.registry.list_tags(&artefact.image).await {
        Ok(tags) => match tags.into_iter().find(names_result) {
            Some(tag) => ImageFinding::Present { tag },
            None => ImageFinding::Missing { name: result.short().to_owned() },
        },
        Err(error) => ImageFinding::Unread { reason: error.to_string() },
    }
}
