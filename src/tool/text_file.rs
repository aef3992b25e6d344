//! Text of files: whatever its encoding, tools work on characters, and write them back in the encoding of the file.

use std::borrow::Cow;

use workspace::{FileChange, FileState, WorkspacePath};

use super::ToolError;
use crate::base::encoding::{Decoded, NotText, TextEncoding, decode};

/// Returns a file's content as text, or an error with the way out if it is none.
pub(super) fn text_of<'a>(path: &WorkspacePath, state: &'a FileState) -> Result<Decoded<'a>, ToolError> {
    decode(&state.content).map_err(|reason| {
        ToolError::Refused(match reason {
            NotText::Binary => format!("{path} is a binary file ({} bytes), not text", state.content.len()),
            NotText::Unknown(at) => format!(
                "{path} has an unknown encoding (byte {at} is not UTF-8), so only a command can read or change it, \
                 such as run_command(command=\"iconv -f ENCODING -t utf-8 {}\")",
                shlex::try_quote(path.as_str()).unwrap_or_default()
            ),
        })
    })
}

/// Encodes the new text of a file. The error names what the encoding does not have, or says that the file would be read as
/// something else.
pub(super) fn encoded(
    path: &WorkspacePath,
    text: String,
    encoding: TextEncoding,
) -> Result<Vec<u8>, ToolError> {
    let refused = |reason: String| {
        ToolError::Refused(format!(
            "{path}: {reason}; write it in other characters, or convert the file by a command (iconv) first; nothing was changed"
        ))
    };
    let text = without_mark(&text, encoding).map(str::to_owned).unwrap_or(text);
    let bytes = encoding.encode(text).map_err(|error| refused(error.to_string()))?;
    let is_the_same = || {
        encoding == TextEncoding::Utf8
            || bytes.is_ascii()
            || decode(&bytes).is_ok_and(|now| now.encoding == encoding)
    };
    if !is_the_same() {
        return Err(refused(format!("in {encoding}, this text would be misread as another encoding")));
    }
    Ok(bytes)
}

/// Returns a text without the mark at its beginning, as a character or as the code that it is shown with, if the encoding has its
/// mark anyway.
pub(super) fn without_mark(text: &str, encoding: TextEncoding) -> Option<&str> {
    let is_mark = |mark: &&str| text.starts_with(mark);
    let mark = ["\u{feff}", "⟨U+FEFF⟩"].into_iter().find(is_mark).filter(|_| encoding.has_mark())?;
    Some(&text[mark.len()..])
}

/// Returns a remark on the encoding of a file, if it is not the usual one.
pub(super) fn remark(state: &FileState) -> Option<String> {
    let encoding = decode(&state.content).ok()?.encoding;
    (encoding != TextEncoding::Utf8).then(|| format!("in {encoding}, which edits keep"))
}

/// Returns a change with both sides in UTF-8 where they are text in another encoding, for what is told of it.
pub(super) fn readable(change: &FileChange) -> Cow<'_, FileChange> {
    let text = |state: &FileState| match decode(&state.content) {
        Ok(Decoded { text, encoding }) if encoding != TextEncoding::Utf8 => {
            Some(FileState { content: text.as_bytes().into(), mode: state.mode })
        }
        _ => None,
    };
    let sides = [&change.before, &change.after].map(|side| side.as_ref().and_then(text));
    match sides {
        [None, None] => Cow::Borrowed(change),
        [before, after] => Cow::Owned(FileChange {
            path: change.path.clone(),
            before: before.or_else(|| change.before.clone()),
            after: after.or_else(|| change.after.clone()),
        }),
    }
}
