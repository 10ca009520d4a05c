//! The real programs as members of a team: Claude Code, Codex, Gemini CLI and Droid, as their makers ship them, each in
//! bubblewrap, against a model service of ours on this machine.

use std::path::PathBuf;
use std::time::Duration;

use artel_modelstub::{Scenario, Stub};
use artel_testkit::jail;
use serde_json::{Value, json};

use super::{House, gone};
use crate::Side;

/// Where the programs are; without them nothing here is proven, so it fails and says how to get them.
fn programs() -> PathBuf {
    let missing =
        "set ARTEL_TEST_CLIS to the folder that scripts/fetch-clis.sh filled; `make test` does";
    PathBuf::from(std::env::var_os("ARTEL_TEST_CLIS").expect(missing)).join("bin")
}

pub(super) struct Program {
    pub(super) kind: &'static str,
    model: &'static str,
    /// What its base URL ends with.
    base: &'static str,
    /// Whether a conversation can go on that was cut in the middle of a command.
    remembers: bool,
}

pub(super) const CLAUDE: Program =
    Program { kind: "claude-code", model: "claude-sonnet-4-5", base: "", remembers: true };
pub(super) const CODEX: Program =
    Program { kind: "codex", model: "gpt-5.4", base: "/v1", remembers: true };
pub(super) const GEMINI: Program =
    Program { kind: "gemini-cli", model: "gemini-2.5-pro", base: "", remembers: false };
pub(super) const DROID: Program =
    Program { kind: "factory-droid", model: "stub-model", base: "/v1", remembers: true };

/// A team on a server, with its model service.
pub(super) struct Team {
    pub(super) house: House,
    stub: Stub,
}

impl Team {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same, on a server that is set otherwise.
    pub(super) async fn with(environment: &[(&str, &str)]) -> Self {
        let text = include_str!("../../../../modelstub/scenarios/cli.json");
        let stub = Stub::start(Scenario::parse(text).unwrap()).await.unwrap();
        let path = std::env::var("PATH").unwrap_or_default().replace(':', ",");
        let path = format!("{},{path}", programs().display());
        let mut all = vec![("ARTEL_AGENT_PATH", path.as_str())];
        all.extend(environment);
        let house = House::new(Side::Embedded, &all).await;
        Self { house, stub }
    }

    pub(super) async fn join(&self, program: &Program, mark: &str) -> String {
        let agent = json!({
            "name": program.kind,
            "system_prompt": "You are careful.",
            "metadata": {"capabilities": ["write_code"]},
            "runtime": {"kind": program.kind, "model": program.model, "environment": {"MARK": mark}},
        });
        let id = self.house.add(&agent).await;
        let keys = json!({"api_key": "sk-test", "base_url": format!("{}{}", self.stub.url(), program.base)});
        let set = self.house.ada.put(&format!("/agents/{id}/credentials"), &keys).await.unwrap();
        assert_eq!(set.status, 200, "{}", set.body);
        id
    }

    pub(super) async fn decide(&self, approval: &Value, decision: &str) {
        let path = format!("/my/approvals/{}/confirm", approval["id"].as_str().unwrap());
        let body = json!({"decision": decision, "comment": "so it is"});
        let decided = self.house.ada.post(&path, &body).await.unwrap();
        assert_eq!(decided.status, 200, "{}", decided.body);
    }
}

