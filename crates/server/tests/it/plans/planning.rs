//! From words to a graph: by a model that may answer anything, and without one.

use std::time::{Duration, Instant};

use artel_modelstub::{Scenario, Stub};
use serde_json::{Value, json};

use super::{Bench, task};
use crate::{Side, on_both_sides};

fn submit(tasks: &Value) -> Value {
    json!({"tool_calls": [{"name": "submit_plan", "arguments": {"title": "By the model", "tasks": tasks}}]})
}

fn one(name: &str, agent: &str, on: &[&str]) -> Value {
    json!({"name": name, "description": format!("do {name}"), "agent": agent, "depends_on": on})
}

/// A server whose planner asks a stub that does these things when the request has these marks.
async fn planner(rules: Value) -> (Bench, Stub) {
    let rule = |(mark, steps): (&String, &Value)| {
        let steps = steps.as_array().unwrap();
        let mut rule = steps[0].clone();
        // With its brackets: ids that the stub makes up may have the letters.
        rule["when"] = json!({"contains": format!("({mark})"), "system": "You plan work"});
        rule["then"] = json!(steps[1..].to_vec());
        rule
    };
    let rules: Vec<_> = rules.as_object().unwrap().iter().map(rule).collect();
    let scenario =
        json!({"key": "sk", "usage": {"input": 2000, "output": 100, "cached": 0}, "rules": rules});
    let stub = Stub::start(Scenario::parse(&scenario.to_string()).unwrap()).await.unwrap();
    let base = format!("{}/v1", stub.url());
    let environment =
        [("OPENAI_API_KEY", "sk"), ("OPENAI_BASE_URL", &base), ("ARTEL_PLANNER_TIMEOUT", "1s")];
    let bench = Bench::with(Side::Embedded, &environment).await;
    let metadata = json!({"role": "orchestrator", "capabilities": ["coordinate_workflow"], "risk_level": "LOW"});
    bench.agent(&json!({"name": "chief", "model": "openai/gpt-4o", "system_prompt": "You are the chief.", "metadata": metadata})).await;
    (bench, stub)
}

async fn asked(bench: &Bench, request: &str) -> Value {
    let made = bench.plan(&json!({"request": request})).await;
    assert_eq!(made.status, 201, "{request}: {}", made.body);
    made.body
}

/// OR-2.2, OR-3.2, OR-5.4: the model's graph is the plan, with what planning cost; OR-1.1, OR-1.2, OR-5.1: it was told the
/// team as it is, with prices and load.
#[tokio::test]
async fn a_model_plans() {
    let tasks = json!([
        one("look", "researcher", &[]),
        one("read", "analyst", &[]),
        one("build", "coder", &["look", "read"])
    ]);
    let (bench, stub) = planner(json!({"K1": [{"reply": submit(&tasks)}]})).await;
    let plan = asked(&bench, "Find out about FastAPI and build a REST API (K1)").await;
    assert_eq!(
        (&plan["planner"], &plan["title"]),
        (&json!("model"), &json!("By the model")),
        "{plan}"
    );
    assert_eq!(plan["graph"]["levels"], json!([["look", "read"], ["build"]]));
    assert!(plan["actual_cost"].as_f64().unwrap() > 0.0, "planning is not free: {plan}");
    let sent = stub.requests().pop().unwrap().body;
    let system = sent["messages"][0]["content"].as_str().unwrap();
    for part in [
        "You are the chief.",
        "\"name\":\"researcher\"",
        "fix_bug",
        "tasks_under_way",
        "dollars_per_million_tokens",
    ] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert_eq!(sent["tool_choice"]["function"]["name"], "submit_plan");
    assert_eq!(sent["messages"][1]["content"], "Find out about FastAPI and build a REST API (K1)");
}

