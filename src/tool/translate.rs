//! Calls of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::door::NotUnderstood;
use super::names::Arguments;

/// Result of a change: the tool, if it is another than the table says.
type Changed = Result<Option<&'static str>, NotUnderstood>;

/// Takes the first of several arguments out of a call.
fn take(arguments: &mut Arguments, names: &[&str]) -> Option<Value> {
    names.iter().filter_map(|name| arguments.remove(*name)).find(|value| !value.is_null())
}

/// Returns a number, which may be written as text.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number.round() as i64)).or_else(|| value.as_str()?.trim().parse().ok())
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str() == Some("true"))
}

/// Lines by offset and number, or as a pair.
pub(super) fn line_range(arguments: &mut Arguments) -> Changed {
    if let Some(Value::Array(pair)) = take(arguments, &["view_range", "read_range", "line_range", "range"]) {
        let mut ends = pair.iter().map(number);
        set_line(arguments, "start_line", ends.next().flatten());
        set_line(arguments, "end_line", ends.next().flatten());
    }
    let offset = take(arguments, &["offset"]).as_ref().and_then(number);
    let limit = take(arguments, &["limit", "num_lines", "line_count", "head", "max_lines"]).as_ref().and_then(number);
    if offset.is_some() || limit.is_some() {
        let start = offset.unwrap_or(1).max(1);
        set_line(arguments, "start_line", offset.map(|_| start));
        set_line(arguments, "end_line", limit.filter(|limit| *limit > 0).map(|limit| start + limit - 1));
    }
    if let Some(Value::Array(paths)) = arguments.get("files").or(arguments.get("paths")).cloned() {
        arguments.insert("paths".to_owned(), Value::Array(paths));
        return bulk_read(arguments);
    }
    for remark in ["mode", "start_line_number_base_zero", "type", "indentation"] {
        arguments.remove(remark);
    }
    Ok(None)
}

/// Sets a line unless it is given already; a number below 1 means no limit.
fn set_line(arguments: &mut Arguments, name: &str, line: Option<i64>) {
    if let Some(line) = line.filter(|line| *line > 0) {
        arguments.entry(name).or_insert(json!(line));
    }
}

/// Several files at once: understood if it is one, else answered with the calls to make.
pub(super) fn bulk_read(arguments: &mut Arguments) -> Changed {
    let paths = match take(arguments, &["paths", "files", "file_paths", "include", "path"]) {
        Some(Value::Array(paths)) => paths,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let name = |path: &Value| path.as_str().or_else(|| path.get("path")?.as_str()).map(str::to_owned);
    let paths: Vec<String> = paths.iter().filter_map(name).collect();
    match paths.as_slice() {
        [path] => {
            arguments.insert("path".to_owned(), json!(path));
            Ok(None)
        }
        several => {
            let calls: Vec<String> = several.iter().take(5).map(|path| format!("read_file(path={path:?})")).collect();
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
            return Err(NotUnderstood(format!("write the change itself: edit_file(path=…, old_str=…, new_str={content:?})")));
        }
    }
    let Some(edits) = take(arguments, &["edits", "replacements", "changes"]) else { return Ok(None) };
    let Value::Array(edits) = parsed(edits) else {
        return Err(NotUnderstood("edits has to be a list: edit_file(path=…, old_str=…, new_str=…)".to_owned()));
    };
    let mut own = Vec::new();
    for edit in edits {
        let Value::Object(mut edit) = parsed(edit) else {
            return Err(NotUnderstood("an edit is an object: edit_file(path=…, old_str=…, new_str=…)".to_owned()));
        };
        let old = take(&mut edit, &["old_str", "old_string", "oldString", "oldText", "old_text", "search", "find"]);
        let new = take(&mut edit, &["new_str", "new_string", "newString", "newText", "new_text", "replace"]);
        let all = take(&mut edit, &["replace_all", "replaceAll"]).as_ref().is_some_and(is_true);
        if let Some(path) = take(&mut edit, &["path", "filePath", "file_path"]) {
            match arguments.get("path").or(arguments.get("file_path")) {
                None => {
                    arguments.insert("path".to_owned(), path);
                }
                Some(other) if *other != path => {
                    return Err(NotUnderstood(format!("make one call for each file: edit_file(path={path}, old_str=…, new_str=…)")));
                }
                Some(_) => {}
            }
        }
        let (Some(old), Some(new)) = (old, new) else {
            return Err(NotUnderstood("an edit needs old_str and new_str: edit_file(path=…, old_str=…, new_str=…)".to_owned()));
        };
        own.push(json!({"old_str": old, "new_str": new, "replace_all": all}));
    }
    arguments.insert("edits".to_owned(), Value::Array(own));
    Ok(None)
}

/// Returns a value that was given as JSON text.
fn parsed(value: Value) -> Value {
    match &value {
        Value::String(text) => serde_json::from_slice(text.as_bytes()).unwrap_or(value),
        _ => value,
    }
}

/// SEARCH and REPLACE blocks in place of a patch.
pub(super) fn search_blocks(arguments: &mut Arguments) -> Changed {
    let names = ["diff", "patch", "input", "patch_text", "content"];
    let Some(name) = names.into_iter().find(|name| arguments.get(*name).is_some_and(|diff| diff.as_str().is_some_and(|diff| diff.contains("<<<<<<<"))))
    else {
        let is_edit = ["old_str", "old_string", "edits", "search"].iter().any(|name| arguments.contains_key(*name));
        return if is_edit { many_edits(arguments).map(|_| Some("edit_file")) } else { Ok(Some("apply_patch")) };
    };
    let diff = arguments.remove(name).unwrap_or_default();
    let edits = crate::patch::search_replace::parse(diff.as_str().unwrap_or_default());
    let Some(edits) = edits.filter(|edits| !edits.is_empty()) else {
        return Err(NotUnderstood("a block is `<<<<<<< SEARCH`, the old lines, `=======`, the new ones, `>>>>>>> REPLACE`; or call edit_file(path=…, old_str=…, new_str=…)".to_owned()));
    };
    let edits = edits.into_iter().map(|(old, new)| json!({"old_str": old, "new_str": new}));
    arguments.insert("edits".to_owned(), Value::Array(edits.collect()));
    Ok(Some("edit_file"))
}

/// One tool for several kinds of work, told apart by `command`.
pub(super) fn editor(arguments: &mut Arguments) -> Changed {
    let command = take(arguments, &["command", "cmd", "action"]);
    let command = command.as_ref().and_then(text).unwrap_or_default().to_owned();
    let keep = |arguments: &mut Arguments, names: &[&str]| arguments.retain(|name, value| names.contains(&name.as_str()) && !value.is_null());
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
            arguments.entry("new_str").or_insert(json!(""));
            keep(arguments, &["path", "file_path", "old_str", "new_str", "replace_all", "old_string", "new_string"]);
            Ok(Some("edit_file"))
        }
        "insert" => insertion(arguments),
        "edit_file" | "diff" => search_blocks(arguments),
        "undo_edit" => Err(NotUnderstood("undo it by another edit: edit_file(path=…, old_str=…, new_str=…)".to_owned())),
        "" if arguments.contains_key("old_str") => many_edits(arguments),
        other => Err(NotUnderstood(format!("unknown command {other:?}; call read_file(path=…), write_file(path=…, content=…) or edit_file(path=…, old_str=…, new_str=…)"))),
    }
}

