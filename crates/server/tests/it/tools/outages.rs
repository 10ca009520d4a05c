//! The client killed, cut off, or doubled in the middle of a call: the agent gets an answer or a clear error, in time.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::Bench;
use crate::chat::until;
use crate::on_both_sides;

/// Whether the command of these tests runs in the folder: itself, not the sandbox that is being built for it.
fn runs(bench: &Bench) -> bool {
    let itself = ["-f", "^[^ ]*sleep 20$"];
    let found = std::process::Command::new("pgrep").args(itself).output().unwrap();
    let folder = bench.folder.path();
    String::from_utf8(found.stdout)
        .unwrap()
        .lines()
        .any(|id| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == folder))
}

const QUICK: &[(&str, &str)] = &[("ARTEL_RECONCILE_EVERY", "100ms")];

on_both_sides! {
    /// TL-1.7: killed in the middle of a command, nobody knows what became of it, and the agent is told so; in the middle of a
    /// read, that nothing was changed.
    async fn a_client_is_killed(side) {
        let (bench, client) = Bench::with_client(side, QUICK).await;
        let kill = async {
            bench.decide("approve", None).await;
            until(|| async { bench.ada.get(&format!("{}/tools?status=running", bench.project)).await.unwrap().body["total"] == 1 }).await;
            until(|| async { runs(&bench) }).await;
            client.signal(Signal::KILL);
        };
        let (answer, ()) = tokio::join!(bench.say("wait for it"), kill);
        let said = answer.body["content"].as_str().unwrap();
        assert!(said.contains("whether it was done is not known"), "{said}");
        let calls = bench.ada.get(&format!("{}/tools?status=outcome_unknown", bench.project)).await.unwrap().body;
        assert_eq!(calls["total"], 1);
        assert!(!runs(&bench), "the command went with its client");
    }

    /// PF-1.5: a task that is cancelled takes the command with it that it runs on the user's machine.
    async fn a_cancelled_task_stops_its_command(side) {
        let (bench, _client) = Bench::with_client(side, QUICK).await;
        let cancel = async {
            let approval = bench.decide("approve", None).await;
            until(|| async { runs(&bench) }).await;
            let task = approval["task_id"].as_str().unwrap();
            let cancelled = bench.ada.post(&format!("{}/tasks/{task}/cancel", bench.project), &json!({})).await.unwrap();
            assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        };
        let (answer, ()) = tokio::join!(bench.say("wait for it"), cancel);
        assert_eq!(answer.body["error_type"], "cancelled", "{}", answer.body);
        until(|| async { !runs(&bench) }).await;
    }

    /// TL-1.7: a client that leaves says so, and the call ends at once; the next one takes over at once.
    async fn a_client_leaves(side) {
        let (bench, mut client) = Bench::with_client(side, QUICK).await;
        let leave = async {
            bench.decide("approve", None).await;
            until(|| async { bench.ada.get(&format!("{}/tools?status=running", bench.project)).await.unwrap().body["total"] == 1 }).await;
            client.signal(Signal::TERM);
        };
        let (answer, ()) = tokio::join!(bench.say("wait for it"), leave);
        assert!(answer.body["content"].as_str().unwrap().contains("went away"), "{}", answer.body);
        assert!(client.child.wait().unwrap().success(), "{}", client.said());
        assert_eq!(bench.ada.get(&format!("{}/client", bench.project)).await.unwrap().status, 404);
        let _next = bench.client(&[]).await;
        assert_eq!(bench.say("read").await.body["content"], "It says: the door is green\n");
    }

    /// Two clients for one project: one is active, the other is told, and takes over when the first is gone.
    async fn two_clients(side) {
        let (bench, first) = Bench::with_client(side, QUICK).await;
        let active = bench.ada.get(&format!("{}/client", bench.project)).await.unwrap().body["client_id"].clone();
        let second = bench.spawn(&[]);
        until(|| async { second.said().contains("Another client") }).await;
        assert_eq!(bench.say("read").await.body["content"], "It says: the door is green\n");
        assert_eq!(bench.ada.get(&format!("{}/client", bench.project)).await.unwrap().body["client_id"], active);
        first.signal(Signal::TERM);
        until(|| async {
            let now = bench.ada.get(&format!("{}/client", bench.project)).await.unwrap();
            now.status == 200 && now.body["client_id"] != active
        }).await;
        assert_eq!(bench.say("read").await.body["content"], "It says: the door is green\n");
    }

    /// TL-1.7: the server is killed while the client has a call: the client comes back by itself, resumes the stream, and its
    /// result is taken once; the agent's turn goes on with it.
    async fn the_server_is_killed(side) {
        let (mut bench, client) = Bench::with_client(side, QUICK).await;
        let path = crate::chat::session(&bench.ada, &bench.project).await;
        let script = json!({"command": "sh", "args": ["-c", "sleep 3; echo once >> made"], "timeout": 20});
        let body = json!({"content": "touch", "target_agent": "hands"});
        let ada = bench.ada.clone();
        let sent = ada.request(reqwest::Method::POST, &path).json(&body).send();
        let (_, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(2), sent), async { bench.decide("approve", None).await; });
        let call = bench.begin("tool_execute_command", script, 0).await.body;
        bench.decide("approve", None).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        bench.world.artel.kill().unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        let (ada, path) = (&bench.ada, &format!("{}/tools/{}", bench.project, call["id"].as_str().unwrap()));
        until(|| async move { ada.get(path).await.unwrap().body["status"] == "succeeded" }).await;
        assert_eq!(std::fs::read_to_string(bench.file("made")).unwrap(), "once\n", "it ran once");
        assert!(client.said().contains("Connected again."), "{}", client.said());
        assert_eq!(bench.say("read").await.body["content"], "It says: the door is green\n");
    }

    /// TL-1.7: results that come twice, too late, or from another client change nothing.
    async fn late_results(side) {
        let (bench, _client) = Bench::with_client(side, QUICK).await;
        let call = bench.call("tool_read_file", json!({"path": "notes.txt"})).await;
        let path = format!("{}/tools/{}/result", bench.project, call["id"].as_str().unwrap());
        for client in [call["client_id"].clone(), json!("00000000-0000-7000-8000-000000000000")] {
            let again = bench.ada.post(&path, &json!({"client_id": client, "success": false, "error": "no"})).await.unwrap();
            assert_eq!((again.status.as_u16(), &again.body), (200, &call));
        }
        assert_eq!(bench.ada.post(&path, &json!({"success": true})).await.unwrap().status, 422);
    }

    /// TL-1.7: no result within the timeout: the agent gets a clear error. WS-22.1: the task's own time stands still meanwhile.
    async fn no_result_in_time(side) {
        let bench = Bench::new(side, &[("ARTEL_RECONCILE_EVERY", "100ms"), ("ARTEL_DIRECT_TIMEOUT", "2s")]).await;
        // A client that is there and does nothing.
        let body = json!({"client_id": "01a1d000-0000-7000-8000-000000000001", "workspace": "/w", "host": "h", "version": "0", "sandbox": true});
        let path = format!("{}/client", bench.project);
        assert_eq!(bench.ada.put(&path, &body).await.unwrap().status, 200);
        let there = async {
            loop {
                assert_eq!(bench.ada.put(&path, &body).await.unwrap().status, 200);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let prepared = async { bench.call("tool_write_file", json!({"path": "x", "content": "y"})).await };
        let talk = async { tokio::join!(bench.say("write it"), prepared) };
        let (answer, call) = tokio::select! { done = talk => done, () = there => unreachable!() };
        assert_eq!(call["status"], "timeout", "{call}");
        assert!(answer.body["content"].as_str().unwrap().contains("No result within"), "{}", answer.body);
        assert_eq!(answer.body["success"], true, "the agent went on: {}", answer.body);
    }
}
