//! Edits of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::argument_names::{REMARKS, names_of};
use super::argument_values::{number, parsed, take, take_number, text};
use super::arguments::Arguments;
use super::fitting::plain_names;
use super::line_ranges::ranges;
use super::resolved_call::UnresolvedCall;
use super::translate::{Changed, appended, is_true, joined_lines, line_range, written};
use super::translate_blocks::search_blocks;
use super::wrapped::check_names;

/// Returns the tool for edits in a list, whose parts have names of their own, and gives them ours.
pub(super) fn many_edits(arguments: &mut Arguments) -> Changed {
    if let Some(count) = take_number(arguments, &names_of("edit_file", "expect_count")) {
        arguments.insert("expect_count".to_owned(), json!(count));
        if count > 1 {
            arguments.insert("replace_all".to_owned(), json!(true));
        }
    }
    lines_of(arguments);
    arguments.remove("target_lint_error_ids");
    if arguments.contains_key("code_edit") {
        return Err(UnresolvedCall(format!(
            "nothing fills in what is left out; give the lines that change, as they are and as they will be: {EDIT}"
        )));
    }
    let has = |arguments: &Arguments, names: &[&str]| names.iter().any(|name| arguments.contains_key(*name));
    let has_old = has(arguments, &names_of("edit_file", "old_str"));
    let has_list = has(arguments, &names_of("edit_file", "edits"));
    if has_old
        && !arguments.contains_key("start_line")
        && let Some(line) = take_number(arguments, &["line", "line_number"])
    {
        arguments.insert("start_line".to_owned(), json!(line));
    }
    let has_blocks =
        |name: &str| arguments.get(name).and_then(Value::as_str).is_some_and(patch::search_replace::is_meant);
    if !has_old && ["content", "input"].into_iter().any(has_blocks) {
        return search_blocks(arguments);
    }
    if !has_old && !has_list {
        if has(arguments, &["start_line"]) {
            return line_edit(arguments);
        }
        if has(arguments, &["diff", "patch"]) {
            return search_blocks(arguments);
        }
        if has(arguments, &["content", "contents", "file_text"]) {
            return Err(UnresolvedCall(
                "a whole file is written with write_file(path=…, content=…), a part of it with edit_file(path=…, old_str=…, new_str=…)".to_owned(),
            ));
        }
    }
    let Some(edits) = take(arguments, &names_of("edit_file", "edits")) else { return Ok(None) };
    if let Some(json) = edits.as_str() {
        check_names(json)?;
    }
    let edits = match parsed(edits) {
        Value::Array(edits) => edits,
        one @ Value::Object(_) => vec![one],
        _ => return Err(UnresolvedCall(format!("edits has to be a list: {EDIT}"))),
    };
    let edits: Option<Vec<Arguments>> = edits
        .into_iter()
        .map(|edit| match parsed(edit) {
            Value::Object(edit) => Some(plain_names(edit)),
            _ => None,
        })
        .collect();
    match edits.ok_or_else(|| UnresolvedCall(format!("an edit is an object: {EDIT}")))? {
        mut one if one.len() == 1 => single(arguments, one.swap_remove(0)),
        several => {
            let own: Result<Vec<Value>, _> = several.into_iter().map(|edit| part(arguments, edit)).collect();
            arguments.insert("edits".to_owned(), Value::Array(own?));
            Ok(None)
        }
    }
}

/// The right call for an edit.
pub(super) const EDIT: &str = "edit_file(path=…, old_str=…, new_str=…)";

/// Makes an edit that stands alone in a list the edit of the call.
fn single(arguments: &mut Arguments, edit: Arguments) -> Changed {
    for (name, value) in edit {
        if arguments.get(&name).is_some_and(|other| *other != value) {
            return Err(UnresolvedCall(format!("the call and its edit differ in `{name}`: {EDIT}")));
        }
        arguments.insert(name, value);
    }
    many_edits(arguments)
}

