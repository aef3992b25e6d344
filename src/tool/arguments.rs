//! Arguments of a call as typed values.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments of a call.
pub(super) type Arguments = Map<String, Value>;

/// Reason why the arguments of a call cannot be used, in words for the model.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// Text that is not JSON.
    #[error("not valid JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// Arguments that are not what the tool takes.
    #[error(transparent)]
    Form(serde_json::Error),
    /// A field with a value of the wrong form.
    #[error("{path}: {error}")]
    Field {
        /// The path of the field.
        path: String,
        /// What was expected.
        #[source]
        error: serde_json::Error,
    },
    /// A field that is not what the schema of another's tool asks for.
    #[error("{path}{}{problem}", if path.is_empty() { "" } else { ": " })]
    Schema {
        /// The path of the field; empty for the arguments as a whole.
        path: String,
        /// What was expected.
        problem: String,
    },
    /// A field that says nothing.
    #[error("{0}: must not be empty")]
    Empty(&'static str),
    /// A field with too much in it.
    #[error("{field}: {limit}")]
    TooLong {
        /// The name of the field.
        field: &'static str,
        /// What it may hold, and what to do.
        limit: String,
    },
    /// An environment variable that cannot be set.
    #[error("env: {0}")]
    Variable(#[from] shell::InvalidVariable),
}

/// Deserializes arguments as the model gave them: an object, or JSON text of one.
pub(crate) fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, ArgumentsError> {
    let parsed;
    let arguments = match arguments {
        // Some providers pass on broken or doubly encoded arguments as a string.
        Value::String(text) if text.trim().is_empty() => &Value::Object(Map::new()),
        Value::String(text) => {
            parsed = serde_json::from_slice(text.as_bytes()).map_err(ArgumentsError::Json)?;
            &parsed
        }
        Value::Null => &Value::Object(Map::new()),
        other => other,
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if path == "." { ArgumentsError::Form(error) } else { ArgumentsError::Field { path, error } }
    })
}
