//! Schemas of a server: limits on their size, and validation with a time limit.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jsonschema::Validator;
use serde_json::Value;

use super::error::UnusableSchema;

/// Maximum length of a schema in bytes: the one of arguments is paid for with every request.
const MAX_SCHEMA: usize = 16 * 1024;

/// Most values of a schema when each reference is followed, which is how often a validator may look at one value.
const MAX_EXPANDED: usize = 10_000;

/// Time for one validation. What nests deeper than anybody writes it may take longer than anybody waits.
const TIME: Duration = Duration::from_secs(2);

/// A server's schema, by which values are checked.
pub(super) struct Schema {
    validator: Arc<Validator>,
    /// Whether a validation took too long; no other is begun then.
    is_slow: AtomicBool,
}

/// What does not satisfy a schema.
#[derive(Debug)]
pub(super) struct Violation {
    /// The place within the value, as a JSON pointer.
    pub(super) path: String,
    /// What is wrong there.
    pub(super) problem: String,
}

impl Schema {
    /// Reads a schema; one that is too large is refused.
    pub(super) fn new(schema: &Value) -> Result<Self, UnusableSchema> {
        if schema.to_string().len() > MAX_SCHEMA {
            return Err(UnusableSchema::Long(MAX_SCHEMA));
        }
        if !is_bounded(schema) {
            return Err(UnusableSchema::Large(MAX_EXPANDED));
        }
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| UnusableSchema::Invalid(Box::new(error.to_owned())))?;
        Ok(Self { validator: Arc::new(validator), is_slow: AtomicBool::new(false) })
    }

    /// Checks a value. Waits for two seconds at most; a value that takes longer is refused, and so are all that follow.
    pub(super) fn check(&self, value: &Value) -> Result<(), Violation> {
        let slow = || Violation {
            path: String::new(),
            problem: format!("checking it against the server's schema took more than {} s", TIME.as_secs()),
        };
        if self.is_slow.load(Ordering::Relaxed) {
            return Err(slow());
        }
        let (validator, value, (sender, receiver)) =
            (Arc::clone(&self.validator), value.clone(), mpsc::sync_channel(1));
        // A thread of its own, which ends with the process: nothing else can end a validation.
        let started = std::thread::Builder::new().name("schema".to_owned()).spawn(move || {
            let first = validator.iter_errors(&value).next();
            let violation = first.map(|error| Violation {
                path: error.instance_path().to_string(),
                problem: error.to_string(),
            });
            let _ = sender.send(violation);
        });
        if let Err(error) = started {
            let problem = format!("it could not be checked against the server's schema: {error}");
            return Err(Violation { path: String::new(), problem });
        }
        receiver.recv_timeout(TIME).map_or_else(
            |_| {
                self.is_slow.store(true, Ordering::Relaxed);
                Err(slow())
            },
            |violation| violation.map_or(Ok(()), Err),
        )
    }
}

/// Returns whether a schema is of a sensible size when its references are followed. One that leads back to itself is
/// followed once: how far it goes is up to the value.
fn is_bounded(schema: &Value) -> bool {
    let mut expansion = Expansion { schema, left: MAX_EXPANDED, under_way: BTreeSet::new() };
    expansion.walk(schema, 0).is_some()
}

struct Expansion<'a> {
    schema: &'a Value,
    left: usize,
    /// References that are being followed.
    under_way: BTreeSet<&'a str>,
}

impl<'a> Expansion<'a> {
    /// Counts a value with all that it contains and refers to; `None` if that is too much.
    fn walk(&mut self, value: &'a Value, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        if depth > 500 {
            return None;
        }
        match value {
            Value::Array(values) => values.iter().try_for_each(|value| self.walk(value, depth + 1)),
            Value::Object(values) => values.iter().try_for_each(|(key, value)| {
                let is_reference = key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef";
                match value.as_str().filter(|_| is_reference) {
                    Some(reference) => self.follow(reference, depth),
                    // What is only referred to counts where that is done.
                    None if key == "$defs" || key == "definitions" => Some(()),
                    None => self.walk(value, depth + 1),
                }
            }),
            _ => Some(()),
        }
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Option<()> {
        if !self.under_way.insert(reference) {
            return Some(());
        }
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        let target = self.schema.pointer(&pointer).filter(|_| reference.starts_with('#'));
        let walked = if let Some(target) = target {
            self.walk(target, depth + 1)
        } else {
            // By an anchor or an identifier; each of the definitions may be meant.
            let schema = self.schema;
            let named = ["$defs", "definitions"].iter().filter_map(|key| schema.get(key)?.as_object());
            named.flat_map(|all| all.values()).try_for_each(|value| self.walk(value, depth + 1))
        };
        self.under_way.remove(reference);
        walked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn doubling(levels: usize, keyword: &str) -> Value {
        let mut all = Map::new();
        for level in 0..levels {
            let next = format!("#/$defs/x{}", level + 1);
            all.insert(format!("x{level}"), json!({ keyword: [{"$ref": next}, {"$ref": next}] }));
        }
        all.insert(format!("x{levels}"), json!({"type": "number"}));
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": all})
    }

    #[test]
    fn schemas_that_grow_without_bound_are_refused() {
        for (schema, is_good) in [
            (doubling(5, "anyOf"), true),
            (doubling(40, "anyOf"), false),
            (doubling(40, "allOf"), false),
            (json!({"allOf": [{"$ref": "#"}]}), true),
            (
                json!({"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}}),
                true,
            ),
            (json!({"type": "object", "title": "x".repeat(MAX_SCHEMA)}), false),
        ] {
            let read = Schema::new(&schema);
            let shown = schema.to_string().chars().take(80).collect::<String>();
            assert_eq!(read.is_ok(), is_good, "{shown}: {:?}", read.err());
        }
    }

    #[test]
    fn validation_that_takes_too_long_ends() {
        // Both ways are tried at every level of the value.
        let node = json!({"anyOf": [
            {"properties": {"a": {"$ref": "#/$defs/node"}}, "required": ["b"]},
            {"properties": {"a": {"$ref": "#/$defs/node"}}, "required": ["c"]},
        ]});
        let schema = json!({"$ref": "#/$defs/node", "$defs": {"node": node}});
        let schema = Schema::new(&schema).expect("a schema");
        assert!(schema.check(&json!({"b": 1})).is_ok());
        let mut value = json!({});
        for _ in 0..60 {
            value = json!({ "a": value });
        }
        for _ in 0..2 {
            let violation = schema.check(&value).expect_err("too slow");
            assert!(violation.problem.contains("took more than 2 s"), "{violation:?}");
        }
    }

    #[test]
    fn violations_name_their_place() {
        let schema = Schema::new(&json!({"properties": {"a": {"type": "number"}}})).expect("a schema");
        assert_eq!(schema.check(&json!({"a": "x"})).expect_err("no number").path, "/a");
        assert!(schema.check(&json!({"a": 1})).is_ok());
    }
}