/// Text inserted after a line, which is a patch without context.
pub(super) fn insertion(arguments: &mut Arguments) -> Changed {
    let line = take(arguments, &["insert_line", "line", "line_number", "after_line"]).as_ref().and_then(number);
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

/// Folders and files by name; a search term is part of a name.
pub(super) fn directory_search(arguments: &mut Arguments) -> Changed {
    for remark in ["ignore", "depth", "max_depth", "case_sensitive", "exclude_patterns", "limit", "offset", "type", "show_hidden", "max_results", "extensions"] {
        arguments.remove(remark);
    }
    let term = take(arguments, &["query", "file_name", "name", "search_term"]);
    if let Some(term) = term.as_ref().and_then(text) {
        let is_glob = term.contains(['*', '?', '[', '{']);
        let pattern = match term.rsplit_once('/') {
            _ if is_glob => term.to_owned(),
            Some((above, name)) => format!("**/{above}/*{name}*"),
            None => format!("*{term}*"),
        };
        arguments.entry("pattern").or_insert(json!(pattern));
    }
    Ok(None)
}

/// Search with options as ripgrep has them.
pub(super) fn pattern_search(arguments: &mut Arguments) -> Changed {
    let flag = |arguments: &mut Arguments, names: &[&str]| take(arguments, names).as_ref().map(is_true);
    if flag(arguments, &["-i", "ignore_case", "case_insensitive", "i"]) == Some(true) {
        arguments.insert("case_sensitive".to_owned(), json!(false));
    }
    if flag(arguments, &["is_regexp", "is_regex", "regexp_enabled"]) == Some(false) {
        arguments.insert("literal".to_owned(), json!(true));
    }
    let context = ["-C", "-A", "-B", "before_context", "after_context", "context_before", "context_after"];
    let around = context.iter().filter_map(|name| number(&arguments.remove(*name)?)).max();
    if let Some(lines) = around.filter(|lines| *lines > 0) {
        arguments.entry("context_lines").or_insert(json!(lines));
    }
    if let Some(mode) = take(arguments, &["output_mode", "output"]) {
        let show = if matches!(mode.as_str(), Some("files_with_matches" | "count" | "files" | "counts")) { "files" } else { "lines" };
        arguments.insert("show".to_owned(), json!(show));
    }
    let excluded = take(arguments, &["exclude_pattern", "exclude", "excludes"]);
    let kind = take(arguments, &["type", "file_type", "language"]);
    let included = take(arguments, &["file_pattern", "include", "glob", "include_pattern", "includes"]);
    let listed = |value: &Value| match value {
        Value::Array(globs) => globs.iter().filter_map(text).collect::<Vec<_>>().join(","),
        other => text(other).unwrap_or_default().to_owned(),
    };
    let mut globs: Vec<String> = included.iter().map(listed).filter(|globs| !globs.is_empty()).collect();
    globs.extend(kind.as_ref().and_then(text).map(|kind| file_type(kind)));
    globs.extend(excluded.iter().map(listed).filter(|glob| !glob.is_empty()).map(|glob| format!("!{glob}")));
    if !globs.is_empty() {
        arguments.insert("file_pattern".to_owned(), json!(globs.join(",")));
    }
    for remark in ["-n", "multiline", "offset", "sort", "include_ignored_files", "max_count_per_file"] {
        arguments.remove(remark);
    }
    Ok(None)
}

/// Returns the glob of a file type, as ripgrep names them.
fn file_type(kind: &str) -> String {
    let extensions = match kind {
        "py" | "python" => "py,pyi",
        "rust" | "rs" => "rs",
        "js" | "javascript" => "js,jsx,mjs,cjs",
        "ts" | "typescript" => "ts,tsx,mts,cts",
        "cpp" => "cpp,cc,cxx,hpp,hh,h",
        "c" => "c,h",
        "md" | "markdown" => "md",
        "yaml" | "yml" => "yaml,yml",
        "html" => "html,htm",
        "ruby" | "rb" => "rb",
        "sh" => "sh,bash",
        other => other,
    };
    if extensions.contains(',') { format!("*.{{{extensions}}}") } else { format!("*.{extensions}") }
}

/// A question in words, for which there is no index.
pub(super) fn question(arguments: &mut Arguments) -> Changed {
    let query = take(arguments, &["query", "question", "pattern"]);
    let query = query.as_ref().and_then(text).unwrap_or_default();
    let word = query.split(|c: char| !c.is_alphanumeric() && c != '_').max_by_key(|word| word.len()).unwrap_or("word");
    Err(NotUnderstood(format!("there is no search by meaning; search for a word or a pattern: grep(pattern={word:?})")))
}

/// Commands as lists, with times in milliseconds.
pub(super) fn shell(arguments: &mut Arguments) -> Changed {
    let command = take(arguments, &["command", "cmd", "command_line", "script", "commands"]);
    let line = match command.map(parsed_list) {
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                ["bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh", flag, line] if flag.starts_with('-') && flag.ends_with('c') => Some((*line).to_owned()),
                words => shlex::try_join(words.iter().copied()).ok(),
            }
        }
        Some(other) => other.as_str().map(str::to_owned),
        None => None,
    };
    if let Some(line) = line {
        arguments.insert("command".to_owned(), json!(line));
    }
    if let Some(ms) = take(arguments, &["timeout_ms", "timeout_millis", "timeoutMs"]).as_ref().and_then(number) {
        arguments.insert("timeout".to_owned(), json!((ms / 1_000).clamp(1, 600)));
    }
    Ok(None)
}

