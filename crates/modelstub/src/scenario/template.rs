//! Placeholders in replies: `{{name}}`.

use anyhow::{Result, bail};
use serde_json::Value;

const NAMES: [&str; 5] = ["last_user", "last_tool_result", "model", "user_turns", "n"];

/// What placeholders stand for.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    pub(crate) last_user: String,
    pub(crate) last_tool_result: String,
    pub(crate) model: String,
    pub(crate) user_turns: usize,
    pub(crate) n: u64,
}

impl Values {
    /// Fills in once: what is filled in is not looked at again, whatever it contains.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Plain(plain) => filled.push_str(plain),
                Part::Placeholder { name, whole } => match self.value(name) {
                    Some(value) => filled.push_str(&value),
                    None => filled.push_str(whole),
                },
            }
        }
        filled
    }

    /// Fills in every string inside.
    pub(crate) fn fill_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_json(item)).collect(),
            Value::Object(fields) => {
                let fill = |(key, value): (&String, &Value)| (key.clone(), self.fill_json(value));
                Value::Object(fields.iter().map(fill).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "last_user" => Some(self.last_user.clone()),
            "last_tool_result" => Some(self.last_tool_result.clone()),
            "model" => Some(self.model.clone()),
            "user_turns" => Some(self.user_turns.to_string()),
            "n" => Some(self.n.to_string()),
            _ => None,
        }
    }
}

/// A misspelled placeholder would otherwise be noticed only in what a client shows.
pub(crate) fn check(text: &str) -> Result<()> {
    for part in parts(text) {
        if let Part::Placeholder { name, .. } = part
            && !NAMES.contains(&name)
        {
            bail!("unknown placeholder {{{{{name}}}}}, known are {}", NAMES.join(", "));
        }
    }
    Ok(())
}

pub(crate) fn check_json(value: &Value) -> Result<()> {
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().try_for_each(check_json),
        Value::Object(fields) => fields.values().try_for_each(check_json),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

enum Part<'a> {
    Plain(&'a str),
    Placeholder { name: &'a str, whole: &'a str },
}

/// Braces around anything but a word are plain text: JSON has many of them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut plain = 0;
    let mut from = 0;
    while let Some(start) = text[from..].find("{{").map(|at| from + at) {
        let inside = &text[start + 2..];
        let word = inside.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        match word {
            Some(length) if length > 0 && inside[length..].starts_with("}}") => {
                let end = start + 2 + length + 2;
                parts.push(Part::Plain(&text[plain..start]));
                let (name, whole) = (&inside[..length], &text[start..end]);
                parts.push(Part::Placeholder { name, whole });
                (plain, from) = (end, end);
            }
            _ => from = start + 1,
        }
    }
    parts.push(Part::Plain(&text[plain..]));
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        Values {
            last_user: "{{n}}".into(),
            last_tool_result: "42".into(),
            model: "m".into(),
            user_turns: 2,
            n: 7,
        }
    }

    #[test]
    fn filled_in_once_and_only_words() {
        assert_eq!(
            values().fill("{{n}}: {{last_user}} {{{n}}} {\"a\":{}}"),
            "7: {{n}} {7} {\"a\":{}}"
        );
        assert_eq!(values().fill("ends in {{"), "ends in {{");
        assert_eq!(values().fill("ends in {{n"), "ends in {{n");
    }

    #[test]
    fn filled_in_inside_of_arguments() {
        let filled = values().fill_json(&json!({"a": ["{{last_tool_result}}", 1]}));
        assert_eq!(filled, json!({"a": ["42", 1]}));
    }

    #[test]
    fn misspelled() {
        let error = check("{{last_usr}}").unwrap_err().to_string();
        assert!(error.contains("{{last_usr}}") && error.contains("last_user"), "{error}");
    }
}
