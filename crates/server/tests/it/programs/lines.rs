//! A program of the line protocol, from its first message to its end.

use std::time::Duration;

use serde_json::json;

use super::{House, gone};
use crate::on_both_sides;

on_both_sides! {
    /// CA-1.2, CA-2.1, CA-2.2, CA-2.3, CA-5.1, CA-5.2, CA-8.4: a message starts it, its process keeps the conversation,
    /// everybody sees how it stands and what it wrote, and after it was stopped nothing of it is left.
    async fn a_program_is_an_agent(side) {
        let house = House::new(side, &[]).await;
        let agent = house.line("echo", &json!({"environment": {"MARK": "in-lines-one"}})).await;
        assert_eq!(house.process(&agent).await["state"], "INIT");
        assert_eq!(house.ask(&agent, "hello").await, ("1: hello".to_owned(), None));
        assert_eq!(house.ask(&agent, "again").await.0.trim(), "2: again");
        let process = house.process(&agent).await;
        assert_eq!((process["state"].as_str(), process["activity"].as_str()), (Some("RUNNING"), Some("idle")), "{process}");
        assert!(process["mark"].is_object() && process["memory"].as_u64().unwrap() > 0, "{process}");
        let health = house.ada.get("/health").await.unwrap().success().unwrap();
        assert_eq!((&health["active_processes"], &health["listening_agents"]), (&json!(1), &json!(1)));
        let lines = house.log(&agent).await;
        let texts: Vec<_> = lines.iter().map(|line| line["line"].as_str().unwrap()).collect();
        assert_eq!(texts, ["__READY__", "1: hello", "__DONE__", "2: again", "__DONE__"]);
        assert!(lines.iter().all(|line| line["stream"] == "stdout" && line["timestamp"].is_string()));
        let page = house.ada.get(&format!("/agents/{agent}/logs?limit=2&offset=1")).await.unwrap();
        assert_eq!(page.body["lines"][1]["line"], "2: again");
        assert_eq!(page.body["total"], 5);
        house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap().success().unwrap();
        assert_eq!(house.process(&agent).await["state"], "STOPPED");
        gone("MARK=in-lines-one", Duration::from_secs(5)).await;
        assert_eq!(house.ask(&agent, "and again").await.0.trim(), "1: and again", "a message starts it anew");
    }

    /// CA-4.1, CA-4.4, CA-4.5, CA-4.6: tools by lines: an answer is the reply, a question reaches the user and comes back
    /// answered, what it was not given or says wrongly is told to it, and nothing breaks.
    async fn tools_by_lines(side) {
        let house = House::new(side, &[]).await;
        let agent = house.line("caller", &json!({})).await;
        let call = |call: &str| format!("!call {call}");
        let (answer, _) = house.ask(&agent, &call(r#"{"tool":"answer","args":{"message":"It is \"done\""}}"#)).await;
        assert_eq!(answer, "It is \"done\"");
        for (wrong, complaint) in [
            (r#"{"tool":"answer","args":{}}"#, "message"),
            (r#"{"tool":"deploy","args":{}}"#, "deploy"),
            (r#"{"tool":"answer""#, "JSON"),
        ] {
            let (said, error) = house.ask(&agent, &call(wrong)).await;
            assert!(said.contains(complaint) && error.is_none(), "{wrong}: {said} {error:?}");
        }
        let task = house.tell(&agent, &call(r#"{"tool":"ask","args":{"question":"Which one?"}}"#)).await;
        let question = house.asked().await;
        assert_eq!(question["payload"]["question"], "Which one?");
        let id = question["id"].as_str().unwrap();
        assert_eq!(house.process(&agent).await["activity"], "waiting for a person");
        let path = format!("/agents/{agent}/questions/{id}/answer");
        let answered = house.ada.post(&path, &json!({"answer": "the \"blue\" one"})).await.unwrap();
        assert_eq!(answered.status, 200, "{}", answered.body);
        house.ended(&task).await;
        let again = house.ada.post(&path, &json!({"answer": "no"})).await.unwrap();
        assert_eq!(again.status, 409, "{}", again.body);
        let said: Vec<_> = house.log(&agent).await;
        assert!(said.iter().any(|line| line["line"].as_str().unwrap().contains("blue")), "{said:?}");
    }

    /// CA-2.4, CA-2.6: what cannot be started says why and what to do; an agent that is no program has no process.
    async fn what_cannot_be_says_why(side) {
        let house = House::new(side, &[]).await;
        let missing = house.line("missing", &json!({"command": ["no-such-program"]})).await;
        let (_, error) = house.ask(&missing, "hello").await;
        assert!(error.as_ref().is_some_and(|error| error.contains("no-such-program")), "{error:?}");
        let started = house.ada.post(&format!("/agents/{missing}/start"), &json!({})).await.unwrap();
        assert_eq!(started.status, 409, "{}", started.body);
        for (runtime, complaint) in [
            (json!({"kind": "no-such-kind"}), "claude-code"),
            (json!({"kind": "line", "command": ["x"], "sandbox": "docker"}), "agent_sandboxes"),
            (json!({"kind": "line", "command": ["x"], "workspace": "/etc"}), "agent_workspaces"),
            (json!({"kind": "line"}), "command"),
            (json!({"kind": "line", "command": ["x"], "options": {"odd": 1}}), "odd"),
            (json!({"kind": "codex", "unknown": 1}), "unknown"),
        ] {
            let body = json!({"name": "x", "runtime": runtime});
            let refused = house.ada.post(&format!("{}/agents", house.project), &body).await.unwrap();
            assert_eq!(refused.status, 422, "{runtime}: {}", refused.body);
            assert!(refused.body.to_string().contains(complaint), "{runtime}: {}", refused.body);
        }
        let model = crate::add_agent(&house.ada, &house.project, "model").await;
        for verb in ["start", "stop"] {
            let refused = house.ada.post(&format!("/agents/{model}/{verb}"), &json!({})).await.unwrap();
            assert_eq!((refused.status.as_u16(), refused.body["error_code"].as_str()), (409, Some("no_program")));
        }
        let bob = house.world.user("bob");
        for path in ["process", "logs", "logs/stream", "credentials"] {
            let foreign = bob.get(&format!("/agents/{missing}/{path}")).await.unwrap();
            assert_eq!(foreign.status, 404, "{path}");
        }
    }

    /// CA-3.2, CA-5.1: credentials are kept sealed, shown to nobody, given to this agent alone, and stay out of the log.
    async fn credentials_stay_secret(side) {
        let house = House::new(side, &[]).await;
        let options = json!({
            "start": {"key_variable": "MY_KEY", "base_url_variable": "MY_URL"},
            "protocol": {"ready": {"line": "^__READY__$"}, "turn_end": {"line": "^__DONE__$"}},
        });
        let agent = house.line("keyed", &json!({"options": options})).await;
        let path = format!("/agents/{agent}/credentials");
        assert_eq!(house.ada.get(&path).await.unwrap().body["source"], "none");
        let key = "sk-very-secret-key-123456";
        let set = house.ada.put(&path, &json!({"api_key": key, "base_url": "http://127.0.0.1:1"})).await.unwrap();
        assert_eq!((set.status.as_u16(), &set.body["has_key"], &set.body["source"]), (200, &json!(true), &json!("agent")));
        assert!(!set.body.to_string().contains(key));
        let (said, error) = house.ask(&agent, &format!("my key is {key}")).await;
        assert!(error.is_none(), "{said} {error:?}");
        let log = json!(house.log(&agent).await).to_string();
        assert!(!log.contains(key) && log.contains("[redacted]"), "{log}");
        let wrong = house.ada.put(&path, &json!({"base_url": "ftp://x"})).await.unwrap();
        assert_eq!(wrong.status, 422, "{}", wrong.body);
        let gone = house.ada.delete(&path).await.unwrap();
        assert_eq!(gone.status, 204);
        assert_eq!(house.ada.delete(&path).await.unwrap().status, 404);
    }

    /// CA-2.5: a server that is killed leaves nothing, and the next one knows; a message then starts the program anew.
    async fn a_killed_server_leaves_nothing(side) {
        let mut house = House::new(side, &[]).await;
        let mut agents = Vec::new();
        for (at, sandbox) in ["bubblewrap", "none"].iter().enumerate() {
            let more = json!({"sandbox": sandbox, "environment": {"MARK": "in-lines-kill"}});
            let agent = house.line(&format!("a{at}"), &more).await;
            let (_, error) = house.ask(&agent, "!fork").await;
            assert_eq!(error, None, "{sandbox}");
            agents.push(agent);
        }
        house.world.artel.kill().unwrap();
        gone("MARK=in-lines-kill", Duration::from_secs(8)).await;
        house.world.artel.restart().unwrap();
        house.ada = house.world.user("ada");
        for agent in &agents {
            let process = house.process_is(agent, |it| it["state"] == "KILLED").await;
            assert!(process["reason"].as_str().unwrap().contains("server"), "{process}");
            assert_eq!(house.ask(agent, "hello").await.0.trim(), "1: hello");
        }
    }
}
