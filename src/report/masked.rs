//! Masking of structured values without damage to their format.
//!
//! A secret may equal a word of a format, such as `success`, `path` or `modify`. The format's schema says
//! which words are its own; they and the keys are kept, and all other text is masked. Numbers hold no
//! secrets.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use sanitize::Masker;

/// A format with a published schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The report of a run.
    Report,
    /// The report of a batch.
    BatchReport,
    /// A line of a transcript.
    Transcript,
    /// A plan.
    Plan,
}

/// Errors that can occur when masking a value. The value must not be published then.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    /// The value could not be serialized, or was no longer valid once it was masked.
    #[error("could not mask its secrets ({0})")]
    Form(#[from] serde_json::Error),
    /// The schema of the format could not be parsed.
    #[error("could not mask its secrets (its schema is not readable)")]
    Schema,
}

/// What a schema says of names and words; nothing else of it is kept.
#[derive(Debug, Default)]
struct Schema(Keywords);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Keywords {
    #[cfg(test)]
    title: String,
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "$defs")]
    definitions: BTreeMap<String, Schema>,
    one_of: Vec<Schema>,
    any_of: Vec<Schema>,
    all_of: Vec<Schema>,
    properties: BTreeMap<String, Schema>,
    additional_properties: Option<Box<Schema>>,
    items: Option<Box<Schema>>,
    r#const: Value,
    r#enum: Vec<Value>,
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Schema;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a schema")
            }

            /// `true` and `false` say nothing of names and words.
            fn visit_bool<E>(self, _: bool) -> Result<Schema, E> {
                Ok(Schema::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Schema, A::Error> {
                Keywords::deserialize(MapAccessDeserializer::new(map)).map(Schema)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The schema of a format, read when it is needed first.
macro_rules! schema {
    ($file:literal) => {{
        static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
            serde_json::from_slice(include_bytes!(concat!("../../docs/schemas/", $file))).ok()
        });
        &SCHEMA
    }};
}

impl Format {
    fn schema(self) -> Result<&'static Schema, MaskError> {
        let schema = match self {
            Self::Report => schema!("report.json"),
            Self::BatchReport => schema!("batch-report.json"),
            Self::Transcript => schema!("transcript.json"),
            Self::Plan => schema!("plan.json"),
        };
        schema.as_ref().ok_or(MaskError::Schema)
    }
}

/// Masks a value of a format, returning the same type.
pub fn masked<T: Serialize + DeserializeOwned>(
    value: &T,
    format: Format,
    masker: &Masker,
) -> Result<T, MaskError> {
    let (places, of_value) = places(format, &[])?;
    read_back(places.mask(serde_json::to_value(value)?, &of_value, masker))
}

/// Masks the items of a list of a format, which is the value of that member. There may be thousands, and hardly any holds a secret:
/// those that do not stay as they are.
pub(super) fn masked_items<T: Serialize + DeserializeOwned>(
    items: Vec<T>,
    format: Format,
    list: &[&str],
    masker: &Masker,
) -> Result<Vec<T>, MaskError> {
    let (places, of_item) = places(format, list)?;
    let masked = |item: T| -> Result<T, MaskError> {
        let value = serde_json::to_value(&item)?;
        let is_masked = |text: &str| matches!(masker.mask(text), Cow::Owned(_));
        if !places.any(&value, &of_item, &is_masked) {
            return Ok(item);
        }
        read_back(places.mask(value, &of_item, masker))
    };
    items.into_iter().map(masked).collect()
}

/// Returns what was masked in its own type. This goes through its text: reading from a `Value` as well would compile the code for every
/// type twice. The tree is much larger than the text, and gone before the value is there twice.
fn read_back<T: DeserializeOwned>(masked: Value) -> Result<T, MaskError> {
    let text = serde_json::to_vec(&masked)?;
    drop(masked);
    Ok(serde_json::from_slice(&text)?)
}

/// Returns the schemas of the items of a list, as in [`masked_items`]; without members, those of a whole value.
fn places(format: Format, list: &[&str]) -> Result<(Places<'static>, Vec<&'static Schema>), MaskError> {
    let root = format.schema()?;
    let places = Places { root };
    let member = |above: Vec<_>, name: &&str| places.member(&above, name).0;
    let mut of_item = list.iter().fold(places.all(&[root]), member);
    if !list.is_empty() {
        of_item = places.items(&of_item);
    }
    Ok((places, of_item))
}

