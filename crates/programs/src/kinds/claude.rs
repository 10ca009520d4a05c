//! Claude Code, in its mode of JSON lines both ways.
//!
//! Our tools reach it in the conversation itself; `orchestrator` in its shell is let through besides.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::{LONGEST_ARGUMENT, NoOptions, OURS, briefing, command, environment, options};
use crate::codec::{Codec, Signal, claude};
use crate::kind::{Abilities, Access, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Claude;

const NAME: &str = "claude-code";
const KEY: &str = "ANTHROPIC_API_KEY";
/// For the long-lived tokens of subscriptions, which begin with [`SUBSCRIPTION`].
const TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";
const SUBSCRIPTION: &str = "sk-ant-oat";

impl Kind for Claude {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: true,
            resume: true,
            permissions: true,
            tools: Tools::InBand,
            // A command of its shell is killed after 120 s.
            patience: Duration::from_secs(110),
            resume_after: Duration::ZERO,
        }
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        options::<NoOptions>(wish, NAME)?;
        Ok(Program {
            name: command(wish, "claude").swap_remove(0),
            install: "npm install -g @anthropic-ai/claude-code".to_owned(),
        })
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        options::<NoOptions>(wish, NAME)?;
        let arguments = [
            "--input-format=stream-json",
            "--output-format=stream-json",
            "--verbose",
            "--include-partial-messages",
            "--permission-prompt-tool=stdio",
        ];
        Ok(launch(wish, place, &arguments))
    }

    fn codec(&self, wish: &Wish, _place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        let instructions = briefing::prompt(wish);
        Ok(Box::new(claude::Claude::new(claude::Setup { tools: wish.tools.clone(), instructions })))
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        if text.len() > LONGEST_ARGUMENT {
            return None;
        }
        let mut launch = launch(wish, place, &["--output-format=text"]);
        let instructions = briefing::prompt(wish).filter(|text| text.len() <= LONGEST_ARGUMENT);
        launch.argv.extend(instructions.map(|text| format!("--append-system-prompt={text}")));
        launch.argv.extend(["--".to_owned(), text.to_owned()]);
        Some(launch)
    }

    fn access(&self) -> Option<Access> {
        Some(Access {
            variables: &[KEY, TOKEN, "ANTHROPIC_AUTH_TOKEN"],
            folder: ".claude",
            files: &[".credentials.json"],
        })
    }
}

fn launch(wish: &Wish, place: &Place, mode: &[&str]) -> Launch {
    let mut argv = command(wish, "claude");
    argv.push("-p".to_owned());
    argv.extend(mode.iter().map(|&argument| argument.to_owned()));
    // The servers of its workspace's own `.mcp.json` are programs that nobody has agreed to.
    argv.push("--strict-mcp-config".to_owned());
    // With an equals sign, for these take as many values as follow.
    argv.push(format!("--allowedTools=mcp__{OURS},Bash({OURS}:*)"));
    if let Some(model) = &wish.model {
        argv.push(format!("--model={model}"));
    }
    if let Some(conversation) = &wish.resume {
        argv.push(format!("--resume={conversation}"));
    }
    let mut fixed =
        vec![("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")];
    if wish.unattended {
        argv.push("--dangerously-skip-permissions".to_owned());
        // Without it the root user of a container is refused that.
        fixed.push(("IS_SANDBOX", "1"));
    }
    let key = wish.credentials.key.as_ref().map_or("", |key| key.expose_secret());
    let variable = if key.starts_with(SUBSCRIPTION) { TOKEN } else { KEY };
    let base_url = Some("ANTHROPIC_BASE_URL");
    let files = briefing::file(place.workspace.join("CLAUDE.md"), wish).into_iter().collect();
    Launch {
        argv,
        environment: environment(&fixed, &wish.credentials, variable, base_url, &wish.environment),
        files,
        ready_within: Duration::from_secs(30),
        // On the other signal it leaves a running command of its shell behind.
        stop: Signal::Interrupt,
    }
}
