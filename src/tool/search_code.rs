//! Tool `search_code`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::matcher::Syntax;
use super::read_file::resolve;
use super::scope::Scope;
use super::search::Query;
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that searches by regular expression, with lines of context.
pub(super) struct SearchCode;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Regular expression, within a line
    pattern: String,
    /// Folder or file
    #[serde(default = "super::scope::here")]
    path: String,
    /// Globs of the files to search
    #[serde(default = "super::scope::any")]
    file_pattern: String,
    /// Lines shown around each match
    #[serde(default = "context_lines")]
    context_lines: usize,
    #[serde(default = "max_results")]
    max_results: usize,
    #[serde(default = "super::scope::yes")]
    case_sensitive: bool,
}

fn context_lines() -> usize {
    2
}

fn max_results() -> usize {
    50
}

impl FileTool for SearchCode {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "search_code",
            description: "Search files by regular expression, with lines of context.",
            sensitive: false,
            successor: Some("grep"),
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let scope = Scope::new(cx, &args.path, Some(&args.file_pattern), None)?;
        let query = Query::new(&args.pattern, Syntax::Regex, args.case_sensitive, args.max_results);
        let query = query.map_err(|error| {
            ToolError::Refused(format!("{error}; to search for it as it is: grep(pattern=…, literal=true)"))
        })?;
        let query = query.with_context(args.context_lines);
        Ok(ToolResult::done(query.search(&scope)?.render()))
    }
}
