//! Looks at GitHub once, for whoever wants to know whether it can be used: who we are there, what is left of the hour, what it
//! shows of repositories, branches and their rules. Nothing of it is remembered.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use octocrab::Octocrab;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::client::{Client, FetchResult, GithubError, encode_ref};
use crate::domain::model::artefact::Repository;
use crate::http::parse_date_header;

/// What is left to the one who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubRateLimit {
    pub limit: u64,
    pub remaining: u64,
    pub resets_at: Timestamp,
}

/// Whose token it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenOwner {
    pub login: String,
    /// Of a classic token; others have none.
    pub scopes: Option<Vec<String>>,
    /// What GitHub's clock said.
    pub server_time: Option<Timestamp>,
}

/// An App and its installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppInstallation {
    pub slug: String,
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
    pub suspended: bool,
    /// What GitHub's clock said.
    pub server_time: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppWebhookConfig {
    pub url: Option<String>,
    pub signed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositorySettings {
    pub archived: bool,
    pub may_push: bool,
    pub allows_merge_commits: bool,
    pub default_branch: String,
}

/// May we pass by the rules of a set?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesetBypass {
    Always,
    /// By a pull request only.
    PullRequestOnly,
    Never,
}

/// A rule of a branch, as far as it can stand in our way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchRule {
    pub kind: String,
    pub ruleset_id: Option<u64>,
    pub required_checks: Vec<String>,
    pub merge_methods: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct WireRates {
    rate: WireRate,
}

#[derive(Deserialize)]
struct WireRate {
    limit: u64,
    remaining: u64,
    reset: i64,
}

#[derive(Deserialize)]
struct WireTokenOwner {
    login: String,
}

#[derive(Deserialize)]
struct WireInstallation {
    app_slug: String,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
    suspended_at: Option<String>,
}

#[derive(Deserialize)]
struct WireHook {
    url: Option<String>,
    secret: Option<String>,
}

#[derive(Deserialize)]
struct WireRepository {
    #[serde(default)]
    archived: bool,
    default_branch: String,
    /// Missing where GitHub does not say what we may.
    permissions: Option<WirePermissions>,
    allow_merge_commit: Option<bool>,
}