/// OR-3.3, OR-2.4, OR-12.3: garbage, prose, a cycle, unknown agents, far too many tasks, nothing, an error or silence: mended by
/// the model in one round, or planned without it, within the time; and the plan says which.
#[tokio::test]
async fn a_model_that_answers_anything() {
    let good = submit(&json!([one("fix", "coder", &[])]));
    let cycle = submit(&json!([one("a", "coder", &["b"]), one("b", "writer", &["a"])]));
    let many: Vec<_> = (0..10_000).map(|at| one(&format!("t{at}"), "coder", &[])).collect();
    let prose = "Here it is: {\"title\": \"t\", \"tasks\": [{\"name\": \"fix\", \"description\": \"d\", \"agent\": \"coder\", \"depends_on\": []}]}";
    let (bench, stub) = planner(json!({
        "K1": [{"reply": cycle}, {"reply": good}],
        "K2": [{"reply": {"text": prose}}],
        "K3": [{"reply": {"text": "I would rather talk about the weather."}}],
        "K4": [{"reply": cycle}],
        "K5": [{"reply": submit(&json!([one("a", "ghost", &[])]))}],
        "K6": [{"reply": submit(&json!(many))}],
        "K7": [{"reply": {"text": ""}}],
        "K8": [{"fault": {"type": "hang"}}],
        "K9": [{"fault": {"type": "status", "status": 500}}],
        "Q1": [{"fault": {"type": "garbage", "as": "html"}, "reply": {"text": "x"}}],
        "Q2": [{"reply": {"tool_calls": [{"name": "submit_plan", "arguments": "{\"tasks\": 7}"}]}}],
        "Q3": [{"reply": submit(&json!([{"name": "", "description": "", "agent": "coder", "depends_on": ["x"]}]))}],
        "Q4": [{"reply": submit(&json!([]))}],
    })).await;
    for (mark, planner) in [
        ("K1", "model"),
        ("K2", "model"),
        ("K3", "fallback"),
        ("K4", "fallback"),
        ("K5", "fallback"),
        ("K6", "fallback"),
        ("K7", "fallback"),
        ("K8", "fallback"),
        ("K9", "fallback"),
        ("Q1", "fallback"),
        ("Q2", "fallback"),
        ("Q3", "fallback"),
        ("Q4", "fallback"),
    ] {
        let began = Instant::now();
        let plan = asked(&bench, &format!("Fix the bug in the cart ({mark})")).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{mark} took {:?}", began.elapsed());
        assert_eq!(plan["planner"], planner, "{mark}: {plan}");
        assert_eq!(plan["tasks"][0]["agent_name"], "coder", "{mark}: {plan}");
        if planner == "fallback" {
            assert!(!plan["planner_note"].as_str().unwrap().is_empty(), "{mark}: {plan}");
        }
    }
    let mended = stub
        .requests()
        .iter()
        .any(|it| it.body.to_string().contains("Circular dependency detected: a → b → a"));
    assert!(mended, "the model was told what is wrong");
}

/// OR-2.4, OR-8.3: what the model says nobody can do is refused in its words.
#[tokio::test]
async fn a_model_that_refuses() {
    let refusal = json!({"tool_calls": [{"name": "submit_plan", "arguments": {"title": "", "tasks": [], "refusal": "nobody here bakes"}}]});
    let (bench, _stub) = planner(json!({"K1": [{"reply": refusal}]})).await;
    let refused = bench.plan(&json!({"request": "Bake a cake (K1)"})).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["error_code"]),
        (422, &json!("no_suitable_agent"))
    );
    assert!(
        refused.body["detail"]
            .as_str()
            .unwrap()
            .contains("No suitable agent available for task: nobody here bakes")
    );
}

