//! `/pulls`: opening, listing, editing and merging pull requests.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::mergeability::{MergeOptions, UNKNOWN};
use super::super::pulls::{NewPull, PullEdit};
use super::{Answer, BOT, Paging, RepositoryPath, bot, created_response, paged_response, parse};

#[derive(Deserialize)]
struct NewPullBody {
    #[serde(default)]
    title: String,
    head: String,
    base: String,
    body: Option<String>,
}

pub(super) async fn open(State(github): State<GitHub>, Path(repository): Path<RepositoryPath>, body: Bytes) -> Answer {
    let NewPullBody { title, head, base, body } = parse(&body)?;
    let now = github.0.clock.now();
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let number = repo.open_pull(NewPull { title, head, base, body }, BOT, now)?;
            Ok(created_response(repo.full_pull_json(repo.pull(number)?, UNKNOWN)?))
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct Listing {
    state: Option<String>,
    head: Option<String>,
    base: Option<String>,
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
            let state = listing.state.as_deref().unwrap_or("open");
            if !matches!(state, "open" | "closed" | "all") {
                return Err(ApiError::validation_failed("PullRequest", "state", "invalid"));
            }
            // GitHub ignores a head without an owner and lists everything.
            let head = listing.head.as_deref().filter(|head| head.contains(':'));
            let base = listing.base.as_deref().filter(|base| !base.is_empty());
            let all: Vec<_> = repo
                .pulls
                .iter()
                .rev()
                .filter(|pull| state == "all" || pull.is_open() == (state == "open"))
                .filter(|pull| head.is_none_or(|head| head == format!("{}:{}", repo.owner(), pull.head)))
                .filter(|pull| base.is_none_or(|base| base == pull.base))
                .collect();
            let paging = Paging { per_page: listing.per_page, page: listing.page };
            let page: Value = paging.slice_page(&all).iter().map(|pull| repo.pull_json(pull)).collect();
            Ok(paged_response(page, paging.link(repo, &uri, all.len())))
        })
        .await
}

pub(super) async fn show(
    State(github): State<GitHub>,
    Path((owner, name, number)): Path<(String, String, String)>,
) -> Answer {
    let (number, faults) = (parse_number(&number)?, github.0.faults.clone());
    github
        .serve(&owner, &name, move |repo| {
            let mergeability = repo.ask_mergeability(number, &faults)?;
            Ok(Json(repo.full_pull_json(repo.pull(number)?, mergeability)?).into_response())
        })
        .await
}

pub(super) async fn edit(
    State(github): State<GitHub>,
    Path((owner, name, number)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer {
    let (number, edit): (_, PullEdit) = (parse_number(&number)?, parse(&body)?);
    let now = github.0.clock.now();
    github
        .serve(&owner, &name, move |repo| {
            repo.edit_pull(number, edit, BOT, now)?;
            Ok(Json(repo.full_pull_json(repo.pull(number)?, UNKNOWN)?).into_response())
        })
        .await
}

pub(super) async fn merge(
    State(github): State<GitHub>,
    Path((owner, name, number)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer {
    let number = parse_number(&number)?;
    let options: MergeOptions = if body.is_empty() { MergeOptions::default() } else { parse(&body)? };
    let (now, faults) = (github.0.clock.now(), github.0.faults.clone());
    github
        .serve(&owner, &name, move |repo| {
            let id = repo.merge_pull(number, &options, &bot(), &faults, now)?;
            let message = "Pull Request successfully merged";
            Ok(Json(json!({ "sha": id.to_string(), "merged": true, "message": message })).into_response())
        })
        .await
}

/// Text that is not a number is not found.
pub(super) fn parse_number(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| ApiError::not_found())
}