/// Returns a list that was given as JSON text.
fn parsed_list(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with("[\"") => parsed(value),
        _ => value,
    }
}

/// Sub-agents of other kinds.
pub(super) fn subagent(arguments: &mut Arguments) -> Changed {
    let kind = take(arguments, &["agent_type", "subagent_type", "agent", "mode", "agent_name"]);
    let kind = kind.as_ref().and_then(text).unwrap_or_default().to_lowercase();
    let own = ["test", "review"].into_iter().find(|own| kind.contains(own)).unwrap_or("explore");
    arguments.insert("agent_type".to_owned(), json!(own));
    if let (Some(task), false) = (take(arguments, &["prompt", "instructions", "message"]), arguments.contains_key("task")) {
        arguments.insert("task".to_owned(), task);
    }
    if !arguments.contains_key("task") && let Some(task) = arguments.remove("description") {
        arguments.insert("task".to_owned(), task);
    }
    Ok(None)
}

/// What goes with an address or a query and is not needed.
pub(super) fn noise(arguments: &mut Arguments) -> Changed {
    let prompt = take(arguments, &["prompt"]);
    if let (Some(prompt), false) = (prompt.as_ref().and_then(text), arguments.contains_key("url") || arguments.contains_key("query")) {
        let address = prompt.split_whitespace().find(|word| word.starts_with("http"));
        let address = address.map(|word| word.trim_end_matches(['.', ',', ')', '"', '\'']));
        arguments.extend(address.map(|address| ("url".to_owned(), json!(address))));
    }
    for name in ["format", "max_length", "start_index", "raw", "allowed_domains", "blocked_domains", "num_results", "timeout", "max_results"] {
        arguments.remove(name);
    }
    Ok(None)
}
