//! Tool `delete_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileChange, FileError, FileState, Kind, LastLink, ResolvedPath};

use super::path_forms::parsed;
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Refusal if deletion is not allowed.
pub(super) const DISABLED: &str = "deletion is disabled; it requires `workspace.allow_delete: true` in the configuration: leave it out, and name the file in your answer";

/// Tool that removes a file or a link.
pub(super) struct DeleteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File
    path: String,
}

impl FileTool for DeleteFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo { name: "delete_file", description: "Delete a file.", sensitive: true, successor: None }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        if !cx.allow_delete {
            return Err(ToolError::Refused(DISABLED.to_owned()));
        }
        let path = resolve(&args.path, cx)?;
        let is_link = cx.workspace.stat(&path)?.is_some_and(|stat| stat.kind == Kind::Link);
        let before: Option<FileState> = if is_link { None } else { Some(cx.workspace.read(&path)?) };
        cx.check_end()?;
        cx.workspace.remove(&path)?;
        let mut result = ToolResult::done(format!("Deleted {path}"));
        result.changes.extend(FileChange::new((*path).clone(), before, None));
        Ok(result)
    }
}

/// Resolves a path without following its last link, so that links themselves can be deleted.
fn resolve(path: &str, cx: &Context) -> Result<ResolvedPath, ToolError> {
    let path = cx.workspace.resolve(&parsed(path, &*cx.workspace)?, LastLink::Keep)?;
    if path.is_root() {
        return Err(FileError::IsDirectory((*path).clone()).into());
    }
    Ok(path)
}
