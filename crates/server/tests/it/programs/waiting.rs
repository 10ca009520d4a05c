//! What a program cannot wait for, what it may use up, and what is said into its turn.

use std::time::Duration;

use serde_json::{Value, json};

use super::{House, PATIENCE};
use crate::Side;

const PROTOCOL: &str = r#"{
    "ready": {"line": "^__READY__$"}, "turn_end": {"line": "^__DONE__$"}, "interrupt": {"line": "__INTERRUPT__"}
}"#;

/// Everything that was told of an agent's process, with the words to it, until one of them has this in it.
async fn told(house: &House, agent: &str, word: &str) -> Vec<(String, String)> {
    let mut events = house.ada.events(&format!("{}/events", house.project), Some(0)).await.unwrap();
    let mut all = Vec::new();
    let reading = async {
        while let Some((_, frame)) = events.numbered().await.unwrap() {
            let payload = frame.payload();
            if frame.event != "process_changed" || payload["agent_id"] != agent {
                continue;
            }
            let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
            all.push((text("state"), text("note")));
            if text("note").contains(word) {
                return;
            }
        }
    };
    let heard = tokio::time::timeout(PATIENCE, reading).await;
    assert!(heard.is_ok(), "nobody says {word:?}: {all:?}\n{}", house.world.artel.log_tail());
    all
}

/// CA-4.4: a question that nobody answers in the time that the program can wait is parked: its turn ends, the question
/// stays, and the answer is its next message, in the same task.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_parked() {
    let house = House::new(Side::Embedded, &[]).await;
    let protocol: Value = serde_json::from_str(PROTOCOL).unwrap();
    let options = json!({"start": {"patience": 1}, "protocol": protocol});
    let agent = house.line("asks", &json!({"options": options})).await;
    let ask = r#"!call {"tool":"ask","args":{"question":"Which one?"}}"#;
    let task = house.tell(&agent, ask).await;
    let question = house.asked().await;
    assert_eq!(question["payload"]["question"], "Which one?");
    // Its turn is over when it has said so, and its own process has nothing to do.
    let began = std::time::Instant::now();
    while !json!(house.log(&agent).await).to_string().contains("__DONE__") {
        assert!(began.elapsed() < PATIENCE, "{:?}", house.log(&agent).await);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let log = json!(house.log(&agent).await).to_string();
    assert!(log.contains("End your turn now"), "{log}");
    let path = format!("{}/tasks/{task}", house.project);
    let open = house.ada.get(&path).await.unwrap().success().unwrap();
    assert!(open["finished_at"].is_null(), "{open}");
    assert_eq!(house.asked().await["id"], question["id"], "it is still asked");
    let path = format!("/agents/{agent}/questions/{}/answer", question["id"].as_str().unwrap());
    let answered = house.ada.post(&path, &json!({"answer": "the blue\none"})).await.unwrap();
    assert_eq!(answered.status, 200, "{}", answered.body);
    let ended = house.ended(&task).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let log: Vec<_> = house
        .log(&agent)
        .await
        .iter()
        .map(|line| line["line"].as_str().unwrap().to_owned())
        .collect();
    let last = "2: The answer to your question: > Which one? the blue one";
    assert!(log.iter().any(|line| line == last), "{log:?}");
    let wrong = json!({"start": {"patience": 0}});
    let body =
        json!({"name": "x", "runtime": {"kind": "line", "command": ["x"], "options": wrong}});
    let refused = house.ada.post(&format!("{}/agents", house.project), &body).await.unwrap();
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.to_string().contains("patience"), "{}", refused.body);
}

/// CA-2.2, CA-8.1: one that had nothing to do for long enough is stopped, one that uses too much is started anew, and
/// one that takes all that it may is ended; each says so to its owner, and a message finds it well.
#[tokio::test(flavor = "multi_thread")]
async fn idleness_and_memory_have_their_limits() {
    let house = House::new(Side::Embedded, &[]).await;
    let idle = house.line("idle", &json!({"idle": 10})).await;
    let big = house.line("big", &json!({"memory": 512})).await;
    let hog = house.line("hog", &json!({"memory": 256})).await;
    assert_eq!(house.ask(&idle, "hello").await.0, "1: hello");
    // Above nine tenths of it, and below the whole.
    assert_eq!(house.ask(&big, "!grow 500000000").await.1, None);
    let hogs = house.tell(&hog, "!hog 600000000").await;
    let ended = house.ended(&hogs).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"].as_str().unwrap().contains("memory"), "{ended}");
    let all = told(&house, &big, "bytes of memory").await;
    assert!(all.iter().any(|(_, note)| note.contains("is started anew")), "{all:?}");
    let all = told(&house, &hog, "more memory than it may").await;
    assert!(all.iter().any(|(state, _)| state == "CRASHED"), "{all:?}");
    let all = told(&house, &idle, "nothing to do for").await;
    assert!(all.iter().any(|(_, note)| note.contains("a message starts it again")), "{all:?}");
    house.process_is(&idle, |it| it["state"] == "STOPPED").await;
    for agent in [&idle, &big, &hog] {
        assert_eq!(house.ask(agent, "hello").await, ("1: hello".to_owned(), None));
    }
}

/// CA-2.2: one that has run for as long as it may is stopped between two turns; its owner is warned before, and told
/// when it is done.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_program_is_stopped() {
    let house = House::new(Side::Embedded, &[]).await;
    let agent = house.line("old", &json!({"ttl": 60})).await;
    assert_eq!(house.ask(&agent, "hello").await.0, "1: hello");
    let all = told(&house, &agent, "will be stopped in").await;
    assert_eq!(all.last().unwrap().0, "RUNNING", "{all:?}");
    told(&house, &agent, "was stopped, since it had run for").await;
    house.process_is(&agent, |it| it["state"] == "STOPPED").await;
    assert_eq!(house.ask(&agent, "hello").await, ("1: hello".to_owned(), None));
}
