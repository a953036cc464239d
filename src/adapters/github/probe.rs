//! The requests that only `doctor` sends: for the account, the requests that are left, and the settings of repositories
//! and branches.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use octocrab::Octocrab;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::client::{Client, FetchResult, GithubError, encode_ref};
use crate::domain::model::artefact::Repository;
use crate::http::parse_date_header;

/// The requests that are left in this hour.
#[derive(Clone, Debug, Deserialize)]
pub struct GithubRateLimit {
    pub limit: u64,
    pub remaining: u64,
    /// In seconds since 1970.
    pub reset: i64,
}

/// The owner of the token.
#[derive(Clone, Debug, Deserialize)]
pub struct TokenOwner {
    pub login: String,
    /// `None` for a fine-grained token: GitHub does not show its permissions.
    #[serde(skip)]
    pub scopes: Option<Vec<String>>,
    #[serde(skip)]
    pub server_time: Option<Timestamp>,
}

/// The installation of the App.
#[derive(Clone, Debug, Deserialize)]
pub struct AppInstallation {
    #[serde(rename = "app_slug")]
    pub slug: String,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
    pub suspended_at: Option<String>,
    #[serde(skip)]
    pub server_time: Option<Timestamp>,
}

/// The webhook of the App. GitHub shows asterisks instead of the secret.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct AppWebhookConfig {
    pub url: Option<String>,
    pub secret: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RepositorySettings {
    #[serde(default)]
    pub archived: bool,
    pub default_branch: String,
    pub allow_merge_commit: Option<bool>,
    /// `None` if GitHub does not show the role of the token's owner.
    pub permissions: Option<RepositoryPermissions>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RepositoryPermissions {
    #[serde(default)]
    pub push: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct BranchRule {
    #[serde(rename = "type")]
    pub kind: String,
    pub ruleset_id: Option<u64>,
    #[serde(default)]
    pub parameters: BranchRuleParameters,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BranchRuleParameters {
    pub required_status_checks: Vec<RequiredStatusCheck>,
    pub allowed_merge_methods: Option<Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RequiredStatusCheck {
    pub context: String,
}

/// Whether Gantry may bypass the rules of a ruleset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulesetBypass {
    #[serde(alias = "exempt")]
    Always,
    PullRequestsOnly,
    #[serde(other)]
    Never,
}

#[derive(Deserialize)]
struct WireRates {
    rate: GithubRateLimit,
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
struct WireRuleset {
    current_user_can_bypass: Option<RulesetBypass>,
}

type ProbeAnswer<T> = Result<T, GithubError>;

impl Client {
    /// `None` if the server does not count requests, as a GitHub Enterprise Server without rate limits. This request is
    /// free.
    pub async fn fetch_rate_limit(&self) -> ProbeAnswer<Option<GithubRateLimit>> {
        match self.fetch_uncached::<WireRates>(&self.octocrab, "/rate_limit").await {
            Ok((_, rates)) => Ok(Some(rates.rate)),
            Err(GithubError::NotFound(why)) if why.to_ascii_lowercase().contains("not enabled") => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn fetch_token_owner(&self) -> ProbeAnswer<TokenOwner> {
        let (headers, owner): (_, TokenOwner) = self.fetch_uncached(&self.octocrab, "/user").await?;
        let scopes = headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let scopes = scopes.split(',').map(|scope| scope.trim().to_owned()).filter(|scope| !scope.is_empty());
        let scopes = Some(scopes.collect::<Vec<_>>()).filter(|scopes| !scopes.is_empty());
        Ok(TokenOwner { scopes, server_time: read_date_header(&headers), ..owner })
    }

    /// `None` if Gantry uses a token.
    pub async fn fetch_app_installation(&self) -> ProbeAnswer<Option<AppInstallation>> {
        let Some((app, installation)) = &self.app else { return Ok(None) };
        let path = format!("/app/installations/{installation}");
        let (headers, found): (_, AppInstallation) = self.fetch_uncached(app, &path).await?;
        Ok(Some(AppInstallation { server_time: read_date_header(&headers), ..found }))
    }

    pub async fn fetch_app_webhook(&self) -> ProbeAnswer<AppWebhookConfig> {
        let Some((app, _)) = &self.app else { return Ok(AppWebhookConfig::default()) };
        Ok(self.fetch_uncached(app, "/app/hook/config").await?.1)
    }

    /// `None` if the repository does not exist or Gantry cannot see it.
    pub async fn fetch_repository_settings(&self, repository: &Repository) -> ProbeAnswer<Option<RepositorySettings>> {
        let settings: Option<RepositorySettings> = self.fetch_optional(&format!("/repos/{repository}")).await?;
        // For an installation, GitHub shows the role of the App's bot, which has none. The App's permissions count
        // instead.
        let has_user_role = self.app.is_none();
        Ok(settings
            .map(|found| RepositorySettings { permissions: found.permissions.filter(|_| has_user_role), ..found }))
    }

    /// Whether the branch has a classic protection; `None` if it does not exist.
    pub async fn is_branch_protected(&self, repository: &Repository, branch: &str) -> ProbeAnswer<Option<bool>> {
        let Some(name) = encode_ref(branch) else { return Ok(None) };
        let found: Option<WireBranch> = self.fetch_optional(&format!("/repos/{repository}/branches/{name}")).await?;
        // `protected` is also true for a branch that only a ruleset concerns.
        Ok(found.map(|found| found.protection.map_or(found.protected, |protection| protection.enabled)))
    }

    /// Fails if Gantry may not read CI results.
    pub async fn probe_checks_access(&self, repository: &Repository, branch: &str) -> ProbeAnswer<()> {
        let Some(name) = encode_ref(branch) else { return Ok(()) };
        let path = format!("/repos/{repository}/commits/{name}/check-runs?per_page=1");
        self.fetch_json::<IgnoredAny>(&path).await.map(drop)
    }

    pub async fn fetch_branch_rules(&self, repository: &Repository, branch: &str) -> ProbeAnswer<Vec<BranchRule>> {
        let Some(name) = encode_ref(branch) else { return Ok(Vec::new()) };
        let path = format!("/repos/{repository}/rules/branches/{name}?per_page=100");
        Ok(self.fetch_optional(&path).await?.unwrap_or_default())
    }

    /// [`RulesetBypass::Never`] if GitHub does not show it.
    pub async fn fetch_ruleset_bypass(&self, repository: &Repository, ruleset: u64) -> ProbeAnswer<RulesetBypass> {
        let path = format!("/repos/{repository}/rulesets/{ruleset}");
        let found: Option<WireRuleset> = self.fetch_optional(&path).await?;
        Ok(found.and_then(|found| found.current_user_can_bypass).unwrap_or(RulesetBypass::Never))
    }

    pub async fn can_see_team(&self, organisation: &str, team: &str) -> ProbeAnswer<bool> {
        let (Some(organisation), Some(team)) = (encode_ref(organisation), encode_ref(team)) else { return Ok(false) };
        let path = format!("/orgs/{organisation}/teams/{team}");
        Ok(self.fetch_optional::<IgnoredAny>(&path).await?.is_some())
    }

    async fn fetch_optional<T: DeserializeOwned>(&self, path: &str) -> ProbeAnswer<Option<T>> {
        Ok(match self.fetch_json(path).await? {
            FetchResult::Found(found) => Some(found),
            FetchResult::Missing(_) => None,
        })
    }

    /// Sends one request without cache and rate limit: only `doctor` calls this, and seldom.
    async fn fetch_uncached<T: DeserializeOwned>(
        &self,
        octocrab: &Octocrab,
        path: &str,
    ) -> ProbeAnswer<(HeaderMap, T)> {
        let response = octocrab._get(path).await.map_err(|error| self.error_from_octocrab(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = octocrab.body_to_string(response).await.map_err(|error| self.error_from_octocrab(&error))?;
        if status != 200 {
            return Err(self.error_from_response(status, &headers, &body));
        }
        let parsed = serde_json::from_str(&body).map_err(|error| GithubError::Unclear(error.to_string()))?;
        Ok((headers, parsed))
    }
}

fn read_date_header(headers: &HeaderMap) -> Option<Timestamp> {
    headers.get(header::DATE).and_then(|value| value.to_str().ok()).and_then(parse_date_header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_ruleset_bypass_counts_as_never() {
        use RulesetBypass::{Always, Never, PullRequestsOnly};
        for (text, expected) in [
            ("always", Some(Always)),
            ("exempt", Some(Always)),
            ("pull_requests_only", Some(PullRequestsOnly)),
            ("never", Some(Never)),
            ("unknown_value", Some(Never)),
        ] {
            let body = format!(r#"{{ "id": 1, "current_user_can_bypass": "{text}" }}"#);
            assert_eq!(serde_json::from_str::<WireRuleset>(&body).unwrap().current_user_can_bypass, expected, "{text}");
        }
        assert_eq!(serde_json::from_str::<WireRuleset>("{}").unwrap().current_user_can_bypass, None);
    }
}
