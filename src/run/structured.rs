//! A final message that has to be JSON of a given form.

use serde_json::Value;

use crate::base::text::without_fence;

/// Added to the agent's prompt.
pub(super) const INSTRUCTION: &str = "\nYour final answer must be a single JSON value that satisfies the \
                                      schema below, without prose or code fences.\n";

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
enum SchemaViolation {
    /// It is not JSON.
    #[error("it is not JSON ({0})")]
    Json(#[from] serde_json::Error),
    /// Values in it are not what the schema asks for; each with its path.
    #[error("{}", .0.join("; "))]
    Fields(Vec<String>),
}

/// The schema, ready to check.
pub(super) struct Structured(Option<jsonschema::Validator>);

impl Structured {
    /// The schema has been compiled once before, when the inputs were read.
    pub(super) fn new(schema: &Value) -> Self {
        Self(jsonschema::validator_for(schema).ok())
    }

    /// The value, if the message is one that satisfies the schema.
    pub(super) fn value(&self, message: &str) -> Option<Value> {
        self.check(message).ok()
    }

    /// What to tell the model, if the message does not satisfy the schema.
    pub(super) fn complaint(&self, message: &str) -> Option<String> {
        let error = self.check(message).err()?;
        Some(format!(
            "Your answer does not satisfy the schema: {error}. Answer again with only the JSON value."
        ))
    }

    fn check(&self, message: &str) -> Result<Value, SchemaViolation> {
        // Models like to put JSON into a fence whatever they are told.
        let text = without_fence(message.trim());
        let value: Value = serde_json::from_slice(text.as_bytes())?;
        let Some(validator) = &self.0 else { return Ok(value) };
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .take(5)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if errors.is_empty() { Ok(value) } else { Err(SchemaViolation::Fields(errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_checked_against_the_schema() {
        let schema = serde_json::json!({"type": "object", "required": ["risk"], "properties": {"risk": {"enum": ["low", "high"]}}});
        let structured = Structured::new(&schema);
        for fenced in [
            "```json\n{\"risk\": \"low\"}\n```",
            "```json {\"risk\": \"low\"}```",
            "```\n{\"risk\": \"low\"} ```",
        ] {
            assert_eq!(structured.complaint(fenced), None, "{fenced}");
        }
        assert_eq!(structured.value("{\"risk\": \"low\"}"), Some(serde_json::json!({"risk": "low"})));
        assert!(structured.complaint("low").is_some_and(|text| text.contains("not JSON")));
        assert!(structured.complaint("{\"risk\": \"mid\"}").is_some_and(|text| text.contains("/risk")));
        assert!(structured.complaint("{}").is_some_and(|text| text.contains("required")));
    }
}
