//! Factory Droid: `stream-jsonrpc`, which is JSON-RPC with a `type` and its versions in every frame.
//!
//! What it asks of us is in [`requests`].

use serde_json::{Value, json};

use super::desk::Desk;
use super::rpc::{self, Failure, Frame, Waiting};
use super::{Codec, Command, Event, Fault, Out, Outcome, Refused, Server, Usage, words};

mod requests;

use requests::Open;

/// Words that wait for the next message, at most.
const UNSAID: usize = 32;

#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Where it works.
    pub folder: String,
    /// A name for where it runs.
    pub machine: String,
    pub model: Option<String>,
    /// `off`, `low`, `medium` or `high`: up to which risk, by the model's own word, it does not ask.
    pub autonomy: String,
    /// It asks for nothing at all.
    pub unattended: bool,
    /// Added to its own system prompt.
    pub instructions: Option<String>,
    pub servers: Vec<Server>,
    /// The conversation to take up again.
    pub resume: Option<String>,
}

#[derive(Debug)]
pub struct Droid {
    setup: Setup,
    desk: Desk<Open>,
    waiting: Waiting<Purpose>,
    model: Option<String>,
    /// The message that came in pieces, so that its whole is not told again.
    streamed: Option<String>,
    /// The last failure that it spoke of in this turn.
    error: Option<String>,
    /// Reasons of refusals and words that came too late; they go with the next message.
    unsaid: Vec<String>,
}

/// What a request of ours was for.
#[derive(Debug)]
enum Purpose {
    New,
    /// Taking up the conversation of this name.
    Load(String),
    /// The message of the turn of this number.
    Say(u64),
    Steer(String),
    Nothing,
}

impl Droid {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            desk: Desk::new(),
            waiting: Waiting::new(),
            model: None,
            streamed: None,
            error: None,
            unsaid: Vec::new(),
        }
    }

    fn request(&mut self, method: &str, params: &Value, purpose: Purpose, out: &mut Out) {
        let id = self.waiting.add(purpose).to_string();
        let method = format!("droid.{method}");
        requests::frame(
            json!({"type": "request", "id": id, "method": method, "params": params}),
            out,
        );
    }

    fn open(&mut self, out: &mut Out) {
        let setup = &self.setup;
        let mut params = json!({
            "machineId": setup.machine, "cwd": setup.folder, "autonomyLevel": setup.autonomy,
            "interactionMode": "auto"
        });
        if let Some(model) = &setup.model {
            params["modelId"] = json!(model);
        }
        if setup.unattended {
            params["skipPermissionsUnsafe"] = json!(true);
        }
        if let Some(text) = &setup.instructions {
            params["systemPrompt"] = json!({"type": "preset", "preset": "droid", "append": text});
        }
        let servers: Vec<Value> = setup.servers.iter().filter_map(Server::droid).collect();
        if !servers.is_empty() {
            params["mcpServers"] = json!(servers);
        }
        self.request("initialize_session", &params, Purpose::New, out);
    }

    fn answer(&mut self, purpose: Purpose, result: Result<Value, Failure>, out: &mut Out) {
        match (purpose, result) {
            (Purpose::New, Ok(result)) => match result["sessionId"].as_str() {
                Some(session) => self.opened(session, &result, out),
                None => {
                    self.desk.unfit(Fault::Other, "it began a conversation without a name", out);
                }
            },
            (Purpose::Load(session), Ok(result)) => self.opened(&session, &result, out),
            (Purpose::Load(_), Err(_)) => self.open(out),
            (Purpose::New, Err(failure)) => {
                self.desk.unfit(Fault::of_text(&failure.message), failure.message, out);
            }
            (Purpose::Say(turn), Err(failure)) if turn == self.desk.turn() => {
                let fault = Fault::of_text(&failure.message);
                self.end(Outcome::Failed { fault, why: failure.message }, out);
            }
            (Purpose::Steer(text), Err(_)) => self.keep(text),
            (Purpose::Say(_) | Purpose::Steer(_) | Purpose::Nothing, _) => {}
        }
    }

    fn opened(&mut self, session: &str, result: &Value, out: &mut Out) {
        self.desk.name(session, out);
        self.model = result["settings"]["modelId"].as_str().map(str::to_owned);
        self.desk.ready(None, self.model.clone(), out);
    }

    fn keep(&mut self, text: String) {
        if !text.is_empty() && self.unsaid.len() < UNSAID {
            self.unsaid.push(text);
        }
    }

    fn notice(&mut self, note: &Value, out: &mut Out) {
        match note["type"].as_str() {
            Some("assistant_text_delta") => {
                self.streamed = note["messageId"].as_str().map(str::to_owned);
                self.desk.say(Event::Text, &note["textDelta"], out);
            }
            Some("thinking_text_delta") => self.desk.say(Event::Thinking, &note["textDelta"], out),
            Some("create_message") => self.message(&note["message"], out),
            Some("tool_call") => self.tool(&note["toolUse"], out),
            Some("tool_execution_phase_changed") if note["phase"] == "executing" => {
                // One without any input was not told before.
                if let (Some(id), Some(name)) =
                    (note["toolUseId"].as_str(), note["toolName"].as_str())
                {
                    self.desk.tool(id, name, name.to_owned(), json!({}), out);
                }
            }
            Some("tool_result") => {
                let id = note["toolUseId"].as_str().unwrap_or_default();
                let output = words::content(&note["content"]);
                self.desk.tool_ended(id, note["isError"] != true, output, out);
            }
            Some("permission_resolved") => {
                self.desk.withdraw(note["requestId"].as_str().unwrap_or_default(), out);
            }
            Some("llm_retry") => {
                let reason = note["reason"].as_str().unwrap_or("the model does not answer");
                let why = format!("{reason}; attempt {}", note["attempt"]);
                self.desk.tell(Event::Retrying { why }, out);
            }
            Some("error") => self.error = note["message"].as_str().map(str::to_owned),
            Some("agent_turn_completed") => self.completed(note, out),
            _ => {}
        }
    }

    fn message(&mut self, message: &Value, out: &mut Out) {
        if message["role"] != "assistant" {
            return;
        }
        let told = self.streamed.is_some() && self.streamed.as_deref() == message["id"].as_str();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if !told => self.desk.say(Event::Text, &block["text"], out),
                Some("tool_use") => self.tool(block, out),
                _ => {}
            }
        }
    }

    /// A tool is named first and again with its input, as far as that has come.
    fn tool(&mut self, tool: &Value, out: &mut Out) {
        let (Some(id), Some(name)) = (tool["id"].as_str(), tool["name"].as_str()) else { return };
        let input = &tool["input"];
        if input.as_object().is_some_and(|input| !input.is_empty()) {
            self.desk.tool(id, name, words::title(name, input), input.clone(), out);
        }
    }

    fn completed(&mut self, note: &Value, out: &mut Out) {
        if !self.desk.running() {
            return;
        }
        let count = |name: &str| note["tokenUsage"][name].as_u64().unwrap_or_default();
        let cached = count("cacheReadTokens");
        let read = cached.saturating_add(count("cacheCreationTokens"));
        let usage = Usage {
            model: self.model.clone(),
            input_tokens: count("inputTokens").saturating_add(read),
            cached_tokens: cached,
            output_tokens: count("outputTokens").saturating_add(count("thinkingTokens")),
            cost: None,
        };
        if usage.input_tokens > 0 || usage.output_tokens > 0 {
            out.tell(Event::Usage(usage));
        }
        let reason = note["reason"].as_str().unwrap_or_default();
        let why = self.error.take().unwrap_or_else(|| format!("the turn ended: {reason}"));
        let outcome = match reason {
            "completed" | "permission_rejected" => Outcome::Completed { text: None },
            "cancelled" => Outcome::Interrupted,
            "process_exit" if self.desk.stopping() => Outcome::Interrupted,
            _ => Outcome::Failed { fault: fault(reason, &why), why },
        };
        self.end(outcome, out);
    }

    fn end(&mut self, outcome: Outcome, out: &mut Out) {
        (self.streamed, self.error) = (None, None);
        self.desk.end(outcome, out);
    }
}

