//! Event streams: numbered, resumable, and never silent about a gap.

use std::time::Duration;

use artel_testkit::client::{Client, Frame, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{add_agent, empty_project, faults, on_both_sides};

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("it comes within ten seconds")
}

async fn read(client: &Client, path: &str, after: u64, count: usize) -> Vec<Frame> {
    let mut events = client.events(path, Some(after)).await.unwrap();
    let mut frames = Vec::new();
    while frames.len() < count {
        frames.push(soon(events.numbered()).await.unwrap().expect("the stream goes on").1);
    }
    frames
}

on_both_sides! {
    /// PF-4.1: changes are numbered events, stored with the change; PF-4.6: with one name and payload each.
    async fn every_change_is_an_event(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let id = add_agent(&ada, &project, "a").await;
        let agent = format!("{project}/agents/{id}");
        ada.patch(&agent, &json!({"name": "b"})).await.unwrap();
        ada.delete(&agent).await.unwrap();
        ada.put(&project, &json!({"name": "Renamed"})).await.unwrap();
        let frames = read(&ada, &format!("{project}/events/"), 0, 4).await;
        let told: Vec<_> = frames.iter().map(|frame| (frame.id.unwrap(), frame.event.as_str(), frame.payload()["change"].as_str().unwrap_or("-"))).collect();
        assert_eq!(told, [(1, "agent_status_changed", "created"), (2, "agent_status_changed", "updated"), (3, "agent_status_changed", "deleted"), (4, "project_updated", "-")]);
        assert_eq!(frames[1].payload(), &json!({"agent_id": id, "name": "b", "status": "ready", "change": "updated"}));
        assert_eq!(frames[3].payload(), &json!({"name": "Renamed", "workspace_path": null}));
        assert_eq!(frames[0].data["id"], 1);
        assert_eq!(frames[0].data["event_type"], "agent_status_changed");
        assert!(frames[0].data["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    /// A change that is refused leaves no event, and takes no number.
    async fn what_did_not_happen_is_not_told(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        add_agent(&ada, &project, "a").await;
        let body = json!({"name": "a", "model": "m"});
        let refused: Vec<_> = (0..8).map(|_| { let (ada, body, path) = (ada.clone(), body.clone(), format!("{project}/agents")); tokio::spawn(async move { ada.post(&path, &body).await.unwrap().status }) }).collect();
        for attempt in refused {
            assert_eq!(attempt.await.unwrap(), 409);
        }
        add_agent(&ada, &project, "b").await;
        let frames = read(&ada, &format!("{project}/events"), 0, 2).await;
        assert_eq!((frames[1].id, &frames[1].payload()["name"]), (Some(2), &json!("b")));
    }

    /// PF-4.2: as SSE with `id`, `event`, `data`, or as JSON lines; PF-4.5: headers against buffering.
    async fn two_forms_of_one_stream(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        add_agent(&ada, &project, "a").await;
        let path = format!("{project}/events/?after=0");
        let mut sse = ada.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(sse.headers()["content-type"], "text/event-stream");
        assert_eq!(sse.headers()["x-accel-buffering"], "no");
        assert!(sse.headers()["cache-control"].to_str().unwrap().contains("no-cache"));
        let chunk = soon(sse.chunk()).await.unwrap().unwrap();
        assert!(chunk.starts_with(b"id: 1\nevent: agent_status_changed\ndata: {\"id\":1,"), "{chunk:?}");
        assert!(chunk.ends_with(b"\n\n"));
        let mut lines = ada.request(Method::GET, &path).header("accept", "application/x-ndjson").send().await.unwrap();
        assert_eq!(lines.headers()["content-type"], "application/x-ndjson");
        let line = soon(lines.chunk()).await.unwrap().unwrap();
        let object: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&object["id"], &object["event_type"], &object["session_id"]), (&json!(1), &json!("agent_status_changed"), &Value::Null));
        assert_eq!(line.split(|byte| *byte == b'\n').count(), 2, "one line, ended");
    }

    /// PF-4.2: `session_id` narrows the stream; events of no session are not in it.
    async fn a_session_narrows_the_stream(side) {
        let world = side.start_with(&[("ARTEL_HEARTBEAT", "200ms")]);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        add_agent(&ada, &project, "a").await;
        let mut narrowed = ada.events(&format!("{project}/events?after=0&session_id=01890000-0000-7000-8000-000000000000"), None).await.unwrap();
        let first = soon(narrowed.next()).await.unwrap().unwrap();
        assert_eq!(first.event, "heartbeat");
        let wrong = ada.get(&format!("{project}/events?session_id=x")).await.unwrap();
        assert!(faults(&wrong).contains_key("session_id"));
    }

    /// PF-4.3: with `Last-Event-ID` or `after` a reader gets everything since, once, over restarts of the server.
    async fn a_reader_goes_on_where_it_was(side) {
        let mut world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        for number in 0..3 {
            add_agent(&ada, &project, &format!("a{number}")).await;
        }
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        let path = format!("{project}/events");
        let mut events = ada.events(&path, Some(1)).await.unwrap();
        assert_eq!(soon(events.next()).await.unwrap().unwrap().id, Some(2));
        assert_eq!(soon(events.next()).await.unwrap().unwrap().id, Some(3));
        add_agent(&ada, &project, "live").await;
        let live = soon(events.next()).await.unwrap().unwrap();
        assert_eq!((live.id, &live.payload()["name"]), (Some(4), &json!("live")));
        let mut after = ada.events(&format!("{path}?after=3"), None).await.unwrap();
        assert_eq!(soon(after.next()).await.unwrap().unwrap().id, Some(4));
        let mut both = ada.events(&format!("{path}?after=0"), Some(3)).await.unwrap();
        assert_eq!(soon(both.next()).await.unwrap().unwrap().id, Some(4), "the header is what a browser resumes with");
        let mut from_now = ada.events(&path, None).await.unwrap();
        add_agent(&ada, &project, "later").await;
        assert_eq!(soon(from_now.next()).await.unwrap().unwrap().id, Some(5));
        for bad in ["-1", "x", "1.5", "99999999999999999999999"] {
            let refused = answer(ada.request(Method::GET, &path).header("last-event-id", bad)).await.unwrap();
            assert!(faults(&refused).contains_key("Last-Event-ID"), "{bad}");
        }
    }

    /// PF-4.3: a number that is too old, or was never given out, gives `resync`, never a silent gap.
    async fn a_gap_is_told(side) {
        let world = side.start_with(&[("ARTEL_EVENT_RETENTION", "1s"), ("ARTEL_RECONCILE_EVERY", "100ms")]);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        for number in 0..4 {
            add_agent(&ada, &project, &format!("a{number}")).await;
        }
        let path = format!("{project}/events");
        let mut future = ada.events(&path, Some(77)).await.unwrap();
        let resync = soon(future.next()).await.unwrap().unwrap();
        assert_eq!((resync.id, resync.event.as_str()), (None, "resync"));
        assert_eq!(resync.payload(), &json!({"requested": 77, "resumed_after": 4, "reason": "unknown"}));

        // Wait until the log has forgotten them, then write one more.
        let forgotten = async {
            loop {
                let mut stream = ada.events(&path, Some(0)).await.unwrap();
                let first = stream.next().await.unwrap().unwrap();
                if first.event == "resync" && first.payload()["resumed_after"] == 4 {
                    return first;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let resync = soon(forgotten).await;
        assert_eq!(resync.payload(), &json!({"requested": 0, "resumed_after": 4, "reason": "too_old"}));
        add_agent(&ada, &project, "after").await;
        let mut stream = ada.events(&path, Some(2)).await.unwrap();
        assert_eq!(soon(stream.next()).await.unwrap().unwrap().event, "resync");
        assert_eq!(soon(stream.next()).await.unwrap().unwrap().id, Some(5), "and goes on");
        assert_eq!(soon(future.next()).await.unwrap().unwrap().id, Some(5));
    }

    /// PF-4.5: a heartbeat on a quiet stream, without a number.
    async fn a_quiet_stream_shows_that_it_lives(side) {
        let world = side.start_with(&[("ARTEL_HEARTBEAT", "100ms")]);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
        for _ in 0..2 {
            let beat = soon(events.next()).await.unwrap().unwrap();
            assert_eq!((beat.id, beat.event.as_str()), (None, "heartbeat"));
            assert!(beat.payload()["timestamp"].is_string());
        }
    }

    /// WS-9.3: no event of one project reaches a listener of another; a deleted project says so and ends.
    async fn streams_end_with_their_project(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (one, other) = (empty_project(&ada).await, empty_project(&ada).await);
        let mut events = ada.events(&format!("{one}/events"), None).await.unwrap();
        add_agent(&ada, &other, "elsewhere").await;
        add_agent(&ada, &one, "here").await;
        assert_eq!(soon(events.next()).await.unwrap().unwrap().payload()["name"], "here");
        ada.delete(&one).await.unwrap();
        let last = soon(events.next()).await.unwrap().unwrap();
        assert_eq!((last.event.as_str(), &last.payload()["error_code"]), ("error", &json!("project_deleted")));
        assert!(soon(events.next()).await.unwrap().is_none());
    }

    /// Everything has a bound: a user's open streams.
    async fn too_many_streams_are_refused(side) {
        let world = side.start_with(&[("ARTEL_STREAMS_PER_USER", "2")]);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let path = format!("{project}/events");
        let open = (ada.events(&path, None).await.unwrap(), ada.events(&path, None).await.unwrap());
        let refused = ada.get(&path).await.unwrap();
        assert_eq!((refused.status.as_u16(), &refused.body["error_code"]), (429, &json!("too_many_streams")));
        assert!(refused.headers.contains_key("retry-after"));
        drop(open);
        let again = async {
            while ada.events(&path, None).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(again).await;
    }
}

/// PF-4.3, PF-7.2: two nodes on one database; what one commits, a listener of the other gets, in order.
#[tokio::test]
async fn a_listener_on_another_node() {
    use artel_testkit::{postgres, redis, server::Artel};
    let (database, bus) = (postgres::database().unwrap(), redis::shared_or_own().unwrap());
    let node = || Artel::new(crate::ARTEL).database(database.url()).redis(&bus.url());
    let (first, second) = (node().start().unwrap(), node().start().unwrap());
    let (here, there) = (first.client("ada").unwrap(), second.client("ada").unwrap());
    let project = empty_project(&here).await;
    let mut events = there.events(&format!("{project}/events"), Some(0)).await.unwrap();
    for number in 1..=20_u64 {
        let writer = if number % 2 == 0 { &here } else { &there };
        add_agent(writer, &project, &format!("a{number}")).await;
        let (id, frame) = soon(events.numbered()).await.unwrap().unwrap();
        assert_eq!((id, &frame.payload()["name"]), (number, &json!(format!("a{number}"))));
    }
    here.delete(&project).await.unwrap();
    assert_eq!(soon(events.next()).await.unwrap().unwrap().event, "error");
}

/// PF-7.2: Redis gone and back is survived; meanwhile events of the other node arrive by looking them up.
#[tokio::test]
async fn two_nodes_without_their_bell() {
    use artel_testkit::{postgres, redis, server::Artel};
    let database = postgres::database().unwrap();
    let mut bus = redis::Server::start().unwrap();
    let node = || Artel::new(crate::ARTEL).database(database.url()).redis(&bus.url());
    let (first, second) = (node().start().unwrap(), node().start().unwrap());
    let (here, there) = (first.client("ada").unwrap(), second.client("ada").unwrap());
    let project = empty_project(&here).await;
    let mut events = there.events(&format!("{project}/events"), Some(0)).await.unwrap();
    bus.kill().unwrap();
    add_agent(&here, &project, "in the dark").await;
    assert_eq!(soon(events.numbered()).await.unwrap().unwrap().0, 1);
    let ready = here.get("/ready").await.unwrap();
    assert_eq!((ready.status.as_u16(), &ready.body["status"]), (200, &json!("degraded")));
    bus.restart().unwrap();
    let back = async {
        while here.get("/ready").await.unwrap().body["status"] != "ready" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    soon(back).await;
    add_agent(&here, &project, "in the light").await;
    assert_eq!(soon(events.numbered()).await.unwrap().unwrap().0, 2);
}
