//! Tool `read_file`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::workspace::{FileState, LastLink, ResolvedPath, WorkspacePath};

/// Tool that reads a text file.
pub(super) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// First line, from 1
    #[serde(default)]
    start_line: Option<usize>,
    /// Last line
    #[serde(default)]
    end_line: Option<usize>,
}

impl FileTool for ReadFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "read_file",
            description: "Read a UTF-8 text file, whole or a range of lines.",
            sensitive: false,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let state = cx.workspace.read(&path)?;
        let text = text(&path, &state)?;
        cx.seen.note(&path, &state);
        if args.start_line.is_none() && args.end_line.is_none() {
            return Ok(ToolResult::done(text));
        }
        let total = text.lines().count();
        let (start, end) = (args.start_line.unwrap_or(1), args.end_line.unwrap_or(total).min(total));
        if start == 0 || start > end {
            return Err(ToolError::Refused(format!(
                "lines {start} to {} are not in {path}, which has {total} lines; lines are numbered from 1",
                args.end_line.unwrap_or(total)
            )));
        }
        let lines = text.split_inclusive('\n').skip(start - 1).take(end - start + 1);
        Ok(ToolResult::done(format!("[lines {start}-{end} of {total}]\n{}", lines.collect::<String>())))
    }
}

/// Parses a path and resolves it, with links followed.
pub(super) fn resolve(path: &str, cx: &Context) -> Result<ResolvedPath, ToolError> {
    Ok(cx.workspace.resolve(&WorkspacePath::parse(path)?, LastLink::Follow)?)
}

/// Returns a file's content as text, or an error if it is binary or not UTF-8.
pub(super) fn text<'a>(path: &WorkspacePath, state: &'a FileState) -> Result<&'a str, ToolError> {
    if state.content.contains(&0) {
        let size = state.content.len();
        return Err(ToolError::Refused(format!("{path} is a binary file ({size} bytes), not text")));
    }
    std::str::from_utf8(&state.content).map_err(|error| {
        ToolError::Refused(format!("{path} is not UTF-8 text (byte {} is invalid)", error.valid_up_to()))
    })
}
