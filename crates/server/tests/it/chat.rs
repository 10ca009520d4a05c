//! A conversation that works: messages to agents, streamed or whole, in order, once, and never lost.

use std::time::{Duration, Instant};

use artel_testkit::client::{Answer, Client};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{Side, World, empty_project, faults, on_both_sides};

/// Scripts for the agents of these tests.
const QUICK: &str = "[[rules]]\ntext = 'You said: {message}'\n";
const SLOW: &str =
    "[[rules]]\ntext = 'one two three four five six seven eight nine ten'\npause_ms = 60\n";
const ENDLESS: &str =
    "[[rules]]\ntext = 'a b c d e f g h i j k l m n o p q r s t u v w x y z'\npause_ms = 5000\n";

const BROKEN: &str = "[[rules]]\nwhen = 'break'\nfault = 'panic'\n[[rules]]\ntext = 'well'\n";

/// A server that knows the scripts.
pub(crate) fn start(side: Side, environment: &[(&str, &str)]) -> World {
    let mut world = side.start_with(environment);
    let folder = world.artel.data_dir().join("scripts");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in [("quick", QUICK), ("slow", SLOW), ("endless", ENDLESS), ("broken", BROKEN)]
    {
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    world.artel.restart().unwrap();
    world
}

/// A project with one agent for each script and a session in it: the project's path, and that of its messages.
pub(crate) async fn talk(client: &Client) -> (String, String) {
    let project = empty_project(client).await;
    for name in ["quick", "slow", "endless", "broken"] {
        let body =
            json!({"name": name, "model": format!("scripted/{name}"), "concurrency_limit": 1});
        assert_eq!(client.post(&format!("{project}/agents"), &body).await.unwrap().status, 201);
    }
    let path = session(client, &project).await;
    (project, path)
}

pub(crate) async fn session(client: &Client, project: &str) -> String {
    let session = client.post(&format!("{project}/chat/sessions/"), &json!({})).await.unwrap();
    assert_eq!(session.status, 201, "{}", session.body);
    format!("{project}/chat/{}/message/", session.id().unwrap())
}

pub(crate) async fn say(client: &Client, path: &str, agent: &str, text: &str) -> Answer {
    client.post(path, &json!({"content": text, "target_agent": agent})).await.unwrap()
}

pub(crate) fn messages_of(path: &str) -> String {
    let (chat, session) = path.trim_end_matches("/message/").rsplit_once('/').unwrap();
    format!("{chat}/sessions/{session}/messages/")
}

pub(crate) async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < Duration::from_secs(30), "it never held");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

