//! Approvals: decided once, in time, over restarts, by whoever may.

use std::time::Duration;

use serde_json::{Value, json};

use super::Bench;
use crate::chat::until;
use crate::on_both_sides;

const WRITE: &str = "tool_write_file";

fn write() -> Value {
    json!({"path": "notes.txt", "content": "the door is red\n"})
}

async fn ended(bench: &Bench, id: &str) -> Value {
    let path = format!("{}/tools/{id}", bench.project);
    let open = ["preparing", "pending", "running"];
    let (ada, path) = (&bench.ada, &path);
    until(|| async move {
        let call = ada.get(path).await.unwrap().body;
        !open.contains(&call["status"].as_str().unwrap())
    })
    .await;
    ada.get(path).await.unwrap().body
}

on_both_sides! {
    /// PF-2.2: eight answers at the same moment: one wins, the others get 409 with the decision; asked again under its key, the
    /// winner gets the same answer.
    async fn one_answer_wins(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        for round in 0..5 {
            let call = bench.begin(WRITE, json!({"path": format!("{round}.txt"), "content": "x"}), 0).await.body;
            let approval = bench.pending().await;
            let id = approval["id"].as_str().unwrap();
            let answer = async |number: usize| {
                let verb = if number.is_multiple_of(2) { "approve" } else { "reject" };
                let path = format!("/my/approvals/{id}/{verb}");
                (number, bench.ada.post_once(&path, &format!("{round}-{number}"), &json!({})).await.unwrap())
            };
            let all = futures_util::future::join_all((0..8).map(answer)).await;
            let (winners, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, it)| it.status == 200);
            assert_eq!(winners.len(), 1, "{winners:?}");
            let (number, won) = &winners[0];
            for (_, other) in &others {
                assert_eq!(other.status, 409);
                assert_eq!((&other.body["approval"]["status"], &other.body["error_code"]), (&won.body["status"], &json!("already_decided")));
            }
            assert_eq!(answer(*number).await.1.body, won.body);
            let call = ended(&bench, call["id"].as_str().unwrap()).await;
            let done = if number.is_multiple_of(2) { "succeeded" } else { "rejected" };
            assert_eq!(call["status"], done, "{call}");
            assert_eq!(bench.file(&format!("{round}.txt")).exists(), number.is_multiple_of(2));
        }
    }

    /// PF-2.3: a warning comes before the deadline, then it is rejected, also when the server was down at that moment; a late
    /// answer changes nothing. PF-2.1: the deadline is configurable per user.
    async fn nobody_decides(side) {
        let (mut bench, client) = Bench::with_client(side, &[("ARTEL_RECONCILE_EVERY", "100ms")]).await;
        let set = bench.ada.put("/my/preferences", &json!({"approval_timeout": 10})).await.unwrap();
        assert_eq!(set.status, 200, "{}", set.body);
        assert_eq!(bench.ada.get("/my/me").await.unwrap().body["preferences"]["approval_timeout"], 10);
        assert_eq!(bench.ada.put("/my/preferences", &json!({"approval_timeout": 1})).await.unwrap().status, 422);
        let call = bench.begin(WRITE, write(), 0).await.body;
        let approval = bench.pending().await;
        let mut events = bench.ada.events(&format!("{}/events", bench.project), Some(0)).await.unwrap();
        let warned = async {
            while events.numbered().await.unwrap().unwrap().1.event != "approval_timeout_warning" {}
        };
        tokio::time::timeout(Duration::from_secs(20), warned).await.expect("a warning");
        drop(events);
        bench.world.artel.kill().unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        let call = ended(&bench, call["id"].as_str().unwrap()).await;
        assert_eq!((&call["status"], &call["error"]), (&json!("timeout"), &json!("Rejected: nobody decided in time")));
        let id = approval["id"].as_str().unwrap();
        let late = bench.ada.post(&format!("/my/approvals/{id}/approve"), &json!({})).await.unwrap();
        assert_eq!((late.status.as_u16(), &late.body["approval"]["status"]), (409, &json!("timeout")));
        let told = bench.ada.get(&format!("/my/approvals/{id}")).await.unwrap().body;
        assert_eq!((&told["status"], &told["decided_from"], &told["decided_by"]), (&json!("timeout"), &json!("deadline"), &Value::Null));
        assert_eq!(bench.notes(), "the door is green\n", "{}", client.said());
    }

    /// PF-2.4: pending ones survive a restart, and whoever waits goes on waiting: an agent's turn is not begun anew. PF-7.4: who
    /// waits for a person keeps no server from stopping.
    async fn a_restart_in_between(side) {
        let (mut bench, _client) = Bench::with_client(side, &[("ARTEL_RECONCILE_EVERY", "100ms")]).await;
        for gently in [false, true] {
            std::fs::write(bench.file("notes.txt"), "the door is green\n").unwrap();
            let path = crate::chat::session(&bench.ada, &bench.project).await;
            let body = json!({"content": "write it", "target_agent": "hands"});
            let sent = bench.ada.request(reqwest::Method::POST, &path).json(&body).send();
            let (_, approval) = tokio::join!(tokio::time::timeout(Duration::from_secs(2), sent), bench.pending());
            if gently {
                assert!(bench.world.artel.terminate().unwrap().0.success());
            } else {
                bench.world.artel.kill().unwrap();
            }
            bench.world.artel.restart().unwrap();
            bench.ada = bench.world.user("ada");
            assert_eq!(bench.pending().await["id"], approval["id"], "the same one, not another");
            let (ada, client) = (&bench.ada, &format!("{}/client", bench.project));
            until(|| async move { ada.get(client).await.unwrap().status == 200 }).await;
            bench.decide("approve", None).await;
            let messages = &crate::chat::messages_of(&path);
            until(|| async move { ada.get(messages).await.unwrap().body["total"] == 2 }).await;
            let said = ada.get(messages).await.unwrap().body;
            assert_eq!(said["messages"][1]["outcome"]["success"], true, "{said}");
            assert_eq!(bench.notes(), "the door is red\n");
            let calls = bench.ada.get(&format!("{}/tools", bench.project)).await.unwrap().body;
            assert_eq!(calls["total"], 1 + u64::from(gently), "it was called once: {calls}");
        }
    }

    /// PF-2.5: listed by status, type and date, several decided in one call.
    async fn several_are_decided(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let ada = &bench.ada;
        for (number, name) in (1..).zip(["a", "b", "c"]) {
            bench.begin(WRITE, json!({"path": name, "content": "x"}), 0).await;
            until(|| async move { ada.get("/my/approvals?status=pending").await.unwrap().body["total"] == number }).await;
        }
        let all = ada.get("/my/approvals?type=tool").await.unwrap().body;
        let ids: Vec<_> = all["approvals"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
        let first = all["approvals"][0]["created_at"].as_str().unwrap();
        assert_eq!(ada.get(&format!("/my/approvals?from={first}")).await.unwrap().body["total"], 1);
        assert_eq!(ada.get(&format!("/my/approvals?to={first}&limit=2")).await.unwrap().body["total"], 3);
        assert_eq!(ada.get("/my/approvals?type=plan").await.unwrap().body["total"], 0);
        assert_eq!(ada.get("/my/approvals?status=open").await.unwrap().status, 422);
        let batch = json!({"approval_ids": [ids[0], ids[1], ids[0], "00000000-0000-7000-8000-000000000000"], "decision": "approve"});
        let decided = ada.post("/my/approvals/batch-confirm", &batch).await.unwrap().body;
        let results = decided["results"].as_array().unwrap();
        assert_eq!(results.iter().filter(|it| it["decided"] == true).count(), 2, "{decided}");
        assert_eq!(results.len(), 3);
        let again = ada.post("/my/approvals/batch-confirm", &batch).await.unwrap().body;
        assert!(again["results"].as_array().unwrap().iter().all(|it| it["decided"] == false), "{again}");
        assert_eq!(ada.get("/my/approvals?status=approved").await.unwrap().body["total"], 2);
        until(|| async { bench.file("c").exists() && bench.file("b").exists() }).await;
        assert!(!bench.file("a").exists(), "newest first: the third was not decided");
    }

    /// PF-2.6: what is always allowed is not asked, by tool and pattern; never what is of high risk.
    async fn some_need_not_be_asked(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let path = format!("{}/tools/preferences", bench.project);
        let allow = async |body: Value| bench.ada.post(&path, &body).await.unwrap();
        assert_eq!(allow(json!({"tool_name": WRITE, "pattern": "*.txt"})).await.status, 201);
        assert_eq!(allow(json!({"tool_name": "tool_execute_command", "pattern": "touch *"})).await.status, 201);
        let every = allow(json!({"tool_name": "tool_execute_command"})).await;
        assert_eq!(allow(json!({"tool_name": "tool_nothing"})).await.status, 422);
        assert_eq!(allow(json!({"tool_name": WRITE, "pattern": "[x"})).await.status, 422);
        let call = bench.call(WRITE, write()).await;
        assert_eq!((&call["status"], &call["decided_from"]), (&json!("succeeded"), &json!("preference")), "{call}");
        let call = bench.call("tool_execute_command", json!({"command": "touch", "args": ["made"]})).await;
        assert_eq!(call["status"], "succeeded", "{call}");
        let high = bench.begin("tool_execute_command", json!({"command": "rm", "args": ["-r", "made"]}), 1).await;
        assert_eq!((high.status.as_u16(), &high.body["status"]), (202, &json!("pending")), "{}", high.body);
        let other = bench.begin(WRITE, json!({"path": "made.rs", "content": ""}), 1).await;
        assert_eq!(other.body["status"], "pending", "another pattern: {}", other.body);
        assert_eq!(bench.ada.get(&path).await.unwrap().body["preferences"].as_array().unwrap().len(), 3);
        assert_eq!(bench.ada.delete(&format!("{path}/{}", every.id().unwrap())).await.unwrap().status, 204);
        let asked = bench.begin("tool_execute_command", json!({"command": "mkdir", "args": ["x"]}), 1).await;
        assert_eq!(asked.body["status"], "pending", "{}", asked.body);
    }

    /// PF-2.1: an agent's question is one of the approvals; the answer goes back to it.
    async fn an_agent_asks(side) {
        let bench = Bench::new(side, &[]).await;
        let asked = async {
            let approval = bench.pending().await;
            let path = format!("/my/approvals/{}/approve", approval["id"].as_str().unwrap());
            assert_eq!(bench.ada.post(&path, &json!({})).await.unwrap().status, 422, "an answer is needed");
            bench.decide("approve", Some("blue")).await
        };
        let (answer, approval) = tokio::join!(bench.say("ask me"), asked);
        assert_eq!(answer.body["content"], "Then {\"answer\":\"blue\"} it is", "{}", answer.body);
        assert_eq!((&approval["type"], &approval["payload"]["options"]), (&json!("question"), &json!(["green", "blue"])));
        let mut events = bench.ada.events(&format!("{}/events", bench.project), Some(0)).await.unwrap();
        let mut told = Vec::new();
        while !told.contains(&"task_completed".to_owned()) {
            told.push(events.numbered().await.unwrap().unwrap().1.event);
        }
        for name in ["agent_question", "approval_required", "agent_answer", "approval_resolved", "tool_result"] {
            assert!(told.contains(&name.to_owned()), "{name}: {told:?}");
        }
    }

    /// PF-1.5, PF-2.1: a task that is cancelled takes its question with it.
    async fn a_cancelled_task_asks_no_more(side) {
        let (bench, _client) = Bench::with_client(side, &[]).await;
        let cancel = async {
            let approval = bench.pending().await;
            let task = approval["task_id"].as_str().unwrap();
            let waits = bench.ada.get(&format!("{}/tasks/{task}", bench.project)).await.unwrap().body;
            assert_eq!(waits["status"], "waiting_approval");
            let cancelled = bench.ada.post(&format!("{}/tasks/{task}/cancel", bench.project), &json!({})).await.unwrap();
            assert_eq!(cancelled.status, 200, "{}", cancelled.body);
            approval
        };
        let (answer, approval) = tokio::join!(bench.say("write it"), cancel);
        assert_eq!(answer.body["error_type"], "cancelled");
        let kept = bench.ada.get(&format!("/my/approvals/{}", approval["id"].as_str().unwrap())).await.unwrap().body;
        assert_eq!((&kept["status"], &kept["decided_from"]), (&json!("rejected"), &json!("cancelled")));
        let calls = bench.ada.get(&format!("{}/tools?status=cancelled", bench.project)).await.unwrap().body;
        assert_eq!(calls["total"], 1);
    }
}

