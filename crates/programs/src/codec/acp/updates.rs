//! What an ACP program does and asks while it answers a message, and what that takes.

use serde_json::{Value, json};

use super::{Acp, respond};
use crate::codec::{Event, Out, Permission, RequestId, Usage, diff, rpc, words};

/// Tools that were named before it is known what they will do, at most.
const HELD: usize = 64;

/// An open permission request.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: Value,
    pub(super) options: Options,
}

/// The ids of the first option of each kind.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) once: Option<String>,
    pub(super) always: Option<String>,
    pub(super) reject: Option<String>,
}

/// What is known of a tool: it is told piece by piece.
#[derive(Debug, Default)]
pub(super) struct Held {
    name: Option<String>,
    title: Option<String>,
    input: Value,
}

impl Acp {
    pub(super) fn update(&mut self, update: &Value, out: &mut Out) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                self.desk.say(Event::Text, &update["content"]["text"], out);
            }
            Some("agent_thought_chunk") => {
                self.desk.say(Event::Thinking, &update["content"]["text"], out);
            }
            Some("tool_call" | "tool_call_update") => self.tool(update, out),
            Some("usage_update") => self.usage.note(update),
            _ => {}
        }
    }

    fn tool(&mut self, update: &Value, out: &mut Out) {
        let Some(id) = update["toolCallId"].as_str().filter(|_| self.desk.running()) else {
            return;
        };
        let status = update["status"].as_str();
        let ended = matches!(status, Some("completed" | "failed"));
        if !self.desk.has_tool(id) {
            if !self.held.contains_key(id) && self.held.len() >= HELD {
                return;
            }
            let held = self.held.entry(id.to_owned()).or_default();
            held.learn(update);
            if ended || status == Some("in_progress") || held.knows_input() {
                self.started(id, out);
            }
        }
        if ended {
            let text =
                words::content(&update["rawOutput"]).or_else(|| words::content(&update["content"]));
            self.desk.tool_ended(id, status == Some("completed"), text, out);
        }
    }

    fn started(&mut self, id: &str, out: &mut Out) {
        let held = self.held.remove(id).unwrap_or_default();
        let name = held.name.unwrap_or_else(|| "tool".to_owned());
        let title = held.title.unwrap_or_else(|| words::title(&name, &held.input));
        self.desk.tool(id, &name, title, held.input, out);
    }

    pub(super) fn permission(&mut self, id: Value, params: &Value, out: &mut Out) {
        let name = rpc::name(&id);
        if !self.desk.can_open(&name) || self.desk.stopping() {
            return respond(&id, &super::cancelled(), out);
        }
        let call = &params["toolCall"];
        let mut held = Held::default();
        held.learn(call);
        let tool = held.name.unwrap_or_else(|| "tool".to_owned());
        let title = held.title.unwrap_or_else(|| words::title(&tool, &held.input));
        let options = Options::of(&params["options"]);
        let command = held.input["command"].as_str().map(str::to_owned);
        let event = Event::Permission(Permission {
            request: RequestId(name.clone()),
            // Programs that say no input have the command in the title.
            command: command.or_else(|| (call["kind"] == "execute").then(|| title.clone())),
            folder: held.input["cwd"].as_str().map(str::to_owned),
            diff: changes(call).or_else(|| diff::of_input(&held.input)),
            can_remember: options.always.is_some(),
            tool,
            title,
            input: if held.input.is_null() { json!({}) } else { held.input },
        });
        self.desk.open(name, Open { id, options }, event, out);
    }
}

impl Held {
    fn learn(&mut self, update: &Value) {
        let word =
            |value: &Value| value.as_str().filter(|word| !word.is_empty()).map(str::to_owned);
        let name =
            word(&update["_meta"]["claudeCode"]["toolName"]).or_else(|| word(&update["kind"]));
        self.name = name.or(self.name.take());
        self.title = word(&update["title"]).or(self.title.take());
        if !update["rawInput"].is_null() {
            self.input = update["rawInput"].clone();
        }
    }

    fn knows_input(&self) -> bool {
        self.input.as_object().is_some_and(|input| !input.is_empty())
    }
}

impl Options {
    fn of(options: &Value) -> Self {
        let first = |kind: &str| {
            let mut all = options.as_array().into_iter().flatten();
            all.find(|option| option["kind"] == kind)?["optionId"].as_str().map(str::to_owned)
        };
        Self {
            once: first("allow_once"),
            always: first("allow_always"),
            reject: first("reject_once").or_else(|| first("reject_always")),
        }
    }
}

/// The files it would change, if it says so.
fn changes(call: &Value) -> Option<String> {
    let parts = call["content"].as_array()?.iter().filter(|part| part["type"] == "diff");
    let shown = parts.filter_map(|part| {
        let old = part["oldText"].as_str().unwrap_or_default();
        Some(diff::unified(part["path"].as_str()?, old, part["newText"].as_str()?))
    });
    Some(shown.collect::<String>()).filter(|shown| !shown.is_empty())
}

/// What a turn took, from whichever place the program says it in.
#[derive(Debug, Default)]
pub(super) struct Counted {
    usage: Option<Usage>,
    /// What the model had before it at last.
    context: Option<u64>,
    /// Since the process began.
    total: Option<f64>,
}

impl Counted {
    fn note(&mut self, update: &Value) {
        self.context = update["used"].as_u64().or(self.context);
        if update["cost"]["currency"] == "USD" {
            self.total =
                update["cost"]["amount"].as_f64().filter(|cost| cost.is_finite()).or(self.total);
        }
    }

    /// The answer to the prompt holds it, or its `_meta`.
    pub(super) fn finish(&mut self, result: &Value) {
        let (usage, quota) = (&result["usage"], &result["_meta"]["quota"]);
        let count = |from: &Value, name: &str| from[name].as_u64().unwrap_or_default();
        if usage.is_object() {
            let cached = count(usage, "cachedReadTokens");
            let read = cached.saturating_add(count(usage, "cachedWriteTokens"));
            self.usage = Some(Usage {
                input_tokens: count(usage, "inputTokens").saturating_add(read),
                cached_tokens: cached,
                output_tokens: count(usage, "outputTokens"),
                ..Usage::default()
            });
        } else if quota.is_object() {
            self.usage = Some(Usage {
                model: quota["model_usage"][0]["model"].as_str().map(str::to_owned),
                input_tokens: count(&quota["token_count"], "input_tokens"),
                output_tokens: count(&quota["token_count"], "output_tokens"),
                ..Usage::default()
            });
        }
    }

    /// A program that says no more than how full its context is has read at least that.
    pub(super) fn take(self, spent: &mut f64) -> Option<Usage> {
        let cost = self.total.map(|total| (total - *spent).max(0.0));
        *spent = self.total.unwrap_or(*spent);
        let context = self.context.map(|input_tokens| Usage { input_tokens, ..Usage::default() });
        self.usage.or(context).map(|usage| Usage { cost, ..usage })
    }
}
