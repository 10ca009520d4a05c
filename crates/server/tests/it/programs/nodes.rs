//! Programs on workers, through the server's own doors: real servers, real workers, a real Redis, and kills.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use artel_testkit::redis;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{House, alive_with, gone};
use crate::{ARTEL, Side};

const SECRET: &str = "a secret that servers and workers share";
const LOST_AFTER: &str = "4s";

/// A worker of its own folder, killed with this.
struct Worker {
    child: Child,
    name: String,
    folder: TempDir,
}

impl Worker {
    fn start(name: &str, redis: &str) -> Self {
        Self::start_in(name, redis, tempfile::tempdir().unwrap())
    }

    fn start_in(name: &str, redis: &str, folder: TempDir) -> Self {
        let own = PathBuf::from(ARTEL).parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default().replace(':', ",");
        let child = Command::new(ARTEL)
            .args(["worker", "--name", name, "--data-dir"])
            .arg(folder.path().join("data"))
            .env("ARTEL_REDIS_URL", redis)
            .env("ARTEL_WORKER_SECRET", SECRET)
            .env("ARTEL_WORKER_LOST_AFTER", LOST_AFTER)
            .env("ARTEL_AGENT_SANDBOXES", "none,bubblewrap")
            .env("ARTEL_AGENT_PATH", format!("{own},{path}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        Self { child, name: name.to_owned(), folder }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What the agent was told there.
    fn home(&self, agent: &str) -> PathBuf {
        self.folder.path().join("data/agents").join(agent)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server without programs of its own, and its Redis.
struct Yard {
    house: House,
    redis: redis::Server,
}

impl Yard {
    async fn new(more: &[(&str, &str)]) -> Self {
        let redis = redis::Server::start().unwrap();
        let url = redis.url();
        let mut all = vec![
            ("ARTEL_REDIS_URL", url.as_str()),
            ("ARTEL_WORKER_SECRET", SECRET),
            ("ARTEL_WORKER_LOST_AFTER", LOST_AFTER),
            ("ARTEL_AGENT_NODES", "workers"),
        ];
        all.extend(more);
        let house = House::new(Side::Embedded, &all).await;
        let add = ["user", "add", "root", "--admin", "--password-stdin"];
        assert!(house.world.artel.output(&add, "correct horse\n").unwrap().status.success());
        Self { house, redis }
    }

    fn worker(&self, name: &str) -> Worker {
        Worker::start(name, &self.redis.url())
    }

    async fn nodes(&self) -> Vec<String> {
        let admin = self.house.world.user("root");
        let nodes = admin.get("/admin/nodes").await.unwrap().success().unwrap();
        let name = |node: &Value| node["name"].as_str().unwrap().to_owned();
        nodes["nodes"].as_array().unwrap().iter().map(name).collect()
    }

    async fn until_nodes(&self, wanted: &[&str]) {
        let began = std::time::Instant::now();
        while self.nodes().await != wanted {
            assert!(began.elapsed() < super::PATIENCE, "{:?}", self.nodes().await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn marked(mark: &str) -> Value {
    json!({"environment": {"MARK": mark}})
}

/// CA-6.1, CA-6.2, CA-5.1, CA-5.2: an agent lives on a worker, answers, is logged, stopped, started and deleted there.
#[tokio::test]
async fn an_agent_works_on_a_worker() {
    let yard = Yard::new(&[]).await;
    let worker = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let house = &yard.house;
    // A worker is there before it has looked what it has.
    let began = std::time::Instant::now();
    loop {
        let kinds = house.ada.get("/my/runtimes").await.unwrap().success().unwrap().to_string();
        if kinds.contains("on w1") {
            break;
        }
        assert!(kinds.contains("still looking") && began.elapsed() < super::PATIENCE, "{kinds}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let agent = house.line("far", &marked("in-nodes-works")).await;
    assert_eq!(house.ask(&agent, "hello").await, ("1: hello".to_owned(), None));
    assert_eq!(house.ask(&agent, "again").await.0, "2: again");
    let process = house.process(&agent).await;
    assert_eq!((&process["state"], &process["node"]), (&json!("RUNNING"), &json!("w1")));
    assert!(process["memory"].as_u64().unwrap() > 0, "{process}");
    let log = house.log(&agent).await;
    assert!(log.iter().any(|line| line["line"] == "2: again"), "{log:?}");
    assert!(worker.home(&agent).is_dir());
    assert!(!house.world.artel.data_dir().join("agents").join(&agent).exists());
    let stopped = house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap();
    assert_eq!(stopped.body["state"], "STOPPED", "{}", stopped.body);
    gone("MARK=in-nodes-works", Duration::from_secs(5)).await;
    assert_eq!(house.ask(&agent, "back").await.0, "1: back");
    let deleted = house.ada.delete(&format!("{}/agents/{agent}", house.project)).await.unwrap();
    assert!(deleted.status.is_success(), "{}", deleted.body);
    gone("MARK=in-nodes-works", Duration::from_secs(5)).await;
    let began = std::time::Instant::now();
    while worker.home(&agent).exists() {
        assert!(began.elapsed() < super::PATIENCE, "its files stay");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// CA-6.2, CA-8.3: a worker is killed while its agents work. What ran there goes on elsewhere with a word about it, what
/// waited is done elsewhere, nothing is lost or said twice, and no process is left.
#[tokio::test]
async fn a_killed_workers_agents_go_on_elsewhere() {
    let yard = Yard::new(&[]).await;
    let house = &yard.house;
    let mut first = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = house.line("far", &marked("in-nodes-killed")).await;
    house.ask(&agent, "hello").await;
    let running = house.tell(&agent, "!wait").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    let waiting = house.tell(&agent, "and this").await;
    let second = yard.worker("w2");
    yard.until_nodes(&["w1", "w2"]).await;
    first.kill();
    gone("MARK=in-nodes-killed", Duration::from_secs(5)).await;
    yard.until_nodes(&["w2"]).await;
    // The lost one is given to the other worker, where it waits again; it is stopped there.
    house.process_is(&agent, |it| it["node"] == "w2" && it["activity"] == "working").await;
    let path = format!("{}/tasks/{running}/cancel", house.project);
    assert_eq!(house.ada.post(&path, &json!({})).await.unwrap().status, 200);
    let ended = house.ended(&waiting).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(!alive_with("MARK=in-nodes-killed").is_empty());
    drop(second);
    gone("MARK=in-nodes-killed", Duration::from_secs(5)).await;
}

/// CA-6.2: by the other policy the user is told, and decides.
#[tokio::test]
async fn a_killed_workers_work_is_reported() {
    let yard = Yard::new(&[("ARTEL_LOST_AGENTS", "report")]).await;
    let house = &yard.house;
    let mut first = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = house.line("far", &marked("in-nodes-report")).await;
    let running = house.tell(&agent, "!wait").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    let waiting = house.tell(&agent, "and this").await;
    let _second = yard.worker("w2");
    first.kill();
    let ended = house.ended(&running).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended.to_string().contains("not heard of any more"), "{ended}");
    assert_eq!(house.ended(&waiting).await["status"], "completed");
    assert_eq!(house.process(&agent).await["node"], "w2");
}

/// CA-6.2: a worker that is started again under its name has its agents' files, and they return to it.
#[tokio::test]
async fn a_worker_comes_back() {
    let yard = Yard::new(&[]).await;
    let house = &yard.house;
    let mut worker = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = house.line("far", &marked("in-nodes-back")).await;
    house.ask(&agent, "hello").await;
    worker.kill();
    let folder = std::mem::replace(&mut worker.folder, tempfile::tempdir().unwrap());
    let worker = Worker::start_in(&worker.name.clone(), &yard.redis.url(), folder);
    assert_eq!(house.ask(&agent, "still here?").await, ("1: still here?".to_owned(), None));
    assert!(worker.home(&agent).is_dir());
    assert_eq!(house.process(&agent).await["node"], "w1");
}

/// CA-6.1, CA-8.3: Redis is gone in the middle of a turn, and comes back empty.
#[tokio::test]
async fn redis_goes_and_comes_back() {
    let mut yard = Yard::new(&[("ARTEL_WORKER_LOST_AFTER", "60s")]).await;
    let worker = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = yard.house.line("far", &marked("in-nodes-redis")).await;
    yard.house.ask(&agent, "hello").await;
    let running = yard.house.tell(&agent, "!sleep 2").await;
    yard.house.process_is(&agent, |it| it["activity"] == "working").await;
    yard.redis.kill().unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    yard.redis.restart().unwrap();
    let ended = yard.house.ended(&running).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let (answer, error) = yard.house.ask(&agent, "and after").await;
    assert_eq!((answer.as_str(), error), ("3: and after", None), "{:?}", worker.name);
}

/// CA-6.2, CA-2.2: the server is killed; its agents on workers end, and the next server says so.
#[tokio::test]
async fn a_killed_servers_agents_end_on_workers() {
    let mut yard = Yard::new(&[]).await;
    let _worker = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = yard.house.line("far", &marked("in-nodes-server")).await;
    yard.house.ask(&agent, "hello").await;
    yard.house.world.artel.kill().unwrap();
    yard.house.world.artel.restart().unwrap();
    yard.house.ada = yard.house.world.user("ada");
    let process = yard.house.process_is(&agent, |it| it["state"] == "KILLED").await;
    assert!(process["reason"].as_str().unwrap().contains("server was stopped"), "{process}");
    gone("MARK=in-nodes-server", Duration::from_secs(5)).await;
    assert_eq!(yard.house.ask(&agent, "again").await.0, "1: again");
}

/// CA-6.2, CA-2.2: the server and the worker are both killed, and the worker does not come back: the next server says so
/// without being asked, also to who follows the project; a message finds another worker.
#[tokio::test]
async fn a_worker_that_died_with_its_server_is_missed() {
    let mut yard = Yard::new(&[]).await;
    let mut worker = yard.worker("w1");
    yard.until_nodes(&["w1"]).await;
    let agent = yard.house.line("far", &marked("in-nodes-both")).await;
    yard.house.ask(&agent, "hello").await;
    worker.kill();
    yard.house.world.artel.kill().unwrap();
    yard.house.world.artel.restart().unwrap();
    yard.house.ada = yard.house.world.user("ada");
    let process = yard.house.process_is(&agent, |it| it["state"] == "KILLED").await;
    assert!(process["reason"].as_str().unwrap().contains("w1 that it ran on is gone"), "{process}");
    let path = format!("{}/events", yard.house.project);
    let mut events = yard.house.ada.events(&path, Some(0)).await.unwrap();
    let told = async {
        while let Some((_, frame)) = events.numbered().await.unwrap() {
            if frame.event == "process_changed" && frame.payload()["state"] == "KILLED" {
                return;
            }
        }
    };
    tokio::time::timeout(super::PATIENCE, told).await.unwrap();
    let _other = yard.worker("w2");
    yard.until_nodes(&["w2"]).await;
    assert_eq!(yard.house.ask(&agent, "again").await, ("1: again".to_owned(), None));
}

/// CA-6.2: what is missing is said before anything starts, with its remedy.
#[test]
fn workers_say_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |command: &str, set: &[(&str, &str)]| {
        let out = Command::new(ARTEL)
            .args([command, "--data-dir"])
            .arg(folder.path())
            .envs(set.iter().copied())
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2));
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    let redis = ("ARTEL_REDIS_URL", "redis://127.0.0.1:1/");
    assert!(refused("worker", &[]).contains("redis_url"));
    assert!(refused("worker", &[redis]).contains("worker_secret"));
    assert!(refused("worker", &[redis, ("ARTEL_WORKER_SECRET", "short")]).contains("32 bytes"));
    let named = [redis, ("ARTEL_WORKER_SECRET", SECRET), ("ARTEL_WORKER_NAME", "a b")];
    assert!(refused("worker", &named).contains("worker_name"));
    assert!(refused("serve", &[("ARTEL_AGENT_NODES", "elsewhere")]).contains("agent_nodes"));
    assert!(refused("serve", &[("ARTEL_AGENT_NODES", "workers"), redis]).contains("worker_secret"));
}
