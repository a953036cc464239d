//! `/pulls/{number}/reviews` and `/issues/{number}/comments`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::Value;

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::reviews::{NewReview, Verdict};
use super::pulls::parse_number;
use super::{Answer, BOT, Paging, created_response, paged_response, parse};

type PullPath = Path<(String, String, String)>;

pub(super) async fn list(
    State(github): State<GitHub>,
    Path((owner, name, number)): PullPath,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    let number = parse_number(&number)?;
    github
        .serve(&owner, &name, move |repo| {
            let pull = repo.pull(number)?;
            let page: Value =
                paging.slice_page(&pull.reviews).iter().map(|review| repo.review_json(pull, review)).collect();
            Ok(paged_response(page, paging.link(repo, &uri, pull.reviews.len())))
        })
        .await
}

#[derive(Deserialize)]
struct NewReviewBody {
    event: Option<String>,
    #[serde(default)]
    body: Option<String>,
    commit_id: Option<String>,
}

pub(super) async fn submit(State(github): State<GitHub>, Path((owner, name, number)): PullPath, body: Bytes) -> Answer {
    let (number, new): (_, NewReviewBody) = (parse_number(&number)?, parse(&body)?);
    let now = github.0.clock.now();
    github
        .serve(&owner, &name, move |repo| {
            // Without an event, GitHub saves the review as a draft. The simulator has no drafts.
            let verdict = match new.event.as_deref() {
                Some("APPROVE") => Verdict::Approve,
                Some("REQUEST_CHANGES") => Verdict::RequestChanges,
                Some("COMMENT") => Verdict::Comment,
                _ => return Err(ApiError::validation_failed("PullRequestReview", "event", "invalid")),
            };
            let new = NewReview { verdict, body: new.body.unwrap_or_default(), commit: new.commit_id };
            let review = repo.review_pull(number, new, BOT, now)?;
            Ok(Json(repo.review_json(repo.pull(number)?, &review)).into_response())
        })
        .await
}

#[derive(Deserialize)]
struct Dismissal {
    #[expect(dead_code, reason = "GitHub requires it; the simulator does not show it")]
    message: String,
}

pub(super) async fn dismiss(
    State(github): State<GitHub>,
    Path((owner, name, number, id)): Path<(String, String, String, String)>,
    body: Bytes,
) -> Answer {
    let (number, id) = (parse_number(&number)?, parse_number(&id)?);
    let Dismissal { .. } = parse(&body)?;
    let now = github.0.clock.now();
    github
        .serve(&owner, &name, move |repo| {
            let review = repo.dismiss_review(number, id, BOT, now)?;
            Ok(Json(repo.review_json(repo.pull(number)?, &review)).into_response())
        })
        .await
}

pub(super) async fn comments(
    State(github): State<GitHub>,
    Path((owner, name, number)): PullPath,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    let number = parse_number(&number)?;
    github
        .serve(&owner, &name, move |repo| {
            let pull = repo.pull(number)?;
            let page: Value =
                paging.slice_page(&pull.comments).iter().map(|comment| repo.comment_json(pull, comment)).collect();
            Ok(paged_response(page, paging.link(repo, &uri, pull.comments.len())))
        })
        .await
}

#[derive(Deserialize)]
struct NewComment {
    body: String,
}

pub(super) async fn comment(
    State(github): State<GitHub>,
    Path((owner, name, number)): PullPath,
    body: Bytes,
) -> Answer {
    let (number, new): (_, NewComment) = (parse_number(&number)?, parse(&body)?);
    let now = github.0.clock.now();
    github
        .serve(&owner, &name, move |repo| {
            if new.body.trim().is_empty() {
                return Err(ApiError::validation_failed("IssueComment", "body", "missing_field"));
            }
            let comment = repo.comment_on_pull(number, new.body, BOT, now)?;
            Ok(created_response(repo.comment_json(repo.pull(number)?, &comment)))
        })
        .await
}
