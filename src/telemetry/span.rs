//! The parts of a span in OTLP's JSON.

use serde_json::{Map, Value, json};

use crate::base::env::Variables;

/// A span without its times and attributes.
pub(super) struct Span<'a> {
    pub(super) id: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) name: &'a str,
    /// 1 for an internal span, 3 for that of a client.
    pub(super) kind: u8,
}

/// Attributes of a span, by their keys.
pub(super) struct Attributes(pub(super) Map<String, Value>);

impl Attributes {
    pub(super) fn new(operation: &str) -> Self {
        let mut attributes = Self::none();
        attributes.text("gen_ai.operation.name", operation);
        attributes
    }

    pub(super) fn none() -> Self {
        Self(Map::new())
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.0.insert(key.to_owned(), json!(value));
        }
    }

    pub(super) fn number(&mut self, key: &str, value: u64) {
        self.0.insert(key.to_owned(), json!(value));
    }

    pub(super) fn list(self, clean: impl Fn(&str) -> String) -> Vec<Value> {
        let value = |value: &Value| match value {
            Value::String(text) => json!({"stringValue": clean(text)}),
            // The format's JSON represents 64-bit integers as text.
            Value::Number(number) if !number.is_f64() => json!({"intValue": number.to_string()}),
            Value::Number(number) => json!({"doubleValue": number}),
            other => json!({"stringValue": clean(&other.to_string())}),
        };
        self.0.iter().map(|(key, found)| json!({"key": key, "value": value(found)})).collect()
    }
}

/// Returns the resource of all spans: the service, and the pipeline that it runs in.
pub(super) fn resource(variables: &Variables, service: &str) -> Value {
    let mut attributes = Attributes::none();
    attributes.text("service.name", service);
    attributes.text("service.version", env!("CARGO_PKG_VERSION"));
    for (key, variable) in [
        ("cicd.pipeline.name", "GITHUB_WORKFLOW"),
        ("cicd.pipeline.run.id", "GITHUB_RUN_ID"),
        ("vcs.repository.name", "GITHUB_REPOSITORY"),
        ("vcs.ref.head.revision", "GITHUB_SHA"),
    ] {
        attributes.text(key, variables.get(variable).map(String::as_str).unwrap_or_default());
    }
    json!({"attributes": attributes.list(str::to_owned)})
}
