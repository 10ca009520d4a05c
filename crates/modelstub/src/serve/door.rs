//! Who may ask: the key, in the place where each provider wants it.

use axum::http::{HeaderMap, header};

use crate::wire::Wire;
use crate::wire::error::Refusal;

/// Without a key in the scenario, anyone.
pub(super) fn admit(
    key: Option<&str>,
    wire: Wire,
    headers: &HeaderMap,
    query: &str,
) -> Result<(), Refusal> {
    let Some(key) = key else {
        return Ok(());
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header(header::AUTHORIZATION.as_str())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token);
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
    let given = match wire {
        Wire::Chat | Wire::Responses | Wire::Embeddings => [bearer, None, None],
        Wire::Messages => [header("x-api-key"), bearer, None],
        Wire::Gemini => [header("x-goog-api-key"), in_query, bearer],
    };
    if given.contains(&Some(key)) {
        return Ok(());
    }
    // The messages of the providers differ for none and for a wrong one; the status does not.
    Err(Refusal { status: 401, ..Refusal::default() })
}
