//! Results of edits: what changed and where, without repeating what the model has just written.

use std::borrow::Cow;

use grammar::Language;
use outline::first_syntax_error;
use workspace::{FileChange, FileError, FileState, MAX_FILE, Mode, Operation, ResolvedPath};

use super::invisible_codes::restored;
use super::text_file::{encoded, readable, remark};
use super::{Context, ToolError, ToolResult, stray_lines};
use crate::base::encoding::{Decoded, decode};
use crate::base::text::{counted, shortened};

/// Maximum number of places named by their lines.
const MAX_PLACES: usize = 12;

/// Writes new content and returns a result with the change.
pub(super) fn store(
    path: &ResolvedPath,
    before: Option<FileState>,
    content: Vec<u8>,
    cx: &Context,
) -> Result<ToolResult, ToolError> {
    let change = write(path, before, content, cx)?;
    let Some(change) = change else {
        return Ok(ToolResult::done(format!("{path} already has this content; nothing changed")));
    };
    let described = if cx.explains_edits { describe(&change) } else { format!("{} {path}", verb(&change)) };
    let mut result = ToolResult::done(described);
    result.changes.push(change);
    Ok(result)
}

/// Writes new content, and returns the change if there is one.
pub(super) fn write(
    path: &ResolvedPath,
    before: Option<FileState>,
    content: Vec<u8>,
    cx: &Context,
) -> Result<Option<FileChange>, ToolError> {
    let content = with_characters(path, before.as_ref(), content, cx)?;
    check_size(path, content.len())?;
    let mode = before.as_ref().map_or(Mode::Regular, |state| state.mode);
    let after = FileState { content: content.into(), mode };
    let change = FileChange::new((**path).clone(), before, Some(after.clone()));
    if let Some(change) = &change {
        check_lines(change, cx)?;
    }
    // Nobody waits for a call that has taken too long, so what it writes later would be in no report.
    cx.check_end()?;
    cx.workspace.write(path, &after.content)?;
    cx.seen.note_written(path, &after);
    Ok(change)
}

/// Refuses a change that adds lines with numbers which the language of the file does not have.
pub(super) fn check_lines(change: &FileChange, cx: &Context) -> Result<(), ToolError> {
    // Whoever writes a recipe was shown no numbers.
    let reason = if cx.explains_edits { stray_lines::refusal(change) } else { None };
    reason.map_or(Ok(()), |reason| Err(ToolError::Refused(reason)))
}

/// Returns new content with invisible characters where a model repeats their codes.
fn with_characters(
    path: &ResolvedPath,
    before: Option<&FileState>,
    content: Vec<u8>,
    cx: &Context,
) -> Result<Vec<u8>, ToolError> {
    // Whoever writes a recipe was shown no codes.
    let Some(Decoded { text, encoding }) = decode(&content).ok().filter(|_| cx.explains_edits) else {
        return Ok(content);
    };
    let old = before.and_then(|before| decode(&before.content).ok());
    let restored = match restored(path, old.as_ref().map_or("", |old| &*old.text), &text)? {
        Cow::Owned(restored) => Some(restored),
        Cow::Borrowed(_) => None,
    };
    drop(text);
    restored.map_or(Ok(content), |restored| encoded(path, restored, encoding))
}

/// Refuses content above the limit for whole files.
pub(super) fn check_size(path: &ResolvedPath, length: usize) -> Result<(), ToolError> {
    let size = length as u64;
    if size > MAX_FILE {
        return Err(FileError::TooLarge { path: (**path).clone(), size, limit: MAX_FILE }.into());
    }
    Ok(())
}

/// Describes a change: its headline, the line above if there is one place, and what is wrong with the file now.
pub(super) fn describe(change: &FileChange) -> String {
    let remark = change.after.as_ref().and_then(remark);
    let change = &*readable(change);
    let mut text = headline(change);
    if change.operation() == Operation::Modify && !change.is_binary() {
        text += &line_above(change, &places(&change.diff()));
    }
    text.extend(warnings(change).map(|warning| format!("\n{warning}")));
    text.extend(remark.map(|remark| format!("\n[{remark}]")));
    text
}

