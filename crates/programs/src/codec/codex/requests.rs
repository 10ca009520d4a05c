//! What Codex asks of us, and how it is answered.

use serde_json::{Map, Value, json};

use super::{Codex, rpc};
use crate::codec::calls::{self, Call};
use crate::codec::{
    CallId, Decision, Event, Fault, Out, Permission, Question, Refused, RequestId, diff as texts,
};

/// A change of files longer than this is not shown whole.
const DIFF: usize = 256 * 1024;

/// What an answer needs.
#[derive(Debug)]
pub(super) struct Open {
    id: Value,
    what: What,
}

#[derive(Debug)]
enum What {
    /// To run a command or to change files.
    Approval,
    /// To do more than its sandbox lets it.
    Permissions(Value),
    /// To use a tool of an MCP server.
    Tool,
    /// With the names of its questions.
    Question(Vec<String>),
    Call,
}

impl Codex {
    pub(super) fn asked(&mut self, id: Value, method: &str, params: &Value, out: &mut Out) {
        let name = rpc::name(&id);
        let request = RequestId(name.clone());
        if method == "mcpServer/elicitation/request" && params["serverName"] == "orchestrator" {
            return respond(&id, &json!({"action": "accept", "content": {}}), out);
        }
        if !self.desk.can_open(&name) {
            return refuse(&id, rpc::NOT_NOW, "nobody can be asked now", out);
        }
        let (what, event) = match method {
            "item/commandExecution/requestApproval" => {
                let command = params["command"].as_str().map(str::to_owned);
                let mut permission = asking(request, "commandExecution", params);
                permission.title = command.clone().unwrap_or(permission.title);
                permission.command = command;
                (What::Approval, Event::Permission(permission))
            }
            "item/fileChange/requestApproval" => {
                let mut permission = asking(request, "fileChange", params);
                permission.diff =
                    params["itemId"].as_str().and_then(|item| self.diffs.get(item)).cloned();
                (What::Approval, Event::Permission(permission))
            }
            "item/permissions/requestApproval" => {
                let permission = asking(request, "permissions", params);
                (What::Permissions(params["permissions"].clone()), Event::Permission(permission))
            }
            "mcpServer/elicitation/request"
                if params["_meta"]["codex_approval_kind"] == "mcp_tool_call" =>
            {
                let mut permission = asking(request, "mcpToolCall", params);
                if let Some(message) = params["message"].as_str() {
                    message.clone_into(&mut permission.title);
                }
                permission.can_remember = false;
                (What::Tool, Event::Permission(permission))
            }
            "item/tool/requestUserInput" => {
                let (names, items) = questions(params);
                (What::Question(names), Event::Question { request, items })
            }
            "item/tool/call" => {
                match calls::read(&params["tool"], &params["arguments"], &self.setup.tools) {
                    Ok(Call { tool, arguments }) => {
                        (What::Call, Event::Call { call: CallId(name.clone()), tool, arguments })
                    }
                    Err(why) => {
                        out.tell(Event::Garbage { why: why.clone() });
                        return respond(&id, &returned(Err(why)), out);
                    }
                }
            }
            other => {
                return refuse(&id, rpc::NO_METHOD, &format!("there is no method `{other}`"), out);
            }
        };
        self.desk.open(name, Open { id, what }, event, out);
    }

    /// A refusal has no room for its reason, which follows as a word into the turn.
    pub(super) fn decide(
        &mut self,
        id: &str,
        decision: Decision,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let rejected = matches!(decision, Decision::Reject { .. });
        let always = decision == Decision::Always;
        let answer = match &self.desk.peek(id)?.what {
            What::Approval => {
                let word = match decision {
                    Decision::Once => "accept",
                    Decision::Always => "acceptForSession",
                    Decision::Reject { .. } => "decline",
                };
                json!({"decision": word})
            }
            What::Permissions(wanted) => {
                let granted = if rejected { &json!({}) } else { wanted };
                json!({"permissions": granted, "scope": if always { "session" } else { "turn" }})
            }
            What::Tool if rejected => json!({"action": "decline", "content": null}),
            What::Tool => json!({"action": "accept", "content": {}}),
            What::Question(_) if rejected => json!({"answers": {}}),
            What::Question(_) => return Err(Refused::Unsupported),
            What::Call => return Err(Refused::Unknown),
        };
        self.close(id, &answer, out);
        if let Decision::Reject { why } = decision
            && !why.is_empty()
        {
            self.steer(why, out);
        }
        Ok(())
    }

