//! Errors as people and programs get them: `{"detail", "error_code", "timestamp"}`, and for bodies that are not
//! valid every field that is not.

use std::any::Any;

use artel_domain::{Clock, SystemClock, Timestamp};
use artel_engine::{Error, Field, Kind};
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

/// An answer that says why not.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: Error,
}

pub(super) type Answer<T> = Result<T, Refusal>;

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    /// For people.
    #[schema(example = "Project not found")]
    detail: String,
    /// For programs.
    #[schema(example = "not_found")]
    error_code: &'static str,
    timestamp: Timestamp,
    /// What is wrong with which field, when the request is not valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Field>,
}

impl Refusal {
    /// An error whose status is not that of its kind.
    pub(super) fn with_status(status: StatusCode, error: Error) -> Self {
        Self { status, error }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.kind {
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
            Kind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::Busy => StatusCode::TOO_MANY_REQUESTS,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, error }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, error } = self;
        if status.is_server_error() {
            let source =
                std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(code = error.code, %error, source, "request failed");
        }
        let retry_after = error.retry_after;
        let body = ErrorBody {
            detail: error.message,
            error_code: error.code,
            timestamp: SystemClock.now(),
            errors: error.fields,
        };
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(wait) = retry_after {
            // Rounded up: who comes back after a whole second must find the door open.
            let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(super) fn no_such_route() -> Refusal {
    Refusal::from(Error::new(
        Kind::NotFound,
        "no_such_route",
        "There is no such route; GET /docs lists those there are",
    ))
}

pub(super) async fn no_such_method() -> Refusal {
    let error =
        Error::new(Kind::Invalid, "method_not_allowed", "This route does not take this method");
    Refusal::with_status(StatusCode::METHOD_NOT_ALLOWED, error)
}

#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Refusal::from(Error::internal(format!("a handler panicked: {said}"))).into_response()
}