/// Returns what happened to a file, with the numbers of lines and where they are.
pub(super) fn headline(change: &FileChange) -> String {
    let path = &change.path;
    if change.is_binary() {
        return format!("{} {path} (binary)", verb(change));
    }
    let diff = change.diff();
    let counts = workspace::LineCounts::of(&diff);
    if change.operation() != Operation::Modify {
        return format!("{} {path} ({counts})", verb(change));
    }
    let places = places(&diff);
    let shown: Vec<String> = places.iter().take(MAX_PLACES).map(ToString::to_string).collect();
    let more = if places.len() > MAX_PLACES { ", …" } else { "" };
    let noun = if places.len() == 1 { "line" } else { "lines" };
    format!("{} {path} ({counts} at {noun} {}{more})", verb(change), shown.join(", "))
}

fn verb(change: &FileChange) -> &'static str {
    match change.operation() {
        Operation::Add => "Created",
        Operation::Modify => "Updated",
        Operation::Delete => "Deleted",
    }
}

/// Returns the lines of the new file at which its changes begin.
fn places(diff: &str) -> Vec<usize> {
    let (mut places, mut line, mut in_change) = (Vec::new(), 1, false);
    for text in diff.lines() {
        if let Some(header) = text.strip_prefix("@@ ") {
            let new = header.split_once('+').map_or("", |(_, new)| new);
            let digits: String = new.chars().take_while(char::is_ascii_digit).collect();
            line = digits.parse().unwrap_or(1);
            in_change = false;
        } else if text.starts_with(['+', '-']) {
            if !in_change {
                places.push(line);
            }
            in_change = true;
            line += usize::from(text.starts_with('+'));
        } else if !text.starts_with('\\') {
            in_change = false;
            line += 1;
        }
    }
    places
}

/// Returns the line before the only change, by which the model can see that the place is right.
fn line_above(change: &FileChange, places: &[usize]) -> String {
    let ([place], Some(after)) = (places, &change.after) else { return String::new() };
    let text = String::from_utf8_lossy(&after.content);
    let above = place.checked_sub(2).and_then(|index| Some((index + 1, text.lines().nth(index)?)));
    match above {
        Some((number, line)) if !line.trim().is_empty() => {
            format!(", below\n{number}\t{}", shortened(line, 200))
        }
        _ => String::new(),
    }
}

/// Returns what is wrong with a file after a change.
pub(super) fn warnings(change: &FileChange) -> impl Iterator<Item = String> {
    syntax_warning(change).into_iter().chain(stray_lines::warning(change))
}

/// Returns a warning if the file parsed before and does not any more.
fn syntax_warning(change: &FileChange) -> Option<String> {
    let change = readable(change);
    let name = change.path.file_name()?;
    let text = |state: &FileState| std::str::from_utf8(&state.content).map(str::to_owned).ok();
    let after = text(change.after.as_ref()?)?;
    let line = first_syntax_error(name, &after)?;
    let was_clean = match &change.before {
        Some(before) => first_syntax_error(name, &text(before)?).is_none(),
        None => true,
    };
    let shown = after.lines().nth(line - 1).unwrap_or_default();
    let shown = shortened(shown, 200);
    let how = match (is_typescript(name), change.before.is_some()) {
        // Its grammar is behind the language.
        (true, _) => "cannot be read by the grammar here, and may no longer parse",
        (false, true) => "no longer parses",
        (false, false) => "does not parse",
    };
    was_clean.then(|| format!("[warning: {} {how}, from line {line}: `{}`]", change.path, shown.trim()))
}

fn is_typescript(name: &str) -> bool {
    matches!(Language::of(name), Some(Language::TypeScript | Language::Tsx))
}

/// Describes changes of several files: a table of paths and counts, with warnings.
pub(super) fn table(changes: &[FileChange]) -> String {
    const MAX_ROWS: usize = 60;
    let mut text = String::new();
    for change in changes.iter().take(MAX_ROWS) {
        let counts = readable(change).line_counts();
        text += &format!("{} {} ({counts})\n", verb(change), change.path);
    }
    if changes.len() > MAX_ROWS {
        text += &format!("… and {}\n", counted(changes.len() - MAX_ROWS, "more file", "s"));
    }
    text.extend(changes.iter().flat_map(warnings).take(10).map(|warning| warning + "\n"));
    text
}

/// Puts back what files were, after one of several could not be written. Returns the error for the model.
pub(super) fn undone(error: &dyn std::fmt::Display, changes: &[FileChange], cx: &Context) -> ToolError {
    let mut text = format!("{error}; nothing was changed");
    for change in changes.iter().rev() {
        if let Err(failed) = cx.workspace.revert(change) {
            text = format!("{error}; could not put {} back: {failed}", change.path);
        }
    }
    ToolError::Refused(text)
}
