//! What each kind starts, with which files and settings, and what it says when it cannot.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use artel_programs::availability::{Availability, look};
use artel_programs::kind::{Credentials, Existing, File, Launch, OURS, Place, Tools, Wish};
use artel_programs::kinds;
use artel_programs::toolbox::ToolSpec;
use serde_json::{Value, json};

const KEY: &str = "the-key-of-a-test";
const TOKEN: &str = "the-token-of-a-test";

fn place() -> Place {
    Place {
        home: "/home/agent".into(),
        workspace: "/workspace".into(),
        path: vec!["/opt/tools".into(), "/usr/bin".into()],
        socket: "/run/tools/socket".into(),
        spool: "/run/tools/spool".into(),
        loopback: None,
        token: TOKEN.into(),
    }
}

fn wish() -> Wish {
    let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let tool = |name: &str, parameters| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters,
    };
    let deploy = json!({
        "type": "object",
        "properties": {
            "project_id": {"type": "string"}, "server_id": {"type": "string"}, "branch": {"type": "string"},
        },
        "required": ["project_id", "server_id"],
    });
    Wish {
        model: Some("some-model".to_owned()),
        instructions: "Be brief.".to_owned(),
        tools: vec![tool("answer", text("message")), tool("deploy", deploy)],
        credentials: Credentials {
            key: Some(KEY.into()),
            base_url: Some("http://127.0.0.1:1".to_owned()),
            login: None,
        },
        ..Wish::default()
    }
}

fn with_options(options: Value) -> Wish {
    let Value::Object(options) = options else { panic!("options are an object") };
    let command = vec!["some-agent".to_owned(), "--talk".to_owned()];
    Wish { command, options, credentials: Credentials::default(), ..wish() }
}

fn launch(kind: &str, wish: &Wish) -> Launch {
    kinds::find(kind).unwrap().launch(wish, &place()).unwrap()
}

fn refused(kind: &str, wish: &Wish) -> String {
    kinds::find(kind).unwrap().launch(wish, &place()).unwrap_err().to_string()
}

fn file<'a>(launch: &'a Launch, path: &str) -> &'a File {
    launch.files.iter().find(|file| file.path == Path::new(path)).unwrap()
}

fn has(launch: &Launch, argument: &str) -> bool {
    launch.argv.iter().any(|given| given == argument)
}

/// CA-1.1, CA-1.3: every kind is found by its name, has a program with a way to get it, and a codec.
#[test]
fn all_kinds_are_there() {
    let names: Vec<&str> = kinds::all().iter().map(|kind| kind.name()).collect();
    assert_eq!(names, ["acp", "claude-code", "codex", "factory-droid", "gemini-cli", "line"]);
    assert!(kinds::find("no-such-kind").is_none());
    for kind in kinds::all() {
        let wish = match kind.abilities().tools {
            Tools::Mcp | Tools::Lines if kind.access().is_none() => with_options(json!({})),
            Tools::InBand | Tools::Mcp | Tools::Shell | Tools::Lines => wish(),
        };
        assert!(!kind.program(&wish).unwrap().install.is_empty());
        let launch = kind.launch(&wish, &place()).unwrap();
        assert!(!launch.argv.is_empty() && launch.ready_within.as_secs() >= 30);
        kind.codec(&wish, &place()).unwrap();
    }
}

/// CA-3.2: neither the key nor the token stands in a command line or in a file; the key is in one variable at most.
#[test]
fn secrets_stay_where_they_belong() {
    let mut place = place();
    for loopback in [None, Some("http://127.0.0.1:2".to_owned())] {
        place.loopback = loopback;
        for name in ["claude-code", "codex", "gemini-cli", "factory-droid"] {
            let kind = kinds::find(name).unwrap();
            let alone = kind.single(&wish(), &place, "hello").unwrap();
            for launch in [kind.launch(&wish(), &place).unwrap(), alone] {
                let files = launch.files.iter().map(|file| &file.content);
                for text in launch.argv.iter().chain(files) {
                    assert!(!text.contains(KEY) && !text.contains(TOKEN), "{name}: {text}");
                }
                let holds = |value: &&String| value.contains(KEY) || value.contains(TOKEN);
                assert!(launch.environment.values().filter(holds).count() <= 1, "{name}");
            }
        }
    }
}

