//! Tool `search_files`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::listing::listing;
use super::read_file::resolve;
use super::scope::{Entries, Scope};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that finds files below a folder by a path glob.
pub(super) struct SearchFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Folder
    #[serde(default = "super::scope::here")]
    path: String,
    /// Glob (**/*.py)
    pattern: String,
}

impl FileTool for SearchFiles {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "search_files",
            description: "Find files below a folder by glob.",
            sensitive: false,
            successor: Some("list_files"),
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let scope = Scope::new(cx, &args.path, Some(&args.pattern), None)?;
        let mut entries: Entries = scope.entries()?;
        entries.found.retain(|found| !found.directory);
        Ok(ToolResult::done(listing(&entries, &scope.start)))
    }
}
