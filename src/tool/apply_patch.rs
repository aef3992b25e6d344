//! Tool `apply_patch`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::{resolve, text};
use super::write_file::store;
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::patch::{Patch, apply};
use crate::workspace::{FileChange, FileError, WorkspacePath};

/// Tool that applies a unified diff to one file.
pub(super) struct ApplyPatch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// Unified diff with one or more hunks; file headers are optional
    patch: String,
}

impl FileTool for ApplyPatch {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "apply_patch",
            description: "Apply a unified diff with several hunks to one file (it may create or delete it). \
                          For one block use edit_file. Returns the diff.",
            sensitive: true,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let refused = |error: &dyn std::fmt::Display| ToolError::Refused(error.to_string());
        let patch =
            Patch::parse(&args.patch, &WorkspacePath::parse(&args.path)?).map_err(|error| refused(&error))?;
        let before = match cx.workspace.read(&path) {
            Ok(_) if patch.creates => {
                return Err(ToolError::Refused(format!("the patch creates {path}, but it exists already")));
            }
            Ok(state) => Some(state),
            Err(FileError::Missing(_)) if patch.creates => None,
            Err(error) => return Err(error.into()),
        };
        if patch.deletes && !cx.allow_delete {
            return Err(ToolError::Refused(super::delete_file::DISABLED.to_owned()));
        }
        let content = before.as_ref().map_or(Ok(""), |state| text(&path, state))?;
        let patched = apply(content, &patch).map_err(|error| refused(&error))?;
        if patch.deletes {
            cx.workspace.remove(&path)?;
            let mut result = ToolResult::done(format!("Deleted {path}"));
            result.changes.extend(FileChange::new((*path).clone(), before, None));
            return Ok(result);
        }
        let mut result = store(&path, before, patched.into_bytes(), cx)?;
        if let Some(change) = result.changes.first() {
            result.output = change.diff();
        }
        Ok(result)
    }
}
