//! A provider without a model: answers by rules, with no network, for trying things out and for tests.
//!
//! It is called scripted wherever it shows. The built-in script `demo` says itself that no real model answers, and how
//! to configure one. A script is TOML or JSON:
//!
//! ```toml
//! [[rules]]
//! when = "weather"               # in the last user message, in any case; without it: always
//! text = "Let me look."
//! calls = [{ name = "read_file", arguments = { path = "weather.txt" } }]
//!
//! [[rules]]
//! after = "read_file"            # answers the result of that tool; without it: answers the user
//! text = "It says: {result}"     # {message} is the last user message
//! pause_ms = 20                  # between words
//!
//! [[rules]]
//! when = "break"
//! fault = "panic"                # the work on the answer panics, to try what becomes of the rest
//! ```
//!
//! The first rule that fits answers.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::answer::Answer;
use super::chat::{ChatModel, Error, Message, Piece, Request, Stop};
use super::tokens;
use super::wire::Pieces;

/// The script that is always there.
pub const DEMO: &str = "demo";

const DEMO_SCRIPT: &str = r#"
[[rules]]
text = """
This is a scripted answer: no real model is configured, so nobody has thought about your message. \
To configure one, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or OLLAMA_HOST for models on your own \
machine, and start the server again. You wrote: {message}"""
"#;

/// The most that is repeated of a message or a result.
const MAX_REPEATED: usize = 500;

/// A script, ready to answer.
#[derive(Debug, Clone)]
pub struct Scripted {
    rules: Vec<Rule>,
}

/// What is wrong with a script.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the script cannot be read: {0}")]
pub struct BadScript(String);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    when: Option<String>,
    after: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default)]
    pause_ms: u64,
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    Panic,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Scripted {
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        let file: Result<File, String> = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| error.to_string())
        } else {
            toml::from_str(text).map_err(|error| error.to_string())
        };
        let file = file.map_err(BadScript)?;
        let empty =
            |rule: &Rule| rule.text.is_empty() && rule.calls.is_empty() && rule.fault.is_none();
        if file.rules.iter().any(empty) {
            return Err(BadScript("a rule has neither text nor calls nor a fault".to_owned()));
        }
        Ok(Self { rules: file.rules })
    }

    pub fn demo() -> Self {
        Self::parse(DEMO_SCRIPT).expect("the built-in script is tested")
    }

    fn rule(&self, message: &str, after: Option<&str>) -> Option<&Rule> {
        let message = message.to_lowercase();
        self.rules.iter().find(|rule| {
            rule.after.as_deref() == after
                && rule.when.as_ref().is_none_or(|when| message.contains(&when.to_lowercase()))
        })
    }
}

#[async_trait]
impl ChatModel for Scripted {
    async fn ask(&self, request: Request) -> Result<Pieces, Error> {
        let message = request.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            Message::Assistant { .. } | Message::ToolResult { .. } => None,
        });
        let message = message.unwrap_or("");
        let (after, result) = match request.messages.last() {
            Some(Message::ToolResult { name, content, .. }) => {
                (Some(name.as_str()), content.as_str())
            }
            Some(Message::User(_) | Message::Assistant { .. }) | None => (None, ""),
        };
        let rule = self.rule(message, after);
        assert!(rule.is_none_or(|rule| rule.fault != Some(Fault::Panic)), "the script says so");
        let (text, calls, pause) = match (rule, after) {
            (Some(rule), _) => (rule.text.as_str(), rule.calls.as_slice(), rule.pause_ms),
            // Without this a rule with calls would call for ever.
            (None, Some(_)) => ("(scripted) The tool answered: {result}", &[][..], 0),
            (None, None) => ("(scripted) The script has no answer to: {message}", &[][..], 0),
        };
        let text = fill(text, message, result);
        let pieces = pieces(&text, calls, &request)?;
        Ok(play(pieces, Duration::from_millis(pause), &request))
    }
}

