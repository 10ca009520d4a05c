//! The person at the client's terminal: sees what is done, and is asked what may be.

use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artel_tools::Outcome;
use artel_tools::show::{argv, visible, visible_lines};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio_util::task::TaskTracker;

use crate::cli::connection::{Connection, text};

/// Questions that wait for each other; more can be answered from elsewhere.
const WAITING: usize = 100;
/// The most that is shown of a diff.
const LINES: usize = 200;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Terminal {
    /// Whether somebody can be asked here.
    asks: bool,
    state: Arc<Mutex<State>>,
    tracker: TaskTracker,
}

#[derive(Default)]
struct State {
    /// The first one is shown.
    questions: VecDeque<Question>,
    listening: bool,
}

struct Question {
    id: String,
    wants_words: bool,
    words: String,
    connection: Arc<Connection>,
}

impl Terminal {
    /// One that asks, if `asks` and somebody sits there.
    pub(crate) fn new(asks: bool) -> Self {
        let asks = asks && std::io::stdin().is_terminal();
        Self { asks, state: Arc::default(), tracker: TaskTracker::new() }
    }

    /// A line for the person; not on the line where they are asked.
    pub(crate) fn say(&self, words: &str) {
        let before = if self.lock().questions.is_empty() { "" } else { "\n" };
        let mut out = std::io::stdout().lock();
        // Nobody need be there to read it.
        writeln!(out, "{before}{}", visible_lines(words)).and_then(|()| out.flush()).ok();
    }

    /// What was done.
    pub(super) fn done(&self, tool: &str, arguments: &Map<String, Value>, outcome: &Outcome) {
        let mark = if outcome.success { "done  " } else { "failed" };
        let why = outcome.error.as_deref().map(|why| format!(": {}", visible(why)));
        self.say(&format!("  {mark} {}{}", summary(tool, arguments), why.unwrap_or_default()));
    }

    /// Asks the person, after what was asked before.
    pub(super) fn ask(&self, connection: &Arc<Connection>, approval: &Value) {
        let id = text(&approval["id"]).to_owned();
        let words = question(approval);
        if !self.asks {
            self.say(&words);
            return self.say("  Waiting for somebody to decide it elsewhere.");
        }
        let mut state = self.lock();
        if state.questions.len() >= WAITING || state.questions.iter().any(|it| it.id == id) {
            return;
        }
        let wants_words = approval["type"] == "question";
        let connection = Arc::clone(connection);
        state.questions.push_back(Question { id, wants_words, words, connection });
        let (first, listening) = (state.questions.len() == 1, state.listening);
        state.listening = true;
        drop(state);
        if first {
            self.show();
        }
        if !listening {
            self.listen();
        }
    }

    /// It was decided, here or elsewhere.
    pub(super) fn decided(&self, id: &str, how: &str, from: &str) {
        let mut state = self.lock();
        let Some(at) = state.questions.iter().position(|it| it.id == id) else { return };
        state.questions.remove(at);
        drop(state);
        self.say(&format!("  {how} ({from})"));
        if at == 0 {
            self.show();
        }
    }

    /// Shows the question that is next.
    fn show(&self) {
        let state = self.lock();
        let Some(Question { words, wants_words, .. }) = state.questions.front() else { return };
        let hint = if *wants_words {
            "  Your answer (an empty line: no answer): "
        } else {
            "  Approve? [y]es, [n]o, or why not: "
        };
        let shown = format!("\n{words}\n{hint}");
        drop(state);
        let mut out = std::io::stdout().lock();
        write!(out, "{shown}").and_then(|()| out.flush()).ok();
    }

    /// Reads what the person types, as long as the program runs.
    fn listen(&self) {
        let (terminal, runtime) = (self.clone(), tokio::runtime::Handle::current());
        // A thread of its own: a read from the terminal cannot be called off, and must keep nobody from ending.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                let _entered = runtime.enter();
                terminal.answer(line.trim());
            }
        });
    }

    fn answer(&self, line: &str) {
        let state = self.lock();
        let Some(question) = state.questions.front() else { return };
        let lower = line.to_lowercase();
        let body = match lower.as_str() {
            "" if question.wants_words => json!({ "decision": "reject" }),
            _ if question.wants_words => json!({ "decision": "approve", "comment": line }),
            "" => {
                drop(state);
                return self.show();
            }
            "y" | "yes" | "a" => json!({ "decision": "approve" }),
            "n" | "no" | "r" => json!({ "decision": "reject" }),
            _ => json!({ "decision": "reject", "comment": line }),
        };
        let path = format!("/my/approvals/{}/confirm", question.id);
        let request = question.connection.request(Method::POST, &path);
        let request = request.header("x-artel-from", "client").json(&body);
        let (connection, terminal) = (Arc::clone(&question.connection), self.clone());
        drop(state);
        self.tracker.spawn(async move {
            // The stream tells what came of it, also when somebody else was quicker.
            if let Err(error) = connection.sent(request).await {
                terminal.say(&format!("  {error:#}"));
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in one line.
fn summary(tool: &str, arguments: &Map<String, Value>) -> String {
    let word = |name: &str| visible(arguments.get(name).and_then(Value::as_str).unwrap_or("."));
    match tool {
        "tool_read_file" => format!("read {}", word("path")),
        "tool_write_file" => format!("write {}", word("path")),
        "tool_edit_file" => format!("edit {}", word("path")),
        "tool_list_directory" => format!("list {}", word("path")),
        "tool_search_files" => format!("search {} for {}", word("path"), word("pattern")),
        "tool_execute_command" => format!("run {}", command(arguments)),
        other => visible(other),
    }
}

fn command(arguments: &Map<String, Value>) -> String {
    let rest = arguments.get("args").and_then(Value::as_array);
    let words = arguments.get("command").into_iter().chain(rest.into_iter().flatten());
    argv(words.filter_map(Value::as_str))
}

/// Everything the person needs to decide; nothing in it can write to the terminal but as text.
pub(crate) fn question(approval: &Value) -> String {
    let payload = &approval["payload"];
    if approval["type"] == "question" {
        let options = payload["options"].as_array().into_iter().flatten();
        let options: Vec<_> = options.map(|it| format!("\n    - {}", visible(text(it)))).collect();
        let asked = visible_lines(text(&payload["question"]));
        return format!("An agent asks: {asked}{}", options.concat());
    }
    let empty = Map::new();
    let arguments = payload["arguments"].as_object().unwrap_or(&empty);
    let tool = text(&payload["tool_name"]);
    let mut lines = vec![format!(
        "An agent wants to {} ({}: {})\n  in     {}",
        summary(tool, arguments),
        text(&approval["risk_level"]),
        visible(text(&payload["reason"])),
        visible(text(&payload["folder"])),
    )];
    if tool == "tool_execute_command" {
        let network = arguments.get("network") == Some(&Value::Bool(true));
        let walls = match (payload["sandbox"] == true, network) {
            (true, false) => "in a sandbox, without network",
            (true, true) => "in a sandbox, WITH network",
            (false, _) => "WITHOUT a sandbox: it can do everything that you can",
        };
        lines.push(format!("  runs   {walls}, at most {} s", payload["timeout"]));
    }
    if let Some(diff) = payload["diff"].as_str() {
        lines.extend(diff.lines().take(LINES).map(|line| format!("  | {}", visible(line))));
        let more = diff.lines().count().saturating_sub(LINES);
        if more > 0 {
            lines.push(format!("  | … {more} more lines; the whole is in the approval"));
        }
    }
    lines.join("\n")
}
