//! `artel agents`: the team of a project; and those of it that are programs, started, spoken to and watched.

use std::io::{IsTerminal, Read};

use anyhow::{Context, bail};
use artel_tools::show::{visible, visible_lines};
use clap::{Args, Subcommand, ValueEnum};
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use super::connection::{Connection, text};
use super::{Ending, print};

#[derive(Debug, Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    command: Option<Command>,
    /// The project's id; not needed when you have just one.
    #[arg(long, global = true, value_name = "ID")]
    project: Option<String>,
    /// Answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kinds of programs that agents can be, and whether each can be had on the server.
    Kinds,
    /// Add an agent that is a program.
    Add {
        name: String,
        /// claude-code, codex, gemini-cli, factory-droid, acp or line.
        #[arg(long)]
        kind: String,
        /// As the program calls it.
        #[arg(long)]
        model: Option<String>,
        /// What the agent is told before everything else.
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// Tools that it may use beside `answer` and `ask`.
        #[arg(long = "tool", value_name = "NAME")]
        tools: Vec<String>,
        /// A folder of the server's machine to work in.
        #[arg(long, value_name = "DIR")]
        workspace: Option<String>,
        /// It asks nobody before it does what its sandbox lets it.
        #[arg(long)]
        unattended: bool,
        /// The program and its arguments, for acp and line.
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Give an agent the key of its model service, read from standard input.
    Key {
        agent: String,
        /// Where the service is.
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// Forget what it was given.
        #[arg(long)]
        clear: bool,
    },
    /// Start an agent's process, and wait until it is ready.
    Start { agent: String },
    /// Stop an agent's process; nothing of it is left.
    Stop { agent: String },
    /// Show how an agent's process stands.
    Status { agent: String },
    /// Give an agent a message, and do not wait.
    Send {
        agent: String,
        text: String,
        /// While it works: wait, go into its turn, or take its place.
        #[arg(long, value_name = "HOW", default_value = "queue")]
        delivery: Delivery,
    },
    /// Give an agent a message, and wait for the answer.
    Ask {
        agent: String,
        text: String,
        /// Seconds to wait.
        #[arg(long, default_value_t = 600)]
        wait: u64,
    },
    /// Show what an agent's program wrote.
    Logs {
        agent: String,
        /// How many lines.
        #[arg(short = 'n', long, default_value_t = 100)]
        lines: u32,
        /// Go on as more is written.
        #[arg(short, long)]
        follow: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Delivery {
    Queue,
    Steer,
    Replace,
}

impl Delivery {
    const fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Replace => "replace",
        }
    }
}

pub(super) async fn run(connection: Connection, agents: Agents) -> anyhow::Result<()> {
    let Agents { command, project, json } = agents;
    if let Some(Command::Kinds) = command {
        return kinds(&connection, json).await;
    }
    let project = connection.project(project).await?;
    let Some(command) = command else { return list(&connection, &project, json).await };
    let find = async |named: &str| connection.agent_id(&project, Some(named)).await;
    match command {
        Command::Kinds => Ok(()),
        Command::Add { name, kind, model, prompt, tools, workspace, unattended, command } => {
            let mut runtime = json!({ "kind": kind, "unattended": unattended });
            set(&mut runtime, "model", model.map(Value::from));
            set(&mut runtime, "workspace", workspace.map(Value::from));
            set(&mut runtime, "command", (!command.is_empty()).then(|| json!(command)));
            let mut body = json!({ "name": name, "runtime": runtime, "tools": tools });
            set(&mut body, "system_prompt", prompt.map(Value::from));
            let made = connection.post(&format!("/my/projects/{project}/agents"), &body).await?;
            shown(&made, json, |made| format!("{}  {}", text(&made["id"]), text(&made["name"])))
        }
        Command::Key { agent, base_url, clear } => {
            let path = format!("/agents/{}/credentials", find(&agent).await?);
            if clear {
                connection.sent(connection.request(Method::DELETE, &path)).await?;
                return print("forgotten");
            }
            let mut body = json!({ "api_key": read_key(&agent)? });
            set(&mut body, "base_url", base_url.map(Value::from));
            let set = connection.read(connection.request(Method::PUT, &path).json(&body)).await?;
            shown(&set, json, |_| {
                "kept; its process takes it up when it is started next".to_owned()
            })
        }
        Command::Start { agent } => {
            let path = format!("/agents/{}/start", find(&agent).await?);
            shown(&connection.post(&path, &json!({})).await?, json, process_line)
        }
        Command::Stop { agent } => {
            let path = format!("/agents/{}/stop", find(&agent).await?);
            shown(&connection.post(&path, &json!({})).await?, json, process_line)
        }
        Command::Status { agent } => {
            let path = format!("/agents/{}/process", find(&agent).await?);
            shown(&connection.get(&path).await?, json, process_line)
        }
        Command::Send { agent, text, delivery } => {
            let path = format!("/agents/{}/message", find(&agent).await?);
            let body = json!({ "message": text, "delivery": delivery.word() });
            let told = connection.post(&path, &body).await?;
            shown(&told, json, |told| match told["delivered"].as_str() {
                Some("steered") => "it went into the turn that runs".to_owned(),
                _ => format!("task {}", self::text(&told["task"]["id"])),
            })
        }
        Command::Ask { agent, text, wait } => {
            let path = format!("/agents/{}/message?wait={wait}", find(&agent).await?);
            answer(&connection.post(&path, &json!({ "message": text })).await?, json, wait)
        }
        Command::Logs { agent, lines, follow } => {
            logs(&connection, &find(&agent).await?, lines, follow, json).await
        }
    }
}

