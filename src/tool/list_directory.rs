//! Tool `list_directory`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::search::{MAX_ENTRIES, Scope, listing};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that lists a folder as a table.
pub(super) struct ListDirectory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Folder
    #[serde(default = "super::search::here")]
    path: String,
}

impl FileTool for ListDirectory {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "list_directory",
            description: "One folder as a table: kind, bytes, name.",
            sensitive: false,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let scope = Scope::new(cx, &args.path, None, Some(1))?;
        let (found, skipped) = scope.entries()?;
        let rows = found.iter().map(|found| {
            let name = found.path.file_name().unwrap_or_default();
            if found.directory {
                return format!("dir           - {name}/");
            }
            let size = cx.workspace.stat(&found.path).ok().flatten().map(|stat| stat.size.to_string());
            format!("file {:>10} {name}", size.as_deref().unwrap_or("?"))
        });
        Ok(ToolResult::done(listing(rows, MAX_ENTRIES, skipped)))
    }
}
