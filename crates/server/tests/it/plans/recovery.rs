//! Plans over restarts.

use std::time::Duration;

use serde_json::json;

use super::{Bench, states, task};
use crate::chat::until;
use crate::on_both_sides;

on_both_sides! {
    /// OR-11.3, WS-8.3: killed in the middle a plan goes on: what was done is not done again, the attempt that was cut off is
    /// recorded as failed and tried anew. OR-11.6: every state is stored.
    async fn killed_in_the_middle(side) {
        let mut bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("done", "one", "researcher", &[]),
            ("cut", "SLOW two", "coder", &["done"]),
            ("rest", "three", "writer", &["cut"]),
        ]).await;
        bench.run(&plan).await;
        {
            let (shown, id) = (&bench, plan.as_str());
            until(|| async move { shown.states(id).await[1].1 == "executing" }).await;
        }
        bench.world.artel.kill().unwrap();
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!((&task(&ended, "done")["attempts"], &task(&ended, "cut")["attempts"]), (&json!(1), &json!(2)));
        assert_eq!(task(&ended, "cut")["result"], "took its time: one two three four five six");
        let told = bench.told(&["task_failed", "task_completed"]).await;
        let told: Vec<_> = told.iter().map(|(kind, it)| (kind.as_str(), it["plan"]["task"].as_str().unwrap(), it["error_type"].as_str())).collect();
        assert_eq!(told, [
            ("task_completed", "done", None),
            ("task_failed", "cut", Some("interrupted")),
            ("task_completed", "cut", None),
            ("task_completed", "rest", None),
        ]);
    }

    /// OR-11.3: an attempt is begun anew only so often.
    async fn there_is_a_limit(side) {
        let mut bench = Bench::new(side).await;
        let plan = bench.given(&[("cut", "HOLD", "coder", &[]), ("rest", "never", "writer", &["cut"])]).await;
        bench.run(&plan).await;
        for attempt in 1..=5 {
            {
                let (shown, id) = (&bench, plan.as_str());
                until(|| async move { task(&shown.show(id).await, "cut")["attempts"] == attempt }).await;
            }
            bench.world.artel.kill().unwrap();
            bench.world.artel.restart().unwrap();
            bench.ada = bench.world.user("ada");
        }
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        assert_eq!(states(&ended)[1].1, "skipped");
    }

    /// OR-11.3: stopped gently, what runs ends or is tried anew, and the plan goes on.
    async fn stopped_gently(side) {
        let mut bench = Bench::new(side).await;
        let plan = bench.given(&[("a", "SLOW one", "coder", &[]), ("b", "SLOW two", "coder", &["a"])]).await;
        bench.run(&plan).await;
        assert!(bench.world.artel.terminate().unwrap().0.success());
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        assert_eq!(bench.ended(&plan).await["status"], "completed");
    }

    /// OR-11.3: what may have changed something outside when it was cut off for good is asked about: again, or counted as failed.
    async fn outcome_unknown(side) {
        let mut bench = Bench::new(side).await;
        for (verdict, status) in [("approve", "completed"), ("reject", "failed"), ("cancel", "cancelled")] {
            let plan = bench.given(&[("cut", "HOLD", "coder", &[]), ("rest", "then", "writer", &["cut"])]).await;
            bench.run(&plan).await;
            {
                let (shown, id) = (&bench, plan.as_str());
                until(|| async move { shown.states(id).await[0].1 == "executing" }).await;
            }
            let attempt = task(&bench.show(&plan).await, "cut")["attempt_id"].as_str().unwrap().to_owned();
            bench.world.artel.kill().unwrap();
            // A call with effects that was made, and no progress that the task could go on from.
            bench.world.tamper(&format!(
                "insert into tool_calls (id, user_id, project_id, task_id, step, place, tool, arguments, risk_level, reason,
                                         status, timeout, created_at, updated_at, ended_at)
                 select '{attempt}', user_id, project_id, id, 1, 0, 'tool_write_file', '{{}}', '\"MEDIUM\"', '', 'succeeded', 30,
                        created_at, created_at, created_at from tasks where id = '{attempt}';
                 update task_plan_tasks set description = 'go' where status = 'executing'"
            ));
            bench.world.artel.restart().unwrap();
            bench.ada = bench.world.user("ada");
            {
                let (shown, id) = (&bench, plan.as_str());
                until(|| async move { shown.states(id).await[0].1 == "outcome_unknown" }).await;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(bench.show(&plan).await["status"], "executing", "it waits for a word");
            let asked = bench.ada.get("/my/approvals/?status=pending&type=plan").await.unwrap().body;
            let approval = &asked["approvals"][0];
            assert!(approval["payload"]["question"].as_str().unwrap().contains("may have taken effect"), "{approval}");
            let path = format!("/my/approvals/{}", approval["id"].as_str().unwrap());
            if verdict == "cancel" {
                assert_eq!(bench.act(&plan, "cancel", &json!({})).await.status, 200);
                assert_eq!(bench.ada.get(&path).await.unwrap().body["decided_from"], "cancelled", "nobody is asked any more");
            } else {
                assert_eq!(bench.ada.post(&format!("{path}/{verdict}"), &json!({})).await.unwrap().status, 200);
            }
            let ended = bench.ended(&plan).await;
            assert_eq!(ended["status"], status, "{ended}");
        }
    }
}
