//! The client for Slack's Web API and response URLs: one call sends one message. `people` looks up accounts.
//! The client never waits and never repeats a call; the outbox decides about failures.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::ConfigBuilderExt;
use reqwest::Url;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use slack_morphism::errors::SlackClientError;
use slack_morphism::hyper_tokio::{SlackClientHyperConnector, SlackHyperClient};
use slack_morphism::{SlackApiToken, SlackApiTokenValue, SlackClient};
use tokio::sync::OnceCell;
use url::Origin;

use crate::domain::model::actor::PersonId;
use crate::domain::model::message::{Destination, Message, MessageLocation, ResponseUrl};
use crate::telemetry::metrics::LabelledCounter;

#[cfg(test)]
pub(crate) mod fake;
mod files;
mod people;
mod socket;

pub use people::{SlackAccount, UserGroup};
pub use probe::{JoinedChannel, TokenInfo, required_scopes};
pub use response::SendError;
pub(super) use socket::{ConnectError, SocketStream, describe_socket_error};

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    api: SlackHyperClient,
    token: SecretString,
    /// For response URLs and uploads. It sends no token and follows no redirect.
    http: reqwest::Client,
    hooks_origin: Url,
    /// Without a trailing slash.
    api_url: String,
    api_origin: Origin,
    api_is_tls: bool,
    identity: OnceCell<Identity>,
    /// For Socket Mode.
    tls: ClientConfig,
    calls: LabelledCounter<2>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("hooks_origin", &self.0.hooks_origin.as_str()).finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClientError(String);

/// The bot's own account in Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub team: String,
    pub bot: PersonId,
    /// The address of the workspace for people, for example `https://acme.slack.com/`.
    pub url: Option<String>,
}

impl Identity {
    /// The address of a message for people. The result is that of `chat.getPermalink`, without a call for each message.
    pub fn message_url(&self, location: &MessageLocation) -> Option<String> {
        let workspace = self.url.as_deref()?.trim_end_matches('/');
        Some(format!("{workspace}/archives/{}/p{}", location.channel, location.ts.replace('.', "")))
    }
}

