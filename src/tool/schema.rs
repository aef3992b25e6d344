//! Argument types as JSON Schemas for the model.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

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
