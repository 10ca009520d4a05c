//! `artel config`.

use serde_json::json;

use super::print;
use crate::config::Resolved;

/// Shows every key with its value and origin; secrets are hidden.
pub(super) fn show(said: &Resolved, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: serde_json::Map<_, _> = said
            .shown()
            .map(|(key, value, origin)| {
                let entry =
                    json!({ "value": value, "origin": origin.to_string(), "about": key.about });
                (key.name.to_owned(), entry)
            })
            .collect();
        return print(&serde_json::to_string_pretty(&all)?);
    }
    let rows: Vec<_> =
        said.shown().map(|(key, value, origin)| (key, value, origin.to_string())).collect();
    let wide = |of: fn(&(&crate::config::Key, String, String)) -> usize| {
        rows.iter().map(of).max().unwrap_or(0)
    };
    let (names, values, origins) = (
        wide(|row| row.0.name.len()),
        wide(|row| row.1.chars().count().min(40)),
        wide(|row| row.2.chars().count()),
    );
    let lines: Vec<_> = rows
        .iter()
        .map(|(key, value, origin)| {
            let name = key.name;
            format!("{name:names$}  {value:values$}  {origin:origins$}  {}", key.about)
        })
        .collect();
    print(&lines.join("\n"))
}
