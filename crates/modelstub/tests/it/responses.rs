//! `OpenAI` responses.

use serde_json::{Value, json};

use crate::client::{RESPONSES, events, redact, replying, responses_body, streaming, whole};

fn usage() -> Value {
    json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 107,
    })
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

fn message(status: &str, content: &Value) -> Value {
    json!({
        "id": "msg_…", "type": "message", "status": status, "role": "assistant", "content": content,
    })
}

fn call(status: &str, arguments: &str) -> Value {
    json!({
        "id": "fc_…", "type": "function_call", "status": status, "call_id": "call_…",
        "name": "weather", "arguments": arguments,
    })
}

fn response(status: &str, output: &Value, usage: &Value) -> Value {
    json!({
        "id": "resp_…", "object": "response", "created_at": 0, "status": status,
        "background": false, "error": null, "incomplete_details": null, "instructions": null,
        "max_output_tokens": null, "max_tool_calls": null, "model": "gpt-5", "output": output,
        "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
        "reasoning": {"effort": null, "summary": null}, "safety_identifier": null,
        "service_tier": "default", "store": true, "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tool_choice": "auto",
        "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": usage,
        "user": null, "metadata": {},
    })
}

fn reply() -> Value {
    json!({"text": "Hello you", "chunk": 5, "usage": {"input": 100, "output": 7, "cached": 64}})
}

/// Adds what every event has.
fn numbered(events: &[(&str, Value)]) -> Vec<(String, Value)> {
    let number = |(at, (name, data)): (usize, &(&str, Value))| {
        let mut data = data.clone();
        data["type"] = json!(name);
        data["sequence_number"] = json!(at);
        ((*name).to_owned(), data)
    };
    events.iter().enumerate().map(number).collect()
}

async fn redacted_events(reply: Value) -> Vec<(String, Value)> {
    let stub = replying(reply).await;
    let events = events(&stub, RESPONSES, &streaming(responses_body("hi"))).await;
    events.into_iter().map(|(name, data)| (name, redact(data))).collect()
}

#[tokio::test]
async fn plain() {
    let stub = replying(reply()).await;
    let (status, body) = whole(&stub, RESPONSES, &responses_body("hi")).await;
    assert_eq!(status, 200);
    let output = json!([message("completed", &json!([text_part("Hello you")]))]);
    assert_eq!(redact(body), response("completed", &output, &usage()));
}

#[tokio::test]
async fn stream_with_usage() {
    let started = response("in_progress", &json!([]), &Value::Null);
    let place = |mut data: Value| {
        data["item_id"] = json!("msg_…");
        data["output_index"] = json!(0);
        data["content_index"] = json!(0);
        data
    };
    let done = message("completed", &json!([text_part("Hello you")]));
    let expected = numbered(&[
        ("response.created", json!({"response": started})),
        ("response.in_progress", json!({"response": started})),
        (
            "response.output_item.added",
            json!({"output_index": 0, "item": message("in_progress", &json!([]))}),
        ),
        ("response.content_part.added", place(json!({"part": text_part("")}))),
        ("response.output_text.delta", place(json!({"delta": "Hello", "logprobs": []}))),
        ("response.output_text.delta", place(json!({"delta": " you", "logprobs": []}))),
        ("response.output_text.done", place(json!({"text": "Hello you", "logprobs": []}))),
        ("response.content_part.done", place(json!({"part": text_part("Hello you")}))),
        ("response.output_item.done", json!({"output_index": 0, "item": done})),
        (
            "response.completed",
            json!({"response": response("completed", &json!([done]), &usage())}),
        ),
    ]);
    assert_eq!(redacted_events(reply()).await, expected);
}

#[tokio::test]
async fn tool_call() {
    let reply = json!({"tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}]});
    let stub = replying(reply).await;
    let (_, body) = whole(&stub, RESPONSES, &responses_body("hi")).await;
    assert_eq!(body["status"], "completed");
    assert_eq!(redact(body)["output"], json!([call("completed", "{\"city\":\"Kyiv\"}")]));
}

#[tokio::test]
async fn streamed_tool_call() {
    let reply = json!({
        "chunk": 8, "tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}],
    });
    let events = redacted_events(reply).await;
    let arguments = "{\"city\":\"Kyiv\"}";
    let place = |mut data: Value| {
        data["item_id"] = json!("fc_…");
        data["output_index"] = json!(0);
        data
    };
    let expected = numbered(&[
        ("", Value::Null),
        ("", Value::Null),
        ("response.output_item.added", json!({"output_index": 0, "item": call("in_progress", "")})),
        ("response.function_call_arguments.delta", place(json!({"delta": "{\"city\":"}))),
        ("response.function_call_arguments.delta", place(json!({"delta": "\"Kyiv\"}"}))),
        (
            "response.function_call_arguments.done",
            place(json!({"arguments": arguments, "name": "weather"})),
        ),
        (
            "response.output_item.done",
            json!({"output_index": 0, "item": call("completed", arguments)}),
        ),
    ]);
    assert_eq!(events[2..7], expected[2..]);
    assert_eq!(events[7].0, "response.completed");
    assert_eq!(events.len(), 8);
}

#[tokio::test]
async fn ids_are_the_same_all_through() {
    let stub = replying(json!({"tool_calls": [{"name": "weather"}]})).await;
    let events = events(&stub, RESPONSES, &streaming(responses_body("hi"))).await;
    let last = &events.last().unwrap().1["response"];
    assert_eq!(events[0].1["response"]["id"], last["id"]);
    assert_eq!(events[2].1["item"]["id"], last["output"][0]["id"]);
    assert_eq!(events[2].1["item"]["call_id"], last["output"][0]["call_id"]);
    assert_eq!(events[3].1["item_id"], last["output"][0]["id"]);
}

#[tokio::test]
async fn tools_of_codex() {
    let stub = replying(json!({"tool_calls": [
        {"name": "apply_patch", "arguments": "*** Begin Patch"},
        {"name": "answer", "arguments": {"text": "x"}},
    ]}))
    .await;
    let mut body = responses_body("hi");
    body["tools"] = json!([
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp__artel__", "tools": [{"type": "function", "name": "answer"}]},
        {"type": "web_search"},
    ]);
    let (_, body) = whole(&stub, RESPONSES, &body).await;
    let output = &redact(body)["output"];
    assert_eq!(
        output[0],
        json!({
            "id": "ctc_…", "type": "custom_tool_call", "status": "completed", "call_id": "call_…",
            "name": "apply_patch", "input": "*** Begin Patch",
        })
    );
    assert_eq!(output[1]["namespace"], "mcp__artel__");
    assert_eq!(output[1]["name"], "answer");
    assert_eq!(output[1]["type"], "function_call");
}

#[tokio::test]
async fn ways_to_stop() {
    for (stop, reason) in [("length", "max_output_tokens"), ("filtered", "content_filter")] {
        let events = redacted_events(json!({"text": "Hello", "stop": stop})).await;
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.incomplete");
        assert_eq!(data["response"]["status"], "incomplete");
        assert_eq!(data["response"]["incomplete_details"], json!({"reason": reason}));
    }
}

#[tokio::test]
async fn no_usage() {
    let events = redacted_events(json!({"text": "Hello", "usage": "none"})).await;
    assert_eq!(events.last().unwrap().1["response"]["usage"], Value::Null);
}
