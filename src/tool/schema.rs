//! Argument types as JSON Schemas for the model, and the model's arguments as typed values.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns the JSON Schema of a type, without the parts that only cost tokens.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema);
    schema
}

fn strip(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for noise in ["title", "format", "$schema"] {
                // A property may have that name too, but then its value is an object.
                if object.get(noise).is_some_and(Value::is_string) {
                    object.remove(noise);
                }
            }
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Deserializes arguments as the model gave them: an object, or JSON text of one. The error names the field.
pub(crate) fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    let parsed;
    let arguments = match arguments {
        // Some providers pass on broken or doubly encoded arguments as a string.
        Value::String(text) if text.trim().is_empty() => &Value::Object(Map::new()),
        Value::String(text) => {
            parsed = serde_json::from_slice(text.as_bytes())
                .map_err(|error| format!("not valid JSON: {error}"))?;
            &parsed
        }
        Value::Null => &Value::Object(Map::new()),
        other => other,
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if path == "." { inner.to_string() } else { format!("{path}: {inner}") }
    })
}
