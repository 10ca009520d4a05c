//! The stub as a program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::client::chat_body;

#[test]
fn listens_answers_and_logs() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, log) = (folder.path().join("scenario.json"), folder.path().join("log.jsonl"));
    fs::write(
        &scenario,
        json!({"key": "sk-test", "rules": [{"reply": {"text": "hello"}}]}).to_string(),
    )
    .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_modelstub"))
        .args(["--listen", "127.0.0.1:0", "--scenario"])
        .arg(&scenario)
        .arg("--log")
        .arg(&log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("modelstub is listening on ").unwrap().to_owned();

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer: Value = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("{url}/v1/chat/completions")).bearer_auth("sk-test");
        request.json(&chat_body("hi")).send().await.unwrap().json().await.unwrap()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "hello");

    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["request"]["rule"], "rule 1");
    assert_eq!(lines[0]["request"]["wire"], "chat");
    assert_eq!(lines[1]["end"], json!({"n": 1, "how": "complete"}));
    assert!(!log.contains("sk-test"));
}

#[test]
fn a_scenario_that_is_wrong_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("scenario.json");
    fs::write(&scenario, r#"{"rules": [{"name": "first"}]}"#).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_modelstub"))
        .arg("--scenario")
        .arg(&scenario)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("scenario.json") && error.contains("rule 1 (first)"), "{error}");
}