/// Masks a value of a format, returning JSON.
pub fn masked_json<T: Serialize>(value: &T, format: Format, masker: &Masker) -> Result<Value, MaskError> {
    let root = format.schema()?;
    let places = Places { root };
    Ok(places.mask(serde_json::to_value(value)?, &places.all(&[root]), masker))
}

/// Masks the values of an object, keeping the names of its own fields; below them, names are masked as
/// well.
pub fn masked_fields(fields: Map<String, Value>, masker: &Masker) -> Value {
    let places = Places { root: &Schema::default() };
    fields.into_iter().map(|(name, value)| (name, places.mask(value, &[], masker))).collect()
}

/// Returns whether an item of a list, as in [`masked_items`], holds a known secret outside of the format's own words.
pub(super) fn item_holds_secret<T: Serialize>(
    item: &T,
    format: Format,
    list: &[&str],
    masker: &Masker,
) -> Result<bool, MaskError> {
    let (places, of_item) = places(format, list)?;
    Ok(places.any(&serde_json::to_value(item)?, &of_item, &|text| masker.knows_of(text.as_bytes())))
}

/// A schema; its methods find the parts of it that describe a given value.
struct Places<'s> {
    root: &'s Schema,
}

impl<'s> Places<'s> {
    /// Expands schemas to all that may describe the same value: follows references, and includes
    /// alternatives.
    fn all(&self, from: &[&'s Schema]) -> Vec<&'s Schema> {
        let mut found: Vec<&'s Schema> = Vec::new();
        let mut open: Vec<&'s Schema> = from.to_vec();
        let mut followed = BTreeSet::new();
        while let Some(schema) = open.pop() {
            let Schema(keywords) = schema;
            if let Some(name) = keywords.reference.as_deref() {
                let target = self.target(name);
                open.extend(target.filter(|_| followed.insert(name)));
            }
            open.extend([&keywords.one_of, &keywords.any_of, &keywords.all_of].into_iter().flatten());
            found.push(schema);
        }
        found
    }

    /// Returns what a reference leads to.
    fn target(&self, name: &str) -> Option<&'s Schema> {
        match name.strip_prefix("#/$defs/") {
            Some(definition) => self.root.0.definitions.get(definition),
            None => (name == "#").then_some(self.root),
        }
    }

    /// Returns the schemas of an object's member, and whether the format itself defines the member's name.
    fn member(&self, places: &[&'s Schema], name: &str) -> (Vec<&'s Schema>, bool) {
        let named: Vec<&'s Schema> =
            places.iter().filter_map(|Schema(place)| place.properties.get(name)).collect();
        let is_known = !named.is_empty();
        let others = places.iter().filter_map(|Schema(place)| place.additional_properties.as_deref());
        let from = if is_known { named } else { others.collect() };
        (self.all(&from), is_known)
    }

    fn items(&self, places: &[&'s Schema]) -> Vec<&'s Schema> {
        let items: Vec<&'s Schema> =
            places.iter().filter_map(|Schema(place)| place.items.as_deref()).collect();
        self.all(&items)
    }

    fn mask(&self, value: Value, places: &[&'s Schema], masker: &Masker) -> Value {
        match value {
            Value::String(text) if is_word(places, &text) => Value::String(text),
            Value::String(text) => {
                // Most texts stay as they are, and are not copied.
                let masked = match masker.mask(&text) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(masked) => Some(masked),
                };
                Value::String(masked.unwrap_or(text))
            }
            Value::Array(items) => {
                let places = self.items(places);
                items.into_iter().map(|item| self.mask(item, &places, masker)).collect()
            }
            Value::Object(members) => {
                let mut masked = Map::new();
                for (name, member) in members {
                    let (places, is_known) = self.member(places, &name);
                    let mut name = if is_known { name } else { masker.mask(&name).into_owned() };
                    // Two names may become equal by masking.
                    while masked.contains_key(&name) {
                        name.push('*');
                    }
                    masked.insert(name, self.mask(member, &places, masker));
                }
                Value::Object(masked)
            }
            other => other,
        }
    }

    fn any(&self, value: &Value, places: &[&'s Schema], is_it: &dyn Fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => !is_word(places, text) && is_it(text),
            Value::Array(items) => {
                let places = self.items(places);
                items.iter().any(|item| self.any(item, &places, is_it))
            }
            Value::Object(members) => members.iter().any(|(name, member)| {
                let (places, is_known) = self.member(places, name);
                (!is_known && is_it(name)) || self.any(member, &places, is_it)
            }),
            _ => false,
        }
    }
}

/// Returns whether a text is one of the constants that the schemas list.
fn is_word(places: &[&Schema], text: &str) -> bool {
    places.iter().any(|Schema(place)| {
        place.r#const.as_str() == Some(text) || place.r#enum.iter().any(|word| word.as_str() == Some(text))
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::event::Status;

    fn report(text: &str) -> Value {
        json!({
            "status": text, "mode": text, "message": text, "stop_reason": "llm_done",
            "files": [{"path": text, "op": text, "lines": {"added": 1}, "diff": text}],
            "plan": {"actions": [{"tool_input": {text: [text, 1]}}]},
            "structured_output": {"status": text},
        })
    }

    #[test]
    fn words_of_a_format_stay_and_texts_are_masked() {
        let masker = Masker::new(["dry-run!", "modify", "status", "failed7", "message"]);
        let masked = |text: &str| masked_json(&report(text), Format::Report, &masker).expect("JSON");
        let found = masked("modify");
        assert_eq!(found["files"][0]["op"], "modify");
        assert_eq!(found["files"][0]["path"], "***");
        assert_eq!(found["plan"]["actions"][0]["tool_input"], json!({"***": ["***", 1]}));
        assert_eq!(found["message"], "***");
        // A word of another place is not a word of the format here.
        assert_eq!(found["status"], "***");
        let found = masked("status");
        assert_eq!(found["structured_output"], json!({"***": "***"}));
        assert_eq!(found["stop_reason"], "llm_done");
        let found = masked("one of message and status");
        assert_eq!(found["message"], "one of *** and ***");
    }

    #[test]
    fn names_that_become_one_are_kept_apart() {
        let masker = Masker::new(["hunter22", "hunter33"]);
        let value = json!({"structured_output": {"hunter22": 1, "hunter33": 2}});
        let masked = masked_json(&value, Format::Report, &masker).expect("JSON");
        assert_eq!(masked["structured_output"], json!({"***": 1, "****": 2}));
    }

    #[test]
    fn what_cannot_be_read_once_it_is_masked_is_an_error() {
        #[derive(Debug, Serialize, Deserialize)]
        struct Odd {
            /// At a place that a report does not have, so that its words are text.
            end: Status,
        }
        let value = Odd { end: Status::Success };
        assert!(masked(&value, Format::Report, &Masker::new(["hunter22"])).is_ok());
        let masker = Masker::new(["succes"]);
        assert!(matches!(masked(&value, Format::Report, &masker), Err(MaskError::Form(_))));
    }

    #[test]
    fn a_plan_holds_secrets_in_its_texts_alone() {
        let masker = Masker::new(["modify", "hunter22"]);
        let plan = |content: &str| json!({"files": [{"op": "modify", "path": "a", "patch": content}]});
        let holds =
            |content: &str| item_holds_secret(&plan(content), Format::Plan, &[], &masker).expect("JSON");
        let holds_file = |content: &str| {
            let file = plan(content)["files"][0].clone();
            item_holds_secret(&file, Format::Plan, &["files"], &masker).expect("JSON")
        };
        assert_eq!(["text", "+hunter22", "+modify"].map(holds_file), [false, true, true]);
        assert!(!holds("text"));
        assert!(holds("+hunter22"));
        assert!(holds("+modify"));
    }

    #[test]
    fn a_line_of_a_log_keeps_its_fields() {
        let masker = Masker::new(["message", "hunter22"]);
        let line = json!({"message": "a message: hunter22", "call": {"message": 1}});
        let Value::Object(line) = line else { panic!("an object") };
        assert_eq!(masked_fields(line, &masker), json!({"message": "a ***: ***", "call": {"***": 1}}));
    }

    #[test]
    fn all_schemas_are_readable() {
        for format in [Format::Report, Format::BatchReport, Format::Transcript, Format::Plan] {
            let title = &format.schema().expect("a schema").0.title;
            let expected = match format {
                Format::Report => "RunReport",
                Format::BatchReport => "BatchReport",
                Format::Transcript => "Line",
                Format::Plan => "Plan",
            };
            assert_eq!(title, expected);
        }
    }
}
