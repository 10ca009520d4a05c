//! `artel chat`: one message, or a conversation, with an agent of a project on a running server.

use std::io::{BufRead, IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use artel_engine::{Error, Kind};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::print;

/// What was asked for on the command line.
pub(crate) struct Chat {
    pub(crate) server: String,
    pub(crate) token: String,
    pub(crate) project: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) json: bool,
}

struct Connection {
    http: reqwest::Client,
    server: String,
    token: String,
}

pub(crate) async fn run(chat: Chat) -> anyhow::Result<()> {
    let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(5)).build()?;
    let server = chat.server.trim_end_matches('/').to_owned();
    let connection = Connection { http, server, token: chat.token };
    let project = match chat.project {
        Some(project) => project,
        None => connection.only_project().await?,
    };
    let agent = match chat.agent {
        Some(agent) => agent,
        None => connection.first_agent(&project).await?,
    };
    let session =
        connection.post(&format!("/my/projects/{project}/chat/sessions"), &json!({})).await?;
    let session = session["id"].as_str().context("the server gave no session")?;
    let path = format!("/my/projects/{project}/chat/{session}/message");
    if let Some(text) = chat.text {
        return connection.say(&path, &agent, &text, chat.json).await;
    }
    let interactive = std::io::stdin().is_terminal();
    for line in prompted_lines(interactive, &agent) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        connection.say(&path, &agent, &line, chat.json).await?;
    }
    Ok(())
}

/// Lines from the terminal, with a prompt when somebody sits there.
#[expect(
    clippy::print_stderr,
    reason = "the prompt is for the person, not for whoever reads the output"
)]
fn prompted_lines(interactive: bool, agent: &str) -> impl Iterator<Item = std::io::Result<String>> {
    let prompt = move || {
        if interactive {
            eprint!("> ");
        }
    };
    if interactive {
        eprintln!("Talking to {agent}. An empty line is skipped; Ctrl-D ends.");
    }
    prompt();
    std::io::stdin().lock().lines().inspect(move |_| prompt())
}

impl Connection {
    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.server)).bearer_auth(&self.token)
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.read(self.request(reqwest::Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(reqwest::Method::POST, path).json(body)).await
    }

    async fn read(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
        let response = self.sent(request).await?;
        Ok(response.json().await?)
    }

    /// Sends a request; an answer that says no is an error with its own exit code.
    async fn sent(&self, request: reqwest::RequestBuilder) -> anyhow::Result<reqwest::Response> {
        let response = request.send().await.with_context(|| {
            format!(
                "no server answers at {}; start one with `artel serve`, or set ARTEL_SERVER",
                self.server
            )
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body: Value = response.json().await.unwrap_or_default();
        let detail = body["detail"].as_str().unwrap_or("the server refused").to_owned();
        let kind = match status.as_u16() {
            401 | 403 => Kind::Unauthenticated,
            404 => Kind::NotFound,
            422 => Kind::Invalid,
            503 => Kind::Unavailable,
            _ => Kind::Conflict,
        };
        Err(Error::new(kind, "refused", detail).into())
    }

    async fn only_project(&self) -> anyhow::Result<String> {
        let projects = self.get("/my/projects?limit=100").await?;
        let projects = projects["projects"].as_array().cloned().unwrap_or_default();
        match projects.as_slice() {
            [only] => Ok(only["id"].as_str().unwrap_or_default().to_owned()),
            [] => {
                bail!("you have no project yet; create one (see /docs), or name one with --project")
            }
            several => {
                let list: Vec<_> = several
                    .iter()
                    .map(|project| {
                        format!("  {}  {}", text(&project["id"]), text(&project["name"]))
                    })
                    .collect();
                bail!("you have several projects; name one with --project:\n{}", list.join("\n"))
            }
        }
    }

    async fn first_agent(&self, project: &str) -> anyhow::Result<String> {
        let agents = self.get(&format!("/my/projects/{project}/agents?limit=1")).await?;
        let first = agents["agents"][0]["name"].as_str();
        first.map(str::to_owned).context("the project has no agent; add one first")
    }

    /// Sends a message and shows the answer as it is written.
    async fn say(&self, path: &str, agent: &str, text: &str, as_json: bool) -> anyhow::Result<()> {
        let body = json!({ "content": text, "target_agent": agent });
        let request = self.request(reqwest::Method::POST, path).json(&body);
        let response = self.sent(request.header("accept", "text/event-stream")).await?;
        let mut shown = Shown { as_json, wrote: false };
        let mut pending = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            pending.extend_from_slice(&chunk?);
            while let Some(end) = pending.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = pending.drain(..end + 2).collect();
                if shown.frame(&String::from_utf8_lossy(&frame))? {
                    return Ok(());
                }
            }
        }
        bail!("the answer broke off; it is kept, and can be read from the session")
    }
}

/// What the terminal has seen of an answer.
struct Shown {
    as_json: bool,
    wrote: bool,
}

impl Shown {
    /// Shows a frame; says whether it was the last.
    fn frame(&mut self, frame: &str) -> anyhow::Result<bool> {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (Some(kind), Some(data)) = (field("event: "), field("data: ")) else {
            return Ok(false);
        };
        let data: Value = serde_json::from_str(data)?;
        match kind {
            "message_delta" if !self.as_json => {
                self.wrote = true;
                let mut out = std::io::stdout().lock();
                write!(out, "{}", text(&data["payload"]["text"]))?;
                out.flush()?;
                Ok(false)
            }
            "message" => self.whole(&data).map(|()| true),
            "error" => bail!("{}", text(&data["detail"])),
            _ => Ok(false),
        }
    }

    #[expect(
        clippy::print_stderr,
        reason = "the cost is for the person, not for whoever reads the answer"
    )]
    fn whole(&self, message: &Value) -> anyhow::Result<()> {
        if self.as_json {
            print(&message.to_string())?;
        } else if self.wrote {
            print("")?;
        } else {
            print(text(&message["content"]))?;
        }
        if message["success"] == false {
            bail!("{}", text(&message["error"]));
        }
        if !self.as_json {
            let usage = &message["usage"];
            let cost = usage["cost"]
                .as_f64()
                .map_or("price unknown".to_owned(), |cost| format!("${cost:.6}"));
            let about = if usage["estimated"] == true { "about " } else { "" };
            eprintln!(
                "({}: {about}{} tokens in, {} out, {cost})",
                text(&usage["model"]),
                usage["input_tokens"],
                usage["output_tokens"]
            );
        }
        Ok(())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
