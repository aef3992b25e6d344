//! Patches, and SEARCH and REPLACE blocks, of other agents' tools with the arguments changed to those of ours.

use std::path::Path;

use patch::search_replace::{self, Block};
use serde_json::{Value, json};

use super::argument_names::names_of;
use super::argument_values::{number, take, text};
use super::arguments::Arguments;
use super::fitting::plain_names;
use super::resolved_call::UnresolvedCall;
use super::translate::Changed;
use super::translate_command::shell;
use super::translate_edit::{EDIT, insertion_at, many_edits};

/// Returns the tool for SEARCH and REPLACE blocks in place of a patch, or for one change to a file as an object.
pub(super) fn search_blocks(arguments: &mut Arguments) -> Changed {
    one_file(arguments)?;
    patch_as_command(arguments)?;
    match arguments.get("type").and_then(text) {
        Some("delete_file") => {
            arguments.retain(|name, _| name == "path");
            return Ok(Some("delete_file"));
        }
        Some("create_file") => {
            let added = |diff: &str| {
                let lines: Vec<&str> = diff.lines().collect();
                // A sign before some lines alone is part of them.
                let added: Option<Vec<&str>> = lines.iter().map(|line| line.strip_prefix('+')).collect();
                added.unwrap_or(lines).into_iter().map(|line| format!("{line}\n")).collect::<String>()
            };
            for name in ["diff", "patch"] {
                if let Some(content) = arguments.get(name).and_then(Value::as_str).map(added) {
                    arguments.remove(name);
                    arguments.insert("content".to_owned(), json!(content));
                }
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
    for name in ["patches", "diffs", "diff"] {
        let Some(Value::Array(patches)) = arguments.get(name) else { continue };
        let patches: Option<Vec<String>> = patches.iter().map(patch_text).collect();
        if let (Some(patches), false) = (patches, arguments.contains_key("patch")) {
            arguments.remove(name);
            arguments.insert("patch".to_owned(), json!(patches.concat()));
        }
    }
    let names = ["diff", "patch", "input", "patch_text", "content"];
    let Some(name) = names
        .into_iter()
        .find(|name| arguments.get(*name).and_then(Value::as_str).is_some_and(search_replace::is_meant))
    else {
        let is_edit =
            ["old_str", "old_string", "edits", "search"].iter().any(|name| arguments.contains_key(*name));
        return if is_edit {
            many_edits(arguments).map(|tool| tool.or(Some("edit_file")))
        } else {
            take_folder(arguments);
            Ok(Some("apply_patch"))
        };
    };
    let diff = arguments.remove(name).unwrap_or_default();
    let diff = diff.as_str().unwrap_or_default();
    let Some(blocks) = search_replace::parse(diff).filter(|blocks| !blocks.is_empty()) else {
        return Err(UnresolvedCall(format!(
            "a block is `<<<<<<< SEARCH`, the old lines, `=======`, the new ones, `>>>>>>> REPLACE`; or call {EDIT}"
        )));
    };
    // The file may be named above its blocks.
    let named = search_replace::named_files(diff);
    let given = names_of("*", "path");
    let given = given.iter().find_map(|name| arguments.get(*name).and_then(text));
    let is_other = |file: &&&str| given.is_some_and(|given| !Path::new(given).ends_with(file));
    if named.len() > 1 || named.iter().any(|file| is_other(&file)) {
        return Err(UnresolvedCall(format!(
            "the blocks are for {}; make one call for each file: {EDIT}",
            named.join(", ")
        )));
    }
    if let ([file], None) = (named.as_slice(), given) {
        arguments.insert("path".to_owned(), json!(file));
    }
    edits_of(arguments, blocks)
}

/// Takes the folder that the paths of a patch begin at, and how many of their parts are none: they are found in either form.
fn take_folder(arguments: &mut Arguments) {
    if arguments.get("strip").and_then(number).is_some_and(|strip| strip <= 1) {
        arguments.remove("strip");
    }
    if arguments.contains_key("path") {
        return;
    }
    let folder = take(arguments, &["workdir", "working_directory", "working_dir", "cwd"]);
    if let Some(folder) = folder.as_ref().and_then(text).filter(|folder| !folder.is_empty()) {
        arguments.insert("applied_in".to_owned(), json!(folder));
    }
}

/// Gives a call the edits of blocks. One without old text says what a new file is, or what is inserted before a line.
fn edits_of(arguments: &mut Arguments, mut blocks: Vec<Block>) -> Changed {
    if let [Block { old, new, line }] = blocks.as_mut_slice() {
        let new = json!(std::mem::take(new));
        if let Some(line) = line
            && old.is_empty()
        {
            arguments.extend([("line".to_owned(), json!(line)), ("text".to_owned(), new)]);
            return insertion_at(arguments).map(|tool| tool.or(Some("apply_patch")));
        }
        arguments.extend([("old_str".to_owned(), json!(old)), ("new_str".to_owned(), new)]);
        arguments.extend(line.map(|line| ("start_line".to_owned(), json!(line))));
        return Ok(Some("edit_file"));
    }
    let edits = blocks.into_iter().map(|Block { old, new, line }| {
        let mut edit = json!({"old_str": old, "new_str": new});
        if let Some(line) = line {
            edit["start_line"] = json!(line);
        }
        edit
    });
    arguments.insert("edits".to_owned(), Value::Array(edits.collect()));
    Ok(Some("edit_file"))
}

/// Takes the one file that a call lists, with its changes.
fn one_file(arguments: &mut Arguments) -> Result<(), UnresolvedCall> {
    let is_of_files = |name: &&str| {
        let given = arguments.get(*name).filter(|given| has_objects(given));
        let all = given
            .into_iter()
            .flat_map(|given| given.as_array().cloned().unwrap_or_else(|| vec![given.clone()]));
        let mut all = all.peekable();
        all.peek().is_some() && all.all(|one| ["path", "file_path"].iter().any(|name| one[*name].is_string()))
    };
    let named = ["file", "files"].into_iter().find(|name| arguments.get(*name).is_some_and(has_objects));
    let Some(name) = named.or_else(|| ["changes", "operations"].into_iter().find(is_of_files)) else {
        return Ok(());
    };
    let files = match arguments.remove(name) {
        Some(Value::Array(files)) => files,
        one => one.into_iter().collect(),
    };
    let path =
        |file: &Value| ["path", "file_path"].iter().find_map(|name| text(&file[*name]).map(str::to_owned));
    if files.len() > 1 {
        let calls: Vec<String> = files
            .iter()
            .filter_map(path)
            .take(5)
            .map(|path| format!("edit_file(path={path:?}, old_str=…, new_str=…)"))
            .collect();
        return Err(UnresolvedCall(format!(
            "make one call for each file, all in one turn: {}",
            calls.join(", ")
        )));
    }
    for file in files {
        if let Value::Object(file) = file {
            arguments.extend(plain_names(file));
        }
    }
    // Its changes may be one.
    if let Some(one @ Value::Object(_)) = arguments.get("diff") {
        let one = json!([one]);
        arguments.insert("diff".to_owned(), one);
    }
    Ok(())
}

fn has_objects(files: &Value) -> bool {
    files.is_object() || files.as_array().is_some_and(|files| files.iter().any(Value::is_object))
}

/// Returns the text of a patch that is given as such, or in an object that has its first line beside it.
fn patch_text(patch: &Value) -> Option<String> {
    let given = match patch {
        Value::Object(of) => of.get("content").or(of.get("diff")).and_then(Value::as_str)?,
        other => other.as_str()?,
    };
    let mut lines: Vec<String> = given.trim_end_matches('\n').lines().map(str::to_owned).collect();
    if let Some(line) = patch.get("start_line").and_then(number).filter(|_| search_replace::is_meant(given))
        && !given.contains(":start_line:")
        && let Some(first) = lines.iter().position(|line| search_replace::is_meant(line))
    {
        lines.splice(first + 1..=first, [format!(":start_line:{line}"), "-------".to_owned()]);
    }
    Some(lines.join("\n") + "\n")
}

/// Takes a patch that is given as the command line of a program: `["apply_patch", "*** Begin Patch …"]`.
fn patch_as_command(arguments: &mut Arguments) -> Result<(), UnresolvedCall> {
    if arguments.contains_key("patch") {
        return Ok(());
    }
    let Some(command) = take(arguments, &["command", "cmd", "args", "arguments"]) else { return Ok(()) };
    let is_patch = |text: &str| ["*** ", "--- ", "diff ", "@@"].iter().any(|start| text.starts_with(start));
    if text(&command).is_some_and(|text| is_patch(text.trim_start())) {
        arguments.insert("patch".to_owned(), command);
        return Ok(());
    }
    let mut as_command = Arguments::from_iter([("command".to_owned(), command)]);
    for name in names_of("run_command", "cwd") {
        as_command.extend(arguments.remove(name).map(|folder| (name.to_owned(), folder)));
    }
    if shell(&mut as_command)?.is_none() {
        return Err(UnresolvedCall(
            "it applies a patch: apply_patch(patch=\"*** Begin Patch …\"); a command is run by run_command(command=…)"
                .to_owned(),
        ));
    }
    arguments.extend(as_command);
    Ok(())
}