#[derive(Deserialize)]
struct WirePermissions {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct WireBranch {
    #[serde(default)]
    protected: bool,
    protection: Option<WireProtection>,
}

#[derive(Deserialize)]
struct WireProtection {
    enabled: bool,
}

#[derive(Deserialize)]
struct WireBranchRule {
    #[serde(rename = "type")]
    kind: String,
    ruleset_id: Option<u64>,
    #[serde(default)]
    parameters: WireRuleParameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireRuleParameters {
    required_status_checks: Vec<WireRequiredCheck>,
    allowed_merge_methods: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct WireRequiredCheck {
    context: String,
}

#[derive(Deserialize)]
struct WireRuleset {
    current_user_can_bypass: Option<String>,
}

#[derive(Deserialize)]
struct WireTeam {}

impl Client {
    /// What is left of the hour; `None` where nobody counts, as on a GitHub Enterprise Server without rate limits. Asking
    /// costs nothing.
    pub async fn fetch_rate_limit(&self) -> Result<Option<GithubRateLimit>, GithubError> {
        let rate = match self.fetch_uncached::<WireRates>(&self.octocrab, "/rate_limit").await {
            Ok((_, rates)) => rates.rate,
            Err(GithubError::NotFound(why)) if why.to_ascii_lowercase().contains("not enabled") => return Ok(None),
            Err(error) => return Err(error),
        };
        let resets_at = Timestamp::from_second(rate.reset).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(Some(GithubRateLimit { limit: rate.limit, remaining: rate.remaining, resets_at }))
    }

    /// Whose token it is.
    pub async fn fetch_token_owner(&self) -> Result<TokenOwner, GithubError> {
        let (headers, user): (_, WireTokenOwner) = self.fetch_uncached(&self.octocrab, "/user").await?;
        let scopes =
            |all: &str| all.split(',').map(|scope| scope.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        let told = headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok());
        Ok(TokenOwner { login: user.login, scopes: told.map(scopes), server_time: read_date_header(&headers) })
    }

    /// The App that we are, as its installation has it; `None` where we come by a token, or by none.
    pub async fn fetch_app_installation(&self) -> Result<Option<AppInstallation>, GithubError> {
        let Some((app, installation)) = &self.app else { return Ok(None) };
        let path = format!("/app/installations/{installation}");
        let (headers, found): (_, WireInstallation) = self.fetch_uncached(app, &path).await?;
        let WireInstallation { app_slug, permissions, events, suspended_at } = found;
        let (suspended, date) = (suspended_at.is_some(), read_date_header(&headers));
        Ok(Some(AppInstallation { slug: app_slug, permissions, events, suspended, server_time: date }))
    }

    /// Where the App's webhooks go.
    pub async fn fetch_app_webhook(&self) -> Result<Option<AppWebhookConfig>, GithubError> {
        let Some((app, _)) = &self.app else { return Ok(None) };
        let (_, hook): (_, WireHook) = self.fetch_uncached(app, "/app/hook/config").await?;
        let url = hook.url.filter(|url| !url.is_empty());
        Ok(Some(AppWebhookConfig { url, signed: hook.secret.is_some_and(|secret| !secret.is_empty()) }))
    }

    /// `None` where there is none, or it is hidden from us.
    pub async fn fetch_repository_settings(
        &self,
        repository: &Repository,
    ) -> Result<Option<RepositorySettings>, GithubError> {
        Ok(match self.fetch_json::<WireRepository>(&format!("/repos/{repository}")).await? {
            FetchResult::Found(found) => Some(RepositorySettings {
                archived: found.archived,
                // To an installation GitHub tells the role of the App's bot, which has none; what it may is in the App's
                // permissions.
                may_push: self.app.is_some() || found.permissions.is_none_or(|permissions| permissions.push),
                allows_merge_commits: found.allow_merge_commit.unwrap_or(true),
                default_branch: found.default_branch,
            }),
            FetchResult::Missing(_) => None,
        })
    }

    /// Is it protected in the classic way? `None` where there is no such branch.
    pub async fn is_branch_protected(
        &self,
        repository: &Repository,
        branch: &str,
    ) -> Result<Option<bool>, GithubError> {
        let Some(name) = encode_ref(branch) else { return Ok(None) };
        Ok(match self.fetch_json::<WireBranch>(&format!("/repos/{repository}/branches/{name}")).await? {
            // `protected` is true for a branch that only a ruleset is about, too.
            FetchResult::Found(found) => {
                Some(found.protection.map_or(found.protected, |protection| protection.enabled))
            }
            FetchResult::Missing(_) => None,
        })
    }

    /// Are we shown what CI says of a branch?
    pub async fn probe_checks_access(&self, repository: &Repository, branch: &str) -> Result<(), GithubError> {
        let Some(name) = encode_ref(branch) else { return Ok(()) };
        let path = format!("/repos/{repository}/commits/{name}/check-runs?per_page=1");
        self.fetch_json::<IgnoredAny>(&path).await.map(drop)
    }

    pub async fn fetch_branch_rules(
        &self,
        repository: &Repository,
        branch: &str,
    ) -> Result<Vec<BranchRule>, GithubError> {
        let Some(name) = encode_ref(branch) else { return Ok(Vec::new()) };
        let path = format!("/repos/{repository}/rules/branches/{name}?per_page=100");
        let FetchResult::Found(rules) = self.fetch_json::<Vec<WireBranchRule>>(&path).await? else {
            return Ok(Vec::new());
        };
        let rule = |WireBranchRule { kind, ruleset_id, parameters }: WireBranchRule| BranchRule {
            kind,
            ruleset_id,
            required_checks: parameters.required_status_checks.into_iter().map(|check| check.context).collect(),
            merge_methods: parameters.allowed_merge_methods,
        };
        Ok(rules.into_iter().map(rule).collect())
    }

    /// Never, where GitHub does not say.
    pub async fn fetch_ruleset_bypass(
        &self,
        repository: &Repository,
        ruleset: u64,
    ) -> Result<RulesetBypass, GithubError> {
        let path = format!("/repos/{repository}/rulesets/{ruleset}");
        Ok(match self.fetch_json::<WireRuleset>(&path).await? {
            FetchResult::Found(found) => match found.current_user_can_bypass.as_deref() {
                Some("always" | "exempt") => RulesetBypass::Always,
                Some("pull_requests_only") => RulesetBypass::PullRequestOnly,
                _ => RulesetBypass::Never,
            },
            FetchResult::Missing(_) => RulesetBypass::Never,
        })
    }

    pub async fn can_see_team(&self, organisation: &str, team: &str) -> Result<bool, GithubError> {
        let (Some(organisation), Some(team)) = (encode_ref(organisation), encode_ref(team)) else { return Ok(false) };
        Ok(matches!(
            self.fetch_json::<WireTeam>(&format!("/orgs/{organisation}/teams/{team}")).await?,
            FetchResult::Found(_)
        ))
    }

    /// Asks once, past the memory and the pace: there are three such questions.
    async fn fetch_uncached<T: DeserializeOwned>(
        &self,
        by: &Octocrab,
        path: &str,
    ) -> Result<(HeaderMap, T), GithubError> {
        let response = by._get(path).await.map_err(|error| self.error_from_octocrab(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = by.body_to_string(response).await.map_err(|error| self.error_from_octocrab(&error))?;
        if status != 200 {
            return Err(self.error_from_response(status, &headers, &body));
        }
        let told = serde_json::from_str(&body).map_err(|error| GithubError::Unclear(error.to_string()))?;
        Ok((headers, told))
    }
}

fn read_date_header(headers: &HeaderMap) -> Option<Timestamp> {
    headers.get(header::DATE).and_then(|value| value.to_str().ok()).and_then(parse_date_header)
}
