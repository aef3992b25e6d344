//! Tool `list_directory`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::scope::{Entries, Scope};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::text::grouped;
use crate::event::Effects;

/// Maximum number of rows.
const MAX_ROWS: usize = 300;

/// Tool that lists a folder as a table.
pub(super) struct ListDirectory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Folder
    #[serde(default = "super::scope::here")]
    path: String,
}

impl FileTool for ListDirectory {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "list_directory",
            description: "One folder as a table: kind, bytes, name.",
            sensitive: false,
            successor: Some("list_files"),
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let scope = Scope::new(cx, &args.path, None, Some(1))?;
        let Entries { found, links, skipped } = scope.entries()?;
        let rows = found.iter().map(|found| {
            let name = found.path.file_name().unwrap_or_default();
            if found.directory {
                return format!("dir           - {name}/\n");
            }
            let size = cx.workspace.stat(&found.path).ok().flatten().map(|stat| stat.size.to_string());
            format!("file {:>10} {name}\n", size.as_deref().unwrap_or("?"))
        });
        let links = links.iter().map(|(link, target)| {
            format!("link          - {} -> {target}\n", link.file_name().unwrap_or_default())
        });
        let rows: Vec<String> = rows.chain(links).collect();
        let mut text = rows.iter().take(MAX_ROWS).map(String::as_str).collect::<String>();
        if rows.is_empty() {
            text += "No files found\n";
        }
        if rows.len() > MAX_ROWS {
            text += &format!("… {} more not shown\n", grouped(rows.len() - MAX_ROWS));
        }
        if skipped > 0 {
            text += &format!("({} entries skipped: unreadable or not named in UTF-8)\n", grouped(skipped));
        }
        Ok(ToolResult::done(text))
    }
}