on_both_sides! {
    /// WS-7.1, WS-24.1, WS-22.2: a message to an agent, by name or id, is answered by it; PF-3.1, PF-3.2: and kept.
    async fn an_agent_answers(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let answer = say(&ada, &path, "quick", "Привет 👋").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body["content"], "You said: Привет 👋");
        assert_eq!((&answer.body["role"], &answer.body["mode"], &answer.body["success"]), (&json!("assistant"), &json!("direct"), &json!(true)));
        assert_eq!((&answer.body["usage"]["model"], &answer.body["usage"]["estimated"]), (&json!("scripted/quick"), &json!(true)));
        let id = answer.body["agent_id"].as_str().unwrap().to_owned();
        assert_eq!(say(&ada, &path, &id, "again").await.body["content"], "You said: again");
        let kept = ada.get(&messages_of(&path)).await.unwrap().body;
        assert_eq!(kept["total"], 4);
        let said: Vec<_> = kept["messages"].as_array().unwrap().iter().map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap())).collect();
        assert_eq!(said, [("user", "Привет 👋"), ("assistant", "You said: Привет 👋"), ("user", "again"), ("assistant", "You said: again")]);
        let users = ada.get(&format!("{}?role=user&limit=1&offset=1", messages_of(&path))).await.unwrap().body;
        assert_eq!((&users["messages"][0]["content"], &users["total"]), (&json!("again"), &json!(2)));
        let sessions = ada.get(&format!("{project}/chat/sessions")).await.unwrap().body;
        assert_eq!((&sessions["sessions"][0]["title"], &sessions["sessions"][0]["message_count"]), (&json!("Привет 👋"), &json!(4)));
        let metrics = ada.get(&format!("{project}/agents/{id}/metrics")).await.unwrap().body;
        assert_eq!((&metrics["tasks_processed"], &metrics["error_rate"]), (&json!(2), &json!(0.0)));
        assert_eq!(ada.get(&format!("{project}/agents/{id}/status")).await.unwrap().body["status"], "idle");
        let one = messages_of(&path).replace("/messages/", "");
        assert_eq!(ada.delete(&one).await.unwrap().status, 204);
        assert_eq!(ada.get(&messages_of(&path)).await.unwrap().status, 404);
    }

    /// PF-4.6: `task_started` before the work, the assistant's `message_created` before its `task_completed`.
    async fn events_tell_of_it_in_order(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        say(&ada, &path, "quick", "x").await;
        let mut events = ada.events(&format!("{project}/events"), Some(4)).await.unwrap();
        let mut told = Vec::new();
        while told.last().is_none_or(|last| last != "task_completed") {
            told.push(events.numbered().await.unwrap().unwrap().1.event);
        }
        assert_eq!(told, ["message_created", "direct_agent_call", "task_started", "message_created", "task_completed"]);
    }

    /// PF-3.6: an answer is streamed as it is written; a client that goes away does not stop the work.
    async fn an_answer_is_streamed(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (_, path) = talk(&ada).await;
        let body = json!({"content": "count", "target_agent": "slow"});
        let request = ada.request(Method::POST, &path).header("accept", "text/event-stream").json(&body);
        let whole = request.send().await.unwrap().text().await.unwrap();
        let kinds: Vec<_> = whole.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert!(kinds.iter().filter(|kind| **kind == "message_delta").count() >= 5, "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"message"));
        let last: Value = serde_json::from_str(whole.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap()).unwrap();
        assert_eq!(last["content"], "one two three four five six seven eight nine ten");

        let mut gone = ada.request(Method::POST, &path).header("accept", "text/event-stream").json(&body).send().await.unwrap();
        gone.chunk().await.unwrap();
        drop(gone);
        let (ada, messages) = (&ada, &messages_of(&path));
        until(|| async move { ada.get(messages).await.unwrap().body["total"] == 4 }).await;
    }

    /// PF-3.4: messages of one session are handled in order, sessions side by side.
    async fn a_session_is_in_order(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let other = session(&ada, &project).await;
        let (first, second, aside) = tokio::join!(
            say(&ada, &path, "slow", "1"),
            async { tokio::time::sleep(Duration::from_millis(150)).await; say(&ada, &path, "quick", "2").await },
            async { tokio::time::sleep(Duration::from_millis(150)).await; say(&ada, &other, "quick", "3").await },
        );
        let time = |answer: &Answer| answer.body["timestamp"].as_str().unwrap().to_owned();
        assert!(time(&first) < time(&second), "the second waited for the first");
        assert!(time(&aside) < time(&first), "another session did not");
    }

    /// PF-3.5: a message sent twice under one key is handled once, and answered the same.
    async fn a_message_is_handled_once(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (_, path) = talk(&ada).await;
        let body = json!({"content": "once", "target_agent": "slow"});
        let tries: Vec<_> = (0..5).map(|_| { let (ada, path, body) = (ada.clone(), path.clone(), body.clone()); tokio::spawn(async move { ada.post_once(&path, "m-1", &body).await.unwrap() }) }).collect();
        let mut answers = Vec::new();
        for attempt in tries {
            answers.push(attempt.await.unwrap());
        }
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
        assert_eq!(ada.get(&messages_of(&path)).await.unwrap().body["total"], 2);
    }

    /// WS-22.1, WS-22.3: an agent that takes too long is a failure with its type; PF-1.5: a task can be cancelled.
    async fn what_takes_too_long_ends(side) {
        let world = start(side, &[("ARTEL_DIRECT_TIMEOUT", "1s")]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let late = say(&ada, &path, "endless", "hurry").await;
        assert_eq!((late.status.as_u16(), &late.body["success"], &late.body["error_type"]), (200, &json!(false), &json!("timeout")));
        assert_eq!(say(&ada, &path, "quick", "go on").await.body["success"], true);
        let task = format!("{project}/tasks/{}", late.body["task_id"].as_str().unwrap());
        assert_eq!(ada.get(&task).await.unwrap().body["status"], "failed");
        assert_eq!(ada.post(&format!("{task}/cancel"), &json!({})).await.unwrap().status, 409);
    }

    /// PF-1.5: a waiting task can be cancelled and never starts, a running one stops; PF-1.8: one final state each.
    async fn tasks_are_cancelled(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let other = session(&ada, &project).await;
        let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
        let send = |path: String| { let ada = ada.clone(); tokio::spawn(async move { say(&ada, &path, "endless", "x").await }) };
        let running = send(path);
        let mut tasks = Vec::new();
        while tasks.is_empty() {
            let (_, frame) = events.numbered().await.unwrap().unwrap();
            if frame.event == "task_started" {
                tasks.push(frame.payload()["task_id"].as_str().unwrap().to_owned());
            }
        }
        let waiting = send(other);
        while tasks.len() < 2 {
            let (_, frame) = events.numbered().await.unwrap().unwrap();
            if frame.event == "direct_agent_call" {
                tasks.push(frame.payload()["task_id"].as_str().unwrap().to_owned());
            }
        }
        for task in tasks.iter().rev() {
            let cancelled = ada.post(&format!("{project}/tasks/{task}/cancel"), &json!({})).await.unwrap();
            assert_eq!(cancelled.body["status"], "cancelled", "{}", cancelled.body);
        }
        for answer in [running.await.unwrap(), waiting.await.unwrap()] {
            assert_eq!((&answer.body["success"], &answer.body["error_type"]), (&json!(false), &json!("cancelled")));
        }
        let second = ada.get(&format!("{project}/tasks/{}", tasks[1])).await.unwrap().body;
        assert_eq!(second["started_at"], Value::Null, "it never started");
    }

    /// PF-1.7: a panic in an agent's work fails that task alone; the agent goes on with the next.
    async fn a_panic_is_one_tasks_alone(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let other = session(&ada, &project).await;
        let (broken, meanwhile) = tokio::join!(say(&ada, &path, "broken", "break"), say(&ada, &other, "slow", "count"));
        assert_eq!((&broken.body["success"], &broken.body["error_type"]), (&json!(false), &json!("execution")), "{}", broken.body);
        assert_eq!(meanwhile.body["success"], true, "{}", meanwhile.body);
        assert_eq!(say(&ada, &path, "broken", "and now?").await.body["content"], "well");
    }

    /// WS-8.3: what ran when the server was killed is recorded as interrupted; what waited is answered after all.
    async fn a_kill_loses_nothing(side) {
        let mut world = start(side, &[("ARTEL_RECONCILE_EVERY", "200ms")]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let other = session(&ada, &project).await;
        let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
        let running = { let (ada, path) = (ada.clone(), path.clone()); tokio::spawn(async move { ada.post(&path, &json!({"content": "r", "target_agent": "slow"})).await.is_err() }) };
        while events.numbered().await.unwrap().unwrap().1.event != "task_started" {}
        let waiting = { let (ada, other) = (ada.clone(), other.clone()); tokio::spawn(async move { ada.post(&other, &json!({"content": "w", "target_agent": "slow"})).await.is_err() }) };
        while events.numbered().await.unwrap().unwrap().1.event != "direct_agent_call" {}
        world.artel.kill().unwrap();
        assert!(running.await.unwrap() && waiting.await.unwrap());
        world.artel.restart().unwrap();
        let ada = &world.user("ada");
        let (first, second) = (&messages_of(&path), &messages_of(&other));
        until(|| async move { ada.get(first).await.unwrap().body["total"] == 2 && ada.get(second).await.unwrap().body["total"] == 2 }).await;
        let interrupted = &ada.get(first).await.unwrap().body["messages"][1]["outcome"];
        assert_eq!((&interrupted["success"], &interrupted["error_type"]), (&json!(false), &json!("interrupted")));
        assert_eq!(ada.get(second).await.unwrap().body["messages"][1]["outcome"]["success"], true);
    }

    /// A message needs an agent that is there; what is wrong is said by field.
    async fn mistakes_are_named(side) {
        let world = start(side, &[]);
        let (ada, eve) = (world.user("ada"), world.user("eve"));
        let (project, path) = talk(&ada).await;
        assert_eq!(say(&ada, &path, "nobody", "x").await.status, 404);
        assert_eq!(ada.post(&path, &json!({"content": "x"})).await.unwrap().body["error_code"], "no_suitable_agent");
        assert!(faults(&ada.post(&path, &json!({"content": "", "target_agent": "quick"})).await.unwrap()).contains_key("content"));
        assert_eq!(say(&eve, &path, "quick", "x").await.status, 404);
        let unknown = json!({"name": "dreamer", "model": "nowhere/model"});
        ada.post(&format!("{project}/agents"), &unknown).await.unwrap();
        let refused = say(&ada, &path, "dreamer", "x").await.body;
        assert_eq!((&refused["success"], &refused["error_type"]), (&json!(false), &json!("configuration")));
        assert!(refused["error"].as_str().unwrap().contains("nowhere"));
        // An agent that is deleted while it works stops, and takes no more.
        let id = ada.get(&format!("{project}/agents?limit=100")).await.unwrap().body["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "endless").unwrap()["id"].as_str().unwrap().to_owned();
        let working = { let (ada, path) = (ada.clone(), path.clone()); tokio::spawn(async move { say(&ada, &path, "endless", "x").await }) };
        let (ada, status) = (&ada, &format!("{project}/agents/{id}/status"));
        until(|| async move { ada.get(status).await.unwrap().body["status"] == "busy" }).await;
        assert_eq!(ada.delete(&format!("{project}/agents/{id}")).await.unwrap().status, 204);
        assert_eq!(working.await.unwrap().status, 404, "its task went with it");
        assert_eq!(say(ada, &path, "endless", "x").await.status, 404);
        assert_eq!(say(ada, &path, "quick", "x").await.body["success"], true);
    }
}

/// PF-1.1, PF-1.2: an agent's queue holds a hundred; more is 503 at once, and nothing is lost.
#[tokio::test]
async fn a_full_queue_says_so() {
    let world = start(Side::Embedded, &[("ARTEL_DIRECT_TIMEOUT", "10s")]);
    let ada = world.user("ada");
    let (project, _) = talk(&ada).await;
    let mut sent = Vec::new();
    for _ in 0..115 {
        let (ada, path) = (ada.clone(), session(&ada, &project).await);
        sent.push(tokio::spawn(async move { say(&ada, &path, "endless", "x").await }));
    }
    let mut full = 0;
    for answer in sent {
        let answer = answer.await.unwrap();
        match answer.status.as_u16() {
            503 => {
                assert_eq!(answer.body["detail"], "Agent queue is full");
                assert!(answer.headers.contains_key("retry-after"));
                full += 1;
            }
            200 => assert_eq!(answer.body["error_type"], "timeout"),
            other => panic!("{other}: {}", answer.body),
        }
    }
    assert!((13..=14).contains(&full), "{full}: one runs, a hundred wait");
}

/// WS-24.1 by the command line: `artel chat` streams the answer and tells the cost.
#[tokio::test]
async fn chat_in_the_terminal() {
    let world = start(Side::Embedded, &[]);
    let ada = world.user("ada");
    talk(&ada).await;
    let chat = |arguments: &[&str], input: &str| {
        let mut command = std::process::Command::new(crate::ARTEL);
        command
            .args(arguments)
            .env_clear()
            .env("ARTEL_SERVER", world.artel.url())
            .env("ARTEL_TOKEN", ada.token());
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let once = chat(&["chat", "--agent", "quick", "hello"], "");
    assert_eq!(String::from_utf8_lossy(&once.stdout), "You said: hello\n");
    assert!(String::from_utf8_lossy(&once.stderr).contains("scripted/quick"));
    let lines = chat(&["chat", "--agent", "quick"], "one\n\ntwo\n");
    assert_eq!(String::from_utf8_lossy(&lines.stdout), "You said: one\nYou said: two\n");
    let json = chat(&["chat", "--agent", "quick", "--json", "hello"], "");
    assert_eq!(
        serde_json::from_slice::<Value>(&json.stdout).unwrap()["content"],
        "You said: hello"
    );
    assert_eq!(chat(&["chat", "--agent", "nobody", "x"], "").status.code(), Some(3));
    assert_eq!(chat(&["chat", "--project", "nothing", "x"], "").status.code(), Some(3));
}
