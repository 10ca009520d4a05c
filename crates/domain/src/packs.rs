//! Starter packs: the teams a new project can begin with. They are data; the files stand in `packs/`.

use serde::Deserialize;

use crate::AgentConfig;
use crate::agent::{Metadata, ToolName};

/// A named team.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    pub name: String,
    pub description: String,
    /// Each agent's name and configuration, in the order they are created.
    pub agents: Vec<(String, AgentConfig)>,
}

/// A pack's file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("starter pack: {0}")]
pub struct Malformed(String);

impl Pack {
    /// The packs that come with Artel.
    pub fn built_in() -> Vec<Self> {
        [include_str!("../packs/workspace.toml"), include_str!("../packs/roles.toml")]
            .map(|text| Self::parse(text).expect("the packs in the source tree are tested"))
            .into()
    }

    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let file: File = toml::from_str(text).map_err(|error| Malformed(error.to_string()))?;
        if file.name == "none" || file.name.is_empty() || file.name.len() > 100 {
            return Err(Malformed(format!("{:?} cannot be a pack's name", file.name)));
        }
        if file.agents.len() > 100 {
            return Err(Malformed("more than 100 agents".to_owned()));
        }
        let agents: Vec<_> = file.agents.into_iter().map(Member::into_parts).collect();
        for (at, (name, config)) in agents.iter().enumerate() {
            if name.is_empty() || name.chars().count() > 100 {
                return Err(Malformed(format!(
                    "agent name {name:?} must have 1 to 100 characters"
                )));
            }
            if agents[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(Malformed(format!("agent {name:?} stands twice")));
            }
            if !(1..=10).contains(&config.concurrency_limit) {
                return Err(Malformed(format!(
                    "agent {name:?}: concurrency_limit must be 1 to 10"
                )));
            }
        }
        Ok(Self { name: file.name, description: file.description, agents })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    #[serde(default)]
    agents: Vec<Member>,
}

/// An agent in a pack's file: its configuration stands flat beside its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    name: String,
    model: String,
    system_prompt: String,
    #[serde(default = "three")]
    concurrency_limit: u8,
    temperature: f64,
    max_tokens: u32,
    #[serde(default)]
    tools: Vec<ToolName>,
    metadata: Metadata,
}

fn three() -> u8 {
    3
}

impl Member {
    fn into_parts(self) -> (String, AgentConfig) {
        let config = AgentConfig {
            system_prompt: self.system_prompt.trim().to_owned(),
            model: self.model,
            tools: self.tools,
            concurrency_limit: self.concurrency_limit,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            max_vectors: 1_000_000,
            runtime: None,
            metadata: self.metadata,
        };
        (self.name, config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_packs_are_whole() {
        let names: Vec<_> =
            Pack::built_in().into_iter().map(|p| (p.name, p.agents.len())).collect();
        assert_eq!(names, [("workspace".to_owned(), 4), ("roles".to_owned(), 5)]);
    }

    #[test]
    fn a_bad_pack_is_refused_by_name() {
        let twice = "name='p'\ndescription=''\n".to_owned()
            + &"[[agents]]\nname='a'\nmodel='m'\nsystem_prompt=''\ntemperature=1.0\nmax_tokens=1\nmetadata={}\n".repeat(2);
        assert!(Pack::parse(&twice).unwrap_err().to_string().contains("\"a\" stands twice"));
        assert!(Pack::parse("name='none'\ndescription=''").is_err());
        assert!(
            Pack::parse("name='x'\ndescription=''\ncolour=1")
                .unwrap_err()
                .to_string()
                .contains("colour")
        );
    }
}
