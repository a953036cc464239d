//! GitHub's routes, and the parts that they share: authentication, limits, paging, and faults.

mod accounts;
mod branches;
mod checks;
mod commits;
mod contents;
mod database;
mod front;
mod pages;
mod people;
mod pull_page;
mod pulls;
mod refs;
mod reviews;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, OriginalUri, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post, put};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::accounts::Installation;
use super::errors::ApiError;
use super::objects::Repo;
use super::{Author, GitHub};
use crate::sim::github::request_faults;

type Answer = Result<Response, ApiError>;

/// GitHub accepts blobs of up to 40 MB.
const MAX_BODY_BYTES: usize = 40 << 20;

pub(super) fn router(github: GitHub) -> Router {
    let repository = Router::new()
        .route("/", get(repository))
        .route("/branches", get(branches::list))
        .route("/branches/{*branch}", get(branches::show))
        .route("/merges", post(branches::merge))
        .route("/tags", get(branches::tags))
        .route("/commits", get(commits::list))
        .route("/commits/{*reference}", get(commits::handle_reference))
        .route("/compare/{*range}", get(commits::compare))
        .route("/statuses/{sha}", post(checks::set_status))
        .route("/pulls", get(pulls::list).post(pulls::open))
        .route("/pulls/{number}", get(pulls::show).patch(pulls::edit))
        .route("/pulls/{number}/merge", put(pulls::merge))
        .route("/pulls/{number}/reviews", get(reviews::list).post(reviews::submit))
        .route("/pulls/{number}/reviews/{id}/dismissals", put(reviews::dismiss))
        .route("/issues/{number}/comments", get(reviews::comments).post(reviews::comment))
        .route("/collaborators/{login}/permission", get(people::permission))
        .route("/rules/branches/{*branch}", get(people::rules))
        .route("/rulesets/{id}", get(accounts::ruleset))
        .route("/contents", get(contents::root))
        .route("/contents/", get(contents::root))
        .route("/contents/{*path}", get(contents::show_path))
        .route("/git/ref/{*reference}", get(refs::show))
        .route("/git/matching-refs/{*prefix}", get(refs::matching))
        .route("/git/refs", post(refs::create))
        .route("/git/refs/{*reference}", patch(refs::update).delete(refs::delete))
        .route("/git/blobs", post(database::create_blob))
        .route("/git/blobs/{sha}", get(database::blob))
        .route("/git/trees", post(database::create_tree))
        .route("/git/trees/{*sha}", get(database::tree))
        .route("/git/commits", post(database::create_commit))
        .route("/git/commits/{sha}", get(database::commit))
        .route("/git/tags", post(database::create_tag))
        .route("/git/tags/{sha}", get(database::tag));
    Router::new()
        .nest("/repos/{owner}/{repo}", repository)
        .route("/{owner}/{repo}/commit/{reference}", get(pages::commit))
        .route("/{owner}/{repo}/compare/{*range}", get(pages::compare))
        .route("/users/{login}", get(people::show_user))
        .route("/orgs/{org}/teams/{team}/memberships/{login}", get(people::membership))
        .route("/orgs/{org}/teams/{team}", get(accounts::team))
        .route("/user", get(accounts::me))
        .route("/app/installations/{id}", get(accounts::installation))
        .route("/app/installations/{id}/access_tokens", post(accounts::token))
        .route("/app/hook/config", get(accounts::hook))
        .route("/rate_limit", get(front::rate_limit))
        .fallback(record_unknown_request)
        .method_not_allowed_fallback(record_unknown_request)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(github.clone(), front::guard))
        .layer(middleware::from_fn_with_state(github.0.request_faults.clone(), request_faults::apply_faults))
        .with_state(github.clone())
        .merge(pull_page::router(github))
}

async fn record_unknown_request(State(github): State<GitHub>, request: Request) -> ApiError {
    github.0.unknown_requests.record("github", request.method().as_str(), request.uri().path());
    ApiError::not_found()
}

/// The first part of every repository path.
#[derive(Debug, Deserialize)]
struct RepositoryPath {
    owner: String,
    repo: String,
}

async fn repository(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    headers: HeaderMap,
) -> Answer {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let by_app = authorization.is_some_and(|token| token.contains(" ghs_"));
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let mut body = repo.repository_json();
            if by_app {
                // GitHub shows the role of the App's bot user here. That user has no role, even if the installation has
                // permissions.
                body["permissions"]["push"] = false.into();
                body["permissions"]["triage"] = false.into();
            }
            Ok(Json(body).into_response())
        })
        .await
}

/// The author of all writes through the API with any token: the simulator has one bot.
pub(super) const BOT: &str = "gantry[bot]";

pub(super) fn bot() -> Author {
    Author { name: BOT.to_owned(), email: format!("{BOT}@users.noreply.github.com"), login: Some(BOT.to_owned()) }
}

/// The committer of commits that GitHub itself makes, such as merges.
pub(super) fn web_flow() -> Author {
    Author { name: "GitHub".to_owned(), email: "noreply@github.com".to_owned(), login: Some("web-flow".to_owned()) }
}

fn parse<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let value: Value =
        serde_json::from_slice(body).map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "Problems parsing JSON"))?;
    if !value.is_object() {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "Body should be a JSON object"));
    }
    T::deserialize(value).map_err(ApiError::invalid_request)
}

#[derive(Debug, Default, Deserialize)]
struct Paging {
    per_page: Option<String>,
    page: Option<String>,
}

impl Paging {
    fn is_requested(&self) -> bool {
        self.per_page.is_some() || self.page.is_some()
    }

    /// A value that is not a positive number is ignored. The maximum is 100.
    fn size(&self) -> usize {
        self.per_page.as_deref().and_then(|text| text.parse().ok()).filter(|size| *size > 0).unwrap_or(30).min(100)
    }

    fn number(&self) -> usize {
        self.page.as_deref().and_then(|text| text.parse().ok()).filter(|page| *page > 0).unwrap_or(1)
    }

    fn slice_page<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let from = (self.number() - 1).saturating_mul(self.size()).min(all.len());
        &all[from..from.saturating_add(self.size()).min(all.len())]
    }

    /// GitHub's `Link` header. Its URLs start with the simulator's own address, never with the `Host` header.
    fn link(&self, repo: &Repo, uri: &OriginalUri, total: usize) -> Option<HeaderValue> {
        let (page, last) = (self.number(), total.div_ceil(self.size()).max(1));
        let path = uri.path().split_once("/repos/").map_or("", |(_, path)| path);
        let parameters = uri.query().unwrap_or_default().split('&');
        let parameters: Vec<&str> = parameters.filter(|pair| !pair.is_empty() && !pair.starts_with("page=")).collect();
        let parameters = if parameters.is_empty() { String::new() } else { parameters.join("&") + "&" };
        let mut links = Vec::new();
        let mut link = |rel: &str, number: usize| {
            links.push(format!("<{}/repos/{path}?{parameters}page={number}>; rel=\"{rel}\"", repo.api_url));
        };
        if page > 1 {
            link("prev", (page - 1).min(last));
        }
        if page < last {
            link("next", page + 1);
            link("last", last);
        }
        if page > 1 {
            link("first", 1);
        }
        (!links.is_empty()).then(|| HeaderValue::from_str(&links.join(", ")).ok()).flatten()
    }
}

fn paged_response(body: Value, link: Option<HeaderValue>) -> Response {
    let mut response = Json(body).into_response();
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

fn created_response(body: Value) -> Response {
    let location = body["url"].as_str().and_then(|url| HeaderValue::from_str(url).ok());
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if let Some(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}
