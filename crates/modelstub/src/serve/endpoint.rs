//! What a path is for.
//!
//! Paths are looked at from their end, so that any base URL works: `/v1/chat/completions` as well
//! as `/chat/completions` or `/openai/v1/chat/completions`.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};

use crate::wire::{Wire, gemini};

/// What a path is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    Ask(Wire),
    CountTokens(Wire),
    Models(Wire),
    Model(Wire, String),
    /// Some programs look whether anyone is there.
    Root,
    Unknown(Wire),
}

impl Endpoint {
    pub(super) fn of(head: &Parts) -> Self {
        let path = head.uri.path().trim_end_matches('/');
        let wire = guess(path, &head.headers);
        if head.method != Method::POST {
            return Self::of_reading(path, wire);
        }
        if let Some((_, call)) = gemini::call_of(path) {
            return match call {
                "generateContent" | "streamGenerateContent" => Self::Ask(Wire::Gemini),
                "countTokens" => Self::CountTokens(Wire::Gemini),
                _ => Self::Unknown(Wire::Gemini),
            };
        }
        let ends = [
            ("/messages/count_tokens", Self::CountTokens(Wire::Messages)),
            ("/messages", Self::Ask(Wire::Messages)),
            ("/chat/completions", Self::Ask(Wire::Chat)),
            ("/responses", Self::Ask(Wire::Responses)),
            ("/embeddings", Self::Ask(Wire::Embeddings)),
        ];
        let found = ends.into_iter().find(|(end, _)| path.ends_with(end));
        found.map_or(Self::Unknown(wire), |(_, endpoint)| endpoint)
    }

    fn of_reading(path: &str, wire: Wire) -> Self {
        if path.is_empty() {
            return Self::Root;
        }
        if path.ends_with("/models") {
            return Self::Models(wire);
        }
        match path.rsplit_once("/models/") {
            Some((_, name)) => Self::Model(wire, name.to_owned()),
            None => Self::Unknown(wire),
        }
    }

    pub(super) fn wire(&self) -> Wire {
        match self {
            Self::Ask(wire)
            | Self::CountTokens(wire)
            | Self::Models(wire)
            | Self::Model(wire, _)
            | Self::Unknown(wire) => *wire,
            Self::Root => Wire::Chat,
        }
    }
}

/// Whose service is meant where the path does not say.
fn guess(path: &str, headers: &HeaderMap) -> Wire {
    if path.starts_with("/v1beta") || headers.contains_key("x-goog-api-key") {
        Wire::Gemini
    } else if path.contains("/messages")
        || headers.contains_key("anthropic-version")
        || headers.contains_key("x-api-key")
    {
        Wire::Messages
    } else {
        Wire::Chat
    }
}
