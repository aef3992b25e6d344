//! The door of the pipeline: what a call means, before anything is decided about it. Models bring names and habits from
//! other agents; what can be understood in one way only is taken, and the rest is answered with the right call.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use workspace::inside;

use super::argument_names::{ARGUMENTS, REMARKS};
use super::coercion::{coerced, in_seconds};
use super::names::{Arguments, Meaning, folded, meaning};
use super::{Registry, Tool};
use crate::base::did_you_mean::nearest;
use crate::base::text::{counted, shortened};
use crate::event::ToolCall;

/// Call as it was understood.
pub struct Understood {
    /// Tool that is meant.
    pub tool: Arc<dyn Tool>,
    /// The call with the tool's own name and arguments.
    pub call: ToolCall,
    /// Arguments that the tool does not know, and that are left out of the call.
    pub ignored: Vec<String>,
}

impl Understood {
    /// Leaves out arguments that the tool does not know, if the call means the same without them: those that say nothing, and those
    /// of a tool that only looks, unless one is a known name misspelt.
    fn without_unknown(mut self) -> Self {
        if Arc::clone(&self.tool).prepare(&self.call.arguments).is_ok() {
            return self;
        }
        let schema = self.tool.parameters();
        let (Some(known), Some(given)) = (schema["properties"].as_object(), self.call.arguments.as_object())
        else {
            return self;
        };
        let says_nothing = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Number(_) | Value::Bool(true) => false,
        };
        let is_misspelt = |name: &str| nearest(name, known.keys().map(String::as_str)).is_some();
        let (mut kept, mut ignored) = (given.clone(), Vec::new());
        kept.retain(|name, value| {
            let is_kept = known.contains_key(name)
                || !says_nothing(value) && (self.tool.sensitive() || is_misspelt(name));
            if !is_kept {
                ignored.push(name.clone());
            }
            is_kept
        });
        let kept = Value::Object(kept);
        if Arc::clone(&self.tool).prepare(&kept).is_ok() {
            (self.call.arguments, self.ignored) = (kept, ignored);
        }
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
pub struct NotUnderstood(pub(super) String);

/// Arguments that are paths, or begin with one.
const PATHS: [&str; 6] = ["path", "cwd", "from", "to", "file_pattern", "pattern"];

impl Registry {
    /// Returns what a call means. `root` is the path of the checkout.
    pub fn understand(&self, call: &ToolCall, root: &Path) -> Result<Understood, NotUnderstood> {
        let own = self.get(&call.name);
        if let Some(tool) = own.filter(|tool| tool.takes_arguments_as_given()) {
            return Ok(Understood { tool: Arc::clone(tool), call: call.clone(), ignored: Vec::new() });
        }
        let renamed = |(name, value): (String, Value)| (snake_case(&name), value);
        let arguments: Arguments = object(&call.arguments)?.into_iter().map(renamed).collect();
        let as_own = own.map(|tool| self.translated(call, arguments.clone(), tool, root));
        let understood = match (as_own, meaning(&call.name)) {
            (Some(Ok(understood)), other) => {
                let fits = |understood: &Understood| {
                    Arc::clone(&understood.tool).prepare(&understood.call.arguments).is_ok()
                };
                // A name that means one thing here and another elsewhere: what the arguments fit is meant.
                if other.is_none() || fits(&understood) {
                    Ok(understood)
                } else {
                    let foreign = self.foreign(call, arguments, other, root).ok().filter(fits);
                    Ok(foreign.unwrap_or(understood))
                }
            }
            (Some(Err(reason)), _) => Err(reason),
            (None, other) => self.foreign(call, arguments, other, root),
        };
        understood.map(Understood::without_unknown)
    }

