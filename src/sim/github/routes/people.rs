//! People, their permissions and teams, and the rules of branches.

use axum::Json;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::super::GitHub;
use super::super::errors::ApiError;
use super::super::json::{time, user};
use super::{Answer, Paging, paged_response};

pub(super) async fn show_user(State(github): State<GitHub>, Path(login): Path<String>) -> Answer {
    let account = github.0.people.account(&login).ok_or_else(ApiError::not_found)?;
    let mut json = user(&github.0.api_url, &account.login);
    json["name"] = account.name.into();
    json["email"] = account.public_email.into();
    for absent in ["company", "location", "bio", "hireable", "twitter_username"] {
        json[absent] = Value::Null;
    }
    json["blog"] = "".into();
    for count in ["public_repos", "public_gists", "followers", "following"] {
        json[count] = 0.into();
    }
    for time_field in ["created_at", "updated_at"] {
        json[time_field] = time(jiff::Timestamp::UNIX_EPOCH).into();
    }
    Ok(Json(json).into_response())
}

pub(super) async fn membership(
    State(github): State<GitHub>,
    Path((org, team, login)): Path<(String, String, String)>,
) -> Answer {
    if !github.0.people.is_member(&org, &team, &login) {
        return Err(ApiError::not_found());
    }
    let url = format!("{}/orgs/{org}/teams/{team}/memberships/{login}", github.0.api_url);
    Ok(Json(json!({ "url": url, "role": "member", "state": "active" })).into_response())
}

pub(super) async fn permission(
    State(github): State<GitHub>,
    Path((owner, name, login)): Path<(String, String, String)>,
) -> Answer {
    let account = github.0.people.account(&login).ok_or_else(ApiError::not_found)?;
    github
        .serve(&owner, &name, move |repo| {
            let permission = repo.protection.permission(&account.login);
            let (write, read) = (repo.protection.may_write(&account.login), permission != "none");
            let mut user = user(&repo.api_url, &account.login);
            user["permissions"] = json!({
                "admin": permission == "admin", "maintain": permission == "admin",
                "push": write, "triage": write, "pull": read,
            });
            user["role_name"] = permission.into();
            let answer = json!({ "permission": permission, "role_name": permission, "user": user });
            Ok(Json(answer).into_response())
        })
        .await
}

pub(super) async fn rules(
    State(github): State<GitHub>,
    Path((owner, name, branch)): Path<(String, String, String)>,
    Query(paging): Query<Paging>,
    uri: OriginalUri,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let all = repo.protection.json(&branch, &repo.full_name);
            Ok(paged_response(paging.slice_page(&all).into(), paging.link(repo, &uri, all.len())))
        })
        .await
}
