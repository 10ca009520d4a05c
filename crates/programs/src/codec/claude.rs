//! Claude Code: `stream-json` both ways, with control requests in both directions.
//!
//! Our tools reach it in the conversation itself, as an MCP server whose frames travel in control requests ([`mcp`]).
//! What it asks of us is in [`requests`].

use serde_json::{Value, json};

use super::desk::Desk;
use super::{Codec, Command, Event, Fault, Out, Outcome, Refused, Usage, rpc, words};
use crate::toolbox::ToolSpec;

mod mcp;
mod requests;

use requests::Open;

/// The name under which our tools are known to it: `mcp__orchestrator__answer`.
const SERVER: &str = "orchestrator";
const OURS: &str = "mcp__orchestrator__";

/// The model name of messages that Claude Code writes itself.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Debug, Clone, Default)]
pub struct Setup {
    pub tools: Vec<ToolSpec>,
    /// Added to its own system prompt.
    pub instructions: Option<String>,
}

#[derive(Debug)]
pub struct Claude {
    setup: Setup,
    desk: Desk<Open>,
    /// How many control requests of ours there were; the first is `initialize`.
    requests: u64,
    /// The message that came in pieces, so that its whole is not told again.
    streamed: Option<String>,
    model: Option<String>,
    /// What the process has cost up to the last turn.
    spent: f64,
}

impl Claude {
    pub fn new(setup: Setup) -> Self {
        Self { setup, desk: Desk::new(), requests: 0, streamed: None, model: None, spent: 0.0 }
    }

    fn request(&mut self, request: &Value, out: &mut Out) {
        self.requests += 1;
        let id = format!("artel-{}", self.requests);
        out.frame(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    /// An answer to our `initialize`; all other answers say nothing that their effects do not.
    fn answered(&mut self, response: &Value, out: &mut Out) {
        if !self.desk.starting() || response["request_id"] != "artel-1" {
            return;
        }
        if response["subtype"] == "success" {
            self.desk.ready(None, None, out);
        } else {
            let why = response["error"].as_str().unwrap_or("it refused to initialize");
            self.desk.unfit(Fault::of_text(why), why, out);
        }
    }

    /// A piece of a message. What a subagent says is part of the tool that it is.
    fn piece(&mut self, frame: &Value, out: &mut Out) {
        if !frame["parent_tool_use_id"].is_null() {
            return;
        }
        let (event, delta) = (&frame["event"], &frame["event"]["delta"]);
        match (event["type"].as_str(), delta["type"].as_str()) {
            (Some("message_start"), _) => {
                self.streamed = event["message"]["id"].as_str().map(str::to_owned);
            }
            (Some("content_block_delta"), Some("text_delta")) => {
                self.desk.say(Event::Text, &delta["text"], out);
            }
            (Some("content_block_delta"), Some("thinking_delta")) => {
                self.desk.say(Event::Thinking, &delta["thinking"], out);
            }
            _ => {}
        }
    }

    fn message(&mut self, frame: &Value, out: &mut Out) {
        let message = &frame["message"];
        let id = message["id"].as_str();
        let told = !frame["parent_tool_use_id"].is_null()
            || id.is_some() && self.streamed.as_deref() == id;
        if let Some(model) = message["model"].as_str().filter(|model| *model != SYNTHETIC) {
            self.model = Some(model.to_owned());
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if !told => self.desk.say(Event::Text, &block["text"], out),
                Some("thinking") if !told => {
                    self.desk.say(Event::Thinking, &block["thinking"], out);
                }
                Some("tool_use") => {
                    let name = block["name"].as_str().unwrap_or_default();
                    let input = &block["input"];
                    if let Some(id) = block["id"].as_str().filter(|_| !name.starts_with(OURS)) {
                        self.desk.tool(id, name, words::title(name, input), input.clone(), out);
                    }
                }
                _ => {}
            }
        }
    }

    /// What it tells itself on the user's behalf: the results of tools.
    fn results(&mut self, frame: &Value, out: &mut Out) {
        for block in frame["message"]["content"].as_array().into_iter().flatten() {
            if let (Some("tool_result"), Some(id)) =
                (block["type"].as_str(), block["tool_use_id"].as_str())
            {
                let success = block["is_error"] != true;
                self.desk.tool_ended(id, success, words::content(&block["content"]), out);
            }
        }
    }

    fn note(&mut self, frame: &Value, out: &mut Out) {
        match frame["subtype"].as_str() {
            Some("init") => self.model = frame["model"].as_str().map(str::to_owned),
            Some("api_retry") => {
                let status = frame["error_status"].as_u64();
                let why = status.map_or_else(
                    || "the model service does not answer".to_owned(),
                    |status| format!("the model service answers with status {status}"),
                );
                let (attempt, most) = (&frame["attempt"], &frame["max_retries"]);
                self.desk.tell(
                    Event::Retrying { why: format!("{why}; attempt {attempt} of {most}") },
                    out,
                );
            }
            _ => {}
        }
    }

    fn result(&mut self, frame: &Value, out: &mut Out) {
        if !self.desk.running() {
            return;
        }
        if let Some(usage) = self.usage(frame) {
            out.tell(Event::Usage(usage));
        }
        self.streamed = None;
        let text = frame["result"].as_str().map(str::to_owned);
        let aborted =
            frame["terminal_reason"].as_str().is_some_and(|reason| reason.starts_with("aborted"));
        let outcome = if frame["is_error"] != true && !(aborted && self.desk.stopping()) {
            Outcome::Completed { text }
        } else if aborted || self.desk.stopping() {
            Outcome::Interrupted
        } else {
            let why = text
                .or_else(|| words::content(&frame["errors"]))
                .unwrap_or_else(|| frame["subtype"].to_string());
            let status = frame["api_error_status"].as_u64().map(Fault::of_status);
            Outcome::Failed { fault: status.unwrap_or_else(|| Fault::of_text(&why)), why }
        };
        self.desk.end(outcome, out);
    }

    /// Tokens are told per turn, money since the process began.
    fn usage(&mut self, frame: &Value) -> Option<Usage> {
        let count = |name: &str| frame["usage"][name].as_u64().unwrap_or_default();
        let cached = count("cache_read_input_tokens");
        let written = count("cache_creation_input_tokens");
        let total = frame["total_cost_usd"].as_f64().filter(|total| total.is_finite());
        let cost = total.map(|total| (total - self.spent).max(0.0));
        self.spent = total.unwrap_or(self.spent);
        let usage = Usage {
            model: self.model.clone(),
            input_tokens: count("input_tokens").saturating_add(cached).saturating_add(written),
            cached_tokens: cached,
            output_tokens: count("output_tokens"),
            cost,
        };
        let used = usage.input_tokens > 0
            || usage.output_tokens > 0
            || cost.is_some_and(|cost| cost > 0.0);
        used.then_some(usage)
    }
}

impl Codec for Claude {
    fn start(&mut self, out: &mut Out) {
        let mut request = json!({"subtype": "initialize"});
        if !self.setup.tools.is_empty() {
            request["sdkMcpServers"] = json!([SERVER]);
        }
        if let Some(instructions) = &self.setup.instructions {
            request["appendSystemPrompt"] = json!(instructions);
        }
        self.request(&request, out);
    }

