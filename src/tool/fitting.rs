//! Fitting of arguments: their own names, types and forms, whatever other agents' models write.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use workspace::inside;

use super::argument_names::{ARGUMENTS, REMARKS};
use super::arguments::Arguments;
use super::coercion::{coerced, in_seconds};
use super::resolved_call::{ResolvedCall, UnresolvedCall};
use super::wrapped::keyword_arguments;
use super::{Tool, path_forms};
use crate::event::ToolCall;

/// Most parts of a relative path that is suggested.
const MAX_PARTS: usize = 32;

/// Returns whether an argument of a tool is a path, or begins with one. What other tools call a pattern is text.
fn is_path(tool: &str, argument: &str) -> bool {
    match argument {
        "path" | "cwd" | "from" | "to" | "file_pattern" => true,
        "pattern" => matches!(tool, "list_files" | "find_files" | "search_files"),
        _ => false,
    }
}

/// Gives arguments their own names and types.
pub(super) fn finished(
    call: &ToolCall,
    arguments: Arguments,
    tool: &Arc<dyn Tool>,
    root: &Path,
) -> Result<ResolvedCall, UnresolvedCall> {
    let name = tool.name().to_owned();
    let arguments = fitted(&**tool, arguments, root);
    if let Some(Value::Array(several)) = arguments.get("path") {
        let path = |path: &Value| path.get("path").unwrap_or(path).clone();
        let calls = several.iter().take(5).map(|one| format!("{name}(path={}, …)", path(one)));
        return Err(UnresolvedCall(format!(
            "make one call for each, all in one turn: {}",
            calls.collect::<Vec<_>>().join(", ")
        )));
    }
    for name in ["path", "cwd", "from", "to"] {
        let given = arguments.get(name).and_then(Value::as_str);
        if let Some((given, meant)) = given.and_then(|given| Some((given, of_another_root(given, root)?))) {
            return Err(UnresolvedCall(format!(
                "ACCESS DENIED: {given} is outside of the workspace; did you mean {name}={meant:?}?"
            )));
        }
    }
    let arguments = Value::Object(arguments);
    let call = ToolCall { name, arguments, ..call.clone() };
    Ok(ResolvedCall { tool: Arc::clone(tool), call, ignored: Vec::new() })
}

/// Returns the relative path that is meant by an absolute one at which there is nothing, as if the checkout were elsewhere: one at which
/// there is something, or else a new one in a folder that there is.
fn of_another_root(given: &str, root: &Path) -> Option<String> {
    let path = Path::new(given);
    if !path.is_absolute() || path.starts_with(root) || path.exists() || given.contains("..") {
        return None;
    }
    let parts: Vec<&str> = given.split('/').filter(|part| !part.is_empty()).collect();
    // A path of many more parts is none of a checkout.
    let ends: Vec<String> = (parts.len().saturating_sub(MAX_PARTS).max(1)..parts.len())
        .map(|from| parts[from..].join("/"))
        .collect();
    let is_there = |end: &&String| root.join(end).symlink_metadata().is_ok();
    let is_in_folder =
        |end: &&String| end.rsplit_once('/').is_some_and(|(folder, _)| root.join(folder).is_dir());
    ends.iter().find(is_there).or_else(|| ends.iter().find(is_in_folder)).cloned()
}

/// Takes arguments that are written as those of a function out of a text, if it has all that the tool needs: `timeout=5 make` is
/// a command.
pub(super) fn take_keywords(arguments: &mut Arguments, tool: &dyn Tool) {
    let Some(Value::String(text)) = arguments.get("input").filter(|_| arguments.len() == 1) else { return };
    let schema = tool.parameters();
    let keywords = keyword_arguments(text, &|name| schema["properties"].get(name).is_some());
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(keywords) = keywords
        && required.all(|name| keywords.contains_key(name))
    {
        *arguments = keywords;
    }
}

/// Returns the arguments with our names, in the types of the schema, and without what is empty and optional.
fn fitted(tool: &dyn Tool, given: Arguments, root: &Path) -> Arguments {
    let (schema, only_looks, tool) = (tool.parameters(), !tool.sensitive(), tool.name());
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
        let is_empty = value.as_str().is_some_and(str::is_empty);
        let is_needed = required.contains(&name.as_str()) || name == "new_str";
        // Files are written in UTF-8, or in the encoding that they have.
        let is_obeyed = name != "encoding" || is_utf8(value);
        (is_known || !is_obeyed || !REMARKS.contains(&name.as_str())) && (is_needed || !is_empty)
    });
    for (name, value) in &mut arguments {
        if let Value::Array(items) = value
            && let Some(joint) = joint(name)
        {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if !texts.is_empty() && texts.len() == items.len() {
                // Lines may have their ends already.
                let has_ends = joint == "\n" && texts.len() > 1;
                let has_ends = has_ends && texts[..texts.len() - 1].iter().all(|text| text.ends_with('\n'));
                *value = json!(if has_ends { texts.concat() } else { texts.join(joint) });
            }
        }
        if let Some(property) = properties.get(name) {
            *value = coerced(std::mem::take(value), property);
        } else if let Some(flag) = value.as_str().and_then(|text| text.parse::<bool>().ok()) {
            *value = json!(flag);
        }
        if is_path(tool, name)
            && let Some(relative) = relative(value, root)
        {
            *value = relative;
        }
        // Lines behind a path may be part of the name of a file that is to be changed.
        if name == "path"
            && only_looks
            && let Some(lines) = value.as_str().and_then(path_forms::lines_behind)
        {
            *value = json!(lines.path);
        }
    }
    if matches!(tool, "run_command" | "run_powershell") {
        in_seconds(&mut arguments);
    }
    arguments
}

fn is_utf8(encoding: &Value) -> bool {
    let name = encoding.as_str().unwrap_or_default().to_lowercase().replace(['-', '_'], "");
    matches!(name.as_str(), "" | "utf8" | "text" | "ascii")
}

/// Returns what stands between the parts of an argument that is given as a list: lines of a text, or globs.
fn joint(name: &str) -> Option<&'static str> {
    match name {
        "content" | "old_str" | "new_str" | "patch" | "replacement" => Some("\n"),
        "file_pattern" => Some(","),
        _ => None,
    }
}

/// Returns a path inside of the checkout relative to it, or `None` if there is nothing to change.
fn relative(value: &Value, root: &Path) -> Option<Value> {
    let text = value.as_str()?;
    let text = text.strip_prefix("file://").unwrap_or(text);
    inside(text, root.to_str()?).map(|relative| json!(relative))
}

/// Returns the arguments that say something, with names such as `filePath` as `file_path`.
pub(super) fn plain_names(given: Arguments) -> Arguments {
    let named = given.into_iter().filter(|(_, value)| !value.is_null());
    named.map(|(name, value)| (snake_case(&name), value)).collect()
}

/// Returns a name such as `filePath` or `file-path` as `file_path`.
pub(super) fn snake_case(name: &str) -> String {
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
