//! What the kinds share that are data alone: how a program is started that only its user knows.

use std::time::Duration;

use serde::Deserialize;

use super::{briefing, environment};
use crate::codec::Signal;
use crate::kind::{Launch, Place, Program, Unusable, Wish};

/// `options.start` of such an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Start {
    /// The variables in which it looks for its key, for the address of its model, and for the model's name.
    key_variable: Option<String>,
    base_url_variable: Option<String>,
    model_variable: Option<String>,
    /// The file of instructions that it reads in its workspace.
    instructions_file: Option<String>,
    /// In seconds.
    ready_within: Option<u64>,
    /// How long a call of ours may keep it waiting, in seconds; then a question is parked.
    patience: Option<u64>,
    /// How to get it, for people.
    install: Option<String>,
}

const READY_WITHIN: u64 = 60;
/// An hour is longer than anyone waits.
const LONGEST_START: u64 = 3600;

impl Start {
    pub(super) fn program(&self, wish: &Wish, kind: &str) -> Result<Program, Unusable> {
        let name = command(wish, kind)?.swap_remove(0);
        if self.patience.is_some_and(|patience| !(1..=LONGEST_START).contains(&patience)) {
            let why = format!("`options.start.patience` is from 1 to {LONGEST_START} seconds");
            return Err(Unusable(why));
        }
        let install =
            self.install.clone().unwrap_or_else(|| format!("install {name} as its maker says"));
        Ok(Program { name, install })
    }

    /// As its user knows it, or else as the kind is.
    pub(super) fn patience(&self, usual: Duration) -> Duration {
        self.patience.map_or(usual, Duration::from_secs)
    }

    /// Its process, with its instructions in this file unless it has another.
    pub(super) fn launch(
        &self,
        wish: &Wish,
        place: &Place,
        kind: &str,
        usual_file: Option<&str>,
    ) -> Result<Launch, Unusable> {
        let argv = command(wish, kind)?;
        let ready_within = self.ready_within.unwrap_or(READY_WITHIN);
        if !(1..=LONGEST_START).contains(&ready_within) {
            let why = format!("`options.start.ready_within` is from 1 to {LONGEST_START} seconds");
            return Err(Unusable(why));
        }
        let credentials = &wish.credentials;
        if credentials.key.is_some() && self.key_variable.is_none() {
            let why = format!(
                "an agent of the kind {kind} with a key needs `options.start.key_variable`, the variable to put it in"
            );
            return Err(Unusable(why));
        }
        let key = self.key_variable.as_deref().unwrap_or_default();
        let base_url = self.base_url_variable.as_deref();
        let mut environment = environment(&[], credentials, key, base_url, &wish.environment);
        if let (Some(name), Some(model)) = (&self.model_variable, &wish.model) {
            environment.entry(name.clone()).or_insert_with(|| model.clone());
        }
        let name = self.instructions_file.as_deref().or(usual_file).map(plain).transpose()?;
        let file = name.and_then(|name| briefing::whole_file(place.workspace.join(name), wish));
        Ok(Launch {
            argv,
            environment,
            files: file.into_iter().collect(),
            ready_within: Duration::from_secs(ready_within),
            stop: Signal::Terminate,
        })
    }
}

fn command(wish: &Wish, kind: &str) -> Result<Vec<String>, Unusable> {
    if wish.command.first().is_none_or(String::is_empty) {
        let why =
            format!("an agent of the kind {kind} needs a `command`: the program and its arguments");
        return Err(Unusable(why));
    }
    Ok(wish.command.clone())
}

/// Anything else could be a file outside of the workspace.
fn plain(name: &str) -> Result<&str, Unusable> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        let why = "`options.start.instructions_file` is the plain name of a file";
        return Err(Unusable(why.to_owned()));
    }
    Ok(name)
}
