//! Stopping a plan, and doing parts of it again.

use serde_json::json;

use super::{Bench, states, task};
use crate::chat::until;
use crate::on_both_sides;

fn words(states: &[(String, String)]) -> Vec<&str> {
    states.iter().map(|(_, state)| state.as_str()).collect()
}

on_both_sides! {
    /// OR-7.4 (cancel): what runs is stopped, what waits never begins, what is done stays; the conversation says so.
    async fn cancelled(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("a", "one", "researcher", &[]),
            ("b", "HOLD", "coder", &["a"]),
            ("c", "three", "writer", &["b"]),
        ]).await;
        bench.run(&plan).await;
        let (shown, id) = (&bench, plan.as_str());
        until(|| async move { words(&shown.states(id).await) == ["completed", "executing", "pending"] }).await;
        let stopped = bench.act(&plan, "cancel", &json!({})).await;
        assert_eq!((stopped.status.as_u16(), &stopped.body["status"]), (200, &json!("cancelled")), "{}", stopped.body);
        assert_eq!(words(&states(&stopped.body)), ["completed", "cancelled", "cancelled"]);
        assert_eq!(bench.act(&plan, "cancel", &json!({})).await.status, 409);
        let answer = bench.answer(&stopped.body).await;
        assert!(answer["content"].as_str().unwrap().contains("done: one"), "{answer}");
        let path = bench.agent_path("coder").await;
        let coder = format!("{path}/status");
        until(|| { let coder = &coder; async move { shown.ada.get(coder).await.unwrap().body["status"] == "idle" } }).await;
        let waiting = bench.given(&[("a", "1", "coder", &[]), ("b", "2", "coder", &[]), ("c", "3", "coder", &[])]).await;
        bench.act(&waiting, "execute", &json!({})).await;
        let stopped = bench.act(&waiting, "cancel", &json!({})).await.body;
        assert_eq!(stopped["status"], "cancelled");
        let pending = bench.ada.get("/my/approvals/?status=pending").await.unwrap().body;
        assert_eq!(pending["total"], 0, "nobody is asked about what is no more");
    }

    /// OR-9.4 (retry): a failed task alone with what was skipped behind it, with another agent, or all from a task on; what was
    /// done is not done again.
    async fn retried(side) {
        let bench = Bench::new(side).await;
        bench.agent(&json!({"name": "odd", "model": "scripted/nobody"})).await;
        let plan = bench.given(&[
            ("good", "fine", "analyst", &[]),
            ("bad", "try", "odd", &["good"]),
            ("after", "then", "writer", &["bad"]),
        ]).await;
        bench.run(&plan).await;
        let ended = bench.ended(&plan).await;
        assert_eq!(words(&states(&ended)), ["completed", "failed", "skipped"], "{ended}");
        assert_eq!(bench.act(&plan, "retry", &json!({"task": "after"})).await.status, 409, "what it needs failed");
        assert_eq!(bench.act(&plan, "retry", &json!({"task": "ghost"})).await.status, 404);
        assert_eq!(bench.act(&plan, "retry", &json!({"agent": "coder"})).await.status, 422);
        assert_eq!(bench.act(&plan, "retry", &json!({"task": "bad", "agent": "ghost"})).await.status, 404);
        let before = task(&ended, "good")["finished_at"].clone();
        let again = bench.act(&plan, "retry", &json!({"task": "bad", "agent": "coder"})).await;
        assert_eq!(again.status, 202, "{}", again.body);
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(task(&ended, "bad")["agent_name"], "coder");
        assert_eq!(task(&ended, "good")["finished_at"], before, "it was not done again");
        assert_eq!(bench.act(&plan, "retry", &json!({})).await.status, 409, "nothing to do again");

        let good = task(&ended, "bad")["finished_at"].clone();
        assert_eq!(bench.act(&plan, "retry", &json!({"task": "bad", "from": true})).await.status, 202);
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "completed");
        assert_ne!(task(&ended, "bad")["finished_at"], good, "it was done again");
        assert_eq!(task(&ended, "good")["finished_at"], before);
        let session = ended["session_id"].as_str().unwrap();
        let said = bench.ada.get(&format!("{}/chat/sessions/{session}/messages", bench.project)).await.unwrap().body;
        assert_eq!(said["total"], 4, "the request and an answer each time: {said}");
    }

    /// OR-1.6: an agent that is deleted in the middle takes its task with it, the plan goes on and says what happened, and no later
    /// plan uses it; a deregistered one likewise. WS-8.2: a reset stops plans too.
    async fn agents_that_leave(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("a", "HOLD", "coder", &[]),
            ("b", "two", "coder", &["a"]),
            ("c", "three", "writer", &[]),
        ]).await;
        bench.run(&plan).await;
        let (shown, id) = (&bench, plan.as_str());
        until(|| async move { words(&shown.states(id).await) == ["executing", "pending", "completed"] }).await;
        let path = bench.agent_path("coder").await;
        assert_eq!(bench.ada.delete(&path).await.unwrap().status, 204);
        let ended = bench.ended(&plan).await;
        assert_eq!(words(&states(&ended)), ["cancelled", "skipped", "completed"], "{ended}");
        assert_eq!((&task(&ended, "a")["agent_id"], &task(&ended, "a")["agent_name"]), (&json!(null), &json!("coder")));
        let tasks = json!([{"name": "x", "description": "d", "agent": "coder", "depends_on": []}]);
        let made = bench.plan(&json!({"request": "r", "tasks": tasks})).await;
        assert_eq!(made.status, 422, "{}", made.body);

        let plan = bench.given(&[("a", "HOLD", "analyst", &[]), ("b", "2", "writer", &["a"])]).await;
        bench.run(&plan).await;
        let id = plan.as_str();
        until(|| async move { shown.states(id).await[0].1 == "executing" }).await;
        let draft = bench.given(&[("a", "1", "analyst", &[])]).await;
        let reset = bench.ada.post(&format!("{}/space/reset", bench.project), &json!({})).await.unwrap();
        assert_eq!(reset.status, 200, "{}", reset.body);
        let ended = bench.ended(&plan).await;
        assert_eq!((&ended["status"], &ended["note"]), (&json!("cancelled"), &json!("The space was reset")));
        assert_eq!(bench.show(&draft).await["status"], "pending", "what has not begun may still begin");
    }
}
