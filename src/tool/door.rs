//! The door of the pipeline: what a call means, before anything is decided about it. Models bring names and habits from
//! other agents; what can be understood in one way only is taken, and the rest is answered with the right call.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use workspace::inside;

use super::argument_names::{ARGUMENTS, REMARKS};
use super::names::{Arguments, Meaning, folded, meaning};
use super::{Registry, Tool};
use crate::base::text::shortened;
use crate::event::ToolCall;

/// Call as it was understood.
pub struct Understood {
    /// Tool that is meant.
    pub tool: Arc<dyn Tool>,
    /// The call with the tool's own name and arguments.
    pub call: ToolCall,
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
            return Ok(Understood { tool: Arc::clone(tool), call: call.clone() });
        }
        let renamed = |(name, value): (String, Value)| (snake_case(&name), value);
        let arguments: Arguments = object(&call.arguments)?.into_iter().map(renamed).collect();
        let as_own = own.map(|tool| self.translated(call, arguments.clone(), tool, root));
        match (as_own, meaning(&call.name)) {
            (Some(Ok(understood)), other) => {
                let fits = |understood: &Understood| {
                    Arc::clone(&understood.tool).prepare(&understood.call.arguments).is_ok()
                };
                // A name that means one thing here and another elsewhere: what the arguments fit is meant.
                if other.is_none() || fits(&understood) {
                    return Ok(understood);
                }
                let foreign = self.foreign(call, arguments, other, root).ok().filter(fits);
                Ok(foreign.unwrap_or(understood))
            }
            (Some(Err(reason)), _) => Err(reason),
            (None, other) => self.foreign(call, arguments, other, root),
        }
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
    Ok(Understood { tool: Arc::clone(tool), call: ToolCall { name, arguments, ..call.clone() } })
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
    if tool == "run_command" {
        in_seconds(&mut arguments);
    }
    arguments
}

/// Takes a time that only makes sense in milliseconds as such, no limit as the usual one, and a little more than there is
/// as the most.
fn in_seconds(arguments: &mut Arguments) {
    match arguments.get("timeout").and_then(Value::as_u64) {
        Some(0) => drop(arguments.shift_remove("timeout")),
        Some(ms @ 3_601..) => drop(arguments.insert("timeout".to_owned(), json!((ms / 1_000).clamp(1, 600)))),
        Some(601..1_000) => drop(arguments.insert("timeout".to_owned(), json!(600))),
        _ => {}
    }
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

/// Returns a value in the type that a schema asks for, if it can only be meant so.
fn coerced(value: Value, schema: &Value) -> Value {
    let is = |kind: &str| {
        let own = &schema["type"];
        own == kind || own.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
    };
    match &value {
        Value::String(text) if !is("string") => {
            let text = text.trim();
            if is("integer") || is("number") {
                let number = text.replace([',', '_'], "");
                return number.parse::<i64>().map_or(value, |number| json!(number));
            }
            if is("boolean") {
                return match text.to_lowercase().as_str() {
                    "true" | "yes" | "1" => json!(true),
                    "false" | "no" | "0" => json!(false),
                    _ => value,
                };
            }
            if is("array") {
                return match serde_json::from_slice(text.as_bytes()) {
                    Ok(list @ Value::Array(_)) => list,
                    _ => json!([text]),
                };
            }
            if is("object") {
                return serde_json::from_slice(text.as_bytes()).unwrap_or(value);
            }
            value
        }
        Value::Number(number) if is("integer") => match number.as_f64() {
            Some(real) if number.is_f64() && real.fract() == 0.0 => {
                format!("{real:.0}").parse::<i64>().map_or(value, |whole| json!(whole))
            }
            _ => value,
        },
        Value::Number(number) if is("boolean") => match number.as_i64() {
            Some(1) => json!(true),
            Some(0) => json!(false),
            _ => value,
        },
        Value::Number(_) | Value::Bool(_) if is("string") => json!(value.to_string()),
        // A list of one is meant as the one, and a list of globs as all of them.
        Value::Array(items) if is("string") => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if texts.len() == items.len() && texts.len() == 1 { json!(texts[0]) } else { value }
        }
        _ => value,
    }
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

    #[test]
    fn values_become_what_the_schema_asks_for() {
        let integer = json!({"type": ["integer", "null"]});
        for (value, schema, expected) in [
            (json!("12"), &integer, json!(12)),
            (json!("1,200"), &integer, json!(1200)),
            (json!(3.0), &integer, json!(3)),
            (json!("many"), &integer, json!("many")),
            (json!("True"), &json!({"type": "boolean"}), json!(true)),
            (json!(0), &json!({"type": "boolean"}), json!(false)),
            (json!(5), &json!({"type": "string"}), json!("5")),
            (json!(["a"]), &json!({"type": "string"}), json!("a")),
            (json!("[\"a\"]"), &json!({"type": "array"}), json!(["a"])),
        ] {
            assert_eq!(coerced(value, schema), expected);
        }
    }
}
