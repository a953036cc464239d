//! How a whole service behaves, whatever is asked of it: by which clock it dates its answers, whether it answers at all, and
//! whether what it answers makes sense. Each is as good as gold until a test says otherwise.

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

/// Clones share them.
#[derive(Clone)]
pub struct ServiceFaults(Arc<Inner>);

struct Inner {
    clock: Clock,
    /// Seconds.
    clock_offset_seconds: AtomicI64,
    is_hanging: AtomicBool,
    returns_html: AtomicBool,
}

impl ServiceFaults {
    pub fn new(clock: Clock) -> Self {
        let (hangs, garbles) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Inner {
            clock,
            clock_offset_seconds: AtomicI64::new(0),
            is_hanging: hangs,
            returns_html: garbles,
        }))
    }

    /// Its clock goes wrong.
    pub fn set_clock_ahead(&self, by: SignedDuration) {
        self.0.clock_offset_seconds.store(by.as_secs(), Ordering::SeqCst);
    }

    /// It takes requests and never answers.
    pub fn set_hanging(&self, enabled: bool) {
        self.0.is_hanging.store(enabled, Ordering::SeqCst);
    }

    /// It answers everything with a page for people, as a proxy in the way does.
    pub fn set_returns_html(&self, enabled: bool) {
        self.0.returns_html.store(enabled, Ordering::SeqCst);
    }

    pub(super) fn wrap_router(&self, service: Router) -> Router {
        service.layer(from_fn_with_state(self.clone(), apply_faults))
    }
}

async fn apply_faults(State(faults): State<ServiceFaults>, request: Request, next: Next) -> Response {
    let Inner { clock, clock_offset_seconds: ahead, is_hanging: hangs, returns_html: garbles } = &*faults.0;
    if hangs.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
    let mut response = if garbles.load(Ordering::SeqCst) {
        let html = [(header::CONTENT_TYPE, "text/html")];
        (StatusCode::OK, html, "<html><body>Welcome to the guest network</body></html>").into_response()
    } else {
        next.run(request).await
    };
    let now = clock.now() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst));
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok();
    if let Some(date) = date.and_then(|date| HeaderValue::from_str(&date).ok()) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}
