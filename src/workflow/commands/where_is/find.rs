//! Finds the commit that a query means: in the store, else by asking GitHub about each possible repository.

use futures::StreamExt;
use jiff::SignedDuration;

use crate::adapters::github::PullRequestState;
use crate::adapters::store::{CommitMention, Transaction};
use crate::domain::model::artefact::{Artefact, ArtefactName, Repository};
use crate::domain::model::version::{Commit, Sha};
use crate::domain::view::where_is::QueryMatch;
use crate::domain::view::where_query::{QueryInterpretation, WhereQuery};
use crate::workflow::context::Context;
use crate::workflow::error::LookupError;

/// How many repositories are searched at once.
const MAX_PARALLEL_LOOKUPS: usize = 8;
/// A Git tag seldom moves, and Gantry gets no event when it does.
const TAG_TTL: SignedDuration = SignedDuration::from_hours(24);
/// How many matches are shown to choose from.
pub(super) const MAX_CHOICES: usize = 5;

/// The result of the search.
pub(super) enum CommitMatch {
    Unique(QueryMatch),
    /// All matches. The first [`MAX_CHOICES`], which are shown, have a description.
    Ambiguous(Vec<QueryMatch>),
    /// The tag of an image that was seen, without a known commit.
    CommitUnknown(ArtefactName),
    /// With the number of repositories that were searched.
    NotFound(usize),
    /// No artefact is built from that repository.
    UnknownRepository,
}

pub(super) async fn find_commit(
    ctx: &Context,
    query: &WhereQuery,
    named: Option<&Artefact>,
) -> Result<CommitMatch, LookupError> {
    let repositories = select_repositories(ctx, query, named);
    if repositories.is_empty() {
        return Ok(CommitMatch::UnknownRepository);
    }
    let (stored, without_commit) = find_stored_commits(ctx, query, named, &repositories).await?;
    let mut found: Vec<QueryMatch> = Vec::new();
    for (index, (repository, sha)) in stored.into_iter().enumerate() {
        let commit = if index < MAX_CHOICES { describe_commit(ctx, &repository, &sha).await } else { None };
        found.push(QueryMatch::Commit { repository, sha, commit });
    }
    if found.is_empty() {
        found = search_github(ctx, &query.interpretations, &repositories).await?;
    }
    Ok(match (found.len(), without_commit) {
        (0, Some(artefact)) => CommitMatch::CommitUnknown(artefact),
        (0, None) => CommitMatch::NotFound(repositories.len()),
        (1, _) => found.pop().map_or(CommitMatch::UnknownRepository, CommitMatch::Unique),
        _ => CommitMatch::Ambiguous(found),
    })
}

/// The repositories that may have the commit, without duplicates.
fn select_repositories(ctx: &Context, query: &WhereQuery, named: Option<&Artefact>) -> Vec<Repository> {
    let mut found: Vec<Repository> = Vec::new();
    for artefact in &ctx.config.catalogue.artefacts {
        let is_candidate = named.is_none_or(|named| named.name == artefact.name)
            && query.repository.as_ref().is_none_or(|repository| repository.is_same_as(&artefact.repository));
        if is_candidate && !found.iter().any(|other| other.is_same_as(&artefact.repository)) {
            found.push(artefact.repository.clone());
        }
    }
    found
}

/// The stored commits that match the query, without duplicates; and an artefact with an image of that tag and no
/// commit.
async fn find_stored_commits(
    ctx: &Context,
    query: &WhereQuery,
    named: Option<&Artefact>,
    repositories: &[Repository],
) -> Result<(Vec<(Repository, Sha)>, Option<ArtefactName>), LookupError> {
    let (mut found, mut without_commit) = (Vec::new(), None);
    let tags_since = ctx.clock.now() - TAG_TTL;
    for interpretation in &query.interpretations {
        let mut stored_matches = Vec::new();
        for stored in ctx.store.find_commit_candidates(interpretation, tags_since).await? {
            let Some((repository, artefact)) = find_repository_of(ctx, &stored.mentioned_by) else { continue };
            // A tag belongs to one image. A commit belongs to all images that are built from it.
            let is_other_artefact = matches!(interpretation, QueryInterpretation::Tag(_))
                && artefact.is_some_and(|artefact| named.is_some_and(|named| named.name != artefact.name));
            if is_other_artefact || !repositories.iter().any(|selected| selected.is_same_as(repository)) {
                continue;
            }
            match stored.sha {
                Some(sha) => stored_matches.push((repository.clone(), sha)),
                None => without_commit = without_commit.or_else(|| artefact.map(|artefact| artefact.name.clone())),
            }
        }
        if let QueryInterpretation::PullRequest(number) = interpretation {
            stored_matches = resolve_pull_commits(ctx, *number, stored_matches).await?;
        }
        for commit in stored_matches {
            if !found.contains(&commit) {
                found.push(commit);
            }
        }
    }
    Ok((found, without_commit))
}

/// The repository in the catalogue that a stored commit belongs to, and the artefact, if it was stored for one.
fn find_repository_of<'a>(ctx: &'a Context, mention: &CommitMention) -> Option<(&'a Repository, Option<&'a Artefact>)> {
    let catalogue = &ctx.config.catalogue;
    let artefact = match mention {
        CommitMention::Repository(name) => {
            let name: Repository = name.parse().ok()?;
            let built_from_it = catalogue.artefacts.iter().find(|artefact| artefact.repository.is_same_as(&name))?;
            return Some((&built_from_it.repository, None));
        }
        CommitMention::Artefact(name) => catalogue.find_artefact(name)?,
        CommitMention::Image(image) => catalogue.artefacts.iter().find(|artefact| *artefact.image == **image)?,
    };
    Some((&artefact.repository, Some(artefact)))
}

