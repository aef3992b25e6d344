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
            take_folder(arguments);
            let path = arguments.get("path").and_then(text).filter(|_| arguments.contains_key("applied_in"));
            // Where the folder says which file is meant, as for every other patch.
            if let Some(path) = path {
                let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n");
                arguments.retain(|name, _| matches!(name.as_str(), "path" | "applied_in"));
                arguments.insert("patch".to_owned(), json!(patch));
                return Ok(Some("apply_patch"));
            }
            arguments.retain(|name, _| name == "path");
            return Ok(Some("delete_file"));
        }
        Some("create_file") => {
            arguments.remove("type");
            return new_file(arguments);
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

/// Returns the tool for a new file whose text is given as a diff.
fn new_file(arguments: &mut Arguments) -> Changed {
    for name in ["diff", "patch"] {
        let Some(diff) = arguments.get(name).and_then(text).map(str::to_owned) else { continue };
        arguments.remove(name);
        if has_names(&diff) {
            take_folder(arguments);
            arguments.insert("patch".to_owned(), json!(diff));
            return Ok(Some("apply_patch"));
        }
        let Some(content) = added(&diff) else {
            let path = arguments.get("path").and_then(text).unwrap_or("PATH");
            return Err(UnresolvedCall(format!(
                "some lines of the new file have a + before them and others have none, and nothing was done; give its text itself: \
                 write_file(path={path:?}, content=…)"
            )));
        };
        // Signs that are left are the text's own, and would be read as those of another diff.
        if let (Some(path), true) = (arguments.get("path").and_then(text), content.ends_with('\n'))
            && diff.lines().all(|line| line.starts_with('+'))
            && content.lines().any(|line| line.starts_with(['+', '-', '@']))
        {
            let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
            arguments.retain(|name, _| name == "applied_in");
            arguments.insert("patch".to_owned(), json!(patch));
            return Ok(Some("apply_patch"));
        }
        arguments.insert("content".to_owned(), json!(content));
    }
    arguments.insert("mode".to_owned(), json!("create"));
    Ok(Some("write_file"))
}

/// Returns whether a diff names its file itself.
fn has_names(diff: &str) -> bool {
    let mut lines = diff.lines().skip_while(|line| line.trim().is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    ["*** Begin Patch", "*** Add File:", "diff --git "].iter().any(|start| first.starts_with(start))
        || first.starts_with("--- ") && second.starts_with("+++ ")
}

/// Returns the text that a diff adds: the lines behind a sign, and empty ones without; or the diff as it is, if it is none. `None` if that
/// is not certain.
fn added(diff: &str) -> Option<String> {
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let fenced = diff.trim().strip_prefix("```diff\n").and_then(|fenced| fenced.strip_suffix("```"));
    let fenced = fenced.filter(|fenced| fenced.lines().all(|line| line.starts_with('+')));
    let lines: Vec<&str> = fenced.unwrap_or(diff).lines().collect();
    let is_blank = |line: &&str| line.trim().is_empty();
    let first = lines.iter().find(|line| !is_blank(line)).copied().unwrap_or_default();
    let has_header = first.starts_with("@@");
    let is_of_format =
        |line: &&str| has_header && line.starts_with("@@") || line.starts_with("\\ No newline");
    let own: Vec<&str> = lines.iter().copied().filter(|line| !is_of_format(line)).collect();
    let (blank, full): (Vec<&str>, Vec<&str>) = own.iter().copied().partition(is_blank);
    let marked = full.iter().filter(|line| line.starts_with('+')).count();
    if marked == full.len() && (marked > 0 || blank.len() == lines.len()) {
        let plain: Vec<&str> = own.iter().map(|line| line.strip_prefix('+').unwrap_or(line.trim())).collect();
        let added = text(&plain);
        let is_open = lines.last().is_some_and(|line| line.starts_with("\\ No newline"));
        return Some(if is_open { added.trim_end_matches('\n').to_owned() } else { added });
    }
    // A sign before the lesser part of the lines is part of them.
    let is_text = !(has_header || first.starts_with('+') && marked * 2 > full.len());
    is_text.then(|| text(&lines))
}

/// Takes the folder that the paths of a patch begin at, and how many of their parts are none: they are found in either form.
fn take_folder(arguments: &mut Arguments) {
    if arguments.get("strip").and_then(number).is_some_and(|strip| strip <= 1) {
        arguments.remove("strip");
    }
    let folder = take(arguments, &["workdir", "working_directory", "working_dir", "cwd"]);
    let given = names_of("*", "path").into_iter().find_map(|name| arguments.get(name).and_then(text));
    if given.is_some_and(|path| path.starts_with('/') || path.starts_with("file:")) {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_what_their_diffs_add() {
        for (diff, expected) in [
            ("+a\n+b\n", Some("a\nb\n")),
            ("+a\n\n+b", Some("a\n\nb\n")),
            ("+a\n \n+\n+ b", Some("a\n\n\n b\n")),
            ("@@\n+a\n+b\n", Some("a\nb\n")),
            ("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file", Some("a\nb")),
            ("@@ -0,0 +1 @@\n+@@ a\n", Some("@@ a\n")),
            ("a\n\nb\n", Some("a\n\nb\n")),
            ("```diff\n+# a\n+b\n```\n", Some("# a\nb\n")),
            ("```diff\n-a\n+b\n```\n", Some("```diff\n-a\n+b\n```\n")),
            ("# a\n+ b\n+ c\n", Some("# a\n+ b\n+ c\n")),
            ("+ a\nb\n", Some("+ a\nb\n")),
            ("", Some("")),
            ("+a\n+b\nc\n", None),
            ("@@\n+a\n b\n", None),
            ("@@\na\n", None),
        ] {
            assert_eq!(added(diff).as_deref(), expected, "{diff:?}");
        }
    }

    #[test]
    fn diffs_that_name_their_file_are_patches() {
        for (diff, expected) in [
            ("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", true),
            ("*** Add File: a\n+x\n", true),
            ("diff --git a/a b/a\nnew file mode 100644\n", true),
            ("--- # a comment\na: 1\n", false),
            ("+--- a\n++++ b\n", false),
        ] {
            assert_eq!(has_names(diff), expected, "{diff:?}");
        }
    }
}
