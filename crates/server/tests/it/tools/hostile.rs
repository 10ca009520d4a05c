//! A hostile server against a real client: whatever it says, nothing outside the folder is read, written or run.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_tools::binding;
use axum::body::{Body, Bytes};
use axum::extract::{Path as Segments, State};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, oneshot};

use super::Running;

const PROJECT: &str = "01a1d000-0000-7000-8000-0000000000aa";

#[derive(Clone)]
struct Hostile {
    events: broadcast::Sender<Bytes>,
    client: Arc<Mutex<Option<Value>>>,
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>,
}

impl Hostile {
    /// Listens like a server, and says what the test wants.
    async fn start() -> (Self, String) {
        let hostile = Self {
            events: broadcast::channel(100).0,
            client: Arc::default(),
            waiting: Arc::default(),
        };
        let router = Router::new()
            .route("/my/me", get(|| async { Json(json!({"id": 1, "name": "ada"})) }))
            .route("/my/approvals", get(|| async { Json(json!({"approvals": []})) }))
            .route("/my/projects/{project}/client", put(announced).delete(|| async { "" }))
            .route("/my/projects/{project}/tools", get(|| async { Json(json!({"calls": []})) }))
            .route("/my/projects/{project}/events", get(events))
            .route("/my/projects/{project}/tools/{tool}/{what}", post(answered))
            .with_state(hostile.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (hostile, url)
    }

    /// Has a call carried out, whoever approved it; what the client answers.
    async fn order(&self, phase: &str, tool: &str, arguments: Value, facts: Value) -> Value {
        let id = format!("01a1d000-0000-7000-8000-{:012x}", next_number());
        let client = self.client.lock().unwrap().clone().unwrap();
        let mut payload = json!({
            "tool_id": id, "client_id": client["client_id"], "phase": phase, "tool_name": tool, "user_id": 1, "timeout": 10,
            "arguments": arguments, "base": null, "digest": null, "decided_from": "web",
        });
        for (name, value) in facts.as_object().unwrap() {
            payload[name] = value.clone();
        }
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, sender);
        let event = json!({"id": 1, "event_type": "tool_execution_signal", "payload": payload, "timestamp": "2026-01-01T00:00:00Z", "session_id": null});
        self.events.send(format!("{event}\n").into()).unwrap();
        tokio::time::timeout(Duration::from_secs(30), answer)
            .await
            .expect("the client answers")
            .unwrap()
    }

    /// With a digest that is right, as a server that forges approvals would make it.
    async fn forge(&self, tool: &str, arguments: Value) -> Value {
        let folder =
            self.client.lock().unwrap().clone().unwrap()["workspace"].as_str().unwrap().to_owned();
        let prepared = self.order("prepare", tool, arguments.clone(), json!({})).await;
        let (base, diff) = (prepared["base"].as_str(), prepared["diff"].as_str());
        let map: Map<String, Value> = arguments.as_object().unwrap().clone();
        let digest = binding::digest(tool, &map, &folder, base, diff);
        self.order("execute", tool, arguments, json!({"digest": digest, "base": base})).await
    }
}

/// A number that no other order of this process has.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

async fn announced(State(hostile): State<Hostile>, Json(body): Json<Value>) -> Json<Value> {
    *hostile.client.lock().unwrap() = Some(body.clone());
    Json(body)
}

async fn events(State(hostile): State<Hostile>) -> Body {
    let receiver = hostile.events.subscribe();
    let lines = futures_util::stream::unfold(receiver, |mut receiver| async move {
        let line = receiver.recv().await.ok()?;
        Some((Ok::<_, std::convert::Infallible>(line), receiver))
    });
    Body::from_stream(lines)
}

async fn answered(
    State(hostile): State<Hostile>,
    Segments((_, tool, _)): Segments<(String, String, String)>,
    Json(body): Json<Value>,
) -> Json<Value> {
    if let Some(waiting) = hostile.waiting.lock().unwrap().remove(&tool) {
        waiting.send(body).ok();
    }
    Json(json!({}))
}