/// CA-1.5: the tools stand in the file that the program reads, in the form that its rules let through, and a file of
/// the user's is never overwritten.
#[test]
fn instruction_files() {
    let files = [
        ("claude-code", "CLAUDE.md"),
        ("codex", "AGENTS.md"),
        ("gemini-cli", "GEMINI.md"),
        ("factory-droid", "AGENTS.md"),
    ];
    for (kind, name) in files {
        let launch = launch(kind, &wish());
        let file = file(&launch, &format!("/workspace/{name}"));
        assert_eq!(file.existing, Existing::KeepIfForeign);
        assert!(file.content.starts_with(OURS));
        assert!(file.content.contains("`orchestrator answer \"message\"`"), "{}", file.content);
        let command = "`orchestrator deploy --project_id \"…\" --server_id \"…\" [--branch \"…\"]`";
        assert!(file.content.contains(command), "{}", file.content);
        let in_workspace = |file: &&File| file.path.starts_with("/workspace");
        assert_eq!(launch.files.iter().filter(in_workspace).count(), 1);
        let without = self::launch(kind, &Wish { tools: Vec::new(), ..wish() });
        assert_eq!(without.files.iter().filter(in_workspace).count(), 0, "nothing to say");
    }
}

/// CA-1.1: what is peculiar to each.
#[test]
fn what_is_started() {
    let claude = launch("claude-code", &Wish { resume: Some("a-name".to_owned()), ..wish() });
    assert!(has(&claude, "--permission-prompt-tool=stdio") && has(&claude, "--resume=a-name"));
    assert!(has(&claude, "--allowedTools=mcp__orchestrator,Bash(orchestrator:*)"));
    assert!(!claude.environment.contains_key("IS_SANDBOX"));
    assert_eq!(claude.environment["ANTHROPIC_API_KEY"], KEY);
    let unattended = launch("claude-code", &Wish { unattended: true, ..wish() });
    assert!(has(&unattended, "--dangerously-skip-permissions"));
    assert_eq!(unattended.environment["IS_SANDBOX"], "1");

    let codex = launch("codex", &wish());
    assert!(has(&codex, "model=\"some-model\"") && has(&codex, "allow_login_shell=false"));
    assert!(has(&codex, "model_providers.artel.base_url=\"http://127.0.0.1:1\""));
    let rules = file(&codex, "/home/agent/.codex/rules/orchestrator.rules");
    assert_eq!(rules.content, "prefix_rule(pattern=[\"orchestrator\"], decision=\"allow\")\n");
    let login = launch("codex", &Wish { credentials: Credentials::default(), ..wish() });
    assert!(!login.argv.iter().any(|argument| argument.starts_with("model_provider")));

    let gemini = launch("gemini-cli", &wish());
    let settings: Value =
        serde_json::from_str(&file(&gemini, "/home/agent/.gemini/settings.json").content).unwrap();
    assert_eq!(settings["mcpServers"]["orchestrator"]["args"], json!(["mcp"]));
    assert_eq!(settings["mcpServers"]["orchestrator"]["trust"], true);
    assert!(file(&gemini, "/home/agent/.gemini/GEMINI.md").content.contains("Be brief."));

    let droid = launch("factory-droid", &wish());
    let settings: Value =
        serde_json::from_str(&file(&droid, "/home/agent/.factory/settings.json").content).unwrap();
    assert_eq!(settings["customModels"][0]["model"], "some-model");
    assert_eq!(settings["commandAllowlist"], json!(["orchestrator"]));
}

/// A token of a subscription is none of the service's keys.
#[test]
fn a_subscription_of_claude_code() {
    let key = "sk-ant-oat01-something";
    let credentials = Credentials { key: Some(key.into()), ..Credentials::default() };
    let launch = launch("claude-code", &Wish { credentials, ..wish() });
    assert_eq!(launch.environment["CLAUDE_CODE_OAUTH_TOKEN"], key);
    assert!(!launch.environment.contains_key("ANTHROPIC_API_KEY"));
}

/// CA-1.4: an agent by data alone, of both kinds.
#[test]
fn by_configuration_alone() {
    let acp = with_options(json!({
        "start": {"key_variable": "SOME_KEY", "model_variable": "SOME_MODEL", "instructions_file": "RULES.md"},
        "mode": "ask", "unattended_mode": "auto", "settings": {"effort": "high"},
    }));
    let acp = Wish {
        credentials: Credentials { key: Some(KEY.into()), ..Credentials::default() },
        ..acp
    };
    let launch = launch("acp", &acp);
    assert_eq!(launch.argv, ["some-agent", "--talk"]);
    let expected = [("SOME_KEY", KEY), ("SOME_MODEL", "some-model")];
    let expected: BTreeMap<String, String> =
        expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    assert_eq!(launch.environment, expected);
    let file = file(&launch, "/workspace/RULES.md");
    assert!(file.content.contains("Be brief.") && file.content.contains("orchestrator answer"));

    let line = with_options(json!({"protocol": {
        "ready": {"line": "^ready$"}, "tool_call": "^TOOL:(?P<payload>.*)$", "turn_end": {"idle": 2.0},
    }}));
    assert!(self::launch("line", &line).files.is_empty());
    kinds::find("line").unwrap().codec(&line, &place()).unwrap();
}