    /// Understands a call by a name that is not one of ours.
    fn foreign(
        &self,
        call: &ToolCall,
        mut arguments: Arguments,
        meaning: Option<Meaning>,
        root: &Path,
    ) -> Result<Understood, NotUnderstood> {
        let name = match meaning {
            Some(Meaning::Advice(advice)) => {
                return Err(NotUnderstood(format!("Tool not found: {}; {advice}", call.name)));
            }
            Some(Meaning::Tool(name)) => name.to_owned(),
            Some(Meaning::Fitted(name, change)) => {
                change(&mut arguments);
                name.to_owned()
            }
            Some(Meaning::Changed(name, change)) => {
                let changed = change(&mut arguments)
                    .map_err(|advice| NotUnderstood(format!("{}: {advice}", call.name)))?;
                changed.unwrap_or(name).to_owned()
            }
            None => {
                let wanted = folded(&call.name);
                let own = self.all().map(|tool| tool.name()).find(|name| folded(name) == wanted);
                own.ok_or_else(|| NotUnderstood(self.unknown(&call.name)))?.to_owned()
            }
        };
        let Some(tool) = self.get(&name) else {
            return Err(NotUnderstood(format!(
                "Tool not found: {} ({name} is not available in this run)",
                call.name
            )));
        };
        finished(call, arguments, tool, root)
    }

    /// Understands the arguments of a tool that was called by its own name.
    fn translated(
        &self,
        call: &ToolCall,
        mut arguments: Arguments,
        tool: &Arc<dyn Tool>,
        root: &Path,
    ) -> Result<Understood, NotUnderstood> {
        let mut tool = tool;
        match meaning(&call.name) {
            Some(Meaning::Fitted(name, change)) if name == tool.name() => change(&mut arguments),
            Some(Meaning::Changed(name, change)) if name == tool.name() => {
                let changed =
                    change(&mut arguments).map_err(|advice| NotUnderstood(format!("{name}: {advice}")))?;
                tool = changed.and_then(|name| self.get(name)).unwrap_or(tool);
            }
            _ => {}
        }
        finished(call, arguments, tool, root)
    }

