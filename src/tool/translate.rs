//! Calls of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::argument_names::names_of;
use super::argument_values::{number, take, take_number, text};
use super::arguments::Arguments;
use super::fitting::plain_names;
use super::line_ranges::{Ends, ranges};
use super::path_forms::{LinesBehind, lines_behind};
use super::resolved_call::UnresolvedCall;
pub(super) use super::restraint::is_yes as is_true;

/// Result of a change: the tool, if it is another than the table says.
pub(super) type Changed = Result<Option<&'static str>, UnresolvedCall>;

/// Names of a path that is read.
const PATHS: [&str; 5] = ["path", "file_path", "file", "filename", "input"];
/// Names of a range of lines, or several.
const RANGES: [&str; 7] =
    ["view_range", "read_range", "line_range", "range", "lines", "line_ranges", "ranges"];

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
    if let Some(range) = take(arguments, &RANGES) {
        match ranges(&range).as_deref() {
            _ if range.is_number() => {
                arguments.entry("limit").or_insert(range);
            }
            Some([]) => {}
            Some([(start, end)]) => {
                // What is refused below must not be left out.
                arguments.extend(
                    start.filter(|start| *start < 0).map(|start| ("start_line".to_owned(), json!(start))),
                );
                set_line(arguments, "start_line", *start);
                set_line(arguments, "end_line", *end);
            }
            several => return Err(one_call_each("range", &ranges_of(path_in(arguments), several))),
        }
    }
    for own in ["start_line", "end_line"] {
        let from_zero = take_number(arguments, &[&format!("{own}_number_base_zero")]);
        set_line(arguments, own, from_zero.map(|line| line + 1));
    }
    for name in PATHS {
        let given = arguments.get(name).and_then(text).unwrap_or_default();
        if let Some(LinesBehind { path, start, end }) = lines_behind(given) {
            let path = json!(path);
            arguments.insert(name.to_owned(), path);
            set_line(arguments, "start_line", Some(start));
            set_line(arguments, "end_line", end);
        }
    }
    // Who counts from 0 gets the first line too.
    for own in ["start_line", "start"] {
        if arguments.get(own).and_then(number) == Some(0) {
            arguments.insert(own.to_owned(), json!(1));
        }
    }
    // `-1` is the last line.
    if arguments.get("end_line").and_then(number).is_some_and(|end| end < 0) {
        arguments.remove("end_line");
    }
    let is_below = |name: &str| arguments.get(name).and_then(number).is_some_and(|line| line < 0);
    if is_below("start_line") || is_below("offset") {
        return Err(UnresolvedCall(
            "lines are counted from 1: read_file(path=…, start_line=1); for the last ones, run_command(command=\"tail -n 20 FILE\")"
                .to_owned(),
        ));
    }
    let offset = take_number(arguments, &["offset"]);
    let limit =
        take_number(arguments, &["limit", "num_lines", "line_count", "head", "max_lines", "n", "count"]);
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
    for remark in ["mode", "type", "indentation"] {
        arguments.remove(remark);
    }
    Ok(None)
}

/// Returns a text given as a list of its lines, with or without their ends.
pub(super) fn joined_lines(lines: &[Value]) -> Option<String> {
    let ended = |line: &Value| {
        let line = line.as_str()?;
        Some(if line.ends_with('\n') { line.to_owned() } else { format!("{line}\n") })
    };
    lines.iter().map(ended).collect()
}

/// Returns whether a text is a JSON object or array.
fn is_document(text: &str) -> bool {
    matches!(serde_json::from_slice(text.as_bytes()), Ok(Value::Object(_) | Value::Array(_)))
}

/// Takes the text of a file, which may be given as JSON, with the modes that files are opened in.
pub(super) fn written(arguments: &mut Arguments) {
    if let Some(append) = arguments.remove("append")
        && is_true(&append)
    {
        arguments.entry("mode").or_insert(json!("append"));
    }
    if let Some(mode) = arguments.get_mut("mode") {
        match mode.as_str() {
            Some("w" | "wt" | "write" | "rewrite" | "replace") => *mode = json!("overwrite"),
            Some("a" | "at") => *mode = json!("append"),
            Some("x" | "xt" | "create_new" | "new" | "exclusive") => *mode = json!("create"),
            _ => {}
        }
    }
    let mut content = take(arguments, &names_of("write_file", "content"));
    // Beside a content, they say that it is a part of the file; and lines that are no text are numbers of some.
    if content.is_none() {
        let is_text = |lines: &Value| match lines {
            Value::Array(lines) => lines.iter().all(Value::is_string),
            other => other.as_str().is_some_and(|lines| lines.contains('\n')),
        };
        let names: &[&str] =
            if arguments.get("lines").is_some_and(is_text) { &["lines"] } else { &["new_str", "new_string"] };
        content = take(arguments, names);
    }
    let Some(content) = content else { return };
    let paths = names_of("*", "path");
    let is_json = paths
        .iter()
        .filter_map(|name| arguments.get(*name).and_then(text))
        .any(|path| ["json", "ipynb"].iter().any(|ending| path.ends_with(ending)));
    let lines = content.as_array().and_then(|lines| joined_lines(lines));
    let content = match (lines.filter(|lines| !is_json || is_document(lines)), &content) {
        (Some(lines), _) => json!(lines),
        (None, Value::Object(_) | Value::Array(_)) if is_json => {
            serde_json::to_string_pretty(&content).map_or(content, |text| json!(text + "\n"))
        }
        (None, _) => content,
    };
    arguments.insert("content".to_owned(), content);
}

