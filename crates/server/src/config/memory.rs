//! Where memories are kept, and what makes their vectors.

use std::path::{Path, PathBuf};

use artel_agents::embed;
use artel_storage::vectors::{Layout, Place, Server};

use super::{Mistake, Resolved, secret_text};

/// The store of vectors.
pub(super) fn place(said: &Resolved, data_dir: &Path) -> Result<Place, Mistake> {
    let layout = match said.text("qdrant_layout").as_deref() {
        Some("per_agent") => Layout::PerAgent,
        Some("shared") => Layout::Shared,
        _ => return Err(Mistake("qdrant_layout: must be per_agent or shared".to_owned())),
    };
    let Some(url) = said.text("qdrant_url") else {
        return Ok(Place::Embedded(data_dir.join("memory")));
    };
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(Mistake("qdrant_url: must start with http:// or https://".to_owned()));
    }
    Ok(Place::Qdrant(Server { url, api_key: said.text("qdrant_api_key"), layout }))
}

/// What makes vectors.
pub(super) fn embeddings(said: &Resolved, data_dir: &Path) -> Result<embed::Settings, Mistake> {
    let choice = said.text("embeddings").unwrap_or_default();
    let choice = choice.parse().map_err(|error| Mistake(format!("embeddings: {error}")))?;
    let weights = said.text("weights_dir").map(PathBuf::from);
    Ok(embed::Settings {
        choice,
        model: said.text("embedding_model"),
        dimensions: match said.number("embedding_dimensions") {
            0 => None,
            number => Some(usize::try_from(number).unwrap_or(usize::MAX)),
        },
        openai_api_key: said.variable("OPENAI_API_KEY").map(secret_text),
        openai_base_url: said.variable("OPENAI_BASE_URL").map(str::to_owned),
        weights: Some(weights.unwrap_or_else(|| data_dir.join("models/all-MiniLM-L6-v2"))),
    })
}
