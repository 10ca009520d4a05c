//! Plans that serve again.

use serde_json::{Value, json};

use super::Bench;
use crate::on_both_sides;

async fn asked(bench: &Bench, request: &str) -> Value {
    let made = bench.plan(&json!({"request": request})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.body
}

async fn ran(bench: &Bench, request: &str) -> Value {
    let plan = asked(bench, request).await;
    bench.run(plan["id"].as_str().unwrap()).await;
    let ended = bench.ended(plan["id"].as_str().unwrap()).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    ended
}

on_both_sides! {
    /// OR-10.1, OR-11.7: a plan that ran well is cached under a hash of its request; OR-10.2: the same request finds it, and one in
    /// other words if nothing that matters differs; OR-10.3: until an agent of it changes.
    async fn plans_serve_again(side) {
        let bench = Bench::new(side).await;
        let request = "Fix the bug in the login form of the shop, please";
        let first = ran(&bench, request).await;
        assert_eq!(first["planner"], "fallback", "{first}");
        let same = "  fix the BUG in the login form of the shop, please! ";
        let cached = async |request: &str| {
            for _ in 0..50 {
                let plan = asked(&bench, request).await;
                if plan["planner"] == "cache" {
                    return plan;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            panic!("{request:?} was never found in the cache");
        };
        let again = cached(same).await;
        assert!(again["planner_note"].as_str().unwrap().contains(first["id"].as_str().unwrap()), "{again}");
        assert_eq!(again["tasks"][0]["description"], first["tasks"][0]["description"]);
        let words = cached("Please fix the bug in the login form of the shop").await;
        assert!(words["tasks"][0]["description"].as_str().unwrap().contains("as it is put now: Please fix"), "{words}");
        for other in ["Fix the bug in the login form of the shop, please, but not in auth.py", "Review the code of the cart"] {
            assert_ne!(asked(&bench, other).await["planner"], "cache", "{other}");
        }
        let user = first["user_id"].as_i64().unwrap();
        let prefix = format!("user{user}_project{}", first["project_id"].as_str().unwrap());
        if let Some(found) = bench.world.shares(&format!("{prefix}:plan:index")) {
            assert!(found, "what nodes share has it");
        }
        // Never in another project.
        let other = json!({"name": "Other", "starter_pack": "workspace"});
        let other = bench.ada.post("/my/projects/", &other).await.unwrap();
        let path = format!("/my/projects/{}/plans/", other.id().unwrap());
        let elsewhere = bench.ada.post(&path, &json!({"request": request})).await.unwrap();
        assert_eq!(elsewhere.body["planner"], "fallback", "{}", elsewhere.body);
        // An agent of it changes.
        let coder = bench.agent_path(first["tasks"][0]["agent_name"].as_str().unwrap()).await;
        let changed = bench.ada.patch(&coder, &json!({"system_prompt": "You are another now."})).await.unwrap();
        assert_eq!(changed.status, 200, "{}", changed.body);
        assert_eq!(asked(&bench, request).await["planner"], "fallback");
        if let Some(found) = bench.world.shares(&format!("{prefix}:plan:index")) {
            assert!(found, "the others are still there");
        }
    }

    /// OR-10.1: what did not run well is not repeated.
    async fn failures_are_not_repeated(side) {
        let bench = Bench::new(side).await;
        let request = "Fix the bug FAIL in the shop";
        let plan = asked(&bench, request).await;
        bench.run(plan["id"].as_str().unwrap()).await;
        assert_eq!(bench.ended(plan["id"].as_str().unwrap()).await["status"], "failed");
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(asked(&bench, request).await["planner"], "fallback");
    }
}

/// OR-10.4: for a day.
#[tokio::test]
async fn for_a_day() {
    let bench = Bench::new(crate::Side::Grown).await;
    let first = ran(&bench, "Fix the bug in the cart").await;
    let user = first["user_id"].as_i64().unwrap();
    let key = format!("user{user}_project{}:plan:index", first["project_id"].as_str().unwrap());
    let world = &bench.world;
    let lives = crate::chat::until(|| {
        let key = &key;
        async move { world.lives(key).is_some_and(|seconds| (86_000..=86_400).contains(&seconds)) }
    });
    lives.await;
}
