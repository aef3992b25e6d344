//! Tool `edit_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::FileError;

use super::line_edit::{LineRange, replace_lines, replace_near};
use super::outcome::store;
use super::placeholder;
use super::read_file::resolve;
use super::replace_block::{Edited, NotReplaced, replace};
use super::text_file::{encoded, text_of, without_mark};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::encoding::TextEncoding;
use crate::base::text::counted;

/// Tool that replaces one block of text.
pub(super) struct EditFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File
    path: String,
    /// Text to replace; must occur exactly once
    #[serde(default)]
    old_str: String,
    /// Text to put in its place
    #[serde(default)]
    new_str: Option<String>,
    /// Replace every occurrence
    #[serde(default)]
    replace_all: bool,
    /// The first of the lines to replace if there is no old text, else the line near which it is.
    #[serde(default)]
    #[schemars(skip)]
    start_line: Option<usize>,
    /// The last of these lines.
    #[serde(default)]
    #[schemars(skip)]
    end_line: Option<usize>,
    /// Refuse if there are more or fewer places.
    #[serde(default)]
    #[schemars(skip)]
    expect_count: Option<usize>,
    /// Several edits, in order: all are made, or none.
    #[serde(default)]
    #[schemars(skip)]
    edits: Vec<Edit>,
}

/// One of several edits of a call.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    old_str: String,
    new_str: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// Returns the edit for the text behind the mark of a file.
    fn without_mark(&self, encoding: TextEncoding) -> Self {
        let plain = |text: &String| without_mark(text, encoding).unwrap_or(text).to_owned();
        Self { old_str: plain(&self.old_str), new_str: plain(&self.new_str), ..*self }
    }
}

impl Args {
    /// Returns the one edit of the call. What is forgotten must not delete anything.
    fn single(&self) -> Result<Edit, ToolError> {
        let Self { path, old_str, new_str, replace_all, .. } = self;
        let Some(new_str) = new_str.clone() else {
            return Err(ToolError::Refused(format!(
                "new_str is missing: edit_file(path={path:?}, old_str=…, new_str=…); new_str=\"\" deletes the text"
            )));
        };
        Ok(Edit { old_str: old_str.clone(), new_str, replace_all: *replace_all })
    }
}

impl Args {
    /// Returns the lines that the call names, where the old text is given, or is to be so many lines.
    fn lines(&self) -> Option<LineRange> {
        let first = self.start_line.or(self.end_line.map(|_| 1))?;
        let length = self.old_str.trim_end_matches('\n').matches('\n').count();
        let last = if self.replace_all { LineRange::END } else { first.saturating_add(length) };
        Some(LineRange { first, last: self.end_line.unwrap_or(last) })
    }

    /// Makes an edit of the call.
    fn apply(&self, edit: &Edit, content: &str) -> Result<Edited, NotReplaced> {
        match self.lines() {
            Some(lines) if edit.old_str.is_empty() && self.start_line.is_some() => {
                replace_lines(content, lines, &edit.new_str)
            }
            Some(lines) => replace_near(content, &edit.old_str, &edit.new_str, lines, edit.replace_all),
            None => replace(content, &edit.old_str, &edit.new_str, edit.replace_all),
        }
    }
}

impl FileTool for EditFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "edit_file",
            description: "Replace one block of text in a file, with enough lines around it to be unique, or every occurrence.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let before = match cx.workspace.read(&path) {
            // An edit of nothing, as other agents create files.
            Err(FileError::Missing(_))
                if args.edits.is_empty() && args.old_str.is_empty() && args.lines().is_none() =>
            {
                return store(&path, None, args.single()?.new_str.into_bytes(), cx);
            }
            before => before?,
        };
        if !args.edits.is_empty()
            && (!args.old_str.is_empty() || args.new_str.is_some() || args.lines().is_some())
        {
            return Err(ToolError::Refused(
                "the call has edits, and an edit of its own beside them; nothing was changed: make two calls"
                    .to_owned(),
            ));
        }
        let stale = cx.seen.is_stale(&path, &before);
        let edits = if args.edits.is_empty() { vec![args.single()?] } else { args.edits.clone() };
        if args.start_line.is_some() && edits.iter().any(|edit| edit.old_str.is_empty()) {
            cx.seen.check_lines(&path, &before)?;
        }
        let text = text_of(&path, &before)?;
        let (mut content, encoding) = (text.text.into_owned(), text.encoding);
        let (mut notes, mut times) = (Vec::new(), 0);
        for (index, edit) in edits.iter().enumerate() {
            let edit = &edit.without_mark(encoding);
            if let Some(line) = placeholder::found(&edit.new_str, &content) {
                return Err(ToolError::Refused(placeholder::refusal("new_str", line, path.as_str())));
            }
            let edited = args.apply(edit, &content);
            let edited: Edited = edited.map_err(|error| {
                let mut reason = error.to_string();
                if edits.len() > 1 {
                    reason = format!("edit {} of {}: {reason}; none was made", index + 1, edits.len());
                }
                if stale {
                    reason += "\nthe file has changed since it was last read; read it again";
                }
                ToolError::Refused(reason)
            })?;
            content = edited.content;
            times += edited.times;
            notes.extend(edited.note);
        }
        if let Some(expected) = args.expect_count.filter(|expected| *expected != times) {
            return Err(ToolError::Refused(format!(
                "found {}, not {expected}; nothing was changed",
                counted(times, "occurrence", "s")
            )));
        }
        let mut result = store(&path, Some(before), encoded(&path, content, encoding)?, cx)?;
        if args.replace_all && !result.changes.is_empty() {
            notes.insert(0, format!("{} replaced", counted(times, "occurrence", "s")));
        }
        for note in notes {
            result.output += &format!("\n[{note}]");
        }
        Ok(result)
    }
}
