//! The account of the caller: the user of a token, or the App and its installation. The simulator has one of each.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::json::{time, user};
use super::{Answer, BOT, created_response};

const SLUG: &str = "gantry";

/// The settings of the App's installation. Tests change them.
#[derive(Clone, Debug)]
pub struct Installation {
    pub permissions: Vec<(&'static str, &'static str)>,
    pub events: Vec<&'static str>,
    pub suspended: bool,
    pub hook_url: String,
    pub hook_secret: bool,
    /// The scopes of the token; `None` for a fine-grained token.
    pub scopes: Option<Vec<&'static str>>,
    /// Tokens that GitHub no longer accepts.
    pub revoked: Vec<String>,
    /// Whether the App may bypass the rules of branches.
    pub bypasses: bool,
}

impl Installation {
    pub(in crate::sim::github) fn new(bot_url: &str) -> Self {
        Self {
            permissions: vec![
                ("metadata", "read"),
                ("contents", "write"),
                ("pull_requests", "write"),
                ("checks", "read"),
                ("statuses", "read"),
                ("members", "read"),
            ],
            events: vec!["pull_request", "pull_request_review", "check_run", "check_suite", "status"],
            suspended: false,
            hook_url: format!("{bot_url}/webhooks/github"),
            hook_secret: true,
            scopes: Some(vec!["repo", "read:org"]),
            revoked: Vec::new(),
            bypasses: false,
        }
    }
}

impl GitHub {
    /// Changes the installation, as an admin would.
    pub fn update_installation(&self, change: impl FnOnce(&mut Installation)) {
        change(&mut super::super::lock(&self.0.installation));
    }

    pub(in crate::sim::github) fn installation(&self) -> Installation {
        super::super::lock(&self.0.installation).clone()
    }
}

pub(super) async fn me(State(github): State<GitHub>) -> Json<Value> {
    Json(user(&github.0.api_url, BOT.trim_end_matches("[bot]")))
}

fn permissions(installation: &Installation) -> Value {
    installation.permissions.iter().map(|(name, level)| ((*name).to_owned(), Value::from(*level))).collect()
}

pub(super) async fn installation(State(github): State<GitHub>, Path(id): Path<u64>) -> Json<Value> {
    let installation = github.installation();
    Json(json!({
        "id": id, "app_id": 1, "app_slug": SLUG, "target_type": "Organization", "repository_selection": "all",
        "account": user(&github.0.api_url, "acme"),
        "permissions": permissions(&installation), "events": installation.events,
        "suspended_at": installation.suspended.then(|| time(github.0.clock.now())),
    }))
}

pub(super) async fn token(State(github): State<GitHub>, Path(_): Path<u64>) -> Answer {
    let installation = github.installation();
    if installation.suspended {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "This installation has been suspended"));
    }
    let expires = time(github.0.clock.now() + jiff::SignedDuration::from_hours(1));
    Ok(created_response(json!({
        "token": "ghs_world_gantry_installed", "expires_at": expires, "permissions": permissions(&installation),
        "repository_selection": "all",
    })))
}

pub(super) async fn hook(State(github): State<GitHub>) -> Json<Value> {
    let installation = github.installation();
    let secret = installation.hook_secret.then_some("********");
    Json(json!({ "content_type": "json", "insecure_ssl": "0", "url": installation.hook_url, "secret": secret }))
}

pub(super) async fn team(State(github): State<GitHub>, Path((org, team)): Path<(String, String)>) -> Answer {
    if !github.0.people.has_team(&org, &team) {
        return Err(ApiError::not_found());
    }
    Ok(Json(json!({ "id": 1, "slug": team, "name": team, "privacy": "closed" })).into_response())
}

pub(super) async fn ruleset(
    State(github): State<GitHub>,
    Path((owner, name, id)): Path<(String, String, u64)>,
) -> Answer {
    let bypass = if github.installation().bypasses { "always" } else { "never" };
    github
        .serve(&owner, &name, move |repo| {
            let ruleset = json!({
                "id": id, "name": "branches", "target": "branch", "source_type": "Repository",
                "source": repo.full_name, "enforcement": "active", "current_user_can_bypass": bypass,
            });
            Ok(Json(ruleset).into_response())
        })
        .await
}
