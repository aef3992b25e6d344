//! Tool `get_file_summary`.

use outline::{Language, Outline};
use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::resolve;
use super::text_file::text_of;
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that outlines a source file.
pub(super) struct GetFileSummary;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Source file
    path: String,
}

impl FileTool for GetFileSummary {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "get_file_summary",
            description: "Outline of a source file: imports, types, functions with their lines, no bodies (Python, Rust, JS/TS, Go, Java, C, C++).",
            sensitive: false,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let state = cx.workspace.read(&path)?;
        let text = text_of(&path, &state)?.text;
        let lines = text.lines().count();
        let language = path.file_name().and_then(Language::of).ok_or_else(|| {
            ToolError::Refused(format!(
                "{path} ({lines} lines) is not in a supported language; use read_file instead"
            ))
        })?;
        let outline = Outline::of(&text, language).map_err(|error| ToolError::Refused(error.to_string()))?;
        Ok(ToolResult::done(format!("{path}: {language}, {lines} lines\n{}", outline.render())))
    }
}
