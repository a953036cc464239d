//! `/commits` and `/compare`.

use axum::Json;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use git2::Oid;
use serde::Deserialize;
use serde_json::Value;

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::objects::Repo;
use super::{Answer, Paging, RepositoryPath, checks, paged_response};

/// The number of commits in a comparison without paging.
const MAX_COMMITS: usize = 250;

#[derive(Deserialize)]
pub(super) struct Listing {
    sha: Option<String>,
    path: Option<String>,
    author: Option<String>,
    per_page: Option<String>,
    page: Option<String>,
}

pub(super) async fn list(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    Query(listing): Query<Listing>,
    uri: OriginalUri,
) -> Answer {
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            if repo.is_empty() {
                return Err(ApiError::empty_repository());
            }
            let from = listing.sha.as_deref().filter(|sha| !sha.is_empty()).unwrap_or(&repo.default_branch);
            let from = repo.resolve(from).ok_or_else(ApiError::not_found)?;
            let mut all = repo.history(&[from], &[])?;
            if let Some(path) = listing.path.as_deref().map(|path| path.trim_matches('/')).filter(|p| !p.is_empty()) {
                let mut matching = Vec::new();
                for id in all {
                    if repo.touches(id, path)? {
                        matching.push(id);
                    }
                }
                all = matching;
            }
            if let Some(author) = listing.author.as_deref().filter(|author| !author.is_empty()) {
                all.retain(|id| is_authored_by(repo, *id, author));
            }
            let paging = Paging { per_page: listing.per_page, page: listing.page };
            let page = paging.slice_page(&all).iter().map(|id| repo.commit_json(*id)).collect::<Result<Value, _>>()?;
            Ok(paged_response(page, paging.link(repo, &uri, all.len())))
        })
        .await
}

/// GitHub accepts a login or an email address.
fn is_authored_by(repo: &Repo, id: Oid, wanted: &str) -> bool {
    let Ok(commit) = repo.commit_at(id) else { return false };
    let author = commit.author();
    let email = String::from_utf8_lossy(author.email_bytes());
    email.eq_ignore_ascii_case(wanted)
        || repo.people.login(&email).is_some_and(|login| login.eq_ignore_ascii_case(wanted))
}

/// A reference may contain slashes, so the end of the path selects the resource.
pub(super) async fn handle_reference(
    State(github): State<GitHub>,
    Path((owner, name, reference)): Path<(String, String, String)>,
    Query(filter): Query<checks::Filter>,
) -> Answer {
    let now = github.0.clock.now();
    let faults = github.0.faults.clone();
    github
        .serve(&owner, &name, move |repo| match reference.rsplit_once('/') {
            Some((reference, "status")) => checks::combined(repo, reference),
            Some((reference, "statuses")) => checks::statuses(repo, reference, &filter),
            Some((reference, "check-runs")) => checks::runs(repo, reference, &filter, &faults, now),
            _ => {
                let id = find(repo, &reference)?;
                Ok(Json(repo.full_commit_json(id)?).into_response())
            }
        })
        .await
}

pub(super) fn find(repo: &Repo, reference: &str) -> Result<Oid, ApiError> {
    if repo.is_empty() {
        return Err(ApiError::empty_repository());
    }
    let missing = || ApiError::unprocessable(format!("No commit found for SHA: {reference}"));
    repo.resolve(reference).ok_or_else(missing)
}

pub(super) async fn compare(
    State(github): State<GitHub>,
    Path((owner, name, range)): Path<(String, String, String)>,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let (base, head) = range.split_once("...").ok_or_else(ApiError::not_found)?;
            let owner = format!("{}:", repo.owner());
            // `owner:branch` names a fork. The repository itself is the only one that exists.
            let resolve_side = |text: &str| repo.resolve(text.strip_prefix(&owner).unwrap_or(text));
            let (Some(from), Some(to)) = (resolve_side(base), resolve_side(head)) else {
                return Err(ApiError::not_found());
            };
            let compared = repo.compare(from, to)?.ok_or_else(|| {
                let message = format!("No common ancestor between {base} and {head}.");
                ApiError::new(StatusCode::NOT_FOUND, message)
            })?;
            let all = &compared.commits;
            let shown = if paging.is_requested() {
                paging.slice_page(all)
            } else {
                &all[all.len().saturating_sub(MAX_COMMITS)..]
            };
            let files = if paging.number() == 1 {
                Some(repo.files_between(Some(compared.merge_base), compared.head)?)
            } else {
                None
            };
            let link = if paging.is_requested() { paging.link(repo, &uri, all.len()) } else { None };
            Ok(paged_response(repo.comparison_json(&compared, shown, files.as_deref())?, link))
        })
        .await
}
