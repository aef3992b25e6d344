//! Tool `write_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::FileError;

use super::outcome::store;
use super::read_file::resolve;
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that creates or replaces a file, or appends to it.
pub(super) struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// The text to write
    content: String,
    /// Replace the file or add to its end
    #[serde(default)]
    mode: WriteMode,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WriteMode {
    #[default]
    Overwrite,
    Append,
}

impl FileTool for WriteFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "write_file",
            description: "Create or fully rewrite a text file (or append to it); makes missing folders. \
                          For a change inside a file use edit_file.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let before = match cx.workspace.read(&path) {
            Ok(state) => Some(state),
            Err(FileError::Missing(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let is_replaced = before.is_some() && args.mode == WriteMode::Overwrite;
        let was_seen = cx.seen.contains(&path);
        let mut content = Vec::new();
        match &before {
            Some(state) if args.mode == WriteMode::Append => content.extend_from_slice(&state.content),
            Some(state) if cx.seen.is_stale(&path, state) => {
                return Err(ToolError::Refused(format!(
                    "{path} has changed since it was last read; read it again before replacing it"
                )));
            }
            _ => {}
        }
        content.extend_from_slice(args.content.as_bytes());
        let mut result = store(&path, before, content, cx)?;
        if is_replaced && !was_seen && !result.changes.is_empty() {
            result.output += "\n[the file was there already, and you had not read it]";
        }
        Ok(result)
    }
}
