//! From a rule's reply to an answer for one request: placeholders filled in, tools found, tokens
//! counted.

use serde_json::{Value, json};

use crate::scenario::template::Values;
use crate::scenario::{Call, Pace, Reply, Stop, Tokens, Usage};
use crate::wire::{Asked, Tool, ToolKind, estimate};

const MAX_PIECES: usize = 20_000;

/// What is answered, whatever the format.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Option<Tokens>,
    pub(crate) stop: Stop,
    pub(crate) pace: Pace,
}

#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    /// An object, or a string that is sent as it is.
    pub(crate) arguments: Value,
    pub(crate) kind: ToolKind,
}

impl ToolCall {
    /// For formats in which arguments are text.
    pub(crate) fn arguments_text(&self) -> String {
        self.arguments.as_str().map_or_else(|| self.arguments.to_string(), str::to_owned)
    }
}

impl Answer {
    pub(crate) fn new(reply: &Reply, values: &Values, asked: &Asked, usage: Usage) -> Self {
        let text = values.fill(&reply.text);
        let calls: Vec<ToolCall> =
            reply.calls.iter().map(|call| tool_call(call, values, asked)).collect();
        let natural = if calls.is_empty() { Stop::Done } else { Stop::Tools };
        let usage = match reply.usage.unwrap_or(usage) {
            Usage::Fixed(tokens) => Some(tokens),
            Usage::Unreported => None,
            Usage::Estimated => {
                let arguments: String = calls.iter().map(ToolCall::arguments_text).collect();
                let (input, output) =
                    (estimate(&asked.raw), estimate(&(text.clone() + &arguments)));
                Some(Tokens { input, output, cached: 0 })
            }
        };
        let thinking = values.fill(&reply.thinking);
        Self { thinking, text, calls, usage, stop: reply.stop.unwrap_or(natural), pace: reply.pace }
    }
}

/// Cuts a text into pieces of so many characters; of an empty text there are none. Of a very long
/// text the pieces are longer, so that their number has a limit.
pub(crate) fn pieces(text: &str, pace: Pace) -> impl Iterator<Item = &str> {
    let chunk = pace.chunk.max(text.len() / MAX_PIECES);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(chunk).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn tool_call(call: &Call, values: &Values, asked: &Asked) -> ToolCall {
    match call {
        Call::Tool { name, arguments } => {
            let arguments = values.fill_json(arguments);
            match find(&asked.tools, name) {
                Some(tool) => {
                    ToolCall { name: tool.name.clone(), arguments, kind: tool.kind.clone() }
                }
                // Models do call what is not there.
                None => ToolCall { name: name.clone(), arguments, kind: ToolKind::Function },
            }
        }
        Call::Shell { command } => shell_call(&values.fill(command), asked),
    }
}

fn find<'a>(tools: &'a [Tool], name: &str) -> Option<&'a Tool> {
    let ends_in = |tool: &&Tool| {
        let before = tool.name.strip_suffix(name).and_then(|before| before.chars().last());
        before.is_some_and(|c| !c.is_alphanumeric())
    };
    tools.iter().find(|tool| tool.name == name).or_else(|| tools.iter().find(ends_in))
}

/// The shells of the known CLI programs and what they want to be given.
fn shell_call(command: &str, asked: &Asked) -> ToolCall {
    let offered = |name: &&str| asked.tools.iter().any(|tool| tool.name == *name);
    let known = ["Bash", "run_shell_command", "Execute", "exec_command", "shell_command", "shell"];
    let name = known.iter().copied().find(offered).unwrap_or("shell");
    let arguments = match name {
        // Claude Code, Gemini CLI.
        "Bash" | "run_shell_command" => json!({"command": command, "description": "Run it"}),
        // Factory Droid.
        "Execute" => json!({
            "command": command, "timeout": 60, "riskLevel": "low",
            "riskLevelReason": "harmless", "summary": "Run it",
        }),
        // Codex, the newest first.
        "exec_command" => json!({"cmd": command}),
        "shell_command" => json!({"command": command}),
        _ => json!({"command": ["bash", "-lc", command]}),
    };
    ToolCall { name: name.to_owned(), arguments, kind: ToolKind::Function }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pieces_are_of_characters_not_bytes() {
        let pace = Pace { chunk: 2, delay: Duration::ZERO };
        assert_eq!(pieces("čaj ☕", pace).collect::<Vec<_>>(), ["ča", "j ", "☕"]);
        assert_eq!(pieces("", pace).count(), 0);
    }

    #[test]
    fn a_tool_is_found_by_the_end_of_its_name() {
        let tool = |name: &str| Tool { name: name.into(), kind: ToolKind::Function };
        let tools = [tool("mcp__artel__answer"), tool("reanswer"), tool("answer2")];
        assert_eq!(find(&tools, "answer").unwrap().name, "mcp__artel__answer");
        assert!(find(&tools, "swer").is_none());
    }
}
