//! How words on a command line become a tool's arguments, as its schema says.
//!
//! `--name value` sets an argument, typed as the schema has it; what is left are free words. Of these an argument that
//! is needed and has fixed choices takes one, and the first other text that is needed takes the rest, with spaces
//! between. `-` is standard input, and after `--` everything is text. `--json` gives all arguments at once.

use serde_json::{Map, Value};

use crate::toolbox::ToolSpec;
use crate::toolbox::schema::{self, Property};

/// What was said.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Help,
    Call(Map<String, Value>),
}

/// Reads what follows the name of a tool.
pub(super) fn read(
    tool: &ToolSpec,
    words: Vec<String>,
    input: impl FnOnce() -> Result<String, String>,
) -> Result<Said, String> {
    let properties = schema::properties(&tool.parameters);
    let (mut arguments, mut free) = (Map::new(), Vec::new());
    let (mut whole, mut input) = (None, Input(Some(input)));
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            free.extend(words.by_ref());
            break;
        }
        if word == "-" {
            free.push(input.read()?);
            continue;
        }
        let Some((name, value)) = option(&word) else {
            free.push(word);
            continue;
        };
        match (find(&properties, name), name) {
            (Some(found), _) => {
                let value = match value {
                    Some(value) => value.to_owned(),
                    // A flag needs no value, and takes one only if it is meant for it.
                    None if found.property.is("boolean") => {
                        let next = words.as_slice().first().map(String::as_str);
                        let given = matches!(next, Some("true" | "false"));
                        given.then(|| words.next()).flatten().unwrap_or_else(|| "true".to_owned())
                    }
                    None => words.next().ok_or_else(|| format!("`--{name}` needs a value"))?,
                };
                found.set(&mut arguments, value)?;
            }
            (None, "help") => return Ok(Said::Help),
            (None, "json") => {
                let value = value.map(str::to_owned).or_else(|| words.next());
                let value = value.ok_or("`--json` needs an object")?;
                whole = Some(if value == "-" { input.read()? } else { value });
            }
            (None, _) => return Err(unknown(&properties, name)),
        }
    }
    if let Some(whole) = whole {
        if !free.is_empty() || !arguments.is_empty() {
            return Err("`--json` gives all arguments: nothing else goes with it".to_owned());
        }
        let object = serde_json::from_str(&whole);
        return object
            .map(Said::Call)
            .map_err(|error| format!("`--json` takes an object of arguments: {error}"));
    }
    place(&properties, free, &mut arguments)?;
    Ok(Said::Call(arguments))
}

/// Standard input, which can be read once.
struct Input<F>(Option<F>);

impl<F: FnOnce() -> Result<String, String>> Input<F> {
    fn read(&mut self) -> Result<String, String> {
        self.0.take().ok_or("`-` can be given once: standard input is read only once")?()
    }
}

/// An argument that an option names.
struct Found<'a> {
    property: Property<'a>,
    /// It names one item of a list: `--option` of `options`.
    item: bool,
}

impl Found<'_> {
    fn set(&self, arguments: &mut Map<String, Value>, text: String) -> Result<(), String> {
        let Property { name, schema, .. } = self.property;
        let whole = !self.item
            && self.property.is("array")
            && serde_json::from_str::<Vec<Value>>(&text).is_ok();
        if !self.property.is("array") || whole {
            let value = typed(&self.property, text)?;
            arguments.insert(name.to_owned(), value);
            return Ok(());
        }
        let item = Property { name, schema: &schema["items"], required: false };
        let item = typed(&item, text)?;
        match arguments.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(items) => items.push(item),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => {}
        }
        Ok(())
    }
}

/// `--name` or `--name=value`. What has anything else in its name is text.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    let rest = word.strip_prefix("--")?;
    let (name, value) = match rest.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (rest, None),
    };
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let named = name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(plain);
    named.then_some((name, value))
}

fn find<'a>(properties: &[Property<'a>], name: &str) -> Option<Found<'a>> {
    let name = name.replace('-', "_");
    let same = |property: &&Property<'_>| property.name.replace('-', "_") == name;
    let exact = properties.iter().find(same).map(|it| Found { property: *it, item: false });
    exact.or_else(|| {
        let list =
            |it: &&Property<'_>| it.is("array") && it.name.replace('-', "_") == format!("{name}s");
        properties.iter().find(list).map(|it| Found { property: *it, item: true })
    })
}

fn unknown(properties: &[Property<'_>], name: &str) -> String {
    let names: Vec<_> = properties.iter().map(|it| format!("`--{}`", it.name)).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("there is no option `--{name}`; there are {known}. If it is text, put `--` before it")
}

/// Text as the type that the schema wants; what does not fit goes as it is, for the server to explain.
fn typed(property: &Property<'_>, text: String) -> Result<Value, String> {
    let names = ["integer", "number", "boolean", "object", "array", "null"];
    if property.is("string") || !names.iter().any(|name| property.is(name)) {
        return Ok(Value::String(text));
    }
    serde_json::from_str(&text)
        .map_err(|_| format!("`--{}` takes {}", property.name, property.expected()))
}

/// Gives the free words to whatever takes them.
fn place(
    properties: &[Property<'_>],
    words: Vec<String>,
    arguments: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut words = words.into_iter().peekable();
    let open: Vec<_> = properties
        .iter()
        .filter(|it| it.required && it.is("string") && !arguments.contains_key(it.name))
        .collect();
    for property in open {
        let Some(word) = words.next() else { break };
        let text = if property.choices().is_some() {
            word
        } else {
            let mut all = vec![word];
            all.extend(words.by_ref());
            all.join(" ")
        };
        arguments.insert(property.name.to_owned(), Value::String(text));
    }
    match words.next() {
        None => Ok(()),
        Some(word) => Err(format!("nothing takes `{word}`; name what it is: --NAME {word}")),
    }
}