/// The library that sets a process's clock.
fn faketime() -> std::path::PathBuf {
    let found = std::fs::read_dir("/usr/lib").unwrap().filter_map(|entry| {
        let library = entry.ok()?.path().join("faketime/libfaketime.so.1");
        library.exists().then_some(library)
    });
    found.into_iter().next().expect("faketime is installed by scripts/setup.sh")
}

/// PF-2.3: the wall's clock set by an hour, forward or back, ends no deadline and prolongs none.
#[tokio::test]
async fn the_clock_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    std::fs::write(&clock, "+0\n").unwrap();
    let library = faketime();
    let environment = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("ARTEL_RECONCILE_EVERY", "100ms"),
    ];
    let (bench, _client) = Bench::with_client(crate::Side::Embedded, &environment).await;
    let set = |by: &str| std::fs::write(&clock, format!("{by}\n")).unwrap();
    let server_time = async || {
        let health = bench.ada.get("/nowhere").await.unwrap();
        health.body["timestamp"].as_str().unwrap().to_owned()
    };
    let first = bench.begin(WRITE, json!({"path": "a.txt", "content": "x"}), 0).await.body;
    bench.pending().await;
    let before = server_time().await;
    set("+3600");
    let hour = |time: &str| time[11..13].parse::<u32>().unwrap();
    assert_eq!(hour(&server_time().await), (hour(&before) + 1) % 24, "it was set");
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.decide("approve", None).await;
    assert_eq!(ended(&bench, first["id"].as_str().unwrap()).await["status"], "succeeded");
    bench.ada.put("/my/preferences", &json!({"approval_timeout": 10})).await.unwrap();
    let second = bench.begin(WRITE, json!({"path": "b.txt", "content": "x"}), 0).await.body;
    bench.pending().await;
    set("-3600");
    let call = ended(&bench, second["id"].as_str().unwrap()).await;
    assert_eq!(call["status"], "timeout", "after its ten seconds, not after an hour: {call}");
}
