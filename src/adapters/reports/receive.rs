//! Webhooks of controllers, pipelines and GitHub: limited, verified with the sender's own secret, parsed, stored, and
//! only then answered.

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

use super::{BODY_LIMIT, Heard, Report, ReportError, Sender, Unread, argocd, cdevents, flux, github, signature};
use crate::adapters::reports::disposition::{Fate, Fates};
use crate::adapters::reports::generic;
use crate::domain::model::environment::EnvironmentName;
use crate::http::{read_body, refuse, without_panic};

/// Stores what was heard, once. `false`: it could not be stored, so the sender must send it again.
pub type Keep = Arc<dyn Fn(Heard) -> BoxFuture<'static, bool> + Send + Sync>;

/// The environment of that name or alias.
pub type Find = Arc<dyn Fn(&str) -> Option<EnvironmentName> + Send + Sync>;

/// GitHub's are longer than a controller's: they carry all of a pull request and of its repository.
const GITHUB_LIMIT: usize = 1024 * 1024;

/// What the doors need to know.
pub struct Doors {
    /// An environment without one is not listened to.
    pub secrets: BTreeMap<EnvironmentName, SecretString>,
    /// Without one, GitHub is not listened to.
    pub github: Option<SecretString>,
    pub find: Find,
    pub keep: Keep,
    pub fates: Fates,
}

pub fn router(doors: Doors) -> Router {
    Router::new()
        .route("/webhooks/flux/{environment}", post(from_flux))
        .route("/webhooks/argocd/{environment}", post(from_argocd))
        .route("/webhooks/deployments", post(from_deployments))
        .route("/webhooks/cdevents", post(from_cdevents))
        .route("/webhooks/github", post(from_github))
        .with_state(Arc::new(doors))
}

type Here = State<Arc<Doors>>;

async fn from_flux(State(doors): Here, Path(environment): Path<String>, request: Request) -> Response {
    let span = span(Sender::Flux, &request);
    without_panic(doors.counted(Sender::Flux, doors.take_by_path(Sender::Flux, &environment, request)).instrument(span))
        .await
}

async fn from_argocd(State(doors): Here, Path(environment): Path<String>, request: Request) -> Response {
    let span = span(Sender::ArgoCd, &request);
    without_panic(
        doors.counted(Sender::ArgoCd, doors.take_by_path(Sender::ArgoCd, &environment, request)).instrument(span),
    )
    .await
}

async fn from_deployments(State(doors): Here, request: Request) -> Response {
    let span = span(Sender::Deployments, &request);
    without_panic(
        doors.counted(Sender::Deployments, doors.take_by_secret(Sender::Deployments, request)).instrument(span),
    )
    .await
}

async fn from_cdevents(State(doors): Here, request: Request) -> Response {
    let span = span(Sender::CdEvents, &request);
    without_panic(doors.counted(Sender::CdEvents, doors.take_by_secret(Sender::CdEvents, request)).instrument(span))
        .await
}

async fn from_github(State(doors): Here, request: Request) -> Response {
    let span = span(Sender::GitHub, &request);
    without_panic(doors.counted(Sender::GitHub, doors.take_from_github(request)).instrument(span)).await
}

impl Doors {
    /// What becomes of one that is kept is known later, by whoever works it off.
    async fn counted(&self, sender: Sender, taken: impl Future<Output = Response>) -> Response {
        let response = taken.await;
        let fate = match response.status() {
            StatusCode::UNAUTHORIZED => Some(Fate::Refused),
            StatusCode::BAD_REQUEST => Some(Fate::Unreadable),
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => Some(Fate::Broken),
            StatusCode::NO_CONTENT => Some(Fate::Ignored),
            StatusCode::SERVICE_UNAVAILABLE => Some(Fate::NotKept),
            _ => None,
        };
        if let Some(fate) = fate {
            tracing::debug!(fate = fate.as_str(), "a webhook is not kept");
            self.fates.met(sender, fate);
        }
        response
    }

