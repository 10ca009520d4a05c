//! `artel chat`: one message, or a conversation, with the team of a project or one agent of it, on a running server.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, bail};
use artel_domain::PlanId;
use artel_domain::event::TaskPlanCreated;
use artel_tools::show::{visible, visible_lines};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::connection::{Connection, text};
use super::plan::draw::Sheet;
use super::plan::live::Live;
use super::plan::remote::Plans;
use super::plan::screen::{Screen, Typed};
use super::plan::watch::{QUESTION, how_to_decide};
use super::print;
use crate::client::terminal::verdict;

/// What was asked for on the command line.
pub(crate) struct Chat {
    pub(crate) project: Option<String>,
    /// None: everybody.
    pub(crate) agent: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) json: bool,
}

/// A conversation with one agent, or with all of them.
struct Talk<'a> {
    connection: &'a Connection,
    plans: Plans<'a>,
    environment: &'a BTreeMap<String, String>,
    path: String,
    agent: Option<String>,
    json: bool,
    /// Whether the person may be asked in between: what they type is not the next message.
    asks: bool,
}

pub(crate) async fn run(
    connection: Connection,
    chat: Chat,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let project = connection.project(chat.project).await?;
    let session =
        connection.post(&format!("/my/projects/{project}/chat/sessions"), &json!({})).await?;
    let session = session["id"].as_str().context("the server gave no session")?;
    let talk = Talk {
        connection: &connection,
        plans: Plans::of(&connection, &project),
        environment,
        path: format!("/my/projects/{project}/chat/{session}/message"),
        agent: chat.agent,
        json: chat.json,
        asks: chat.text.is_some(),
    };
    if let Some(text) = chat.text {
        return talk.say(&text).await;
    }
    let interactive = std::io::stdin().is_terminal();
    for line in prompted_lines(interactive, talk.agent.as_deref()) {
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
fn prompted_lines(
    interactive: bool,
    agent: Option<&str>,
) -> impl Iterator<Item = std::io::Result<String>> + use<> {
    let prompt = move || {
        if interactive {
            eprint!("> ");
        }
    };
    if interactive {
        let whom = agent.unwrap_or("the team");
        eprintln!("Talking to {whom}. An empty line is skipped; Ctrl-D ends.");
    }
    prompt();
    std::io::stdin().lock().lines().inspect(move |_| prompt())
}

impl Talk<'_> {
    /// Sends a message and shows the answer as it is written, or what is done for it.
    async fn say(&self, text: &str) -> anyhow::Result<()> {
        let mut body = json!({ "content": text });
        if let Some(agent) = &self.agent {
            body["target_agent"] = json!(agent);
        }
        let request = self.connection.request(reqwest::Method::POST, &self.path).json(&body);
        let response = self.connection.sent(request.header("accept", "text/event-stream")).await?;
        let mut shown = Shown { as_json: self.json, wrote: false, open_line: false, live: None };
        let mut asking = Asking {
            screen: Screen::new(self.environment, self.json),
            typed: Typed::default(),
            about: None,
        };
        let mut pending = Vec::new();
        let mut stream = response.bytes_stream();
        loop {
            tokio::select! {
                chunk = stream.next() => match chunk {
                    Some(chunk) => pending.extend_from_slice(&chunk?),
                    None => bail!("the answer broke off; it is kept, and can be read from the session"),
                },
                line = asking.typed.next() => self.decide(&mut asking, &line).await,
            }
            while let Some(end) = pending.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = pending.drain(..end + 2).collect();
                match shown.frame(&String::from_utf8_lossy(&frame))? {
                    Heard::More => {}
                    Heard::Request(plan) => self.ask(&mut asking, plan).await?,
                    Heard::Moved(status) => asking.over(&status),
                    Heard::Whole(message) => return self.close(&shown, &message).await,
                }
            }
        }
    }

    /// Asks whether a plan may run, or says how to decide it.
    async fn ask(&self, asking: &mut Asking, plan: PlanId) -> anyhow::Result<()> {
        let view = self.plans.get(plan).await?;
        let picture = Sheet::from(&view).draw(asking.screen.pen(), false);
        asking.screen.say(&picture);
        if self.asks && asking.typed.listen() {
            asking.about = Some(plan);
            asking.screen.ask(QUESTION);
        } else {
            asking.screen.say(&format!("\n{}", how_to_decide(plan)));
        }
        Ok(())
    }

    async fn decide(&self, asking: &mut Asking, line: &str) {
        let Some(plan) = asking.about else { return };
        asking.screen.answered();
        let Some((decision, words)) = verdict(line) else { return asking.screen.ask(QUESTION) };
        asking.about = None;
        if let Err(error) = self.plans.decide(plan, decision, words).await {
            // The stream tells what came of it, also when somebody else was quicker.
            asking.screen.say(&format!("{error:#}\n{}", how_to_decide(plan)));
        }
    }

    /// Shows the whole answer, and fails as it did.
    async fn close(&self, shown: &Shown, message: &Value) -> anyhow::Result<()> {
        shown.whole(message)?;
        if message["success"] != false {
            return Ok(());
        }
        match text(&message["plan_id"]).parse() {
            Ok(plan) => self.plans.judge(&self.plans.get(plan).await?.plan).await,
            Err(_) => bail!("{}", text(&message["error"])),
        }
    }
}

