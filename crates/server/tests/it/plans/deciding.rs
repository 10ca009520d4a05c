//! Plans that ask first: what a person is shown, and what follows from a yes, a no, and from silence.

use std::time::Duration;

use serde_json::json;

use super::{Bench, states};
use crate::on_both_sides;

/// Three tasks, so that somebody is asked.
async fn three(bench: &Bench) -> String {
    bench
        .given(&[
            ("a", "one", "researcher", &[]),
            ("b", "two", "coder", &["a"]),
            ("c", "three", "writer", &["a"]),
        ])
        .await
}

on_both_sides! {
    /// OR-7.1: one or two cheap tasks run at once; OR-7.2, OR-7.3: three ask, with everything there is to know; OR-7.4: approved,
    /// it runs. PF-2.1.
    async fn small_ones_run_and_others_ask(side) {
        let bench = Bench::new(side).await;
        let small = bench.given(&[("a", "one", "coder", &[]), ("b", "two", "coder", &[])]).await;
        let begun = bench.act(&small, "execute", &json!({})).await;
        assert_eq!((&begun.body["status"], &begun.body["requires_approval"]), (&json!("executing"), &json!(false)));
        assert_eq!(bench.act(&small, "execute", &json!({})).await.status, 409);
        assert_eq!(bench.ended(&small).await["status"], "completed");

        let plan = three(&bench).await;
        assert_eq!(bench.act(&plan, "approve", &json!({})).await.status, 409, "nothing is asked yet");
        let begun = bench.act(&plan, "execute", &json!({})).await.body;
        assert_eq!((&begun["status"], &begun["risk_level"]), (&json!("waiting_approval"), &json!("HIGH")));
        let asked = bench.ada.get("/my/approvals/?status=pending&type=plan").await.unwrap().body;
        let approval = &asked["approvals"][0];
        assert_eq!((&asked["total"], &approval["id"]), (&json!(1), &begun["approval_id"]));
        let payload = &approval["payload"];
        assert_eq!(payload["tasks"][1]["agent"], "coder");
        assert_eq!(payload["tasks"][1]["dependencies"], json!(["a"]));
        assert_eq!(payload["graph"]["levels"], json!([["a"], ["b", "c"]]));
        for key in ["title", "request", "total_estimated_cost", "total_estimated_duration", "risk_level", "high_cost", "planner"] {
            assert!(!payload[key].is_null(), "{key}: {payload}");
        }
        assert!(states(&bench.show(&plan).await).iter().all(|(_, state)| state == "pending"));
        let told = bench.told(&["plan_request", "approval_required"]).await;
        assert_eq!(told.len(), 2, "{told:?}");
        let path = format!("/my/approvals/{}/approve", approval["id"].as_str().unwrap());
        assert_eq!(bench.ada.post(&path, &json!({})).await.unwrap().status, 200);
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "completed");
        assert_eq!(bench.act(&plan, "reject", &json!({})).await.status, 409, "decided is decided");
        let started = bench.told(&["task_started", "task_completed"]).await;
        assert_eq!(started.len(), 10, "progress is told: {started:?}");
    }

    /// OR-7.5: rejected, nothing of it runs, and the conversation says so with the reason.
    async fn rejected(side) {
        let bench = Bench::new(side).await;
        let plan = three(&bench).await;
        bench.act(&plan, "execute", &json!({})).await;
        let rejected = bench.act(&plan, "reject", &json!({"reason": "not on a Friday"})).await;
        assert_eq!((rejected.status.as_u16(), &rejected.body["status"]), (200, &json!("rejected")), "{}", rejected.body);
        assert!(states(&rejected.body).iter().all(|(_, state)| state == "cancelled"));
        let answer = bench.answer(&rejected.body).await;
        assert!(answer["content"].as_str().unwrap().contains("Rejected by the user: not on a Friday"), "{answer}");
        assert_eq!(answer["outcome"]["error_type"], "rejected");
        assert_eq!(bench.act(&plan, "retry", &json!({})).await.status, 409, "what was rejected cannot be retried into running");
        assert!(bench.told(&["task_started"]).await.is_empty());
    }

    /// OR-7.6: nobody decides: rejected at the deadline, also when the server was down at that moment. OR-11.3: what waits for
    /// approval waits over a restart, with its deadline.
    async fn nobody_decides(side) {
        let mut bench = Bench::new(side).await;
        let set = bench.ada.put("/my/preferences", &json!({"approval_timeout": 10})).await.unwrap();
        assert_eq!(set.status, 200);
        let plan = three(&bench).await;
        bench.act(&plan, "execute", &json!({})).await;
        let path = format!("/my/approvals/{}", bench.show(&plan).await["approval_id"].as_str().unwrap());
        let before = bench.ada.get(&path).await.unwrap().body;
        bench.world.artel.kill().unwrap();
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        let after = bench.ada.get(&path).await.unwrap().body;
        assert_eq!((&after["status"], &after["expires_at"]), (&json!("pending"), &before["expires_at"]));
        bench.world.artel.kill().unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        let ended = bench.ended(&plan).await;
        assert_eq!((&ended["status"], &ended["note"]), (&json!("rejected"), &json!("Rejected: nobody decided in time")));
        assert_eq!(bench.ada.get(&path).await.unwrap().body["status"], "timeout");
    }

    /// OR-7.2 (edit before approval): tasks are dropped and given to others; what hung on a dropped one hangs on what that hung on;
    /// whoever was asked is asked anew, and the old question is void.
    async fn edited_before_approval(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("a", "one", "researcher", &[]),
            ("b", "two", "coder", &["a"]),
            ("c", "three", "writer", &["b"]),
            ("d", "four", "analyst", &["c"]),
        ]).await;
        bench.act(&plan, "execute", &json!({})).await;
        let asked = bench.show(&plan).await["approval_id"].clone();
        let path = bench.path(&plan);
        let edit = json!({"drop": ["b"], "assign": {"d": "researcher"}});
        let edited = bench.ada.patch(&path, &edit).await.unwrap();
        assert_eq!(edited.status, 200, "{}", edited.body);
        assert_eq!(edited.body["graph"]["levels"], json!([["a"], ["c"], ["d"]]));
        assert_eq!(super::task(&edited.body, "c")["dependencies"], json!(["a"]));
        assert_eq!(super::task(&edited.body, "d")["agent_name"], "researcher");
        assert_eq!(edited.body["status"], "waiting_approval");
        assert_ne!(edited.body["approval_id"], asked);
        let old = bench.ada.post(&format!("/my/approvals/{}/approve", asked.as_str().unwrap()), &json!({})).await.unwrap();
        assert_eq!(old.status, 409, "what was shown is not what would run");
        for bad in [
            json!({"drop": ["ghost"]}),
            json!({"assign": {"a": "ghost"}}),
            json!({"drop": ["a", "c", "d"]}),
        ] {
            assert_eq!(bench.ada.patch(&path, &bad).await.unwrap().status, 422, "{bad}");
        }
        assert_eq!(bench.act(&plan, "approve", &json!({})).await.status, 200);
        assert_eq!(bench.ended(&plan).await["status"], "completed");
        assert_eq!(bench.ada.patch(&path, &json!({"drop": ["a"]})).await.unwrap().status, 409, "it has run");
    }
}

