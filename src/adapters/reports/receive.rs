//! Receives webhooks of controllers, pipelines and GitHub: limits their size, verifies the sender's secret, parses and
//! stores them, and only then responds.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::future::BoxFuture;
use secrecy::SecretString;
use tracing::{Instrument, Span};

use super::{
    BODY_LIMIT, ParsedWebhook, Report, ReportError, ReportSender, UnreadableWebhook, argocd, cdevents, flux, github,
    signature,
};
use crate::adapters::reports::disposition::{DispositionCounts, ReportDisposition};
use crate::adapters::reports::generic;
use crate::domain::model::environment::EnvironmentName;
use crate::http::{catch_panic, read_body, refuse_request};

/// Stores a webhook. A repeated webhook has no effect. `false`: it could not be stored, so the sender must send it
/// again.
pub type StoreWebhook = Arc<dyn Fn(ParsedWebhook) -> BoxFuture<'static, bool> + Send + Sync>;

/// Finds the environment with a name or alias.
pub type FindEnvironment = Arc<dyn Fn(&str) -> Option<EnvironmentName> + Send + Sync>;

/// GitHub's bodies are longer than a controller's: they contain the whole pull request and its repository.
const GITHUB_BODY_LIMIT: usize = 1024 * 1024;

/// The configuration of the webhook routes.
pub struct WebhookReceiver {
    /// Webhooks for an environment without a secret are refused.
    pub secrets: BTreeMap<EnvironmentName, SecretString>,
    /// Without it, GitHub's webhooks are refused.
    pub github_secret: Option<SecretString>,
    pub find_environment: FindEnvironment,
    pub store_webhook: StoreWebhook,
    pub dispositions: DispositionCounts,
}

pub fn build_router(receiver: WebhookReceiver) -> Router {
    Router::new()
        .route("/webhooks/flux/{environment}", post(receive_flux))
        .route("/webhooks/argocd/{environment}", post(receive_argocd))
        .route("/webhooks/deployments", post(receive_deployments))
        .route("/webhooks/cdevents", post(receive_cdevents))
        .route("/webhooks/github", post(receive_github))
        .with_state(Arc::new(receiver))
}

type ReceiverState = State<Arc<WebhookReceiver>>;

async fn receive_flux(State(receiver): ReceiverState, Path(environment): Path<String>, request: Request) -> Response {
    let span = webhook_span(ReportSender::Flux, &request);
    catch_panic(
        receiver
            .count_disposition(ReportSender::Flux, receiver.accept_by_path(ReportSender::Flux, &environment, request))
            .instrument(span),
    )
    .await
}

async fn receive_argocd(State(receiver): ReceiverState, Path(environment): Path<String>, request: Request) -> Response {
    let span = webhook_span(ReportSender::ArgoCd, &request);
    catch_panic(
        receiver
            .count_disposition(
                ReportSender::ArgoCd,
                receiver.accept_by_path(ReportSender::ArgoCd, &environment, request),
            )
            .instrument(span),
    )
    .await
}

async fn receive_deployments(State(receiver): ReceiverState, request: Request) -> Response {
    let span = webhook_span(ReportSender::Deployments, &request);
    catch_panic(
        receiver
            .count_disposition(ReportSender::Deployments, receiver.accept_by_secret(ReportSender::Deployments, request))
            .instrument(span),
    )
    .await
}

async fn receive_cdevents(State(receiver): ReceiverState, request: Request) -> Response {
    let span = webhook_span(ReportSender::CdEvents, &request);
    catch_panic(
        receiver
            .count_disposition(ReportSender::CdEvents, receiver.accept_by_secret(ReportSender::CdEvents, request))
            .instrument(span),
    )
    .await
}

async fn receive_github(State(receiver): ReceiverState, request: Request) -> Response {
    let span = webhook_span(ReportSender::GitHub, &request);
    catch_panic(receiver.count_disposition(ReportSender::GitHub, receiver.accept_from_github(request)).instrument(span))
        .await
}

