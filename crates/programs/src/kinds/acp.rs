//! Any program that speaks the Agent Client Protocol, described by data alone.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::described::Start;
use super::{OURS, options};
use crate::codec::{Codec, Http, Server, Stdio, acp};
use crate::kind::{Abilities, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Acp;

const NAME: &str = "acp";

/// What the protocol leaves open, by program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    start: Start,
    /// How it is let in, of the ways that it names itself; none: it is in already.
    auth_method: Option<String>,
    /// The mode its sessions are put into, of those that it names itself; and for one that runs unattended.
    mode: Option<String>,
    unattended_mode: Option<String>,
    /// What else it lets be set, by its own names and values; `model` is the agent's unless it is here.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// It says that it takes up earlier conversations, but does not.
    #[serde(default)]
    never_resume: bool,
}

impl Kind for Acp {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: false,
            resume: true,
            permissions: true,
            tools: Tools::Mcp,
            // Shorter than the limit of any program known, for a call by MCP as for a command of a shell.
            patience: Duration::from_secs(50),
            resume_after: Duration::ZERO,
        }
    }

    fn patience(&self, wish: &Wish) -> Duration {
        let usual = self.abilities().patience;
        options::<Options>(wish, NAME).map_or(usual, |options| options.start.patience(usual))
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        options::<Options>(wish, NAME)?.start.program(wish, NAME)
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        options::<Options>(wish, NAME)?.start.launch(wish, place, NAME, Some("AGENTS.md"))
    }

    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        let options: Options = options(wish, NAME)?;
        let mode = if wish.unattended { options.unattended_mode } else { options.mode };
        let mut settings = options.settings;
        if let Some(model) = &wish.model {
            settings.entry("model".to_owned()).or_insert_with(|| model.clone());
        }
        Ok(Box::new(acp::Acp::new(acp::Setup {
            folder: place.workspace.display().to_string(),
            login: options.auth_method.map(|method| acp::Login { method, key: None }),
            mode,
            options: settings,
            servers: if wish.tools.is_empty() { Vec::new() } else { vec![server(place)] },
            resume: wish.resume.clone(),
            never_load: options.never_resume,
        })))
    }

    fn single(&self, _wish: &Wish, _place: &Place, _text: &str) -> Option<Launch> {
        None
    }
}

/// Our tools, by both ways: the program says which it takes.
pub(super) fn server(place: &Place) -> Server {
    let token = place.token.expose_secret();
    let http = place.loopback.as_ref().map(|url| Http {
        url: format!("{url}/mcp"),
        headers: [("Authorization", format!("Bearer {token}"))].into_iter().map(secret).collect(),
    });
    let variables = [
        ("ORCH_AUTH", token.to_owned()),
        ("ORCH_SOCK", place.socket.display().to_string()),
        ("ORCH_SPOOL", place.spool.display().to_string()),
    ];
    let program = place.path.first().map_or_else(|| OURS.into(), |folder| folder.join(OURS));
    let stdio = Stdio {
        command: program.display().to_string(),
        args: vec!["mcp".to_owned()],
        environment: variables.into_iter().map(secret).collect(),
    };
    Server { name: OURS.to_owned(), http, stdio: Some(stdio) }
}

fn secret((name, value): (&str, String)) -> (String, SecretString) {
    (name.to_owned(), value.into())
}
