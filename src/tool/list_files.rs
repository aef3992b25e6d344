//! Tool `list_files`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::search::{MAX_ENTRIES, Scope, listing};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that lists a folder.
pub(super) struct ListFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Folder
    #[serde(default = "super::search::here")]
    path: String,
    /// Glob on names (*.py) or paths (src/**/*.ts)
    #[serde(default)]
    pattern: Option<String>,
    /// Include subfolders
    #[serde(default)]
    recursive: bool,
}

impl FileTool for ListFiles {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "list_files",
            description: "List files and folders (folders end with /). Respects .gitignore.",
            sensitive: false,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        // A pattern with folders in it is meant for what lies below them.
        let deep = args.recursive || args.pattern.as_ref().is_some_and(|pattern| pattern.contains('/'));
        let scope = Scope::new(cx, &args.path, args.pattern.as_deref(), if deep { None } else { Some(1) })?;
        let (found, skipped) = scope.entries()?;
        let lines = found
            .iter()
            .map(|found| if found.directory { format!("{}/", found.path) } else { found.path.to_string() });
        Ok(ToolResult::done(listing(lines, MAX_ENTRIES, skipped)))
    }
}