/// A client that believes in this server.
async fn client(url: &str, hostile: &Hostile, folder: &Path, arguments: &[&str]) -> Running {
    let log = folder.parent().unwrap().join("client.log");
    let out = std::fs::File::create(&log).unwrap();
    let child = Command::new(crate::ARTEL)
        .args(["client", "--project", PROJECT, "--workspace"])
        .arg(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", folder.parent().unwrap())
        .env("ARTEL_SERVER", url)
        .env("ARTEL_TOKEN", "canary-token")
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    crate::chat::until(|| async { hostile.client.lock().unwrap().is_some() }).await;
    // The stream was opened before the announcement.
    Running { child, log }
}

struct Scene {
    _home: tempfile::TempDir,
    hostile: Hostile,
    client: Running,
    folder: std::path::PathBuf,
}

impl Scene {
    async fn set(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("ws");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::create_dir(home.path().join("ws-evil")).unwrap();
        for place in ["secret.txt", "ws-evil/secret.txt"] {
            std::fs::write(home.path().join(place), "canary").unwrap();
        }
        std::fs::write(folder.join("inside.txt"), "inside").unwrap();
        let (hostile, url) = Hostile::start().await;
        let client = client(&url, &hostile, &folder, arguments).await;
        Self { _home: home, hostile, client, folder }
    }

    fn untouched(&self) {
        for place in ["../secret.txt", "../ws-evil/secret.txt"] {
            assert_eq!(
                std::fs::read_to_string(self.folder.join(place)).unwrap(),
                "canary",
                "{place}"
            );
        }
    }
}

/// TL-6.1, TL-6.2, TL-6.3: paths of a hostile server, forged approvals and all, reach nothing outside.
#[tokio::test]
async fn no_path_leads_out() {
    let scene = Scene::set(&[]).await;
    let (hostile, folder) = (&scene.hostile, &scene.folder);
    let link =
        |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    link("../secret.txt", "file-link");
    link("..", "folder-link");
    link("chain2", "chain1");
    link("../secret.txt", "chain2");
    link("loop2", "loop1");
    link("loop1", "loop2");
    link("/proc/self/root", "root-link");
    link("/dev/zero", "zero");
    std::fs::hard_link(folder.join("../secret.txt"), folder.join("hard")).unwrap();
    Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap();
    let outside = folder.join("../secret.txt");
    let long = "x/".repeat(3000);
    let paths = [
        "../secret.txt",
        "sub/../../secret.txt",
        "../ws-evil/secret.txt",
        "/etc/passwd",
        outside.to_str().unwrap(),
        "~/secret.txt",
        "~",
        "a\0b",
        &long,
        "file-link",
        "folder-link/secret.txt",
        "chain1",
        "loop1",
        "root-link/etc/passwd",
        "zero",
        "fifo",
        "",
        ".",
        "..",
        "sub/../..",
        "./../secret.txt",
        "sub/./../../secret.txt",
        "/proc/self/environ",
        "//etc/passwd",
        "..\u{2f}secret.txt",
    ];
    for path in paths {
        for (tool, arguments) in [
            ("tool_read_file", json!({"path": path})),
            ("tool_write_file", json!({"path": path, "content": "x", "create_dirs": true})),
            ("tool_edit_file", json!({"path": path, "old": "canary", "new": "x"})),
            ("tool_list_directory", json!({"path": format!("{path}/..")})),
        ] {
            let answer = hostile.forge(tool, arguments).await.to_string();
            assert!(
                !answer.contains("canary") && !answer.contains("root:"),
                "{tool} {path:?}: {answer}"
            );
        }
        scene.untouched();
    }
    let answer = hostile.forge("tool_write_file", json!({"path": "hard", "content": "x"})).await;
    assert_eq!(answer["success"], false, "a hard link may be a file outside: {answer}");
    scene.untouched();
    let read = hostile
        .order("execute", "tool_read_file", json!({"path": "inside.txt"}), json!({"user_id": 7}))
        .await;
    assert_eq!(read["error"], "User 7 is not authorized to access this path");
    let answer = hostile.forge("tool_read_file", json!({"path": "inside.txt"})).await;
    assert_eq!(answer["result"]["content"], "inside", "it still works: {answer}");
}

/// R15: what was approved is this and nothing else; what runs unattended is harmless by the client's own rules.
#[tokio::test]
async fn an_approval_is_for_one_thing() {
    let scene = Scene::set(&[]).await;
    let (hostile, folder) = (&scene.hostile, &scene.folder);
    let touch = json!({"command": "touch", "args": ["made"]});
    for facts in [
        json!({}),
        json!({"decided_from": "low"}),
        json!({"decided_from": null}),
        json!({"digest": "00"}),
    ] {
        let answer = hostile.order("execute", "tool_execute_command", touch.clone(), facts).await;
        assert_eq!(answer["success"], false, "{answer}");
    }
    let prepared = hostile
        .order(
            "prepare",
            "tool_write_file",
            json!({"path": "inside.txt", "content": "shown"}),
            json!({}),
        )
        .await;
    let path = folder.canonicalize().unwrap();
    let digest = |content: &str| {
        let map = json!({"path": "inside.txt", "content": content}).as_object().unwrap().clone();
        binding::digest(
            "tool_write_file",
            &map,
            path.to_str().unwrap(),
            prepared["base"].as_str(),
            prepared["diff"].as_str(),
        )
    };
    let facts = json!({"digest": digest("shown"), "base": prepared["base"]});
    let swapped = hostile
        .order(
            "execute",
            "tool_write_file",
            json!({"path": "inside.txt", "content": "other"}),
            facts.clone(),
        )
        .await;
    assert_eq!(swapped["error"], "This is not what was approved");
    std::fs::write(folder.join("inside.txt"), "changed meanwhile").unwrap();
    let late = hostile
        .order(
            "execute",
            "tool_write_file",
            json!({"path": "inside.txt", "content": "shown"}),
            facts,
        )
        .await;
    assert!(late["error"].as_str().unwrap().contains("changed since"), "{late}");
    assert_eq!(std::fs::read_to_string(folder.join("inside.txt")).unwrap(), "changed meanwhile");
    let high = json!({"command": "rm", "args": ["-r", "sub"]});
    let map = high.as_object().unwrap().clone();
    let digest = binding::digest("tool_execute_command", &map, path.to_str().unwrap(), None, None);
    let answer = hostile
        .order(
            "execute",
            "tool_execute_command",
            high,
            json!({"digest": digest, "decided_from": "preference"}),
        )
        .await;
    assert!(answer["error"].as_str().unwrap().contains("A person must approve"), "{answer}");
    let refused =
        hostile.forge("tool_execute_command", json!({"command": "sudo", "args": ["true"]})).await;
    assert!(refused["error"].as_str().unwrap().contains("Refused by the client"), "{refused}");
    assert!(folder.join("sub").exists() && !folder.join("made").exists());
}

/// With `--approve low` nothing but what is harmless is done, whoever approved it.
#[tokio::test]
async fn only_what_is_harmless() {
    let scene = Scene::set(&["--approve", "low"]).await;
    let answer =
        scene.hostile.forge("tool_write_file", json!({"path": "inside.txt", "content": "x"})).await;
    assert!(answer["error"].as_str().unwrap().contains("only what is harmless"), "{answer}");
    let answer = scene.hostile.forge("tool_read_file", json!({"path": "inside.txt"})).await;
    assert_eq!(answer["result"]["content"], "inside");
}

/// TL-6.3, TL-7.3: the folder replaced or deleted while the client runs: a clear error, and nothing elsewhere is touched.
#[tokio::test]
async fn the_folder_is_replaced() {
    let scene = Scene::set(&[]).await;
    let (hostile, folder) = (&scene.hostile, &scene.folder);
    std::fs::rename(folder, folder.with_extension("old")).unwrap();
    std::os::unix::fs::symlink(folder.with_file_name("ws-evil"), folder).unwrap();
    for (tool, arguments) in [
        ("tool_read_file", json!({"path": "secret.txt"})),
        ("tool_write_file", json!({"path": "secret.txt", "content": "x"})),
        ("tool_execute_command", json!({"command": "cat", "args": ["secret.txt"]})),
    ] {
        let answer = hostile.forge(tool, arguments).await;
        assert_eq!(answer["success"], false, "{tool}: {answer}");
        assert!(!answer.to_string().contains("canary"), "{tool}: {answer}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("secret.txt")).unwrap(), "canary");
    assert!(scene.client.said().contains("Connected."), "{}", scene.client.said());
}
