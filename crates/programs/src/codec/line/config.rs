//! The ways of a line program, as its user writes them down.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Refused;
use crate::kind::Unusable;

/// The tool whose result ends a turn under [`TurnEnd::Answer`].
pub(super) const ANSWER: &str = "answer";

/// A program is given no longer than this to be silent.
const LONGEST: f64 = 3_600.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is written for a message: `{text}` stands for it. In a template that is JSON it is escaped; in any other
    /// it must be one line. `{json}` stands for it as a JSON string.
    pub message_template: String,
    pub ready: Ready,
    /// The lines that call a tool, with a group `payload` around the JSON.
    pub tool_call: String,
    /// Where in the payload the tool's name is, and where its arguments are: names with dots between them.
    pub tool_path: String,
    pub args_path: String,
    /// What is written for a result: `{json}` stands for it. None: results are not written.
    pub tool_result_template: Option<String>,
    pub turn_end: TurnEnd,
    pub interrupt: Interrupt,
}

/// When it takes messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// At once.
    Nothing,
    /// When it has written a line that matches.
    Line(String),
    /// When it has written nothing for so many seconds.
    Delay(f64),
}

/// When it has answered a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// When it has called `answer`, and that succeeded.
    Answer,
    /// When it has written a line that matches.
    Line(String),
    /// When it has written nothing for so many seconds, and waits for no result.
    Idle(f64),
}

/// What makes it stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// The interrupt signal.
    Signal,
    /// This line.
    Line(String),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            message_template: "{text}\n".to_owned(),
            ready: Ready::Nothing,
            tool_call: r"^__TOOL_CALL__:(?P<payload>.*)$".to_owned(),
            tool_path: "tool".to_owned(),
            args_path: "args".to_owned(),
            tool_result_template: Some("__TOOL_RESULT__:{json}\n".to_owned()),
            turn_end: TurnEnd::Answer,
            interrupt: Interrupt::Signal,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), Unusable> {
        let wrong = |why: &str| Err(Unusable(why.to_owned()));
        let message = &self.message_template;
        if !message.contains("{text}") && !message.contains("{json}") {
            return wrong("`message_template` needs `{text}` or `{json}` where the message goes");
        }
        if !message.ends_with('\n') {
            return wrong("`message_template` must end with a line break");
        }
        let result = self.tool_result_template.as_deref();
        if result.is_some_and(|result| !result.contains("{json}") || !result.ends_with('\n')) {
            return wrong("`tool_result_template` needs `{json}`, and a line break at its end");
        }
        if matches!(&self.interrupt, Interrupt::Line(line) if line.contains('\n')) {
            return wrong("`interrupt` must be one line");
        }
        let times = [
            match self.ready {
                Ready::Delay(seconds) => seconds,
                Ready::Nothing | Ready::Line(_) => 1.0,
            },
            match self.turn_end {
                TurnEnd::Idle(seconds) => seconds,
                TurnEnd::Answer | TurnEnd::Line(_) => 1.0,
            },
        ];
        if times.iter().any(|seconds| !(0.0..=LONGEST).contains(seconds)) {
            return wrong("a time to wait must be between 0 and 3600 seconds");
        }
        Ok(())
    }

    /// What is written for a message.
    pub(super) fn message(&self, text: &str) -> Result<String, Refused> {
        let template = &self.message_template;
        let json = Value::from(text).to_string();
        let inner =
            json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
        let is_json =
            serde_json::from_str::<Value>(&template.replace("{text}", "").replace("{json}", "0"))
                .is_ok();
        if template.contains("{text}") && !is_json && text.contains(['\n', '\r']) {
            return Err(Refused::ManyLines);
        }
        let text = if is_json { inner } else { text };
        // Whatever the message itself holds, it is not looked into for places.
        let parts = template.split("{text}").map(|part| part.replace("{json}", &json));
        Ok(parts.collect::<Vec<_>>().join(text))
    }
}

/// The value at a path of names with dots between them; nothing there is null.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| &value[name])
}

/// Seconds that [`Config::check`] has let through.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