/// Everything that a member of a team must be able to do, through the server's own doors.
async fn is_a_member(program: &Program) {
    let team = Team::new().await;
    let mark = format!("in-real-{}", program.kind);
    let (house, agent) = (&team.house, team.join(program, &mark).await);
    let kinds = house.ada.get("/my/runtimes").await.unwrap().success().unwrap();
    let own = kinds.as_array().unwrap().iter().find(|kind| kind["kind"] == program.kind).unwrap();
    assert_ne!(own["status"], "not_installed", "{own}");

    // Two turns with one history, and what they took.
    house.start(&agent).await;
    assert_eq!(house.ask(&agent, "SAY-SOMETHING").await, ("Plain words.".to_owned(), None));
    let told = json!({"message": "And now? SAY-SOMETHING else"});
    let told = house.ada.post(&format!("/agents/{agent}/message?wait=60"), &told).await.unwrap();
    let usage = &told.body["answer"]["outcome"]["usage"];
    assert!(usage["output_tokens"].as_u64().unwrap() > 0, "{}", told.body);
    assert!(team.stub.requests().iter().any(|it| {
        let body = it.body.to_string();
        body.contains("And now?") && body.contains("Plain words.")
    }));

    // Its tools: by its own shell, and in the conversation or by MCP.
    assert_eq!(house.ask(&agent, "ANSWER-BY-SHELL").await.0, "hello from the shell");
    assert_eq!(house.ask(&agent, "ANSWER-BY-TOOL").await.0, "hello from the tool");

    // A question to its user.
    let task = house.tell(&agent, "ASK-BY-SHELL").await;
    let question = house.asked().await;
    assert_eq!(question["payload"]["question"], "Which colour?", "{question}");
    let path = format!("/agents/{agent}/questions/{}/answer", question["id"].as_str().unwrap());
    assert_eq!(house.ada.post(&path, &json!({"answer": "octarine"})).await.unwrap().status, 200);
    assert_eq!(house.ended(&task).await["status"], "completed");
    assert!(team.stub.requests().iter().any(|it| it.body.to_string().contains("octarine")));

    // What it may, and what it may not.
    let task = house.tell(&agent, "RUN-A-COMMAND").await;
    let wanted = house.asked().await;
    assert_eq!(wanted["type"], "tool");
    assert!(wanted["payload"].to_string().contains("touch made-by-command"), "{wanted}");
    team.decide(&wanted, "approve").await;
    assert_eq!(house.ended(&task).await["status"], "completed");
    let workspace = house.world.artel.data_dir().join(format!("agents/{agent}/workspace"));
    assert!(workspace.join("made-by-command").exists());
    let task = house.tell(&agent, "WRITE-A-FILE").await;
    let wanted = house.asked().await;
    assert!(wanted["payload"]["diff"].as_str().unwrap().contains("+written"), "{wanted}");
    team.decide(&wanted, "reject").await;
    house.ended(&task).await;
    assert!(!workspace.join("written.txt").exists());

    // It is interrupted, and goes on.
    let task = house.tell(&agent, "FALL-SILENT").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    house.cancel(&task).await;
    assert_eq!(house.ask(&agent, "SAY-SOMETHING").await.0, "Plain words.");

    // It is killed in the middle of a turn, started again, and remembers.
    let task = house.tell(&agent, "FALL-SILENT once more").await;
    let process = house.process_is(&agent, |it| it["activity"] == "working").await;
    let pid = process["mark"]["process"]["pid"].as_i64().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    house.process_is(&agent, |it| it["state"] == "RUNNING" && it["mark"] != process["mark"]).await;
    house.cancel(&task).await;
    assert_eq!(house.ask(&agent, "SAY-SOMETHING at last").await.0, "Plain words.");
    if program.remembers {
        let recorded = team.stub.requests();
        let last =
            recorded.iter().rfind(|it| it.body.to_string().contains("SAY-SOMETHING at last"));
        assert!(last.unwrap().body.to_string().contains("RUN-A-COMMAND"), "it forgot");
    }

    // It ends, and leaves nothing.
    let stopped = house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap();
    assert_eq!(stopped.body["state"], "STOPPED", "{}", stopped.body);
    gone(&format!("MARK={mark}"), Duration::from_secs(5)).await;
    assert!(!json!(house.log(&agent).await).to_string().contains("sk-test"));
}

