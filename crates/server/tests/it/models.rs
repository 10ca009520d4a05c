//! Agents whose models are services, spoken to over their real wires.

use artel_modelstub::{Scenario, Stub};
use artel_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::{Side, empty_project};

/// A stub that plays this.
async fn stub(scenario: &Value) -> Stub {
    Stub::start(Scenario::parse(&scenario.to_string()).unwrap()).await.unwrap()
}

/// A session with an agent on this model, and a message to it.
async fn ask(client: &Client, model: &str, texts: &[&str]) -> Vec<Answer> {
    let project = empty_project(client).await;
    let agent =
        json!({"name": "a", "model": model, "system_prompt": "You are terse.", "temperature": 0.5});
    assert_eq!(client.post(&format!("{project}/agents"), &agent).await.unwrap().status, 201);
    let session = client.post(&format!("{project}/chat/sessions"), &json!({})).await.unwrap();
    let path = format!("{project}/chat/{}/message", session.id().unwrap());
    let mut answers = Vec::new();
    for text in texts {
        let body = json!({"content": text, "target_agent": "a"});
        answers.push(client.post(&path, &body).await.unwrap());
    }
    answers
}

/// PF-3.3: an agent gets the session's last messages and the task, and its system prompt stays the system's; usage is
/// the provider's, priced by the table (OR-5.1), on each of the three wires.
#[tokio::test]
async fn every_wire_carries_a_conversation() {
    let stub = stub(&json!({
        "key": "sk-test", "usage": {"input": 1000, "output": 100, "cached": 0},
        "rules": [{"when": {"system": "terse"}, "reply": {"text": "Answer to {{last_user}}", "chunk": 3}}],
    })).await;
    let url = stub.url();
    let openai = format!("{url}/v1");
    let world = Side::Embedded.start_with(&[
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", &openai),
        ("ANTHROPIC_API_KEY", "sk-test"),
        ("ANTHROPIC_BASE_URL", &url),
        ("GEMINI_API_KEY", "sk-test"),
        ("GEMINI_BASE_URL", &url),
    ]);
    let ada = world.user("ada");
    for model in
        ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "gpt-4o"]
    {
        let answers = ask(&ada, model, &["first", "second"]).await;
        assert_eq!(answers[1].body["content"], "Answer to second", "{model}: {}", answers[1].body);
        let usage = &answers[1].body["usage"];
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"], &usage["estimated"]),
            (&json!(1000), &json!(100), &json!(false)),
            "{model}"
        );
        assert!(usage["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{model}: {usage}");
        let last = stub.requests().pop().unwrap();
        let sent = last.body.to_string();
        for text in ["first", "Answer to first", "second", "You are terse."] {
            assert!(sent.contains(text), "{model}: {text} is not in {sent}");
        }
    }
    assert!(!world.artel.log().contains("sk-test"), "PF-5.6: the key is in no log");
}

/// PF-1.6: a passing fault is tried again, honouring `Retry-After`; a lasting one fails at once; a used-up quota is
/// shown as such.
#[tokio::test]
async fn faults_of_the_service() {
    let stub = stub(&json!({"rules": [
        {"when": {"last_user": "busy"}, "fault": {"type": "status", "status": 429, "retry_after": 1}, "then": [{"reply": {"text": "at last"}}]},
        {"when": {"last_user": "refused"}, "fault": {"type": "status", "status": 400}},
        {"when": {"last_user": "quota"}, "fault": {"type": "status", "status": 429, "error": "insufficient_quota", "retry_after": 3600}},
        {"when": {"last_user": "cut"}, "reply": {"text": "half of an answer", "chunk": 4}, "fault": {"type": "cut", "after": 2}},
    ]})).await;
    let base = format!("{}/v1", stub.url());
    let world =
        Side::Embedded.start_with(&[("OPENAI_API_KEY", "sk-test"), ("OPENAI_BASE_URL", &base)]);
    let ada = world.user("ada");
    let answers = ask(&ada, "openai/gpt-4o", &["busy", "refused", "quota", "cut"]).await;
    assert_eq!(answers[0].body["content"], "at last", "{}", answers[0].body);
    let seen: Vec<_> = answers
        .iter()
        .map(|answer| (answer.body["success"].clone(), answer.body["error_type"].clone()))
        .collect();
    assert_eq!(seen[1], (json!(false), json!("execution")));
    assert_eq!(seen[2], (json!(false), json!("quota")));
    assert_eq!(seen[3], (json!(false), json!("execution")));
    assert!(
        answers[3].body["content"].as_str().unwrap().starts_with("half"),
        "what was said is kept: {}",
        answers[3].body
    );
    let asked = |text: &str| {
        let last = |body: &Value| {
            body["messages"].as_array()?.last()?["content"].as_str().map(str::to_owned)
        };
        stub.requests()
            .iter()
            .filter(|request| last(&request.body).as_deref() == Some(text))
            .count()
    };
    assert_eq!(asked("busy"), 2, "once more, after the pause it asked for");
    assert_eq!(asked("refused"), 1, "a lasting fault is not tried again");
    assert_eq!(asked("quota"), 1);

    let [quota] = &ask(&ada, "openai/gpt-4o", &["quota"]).await[..] else { unreachable!() };
    assert!(quota.body["error"].as_str().unwrap().contains("it resets at 20"), "{}", quota.body);
    let projects = ada.list("/my/projects", "projects").await.unwrap();
    let project = format!("/my/projects/{}", projects.last().unwrap()["id"].as_str().unwrap());
    let agent = quota.body["agent_id"].as_str().unwrap();
    let status = ada.get(&format!("{project}/agents/{agent}/status")).await.unwrap().body;
    assert_eq!((&status["status"], &status["last_error"]), (&json!("quota"), &quota.body["error"]));
    let metrics = ada.get(&format!("{project}/agents/{agent}/metrics")).await.unwrap().body;
    assert_eq!(metrics["tasks_failed"], 0, "a used-up quota is no failed task");
}

