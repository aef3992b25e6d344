//! Tool `read_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, Kind, LastLink, MAX_FILE, ResolvedPath};

use super::line_view::{LineView, Range};
use super::path_forms::{parsed, without_diff_prefix};
use super::text_file::{remark, text_of};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::encoding::TextReader;
use crate::event::Effects;

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
    /// Column, to go on within a long line
    #[serde(default)]
    start_column: Option<usize>,
}

impl FileTool for ReadFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "read_file",
            description: "Read a text file, whole or a range of lines. Each line comes after its number and a tab.",
            sensitive: false,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&existing(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = existing(&args.path, cx)?;
        let range = Range {
            start: args.start_line.unwrap_or(1),
            end: args.end_line,
            column: args.start_column.filter(|column| *column > 1),
        };
        let is_part = args.start_line.is_some() || args.end_line.is_some() || range.column.is_some();
        let is_large =
            cx.workspace.stat(&path)?.is_some_and(|stat| stat.kind == Kind::File && stat.size > MAX_FILE);
        if is_large && is_part {
            let file = TextReader::new(cx.workspace.open(&path)?);
            let view = LineView::read(file, &range, cx.read_limit())
                .map_err(|error| FileError::Io { path: (*path).clone(), error })?;
            return view.render(&path, &range).map(ToolResult::done);
        }
        let state = cx.workspace.read(&path)?;
        let text = text_of(&path, &state)?.text;
        cx.seen.note(&path, &state);
        // Reading from memory does not fail.
        let view = LineView::read(text.as_bytes(), &range, cx.read_limit()).unwrap_or_default();
        let mut shown = view.render(&path, &range)?;
        shown.extend(remark(&state).map(|remark| format!("[{remark}]\n")));
        Ok(ToolResult::done(shown))
    }
}

/// Resolves a path; one at which there is nothing may have the prefix of a diff before it.
fn existing(path: &str, cx: &Context) -> Result<ResolvedPath, ToolError> {
    let given = resolve(path, cx)?;
    let is_there = |path: &ResolvedPath| matches!(cx.workspace.stat(path), Ok(Some(_)));
    if is_there(&given) {
        return Ok(given);
    }
    // In a folder that there is, nothing else is meant.
    let is_folder = |prefix: &str| resolve(prefix, cx).is_ok_and(|folder| is_there(&folder));
    let meant = without_diff_prefix(path).filter(|_| !is_folder(&path[..1]));
    let meant = meant.and_then(|path| resolve(path, cx).ok());
    Ok(meant.filter(is_there).unwrap_or(given))
}

/// Parses a path and resolves it, with links followed.
pub(super) fn resolve(path: &str, cx: &Context) -> Result<ResolvedPath, ToolError> {
    Ok(cx.workspace.resolve(&parsed(path, &*cx.workspace)?, LastLink::Follow)?)
}
