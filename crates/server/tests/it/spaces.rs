//! Worker spaces: opened on demand, well kept, watched, cleaned up and reset, on one node or several.

use std::time::Duration;

use artel_testkit::client::Client;
use artel_testkit::server::Artel;
use artel_testkit::{postgres, redis};
use serde_json::{Value, json};

use crate::chat::{say, session, start, talk, until};
use crate::{World, add_agent, empty_project, faults, on_both_sides};

async fn space(client: &Client, project: &str) -> Value {
    let space = client.get(&format!("{project}/space")).await.unwrap();
    assert_eq!(space.status, 200, "{}", space.body);
    space.body
}

/// The path of the agent of that name.
async fn agent(client: &Client, project: &str, name: &str) -> String {
    let agents = client.list(&format!("{project}/agents"), "agents").await.unwrap();
    let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
    format!("{project}/agents/{}", agent["id"].as_str().unwrap())
}

async fn post(client: &Client, path: &str) -> (u16, Value) {
    let answer = client.post(path, &json!({})).await.unwrap();
    (answer.status.as_u16(), answer.body)
}

/// Sends a message without waiting for its answer.
fn send(client: &Client, path: &str, agent: &str, text: &str) -> tokio::task::JoinHandle<Value> {
    let (client, path) = (client.apart().unwrap(), path.to_owned());
    let (agent, text) = (agent.to_owned(), text.to_owned());
    tokio::spawn(async move { say(&client, &path, &agent, &text).await.body })
}

/// Lets the agent's row name another model than its cache knows.
fn change_model(world: &World, agent: &str, from: &str, to: &str) {
    let id = agent.rsplit('/').next().unwrap();
    world.tamper(&format!(
        "update agents set config = replace(config, '{from}', '{to}') where id = '{id}'"
    ));
}

