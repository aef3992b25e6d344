//! Tool `edit_file`.

use sanitize::invisible::unmarked;
use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::{resolve, text};
use super::write_file::store;
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};

/// Tool that replaces one block of text.
pub(super) struct EditFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// Exact text to replace; must occur exactly once
    old_str: String,
    /// Text to put in its place
    new_str: String,
}

impl FileTool for EditFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "edit_file",
            description: "Replace one exact block of text in a file. Include enough surrounding lines to \
                          make it unique. Returns the diff.",
            sensitive: true,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let before = cx.workspace.read(&path)?;
        let content = text(&path, &before)?;
        let stale = cx.seen.is_stale(&path, &before);
        let edited = replace(content, &args.old_str, &args.new_str).map_err(|mut reason| {
            if stale {
                reason += "; the file has changed since it was last read; read it again";
            }
            ToolError::Refused(reason)
        })?;
        let mut result = store(&path, Some(before.clone()), edited.into_bytes(), cx)?;
        if let Some(change) = result.changes.first() {
            result.output = change.diff();
        }
        Ok(result)
    }
}

/// Replaces `old`, which has to occur exactly once. Files are shown with codes in place of invisible
/// characters, so a block that is not found as it is may have been quoted with these codes.
fn replace(content: &str, old: &str, new: &str) -> Result<String, String> {
    let meant = unmarked(old);
    if meant != old && !content.contains(old) && content.contains(&meant) {
        return replace_once(content, &meant, &unmarked(new));
    }
    replace_once(content, old, new)
}

/// Replaces `old`, which has to occur exactly once. The error tells the model why not.
fn replace_once(content: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err("old_str is empty; to create or replace a whole file use write_file".to_owned());
    }
    // In a file with Windows line ends, a block given with plain line ends means the same lines.
    let crlf = content.contains("\r\n") && !has_lone_newline(content);
    let (old, new) = if crlf { (to_crlf(old), to_crlf(new)) } else { (old.to_owned(), new.to_owned()) };
    if old == new {
        return Err("old_str and new_str are the same; nothing to change".to_owned());
    }
    let found: Vec<usize> = overlapping(content, &old).take(20).collect();
    match found.as_slice() {
        [at] => Ok([&content[..*at], &new, &content[at + old.len()..]].concat()),
        [] => Err(format!("old_str not found{}", near_miss(content, &old))),
        several => {
            let lines: Vec<String> = several.iter().map(|at| line_of(content, *at).to_string()).collect();
            Err(format!("old_str is not unique ({}): lines {}", several.len(), lines.join(", ")))
        }
    }
}

/// Returns the positions of `needle`, including overlapping ones, because either could be meant.
fn overlapping<'a>(content: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + content.get(from..)?.find(needle)?;
        from = at + step;
        Some(at)
    })
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

fn has_lone_newline(content: &str) -> bool {
    content.match_indices('\n').any(|(at, _)| at == 0 || content.as_bytes()[at - 1] != b'\r')
}

fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns a hint where the block would be found if whitespace were ignored; empty if nowhere.
fn near_miss(content: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let have: Vec<&str> = content.lines().map(str::trim).collect();
    let Some(first) = wanted.first() else { return String::new() };
    let at = have.iter().position(|line| line == first);
    match at {
        Some(at)
            if have[at..].iter().filter(|line| !line.is_empty()).take(wanted.len()).eq(wanted.iter()) =>
        {
            format!("; line {} has it with different whitespace", at + 1)
        }
        Some(at) => format!("; its first line is line {}, but the lines after it differ", at + 1),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{replace, replace_once};

    #[test]
    fn a_block_may_be_quoted_as_it_was_shown() {
        for (content, old, new, expected) in [
            ("a\u{200b}b c", "a⟨U+200B⟩b", "a⟨U+200B⟩d", Ok("a\u{200b}d c")),
            ("a\u{200b}b c", "a⟨U+200B⟩b", "ab", Ok("ab c")),
            ("a⟨U+200B⟩b", "a⟨U+200B⟩b", "x⟨U+200B⟩", Ok("x⟨U+200B⟩")),
            ("ab", "a⟨U+200B⟩b", "x", Err("old_str not found")),
        ] {
            assert_eq!(
                replace(content, old, new).as_deref().map_err(String::as_str),
                expected,
                "{content:?}"
            );
        }
    }

    #[test]
    fn a_block_is_replaced_where_it_is_unique() {
        let cases = [
            ("a\nb\nc\n", "b", "B", Ok("a\nB\nc\n")),
            ("a\nb", "b", "B", Ok("a\nB")),
            ("a\r\nb\r\n", "a\nb", "x\ny", Ok("x\r\ny\r\n")),
            ("a\r\nb\nc\n", "b\nc", "x", Ok("a\r\nx\n")),
            ("ünïcode\n", "ï", "i", Ok("ünicode\n")),
            ("aXa", "a", "b", Err("old_str is not unique (2): lines 1, 1")),
            ("aaa", "aa", "b", Err("old_str is not unique (2): lines 1, 1")),
            ("a", "z", "b", Err("old_str not found")),
            (
                "  if x:\n    y\n",
                "if x:\n  y",
                "",
                Err("old_str not found; line 1 has it with different whitespace"),
            ),
            (
                "a\nb\n",
                "a\nc",
                "",
                Err("old_str not found; its first line is line 1, but the lines after it differ"),
            ),
            ("a", "", "b", Err("old_str is empty; to create or replace a whole file use write_file")),
            ("a", "a", "a", Err("old_str and new_str are the same; nothing to change")),
        ];
        for (content, old, new, expected) in cases {
            let result = replace_once(content, old, new);
            assert_eq!(result.as_deref().map_err(String::as_str), expected, "{content:?} {old:?} {new:?}");
        }
    }
}
