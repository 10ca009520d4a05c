//! `ask_user`: an agent asks its person something, and waits for the answer.

use artel_domain::approval::Kind;
use artel_domain::{AgentId, RiskLevel};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::calls::flow::{Asked, Asking};

pub(crate) const NAME: &str = "ask_user";
pub(super) const DESCRIPTION: &str = "Ask the user a question and wait for the answer. Use it when the task is unclear in a \
                                      way that matters and that you cannot find out yourself";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// The longest question, and the longest of its options.
const LONGEST: usize = 4_000;
const OPTIONS: usize = 20;

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": { "type": "string", "minLength": 1, "maxLength": LONGEST },
            "options": {
                "type": "array", "maxItems": OPTIONS, "items": { "type": "string" },
                "description": "Answers to choose from, if there are likely ones"
            },
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

/// The question as a person gets it; an error is for the model to mend.
pub(crate) fn asking(agent: AgentId, arguments: &Map<String, Value>) -> Result<Asking, String> {
    let read = serde_json::from_value(Value::Object(arguments.clone()));
    let Question { question, options } = read.map_err(|error| error.to_string())?;
    let long = |text: &String| text.trim().is_empty() || text.chars().count() > LONGEST;
    if long(&question) || options.len() > OPTIONS || options.iter().any(long) {
        return Err(format!(
            "A question has 1 to {LONGEST} characters, and at most {OPTIONS} options"
        ));
    }
    Ok(Asking {
        kind: Kind::Question,
        risk: RiskLevel::Low,
        payload: json!({ "question": question, "options": options, "agent_id": agent }),
        told: Asked::Question { question, options },
    })
}
