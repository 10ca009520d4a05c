//! A thin client of the HTTP interface: verbs, a token, an idempotency key, event streams.
//!
//! It judges nothing: every status is an answer, and only a broken connection is an error. Tokens
//! are signed here by hand ([`sign`]), so that a test needs no process to get one, and so that a
//! test of bad tokens can make them as bad as it likes.

pub mod sse;

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sha2::Sha256;

pub use sse::{Events, Frame};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// What came back; `body` is `Null` when empty and a string when it is not JSON.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    /// The body of a 2xx; anything else is an error that shows status and body.
    pub fn success(self) -> Result<Value> {
        if !self.status.is_success() {
            bail!("{}: {}", self.status, self.body);
        }
        Ok(self.body)
    }

    /// The `id` of what was created or read.
    pub fn id(&self) -> Result<&str> {
        self.body["id"].as_str().with_context(|| format!("no id in {}: {}", self.status, self.body))
    }
}

/// Speaks for one user; clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    pub fn new(base: impl Into<String>, token: impl Into<String>) -> Result<Self> {
        // Proxies of the machine have no business between two local processes.
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT_LIMIT).build()?;
        Ok(Self { http, base: base.into(), token: token.into() })
    }

    /// The same connections, another user.
    #[must_use]
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: token.into(), ..self.clone() }
    }

    /// The same user with connections of its own.
    pub fn apart(&self) -> Result<Self> {
        Self::new(self.base.clone(), self.token.clone())
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Address and port, for those who speak HTTP by hand.
    pub fn host(&self) -> Result<&str> {
        self.base.strip_prefix("http://").context("the address is not plain HTTP")
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub async fn get(&self, path: &str) -> Result<Answer, reqwest::Error> {
        answer(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, reqwest::Error> {
        answer(self.request(Method::POST, path).json(body)).await
    }

    /// A POST that may be sent again with the same `key`.
    pub async fn post_once(
        &self,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Result<Answer, reqwest::Error> {
        let request = self.request(Method::POST, path).header(IDEMPOTENCY_KEY, key);
        answer(request.json(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer, reqwest::Error> {
        answer(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Result<Answer, reqwest::Error> {
        answer(self.request(Method::PATCH, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<Answer, reqwest::Error> {
        answer(self.request(Method::DELETE, path)).await
    }

    /// A request to add headers to; send it with [`answer`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        if self.token.is_empty() {
            return request;
        }
        request.header(AUTHORIZATION, format!("Bearer {}", self.token))
    }

    /// Follows an event stream after number `after`; dropping it cuts the connection.
    pub async fn events(&self, path: &str, after: Option<u64>) -> Result<Events> {
        let mut request = self.request(Method::GET, path).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header(LAST_EVENT_ID, after.to_string());
        }
        let response = request.send().await?;
        if response.status() != StatusCode::OK {
            bail!("{path} answered {}: {}", response.status(), response.text().await?);
        }
        Ok(Events::new(response))
    }

    /// All pages of a list; `field` names the array in the answer.
    pub async fn list(&self, path: &str, field: &str) -> Result<Vec<Value>> {
        const PAGE: usize = 100;
        let mut all = Vec::new();
        loop {
            let page = self.get(&format!("{path}?limit={PAGE}&offset={}", all.len())).await?;
            let mut body = page.success()?;
            let Value::Array(items) = body[field].take() else { bail!("no {field} in {body}") };
            let total = body["total"].as_u64().context("a list has no total")?;
            let got = items.len();
            all.extend(items);
            if got == 0 || all.len() as u64 >= total {
                return Ok(all);
            }
        }
    }
}

/// Sends a request and reads the whole answer.
pub async fn answer(request: RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.timeout(ANSWER_LIMIT).send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await?;
    Ok(Answer { status, headers, body: value(&bytes) })
}

/// A compact HS256 token over `claims`.
pub fn sign(secret: &[u8], claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&json!({"alg": "HS256", "typ": "JWT"})), part(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// A token for `subject`, good for a day.
pub fn token(secret: &[u8], subject: &str) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    sign(secret, &json!({"sub": subject, "iat": now, "exp": now + 24 * 60 * 60}))
}

/// JSON if it is JSON, else the text.
fn value(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7515, appendix A.1, with its own header and claims text.
    #[test]
    fn signs_as_the_standard_does() {
        let key = URL_SAFE_NO_PAD
            .decode(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
            )
            .unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(
            b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
        );
        let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        assert_eq!(signature, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    }

    #[test]
    fn a_token_has_three_parts() {
        assert_eq!(token(b"secret", "ada").split('.').count(), 3);
    }
}
