//! Tool `edit_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::FileError;

use super::outcome::store;
use super::read_file::resolve;
use super::replace_block::{Edited, replace};
use super::text_file::{encoded, text_of};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
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
            Err(FileError::Missing(_)) if args.edits.is_empty() && args.old_str.is_empty() => {
                return store(&path, None, args.single()?.new_str.into_bytes(), cx);
            }
            before => before?,
        };
        let stale = cx.seen.is_stale(&path, &before);
        let edits = if args.edits.is_empty() { vec![args.single()?] } else { args.edits.clone() };
        let text = text_of(&path, &before)?;
        let (mut content, encoding) = (text.text.into_owned(), text.encoding);
        let (mut notes, mut times) = (Vec::new(), 0);
        for (index, edit) in edits.iter().enumerate() {
            let edited = replace(&content, &edit.old_str, &edit.new_str, edit.replace_all);
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
