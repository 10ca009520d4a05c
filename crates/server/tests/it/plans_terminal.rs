//! Plans from the terminal: the real binary against a real server, with scripts in place of models.

use std::process::{Child, Command, Output, Stdio};

use artel_testkit::client::Client;
use serde_json::{Value, json};

use crate::chat::until;
use crate::tools::terminal::Screen;
use crate::{ARTEL, Side, World, empty_project};

/// A person with a project of two agents, and a planner whose plans are known.
struct Person {
    world: World,
    client: Client,
    project: String,
}

/// What the planner says to a request that has this word in it.
fn plan(when: &str, title: &str, tasks: &Value) -> Value {
    let arguments = json!({ "title": title, "tasks": tasks });
    json!({ "when": when, "calls": [{ "name": "submit_plan", "arguments": arguments }] })
}

fn task(name: &str, agent: &str, needs: &[&str]) -> Value {
    json!({ "name": name, "description": format!("please {name}"), "agent": agent, "depends_on": needs })
}

impl Person {
    async fn new(environment: &[(&str, &str)]) -> Self {
        let planner =
            [("ARTEL_PLANNER_MODEL", "scripted/planner"), ("ARTEL_PLANNER_TIMEOUT", "60s")];
        let mut world = Side::Embedded.start_with(&[&planner[..], environment].concat());
        let scripts = world.artel.data_dir().join("scripts");
        std::fs::create_dir(&scripts).unwrap();
        let diamond = json!([
            task("look", "quick", &[]),
            task("build", "quick", &["look"]),
            task("write", "quick", &["look"]),
            task("check", "quick", &["build", "write"]),
        ]);
        let fragile = json!([task("look", "quick", &[]), task("mend", "broken", &["look"])]);
        let evil = json!([
            task("\u{1b}[31mred", "quick", &[]),
            task("b", "quick", &[]),
            task("c", "quick", &[])
        ]);
        let planner = json!({ "rules": [
            plan("house", "Build a house", &diamond),
            plan("mend", "Mend it", &fragile),
            plan("evil", "Be \u{1b}[31mevil\u{202e}", &evil),
            plan("hello", "Greet", &json!([task("greet", "quick", &[])])),
        ] });
        std::fs::write(scripts.join("planner.json"), planner.to_string()).unwrap();
        std::fs::write(scripts.join("quick.toml"), "[[rules]]\ntext = 'You said: {message}'\n")
            .unwrap();
        std::fs::write(scripts.join("broken.toml"), "[[rules]]\nfault = 'panic'\n").unwrap();
        world.artel.restart().unwrap();
        let client = world.user("ada");
        let project = empty_project(&client).await;
        for name in ["quick", "broken"] {
            let body = json!({ "name": name, "model": format!("scripted/{name}") });
            assert_eq!(client.post(&format!("{project}/agents"), &body).await.unwrap().status, 201);
        }
        Self { world, client, project }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(ARTEL);
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.env("ARTEL_SERVER", self.world.artel.url()).env("ARTEL_TOKEN", self.client.token());
        command
    }

    /// The exit code, and what was said on standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        heard(&self.command(arguments).output().unwrap())
    }

    /// One that waits for somebody.
    fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The id of the newest plan, once it stands so.
    async fn newest(&self, status: &str) -> String {
        let path = format!("{}/plans?status={status}", self.project);
        let first = || async { self.client.get(&path).await.unwrap().body["plans"][0].clone() };
        until(|| async { !first().await.is_null() }).await;
        first().await["id"].as_str().unwrap().to_owned()
    }
}