/// The known locations that a message refers to.
#[derive(Clone, Debug, Default)]
pub struct PostedPlaces {
    /// The location of the message itself, if it is already posted. It is edited then.
    pub message: Option<MessageLocation>,
    /// The location of the first message of its thread.
    pub thread: Option<MessageLocation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendOutcome {
    /// `None` for messages that cannot be edited: answers by `response_url`, ephemeral messages.
    pub place: Option<MessageLocation>,
    /// Slack refused the blocks and accepted the plain blocks, or the text alone.
    pub used_fallback: bool,
    /// The message's file was sent with it.
    pub includes_file: bool,
}

#[derive(Deserialize)]
struct PostMessageResponse {
    channel: String,
    ts: String,
}

#[derive(Deserialize)]
struct EmptyResponse {}

#[derive(Deserialize)]
struct PermalinkResponse {
    permalink: String,
}

#[derive(Deserialize)]
struct AuthTestResponse {
    team_id: String,
    user_id: String,
    #[serde(default)]
    url: Option<String>,
}

impl Client {
    /// `api_url` is for example `https://slack.com/api`. Every `response_url` must have the origin `hooks_origin`.
    pub fn new(api_url: &str, hooks_origin: &str, token: SecretString) -> Result<Self, ClientError> {
        let url = |key: &str, text: &str| {
            Url::parse(text)
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
                .ok_or_else(|| ClientError(format!("slack.{key} must be an http or https URL, not `{text}`.")))
        };
        let api = url("api_url", api_url)?;
        let hooks_origin = url("hooks_origin", hooks_origin)?;
        let (api_origin, api_is_tls) = (api.origin(), api.scheme() == "https");
        let tls = build_tls_config(api_is_tls || hooks_origin.scheme() == "https")?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.clone())
            // A redirect could lead away from `hooks_origin`.
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| {
                ClientError(format!("The HTTP client for Slack's response URLs cannot be created: {error}."))
            })?;
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .build();
        let api_url = api.as_str().trim_end_matches('/').to_owned();
        let connector = SlackClientHyperConnector::with_connector(connector).with_slack_api_url(&api_url);
        let api = SlackClient::new(connector);
        let (identity, calls) = (OnceCell::new(), LabelledCounter::with_labels(["method", "result"]));
        for method in ["chat.postMessage", "chat.update", "response_url"] {
            for result in ["ok", "rate_limited", "transient", "refused"] {
                calls.ensure_counter([method, result]);
            }
        }
        let inner = Inner { api, token, http, hooks_origin, api_url, api_origin, api_is_tls, identity, tls, calls };
        Ok(Self(Arc::new(inner)))
    }

    /// Sends one message once. If Slack refuses its blocks, sends the plain blocks or the text alone. A file is sent
    /// with the message only if both are one message to Slack: a text in a thread. Otherwise the caller sends the file
    /// later.
    pub async fn send_message(&self, message: &Message, posted: &PostedPlaces) -> Result<SendOutcome, SendError> {
        let text = limits::fit_text(&message.text);
        if let (Destination::Post { .. }, Some(file), PostedPlaces { message: None, thread: Some(thread) }) =
            (&message.to, &message.file, posted)
            && message.blocks.is_empty()
        {
            self.share_file(file, &text, thread).await?;
            // Slack does not return the location of the shared file's message.
            return Ok(SendOutcome { place: None, used_fallback: false, includes_file: true });
        }
        if let Destination::Home { person, .. } = &message.to {
            self.publish_home(person, &text, &limits::fit_view(&message.blocks)).await?;
            return Ok(SendOutcome { place: None, used_fallback: false, includes_file: false });
        }
        let full = limits::fit_blocks(&message.blocks);
        match self.deliver_message(message, posted, &text, &full).await {
            Err(SendError::BlocksRefused) => {}
            other => {
                return other.map(|location| SendOutcome {
                    place: location,
                    used_fallback: false,
                    includes_file: false,
                });
            }
        }
        if let Some(plain) = &message.plain {
            match self.deliver_message(message, posted, &text, &limits::fit_blocks(plain)).await {
                Err(SendError::BlocksRefused) => {}
                other => {
                    return other.map(|location| SendOutcome {
                        place: location,
                        used_fallback: true,
                        includes_file: false,
                    });
                }
            }
        }
        let location = self.deliver_message(message, posted, &text, &[]).await?;
        Ok(SendOutcome { place: location, used_fallback: true, includes_file: false })
    }

    /// The number of calls by method and result.
    pub fn call_counts(&self) -> &LabelledCounter<2> {
        &self.0.calls
    }

    fn count_call<T>(&self, method: &str, answer: Result<T, SendError>) -> Result<T, SendError> {
        let result = answer.as_ref().map_or_else(SendError::name, |_| "ok");
        self.0.calls.increment([method, result]);
        tracing::debug!(method, result, "Slack answered");
        answer
    }

    /// Calls Slack only once, because the identity of a token does not change.
    pub async fn fetch_identity(&self) -> Result<Identity, SendError> {
        let fetch = || async {
            let response: AuthTestResponse = self.call_with_query("auth.test", vec![]).await?;
            Ok(Identity { team: response.team_id, bot: PersonId::new(&response.user_id), url: response.url })
        };
        self.0.identity.get_or_try_init(fetch).await.cloned()
    }

    /// The identity, if [`Client::fetch_identity`] has already fetched it. Makes no call.
    pub fn cached_identity(&self) -> Option<&Identity> {
        self.0.identity.get()
    }

    /// The address of a message for people.
    pub async fn fetch_permalink(&self, location: &MessageLocation) -> Result<String, SendError> {
        let parameters = vec![("channel", Some(location.channel.as_str())), ("message_ts", Some(location.ts.as_str()))];
        self.call_with_query::<PermalinkResponse>("chat.getPermalink", parameters).await.map(|found| found.permalink)
    }

    /// Opens a modal for the person of the interaction with the id `trigger`. Slack accepts it only for three seconds.
    pub async fn open_modal(&self, trigger: &str, view: &Value) -> Result<(), SendError> {
        self.call_with_json::<EmptyResponse>("views.open", &json!({ "trigger_id": trigger, "view": view }))
            .await
            .map(drop)
    }

    /// Replaces the App Home of a person. Without blocks, the Home shows the text alone.
    async fn publish_home(&self, person: &PersonId, text: &str, blocks: &[Value]) -> Result<(), SendError> {
        let text_alone = [json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })];
        let blocks = if blocks.is_empty() { &text_alone } else { blocks };
        let body = json!({ "user_id": person, "view": { "type": "home", "blocks": blocks } });
        self.call_with_json::<EmptyResponse>("views.publish", &body).await.map(drop)
    }

    async fn deliver_message(
        &self,
        message: &Message,
        posted: &PostedPlaces,
        text: &str,
        blocks: &[Value],
    ) -> Result<Option<MessageLocation>, SendError> {
        let thread = posted.thread.as_ref().map(|parent| parent.ts.as_str());
        match (&message.to, &posted.message) {
            (Destination::Post { .. } | Destination::Edit { .. }, Some(location)) => {
                // Without `blocks` Slack would keep the old blocks, so an empty list is sent too.
                let body = json!({ "channel": location.channel, "ts": location.ts, "text": text, "blocks": blocks });
                self.call_with_json::<EmptyResponse>("chat.update", &body).await?;
                Ok(Some(location.clone()))
            }
            (Destination::Home { .. }, _) => Ok(None),
            (Destination::Edit { key }, None) => {
                Err(SendError::Permanent(format!("there is no message {key} to edit")))
            }
            (Destination::Post { channel, .. }, None) => {
                // A reply in a thread goes to the channel of the thread, even if the message names another channel.
                let channel = posted.thread.as_ref().map_or(channel, |parent| &parent.channel);
                self.post_message(channel, thread.map(|thread| (thread, message.broadcast)), text, blocks).await
            }
            (Destination::Reply { response_url, in_channel, replace }, _) => {
                self.post_to_response_url(response_url, *in_channel, *replace, text, blocks).await.map(|()| None)
            }
            (Destination::Person { response_url: Some(url), replace, .. }, _) => {
                self.post_to_response_url(url, false, *replace, text, blocks).await.map(|()| None)
            }
            (Destination::Person { person, channel: Some(channel), .. }, _) if !channel.starts_with('D') => {
                let mut body = json!({ "channel": channel, "user": person, "text": text, "blocks": blocks });
                if let Some(thread) = thread {
                    body["thread_ts"] = thread.into();
                }
                self.call_with_json::<EmptyResponse>("chat.postEphemeral", &body).await.map(|_| None)
            }
            // A direct message is already private, and unlike an ephemeral message it is kept.
            (Destination::Person { person, channel, .. }, _) => {
                let channel = channel.as_deref().unwrap_or(person.as_str());
                self.post_message(channel, thread.map(|thread| (thread, false)), text, blocks).await
            }
        }
    }

    /// Posts to a channel. `thread` is the thread's `ts`, and whether the reply is also shown in the channel.
    async fn post_message(
        &self,
        channel: &str,
        thread: Option<(&str, bool)>,
        text: &str,
        blocks: &[Value],
    ) -> Result<Option<MessageLocation>, SendError> {
        let mut body = json!({
            "channel": channel, "text": text, "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
        });
        if let Some((thread, broadcast)) = thread {
            body["thread_ts"] = thread.into();
            // A broadcast is not needed in a direct message: its owner sees the threads anyway.
            if broadcast && !channel.starts_with('D') {
                body["reply_broadcast"] = true.into();
            }
        }
        let posted: PostMessageResponse = self.call_with_json("chat.postMessage", &body).await?;
        Ok(Some(MessageLocation { channel: posted.channel, ts: posted.ts }))
    }

    /// Sends no bot token: the URL itself is the permission.
    async fn post_to_response_url(
        &self,
        to: &ResponseUrl,
        in_channel: bool,
        replace: bool,
        text: &str,
        blocks: &[Value],
    ) -> Result<(), SendError> {
        let url = Url::parse(&to.url).ok().filter(|url| {
            url.origin() == self.0.hooks_origin.origin() && url.username().is_empty() && url.password().is_none()
        });
        let Some(url) = url else {
            return Err(SendError::Permanent("the response URL does not point to slack.hooks_origin".to_owned()));
        };
        let body = json!({
            "response_type": if in_channel { "in_channel" } else { "ephemeral" },
            "replace_original": replace, "text": text, "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
        });
        let answer = response::check_hook_response(self.0.http.post(url).json(&body).send().await).await;
        self.count_call("response_url", answer)
    }

    async fn call_with_json<T>(&self, method: &str, body: &Value) -> Result<T, SendError>
    where
        T: for<'de> Deserialize<'de> + Send,
    {
        let token = self.api_token();
        let session = self.0.api.open_session(&token);
        self.count_call(method, with_timeout(method, session.http_session_api.http_post(method, body, None)).await)
    }

    async fn call_with_query<T>(&self, method: &str, parameters: Vec<(&str, Option<&str>)>) -> Result<T, SendError>
    where
        T: for<'de> Deserialize<'de> + Send,
    {
        let token = self.api_token();
        let session = self.0.api.open_session(&token);
        self.count_call(
            method,
            with_timeout(method, session.http_session_api.http_get(method, &parameters, None)).await,
        )
    }

    fn api_token(&self) -> SlackApiToken {
        SlackApiToken::new(SlackApiTokenValue(self.0.token.expose_secret().to_owned()))
    }
}

/// Adds a timeout, because slack-morphism has none.
async fn with_timeout<T>(
    method: &str,
    call: impl Future<Output = Result<T, SlackClientError>>,
) -> Result<T, SendError> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(answer) => answer.map_err(|error| response::from_api_error(method, error)),
        Err(_) => Err(SendError::Transient(format!("{method} was not answered within {} s", TIMEOUT.as_secs()))),
    }
}

/// One configuration for both clients, so that the system's root certificates are in memory once, and only if needed.
fn build_tls_config(needed: bool) -> Result<ClientConfig, ClientError> {
    let to_error =
        |error: &dyn std::fmt::Display| ClientError(format!("TLS for connections to Slack cannot be set up: {error}."));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| to_error(&e))?;
    let builder = if needed {
        builder.with_native_roots().map_err(|e| to_error(&e))?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

mod limits;
mod probe;
mod response;
#[cfg(test)]
mod tests;
