//! Input, checked against the same schema that the API's description shows.
//!
//! A [`Checked`] value can only be made here, so a verb that takes one need not doubt it. Every fault of a body
//! is named at once, with the path of its field.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::programs::{AnswerQuestion, SetCredentials, TellAgent};
use crate::{
    AddContext, AllowTool, AnnounceClient, Approve, ChangeSession, Confirm, ConfirmMany,
    CreateAgent, CreatePlan, CreateProject, CreateSession, EditPlan, Error, ExecuteTool, Field,
    PatchAgent, Preferences, PruneContext, Reject, Result, RetryPlan, SearchContext, SendMessage,
    ToolOutcome, ToolPrepared, UpdateProject, access,
};

/// More faults than this are not listed.
const FAULTS: usize = 50;

/// A value whose bounds were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T>(T);

impl<T> Checked<T> {
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Something that comes in from outside.
pub trait Input: ToSchema + DeserializeOwned + 'static {
    /// The largest body of this kind, in bytes, where that is more than of others.
    const LARGEST: Option<usize> = None;

    /// Brings other ways to write the same thing to the one that the schema describes.
    fn normalise(body: Value) -> Value {
        body
    }
}

/// The schemas of everything that comes in.
pub struct Schemas(HashMap<TypeId, Validator>);

impl Schemas {
    pub(crate) fn new() -> Result<Self> {
        let mut all = Self(HashMap::new());
        all.add::<CreateProject>()?;
        all.add::<UpdateProject>()?;
        all.add::<CreateAgent>()?;
        all.add::<PatchAgent>()?;
        all.add::<CreateSession>()?;
        all.add::<ChangeSession>()?;
        all.add::<SendMessage>()?;
        all.add::<AddContext>()?;
        all.add::<SearchContext>()?;
        all.add::<PruneContext>()?;
        all.add::<ExecuteTool>()?;
        all.add::<AnnounceClient>()?;
        all.add::<ToolPrepared>()?;
        all.add::<ToolOutcome>()?;
        all.add::<AllowTool>()?;
        all.add::<Approve>()?;
        all.add::<Reject>()?;
        all.add::<Confirm>()?;
        all.add::<ConfirmMany>()?;
        all.add::<CreatePlan>()?;
        all.add::<EditPlan>()?;
        all.add::<RetryPlan>()?;
        all.add::<Preferences>()?;
        all.add::<TellAgent>()?;
        all.add::<AnswerQuestion>()?;
        all.add::<SetCredentials>()?;
        all.add::<access::LogIn>()?;
        all.add::<access::Ticket>()?;
        Ok(all)
    }

    fn add<T: Input>(&mut self) -> Result<()> {
        let mut parts: Vec<(String, RefOr<Schema>)> = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut parts);
        let parts: HashMap<_, _> = parts.into_iter().collect();
        let whole = json!({
            "$ref": format!("#/components/schemas/{}", T::name()),
            "components": { "schemas": parts },
        });
        let validator = jsonschema::validator_for(&whole)
            .map_err(|error| Error::internal(error.to_string()))?;
        self.0.insert(TypeId::of::<T>(), validator);
        Ok(())
    }

    /// Checks a value against `T`'s schema and reads it.
    pub fn check<T: Input>(&self, body: Value) -> Result<Checked<T>> {
        let validator = self
            .0
            .get(&TypeId::of::<T>())
            .ok_or_else(|| Error::internal(format!("no schema for {}", T::name())))?;
        let value = T::normalise(body);
        let mut faults: Vec<Field> =
            validator.iter_errors(&value).flat_map(|error| describe(&error)).take(FAULTS).collect();
        find_nul(&value, &mut String::new(), &mut faults);
        if !faults.is_empty() {
            return Err(Error::invalid(faults));
        }
        // The schema says all that the type wants; should it ever say less, the type has the last word.
        serde_json::from_value(value)
            .map(Checked)
            .map_err(|error| Error::invalid_field("", error.to_string()))
    }
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schemas({})", self.0.len())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other fault says enough by itself")]
fn describe(error: &ValidationError<'_>) -> Vec<Field> {
    let path = dotted(error.instance_path().as_str());
    let field = |name: &str, message: String| Field {
        field: if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") },
        message,
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| field(name, "is not a known field".to_owned())).collect()
        }
        ValidationErrorKind::Required { property } => {
            vec![field(property.as_str().unwrap_or_default(), "is required".to_owned())]
        }
        _ => {
            // Values may be megabytes, or secrets; the message names the rule instead.
            let mut message = error.masked_with("the value").to_string();
            if path == "config.concurrency_limit" {
                message.insert_str(0, "Invalid concurrency limit: ");
            }
            vec![Field { field: path, message }]
        }
    }
}

/// `/config/tools/0` as `config.tools.0`.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

/// A NUL cannot be stored by every database, and has no business in text.
fn find_nul(value: &Value, path: &mut String, faults: &mut Vec<Field>) {
    if faults.len() >= FAULTS {
        return;
    }
    let mut below = |name: &str, value: &Value| {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        find_nul(value, path, faults);
        path.truncate(length);
    };
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(Field {
                field: path.clone(),
                message: "contains a NUL character".to_owned(),
            });
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                below(&at.to_string(), item);
            }
        }
        Value::Object(entries) => {
            for (name, item) in entries {
                if name.contains('\0') {
                    below("", &Value::String("\0".to_owned()));
                }
                below(name, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
