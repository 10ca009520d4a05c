//! Codex, as its `app-server`.
//!
//! Our tools reach it in the conversation itself, and a rule of its own lets `orchestrator` through in its shell.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{LONGEST_ARGUMENT, OURS, briefing, command, environment, options, ours};
use crate::codec::{Codec, Signal, codex};
use crate::kind::{Abilities, Access, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Codex;

const NAME: &str = "codex";
/// Its own variable is read only for its own service; ours also for any other.
const KEY: &str = "ARTEL_MODEL_KEY";
const SERVICE: &str = "https://api.openai.com/v1";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Its own, around each command of its shell. It stands in ours already, and in a container it often cannot make
    /// another.
    #[serde(default)]
    sandbox: Sandbox,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    #[default]
    DangerFullAccess,
}

impl Sandbox {
    fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

impl Kind for Codex {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: true,
            resume: true,
            permissions: true,
            tools: Tools::InBand,
            // Seen to wait for seven minutes; a command of its shell goes on for as long as it likes.
            patience: Duration::from_secs(400),
            resume_after: Duration::ZERO,
        }
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        options::<Options>(wish, NAME)?;
        Ok(Program {
            name: command(wish, "codex").swap_remove(0),
            install: "npm install -g @openai/codex".to_owned(),
        })
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        options::<Options>(wish, NAME)?;
        let mut argv = command(wish, "codex");
        argv.push("app-server".to_owned());
        argv.extend(settings(wish));
        Ok(launch(wish, place, argv))
    }

    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        let Options { sandbox } = options(wish, NAME)?;
        let approval = if wish.unattended { "never" } else { "untrusted" };
        Ok(Box::new(codex::Codex::new(codex::Setup {
            folder: place.workspace.display().to_string(),
            model: wish.model.clone(),
            approval: approval.to_owned(),
            sandbox: sandbox.name().to_owned(),
            instructions: briefing::prompt(wish),
            tools: wish.tools.clone(),
            config: None,
            resume: wish.resume.clone(),
        })))
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        if text.len() > LONGEST_ARGUMENT {
            return None;
        }
        let Options { sandbox } = options(wish, NAME).ok()?;
        let mut argv = command(wish, "codex");
        argv.push("exec".to_owned());
        if let Some(conversation) = &wish.resume {
            argv.extend(["resume".to_owned(), conversation.clone()]);
        }
        argv.push("--skip-git-repo-check".to_owned());
        argv.extend(settings(wish));
        argv.extend(set("sandbox_mode", &json!(sandbox.name())));
        argv.extend(["--".to_owned(), text.to_owned()]);
        Some(launch(wish, place, argv))
    }

    fn access(&self) -> Option<Access> {
        Some(Access { variables: &[], folder: ".codex", files: &["auth.json"] })
    }
}

fn launch(wish: &Wish, place: &Place, argv: Vec<String>) -> Launch {
    let mut files = vec![ours(
        place.home.join(".codex/rules/orchestrator.rules"),
        format!("prefix_rule(pattern=[\"{OURS}\"], decision=\"allow\")\n"),
    )];
    files.extend(briefing::file(place.workspace.join("AGENTS.md"), wish));
    Launch {
        argv,
        environment: environment(&[], &wish.credentials, KEY, None, &wish.environment),
        files,
        ready_within: Duration::from_secs(30),
        stop: Signal::Terminate,
    }
}

fn settings(wish: &Wish) -> Vec<String> {
    let mut settings = vec![
        // A login shell reads the system's profile, which throws our PATH away.
        set("allow_login_shell", &json!(false)),
        set("check_for_update_on_startup", &json!(false)),
        set("shell_environment_policy.exclude", &json!([KEY])),
    ];
    if let Some(model) = &wish.model {
        settings.push(set("model", &json!(model)));
    }
    let credentials = &wish.credentials;
    // With neither it uses the log-in in its home.
    if credentials.key.is_some() || credentials.base_url.is_some() {
        let service = credentials.base_url.as_deref().unwrap_or(SERVICE);
        settings.push(set("model_provider", &json!("artel")));
        settings.push(set("model_providers.artel.name", &json!("artel")));
        settings.push(set("model_providers.artel.base_url", &json!(service)));
        settings.push(set("model_providers.artel.wire_api", &json!("responses")));
        if credentials.key.is_some() {
            settings.push(set("model_providers.artel.env_key", &json!(KEY)));
        }
    }
    settings.concat()
}

/// A setting as arguments. Its values are TOML, in which a string, a list of them and a truth are written as in JSON.
fn set(name: &str, value: &serde_json::Value) -> [String; 2] {
    ["-c".to_owned(), format!("{name}={value}")]
}
