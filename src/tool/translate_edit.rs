//! Edits of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::door::NotUnderstood;
use super::names::Arguments;
use super::translate::{Changed, appended, is_true, line_range, number, parsed, take, text};

/// Returns the tool for edits in a list, whose parts have names of their own, and gives them ours.
pub(super) fn many_edits(arguments: &mut Arguments) -> Changed {
    if let Some(count) = take(arguments, &["expected_replacements"]).as_ref().and_then(number)
        && count > 1
    {
        arguments.insert("replace_all".to_owned(), json!(true));
    }
    lines_of(arguments);
    for name in ["target_lint_error_ids", "code_edit"] {
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
    let has_blocks =
        |name: &str| arguments.get(name).and_then(Value::as_str).is_some_and(patch::search_replace::is_meant);
    if !has_old && ["content", "input"].into_iter().any(has_blocks) {
        return search_blocks(arguments);
    }
    if !has_old && arguments.contains_key("start_line") {
        return line_edit(arguments);
    }
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
    let edits = match parsed(edits) {
        Value::Array(edits) => edits,
        one @ Value::Object(_) => vec![one],
        _ => {
            return Err(NotUnderstood(
                "edits has to be a list: edit_file(path=…, old_str=…, new_str=…)".to_owned(),
            ));
        }
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

/// Gives the lines of an edit our names.
fn lines_of(arguments: &mut Arguments) {
    let names: [(&str, [&str; 5]); 2] = [
        ("start_line", ["start_line", "start", "line_start", "from_line", "startline"]),
        ("end_line", ["end_line", "end", "line_end", "to_line", "endline"]),
    ];
    for (own, foreign) in names {
        if let Some(line) = take(arguments, &foreign).as_ref().and_then(number) {
            arguments.insert(own.to_owned(), json!(line));
        }
    }
}

/// Returns the tool that puts new text in place of whole lines.
pub(super) fn line_edit(arguments: &mut Arguments) -> Changed {
    lines_of(arguments);
    if let Some(line) = take(arguments, &["line", "line_number"]).as_ref().and_then(number) {
        arguments.entry("start_line").or_insert(json!(line));
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
        _ => Err(NotUnderstood(
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

/// Returns the tool for SEARCH and REPLACE blocks in place of a patch, or for one change to a file as an object.
pub(super) fn search_blocks(arguments: &mut Arguments) -> Changed {
    patch_as_command(arguments);
    match arguments.get("type").and_then(text) {
        Some("delete_file") => {
            arguments.retain(|name, _| name == "path");
            return Ok(Some("delete_file"));
        }
        Some("create_file") => {
            if let Some(diff) = take(arguments, &["diff", "patch"]) {
                let lines: Vec<&str> = text(&diff).unwrap_or_default().lines().collect();
                // A sign before some lines alone is part of them.
                let added: Option<Vec<&str>> = lines.iter().map(|line| line.strip_prefix('+')).collect();
                let lines = added.unwrap_or(lines).into_iter().map(|line| format!("{line}\n"));
                arguments.insert("content".to_owned(), json!(lines.collect::<String>()));
            }
            arguments.insert("mode".to_owned(), json!("create"));
            arguments.remove("type");
            return Ok(Some("write_file"));
        }
        Some("update_file") => {
            arguments.remove("type");
        }
        _ => {}
    }
    if let Some(Value::Array(patches)) = take(arguments, &["patches", "diffs"]) {
        let patches: Vec<&str> =
            patches.iter().filter_map(text).map(|patch| patch.trim_end_matches('\n')).collect();
        arguments.insert("patch".to_owned(), json!(patches.join("\n") + "\n"));
    }
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
    // What stands before the first block may be the path.
    let before = diff.as_str().unwrap_or_default().lines().next().unwrap_or_default().trim();
    if name == "input" && !before.is_empty() && !before.starts_with('<') {
        arguments.entry("path").or_insert(json!(before));
    }
    Ok(Some("edit_file"))
}

/// Takes a patch that is given as the command line of a program: `["apply_patch", "*** Begin Patch …"]`.
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

/// Returns the tool for one of several kinds of work, distinguished by `command`.
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

/// Returns the tool that inserts text before a line, or at the end for line 0.
pub(super) fn insertion_before(arguments: &mut Arguments) -> Changed {
    let names = ["line", "line_number"];
    if names.iter().find_map(|name| arguments.get(*name).and_then(number)) == Some(0) {
        arguments.retain(|name, _| !names.contains(&name.as_str()));
        appended(arguments);
        return Ok(Some("write_file"));
    }
    insertion_at(arguments)
}

/// Returns the tool that inserts text before a line; line 0 is the start as well.
pub(super) fn insertion_at(arguments: &mut Arguments) -> Changed {
    let line = take(arguments, &["line", "line_number"]).as_ref().and_then(number);
    let before = |line: i64| if line > 0 { line - 1 } else { line };
    arguments.extend(line.map(|line| ("insert_line".to_owned(), json!(before(line)))));
    insertion(arguments)
}

/// Returns the tool that inserts text after a line, by a patch without context.
pub(super) fn insertion(arguments: &mut Arguments) -> Changed {
    let line = take(arguments, &["insert_line", "line", "line_number", "after_line", "insert_after"])
        .as_ref()
        .and_then(number);
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
