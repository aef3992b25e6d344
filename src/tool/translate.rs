//! Calls of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::door::NotUnderstood;
use super::names::Arguments;

/// Result of a change: the tool, if it is another than the table says.
pub(super) type Changed = Result<Option<&'static str>, NotUnderstood>;

/// Takes the first of several arguments out of a call.
pub(super) fn take(arguments: &mut Arguments, names: &[&str]) -> Option<Value> {
    names.iter().filter_map(|name| arguments.remove(*name)).find(|value| !value.is_null())
}

/// Returns a number, which may be written as text.
pub(super) fn number(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| format!("{:.0}", value.as_f64()?).parse().ok())
        .or_else(|| value.as_str()?.trim().parse().ok())
}

pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

pub(super) fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str() == Some("true"))
}

/// Lines by offset and number, or as a pair.
pub(super) fn line_range(arguments: &mut Arguments) -> Changed {
    if let Some(Value::Object(inner)) = arguments.get("args").cloned() {
        arguments.remove("args");
        arguments.extend(inner);
    }
    if let Some(Value::Array(files)) = arguments.get("file").cloned() {
        arguments.remove("file");
        arguments.insert("files".to_owned(), Value::Array(files));
    }
    if let Some(Value::Array(pair)) = take(arguments, &["view_range", "read_range", "line_range", "range"]) {
        let mut ends = pair.iter().map(number);
        set_line(arguments, "start_line", ends.next().flatten());
        set_line(arguments, "end_line", ends.next().flatten());
    }
    if let Some(range) = take(arguments, &["lines"]) {
        let range = range.as_str().unwrap_or_default();
        let (start, end) = range.split_once(['-', ':', ',']).unwrap_or((range, range));
        set_line(arguments, "start_line", start.trim().parse().ok());
        set_line(arguments, "end_line", end.trim().parse().ok());
    }
    // As compilers write places: `src/main.rs:12`.
    if let Some((path, line)) =
        arguments.get("path").and_then(Value::as_str).and_then(|at| at.rsplit_once(':'))
        && let Ok(line) = line.parse()
    {
        let path = json!(path);
        arguments.insert("path".to_owned(), path);
        set_line(arguments, "start_line", Some(line));
    }
    // `-1` is the last line.
    if arguments.get("end_line").and_then(number).is_some_and(|end| end < 0) {
        arguments.remove("end_line");
    }
    if arguments.get("start_line").and_then(number).is_some_and(|start| start < 0) {
        return Err(NotUnderstood(
            "lines are counted from 1: read_file(path=…, start_line=1); for the last ones, run_command(command=\"tail -n 20 FILE\")"
                .to_owned(),
        ));
    }
    let offset = take(arguments, &["offset"]).as_ref().and_then(number);
    let limit =
        take(arguments, &["limit", "num_lines", "line_count", "head", "max_lines"]).as_ref().and_then(number);
    if offset.is_some() || limit.is_some() {
        let given = ["start_line", "start", "from_line", "line_number"];
        let given = given.iter().find_map(|name| arguments.get(*name).and_then(number));
        let start = offset.or(given).unwrap_or(1).max(1);
        set_line(arguments, "start_line", offset.map(|_| start));
        set_line(arguments, "end_line", limit.filter(|limit| *limit > 0).map(|limit| start + limit - 1));
    }
    if let Some(Value::Array(paths)) = arguments.get("files").or(arguments.get("paths")).cloned() {
        arguments.remove("files");
        arguments.insert("paths".to_owned(), Value::Array(paths));
        return bulk_read(arguments);
    }
    for remark in ["mode", "start_line_number_base_zero", "type", "indentation"] {
        arguments.remove(remark);
    }
    Ok(None)
}

/// Text of a file, which may be given as JSON, with the modes that files are opened in.
pub(super) fn written(arguments: &mut Arguments) {
    if let Some(mode) = arguments.get_mut("mode") {
        match mode.as_str() {
            Some("w" | "wt" | "write" | "create" | "rewrite") => *mode = json!("overwrite"),
            Some("a" | "at") => *mode = json!("append"),
            _ => {}
        }
    }
    if let Some(content @ (Value::Object(_) | Value::Array(_))) = arguments.get_mut("content")
        && let Ok(text) = serde_json::to_string_pretty(content)
    {
        *content = json!(text + "\n");
    }
}

/// Text that goes to the end of a file.
pub(super) fn appended(arguments: &mut Arguments) {
    arguments.insert("mode".to_owned(), json!("append"));
}

/// Sets a line unless it is given already; a number below 1 means no limit.
fn set_line(arguments: &mut Arguments, name: &str, line: Option<i64>) {
    if let Some(line) = line.filter(|line| *line > 0) {
        arguments.entry(name).or_insert(json!(line));
    }
}

