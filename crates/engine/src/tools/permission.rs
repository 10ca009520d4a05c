//! A program asks whether it may use a tool of its own, and waits for a person's answer.
//!
//! It is a call like those on the user's machine, so that it stands in the same inbox, is decided once, times out into a
//! refusal, and ends with its task. What is approved is done by the program, not by us.

use artel_domain::approval::Kind;
use artel_domain::{AgentId, RiskLevel};
use artel_programs::codec::Permission;
use serde_json::{Map, Value, json};

use crate::calls::flow::{Asked, Asking};

pub(crate) const NAME: &str = "use_own_tool";

/// What is shown of the input where the diff or the command does not say it already, in bytes.
const LONGEST: usize = 64 * 1024;

/// The call, as it is stored.
pub(crate) fn arguments(kind: &str, permission: &Permission) -> Map<String, Value> {
    let Permission { tool, title, input, command, folder, diff, .. } = permission;
    let folder = folder.as_deref().unwrap_or("its workspace");
    let whole = input.to_string();
    let input = if whole.len() > LONGEST {
        let start = &whole[..whole.floor_char_boundary(LONGEST)];
        Value::String(format!("{start} (cut)"))
    } else {
        input.clone()
    };
    let fields = json!({
        "program": kind,
        "tool": tool,
        "title": title,
        "input": input,
        "command": command,
        "folder": folder,
        "diff": diff,
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// What a person is asked.
pub(crate) fn asking(agent: AgentId, arguments: &Map<String, Value>) -> Asking {
    let of = |key: &str| arguments.get(key).cloned().unwrap_or_default();
    let payload = json!({
        "tool_name": of("tool"),
        "program": of("program"),
        "reason": of("title"),
        "arguments": of("input"),
        "command": of("command"),
        "folder": of("folder"),
        "diff": of("diff"),
        "agent_id": agent,
    });
    Asking { kind: Kind::Tool, risk: RiskLevel::Medium, payload, told: Asked::Tool }
}

/// Whether it is one of our own tools, as programs name those of the server that we are to them.
pub(crate) fn is_of_us(tool: &str) -> bool {
    ["orchestrator___", "mcp__orchestrator__", "mcp_orchestrator_"]
        .iter()
        .any(|prefix| tool.starts_with(prefix))
}

/// Whether a command line does nothing but call our own program, whose tools are guarded themselves.
pub(crate) fn only_calls_us(command: &str) -> bool {
    let Some(rest) = command.trim().strip_prefix("orchestrator") else { return false };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return false;
    }
    let mut quote = None;
    let mut escaped = false;
    for letter in rest.chars() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => escaped = true,
            // Within double quotes the first two still mean something.
            (None | Some('"'), '$' | '`')
            | (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n' | '\r') => return false,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(_) | None, _) => {}
        }
    }
    quote.is_none() && !escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CA-4.2: the plain call of our own program needs nobody's leave; whatever hides behind it does.
    #[test]
    fn only_the_plain_call_goes_by_itself() {
        for command in [
            "orchestrator",
            "orchestrator answer 'it is $HOME; done'",
            "orchestrator answer \"two\nlines; and | more\"",
            r#"orchestrator answer "a \"quoted\" word""#,
            "  orchestrator ask \"Which?\" --option a ",
        ] {
            assert!(only_calls_us(command), "{command}");
        }
        for command in [
            "orchestrator answer hi; rm -rf .",
            "orchestrator answer hi && rm x",
            "orchestrator answer \"$(rm x)\"",
            "orchestrator answer `rm x`",
            "orchestrator answer hi > file",
            "orchestrator answer hi\nrm x",
            "orchestrator answer 'open",
            "orchestrator-evil",
            "orchestrator\tx",
            "rm x # orchestrator",
            "FOO=1 orchestrator answer",
        ] {
            assert!(!only_calls_us(command), "{command}");
        }
    }
}
