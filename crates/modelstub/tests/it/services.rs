//! What is answered without rules: keys, lists of models, token counts, embeddings.

use artel_modelstub::{Scenario, Stub};
use serde_json::{Value, json};

use crate::client::{
    CHAT, GEMINI, MESSAGES, RESPONSES, chat_body, gemini_body, get, messages_body, post, redact,
    responses_body, stub, whole,
};

async fn echo() -> Stub {
    Stub::start(Scenario::echo()).await.unwrap()
}

#[tokio::test]
async fn a_key_is_wanted_where_the_provider_wants_it() {
    let stub = stub(&json!({"key": "sk-test", "fallback": "echo", "rules": []})).await;
    let bearer = ("authorization", "Bearer sk-test");
    let ways = [
        (CHAT, chat_body("hi"), vec![bearer], vec![("x-api-key", "sk-test")]),
        (RESPONSES, responses_body("hi"), vec![bearer], vec![("x-goog-api-key", "sk-test")]),
        (MESSAGES, messages_body("hi"), vec![("x-api-key", "sk-test"), bearer], vec![]),
        (GEMINI, gemini_body("hi"), vec![("x-goog-api-key", "sk-test"), bearer], vec![]),
    ];
    for (path, body, good, mut bad) in ways {
        bad.extend([("authorization", "Bearer wrong"), ("x-nothing", "")]);
        for (name, value) in good {
            let response = post(&stub, path, &body).header(name, value).send().await.unwrap();
            assert_eq!(response.status(), 200, "{path} with {name}");
        }
        for (name, value) in bad {
            let response = post(&stub, path, &body).header(name, value).send().await.unwrap();
            assert_eq!(response.status(), 401, "{path} with {name}");
        }
    }
    let (status, _) = whole(&stub, &format!("{GEMINI}?key=sk-test"), &gemini_body("hi")).await;
    assert_eq!(status, 200);
    assert_eq!(get(&stub, "/v1/models").await.0, 401);
}

#[tokio::test]
async fn a_wrong_key_in_the_shape_of_each_provider() {
    let stub = stub(&json!({"key": "sk-test", "rules": []})).await;
    let (_, body) = whole(&stub, CHAT, &chat_body("hi")).await;
    assert_eq!(body["error"]["code"], "invalid_api_key");
    let (_, body) = whole(&stub, MESSAGES, &messages_body("hi")).await;
    assert_eq!(
        body["error"],
        json!({"type": "authentication_error", "message": "invalid x-api-key"})
    );
    let (_, body) = whole(&stub, GEMINI, &gemini_body("hi")).await;
    assert_eq!(
        (&body["error"]["code"], &body["error"]["status"]),
        (&json!(401), &json!("UNAUTHENTICATED"))
    );
}

#[tokio::test]
async fn lists_of_models() {
    let stub = stub(&json!({"models": ["a", "b"], "rules": []})).await;
    let model = |id: &str| json!({"id": id, "object": "model", "created": 0, "owned_by": "stub"});
    let (_, body) = get(&stub, "/v1/models").await;
    let created = &body["data"][0]["created"];
    assert!(created.is_u64());
    let list = json!({"object": "list", "data": [model("a"), model("b")]});
    assert_eq!(body.to_string().replace(&created.to_string(), "0"), list.to_string());

    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("{}/v1/models", stub.url()));
    let response = request.header("anthropic-version", "2023-06-01").send().await.unwrap();
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        (&body["first_id"], &body["last_id"], &body["has_more"]),
        (&json!("a"), &json!("b"), &json!(false))
    );
    assert_eq!(body["data"][1]["type"], "model");

    let (_, body) = get(&stub, "/v1beta/models").await;
    assert_eq!(body["models"][0]["name"], "models/a");
    let (_, body) = get(&stub, "/v1beta/models/b").await;
    assert_eq!(body["displayName"], "b");
    assert_eq!(get(&stub, "/v1/models/c").await.0, 404);
}

