//! `diff`: the differences between two environments. The running versions come from the cluster, the specified versions
//! and the commits in between from Git.

mod branches;
mod compared_environment;

use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::adapters::github::{FetchResult, PatchedFile};
use crate::adapters::slack::render::commit_summary::Authors;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::{Rendered, diff as render};
use crate::domain::git::text_diff::{LineDiff, OmissionReason};
use crate::domain::model::artefact::{Artefact, ArtefactName, Delivery, Repository};
use crate::domain::model::environment::{Environment, EnvironmentName};
use crate::domain::model::version::Sha;
use crate::domain::view::diff::{self, Diff, DiffResult, ManifestDiff};
use crate::workflow::commands::diff::branches::compare_branches;
use crate::workflow::commands::diff::compared_environment::{
    ComparedEnvironment, build_side, find_missing_side, gather_environment_facts, read_manifest_state,
};
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::facts::table_support::TableSupport;
use crate::workflow::requests::reply::{Request, Response};

/// How many artefacts are compared at once. GitHub's client has limits of its own.
const MAX_PARALLEL_DIFFS: usize = 8;

/// After this time the first results are shown; the others follow.
const FIRST_RESULTS_DELAY: Duration = Duration::from_millis(1500);
/// How often a message that can be edited gets the new results.
const UPDATE_INTERVAL: Duration = Duration::from_secs(3);

/// The arguments of the command.
pub(crate) struct DiffRequest {
    pub(crate) source: EnvironmentName,
    pub(crate) target: EnvironmentName,
    pub(crate) artefact: Option<ArtefactName>,
    pub(crate) includes_code: bool,
}

pub(crate) async fn answer_diff(
    ctx: &Context,
    request: Request<'_>,
    arguments: DiffRequest,
    is_public: bool,
) -> Result<Response, RetryLater> {
    let catalogue = &ctx.config.catalogue;
    let find_environment = |name: &EnvironmentName| catalogue.ladder.find(name.as_str());
    let (Some(source), Some(target)) = (find_environment(&arguments.source), find_environment(&arguments.target))
    else {
        return Ok(Response::default());
    };
    if source.name == target.name {
        return Ok(request.reply_private(render::render_same_environment(&source.name)));
    }
    let Some(artefact) = arguments.artefact.as_ref().and_then(|name| catalogue.find_artefact(name.as_str())) else {
        return diff_all_artefacts(ctx, request, source, target, is_public).await;
    };
    let diff = match diff_artefact(ctx, artefact, source, target).await {
        Ok(diff) => diff,
        Err(error) => return request.reply_lookup_error(&error),
    };
    let code = match &diff.compared_commits {
        Some((upper, lower)) if arguments.includes_code && matches!(diff.result, DiffResult::Different { .. }) => {
            match fetch_code_diff(ctx, artefact, upper, lower).await {
                Ok(code) => Some(code),
                Err(error) => return request.reply_lookup_error(&error),
            }
        }
        _ => None,
    };
    let authors = if is_public { Authors::new() } else { find_known_authors(ctx, &diff, &artefact.repository) };
    let render::RenderedDiff { rendered, is_truncated } =
        render::render_artefact_diff(&diff, code.as_deref(), &catalogue.ladder, &authors, ctx.clock.now());
    let mut response = if is_public { request.reply_public(rendered) } else { request.reply_private(rendered) };
    if is_truncated {
        let texts = code.as_deref().unwrap_or_default().iter().chain(&diff.manifest_diff);
        response.transaction = response.transaction.enqueue_message(request.attach_file(
            render::render_file_comment(&diff),
            render::build_diff_file(&diff, texts),
            is_public,
        ));
    }
    Ok(response)
}

/// The line diffs of the changed files that belong to the artefact.
async fn fetch_code_diff(
    ctx: &Context,
    artefact: &Artefact,
    upper: &Sha,
    lower: &Sha,
) -> Result<Vec<ManifestDiff>, LookupError> {
    let patches = match ctx.github.fetch_patches(&artefact.repository, upper, lower).await? {
        FetchResult::Found(patches) => patches,
        FetchResult::Missing(reason) => return Err(LookupError::new_permanent(reason)),
    };
    let relevant = patches.into_iter().filter(|patched| patched.file.is_relevant_to(artefact)).map(
        |PatchedFile { file, patch }| {
            // GitHub omits the patches of long, moved and binary files. Only a long file has changed lines.
            let is_long = file.additions + file.deletions > 0;
            let reason = if is_long { OmissionReason::TooLong } else { OmissionReason::Binary };
            let omitted_diff = || LineDiff { omitted: Some(reason), ..LineDiff::default() };
            ManifestDiff {
                difference: patch.as_deref().map_or_else(omitted_diff, LineDiff::from_patch),
                file: file.path,
            }
        },
    );
    Ok(relevant.collect())
}

