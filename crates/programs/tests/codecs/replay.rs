//! Recorded conversations, played again: `->` is what was written to the program, `<-` what it wrote.
//!
//! They are of Claude Code 2.1.197, Codex 0.166.0, Gemini CLI 0.61.0, Droid 0.215.0 and the ACP adapters of the first
//! two, with a scripted model behind them; paths are replaced and long lists left out.
//!
//! Our codec writes its own frames with its own ids; the recorded answers are given the ids that ours has used.

use std::collections::BTreeMap;
use std::path::PathBuf;

use artel_programs::codec::acp::{self, Acp};
use artel_programs::codec::claude::{self, Claude};
use artel_programs::codec::codex::{self, Codex};
use artel_programs::codec::droid::{self, Droid};
use artel_programs::codec::{CallId, Command, Decision, RequestId};
use artel_programs::toolbox::ToolSpec;
use serde_json::{Value, json};

use crate::watched::Watched;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Claude,
    Codex,
    Acp,
    Droid,
}

/// A recorded line, and who wrote it.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    ByUs(Value),
    ByIt(String),
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// The names of all recordings, in order.
pub(crate) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

pub(crate) fn protocol(name: &str) -> Protocol {
    match name.split('-').next().unwrap() {
        "claude" => Protocol::Claude,
        "codex" => Protocol::Codex,
        "droid" if !name.starts_with("droid-acp") => Protocol::Droid,
        _ => Protocol::Acp,
    }
}

pub(crate) fn read(name: &str) -> Vec<Said> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
    let said = |line: &str| match line.split_once(' ')? {
        ("->", frame) => serde_json::from_str(frame).ok().map(Said::ByUs),
        ("<-", line) => Some(Said::ByIt(line.to_owned())),
        _ => None,
    };
    text.lines().filter_map(said).collect()
}

/// Plays a recording to its end, and the end of the process with it.
pub(crate) fn play(name: &str) -> Watched {
    let recorded = read(name);
    let mut player = Player::new(protocol(name), &recorded);
    player.codec.start();
    player.greet(&recorded);
    for said in recorded {
        match said {
            Said::ByUs(frame) => player.command(&frame),
            Said::ByIt(line) => player.line(&line),
        }
    }
    player.codec.ended();
    player.codec
}

/// The codec for a recording, set up as it was then.
pub(crate) fn codec(protocol: Protocol, recorded: &[Said]) -> Watched {
    let ours: Vec<&Value> = recorded
        .iter()
        .filter_map(|said| if let Said::ByUs(frame) = said { Some(frame) } else { None })
        .collect();
    let find = |method: &str| {
        ours.iter().find(|frame| frame["method"] == method).map(|frame| &frame["params"])
    };
    let text = |params: Option<&Value>, name: &str| {
        params.and_then(|params| params[name].as_str()).map(str::to_owned)
    };
    match protocol {
        Protocol::Claude => {
            let request = ours.iter().map(|frame| &frame["request"]["sdkMcpServers"]);
            let tools = if request.into_iter().any(Value::is_array) { tools() } else { Vec::new() };
            Watched::new(Claude::new(claude::Setup { tools, instructions: None }), true)
        }
        Protocol::Codex => {
            let started = find("thread/start").or_else(|| find("thread/resume"));
            let dynamic = started.is_some_and(|params| params["dynamicTools"].is_array());
            let setup = codex::Setup {
                folder: "/workspace".to_owned(),
                approval: text(started, "approvalPolicy").unwrap_or_default(),
                sandbox: text(started, "sandbox").unwrap_or_default(),
                tools: if dynamic { tools() } else { Vec::new() },
                resume: text(find("thread/resume"), "threadId"),
                ..codex::Setup::default()
            };
            Watched::new(Codex::new(setup), true)
        }
        Protocol::Acp => {
            let login = find("authenticate").map(|params| acp::Login {
                method: params["methodId"].as_str().unwrap().to_owned(),
                key: Some(("api-key".to_owned(), "key".into())),
            });
            let setup = acp::Setup {
                folder: "/workspace".to_owned(),
                login,
                mode: text(find("session/set_mode"), "modeId"),
                resume: text(find("session/load"), "sessionId"),
                ..acp::Setup::default()
            };
            Watched::new(Acp::new(setup), true)
        }
        Protocol::Droid => {
            let setup = droid::Setup {
                folder: "/workspace".to_owned(),
                machine: "artel".to_owned(),
                autonomy: "off".to_owned(),
                resume: text(find("droid.load_session"), "sessionId"),
                ..droid::Setup::default()
            };
            Watched::new(Droid::new(setup), true)
        }
    }
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "A tool of ours.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    ["answer", "ask"].map(tool).into()
}