fn set(body: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        body[name] = value;
    }
}

/// A key is never an argument: others could see it in the list of processes.
fn read_key(agent: &str) -> anyhow::Result<String> {
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        key = rpassword::prompt_password(format!("Key for {agent}: "))?;
    } else {
        std::io::stdin().take(20_000).read_to_string(&mut key)?;
    }
    let key = key.trim().to_owned();
    if key.is_empty() {
        bail!("no key was given");
    }
    Ok(key)
}

async fn kinds(connection: &Connection, as_json: bool) -> anyhow::Result<()> {
    let kinds = connection.get("/my/runtimes").await?;
    if as_json {
        return print(&kinds.to_string());
    }
    for kind in kinds.as_array().context("the server gave no list")? {
        let line = format!(
            "{:<14} {:<14} {}",
            text(&kind["kind"]),
            text(&kind["status"]),
            text(&kind["detail"])
        );
        print(visible_lines(&line).trim_end())?;
    }
    Ok(())
}

async fn list(connection: &Connection, project: &str, as_json: bool) -> anyhow::Result<()> {
    let listed = connection.get(&format!("/my/projects/{project}/agents?limit=100")).await?;
    if as_json {
        return print(&listed.to_string());
    }
    let agents = listed["agents"].as_array().cloned().unwrap_or_default();
    if agents.is_empty() {
        return print("no agents yet; `artel agents add NAME --kind claude-code` adds one");
    }
    for agent in &agents {
        let runtime = &agent["config"]["runtime"];
        let (what, state) = if runtime.is_object() {
            let process =
                connection.get(&format!("/agents/{}/process", text(&agent["id"]))).await?;
            (text(&runtime["kind"]).to_owned(), text(&process["state"]).to_lowercase())
        } else {
            (text(&agent["config"]["model"]).to_owned(), text(&agent["status"]).to_owned())
        };
        let name = visible(text(&agent["name"]));
        print(format!("{name:<24} {:<24} {state}", visible(&what)).trim_end())?;
    }
    Ok(())
}

fn process_line(process: &Value) -> String {
    let mut line = text(&process["state"]).to_owned();
    for part in ["activity", "reason"] {
        if let Some(word) = process[part].as_str() {
            line = format!("{line}: {word}");
        }
    }
    if let Some(place) = process["waiting"].as_u64() {
        line = format!("{line} (number {place} in the queue for a place)");
    }
    if let Some(memory) = process["memory"].as_u64() {
        line = format!("{line}, {} MiB", memory / (1024 * 1024));
    }
    line
}

fn shown(value: &Value, as_json: bool, line: impl FnOnce(&Value) -> String) -> anyhow::Result<()> {
    if as_json { print(&value.to_string()) } else { print(&visible_lines(&line(value))) }
}

fn answer(told: &Value, as_json: bool, wait: u64) -> anyhow::Result<()> {
    if as_json {
        return print(&told.to_string());
    }
    let answer = &told["answer"];
    if answer.is_null() {
        let task = text(&told["task"]["id"]);
        return Err(
            Ending::TimedOut(format!("no answer within {wait} s; task {task} goes on")).into()
        );
    }
    print(&visible_lines(text(&answer["content"])))?;
    if answer["outcome"]["success"] == false {
        bail!("{}", text(&answer["outcome"]["error"]));
    }
    Ok(())
}

async fn logs(
    connection: &Connection,
    agent: &str,
    lines: u32,
    follow: bool,
    as_json: bool,
) -> anyhow::Result<()> {
    let page = connection.get(&format!("/agents/{agent}/logs?limit={lines}")).await?;
    let entries = page["lines"].as_array().cloned().unwrap_or_default();
    for entry in &entries {
        log_line(entry, as_json)?;
    }
    if !follow {
        return Ok(());
    }
    let after = entries.last().and_then(|entry| entry["number"].as_u64()).unwrap_or(0);
    let path = format!("/agents/{agent}/logs/stream?after={after}");
    let response = connection.sent(connection.request(Method::GET, &path)).await?;
    let (mut stream, mut pending) = (response.bytes_stream(), Vec::new());
    while let Some(chunk) = stream.next().await {
        pending.extend_from_slice(&chunk?);
        while let Some(end) = pending.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = pending.drain(..end + 2).collect();
            let frame = String::from_utf8_lossy(&frame);
            let data = frame.lines().find_map(|line| line.strip_prefix("data:")).map(str::trim);
            match data.map(serde_json::from_str::<Value>) {
                Some(Ok(Value::Number(missed))) => print(&format!("({missed} lines were missed)"))?,
                Some(Ok(entry)) => log_line(&entry, as_json)?,
                Some(Err(_)) | None => {}
            }
        }
    }
    bail!("the server ended the stream")
}

fn log_line(entry: &Value, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print(&entry.to_string());
    }
    let mark = if entry["stream"] == "stderr" { "!" } else { " " };
    print(&format!("{} {mark} {}", text(&entry["timestamp"]), visible(text(&entry["line"]))))
}
