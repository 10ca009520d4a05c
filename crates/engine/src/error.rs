//! The one error that people see: a kind that front ends map, a code for programs, a sentence for humans, and a
//! cause for the log that is never shown.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    NotFound,
    Forbidden,
    Unauthenticated,
    /// The request itself is wrong; [`Error::fields`] says where.
    Invalid,
    Conflict,
    /// Too much at once; worth another try after [`Error::retry_after`].
    Busy,
    /// Something that is needed cannot be reached; worth another try.
    Unavailable,
    Internal,
}

/// What is wrong with one field of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Field {
    /// Where it stands, such as `config.temperature`; empty for the whole.
    #[schema(example = "config.temperature")]
    pub field: String,
    #[schema(example = "3 is greater than the maximum of 2")]
    pub message: String,
}

#[derive(Debug)]
pub struct Error {
    pub kind: Kind,
    pub code: &'static str,
    /// Safe to show to anyone who may ask.
    pub message: String,
    pub fields: Vec<Field>,
    pub retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: message.into(),
            fields: Vec::new(),
            retry_after: None,
            source: None,
        }
    }

    pub fn not_found(what: &str) -> Self {
        let mut letters = what.chars();
        let capital: String =
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        Self::new(Kind::NotFound, "not_found", format!("{capital} not found"))
    }

    pub fn invalid(fields: Vec<Field>) -> Self {
        let message = match fields.as_slice() {
            [only] if only.field.is_empty() => only.message.clone(),
            [only] => format!("{}: {}", only.field, only.message),
            several => format!("{} fields are not valid", several.len()),
        };
        Self { fields, ..Self::new(Kind::Invalid, "validation_error", message) }
    }

    pub fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![Field { field: field.to_owned(), message: message.into() }])
    }

    pub fn unauthenticated(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Unauthenticated, code, message)
    }

    pub fn busy(code: &'static str, message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Kind::Busy, code, message) }
    }

    pub fn unavailable(
        code: &'static str,
        message: impl Into<String>,
        retry_after: Duration,
    ) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Kind::Unavailable, code, message) }
    }

    pub fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            Kind::Internal,
            "internal_error",
            "Something went wrong on the server; its log says what",
        )
        .because(source)
    }

    /// The same error for one of several who waited for the same thing.
    pub(crate) fn shared(error: &std::sync::Arc<Self>) -> Self {
        Self {
            fields: error.fields.clone(),
            retry_after: error.retry_after,
            ..Self::new(error.kind, error.code, error.message.clone())
        }
        .because(std::sync::Arc::clone(error))
    }

    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

impl From<artel_storage::Error> for Error {
    fn from(error: artel_storage::Error) -> Self {
        use artel_storage::Error as Stored;
        match error {
            Stored::Missing(what) => Self::not_found(what),
            Stored::Duplicate => Self::new(Kind::Conflict, "conflict", "It exists already")
                .because(Stored::Duplicate),
            Stored::Refused(code) => Self::new(Kind::Conflict, code, error.to_string()),
            Stored::Busy => Self {
                retry_after: Some(Duration::from_secs(1)),
                ..Self::new(Kind::Unavailable, "database_busy", "The database is busy; try again")
            },
            Stored::Unavailable(_) => Self {
                retry_after: Some(Duration::from_secs(2)),
                ..Self::new(
                    Kind::Unavailable,
                    "database_unavailable",
                    "The database cannot be reached; try again",
                )
            }
            .because(error),
            Stored::Fenced(_) => Self {
                retry_after: Some(Duration::from_secs(1)),
                ..Self::new(Kind::Unavailable, "moved", "Another node has taken over; try again")
            }
            .because(error),
            Stored::Damaged { .. } | Stored::Version(_) | Stored::Internal(_) => {
                Self::internal(error)
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
