//! Which names the server answers to, and which pages may use it.
//!
//! A page on another site can make a browser talk to `localhost`, or point a name of its own at this machine. So a
//! request must call the server by one of its names, and if it comes from a page, from one of ours or a configured
//! one. There are no cookies, so there is nothing to ride on; this keeps even the attempt out.

use std::net::SocketAddr;
use std::sync::Arc;

use artel_engine::{Error, Kind};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::Http;
use super::error::Refusal;

/// The names the server answers to.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// With their port.
    own: Arc<[String]>,
    /// Configured; without a port any will do, as a proxy may stand in front.
    configured: Arc<[String]>,
    origins: Arc<[String]>,
}

impl Hosts {
    pub(crate) fn new(listen: SocketAddr, configured: &[String], origins: &[String]) -> Self {
        let port = listen.port();
        let mut own = vec![listen.to_string()];
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            own.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
        }
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { own: own.into(), configured: lower(configured), origins: lower(origins) }
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = match host.rfind(':') {
            Some(colon) if !host.ends_with(']') => &host[..colon],
            Some(_) | None => host.as_str(),
        };
        self.own.contains(&host)
            || self.configured.iter().any(|known| *known == host || known == name)
    }

    /// Whether a page of this origin may ask, when the server is called `host`.
    fn welcomes(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let same = ["http://", "https://"].iter().any(|scheme| {
            origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        });
        same || self.origins.contains(&origin)
    }
}

/// Turns away requests that call the server by a name that is not its own, or come from a page that is not.
pub(super) async fn check(State(http): State<Http>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let hosts = &http.0.hosts;
    if !hosts.knows(host) {
        let message = "The server does not go by this name; add it to allowed_hosts if it should";
        return Refusal::from(Error::new(Kind::Forbidden, "host_not_allowed", message))
            .into_response();
    }
    if let Some(origin) = headers.get(header::ORIGIN)
        && !origin.to_str().is_ok_and(|origin| hosts.welcomes(origin, host))
    {
        let message =
            "Pages of this origin may not use the server; add it to cors_origins if they should";
        return Refusal::from(Error::new(Kind::Forbidden, "origin_not_allowed", message))
            .into_response();
    }
    let docs = request.uri().path().starts_with("/docs");
    let mut response = next.run(request).await;
    let policy = if docs {
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
    } else {
        "default-src 'none'; frame-ancestors 'none'"
    };
    let headers = response.headers_mut();
    // The page brings its own.
    let own = headers.entry(header::CONTENT_SECURITY_POLICY);
    own.or_insert(HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// What browsers are told about pages of other origins: the configured ones may, nobody else.
pub(super) fn cors(origins: &[String]) -> CorsLayer {
    let origins: Vec<_> =
        origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
        ])
        .expose_headers([header::RETRY_AFTER, HeaderName::from_static("x-request-id")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_origins() {
        let listen = "127.0.0.1:8787".parse().unwrap();
        let hosts = Hosts::new(
            listen,
            &["Artel.example.org".to_owned()],
            &["https://app.example.org".to_owned()],
        );
        for host in [
            "127.0.0.1:8787",
            "localhost:8787",
            "LOCALHOST:8787",
            "[::1]:8787",
            "artel.example.org",
            "artel.example.org:444",
        ] {
            assert!(hosts.knows(host), "{host}");
        }
        for host in [
            "",
            "localhost",
            "localhost:80",
            "evil.test",
            "evil.test:8787",
            "127.0.0.1.evil.test:8787",
            "artel.example.org.evil.test",
        ] {
            assert!(!hosts.knows(host), "{host}");
        }
        assert!(hosts.welcomes("http://localhost:8787", "localhost:8787"));
        assert!(hosts.welcomes("https://app.example.org", "localhost:8787"));
        for origin in [
            "null",
            "http://evil.test",
            "http://localhost:3000",
            "https://app.example.org.evil.test",
            "",
        ] {
            assert!(!hosts.welcomes(origin, "localhost:8787"), "{origin}");
        }
    }
}