    pub(super) fn reply(
        &mut self,
        id: &str,
        answers: Vec<String>,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let names = match &self.desk.peek(id)?.what {
            What::Question(names) => names,
            What::Approval | What::Permissions(_) | What::Tool => return Err(Refused::Unsupported),
            What::Call => return Err(Refused::Unknown),
        };
        let answers = names
            .iter()
            .zip(answers)
            .map(|(name, answer)| (name.clone(), json!({"answers": [answer]})));
        let answers: Map<String, Value> = answers.collect();
        self.close(id, &json!({"answers": answers}), out);
        Ok(())
    }

    pub(super) fn give_back(
        &mut self,
        id: &str,
        result: Result<String, String>,
        out: &mut Out,
    ) -> Result<(), Refused> {
        if !matches!(self.desk.peek(id)?.what, What::Call) {
            return Err(Refused::Unknown);
        }
        self.close(id, &returned(result), out);
        Ok(())
    }

    fn close(&mut self, id: &str, answer: &Value, out: &mut Out) {
        if let Some(Open { id, what: _ }) = self.desk.answered(id) {
            respond(&id, answer, out);
        }
    }
}

/// What a change of files would do, as one diff. New files and deleted ones come as their text alone.
pub(super) fn diff(changes: &Value) -> String {
    let mut all = String::new();
    for change in changes.as_array().into_iter().flatten() {
        let path = change["path"].as_str().unwrap_or_default().trim_start_matches('/');
        let text = change["diff"].as_str().unwrap_or_default();
        let shown = match change["kind"]["type"].as_str() {
            _ if all.len() + text.len() > DIFF => {
                format!("--- a/{path}\n+++ b/{path}\n(too long to be shown)\n")
            }
            Some("add") => texts::unified(path, "", text),
            Some("delete") => texts::unified(path, text, ""),
            _ => format!("--- a/{path}\n+++ b/{path}\n{}\n", text.trim_end_matches('\n')),
        };
        all.push_str(&shown);
    }
    all
}

/// Its own word for the failure counts more than the text.
pub(super) fn fault(error: &Value) -> Fault {
    let info = &error["codexErrorInfo"];
    let word = info.as_str().or_else(|| info.as_object()?.keys().next().map(String::as_str));
    let status = info.as_object().and_then(|info| info.values().next()?["httpStatusCode"].as_u64());
    match word {
        Some("unauthorized") => Fault::Login,
        Some("usageLimitExceeded" | "sessionBudgetExceeded") => Fault::Quota,
        Some("badRequest" | "contextWindowExceeded") => Fault::Refused,
        Some("internalServerError" | "serverOverloaded") => Fault::Unreachable,
        _ => match (status, word) {
            (Some(status), _) => Fault::of_status(status),
            (
                None,
                Some(
                    "httpConnectionFailed"
                    | "responseStreamConnectionFailed"
                    | "responseStreamDisconnected",
                ),
            ) => Fault::Unreachable,
            (None, _) => Fault::of_text(error["message"].as_str().unwrap_or_default()),
        },
    }
}

fn asking(request: RequestId, tool: &str, params: &Value) -> Permission {
    Permission {
        request,
        tool: tool.to_owned(),
        title: params["reason"].as_str().unwrap_or(tool).to_owned(),
        input: params.clone(),
        command: None,
        folder: params["cwd"].as_str().map(str::to_owned),
        diff: None,
        can_remember: true,
    }
}

fn questions(params: &Value) -> (Vec<String>, Vec<Question>) {
    let question = |item: &Value| {
        let labels = item["options"].as_array().into_iter().flatten();
        let options =
            labels.filter_map(|option| option["label"].as_str()).map(str::to_owned).collect();
        let text = item["question"].as_str().unwrap_or_default().to_owned();
        (item["id"].as_str().unwrap_or_default().to_owned(), Question { text, options })
    };
    params["questions"].as_array().into_iter().flatten().map(question).unzip()
}

fn returned(result: Result<String, String>) -> Value {
    let success = result.is_ok();
    let text = result.unwrap_or_else(|why| why);
    json!({"contentItems": [{"type": "inputText", "text": text}], "success": success})
}

fn respond(id: &Value, result: &Value, out: &mut Out) {
    out.frame(&json!({"id": id, "result": result}));
}

fn refuse(id: &Value, code: i64, why: &str, out: &mut Out) {
    out.frame(&json!({"id": id, "error": {"code": code, "message": why}}));
}
