//! The models there are, as each provider lists them.

use serde_json::{Value, json};

use crate::wire::Wire;

const CREATED: u64 = 1_735_689_600;
const CREATED_AT: &str = "2025-01-01T00:00:00Z";

pub(super) fn all(wire: Wire, query: &str, models: &[String]) -> Value {
    let entries: Vec<Value> = models.iter().map(|model| entry(wire, model)).collect();
    match wire {
        // Codex asks like this, for a list of its own format; it can do without.
        Wire::Chat | Wire::Responses if query.contains("client_version=") => json!({"models": []}),
        Wire::Chat | Wire::Responses | Wire::Embeddings => {
            json!({"object": "list", "data": entries})
        }
        Wire::Messages => json!({
            "data": entries,
            "has_more": false,
            "first_id": models.first(),
            "last_id": models.last(),
        }),
        Wire::Gemini => json!({"models": entries}),
    }
}

pub(super) fn one(wire: Wire, name: &str, models: &[String]) -> Option<Value> {
    models.iter().find(|model| *model == name).map(|model| entry(wire, model))
}

fn entry(wire: Wire, model: &str) -> Value {
    match wire {
        Wire::Chat | Wire::Responses | Wire::Embeddings => {
            json!({"id": model, "object": "model", "created": CREATED, "owned_by": "stub"})
        }
        Wire::Messages => json!({
            "type": "model", "id": model, "display_name": model, "created_at": CREATED_AT,
        }),
        Wire::Gemini => json!({
            "name": format!("models/{model}"),
            "version": "001",
            "displayName": model,
            "description": "A model for tests",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
    }
}
