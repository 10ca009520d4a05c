//! Tools on the user's machine, end to end: a real server, a real client in a real folder, and a scripted agent that
//! wants things done.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use artel_testkit::client::{Answer, Client};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chat::{say, session, until};
use crate::{Side, World, empty_project, on_both_sides};

mod approvals;
mod hostile;
mod outages;
pub(crate) mod terminal;

/// A script that does what the message says: `tool_name {arguments}` calls that tool.
const SCRIPT: &str = r#"
[[rules]]
when = "read"
calls = [{ name = "tool_read_file", arguments = { path = "notes.txt" } }]
[[rules]]
when = "list"
calls = [{ name = "tool_list_directory", arguments = {} }]
[[rules]]
when = "search"
calls = [{ name = "tool_search_files", arguments = { pattern = "green" } }]
[[rules]]
when = "write"
calls = [{ name = "tool_write_file", arguments = { path = "notes.txt", content = "the door is red\n" } }]
[[rules]]
when = "edit"
calls = [{ name = "tool_edit_file", arguments = { path = "notes.txt", old = "green", new = "blue" } }]
[[rules]]
when = "touch"
calls = [{ name = "tool_execute_command", arguments = { command = "touch", args = ["made"] } }]
[[rules]]
when = "look"
calls = [{ name = "tool_execute_command", arguments = { command = "ls", args = ["-a"] } }]
[[rules]]
when = "escape"
calls = [{ name = "tool_read_file", arguments = { path = "../secret.txt" } }]
[[rules]]
when = "follow"
calls = [{ name = "tool_read_file", arguments = { path = "link" } }]
[[rules]]
when = "sudo"
calls = [{ name = "tool_execute_command", arguments = { command = "sudo", args = ["ls"] } }]
[[rules]]
when = "wait"
calls = [{ name = "tool_execute_command", arguments = { command = "sleep", args = ["20"], timeout = 25 } }]
[[rules]]
when = "ask"
calls = [{ name = "ask_user", arguments = { question = "Which colour?", options = ["green", "blue"] } }]
[[rules]]
after = "tool_read_file"
text = "It says: {result}"
[[rules]]
after = "ask_user"
text = "Then {result} it is"
"#;

/// A server with an agent that has every tool, a folder, and who owns both.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) ada: Client,
    pub(crate) project: String,
    pub(crate) folder: TempDir,
}

