//! The program `orchestrator`: what its words become, which way it goes, and how it ends.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use artel_programs::toolbox::Limits;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::bench::{Bench, PROGRAM, TOKEN, bare, err, out};

/// Text as models write it, and as nobody would.
fn anything() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "'",
        "\"",
        "\\",
        "\n",
        "\r\n",
        "$HOME",
        "`id`",
        "$(id)",
        "!",
        "\"},\"tool\":\"deploy\",\"args\":{\"x\":\"",
        "🦀",
        "\u{202e}",
        "\u{7f}",
        "\u{1b}[31m",
        "--",
        "-",
        "=",
        "{}",
        "%s",
        "\u{0}",
    ]);
    let piece = prop_oneof![any::<String>(), "[ -~]{0,20}", nasty.prop_map(str::to_owned)];
    // No program can be given a NUL.
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat().replace('\0', ""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// CA-4.2: whatever a text holds, the tool gets that text and nothing else changes, from a real shell.
#[test]
fn text_arrives_as_it_is() {
    let runtime = Runtime::new().unwrap();
    let guard = runtime.enter();
    let bench = Bench::new();
    let path = format!("{}:/usr/bin:/bin", Path::new(PROGRAM).parent().unwrap().display());
    let shell = |script: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", script]).env_clear().env("PATH", &path).stdin(Stdio::null());
        command.env("ORCH_SOCK", &bench.socket).env("ORCH_AUTH", TOKEN).output().unwrap()
    };
    let mut runner =
        TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let property = runner.run(&(anything(), anything()), |(text, option)| {
        let script = format!("orchestrator answer -- {}", quoted(&text));
        prop_assert!(shell(&script).status.success());
        prop_assert_eq!(bench.last(), ("answer".to_owned(), json!({"message": text})));
        // Without the dashes too, unless the text is one of the program's own words.
        if text != "-" && !text.starts_with("--") {
            let script = format!("orchestrator answer {}", quoted(&text));
            prop_assert!(shell(&script).status.success());
            prop_assert_eq!(bench.last().1, json!({"message": text}));
        }
        let script =
            format!("orchestrator engineering it --project-id={}", quoted(&format!("x{option}")));
        prop_assert!(shell(&script).status.success());
        prop_assert_eq!(bench.last().1, json!({"task": "it", "project_id": format!("x{option}")}));
        Ok(())
    });
    property.unwrap();
    drop(guard);
}

/// CA-4.2: bytes that are no text are passed as well as they can be, with a warning.
#[tokio::test]
async fn bytes_that_are_no_text_are_passed_with_a_warning() {
    let bench = Bench::new();
    let output =
        bench.program(&["answer"]).arg(OsStr::from_bytes(b"a\xffb")).output().await.unwrap();
    assert!(output.status.success());
    assert!(err(&output).contains("not UTF-8"));
    assert_eq!(bench.last().1, json!({"message": "a\u{fffd}b"}));
}

/// CA-4.2: the schema decides what a word is.
#[tokio::test]
async fn words_become_what_the_schema_says() {
    let bench = Bench::new();
    let cases = [
        (vec!["answer", "all", "done"], json!({"message": "all done"})),
        (vec!["answer", "a --b c"], json!({"message": "a --b c"})),
        (vec!["answer", "--message", "-- hm"], json!({"message": "-- hm"})),
        (vec!["project", "list"], json!({"method": "list"})),
        (
            vec!["project", "create", "--name", "7", "--limit", "7", "--archived"],
            json!({"method": "create", "name": "7", "limit": 7, "archived": true}),
        ),
        (
            vec!["project", "--archived", "false", "get"],
            json!({"method": "get", "archived": false}),
        ),
        (
            vec!["engineering", "--project-id", "p1", "mend", "it"],
            json!({"project_id": "p1", "task": "mend it"}),
        ),
        (
            vec!["engineering", "--json", r#"{"task": "t", "project_id": "p"}"#],
            json!({"task": "t", "project_id": "p"}),
        ),
    ];
    for (words, expected) in cases {
        let output = bench.run(&words).await;
        assert!(output.status.success(), "{words:?}: {}", err(&output));
        assert_eq!(bench.last().1, expected, "{words:?}");
    }
    bench.tools.answers.add_permits(1);
    let output = bench.run(&["ask", "Which?", "--option", "[red]", "--option", "blue"]).await;
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), "blue\n"));
    assert_eq!(bench.last().1, json!({"question": "Which?", "options": ["[red]", "blue"]}));
}

