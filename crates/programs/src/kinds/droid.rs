//! Factory Droid, in its mode of JSON-RPC lines both ways.
//!
//! Our tools reach it as `orchestrator` in its shell, which its settings let through. It has them by MCP too, but must
//! look them up first there, and asks about each call.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LONGEST_ARGUMENT, OURS, briefing, command, environment, options, ours};
use crate::codec::{Codec, Signal, droid};
use crate::kind::{Abilities, Access, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Droid;

const NAME: &str = "factory-droid";
/// For the models that its maker serves.
const KEY: &str = "FACTORY_API_KEY";
/// For a model at an address of its user's.
const MODEL_KEY: &str = "ARTEL_MODEL_KEY";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// What is spoken at the address of the model.
    #[serde(default)]
    provider: Provider,
    #[serde(default = "many_tokens")]
    max_output_tokens: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Provider {
    /// Chat completions, as most services speak them.
    #[default]
    GenericChatCompletionApi,
    Openai,
    Anthropic,
}

const fn many_tokens() -> u32 {
    16_384
}

impl Kind for Droid {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: true,
            resume: true,
            permissions: true,
            tools: Tools::Shell,
            // Its model says with each command how long that may take, and is often content with a minute.
            patience: Duration::from_secs(50),
            resume_after: Duration::ZERO,
        }
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        model(wish)?;
        Ok(Program {
            name: command(wish, "droid").swap_remove(0),
            install: "npm install -g droid".to_owned(),
        })
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        let mode = ["--input-format=stream-jsonrpc", "--output-format=stream-jsonrpc"];
        launch(wish, place, &mode)
    }

    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        Ok(Box::new(droid::Droid::new(droid::Setup {
            folder: place.workspace.display().to_string(),
            machine: "artel".to_owned(),
            model: model(wish)?,
            // The risk of a command is what its model says it is, so none is let through by that.
            autonomy: "off".to_owned(),
            unattended: wish.unattended,
            instructions: briefing::whole_prompt(wish),
            servers: vec![super::acp::server(place)],
            resume: wish.resume.clone(),
        })))
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        // An earlier conversation it takes up so only with a log-in at its maker's.
        let stranger = wish.credentials.base_url.is_some() && wish.credentials.login.is_none();
        if text.len() > LONGEST_ARGUMENT || (wish.resume.is_some() && stranger) {
            return None;
        }
        let model = model(wish).ok()?;
        let mut launch = launch(wish, place, &["--output-format=text"]).ok()?;
        let argv = &mut launch.argv;
        let instructions =
            briefing::whole_prompt(wish).filter(|text| text.len() <= LONGEST_ARGUMENT);
        argv.extend(instructions.map(|text| format!("--append-system-prompt={text}")));
        argv.extend(model.map(|model| format!("--model={model}")));
        argv.extend(wish.resume.as_ref().map(|resume| format!("--session-id={resume}")));
        if wish.unattended {
            argv.push("--skip-permissions-unsafe".to_owned());
        }
        argv.extend(["--".to_owned(), text.to_owned()]);
        Some(launch)
    }

    fn access(&self) -> Option<Access> {
        Some(Access {
            variables: &[KEY],
            folder: ".factory",
            files: &["auth.v2.file", "auth.json"],
        })
    }
}

/// As the program names it; none: its own choice.
fn model(wish: &Wish) -> Result<Option<String>, Unusable> {
    options::<Options>(wish, NAME)?;
    match (&wish.credentials.base_url, &wish.model) {
        (Some(_), Some(model)) => Ok(Some(format!("custom:{model}"))),
        (Some(_), None) => {
            let why = format!("an agent of the kind {NAME} with a `base_url` needs a `model`");
            Err(Unusable(why))
        }
        (None, model) => Ok(model.clone()),
    }
}

fn launch(wish: &Wish, place: &Place, mode: &[&str]) -> Result<Launch, Unusable> {
    model(wish)?;
    let folder = place.home.join(".factory");
    let mut argv = command(wish, "droid");
    argv.push("exec".to_owned());
    argv.extend(mode.iter().map(|&argument| argument.to_owned()));
    argv.push(format!("--cwd={}", place.workspace.display()));
    let mut files = vec![ours(folder.join("settings.json"), settings(wish)?.to_string())];
    files.extend(briefing::file(place.workspace.join("AGENTS.md"), wish));
    let key = if wish.credentials.base_url.is_some() { MODEL_KEY } else { KEY };
    let fixed = [("FACTORY_DROID_AUTO_UPDATE_ENABLED", "false")];
    Ok(Launch {
        argv,
        environment: environment(&fixed, &wish.credentials, key, None, &wish.environment),
        files,
        ready_within: Duration::from_secs(45),
        stop: Signal::Terminate,
    })
}

/// The key is named and not written: it fills variables in itself.
fn settings(wish: &Wish) -> Result<Value, Unusable> {
    let Options { provider, max_output_tokens } = options(wish, NAME)?;
    let mut settings = json!({"cloudSessionSync": false, "commandAllowlist": [OURS]});
    if let (Some(base_url), Some(model)) = (&wish.credentials.base_url, &wish.model) {
        let key = if wish.credentials.key.is_some() {
            format!("${{{MODEL_KEY}}}")
        } else {
            "none".to_owned()
        };
        settings["customModels"] = json!([{
            "model": model,
            "displayName": model,
            "baseUrl": base_url,
            "apiKey": key,
            "provider": provider,
            "maxOutputTokens": max_output_tokens,
        }]);
    }
    Ok(settings)
}
