//! A program that does everything that it should not: each ends in a clear state, and nobody else is slowed.

use std::time::Duration;

use serde_json::json;

use super::{House, gone};
use crate::Side;

/// CA-8.3: bytes that are no text, lines without an end, forged calls: all is kept or passed over, and the turn ends.
#[tokio::test(flavor = "multi_thread")]
async fn odd_output_ends_nothing() {
    let house = House::new(Side::Embedded, &[]).await;
    let agent = house.line("odd", &json!({})).await;
    for line in ["!garble", "!unbroken 1000000", "!forge", "!stderr an aside", "!flood 1000000"] {
        let (_, error) = house.ask(&agent, line).await;
        assert_eq!(error, None, "{line}");
    }
    let (said, error) = house.ask(&agent, "still there").await;
    assert!(said.ends_with(": still there") && error.is_none(), "{said} {error:?}");
    let log = house.log(&agent).await;
    assert!(log.len() <= 1000, "{}", log.len());
}

/// CA-2.3, CA-2.4, CA-8.3: one that is never ready, one that ends at once and one that dies in each turn come to a clear
/// end; others answer meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn bad_starts_come_to_an_end() {
    let house = House::new(Side::Embedded, &[]).await;
    let good = house.line("good", &json!({})).await;
    let leaving = house.line("leaving", &json!({"command": ["line-agent", "exit", "3"]})).await;
    let start = json!({"ready_within": 1});
    let options = json!({"start": start, "protocol": {"ready": {"line": "^__READY__$"}}});
    let mute = json!({"command": ["line-agent", "mute"], "options": options});
    let mute = house.line("mute", &mute).await;
    let dying = house.line("dying", &json!({"environment": {"MARK": "in-nasty-dying"}})).await;
    let leaves = house.tell(&leaving, "hello").await;
    let waits = house.tell(&mute, "hello").await;
    let dies = house.tell(&dying, "!crash so it goes").await;
    assert_eq!(house.ask(&good, "hello").await.0.trim(), "1: hello");
    for (task, why) in [
        (dies, "so it goes"),
        (
            leaves,
            "it failed 6 times within 10 min: it ended with exit code 3; its last words: leaving at once",
        ),
        (waits, "it failed 6 times within 10 min: it was not ready within 1 s"),
    ] {
        let ended = house.ended(&task).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        assert!(ended["error"].as_str().unwrap().contains(why), "{ended}");
        assert!(house.ask(&good, "hello").await.1.is_none());
    }
    for agent in [&leaving, &mute] {
        assert_eq!(house.process(agent).await["state"], "FAILED");
    }
    house.ada.post(&format!("/agents/{dying}/stop"), &json!({})).await.unwrap().success().unwrap();
    gone("MARK=in-nasty-dying", Duration::from_secs(10)).await;
}

/// CA-2.5: what is cancelled is interrupted and the process stays; what does not obey is ended with its children.
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_the_program() {
    let house = House::new(Side::Embedded, &[]).await;
    let agent = house.line("waits", &json!({"environment": {"MARK": "in-nasty-wait"}})).await;
    let task = house.tell(&agent, "!wait").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    house.cancel(&task).await;
    assert_eq!(house.ask(&agent, "hello").await.0.trim(), "2: hello", "the same process");
    house.ask(&agent, "!fork").await;
    let task = house.tell(&agent, "!hang").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    house.cancel(&task).await;
    assert_eq!(house.ask(&agent, "hello").await.0.trim(), "1: hello", "another process");
    house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap().success().unwrap();
    gone("MARK=in-nasty-wait", Duration::from_secs(10)).await;
}

/// CA-2.4, CA-8.3: one that reads nothing is ended when what was written to it lies there for too long, and says so;
/// others answer meanwhile, and a message starts it again.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_reads_is_ended() {
    let house = House::new(Side::Embedded, &[]).await;
    let good = house.line("good", &json!({})).await;
    let deaf = house.line("deaf", &json!({"command": ["line-agent", "deaf"]})).await;
    // More than a pipe holds.
    let task = house.tell(&deaf, &"x".repeat(300_000)).await;
    let process = house.process_is(&deaf, |it| it["activity"] == "working").await;
    assert_eq!(house.ask(&good, "hello").await, ("1: hello".to_owned(), None));
    let ended = house.ended(&task).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(
        ended["error"].as_str().unwrap().contains("did not read its input for 30 s"),
        "{ended}"
    );
    let again = |it: &serde_json::Value| it["state"] == "RUNNING" && it["mark"] != process["mark"];
    let process = house.process_is(&deaf, again).await;
    assert_eq!(process["restarts"], 1, "{process}");
    assert_eq!(house.ask(&good, "hello").await, ("2: hello".to_owned(), None));
}

/// CA-8.2, CA-8.3: a gigabyte on standard error, another without a single line break, and another as an answer: the
/// server's memory stays bounded, what is too long is said to be, and others answer meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_stays_outside_of_the_server() {
    const GIGABYTE: u64 = 1 << 30;
    const MORE: u64 = 192 << 20;
    let house = House::new(Side::Embedded, &[]).await;
    let good = house.line("good", &json!({})).await;
    let loud = house.line("loud", &json!({})).await;
    assert!(house.ask(&loud, "hello").await.1.is_none());
    assert!(house.ask(&good, "hello").await.1.is_none());
    let before = house.world.artel.memory().unwrap();
    for (flood, fault) in [("!noise", None), ("!unbroken", None), ("!flood", Some("too long"))] {
        let task = house.tell(&loud, &format!("{flood} {GIGABYTE}")).await;
        house.process_is(&loud, |it| it["activity"] == "working" || it["restarts"] != 0).await;
        assert!(house.ask(&good, "hello").await.1.is_none());
        let ended = house.ended(&task).await;
        let error = ended["error"].as_str();
        match fault {
            None => assert_eq!(error, None, "{flood}: {ended}"),
            Some(fault) => assert!(error.unwrap().contains(fault), "{flood}: {ended}"),
        }
        let (now, most) =
            (house.world.artel.memory().unwrap(), house.world.artel.peak_memory().unwrap());
        let grown = |bytes: u64| bytes.saturating_sub(before) >> 20;
        println!("{flood}: {} MiB more, {} at most", grown(now), grown(most));
        assert!(most < before + MORE, "{flood} took {} MiB", grown(most));
    }
    assert!(house.ask(&loud, "still there").await.0.contains("still there"));
    assert!(house.log(&loud).await.len() <= 1000);
}
