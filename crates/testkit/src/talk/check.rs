//! What must hold of all conversations, whenever the server died.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{AGENTS, Room, Talk, messages};

/// How long a project's event log may take to be read to its end.
const LIMIT: Duration = Duration::from_secs(30);
/// The most that is said of what went wrong.
const MOST: usize = 50;

/// Compares every history and every log with what the senders know.
pub(super) async fn check(rooms: &[Room], talks: &[Talk]) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut tasks: HashMap<usize, HashSet<String>> = HashMap::new();
    for talk in talks {
        let kept = messages(&rooms[talk.room], &talk.session).await?;
        let own = tasks.entry(talk.room).or_default();
        own.extend(kept.iter().filter_map(|message| text(&message["task_id"])));
        history(talk, &kept, &mut violations);
    }
    for (number, room) in rooms.iter().enumerate() {
        let expected = tasks.remove(&number).unwrap_or_default();
        log(room, &expected, &mut violations).await?;
        if violations.len() > MOST {
            violations.truncate(MOST);
            violations.push("and more".to_owned());
            break;
        }
    }
    Ok(violations)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Every message once, in order, and after it one answer: its own, and the one that its sender got.
fn history(talk: &Talk, kept: &[Value], violations: &mut Vec<String>) {
    let session = &talk.session;
    let mut complain = |what: String| violations.push(format!("session {session}: {what}"));
    let role = |role: &'static str| kept.iter().filter(move |message| message["role"] == role);
    let asked: Vec<_> = role("user").map(|message| &message["content"]).collect();
    let sent: Vec<_> = talk.said.iter().map(|said| Value::from(said.text.as_str())).collect();
    if !asked.iter().copied().eq(sent.iter()) {
        complain(format!("{} messages were sent, and {} are kept", sent.len(), asked.len()));
        return;
    }
    let answers: Vec<_> = role("assistant").collect();
    if answers.len() != sent.len() || kept.len() != 2 * sent.len() {
        complain(format!("{} messages have {} answers", sent.len(), answers.len()));
        return;
    }
    for ((said, answer), asked) in talk.said.iter().zip(answers).zip(role("user")) {
        let outcome = &answer["outcome"];
        if answer["task_id"] != asked["task_id"] {
            complain(format!("{:?} has another's answer", said.text));
        } else if answer["id"] != said.answer["id"] || answer["content"] != said.answer["content"] {
            complain(format!("{:?}: its sender got another answer than is kept", said.text));
        } else if outcome["success"] == true {
            if answer["content"] != format!("You said: {}", said.text) {
                complain(format!("{:?} was answered {}", said.text, answer["content"]));
            }
        } else if !matches!(outcome["error_type"].as_str(), Some("interrupted" | "timeout")) {
            complain(format!("{:?} failed: {outcome}", said.text));
        }
    }
}

/// Every task starts at most once and ends once; no agent runs more at a time than it may.
async fn log(room: &Room, tasks: &HashSet<String>, violations: &mut Vec<String>) -> Result<()> {
    let path = &room.path;
    let mut complain = |what: String| violations.push(format!("{path}: {what}"));
    let limits = limits(room).await?;
    let mut events = room.client.events(&format!("{path}/events"), Some(0)).await?;
    let mut running: HashMap<String, HashSet<String>> = HashMap::new();
    let (mut started, mut ended) = (HashSet::new(), HashSet::new());
    while ended.len() < tasks.len() {
        let next = tokio::time::timeout(LIMIT, events.numbered()).await;
        let Ok(next) = next else {
            complain(format!("{} of {} tasks have an end", ended.len(), tasks.len()));
            return Ok(());
        };
        let (_, frame) = next?.context("the log ended early")?;
        let payload = frame.payload();
        let (Some(task), Some(agent)) = (text(&payload["task_id"]), text(&payload["agent_id"]))
        else {
            continue;
        };
        match frame.event.as_str() {
            "task_started" => {
                if !started.insert(task.clone()) {
                    complain(format!("task {task} started twice"));
                }
                let now = running.entry(agent.clone()).or_default();
                now.insert(task);
                if now.len() as u64 > limits.get(&agent).copied().unwrap_or(0) {
                    complain(format!("agent {agent} runs {} tasks", now.len()));
                }
            }
            "task_completed" | "task_failed" | "task_cancelled" => {
                running.entry(agent).or_default().remove(&task);
                if !ended.insert(task.clone()) {
                    complain(format!("task {task} ended twice"));
                }
            }
            _ => {}
        }
    }
    if ended != *tasks {
        complain("tasks ended that are in no history".to_owned());
    }
    Ok(())
}

async fn limits(room: &Room) -> Result<HashMap<String, u64>> {
    let agents = room.client.list(&format!("{}/agents", room.path), "agents").await?;
    let limit = |agent: &Value| {
        let own = AGENTS.iter().find(|(name, _)| agent["name"] == *name)?;
        Some((text(&agent["id"])?, own.1))
    };
    Ok(agents.iter().filter_map(limit).collect())
}