/// OR-5.4: above a dollar a plan is marked, and asks however small it is; OR-5.1: by the prices of the models. What has no
/// price asks too.
#[tokio::test]
async fn dear_ones_ask() {
    let environment = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")];
    let bench = Bench::with(crate::Side::Embedded, &environment).await;
    let tools = ["tool_read_file", "tool_write_file"];
    bench.agent(&json!({"name": "dear", "model": "openai/gpt-4", "tools": tools})).await;
    bench.agent(&json!({"name": "odd", "model": "openai/nobody-knows"})).await;
    let plan = bench.given(&[("a", "one", "dear", &[])]).await;
    let shown = bench.show(&plan).await;
    assert_eq!(
        (&shown["high_cost"], &shown["requires_approval"], &shown["risk_level"]),
        (&json!(true), &json!(true), &json!("HIGH")),
        "{shown}"
    );
    let cost = &shown["total_estimated_cost"];
    assert!(cost["min"].as_f64().unwrap() < 0.2 && cost["max"].as_f64().unwrap() > 1.0, "{cost}");
    let calls = &shown["tasks"][0]["estimated_calls"];
    assert_eq!(calls, 6);
    let plan = bench.given(&[("a", "one", "odd", &[])]).await;
    let shown = bench.show(&plan).await;
    assert_eq!((&shown["unpriced"], &shown["requires_approval"]), (&json!(true), &json!(true)));
}