pub(crate) struct Player {
    protocol: Protocol,
    pub(crate) codec: Watched,
    /// What the recorded requests of ours were, by their ids then.
    then: BTreeMap<String, String>,
    /// How many of our frames have been looked at for requests.
    seen: usize,
    /// Requests of the codec's that wait for a recorded answer.
    waiting: Vec<(String, Value)>,
}

impl Player {
    pub(crate) fn new(protocol: Protocol, recorded: &[Said]) -> Self {
        let codec = codec(protocol, recorded);
        Self { protocol, codec, then: BTreeMap::new(), seen: 0, waiting: Vec::new() }
    }

    /// Claude Code can do without a handshake and was recorded so at times; ours makes one.
    fn greet(&mut self, recorded: &[Said]) {
        let first = recorded.first();
        if self.protocol == Protocol::Claude
            && matches!(first, Some(Said::ByUs(frame)) if frame["type"] == "user")
        {
            let answer = json!({"subtype": "success", "request_id": "artel-1", "response": {}});
            let frame = json!({"type": "control_response", "response": answer});
            self.codec.line(frame.to_string().as_bytes());
        }
    }

    /// The recorded line, with the id that an answer must have now.
    pub(crate) fn line(&mut self, line: &str) {
        let Ok(mut frame) = serde_json::from_str::<Value>(line) else {
            return self.codec.line(line.as_bytes());
        };
        let claude = self.protocol == Protocol::Claude;
        let place = match (claude, frame["type"] == "control_response", frame["method"].is_null()) {
            (true, true, _) => "/response/request_id",
            (false, _, true) => "/id",
            _ => "/nothing",
        };
        if let Some(id) = frame.pointer_mut(place).filter(|id| !id.is_null()) {
            self.learn();
            let purpose = self.then.get(&id.to_string());
            let at = self.waiting.iter().position(|(waiting, _)| Some(waiting) == purpose);
            *id = at.map_or(json!("not ours"), |at| self.waiting.remove(at).1);
        }
        self.codec.line(frame.to_string().as_bytes());
    }

    fn learn(&mut self) {
        for frame in &self.codec.written[self.seen..] {
            if let Some((purpose, id)) = request(frame) {
                self.waiting.push((purpose, id.clone()));
            }
        }
        self.seen = self.codec.written.len();
    }

    /// What was wanted then is wanted again.
    pub(crate) fn command(&mut self, frame: &Value) {
        if let Some((purpose, id)) = request(frame) {
            self.then.insert(id.to_string(), purpose);
        }
        if let Some(text) = message(frame) {
            let command =
                if self.codec.turn { Command::Steer { text } } else { Command::Say { text } };
            if self.codec.quiet.is_some() && !self.codec.turn {
                self.codec.quiet();
            }
            // A message to a program that never was ready, or into a turn where that cannot be, is refused.
            let _refused = self.codec.command(command);
        } else if wants_end(frame) {
            let _idle = self.codec.command(Command::Interrupt);
        } else if frame["method"] == "droid.close_session" {
            self.codec.command(Command::Close).unwrap();
        } else if let Some(id) = answered(frame).filter(|id| self.codec.open.contains(id)) {
            let (command, exact) = decision(self.protocol, id, frame);
            self.codec.command(command).unwrap();
            if exact {
                let now = self.codec.written.last().unwrap();
                for part in ["id", "result", "response"] {
                    assert_eq!(now[part], frame[part], "answered otherwise than then");
                }
            }
        }
    }
}

/// What a request of ours is for, and its id.
fn request(frame: &Value) -> Option<(String, &Value)> {
    if frame["type"] == "control_request" {
        return Some((frame["request"]["subtype"].as_str()?.to_owned(), &frame["request_id"]));
    }
    let id = Some(&frame["id"]).filter(|id| !id.is_null())?;
    Some((frame["method"].as_str()?.to_owned(), id))
}

