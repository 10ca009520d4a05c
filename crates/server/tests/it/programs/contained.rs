//! Programs in containers, through the server: with a real Docker, whose socket `ARTEL_TEST_DOCKER` names
//! (`scripts/with-docker.sh`). Without one nothing here is tested, and it says so.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use artel_testkit::server::Artel;
use serde_json::json;

use super::House;
use super::real::{CLAUDE, CODEX, DROID, GEMINI, Program, Team};
use crate::{ARTEL, Side, World};

const UNTESTED: &[u8] = b"*** NOT TESTED IN DOCKER: run this by scripts/with-docker.sh\n";
const LONG: Duration = Duration::from_secs(30);

/// The socket, or a loud word that there is none.
fn docker() -> Option<String> {
    let socket = std::env::var("ARTEL_TEST_DOCKER").ok();
    if socket.is_none() {
        // Not by a macro, whose words are only shown when a test fails.
        let _ = std::io::stderr().write_all(UNTESTED);
    }
    socket
}

/// A shell that does what each message says.
fn shell() -> serde_json::Value {
    let script = "echo __READY__; while read -r line; do eval \"$line\"; echo __DONE__; done";
    json!({"sandbox": "docker", "command": ["sh", "-c", script]})
}

/// The containers of an agent, whether they run or not.
fn containers(socket: &str, agent: &str) -> Vec<String> {
    let label = format!("label=artel.agent={agent}");
    let host = format!("unix://{socket}");
    let words = ["--host", &host, "ps", "--all", "--quiet", "--no-trunc", "--filter", &label];
    let listed = Command::new("docker").args(words).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

async fn no_containers(socket: &str, agent: &str) {
    let began = Instant::now();
    while !containers(socket, agent).is_empty() {
        assert!(began.elapsed() < LONG, "left: {:?}", containers(socket, agent));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// CA-2.1, CA-3.1, CA-4.2: a data folder that was named from where the server was started, and lies deep, is there inside,
/// whichever the sandbox and from wherever the program stands; and it reaches us from there.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_named_from_here_is_found_inside() {
    let folder = tempfile::tempdir().unwrap();
    let up =
        std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect::<PathBuf>();
    let deep = folder.path().join("a-folder/".repeat(12));
    std::fs::create_dir_all(&deep).unwrap();
    let data = up.join(deep.strip_prefix("/").unwrap());
    let mut builder = Artel::new(ARTEL).data_dir(data);
    let mut sandboxes = vec!["none", "bubblewrap"];
    if let Some(socket) = docker() {
        sandboxes.push("docker");
        builder = builder.env("ARTEL_DOCKER_SOCKET", &socket);
    }
    builder = builder.env("ARTEL_AGENT_SANDBOXES", &sandboxes.join(","));
    let artel = builder.start().unwrap();
    let world = World { artel, database: None, redis: None, qdrant: None };
    let ada = world.user("ada");
    let project = crate::empty_project(&ada).await;
    let house = House { world, ada, project };
    for sandbox in sandboxes {
        let mut runtime = shell();
        runtime["sandbox"] = json!(sandbox);
        let agent = house.line(sandbox, &runtime).await;
        let asked = "cd / && touch \"$HOME/kept\" && ls \"$HOME\"";
        let (answer, error) = house.ask(&agent, asked).await;
        assert_eq!(
            (answer.trim(), error),
            ("kept", None),
            "{sandbox}: {}",
            house.world.artel.log_tail()
        );
        let asked = "env -u ORCH_URL -u ORCH_SPOOL orchestrator answer reached";
        let (answer, error) = house.ask(&agent, asked).await;
        assert_eq!((answer.trim(), error), ("reached", None), "{sandbox}");
        assert!(deep.join("agents").join(&agent).join("home/kept").exists(), "{sandbox}");
    }
}

/// CA-2.1, CA-2.5, CA-3.1, CA-4.3: a program in a container answers, calls our tools from its shell, sees nothing of the
/// server, and leaves no container when it is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_a_container_is_an_agent() {
    let Some(socket) = docker() else { return };
    let environment = [("ARTEL_AGENT_SANDBOXES", "docker"), ("ARTEL_DOCKER_SOCKET", &*socket)];
    let house = House::new(Side::Embedded, &environment).await;
    let echo = house.line("echo", &json!({})).await;
    assert_eq!(house.ask(&echo, "hello").await, ("1: hello".to_owned(), None));
    assert_eq!(house.ask(&echo, "again").await, ("2: again".to_owned(), None));
    let process = house.process(&echo).await;
    assert_eq!(process["sandbox"], "docker", "{process}");
    let container = process["mark"]["container"]["id"].as_str().unwrap().to_owned();
    assert_eq!(containers(&socket, &echo), [container]);
    assert!(process["memory"].as_u64().unwrap() > 0, "{process}");

    let hands = house.line("hands", &shell()).await;
    assert_eq!(
        house.ask(&hands, "orchestrator answer 'hello from inside'").await.0,
        "hello from inside"
    );
    let task = house.tell(&hands, "orchestrator ask 'Which colour?' >colour").await;
    let question = house.asked().await;
    let path = format!("/agents/{hands}/questions/{}/answer", question["id"].as_str().unwrap());
    assert_eq!(house.ada.post(&path, &json!({"answer": "octarine"})).await.unwrap().status, 200);
    assert_eq!(house.ended(&task).await["status"], "completed");
    let workspace = house.world.artel.data_dir().join(format!("agents/{hands}/workspace"));
    assert!(std::fs::read_to_string(workspace.join("colour")).unwrap().contains("octarine"));
    let data = house.world.artel.data_dir().display().to_string();
    let look = format!(
        "ls {data}; env | grep ARTEL_; test -S /var/run/docker.sock || test -S {socket} || echo walls"
    );
    let (seen, _) = house.ask(&hands, &look).await;
    assert!(
        !seen.contains("artel.db") && !seen.contains("ARTEL_") && seen.contains("walls"),
        "{seen}"
    );

    for agent in [&echo, &hands] {
        let stopped = house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap();
        assert_eq!(stopped.body["state"], "STOPPED", "{}", stopped.body);
        assert!(containers(&socket, agent).is_empty());
    }
}

/// CA-2.5, CA-8.4: a killed server's containers end, the next server removes what is left of them, and a message starts
/// the program anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_no_container() {
    let Some(socket) = docker() else { return };
    let environment = [("ARTEL_AGENT_SANDBOXES", "docker"), ("ARTEL_DOCKER_SOCKET", &*socket)];
    let mut house = House::new(Side::Embedded, &environment).await;
    let agent = house.line("echo", &json!({})).await;
    assert_eq!(house.ask(&agent, "!fork").await.1, None);
    let task = house.tell(&agent, "!hang").await;
    house.process_is(&agent, |it| it["activity"] == "working").await;
    let before = containers(&socket, &agent);
    assert_eq!(before.len(), 1);
    house.world.artel.kill().unwrap();
    house.world.artel.restart().unwrap();
    house.ada = house.world.user("ada");
    let process = house.process_is(&agent, |it| it["state"] == "KILLED").await;
    assert!(process["reason"].as_str().unwrap().contains("server"), "{process}");
    no_containers(&socket, &agent).await;
    assert_ne!(house.ended(&task).await["status"], "completed");
    assert_eq!(house.ask(&agent, "hello").await, ("1: hello".to_owned(), None));
    assert_ne!(containers(&socket, &agent), before);
}

