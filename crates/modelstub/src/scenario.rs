//! What the stub is to do: rules, tried in order.
//!
//! Everything here is checked when a scenario is parsed ([`file`]); playing it cannot fail. The
//! counters that `turn`, `times` and `then` need are not here but in the player, so that one
//! scenario can be played by many stubs.

mod file;
mod pattern;
pub(crate) mod template;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::Wire;
pub(crate) use pattern::{Glob, Text};

/// What a stub is to do, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) key: Option<String>,
    pub(crate) fallback: Fallback,
    pub(crate) manners: Manners,
    pub(crate) models: Vec<String>,
    pub(crate) usage: Usage,
    pub(crate) rules: Vec<Rule>,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// ```json
    #[doc = include_str!("../scenarios/clock.json")]
    /// ```
    ///
    /// All keys are optional but `rules`; unknown ones are errors. `key` makes every request
    /// without it a 401. `fallback` says what happens when no rule matches: `error` is a 500 that
    /// names the request, `echo` answers with the last user text. `strict: false` accepts requests
    /// that the real services would refuse. `usage` is what replies without one report; without
    /// it tokens are estimated, and `"none"` reports nothing. `cached` is a part of `input`.
    ///
    /// A rule answers when all of its `when` holds:
    /// - `wire`: `chat`, `responses`, `messages`, `gemini`; or `embeddings`, which are answered
    ///   without any rule, and only by rules that name them.
    /// - `model`: the name; `*` stands for anything.
    /// - `last_user`: in the last user text; `contains`: anywhere in the request as it was sent;
    ///   `system`: in the system prompt. Each a part of the text, or `re:` and a regular
    ///   expression.
    /// - `has_tool_result`: whether the request ends in the results of tools.
    /// - `has_tools`: whether it offers tools; the side requests of CLI programs offer none.
    /// - `turn`: only the n-th request for which all of the above holds, whoever answered the
    ///   others.
    /// - `times`: at most so many answers.
    ///
    /// It answers with its `reply`, its `fault`, or both, and from its second answer on with
    /// those of `then`, of which the last is repeated.
    ///
    /// A `reply` has `text`, `tool_calls`, `thinking` (what the model says to itself, before all
    /// else), `usage`, `stop` (`done`, `length`, `filtered`, `tools`), `chunk` (characters in a
    /// piece of a stream) and `delay_ms` (between pieces, those of thoughts apart). In
    /// texts and arguments `{{last_user}}`, `{{last_tool_result}}`, `{{model}}`, `{{user_turns}}`
    /// and `{{n}}` (the how-manieth answer of this rule) are filled in. A tool is found by its
    /// name or the end of it, `answer` finds `mcp__artel__answer`; `{"shell": "ls"}` calls
    /// whichever shell the client offers. Arguments given as a string are sent as they are, also
    /// when they are not JSON.
    ///
    /// A `fault` has a `type`:
    /// - `status`: `status`, and if wanted `error` (the provider's own code), `message`,
    ///   `retry_after` (seconds, or any string), `headers`, `body` (instead of the provider's
    ///   shape; with status 200 any answer at all);
    /// - `hang`: never answers; `slow`: answers after `delay_ms`;
    /// - `cut`: closes the connection after the first `after` pieces of the reply;
    /// - `silent`: sends nothing more after the first `after` pieces (1), and keeps it open;
    /// - `garbage`: after `after` pieces sends nonsense, `as` `json`, `html` or `bytes`;
    /// - `late_error`: after `after` pieces sends an error inside of the stream, `status`,
    ///   `error` and `message` as above.
    pub fn parse(text: &str) -> Result<Self> {
        file::parse(text)
    }

    /// Answers every request with its last user text.
    pub fn echo() -> Self {
        Self {
            key: None,
            fallback: Fallback::Echo,
            manners: Manners::Strict,
            models: vec![DEFAULT_MODEL.to_owned()],
            usage: Usage::Estimated,
            rules: Vec::new(),
        }
    }
}

pub(crate) const DEFAULT_MODEL: &str = "stub-model";

/// What happens when no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fallback {
    #[default]
    Error,
    Echo,
}

/// Whether requests that the real services would refuse are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    Strict,
    Lenient,
}

#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) when: When,
    pub(crate) turn: Option<u64>,
    pub(crate) times: Option<u64>,
    /// Never empty; the last is repeated.
    pub(crate) steps: Vec<Step>,
}

/// What must hold of a request, apart from what came before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct When {
    pub(crate) wire: Option<Wire>,
    pub(crate) model: Option<Glob>,
    pub(crate) last_user: Option<Text>,
    pub(crate) contains: Option<Text>,
    pub(crate) system: Option<Text>,
    pub(crate) has_tool_result: Option<bool>,
    pub(crate) has_tools: Option<bool>,
}

/// One answer of a rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    pub(crate) reply: Reply,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// `None` takes the scenario's.
    pub(crate) usage: Option<Usage>,
    /// `None` is what the content suggests.
    pub(crate) stop: Option<Stop>,
    pub(crate) pace: Pace,
}

impl Reply {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            thinking: String::new(),
            text,
            calls: Vec::new(),
            usage: None,
            stop: None,
            pace: Pace::default(),
        }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::text("")
    }
}

/// How a stream is cut into pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Characters in a piece; never 0.
    pub(crate) chunk: usize,
    pub(crate) delay: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { chunk: 24, delay: Duration::ZERO }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Call {
    Tool { name: String, arguments: Value },
    Shell { command: String },
}

/// The tokens that a reply reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    Estimated,
    Fixed(Tokens),
    Unreported,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    #[serde(default)]
    pub(crate) input: u64,
    #[serde(default)]
    pub(crate) output: u64,
    /// Of the input, never more than it.
    #[serde(default)]
    pub(crate) cached: u64,
}

/// Why a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stop {
    Done,
    Length,
    Filtered,
    Tools,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Fault {
    Status(Failure),
    // With braces, as otherwise unknown fields next to `type` would pass.
    Hang {},
    Slow {
        delay_ms: u64,
    },
    Cut {
        #[serde(default)]
        after: usize,
    },
    Silent {
        #[serde(default = "one")]
        after: usize,
    },
    Garbage {
        #[serde(default)]
        after: usize,
        #[serde(default, rename = "as")]
        nonsense: Nonsense,
    },
    LateError {
        #[serde(default)]
        after: usize,
        status: u16,
        error: Option<String>,
        message: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) error: Option<String>,
    pub(crate) message: Option<String>,
    /// Seconds, or a string that is sent as it is.
    pub(crate) retry_after: Option<Value>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// A string is sent as it is, anything else as JSON.
    pub(crate) body: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Nonsense {
    /// An event whose data is broken JSON.
    #[default]
    Json,
    /// The page of some proxy.
    Html,
    /// Not even text.
    Bytes,
}

const fn one() -> usize {
    1
}
