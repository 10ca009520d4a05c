//! What the program says about the tools and about itself.

use std::fmt::Write;

use crate::toolbox::ToolSpec;
use crate::toolbox::schema::{self, Property};

const HOW: &str = "\
Text is passed as it is; quote it for the shell: orchestrator TOOL 'the text'
  -                 read the text from standard input
  --                everything after it is text
  --json '{…}'      give all arguments as JSON; --json - reads them from standard input
  orchestrator mcp  the same tools as an MCP server on standard input and output
Exit codes: 0 done, 1 the tool said no, 2 called wrongly, 4 not let in, 5 nobody answers, 6 took too long
";

/// All tools of this agent.
pub(super) fn all(tools: &[ToolSpec]) -> String {
    let mut text = String::from("Usage: orchestrator TOOL [TEXT…] [--name value …]\n\nTools:\n");
    for tool in tools {
        let first = tool.description.lines().next().unwrap_or_default();
        line(&mut text, &format!("  {}\n      {first}", usage(tool)));
    }
    if tools.is_empty() {
        line(&mut text, "  none");
    }
    line(&mut text, "\nMore about one: orchestrator TOOL --help\n");
    text.push_str(HOW);
    text
}

/// One tool.
pub(super) fn one(tool: &ToolSpec) -> String {
    let mut text =
        format!("{}\n\nUsage: orchestrator {}\n", tool.description.trim_end(), usage(tool));
    let properties = schema::properties(&tool.parameters);
    if !properties.is_empty() {
        line(&mut text, "\nArguments:");
    }
    for property in properties {
        let needed = if property.required { ", needed" } else { "" };
        line(&mut text, &format!("  --{}  ({}{needed})", property.name, property.expected()));
        if let Some(description) = property.description() {
            line(&mut text, &format!("      {description}"));
        }
    }
    text.push('\n');
    text.push_str(HOW);
    text
}

/// How a tool is called: `ask QUESTION… [--options …]`.
fn usage(tool: &ToolSpec) -> String {
    let mut text = tool.name.clone();
    let mut free = true;
    for property in schema::properties(&tool.parameters) {
        let name = property.name;
        let part = match (property.required, property.is("string") && free) {
            (true, true) => {
                free = property.choices().is_some();
                choices(&property).unwrap_or_else(|| format!("{}…", name.to_uppercase()))
            }
            (true, false) => format!("--{name} …"),
            (false, _) if property.is("boolean") => format!("[--{name}]"),
            (false, _) => format!("[--{name} …]"),
        };
        text.push(' ');
        text.push_str(&part);
    }
    text
}

/// `create|get|list`.
fn choices(property: &Property<'_>) -> Option<String> {
    let choices = property.choices()?.iter().filter_map(|choice| choice.as_str());
    Some(choices.collect::<Vec<_>>().join("|"))
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes everything");
}
