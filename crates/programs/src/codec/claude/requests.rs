//! What Claude Code asks of us, and how it is answered.

use serde_json::{Map, Value, json};

use super::{Claude, OURS, SERVER, mcp};
use crate::codec::calls::{self, Call};
use crate::codec::{
    CallId, Decision, Event, Out, Permission, Question, Refused, RequestId, diff, words,
};

/// What an answer needs.
#[derive(Debug)]
pub(super) enum Open {
    Permission { input: Value, suggestions: Value },
    Question { input: Value },
    Call { id: Value },
}

impl Claude {
    pub(super) fn asked(&mut self, frame: &Value, out: &mut Out) {
        let Some(id) = frame["request_id"].as_str() else {
            return out.tell(Event::Garbage { why: "a control request without an id".to_owned() });
        };
        let request = &frame["request"];
        match request["subtype"].as_str() {
            Some("can_use_tool") => self.permission(id, request, out),
            Some("mcp_message") if request["server_name"] == SERVER => {
                self.tool_frame(id, &request["message"], out);
            }
            other => {
                let why = format!(
                    "Unsupported control request: {}",
                    other.unwrap_or("without a subtype")
                );
                refuse(id, &why, out);
            }
        }
    }

    fn permission(&mut self, id: &str, request: &Value, out: &mut Out) {
        let tool = request["tool_name"].as_str().unwrap_or_default();
        let input = &request["input"];
        if tool.strip_prefix(OURS).is_some_and(|tool| self.gives(tool)) {
            return respond(id, &json!({"behavior": "allow", "updatedInput": input}), out);
        }
        if !self.desk.can_open(id) {
            return refuse(id, "nobody can be asked now", out);
        }
        let request_id = RequestId(id.to_owned());
        let (open, event) = if tool == "AskUserQuestion" {
            let items = questions(input);
            (
                Open::Question { input: input.clone() },
                Event::Question { request: request_id, items },
            )
        } else {
            let suggestions = request["permission_suggestions"].clone();
            let event = Event::Permission(Permission {
                request: request_id,
                tool: tool.to_owned(),
                title: words::title(tool, input),
                input: input.clone(),
                command: input["command"].as_str().map(str::to_owned),
                folder: input["cwd"].as_str().map(str::to_owned),
                diff: diff::of_input(input),
                can_remember: suggestions.as_array().is_some_and(|all| !all.is_empty()),
            });
            (Open::Permission { input: input.clone(), suggestions }, event)
        };
        self.desk.open(id.to_owned(), open, event, out);
    }

    fn tool_frame(&mut self, id: &str, message: &Value, out: &mut Out) {
        if message["method"] != "tools/call" {
            return respond(id, &mcp::answer(message, &self.setup.tools), out);
        }
        let params = &message["params"];
        let called = calls::read(&params["name"], &params["arguments"], &self.setup.tools);
        let Call { tool, arguments } = match called {
            Ok(call) => call,
            Err(why) => {
                out.tell(Event::Garbage { why: why.clone() });
                return respond(id, &mcp::result(&message["id"], Err(why)), out);
            }
        };
        if !self.desk.can_open(id) {
            let why = "tools can be used only while a message is being answered".to_owned();
            return respond(id, &mcp::result(&message["id"], Err(why)), out);
        }
        let event = Event::Call { call: CallId(id.to_owned()), tool, arguments };
        self.desk.open(id.to_owned(), Open::Call { id: message["id"].clone() }, event, out);
    }

    fn gives(&self, tool: &str) -> bool {
        self.setup.tools.iter().any(|spec| spec.name == tool)
    }

    pub(super) fn decide(
        &mut self,
        id: &str,
        decision: Decision,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let answer = match (self.desk.peek(id)?, decision) {
            (Open::Permission { .. } | Open::Question { .. }, Decision::Reject { why }) => {
                let why = if why.is_empty() { "The user said no.".to_owned() } else { why };
                json!({"behavior": "deny", "message": why})
            }
            (Open::Permission { input, .. }, Decision::Once) => {
                json!({"behavior": "allow", "updatedInput": input})
            }
            (Open::Permission { input, suggestions }, Decision::Always) => {
                let rules = for_the_session(suggestions);
                json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": rules})
            }
            (Open::Question { .. }, Decision::Once | Decision::Always) => {
                return Err(Refused::Unsupported);
            }
            (Open::Call { .. }, _) => return Err(Refused::Unknown),
        };
        self.desk.answered(id);
        respond(id, &answer, out);
        Ok(())
    }

    pub(super) fn answer(
        &mut self,
        id: &str,
        answers: Vec<String>,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let input = match self.desk.peek(id)? {
            Open::Question { input } => input,
            Open::Permission { .. } => return Err(Refused::Unsupported),
            Open::Call { .. } => return Err(Refused::Unknown),
        };
        let texts = questions(input).into_iter().map(|question| question.text);
        let answers: Map<String, Value> = texts.zip(answers.into_iter().map(Value::from)).collect();
        let mut input = input.clone();
        if let Some(input) = input.as_object_mut() {
            input.insert("answers".to_owned(), Value::Object(answers));
        }
        self.desk.answered(id);
        respond(id, &json!({"behavior": "allow", "updatedInput": input}), out);
        Ok(())
    }

    pub(super) fn give_back(
        &mut self,
        id: &str,
        result: Result<String, String>,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let Open::Call { id: message } = self.desk.peek(id)? else { return Err(Refused::Unknown) };
        respond(id, &mcp::result(message, result), out);
        self.desk.answered(id);
        Ok(())
    }
}

fn respond(id: &str, response: &Value, out: &mut Out) {
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    out.frame(&json!({"type": "control_response", "response": response}));
}

fn refuse(id: &str, why: &str, out: &mut Out) {
    let response = json!({"subtype": "error", "request_id": id, "error": why});
    out.frame(&json!({"type": "control_response", "response": response}));
}

/// The rules it proposes for the user's files, kept only as long as it runs.
fn for_the_session(suggestions: &Value) -> Value {
    let mut rules = suggestions.clone();
    for rule in rules.as_array_mut().into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.insert("destination".to_owned(), json!("session"));
        }
    }
    rules
}

fn questions(input: &Value) -> Vec<Question> {
    let question = |item: &Value| {
        let labels = item["options"].as_array().into_iter().flatten();
        Question {
            text: item["question"].as_str().unwrap_or_default().to_owned(),
            options: labels
                .filter_map(|option| option["label"].as_str())
                .map(str::to_owned)
                .collect(),
        }
    };
    input["questions"].as_array().into_iter().flatten().map(question).collect()
}
