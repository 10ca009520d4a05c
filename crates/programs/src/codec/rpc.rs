//! JSON-RPC as the programs speak it: one object a line, with or without `jsonrpc`.

use std::collections::BTreeMap;

use serde_json::Value;

/// Requests of ours that may wait at a time; beyond it the oldest is given up.
const WAITING: usize = 256;

/// "There is no such method", in JSON-RPC.
pub(super) const NO_METHOD: i64 = -32601;
/// "That cannot be done now", in JSON-RPC.
pub(super) const NOT_NOW: i64 = -32603;

#[derive(Debug)]
pub(super) enum Frame {
    Request { id: Value, method: String, params: Value },
    Notice { method: String, params: Value },
    Answer { id: Value, result: Result<Value, Failure> },
}

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: i64,
    pub(super) message: String,
}

/// Reads a line; an error says what is wrong with it.
pub(super) fn read(line: &[u8]) -> Result<Frame, String> {
    let mut frame = object(line)?;
    let mut part = |name: &str| frame.get_mut(name).map(Value::take);
    let id = part("id").filter(|id| id.is_number() || id.is_string());
    let params = part("params").unwrap_or_default();
    let method = match part("method") {
        Some(Value::String(method)) => Some(method),
        _ => None,
    };
    match (method, id) {
        (Some(method), Some(id)) => Ok(Frame::Request { id, method, params }),
        (Some(method), None) => Ok(Frame::Notice { method, params }),
        (None, id) => {
            let id = id.unwrap_or_default();
            if let Some(error) = part("error").filter(|error| !error.is_null()) {
                return Ok(Frame::Answer { id, result: Err(failure(&error)) });
            }
            let result = part("result").ok_or("it is neither a request nor an answer")?;
            Ok(Frame::Answer { id, result: Ok(result) })
        }
    }
}

/// A line that must be a JSON object.
pub(super) fn object(line: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(line) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

fn failure(error: &Value) -> Failure {
    let message = error["message"].as_str().unwrap_or("it failed without a word");
    let data = &error["data"];
    let details = [&data["details"], &data["message"], data].into_iter().find_map(Value::as_str);
    Failure {
        code: error["code"].as_i64().unwrap_or_default(),
        message: details.map_or_else(|| message.to_owned(), |more| format!("{message}: {more}")),
    }
}

/// A program's id of a request, as a name.
pub(super) fn name(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Requests of ours that wait for their answer, and what each was for.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    last: u64,
    requests: BTreeMap<u64, T>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self { last: 0, requests: BTreeMap::new() }
    }

    /// The id of a new request.
    pub(super) fn add(&mut self, purpose: T) -> u64 {
        self.last += 1;
        self.requests.insert(self.last, purpose);
        if self.requests.len() > WAITING {
            self.requests.pop_first();
        }
        self.last
    }

    /// What the request with this id was for, unless it was answered before. Ids are numbers, or strings of them.
    pub(super) fn take(&mut self, id: &Value) -> Option<T> {
        let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
        self.requests.remove(&id)
    }
}
