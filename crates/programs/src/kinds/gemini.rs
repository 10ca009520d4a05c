//! Gemini CLI, by the Agent Client Protocol, its only mode in which a process is kept.
//!
//! Our tools reach it by MCP, as a server that its settings trust, and a policy of its own lets `orchestrator` through
//! in its shell.

use std::time::Duration;

use serde_json::{Value, json};

use super::{LONGEST_ARGUMENT, NoOptions, OURS, briefing, command, environment, options, ours};
use crate::codec::{Codec, Signal, acp};
use crate::kind::{Abilities, Access, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Gemini;

const NAME: &str = "gemini-cli";
const KEY: &str = "GEMINI_API_KEY";
/// Its own names for the ways in which it is let in.
const BY_KEY: &str = "gemini-api-key";
const BY_LOGIN: &str = "oauth-personal";
/// Without a name it would ask another model first which one to take, for each message.
const MODEL: &str = "gemini-2.5-pro";
/// For a call of our tools, in milliseconds: it may wait for a person.
const CALL: u64 = 3_600_000;

impl Kind for Gemini {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: false,
            resume: true,
            permissions: true,
            tools: Tools::Mcp,
            // A command of its shell is ended after five minutes without output.
            patience: Duration::from_secs(280),
            // It overwrites a conversation that it takes up within the minute in which that began.
            resume_after: Duration::from_secs(70),
        }
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        options::<NoOptions>(wish, NAME)?;
        Ok(Program {
            name: command(wish, "gemini").swap_remove(0),
            install: "npm install -g @google/gemini-cli".to_owned(),
        })
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        options::<NoOptions>(wish, NAME)?;
        Ok(launch(wish, place, &["--acp"]))
    }

    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        Ok(Box::new(acp::Acp::new(acp::Setup {
            folder: place.workspace.display().to_string(),
            resume: wish.resume.clone(),
            ..acp::Setup::default()
        })))
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        if text.len() > LONGEST_ARGUMENT {
            return None;
        }
        let mut launch = launch(wish, place, &["--output-format=text"]);
        if let Some(conversation) = &wish.resume {
            launch.argv.push(format!("--resume={conversation}"));
        }
        launch.argv.push(format!("--prompt={text}"));
        Some(launch)
    }

    fn access(&self) -> Option<Access> {
        Some(Access { variables: &[KEY], folder: ".gemini", files: &["oauth_creds.json"] })
    }
}

fn launch(wish: &Wish, place: &Place, mode: &[&str]) -> Launch {
    let folder = place.home.join(".gemini");
    let policy = folder.join("orchestrator.toml");
    let mut argv = command(wish, "gemini");
    argv.extend(mode.iter().map(|&argument| argument.to_owned()));
    argv.push(format!("--model={}", wish.model.as_deref().unwrap_or(MODEL)));
    argv.push(format!("--policy={}", policy.display()));
    if wish.unattended {
        argv.push("--yolo".to_owned());
    }
    let mut files = vec![
        ours(folder.join("settings.json"), settings(wish, place).to_string()),
        ours(policy, policy_text()),
        // It has no other way to be told something before everything else; the home is its own.
        ours(folder.join("GEMINI.md"), briefing::prompt(wish).unwrap_or_default()),
    ];
    files.extend(briefing::file(place.workspace.join("GEMINI.md"), wish));
    // It would start itself anew for more memory, and would ask whether the workspace is to be trusted.
    let fixed = [("GEMINI_CLI_NO_RELAUNCH", "true"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")];
    let base_url = Some("GOOGLE_GEMINI_BASE_URL");
    Launch {
        argv,
        environment: environment(&fixed, &wish.credentials, KEY, base_url, &wish.environment),
        files,
        ready_within: Duration::from_mins(1),
        stop: Signal::Terminate,
    }
}

fn settings(wish: &Wish, place: &Place) -> Value {
    let by_login = wish.credentials.key.is_none() && wish.credentials.login.is_some();
    let access = if by_login { BY_LOGIN } else { BY_KEY };
    let mut settings = json!({
        "security": {"auth": {"selectedType": access}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
    });
    if !wish.tools.is_empty() {
        settings["mcpServers"] = json!({OURS: server(place)});
    }
    settings
}

/// The token is named and not written: it fills variables in itself. To a server that it starts it does not pass
/// variables on that look like secrets, unless they are named.
fn server(place: &Place) -> Value {
    match &place.loopback {
        Some(url) => json!({
            "httpUrl": format!("{url}/mcp"),
            "headers": {"Authorization": "Bearer $ORCH_AUTH"},
            "trust": true,
            "timeout": CALL,
        }),
        None => json!({
            "command": OURS,
            "args": ["mcp"],
            "env": {"ORCH_AUTH": "$ORCH_AUTH", "ORCH_SOCK": "$ORCH_SOCK", "ORCH_SPOOL": "$ORCH_SPOOL"},
            "trust": true,
            "timeout": CALL,
        }),
    }
}

fn policy_text() -> String {
    format!(
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{OURS}\"\ndecision = \"allow\"\npriority = 500\n"
    )
}
