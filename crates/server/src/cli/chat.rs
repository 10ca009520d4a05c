//! `artel chat`: one message, or a conversation, with an agent of a project on a running server.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, bail};
use artel_tools::show::visible;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::connection::{Connection, text};
use super::print;

/// What was asked for on the command line.
pub(crate) struct Chat {
    pub(crate) project: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) json: bool,
}

/// A conversation with one agent.
struct Talk<'a> {
    connection: &'a Connection,
    path: String,
    agent: &'a str,
    json: bool,
}

pub(crate) async fn run(connection: Connection, chat: Chat) -> anyhow::Result<()> {
    let project = connection.project(chat.project).await?;
    let agent = match chat.agent {
        Some(agent) => agent,
        None => connection.first_agent(&project).await?,
    };
    let session =
        connection.post(&format!("/my/projects/{project}/chat/sessions"), &json!({})).await?;
    let session = session["id"].as_str().context("the server gave no session")?;
    let path = format!("/my/projects/{project}/chat/{session}/message");
    let talk = Talk { connection: &connection, path, agent: &agent, json: chat.json };
    if let Some(text) = chat.text {
        return talk.say(&text).await;
    }
    let interactive = std::io::stdin().is_terminal();
    for line in prompted_lines(interactive, &agent) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        talk.say(&line).await?;
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

impl Talk<'_> {
    /// Sends a message and shows the answer as it is written.
    async fn say(&self, text: &str) -> anyhow::Result<()> {
        let body = json!({ "content": text, "target_agent": self.agent });
        let request = self.connection.request(reqwest::Method::POST, &self.path).json(&body);
        let response = self.connection.sent(request.header("accept", "text/event-stream")).await?;
        let mut shown = Shown { as_json: self.json, wrote: false, open_line: false };
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
    /// Whether any of its text was shown, and whether that ends in the middle of a line.
    wrote: bool,
    open_line: bool,
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
                (self.wrote, self.open_line) = (true, true);
                let mut out = std::io::stdout().lock();
                write!(out, "{}", text(&data["payload"]["text"]))?;
                out.flush()?;
                Ok(false)
            }
            "message_delta" => Ok(false),
            "message" => self.whole(&data).map(|()| true),
            "error" => bail!("{}", text(&data["detail"])),
            told => {
                if !self.as_json {
                    self.aside(told, &data["payload"]);
                }
                Ok(false)
            }
        }
    }

    /// A word beside the answer.
    #[expect(
        clippy::print_stderr,
        reason = "this is for the person, not for whoever reads the answer"
    )]
    fn aside(&mut self, kind: &str, payload: &Value) {
        let words = match kind {
            "task_progress" => visible(text(&payload["detail"])),
            "tool_approval_request" => format!(
                "{} waits for your approval: decide where the client runs, or with `artel approvals`",
                visible(text(&payload["tool_name"]))
            ),
            "agent_question" => format!(
                "asks you: {}; answer where the client runs, or with `artel approvals approve {} --comment …`",
                visible(text(&payload["question"])),
                text(&payload["approval_id"])
            ),
            _ => return,
        };
        let before = if std::mem::take(&mut self.open_line) { "\n" } else { "" };
        eprintln!("{before}({words})");
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