/// Reduces the matches of a pull request number to one commit per repository. Copied commits have the same subject,
/// with the same number, so GitHub names the merged commit.
async fn resolve_pull_commits(
    ctx: &Context,
    number: u64,
    found: Vec<(Repository, Sha)>,
) -> Result<Vec<(Repository, Sha)>, LookupError> {
    let mut resolved: Vec<(Repository, Sha)> = Vec::new();
    for (repository, sha) in &found {
        let is_ambiguous = found.iter().filter(|(other, _)| other == repository).count() > 1;
        if !is_ambiguous {
            resolved.push((repository.clone(), sha.clone()));
        } else if !resolved.iter().any(|(other, _)| other == repository) {
            let merged = match ctx.store.find_pull_commit(repository, number).await? {
                Some(merged) => Some(merged),
                None => match search_repository(ctx, repository, &QueryInterpretation::PullRequest(number)).await? {
                    Some(QueryMatch::Commit { sha, .. }) => Some(sha),
                    _ => None,
                },
            };
            match merged {
                Some(merged) => resolved.push((repository.clone(), merged)),
                None => resolved.extend(found.iter().filter(|(other, _)| other == repository).cloned()),
            }
        }
    }
    Ok(resolved)
}

/// The commit with its subject and author: from the store, else once from GitHub. The answer works without them.
async fn describe_commit(ctx: &Context, repository: &Repository, sha: &Sha) -> Option<Commit> {
    if let Ok(Some(stored)) = ctx.store.find_commit(repository, sha).await {
        return Some(stored);
    }
    let commit: Commit = ctx.github.resolve_commit(repository, sha.as_str()).await.ok()??.into();
    store_found_commit(ctx, repository, &commit, &QueryInterpretation::Commit(sha.to_string())).await;
    Some(commit)
}

/// The matches of the first interpretation that has any. If there are none and a request failed, the result is that
/// error, because the commit may exist.
async fn search_github(
    ctx: &Context,
    interpretations: &[QueryInterpretation],
    repositories: &[Repository],
) -> Result<Vec<QueryMatch>, LookupError> {
    let mut first_error = None;
    for interpretation in interpretations {
        let lookups: Vec<_> =
            repositories.iter().map(|repository| search_repository(ctx, repository, interpretation)).collect();
        let answers: Vec<_> = futures::stream::iter(lookups).buffered(MAX_PARALLEL_LOOKUPS).collect().await;
        let mut found = Vec::new();
        for answer in answers {
            match answer {
                Ok(candidate) => found.extend(candidate),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    first_error.map_or(Ok(Vec::new()), Err)
}

async fn search_repository(
    ctx: &Context,
    repository: &Repository,
    interpretation: &QueryInterpretation,
) -> Result<Option<QueryMatch>, LookupError> {
    if ctx.not_found_cache.has_query(repository, interpretation, ctx.clock.now()) {
        return Ok(None);
    }
    let found = match interpretation {
        QueryInterpretation::Commit(hex) => {
            let named = ctx.github.resolve_commit(repository, hex).await?;
            if named.is_none() {
                // GitHub also resolves tags of that name, so there is none either.
                let tag = QueryInterpretation::Tag(hex.clone());
                ctx.not_found_cache.record_query(repository, tag, ctx.clock.now());
            }
            // A commit with another SHA was resolved from a branch or a tag of that name.
            named.filter(|commit| commit.sha.as_str().starts_with(hex.as_str())).map(Commit::from)
        }
        QueryInterpretation::Tag(tag) => {
            ctx.github.resolve_commit(repository, &format!("tags/{tag}")).await?.map(Commit::from)
        }
        QueryInterpretation::PullRequest(number) => match ctx.github.fetch_pull_request(repository, *number).await? {
            None => None,
            Some(found) => {
                let PullRequestState::Merged { commit: sha, .. } = found.state else {
                    let is_closed = found.state == PullRequestState::Closed;
                    let (repository, pull, title) = (repository.clone(), found.pull, found.title);
                    return Ok(Some(QueryMatch::Unmerged { repository, pull, title, is_closed }));
                };
                let page = found.pull.url.rsplit_once("/pull/").map(|(page, _)| page).unwrap_or_default();
                Some(Commit {
                    url: format!("{page}/commit/{sha}"),
                    sha,
                    subject: format!("{} (#{number})", found.title),
                    author: found.author.clone().unwrap_or_default(),
                    login: found.author,
                    only_moves: false,
                    brings: Vec::new(),
                })
            }
        },
    };
    let Some(commit) = found else {
        ctx.not_found_cache.record_query(repository, interpretation.clone(), ctx.clock.now());
        return Ok(None);
    };
    store_found_commit(ctx, repository, &commit, interpretation).await;
    Ok(Some(QueryMatch::Commit { repository: repository.clone(), sha: commit.sha.clone(), commit: Some(commit) }))
}

/// Stores a found commit. A failure costs only another request later.
async fn store_found_commit(
    ctx: &Context,
    repository: &Repository,
    commit: &Commit,
    interpretation: &QueryInterpretation,
) {
    let transaction =
        Transaction::new().record_found_commit(repository.clone(), commit.clone(), interpretation.clone());
    if let Err(error) = ctx.store.commit(transaction).await {
        tracing::warn!(%error, "a found commit could not be stored");
    }
}
