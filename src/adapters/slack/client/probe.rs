//! Inspects the bot's token: its account, its scopes and its channels. Uses a plain HTTP client, because slack-morphism
//! does not return headers. The token is sent only to `slack.api_url`, and never appears in an error.

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use super::{Client, SendError};
use crate::adapters::slack::client::response;
use crate::http::parse_date_header;

const MANIFEST: &str = include_str!("../../../../deploy/slack/manifest.yaml");
const PAGE_SIZE: &str = "999";
/// Enough for more channels than any bot is in.
const MAX_PAGES: usize = 10;

/// Slack's information about the bot's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    pub team: String,
    /// The name by which people mention the bot.
    pub bot: String,
    pub scopes: Option<Vec<String>>,
    /// The time of Slack's clock.
    pub date: Option<Timestamp>,
}

/// A channel that the bot is in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JoinedChannel {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub is_archived: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConversationsResponse {
    channels: Vec<JoinedChannel>,
    response_metadata: ResponseMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseMetadata {
    next_cursor: String,
}

/// The scopes that the bot needs: those of the Slack app's manifest.
pub fn required_scopes() -> Vec<String> {
    let manifest: Value = serde_saphyr::from_str(MANIFEST).unwrap_or_default();
    let scopes = manifest["oauth_config"]["scopes"]["bot"].as_array().cloned().unwrap_or_default();
    scopes.iter().filter_map(|scope| scope.as_str().map(str::to_owned)).collect()
}

impl Client {
    /// Calls Slack each time; nothing is cached.
    pub async fn inspect_token(&self) -> Result<TokenInfo, SendError> {
        let (headers, body) = self.call_raw("auth.test", &self.0.token).await?;
        let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let scopes = header("x-oauth-scopes")
            .map(|all| all.split(',').map(|scope| scope.trim().to_owned()).filter(|scope| !scope.is_empty()).collect());
        Ok(TokenInfo {
            team: text("team"),
            bot: text("user"),
            scopes,
            date: header("date").and_then(parse_date_header),
        })
    }

    /// Lists the channels that the bot is in, including private ones.
    pub async fn list_joined_channels(&self) -> Result<Vec<JoinedChannel>, SendError> {
        let mut joined = Vec::new();
        let mut cursor = String::new();
        for _ in 0..MAX_PAGES {
            let parameters = vec![
                ("types", Some("public_channel,private_channel")),
                ("limit", Some(PAGE_SIZE)),
                ("cursor", Some(cursor.as_str()).filter(|cursor| !cursor.is_empty())),
            ];
            let page: ConversationsResponse = self.call_with_query("users.conversations", parameters).await?;
            joined.extend(page.channels);
            cursor = page.response_metadata.next_cursor;
            if cursor.is_empty() {
                break;
            }
        }
        Ok(joined)
    }

    /// Checks whether an app-level token can open sockets. Only requests the address of a socket and opens none.
    pub async fn check_app_token(&self, app_token: &SecretString) -> Result<(), SendError> {
        self.call_raw("apps.connections.open", app_token).await.map(drop)
    }

    async fn call_raw(
        &self,
        method: &str,
        token: &SecretString,
    ) -> Result<(reqwest::header::HeaderMap, Value), SendError> {
        let url = format!("{}/{method}", self.0.api_url);
        let request = self.0.http.post(url).bearer_auth(token.expose_secret());
        response::check_raw_response(method, request.send().await).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_required_scopes_come_from_the_manifest() {
        let scopes = required_scopes();
        assert!(
            scopes.contains(&"chat:write".to_owned()) && scopes.contains(&"channels:read".to_owned()),
            "{scopes:?}"
        );
    }
}