    fn unknown(&self, name: &str) -> String {
        let name = &shortened(name, 100);
        if let Some(near) = self.closest(name) {
            return format!("Tool not found: {name}; did you mean {near}?");
        }
        let all: Vec<&str> = self.list().map(|tool| tool.name()).collect();
        format!("Tool not found: {name}; the tools are {}", all.join(", "))
    }
}

/// Gives arguments their own names and types.
fn finished(
    call: &ToolCall,
    arguments: Arguments,
    tool: &Arc<dyn Tool>,
    root: &Path,
) -> Result<Understood, NotUnderstood> {
    let name = tool.name().to_owned();
    let arguments = fitted(&name, arguments, &tool.parameters(), root);
    for name in ["path", "cwd", "from", "to"] {
        let given = arguments.get(name).and_then(Value::as_str);
        if let Some((given, meant)) = given.and_then(|given| Some((given, of_another_root(given, root)?))) {
            return Err(NotUnderstood(format!(
                "ACCESS DENIED: {given} is outside of the workspace; did you mean {name}={meant:?}?"
            )));
        }
    }
    let arguments = Value::Object(arguments);
    let call = ToolCall { name, arguments, ..call.clone() };
    Ok(Understood { tool: Arc::clone(tool), call, ignored: Vec::new() })
}

/// Returns the relative path that is meant by an absolute one at which there is nothing, as if the checkout were elsewhere.
fn of_another_root(given: &str, root: &Path) -> Option<String> {
    let path = Path::new(given);
    if !path.is_absolute() || path.starts_with(root) || path.exists() || given.contains("..") {
        return None;
    }
    let parts: Vec<&str> = given.split('/').filter(|part| !part.is_empty()).collect();
    let ends = (1..parts.len()).map(|from| parts[from..].join("/"));
    ends.into_iter().find(|end| root.join(end).symlink_metadata().is_ok())
}

/// Returns a message for the model about arguments that a tool does not take. What is wrong with a value needs no list
/// of names.
pub(crate) fn invalid_arguments(tool: &dyn Tool, error: &str) -> String {
    let is_about_names = error.contains("missing field") || error.contains("unknown field");
    let call = if is_about_names { format!("; the call is {}", usage(tool)) } else { String::new() };
    format!("Invalid arguments: {error}{call}")
}

/// Returns the right way to call a tool: `read_file(path=…, [start_line=…], [end_line=…])`.
fn usage(tool: &dyn Tool) -> String {
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

/// Returns the arguments as an object: given as one, as JSON text of one, or as the one text that a tool takes.
fn object(arguments: &Value) -> Result<Arguments, NotUnderstood> {
    Ok(match arguments {
        Value::Object(object) => object.clone(),
        Value::String(text) => match serde_json::from_slice(text.as_bytes()) {
            Ok(Value::Object(object)) => object,
            Err(error) if text.trim_start().starts_with('{') => return nearly_object(text, &error),
            _ if text.trim().is_empty() => Map::new(),
            _ => Map::from_iter([("input".to_owned(), json!(text))]),
        },
        _ => Map::new(),
    })
}

/// Returns the arguments in a text that is an object but for commas and quotes. The error says what is wrong with it.
fn nearly_object(text: &str, error: &serde_json::Error) -> Result<Arguments, NotUnderstood> {
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(text).into_iter().map_while(Result::ok).collect();
    if objects.len() > 1 {
        return Err(NotUnderstood(format!(
            "Invalid arguments: {} objects in one call; make one call for each, all in one turn",
            objects.len()
        )));
    }
    // An object in YAML's flow style may have a comma at its end, and single quotes, in which other escapes apply.
    if objects.is_empty()
        && !text.contains(['\\', '\n'])
        && let Ok(Value::Object(object)) = crate::base::yaml::from_str(text)
    {
        return Ok(object);
    }
    if error.is_eof() {
        return Err(NotUnderstood(format!(
            "Invalid arguments: not valid JSON: the call was cut off after {} of arguments, and nothing of it was done; make it \
             again, smaller: a long file in parts (write_file, then write_file with mode=\"append\"), many edits in several calls",
            counted(text.chars().count(), "character", "s")
        )));
    }
    Err(NotUnderstood(format!("Invalid arguments: not valid JSON: {error}")))
}

/// Returns the arguments with our names, in the types of the schema, and without what is empty and optional.
fn fitted(tool: &str, given: Arguments, schema: &Value, root: &Path) -> Arguments {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut arguments = given;
    for (of, foreign, own) in ARGUMENTS {
        if (*of != "*" && *of != tool) || arguments.contains_key(*own) || !properties.contains_key(*own) {
            continue;
        }
        let taken =
            foreign.iter().find(|name| arguments.contains_key(**name) && !properties.contains_key(**name));
        if let Some(value) = taken.and_then(|name| arguments.shift_remove(*name)) {
            arguments.insert((*own).to_owned(), value);
        }
    }
    // One text that a tool takes may come under any name.
    if let ([own], Some(value)) = (required.as_slice(), arguments.get("input").cloned())
        && !arguments.contains_key(*own)
    {
        arguments.shift_remove("input");
        arguments.insert((*own).to_owned(), value);
    }
    arguments.retain(|name, value| {
        let is_known = properties.contains_key(name);
        let is_empty = value.is_null() || value.as_str().is_some_and(str::is_empty);
        let is_needed = required.contains(&name.as_str()) || name == "new_str";
        (is_known || !REMARKS.contains(&name.as_str())) && (is_needed || !is_empty)
    });
    for (name, value) in &mut arguments {
        if let Some(property) = properties.get(name) {
            *value = coerced(std::mem::take(value), property);
        } else if let Some(flag) = value.as_str().and_then(|text| text.parse::<bool>().ok()) {
            *value = json!(flag);
        }
        if PATHS.contains(&name.as_str())
            && let Some(relative) = relative(value, root)
        {
            *value = relative;
        }
    }
    if matches!(tool, "run_command" | "run_powershell") {
        in_seconds(&mut arguments);
    }
    arguments
}

/// Returns a path inside of the checkout relative to it, or `None` if there is nothing to change.
fn relative(value: &Value, root: &Path) -> Option<Value> {
    let text = value.as_str()?;
    let text = text.strip_prefix("file://").unwrap_or(text);
    inside(text, root.to_str()?).map(|relative| json!(relative))
}

/// Returns a name such as `filePath` or `file-path` as `file_path`.
fn snake_case(name: &str) -> String {
    if name.starts_with('-') {
        return name.to_owned();
    }
    let mut text = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for c in name.chars() {
        if c.is_uppercase() && !matches!(before, '_' | '-') && !before.is_uppercase() {
            text.push('_');
        }
        if c == '-' {
            text.push('_');
        } else {
            text.extend(c.to_lowercase());
        }
        before = c;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arguments_become_ours() {
        for (name, expected) in [
            ("filePath", "file_path"),
            ("TargetFile", "target_file"),
            ("file-path", "file_path"),
            ("URL", "url"),
            ("old_str", "old_str"),
        ] {
            assert_eq!(snake_case(name), expected);
        }
    }
}
