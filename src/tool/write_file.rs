//! Tool `write_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, FileState, ResolvedPath};

use super::outcome::store;
use super::read_file::resolve;
use super::text_file::{encoded, text_of};
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that creates or replaces a file, or appends to it.
pub(super) struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File
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
        if is_replaced && before.as_ref().is_some_and(|state| cx.seen.is_stale(&path, state)) {
            return Err(ToolError::Refused(format!(
                "{path} has changed since it was last read; read it again before replacing it"
            )));
        }
        let content = args.content_of(&path, before.as_ref())?;
        let mut result = store(&path, before, content, cx)?;
        if is_replaced && !was_seen && !result.changes.is_empty() {
            result.output += "\n[the file was there already, and you had not read it]";
        }
        Ok(result)
    }
}

impl Args {
    /// Returns the content of the file as it will be. Text keeps its encoding, and what is no text is replaced by text.
    fn content_of(&self, path: &ResolvedPath, before: Option<&FileState>) -> Result<Vec<u8>, ToolError> {
        let given = || self.content.clone();
        let Some(before) = before else { return Ok(given().into_bytes()) };
        match (text_of(path, before), self.mode) {
            (Ok(old), WriteMode::Overwrite) => encoded(path, given(), old.encoding),
            (Ok(old), WriteMode::Append) => {
                encoded(path, old.text.into_owned() + &self.content, old.encoding)
            }
            (Err(_), WriteMode::Overwrite) => Ok(given().into_bytes()),
            // Almost any encoding without NUL bytes has these characters at the same places.
            (Err(_), WriteMode::Append) if self.content.is_ascii() && !before.content.contains(&0) => {
                Ok([&before.content, self.content.as_bytes()].concat())
            }
            (Err(error), WriteMode::Append) => Err(error),
        }
    }
}
