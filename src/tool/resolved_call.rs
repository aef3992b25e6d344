//! Result of the resolution of a call: the tool and its own arguments, or the reason why it is not clear which are meant.

use std::sync::Arc;

use serde_json::Value;

use super::Tool;
use crate::base::did_you_mean::nearest;
use crate::event::ToolCall;

/// Most arguments that are left out of a call.
const MAX_IGNORED: usize = 32;

/// Call as it was understood.
pub struct ResolvedCall {
    /// Tool that is meant.
    pub tool: Arc<dyn Tool>,
    /// The call with the tool's own name and arguments.
    pub call: ToolCall,
    /// Arguments that the tool does not know, and that are left out of the call.
    pub ignored: Vec<String>,
}

impl ResolvedCall {
    /// Leaves out arguments that the tool does not know, if the call means the same without them: those that say nothing, and those
    /// of a tool that only looks, unless one is a known name misspelt.
    pub(super) fn without_unknown(mut self) -> Self {
        if Arc::clone(&self.tool).prepare(&self.call.arguments).is_ok() {
            return self;
        }
        let schema = self.tool.parameters();
        let (Some(known), Some(given)) = (schema["properties"].as_object(), self.call.arguments.as_object())
        else {
            return self;
        };
        let says_nothing = |value: &Value| match value {
            Value::Null => true,
            // What is not to be done is said to a tool that does something.
            Value::Bool(false) => !self.tool.sensitive(),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Number(_) | Value::Bool(true) => false,
        };
        let is_misspelt = |name: &str| nearest(name, known.keys().map(String::as_str)).is_some();
        let is_kept =
            |name: &str, value: &Value| !says_nothing(value) && (self.tool.sensitive() || is_misspelt(name));
        let (mut kept, mut ignored) = (self.call.arguments.clone(), Vec::new());
        while let Err(error) = Arc::clone(&self.tool).prepare(&kept) {
            let error = error.to_string();
            let is_unknown = |name: &str| error.contains(&format!("unknown field `{name}`"));
            let unknown = given.iter().find(|(name, _)| is_unknown(name));
            let unknown =
                unknown.filter(|(name, value)| ignored.len() < MAX_IGNORED && !is_kept(name, value));
            let (Some((name, _)), Some(arguments)) = (unknown, kept.as_object_mut()) else { return self };
            arguments.shift_remove(name);
            ignored.push(name.clone());
        }
        (self.call.arguments, self.ignored) = (kept, ignored);
        self
    }

    /// Returns what the model is told of arguments that were left out.
    pub fn remark(&self) -> Option<String> {
        (!self.ignored.is_empty()).then(|| {
            format!(
                "[ignored, because {} has no such argument: {}]",
                self.tool.name(),
                self.ignored.join(", ")
            )
        })
    }
}

/// Reason why a call is not understood: a sentence for the model that contains the right call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnresolvedCall(pub(super) String);

/// Returns a message for the model about arguments that a tool does not take. What is wrong with a value needs no list
/// of names.
pub(crate) fn invalid_arguments(tool: &dyn Tool, error: &str) -> String {
    let is_about_names = error.contains("missing field") || error.contains("unknown field");
    let call = if is_about_names { format!("; the call is {}", usage(tool)) } else { String::new() };
    format!("Invalid arguments: {}{call}", without_hidden(tool, error))
}

/// Returns an error without the names and values among those expected that are understood but not offered.
fn without_hidden(tool: &dyn Tool, error: &str) -> String {
    let Some((start, names)) = error.rsplit_once(", expected ") else { return error.to_owned() };
    let offered = tool.parameters().to_string();
    let all: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let (shown, hidden): (Vec<&str>, Vec<&str>) =
        all.into_iter().partition(|name| offered.contains(&format!("\"{name}\"")));
    match (shown.as_slice(), hidden.as_slice()) {
        (_, []) => error.to_owned(),
        ([], _) => start.to_owned(),
        ([one], _) => format!("{start}, expected `{one}`"),
        _ => format!("{start}, expected one of `{}`", shown.join("`, `")),
    }
}

/// Returns the right way to call a tool: `read_file(path=…, [start_line=…], [end_line=…])`.
pub(super) fn usage(tool: &dyn Tool) -> String {
    let schema = tool.parameters();
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
    };
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let (must, may): (Vec<&str>, Vec<&str>) = names.partition(|name| required(name));
    let must = must.iter().map(|name| format!("{name}=…"));
    let may = may.iter().map(|name| format!("[{name}=…]"));
    format!("{}({})", tool.name(), must.chain(may).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Registry;

    #[test]
    fn what_is_not_offered_is_not_named() {
        let registry = Registry::with_built_in();
        for (tool, error, expected) in [
            (
                "apply_patch",
                "dir: unknown field `dir`, expected one of `patch`, `path`, `applied_in`",
                "dir: unknown field `dir`, expected one of `patch`, `path`; the call is apply_patch(patch=…, [path=…])",
            ),
            (
                "write_file",
                "mode: unknown variant `x`, expected one of `overwrite`, `append`, `create`, `lines`",
                "mode: unknown variant `x`, expected one of `overwrite`, `append`",
            ),
            ("read_file", "path: invalid type: integer `1`, expected a string", ""),
        ] {
            let found = registry.all().find(|one| one.name() == tool).expect("a tool");
            let expected = if expected.is_empty() { error } else { expected };
            assert_eq!(invalid_arguments(&**found, error), format!("Invalid arguments: {expected}"));
        }
    }
}
