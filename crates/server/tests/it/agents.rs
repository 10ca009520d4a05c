//! Agents: added, changed and removed by their owner.

use serde_json::json;

use crate::{add_agent, empty_project, faults, on_both_sides};

on_both_sides! {
    /// OR-1.4: an agent is added with its own capabilities and prompt; OR-1.2: metadata says what it can.
    async fn an_agent_is_added_whole(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let config = json!({
            "system_prompt": "Проверяй код. 🔎", "model": "anthropic/claude", "tools": ["tool_read_file"],
            "concurrency_limit": 2, "temperature": 0.1, "max_tokens": 100, "max_vectors": 500,
            "metadata": {"role": "reviewer", "capabilities": ["review_code"], "risk_level": "LOW", "team": {"colour": "red"}},
        });
        let created = ada.post(&format!("{project}/agents/"), &json!({"name": "ревьюер", "config": config})).await.unwrap();
        assert_eq!(created.status, 201, "{}", created.body);
        assert_eq!(created.body["config"], config, "what the user added to the metadata is kept too");
        let read = ada.get(&format!("{project}/agents/{}", created.id().unwrap())).await.unwrap();
        assert_eq!(read.body, created.body);
    }

    /// The configuration may stand flat beside the name, and what is left out has its default.
    async fn flat_configuration_and_defaults(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let created = ada.post(&format!("{project}/agents"), &json!({"name": "flat", "model": "m", "temperature": 1})).await.unwrap();
        assert_eq!(created.status, 201, "{}", created.body);
        let config = &created.body["config"];
        assert_eq!((&config["model"], &config["temperature"]), (&json!("m"), &json!(1.0)));
        assert_eq!((&config["concurrency_limit"], &config["max_tokens"], &config["max_vectors"]), (&json!(3), &json!(4096), &json!(1_000_000)));
        assert_eq!(config["metadata"]["risk_level"], "MEDIUM");
        let twice = json!({"name": "twice", "temperature": 1, "config": {"temperature": 2}});
        assert!(faults(&ada.post(&format!("{project}/agents"), &twice).await.unwrap()).contains_key("temperature"));
        let bare = ada.post(&format!("{project}/agents"), &json!({"name": "bare"})).await.unwrap();
        assert_eq!((bare.status.as_u16(), &bare.body["config"]["model"]), (201, &json!("gpt-4")));
    }

    /// OR-1.5: PUT replaces; PATCH changes parts, under the same bounds.
    async fn an_agent_is_changed(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let agent = format!("{project}/agents/{}", add_agent(&ada, &project, "a").await);
        let body = json!({"name": "b", "config": {"model": "m2", "metadata": {"capabilities": ["fix_bug"]}}});
        let put = ada.put(&agent, &body).await.unwrap();
        assert_eq!((put.status.as_u16(), &put.body["name"], &put.body["config"]["metadata"]["capabilities"]), (200, &json!("b"), &json!(["fix_bug"])));
        let patched = ada.patch(&agent, &json!({"config": {"temperature": 0.2, "metadata": {"role": "r"}}})).await.unwrap().body;
        assert_eq!(patched["config"]["temperature"], 0.2);
        assert_eq!(patched["config"]["model"], "m2", "the rest stays");
        assert_eq!(patched["config"]["metadata"]["capabilities"], json!(["fix_bug"]), "merged below too");
        let reset = ada.patch(&agent, &json!({"temperature": null})).await.unwrap().body;
        assert_eq!(reset["config"]["temperature"], 0.7, "null goes back to the default");
        let wrong = ada.patch(&agent, &json!({"temperature": 7, "colour": 1})).await.unwrap();
        assert!(faults(&wrong).contains_key("colour"));
        let wrong = ada.patch(&agent, &json!({"config": {"temperature": 7, "concurrency_limit": 11}})).await.unwrap();
        assert_eq!(faults(&wrong).keys().collect::<Vec<_>>(), ["config.concurrency_limit", "config.temperature"]);
        assert_eq!(ada.get(&agent).await.unwrap().body["config"], reset["config"], "what is refused changes nothing");
    }

    /// OR-1.6: a deleted agent is gone with what hangs on it.
    async fn an_agent_is_deleted(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let agent = format!("{project}/agents/{}", add_agent(&ada, &project, "a").await);
        assert_eq!(ada.delete(&agent).await.unwrap().status, 204);
        assert_eq!(ada.get(&agent).await.unwrap().status, 404);
        assert_eq!(ada.delete(&agent).await.unwrap().status, 404);
        assert_eq!(ada.patch(&agent, &json!({"name": "z"})).await.unwrap().status, 404);
        assert_eq!(ada.get(&format!("{project}/agents")).await.unwrap().body["total"], 0);
    }

    /// A name stands once in a project, however many come at the same time.
    async fn a_name_is_taken_once(side) {
        let world = side.start();
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        let body = json!({"name": "only", "model": "m"});
        let path = format!("{project}/agents");
        let tries: Vec<_> = (0..16).map(|_| { let (ada, body, path) = (ada.clone(), body.clone(), path.clone()); tokio::spawn(async move { ada.post(&path, &body).await.unwrap() }) }).collect();
        let mut statuses = Vec::new();
        for attempt in tries {
            let answer = attempt.await.unwrap();
            if answer.status == 409 {
                assert_eq!(answer.body["error_code"], "agent_name_taken");
            }
            statuses.push(answer.status.as_u16());
        }
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1);
        assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 15);
        let other = add_agent(&ada, &project, "other").await;
        let renamed = ada.patch(&format!("{path}/{other}"), &json!({"name": "only"})).await.unwrap();
        assert_eq!(renamed.status, 409);
        let replaced = ada.put(&format!("{path}/{other}"), &body).await.unwrap();
        assert_eq!(replaced.status, 409);
    }
}