fn heard(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// OR-7.4, OR-5.4: from a request to the answer of all agents, with the graph, a line for each step, and what it took
/// beside what was expected.
#[tokio::test]
async fn a_request_is_planned_and_done() {
    let ada = Person::new(&[]).await;
    let (code, answer, progress) = ada.run(&["plan", "build a house", "--yes"]);
    assert_eq!(code, 0, "{progress}");
    for part in ["## look (quick)\n\nYou said: please look", "## check (quick)"] {
        assert!(answer.contains(part), "{answer}");
    }
    for part in [
        "Build a house",
        "planned  by a model",
        "+-o",
        "o-'",
        "look (quick) completed in",
        "check (quick) completed in",
        "(completed: 4 of 4 tasks; $0, expected $0; ",
    ] {
        assert!(progress.contains(part), "{part}: {progress}");
    }
    assert!(progress.is_ascii(), "nobody said that the terminal knows more: {progress}");
    let (code, answer, _) = ada.run(&["plan", "build a house", "--yes", "--json"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((code, &answer["status"]), (0, &json!("completed")));
    assert!(answer["answer"].as_str().unwrap().contains("## build (quick)"), "{answer}");
}

/// OR-7.5: whoever waits for a plan learns that it was rejected, and why; OR-7.6: or that nobody decided in time.
#[tokio::test]
async fn a_rejected_plan_has_its_own_exit_code() {
    let ada = Person::new(&[]).await;
    let waiting = ada.spawn(&["plan", "build a house"]);
    let id = ada.newest("waiting_approval").await;
    let (code, listed, _) = ada.run(&["approvals"]);
    assert!(code == 0 && listed.contains("Build a house") && listed.contains("check"), "{listed}");
    let (code, said, _) = ada.run(&["plan", "reject", &id[id.len() - 8..], "--reason", "too dear"]);
    assert_eq!(
        (code, said.as_str()),
        (0, &*format!("rejected: {id} (Rejected by the user: too dear)\n"))
    );
    let (code, answer, progress) = heard(&waiting.wait_with_output().unwrap());
    assert_eq!(code, 5, "{progress}");
    assert!(progress.contains(&format!("artel plan approve {id}")), "{progress}");
    assert!(progress.contains("artel: Rejected by the user: too dear"), "{progress}");
    assert!(answer.contains("The plan was not run."), "{answer}");

    let hasty = Person::new(&[("ARTEL_APPROVAL_TIMEOUT", "1s")]).await;
    let (code, _, progress) = hasty.run(&["plan", "build a house"]);
    assert!(code == 6 && progress.contains("nobody decided in time"), "{code}: {progress}");
}

/// OR-7.3: a plan can be looked at, changed and listed before it runs, and is found by the end of its id.
#[tokio::test]
async fn a_plan_is_made_changed_and_run() {
    let ada = Person::new(&[]).await;
    let (code, said, _) = ada.run(&["plans"]);
    assert!(code == 0 && said.starts_with("No plans."), "{said}");
    let (code, said, _) = ada.run(&["plan", "build a house", "--no-run"]);
    let id = ada.newest("pending").await;
    let short = &id[id.len() - 8..];
    assert_eq!(code, 0);
    assert!(
        said.contains("Build a house") && said.contains(&format!("artel plan run {id}")),
        "{said}"
    );
    let (code, said, _) = ada.run(&["plans", "--status", "pending"]);
    assert_eq!((code, said.lines().count()), (0, 1), "{said}");
    assert!(
        said.starts_with(short) && said.contains("0/4") && said.ends_with("Build a house\n"),
        "{said}"
    );
    assert!(ada.run(&["plans", "--status", "completed"]).1.starts_with("No plans."));
    let (code, said, _) =
        ada.run(&["plan", "edit", short, "--drop", "write", "--assign", "look=broken"]);
    assert!(code == 0 && said.contains("broken") && !said.contains("write"), "{said}");
    let (code, said, _) =
        ada.run(&["plan", "edit", short, "--assign", "look=quick", "--drop", "build"]);
    assert!(code == 0 && !said.contains("broken"), "{said}");
    let (code, answer, _) = ada.run(&["plan", "run", short]);
    assert!(code == 0 && answer.contains("## check (quick)"), "two tasks ask nobody: {answer}");
    let (code, said, _) = ada.run(&["plan", "show", short]);
    assert!(
        code == 0 && said.contains(&format!("completed: {id}")) && said.contains("## look"),
        "{said}"
    );
    let shown: Value = serde_json::from_str(&ada.run(&["plan", "show", &id, "--json"]).1).unwrap();
    assert_eq!((&shown["id"], &shown["completed_count"]), (&json!(id), &json!(2)));
    assert_eq!(ada.run(&["plan", "watch", short]).0, 0, "it has ended already");
    assert_eq!(ada.run(&["plan", "cancel", short]).0, 1, "it has ended already");
    assert_eq!(ada.run(&["plan", "show", "ffffffffffff-nothing"]).0, 3);
    for mistake in [
        &["plan"][..],
        &["plan", "show", "x"],
        &["plan", "--yes"],
        &["plan", "edit", short, "--assign", "x"],
    ] {
        assert_eq!(ada.run(mistake).0, 2, "{mistake:?}");
    }
}

/// OR-7.7: what failed is told, and done again by another agent.
#[tokio::test]
async fn a_task_is_done_again() {
    let ada = Person::new(&[]).await;
    let (code, answer, progress) = ada.run(&["plan", "mend the roof"]);
    assert!(code == 1 && progress.contains("mend (broken) failed: "), "{code}: {progress}");
    assert!(answer.contains("## look (quick)\n\nYou said: please look"), "{answer}");
    let id = ada.newest("partial_success").await;
    let (code, shown, _) = ada.run(&["plan", "show", &id]);
    assert!(code == 0 && shown.contains("x mend: "), "{shown}");
    let (code, answer, progress) =
        ada.run(&["plan", "retry", &id, "--task", "mend", "--agent", "quick"]);
    assert!(code == 0 && answer.contains("## mend (quick)"), "{progress}");
    assert!(progress.contains("mend (quick) completed"), "{progress}");
    assert_eq!(ada.run(&["plan", "retry", &id]).0, 1, "nothing came to nothing");
}

/// WS-7.2: a message to nobody in particular is worked on by the team; its answer is one.
#[tokio::test]
async fn the_team_answers() {
    let ada = Person::new(&[]).await;
    let (code, answer, progress) = ada.run(&["chat", "hello"]);
    assert_eq!((code, answer.as_str()), (0, "You said: please greet\n"), "{progress}");
    assert!(progress.contains("(greet (quick) started)"), "{progress}");
    assert!(progress.contains("(greet (quick) completed in "), "{progress}");

    let waiting = ada.spawn(&["chat", "build a house"]);
    let id = ada.newest("waiting_approval").await;
    let (code, said, _) = ada.run(&["plan", "approve", &id, "--no-wait", "--comment", "go on"]);
    assert!(code == 0 && said.contains(&id), "{said}");
    let (code, answer, progress) = heard(&waiting.wait_with_output().unwrap());
    assert!(code == 0 && answer.starts_with("## look (quick)"), "{answer} {progress}");
    assert!(progress.contains(&format!("artel plan approve {id}")), "{progress}");
    assert!(progress.contains("(check (quick) completed in "), "{progress}");

    let waiting = ada.spawn(&["chat", "an evil plan"]);
    let id = ada.newest("waiting_approval").await;
    assert_eq!(ada.run(&["plan", "reject", &id]).0, 0);
    assert_eq!(heard(&waiting.wait_with_output().unwrap()).0, 5);
}

/// OR-7.3, S17: on a terminal the person is asked, sees the graph, and how it goes; what a model wrote is only shown.
#[tokio::test]
async fn the_person_is_asked() {
    let ada = Person::new(&[]).await;
    let environment = [
        ("ARTEL_SERVER", ada.world.artel.url()),
        ("ARTEL_TOKEN", ada.client.token()),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm"),
    ];
    let mut screen = Screen::open(&format!("{ARTEL} plan 'build a house'"), &environment);
    screen.shows("Run it? [y]es, [n]o, or why not: ").await;
    assert!(screen.seen().contains("├─○"), "{}", screen.seen());
    screen.type_line("y");
    screen.shows("✓ check").await;
    screen.shows("(completed: 4 of 4 tasks").await;

    let mut screen = Screen::open(&format!("{ARTEL} chat 'an evil plan'"), &environment);
    screen.shows("Run it?").await;
    let seen = screen.seen();
    assert!(seen.contains("\\x1b[31mred") && seen.contains("\\u{202e}"), "{seen:?}");
    assert!(!seen.contains("\u{1b}[31m") && !seen.contains('\u{202e}'), "{seen:?}");
    screen.type_line("not today");
    screen.shows("Rejected by the user: not today").await;
}
