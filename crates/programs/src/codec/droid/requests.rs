//! What Droid asks of us, and how it is answered.

use serde_json::{Value, json};

use super::{Droid, rpc};
use crate::codec::{Decision, Event, Out, Permission, Question, Refused, RequestId, diff, words};

/// What an answer needs.
#[derive(Debug)]
pub(super) struct Open {
    id: Value,
    what: What,
}

#[derive(Debug)]
enum What {
    /// With the answers that it takes.
    Permission { always: Option<String> },
    /// With its questions, as they were asked.
    Question(Vec<Value>),
}

impl Droid {
    pub(super) fn asked(&mut self, id: Value, method: &str, params: &Value, out: &mut Out) {
        let name = rpc::name(&id);
        let known = matches!(method, "droid.request_permission" | "droid.ask_user");
        if !known {
            return refuse(&id, rpc::NO_METHOD, &format!("there is no method `{method}`"), out);
        }
        if !self.desk.can_open(&name) {
            return refuse(&id, rpc::NOT_NOW, "nobody can be asked now", out);
        }
        let request = RequestId(name.clone());
        let (what, event) = if method == "droid.ask_user" {
            let asked = params["questions"].as_array().cloned().unwrap_or_default();
            let items = asked.iter().map(question).collect();
            (What::Question(asked), Event::Question { request, items })
        } else {
            let always = always(&params["options"]);
            let permission = permission(request, &params["toolUses"], always.is_some());
            (What::Permission { always }, Event::Permission(permission))
        };
        self.desk.open(name, Open { id, what }, event, out);
    }

    /// A refusal ends the turn and its comment is dropped, so the reason goes with the next message.
    pub(super) fn decide(
        &mut self,
        id: &str,
        decision: Decision,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let option = match (&self.desk.peek(id)?.what, &decision) {
            (What::Permission { .. }, Decision::Once) => "proceed_once",
            (What::Permission { always }, Decision::Always) => {
                always.as_deref().unwrap_or("proceed_once")
            }
            (What::Permission { .. }, Decision::Reject { .. }) => "cancel",
            (What::Question(_), Decision::Reject { .. }) => {
                self.close(id, &json!({"cancelled": true, "answers": []}), out);
                return Ok(());
            }
            (What::Question(_), Decision::Once | Decision::Always) => {
                return Err(Refused::Unsupported);
            }
        };
        let answer = json!({"selectedOption": option});
        self.close(id, &answer, out);
        if let Decision::Reject { why } = decision {
            self.keep(why);
        }
        Ok(())
    }

    pub(super) fn reply(
        &mut self,
        id: &str,
        answers: Vec<String>,
        out: &mut Out,
    ) -> Result<(), Refused> {
        let What::Question(asked) = &self.desk.peek(id)?.what else {
            return Err(Refused::Unsupported);
        };
        let answer = |(item, answer): (&Value, String)| json!({"index": item["index"], "question": item["question"], "answer": answer});
        let answers: Vec<Value> = asked.iter().zip(answers).map(answer).collect();
        self.close(id, &json!({"answers": answers}), out);
        Ok(())
    }

    fn close(&mut self, id: &str, answer: &Value, out: &mut Out) {
        if let Some(Open { id, what: _ }) = self.desk.answered(id) {
            frame(json!({"type": "response", "id": id, "result": answer}), out);
        }
    }
}

/// One question can be about several tools at once.
fn permission(request: RequestId, uses: &Value, can_remember: bool) -> Permission {
    let uses: Vec<&Value> = uses.as_array().into_iter().flatten().collect();
    let name = |used: &&Value| used["toolUse"]["name"].as_str().unwrap_or("tool").to_owned();
    let title = |used: &&Value| words::title(&name(used), &used["toolUse"]["input"]);
    let command = |used: &&Value| used["details"]["fullCommand"].as_str().map(str::to_owned);
    let change = |used: &&Value| diff::of_input(&used["toolUse"]["input"]);
    let commands: Vec<String> = uses.iter().filter_map(command).collect();
    let diffs: String = uses.iter().filter_map(change).collect();
    let input = match uses.as_slice() {
        [used] => used["toolUse"]["input"].clone(),
        several => several.iter().map(|used| used["toolUse"].clone()).collect(),
    };
    Permission {
        request,
        tool: uses.iter().map(name).collect::<Vec<_>>().join(", "),
        title: uses.iter().map(title).collect::<Vec<_>>().join("; "),
        input,
        command: (!commands.is_empty()).then(|| commands.join("\n")),
        folder: None,
        diff: (!diffs.is_empty()).then_some(diffs),
        can_remember,
    }
}

fn always(options: &Value) -> Option<String> {
    let values = options.as_array()?.iter().filter_map(|option| option["value"].as_str());
    values.into_iter().find(|value| value.starts_with("proceed_always")).map(str::to_owned)
}

fn question(item: &Value) -> Question {
    let options = item["options"].as_array().into_iter().flatten();
    let label =
        |option: &Value| option.as_str().or_else(|| option["label"].as_str()).map(str::to_owned);
    Question {
        text: item["question"].as_str().unwrap_or_default().to_owned(),
        options: options.filter_map(label).collect(),
    }
}

fn refuse(id: &Value, code: i64, why: &str, out: &mut Out) {
    frame(json!({"type": "response", "id": id, "error": {"code": code, "message": why}}), out);
}

pub(super) fn frame(mut frame: Value, out: &mut Out) {
    frame["jsonrpc"] = json!("2.0");
    frame["factoryApiVersion"] = json!("1.0.0");
    frame["factoryProtocolVersion"] = json!("1.1.0");
    out.frame(&frame);
}
