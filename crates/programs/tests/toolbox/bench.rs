//! An agent's tools on an endpoint of their own, and ways to call them.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_programs::toolbox::endpoint::{Endpoint, Setup};
use artel_programs::toolbox::{Limits, ToolSpec, Toolbox};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::Semaphore;

pub(crate) const TOKEN: &str = "the-token-of-this-agent";
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_orchestrator");

/// Tools that tell what they were called with.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) calls: Mutex<Vec<(String, Value)>>,
    pub(crate) running: AtomicUsize,
    pub(crate) most: AtomicUsize,
    /// One is given for each question that may be answered.
    pub(crate) answers: Semaphore,
}

impl Tools {
    pub(crate) fn new() -> Self {
        Self {
            calls: Mutex::default(),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            answers: Semaphore::new(0),
        }
    }
}

/// Counts a call for as long as it runs.
struct Running<'a>(&'a Tools);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Toolbox for Tools {
    fn tools(&self) -> Vec<ToolSpec> {
        let text = json!({"type": "string", "minLength": 1});
        let tool = |name: &str, description: &str, required: Value, properties: Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({"type": "object", "properties": properties, "required": required,
                "additionalProperties": false}),
        };
        vec![
            tool(
                "answer",
                "Tells the user something.",
                json!(["message"]),
                json!({"message": {"type": "string"}}),
            ),
            tool(
                "ask",
                "Asks the user and waits for the answer.",
                json!(["question"]),
                json!({"question": text, "options": {"type": "array", "items": {"type": "string"}}}),
            ),
            tool(
                "project",
                "Works on projects.",
                json!(["method"]),
                json!({
                    "method": {"type": "string", "enum": ["create", "get", "list"]},
                    "name": text, "limit": {"type": "integer"}, "archived": {"type": "boolean"},
                }),
            ),
            tool(
                "engineering",
                "Starts work on a project.",
                json!(["task", "project_id"]),
                json!({"task": text, "project_id": text}),
            ),
            tool("refuse", "Always says no.", json!([]), json!({})),
            tool("panic", "Breaks.", json!([]), json!({})),
        ]
    }

    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        let _running = Running(self);
        self.most.fetch_max(now, Ordering::SeqCst);
        self.calls.lock().unwrap().push((tool.to_owned(), Value::Object(arguments.clone())));
        match tool {
            "ask" => {
                self.answers.acquire().await.unwrap().forget();
                Ok("blue".to_owned())
            }
            "refuse" => Err("not today".to_owned()),
            "panic" => panic!("a tool that breaks"),
            _ => Ok(Value::Object(arguments).to_string()),
        }
    }
}

/// An endpoint with all its places.
pub(crate) struct Bench {
    pub(crate) tools: Arc<Tools>,
    pub(crate) endpoint: Endpoint,
    pub(crate) socket: PathBuf,
    pub(crate) spool: PathBuf,
    pub(crate) folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::limited(Limits::default())
    }

    pub(crate) fn limited(limits: Limits) -> Self {
        let folder = TempDir::new().unwrap();
        let tools = Arc::new(Tools::new());
        let setup = setup(folder.path(), Arc::clone(&tools), limits);
        let (socket, spool) = (setup.socket.clone(), setup.spool.clone());
        let endpoint = Endpoint::open(setup).unwrap();
        Self { tools, endpoint, socket, spool, folder }
    }

    pub(crate) fn last(&self) -> (String, Value) {
        self.tools.calls.lock().unwrap().last().cloned().unwrap()
    }

    /// The program, with the socket as its only way.
    pub(crate) fn program(&self, words: &[&str]) -> Command {
        let mut command = bare(words);
        command.env("ORCH_SOCK", &self.socket).env("ORCH_AUTH", TOKEN);
        command
    }

    /// Runs the program to its end.
    pub(crate) async fn run(&self, words: &[&str]) -> Output {
        self.program(words).output().await.unwrap()
    }

    /// Opens a connection and sends a request.
    pub(crate) async fn send(&self, head: &str, token: &str, body: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let host = if head.contains("\r\nhost:") { "" } else { "\r\nhost: localhost" };
        let request = format!(
            "{head}{host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// A request's whole answer: its status, head and body.
    pub(crate) async fn ask(&self, head: &str, token: &str, body: &str) -> (u16, String, String) {
        let mut answer = String::new();
        self.send(head, token, body).await.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    /// Waits until so many calls run.
    pub(crate) async fn until_running(&self, wanted: usize) {
        until(|| self.tools.running.load(Ordering::SeqCst) == wanted).await;
    }
}

/// An endpoint to be, with its places in this folder.
pub(crate) fn setup(folder: &Path, tools: Arc<Tools>, limits: Limits) -> Setup {
    Setup {
        socket: folder.join("agent/tools.sock"),
        spool: folder.join("agent/spool"),
        loopback: true,
        token: TOKEN.into(),
        toolbox: tools,
        limits,
    }
}

/// The program without anything in its environment.
pub(crate) fn bare(words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Waits for something that comes soon; a test that waits in vain is ended by its runner.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