/// Several files at once: understood if it is one, else answered with the calls to make.
pub(super) fn bulk_read(arguments: &mut Arguments) -> Changed {
    let given = match take(arguments, &["paths", "files", "file_paths", "include", "path"]) {
        Some(Value::Array(paths)) => paths,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let name = |path: &Value| path.as_str().or_else(|| path.get("path")?.as_str()).map(str::to_owned);
    let paths: Vec<String> = given.iter().filter_map(name).collect();
    match paths.as_slice() {
        [path] => {
            arguments.insert("path".to_owned(), json!(path));
            if let Some(range) = given.first().and_then(|file| file["line_ranges"].get(0)) {
                let text = range.as_str().unwrap_or_default();
                let ends = text
                    .split_once('-')
                    .map(|(start, end)| (start.trim().parse().ok(), end.trim().parse().ok()));
                let (start, end) =
                    ends.unwrap_or_else(|| (range.get(0).and_then(number), range.get(1).and_then(number)));
                set_line(arguments, "start_line", start);
                set_line(arguments, "end_line", end);
            }
            Ok(None)
        }
        several => {
            let calls: Vec<String> =
                several.iter().take(5).map(|path| format!("read_file(path={path:?})")).collect();
            let calls = if calls.is_empty() { "read_file(path=…)".to_owned() } else { calls.join(", ") };
            Err(NotUnderstood(format!("make one call for each file, all in one turn: {calls}")))
        }
    }
}

/// Edits in a list, whose parts have names of their own, and their number.
pub(super) fn many_edits(arguments: &mut Arguments) -> Changed {
    if let Some(count) = take(arguments, &["expected_replacements"]).as_ref().and_then(number)
        && count > 1
    {
        arguments.insert("replace_all".to_owned(), json!(true));
    }
    for name in ["start_line", "end_line", "target_lint_error_ids", "code_edit"] {
        if let Some(value) = arguments.remove(name)
            && name == "code_edit"
        {
            let content = value.as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            return Err(NotUnderstood(format!(
                "write the change itself: edit_file(path=…, old_str=…, new_str={content:?})"
            )));
        }
    }
    let has_old = ["old_str", "old_string", "old_text", "search", "old", "find"]
        .iter()
        .any(|name| arguments.contains_key(*name));
    if !has_old && ["diff", "patch"].iter().any(|name| arguments.contains_key(*name)) {
        return search_blocks(arguments);
    }
    if !has_old
        && !arguments.contains_key("edits")
        && ["content", "contents", "file_text"].iter().any(|name| arguments.contains_key(*name))
    {
        return Err(NotUnderstood(
            "a whole file is written with write_file(path=…, content=…), a part of it with edit_file(path=…, old_str=…, new_str=…)".to_owned(),
        ));
    }
    let Some(edits) = take(arguments, &["edits", "replacements", "changes"]) else { return Ok(None) };
    let Value::Array(edits) = parsed(edits) else {
        return Err(NotUnderstood(
            "edits has to be a list: edit_file(path=…, old_str=…, new_str=…)".to_owned(),
        ));
    };
    let mut own = Vec::new();
    for edit in edits {
        let Value::Object(mut edit) = parsed(edit) else {
            return Err(NotUnderstood(
                "an edit is an object: edit_file(path=…, old_str=…, new_str=…)".to_owned(),
            ));
        };
        let old =
            take(&mut edit, &["old_str", "old_string", "oldString", "oldText", "old_text", "search", "find"]);
        let new = take(&mut edit, &["new_str", "new_string", "newString", "newText", "new_text", "replace"]);
        let all = take(&mut edit, &["replace_all", "replaceAll"]).as_ref().is_some_and(is_true);
        if let Some(path) = take(&mut edit, &["path", "filePath", "file_path"]) {
            match arguments.get("path").or(arguments.get("file_path")) {
                None => {
                    arguments.insert("path".to_owned(), path);
                }
                Some(other) if *other != path => {
                    return Err(NotUnderstood(format!(
                        "make one call for each file: edit_file(path={path}, old_str=…, new_str=…)"
                    )));
                }
                Some(_) => {}
            }
        }
        let (Some(old), Some(new)) = (old, new) else {
            return Err(NotUnderstood(
                "an edit needs old_str and new_str: edit_file(path=…, old_str=…, new_str=…)".to_owned(),
            ));
        };
        own.push(json!({"old_str": old, "new_str": new, "replace_all": all}));
    }
    arguments.insert("edits".to_owned(), Value::Array(own));
    Ok(None)
}

/// Returns a value that was given as JSON text.
pub(super) fn parsed(value: Value) -> Value {
    match &value {
        Value::String(text) => serde_json::from_slice(text.as_bytes()).unwrap_or(value),
        _ => value,
    }
}

/// SEARCH and REPLACE blocks in place of a patch.
pub(super) fn search_blocks(arguments: &mut Arguments) -> Changed {
    patch_as_command(arguments);
    let names = ["diff", "patch", "input", "patch_text", "content"];
    let Some(name) = names.into_iter().find(|name| {
        arguments.get(*name).and_then(Value::as_str).is_some_and(patch::search_replace::is_meant)
    }) else {
        let is_edit =
            ["old_str", "old_string", "edits", "search"].iter().any(|name| arguments.contains_key(*name));
        return if is_edit {
            many_edits(arguments).map(|_| Some("edit_file"))
        } else {
            Ok(Some("apply_patch"))
        };
    };
    let diff = arguments.remove(name).unwrap_or_default();
    let edits = patch::search_replace::parse(diff.as_str().unwrap_or_default());
    let Some(edits) = edits.filter(|edits| !edits.is_empty()) else {
        return Err(NotUnderstood("a block is `<<<<<<< SEARCH`, the old lines, `=======`, the new ones, `>>>>>>> REPLACE`; or call edit_file(path=…, old_str=…, new_str=…)".to_owned()));
    };
    let edits = edits.into_iter().map(|(old, new)| json!({"old_str": old, "new_str": new}));
    arguments.insert("edits".to_owned(), Value::Array(edits.collect()));
    Ok(Some("edit_file"))
}

/// A patch that is given as the command line of a program: `["apply_patch", "*** Begin Patch …"]`.
fn patch_as_command(arguments: &mut Arguments) {
    if arguments.contains_key("patch") {
        return;
    }
    let Some(command) = take(arguments, &["command", "cmd", "args", "arguments"]).map(parsed) else { return };
    let patch = match &command {
        Value::Array(words) => words.last().and_then(text),
        other => text(other),
    };
    if let Some(patch) = patch {
        arguments.insert("patch".to_owned(), json!(patch));
    }
}

/// One tool for several kinds of work, distinguished by `command`.
pub(super) fn editor(arguments: &mut Arguments) -> Changed {
    let command = take(arguments, &["command", "cmd", "action"]);
    let command = command.as_ref().and_then(text).unwrap_or_default().to_owned();
    let keep = |arguments: &mut Arguments, names: &[&str]| {
        arguments.retain(|name, value| names.contains(&name.as_str()) && !value.is_null());
    };
    match command.as_str() {
        "view" | "read" | "open" => {
            keep(arguments, &["path", "file_path", "view_range"]);
            line_range(arguments)?;
            Ok(Some("read_file"))
        }
        "create" | "write" => {
            keep(arguments, &["path", "file_path", "file_text", "content"]);
            Ok(Some("write_file"))
        }
        "str_replace" | "replace" => {
            // Their tool deletes the text without it.
            if !arguments.contains_key("new_string") {
                arguments.entry("new_str").or_insert(json!(""));
            }
            keep(
                arguments,
                &["path", "file_path", "old_str", "new_str", "replace_all", "old_string", "new_string"],
            );
            Ok(Some("edit_file"))
        }
        "insert" => insertion(arguments),
        "edit_file" | "diff" => search_blocks(arguments),
        "undo_edit" => {
            Err(NotUnderstood("undo it by another edit: edit_file(path=…, old_str=…, new_str=…)".to_owned()))
        }
        "" if arguments.contains_key("old_str") => many_edits(arguments),
        other => Err(NotUnderstood(format!(
            "unknown command {other:?}; call read_file(path=…), write_file(path=…, content=…) or edit_file(path=…, old_str=…, new_str=…)"
        ))),
    }
}

/// Text inserted before a line, or at the end for line 0.
pub(super) fn insertion_before(arguments: &mut Arguments) -> Changed {
    match take(arguments, &["line", "line_number"]).as_ref().and_then(number) {
        Some(0) => {
            appended(arguments);
            Ok(Some("write_file"))
        }
        line => {
            arguments.extend(line.map(|line| ("insert_line".to_owned(), json!(line - 1))));
            insertion(arguments)
        }
    }
}

/// Text inserted after a line, which is a patch without context.
pub(super) fn insertion(arguments: &mut Arguments) -> Changed {
    let line =
        take(arguments, &["insert_line", "line", "line_number", "after_line"]).as_ref().and_then(number);
    let inserted = take(arguments, &["insert_text", "new_str", "content", "text"]);
    let path = take(arguments, &["path", "file_path"]);
    let (Some(line), Some(inserted), Some(path)) = (line.filter(|line| *line >= 0), inserted, path) else {
        return Err(NotUnderstood("say where: edit_file(path=…, old_str=\"the line before\", new_str=\"the line before\\nthe new lines\")".to_owned()));
    };
    let inserted = inserted.as_str().unwrap_or_default();
    let lines: Vec<&str> = inserted.strip_suffix('\n').unwrap_or(inserted).split('\n').collect();
    let mut patch = format!("@@ -{line},0 +{},{} @@\n", line + 1, lines.len());
    patch.extend(lines.iter().map(|line| format!("+{line}\n")));
    *arguments = Arguments::new();
    arguments.insert("path".to_owned(), path);
    arguments.insert("patch".to_owned(), json!(patch));
    Ok(Some("apply_patch"))
}
