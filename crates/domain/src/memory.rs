//! What an agent remembers: its interactions, each with the facts by which it is found and forgotten.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::{AgentId, InteractionId, ProjectId, TaskId, Timestamp, UserId};

/// One thing that happened to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Interaction {
    pub id: InteractionId,
    #[schema(example = "The tests need Redis on port 6390.")]
    pub text: String,
    pub metadata: Facts,
}

/// What is known of an interaction besides its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InteractionFacts)]
pub struct Facts {
    #[serde(rename = "interaction_type")]
    pub kind: Kind,
    pub timestamp: Timestamp,
    pub success: bool,
    /// The work that it was part of.
    pub task_id: Option<TaskId>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<String>,
    /// What was asked, when the text is an answer to it; the two are found together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Keys of the user's own.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = Object)]
    pub other: Map<String, Value>,
}

impl Interaction {
    /// The text whose meaning is searched.
    pub fn meaning(&self) -> String {
        match &self.metadata.request {
            Some(request) => format!("{request}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// An interaction that was found, and how near it is to what was looked for: 1 is the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Recollection {
    pub id: InteractionId,
    pub text: String,
    #[schema(example = 0.83)]
    pub score: f32,
    pub metadata: Facts,
}

/// What kind of thing happened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = InteractionType)]
pub enum Kind {
    TaskExecution,
    ToolCall,
    UserMessage,
    AgentResponse,
}

impl Kind {
    pub const ALL: [Self; 4] =
        [Self::TaskExecution, Self::ToolCall, Self::UserMessage, Self::AgentResponse];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskExecution => "task_execution",
            Self::ToolCall => "tool_call",
            Self::UserMessage => "user_message",
            Self::AgentResponse => "agent_response",
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Which interactions are meant; the empty filter means all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    pub kind: Option<Kind>,
    pub success: Option<bool>,
    /// The first moment that counts.
    pub from: Option<Timestamp>,
    /// The last moment that counts.
    pub to: Option<Timestamp>,
    pub task: Option<TaskId>,
}

impl Filter {
    pub fn admits(&self, facts: &Facts) -> bool {
        self.kind.is_none_or(|kind| kind == facts.kind)
            && self.success.is_none_or(|success| success == facts.success)
            && self.from.is_none_or(|from| from <= facts.timestamp)
            && self.to.is_none_or(|to| facts.timestamp <= to)
            && self.task.is_none_or(|task| Some(task) == facts.task_id)
    }
}

/// The name of an agent's collection, by which people and other programs know it.
pub fn collection_name(user: UserId, project: ProjectId, agent: &str) -> String {
    format!("user{user}_project{project}_{agent}_context")
}

/// An agent's collection. The id finds it, so that a new agent never gets the memory of an old one of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub agent: AgentId,
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[test]
    fn what_a_user_adds_to_the_facts_is_kept() {
        let id = InteractionId::new(&SystemClock);
        let json = serde_json::json!({
            "id": id, "text": "Port 6390", "metadata": {
                "interaction_type": "tool_call", "timestamp": "2026-01-02T03:04:05Z", "success": true,
                "task_id": null, "branch": "main" }
        });
        let interaction: Interaction = serde_json::from_value(json).unwrap();
        assert_eq!(interaction.metadata.kind, Kind::ToolCall);
        assert_eq!(serde_json::to_value(&interaction).unwrap()["metadata"]["branch"], "main");
    }
}
