//! The errors of GitHub's API: their status, message and JSON. They do not know the request.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
    errors: Vec<Value>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new() }
    }

    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// GitHub's answer to a body in which a field is missing or malformed.
    pub(super) fn invalid_request(reason: impl std::fmt::Display) -> Self {
        Self::unprocessable(format!("Invalid request.\n\n{reason}"))
    }

    /// GitHub's answer to a field with an invalid value.
    pub(super) fn validation_failed(resource: &str, field: &str, code: &str) -> Self {
        let mut error = Self::unprocessable("Validation Failed");
        error.errors.push(json!({ "resource": resource, "field": field, "code": code }));
        error
    }

    /// GitHub's answer to fields that are valid on their own and not together.
    pub(super) fn validation_message(resource: &str, message: &str) -> Self {
        let mut error = Self::unprocessable("Validation Failed");
        error.errors.push(json!({ "resource": resource, "code": "custom", "message": message }));
        error
    }

    /// Refusals of reviews have a form of their own: the reason is a bare string.
    pub(super) fn unprocessable_because(reason: &str) -> Self {
        let mut error = Self::unprocessable("Unprocessable Entity");
        error.errors.push(reason.into());
        error
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(super) fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    /// The error for a person, who sees neither the status nor the JSON.
    pub(super) fn sentence(&self) -> String {
        let reason =
            |error: &Value| match (error.as_str().or_else(|| error["message"].as_str()), error["field"].as_str()) {
                (Some(message), _) => Some(message.to_owned()),
                (None, Some(field)) => Some(format!("{}: the {field} is not right.", self.message)),
                (None, None) => None,
            };
        self.errors.iter().find_map(reason).unwrap_or_else(|| self.message.clone())
    }

    pub(super) fn empty_repository() -> Self {
        Self::new(StatusCode::CONFLICT, "Git Repository is empty.")
    }
}

impl From<git2::Error> for ApiError {
    fn from(error: git2::Error) -> Self {
        tracing::error!(%error, "the simulated GitHub's object store failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.as_str(),
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors);
        }
        (self.status, Json(body)).into_response()
    }
}
