//! Everything that can go wrong with a service.

use std::time::{Duration, Instant};

use artel_modelstub::{End, Scenario, Stub};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::client::{
    CHAT, GEMINI, GEMINI_STREAM, MESSAGES, RESPONSES, all_streams, all_whole, chat_body, events,
    failing, gemini_body, messages_body, parse, post, redact, streaming, stub, until_broken, whole,
};

async fn error_of(fault: Value, path: &str, body: &Value) -> Value {
    let stub = failing(fault.clone()).await;
    let (status, body) = whole(&stub, path, body).await;
    assert_eq!(status.as_u16(), u16::try_from(fault["status"].as_u64().unwrap()).unwrap());
    redact(body)
}

/// Waits until the last request has come to its end.
async fn end(stub: &Stub) -> End {
    for _ in 0..200 {
        let end = stub.requests().last().unwrap().end;
        if end != End::Open {
            return end;
        }
        sleep(Duration::from_millis(10)).await;
    }
    End::Open
}

#[tokio::test]
async fn errors_of_openai() {
    let body = chat_body("hi");
    let error = |status: u16| error_of(json!({"type": "status", "status": status}), CHAT, &body);
    let shape = |kind: &str, code: Value, message: &Value| json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    let busy = error(429).await;
    assert_eq!(busy, shape("requests", json!("rate_limit_exceeded"), &busy["error"]["message"]));
    let broken = error(500).await;
    assert_eq!(broken, shape("server_error", Value::Null, &broken["error"]["message"]));
    let bad = error(400).await;
    assert_eq!(bad, shape("invalid_request_error", Value::Null, &bad["error"]["message"]));

    let fault = json!({"type": "status", "status": 429, "error": "insufficient_quota"});
    let quota = error_of(fault, RESPONSES, &json!({"model": "m", "input": "hi"})).await;
    let code = json!("insufficient_quota");
    assert_eq!(quota, shape("insufficient_quota", code, &quota["error"]["message"]));
}

