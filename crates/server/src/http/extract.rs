//! What handlers take: bodies that were checked, ids, and pages of lists.

use std::time::Duration;

use artel_engine::input::{Checked, Input};
use artel_engine::{Caller, Error, Field, IdempotencyKey, Kind, Page};
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::IntoParams;

use super::Http;
use super::error::{Answer, Refusal};

/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
/// What is still taken of a body that is too large.
const MOST_DROPPED: usize = 16 * 1024 * 1024;
const MOST: u32 = 100;
const FARTHEST: u64 = 1_000_000_000;

/// A JSON body, checked, with the key under which it is handled once.
pub(super) struct Body<T> {
    pub(super) input: Checked<T>,
    pub(super) key: Option<IdempotencyKey>,
}

impl<T: Input> FromRequest<Http> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, http: &Http) -> Answer<Self> {
        let (parts, body) = request.into_parts();
        expect_json(&parts.headers)?;
        let limit = T::LARGEST.unwrap_or(0).max(http.0.body_limit);
        let bytes = read_whole(body, limit).await?;
        let value = parse(&bytes)?;
        let key = match parts.headers.get("idempotency-key") {
            None => None,
            Some(key) => {
                let route = format!("{} {}", parts.method, parts.uri.path());
                Some(IdempotencyKey::new(key.to_str().unwrap_or_default(), &route, &value)?)
            }
        };
        Ok(Self { input: http.app().schemas().check(value)?, key })
    }
}

/// A JSON body that may be left out, which is as good as an empty object.
pub(super) struct OptionalBody<T>(pub(super) Body<T>);

impl<T: Input> FromRequest<Http> for OptionalBody<T> {
    type Rejection = Refusal;

    async fn from_request(mut request: Request, http: &Http) -> Answer<Self> {
        if request.headers().get(header::CONTENT_TYPE).is_none()
            && hyper::body::Body::is_end_stream(request.body())
        {
            request
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = axum::body::Body::from("{}");
        }
        Body::from_request(request, http).await.map(Self)
    }
}

/// A JSON body of any size, to be read as it arrives by a handler that bounds what it keeps of it.
pub(super) struct JsonStream(pub(super) axum::body::Body);

impl<S: Sync> FromRequest<S> for JsonStream {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Answer<Self> {
        expect_json(request.headers())?;
        Ok(Self(request.into_body()))
    }
}

/// Reads a body of bounded size that arrives in bounded time.
async fn read_whole(body: axum::body::Body, limit: usize) -> Answer<Bytes> {
    let refuse = |status, code, message: String| {
        Refusal::with_status(status, Error::new(Kind::Invalid, code, message))
    };
    match tokio::time::timeout(ARRIVAL, collect(body, limit)).await {
        Ok(Ok(Some(whole))) => Ok(whole),
        Ok(Ok(None)) => {
            let message = format!("The body is larger than {limit} bytes");
            Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message))
        }
        Ok(Err(_)) => {
            let message = "The body did not arrive whole".to_owned();
            Err(refuse(StatusCode::BAD_REQUEST, "body_cut_off", message))
        }
        Err(_) => {
            let message = "The body took too long to arrive".to_owned();
            Err(refuse(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message))
        }
    }
}

/// The body, or nothing when it is too large. Then the rest is read and dropped, within a bound: a connection closed
/// on a client that still sends would take the answer with it.
async fn collect(mut body: axum::body::Body, limit: usize) -> Result<Option<Bytes>, axum::Error> {
    let mut whole = BytesMut::new();
    let mut dropped = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if dropped == 0 && whole.len() + data.len() <= limit {
            whole.extend_from_slice(&data);
        } else {
            dropped += data.len();
            if dropped > MOST_DROPPED {
                break;
            }
        }
    }
    Ok((dropped == 0).then(|| whole.freeze()))
}

fn expect_json(headers: &HeaderMap) -> Answer<()> {
    let kind =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    let error = Error::new(
        Kind::Invalid,
        "not_json",
        "Send the body as JSON, with Content-Type: application/json",
    );
    Err(Refusal::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, error))
}

/// Reads JSON of bounded depth.
fn parse(bytes: &[u8]) -> Answer<Value> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        malformed(&format!("The body is not UTF-8 (at byte {})", error.valid_up_to()))
    })?;
    serde_json::from_str(text)
        .map_err(|error| malformed(&format!("The body is not valid JSON: {error}")))
}

fn malformed(message: &str) -> Refusal {
    let error = Error::new(Kind::Invalid, "malformed_json", message);
    Refusal::with_status(StatusCode::UNPROCESSABLE_ENTITY, error)
}

/// Who asks; there since [`super::auth::guard`] let the request through.
pub(super) struct Authenticated(pub(super) Caller);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller
            .map(Self)
            .ok_or_else(|| Error::internal("a route without a guard asked who called").into())
    }
}

/// Ids in the path. One that cannot be an id is answered as one that does not exist.
pub(super) struct Ids<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let ids = Path::<T>::from_request_parts(parts, state).await;
        ids.map(|Path(ids)| Self(ids)).map_err(|_| Error::not_found("object").into())
    }
}

/// Parameters after the question mark.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let found = Query::<T>::from_request_parts(parts, state).await;
        found.map(|Query(found)| Self(found)).map_err(|rejection| unreadable(&rejection).into())
    }
}

fn unreadable(rejection: &QueryRejection) -> Error {
    // The text is "Failed to deserialize query string: limit: invalid digit found in string".
    let text = rejection.body_text();
    let told = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
    let (field, message) = told.split_once(": ").unwrap_or(("query", told));
    Error::invalid(vec![Field { field: field.to_owned(), message: message.to_owned() }])
}

/// Which piece of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    /// How many at most.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: u32,
    /// How many to skip.
    #[serde(default)]
    #[param(minimum = 0, maximum = 1_000_000_000, default = 0)]
    offset: u64,
}

/// How many items a page has when nobody says.
pub(super) const fn usual() -> u32 {
    50
}

/// As many items as a page may have.
pub(super) fn limit(limit: u32) -> Answer<u32> {
    if !(1..=MOST).contains(&limit) {
        return Err(Error::invalid_field("limit", format!("must be 1 to {MOST}")).into());
    }
    Ok(limit)
}

impl Paging {
    pub(super) fn page(self) -> Answer<Page> {
        let limit = limit(self.limit)?;
        if self.offset > FARTHEST {
            return Err(Error::invalid_field("offset", format!("must be 0 to {FARTHEST}")).into());
        }
        Ok(Page { limit, offset: self.offset })
    }
}