/// Returns one of several edits in our form. What it says beyond that cannot be obeyed.
fn part(arguments: &mut Arguments, mut edit: Arguments) -> Result<Value, UnresolvedCall> {
    let mut taken = |own: &'static str| take(&mut edit, &names_of("edit_file", own));
    let (old, new, all) = (taken("old_str"), taken("new_str"), taken("replace_all"));
    let line = take_number(&mut edit, &["start_line", "line"]);
    let last = take_number(&mut edit, &["end_line"]);
    if let Some(path) = take(&mut edit, &["path", "file_path"]) {
        let known = arguments.get("path").or(arguments.get("file_path"));
        if known.is_some_and(|known| *known != path) {
            return Err(UnresolvedCall(format!(
                "make one call for each file: edit_file(path={path}, old_str=…, new_str=…)"
            )));
        }
        if known.is_none() {
            arguments.insert("path".to_owned(), path);
        }
    }
    let (Some(old), Some(new)) = (old, new) else {
        return Err(UnresolvedCall(format!("an edit needs old_str and new_str: {EDIT}")));
    };
    if let Some(name) = edit.keys().find(|name| !REMARKS.contains(&name.as_str())) {
        return Err(UnresolvedCall(format!(
            "one of several edits has no `{name}`, and nothing was done; make it a call of its own: {EDIT}"
        )));
    }
    let all = all.or_else(|| arguments.get("replace_all").cloned()).is_some_and(|all| is_true(&all));
    let mut own = json!({"old_str": old, "new_str": new, "replace_all": all});
    for (name, line) in [("start_line", line), ("end_line", last)] {
        if let Some(line) = line {
            own[name] = json!(line);
        }
    }
    Ok(own)
}

/// Gives the lines of an edit our names.
fn lines_of(arguments: &mut Arguments) {
    let names: [(&str, [&str; 5]); 2] = [
        ("start_line", ["start_line", "start", "line_start", "from_line", "startline"]),
        ("end_line", ["end_line", "end", "line_end", "to_line", "endline"]),
    ];
    for (own, foreign) in names {
        if let Some(line) = take_number(arguments, &foreign) {
            arguments.insert(own.to_owned(), json!(line));
        }
    }
    let range = ["line_range", "lines", "range"].iter().find_map(|name| {
        let range = ranges(arguments.get(*name)?)?;
        Some((*name, range))
    });
    if let Some((name, range)) = range
        && let [(Some(first), Some(last))] = range.as_slice()
        && !arguments.contains_key("start_line")
    {
        arguments.remove(name);
        arguments.insert("start_line".to_owned(), json!(first));
        arguments.insert("end_line".to_owned(), json!(last));
    }
    // So many lines from the first one.
    if let Some(first) = arguments.get("start_line").and_then(number)
        && !arguments.contains_key("end_line")
        && let Some(count) = take_number(arguments, &["num_lines", "count", "line_count"])
    {
        arguments.insert("end_line".to_owned(), json!(first + count - 1));
    }
}

/// Returns the tool that puts new text in place of whole lines.
pub(super) fn line_edit(arguments: &mut Arguments) -> Changed {
    lines_of(arguments);
    if !arguments.contains_key("start_line")
        && let Some(line) = take_number(arguments, &["line", "line_number"])
    {
        arguments.insert("start_line".to_owned(), json!(line));
    }
    let names = [
        "new_str",
        "new_string",
        "new_content",
        "content",
        "text",
        "new_text",
        "replacement",
        "code",
        "new_lines",
        "lines",
        "new_code",
    ];
    match take(arguments, &names) {
        Some(new) if arguments.contains_key("start_line") => {
            arguments.insert("new_str".to_owned(), new);
            Ok(Some("edit_file"))
        }
        _ => Err(UnresolvedCall(
            "say which lines, and what they become: edit_file(path=…, old_str=\"the lines as they are\", new_str=…)".to_owned(),
        )),
    }
}

/// Returns the tool that removes whole lines.
pub(super) fn lines_removed(arguments: &mut Arguments) -> Changed {
    arguments.insert("new_str".to_owned(), json!(""));
    line_edit(arguments)
}

/// Returns the tool that puts text before the first line of a file.
pub(super) fn prepended(arguments: &mut Arguments) -> Changed {
    arguments.insert("insert_line".to_owned(), json!(0));
    insertion(arguments)
}

/// Parameters of an editor, of which each of its commands has some.
const OF_EDITOR: [&str; 8] = [
    "file_text",
    "insert_line",
    "insert_text",
    "new_str",
    "new_string",
    "old_str",
    "old_string",
    "view_range",
];

