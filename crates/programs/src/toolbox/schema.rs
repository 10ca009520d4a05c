//! What a tool's schema says, in words: for an agent that got a call wrong, and for one that asks for help.

use serde_json::{Value, json};

/// How deep an example goes into a schema.
const DEPTH: usize = 4;

/// One of a tool's arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Property<'a> {
    pub(crate) name: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) required: bool,
}

impl Property<'_> {
    /// Whether this is one of the types it may have.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        types(self.schema).any(|name| name == wanted)
    }

    pub(crate) fn choices(&self) -> Option<&Vec<Value>> {
        self.schema["enum"].as_array()
    }

    /// What it takes: `string`, `array of string`, `one of "create", "list"`.
    pub(crate) fn expected(&self) -> String {
        expected(self.schema, DEPTH)
    }

    pub(crate) fn description(&self) -> Option<&str> {
        self.schema["description"].as_str()
    }
}

/// The arguments of a tool: first those that it needs, in the order in which it names them.
pub(crate) fn properties(schema: &Value) -> Vec<Property<'_>> {
    let known = schema["properties"].as_object();
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let first = needed.iter().filter_map(|name| Some((*name, known?.get(*name)?)));
    let rest = known.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema));
    let rest = rest.filter(|(name, _)| !needed.contains(name));
    first
        .map(|(name, schema)| Property { name, schema, required: true })
        .chain(rest.map(|(name, schema)| Property { name, schema, required: false }))
        .collect()
}

/// All arguments in one sentence, and an example of the least that is needed.
pub(crate) fn form(tool: &str, schema: &Value) -> String {
    let properties = properties(schema);
    if properties.is_empty() {
        return format!("`{tool}` takes no arguments: {{}}");
    }
    let told: Vec<String> = properties
        .iter()
        .map(|property| {
            let optional = if property.required { "" } else { ", optional" };
            format!("`{}` ({}{optional})", property.name, property.expected())
        })
        .collect();
    format!("`{tool}` takes {}; for example {}", told.join(", "), example(schema, DEPTH))
}

fn expected(schema: &Value, depth: usize) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return format!("one of {}", choices.join(", "));
    }
    let names: Vec<String> = types(schema)
        .map(|name| match name {
            "array" if depth > 0 && schema["items"].is_object() => {
                format!("array of {}", expected(&schema["items"], depth - 1))
            }
            name => name.to_owned(),
        })
        .collect();
    if names.is_empty() { "any value".to_owned() } else { names.join(" or ") }
}

fn example(schema: &Value, depth: usize) -> Value {
    let given = [&schema["default"], &schema["examples"][0], &schema["enum"][0], &schema["const"]];
    if let Some(given) = given.into_iter().find(|given| !given.is_null()) {
        return given.clone();
    }
    match types(schema).next() {
        Some("object") | None if depth > 0 && schema["properties"].is_object() => {
            let needed = properties(schema).into_iter().filter(|property| property.required);
            let fields = needed
                .map(|property| (property.name.to_owned(), example(property.schema, depth - 1)));
            Value::Object(fields.collect())
        }
        Some("array") if depth > 0 => json!([example(&schema["items"], depth - 1)]),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some(_) | None => json!("…"),
    }
}

fn types(schema: &Value) -> impl Iterator<Item = &str> {
    let one = schema["type"].as_str();
    let several = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
    one.into_iter().chain(several)
}
