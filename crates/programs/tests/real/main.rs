//! The real programs, as their makers ship them, each against a model service of ours: what is known of them holds.
//!
//! Every test runs in a network in which there is nothing but this machine ([`artel_testkit::jail`]), so that nothing leaves it,
//! whatever a program tries.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod agent;
mod world;

use artel_programs::availability::{Availability, look};
use artel_programs::codec::{Command, Decision, Event, Fault, Outcome};
use artel_programs::kind::{Credentials, Wish};
use artel_testkit::jail;
use serde_json::{Value, json};

use agent::Agent;
use world::{ACP, CLAUDE, CODEX, Cli, DROID, GEMINI, LINE, World};

macro_rules! proven {
    ($($(#[$meta:meta])* $name:ident: $proof:ident($cli:expr);)*) => {
        $(
            $(#[$meta])*
            #[test]
            fn $name() {
                jail::run(stringify!($name), || $proof($cli));
            }
        )*
    };
}

proven! {
    /// CA-1.3, CA-2.1, CA-4.2, CA-4.3: one process, three turns, one history; its tools by shell and by MCP.
    claude_code_talks: talks(&CLAUDE);
    /// CA-1.3, CA-2.1, CA-4.2: the same.
    codex_talks: talks(&CODEX);
    /// CA-1.3, CA-2.1, CA-4.2, CA-4.3: the same.
    gemini_cli_talks: talks(&GEMINI);
    /// CA-1.3, CA-2.1, CA-4.2: the same.
    factory_droid_talks: talks(&DROID);

    /// CA-1.6: it asks, and does what was allowed and nothing else.
    claude_code_asks: asks(&CLAUDE);
    /// CA-1.6: the same.
    codex_asks: asks(&CODEX);
    /// CA-1.6: the same.
    gemini_cli_asks: asks(&GEMINI);
    /// CA-1.6: the same.
    factory_droid_asks: asks(&DROID);

    /// CA-2.5, CA-8.3: it is interrupted, refused by its model, killed, and taken up again.
    claude_code_goes_on: goes_on(&CLAUDE);
    /// CA-2.5, CA-8.3: the same.
    codex_goes_on: goes_on(&CODEX);
    /// CA-2.5, CA-8.3: the same.
    gemini_cli_goes_on: goes_on(&GEMINI);
    /// CA-2.5, CA-8.3: the same.
    factory_droid_goes_on: goes_on(&DROID);

    /// CA-1.3: it asks nobody.
    claude_code_runs_unattended: runs_unattended(&CLAUDE);
    /// CA-1.3: the same.
    codex_runs_unattended: runs_unattended(&CODEX);
    /// CA-1.3: the same.
    gemini_cli_runs_unattended: runs_unattended(&GEMINI);
    /// CA-1.3: the same.
    factory_droid_runs_unattended: runs_unattended(&DROID);

    /// CA-1.3, CA-1.4, CA-4.3: any program that speaks ACP, by configuration alone.
    acp_by_data_alone: by_data_alone(&ACP);
    /// CA-1.3, CA-1.4, CA-4.1: any program that speaks lines.
    line_by_data_alone: by_lines(&LINE);

    /// CA-2.7: a process for one message.
    claude_code_alone: alone(&CLAUDE);
    /// CA-2.7: the same.
    codex_alone: alone(&CODEX);
    /// CA-2.7: the same.
    gemini_cli_alone: alone(&GEMINI);
    /// CA-2.7: the same.
    factory_droid_alone: alone(&DROID);

    /// CA-1.1: what is missing is said.
    claude_code_is_found: is_found(&CLAUDE);
    /// CA-1.1: the same.
    codex_is_found: is_found(&CODEX);
    /// CA-1.1: the same.
    gemini_cli_is_found: is_found(&GEMINI);
    /// CA-1.1: the same.
    factory_droid_is_found: is_found(&DROID);
}

/// Nothing that a program sends can leave the machine: there is no other interface.
#[test]
fn inside_there_is_no_network() {
    jail::run("inside_there_is_no_network", async || {
        let interfaces = std::fs::read_to_string("/proc/net/dev").unwrap();
        let names: Vec<&str> = interfaces
            .lines()
            .skip(2)
            .filter_map(|line| line.split(':').next())
            .map(str::trim)
            .collect();
        assert_eq!(names, ["lo"]);
    });
}

async fn talks(cli: &'static Cli) {
    let world = World::new(cli).await;
    let mut agent = Agent::start(&world, &world.wish()).await;

    let first = agent.turn("The word is PINEAPPLE. ANSWER-BY-SHELL", &no()).await;
    assert_eq!(first.asked.len(), 0, "our own program needs no permission: {:?}", first.asked);
    assert!(matches!(first.outcome, Outcome::Completed { .. }), "{:?}", first.outcome);
    assert!(first.said.contains("On it. "), "{}", first.said);
    assert!(first.said.contains("The tool said: "), "{}", first.said);
    assert_eq!(first.tools, 1);
    assert_eq!(world.heard(), ["hello from the shell"]);

    // Droid shows its model tools by MCP only on demand, so it has ours by its shell alone.
    if cli.kind != DROID.kind {
        let second = agent.turn("ANSWER-BY-TOOL", &no()).await;
        assert_eq!(second.asked.len(), 0, "{:?}", second.asked);
        assert!(second.said.contains("The tool said: "), "{}", second.said);
        assert_eq!(world.heard(), ["hello from the shell", "hello from the tool"]);
    }

    let third = agent.turn("SAY-SOMETHING", &no()).await;
    assert_eq!(third.said, "Plain words.");
    assert_eq!((third.usage.input_tokens, third.usage.output_tokens), (1234, 56));
    let long = agent.turn("TALK-FOR-LONG", &no()).await;
    assert!(long.said.starts_with("One two") && long.said.ends_with("twenty."), "{}", long.said);
    assert!(long.pieces > 1, "it is told while it is said");
    let asked = world.last_request();
    for part in ["PINEAPPLE", "hello from the shell", "SAY-SOMETHING", world::INSTRUCTIONS] {
        assert!(asked.contains(part), "{part} is missing in the last request");
    }
    agent.close().await;
}

async fn asks(cli: &'static Cli) {
    let world = World::new(cli).await;
    let mut agent = Agent::start(&world, &world.wish()).await;

    let run = agent.turn("RUN-A-COMMAND", &Decision::Once).await;
    assert_eq!(run.asked.len(), 1);
    let command = run.asked[0].command.as_deref().unwrap_or_default();
    assert!(command.contains("touch made-by-command"), "{:?}", run.asked[0]);
    assert!(world.workspace("made-by-command").exists());

    let refused = agent.turn("WRITE-A-FILE", &no()).await;
    assert_eq!(refused.asked.len(), 1);
    assert!(!world.workspace("written.txt").exists());

    let allowed = agent.turn("WRITE-A-FILE", &Decision::Once).await;
    assert_eq!(allowed.asked.len(), 1);
    assert!(world.workspace("written.txt").exists());
    let diff = allowed.asked[0].diff.as_deref().unwrap_or_default();
    assert!(diff.contains("+written"), "{:?}", allowed.asked[0]);
    agent.close().await;
}

async fn goes_on(cli: &'static Cli) {
    let world = World::new(cli).await;
    let mut agent = Agent::start(&world, &world.wish()).await;
    agent.turn("The word is PINEAPPLE.", &no()).await;

    agent.command(Command::Say { text: "FALL-SILENT".to_owned() }).await;
    while !matches!(agent.event().await, Event::Text(_)) {}
    agent.command(Command::Interrupt).await;
    let interrupted = agent.rest_of_turn(&no()).await;
    assert_eq!(interrupted.outcome, Outcome::Interrupted);

    let refused = agent.turn("BE-REFUSED", &no()).await;
    assert!(
        matches!(refused.outcome, Outcome::Failed { fault: Fault::Refused, .. }),
        "{:?}",
        refused.outcome
    );
    // Some send what was refused once more with the next message.
    let after = agent.turn("SAY-SOMETHING", &no()).await;
    assert_eq!(after.said, "Plain words.");

    let resume = agent.session().map(str::to_owned);
    assert!(resume.is_some());
    agent.kill().await;
    world.let_a_minute_pass();

    let mut agent = Agent::start(&world, &Wish { resume, ..world.wish() }).await;
    let again = agent.turn("Are you still there? SAY-SOMETHING", &no()).await;
    assert_eq!(again.said, "Plain words.", "{:?}", again.outcome);
    let asked = world.last_request();
    assert!(asked.contains("PINEAPPLE") && asked.contains("still there"));
    agent.close().await;
}

async fn runs_unattended(cli: &'static Cli) {
    let world = World::new(cli).await;
    let wish = Wish { unattended: true, ..world.wish() };
    let mut agent = Agent::start(&world, &wish).await;
    for (text, file) in [("RUN-A-COMMAND", "made-by-command"), ("WRITE-A-FILE", "written.txt")] {
        let turn = agent.turn(text, &no()).await;
        assert_eq!(turn.asked.len(), 0, "{:?}", turn.asked);
        assert!(world.workspace(file).exists());
    }

    agent.command(Command::Say { text: "RUN-A-LONG-COMMAND".to_owned() }).await;
    while !matches!(agent.event().await, Event::ToolStarted { .. }) {}
    agent.command(Command::Interrupt).await;
    assert_eq!(agent.rest_of_turn(&no()).await.outcome, Outcome::Interrupted);
    let after = agent.turn("SAY-SOMETHING", &no()).await;
    // Gemini CLI keeps the call without a result in its conversation, which its service does not take.
    let is_spoiled = cli.kind == GEMINI.kind;
    assert_eq!(after.said, if is_spoiled { "" } else { "Plain words." }, "{:?}", after.outcome);
    agent.close().await;
}

/// Gemini CLI once more, as a program that nobody knows.
async fn by_data_alone(cli: &'static Cli) {
    let world = World::new(cli).await;
    let options = json!({
        "start": {"key_variable": "GEMINI_API_KEY", "base_url_variable": "GOOGLE_GEMINI_BASE_URL"},
        "auth_method": "gemini-api-key",
    });
    let Value::Object(options) = options else { unreachable!("it is one") };
    let trust = ("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned());
    let wish = Wish {
        command: ["gemini", "--acp", "--model=gemini-2.5-pro"].map(str::to_owned).into(),
        model: None,
        environment: [trust].into(),
        options,
        ..world.wish()
    };
    let mut agent = Agent::start(&world, &wish).await;
    let first = agent.turn("The word is PINEAPPLE. ANSWER-BY-TOOL", &Decision::Once).await;
    assert_eq!(first.asked.len(), 1, "its user has not said that it trusts our tools");
    assert_eq!(world.heard(), ["hello from the tool"]);
    let second = agent.turn("SAY-SOMETHING", &no()).await;
    assert_eq!(second.said, "Plain words.");
    assert!(world.last_request().contains("PINEAPPLE"));
    agent.close().await;
}

async fn by_lines(cli: &'static Cli) {
    const PROGRAM: &str = r#"while read -r text; do
        echo "I heard: $text"
        echo '__TOOL_CALL__:{"tool": "answer", "args": {"message": "hello from a line"}}'
        read -r result
    done"#;
    let world = World::new(cli).await;
    let command = ["bash", "-c", PROGRAM].map(str::to_owned).into();
    let wish = Wish { command, credentials: Credentials::default(), ..world.wish() };
    let mut agent = Agent::start(&world, &wish).await;
    for turn in 1..=2 {
        let said = agent.turn("Hello.", &no()).await.said;
        assert!(said.contains("I heard: Hello."), "{said}");
        assert_eq!(world.heard().len(), turn);
    }
    agent.close().await;
}

async fn alone(cli: &'static Cli) {
    let world = World::new(cli).await;
    let said = world.alone(&world.wish(), "-v: SAY-SOMETHING").await;
    assert!(said.contains("Plain words."), "{said}");
    assert!(world.last_request().contains("-v: SAY-SOMETHING"));
}

async fn is_found(cli: &'static Cli) {
    let world = World::new(cli).await;
    let (kind, home) = (cli.kind(), &world.place.home);
    let folders = &world.place.path;
    let stranger = Wish { credentials: Credentials::default(), ..world.wish() };
    let none = look(kind, &stranger, &folders[..1], home).await.unwrap();
    assert!(matches!(&none, Availability::NotInstalled { install, .. } if install.contains("npm")));
    match look(kind, &stranger, folders, home).await.unwrap() {
        Availability::NotLoggedIn { found, remedy } => {
            assert_eq!(found.version.as_deref(), Some(cli.version));
            assert!(remedy.contains("give the agent a key"), "{remedy}");
        }
        other @ (Availability::NotInstalled { .. } | Availability::Ready { .. }) => {
            panic!("{other:?}")
        }
    }
    let ready = look(kind, &world.wish(), folders, home).await.unwrap();
    assert!(matches!(ready, Availability::Ready { .. }), "{ready:?}");
    assert!(!format!("{ready:?}").contains(world::KEY));
}

fn no() -> Decision {
    Decision::Reject { why: "not this time".to_owned() }
}
