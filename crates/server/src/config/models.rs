//! The models at hand: found by the variables that everybody uses for them, and scripts in the data folder.

use std::collections::BTreeMap;
use std::path::Path;

use artel_agents::llm::providers::Config;

use super::{Mistake, Resolved, secret_text};

pub(super) fn providers(said: &Resolved, data_dir: &Path) -> Result<Config, Mistake> {
    let variable = |name: &str| said.variable(name).map(str::to_owned);
    let secret = |name: &str| said.variable(name).map(secret_text);
    Ok(Config {
        openai_api_key: secret("OPENAI_API_KEY"),
        openai_base_url: variable("OPENAI_BASE_URL"),
        anthropic_api_key: secret("ANTHROPIC_API_KEY"),
        anthropic_base_url: variable("ANTHROPIC_BASE_URL"),
        gemini_api_key: secret("GEMINI_API_KEY"),
        gemini_base_url: variable("GEMINI_BASE_URL"),
        ollama_host: variable("OLLAMA_HOST"),
        scripts: scripts(&data_dir.join("scripts"))?,
        default_provider: said.text("default_provider"),
    })
}

/// Every `NAME.toml` or `NAME.json` of the folder, for the model `scripted/NAME`.
fn scripts(folder: &Path) -> Result<BTreeMap<String, String>, Mistake> {
    let unreadable = |error: std::io::Error| Mistake(format!("{}: {error}", folder.display()));
    let mut scripts = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(scripts);
    }
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if let (Some("toml" | "json"), Some(name)) =
            (ending, path.file_stem().and_then(|name| name.to_str()))
        {
            scripts.insert(name.to_owned(), std::fs::read_to_string(&path).map_err(unreadable)?);
        }
    }
    Ok(scripts)
}
