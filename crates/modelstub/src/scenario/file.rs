//! The scenario file as it is written, and the way from there to a checked [`Scenario`].
//!
//! Rules are read one by one, so that an error can say in which rule it is.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Call, DEFAULT_MODEL, Failure, Fallback, Fault, Glob, Manners, Pace, Reply, Rule, Scenario,
    Step, Stop, Text, Tokens, Usage, When, template,
};
use crate::wire::Wire;

const MAX_FILE: usize = 4 * 1024 * 1024;
const MAX_RULES: usize = 1000;
const MAX_DELAY_MS: u64 = 10 * 60 * 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key: Option<String>,
    #[serde(default)]
    fallback: Fallback,
    strict: Option<bool>,
    models: Option<Vec<String>>,
    usage: Option<Value>,
    rules: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    name: Option<String>,
    #[serde(default)]
    when: WhenEntry,
    reply: Option<ReplyEntry>,
    fault: Option<Fault>,
    #[serde(default)]
    then: Vec<StepEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenEntry {
    wire: Option<Wire>,
    model: Option<String>,
    last_user: Option<String>,
    contains: Option<String>,
    system: Option<String>,
    has_tool_result: Option<bool>,
    has_tools: Option<bool>,
    turn: Option<u64>,
    times: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    reply: Option<ReplyEntry>,
    fault: Option<Fault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyEntry {
    #[serde(default)]
    thinking: String,
    text: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallEntry>,
    usage: Option<Value>,
    stop: Option<Stop>,
    chunk: Option<usize>,
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    name: Option<String>,
    arguments: Option<Value>,
    shell: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Scenario> {
    ensure!(text.len() <= MAX_FILE, "the scenario is larger than {MAX_FILE} bytes");
    let file: File = serde_json::from_str(text).context("not a scenario")?;
    ensure!(file.rules.len() <= MAX_RULES, "there are more than {MAX_RULES} rules");
    let rules = file.rules.into_iter().enumerate().map(|(at, entry)| numbered(at + 1, entry));
    Ok(Scenario {
        key: file.key,
        fallback: file.fallback,
        manners: if file.strict == Some(false) { Manners::Lenient } else { Manners::Strict },
        models: file.models.unwrap_or_else(|| vec![DEFAULT_MODEL.to_owned()]),
        usage: file.usage.map(usage).transpose()?.unwrap_or(Usage::Estimated),
        rules: rules.collect::<Result<_>>()?,
    })
}

fn numbered(number: usize, entry: Value) -> Result<Rule> {
    let label = match entry.get("name").and_then(Value::as_str) {
        Some(name) => format!("rule {number} ({name})"),
        None => format!("rule {number}"),
    };
    read(entry).and_then(|entry| rule(number, entry)).context(label)
}

/// The message of serde as the error itself, as `context` alone would hide it from `to_string`.
fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(Into::into)
}

fn rule(number: usize, entry: RuleEntry) -> Result<Rule> {
    let mut steps = vec![step(entry.reply, entry.fault)?];
    for (at, next) in entry.then.into_iter().enumerate() {
        let label = || format!("then {}", at + 1);
        steps.push(step(next.reply, next.fault).with_context(label)?);
    }
    let WhenEntry { turn, times, .. } = entry.when;
    ensure!(turn != Some(0), "turn counts from 1");
    ensure!(times != Some(0), "times 0 would never answer");
    ensure!(
        entry.when.wire != Some(Wire::Embeddings) || steps.iter().all(|step| step.fault.is_some()),
        "embeddings are computed: a rule for them has faults, no replies"
    );
    let name = entry.name.unwrap_or_else(|| format!("rule {number}"));
    Ok(Rule { name, when: when(entry.when)?, turn, times, steps })
}

fn when(entry: WhenEntry) -> Result<When> {
    let text = |pattern: Option<String>| pattern.map(Text::parse).transpose();
    Ok(When {
        wire: entry.wire,
        model: entry.model.as_deref().map(Glob::parse).transpose()?,
        last_user: text(entry.last_user).context("last_user")?,
        contains: text(entry.contains).context("contains")?,
        system: text(entry.system).context("system")?,
        has_tool_result: entry.has_tool_result,
        has_tools: entry.has_tools,
    })
}

fn step(entry: Option<ReplyEntry>, fault: Option<Fault>) -> Result<Step> {
    if let Some(fault) = &fault {
        check_fault(fault).context("fault")?;
    }
    let reply = match (entry, &fault) {
        (None, None) => bail!("there is neither a reply nor a fault"),
        (Some(_), Some(Fault::Status(_) | Fault::Hang {})) => {
            bail!("with a fault of type status or hang there is no reply")
        }
        (None, Some(Fault::Slow { .. })) => bail!("what is slow needs a reply"),
        // Something must be said for a fault to be in the middle of it.
        (None, Some(_)) => Reply::text("This answer will not come to a good end."),
        (Some(entry), _) => reply(entry).context("reply")?,
    };
    Ok(Step { reply, fault })
}

fn reply(entry: ReplyEntry) -> Result<Reply> {
    ensure!(entry.text.is_some() || !entry.tool_calls.is_empty(), "neither text nor tool_calls");
    let text = entry.text.unwrap_or_default();
    template::check(&text)?;
    template::check(&entry.thinking)?;
    ensure!(entry.chunk != Some(0), "chunk counts from 1");
    check_delay(entry.delay_ms)?;
    let calls: Vec<Call> = entry.tool_calls.into_iter().map(call).collect::<Result<_>>()?;
    ensure!(entry.stop != Some(Stop::Tools) || !calls.is_empty(), "stop tools needs tool_calls");
    let pace = Pace {
        chunk: entry.chunk.unwrap_or(Pace::default().chunk),
        delay: Duration::from_millis(entry.delay_ms),
    };
    Ok(Reply {
        thinking: entry.thinking,
        text,
        calls,
        usage: entry.usage.map(usage).transpose()?,
        stop: entry.stop,
        pace,
    })
}

fn call(entry: CallEntry) -> Result<Call> {
    match entry {
        CallEntry { name: Some(name), arguments, shell: None } => {
            let arguments = arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            ensure!(
                arguments.is_object() || arguments.is_string(),
                "arguments of {name} are neither an object nor a string"
            );
            template::check_json(&arguments)?;
            Ok(Call::Tool { name, arguments })
        }
        CallEntry { name: None, arguments: None, shell: Some(command) } => {
            template::check(&command)?;
            Ok(Call::Shell { command })
        }
        _ => bail!("a tool call has a name and arguments, or just shell"),
    }
}

fn usage(value: Value) -> Result<Usage> {
    if let Value::String(word) = &value {
        ensure!(word == "none", "usage is an object or \"none\", not {word:?}");
        return Ok(Usage::Unreported);
    }
    let tokens: Tokens = read(value).context("usage")?;
    ensure!(tokens.cached <= tokens.input, "usage: cached is a part of input, and cannot be more");
    Ok(Usage::Fixed(tokens))
}

fn check_fault(fault: &Fault) -> Result<()> {
    match fault {
        Fault::Status(Failure { status, retry_after, headers, .. }) => {
            check_status(*status)?;
            match retry_after {
                None | Some(Value::String(_)) => {}
                Some(seconds) if seconds.is_u64() => {}
                Some(other) => bail!("retry_after is whole seconds or a string, not {other}"),
            }
            for (name, value) in headers {
                HeaderName::try_from(name).with_context(|| format!("header {name:?}"))?;
                HeaderValue::try_from(value).with_context(|| format!("header {name:?}"))?;
            }
            Ok(())
        }
        Fault::LateError { status, .. } => check_status(*status),
        Fault::Slow { delay_ms } => check_delay(*delay_ms),
        Fault::Hang {} | Fault::Cut { .. } | Fault::Silent { .. } | Fault::Garbage { .. } => Ok(()),
    }
}

fn check_status(status: u16) -> Result<()> {
    let valid = StatusCode::from_u16(status).is_ok_and(|status| !status.is_informational());
    ensure!(valid && status < 600, "status {status} is none of HTTP's final ones");
    Ok(())
}

fn check_delay(milliseconds: u64) -> Result<()> {
    ensure!(milliseconds <= MAX_DELAY_MS, "a delay is at most {MAX_DELAY_MS} ms");
    Ok(())
}
