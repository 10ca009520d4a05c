//! What there is to start: a kind of program, what its user decided, and where it will stand.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::codec::{Codec, Signal};
use crate::toolbox::ToolSpec;

/// One kind of program. It says what to start and how to speak to it, and starts nothing itself.
pub trait Kind: Send + Sync + fmt::Debug {
    /// As users name it: `claude-code`.
    fn name(&self) -> &str;
    fn abilities(&self) -> Abilities;
    /// How long a call of ours may keep it waiting, where its user knows better than the kind.
    fn patience(&self, wish: &Wish) -> Duration {
        let _ = wish;
        self.abilities().patience
    }
    /// The program to look for on the PATH, and how to get it.
    fn program(&self, wish: &Wish) -> Result<Program, Unusable>;
    /// The process to start.
    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable>;
    /// A fresh machine for one process.
    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable>;
    /// The process for one message alone, for when none can be kept up; none if the kind cannot do that. What it writes
    /// on its standard output is the answer.
    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch>;
    /// What lets it in to its model, where the kind knows.
    fn access(&self) -> Option<Access> {
        None
    }
}

/// A kind that is lent is as good.
impl<K: Kind + ?Sized> Kind for &K {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn abilities(&self) -> Abilities {
        (**self).abilities()
    }

    fn patience(&self, wish: &Wish) -> Duration {
        (**self).patience(wish)
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        (**self).program(wish)
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        (**self).launch(wish, place)
    }

    fn codec(&self, wish: &Wish, place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        (**self).codec(wish, place)
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        (**self).single(wish, place, text)
    }

    fn access(&self) -> Option<Access> {
        (**self).access()
    }
}

/// What was configured cannot be started, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// What the user and the server decided about one agent.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// What to run; empty: the kind's own program.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// What the agent is told before everything else.
    pub instructions: String,
    pub tools: Vec<ToolSpec>,
    pub credentials: Credentials,
    /// Whether it asks before it does anything that matters, or may do all that its sandbox lets it.
    pub unattended: bool,
    /// More for its environment, by the user.
    pub environment: BTreeMap<String, String>,
    /// The conversation to take up again.
    pub resume: Option<String>,
    /// What only this kind understands.
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// How it gets to its model.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub key: Option<SecretString>,
    pub base_url: Option<String>,
    /// A folder with a log-in of the program's own, which stands in its home.
    pub login: Option<PathBuf>,
}

/// What lets a program in to its model if it is given no key: any one of it is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Variables that it looks at itself.
    pub variables: &'static [&'static str],
    /// The folder in its home in which it keeps its own log-in, and the files there that are one.
    pub folder: &'static str,
    pub files: &'static [&'static str],
}

/// Where it stands, as it sees it from inside.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its own, and kept.
    pub home: PathBuf,
    /// Where it works.
    pub workspace: PathBuf,
    /// Folders of programs; the one with `orchestrator` is first.
    pub path: Vec<PathBuf>,
    /// The tools' socket, and the folder for calls where a socket cannot be reached.
    pub socket: PathBuf,
    pub spool: PathBuf,
    /// Where the tools are on the loopback interface, if it can reach that.
    pub loopback: Option<String>,
    /// What it shows to be let in to the tools.
    pub token: SecretString,
}

/// A process to start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program, found on [`Place::path`] or by its whole path, and its arguments.
    pub argv: Vec<String>,
    /// All of its environment but `PATH`, `HOME`, `LANG`, `TERM`, `SHELL`, `TMPDIR` and what names the tools.
    pub environment: BTreeMap<String, String>,
    pub files: Vec<File>,
    pub ready_within: Duration,
    /// What makes it end, when it does not by itself after its protocol's word and the end of its input.
    pub stop: Signal,
}

/// A file that must stand before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    pub content: String,
    pub existing: Existing,
    /// For the owner's eyes only.
    pub secret: bool,
}

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is ours: written anew.
    Replace,
    /// It is the user's unless it opens with [`OURS`].
    KeepIfForeign,
}

/// How a file in the workspace that we wrote begins.
pub const OURS: &str = "<!-- written by artel; delete this line to keep your own text -->";

/// What a kind can do, for whoever decides how to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Takes a word into the running turn.
    pub steer: bool,
    /// Takes up an earlier conversation.
    pub resume: bool,
    /// Asks before it does something.
    pub permissions: bool,
    /// How our tools reach it best.
    pub tools: Tools,
    /// How long a call of ours may keep it waiting, unless its user says otherwise ([`Kind::patience`]).
    pub patience: Duration,
    /// A conversation can be taken up no sooner than so long after it began.
    pub resume_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// In the conversation itself.
    InBand,
    /// By MCP.
    Mcp,
    /// By the `orchestrator` program alone.
    Shell,
    /// By lines on its standard output.
    Lines,
}

/// A program that a kind needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    /// How to get it, for people.
    pub install: String,
}
