//! Agents that are programs: started, spoken to, asked about and ended through the server's own doors.

mod contained;
mod lines;
mod nasty;
mod nodes;
mod real;
mod waiting;

use std::path::Path;
use std::time::Duration;

use artel_testkit::client::Client;
use serde_json::{Value, json};

use crate::{ARTEL, Side, World, empty_project};

/// How long anything in these tests may take. Gemini CLI takes up a conversation no sooner than a minute after it began.
const PATIENCE: Duration = Duration::from_mins(3);

/// A project on a server that lets programs run.
pub(crate) struct House {
    pub(crate) world: World,
    pub(crate) ada: Client,
    pub(crate) project: String,
}

impl House {
    pub(crate) async fn new(side: Side, environment: &[(&str, &str)]) -> Self {
        let path = std::env::var("PATH").unwrap_or_default().replace(':', ",");
        let own = Path::new(ARTEL).parent().unwrap().display().to_string();
        let path = format!("{own},{path}");
        let mut all = vec![
            ("ARTEL_RECONCILE_EVERY", "100ms"),
            ("ARTEL_AGENT_SANDBOXES", "bubblewrap,none"),
            ("ARTEL_AGENT_PATH", path.as_str()),
        ];
        all.extend(environment);
        let world = side.start_with(&all);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        Self { world, ada, project }
    }

    /// Adds an agent; its id.
    pub(crate) async fn add(&self, agent: &Value) -> String {
        let added = self.ada.post(&format!("{}/agents", self.project), agent).await.unwrap();
        assert_eq!(added.status, 201, "{}", added.body);
        added.id().unwrap().to_owned()
    }

    /// An agent of the line protocol that does as it is told.
    pub(crate) async fn line(&self, name: &str, more: &Value) -> String {
        let mut runtime = json!({
            "kind": "line",
            "command": ["line-agent"],
            "options": {"protocol": {
                "ready": {"line": "^__READY__$"},
                "turn_end": {"line": "^__DONE__$"},
                "interrupt": {"line": "__INTERRUPT__"},
            }},
        });
        for (key, value) in more.as_object().unwrap() {
            runtime[key] = value.clone();
        }
        self.add(&json!({"name": name, "runtime": runtime})).await
    }

    /// Says something and gives the answer: its text, and what it failed of. On a busy machine it may take longer than a
    /// request waits.
    pub(crate) async fn ask(&self, agent: &str, text: &str) -> (String, Option<String>) {
        let path = format!("/agents/{agent}/message?wait=25");
        let told = self.ada.post(&path, &json!({"message": text})).await.unwrap();
        assert!(told.status.is_success(), "{}", told.body);
        let mut answer = told.body["answer"].clone();
        if answer.is_null() {
            let task = told.body["task"]["id"].as_str().unwrap();
            self.ended(task).await;
            answer = self.answer(&told.body["session_id"], task).await;
        }
        let error = answer["outcome"]["error"].as_str().map(str::to_owned);
        (answer["content"].as_str().unwrap().to_owned(), error)
    }

    /// What a task that has ended gave.
    async fn answer(&self, session: &Value, task: &str) -> Value {
        let session = session.as_str().unwrap();
        let path = format!("{}/chat/sessions/{session}/messages", self.project);
        let said = self.ada.list(&path, "messages").await.unwrap();
        let given = said.iter().find(|it| it["task_id"] == task && it["role"] == "assistant");
        given.unwrap_or_else(|| panic!("{task} gave nothing: {said:?}")).clone()
    }

    /// Starts an agent's process, however long that takes.
    pub(crate) async fn start(&self, agent: &str) -> Value {
        // Who asked may have given up before it was there.
        let _ = self.ada.post(&format!("/agents/{agent}/start"), &json!({})).await;
        self.process_is(agent, |it| it["state"] == "RUNNING").await
    }

    /// Says something and does not wait; the task's id.
    pub(crate) async fn tell(&self, agent: &str, text: &str) -> String {
        let path = format!("/agents/{agent}/message");
        let told = self.ada.post(&path, &json!({"message": text})).await.unwrap();
        assert_eq!(told.status, 202, "{}", told.body);
        told.body["task"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn process(&self, agent: &str) -> Value {
        self.ada.get(&format!("/agents/{agent}/process")).await.unwrap().success().unwrap()
    }

    /// Waits until the process is as it should be.
    pub(crate) async fn process_is(&self, agent: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let began = std::time::Instant::now();
        loop {
            let process = self.process(agent).await;
            if fits(&process) {
                return process;
            }
            assert!(began.elapsed() < PATIENCE, "{process}\n{}", self.world.artel.log_tail());
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits for something that a person is asked.
    pub(crate) async fn asked(&self) -> Value {
        let began = std::time::Instant::now();
        loop {
            let all = self.ada.get("/my/approvals?status=pending").await.unwrap();
            if let Some(first) = all.body["approvals"].as_array().unwrap().first() {
                return first.clone();
            }
            assert!(began.elapsed() < PATIENCE, "nobody asks\n{}", self.world.artel.log_tail());
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Cancels a task that is not over.
    pub(crate) async fn cancel(&self, task: &str) {
        let path = format!("{}/tasks/{task}", self.project);
        let cancelled = self.ada.post(&format!("{path}/cancel"), &json!({})).await.unwrap();
        if cancelled.status != 200 {
            let now = self.ada.get(&path).await.unwrap().body;
            panic!("{}\n{now}\n{}", cancelled.body, self.world.artel.log_tail());
        }
    }

    /// Waits for the end of a task; its answer.
    pub(crate) async fn ended(&self, task: &str) -> Value {
        let began = std::time::Instant::now();
        loop {
            let path = format!("{}/tasks/{task}", self.project);
            let now = self.ada.get(&path).await.unwrap().success().unwrap();
            if !now["finished_at"].is_null() {
                return now;
            }
            assert!(began.elapsed() < PATIENCE, "{now}\n{}", self.world.artel.log_tail());
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub(crate) async fn log(&self, agent: &str) -> Vec<Value> {
        let page = self.ada.get(&format!("/agents/{agent}/logs?limit=1000")).await.unwrap();
        page.success().unwrap()["lines"].as_array().unwrap().clone()
    }
}

/// Processes of this machine whose environment has a word, without those that are ending.
pub(crate) fn alive_with(word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(word) {
            found.push(pid);
        }
    }
    found
}

/// Waits until nothing of an agent is left.
pub(crate) async fn gone(word: &str, limit: Duration) {
    let began = std::time::Instant::now();
    loop {
        let left = alive_with(word);
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < limit, "left: {left:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
