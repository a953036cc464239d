//! The page of a pull request, and the actions of its forms.
//! It is for people, so it needs no token, has no faults and does not count for the rate limit.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use serde::Deserialize;

use super::super::errors::ApiError;
use super::super::pull_view;
use super::super::{GitHub, Verdict, WriteError};
use super::pulls::parse_number;

/// The page has no script and allows none.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

pub(super) fn router(github: GitHub) -> Router {
    Router::new()
        .route("/{owner}/{repo}/pull/{number}", get(show))
        .route("/{owner}/{repo}/pull/{number}/{action}", post(perform_action))
        .with_state(github)
}

async fn show(
    State(github): State<GitHub>,
    Path((owner, name, number)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    page(&github, &owner, &name, &number, None).await
}

async fn page(
    github: &GitHub,
    owner: &str,
    name: &str,
    number: &str,
    refusal: Option<String>,
) -> Result<Response, ApiError> {
    let (number, faults, people) = (parse_number(number)?, github.0.faults.clone(), github.people());
    let status = if refusal.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let html = github
        .serve(owner, name, move |repo| {
            let mergeability = repo.compute_mergeability(number, &faults)?;
            pull_view::page(repo, repo.pull(number)?, mergeability, &people, refusal.as_deref())
        })
        .await?;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: then a browser would send no origin with the form, not even to this server.
        (REFERRER_POLICY, "same-origin"),
    ];
    Ok((status, headers, html).into_response())
}

#[derive(Deserialize)]
struct ActionForm {
    user: String,
    #[serde(default)]
    body: String,
}

async fn perform_action(
    State(github): State<GitHub>,
    Path((owner, name, number, action)): Path<(String, String, String, String)>,
    Form(form): Form<ActionForm>,
) -> Result<Response, ApiError> {
    let (actions, repository, pull) = (github.clone(), format!("{owner}/{name}"), parse_number(&number)?);
    let perform = move || -> Result<(), WriteError> {
        let ActionForm { user, body } = &form;
        match action.as_str() {
            "merge" => actions.merge_pull(&repository, pull, user).map(|_| ()),
            "close" => actions.close_pull(&repository, pull, user),
            action => match Verdict::parse(action) {
                Some(verdict) => actions.review(&repository, pull, user, verdict, body),
                None => Err(WriteError::Refused(format!("`{action}` is nothing that can be done here."))),
            },
        }
    };
    match tokio::task::spawn_blocking(perform).await {
        // Relative, because the browser may use another name for this machine.
        Ok(Ok(())) => Ok((StatusCode::SEE_OTHER, [(LOCATION, format!("../{pull}"))]).into_response()),
        Ok(Err(refused)) => page(&github, &owner, &name, &number, Some(refused.to_string())).await,
        Err(_) => Err(git2::Error::from_str("the action of a person was aborted").into()),
    }
}