/// The diffs of all artefacts that are in either environment. The answer shows the early results, and is then
/// completed.
async fn diff_all_artefacts(
    ctx: &Context,
    request: Request<'_>,
    source: &Environment,
    target: &Environment,
    is_public: bool,
) -> Result<Response, RetryLater> {
    let artefacts = list_artefacts_in_either(ctx, source, target);
    let (count, viewer) =
        (artefacts.len(), if is_public { Viewer::Channel { shared_by: None } } else { Viewer::Person });
    let build_response = |diffs: &[Diff]| {
        let rendered = render_all_diffs(ctx, diffs.to_vec(), count, (source, target), 0, viewer);
        if is_public { request.reply_public(rendered) } else { request.reply_private(rendered) }
    };
    let mut diffs: Vec<Diff> = Vec::with_capacity(count);
    let mut stream = std::pin::pin!(stream_diffs(ctx, artefacts, source, target));
    let mut show_at = Some(Instant::now() + FIRST_RESULTS_DELAY);
    loop {
        let next = match show_at {
            Some(deadline) => timeout_at(deadline, stream.next()).await,
            None => Ok(stream.next().await),
        };
        match next {
            Ok(Some(diff)) => diffs.push(diff),
            Ok(None) => return Ok(build_response(&diffs)),
            Err(_) => {
                ctx.store
                    .commit(build_response(&diffs).transaction)
                    .await
                    .map_err(|error| RetryLater::from_store_error(&error))?;
                // A private answer to a command cannot be edited, so early results are sent only once.
                show_at = is_public.then(|| Instant::now() + UPDATE_INTERVAL);
            }
        }
    }
}

/// Another page of the diffs. Most comparisons are cached by now.
pub(crate) async fn render_diff_page(
    ctx: &Context,
    source: &EnvironmentName,
    target: &EnvironmentName,
    page: usize,
    viewer: Viewer<'_>,
) -> Option<Rendered> {
    let find_environment = |name: &EnvironmentName| ctx.config.catalogue.ladder.find(name.as_str());
    let (source, target) = (find_environment(source)?, find_environment(target)?);
    let artefacts = list_artefacts_in_either(ctx, source, target);
    let count = artefacts.len();
    let diffs: Vec<Diff> = stream_diffs(ctx, artefacts, source, target).collect().await;
    Some(render_all_diffs(ctx, diffs, count, (source, target), page, viewer))
}

fn list_artefacts_in_either<'a>(ctx: &'a Context, source: &Environment, target: &Environment) -> Vec<&'a Artefact> {
    let is_in_either =
        |it: &&Artefact| [source, target].iter().any(|environment| it.places.contains_key(&environment.name));
    ctx.config.catalogue.artefacts.iter().filter(is_in_either).collect()
}

fn render_all_diffs(
    ctx: &Context,
    mut diffs: Vec<Diff>,
    count: usize,
    (source, target): (&Environment, &Environment),
    page: usize,
    viewer: Viewer<'_>,
) -> Rendered {
    let catalogue = &ctx.config.catalogue;
    diffs.sort_by_key(|diff| catalogue.artefacts.iter().position(|artefact| artefact.name == diff.artefact));
    let pair = (&source.name, &target.name);
    let rendered = render::render_all_diffs(&diffs, count, pair, page, viewer, &catalogue.ladder, ctx.clock.now());
    match ctx.table_support.support() {
        TableSupport::Refused => rendered.without_tables(),
        TableSupport::Accepted | TableSupport::Unknown => rendered,
    }
}

/// The known authors of the shown commits.
fn find_known_authors(ctx: &Context, diff: &Diff, repository: &Repository) -> Authors {
    let DiffResult::Different { drift, .. } = &diff.result else { return Authors::new() };
    let logins = drift.commits.iter().chain(&drift.hotfixes).filter_map(|commit| commit.login.clone());
    logins
        .filter_map(|login| ctx.permissions.find_known_person(&login, repository).map(|person| (login, person)))
        .collect()
}

