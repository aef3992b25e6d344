//! Tool `write_file`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::workspace::{FileChange, FileError, FileState, MAX_FILE, Mode, ResolvedPath};

/// Tool that creates or replaces a file, or appends to it.
pub(super) struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// The text to write
    content: String,
    /// Replace the file or add to its end
    #[serde(default)]
    mode: WriteMode,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WriteMode {
    #[default]
    Overwrite,
    Append,
}

impl FileTool for WriteFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "write_file",
            description: "Create or fully rewrite a text file (or append to it); makes missing folders. \
                          For a change inside a file use edit_file.",
            sensitive: true,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let before = match cx.workspace.read(&path) {
            Ok(state) => Some(state),
            Err(FileError::Missing(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut content = Vec::new();
        match &before {
            Some(state) if args.mode == WriteMode::Append => content.extend_from_slice(&state.content),
            Some(state) if cx.seen.is_stale(&path, state) => {
                return Err(ToolError::Refused(format!(
                    "{path} has changed since it was last read; read it again before replacing it"
                )));
            }
            _ => {}
        }
        content.extend_from_slice(args.content.as_bytes());
        store(&path, before, content, cx)
    }
}

/// Writes new content and returns a result with the change.
pub(super) fn store(
    path: &ResolvedPath,
    before: Option<FileState>,
    content: Vec<u8>,
    cx: &Context,
) -> Result<ToolResult, ToolError> {
    if content.len() as u64 > MAX_FILE {
        let size = content.len() as u64;
        return Err(FileError::TooLarge { path: (**path).clone(), size, limit: MAX_FILE }.into());
    }
    cx.workspace.write(path, &content)?;
    let mode = before.as_ref().map_or(Mode::Regular, |state| state.mode);
    let after = FileState { content: content.into(), mode };
    cx.seen.note(path, &after);
    let Some(change) = FileChange::new((**path).clone(), before, Some(after)) else {
        return Ok(ToolResult::done(format!("{path} already has this content; nothing changed")));
    };
    let verb = if change.before.is_some() { "Updated" } else { "Created" };
    let mut result = ToolResult::done(format!("{verb} {path} ({})", change.line_counts()));
    result.changes.push(change);
    Ok(result)
}
