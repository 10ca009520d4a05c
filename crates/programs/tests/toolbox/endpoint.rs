//! Who is let in, and how much at once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use artel_programs::toolbox::Limits;
use artel_programs::toolbox::endpoint::Endpoint;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{self, Bench, TOKEN, Tools, until};

/// CA-3.2: the socket and the folder are for the agent alone.
#[tokio::test]
async fn its_places_are_for_the_owner_alone() {
    let bench = Bench::new();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&bench.socket), 0o600);
    assert_eq!(mode(bench.socket.parent().unwrap()), 0o700);
    assert_eq!(mode(&bench.spool), 0o700);
}

/// CA-2.5: after a server that was killed the places are taken over; what is not ours stays, and nothing is opened.
#[tokio::test]
async fn it_opens_where_a_killed_one_stood() {
    let folder = TempDir::new().unwrap();
    let setup = bench::setup(folder.path(), Arc::new(Tools::new()), Limits::default());
    let (socket, spool) = (setup.socket.clone(), setup.spool.clone());
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join("old.call"), "{}").unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    let endpoint = Endpoint::open(setup).unwrap();
    assert_eq!(fs::read_dir(&spool).unwrap().count(), 0);
    drop(endpoint);
    assert!(!socket.exists() && !spool.exists());

    fs::write(&socket, "somebody's").unwrap();
    let setup = bench::setup(folder.path(), Arc::new(Tools::new()), Limits::default());
    let error = Endpoint::open(setup).unwrap_err();
    assert!(error.to_string().contains("tools.sock"), "{error}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "somebody's");

    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let mut setup = bench::setup(folder.path(), Arc::new(Tools::new()), Limits::default());
    setup.socket = shared.join("tools.sock");
    assert!(Endpoint::open(setup).unwrap_err().to_string().contains("others use this folder"));
}

/// CA-2.5: what was dropped runs no call and leaves nothing behind.
#[tokio::test]
async fn dropping_it_gives_its_calls_up() {
    let bench = Bench::new();
    let body = json!({"arguments": {"question": "Which?"}}).to_string();
    let _waiting = bench.send("POST /tools/ask HTTP/1.1", TOKEN, &body).await;
    bench.until_running(1).await;
    let Bench { tools, endpoint, socket, spool, folder: _folder } = bench;
    drop(endpoint);
    assert!(!socket.exists() && !spool.exists());
    until(|| tools.running.load(Ordering::SeqCst) == 0).await;
}

/// CA-4.6: without the token nothing is told, not even what is there.
#[tokio::test]
async fn a_wrong_token_learns_nothing() {
    let bench = Bench::new();
    for token in ["", "guess", &TOKEN[1..], &format!("{TOKEN}x")] {
        for head in ["GET /tools", "POST /tools/answer", "POST /mcp", "GET /nowhere"] {
            let (status, _, body) = bench.ask(&format!("{head} HTTP/1.1"), token, "{}").await;
            assert_eq!((status, body.as_str()), (401, ""), "{head} with `{token}`");
        }
    }
    assert_eq!(bench.ask("GET /nowhere HTTP/1.1", TOKEN, "").await.0, 404);
    assert!(bench.tools.calls.lock().unwrap().is_empty());
}

/// CA-4.6: a page of another site, or a name that somebody pointed at this machine, is turned away.
#[tokio::test]
async fn a_forged_host_or_a_foreign_page_is_turned_away() {
    let bench = Bench::new();
    let cases = [
        ("host: evil.example", 403),
        ("host: localhost.evil.example", 403),
        ("host: 127.0.0.1.evil.example:80", 403),
        ("host: localhost:x", 403),
        ("host: localhost:80", 200),
        ("host: [::1]:80", 200),
        ("host: 127.0.0.1\r\norigin: https://evil.example", 403),
        ("host: 127.0.0.1\r\norigin: null", 403),
        ("host: 127.0.0.1\r\norigin: http://localhost:3000", 200),
    ];
    for (headers, expected) in cases {
        let head = format!("GET /tools HTTP/1.1\r\n{headers}");
        assert_eq!(bench.ask(&head, TOKEN, "").await.0, expected, "{headers}");
    }
}

/// CA-4.5, CA-4.6: the error names the field and what is wanted, and shows what is right.
#[tokio::test]
async fn a_wrong_call_is_told_what_is_right() {
    let bench = Bench::new();
    let cases = [
        (
            "ask",
            json!({"arguments": {}}),
            422,
            "`question` is missing. `ask` takes `question` (string), `options` (array of string, optional); for example {\"question\":\"…\"}",
        ),
        (
            "ask",
            json!({"arguments": {"question": "x", "options": [1]}}),
            422,
            "`options.0`: the value is not of type \"string\"",
        ),
        (
            "ask",
            json!({"arguments": {"question": "x", "opt": 1}}),
            422,
            "`opt`: there is no such argument",
        ),
        (
            "burn",
            json!({"arguments": {}}),
            404,
            "There is no tool `burn`; there are `answer`, `ask`",
        ),
        ("ask", json!({"arguments": 7}), 400, "This is no call"),
        ("ask", json!([]), 400, "This is no call"),
        ("refuse", json!({}), 422, "not today"),
        ("panic", json!({}), 422, "a fault of the server"),
    ];
    for (tool, body, expected, said) in cases {
        let head = format!("POST /tools/{tool} HTTP/1.1");
        let (status, _, answer) = bench.ask(&head, TOKEN, &body.to_string()).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
        assert_eq!(status, expected, "{message}");
    }
    let (status, _, body) =
        bench.ask("POST /tools/refuse HTTP/1.1", TOKEN, "{\"arguments\":").await;
    assert_eq!(status, 400, "{body}");
    let large = "x".repeat(Limits::default().size + 1);
    let (status, _, body) = bench.ask("POST /tools/answer HTTP/1.1", TOKEN, &large).await;
    assert_eq!(status, 400);
    assert!(body.contains("at most 1048576 bytes"), "{body}");
}

/// CA-4.5: two hundred calls at once: as many as may run do, the others are told, and later calls are taken again.
#[tokio::test]
async fn calls_at_once_are_bounded() {
    let bench = Bench::new();
    let body = json!({"arguments": {"question": "Which?"}}).to_string();
    let refused = AtomicUsize::new(0);
    let call = async || {
        let (status, _, body) = bench.ask("POST /tools/ask HTTP/1.1", TOKEN, &body).await;
        if status == 429 {
            assert!(body.contains("16 calls are running"), "{body}");
            refused.fetch_add(1, Ordering::SeqCst);
        }
        status
    };
    let release = async {
        until(|| refused.load(Ordering::SeqCst) == 184).await;
        bench.until_running(16).await;
        bench.tools.answers.add_permits(17);
    };
    let (answers, ()) = tokio::join!(join_all((0..200).map(|_| call())), release);
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 16);
    assert_eq!(bench.tools.most.load(Ordering::SeqCst), 16);
    assert_eq!(call().await, 200);
}