fn fill(text: &str, message: &str, result: &str) -> String {
    let start = |text: &str| text.chars().take(MAX_REPEATED).collect::<String>();
    // One pass, so that a message with `{result}` in it stays as it was written.
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let (word, value) = [("{message}", message), ("{result}", result)]
            .into_iter()
            .find(|(word, _)| rest.starts_with(word))
            .map_or(("{", "{".to_owned()), |(word, value)| (word, start(value)));
        filled.push_str(&value);
        rest = &rest[word.len()..];
    }
    filled + rest
}

/// The whole answer, by the same rules as any other.
fn pieces(text: &str, calls: &[Call], request: &Request) -> Result<Vec<Piece>, Error> {
    let mut answer = Answer::new(tokens::of_request(request));
    let mut stop = Stop::Done;
    let mut said = tokens::Count::default();
    for word in text.split_inclusive(char::is_whitespace) {
        said.add(word);
        if said.total() > u64::from(request.max_tokens) {
            stop = Stop::Length;
            break;
        }
        answer.text(word);
    }
    for (index, call) in (0..).zip(calls) {
        answer.call(index, "", &call.name)?;
        answer.arguments(index, &Value::Object(call.arguments.clone()).to_string())?;
    }
    answer.stop(stop);
    answer.close()?;
    Ok(std::iter::from_fn(|| answer.take()).collect())
}

fn play(pieces: Vec<Piece>, pause: Duration, request: &Request) -> Pieces {
    let first = request.first_piece;
    let silence = request.silence;
    stream::unfold((pieces.into_iter(), first), move |(mut pieces, limit)| async move {
        let piece = pieces.next()?;
        // Even a sleep of no time waits for the next tick of the clock.
        if !pause.is_zero() {
            sleep(pause.min(limit)).await;
        }
        if pause > limit {
            return Some((Err(Error::Timeout), (Vec::new().into_iter(), silence)));
        }
        Some((Ok(piece), (pieces, silence)))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(messages: Vec<Message>) -> Request {
        Request {
            model: "x".to_owned(),
            system: String::new(),
            messages,
            tools: Vec::new(),
            must_call: None,
            temperature: 0.0,
            max_tokens: 1000,
            first_piece: Duration::from_secs(10),
            silence: Duration::from_secs(10),
        }
    }

    async fn text(script: &Scripted, messages: Vec<Message>) -> String {
        let pieces = script.ask(ask(messages)).await.unwrap();
        let texts = pieces.map(|piece| match piece.unwrap() {
            Piece::Text(text) => text,
            Piece::Call(call) => format!("<{}>", call.name),
            Piece::End { .. } => String::new(),
        });
        texts.collect::<Vec<_>>().await.concat()
    }

    fn user(text: &str) -> Message {
        Message::User(text.to_owned())
    }

    #[tokio::test]
    async fn the_demo_says_what_it_is_and_how_to_get_a_real_model() {
        let said = text(&Scripted::demo(), vec![user("Fix {result}")]).await;
        for part in ["scripted", "no real model", "OPENAI_API_KEY", "OLLAMA_HOST", "Fix {result}"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[tokio::test]
    async fn rules_answer_messages_and_results() {
        let script = Scripted::parse(
            r#"{"rules": [
                {"when": "WEATHER", "text": "Looking. ", "calls": [{"name": "look"}]},
                {"after": "look", "when": "weather", "text": "It is {result}."}]}"#,
        )
        .unwrap();
        let asked = user("the weather, please");
        assert_eq!(text(&script, vec![asked.clone()]).await, "Looking. <look>");
        let result = Message::ToolResult {
            id: "1".to_owned(),
            name: "look".to_owned(),
            content: "fine".to_owned(),
            failed: false,
        };
        assert_eq!(text(&script, vec![asked, result.clone()]).await, "It is fine.");
        assert!(text(&script, vec![user("x"), result]).await.starts_with("(scripted)"));
        assert!(text(&script, vec![user("x")]).await.starts_with("(scripted)"));
    }

    #[test]
    fn a_script_with_a_mistake_is_refused() {
        for bad in ["rules = 3", "{", "[[rules]]\ntxt = 'x'", "[[rules]]\nwhen = 'x'"] {
            assert!(Scripted::parse(bad).is_err(), "{bad}");
        }
    }
}
