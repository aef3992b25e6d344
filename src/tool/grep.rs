//! Tool `grep`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::search::{Query, Scope};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that searches for literal text.
pub(super) struct Grep;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Literal text
    #[serde(alias = "text")]
    pattern: String,
    /// Folder or file
    #[serde(default = "super::search::here")]
    path: String,
    /// Glob of the files to search
    #[serde(default = "super::search::any")]
    file_pattern: String,
    /// Include subfolders
    #[serde(default = "super::search::yes")]
    recursive: bool,
    #[serde(default = "super::search::yes")]
    case_sensitive: bool,
    #[serde(default = "max_results")]
    max_results: usize,
}

fn max_results() -> usize {
    100
}

impl FileTool for Grep {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "grep",
            description: "Search files for literal text. For a regex use search_code.",
            sensitive: false,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let depth = if args.recursive { None } else { Some(1) };
        let scope = Scope::new(cx, &args.path, Some(&args.file_pattern), depth)?;
        let query = Query::literal(&args.pattern, args.case_sensitive, args.max_results)?;
        Ok(ToolResult::done(query.search(&scope)?))
    }
}