/// CA-1.3, CA-2.1, CA-2.5, CA-3.1, CA-4.3: a real program in a container, from the folder that the server shows it: it
/// answers, calls our tools, asks before it acts, and leaves nothing.
async fn works_inside(program: &Program) {
    let Some(socket) = docker() else { return };
    let environment = [("ARTEL_AGENT_SANDBOXES", "docker"), ("ARTEL_DOCKER_SOCKET", &*socket)];
    let team = Team::with(&environment).await;
    let (house, agent) = (&team.house, team.join(program, "in-docker").await);
    // A container and a program take their time to start, on a busy machine more than a request waits.
    let task = house.tell(&agent, "SAY-SOMETHING").await;
    let ended = house.ended(&task).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let process = house.process(&agent).await;
    assert_eq!(
        (&process["state"], &process["sandbox"]),
        (&json!("RUNNING"), &json!("docker")),
        "{process}"
    );
    assert_eq!(house.ask(&agent, "SAY-SOMETHING").await, ("Plain words.".to_owned(), None));
    assert_eq!(house.ask(&agent, "ANSWER-BY-SHELL").await.0, "hello from the shell");
    assert_eq!(house.ask(&agent, "ANSWER-BY-TOOL").await.0, "hello from the tool");
    let task = house.tell(&agent, "RUN-A-COMMAND").await;
    let wanted = house.asked().await;
    team.decide(&wanted, "approve").await;
    assert_eq!(house.ended(&task).await["status"], "completed");
    let workspace = house.world.artel.data_dir().join(format!("agents/{agent}/workspace"));
    assert!(workspace.join("made-by-command").exists());
    assert_eq!(containers(&socket, &agent).len(), 1);
    let stopped = house.ada.post(&format!("/agents/{agent}/stop"), &json!({})).await.unwrap();
    assert_eq!(stopped.body["state"], "STOPPED", "{}", stopped.body);
    assert!(containers(&socket, &agent).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_in_a_container() {
    works_inside(&CLAUDE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_in_a_container() {
    works_inside(&CODEX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gemini_cli_in_a_container() {
    works_inside(&GEMINI).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn droid_in_a_container() {
    works_inside(&DROID).await;
}
