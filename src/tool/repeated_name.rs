//! JSON text in which an object has a name twice. A parser keeps the last value, so what the other one asks for would not be done.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// How the error of a repeated name begins.
const REPEATED: &str = "repeated name ";

/// Returns the first name that an object in a JSON text has twice, with two values.
pub(super) fn repeated(json: &str) -> Option<String> {
    let error = serde_json::from_slice::<Single>(json.as_bytes()).err()?.to_string();
    let name = error.strip_prefix(REPEATED)?;
    Some(name.rsplit_once(" at line ").map_or(name, |(name, _)| name).to_owned())
}

/// Value in which each name of an object has one value.
struct Single(Value);

impl<'de> Deserialize<'de> for Single {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(SingleVisitor).map(Self)
    }
}

struct SingleVisitor;

impl<'de> Visitor<'de> for SingleVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Single(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Single(value))) = members.next_entry::<String, Single>()? {
            if map.get(&name).is_some_and(|other| *other != value) {
                return Err(A::Error::custom(format!("{REPEATED}{name}")));
            }
            map.insert(name, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_two_values_are_found() {
        for (json, expected) in [
            (r#"{"a": 1, "b": {"a": 1}}"#, None),
            (r#"{"a": [1, "x"], "a": [1, "x"]}"#, None),
            (r#"{"a": 1, "b": 2, "a": 3}"#, Some("a")),
            (r#"{"edits": [{"old": "x", "old": "y"}]}"#, Some("old")),
            (r#"{"a at line 1": 1.5, "a at line 1": null}"#, Some("a at line 1")),
            (r#"{"a": 1, "a": "#, None),
        ] {
            assert_eq!(repeated(json).as_deref(), expected, "{json}");
        }
    }
}
