//! What programs print is kept, shown in pages and followed (CA-5).

use std::sync::Arc;

use artel_domain::clock::SystemClock;
use artel_programs::log::{Entry, Files, Followed, KEPT, Log, Redactor, Stream};
use tokio::time::timeout;

use crate::stage::{LONG, Script};

async fn open(folder: &std::path::Path) -> Log {
    let secrets = ["sk-a-secret-key".into()];
    let sink = Arc::new(Files::new(folder.to_owned()));
    Log::open(sink, Arc::new(SystemClock), Redactor::new(&secrets)).await.unwrap()
}

fn numbers(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}

/// CA-5.1: every line of both pipes, in order, over more than one process, and without secrets.
#[tokio::test]
async fn every_line_is_kept() {
    let stage = Script { secret: Some("hunter2-token"), ..Script::default() }.play().await;
    stage.say("!stderr the token is hunter2-token").await;
    stage.say("hello hunter2-token").await;
    stage.life.stop("enough").await.unwrap();
    stage.say("again").await;
    let page = stage.log.page(100, 0).await.unwrap();
    let of = |wanted| {
        let lines = page.entries.iter().filter(move |entry| entry.stream == wanted);
        lines.map(|entry| entry.line.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(Stream::Stderr), ["the token is [redacted]"]);
    let ready = "__READY__";
    let done = "__DONE__";
    let hello = "2: hello [redacted]";
    assert_eq!(of(Stream::Stdout), [ready, done, hello, done, ready, "1: again", done]);
    assert_eq!(numbers(&page.entries), (1..=8).collect::<Vec<_>>());
    assert_eq!(page.total, 8);
}

/// CA-5.1, CA-5.2: about the last 1,000 lines, in pages, the newest last; they are there after a restart.
#[tokio::test]
async fn the_last_lines_are_shown_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    for number in 1..=5000 {
        let entry = log.append(Stream::Stdout, format!("line {number}").as_bytes(), false);
        assert_eq!(entry.number, number);
    }
    let page = log.page(3, 0).await.unwrap();
    assert_eq!((numbers(&page.entries), page.total), (vec![4998, 4999, 5000], KEPT));
    assert_eq!(numbers(&log.page(2, 10).await.unwrap().entries), [4989, 4990]);
    assert_eq!(numbers(&log.page(10, KEPT - 1).await.unwrap().entries), [4001]);
    assert!(log.page(10, KEPT).await.unwrap().entries.is_empty());
    log.append(Stream::Stderr, "x".repeat(100_000).as_bytes(), false);
    let page = log.page(1, 0).await.unwrap();
    assert!(page.entries[0].line.len() < 20_000 && page.entries[0].line.ends_with("(cut)"));
    log.close().await;
    let log = open(folder.path()).await;
    let entry = log.append(Stream::Stdout, b"after", false);
    assert_eq!(entry.number, 5002);
    assert_eq!(numbers(&log.page(2, 0).await.unwrap().entries), [5001, 5002]);
}

/// CA-5.2: following misses nothing and doubles nothing, wherever it begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn following_is_without_gaps_and_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let writer = log.clone();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        for number in 1..=2000 {
            writer.append(Stream::Stdout, format!("line {number}").as_bytes(), false);
            if number % 16 == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    });
    for _ in 0..8 {
        let mut follow = log.follow(Some(0)).await.unwrap();
        tasks.spawn(async move {
            let mut last = 0;
            while last < 2000 {
                match timeout(LONG, follow.next()).await.unwrap().unwrap() {
                    Followed::Line(entry) => {
                        assert_eq!(entry.number, last + 1);
                        last = entry.number;
                    }
                    // The kept ones were already fewer than all when it began.
                    Followed::Missed(missed) => last += missed,
                }
            }
            assert_eq!(last, 2000);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

/// CA-5.2: who is too slow is told how much is gone; who begins now gets only what is new.
#[tokio::test]
async fn a_slow_follower_is_told_what_it_missed() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    log.append(Stream::Stdout, b"before", false);
    let mut follow = log.follow(None).await.unwrap();
    for number in 0..1000 {
        log.append(Stream::Stdout, format!("line {number}").as_bytes(), false);
    }
    let Some(Followed::Missed(missed)) = follow.next().await else { panic!() };
    let mut read = 0;
    while read + missed < 1000 {
        assert!(matches!(follow.next().await, Some(Followed::Line(_))));
        read += 1;
    }
    assert!(read > 0);
    drop(log);
    assert_eq!(follow.next().await, None);
}
