//! Tool `write_file`.

use patch::has_crlf_alone;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, FileState, ResolvedPath};

use super::outcome::store;
use super::placeholder;
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
    /// Write a file that must not exist.
    #[schemars(skip)]
    Create,
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
        if before.is_some() && args.mode == WriteMode::Create {
            return Err(ToolError::Refused(format!(
                "{path} exists already, and the call asks for a new file; to replace it: write_file(path=\"{path}\", content=…), to \
                 change a part of it: edit_file(path=\"{path}\", old_str=…, new_str=…)"
            )));
        }
        let is_replaced = before.is_some() && args.mode == WriteMode::Overwrite;
        let was_seen = cx.seen.contains(&path);
        if is_replaced && before.as_ref().is_some_and(|state| cx.seen.is_stale(&path, state)) {
            return Err(ToolError::Refused(format!(
                "{path} has changed since it was last read; read it again before replacing it"
            )));
        }
        if is_replaced && let Some(Ok(old)) = before.as_ref().map(|state| text_of(&path, state)) {
            let found = placeholder::found(&args.content, &old.text);
            if let Some(line) = found {
                return Err(ToolError::Refused(placeholder::refusal("content", line, path.as_str())));
            }
        }
        let (content, keeps_crlf) = args.content_of(&path, before.as_ref())?;
        let mut result = store(&path, before, content, cx)?;
        if is_replaced && !was_seen && !result.changes.is_empty() {
            result.output += "\n[the file was there already, and you had not read it]";
        }
        if keeps_crlf && is_replaced && !result.changes.is_empty() {
            result.output += "\n[line endings are CRLF, as they were]";
        }
        Ok(result)
    }
}

impl Args {
    /// Returns the content of the file as it will be, and whether it got the CRLF endings that the file has. Text keeps its encoding,
    /// and what is no text is replaced by text.
    fn content_of(
        &self,
        path: &ResolvedPath,
        before: Option<&FileState>,
    ) -> Result<(Vec<u8>, bool), ToolError> {
        let given = || self.content.clone();
        let Some(before) = before else { return Ok((given().into_bytes(), false)) };
        match (text_of(path, before), self.mode) {
            (Ok(old), mode) => {
                // Endings that are given decide, as they do in an edit.
                let keeps_crlf =
                    has_crlf_alone(&old.text) && self.content.contains('\n') && !self.content.contains('\r');
                let new = if keeps_crlf { self.content.replace('\n', "\r\n") } else { given() };
                let text = if mode == WriteMode::Append { old.text.into_owned() + &new } else { new };
                Ok((encoded(path, text, old.encoding)?, keeps_crlf))
            }
            (Err(_), WriteMode::Overwrite | WriteMode::Create) => Ok((given().into_bytes(), false)),
            // Almost any encoding without NUL bytes has these characters at the same places.
            (Err(_), WriteMode::Append) if self.content.is_ascii() && !before.content.contains(&0) => {
                Ok(([&before.content, self.content.as_bytes()].concat(), false))
            }
            (Err(error), WriteMode::Append) => Err(error),
        }
    }
}