async fn figure(client: &Client, name: &str) -> u64 {
    let text = client.get("/metrics").await.unwrap().body;
    let line =
        text.as_str().unwrap().lines().find(|line| line.starts_with(name)).map(str::to_owned);
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

on_both_sides! {
    /// WS-2.2, WS-3.1, WS-3.2, WS-10.1, WS-25.1: with its project a space is ready, with a prefix of its own and an
    /// empty cache; later requests find the same one. WS-2.3, WS-15.2: an agent that is added joins at once.
    async fn a_project_has_a_space(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let made = ada.post("/my/projects/", &json!({"name": "One"})).await.unwrap();
        let project = format!("/my/projects/{}", made.id().unwrap());
        let first = space(&ada, &project).await;
        assert_eq!((&first["active_agents"], &first["cache_size"], &first["queued_tasks"]), (&json!(4), &json!(0), &json!(0)));
        assert_eq!((&first["total_tasks_processed"], &first["is_healthy"]), (&json!(0), &json!(true)), "{first}");
        let prefix = first["user_prefix"].as_str().unwrap();
        assert!(prefix.contains(made.id().unwrap()) && prefix.starts_with("user"), "{prefix}");
        let other = empty_project(&ada).await;
        assert_ne!(space(&ada, &other).await["user_prefix"], first["user_prefix"]);
        let added = json!({"name": "late", "model": "scripted/quick"});
        assert_eq!(ada.post(&format!("{project}/agents"), &added).await.unwrap().status, 201);
        let path = session(&ada, &project).await;
        assert_eq!(say(&ada, &path, "late", "hi").await.body["content"], "You said: hi");
        let now = space(&ada, &project).await;
        assert_eq!((&now["active_agents"], &now["cache_size"], &now["total_tasks_processed"]), (&json!(5), &json!(1), &json!(1)));
        assert_eq!(world.artel.log().matches("space opened").count(), 2, "one for each project, once");
        assert_eq!(world.user("eve").get(&format!("{project}/space")).await.unwrap().status, 404);
    }

    /// WS-3.3: first requests that come at once end up in one space, which is opened once.
    async fn first_requests_at_once(side) {
        let mut world = start(side, &[]);
        let (project, path) = talk(&world.user("ada")).await;
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        let sent: Vec<_> = (0..8).map(|number| send(&ada, &path, "quick", &number.to_string())).collect();
        let mut others = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let (client, path) = (ada.apart().unwrap(), format!("{project}/space"));
            others.spawn(async move { client.get(&path).await.unwrap().status.as_u16() });
        }
        while let Some(status) = others.join_next().await {
            assert_eq!(status.unwrap(), 200);
        }
        for message in sent {
            assert_eq!(message.await.unwrap()["success"], true);
        }
        let id = project.rsplit('/').next().unwrap();
        let opened = world.artel.log();
        let opened = opened.lines().filter(|line| line.contains("space opened") && line.contains(id));
        assert_eq!(opened.count(), 2, "once before the restart and once after it");
    }

    /// WS-4.1, WS-4.2: what is at hand of an agent is used without asking the database; WS-4.3, WS-11.1, WS-11.2,
    /// WS-12.1, WS-12.2: until it is changed or invalidated, or the cache is cleared; WS-4.4: or it is deleted.
    async fn agents_are_at_hand(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let quick = agent(&ada, &project, "quick").await;
        let key = format!("{}:agent:{}", space(&ada, &project).await["user_prefix"].as_str().unwrap(), quick.rsplit('/').next().unwrap());
        ada.post(&format!("{project}/space/cache/clear"), &json!({})).await.unwrap();
        assert!(!world.shares(&key).unwrap_or(false));
        assert_eq!(say(&ada, &path, "quick", "a").await.body["content"], "You said: a");
        assert!(world.shares(&key).unwrap_or(true), "and in Redis");
        let loads = figure(&ada, "artel_agent_cache_total{from=\"database\"}").await;
        change_model(&world, &quick, "scripted/quick", "scripted/broken");
        assert_eq!(say(&ada, &path, "quick", "b").await.body["content"], "You said: b", "it is at hand");
        assert_eq!(figure(&ada, "artel_agent_cache_total{from=\"database\"}").await, loads);
        assert_eq!(post(&ada, &format!("{quick}/invalidate")).await.0, 204);
        assert!(world.artel.log().contains("agent invalidated"));
        assert_eq!(say(&ada, &path, "quick", "c").await.body["content"], "well", "it is asked for anew");

        change_model(&world, &quick, "scripted/broken", "scripted/quick");
        assert_eq!(say(&ada, &path, "quick", "d").await.body["content"], "well");
        let (status, cleared) = post(&ada, &format!("{project}/space/cache/clear")).await;
        assert_eq!((status, &cleared["cache_cleared"]), (200, &json!(1)), "{cleared}");
        assert!(!world.shares(&key).unwrap_or(false));
        let now = space(&ada, &project).await;
        assert_eq!((&now["cache_size"], &now["active_agents"]), (&json!(0), &json!(4)), "registrations stay");
        assert_eq!(say(&ada, &path, "quick", "e").await.body["content"], "You said: e");

        let changed = ada.patch(&quick, &json!({"model": "scripted/broken"})).await.unwrap();
        assert_eq!(changed.status, 200);
        assert_eq!(say(&ada, &path, "quick", "f").await.body["content"], "well", "a change is seen at once");
        assert_eq!(ada.delete(&quick).await.unwrap().status, 204);
        assert!(!world.shares(&key).unwrap_or(false));
        assert_eq!(space(&ada, &project).await["cache_size"], 0);
        assert_eq!(say(&ada, &path, "quick", "g").await.status, 404);
    }

    /// PF-1.1, WS-5.1, WS-15.1: an agent is registered once, with a limit that may be; WS-16.1, WS-16.2, WS-5.3:
    /// deregistered, what it runs ends, what waits never starts, and it takes nothing; WS-15.2: until it is again.
    async fn agents_are_registered(side) {
        let mut world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let slow = agent(&ada, &project, "slow").await;
        let (status, body) = post(&ada, &format!("{slow}/register")).await;
        assert_eq!((status, &body["detail"]), (409, &json!("Agent already registered")));
        let wrong = ada.patch(&slow, &json!({"concurrency_limit": 11})).await.unwrap();
        assert!(faults(&wrong)["config.concurrency_limit"].starts_with("Invalid concurrency limit"), "{}", wrong.body);

        let runs = send(&ada, &path, "slow", "first");
        until(|| async { ada.get(&format!("{slow}/status")).await.unwrap().body["running"] == 1 }).await;
        let waits = send(&ada, &path, "slow", "second");
        until(|| async { ada.get(&format!("{slow}/status")).await.unwrap().body["waiting"] == 1 }).await;
        let (status, body) = post(&ada, &format!("{slow}/deregister")).await;
        assert_eq!((status, &body["registered"]), (200, &json!(false)), "{body}");
        let at = ada.get(&format!("{slow}/status")).await.unwrap().body;
        assert_eq!((&at["running"], &at["waiting"], &at["registered"]), (&json!(0), &json!(0), &json!(false)), "when it is answered nothing runs");
        assert_eq!(runs.await.unwrap()["success"], true, "what ran has ended by itself");
        assert_eq!(waits.await.unwrap()["error_type"], "cancelled");
        assert!(world.artel.log().contains("registration changed"));
        assert_eq!(post(&ada, &format!("{slow}/deregister")).await.0, 409);
        let refused = say(&ada, &path, "slow", "third").await;
        assert_eq!((refused.status.as_u16(), &refused.body["error_code"]), (409, &json!("not_registered")));
        assert_eq!(space(&ada, &project).await["active_agents"], 3);

        world.artel.restart().unwrap();
        let ada = world.user("ada");
        assert_eq!(say(&ada, &path, "slow", "fourth").await.status, 409, "it stays so over a restart");
        assert_eq!(post(&ada, &format!("{slow}/register")).await.0, 200);
        assert_eq!(say(&ada, &path, "slow", "fifth").await.body["success"], true);
    }

    /// WS-8.1, WS-26.2, WS-26.3, WS-26.4: cleaned up, what runs ends and the space is let go, by request, with the
    /// last session, or after a while; WS-8.2: reset, everything stops at once. WS-26.1: the user's folder is the user's.
    async fn spaces_are_cleaned_up_and_reset(side) {
        let world = start(side, &[("ARTEL_SPACE_IDLE", "2s"), ("ARTEL_RECONCILE_EVERY", "1s")]);
        let ada = world.user("ada");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("main.rs"), "fn main() {}").unwrap();
        let (project, path) = talk(&ada).await;
        let place = json!({"workspace_path": folder.path()});
        assert_eq!(ada.put(&project, &place).await.unwrap().status, 200);

        let runs = send(&ada, &path, "slow", "x");
        let slow = agent(&ada, &project, "slow").await;
        until(|| async { ada.get(&format!("{slow}/status")).await.unwrap().body["running"] == 1 }).await;
        let (status, cleaned) = post(&ada, &format!("{project}/space/cleanup")).await;
        assert_eq!((status, &cleaned["closed"]), (200, &json!(true)), "{cleaned}");
        assert_eq!(runs.await.unwrap()["success"], true, "what ran has ended");
        let now = space(&ada, &project).await;
        assert_eq!((&now["cache_size"], &now["uptime"]), (&json!(0), &json!(0)), "a new one");

        let other = session(&ada, &project).await;
        let endless = send(&ada, &path, "endless", "x");
        let behind = send(&ada, &other, "endless", "y");
        until(|| async { let now = space(&ada, &project).await; now["running_tasks"] == 1 && now["queued_tasks"] == 1 }).await;
        let eve = world.user("eve");
        let id = project.rsplit('/').next().unwrap();
        assert_eq!(post(&eve, &format!("{project}/space/reset")).await.0, 404);
        assert_eq!(post(&eve, &format!("/admin/spaces/{id}/reset")).await.0, 403);
        let (status, reset) = post(&ada, &format!("{project}/space/reset")).await;
        assert_eq!((status, &reset["tasks_cancelled"]), (200, &json!(2)), "{reset}");
        for stopped in [endless, behind] {
            assert_eq!(stopped.await.unwrap()["error_type"], "cancelled");
        }
        assert_eq!(say(&ada, &path, "quick", "z").await.body["content"], "You said: z");

        until(|| async { world.artel.log().contains("idle space cleaned up") }).await;
        assert_eq!(say(&ada, &path, "quick", "again").await.body["content"], "You said: again");
        for path in [&path, &other] {
            let session = path.trim_end_matches("/message/").rsplit('/').next().unwrap();
            assert_eq!(ada.delete(&format!("{project}/chat/sessions/{session}")).await.unwrap().status, 204);
        }
        assert!(world.artel.log().matches("space cleaned up").count() >= 3, "with the last session too");
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, ["main.rs"]);
        assert_eq!(std::fs::read_to_string(folder.path().join("main.rs")).unwrap(), "fn main() {}");
    }

    /// WS-10.2, WS-25.3: health with its reasons; WS-10.3, WS-25.2, WS-14.2: what is wrong is told as an event, a line
    /// in the log and a figure, once, and so is that it is over.
    async fn trouble_is_told(side) {
        let world = start(side, &[("ARTEL_RECONCILE_EVERY", "1s"), ("ARTEL_RATE_LIMIT_PER_MINUTE", "0")]);
        let ada = world.user("ada");
        let empty = empty_project(&ada).await;
        let health = ada.get(&format!("{empty}/space/health")).await.unwrap().body;
        assert_eq!((&health["status"], &health["reasons"][0]["code"]), (&json!("degraded"), &json!("no_agents")), "{health}");
        assert_eq!(space(&ada, &empty).await["is_healthy"], false);

        let (project, path) = talk(&ada).await;
        let health = ada.get(&format!("{project}/space/health")).await.unwrap().body;
        assert_eq!(health, json!({"status": "healthy", "reasons": []}));
        let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
        for _ in 0..5 {
            assert_eq!(say(&ada, &path, "broken", "break").await.body["success"], false);
        }
        let health = ada.get(&format!("{project}/space/health")).await.unwrap().body;
        assert_eq!((&health["status"], &health["reasons"][0]["code"]), (&json!("degraded"), &json!("error_rate")), "{health}");
        let mut alert = async |resolved: bool| loop {
            let frame = events.numbered().await.unwrap().unwrap().1;
            if frame.event == "alert" {
                assert_eq!((&frame.payload()["code"], &frame.payload()["resolved"]), (&json!("error_rate"), &json!(resolved)));
                break;
            }
        };
        alert(false).await;
        until(|| async { world.artel.log().lines().any(|line| line.contains("error_rate") && line.contains("WARN")) }).await;
        assert_eq!(figure(&ada, "artel_alerts_total{code=\"error_rate\"}").await, 1);
        for _ in 0..6 {
            assert_eq!(say(&ada, &path, "quick", "well").await.body["success"], true);
        }
        alert(true).await;
        assert_eq!(figure(&ada, "artel_alerts_total{code=\"error_rate\"}").await, 1, "told once");
        let past = ada.get(&format!("{project}/alerts")).await.unwrap().body;
        let told: Vec<_> = past["alerts"].as_array().unwrap().iter().map(|it| it["resolved"].as_bool().unwrap()).collect();
        assert_eq!((told, &past["alerts"][0]["code"]), (vec![true, false], &json!("error_rate")), "{past}");
    }

    /// WS-10.3: a task that is stuck, a queue that is full and a cache that overflows raise alerts: an event, a line in
    /// the log, and a figure.
    async fn trouble_of_every_kind_is_told(side) {
        let world = start(side, &[("ARTEL_RECONCILE_EVERY", "200ms"), ("ARTEL_CACHED_AGENTS", "2")]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
        let mut alert = async |code: &str| loop {
            let frame = events.numbered().await.unwrap().unwrap().1;
            if frame.event == "alert" && frame.payload()["code"] == code && frame.payload()["resolved"] == false {
                break;
            }
        };
        let mut sent = vec![send(&ada, &path, "endless", "first")];
        until(|| async { space(&ada, &project).await["running_tasks"] == 1 }).await;
        sent.push(send(&ada, &session(&ada, &project).await, "endless", "waits"));
        until(|| async { space(&ada, &project).await["queued_tasks"] == 1 }).await;
        world.tamper("update tasks set started_at = started_at - 3600000000 where status = 'running'");
        alert("stuck_task").await;
        for _ in 0..99 {
            sent.push(send(&ada, &path, "endless", "waits"));
        }
        alert("queue_full").await;
        let health = ada.get(&format!("{project}/space/health")).await.unwrap().body;
        let codes: Vec<_> = health["reasons"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
        assert!(codes.contains(&"stuck_task") && codes.contains(&"queue_full"), "{health}");
        // More agents at work than there is room for.
        for _ in 0..3 {
            for name in ["quick", "slow", "broken"] {
                say(&ada, &session(&ada, &project).await, name, "x").await;
            }
        }
        alert("cache_overflow").await;
        for code in ["stuck_task", "queue_full", "cache_overflow"] {
            assert!(world.artel.log().lines().any(|line| line.contains(code) && line.contains("WARN")), "{code} in the log");
            assert!(figure(&ada, &format!("artel_alerts_total{{code=\"{code}\"}}")).await >= 1, "{code} in the figures");
        }
        post(&ada, &format!("{project}/space/reset")).await;
        for stopped in sent {
            stopped.await.unwrap();
        }
    }

    /// WS-1.1, WS-1.2, WS-9.2: eight messages at once into one project, and 24 projects of one user opened at once, are
    /// all answered, each by its own project's agent.
    async fn many_at_once(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let before = world.artel.memory().unwrap();
        let mut sent = Vec::new();
        for number in 0..8 {
            let own = if number % 2 == 0 { path.clone() } else { session(&ada, &project).await };
            sent.push((number.to_string(), send(&ada, &own, "quick", &number.to_string())));
        }
        for (text, answer) in sent {
            assert_eq!(answer.await.unwrap()["content"], format!("You said: {text}"));
        }
        let mut opened = tokio::task::JoinSet::new();
        for number in 0..24 {
            let client = ada.apart().unwrap();
            opened.spawn(async move {
                let (_, path) = talk(&client).await;
                (number, say(&client, &path, "quick", &number.to_string()).await.body)
            });
        }
        while let Some(done) = opened.join_next().await {
            let (number, answer) = done.unwrap();
            assert_eq!(answer["content"], format!("You said: {number}"), "{answer}");
        }
        let grown = world.artel.memory().unwrap().saturating_sub(before) / 1024;
        assert!(grown < 100 * 1024, "24 projects cost {grown} KiB");
    }

    /// WS-13.1, WS-13.2: what an agent is doing, from its queue; WS-14.1: what it has done; WS-5.2: tasks wait there.
    async fn agents_are_watched(side) {
        let world = start(side, &[("ARTEL_RATE_LIMIT_PER_MINUTE", "0")]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let (broken, endless) = (agent(&ada, &project, "broken").await, agent(&ada, &project, "endless").await);
        let status = async |agent: &str| ada.get(&format!("{agent}/status")).await.unwrap().body["status"].clone();
        assert_eq!(status(&broken).await, "idle");
        say(&ada, &path, "broken", "fine").await;
        assert_eq!(status(&broken).await, "idle");
        say(&ada, &path, "broken", "break").await;
        assert_eq!(status(&broken).await, "error");
        let done = ada.get(&format!("{broken}/metrics")).await.unwrap().body;
        assert_eq!((&done["tasks_processed"], &done["tasks_failed"], &done["error_rate"]), (&json!(2), &json!(1), &json!(0.5)), "{done}");
        assert!(done["last_activity"].is_string() && done["avg_processing_time"].as_f64().unwrap() < 5.0);

        ada.patch(&endless, &json!({"concurrency_limit": 2})).await.unwrap();
        let first = send(&ada, &session(&ada, &project).await, "endless", "x");
        until(|| async { status(&endless).await == "processing" }).await;
        let second = send(&ada, &session(&ada, &project).await, "endless", "x");
        until(|| async { status(&endless).await == "busy" }).await;
        post(&ada, &format!("{project}/space/reset")).await;
        for stopped in [first, second] {
            assert_eq!(stopped.await.unwrap()["error_type"], "cancelled");
        }
        assert_eq!(status(&endless).await, "idle");
    }

    /// PF-3.2: history by cursor, forwards and backwards; a session can be renamed, and has a stream of its own.
    async fn history_and_stream_of_a_session(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let other = session(&ada, &project).await;
        say(&ada, &other, "quick", "elsewhere").await;
        for text in ["one", "two", "three"] {
            say(&ada, &path, "quick", text).await;
        }
        let id = path.trim_end_matches("/message/").rsplit('/').next().unwrap();
        let messages = format!("{project}/chat/sessions/{id}/messages");
        let all = ada.list(&messages, "messages").await.unwrap();
        let texts = |page: &Value| page["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let third = all[2]["id"].as_str().unwrap();
        let page = ada.get(&format!("{messages}?after={third}&limit=2")).await.unwrap().body;
        assert_eq!(texts(&page), ["You said: two", "three"]);
        let page = ada.get(&format!("{messages}?before={third}&limit=1")).await.unwrap().body;
        assert_eq!(texts(&page), ["You said: one"]);
        assert_eq!(ada.get(&format!("{messages}?after={id}")).await.unwrap().status, 404);
        let renamed = ada.patch(&format!("{project}/chat/sessions/{id}"), &json!({"title": "Counting"})).await.unwrap();
        assert_eq!(renamed.body["title"], "Counting");

        let lines = ada.request(reqwest::Method::GET, &format!("{project}/chat/{id}/events?after=0")).send().await.unwrap();
        assert_eq!(lines.headers()["content-type"], "application/x-ndjson");
        let mut lines = lines;
        let mut text = String::new();
        while text.matches("task_completed").count() < 3 {
            text.push_str(std::str::from_utf8(&lines.chunk().await.unwrap().unwrap()).unwrap());
        }
        let own: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(own.iter().all(|event| event["session_id"] == id), "{text}");
        let mut events = ada.events(&format!("{project}/chat/{id}/events"), Some(0)).await.unwrap();
        assert_eq!(events.numbered().await.unwrap().unwrap().0, own[0]["id"].as_u64().unwrap());
        assert_eq!(ada.get(&format!("{project}/chat/{third}/events")).await.unwrap().status, 404);
    }
}

/// WS-4.3, PF-1.5: on two nodes. An agent that is changed on one is seen changed by the other at once, a task that
/// is cancelled on one stops on the other, and text that is written on one is streamed by the other.
#[tokio::test]
async fn two_nodes_share_a_space() {
    let (database, bus) = (postgres::database().unwrap(), redis::shared_or_own().unwrap());
    let scripts = [
        ("quick", "[[rules]]\ntext = 'quick'\n"),
        ("other", "[[rules]]\ntext = 'other'\n"),
        ("slow", "[[rules]]\ntext = 'a b c d e f g h i j'\npause_ms = 100\n"),
    ];
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = folders.each_ref().map(|folder| {
        std::fs::create_dir(folder.path().join("scripts")).unwrap();
        for (name, text) in scripts {
            std::fs::write(folder.path().join(format!("scripts/{name}.toml")), text).unwrap();
        }
        let node = Artel::new(crate::ARTEL).database(database.url()).redis(&bus.url());
        node.data_dir(folder.path()).start().unwrap()
    });
    let (here, there) = (first.client("ada").unwrap(), second.client("ada").unwrap());
    let project = empty_project(&here).await;
    for name in ["quick", "slow"] {
        let body = json!({"name": name, "model": format!("scripted/{name}")});
        assert_eq!(here.post(&format!("{project}/agents"), &body).await.unwrap().status, 201);
    }
    let path = session(&here, &project).await;
    // The first message makes the space this node's; both have the agent at hand.
    assert_eq!(say(&here, &path, "quick", "x").await.body["content"], "quick");
    assert_eq!(
        say(&there, &path, "quick", "x").await.body["content"],
        "quick",
        "answered by the node that has the space"
    );
    let quick = agent(&here, &project, "quick").await;
    assert_eq!(there.patch(&quick, &json!({"model": "scripted/other"})).await.unwrap().status, 200);
    assert_eq!(
        say(&here, &path, "quick", "x").await.body["content"],
        "other",
        "changed elsewhere, seen here at once"
    );

    let mut listener = there.events(&format!("{project}/events"), None).await.unwrap();
    let running = send(&here, &path, "slow", "x");
    let mut pieces = 0;
    let task = loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), listener.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        if frame.event == "message_delta" {
            pieces += 1;
            if pieces == 3 {
                break frame.payload()["task_id"].as_str().unwrap().to_owned();
            }
        }
    };
    let cancelled =
        there.post(&format!("{project}/tasks/{task}/cancel"), &json!({})).await.unwrap();
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    assert_eq!(running.await.unwrap()["error_type"], "cancelled");
    until(|| async { space(&here, &project).await["running_tasks"] == 0 }).await;

    let made = add_agent(&there, &project, "new").await;
    assert_eq!(post(&there, &format!("{project}/agents/{made}/deregister")).await.0, 200);
    assert_eq!(
        say(&here, &path, "new", "x").await.status,
        409,
        "and what is deregistered there takes nothing here"
    );
}
