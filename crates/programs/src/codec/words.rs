//! Texts that the programs' frames hold, and how they are shown.

use serde_json::Value;

/// The text of a content, which is a string or a list of parts.
pub(super) fn content(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let part = |part: &Value| {
        let text = part["text"].as_str().or_else(|| part["content"]["text"].as_str());
        text.or_else(|| part.as_str()).map(str::to_owned)
    };
    let parts: Vec<String> = content.as_array()?.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// What a tool's input says first about what it is for.
const TELLING: [&str; 8] =
    ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];

/// One line that says what a tool is about to do.
pub(super) fn title(tool: &str, input: &Value) -> String {
    let about = TELLING.iter().find_map(|name| input[*name].as_str());
    let first = about.and_then(|text| text.lines().next()).unwrap_or_default();
    if first.is_empty() { tool.to_owned() } else { format!("{tool}: {first}") }
}

/// Messages that wait to be said and the one that is said now, as one.
pub(super) fn joined(waiting: &mut Vec<String>, text: String) -> String {
    let mut all = std::mem::take(waiting);
    all.push(text);
    all.join("\n\n")
}