    fn line(&mut self, line: &[u8], out: &mut Out) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let frame = match rpc::object(line) {
            Ok(frame) => frame,
            Err(why) => return out.tell(Event::Garbage { why }),
        };
        if let Some(session) = frame["session_id"].as_str() {
            self.desk.name(session, out);
        }
        match frame["type"].as_str() {
            Some("control_response") => self.answered(&frame["response"], out),
            Some("control_request") => self.asked(&frame, out),
            Some("control_cancel_request") => {
                self.desk.withdraw(frame["request_id"].as_str().unwrap_or_default(), out);
            }
            Some("stream_event") => self.piece(&frame, out),
            Some("assistant") => self.message(&frame, out),
            Some("user") => self.results(&frame, out),
            Some("system") => self.note(&frame, out),
            Some("result") => self.result(&frame, out),
            Some(_) => {}
            None => out.tell(Event::Garbage { why: "a frame without a type".to_owned() }),
        }
        self.desk.hush(out);
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { text } => {
                self.desk.begin()?;
                out.frame(&json!({"type": "user", "message": {"role": "user", "content": text}}));
                Ok(())
            }
            Command::Steer { text } => {
                self.desk.steerable()?;
                let message = json!({"role": "user", "content": text});
                out.frame(&json!({"type": "user", "message": message, "priority": "next"}));
                Ok(())
            }
            Command::Interrupt => {
                if self.desk.stop()? {
                    self.request(&json!({"subtype": "interrupt"}), out);
                }
                Ok(())
            }
            Command::Decide { request, decision } => self.decide(&request.0, decision, out),
            Command::Answer { request, answers } => self.answer(&request.0, answers, out),
            Command::Return { call, result } => self.give_back(&call.0, result, out),
            Command::Close => {
                self.desk.close()?;
                out.close = true;
                Ok(())
            }
        }
    }

    fn ended(&mut self, out: &mut Out) {
        self.desk.over(out);
    }
}