/// The turn loop: a model that calls tools gets their results, until it has answered; usage is that of all steps. A
/// tool that was not offered is refused to the model, and one that never ends is stopped. OR-5.1: cost is the sum.
#[tokio::test]
async fn tools_are_called_until_there_is_an_answer() {
    let call = |name: &str| json!([{"name": name, "arguments": {}}]);
    let stub = stub(&json!({
        "usage": {"input": 1000, "output": 100, "cached": 0},
        "rules": [
            {"when": {"last_user": "for ever"}, "reply": {"tool_calls": call("list_agents")}},
            {"when": {"has_tool_result": true}, "reply": {"text": "That is the team."}},
            {"when": {"last_user": "other"}, "reply": {"tool_calls": call("rm_rf")}},
            {"reply": {"text": "Let me look.", "tool_calls": call("list_agents")}},
        ],
    }))
    .await;
    let (url, openai) = (stub.url(), format!("{}/v1", stub.url()));
    let world = Side::Embedded.start_with(&[
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", &openai),
        ("ANTHROPIC_API_KEY", "sk-test"),
        ("ANTHROPIC_BASE_URL", &url),
        ("GEMINI_API_KEY", "sk-test"),
        ("GEMINI_BASE_URL", &url),
    ]);
    let ada = world.user("ada");
    for model in ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"] {
        let project = empty_project(&ada).await;
        let agent = json!({"name": "a", "model": model, "tools": ["list_agents", "unknown"], "metadata": {"role": "lead"}});
        assert_eq!(ada.post(&format!("{project}/agents"), &agent).await.unwrap().status, 201);
        let session = ada.post(&format!("{project}/chat/sessions"), &json!({})).await.unwrap();
        let path = format!("{project}/chat/{}/message", session.id().unwrap());
        let mut answers = Vec::new();
        for text in ["who is here", "other", "for ever"] {
            answers.push(
                ada.post(&path, &json!({"content": text, "target_agent": "a"})).await.unwrap().body,
            );
        }
        assert_eq!(
            answers[0]["content"], "Let me look.\n\nThat is the team.",
            "{model}: {}",
            answers[0]
        );
        assert_eq!(answers[0]["usage"]["input_tokens"], 2000, "{model}: both steps");
        assert_eq!(answers[1]["content"], "That is the team.", "{model}: {}", answers[1]);
        assert!(
            answers[2]["error"].as_str().unwrap().contains("no end in 20 steps"),
            "{model}: {}",
            answers[2]
        );
        let said: Vec<_> = stub.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(
            said.iter().any(|body| body.contains("lead") && body.contains("takes_tasks")),
            "{model}: the result"
        );
        assert!(
            said.iter().any(|body| body.contains("There is no tool named")),
            "{model}: the refusal"
        );
        let mut events = ada.events(&format!("{project}/events"), Some(0)).await.unwrap();
        let told = loop {
            let frame = events.numbered().await.unwrap().unwrap().1;
            if frame.event == "task_progress" {
                break frame.payload()["detail"].clone();
            }
        };
        assert_eq!(told, "Tool used: list_agents");
    }
}