impl Codec for Droid {
    fn start(&mut self, out: &mut Out) {
        match self.setup.resume.clone() {
            Some(session) => {
                let params = json!({"sessionId": session});
                self.request("load_session", &params, Purpose::Load(session), out);
            }
            None => self.open(out),
        }
    }

    fn line(&mut self, line: &[u8], out: &mut Out) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match rpc::read(line) {
            Ok(Frame::Answer { id, result }) => match (self.waiting.take(&id), result) {
                (Some(purpose), result) => self.answer(purpose, result, out),
                (None, Err(failure)) => {
                    out.tell(Event::Garbage {
                        why: format!("it did not take a frame: {}", failure.message),
                    });
                }
                (None, Ok(_)) => {}
            },
            Ok(Frame::Request { id, method, params }) => self.asked(id, &method, &params, out),
            Ok(Frame::Notice { method, params }) if method == "droid.session_notification" => {
                let session = params["sessionId"].as_str();
                if session.is_none() || session == self.desk.session() {
                    self.notice(&params["notification"], out);
                }
            }
            Ok(Frame::Notice { .. }) => {}
            Err(why) => out.tell(Event::Garbage { why }),
        }
        self.desk.hush(out);
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { text } => {
                self.desk.begin()?;
                let text = words::joined(&mut self.unsaid, text);
                self.request(
                    "add_user_message",
                    &json!({"text": text}),
                    Purpose::Say(self.desk.turn()),
                    out,
                );
            }
            Command::Steer { text } => {
                self.desk.steerable()?;
                self.request("add_user_message", &json!({"text": text}), Purpose::Steer(text), out);
            }
            Command::Interrupt => {
                if self.desk.stop()? {
                    self.request("interrupt_session", &json!({}), Purpose::Nothing, out);
                }
            }
            Command::Decide { request, decision } => self.decide(&request.0, decision, out)?,
            Command::Answer { request, answers } => self.reply(&request.0, answers, out)?,
            Command::Return { .. } => return Err(Refused::Unknown),
            Command::Close => {
                if self.desk.close()?
                    && let Some(session) = self.desk.session()
                {
                    let params = json!({"sessionId": session});
                    self.request("close_session", &params, Purpose::Nothing, out);
                }
                out.close = true;
            }
        }
        Ok(())
    }

    fn ended(&mut self, out: &mut Out) {
        self.desk.over(out);
    }
}

fn fault(reason: &str, why: &str) -> Fault {
    match reason {
        "model_authentication_failed" => Fault::Login,
        "model_usage_exhausted" => Fault::Quota,
        "model_request_rejected" => Fault::Refused,
        "model_provider_unreachable" => Fault::Unreachable,
        "process_exit" => Fault::Died,
        _ => Fault::of_text(why),
    }
}
