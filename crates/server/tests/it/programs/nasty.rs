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
    let (_, error) = house.ask(&leaving, "hello").await;
    assert!(error.as_ref().is_some_and(|error| error.contains("leaving at once")), "{error:?}");
    let dying = house.line("dying", &json!({"environment": {"MARK": "in-nasty-dying"}})).await;
    let (_, error) = house.ask(&dying, "!crash so it goes").await;
    assert!(error.is_some(), "{error:?}");
    assert_eq!(house.ask(&good, "hello").await.0.trim(), "1: hello");
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
    let path = format!("{}/tasks/{task}/cancel", house.project);
    assert_eq!(house.ada.post(&path, &json!({})).await.unwrap().status, 200);
    assert_eq!(house.ask(&agent, "hello").await.0.trim(), "2: hello", "the same process");
    house.ask(&agent, "!fork").await;
    let task = house.tell(&agent, "!hang").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    let path = format!("{}/tasks/{task}/cancel", house.project);
    assert_eq!(house.ada.post(&path, &json!({})).await.unwrap().status, 200);
    assert_eq!(house.ask(&agent, "hello").await.0.trim(), "1: hello", "another process");
    house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap().success().unwrap();
    gone("MARK=in-nasty-wait", Duration::from_secs(10)).await;
}
