//! The kinds there are, one file each: what is started, with which settings, and what the agent is told.
//!
//! Nothing here touches a disk or a process. What a program must find when it starts is in its [`Launch`]; everything it
//! is told of us is in [`briefing`], so that all kinds are told the same.

mod acp;
mod briefing;
mod claude;
mod codex;
mod described;
mod droid;
mod gemini;
mod line;

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kind::{Credentials, Existing, File, Kind, Unusable, Wish};

/// How our tools are called wherever a program wants a name for them: an MCP server, and the program in its shell.
const OURS: &str = "orchestrator";

/// The longest text that goes into a command line; the kernel takes twice as much in one argument.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// All kinds, by name.
pub fn all() -> &'static [&'static dyn Kind] {
    &[&acp::Acp, &claude::Claude, &codex::Codex, &droid::Droid, &gemini::Gemini, &line::Line]
}

/// The kind of this name, as users write it.
pub fn find(name: &str) -> Option<&'static dyn Kind> {
    all().iter().copied().find(|kind| kind.name() == name)
}

/// What to run before the kind's own arguments.
fn command(wish: &Wish, own: &str) -> Vec<String> {
    if wish.command.is_empty() { vec![own.to_owned()] } else { wish.command.clone() }
}

/// The options of a kind, checked.
fn options<T: DeserializeOwned>(wish: &Wish, kind: &str) -> Result<T, Unusable> {
    serde_json::from_value(Value::Object(wish.options.clone()))
        .map_err(|error| Unusable(format!("the `options` of an agent of the kind {kind}: {error}")))
}

/// A file of ours in the program's own home.
fn ours(path: PathBuf, content: String) -> File {
    File { path, content, existing: Existing::Replace, secret: false }
}

/// For a kind without options: a wrong one is told rather than passed over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// The environment of a program: what its kind needs, how it gets to its model, and last what the user wants.
fn environment(
    fixed: &[(&str, &str)],
    credentials: &Credentials,
    key: &str,
    base_url: Option<&str>,
    user: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if let Some(secret) = &credentials.key {
        all.insert(key.to_owned(), secret.expose_secret().to_owned());
    }
    if let (Some(name), Some(url)) = (base_url, &credentials.base_url) {
        all.insert(name.to_owned(), url.clone());
    }
    all.extend(user.clone());
    all
}
