//! The protocols: state machines that turn a program's lines into [`Event`]s, and [`Command`]s into its bytes.
//!
//! The law, kept by every codec and checked by one suite:
//! - Nothing here reads, writes, waits or looks at a clock, so recorded conversations can be played back.
//! - After [`Codec::start`] comes one [`Event::Ready`] or one [`Event::Unfit`]; before it only the handshake is written.
//! - A turn begins with [`Command::Say`] and ends with exactly one [`Event::Ended`], also when the program dies
//!   ([`Codec::ended`]). There is one turn at a time.
//! - Every [`Event::Permission`], [`Event::Question`] and [`Event::Call`] is answered once, or withdrawn by
//!   [`Event::Withdrawn`]; the end of its turn withdraws what is open. An answer to what is no longer open is
//!   [`Refused::Unknown`].
//! - A line that means nothing is an [`Event::Garbage`] or is passed over; it ends nothing. What is remembered is bounded.
//! - Only whole frames are written.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub mod acp;
mod calls;
pub mod claude;
pub mod codex;
mod desk;
mod diff;
pub mod droid;
mod fault;
pub mod line;
mod rpc;
mod servers;
mod words;

pub use servers::{Http, Server, Stdio};

/// What one process and we say to each other.
pub trait Codec: Send + fmt::Debug {
    /// The process is there: the handshake begins.
    fn start(&mut self, out: &mut Out);

    /// It has written a line on its standard output, given without the newline. It may hold anything.
    fn line(&mut self, line: &[u8], out: &mut Out);

    /// It has written nothing for as long as [`Out::quiet`] named.
    fn quiet(&mut self, _out: &mut Out) {}

    /// Something is wanted of it.
    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused>;

    /// Its standard output has ended, and the process with it.
    fn ended(&mut self, out: &mut Out);
}

/// What a codec wants done.
#[derive(Debug, Default)]
pub struct Out {
    /// For the program's standard input: whole frames.
    pub write: Vec<u8>,
    pub events: Vec<Event>,
    /// [`Codec::quiet`] is wanted when nothing has come for so long; each line starts the time anew.
    pub quiet: Option<Duration>,
    pub signal: Option<Signal>,
    /// Its standard input is to be closed after what was written.
    pub close: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
}

/// What is wanted of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A message, with which a turn begins.
    Say {
        text: String,
    },
    /// A word into the turn that runs.
    Steer {
        text: String,
    },
    /// The turn is to end now; its [`Event::Ended`] still comes.
    Interrupt,
    Decide {
        request: RequestId,
        decision: Decision,
    },
    /// To a question, an answer per item.
    Answer {
        request: RequestId,
        answers: Vec<String>,
    },
    /// What came of a call; an error is for the agent to read.
    Return {
        call: CallId,
        result: Result<String, String>,
    },
    /// The program is to end in its own way.
    Close,
}

/// Why a command was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    #[error("it is not ready yet")]
    NotReady,
    #[error("a turn is running")]
    Busy,
    #[error("no turn is running")]
    Idle,
    #[error("nothing with this id is open")]
    Unknown,
    #[error("it cannot do that")]
    Unsupported,
    #[error("it reads one line at a time; write the message without line breaks")]
    ManyLines,
    #[error("it has ended")]
    Closed,
}

/// A request of the program's that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId(pub String);

/// A call of one of our tools that came in the conversation itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId(pub String);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Once,
    /// And everything like it, as long as the program runs.
    Always,
    Reject {
        why: String,
    },
}

/// What happened in a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It takes messages.
    Ready {
        version: Option<String>,
        model: Option<String>,
    },
    /// It will never be ready.
    Unfit {
        fault: Fault,
        why: String,
    },
    /// The conversation's name in the program's own files, by which it can be taken up again. A name other than the
    /// one that was to be taken up says that the earlier conversation is lost.
    Session(String),
    Text(String),
    Thinking(String),
    /// It uses a tool of its own.
    ToolStarted {
        id: String,
        name: String,
        title: String,
        input: Value,
    },
    ToolEnded {
        id: String,
        success: bool,
        output: Option<String>,
    },
    Permission(Permission),
    Question {
        request: RequestId,
        items: Vec<Question>,
    },
    /// It no longer waits for this. A call is withdrawn by its id, too: it shares its ids with no request.
    Withdrawn(RequestId),
    /// It uses a tool of ours.
    Call {
        call: CallId,
        tool: String,
        arguments: Map<String, Value>,
    },
    Usage(Usage),
    /// Its model does not answer; it tries again by itself.
    Retrying {
        why: String,
    },
    /// The turn is over.
    Ended(Outcome),
    /// A line that is none of its protocol's.
    Garbage {
        why: String,
    },
}

/// It asks whether it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permission {
    pub request: RequestId,
    /// As the program calls it: `Bash`, `Edit`, `exec_command`.
    pub tool: String,
    /// One line for a person.
    pub title: String,
    pub input: Value,
    /// The whole command line, if it wants to run one.
    pub command: Option<String>,
    pub folder: Option<String>,
    /// What it would change, as a unified diff, if it says.
    pub diff: Option<String>,
    /// Whether [`Decision::Always`] means anything to it.
    pub can_remember: bool,
}

/// It asks a person something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
}

/// What a turn took. What the program does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub model: Option<String>,
    /// All that was read, whether from a cache or not.
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// In US dollars, of this turn.
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With the last thing it said, where the protocol says which that is.
    Completed {
        text: Option<String>,
    },
    Interrupted,
    Failed {
        fault: Fault,
        why: String,
    },
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It has no key, or a wrong one.
    Login,
    /// The model service refused the request.
    Refused,
    /// The model service has no quota left, or wants it slower.
    Quota,
    Unreachable,
    /// The process ended.
    Died,
    /// The node that it ran on is not heard of any more: what became of the turn is not known.
    Lost,
    Other,
}

impl Out {
    pub fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Writes one frame as a line.
    pub fn frame(&mut self, frame: &Value) {
        self.write.extend_from_slice(frame.to_string().as_bytes());
        self.write.push(b'\n');
    }
}