#[tokio::test]
async fn errors_of_anthropic() {
    let expected = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ];
    for (status, kind) in expected {
        let fault = json!({"type": "status", "status": status, "message": "no"});
        assert_eq!(
            error_of(fault, MESSAGES, &messages_body("hi")).await,
            json!({"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "req_…"})
        );
    }
}

#[tokio::test]
async fn errors_of_gemini() {
    let fault = json!({"type": "status", "status": 429, "message": "no", "retry_after": 3});
    assert_eq!(
        error_of(fault, GEMINI, &gemini_body("hi")).await,
        json!({"error": {
            "code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}],
        }})
    );
    let fault = json!({"type": "status", "status": 503, "message": "no"});
    assert_eq!(
        error_of(fault, GEMINI_STREAM, &gemini_body("hi")).await,
        json!({"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}})
    );
    let fault =
        json!({"type": "status", "status": 400, "message": "no", "error": "API_KEY_INVALID"});
    let error = error_of(fault, GEMINI, &gemini_body("hi")).await;
    assert_eq!(error["error"]["status"], "INVALID_ARGUMENT");
    assert_eq!(error["error"]["details"][0]["reason"], "API_KEY_INVALID");
}

#[tokio::test]
async fn retry_after_other_headers_and_other_bodies() {
    let fault = json!({
        "type": "status", "status": 429, "retry_after": 7, "body": "slow down",
        "headers": {"retry-after-ms": "7000"},
    });
    let stub = failing(fault).await;
    let response = post(&stub, CHAT, &chat_body("hi")).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(response.headers()["retry-after-ms"], "7000");
    assert_eq!(response.text().await.unwrap(), "slow down");

    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    let stub = failing(json!({
        "type": "status", "status": 503, "retry_after": date, "body": {"own": 1},
    }))
    .await;
    let response = post(&stub, CHAT, &chat_body("hi")).send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], date);
    assert_eq!(response.json::<Value>().await.unwrap(), json!({"own": 1}));
}

#[tokio::test]
async fn hang_until_the_client_goes_away() {
    let stub = failing(json!({"type": "hang"})).await;
    let answer = post(&stub, CHAT, &chat_body("hi")).send();
    assert!(timeout(Duration::from_millis(200), answer).await.is_err());
    assert_eq!(end(&stub).await, End::Abandoned);
    assert_eq!(stub.requests()[0].status, None);
}

#[tokio::test]
async fn slow_to_begin() {
    let rules = json!({"rules": [
        {"reply": {"text": "at last"}, "fault": {"type": "slow", "delay_ms": 150}},
    ]});
    let stub = stub(&rules).await;
    let start = Instant::now();
    let response = post(&stub, CHAT, &streaming(chat_body("hi"))).send().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert!(response.text().await.unwrap().contains("at last"));
    assert_eq!(end(&stub).await, End::Complete);
}

#[tokio::test]
async fn a_delay_between_pieces() {
    let rules = json!({"rules": [{"reply": {"text": "abcd", "chunk": 1, "delay_ms": 40}}]});
    let stub = stub(&rules).await;
    let start = Instant::now();
    events(&stub, CHAT, &streaming(chat_body("hi"))).await;
    assert!(start.elapsed() >= Duration::from_millis(120), "{:?}", start.elapsed());
}

#[tokio::test]
async fn cut_in_the_middle_of_a_stream() {
    let rules = json!({"rules": [
        {"reply": {"text": "one two three", "chunk": 4}, "fault": {"type": "cut", "after": 2}},
    ]});
    for (path, body) in all_streams("hi") {
        let stub = stub(&rules).await;
        let response = post(&stub, path, &body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let (text, result) = until_broken(response).await;
        assert!(result.is_err(), "{path} came to an end: {text}");
        let (_, last) = parse(&text).pop().unwrap();
        assert!(last.to_string().contains("two"), "{path}: {last}");
        assert!(!text.contains("three"), "{path}: {text}");
        assert_eq!(end(&stub).await, End::Broken);
    }
}

#[tokio::test]
async fn cut_before_anything_is_said() {
    for (path, body) in all_streams("hi") {
        let stub = failing(json!({"type": "cut"})).await;
        let response = post(&stub, path, &body).send().await.unwrap();
        let (text, result) = until_broken(response).await;
        assert!(result.is_err(), "{path} came to an end: {text}");
        assert!(!text.contains("This answer"), "{path}: {text}");
    }
}

#[tokio::test]
async fn cut_in_the_middle_of_a_whole_answer() {
    for (path, body) in all_whole("hi") {
        let stub = failing(json!({"type": "cut", "after": 1})).await;
        let response = post(&stub, path, &body).send().await.unwrap();
        let (text, result) = until_broken(response).await;
        assert!(result.is_err(), "{path} came to an end: {text}");
        assert!(text.starts_with('{') && serde_json::from_str::<Value>(&text).is_err(), "{text}");
    }
}

#[tokio::test]
async fn silent_after_the_first_piece() {
    let rules = json!({"rules": [
        {"reply": {"text": "one two", "chunk": 4}, "fault": {"type": "silent"}},
    ]});
    for (path, body) in all_streams("hi") {
        let stub = stub(&rules).await;
        let mut response = post(&stub, path, &body).send().await.unwrap();
        let mut text = String::new();
        while let Ok(chunk) = timeout(Duration::from_millis(200), response.chunk()).await {
            let chunk = chunk.unwrap().expect("it stays open");
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
        assert!(text.contains("one ") && !text.contains("two"), "{path}: {text}");
        assert_eq!(stub.requests()[0].end, End::Open);
        drop(response);
        assert_eq!(end(&stub).await, End::Abandoned);
    }
}

#[tokio::test]
async fn garbage() {
    for (path, body) in all_streams("hi") {
        for (nonsense, sign) in [("json", "nonsense"), ("html", "<html>"), ("bytes", "\u{fffd}")] {
            let fault = json!({"type": "garbage", "after": 1, "as": nonsense});
            let stub = failing(fault).await;
            let response = post(&stub, path, &body).send().await.unwrap();
            let (text, result) = until_broken(response).await;
            assert!(result.is_ok(), "garbage ends as bodies do");
            assert!(text.contains("This answer") && text.contains(sign), "{path}: {text}");
        }
    }
    for (path, body) in all_whole("hi") {
        for nonsense in ["json", "html", "bytes"] {
            let stub = failing(json!({"type": "garbage", "as": nonsense})).await;
            let response = post(&stub, path, &body).send().await.unwrap();
            assert_eq!(response.status(), 200);
            assert!(response.json::<Value>().await.is_err(), "{path} {nonsense}");
        }
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream() {
    let fault = json!({"type": "late_error", "after": 1, "status": 529, "message": "no"});
    for (path, body) in all_streams("hi") {
        let stub = failing(fault.clone()).await;
        let events = events(&stub, path, &body).await;
        let (name, data) = events.last().unwrap();
        match path {
            CHAT => assert_eq!(data["error"]["message"], "no"),
            RESPONSES => {
                assert_eq!(name, "response.failed");
                assert_eq!(data["response"]["status"], "failed");
                assert_eq!(
                    data["response"]["error"],
                    json!({"code": "server_error", "message": "no"})
                );
                assert_eq!(data["response"]["id"], events[0].1["response"]["id"]);
            }
            MESSAGES => {
                assert_eq!(name, "error");
                assert_eq!(data["error"], json!({"type": "overloaded_error", "message": "no"}));
            }
            _ => assert_eq!(
                data["error"],
                json!({"code": 529, "message": "no", "status": "INTERNAL"})
            ),
        }
    }
    let stub = failing(fault).await;
    assert_eq!(whole(&stub, MESSAGES, &messages_body("hi")).await.0, 529);
}

#[tokio::test]
async fn a_call_with_arguments_that_are_not_json() {
    let rules =
        json!({"rules": [{"reply": {"tool_calls": [{"name": "x", "arguments": "{\"a\": "}]}}]});
    let stub = stub(&rules).await;
    let (_, body) = whole(&stub, CHAT, &chat_body("hi")).await;
    let call = &body["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], "{\"a\": ");
}

#[tokio::test]
async fn stopping_breaks_off_what_is_under_way() {
    let stub = failing(json!({"type": "silent"})).await;
    let url = stub.url();
    let response = post(&stub, CHAT, &streaming(chat_body("hi"))).send().await.unwrap();
    stub.stop().await;
    let (_, result) = timeout(Duration::from_secs(5), until_broken(response)).await.unwrap();
    assert!(result.is_err());
    let again = reqwest::Client::builder().no_proxy().build().unwrap().get(url).send().await;
    assert!(again.unwrap_err().is_connect());
}

#[tokio::test]
async fn dropping_stops_too() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    let url = stub.url();
    drop(stub);
    sleep(Duration::from_millis(50)).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(client.get(url).send().await.unwrap_err().is_connect());
}
