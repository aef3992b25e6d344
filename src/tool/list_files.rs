//! Tool `list_files`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::listing::listing;
use super::read_file::resolve;
use super::scope::Scope;
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that lists a folder.
pub(super) struct ListFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Folder
    #[serde(default = "super::scope::here")]
    path: String,
    /// Globs on names (test_*.py) or paths (src/**/*.ts), searched for in all subfolders
    #[serde(default)]
    pattern: Option<String>,
    /// Include subfolders; without it, only a pattern does
    #[serde(default)]
    recursive: Option<bool>,
    /// Globs that the files have to match as well.
    #[serde(default = "super::scope::any")]
    #[schemars(skip)]
    file_type: String,
}

impl FileTool for ListFiles {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "list_files",
            description: "List a folder, or find files by name or path. Respects .gitignore; folders end with /.",
            sensitive: false,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let pattern = args.pattern.as_deref();
        let is_deep = args.recursive.unwrap_or(pattern.is_some());
        let scope = Scope::new(cx, &args.path, pattern, if is_deep { None } else { Some(1) })?
            .of_types(&args.file_type)?;
        Ok(ToolResult::done(listing(&scope.entries()?, &scope.start)))
    }
}