    /// Where the address names the environment. Argo CD cannot sign; Flux does, unless its provider is the plain `generic`.
    async fn take_by_path(&self, sender: Sender, environment: &str, request: Request) -> Response {
        // One answer for an environment that has no secret and for one that is not there: nobody learns which it was.
        let unsigned = || refuse(StatusCode::UNAUTHORIZED, "The report does not come with this environment's secret.");
        let environment = EnvironmentName::new(environment);
        let Some(secret) = self.secrets.get(&environment) else { return unsigned() };
        let signed = header(&request, "x-signature").filter(|_| sender == Sender::Flux);
        let bearer = header(&request, "authorization");
        // A signature that is there must be right, whatever stands beside it.
        if signed.is_none() && !bearer.is_some_and(|bearer| signature::verify_bearer(&bearer, secret)) {
            return unsigned();
        }
        let body = match read_body(request, BODY_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        if signed.is_some_and(|signed| !signature::verify_hmac(&signed, &body, secret)) {
            return unsigned();
        }
        self.take(sender, environment, &body).await
    }

    /// Where the secret names the environment, whatever the body says.
    async fn take_by_secret(&self, sender: Sender, request: Request) -> Response {
        let unsigned = || {
            let words = "The report is not signed with any environment's secret: send `X-Signature: sha256=<hex>`, \
                         the HMAC of the body.";
            refuse(StatusCode::UNAUTHORIZED, words)
        };
        let Some(signed) = header(&request, "x-signature") else { return unsigned() };
        let body = match read_body(request, BODY_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        // All of them are tried, so that the time tells nobody which it was.
        let verified = self.secrets.iter().filter(|(_, secret)| signature::verify_hmac(&signed, &body, secret));
        let Some((environment, _)) = verified.last() else { return unsigned() };
        self.take(sender, environment.clone(), &body).await
    }

    async fn take(&self, sender: Sender, environment: EnvironmentName, body: &Bytes) -> Response {
        match parse(sender, &environment, body) {
            Ok(Some(report)) => self.keep(Heard::Report(Box::new(report))).await,
            Ok(None) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => self.cannot_read(Some(environment), sender, error.to_string(), body).await,
        }
    }

    async fn take_from_github(&self, request: Request) -> Response {
        let unsigned = || refuse(StatusCode::UNAUTHORIZED, "The webhook is not signed with GITHUB_WEBHOOK_SECRET.");
        let (signed, event) = (header(&request, "x-hub-signature-256"), header(&request, "x-github-event"));
        let (Some(secret), Some(signed)) = (&self.github, signed) else { return unsigned() };
        let body = match read_body(request, GITHUB_LIMIT).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        if !signature::verify_hmac(&signed, &body, secret) {
            return unsigned();
        }
        match github::parse(&event.unwrap_or_default(), &body, |name| (self.find)(name)) {
            Ok(Some(heard)) => self.keep(heard).await,
            Ok(None) => StatusCode::NO_CONTENT.into_response(),
            Err(wrong) => self.cannot_read(None, Sender::GitHub, wrong, &body).await,
        }
    }

    async fn keep(&self, heard: Heard) -> Response {
        if (self.keep)(heard).await {
            StatusCode::ACCEPTED.into_response()
        } else {
            refuse(StatusCode::SERVICE_UNAVAILABLE, "It could not be kept. Please send it again.")
        }
    }

    /// Whoever has the secret meant to tell us something: the people who set it up must learn that it does not work.
    async fn cannot_read(
        &self,
        environment: Option<EnvironmentName>,
        sender: Sender,
        why: String,
        body: &[u8],
    ) -> Response {
        let refusal = refuse(StatusCode::BAD_REQUEST, &why);
        (self.keep)(Heard::Unread(Unread::new(environment, sender, why, body))).await;
        refusal
    }
}

fn parse(sender: Sender, environment: &EnvironmentName, body: &[u8]) -> Result<Option<Report>, ReportError> {
    match sender {
        Sender::Flux => flux::parse(environment, body).map(Some),
        Sender::ArgoCd => argocd::parse(environment, body).map(Some),
        Sender::Deployments => generic::parse(environment, body).map(Some),
        Sender::CdEvents => cdevents::parse(environment, body),
        // It has a door of its own.
        Sender::GitHub => Ok(None),
    }
}

/// By what its sender or a proxy calls it, where that is a name and not an essay.
fn span(sender: Sender, request: &Request) -> Span {
    let sane = |name: &String| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let delivery = header(request, "x-github-delivery").or_else(|| header(request, "x-request-id")).filter(sane);
    tracing::error_span!("webhook", source = sender.word(), delivery)
}

fn header(request: &Request, name: &str) -> Option<String> {
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

    async fn told(kept: bool, path: &str, event: &str, body: &str) -> u16 {
        let doors = Doors {
            secrets: BTreeMap::from([(EnvironmentName::new("qa"), "secret".into())]),
            github: Some("secret".into()),
            find: Arc::new(|name| Some(EnvironmentName::new(name))),
            keep: Arc::new(move |_| Box::pin(async move { kept })),
            fates: Fates::default(),
        };
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"secret").unwrap().chain_update(body);
        let signature = format!("sha256={}", crate::adapters::reports::hex(&mac.finalize().into_bytes()));
        let mut request = Request::post(path).header("x-github-event", event);
        request = match path {
            "/webhooks/argocd/qa" => request.header("authorization", "Bearer secret"),
            "/webhooks/github" => request.header("x-hub-signature-256", signature),
            _ => request.header("x-signature", signature),
        };
        let request = request.body(Body::from(body.to_owned())).unwrap();
        router(doors).oneshot(request).await.unwrap().status().as_u16()
    }

    /// Whoever hears a 202 does not send it again, so it is said only of what is stored.
    #[tokio::test]
    async fn what_cannot_be_stored_is_to_be_sent_again() {
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
            assert_eq!(told(true, path, event, body).await, 202, "{path} {event}");
            assert_eq!(told(false, path, event, body).await, 503, "{path} {event}");
            assert_eq!(told(false, path, "status", "nonsense").await, 400, "{path}");
        }
    }
}
