//! `answer` and `ask`: how a program speaks to its user in the middle of a turn. The turn itself carries them out.

use artel_agents::llm::chat::ToolSpec;
use serde_json::json;

use super::question;

pub(crate) const ANSWER: &str = "answer";
pub(crate) const ASK: &str = "ask";

pub(crate) fn specs() -> [ToolSpec; 2] {
    let answer = ToolSpec {
        name: ANSWER.to_owned(),
        description: "Give the user your answer. Without it, what you say last is the answer"
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "message": { "type": "string", "minLength": 1, "maxLength": 1_000_000 } },
            "required": ["message"],
            "additionalProperties": false,
        }),
    };
    let ask = ToolSpec {
        name: ASK.to_owned(),
        description: question::DESCRIPTION.to_owned(),
        parameters: question::parameters(),
    };
    [answer, ask]
}
