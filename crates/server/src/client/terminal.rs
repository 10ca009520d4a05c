//! The person at the client's terminal: sees what is done, and is asked what may be.

use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artel_domain::approval::Decision;
use artel_tools::Outcome;
use artel_tools::show::{argv, visible, visible_lines};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio_util::task::TaskTracker;

use crate::cli::connection::{Connection, text};
use crate::cli::plan::draw::Sheet;
use crate::cli::plan::pen::Pen;

/// Questions that wait for each other; more can be answered from elsewhere.
const WAITING: usize = 100;
/// The most that is shown of a diff.
const LINES: usize = 200;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Terminal {
    /// Whether somebody can be asked here.
    asks: bool,
    pen: Pen,
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
    pub(crate) fn new(asks: bool, pen: Pen) -> Self {
        let asks = asks && std::io::stdin().is_terminal();
        Self { asks, pen, state: Arc::default(), tracker: TaskTracker::new() }
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
        let words = question(approval, self.pen);
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
        let said = match (question.wants_words, line) {
            (true, "") => Some((Decision::Reject, None)),
            (true, answer) => Some((Decision::Approve, Some(answer.to_owned()))),
            (false, line) => verdict(line),
        };
        let Some((decision, comment)) = said else {
            drop(state);
            return self.show();
        };
        let body = json!({ "decision": decision, "comment": comment });
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

/// What a line means that answers whether something may be done; an empty one answers nothing.
pub(crate) fn verdict(line: &str) -> Option<(Decision, Option<String>)> {
    let line = line.trim();
    Some(match line.to_lowercase().as_str() {
        "" => return None,
        "y" | "yes" | "a" => (Decision::Approve, None),
        "n" | "no" | "r" => (Decision::Reject, None),
        _ => (Decision::Reject, Some(line.to_owned())),
    })
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
pub(crate) fn question(approval: &Value, pen: Pen) -> String {
    let payload = &approval["payload"];
    if approval["type"] == "plan" {
        return plan_question(payload, pen);
    }
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

/// Whether a plan may run, or what becomes of one of its tasks.
fn plan_question(payload: &Value, pen: Pen) -> String {
    if let Some(asked) = payload["question"].as_str() {
        return format!("About a plan: {}", visible_lines(asked));
    }
    let plan = match serde_json::from_value::<Sheet>(payload.clone()) {
        Ok(sheet) => sheet.draw(pen, false),
        // What a server of another version says.
        Err(_) => visible(text(&payload["title"])),
    };
    let id = visible(text(&payload["plan_id"]));
    format!("A plan wants to run: {plan}\n  the whole: artel plan show {id} --all")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OR-7.2, OR-7.3: a plan is shown whole to whoever decides about it, and what it says only shown.
    #[test]
    fn plans_are_shown() {
        let range = json!({ "min": 0.0, "max": 0.25 });
        let task = |name: &str, needs: &[&str]| {
            json!({
                "task": name, "description": "x\u{1b}[2J", "agent": "agent_coder", "dependencies": needs,
                "estimated_cost": range, "estimated_duration": range, "estimated_calls": 1, "risk_level": "LOW",
            })
        };
        let payload = json!({
            "plan_id": "0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3",
            "title": "Mend\u{202e} it",
            "request": "mend it",
            "planner": "model",
            "planner_note": null,
            "tasks": [task("find", &[]), task("mend", &["find"])],
            "graph": { "levels": [["find"], ["mend"]], "edges": [], "critical_path": ["find", "mend"] },
            "total_estimated_cost": range,
            "total_estimated_duration": range,
            "unpriced": true,
            "high_cost": false,
            "risk_level": "HIGH",
        });
        let shown = question(&json!({ "type": "plan", "payload": payload }), Pen::Unicode);
        for words in ["Mend\\u{202e} it", "find", "agent_coder", "$0.25", "HIGH", "unknown price"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        let asked = json!({ "type": "plan", "payload": { "question": "Again\u{7}?" } });
        assert_eq!(question(&asked, Pen::Ascii), "About a plan: Again\\x07?");
        let odd = json!({ "type": "plan", "payload": { "title": 7, "tasks": "many" } });
        assert!(question(&odd, Pen::Ascii).starts_with("A plan wants to run"));
    }

    #[test]
    fn a_line_decides() {
        assert_eq!(verdict("  "), None);
        assert_eq!(verdict(" Yes "), Some((Decision::Approve, None)));
        assert_eq!(verdict("n"), Some((Decision::Reject, None)));
        assert_eq!(verdict("too dear"), Some((Decision::Reject, Some("too dear".to_owned()))));
    }
}
