//! What must hold of all messages to programs, whenever the server died.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Agent;
use super::hands::{Letter, is_echo};

/// How long the event log may take to be read to its end.
const LIMIT: Duration = Duration::from_secs(30);

/// Every message is kept once, in order, with one answer, and its task ended once.
pub(super) async fn check(agents: &[Agent], letters: &[Vec<Letter>]) -> Result<Vec<String>> {
    let (mut violations, mut tasks) = (Vec::new(), HashSet::new());
    for (agent, letters) in agents.iter().zip(letters) {
        if letters.is_empty() {
            continue;
        }
        let session = agent.process().await?["session_id"].as_str().map(str::to_owned);
        let session = session.context("an agent that was spoken to has a session")?;
        let path = format!("{}/chat/sessions/{session}/messages/", agent.project);
        let kept = agent.client.list(&path, "messages").await?;
        tasks.extend(kept.iter().filter_map(|message| text(&message["task_id"])));
        let named = |what: String| format!("agent {}: {what}", agent.number);
        violations.extend(history(letters, &kept).into_iter().map(named));
    }
    if let Some(agent) = agents.first() {
        violations.extend(log(agent, &tasks).await?);
    }
    Ok(violations)
}

fn history(letters: &[Letter], kept: &[Value]) -> Vec<String> {
    let mut violations = Vec::new();
    let role = |role: &'static str| kept.iter().filter(move |message| message["role"] == role);
    let mut answers: HashMap<&str, Vec<&Value>> = HashMap::new();
    for answer in role("assistant") {
        answers.entry(answer["task_id"].as_str().unwrap_or_default()).or_default().push(answer);
    }
    let asked: Vec<_> = role("user").collect();
    let sent = letters.iter().filter(|letter| letter.refused.is_none());
    if !asked.iter().map(|asked| &asked["content"]).eq(sent.clone().map(|letter| &letter.text)) {
        let sent = sent.count();
        violations.push(format!("{sent} messages were sent, and {} others are kept", asked.len()));
        return violations;
    }
    violations.extend(letters.iter().filter_map(|letter| {
        Some(format!("{:?} was refused: {}", letter.text, letter.refused.as_ref()?))
    }));
    for (letter, asked) in sent.zip(asked) {
        let text = &letter.text;
        let task = asked["task_id"].as_str().unwrap_or_default();
        if letter.task.as_deref() != Some(task) {
            violations.push(format!(
                "{text:?} has task {task}, and its sender was told {:?}",
                letter.task
            ));
        }
        let own = answers.remove(task).unwrap_or_default();
        let [answer] = own.as_slice() else {
            violations.push(format!("{text:?} has {} answers", own.len()));
            continue;
        };
        let outcome = &answer["outcome"];
        if outcome["success"] == true {
            if !text.starts_with('!') && !is_echo(&answer["content"], text) {
                violations.push(format!("{text:?} was answered {}", answer["content"]));
            }
        } else if !matches!(outcome["error_type"].as_str(), Some("interrupted" | "cancelled")) {
            violations.push(format!("{text:?} failed: {outcome}"));
        }
    }
    violations.extend(answers.keys().map(|task| format!("an answer of task {task} is to nothing")));
    violations
}

/// Every task starts at most once, and ends once.
async fn log(agent: &Agent, tasks: &HashSet<String>) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut events = agent.client.events(&format!("{}/events", agent.project), Some(0)).await?;
    let (mut started, mut ended) = (HashSet::new(), HashSet::new());
    while ended.len() < tasks.len() {
        let Ok(next) = tokio::time::timeout(LIMIT, events.numbered()).await else {
            violations.push(format!("{} of {} tasks have an end", ended.len(), tasks.len()));
            return Ok(violations);
        };
        let (_, frame) = next?.context("the log ended early")?;
        let Some(task) = text(&frame.payload()["task_id"]) else { continue };
        let (seen, what) = match frame.event.as_str() {
            "task_started" => (&mut started, "started"),
            "task_completed" | "task_failed" | "task_cancelled" => (&mut ended, "ended"),
            _ => continue,
        };
        if !seen.insert(task.clone()) {
            violations.push(format!("task {task} {what} twice"));
        }
    }
    if ended != *tasks {
        violations.push("tasks ended that are in no history".to_owned());
    }
    Ok(violations)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
