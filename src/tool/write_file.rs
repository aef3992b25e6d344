//! Tool `write_file`.

use patch::has_crlf_alone;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, FileState, ResolvedPath};

use super::diff_as_text::Place;
use super::line_ends::plain;
use super::misquoted_file::{Meant, meant, meant_part};
use super::outcome::store;
use super::path_forms::lines_behind;
use super::read_file::resolve;
use super::text_file::{encoded, text_of};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult, numbered_text, placeholder};
use crate::event::Effects;

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
    /// Replace the file by this very text, which nobody quoted from memory.
    #[schemars(skip)]
    Exact,
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
        let is_replaced = before.is_some() && matches!(args.mode, WriteMode::Overwrite | WriteMode::Exact);
        let was_seen = cx.seen.contains(&path);
        if is_replaced && before.as_ref().is_some_and(|state| cx.seen.is_stale(&path, state)) {
            return Err(ToolError::Refused(format!(
                "{path} has changed since it was last read; read it again before replacing it"
            )));
        }
        let old = before.as_ref().and_then(|state| text_of(&path, state).ok());
        let old = old.as_ref().map(|old| old.text.as_ref());
        // People write in a recipe what they mean, and what its edits make of a file is exact.
        let meant = if cx.explains_edits { args.meant(&path, old, is_replaced)? } else { None };
        let content = meant.as_ref().map_or(args.content.as_str(), |meant| meant.text.as_str());
        if before.is_none()
            && let Some(file) = with_lines_behind(&path, cx)
        {
            return Err(ToolError::Refused(format!(
                "{path} does not exist, but {file} does, and lines are no part of a file's name; to change some of them: \
                 edit_file(path=\"{file}\", old_str=…, new_str=…), to replace all of them: write_file(path=\"{file}\", content=…)"
            )));
        }
        let NewContent { bytes, keeps_crlf, closes_line } =
            args.content_of(content, &path, before.as_ref())?;
        let mut result = store(&path, before, bytes, cx)?;
        if is_replaced && !was_seen && !result.changes.is_empty() {
            result.output += "\n[the file was there already, and you had not read it]";
        }
        if let Some(meant) = meant {
            result.output += &format!("\n[{}]", meant.note);
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

/// Returns the file that is meant by a path with lines behind it at which there is nothing.
fn with_lines_behind(path: &ResolvedPath, cx: &Context) -> Option<ResolvedPath> {
    let lines = lines_behind(path.as_str())?;
    let file = resolve(lines.path, cx).ok()?;
    matches!(cx.workspace.stat(&file), Ok(Some(_))).then_some(file)
}

impl Args {
    /// Returns the text that is meant for a file with an `old` text, or `None` if it is the one that is given. What stands for other text
    /// is none.
    fn meant(
        &self,
        path: &ResolvedPath,
        old: Option<&str>,
        is_replaced: bool,
    ) -> Result<Option<Meant>, ToolError> {
        let is_part = matches!(self.mode, WriteMode::Append | WriteMode::Lines);
        let name = path.file_name().unwrap_or_default();
        let file = old.unwrap_or_default();
        let whole = |text: &str| if is_part { format!("{file}{text}") } else { text.to_owned() };
        let place = Place { name, old: old.filter(|_| is_replaced), file, whole: &whole };
        let diff = place.meant("content", path.as_str(), &self.content)?;
        let other = || {
            if is_part {
                meant_part(name, &self.content, file, &whole)
            } else {
                meant(name, &self.content, old)
            }
        };
        let meant = diff.or_else(other);
        let content = meant.as_ref().map_or(self.content.as_str(), |meant| meant.text.as_str());
        if meant.is_none() && numbered_text::is_unclear(name, content, old) {
            return Err(ToolError::Refused(numbered_text::refusal("content", path.as_str())));
        }
        let found = match old {
            Some(old) if is_replaced => placeholder::found(path.as_str(), content, old, content),
            None if !is_part => placeholder::left_out(content, "")
                .or_else(|| placeholder::patch_for_new(path.as_str(), content)),
            old => placeholder::left_out(content, old.unwrap_or_default()),
        };
        match found {
            Some(line) => Err(ToolError::Refused(placeholder::refusal("content", line, path.as_str()))),
            None => Ok(meant),
        }
    }

    /// Returns the content of the file as it will be. Text keeps its encoding, and what is no text is replaced by text.
    fn content_of(
        &self,
        content: &str,
        path: &ResolvedPath,
        before: Option<&FileState>,
    ) -> Result<NewContent, ToolError> {
        let adds = matches!(self.mode, WriteMode::Append | WriteMode::Lines);
        let Some(before) = before else { return Ok(NewContent::plain(self.added_to(content, ""))) };
        match text_of(path, before) {
            Ok(old) => {
                // Of a whole text, the endings that are given decide; what is added has those of the file.
                let is_of_one_kind =
                    old.text.contains('\n') && (has_crlf_alone(&old.text) || !old.text.contains('\r'));
                let added = (adds && is_of_one_kind).then(|| plain(content));
                let content = added.as_deref().unwrap_or(content);
                let keeps_crlf =
                    self.mode != WriteMode::Exact && has_crlf_alone(&old.text) && !content.contains('\r');
                let new = if adds { self.added_to(content, &old.text) } else { content.to_owned() };
                let has_ends = new.contains('\n');
                let new = if keeps_crlf { new.replace('\n', "\r\n") } else { new };
                let closes_line = adds && is_open(&old.text, content);
                let text = if adds { old.text.into_owned() + &new } else { new };
                let bytes = encoded(path, text, old.encoding)?;
                Ok(NewContent { bytes, keeps_crlf: keeps_crlf && has_ends, closes_line })
            }
            Err(_) if !adds => Ok(NewContent::plain(content.to_owned())),
            // Almost any encoding without NUL bytes has these characters at the same places.
            Err(_) if content.is_ascii() && !before.content.contains(&0) => {
                let old = String::from_utf8_lossy(&before.content);
                let bytes = [&before.content, self.added_to(content, &old).as_bytes()].concat();
                Ok(NewContent { bytes, keeps_crlf: false, closes_line: is_open(&old, content) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns what is added to the end of a text, which begins on a line of its own.
    fn added_to(&self, content: &str, old: &str) -> String {
        let close = if !is_open(old, content) {
            ""
        } else if has_crlf_alone(old) && content.contains('\r') {
            "\r\n"
        } else {
            "\n"
        };
        match self.mode {
            WriteMode::Lines => {
                let (lines, end) = match content.strip_suffix("\r\n") {
                    Some(lines) => (lines, "\r\n"),
                    None => (content.strip_suffix('\n').unwrap_or(content), "\n"),
                };
                let end = if old.is_empty() || old.ends_with('\n') { end } else { "" };
                format!("{close}{lines}{end}")
            }
            _ => format!("{close}{content}"),
        }
    }
}

/// Returns whether the last line of a text has no end, and a text that is added to it does not begin with one.
fn is_open(old: &str, added: &str) -> bool {
    !old.is_empty() && !old.ends_with('\n') && !added.is_empty() && !added.starts_with(['\n', '\r'])
}
