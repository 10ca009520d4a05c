//! A project: the thing a team of agents works on, and the border of everything they may see.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Agent, ProjectId, Timestamp, UserId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub id: ProjectId,
    pub user_id: UserId,
    #[schema(example = "Web shop")]
    pub name: String,
    /// Where the files are on the user's own machine; the server never opens it.
    pub workspace_path: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A new project with the team it starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewProject {
    pub id: ProjectId,
    pub user_id: UserId,
    #[schema(example = "Web shop")]
    pub name: String,
    pub workspace_path: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub agents: Vec<Agent>,
}

impl NewProject {
    pub fn of(project: Project, agents: Vec<Agent>) -> Self {
        let Project { id, user_id, name, workspace_path, created_at, updated_at } = project;
        Self { id, user_id, name, workspace_path, created_at, updated_at, agents }
    }
}