/// Returns the tool for one of several kinds of work, distinguished by `command`.
pub(super) fn editor(arguments: &mut Arguments) -> Changed {
    let command = take(arguments, &["command", "cmd", "action"]);
    let command = command.as_ref().and_then(text).unwrap_or_default().to_owned();
    // Some models give all of them, whatever the command.
    let keep = |arguments: &mut Arguments, own: &[&str]| {
        arguments.retain(|name, _| own.contains(&name.as_str()) || !OF_EDITOR.contains(&name.as_str()));
    };
    match command.as_str() {
        "view" | "read" | "open" => {
            keep(arguments, &["view_range"]);
            line_range(arguments)?;
            Ok(Some("read_file"))
        }
        "create" | "write" => {
            keep(arguments, &["file_text"]);
            Ok(Some("write_file"))
        }
        "str_replace" | "replace" => {
            // Their tool deletes the text without it.
            if !arguments.contains_key("new_string") {
                arguments.entry("new_str").or_insert(json!(""));
            }
            keep(arguments, &["old_str", "new_str", "old_string", "new_string"]);
            many_edits(arguments).map(|tool| tool.or(Some("edit_file")))
        }
        "insert" => {
            keep(arguments, &["insert_line", "insert_text", "new_str"]);
            insertion(arguments)
        }
        "append" => {
            keep(arguments, &["new_str", "insert_text", "file_text"]);
            if let Some(added) = take(arguments, &["insert_text"]) {
                arguments.insert("new_str".to_owned(), added);
            }
            appended(arguments);
            Ok(Some("write_file"))
        }
        "edit_file" | "diff" => search_blocks(arguments),
        "undo_edit" => {
            Err(UnresolvedCall("undo it by another edit: edit_file(path=…, old_str=…, new_str=…)".to_owned()))
        }
        "" if arguments.contains_key("old_str") => many_edits(arguments),
        other => Err(UnresolvedCall(format!(
            "unknown command {other:?}; call read_file(path=…), write_file(path=…, content=…) or edit_file(path=…, old_str=…, new_str=…)"
        ))),
    }
}

/// Returns the tool that writes a file, or that for one of several kinds of work if the call names it.
pub(super) fn written_by_command(arguments: &mut Arguments) -> Changed {
    if arguments.contains_key("command") {
        return editor(arguments);
    }
    written(arguments);
    Ok(None)
}

/// Returns the tool that inserts text after a line.
pub(super) fn insertion_after(arguments: &mut Arguments) -> Changed {
    let line = take_number(arguments, &["line", "line_number"]);
    arguments.extend(line.map(|line| ("insert_line".to_owned(), json!(line))));
    insertion(arguments)
}

/// Returns the tool that inserts text before a line, or at the end for line 0.
pub(super) fn insertion_before(arguments: &mut Arguments) -> Changed {
    let names = ["line", "line_number"];
    if names.iter().find_map(|name| arguments.get(*name).and_then(number)) == Some(0) {
        arguments.retain(|name, _| !names.contains(&name.as_str()));
        appended(arguments);
        arguments.insert("mode".to_owned(), json!("lines"));
        return Ok(Some("write_file"));
    }
    insertion_at(arguments)
}

/// Returns the tool that inserts text before a line; line 0 is the start as well.
pub(super) fn insertion_at(arguments: &mut Arguments) -> Changed {
    let before = |line: i64| if line > 0 { line - 1 } else { line };
    let line = take_number(arguments, &["line", "line_number"]);
    arguments.extend(line.map(|line| ("insert_line".to_owned(), json!(before(line)))));
    insertion(arguments)
}

/// Returns the tool that inserts text after a line, by a patch without context.
pub(super) fn insertion(arguments: &mut Arguments) -> Changed {
    let line = take_number(arguments, &["insert_line", "after_line", "insert_after"]);
    let inserted = match take(arguments, &["insert_text", "new_str", "content", "text"]) {
        Some(Value::String(inserted)) => Some(inserted),
        Some(Value::Array(lines)) => joined_lines(&lines),
        _ => None,
    };
    // A line alone may be the one before the text, or the one behind it.
    let (Some(line), Some(inserted)) = (line.filter(|line| *line >= 0), inserted) else {
        return Err(UnresolvedCall("say where: edit_file(path=…, old_str=\"the line before\", new_str=\"the line before\\nthe new lines\")".to_owned()));
    };
    let lines: Vec<&str> = inserted.strip_suffix('\n').unwrap_or(&inserted).split('\n').collect();
    let mut patch = format!("@@ -{line},0 +{},{} @@\n", line.saturating_add(1), lines.len());
    patch.extend(lines.iter().map(|line| format!("+{line}\n")));
    arguments.insert("patch".to_owned(), json!(patch));
    Ok(Some("apply_patch"))
}
