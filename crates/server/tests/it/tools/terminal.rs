//! The person at the client's terminal, on a real one.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::Bench;
use crate::Side;
use crate::chat::until;

/// A program on a terminal of its own.
pub(crate) struct Screen {
    child: Child,
    seen: Arc<Mutex<String>>,
}

impl Screen {
    pub(crate) fn open(program: &str, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", program, "/dev/null"])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut out, seen) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let screen = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut piece) {
                screen.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        Self { child, seen }
    }

    pub(crate) fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) async fn shows(&self, words: &str) {
        until(|| async { self.seen().contains(words) }).await;
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        self.child.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn client(bench: &Bench) -> Screen {
    let program = format!(
        "{} client --project {} --workspace {}",
        crate::ARTEL,
        bench.project_id(),
        bench.folder.path().display()
    );
    Screen::open(
        &program,
        &[("ARTEL_SERVER", bench.world.artel.url()), ("ARTEL_TOKEN", bench.ada.token())],
    )
}

/// TL-1.3, TL-7.5: the client asks in the terminal, with the diff of a write and the words of a command; what cannot be seen is made
/// visible; PF-2.7: the decision is the client's; one that was made elsewhere is told.
#[tokio::test]
async fn the_person_decides() {
    let bench = Bench::new(Side::Embedded, &[]).await;
    let mut screen = client(&bench);
    screen.shows("Connected.").await;
    let content = "the door is \u{202e}der\u{1b}[31m\n";
    let write = bench
        .begin("tool_write_file", json!({"path": "notes.txt", "content": content}), 0)
        .await
        .body;
    screen.shows("Approve?").await;
    let seen = screen.seen();
    assert!(seen.contains("-the door is green") && seen.contains("\\u{202e}der"), "{seen}");
    assert!(!seen.contains('\u{202e}') && !seen.contains("\u{1b}[31m"), "{seen:?}");
    screen.type_line("y");
    screen.shows("approved (client)").await;
    screen.shows("done   write notes.txt").await;
    assert_eq!(bench.notes(), content);
    let kept = bench
        .ada
        .get(&format!("{}/tools/{}", bench.project, write["id"].as_str().unwrap()))
        .await
        .unwrap()
        .body;
    assert_eq!(kept["decided_from"], "client");

    let args = json!({"command": "touch", "args": ["a b", "c\nd"]});
    let touch = bench.begin("tool_execute_command", args, 0).await.body;
    screen.shows("without network").await;
    screen.type_line("rather not");
    screen.shows("rejected (client)").await;
    let kept = bench
        .ada
        .get(&format!("{}/tools/{}", bench.project, touch["id"].as_str().unwrap()))
        .await
        .unwrap()
        .body;
    assert_eq!(kept["error"], "Rejected by the user: rather not");
    assert!(
        !screen.seen().contains("c\r\nd"),
        "a newline in an argument is made visible: {}",
        screen.seen()
    );

    bench.begin("tool_write_file", json!({"path": "other.txt", "content": "x"}), 0).await;
    screen.shows("write other.txt").await;
    bench.decide("approve", None).await;
    screen.shows("approved (api)").await;
    screen.shows("done   write other.txt").await;
}

/// PF-7.1: `artel up` is everything in one go: an account, a project for the folder with its team, a log-in that works once, a
/// client; other commands find it by themselves; Ctrl-C stops it all.
#[tokio::test]
async fn everything_in_one_go() {
    let data = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "the door is green\n").unwrap();
    let program = format!(
        "{} up {} --listen 127.0.0.1:0 --data-dir {} --no-open",
        crate::ARTEL,
        folder.path().display(),
        data.path().display()
    );
    let environment =
        [("USER", "ada"), ("ARTEL_EMBEDDINGS", "lexical"), ("ARTEL_LOG_LEVEL", "warn")];
    let mut screen = Screen::open(&program, &environment);
    screen.shows("Connected.").await;
    let seen = screen.seen();
    let link = seen.split_whitespace().find(|word| word.contains("#ticket=")).unwrap();
    let (url, ticket) = link.split_once("/#ticket=").unwrap();
    let visitor = artel_testkit::client::Client::new(url, "").unwrap();
    let token = visitor.post("/auth/ticket", &json!({"ticket": ticket})).await.unwrap();
    assert_eq!(token.status, 200, "{}", token.body);
    assert_eq!(
        visitor.post("/auth/ticket", &json!({"ticket": ticket})).await.unwrap().status,
        401,
        "it works once"
    );
    let ada = visitor.with_token(token.body["access_token"].as_str().unwrap());
    let projects = ada.get("/my/projects").await.unwrap().body;
    assert_eq!(
        (&projects["total"], &projects["projects"][0]["workspace_path"]),
        (&json!(1), &json!(folder.path().canonicalize().unwrap()))
    );
    let project = format!("/my/projects/{}", projects["projects"][0]["id"].as_str().unwrap());
    assert_eq!(ada.get(&format!("{project}/agents")).await.unwrap().body["total"], 4);
    let body = json!({"tool_name": "tool_read_file", "tool_params": {"path": "notes.txt"}});
    let call = ada.post(&format!("{project}/tools/execute?wait=20"), &body).await.unwrap().body;
    assert_eq!(call["result"]["content"], "the door is green\n", "{call}");
    let artel = |arguments: &[&str]| {
        let mut command = Command::new(crate::ARTEL);
        command.args(arguments).arg("--data-dir").arg(data.path()).env_clear();
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = artel(&["chat", "--agent", "agent_coder", "hello"]);
    assert!(code == 0 && said.contains("scripted answer"), "no token need be set: {said}");
    let (code, said) = artel(&["approvals"]);
    assert!(code == 0 && said.contains("Nothing waits for you."), "{said}");
    screen.type_line("\u{3}");
    until(|| async { visitor.get("/health").await.is_err() }).await;
    until(|| async { !data.path().join("local.json").exists() }).await;
}

/// `artel policy check` shows the decision and the rule.
#[test]
fn the_policy_can_be_asked() {
    let artel = |arguments: &[&str]| {
        let output =
            Command::new(crate::ARTEL).arg("policy").args(arguments).env_clear().output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    for (words, verdict) in [
        (vec!["ls", "-la"], "LOW"),
        (vec!["find", ".", "-exec", "rm", "{}", ";"], "HIGH"),
        (vec!["git", "-c", "core.pager=x", "log"], "MEDIUM"),
        (vec!["sudo", "ls"], "REFUSED"),
        (vec!["./ls"], "MEDIUM"),
    ] {
        let (code, said) = artel(&[&["check", "--"], words.as_slice()].concat());
        assert!(code == 0 && said.contains("rule  "), "{said}");
        let strict = said.split_whitespace().next().unwrap();
        assert!(
            strict == verdict || (verdict == "MEDIUM" && strict == "HIGH"),
            "TL-5.2: {words:?}: {said}"
        );
    }
    let (code, said) = artel(&["rules"]);
    assert!(code == 0 && said.lines().count() > 20, "{said}");
    assert_eq!(artel(&["check"]).0, 2);
}
