//! MCP over HTTP and over standard input: with a client that others wrote, and with messages that no client sends.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use artel_programs::toolbox::{Checked, Limits, Toolbox, mcp};
use proptest::prelude::*;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::runtime::Builder;

use crate::bench::{Bench, TOKEN, Tools};

type Client = RunningService<RoleClient, ()>;

async fn over_http(bench: &Bench) -> Client {
    let url = format!("{}/mcp", bench.endpoint.url().unwrap());
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(TOKEN);
    ().serve(StreamableHttpClientTransport::from_config(config)).await.unwrap()
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    client.call_tool(params).await.unwrap()
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

async fn converse(bench: &Bench, client: &Client) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["answer", "ask", "project", "engineering", "refuse", "panic"]);
    let odd = "quotes \" and ' and\nlines 🦀";
    let result = call(client, "answer", json!({"message": odd})).await;
    assert_ne!(result.is_error, Some(true));
    assert_eq!(bench.last(), ("answer".to_owned(), json!({"message": odd})));
    for (tool, arguments, said) in [
        ("refuse", json!({}), "not today"),
        ("nothing", json!({}), "there are `answer`"),
        ("answer", json!({"message": 7}), "`message`: the value is not of type \"string\""),
    ] {
        let result = call(client, tool, arguments).await;
        assert_eq!(result.is_error, Some(true));
        assert!(text(&result).contains(said), "{}", text(&result));
    }
    // A question waits, and what comes meanwhile does not.
    let (waiting, ()) = tokio::join!(call(client, "ask", json!({"question": "Which?"})), async {
        bench.until_running(1).await;
        call(client, "answer", json!({"message": "meanwhile"})).await;
        bench.tools.answers.add_permits(1);
    });
    assert_eq!(text(&waiting), "blue");
}

/// CA-4.3: a client of the MCP project over HTTP.
#[tokio::test]
async fn a_real_client_uses_the_tools_over_http() {
    let bench = Bench::new();
    let client = over_http(&bench).await;
    converse(&bench, &client).await;
    client.cancel().await.unwrap();
}

/// CA-4.3: the same client over standard input and output.
#[tokio::test]
async fn a_real_client_uses_the_tools_over_stdio() {
    let bench = Bench::new();
    let mut child =
        bench.program(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = ().serve(pipes).await.unwrap();
    converse(&bench, &client).await;
    client.cancel().await.unwrap();
    assert!(child.wait().await.unwrap().success());
}

/// CA-4.4: whoever asks sees at once that it is worked on, and again and again, until the answer comes.
#[tokio::test]
async fn a_question_over_http_shows_signs_of_life() {
    let bench = Bench::limited(Limits { pulse: Duration::from_millis(20), ..Limits::default() });
    let message = json!({"jsonrpc": "2.0", "id": "q", "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "Which?"}}});
    let stream = bench.send("POST /mcp HTTP/1.1", TOKEN, &message.to_string()).await;
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "HTTP/1.1 200 OK");
    let mut comments = 0;
    let answer = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        comments += usize::from(line == ": working");
        if comments == 3 {
            bench.tools.answers.add_permits(1);
        }
        if let Some(data) = line.strip_prefix("data: ") {
            break serde_json::from_str::<Value>(data).unwrap();
        }
    };
    assert!(comments >= 3);
    assert_eq!(answer["id"], "q");
    assert_eq!(answer["result"]["content"][0]["text"], "blue");
}

/// CA-4.3, CA-4.5: what is no proper message gets the error that the protocol has for it.
#[tokio::test]
async fn messages_are_answered_by_the_book() {
    let bench = Bench::new();
    let initialize = |version: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": version}}).to_string()
    };
    let cases = [
        (initialize("2025-03-26"), "/result/protocolVersion", json!("2025-03-26")),
        (initialize("2099-01-01"), "/result/protocolVersion", json!(mcp::VERSIONS[0])),
        (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#.to_owned(), "/result", json!({})),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#.to_owned(),
            "/error/code",
            json!(-32601),
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#.to_owned(),
            "/error/code",
            json!(-32602),
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(), "/error/code", json!(-32600)),
        (r#"{"id":1,"method":"ping"}"#.to_owned(), "/error/code", json!(-32600)),
        ("[]".to_owned(), "/error/code", json!(-32600)),
        ("{nonsense".to_owned(), "/error/code", json!(-32700)),
        (String::new(), "/error/code", json!(-32700)),
    ];
    for (message, at, expected) in &cases {
        let (_, _, body) = bench.ask("POST /mcp HTTP/1.1", TOKEN, message).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer.pointer(at), Some(expected), "{message}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(bench.ask("POST /mcp HTTP/1.1", TOKEN, notification).await.0, 202);
    assert_eq!(bench.ask("GET /mcp HTTP/1.1", TOKEN, "").await.0, 405);
    assert_eq!(bench.ask("DELETE /mcp HTTP/1.1", TOKEN, "").await.0, 200);
    // In a conversation of another protocol the same messages get the same answers.
    let tools: &dyn Toolbox = &*bench.tools;
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"});
    let answer = mcp::answer(tools, list).await.unwrap();
    assert_eq!(answer["result"]["tools"][0]["inputSchema"]["required"], json!(["message"]));
    assert_eq!(mcp::answer(tools, json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await, None);
}

/// CA-4.5: whatever comes, there is an answer or none, and never more.
#[test]
fn any_message_is_read() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let text = prop::sample::select(vec![
        "2.0",
        "ping",
        "tools/call",
        "initialize",
        "answer",
        "",
        "notifications/x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "name",
        "arguments",
        "result",
        "message",
    ]);
    let message = leaf.prop_recursive(4, 32, 6, move |inner| {
        let object =
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner.clone(), 0..8);
        let object = object.prop_map(|it| Value::Object(it.into_iter().collect()));
        prop_oneof![object, prop::collection::vec(inner, 0..3).prop_map(Value::Array)]
    });
    let tools = Arc::new(Tools::new());
    let checked = Checked::new(tools, Limits::default()).unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(mut message in message, proper: bool)| {
        if proper && let Some(object) = message.as_object_mut() {
            object.insert("jsonrpc".to_owned(), json!("2.0"));
        }
        let answer = runtime.block_on(mcp::answer(&checked, message));
        let said = |it: &Value| it.get("result").is_some() != it.get("error").is_some();
        prop_assert!(answer.as_ref().is_none_or(said), "{answer:?}");
    });
}

