//! What can go wrong with stored things.

use std::sync::Arc;

/// Errors of the storage. Cloned for every change that shared a commit which failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// There is no such row, or it belongs to somebody else.
    #[error("{0} does not exist")]
    Missing(&'static str),
    /// A row with the same key exists.
    #[error("a row with this key exists already")]
    Duplicate,
    /// The lease was lost to another owner: nothing was written.
    #[error("the lease {0:?} is held by another node")]
    Fenced(String),
    /// The database cannot be reached, or cannot store now; whether the change took place is unknown.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The database has too much to do; nothing was written.
    #[error("the database is busy")]
    Busy,
    /// The change itself found that it must not be made, for a reason the caller knows by this word.
    #[error("refused: {0}")]
    Refused(&'static str),
    /// A stored value is not what we wrote.
    #[error("damaged row in {table}: {detail}")]
    Damaged { table: &'static str, detail: String },
    /// The database is of another version of the program.
    #[error("{0}")]
    Version(String),
    /// A mistake of ours.
    #[error("storage failed: {0}")]
    Internal(Arc<dyn std::error::Error + Send + Sync>),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(Arc::from(source.into()))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error() {
            Some(code)
                if [
                    rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE,
                    rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
                ]
                .contains(&code.extended_code) =>
            {
                Self::Duplicate
            }
            // A parent row that is gone: somebody deleted the project in between.
            Some(code) if code.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
                Self::Missing("the row it belongs to")
            }
            Some(code)
                if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
            {
                Self::Busy
            }
            Some(code)
                if matches!(
                    code.code,
                    ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::CannotOpen
                        | ErrorCode::ReadOnly
                        | ErrorCode::PermissionDenied
                        | ErrorCode::DatabaseCorrupt
                        | ErrorCode::NotADatabase
                ) =>
            {
                Self::Unavailable(error.to_string())
            }
            _ => Self::internal(error),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let Some(state) = error.code() else {
            // Not an answer of the server: the connection itself broke.
            return Self::Unavailable(with_causes(&error));
        };
        if *state == SqlState::UNIQUE_VIOLATION {
            Self::Duplicate
        } else if *state == SqlState::FOREIGN_KEY_VIOLATION {
            Self::Missing("the row it belongs to")
        } else if *state == SqlState::T_R_DEADLOCK_DETECTED
            || *state == SqlState::T_R_SERIALIZATION_FAILURE
            || *state == SqlState::LOCK_NOT_AVAILABLE
            || *state == SqlState::QUERY_CANCELED
        {
            Self::Busy
        } else if ["08", "28", "3D", "53", "57", "58"]
            .iter()
            .any(|class| state.code().starts_with(class))
        {
            Self::Unavailable(with_causes(&error))
        } else {
            Self::internal(error)
        }
    }
}

/// The message with everything below it, since the top of a network error rarely says what happened.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    text
}
