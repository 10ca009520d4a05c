//! People who use the server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Timestamp, UserId};

/// What a user may do beyond their own projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Admin,
}

/// An account. Its password, if it has one, never leaves the storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    pub id: UserId,
    /// The name to log in with, or the subject of an outside identity provider.
    #[schema(example = "ada")]
    pub name: String,
    pub role: Role,
    /// A disabled account is refused everywhere, whatever tokens it holds.
    pub disabled: bool,
    pub created_at: Timestamp,
}
