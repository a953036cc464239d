//! Faults of single requests to GitHub: another answer, before or after the effect, or a pause. The faults in
//! `sim::faults` are for people. These are for tests, which need every status that GitHub has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTiming {
    BeforeEffect,
    AfterEffect,
}

#[derive(Clone, Debug)]
pub enum RequestFault {
    /// This status with this message and these headers.
    Reply(u16, &'static str, Vec<(&'static str, String)>),
    /// The connection is closed without an answer.
    Disconnect,
    /// Waits until [`RequestFaults::resume`], then continues as usual.
    Pause,
}

#[derive(Debug)]
struct InjectedFault {
    method: Method,
    path: &'static str,
    timing: FaultTiming,
    fault: RequestFault,
    left: u32,
}

/// Clones share the faults.
#[derive(Clone, Debug)]
pub struct RequestFaults(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    injected: Mutex<Vec<InjectedFault>>,
    requests: Mutex<Vec<String>>,
    resumed: watch::Sender<bool>,
}

impl Default for RequestFaults {
    fn default() -> Self {
        let (resumed, _) = watch::channel(true);
        Self(Arc::new(Inner { injected: Mutex::default(), requests: Mutex::default(), resumed }))
    }
}

impl RequestFaults {
    /// Applies the fault to the next `times` requests with this method and with `path` in their path.
    pub fn inject(&self, method: &str, path: &'static str, timing: FaultTiming, fault: RequestFault, times: u32) {
        if matches!(fault, RequestFault::Pause) {
            self.0.resumed.send_replace(false);
        }
        let method = method.parse().unwrap_or(Method::GET);
        lock(&self.0.injected).push(InjectedFault { method, path, timing, fault, left: times });
    }

    /// Continues all paused requests.
    pub fn resume(&self) {
        lock(&self.0.injected).retain(|injected| !matches!(injected.fault, RequestFault::Pause));
        self.0.resumed.send_replace(true);
    }

    /// Whether a request met its planned pause and waits.
    pub fn has_paused_request(&self) -> bool {
        !*self.0.resumed.borrow()
            && !lock(&self.0.injected).iter().any(|injected| matches!(injected.fault, RequestFault::Pause))
    }

    /// Removes all planned faults.
    pub fn clear(&self) {
        lock(&self.0.injected).clear();
        self.0.resumed.send_replace(true);
    }

    /// Every request so far, such as `POST /repos/acme/checkout/merges`, oldest first.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.0.requests).clone()
    }

    fn next(&self, method: &Method, path: &str, timing: FaultTiming) -> Option<RequestFault> {
        let mut injected = lock(&self.0.injected);
        let is_match = |candidate: &InjectedFault| {
            candidate.method == *method && path.contains(candidate.path) && candidate.timing == timing
        };
        let index = injected.iter().position(is_match)?;
        injected[index].left = injected[index].left.saturating_sub(1);
        if injected[index].left == 0 { Some(injected.remove(index).fault) } else { Some(injected[index].fault.clone()) }
    }

    async fn wait_for_resume(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.resumed.subscribe().wait_for(|resumed| *resumed).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn apply_faults(State(faults): State<RequestFaults>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    lock(&faults.0.requests).push(format!("{method} {path}"));
    match faults.next(&method, &path, FaultTiming::BeforeEffect) {
        Some(RequestFault::Pause) => faults.wait_for_resume().await,
        Some(fault) => return fault_response(fault),
        None => {}
    }
    let response = next.run(request).await;
    match faults.next(&method, &path, FaultTiming::AfterEffect) {
        Some(RequestFault::Pause) => {
            faults.wait_for_resume().await;
            response
        }
        Some(fault) => fault_response(fault),
        None => response,
    }
}

fn fault_response(fault: RequestFault) -> Response {
    match fault {
        RequestFault::Reply(status, message, headers) => {
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
        // A body that breaks off is the closest equivalent of a closed connection.
        RequestFault::Disconnect | RequestFault::Pause => {
            let broken = futures::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("cut"))]);
            axum::body::Body::from_stream(broken).into_response()
        }
    }
}