/// Makes text go to the end of a file.
pub(super) fn appended(arguments: &mut Arguments) {
    written(arguments);
    arguments.insert("mode".to_owned(), json!("append"));
}

/// Sets a line unless it is given already; a number below 1 means no limit.
fn set_line(arguments: &mut Arguments, name: &str, line: Option<i64>) {
    if let Some(line) = line.filter(|line| *line > 0) {
        arguments.entry(name).or_insert(json!(line));
    }
}

/// Returns whether a path stands for several files; names with braces alone, as templates have, are names.
fn is_glob(path: &str) -> bool {
    path.contains(['*', '?']) || path.contains('{') && path.contains(',')
}

/// Several files at once: understood if it is one, else answered with the calls to make.
pub(super) fn bulk_read(arguments: &mut Arguments) -> Changed {
    let given = ["paths", "files", "file_paths", "include", "path"]
        .iter()
        .filter_map(|name| take(arguments, &[name]));
    let given = given.flat_map(|given| match given {
        Value::Array(paths) => paths,
        one => vec![one],
    });
    let given: Vec<Value> = given.collect();
    let globs: Vec<&str> = given.iter().filter_map(text).filter(|path| is_glob(path)).collect();
    if !globs.is_empty() {
        return Err(UnresolvedCall(format!(
            "read_file takes the name of one file; to find the names of those that match, call list_files(pattern={:?})",
            globs.join(",")
        )));
    }
    match given.as_slice() {
        [Value::Object(file)] => {
            arguments.extend(plain_names(file.clone()));
            line_range(arguments)
        }
        [path @ Value::String(_)] => {
            arguments.insert("path".to_owned(), path.clone());
            Ok(None)
        }
        several => {
            let calls: Vec<String> = several.iter().flat_map(calls_for).collect();
            let calls = if calls.is_empty() { ranges_of("…", None) } else { calls };
            Err(one_call_each("file", &calls))
        }
    }
}

/// Returns the calls that read what is asked for of one file of several.
fn calls_for(file: &Value) -> Vec<String> {
    let of = |names: &[&str]| names.iter().find_map(|name| file.get(*name)).cloned();
    let path = file.as_str().map(str::to_owned).or_else(|| Some(text(&of(&PATHS)?)?.to_owned()));
    let asked = of(&RANGES).or_else(|| file.is_object().then(|| file.clone()));
    let asked = asked.as_ref().and_then(ranges).filter(|asked| !asked.is_empty());
    let asked = asked.unwrap_or_else(|| vec![(None, None)]);
    path.map(|path| ranges_of(&path, Some(&asked))).unwrap_or_default()
}

/// Returns a call for each range of a file.
fn ranges_of(path: &str, ranges: Option<&[Ends]>) -> Vec<String> {
    let path = if path == "…" { path.to_owned() } else { format!("{path:?}") };
    let Some(ranges) = ranges else {
        return vec![format!("read_file(path={path}, start_line=…, end_line=…)")];
    };
    let given = |name: &str, line: Option<i64>| {
        line.filter(|line| *line > 0).map(|line| format!(", {name}={line}")).unwrap_or_default()
    };
    let call = |(start, end): &Ends| {
        format!("read_file(path={path}{}{})", given("start_line", *start), given("end_line", *end))
    };
    ranges.iter().map(call).collect()
}

/// Refuses a call that is several.
fn one_call_each(what: &str, calls: &[String]) -> UnresolvedCall {
    const MAX_CALLS: usize = 10;
    let more = if calls.len() > MAX_CALLS { ", …" } else { "" };
    let calls = calls.iter().take(MAX_CALLS).cloned().collect::<Vec<_>>().join(", ");
    UnresolvedCall(format!("make one call for each {what}, all in one turn: {calls}{more}"))
}

/// Returns the path that a call gives.
fn path_in(arguments: &Arguments) -> &str {
    PATHS.iter().find_map(|name| arguments.get(*name).and_then(text)).unwrap_or("…")
}

/// Takes a new name as one in the folder of the file.
pub(super) fn renamed(arguments: &mut Arguments) {
    let name = take(arguments, &["new_name", "new_filename", "new_file_name", "new_basename"]);
    let Some(name) = name.as_ref().and_then(text) else { return };
    let from = ["path", "from", "file_path", "old_path", "old_name", "source", "src", "file", "source_path"];
    let from = from.iter().find_map(|from| arguments.get(*from).and_then(text)).unwrap_or_default();
    let to = match from.trim_end_matches('/').rsplit_once('/') {
        Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    };
    arguments.entry("to").or_insert(json!(to));
}
