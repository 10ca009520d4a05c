//! How the wires reach a service: one shared client, and an address with its key.
//!
//! HTTP/1.1 over rustls with the certificates of the system. No redirect is followed, since it would carry the key
//! elsewhere; the key goes only into the header of its service, and is shown nowhere.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::chat::Error;

/// Connections are kept this long for the next call of an agent at work.
const IDLE: Duration = Duration::from_mins(1);
const CONNECT: Duration = Duration::from_secs(10);

/// A client to share: it keeps the connections.
#[derive(Clone)]
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Http {
    pub fn new() -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { client }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

/// An address or a key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    #[error("is not an http or https address")]
    Address,
    #[error("must not carry a user name or password")]
    Userinfo,
    #[error("is not a key: it has characters that no key has")]
    Key,
}

/// How a service wants its key.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyIn {
    Bearer,
    Header(&'static str),
}

/// Where a service is, and the key to it.
pub(super) struct Endpoint {
    http: Http,
    /// Without a slash at the end.
    base: String,
    host: String,
    key: Option<SecretString>,
    key_in: KeyIn,
}

impl Endpoint {
    pub(super) fn new(
        http: Http,
        base: &str,
        key: Option<SecretString>,
        key_in: KeyIn,
    ) -> Result<Self, Bad> {
        let base = base.trim().trim_end_matches('/').to_owned();
        let uri: Uri = base.parse().map_err(|_| Bad::Address)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(Bad::Address);
        }
        let host = uri.authority().ok_or(Bad::Address)?.as_str().to_owned();
        if host.contains('@') {
            return Err(Bad::Userinfo);
        }
        let key = key.filter(|key| !key.expose_secret().trim().is_empty());
        let endpoint = Self { http, base, host, key, key_in };
        if endpoint.key.is_some() && endpoint.credential().is_none() {
            return Err(Bad::Key);
        }
        Ok(endpoint)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn key(&self) -> Option<&SecretString> {
        self.key.as_ref()
    }

    /// Sends a question and waits for the head of the answer.
    pub(super) async fn post(
        &self,
        path: &str,
        accept: &'static str,
        extra: Option<(&'static str, &'static str)>,
        body: &Value,
    ) -> Result<Response<Incoming>, Error> {
        let mut request = http::Request::post(format!("{}{path}", self.base))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .header(USER_AGENT, concat!("artel/", env!("CARGO_PKG_VERSION")));
        if let Some((name, value)) = extra {
            request = request.header(name, value);
        }
        if let Some((name, value)) = self.credential() {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::from(body.to_string()))
            .map_err(|_| Error::Unreachable("the address is not valid".to_owned()))?;
        self.http.client.request(request).await.map_err(|error| Error::Unreachable(causes(&error)))
    }

    fn credential(&self) -> Option<(HeaderName, HeaderValue)> {
        let key = self.key.as_ref()?.expose_secret().trim();
        let (name, text) = match self.key_in {
            KeyIn::Bearer => (http::header::AUTHORIZATION, format!("Bearer {key}")),
            KeyIn::Header(name) => (HeaderName::from_static(name), key.to_owned()),
        };
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.host)
    }
}

/// An error with what caused it: the outermost alone says only that something failed.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_and_keys_are_checked_at_once_and_never_shown() {
        let at = |base: &str, key: &str| {
            Endpoint::new(Http::new(), base, Some(key.to_owned().into()), KeyIn::Bearer)
        };
        let good = at("https://models.example/v1/", "sk-canary\n").unwrap();
        assert_eq!((good.base(), good.host()), ("https://models.example/v1", "models.example"));
        let (_, value) = good.credential().unwrap();
        assert!(!format!("{good:?} {value:?}").contains("canary"));

        assert_eq!(at("models.example", "k").unwrap_err(), Bad::Address);
        assert_eq!(at("ftp://models.example", "k").unwrap_err(), Bad::Address);
        assert_eq!(at("http://me:secret@models.example", "k").unwrap_err(), Bad::Userinfo);
        assert_eq!(at("http://models.example", "two\nlines").unwrap_err(), Bad::Key);
        assert!(at("http://models.example", " ").unwrap().key().is_none());
    }
}