on_both_sides! {
    /// OR-12.1, OR-12.2, OR-12.3, OR-2.1, OR-2.2, OR-8.1: without a model the words decide; OR-2.4, OR-8.3: what nobody can do is
    /// refused with what the team can do.
    async fn words_decide(side) {
        let bench = Bench::new(side).await;
        let plan = asked(&bench, "check the code in auth.py").await;
        assert_eq!((&plan["planner"], plan["tasks"].as_array().unwrap().len()), (&json!("fallback"), 1), "{plan}");
        assert_eq!(plan["tasks"][0]["agent_name"], "analyst", "{plan}");
        assert!(plan["planner_note"].as_str().unwrap().contains("No model is configured"), "{plan}");
        let plan = asked(&bench, "Research the FastAPI framework, then implement a REST API with it").await;
        let tasks = plan["tasks"].as_array().unwrap();
        let agents: Vec<_> = tasks.iter().map(|task| task["agent_name"].as_str().unwrap()).collect();
        assert_eq!(agents, ["researcher", "coder"], "{plan}");
        assert_eq!(tasks[1]["dependencies"], json!([tasks[0]["task_id"]]));
        let refused = bench.plan(&json!({"request": "Order a pizza"})).await;
        assert_eq!((refused.status.as_u16(), &refused.body["error_code"]), (422, &json!("no_suitable_agent")), "{}", refused.body);
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains("No suitable agent available for task") && detail.contains("pizza") && detail.contains("fix_bug"), "{detail}");
        let session = crate::chat::session(&bench.ada, &bench.project).await;
        assert_eq!(bench.ada.post(&session, &json!({"content": "Order a pizza"})).await.unwrap().status, 422);
    }

    /// OR-1.1, OR-1.9: only agents that are ready are planned with; OR-1.4, OR-1.5: an agent's capabilities count as they are now;
    /// OR-1.7, OR-1.8: those of this project alone; OR-8.2: among several the one with the least to do.
    async fn the_team_as_it_is(side) {
        let bench = Bench::new(side).await;
        let fixes = async || asked(&bench, "Fix the bug in the cart").await["tasks"][0]["agent_name"].as_str().unwrap().to_owned();
        assert_eq!(fixes().await, "coder");
        let second = json!({"name": "second", "model": "scripted/worker", "metadata": {"capabilities": ["fix_bug", "implement_feature", "write_code"]}});
        bench.agent(&second).await;
        let held = bench.given(&[("a", "HOLD", "coder", &[])]).await;
        bench.run(&held).await;
        assert_eq!(fixes().await, "second", "the other has something to do");
        bench.act(&held, "cancel", &json!({})).await;
        assert_eq!(fixes().await, "coder");
        for status in ["busy", "error"] {
            bench.world.tamper(&format!("update agents set status = '{status}' where name = 'coder'"));
            assert_eq!(fixes().await, "second", "{status}");
        }
        let path = bench.agent_path("second").await;
        bench.ada.patch(&path, &json!({"metadata": {"capabilities": ["translate"]}})).await.unwrap();
        let refused = bench.plan(&json!({"request": "Fix the bug in the cart"})).await;
        assert_eq!(refused.status, 422, "nobody fixes bugs now: {}", refused.body);
        let own = json!({"name": "Own", "starter_pack": "none"});
        let own = bench.ada.post("/my/projects/", &own).await.unwrap();
        let refused = bench.ada.post(&format!("/my/projects/{}/plans", own.id().unwrap()), &json!({"request": "Fix a bug"})).await.unwrap();
        assert_eq!(refused.status, 422, "{}", refused.body);
        let foreign = bench.world.user("eve").post(&format!("{}/plans", bench.project), &json!({"request": "Fix a bug"})).await.unwrap();
        assert_eq!(foreign.status, 404);
    }

    /// OR-3.3: a plan that comes with the request passes the same check, and everything wrong with it is named.
    async fn given_plans_are_checked(side) {
        let bench = Bench::new(side).await;
        let try_it = async |tasks: Value| bench.plan(&json!({"request": "r", "tasks": tasks})).await;
        let cycle = try_it(json!([one("a", "coder", &["c"]), one("b", "coder", &["a"]), one("c", "coder", &["b"])])).await;
        let said = crate::faults(&cycle)["tasks"].clone();
        assert_eq!(said, "Circular dependency detected: a → c → b → a");
        for (tasks, word) in [
            (json!([one("a", "ghost", &[])]), "there is no agent \"ghost\" in this project that is ready"),
            (json!([one("a", "coder", &["z"])]), "Task \"a\" depends on \"z\", which is not in the plan"),
            (json!([one("a", "coder", &[]), one("a", "coder", &[])]), "Two tasks are called \"a\""),
        ] {
            let said = crate::faults(&try_it(tasks).await)["tasks"].clone();
            assert!(said.contains(word), "{word}: {said}");
        }
        let empty = json!([{"name": "a", "description": "", "agent": "coder", "depends_on": []}]);
        assert!(crate::faults(&try_it(empty).await).contains_key("tasks.0.description"));
        assert!(crate::faults(&try_it(json!([])).await).contains_key("tasks"));
        let twice = try_it(json!([one("a", "coder", &[]), one("b", "coder", &[]), one("c", "coder", &["a", "b", "a"])])).await;
        assert_eq!(task(&twice.body, "c")["dependencies"], json!(["a", "b"]), "said twice is said once");
        let many: Vec<_> = (0..501).map(|at| one(&at.to_string(), "coder", &[])).collect();
        assert_eq!(try_it(json!(many)).await.status, 422);
        let most: Vec<_> = (0..500).map(|at| one(&at.to_string(), "coder", &[])).collect();
        let made = try_it(json!(most)).await;
        assert_eq!((made.status.as_u16(), &made.body["task_count"]), (201, &json!(500)));
        let session = json!({"request": "r", "session_id": "0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3"});
        assert_eq!(bench.plan(&session).await.status, 404);
        assert_eq!(task(&made.body, "7")["agent_name"], "coder");
    }
}