/// CA-1.4: the agents of the guide can be started as they stand there.
#[test]
fn the_guide() {
    let guide = include_str!("../../../docs/adding-an-agent.md");
    let blocks = guide.split("```json").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut agents = 0;
    for block in blocks {
        let block: Value = serde_json::from_str(block).unwrap();
        let runtime = block.pointer("/config/runtime").unwrap_or(&block);
        let kind = kinds::find(runtime["kind"].as_str().unwrap()).unwrap();
        let options = runtime["options"].as_object().cloned().unwrap_or_default();
        let command = serde_json::from_value(runtime["command"].clone()).unwrap();
        let credentials = Credentials::default();
        let wish = Wish { command, options, credentials, ..wish() };
        kind.launch(&wish, &place()).unwrap();
        kind.codec(&wish, &place()).unwrap();
        agents += 1;
    }
    assert_eq!(agents, 3);
}

/// CA-1.4: what is wrong in a configuration is told before anything is started.
#[test]
fn wrong_configurations() {
    let nothing_to_run = Wish { command: Vec::new(), ..with_options(json!({})) };
    assert!(refused("acp", &nothing_to_run).contains("needs a `command`"));
    assert!(refused("line", &nothing_to_run).contains("needs a `command`"));
    let unknown = with_options(json!({"mood": "good"}));
    for kind in kinds::all() {
        let why = refused(kind.name(), &unknown);
        assert!(why.contains("unknown field `mood`") && why.contains(kind.name()), "{why}");
    }
    let cases = [
        ("acp", json!({"start": {"ready_within": 0}}), "from 1 to 3600"),
        ("acp", json!({"start": {"instructions_file": "../.bashrc"}}), "plain name"),
        ("acp", json!({"mode": 7}), "invalid type"),
        ("line", json!({"protocol": {"tool_call": "("}}), "tool_call"),
        ("line", json!({"protocol": {"turn_end": {"idle": -1.0}}}), "between 0 and 3600"),
        ("codex", json!({"sandbox": "none"}), "unknown variant"),
        ("factory-droid", json!({"provider": "nobody"}), "unknown variant"),
    ];
    for (kind, options, expected) in cases {
        let why = refused(kind, &with_options(options));
        assert!(why.contains(expected), "{why}");
    }
    let keyless = Wish { credentials: wish().credentials, ..with_options(json!({})) };
    assert!(refused("acp", &keyless).contains("key_variable"));
    let nameless = Wish { model: None, ..wish() };
    assert!(refused("factory-droid", &nameless).contains("needs a `model`"));
}

/// CA-2.7: a text that fits no command line has no process of its own.
#[test]
fn too_long_for_a_process_of_its_own() {
    for kind in kinds::all() {
        assert!(kind.single(&wish(), &place(), &"x".repeat(1 << 20)).is_none());
    }
}

/// CA-1.1: a program that is not there, one that is, and its log-in; and one that never says its version is not asked.
#[tokio::test]
async fn availability() {
    let folder = tempfile::tempdir().unwrap();
    let (bin, home) = (folder.path().join("bin"), folder.path().join("home"));
    let program = |name: &str, script: &str| {
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join(name), script).unwrap();
    };
    let executable = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let folders = [bin.clone(), PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    let codex = kinds::find("codex").unwrap();
    let stranger = Wish { credentials: Credentials::default(), ..wish() };

    program("codex", "#!/bin/sh\necho codex-cli 7.8.9\n");
    let none = look(codex, &stranger, &folders, &home).await.unwrap();
    assert!(matches!(none, Availability::NotInstalled { .. }), "not executable: {none:?}");

    executable("codex");
    let found = look(codex, &stranger, &folders, &home).await.unwrap();
    let Availability::NotLoggedIn { found, remedy } = found else { panic!("{found:?}") };
    assert_eq!((found.path, found.version.as_deref()), (bin.join("codex"), Some("7.8.9")));
    assert!(remedy.contains(".codex/auth.json"), "{remedy}");

    std::fs::create_dir_all(home.join(".codex")).unwrap();
    std::fs::write(home.join(".codex/auth.json"), "{}").unwrap();
    let ready = look(codex, &stranger, &folders, &home).await.unwrap();
    assert!(matches!(ready, Availability::Ready { .. }), "{ready:?}");

    // This would leave a trace if it were started.
    let mark = folder.path().join("started");
    program("some-agent", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    executable("some-agent");
    let acp = kinds::find("acp").unwrap();
    let ready = look(acp, &with_options(json!({})), &folders, &home).await.unwrap();
    assert!(matches!(ready, Availability::Ready { found } if found.version.is_none()));
    assert!(!mark.exists());
}
