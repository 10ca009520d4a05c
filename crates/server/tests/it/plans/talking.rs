//! Messages without a target: the orchestrator's, in the same conversations as all others.

use reqwest::Method;
use serde_json::{Value, json};

use super::Bench;
use crate::chat::{messages_of, say, session};
use crate::on_both_sides;

on_both_sides! {
    /// WS-7.2, WS-23.1, WS-24.2: a message without a target is planned; answered at once with the plan, or waited for. OR-2.1.
    async fn a_message_becomes_a_plan(side) {
        let bench = Bench::new(side).await;
        let path = session(&bench.ada, &bench.project).await;
        let body = json!({"content": "Fix the bug in the login form"});
        let taken = bench.ada.post_once(&path, "k1", &body).await.unwrap();
        assert_eq!(taken.status, 202, "{}", taken.body);
        assert_eq!((&taken.body["mode"], &taken.body["plan"]["tasks"][0]["agent_name"]), (&json!("orchestrated"), &json!("coder")), "{}", taken.body);
        let plan = taken.body["plan_id"].as_str().unwrap();
        let ended = bench.ended(plan).await;
        assert_eq!(ended["status"], "completed");
        let again = bench.ada.post_once(&path, "k1", &body).await.unwrap();
        assert_eq!(again.body["plan_id"], plan, "the same key is the same plan");
        let waited = bench.ada.post(&format!("{path}?wait=30"), &json!({"content": "Review the code of the cart"})).await.unwrap();
        assert_eq!((waited.status.as_u16(), &waited.body["mode"], &waited.body["success"]), (200, &json!("orchestrated"), &json!(true)), "{}", waited.body);
        assert!(waited.body["content"].as_str().unwrap().contains("done: "), "{}", waited.body);
        assert!(!waited.body["plan_id"].is_null());
        let listed = bench.ada.get(&format!("{}/plans/?status=completed&limit=1", bench.project)).await.unwrap().body;
        assert_eq!((&listed["total"], listed["plans"].as_array().unwrap().len()), (&json!(2), 1), "{listed}");
        let tasks = bench.ada.get(&format!("{}/tasks?status=completed", bench.path(plan))).await.unwrap().body;
        assert_eq!(tasks["total"], 1);
        let bob = bench.world.user("bob");
        assert_eq!(bob.get(&bench.path(plan)).await.unwrap().status, 404);
        assert_eq!(bob.post(&format!("{}/cancel", bench.path(plan)), &json!({})).await.unwrap().status, 404);
    }

    /// PF-2.5: with its conversation a plan is gone, and nobody is asked about it any more; what it had under way stops. A priority is
    /// an agent's affair, and is not dropped in silence.
    async fn a_deleted_conversation_asks_nobody(side) {
        let bench = Bench::new(side).await;
        let asked = bench.given(&[("a", "1", "coder", &[]), ("b", "2", "coder", &[]), ("c", "3", "coder", &[])]).await;
        bench.act(&asked, "execute", &json!({})).await;
        let running = bench.given(&[("a", "HOLD", "coder", &[])]).await;
        bench.run(&running).await;
        for plan in [&asked, &running] {
            let session = bench.show(plan).await["session_id"].as_str().unwrap().to_owned();
            let path = format!("{}/chat/sessions/{session}", bench.project);
            assert_eq!(bench.ada.delete(&path).await.unwrap().status, 204);
            assert_eq!(bench.ada.get(&bench.path(plan)).await.unwrap().status, 404);
        }
        assert_eq!(bench.ada.get("/my/approvals/?status=pending").await.unwrap().body["total"], 0);
        let coder = format!("{}/status", bench.agent_path("coder").await);
        let (bench, coder) = (&bench, &coder);
        crate::chat::until(|| async move { bench.ada.get(coder).await.unwrap().body["status"] == "idle" }).await;
        let path = session(&bench.ada, &bench.project).await;
        let hurried = json!({"content": "Fix the bug in the cart", "priority": "high"});
        let refused = bench.ada.post(&path, &hurried).await.unwrap();
        assert!(crate::faults(&refused).contains_key("priority"), "{}", refused.body);
    }

    /// WS-7.3, WS-24.4: both modes alternate in one session; each sees what was said before, nothing is lost or mixed up. PF-3.3.
    async fn modes_alternate(side) {
        let bench = Bench::new(side).await;
        let path = session(&bench.ada, &bench.project).await;
        let planned = async |text: &str| bench.ada.post(&format!("{path}?wait=30"), &json!({"content": text})).await.unwrap().body;
        assert_eq!(say(&bench.ada, &path, "writer", "hello").await.body["content"], "done: hello");
        let first = planned("Fix the bug in the cart").await;
        assert_eq!(first["mode"], "orchestrated", "{first}");
        assert_eq!(say(&bench.ada, &path, "coder", "and now").await.body["content"], "done: and now");
        let second = planned("Review the code of the cart").await;
        let said = bench.ada.get(&messages_of(&path)).await.unwrap().body;
        let roles: Vec<_> = said["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant"].repeat(4), "{said}");
        let ids: Vec<_> = said["messages"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
        assert_eq!((ids[3], ids[7]), (&first["id"], &second["id"]));
        assert_eq!(said["messages"][3]["outcome"]["plan_id"], first["plan_id"]);
    }

    /// WS-24.2: streamed, with every task's start and end, and the whole at the end. OR-9.1.
    async fn streamed(side) {
        let bench = Bench::new(side).await;
        let path = session(&bench.ada, &bench.project).await;
        let request = bench.ada.request(Method::POST, &path).header("accept", "text/event-stream");
        let text = request.json(&json!({"content": "Fix the bug in the login form"})).send().await.unwrap().text().await.unwrap();
        let kinds: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        for kind in ["task_plan_created", "plan_status_changed", "task_started", "message_delta", "task_completed", "message"] {
            assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let last: Value = serde_json::from_str(last).unwrap();
        assert_eq!((&last["mode"], &last["success"]), (&json!("orchestrated"), &json!(true)), "{last}");
    }

    /// WS-22.1: a message whose agent is taken up by a plan all the time is answered in time all the same, with why.
    async fn a_message_behind_a_plan(side) {
        let bench = Bench::with(side, &[("ARTEL_DIRECT_TIMEOUT", "2s")]).await;
        let plan = bench.given(&[("a", "HOLD", "writer", &[])]).await;
        bench.run(&plan).await;
        let path = session(&bench.ada, &bench.project).await;
        let late = say(&bench.ada, &path, "writer", "hello").await.body;
        assert_eq!((&late["success"], &late["error_type"]), (&json!(false), &json!("timeout")), "{late}");
        assert!(late["error"].as_str().unwrap().contains("other work"), "{late}");
        let health = bench.ada.get(&format!("{}/space/health", bench.project)).await.unwrap().body;
        assert_eq!(health["reasons"], json!([]), "a long task of a plan is not stuck: {health}");
        assert_eq!(bench.states(&plan).await[0].1, "executing", "the plan goes on");
    }

    /// WS-24.3: each agent remembers its part.
    async fn agents_remember(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[("a", "paint the shed blue", "coder", &[])]).await;
        bench.run(&plan).await;
        bench.ended(&plan).await;
        let path = format!("{}/context/search", bench.agent_path("coder").await);
        let (bench, path) = (&bench, &path);
        crate::chat::until(|| async move {
            let found = bench.ada.post(path, &json!({"query": "the blue shed"})).await.unwrap().body;
            found["results"][0]["text"].as_str().is_some_and(|text| text.contains("shed"))
        }).await;
    }
}