fn message(frame: &Value) -> Option<String> {
    let params = &frame["params"];
    let content = match frame["method"].as_str() {
        None if frame["type"] == "user" => &frame["message"]["content"],
        Some("turn/start" | "turn/steer") => &params["input"],
        Some("session/prompt") => &params["prompt"],
        Some("droid.add_user_message") => &params["text"],
        _ => return None,
    };
    content.as_str().or_else(|| content[0]["text"].as_str()).map(str::to_owned)
}

fn wants_end(frame: &Value) -> bool {
    frame["request"]["subtype"] == "interrupt"
        || matches!(
            frame["method"].as_str(),
            Some("turn/interrupt" | "session/cancel" | "droid.interrupt_session")
        )
}

/// The id of the program's request that this frame of ours answers.
fn answered(frame: &Value) -> Option<String> {
    let id = if frame["type"] == "control_response" {
        &frame["response"]["request_id"]
    } else if frame["method"].is_null() {
        &frame["id"]
    } else {
        return None;
    };
    (!id.is_null()).then(|| id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

/// The command that this answer was, and whether the codec must write the very same frame for it.
fn decision(protocol: Protocol, id: String, frame: &Value) -> (Command, bool) {
    let decide = |decision| Command::Decide { request: RequestId(id.clone()), decision };
    let answer = |answers| Command::Answer { request: RequestId(id.clone()), answers };
    let no = Decision::Reject { why: String::new() };
    let result = &frame["result"];
    match protocol {
        Protocol::Claude => {
            let response = &frame["response"]["response"];
            if let Some(content) = response["mcp_response"]["result"]["content"][0]["text"].as_str()
            {
                return (
                    Command::Return { call: CallId(id), result: Ok(content.to_owned()) },
                    false,
                );
            }
            if let Some(answers) = response["updatedInput"]["answers"].as_object() {
                return (
                    answer(
                        answers.values().map(|text| text.as_str().unwrap().to_owned()).collect(),
                    ),
                    true,
                );
            }
            let why = response["message"].as_str().unwrap_or_default().to_owned();
            let stops = response["interrupt"] == true;
            match (response["behavior"].as_str(), response["updatedPermissions"].is_array()) {
                (Some("allow"), true) => (decide(Decision::Always), true),
                (Some("allow"), false) => (decide(Decision::Once), true),
                _ => (decide(Decision::Reject { why }), !stops),
            }
        }
        Protocol::Codex => {
            if let Some(text) = result["contentItems"][0]["text"].as_str() {
                return (Command::Return { call: CallId(id), result: Ok(text.to_owned()) }, true);
            }
            if let Some(answers) = result["answers"].as_object() {
                let texts = answers
                    .values()
                    .map(|answer| answer["answers"][0].as_str().unwrap().to_owned());
                return (answer(texts.collect()), true);
            }
            match result["decision"].as_str() {
                Some("accept") => (decide(Decision::Once), true),
                Some("acceptForSession") => (decide(Decision::Always), true),
                Some("decline") => (decide(no), true),
                _ if result["action"] == "accept" => (decide(Decision::Once), true),
                _ => (decide(no), false),
            }
        }
        Protocol::Acp => match result["outcome"]["optionId"].as_str() {
            Some(option) if option.contains("always") => (decide(Decision::Always), true),
            Some("cancel" | "reject" | "abort") | None => (decide(no), false),
            Some(_) => (decide(Decision::Once), true),
        },
        Protocol::Droid => {
            if let Some(answers) = result["answers"].as_array() {
                let texts =
                    answers.iter().map(|answer| answer["answer"].as_str().unwrap().to_owned());
                return (answer(texts.collect()), false);
            }
            match result["selectedOption"].as_str() {
                Some("proceed_once") => (decide(Decision::Once), true),
                Some("proceed_always") => (decide(Decision::Always), true),
                _ => {
                    let why = result["comment"].as_str().unwrap_or_default().to_owned();
                    (decide(Decision::Reject { why }), false)
                }
            }
        }
    }
}

/// Plays all recordings of a protocol, each of which must tell the story that stands in the table.
pub(crate) fn expect(protocol: Protocol, table: &str) {
    let told: Vec<String> =
        names().into_iter().filter(|name| self::protocol(name) == protocol).collect();
    let rows: Vec<(&str, &str)> = table.lines().filter_map(|row| row.split_once(": ")).collect();
    assert_eq!(
        rows.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        told,
        "the table lacks a recording"
    );
    assert!(rows.len() >= 25);
    for (name, story) in rows {
        assert_eq!(play(name).story(), story, "{name}");
    }
}