/// CA-4.2: text too long or too odd for a command line comes by standard input.
#[tokio::test]
async fn a_dash_is_standard_input() {
    let bench = Bench::new();
    let text = "\"'$(x)\n".repeat(60_000);
    let mut child = bench
        .program(&["answer", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    drop(stdin);
    assert!(child.wait().await.unwrap().success());
    assert_eq!(bench.last().1, json!({"message": text}));
}

/// CA-4.5, CA-4.6: how it ends, and what it says then.
#[tokio::test]
async fn every_failure_has_a_code_and_a_remedy() {
    let bench = Bench::new();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["refuse"], 1, "not today"),
        (&["panic"], 1, "a fault of the server"),
        (&["nonsense", "x"], 2, "there are `answer`, `ask`"),
        (&["answer"], 2, "`message` is missing"),
        (&["project", "burn"], 2, r#"one of "create", "get", "list""#),
        (&["project", "list", "--limit", "many"], 2, "`--limit` takes integer"),
        (&["answer", "hi", "--loud"], 2, "there is no option `--loud`; there are `--message`"),
        (&["answer", "--json", "[1]"], 2, "takes an object"),
    ];
    for (words, code, said) in cases {
        let output = bench.run(words).await;
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{words:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
    let denied = bench.program(&["answer", "hi"]).env("ORCH_AUTH", "guess").output().await.unwrap();
    assert_eq!(denied.status.code(), Some(4));
    let broken =
        bench.program(&["answer", "hi"]).env("ORCH_AUTH", "a\r\nb").output().await.unwrap();
    assert_eq!(broken.status.code(), Some(4));
}

/// CA-4.5: a tool that takes too long times out.
#[tokio::test]
async fn a_call_that_takes_too_long_ends() {
    let bench = Bench::limited(Limits { longest: Duration::from_millis(50), ..Limits::default() });
    let output = bench.run(&["ask", "Are you there?"]).await;
    assert_eq!(output.status.code(), Some(6));
    assert!(err(&output).contains("`ask` was given up"), "{}", err(&output));
}

/// CA-4.6: the tools of this agent, and how each is used.
#[tokio::test]
async fn help_lists_the_tools_of_the_agent() {
    let bench = Bench::new();
    for words in [&[][..], &["--help"]] {
        let output = bench.run(words).await;
        assert!(output.status.success());
        assert!(out(&output).contains("ask QUESTION… [--options …]"), "{}", out(&output));
        assert!(out(&output).contains("project create|get|list [--archived]"), "{}", out(&output));
    }
    let output = bench.run(&["ask", "--help"]).await;
    assert!(out(&output).contains("--options  (array of string)"), "{}", out(&output));
    assert_eq!(bench.tools.calls.lock().unwrap().len(), 0);
}

/// CA-4.2: the socket is away, so it goes by the loopback interface; that is away, so it goes by the folder.
#[tokio::test]
async fn it_takes_the_next_way_when_one_is_closed() {
    let bench = Bench::new();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = bench.endpoint.url().unwrap().to_owned();
    for (url, said) in [(url, "by port"), (format!("http://{closed}"), "by folder")] {
        let output = bare(&["answer", said])
            .env("ORCH_SOCK", bench.folder.path().join("nowhere"))
            .env("ORCH_URL", url)
            .env("ORCH_SPOOL", &bench.spool)
            .env("ORCH_AUTH", TOKEN)
            .output()
            .await
            .unwrap();
        assert!(output.status.success(), "{}", err(&output));
        assert_eq!(bench.last().1, json!({"message": said}));
    }
    assert_eq!(std::fs::read_dir(&bench.spool).unwrap().count(), 0);
}

/// CA-3.1, CA-4.2: from a sandbox without a network the socket is reached, and where even that is not there, the folder.
#[tokio::test]
async fn it_works_from_inside_a_sandbox() {
    let bench = Bench::new();
    for (socket, said) in [(Some(&bench.socket), "by socket"), (None, "by folder")] {
        let mut command = tokio::process::Command::new("bwrap");
        command.args([
            "--unshare-all",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--bind",
        ]);
        command.args([&bench.spool, &bench.spool]).arg(PROGRAM).args(["answer", said]);
        command.envs(socket.map(|socket| ("ORCH_SOCK", socket)));
        command.env("ORCH_URL", bench.endpoint.url().unwrap());
        command.env("ORCH_SPOOL", &bench.spool).env("ORCH_AUTH", TOKEN);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{}", err(&output));
        assert_eq!(bench.last().1, json!({"message": said}));
    }
}

/// CA-4.5: nobody is there, and the program says so.
#[tokio::test]
async fn a_server_that_is_away_is_an_error_in_words() {
    let output = bare(&["answer", "hi"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(err(&output).contains("ORCH_SOCK: not set"), "{}", err(&output));
    let bench = Bench::new();
    let (socket, spool) = (bench.socket.clone(), bench.spool.clone());
    bench.endpoint.close().await;
    assert!(!socket.exists() && !spool.exists());
    let output = bare(&["answer", "hi"])
        .env("ORCH_SOCK", &socket)
        .env("ORCH_SPOOL", &spool)
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(err(&output).contains("cannot be reached"), "{}", err(&output));
}
