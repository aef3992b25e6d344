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
    /// Add whole lines to the end of the file, which has a line end there afterwards only if it had one.
    #[schemars(skip)]
    Lines,
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
        let NewContent { bytes, keeps_crlf, closes_line } = args.content_of(&path, before.as_ref())?;
        let mut result = store(&path, before, bytes, cx)?;
        if is_replaced && !was_seen && !result.changes.is_empty() {
            result.output += "\n[the file was there already, and you had not read it]";
        }
        if closes_line && !result.changes.is_empty() {
            result.output +=
                "\n[the last line had no end, and got one: the text begins on a line of its own]";
        }
        if keeps_crlf && is_replaced && !result.changes.is_empty() {
            result.output += "\n[line endings are CRLF, as they were]";
        }
        Ok(result)
    }
}

/// Content of a file as it will be.
struct NewContent {
    bytes: Vec<u8>,
    /// Whether the text got the CRLF endings that the file has.
    keeps_crlf: bool,
    /// Whether the last line of the file got an end, so that the text begins on a line of its own.
    closes_line: bool,
}

impl NewContent {
    fn plain(text: String) -> Self {
        Self { bytes: text.into_bytes(), keeps_crlf: false, closes_line: false }
    }
}

impl Args {
    /// Returns the content of the file as it will be. Text keeps its encoding, and what is no text is replaced by text.
    fn content_of(&self, path: &ResolvedPath, before: Option<&FileState>) -> Result<NewContent, ToolError> {
        let adds = matches!(self.mode, WriteMode::Append | WriteMode::Lines);
        let Some(before) = before else { return Ok(NewContent::plain(self.added_to(""))) };
        match text_of(path, before) {
            Ok(old) => {
                // Endings that are given decide, as they do in an edit.
                let keeps_crlf = has_crlf_alone(&old.text) && !self.content.contains('\r');
                let new = if adds { self.added_to(&old.text) } else { self.content.clone() };
                let has_ends = new.contains('\n');
                let new = if keeps_crlf { new.replace('\n', "\r\n") } else { new };
                let closes_line = adds && is_open(&old.text, &self.content);
                let text = if adds { old.text.into_owned() + &new } else { new };
                let bytes = encoded(path, text, old.encoding)?;
                Ok(NewContent { bytes, keeps_crlf: keeps_crlf && has_ends, closes_line })
            }
            Err(_) if !adds => Ok(NewContent::plain(self.content.clone())),
            // Almost any encoding without NUL bytes has these characters at the same places.
            Err(_) if self.content.is_ascii() && !before.content.contains(&0) => {
                let old = String::from_utf8_lossy(&before.content);
                let bytes = [&before.content, self.added_to(&old).as_bytes()].concat();
                Ok(NewContent { bytes, keeps_crlf: false, closes_line: is_open(&old, &self.content) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns what is added to the end of a text, which begins on a line of its own.
    fn added_to(&self, old: &str) -> String {
        let close = if !is_open(old, &self.content) {
            ""
        } else if has_crlf_alone(old) && self.content.contains('\r') {
            "\r\n"
        } else {
            "\n"
        };
        match self.mode {
            WriteMode::Lines => {
                let (lines, end) = match self.content.strip_suffix("\r\n") {
                    Some(lines) => (lines, "\r\n"),
                    None => (self.content.strip_suffix('\n').unwrap_or(&self.content), "\n"),
                };
                let end = if old.is_empty() || old.ends_with('\n') { end } else { "" };
                format!("{close}{lines}{end}")
            }
            _ => format!("{close}{}", self.content),
        }
    }
}

/// Returns whether the last line of a text has no end, and a text that is added to it does not begin with one.
fn is_open(old: &str, added: &str) -> bool {
    !old.is_empty() && !old.ends_with('\n') && !added.is_empty() && !added.starts_with(['\n', '\r'])
}
