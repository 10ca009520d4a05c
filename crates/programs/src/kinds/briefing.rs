//! What every agent is told about us: that people hear it through its tools, and which there are.
//!
//! A model writes the command as it is shown one. Only the plain form with quotes is let through by the programs' own
//! rules without a question, so that is the only one shown.

use std::fmt::Write;
use std::path::PathBuf;

use crate::kind::{self, Existing, File, Wish};
use crate::toolbox::ToolSpec;

/// What it is told before everything else: its user's instructions, and how it is heard.
pub(super) fn prompt(wish: &Wish) -> Option<String> {
    let heard = if wish.tools.is_empty() { "" } else { HEARD };
    joined(&[wish.instructions.trim(), heard])
}

/// The same with all its tools, for a program that is shown them nowhere else.
pub(super) fn whole_prompt(wish: &Wish) -> Option<String> {
    joined(&[&prompt(wish).unwrap_or_default(), &tools(&wish.tools)])
}

/// The file of instructions that its program reads in its workspace: its tools, if it has any.
pub(super) fn file(path: PathBuf, wish: &Wish) -> Option<File> {
    let tools = tools(&wish.tools);
    if tools.is_empty() { None } else { Some(in_workspace(path, &[HEARD, &tools])) }
}

/// The same with its user's instructions, for a program that is told them nowhere else.
pub(super) fn whole_file(path: PathBuf, wish: &Wish) -> Option<File> {
    whole_prompt(wish).map(|text| in_workspace(path, &[&text]))
}

fn in_workspace(path: PathBuf, parts: &[&str]) -> File {
    let content = format!("{}\n\n{}\n", kind::OURS, parts.join("\n\n"));
    File { path, content, existing: Existing::KeepIfForeign, secret: false }
}

fn joined(parts: &[&str]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    Some(parts.join("\n\n")).filter(|text| !text.is_empty())
}

const HEARD: &str = "The person you work for does not see what you write. What they are to read, you send with the tool \
`answer`; if you have no tool of that name, run it in your shell, in exactly this form: orchestrator answer \"your \
text\" . Send one answer when you are done with a message, or when you cannot go on.";

fn tools(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "Your tools, also as commands of your shell. Write each command alone, with its text in double quotes: no \
         pipes, no `&&`, no here-documents, no `$(…)`.\n",
    );
    for tool in tools {
        let description = tool.description.trim();
        let command = command(tool);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- `{}`: {description}\n  Command: {command}", tool.name);
    }
    text
}

/// The one text that most tools take goes without a name.
fn command(tool: &ToolSpec) -> String {
    let properties = tool.parameters["properties"].as_object();
    let required = tool.parameters["required"].as_array().map_or(&[][..], Vec::as_slice);
    let is_required = |name: &String| required.iter().any(|other| other == name.as_str());
    let names = || properties.into_iter().flat_map(|properties| properties.keys());
    let needed: Vec<&String> = names().filter(|name| is_required(name)).collect();
    let mut words = vec![format!("orchestrator {}", tool.name)];
    match needed[..] {
        [text] => words.push(format!("\"{text}\"")),
        _ => words.extend(needed.iter().map(|name| format!("--{name} \"…\""))),
    }
    words.extend(names().filter(|name| !is_required(name)).map(|name| format!("[--{name} \"…\"]")));
    format!("`{}`", words.join(" "))
}
