//! Creates the Git tag of a merged change.

use jiff::Timestamp;

use crate::adapters::github::{CreateTagOutcome, GithubError};
use crate::adapters::store::{Claim, StoreError, Transaction};
use crate::domain::change::plan::{GitWrite, format_tag_affixes, parse_tag_number};
use crate::domain::change::{Change, DeployState, ResultTag};
use crate::domain::model::version::Sha;
use crate::workflow::changes::git_writes;
use crate::workflow::changes::transition::{WriteAhead, compute_next_try, store_intended_stage, store_intent};
use crate::workflow::context::Context;

/// After so many failed tries the tag is left out, with a warning on the card.
const MAX_TAG_TRIES: u32 = 6;

/// Creates the tag of the result. Returns the time of the next try, if one is needed.
pub(crate) async fn ensure_tag(ctx: &Context, claim: &mut Claim) -> Result<Option<Timestamp>, StoreError> {
    let mut stored_intent = None;
    for _ in 0..MAX_TAG_TRIES {
        let Some(deploying) = claim.change.stage.deploying() else { return Ok(None) };
        let plan = claim.change.plan.clone();
        // With delivery by manifest, the tag goes to the commit of the image in the code repository.
        let marked = match &plan.write {
            GitWrite::Manifest { pinned, .. } => pinned.clone(),
            GitWrite::Branch { .. } => Some(deploying.result.clone()),
        };
        let (name, tries) = match &deploying.tag {
            ResultTag::Created { .. } | ResultTag::Failed { .. } => return Ok(None),
            ResultTag::Pending => {
                let name = choose_tag_name(ctx, &claim.change, None).await?;
                stored_intent = Some(store_tag_name(ctx, claim, name, 0).await?);
                continue;
            }
            // Woken early. Asking GitHub now would use rate limit that other changes need.
            ResultTag::Named { .. } if claim.due_at.is_some_and(|due| due > ctx.clock.now()) => {
                return Ok(claim.due_at);
            }
            ResultTag::Named { name, tries } => (name.clone(), *tries),
        };
        let Some(result) = marked else {
            let why = "nothing tells which commit the image was built from".to_owned();
            return store_tag(ctx, claim, ResultTag::Failed { reason: why }).await.map(|()| None);
        };
        let intent = match stored_intent.take() {
            Some(intent) => intent,
            None => store_intent(ctx, claim, claim.change.clone()).await?,
        };
        let outcome = match git_writes::create_tag(ctx, &claim.change, &name, &result, intent).await {
            Ok(CreateTagOutcome::AlreadyExists) => resolve_taken_tag(ctx, &claim.change, &name, &result).await,
            Ok(CreateTagOutcome::Done) => Ok(ResultTag::Created { name: name.clone(), at: ctx.clock.now() }),
            Ok(CreateTagOutcome::Refused(why)) => Ok(ResultTag::Failed { reason: why }),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(ResultTag::Named { name, .. }) => {
                stored_intent = Some(store_tag_name(ctx, claim, name, tries + 1).await?);
            }
            Ok(tag) => return store_tag(ctx, claim, tag).await.map(|()| None),
            // A rate limit is not counted as a failed try.
            Err(error @ (GithubError::RateLimited { .. } | GithubError::Throttled { .. })) => {
                return Ok(Some(compute_next_try(&error, tries, ctx.clock.now())));
            }
            Err(error) if error.is_transient() && tries + 1 < MAX_TAG_TRIES => {
                let _intent = store_tag_name(ctx, claim, name, tries + 1).await?;
                return Ok(Some(compute_next_try(&error, tries, ctx.clock.now())));
            }
            Err(error) => {
                let why = error.to_string();
                return store_tag(ctx, claim, ResultTag::Failed { reason: why }).await.map(|()| None);
            }
        }
    }
    store_tag(ctx, claim, ResultTag::Failed { reason: "every name that I chose was taken".to_owned() }).await?;
    Ok(None)
}

/// Handles a tag name that exists already: if that tag marks the result, it is Gantry's own; else the next number is
/// chosen.
pub(crate) async fn resolve_taken_tag(
    ctx: &Context,
    change: &Change,
    name: &str,
    result: &Sha,
) -> Result<ResultTag, GithubError> {
    let repository = &change.plan.repository;
    if ctx.github.resolve_tag(repository, name).await?.as_ref() == Some(result) {
        return Ok(ResultTag::Created { name: name.to_owned(), at: ctx.clock.now() });
    }
    let (prefix, _) = compute_tag_affixes(ctx, change);
    let taken = ctx.github.list_tags_with_prefix(repository, &prefix).await?;
    match choose_tag_name(ctx, change, Some(&taken)).await {
        Ok(name) => Ok(ResultTag::Named { name, tries: 0 }),
        Err(error) => Err(GithubError::Unavailable(error.to_string())),
    }
}

pub(crate) fn compute_tag_affixes(ctx: &Context, change: &Change) -> (String, String) {
    let policy = ctx.config.catalogue.ladder.find_policy(&change.plan.environment);
    let template = policy.and_then(|policy| policy.tag_template.as_deref());
    format_tag_affixes(template, &change.plan, ctx.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date())
}

/// The name with the next number after all known tags: those of the store, and `taken`.
pub(crate) async fn choose_tag_name(
    ctx: &Context,
    change: &Change,
    taken: Option<&[String]>,
) -> Result<String, StoreError> {
    let affixes = compute_tag_affixes(ctx, change);
    let stored_names = ctx.store.list_tag_names(&change.plan.repository, &affixes.0).await?;
    let names = stored_names.iter().chain(taken.into_iter().flatten());
    let last = names.filter_map(|name| parse_tag_number(name, &affixes)).max().unwrap_or_default();
    Ok(format!("{}{}{}", affixes.0, last.saturating_add(1), affixes.1))
}

/// Stores the name of a tag before it is created.
async fn store_tag_name(ctx: &Context, claim: &mut Claim, name: String, tries: u32) -> Result<WriteAhead, StoreError> {
    let reserved = Transaction::new().reserve_tag_name(claim.change.plan.repository.clone(), &name, claim.change.id);
    store_tag_state(ctx, claim, ResultTag::Named { name, tries }, reserved).await
}

/// Stores the end of the work on a tag: it was created, or it is left out.
async fn store_tag(ctx: &Context, claim: &mut Claim, tag: ResultTag) -> Result<(), StoreError> {
    store_tag_state(ctx, claim, tag, Transaction::new()).await.map(drop)
}

async fn store_tag_state(
    ctx: &Context,
    claim: &mut Claim,
    tag: ResultTag,
    extra: Transaction,
) -> Result<WriteAhead, StoreError> {
    let stage = claim.change.stage.clone();
    // Only a merged change is tagged, so the transition is always possible.
    let stage = stage.clone().update_deploying(|state| DeployState { tag, ..state }).unwrap_or(stage);
    store_intended_stage(ctx, claim, stage, extra).await
}