/// Each in a network with nothing in it but this machine.
macro_rules! alone {
    ($($(#[$meta:meta])* $name:ident: $proof:expr;)*) => {
        $(
            $(#[$meta])*
            #[test]
            fn $name() {
                jail::offline(concat!("programs::real::", stringify!($name)), || $proof);
            }
        )*
    };
}

alone! {
    /// CA-1.1, CA-1.3, CA-1.5, CA-1.6, CA-2.1, CA-2.5, CA-3.1, CA-4.2, CA-4.3, CA-4.4, CA-5.3, CA-8.1
    claude_code_is_a_member: is_a_member(&CLAUDE);
    /// CA-1.3, CA-1.6, CA-4.2, CA-4.3, CA-4.4: the same, with another program.
    codex_is_a_member: is_a_member(&CODEX);
    /// CA-1.3, CA-1.6, CA-4.2, CA-4.3: the same, with another program.
    gemini_cli_is_a_member: is_a_member(&GEMINI);
    /// CA-1.3, CA-1.6, CA-4.2, CA-4.3: the same, with another program.
    factory_droid_is_a_member: is_a_member(&DROID);
    /// CA-2.1: a word goes into the turn that runs.
    claude_code_is_steered: is_steered(&CLAUDE);
    /// CA-2.1: the same, with another program.
    codex_is_steered: is_steered(&CODEX);
    /// CA-1.6, OR-9: a plan with a model behind an API, Claude Code and Codex, approved once, results handed on.
    a_plan_mixes_models_and_programs: mixed();
}

/// What is said into a turn reaches the model within that turn, stands in the conversation, and makes no task of its own.
async fn is_steered(program: &Program) {
    let team = Team::new().await;
    let (house, agent) = (&team.house, team.join(program, "in-real-steer").await);
    // Its turn stands still as long as nobody decides, so that the word surely comes in the middle of it.
    let task = house.tell(&agent, "RUN-A-COMMAND").await;
    let wanted = house.asked().await;
    let word = json!({"message": "and make it octarine", "delivery": "steer"});
    let told = house.ada.post(&format!("/agents/{agent}/message"), &word).await.unwrap();
    assert_eq!(told.status, 202, "{}", told.body);
    assert_eq!(told.body["delivered"], "steered", "{}", told.body);
    assert_eq!(told.body["task"]["id"], task.as_str(), "{}", told.body);
    team.decide(&wanted, "approve").await;
    let ended = house.ended(&task).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let heard = team.stub.requests();
    let heard = heard.iter().find(|it| it.body.to_string().contains("and make it octarine"));
    let heard = heard.expect("its model has the word").body.to_string();
    assert!(heard.contains("made-by-command"), "it came within the turn: {heard}");
    let session = ended["session_id"].as_str().unwrap();
    let path = format!("{}/chat/sessions/{session}/messages", house.project);
    let said = house.ada.get(&path).await.unwrap().success().unwrap();
    assert!(said.to_string().contains("and make it octarine"), "{said}");
    assert_eq!(house.ask(&agent, "SAY-SOMETHING").await, ("Plain words.".to_owned(), None));
}

async fn mixed() {
    let mut team = Team::new().await;
    team.join(&CLAUDE, "in-real-plan").await;
    team.join(&CODEX, "in-real-plan").await;
    let folder = team.house.world.artel.data_dir().join("scripts");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("writer.toml"), "[[rules]]\ntext = 'the model had: {message}'\n")
        .unwrap();
    team.house.world.artel.restart().unwrap();
    team.house.ada = team.house.world.user("ada");
    let house = &team.house;
    house.add(&json!({"name": "writer", "model": "scripted/writer"})).await;
    let plan = json!({"request": "Do it together", "tasks": [
        {"name": "one", "agent": "claude-code", "description": "ANSWER-BY-TOOL"},
        {"name": "two", "agent": "codex", "description": "SAY-SOMETHING", "depends_on": ["one"]},
        {"name": "three", "agent": "writer", "description": "Sum up.", "depends_on": ["one", "two"]},
    ]});
    let path = format!("{}/plans", house.project);
    let made = house.ada.post(&path, &plan).await.unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!("{path}/{}", made.id().unwrap());
    let begun = house.ada.post(&format!("{path}/execute"), &json!({})).await.unwrap();
    assert!(begun.status.is_success(), "{}", begun.body);
    let asked = house.asked().await;
    assert_eq!(asked["type"], "plan");
    team.decide(&asked, "approve").await;
    let ended = loop {
        let now = house.ada.get(&path).await.unwrap().success().unwrap();
        if ["completed", "failed", "partial_success", "cancelled"]
            .contains(&now["status"].as_str().unwrap())
        {
            break now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(ended["status"], "completed", "{ended}");
    let result = |name: &str| {
        let tasks = ended["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["task_id"] == name).unwrap();
        task["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(result("one"), "hello from the tool");
    assert_eq!(result("two"), "Plain words.");
    assert!(
        result("three").contains("hello from the tool") && result("three").contains("Plain words.")
    );
    let asked_codex = team.stub.requests();
    assert!(asked_codex.iter().any(|it| it.body.to_string().contains("hello from the tool")
        && it.body.to_string().contains("SAY-SOMETHING")));
}
