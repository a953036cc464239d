//! Faults of a whole service, for all requests: a wrong clock in its `Date` header, no answers, or answers in HTML.
//! A service has none of them until a test sets one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::clock::Clock;

/// Clones share the faults.
#[derive(Clone)]
pub struct ServiceFaults(Arc<Inner>);

struct Inner {
    clock: Clock,
    clock_offset_seconds: AtomicI64,
    is_hanging: AtomicBool,
    returns_html: AtomicBool,
}

impl ServiceFaults {
    pub fn new(clock: Clock) -> Self {
        let (is_hanging, returns_html) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Inner { clock, clock_offset_seconds: AtomicI64::new(0), is_hanging, returns_html }))
    }

    /// Sets how far the service's clock is ahead.
    pub fn set_clock_ahead(&self, by: SignedDuration) {
        self.0.clock_offset_seconds.store(by.as_secs(), Ordering::SeqCst);
    }

    /// While enabled, the service accepts requests and never answers.
    pub fn set_hanging(&self, enabled: bool) {
        self.0.is_hanging.store(enabled, Ordering::SeqCst);
    }

    /// While enabled, the service answers all requests with an HTML page, as an intercepting proxy does.
    pub fn set_returns_html(&self, enabled: bool) {
        self.0.returns_html.store(enabled, Ordering::SeqCst);
    }

    pub(super) fn wrap_router(&self, service: Router) -> Router {
        service.layer(from_fn_with_state(self.clone(), apply_faults))
    }
}

async fn apply_faults(State(faults): State<ServiceFaults>, request: Request, next: Next) -> Response {
    let Inner { clock, clock_offset_seconds: offset, is_hanging, returns_html } = &*faults.0;
    if is_hanging.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
    let mut response = if returns_html.load(Ordering::SeqCst) {
        let html = [(header::CONTENT_TYPE, "text/html")];
        (StatusCode::OK, html, "<html><body>Welcome to the guest network</body></html>").into_response()
    } else {
        next.run(request).await
    };
    let now = clock.now() + SignedDuration::from_secs(offset.load(Ordering::SeqCst));
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok();
    if let Some(date) = date.and_then(|date| HeaderValue::from_str(&date).ok()) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}
