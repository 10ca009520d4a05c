//! Plans: from a sentence to an answer of several agents, by way of a graph that can be seen, approved and stopped.

mod caching;
mod changing;
mod deciding;
mod planning;
mod recovery;
mod running;
mod talking;

use std::time::Duration;

use artel_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::{Side, World, empty_project};

/// What every agent of these tests does: as it is told, and so that it can be told apart.
const SCRIPT: &str = "
[[rules]]
when = 'FAIL'
fault = 'panic'
[[rules]]
when = 'HOLD'
text = 'a b c d e f g h i j k l m n o p q r s t u v w x y z'
pause_ms = 5000
[[rules]]
when = 'SLOW'
text = 'took its time: one two three four five six'
pause_ms = 100
[[rules]]
text = 'done: {message}'
";

/// A project with a team, on a server that knows the script.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) ada: Client,
    pub(crate) project: String,
}

impl Bench {
    pub(crate) async fn new(side: Side) -> Self {
        Self::with(side, &[]).await
    }

    pub(crate) async fn with(side: Side, environment: &[(&str, &str)]) -> Self {
        let mut all = vec![("ARTEL_RECONCILE_EVERY", "100ms")];
        all.extend(environment);
        let mut world = side.start_with(&all);
        let folder = world.artel.data_dir().join("scripts");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("worker.toml"), SCRIPT).unwrap();
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let bench = Self { world, ada, project };
        for (name, capabilities, risk, limit) in [
            ("coder", &["implement_feature", "fix_bug", "write_code"][..], "HIGH", 3),
            ("analyst", &["analyze_code", "review_code", "investigate_error"], "LOW", 3),
            ("writer", &["write_documentation", "summarize", "translate"], "MEDIUM", 1),
            ("researcher", &["research_topic", "compare_options", "answer_question"], "LOW", 3),
        ] {
            let agent = json!({"name": name, "model": "scripted/worker", "concurrency_limit": limit,
                               "metadata": {"capabilities": capabilities, "risk_level": risk}});
            bench.agent(&agent).await;
        }
        bench
    }

    pub(crate) async fn agent(&self, agent: &Value) -> String {
        let added = self.ada.post(&format!("{}/agents", self.project), agent).await.unwrap();
        assert_eq!(added.status, 201, "{}", added.body);
        added.id().unwrap().to_owned()
    }

    pub(crate) async fn agent_path(&self, name: &str) -> String {
        let all = self.ada.list(&format!("{}/agents", self.project), "agents").await.unwrap();
        let agent = all.iter().find(|agent| agent["name"] == name).unwrap();
        format!("{}/agents/{}", self.project, agent["id"].as_str().unwrap())
    }

    pub(crate) async fn plan(&self, body: &Value) -> Answer {
        self.ada.post(&format!("{}/plans/", self.project), body).await.unwrap()
    }

    /// A plan of these tasks, each a name, what it says, its agent, and what it depends on; not begun.
    pub(crate) async fn given(&self, tasks: &[(&str, &str, &str, &[&str])]) -> String {
        let task = |(name, description, agent, on): &(&str, &str, &str, &[&str])| json!({"name": name, "description": description, "agent": agent, "depends_on": on});
        let tasks: Vec<_> = tasks.iter().map(task).collect();
        let made = self.plan(&json!({"request": "as given", "tasks": tasks})).await;
        assert_eq!(made.status, 201, "{}", made.body);
        assert_eq!(
            (&made.body["status"], &made.body["planner"]),
            (&json!("pending"), &json!("given"))
        );
        made.id().unwrap().to_owned()
    }

    pub(crate) fn path(&self, plan: &str) -> String {
        format!("{}/plans/{plan}", self.project)
    }

    pub(crate) async fn act(&self, plan: &str, verb: &str, body: &Value) -> Answer {
        self.ada.post(&format!("{}/{verb}", self.path(plan)), body).await.unwrap()
    }

    /// Lets it run, whoever has to say yes.
    pub(crate) async fn run(&self, plan: &str) {
        let begun = self.act(plan, "execute", &json!({})).await;
        assert_eq!(begun.status, 202, "{}", begun.body);
        if begun.body["status"] == "waiting_approval" {
            let approved = self.act(plan, "approve", &json!({})).await;
            assert_eq!(approved.status, 200, "{}", approved.body);
        }
    }

    pub(crate) async fn show(&self, plan: &str) -> Value {
        self.ada.get(&self.path(plan)).await.unwrap().body
    }

    /// The plan once it has ended.
    pub(crate) async fn ended(&self, plan: &str) -> Value {
        let ended = self.ada.get(&format!("{}?wait=60", self.path(plan))).await.unwrap().body;
        assert!(!ended["finished_at"].is_null(), "it never ended: {ended}");
        ended
    }

    /// The state of each task.
    pub(crate) async fn states(&self, plan: &str) -> Vec<(String, String)> {
        states(&self.show(plan).await)
    }

    pub(crate) async fn answer(&self, plan: &Value) -> Value {
        let session = plan["session_id"].as_str().unwrap();
        let path = format!("{}/chat/sessions/{session}/messages/", self.project);
        let all = self.ada.list(&path, "messages").await.unwrap();
        all.into_iter().find(|message| message["id"] == plan["answer_id"]).unwrap()
    }

    /// All events so far of these kinds, with their payloads.
    pub(crate) async fn told(&self, kinds: &[&str]) -> Vec<(String, Value)> {
        let mut events =
            self.ada.events(&format!("{}/events", self.project), Some(0)).await.unwrap();
        let mut told = Vec::new();
        while let Ok(Ok(Some((_, frame)))) =
            tokio::time::timeout(Duration::from_millis(700), events.numbered()).await
        {
            if kinds.contains(&frame.event.as_str()) {
                let data = &frame.data;
                told.push((frame.event, data["payload"].clone()));
            }
        }
        told
    }
}

pub(crate) fn states(plan: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let tasks = plan["tasks"].as_array().unwrap();
    tasks.iter().map(|task| (word(&task["task_id"]), word(&task["status"]))).collect()
}

pub(crate) fn task<'p>(plan: &'p Value, name: &str) -> &'p Value {
    plan["tasks"].as_array().unwrap().iter().find(|task| task["task_id"] == name).unwrap()
}
