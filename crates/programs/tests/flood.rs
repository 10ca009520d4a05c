//! A gigabyte of output, in a process of its own so that its memory can be measured (CA-8.2, CA-8.3).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "parts/line.rs"]
mod line;
#[path = "parts/plain.rs"]
mod plain;
#[path = "parts/stage.rs"]
#[expect(dead_code, reason = "one test does not need all of it")]
mod stage;

use artel_programs::codec::{Event, Outcome};

use stage::Script;

/// The most memory that this process has used, in bytes.
fn most_used() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// CA-8.3: a gigabyte in lines, another without any, and another on standard error, in bounded memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gigabytes_of_output_are_taken_in_bounded_memory() {
    let stage = Script::default().play().await;
    stage.say("hello").await;
    let before = most_used();
    for flood in ["!flood", "!unbroken", "!noise"] {
        let began = std::time::Instant::now();
        let mut turn = stage.life.turn(format!("{flood} {}", 1_u64 << 30)).await.unwrap();
        let (mut read, mut last) = (0, None);
        while let Some(event) = turn.next().await {
            if let Event::Text(text) = &event {
                read += text.len();
            }
            last = Some(event);
        }
        assert_eq!(last, Some(Event::Ended(Outcome::Completed { text: None })));
        let grown = (most_used() - before) >> 20;
        println!("{flood}: {read} bytes of text, {:?}, {grown} MiB more", began.elapsed());
        assert!(grown < 128, "{flood} took {grown} MiB");
    }
    assert_eq!(stage.say("hello").await.0, "5: hello\n");
    assert_eq!(stage.log.page(1000, 0).await.unwrap().total, 1000);
}
