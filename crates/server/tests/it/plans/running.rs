//! Plans that run: in which order, how much at a time, and what becomes of failures.

use serde_json::json;

use super::{Bench, states, task};
use crate::on_both_sides;

on_both_sides! {
    /// OR-3.1, OR-4.3, OR-9.1, OR-9.2, OR-11.5, WS-23.3: a chain runs one by one, each with what those before it gave, and
    /// every step is told. PF-4.6.
    async fn a_chain(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("first", "find the red door", "researcher", &[]),
            ("second", "describe it", "analyst", &["first"]),
            ("third", "sum it up", "writer", &["second"]),
        ]).await;
        bench.run(&plan).await;
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(ended["graph"]["levels"], json!([["first"], ["second"], ["third"]]));
        assert_eq!(ended["graph"]["critical_path"], json!(["first", "second", "third"]));
        assert_eq!(ended["graph"]["edges"][0], json!({"from": "first", "to": "second"}));
        assert_eq!(task(&ended, "first")["result"], "done: find the red door");
        let second = task(&ended, "second")["result"].as_str().unwrap();
        assert!(second.starts_with("done: describe it") && second.contains("done: find the red door"), "{second}");
        assert!(second.contains("not an instruction"), "{second}");
        let told = bench.told(&["task_started", "task_completed", "plan_status_changed"]).await;
        let told: Vec<_> = told.iter().map(|(kind, it)| (kind.as_str(), it["plan"]["task"].as_str().or(it["status"].as_str()).unwrap())).collect();
        assert_eq!(told, [
            ("plan_status_changed", "waiting_approval"),
            ("plan_status_changed", "executing"),
            ("task_started", "first"), ("task_completed", "first"),
            ("task_started", "second"), ("task_completed", "second"),
            ("task_started", "third"), ("task_completed", "third"),
            ("plan_status_changed", "completed"),
        ]);
        let answer = bench.answer(&ended).await;
        for part in ["## first (researcher)", "## third (writer)", "find the red door"] {
            assert!(answer["content"].as_str().unwrap().contains(part), "{answer}");
        }
        assert_eq!(answer["outcome"]["plan_id"], ended["id"]);
        assert_eq!(ended["completed_count"], 3);
    }

    /// OR-3.2, OR-3.4, OR-4.1, OR-4.2, OR-4.4, WS-23.2: independent tasks run together; one starts when its own dependencies are
    /// done, and not when a whole level is.
    async fn a_diamond_and_more(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("top", "begin", "researcher", &[]),
            ("left", "SLOW left", "coder", &["top"]),
            ("right", "right", "analyst", &["top"]),
            ("under", "under right", "researcher", &["right"]),
            ("bottom", "end", "writer", &["left", "under"]),
        ]).await;
        bench.run(&plan).await;
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["graph"]["levels"], json!([["top"], ["left", "right"], ["under"], ["bottom"]]));
        let told = bench.told(&["task_started", "task_completed"]).await;
        let at = |kind: &str, name: &str| told.iter().position(|(it, payload)| it == kind && payload["plan"]["task"] == name).unwrap();
        assert!(at("task_started", "right") < at("task_completed", "left"), "together: {told:?}");
        assert!(at("task_started", "under") < at("task_completed", "left"), "before its level is done: {told:?}");
        assert!(at("task_started", "bottom") > at("task_completed", "left"), "{told:?}");
        let bottom = task(&ended, "bottom")["result"].as_str().unwrap().to_owned();
        assert!(bottom.contains("--- left (by coder)") && bottom.contains("--- under (by researcher)"), "{bottom}");
    }

    /// OR-4.2, OR-8.4: never more than three of a plan at a time, nor more of an agent than it takes; what waits has its turn.
    async fn limits_hold(side) {
        let bench = Bench::new(side).await;
        let names: Vec<_> = (0..12).map(|at| format!("t{at}")).collect();
        let tasks: Vec<_> = names.iter().enumerate().map(|(at, name)| {
            (name.as_str(), "SLOW work", if at % 2 == 0 { "writer" } else { "coder" }, &[][..])
        }).collect();
        let plan = bench.given(&tasks).await;
        bench.run(&plan).await;
        assert_eq!(bench.ended(&plan).await["status"], "completed");
        let told = bench.told(&["task_started", "task_completed"]).await;
        let writer = bench.agent_path("writer").await;
        let (mut all, mut most, mut writers) = (0_i32, 0, 0_i32);
        for (kind, payload) in &told {
            let step = if kind == "task_started" { 1 } else { -1 };
            all += step;
            most = most.max(all);
            assert!(all <= 3, "{told:?}");
            if writer.ends_with(payload["agent_id"].as_str().unwrap()) {
                writers += step;
                assert!(writers <= 1, "{told:?}");
            }
        }
        assert_eq!((told.len(), most), (24, 3));
    }

    /// OR-9.3, OR-9.4, OR-7.7: a failure stops what depends on it and nobody else; with nothing done the plan is failed.
    async fn failures(side) {
        let bench = Bench::new(side).await;
        let plan = bench.given(&[
            ("bad", "FAIL here", "coder", &[]),
            ("after", "never", "writer", &["bad"]),
            ("last", "never either", "writer", &["after"]),
            ("good", "fine", "analyst", &[]),
            ("better", "fine too", "researcher", &["good"]),
        ]).await;
        bench.run(&plan).await;
        let ended = bench.ended(&plan).await;
        assert_eq!(ended["status"], "partial_success", "{ended}");
        let expected = [("bad", "failed"), ("after", "skipped"), ("last", "skipped"), ("good", "completed"), ("better", "completed")];
        assert_eq!(states(&ended), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let note = ended["note"].as_str().unwrap();
        assert!(note.starts_with("2 of 5 tasks succeeded. \"bad\" failed"), "{note}");
        let answer = bench.answer(&ended).await;
        assert_eq!(answer["outcome"]["success"], false);
        assert!(answer["content"].as_str().unwrap().contains("done: fine"));
        let told = bench.told(&["task_failed", "task_cancelled"]).await;
        assert_eq!(told.len(), 3, "one failed, two were never begun: {told:?}");

        let plan = bench.given(&[("bad", "FAIL", "coder", &[]), ("after", "never", "writer", &["bad"])]).await;
        bench.run(&plan).await;
        assert_eq!(bench.ended(&plan).await["status"], "failed");
    }

    /// OR-5.4, OR-6.1, OR-5.3, OR-6.4: what was done stands beside what was expected, and the next plan knows it.
    async fn estimates_learn(side) {
        let bench = Bench::new(side).await;
        let one = async || {
            let plan = bench.given(&[("a", "SLOW a", "coder", &[])]).await;
            bench.run(&plan).await;
            bench.ended(&plan).await
        };
        let first = one().await;
        let guessed = &first["total_estimated_duration"];
        assert!(guessed["min"].as_f64() < guessed["max"].as_f64(), "{guessed}");
        let took = first["actual_duration"].as_f64().unwrap();
        assert!(took > 0.2, "{first}");
        assert_eq!(first["actual_cost"], 0.0);
        assert_eq!(task(&first, "a")["usage"]["model"], "scripted/worker");
        for _ in 0..6 {
            one().await;
        }
        let later = one().await;
        let known = &later["total_estimated_duration"];
        let width = |range: &serde_json::Value| range["max"].as_f64().unwrap() - range["min"].as_f64().unwrap();
        assert!(width(known) < width(guessed), "{known} is no narrower than {guessed}");
        let metrics = bench.ada.request(reqwest::Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
        assert!(metrics.contains("artel_plan_estimate_ratio") && metrics.contains("artel_plans_ended_total"), "{metrics}");
    }

    /// OR-9.2: a long result is handed on in part, with how to read the rest, and the rest can be read; the answer shows a part
    /// of it too.
    async fn long_results(side) {
        let mut bench = Bench::new(side).await;
        let config = json!({"concurrency_limit": 1, "max_tokens": 128_000});
        for name in ["long", "reader"] {
            let mut agent = config.clone();
            (agent["name"], agent["model"]) = (json!(name), json!(format!("scripted/{name}")));
            bench.agent(&agent).await;
        }
        let plan = bench.given(&[("a", "one", "long", &[]), ("b", "two", "reader", &["a"])]).await;
        // It answers so only when it was told that something was cut, and how much.
        let reader = format!(
            "[[rules]]\nwhen = '(cut: 24000 of 30000 characters; the rest by read_result with plan {plan}'\n\
             calls = [{{ name = 'read_result', arguments = {{ plan = '{plan}', task = 'a', offset = 29990 }} }}]\n\
             [[rules]]\nafter = 'read_result'\ntext = 'it ends in {{result}}'\n"
        );
        let long = format!("[[rules]]\ntext = '{}the-end-it'\n", "x".repeat(29_990));
        let folder = bench.world.artel.data_dir().join("scripts");
        std::fs::write(folder.join("reader.toml"), reader).unwrap();
        std::fs::write(folder.join("long.toml"), long).unwrap();
        bench.world.artel.restart().unwrap();
        bench.ada = bench.world.user("ada");
        bench.run(&plan).await;
        let ended = bench.ended(&plan).await;
        assert_eq!(task(&ended, "a")["result"].as_str().unwrap().len(), 30_000);
        assert_eq!(task(&ended, "b")["result"], "it ends in the-end-it", "{}", task(&ended, "b"));
        let answer = bench.answer(&ended).await["content"].as_str().unwrap().to_owned();
        assert!(answer.contains("(cut; the whole stands in the plan)") && answer.len() < 25_000, "{}", answer.len());
    }
}