/// A question to the person while an answer is waited for.
struct Asking {
    screen: Screen,
    typed: Typed,
    /// The plan that they are asked about.
    about: Option<PlanId>,
}

impl Asking {
    /// Somebody has decided.
    fn over(&mut self, status: &str) {
        if self.about.take().is_some() {
            self.screen.say(&format!("The plan is {status}."));
        }
    }
}

/// What a frame was.
enum Heard {
    More,
    /// Somebody is asked whether this plan may run.
    Request(PlanId),
    /// The plan stands otherwise.
    Moved(String),
    Whole(Value),
}

/// What the terminal has seen of an answer.
struct Shown {
    as_json: bool,
    /// Whether any of its text was shown, and whether that ends in the middle of a line.
    wrote: bool,
    open_line: bool,
    /// Who works on it, when it was planned.
    live: Option<Live>,
}

impl Shown {
    /// Shows a frame, and says what it was.
    fn frame(&mut self, frame: &str) -> anyhow::Result<Heard> {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (Some(kind), Some(data)) = (field("event: "), field("data: ")) else {
            return Ok(Heard::More);
        };
        let data: Value = serde_json::from_str(data)?;
        let payload = &data["payload"];
        match kind {
            // Several agents may write at the same time: what they wrote for a plan is seen when it is put together.
            "message_delta" if self.as_json || !payload["plan"].is_null() => {}
            "message_delta" => {
                (self.wrote, self.open_line) = (true, true);
                let mut out = std::io::stdout().lock();
                write!(out, "{}", visible_lines(text(&payload["text"])))?;
                out.flush()?;
            }
            "message" => return Ok(Heard::Whole(data)),
            "error" => bail!("{}", visible(text(&data["detail"]))),
            "task_plan_created" => {
                let created = serde_json::from_value::<TaskPlanCreated>(payload.clone());
                self.live = created.ok().map(Live::from);
            }
            "plan_request" => {
                if let Ok(plan) = text(&payload["plan_id"]).parse() {
                    return Ok(Heard::Request(plan));
                }
            }
            "plan_status_changed" => {
                // It begins by asking; that is not yet a decision.
                if payload["status"] != "waiting_approval" {
                    return Ok(Heard::Moved(text(&payload["status"]).to_owned()));
                }
            }
            told => {
                for words in self.told(told, &data) {
                    self.aside(&words);
                }
            }
        }
        Ok(Heard::More)
    }

    /// What an event says to the person.
    fn told(&mut self, kind: &str, event: &Value) -> Vec<String> {
        let payload = &event["payload"];
        if self.as_json {
            return Vec::new();
        }
        if let Some(live) = &mut self.live {
            let Ok(event) = serde_json::from_value(event.clone()) else { return Vec::new() };
            let told = live.attend(&event);
            return told.change.into_iter().chain(told.asked).collect();
        }
        match kind {
            "task_progress" => vec![visible(text(&payload["detail"]))],
            _ => asked(kind, payload).into_iter().collect(),
        }
    }

    /// A word beside the answer.
    #[expect(
        clippy::print_stderr,
        reason = "this is for the person, not for whoever reads the answer"
    )]
    fn aside(&mut self, words: &str) {
        let before = if std::mem::take(&mut self.open_line) { "\n" } else { "" };
        eprintln!("{before}({words})");
    }

    #[expect(
        clippy::print_stderr,
        reason = "the cost is for the person, not for whoever reads the answer"
    )]
    fn whole(&self, message: &Value) -> anyhow::Result<()> {
        if self.as_json {
            return print(&message.to_string());
        }
        if self.wrote {
            print("")?;
        } else {
            print(&visible_lines(text(&message["content"])))?;
        }
        let usage = &message["usage"];
        if message["success"] == false || usage.is_null() {
            return Ok(());
        }
        let cost =
            usage["cost"].as_f64().map_or("price unknown".to_owned(), |cost| format!("${cost:.6}"));
        let about = if usage["estimated"] == true { "about " } else { "" };
        eprintln!(
            "({}: {about}{} tokens in, {} out, {cost})",
            visible(text(&usage["model"])),
            usage["input_tokens"],
            usage["output_tokens"]
        );
        Ok(())
    }
}

/// What an event wants of the person, and where they can do it.
pub(super) fn asked(kind: &str, payload: &Value) -> Option<String> {
    match kind {
        "tool_approval_request" => Some(format!(
            "{} waits for your approval: decide where the client runs, or with `artel approvals`",
            visible(text(&payload["tool_name"]))
        )),
        "agent_question" => Some(format!(
            "asks you: {}; answer where the client runs, or with `artel approvals approve {} --comment …`",
            visible(text(&payload["question"])),
            visible(text(&payload["approval_id"]))
        )),
        _ => None,
    }
}
