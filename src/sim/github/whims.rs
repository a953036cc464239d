//! A GitHub in a bad mood: for the next requests that match, another answer, before or after the effect, or a pause.
//! The named faults are for people; these are for tests, which must meet every status that GitHub has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    BeforeTheEffect,
    AfterTheEffect,
}

#[derive(Clone, Debug)]
pub enum Whim {
    /// This status with this message and these headers.
    Answers(u16, &'static str, Vec<(&'static str, String)>),
    /// The connection is closed without an answer.
    HangsUp,
    /// Waits until it is [released](Whims::release), then goes on as usual.
    Holds,
}

#[derive(Debug)]
struct Planned {
    method: Method,
    path: &'static str,
    when: When,
    whim: Whim,
    left: u32,
}

/// Clones share them.
#[derive(Clone, Debug)]
pub struct Whims(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    planned: Mutex<Vec<Planned>>,
    requests: Mutex<Vec<String>>,
    released: watch::Sender<bool>,
}

impl Default for Whims {
    fn default() -> Self {
        let (released, _) = watch::channel(true);
        Self(Arc::new(Inner { planned: Mutex::default(), requests: Mutex::default(), released }))
    }
}

impl Whims {
    /// The next `times` requests of this method whose path has `path` in it suffer the whim.
    pub fn plan(&self, method: &str, path: &'static str, when: When, whim: Whim, times: u32) {
        if matches!(whim, Whim::Holds) {
            self.0.released.send_replace(false);
        }
        let method = method.parse().unwrap_or(Method::GET);
        lock(&self.0.planned).push(Planned { method, path, when, whim, left: times });
    }

    /// Lets go of everything that is held.
    pub fn release(&self) {
        lock(&self.0.planned).retain(|planned| !matches!(planned.whim, Whim::Holds));
        self.0.released.send_replace(true);
    }

    /// Somebody came to what was planned to hold them, and waits.
    pub fn is_holding(&self) -> bool {
        !*self.0.released.borrow() && !lock(&self.0.planned).iter().any(|one| matches!(one.whim, Whim::Holds))
    }

    /// Plans nothing any more.
    pub fn forget(&self) {
        lock(&self.0.planned).clear();
        self.0.released.send_replace(true);
    }

    /// Every request that came, as in `POST /repos/acme/checkout/merges`, oldest first.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.0.requests).clone()
    }

    fn next(&self, method: &Method, path: &str, when: When) -> Option<Whim> {
        let mut planned = lock(&self.0.planned);
        let here = |one: &Planned| one.method == *method && path.contains(one.path) && one.when == when;
        let at = planned.iter().position(here)?;
        planned[at].left = planned[at].left.saturating_sub(1);
        if planned[at].left == 0 { Some(planned.remove(at).whim) } else { Some(planned[at].whim.clone()) }
    }

    async fn held(&self) {
        // The sender lives as long as we do.
        let _ = self.0.released.subscribe().wait_for(|released| *released).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn suffer(State(whims): State<Whims>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    lock(&whims.0.requests).push(format!("{method} {path}"));
    match whims.next(&method, &path, When::BeforeTheEffect) {
        Some(Whim::Holds) => whims.held().await,
        Some(whim) => return answer(whim),
        None => {}
    }
    let response = next.run(request).await;
    match whims.next(&method, &path, When::AfterTheEffect) {
        Some(Whim::Holds) => {
            whims.held().await;
            response
        }
        Some(whim) => answer(whim),
        None => response,
    }
}

fn answer(whim: Whim) -> Response {
    match whim {
        Whim::Answers(status, message, headers) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let body: Value = json!({ "message": message, "documentation_url": "https://docs.github.com/rest" });
            let mut response = (status, Json(body)).into_response();
            for (name, value) in headers {
                if let Ok(value) = HeaderValue::from_str(&value) {
                    response.headers_mut().insert(HeaderName::from_static(name), value);
                }
            }
            response
        }
        // A body that breaks off is the nearest to a connection that is cut.
        Whim::HangsUp | Whim::Holds => {
            let broken = futures::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("cut"))]);
            axum::body::Body::from_stream(broken).into_response()
        }
    }
}
