//! Argument types as JSON Schemas for the model.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the JSON Schema of a type, without the parts that only cost tokens. It is made once, because every call is held
/// against it.
pub(crate) fn of<T: JsonSchema + 'static>() -> Value {
    static MADE: LazyLock<Mutex<HashMap<TypeId, Value>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock();
    made.entry(TypeId::of::<T>()).or_insert_with(make::<T>).clone()
}

fn make<T: JsonSchema>() -> Value {
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

/// Returns a schema as the model is offered it: shorter, and true of what people would write. The resolution of calls takes `null` for
/// what is optional and says which argument it does not know, so that none of this has to be in each request.
pub(crate) fn offered(mut schema: Value) -> Value {
    shorten(&mut schema);
    schema
}

fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let says_nothing = |value: &Value| match value {
                Value::Null | Value::Bool(false) => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            // A property may have such a name too, but then its value is a schema, which says something.
            for noise in ["default", "additionalProperties"] {
                if object.get(noise).is_some_and(says_nothing) {
                    object.shift_remove(noise);
                }
            }
            if object.get("minimum").is_some_and(|minimum| minimum == 0) {
                object.shift_remove("minimum");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = types.as_slice() {
                    object["type"] = one.clone();
                }
            }
            // What the list is says what its items are.
            if let Some(Value::Object(item)) =
                object.get_mut("items").filter(|item| item["properties"].is_object())
            {
                item.shift_remove("description");
            }
            if let Some(names) = object.get("oneOf").and_then(names) {
                object.shift_remove("oneOf");
                object.insert("type".to_owned(), Value::from("string"));
                object.insert("enum".to_owned(), names);
            }
            object.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns the names of alternatives each of which is one name.
fn names(alternatives: &Value) -> Option<Value> {
    alternatives
        .as_array()?
        .iter()
        .map(|one| one.get("const").filter(|name| name.is_string()).cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn offered_schemas_say_what_is_needed_and_no_more() {
        let full = json!({
            "type": "object", "additionalProperties": false, "required": ["kind"],
            "properties": {
                "kind": {"description": "Kind", "oneOf": [
                    {"const": "a", "type": "string", "description": "One."}, {"const": "b", "type": "string"},
                ]},
                "default": {"type": ["string", "null"], "default": null},
                "first": {"type": ["integer", "null"], "minimum": 0, "default": null},
                "limit": {"type": "integer", "minimum": 1, "default": 100},
                "env": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
                "either": {"oneOf": [{"type": "string"}, {"const": 1}]},
                "where": {"type": ["string", "integer", "null"], "default": "."},
                "items": {"type": "array", "items": {"type": "object", "description": "Item", "properties": {"a": {"type": "string"}}}},
            },
        });
        let short = json!({
            "type": "object", "required": ["kind"],
            "properties": {
                "kind": {"description": "Kind", "type": "string", "enum": ["a", "b"]},
                "default": {"type": "string"},
                "first": {"type": "integer"},
                "limit": {"type": "integer", "minimum": 1, "default": 100},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "either": {"oneOf": [{"type": "string"}, {"const": 1}]},
                "where": {"type": ["string", "integer"], "default": "."},
                "items": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            },
        });
        assert_eq!(offered(full), short);
    }
}
