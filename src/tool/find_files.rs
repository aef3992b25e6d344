//! Tool `find_files`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::listing::listing;
use super::read_file::resolve;
use super::scope::{Entries, Scope};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that finds files by name or path.
pub(super) struct FindFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Glob on names (test_*.py) or paths (src/**/*.ts)
    pattern: String,
    /// Folder to search
    #[serde(default = "super::scope::here")]
    path: String,
    /// Include subfolders
    #[serde(default = "super::scope::yes")]
    recursive: bool,
}

impl FileTool for FindFiles {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "find_files",
            description: "Find files by name or path glob.",
            sensitive: false,
            successor: Some("list_files"),
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let depth = if args.recursive { None } else { Some(1) };
        let scope = Scope::new(cx, &args.path, Some(&args.pattern), depth)?;
        let mut entries: Entries = scope.entries()?;
        entries.found.retain(|found| !found.directory);
        Ok(ToolResult::done(listing(&entries, &scope.start)))
    }
}
