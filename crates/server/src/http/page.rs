//! The page, which the binary brings along; where none was built, a few words say so, and how to get it.
//!
//! What stands under `/assets/` has the hash of its content in its name and may be kept for ever; everything else is
//! asked for again each time, and is not sent again if it is the same.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::error;

/// One file of the page, as the build script found it.
struct Piece {
    path: &'static str,
    kind: &'static str,
    /// Of its content.
    mark: &'static str,
    /// Its name says what is in it.
    lasting: bool,
    plain: &'static [u8],
    /// The same, packed, where that is smaller.
    packed: Option<&'static [u8]>,
}

static PAGE: &[Piece] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Nothing comes from elsewhere, and nobody puts it into a frame. Styles may stand in elements: what is drawn to
/// measure needs that.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
);
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// Whether this binary brings the page along.
pub(crate) fn is_built() -> bool {
    PAGE.iter().any(|piece| piece.lasting)
}

/// The page, at the front door.
#[utoipa::path(
    get, path = "/", tag = "system",
    responses((status = 200, description = "A page", content_type = "text/html", body = String)),
    security(())
)]
pub(super) async fn front(headers: HeaderMap) -> Response {
    serve(find("/index.html").expect("the build script always puts one there"), &headers)
}

/// A file of the page where no route is; else there is nothing.
pub(super) async fn file_or_nothing(request: Request) -> Response {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    match find(request.uri().path()).filter(|_| reads) {
        Some(piece) => serve(piece, request.headers()),
        None => error::no_such_route().into_response(),
    }
}

/// By its whole path and nothing else: there is no folder to climb out of.
fn find(path: &str) -> Option<&'static Piece> {
    PAGE.iter().find(|piece| piece.path == path)
}

fn serve(piece: &Piece, asked: &HeaderMap) -> Response {
    let packed = piece.packed.filter(|_| takes_gzip(asked));
    let tag = format!("\"{}{}\"", piece.mark, if packed.is_some() { "-gz" } else { "" });
    let mut response = if is_known(asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(Bytes::from_static(packed.unwrap_or(piece.plain))).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(piece.kind));
    headers.insert(header::CACHE_CONTROL, if piece.lasting { FOR_EVER } else { ASK_AGAIN });
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    if packed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether the asker takes what is packed: it says so, and does not take it back with a weight of nothing.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let words = asked.get_all(header::ACCEPT_ENCODING).into_iter();
    let words = words.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    words.map(|word| word.split(';').map(str::trim)).any(|mut parts| {
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
            && !parts.any(|weight| {
                weight.strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0_f32))
            })
    })
}

/// Whether the asker has it already.
fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let tags = asked.get_all(header::IF_NONE_MATCH).into_iter();
    let mut tags = tags.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    tags.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn who_takes_it_packed() {
        let takes = |value| takes_gzip(&headers(header::ACCEPT_ENCODING, value));
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate,gzip , br"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("gzip; q=0.0") && !takes("xgzip"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn who_has_it_already() {
        let known = |value| is_known(&headers(header::IF_NONE_MATCH, value), "\"a\"");
        assert!(known("\"a\"") && known("W/\"a\"") && known("\"b\", \"a\"") && known("*"));
        assert!(!known("\"a-gz\"") && !known("a") && !is_known(&HeaderMap::new(), "\"a\""));
    }

    #[test]
    fn a_piece_is_sent_as_it_is_asked_for() {
        let (path, kind, mark) = ("/assets/x.js", "text/javascript", "1");
        let (plain, packed): (&[u8], &[u8]) = (b"plain", b"packed");
        let mut piece = Piece { path, kind, mark, lasting: false, plain, packed: Some(packed) };
        let plain = serve(&piece, &HeaderMap::new());
        let packed = serve(&piece, &headers(header::ACCEPT_ENCODING, "gzip"));
        assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        assert_ne!(plain.headers()[header::ETAG], packed.headers()[header::ETAG]);
        assert_eq!(plain.headers()[header::CACHE_CONTROL], ASK_AGAIN);
        piece.lasting = true;
        assert_eq!(serve(&piece, &HeaderMap::new()).headers()[header::CACHE_CONTROL], FOR_EVER);
    }
}