/// CA-4.5: over standard input, rubbish ends nothing and a call that is cancelled is given up.
#[tokio::test]
async fn stdio_survives_rubbish_and_gives_up_what_is_cancelled() {
    let bench = Bench::new();
    let mut child =
        bench.program(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut rubbish = vec![b'x'; 3 * 1024 * 1024];
    rubbish.extend_from_slice(b"\n\xff\xfe\n\n");
    stdin.write_all(&rubbish).await.unwrap();
    for _ in 0..2 {
        let line = lines.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["error"]["code"], -32700);
    }
    let ask = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "Which?"}}});
    stdin.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
    bench.until_running(1).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    stdin.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
    bench.until_running(0).await;
    drop(stdin);
    let mut rest = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        rest.push_str(&line);
    }
    assert_eq!(rest, "");
    assert!(child.wait().await.unwrap().success());
}

/// CA-4.5: a client that goes away gives its calls up, whichever way it came.
#[tokio::test]
async fn a_client_that_goes_away_gives_its_call_up() {
    let bench = Bench::new();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "Which?"}}});
    let mut stream = bench.send("POST /mcp HTTP/1.1", TOKEN, &call.to_string()).await;
    bench.until_running(1).await;
    let mut first = [0; 8];
    stream.read_exact(&mut first).await.unwrap();
    drop(stream);
    bench.until_running(0).await;

    let body = json!({"arguments": {"question": "Which?"}}).to_string();
    let stream = bench.send("POST /tools/ask HTTP/1.1", TOKEN, &body).await;
    bench.until_running(1).await;
    drop(stream);
    bench.until_running(0).await;

    let mut child = bench.program(&["ask", "Which?"]).spawn().unwrap();
    bench.until_running(1).await;
    child.kill().await.unwrap();
    bench.until_running(0).await;

    let waiting = bench.send("POST /tools/ask HTTP/1.1", TOKEN, &body).await;
    bench.until_running(1).await;
    let tools = Arc::clone(&bench.tools);
    bench.endpoint.close().await;
    assert_eq!(tools.running.load(Ordering::SeqCst), 0);
    drop(waiting);
}