/// The differences of one artefact.
pub(crate) async fn diff_artefact(
    ctx: &Context,
    artefact: &Artefact,
    source: &Environment,
    target: &Environment,
) -> Result<Diff, LookupError> {
    let ladder = &ctx.config.catalogue.ladder;
    let (mut from, mut to) = (
        gather_environment_facts(ctx, artefact, source).await?,
        gather_environment_facts(ctx, artefact, target).await?,
    );
    let (lower, upper) =
        if diff::is_above(ladder, &source.name, &target.name) { (&mut to, &mut from) } else { (&mut from, &mut to) };
    if matches!(artefact.delivery, Delivery::Manifest { .. }) {
        read_manifest_state(ctx, artefact, lower).await?;
        read_manifest_state(ctx, artefact, upper).await?;
    }
    let same_image = match (&lower.side.running, &upper.side.running) {
        (Some(below), Some(above)) => below.is_same_image(above),
        _ => false,
    };
    let result = match find_missing_side(artefact, lower).or_else(|| find_missing_side(artefact, upper)) {
        Some(DiffResult::CommitUnknown(_)) if same_image => DiffResult::Same,
        Some(result) => result,
        None => compare_environments(ctx, artefact, lower, upper).await?,
    };
    let is_first = matches!(&result, DiffResult::NotRunning(name) if *name == upper.environment.name);
    // The result of a rollback has the bad version in its history, so it cannot be promoted.
    let is_restored = lower.image_commit != lower.code_commit;
    let next_promotion = if !is_restored && (result.behind_environment().is_some() || is_first) {
        diff::find_next_promotion(artefact, &lower.side, upper.environment, ladder)
    } else {
        None
    };
    let compared_commits = upper.code_commit.clone().zip(lower.code_commit.clone());
    let manifest_diff = match (upper.manifest.take(), lower.manifest.take()) {
        (Some((file, above)), Some((_, below))) if above != below => {
            Some(ManifestDiff { file, difference: LineDiff::from_texts(&above, &below) })
        }
        _ => None,
    };
    let artefact = artefact.name.clone();
    Ok(Diff { artefact, source: from.side, target: to.side, result, next_promotion, compared_commits, manifest_diff })
}

/// The differences of many artefacts, each as soon as it is known. Those that need no request come first.
pub(crate) fn stream_diffs<'a>(
    ctx: &'a Context,
    artefacts: Vec<&'a Artefact>,
    source: &'a Environment,
    target: &'a Environment,
) -> impl futures::Stream<Item = Diff> + 'a {
    let diff_one = async move |artefact: &'a Artefact| match diff_artefact(ctx, artefact, source, target).await {
        Ok(diff) => diff,
        Err(error) => build_failed_diff(ctx, artefact, source, target, error.to_string()),
    };
    futures::stream::iter(artefacts).map(diff_one).buffer_unordered(MAX_PARALLEL_DIFFS)
}

/// The diff after a failed lookup: only the state of the cluster.
fn build_failed_diff(
    ctx: &Context,
    artefact: &Artefact,
    source: &Environment,
    target: &Environment,
    reason: String,
) -> Diff {
    let side = |environment: &Environment| build_side(ctx, artefact, environment);
    Diff {
        artefact: artefact.name.clone(),
        source: side(source),
        target: side(target),
        result: DiffResult::Unknown(reason),
        next_promotion: None,
        compared_commits: None,
        manifest_diff: None,
    }
}

async fn compare_environments(
    ctx: &Context,
    artefact: &Artefact,
    lower: &mut ComparedEnvironment<'_>,
    upper: &mut ComparedEnvironment<'_>,
) -> Result<DiffResult, LookupError> {
    let (Some(lower_commit), Some(upper_commit)) = (lower.code_commit.clone(), upper.code_commit.clone()) else {
        return Ok(DiffResult::Incomparable);
    };
    let pending = if matches!(artefact.delivery, Delivery::Manifest { .. }) {
        ctx.comparisons.compute_pending_between(&artefact.repository, &upper_commit, &lower_commit).await?
    } else {
        compare_branches(ctx, artefact, lower, upper, (&lower_commit, &upper_commit)).await?
    };
    Ok(pending.map_or(DiffResult::Incomparable, |pending| {
        DiffResult::from_pending(&pending, artefact, &upper.environment.name)
    }))
}
