//! A Redis of its own, a server's side, and workers that can be ended; the agent is a shell script of the line protocol.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_domain::clock::SystemClock;
use artel_domain::process::{Runtime, Sandbox};
use artel_domain::{AgentId, UserId};
use artel_nodes::server::{self, Far, Left, Turn, Workers};
use artel_nodes::wire::Line;
use artel_nodes::worker;
use artel_programs::codec::{Event, Outcome};
use artel_programs::host::{self, Host, Opening};
use artel_programs::kind::Credentials;
use artel_programs::kinds;
use artel_programs::life::{State, Status, Warning, Watcher};
use artel_storage::bus::redis::Redis;
use async_trait::async_trait;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const LONG: Duration = Duration::from_mins(1);
pub(crate) const LOST_AFTER: Duration = Duration::from_secs(4);
const SECRET: &str = "a secret that is long enough for both";

/// Answers each line with its number and text; `slow` takes a while to begin, `many N` says N lines, `wait` is silent.
const SCRIPT: &str = r#"
sleep "${SLOW:-0}"
echo __READY__
n=0
while read -r line; do
  n=$((n+1))
  echo "$line" >> "$HOME/said"
  case "$line" in
    __INTERRUPT__) ;;
    wait) sleep 1000 & wait ;;
    many*) i=0; while [ $i -lt ${line#many } ]; do i=$((i+1)); echo "line $i"; done ;;
    drip*) i=0; while [ $i -lt ${line#drip } ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done ;;
    *) echo "$n: $line" ;;
  esac
  echo __DONE__
done
"#;

/// Notes what becomes of an agent.
#[derive(Debug, Default)]
pub(crate) struct Notes(pub(crate) Mutex<Vec<Status>>);

#[async_trait]
impl Watcher for Notes {
    async fn changed(&self, status: &Status) {
        self.0.lock().unwrap().push(status.clone());
    }

    async fn warned(&self, _: Warning) {}
}

/// A Redis, and folders.
pub(crate) struct Stage {
    pub(crate) redis: artel_testkit::redis::Server,
    pub(crate) folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let redis = artel_testkit::redis::Server::start().unwrap();
        Self { redis, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn line(&self) -> Line {
        self.line_with(SECRET)
    }

    pub(crate) fn line_with(&self, secret: &str) -> Line {
        let bus = Redis::connect(&self.redis.url()).unwrap();
        Line::new(Arc::new(bus), &secret.into())
    }

    pub(crate) fn worker(&self, name: &str) -> Worker {
        let stop = CancellationToken::new();
        let host = Arc::new(Host::new(host::Settings {
            node: name.to_owned(),
            dir: self.folder.path().join(name),
            binary: artel(),
            path: vec!["/usr/bin".into(), "/bin".into()],
            sandboxes: vec![Sandbox::None],
            workspaces: vec![],
            docker: PathBuf::new(),
            image: String::new(),
            turn_timeout: LONG,
            most: 10,
            most_per_user: 10,
        }));
        let settings = worker::Settings {
            name: name.to_owned(),
            version: "test".to_owned(),
            lost_after: LOST_AFTER,
        };
        let run = worker::run(host, self.line(), Arc::new(SystemClock), settings, stop.clone());
        let task = tokio::spawn(async move { run.await.unwrap() });
        Worker { stop, task }
    }

    pub(crate) fn server(&self, name: &str) -> Server {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let settings = server::Settings { name: name.to_owned(), lost_after: LOST_AFTER };
        let clock = Arc::new(SystemClock);
        let (workers, left) = Workers::start(self.line(), clock, settings, &tracker, stop.clone());
        Server { workers, left, stop, tracker }
    }

    /// What the agent was told on a worker, over all its processes.
    pub(crate) fn said_on(&self, worker: &str, agent: AgentId) -> Vec<String> {
        let path = self.folder.path().join(worker).join(agent.to_string()).join("home/said");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The program that keeps others; it lies beside the tests.
fn artel() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().nth(2).unwrap().join("artel");
    assert!(
        found.is_file(),
        "run the tests of the whole workspace: {} is not there",
        found.display()
    );
    found
}

pub(crate) struct Worker {
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

impl Worker {
    /// An orderly end.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        timeout(LONG, self.task).await.unwrap().unwrap();
    }
}

pub(crate) struct Server {
    pub(crate) workers: Workers,
    pub(crate) left: mpsc::Receiver<Left>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Server {
    pub(crate) fn open(&self, agent: AgentId, near: Option<&str>) -> (Far, Arc<Notes>) {
        self.open_slow(agent, near, "0")
    }

    pub(crate) fn open_slow(
        &self,
        agent: AgentId,
        near: Option<&str>,
        slow: &str,
    ) -> (Far, Arc<Notes>) {
        let runtime: Runtime = serde_json::from_value(json!({
            "kind": "line",
            "command": ["sh", "-c", SCRIPT],
            "environment": {"SLOW": slow},
            "options": {"protocol": {
                "ready": {"line": "^__READY__$"},
                "turn_end": {"line": "^__DONE__$"},
                "interrupt": {"line": "__INTERRUPT__"},
            }},
        }))
        .unwrap();
        let opening = Opening {
            agent,
            user: UserId(1),
            runtime,
            instructions: String::new(),
            tools: vec![],
            credentials: Credentials::default(),
            resume: None,
        };
        let notes = Arc::new(Notes::default());
        let abilities = kinds::find("line").unwrap().abilities();
        let near = near.map(str::to_owned);
        (self.workers.open(opening, abilities, near, Arc::clone(&notes) as _), notes)
    }

    /// As if it was killed: nothing more is said or heard.
    pub(crate) async fn vanish(self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

pub(crate) fn agent() -> AgentId {
    AgentId::new(&SystemClock)
}

/// Says something; the whole answer.
pub(crate) async fn said(far: &Far, text: &str) -> String {
    let mut turn = timeout(LONG, far.turn(text.to_owned())).await.unwrap().unwrap();
    let (answer, outcome) = heard(&mut turn).await;
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    answer
}

/// Hears a turn to its end.
pub(crate) async fn heard(turn: &mut Turn) -> (String, Outcome) {
    let mut answer = String::new();
    loop {
        let event = timeout(LONG, turn.next()).await.unwrap();
        match event.expect("a turn ends with its end") {
            Event::Text(text) => answer.push_str(&text),
            Event::Ended(outcome) => return (answer, outcome),
            _ => {}
        }
    }
}

/// The lines that a script says.
pub(crate) fn lines(count: usize) -> String {
    let all: Vec<_> = (1..=count).map(|number| format!("line {number}\n")).collect();
    all.concat()
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, so: impl Fn() -> bool) {
    let waited = timeout(LONG, async {
        while !so() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

pub(crate) fn is_up(far: &Far) -> bool {
    matches!(far.status().state, State::Running(_))
}