impl WebhookReceiver {
    /// Counts the webhooks that do not reach the inbox. (An unreadable one is stored as an unmapped report instead.) A
    /// webhook in the inbox is counted later, when it is handled.
    async fn count_disposition(&self, sender: ReportSender, receiving: impl Future<Output = Response>) -> Response {
        let response = receiving.await;
        let disposition = match response.status() {
            StatusCode::UNAUTHORIZED => Some(ReportDisposition::Refused),
            StatusCode::BAD_REQUEST => Some(ReportDisposition::Unreadable),
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => Some(ReportDisposition::Broken),
            StatusCode::NO_CONTENT => Some(ReportDisposition::Ignored),
            StatusCode::SERVICE_UNAVAILABLE => Some(ReportDisposition::NotStored),
            _ => None,
        };
        if let Some(disposition) = disposition {
            tracing::debug!(fate = disposition.as_str(), "a webhook was not stored");
            self.dispositions.record_disposition(sender, disposition);
        }
        response
    }

    /// For paths that contain the environment. Argo CD cannot sign; Flux signs unless its provider is the plain
    /// `generic`.
    async fn accept_by_path(&self, sender: ReportSender, environment: &str, request: Request) -> Response {
        // The same response for an environment without a secret and for one that does not exist, so that callers cannot
        // distinguish them.
        let unsigned =
            || refuse_request(StatusCode::UNAUTHORIZED, "The report does not have the secret of this environment.");
        let environment = EnvironmentName::new(environment);
        let Some(secret) = self.secrets.get(&environment) else { return unsigned() };
        let signature_header = read_header(&request, "x-signature").filter(|_| sender == ReportSender::Flux);
        let bearer = read_header(&request, "authorization");
        // If there is a signature, it must be right, even beside a right token.
        if signature_header.is_none() && !bearer.is_some_and(|bearer| signature::verify_bearer(&bearer, secret)) {
            return unsigned();
        }
        let body = match read_body(request, BODY_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        if signature_header.is_some_and(|signature_header| !signature::verify_hmac(&signature_header, &body, secret)) {
            return unsigned();
        }
        self.parse_and_store(sender, environment, &body).await
    }

    /// For paths without an environment: the secret determines it, and the body does not.
    async fn accept_by_secret(&self, sender: ReportSender, request: Request) -> Response {
        let unsigned = || {
            let message = "The report is not signed with any environment's secret: send `X-Signature: sha256=<hex>`, \
                         the HMAC of the body.";
            refuse_request(StatusCode::UNAUTHORIZED, message)
        };
        let Some(signature_header) = read_header(&request, "x-signature") else { return unsigned() };
        let body = match read_body(request, BODY_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        // All secrets are tried, so that the duration does not reveal the right one.
        let verified =
            self.secrets.iter().filter(|(_, secret)| signature::verify_hmac(&signature_header, &body, secret));
        let Some((environment, _)) = verified.last() else { return unsigned() };
        self.parse_and_store(sender, environment.clone(), &body).await
    }

    async fn parse_and_store(&self, sender: ReportSender, environment: EnvironmentName, body: &Bytes) -> Response {
        match parse_report(sender, &environment, body) {
            Ok(Some(report)) => self.store_and_respond(ParsedWebhook::Report(Box::new(report))).await,
            Ok(None) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => self.reject_unreadable(Some(environment), sender, error.to_string(), body).await,
        }
    }

    async fn accept_from_github(&self, request: Request) -> Response {
        let unsigned =
            || refuse_request(StatusCode::UNAUTHORIZED, "The webhook is not signed with GITHUB_WEBHOOK_SECRET.");
        let (signature_header, event) =
            (read_header(&request, "x-hub-signature-256"), read_header(&request, "x-github-event"));
        let (Some(secret), Some(signature_header)) = (&self.github_secret, signature_header) else { return unsigned() };
        let body = match read_body(request, GITHUB_BODY_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        if !signature::verify_hmac(&signature_header, &body, secret) {
            return unsigned();
        }
        match github::parse(&event.unwrap_or_default(), &body, |name| (self.find_environment)(name)) {
            Ok(Some(webhook)) => self.store_and_respond(webhook).await,
            Ok(None) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => self.reject_unreadable(None, ReportSender::GitHub, error, &body).await,
        }
    }

    async fn store_and_respond(&self, webhook: ParsedWebhook) -> Response {
        if (self.store_webhook)(webhook).await {
            StatusCode::ACCEPTED.into_response()
        } else {
            refuse_request(StatusCode::SERVICE_UNAVAILABLE, "The webhook could not be stored. Please send it again.")
        }
    }

    /// Stores an unreadable webhook as well: its sender has the secret, so people must learn that its configuration is
    /// wrong.
    async fn reject_unreadable(
        &self,
        environment: Option<EnvironmentName>,
        sender: ReportSender,
        why: String,
        body: &[u8],
    ) -> Response {
        let refusal = refuse_request(StatusCode::BAD_REQUEST, &why);
        (self.store_webhook)(ParsedWebhook::Unreadable(UnreadableWebhook::new(environment, sender, why, body))).await;
        refusal
    }
}

fn parse_report(
    sender: ReportSender,
    environment: &EnvironmentName,
    body: &[u8],
) -> Result<Option<Report>, ReportError> {
    match sender {
        ReportSender::Flux => flux::parse(environment, body).map(Some),
        ReportSender::ArgoCd => argocd::parse(environment, body).map(Some),
        ReportSender::Deployments => generic::parse(environment, body).map(Some),
        ReportSender::CdEvents => cdevents::parse(environment, body),
        // GitHub has a route of its own.
        ReportSender::GitHub => Ok(None),
    }
}

/// Uses the id that the sender or a proxy assigned, if it is short and plain.
fn webhook_span(sender: ReportSender, request: &Request) -> Span {
    let is_plain = |name: &String| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let delivery =
        read_header(request, "x-github-delivery").or_else(|| read_header(request, "x-request-id")).filter(is_plain);
    tracing::error_span!("webhook", source = sender.as_str(), delivery)
}

fn read_header(request: &Request, name: &str) -> Option<String> {
    request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use hmac::digest::KeyInit;
    use hmac::{Hmac, Mac};
    use sha2::Sha256;
    use tower::ServiceExt;

    use super::*;

    async fn post_event(stored: bool, path: &str, event: &str, body: &str) -> u16 {
        let receiver = WebhookReceiver {
            secrets: BTreeMap::from([(EnvironmentName::new("qa"), "secret".into())]),
            github_secret: Some("secret".into()),
            find_environment: Arc::new(|name| Some(EnvironmentName::new(name))),
            store_webhook: Arc::new(move |_| Box::pin(async move { stored })),
            dispositions: DispositionCounts::default(),
        };
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"secret").unwrap().chain_update(body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let mut request = Request::post(path).header("x-github-event", event);
        request = match path {
            "/webhooks/argocd/qa" => request.header("authorization", "Bearer secret"),
            "/webhooks/github" => request.header("x-hub-signature-256", signature),
            _ => request.header("x-signature", signature),
        };
        let request = request.body(Body::from(body.to_owned())).unwrap();
        build_router(receiver).oneshot(request).await.unwrap().status().as_u16()
    }

    /// After a 202 the sender does not retry, so only a stored webhook gets it.
    #[tokio::test]
    async fn a_webhook_that_cannot_be_stored_gets_503() {
        let cdevent = r#"{"context":{"id":"1","source":"/ci","type":"dev.cdevents.service.deployed.0.2.0"},"subject":{"id":"x"}}"#;
        let deployment = r#"{"repository":{"full_name":"acme/checkout"},"deployment":{"environment":"qa"},"deployment_status":{"state":"success"}}"#;
        let cases = [
            ("/webhooks/flux/qa", "", r#"{"involvedObject":{"kind":"Kustomization","name":"x"}}"#),
            ("/webhooks/argocd/qa", "", r#"{"application":"x"}"#),
            ("/webhooks/deployments", "", r#"{"artefact":"x","state":"failed"}"#),
            ("/webhooks/cdevents", "", cdevent),
            ("/webhooks/github", "status", r#"{"repository":{"full_name":"acme/checkout"}}"#),
            ("/webhooks/github", "deployment_status", deployment),
        ];
        for (path, event, body) in cases {
            assert_eq!(post_event(true, path, event, body).await, 202, "{path} {event}");
            assert_eq!(post_event(false, path, event, body).await, 503, "{path} {event}");
            assert_eq!(post_event(false, path, "status", "nonsense").await, 400, "{path}");
        }
    }
}