#[tokio::test]
async fn token_counts() {
    let stub = echo().await;
    let count = async |path: &str, body: Value, field: &str| {
        let (status, body) = whole(&stub, path, &body).await;
        assert_eq!(status, 200);
        body[field].as_u64().unwrap()
    };
    let long = "word ".repeat(100);
    let path = "/v1/messages/count_tokens?beta=true";
    let short = count(path, messages_body("hi"), "input_tokens").await;
    assert!(count(path, messages_body(&long), "input_tokens").await > short);
    let path = "/v1beta/models/gemini-2.5-flash:countTokens";
    let short = count(path, gemini_body("hi"), "totalTokens").await;
    assert!(count(path, gemini_body(&long), "totalTokens").await > short);
}

#[tokio::test]
async fn others() {
    let stub = echo().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert_eq!(client.head(stub.url()).send().await.unwrap().status(), 200);
    let (status, body) = whole(&stub, "/v1/images", &json!({})).await;
    assert_eq!(status, 404);
    assert!(body["error"]["message"].is_string());
    let request = post(&stub, CHAT, &Value::Null).header("content-encoding", "zstd");
    assert_eq!(request.send().await.unwrap().status(), 415);
    let request = post(&stub, CHAT, &Value::Null).body("{not json");
    assert_eq!(request.send().await.unwrap().status(), 400);
    let limit = 32 * 1024 * 1024;
    let request = post(&stub, CHAT, &Value::Null).body("x".repeat(limit + 1));
    assert_eq!(request.send().await.unwrap().status(), 413);
    // Any base URL works.
    for path in ["/chat/completions", "/openai/v1/chat/completions/"] {
        assert_eq!(whole(&stub, path, &chat_body("hi")).await.0, 200);
    }
}

async fn embed(stub: &Stub, body: Value) -> Vec<Vec<f64>> {
    let (status, body) = whole(stub, "/v1/embeddings", &body).await;
    assert_eq!(status, 200, "{body}");
    let numbers = |entry: &Value| serde_json::from_value(entry["embedding"].clone()).unwrap();
    body["data"].as_array().unwrap().iter().map(numbers).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn embeddings() {
    let stub = echo().await;
    let input =
        ["The cat sat on the mat", "the cat sat on a mat!", "quarterly revenue report", "", "?"];
    let body = json!({"model": "e", "input": &input[..3], "dimensions": 256});
    let vectors = embed(&stub, body.clone()).await;
    assert!(vectors.iter().all(|vector| vector.len() == 256));
    assert!(vectors.iter().all(|vector| (cosine(vector, vector) - 1.0).abs() < 1e-4));
    assert!(cosine(&vectors[0], &vectors[1]) > 0.7);
    assert!(cosine(&vectors[0], &vectors[2]).abs() < 0.3);
    assert_eq!(embed(&echo().await, body).await, vectors, "the same everywhere");
    assert_eq!(embed(&stub, json!({"model": "e", "input": "?"})).await[0].len(), 1536);

    let (_, body) =
        whole(&stub, "/v1/embeddings", &json!({"model": "e", "input": "x", "dimensions": 2})).await;
    let vector = body["data"][0]["embedding"].clone();
    assert_eq!(
        redact(body),
        json!({
            "object": "list", "model": "e",
            "data": [{"object": "embedding", "index": 0, "embedding": vector}],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        })
    );
    let body = json!({"model": "e", "input": "x", "dimensions": 3, "encoding_format": "base64"});
    let (_, body) = whole(&stub, "/v1/embeddings", &body).await;
    assert_eq!(body["data"][0]["embedding"].as_str().unwrap().len(), 16);
    for input in [json!(""), json!([]), json!([1, 2]), json!(["x", ""]), Value::Null] {
        let (status, _) =
            whole(&stub, "/v1/embeddings", &json!({"model": "e", "input": input})).await;
        assert_eq!(status, 400, "{input}");
    }
}

#[tokio::test]
async fn embeddings_fail_only_by_rules_that_name_them() {
    let stub = stub(&json!({"rules": [
        {"when": {"wire": "embeddings", "times": 1}, "fault": {"type": "status", "status": 429}},
        {"fault": {"type": "status", "status": 500}},
    ]}))
    .await;
    let body = json!({"model": "e", "input": "x"});
    assert_eq!(whole(&stub, "/v1/embeddings", &body).await.0, 429);
    assert_eq!(whole(&stub, "/v1/embeddings", &body).await.0, 200);
}