impl Bench {
    pub(crate) async fn new(side: Side, environment: &[(&str, &str)]) -> Self {
        let mut world = side.start_with(environment);
        let scripts = world.artel.data_dir().join("scripts");
        std::fs::create_dir(&scripts).unwrap();
        std::fs::write(scripts.join("hands.toml"), SCRIPT).unwrap();
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let tools = ada.get(&format!("{project}/tools/available")).await.unwrap().body;
        let names: Vec<_> =
            tools["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        let body = json!({"name": "hands", "model": "scripted/hands", "tools": names});
        let made = ada.post(&format!("{project}/agents"), &body).await.unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
        let folder = tempfile::Builder::new().prefix("workspace-").tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), "the door is green\n").unwrap();
        Self { world, ada, project, folder }
    }

    /// With a client on the folder.
    pub(crate) async fn with_client(side: Side, environment: &[(&str, &str)]) -> (Self, Running) {
        let bench = Self::new(side, environment).await;
        let client = bench.client(&[]).await;
        (bench, client)
    }

    pub(crate) async fn client(&self, arguments: &[&str]) -> Running {
        let client = self.spawn(arguments);
        let (ada, path) = (&self.ada, &format!("{}/client", self.project));
        until(|| async move { ada.get(path).await.unwrap().status == 200 }).await;
        client
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Running {
        let log = self.world.artel.data_dir().join("client.log");
        let out = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let child = Command::new(crate::ARTEL)
            .args(["client", "--project", self.project_id(), "--workspace"])
            .arg(self.folder.path())
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ARTEL_SERVER", self.world.artel.url())
            .env("ARTEL_TOKEN", self.ada.token())
            .env("SECRET_OF_THE_USER", "canary")
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Running { child, log }
    }

    pub(crate) fn project_id(&self) -> &str {
        self.project.rsplit('/').next().unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn notes(&self) -> String {
        std::fs::read_to_string(self.file("notes.txt")).unwrap()
    }

    /// Says something to the agent and waits for its answer.
    pub(crate) async fn say(&self, text: &str) -> Answer {
        let path = session(&self.ada, &self.project).await;
        say(&self.ada, &path, "hands", text).await
    }

    /// Calls a tool as a person, and waits for its end.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let called = self.begin(tool, arguments, 30).await;
        assert_eq!(called.status, 200, "{}", called.body);
        called.body
    }

    pub(crate) async fn begin(&self, tool: &str, arguments: Value, wait: u32) -> Answer {
        let body = json!({"tool_name": tool, "tool_params": arguments});
        self.ada.post(&format!("{}/tools/execute?wait={wait}", self.project), &body).await.unwrap()
    }

    /// The approval that is waited for, once there is one.
    pub(crate) async fn pending(&self) -> Value {
        for _ in 0..600 {
            let page = self.ada.get("/my/approvals?status=pending").await.unwrap().body;
            if let Some(approval) = page["approvals"].get(0) {
                return approval.clone();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nobody asks");
    }

    /// Decides what is waited for next.
    pub(crate) async fn decide(&self, decision: &str, comment: Option<&str>) -> Value {
        let approval = self.pending().await;
        let path = format!("/my/approvals/{}/confirm", approval["id"].as_str().unwrap());
        let decided =
            self.ada.post(&path, &json!({"decision": decision, "comment": comment})).await.unwrap();
        assert_eq!(decided.status, 200, "{}", decided.body);
        approval
    }
}

/// A client process; killed on drop.
pub(crate) struct Running {
    pub(crate) child: Child,
    log: PathBuf,
}

impl Running {
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn outside(path: &Path) -> PathBuf {
    path.parent()
        .unwrap()
        .join(format!("{}-secret.txt", path.file_name().unwrap().to_str().unwrap()))
}

on_both_sides! {
    /// TL-1.2, TL-1.3, TL-1.5, TL-1.6, TL-2.1: what only reads is approved automatically, goes to the client and back, and the
    /// agent answers with it; TL-1.6: the result is in the store.
    async fn an_agent_reads(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let answer = bench.say("please read").await;
        assert_eq!(answer.body["content"], "It says: the door is green\n", "{}", answer.body);
        let calls = bench.ada.get(&format!("{}/tools", bench.project)).await.unwrap().body;
        assert_eq!(calls["total"], 1);
        let call = &calls["calls"][0];
        assert_eq!((&call["status"], &call["risk_level"], &call["decided_from"]), (&json!("succeeded"), &json!("LOW"), &json!("low")));
        assert_eq!((&call["result"]["content"], &call["result"]["size"]), (&json!("the door is green\n"), &json!(18)));
        let listed = bench.call("tool_list_directory", json!({})).await;
        assert_eq!(listed["result"]["files"][0]["path"], "notes.txt", "TL-4.1: {listed}");
        let found = bench.call("tool_search_files", json!({"pattern": "gr[e]+n"})).await;
        assert_eq!((&found["result"]["matches"][0]["line"], &found["result"]["matches"][0]["path"]), (&json!(1), &json!("notes.txt")), "{found}");
        let looked = bench.say("look around").await;
        assert!(looked.body["content"].as_str().unwrap().contains("notes.txt"), "TL-5.1: {}", looked.body);
        assert_eq!(bench.ada.get("/my/approvals").await.unwrap().body["total"], 0, "nobody was asked");
    }

    /// TL-1.3, TL-3.1, TL-7.5: a write is asked, with its diff, and done once it is approved; PF-2.1, PF-2.7: who decided, when and
    /// from where is kept.
    async fn a_write_is_approved(side) {
        let (bench, client) = Bench::with_client(side, &[]).await;
        let (answer, approval) = tokio::join!(bench.say("write it"), bench.decide("approve", None));
        assert_eq!(answer.body["success"], true, "{}", answer.body);
        assert_eq!(bench.notes(), "the door is red\n");
        let payload = &approval["payload"];
        let diff = payload["diff"].as_str().unwrap();
        assert!(diff.contains("-the door is green") && diff.contains("+the door is red"), "{diff}");
        assert_eq!((&approval["type"], &approval["risk_level"]), (&json!("tool"), &json!("MEDIUM")));
        let folder = std::fs::canonicalize(bench.folder.path()).unwrap();
        assert_eq!((&payload["folder"], &payload["tool_name"]), (&json!(folder), &json!("tool_write_file")));
        assert_eq!(payload["digest"].as_str().unwrap().len(), 64);
        let kept = bench.ada.get(&format!("/my/approvals/{}", approval["id"].as_str().unwrap())).await.unwrap().body;
        let me = bench.ada.get("/my/me").await.unwrap().body["id"].clone();
        assert_eq!((&kept["status"], &kept["decided_by"], &kept["decided_from"]), (&json!("approved"), &me, &json!("api")));
        assert!(kept["resolved_at"].is_string());
        assert!(client.said().contains("done   write notes.txt"), "the user sees each step: {}", client.said());
        let ((), call) = tokio::join!(
            async { bench.decide("approve", None).await; },
            bench.call("tool_edit_file", json!({"path": "notes.txt", "old": "red", "new": "blue"})),
        );
        assert_eq!((&call["status"], bench.notes().as_str()), (&json!("succeeded"), "the door is blue\n"), "{call}");
        assert!(call["result"]["timestamp"].as_str().unwrap().ends_with('Z'), "TL-3.1: {call}");
    }

    /// TL-1.4: rejected, the agent gets an error with the reason, and goes on without the tool.
    async fn a_write_is_rejected(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let (answer, _) = tokio::join!(bench.say("write it"), bench.decide("reject", Some("not on a Friday")));
        assert_eq!(answer.body["success"], true, "{}", answer.body);
        assert!(answer.body["content"].as_str().unwrap().contains("Rejected by the user: not on a Friday"), "{}", answer.body);
        assert_eq!(bench.notes(), "the door is green\n");
    }

    /// TL-5.1, TL-5.2: a command that can change something is asked, with its words and folder, and runs without a shell, in a
    /// cleaned environment.
    async fn a_command_is_approved(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let (answer, approval) = tokio::join!(bench.say("touch it"), bench.decide("approve", None));
        assert_eq!(answer.body["success"], true, "{}", answer.body);
        assert!(bench.file("made").exists());
        assert_eq!(approval["payload"]["arguments"], json!({"command": "touch", "args": ["made"]}));
        let ((), shown) = tokio::join!(
            async { bench.decide("approve", None).await; },
            bench.call("tool_execute_command", json!({"command": "sh", "args": ["-c", "env; echo $((1+1)); exit 3"]})),
        );
        assert_eq!((&shown["status"], &shown["result"]["exit_code"]), (&json!("failed"), &json!(3)), "{shown}");
        let out = shown["result"]["stdout"].as_str().unwrap();
        assert!(out.contains("\n2\n") && !out.contains("canary") && !out.contains("ARTEL_TOKEN"), "{out}");
        assert_eq!(shown["result"]["sandbox"], "bubblewrap");
        assert!(shown["result"]["execution_time"].is_number() && shown["result"]["stderr"].is_string());
    }

    /// TL-1.1: what is not valid goes back to the agent as an error and reaches no client; TL-5.2: so does what is refused.
    async fn what_is_not_valid_reaches_no_client(side) {
        let (bench, client) = Bench::with_client(side, &[]).await;
        let answer = bench.say("escape").await;
        assert!(answer.body["content"].as_str().unwrap().contains("Path is outside workspace bounds"), "{}", answer.body);
        let answer = bench.say("sudo").await;
        assert!(answer.body["content"].as_str().unwrap().contains("Refused"), "{}", answer.body);
        for (tool, arguments, why) in [
            ("tool_read_file", json!({"path": "/etc/passwd"}), "outside workspace bounds"),
            ("tool_read_file", json!({"path": "~/x"}), "relative to the workspace"),
            ("tool_read_file", json!({"path": "a".repeat(5000)}), ""),
            ("tool_read_file", json!({}), "path"),
            ("tool_read_file", json!({"path": "x", "user_id": 7}), "user_id"),
            ("tool_execute_command", json!({"command": ""}), ""),
            ("tool_execute_command", json!({"command": "ls", "timeout": 301}), "300"),
            ("tool_execute_command", json!({"command": "ls", "args": vec!["x"; 1001]}), ""),
            ("tool_nothing", json!({}), "no tool named"),
            ("ask_user", json!({"question": "x"}), "agent"),
        ] {
            let call = bench.call(tool, arguments).await;
            assert_eq!(call["status"], "failed", "{call}");
            assert!(call["error"].as_str().unwrap().contains(why), "{call}");
            assert_eq!(call["client_id"], Value::Null);
        }
        assert!(!client.said().contains("failed"), "{}", client.said());
    }

    /// TL-6.1, TL-6.3, TL-7.2: links that lead outside are refused by the client; what is missing is named.
    async fn a_link_leads_nowhere(side) {
        let (bench, client) = Bench::with_client(side, &[]).await;
        let secret = outside(bench.folder.path());
        std::fs::write(&secret, "canary").unwrap();
        std::os::unix::fs::symlink(&secret, bench.file("link")).unwrap();
        let answer = bench.say("follow").await;
        let said = answer.body["content"].as_str().unwrap();
        assert!(said.contains("Path is outside workspace bounds") && !said.contains("canary"), "{said}");
        let missing = bench.call("tool_read_file", json!({"path": "nothing.txt"})).await;
        assert_eq!(missing["error"], "Path nothing.txt does not exist");
        assert!(client.said().contains("failed read link"), "{}", client.said());
        std::fs::remove_file(secret).unwrap();
    }

    /// TL-1.7: without a client the agent gets a clear error at once.
    async fn without_a_client(side) {
        let bench = Bench::new(side, &[]).await;
        let answer = bench.say("read").await;
        assert!(answer.body["content"].as_str().unwrap().contains("No client is connected"), "{}", answer.body);
        assert_eq!(bench.ada.get(&format!("{}/client", bench.project)).await.unwrap().body["error_code"], "no_client");
    }

    /// TL-7.4: an agent's command, approved and all, reaches neither the server nor its Redis, and no tool is a way to them.
    async fn the_servers_parts_are_out_of_reach(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let redis = bench.world.redis.as_ref().map(artel_testkit::redis::Redis::url);
        for url in [Some(bench.world.artel.url().to_owned()), redis].into_iter().flatten() {
            let address = url.split("://").nth(1).unwrap().trim_end_matches('/').replace(':', "/");
            let knock = format!("echo PING > /dev/tcp/{address}");
            let ((), call) = tokio::join!(
                async { bench.decide("approve", None).await; },
                bench.call("tool_execute_command", json!({"command": "bash", "args": ["-c", knock]})),
            );
            assert_ne!(call["result"]["exit_code"], 0, "{call}");
            assert!(call["result"]["stderr"].as_str().unwrap().contains("refused"), "{call}");
        }
    }

    /// TL-7.6: tools, their schemas and their sides are listed; no schema has a user id in it.
    async fn tools_are_listed(side) {
        let bench = Bench::new(side, &[]).await;
        let list = bench.ada.get(&format!("{}/tools/available", bench.project)).await.unwrap().body;
        let tools = list["tools"].as_array().unwrap();
        let of = |name: &str| tools.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}")).clone();
        for name in ["tool_read_file", "tool_write_file", "tool_list_directory", "tool_execute_command", "tool_search_files", "tool_edit_file"] {
            let tool = of(name);
            assert_eq!((&tool["side"], &tool["parameters"]["type"]), (&json!("client"), &json!("object")));
            assert!(tool["parameters"]["properties"].get("user_id").is_none());
            assert!(tool["risk_level"].is_string() && tool["longest"].as_u64().unwrap() >= 30, "{tool}");
            assert_eq!(tool["effects"], name.contains("write") || name.contains("edit") || name.contains("execute"));
        }
        assert_eq!((&of("list_agents")["side"], &of("ask_user")["side"]), (&json!("server"), &json!("person")));
        let eve = bench.world.user("eve");
        assert_eq!(eve.get(&format!("{}/tools/available", bench.project)).await.unwrap().status, 404);
    }

    /// TL-7.2, PF-2.5, WS-26.3: a call, a client and an approval of one user are nothing to another.
    async fn nothing_is_anybody_elses(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let call = bench.begin("tool_write_file", json!({"path": "x", "content": "y"}), 0).await.body;
        let approval = bench.pending().await;
        let eve = bench.world.user("eve");
        let (id, approval) = (call["id"].as_str().unwrap(), approval["id"].as_str().unwrap());
        for path in [format!("{}/tools", bench.project), format!("{}/tools/{id}", bench.project), format!("{}/client", bench.project), format!("/my/approvals/{approval}")] {
            assert_eq!(eve.get(&path).await.unwrap().status, 404, "{path}");
        }
        let outcome = json!({"client_id": "00000000-0000-7000-8000-000000000000", "success": true});
        for (path, body) in [
            (format!("{}/tools/{id}/result", bench.project), outcome.clone()),
            (format!("{}/tools/{id}/prepared", bench.project), outcome),
            (format!("{}/tools/{id}/approve", bench.project), json!({})),
            (format!("/my/approvals/{approval}/approve"), json!({})),
            (format!("{}/tools/execute", bench.project), json!({"tool_name": "tool_read_file"})),
        ] {
            assert_eq!(eve.post(&path, &body).await.unwrap().status, 404, "{path}");
        }
        assert_eq!(eve.get("/my/approvals").await.unwrap().body["total"], 0);
        let batch = json!({"approval_ids": [approval], "decision": "approve"});
        let batch = eve.post("/my/approvals/batch-confirm", &batch).await.unwrap().body;
        assert_eq!((&batch["results"][0]["decided"], &batch["results"][0]["approval"]), (&json!(false), &Value::Null));
        assert_eq!(bench.pending().await["status"], "pending", "it still waits for its owner");
    }

    /// WS-26.1, WS-26.2, WS-26.4, TL-7.1, TL-7.3: whatever becomes of the project on the server, the folder stays as it is.
    async fn the_folder_is_the_users(side) {
        let (bench, client) = Bench::with_client(side, &[]).await;
        for (tool, arguments) in [
            ("tool_write_file", json!({"path": ".", "content": "x"})),
            ("tool_write_file", json!({"path": "sub/..", "content": "x"})),
        ] {
            let call = bench.call(tool, arguments).await;
            assert_eq!(call["status"], "failed", "the root cannot be written: {call}");
        }
        assert_eq!(bench.ada.post(&format!("{}/space/reset", bench.project), &json!({})).await.unwrap().status, 200);
        assert_eq!(bench.ada.delete(&bench.project).await.unwrap().status, 204);
        let mut client = client;
        assert_eq!(client.child.wait().unwrap().code(), Some(3), "not found: {}", client.said());
        assert_eq!(bench.notes(), "the door is green\n");
        assert_eq!(std::fs::read_dir(bench.folder.path()).unwrap().count(), 1);
    }
}
