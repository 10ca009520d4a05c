//! Calls as files: what is taken from the folder, and what is left alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bench::{Bench, TOKEN, bare, err, until};

fn put(bench: &Bench, name: &str, content: &[u8]) {
    let draft = bench.spool.join(format!("{name}.tmp"));
    fs::write(&draft, content).unwrap();
    fs::rename(draft, bench.spool.join(format!("{name}.call"))).unwrap();
}

async fn result(bench: &Bench, name: &str) -> Value {
    let path = bench.spool.join(format!("{name}.result"));
    until(|| path.exists()).await;
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn answering(token: &str) -> Vec<u8> {
    json!({"token": token, "tool": "answer", "arguments": {"message": "hi"}})
        .to_string()
        .into_bytes()
}

/// CA-4.2: a call without a program: a file in, a file out.
#[tokio::test]
async fn a_file_is_a_call() {
    let bench = Bench::new();
    put(&bench, "one", &answering(TOKEN));
    assert_eq!(result(&bench, "one").await, json!({"result": "{\"message\":\"hi\"}"}));
    put(&bench, "two", &answering("guess"));
    assert_eq!(result(&bench, "two").await["error"]["reason"], "denied");
    put(&bench, "three", b"{nonsense");
    assert_eq!(result(&bench, "three").await["error"]["reason"], "denied");
    put(&bench, "four", &vec![b' '; 2 * 1024 * 1024]);
    assert_eq!(result(&bench, "four").await["error"]["reason"], "malformed");
    let wrong = json!({"token": TOKEN, "tool": "answer", "arguments": {}}).to_string();
    put(&bench, "five", wrong.as_bytes());
    let message = result(&bench, "five").await["error"]["message"].to_string();
    assert!(message.contains("`message` is missing"), "{message}");
    assert_eq!(bench.tools.calls.lock().unwrap().len(), 1);
}

/// CA-3.2: nothing outside the folder is read or written, whatever the agent puts there.
#[tokio::test]
async fn links_and_pipes_are_left_alone() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::write(&outside, answering(TOKEN)).unwrap();
    symlink(&outside, bench.spool.join("link.call")).unwrap();
    fs::create_dir(bench.spool.join("folder.call")).unwrap();
    let pipe = bench.spool.join("pipe.call");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    // Where an answer will stand, and where it is drafted, lead elsewhere.
    let victim = bench.folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, bench.spool.join("real.result.tmp")).unwrap();
    symlink(&victim, bench.spool.join("other.result")).unwrap();
    put(&bench, "real", &answering(TOKEN));
    put(&bench, "other", &answering(TOKEN));
    until(|| bench.tools.calls.lock().unwrap().len() == 2).await;
    let other = bench.spool.join("other.result");
    until(|| fs::symlink_metadata(&other).is_ok_and(|it| it.is_file())).await;
    result(&bench, "real").await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert_eq!(fs::read(&outside).unwrap(), answering(TOKEN));
    assert!(fs::symlink_metadata(bench.spool.join("link.call")).unwrap().is_symlink());
    assert!(pipe.exists());
    assert_eq!(bench.tools.calls.lock().unwrap().len(), 2);
}

/// CA-4.5: a folder full of rubbish neither stops the calls in it nor makes any.
#[tokio::test]
async fn ten_thousand_files_of_rubbish_stop_nothing() {
    let bench = Bench::new();
    for number in 0..10_000 {
        let name = match number % 4 {
            0 => format!("{number}.call"),
            1 => format!("{number}.tmp"),
            2 => format!("no name {number}.call"),
            _ => format!("{number}"),
        };
        fs::write(bench.spool.join(name), b"rubbish\0\xff").unwrap();
    }
    put(&bench, "real", &answering(TOKEN));
    assert_eq!(result(&bench, "real").await, json!({"result": "{\"message\":\"hi\"}"}));
    assert_eq!(bench.tools.calls.lock().unwrap().len(), 1);
    let spool = bench.spool.clone();
    bench.endpoint.close().await;
    assert!(!spool.exists());
}

/// CA-4.5: a program that was killed while it waited gives its call up; so does one whose file is removed.
#[tokio::test]
async fn a_call_whose_caller_is_gone_is_given_up() {
    let bench = Bench::new();
    let mut child = bare(&["ask", "Which?"])
        .env("ORCH_SPOOL", &bench.spool)
        .env("ORCH_AUTH", TOKEN)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    bench.until_running(1).await;
    child.kill().await.unwrap();
    bench.until_running(0).await;

    put(
        &bench,
        "mine",
        json!({"token": TOKEN, "tool": "ask", "arguments": {"question": "?"}})
            .to_string()
            .as_bytes(),
    );
    bench.until_running(1).await;
    fs::remove_file(bench.spool.join("mine.taken")).unwrap();
    bench.until_running(0).await;
    assert!(!bench.spool.join("mine.result").exists());
}

/// CA-4.4: a question through the folder waits for its answer, and a server that ends is noticed.
#[tokio::test]
async fn a_question_waits_in_the_folder() {
    let bench = Bench::new();
    let ask = || {
        bare(&["ask", "Which?"])
            .env("ORCH_SPOOL", &bench.spool)
            .env("ORCH_AUTH", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let child = ask();
    bench.until_running(1).await;
    bench.tools.answers.add_permits(1);
    assert_eq!(child.wait_with_output().await.unwrap().stdout, b"blue\n");
    let child = ask();
    bench.until_running(1).await;
    bench.endpoint.close().await;
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
}
