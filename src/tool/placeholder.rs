//! Placeholders in new text: lines such as `// ... existing code ...`, which stand for lines that the text leaves out. Written to a file,
//! they would take the place of what they stand for.

use std::sync::LazyLock;

use patch::search_replace;
use regex::Regex;

use crate::base::text::shortened;

/// A comment of nothing but dots and words for what is there already.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let what = r"(?:existing|unchanged|remaining|previous|original|other|same|rest of|remainder of|omitted|remains? (?:the same|unchanged)|keep|as before)";
    let mark = r"(?://+|#+|--+|;+|%+|/\*+|<!--|\{/\*|\*)";
    let end = r"\s*(?:\*/\}?|-->)?\s*$";
    let dots = r"(?:\.{3}|…)";
    let about = format!(r"[^.…\n]{{0,60}}\b{what}\b[^.…\n]{{0,60}}");
    let rest = r"(?:the )?(?:rest of|remaining|existing)\b[^.…\n]{0,60}\b(?:code|file|function|class|method|content|implementation|unchanged|the same|here)\b[^.…\n]{0,40}";
    // Without the mark of a comment, dots at one end alone may be syntax: `...existing,`.
    Regex::new(&format!(
        r"(?i)^\s*(?:{mark}\s*(?:{dots}{about}{dots}?|[\(\[]?{rest}{dots}[\)\]]?)|{dots}{about}{dots}){end}"
    ))
    .ok()
});

/// Returns what a text has in place of a file's own lines: a placeholder, or marks of an edit. A file that has it already may keep it.
pub(super) fn found<'a>(new: &'a str, old: &str) -> Option<&'a str> {
    let is_placeholder = |line: &&str| PLACEHOLDER.as_ref().is_some_and(|form| form.is_match(line));
    let line = new.lines().find(is_placeholder);
    let found = line.map(str::trim).filter(|line| !old.contains(line));
    found.or_else(|| edit(new).filter(|_| edit(old).is_none()))
}

/// Returns the first line of a text that is an edit: a patch, or blocks to search for and replace.
fn edit(text: &str) -> Option<&str> {
    // Before it, there may be a fence, and the name of a file.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("```"));
    let first = lines.next()?;
    let is_patch = first.starts_with("*** Begin Patch")
        || first.starts_with("diff --git ")
        || first.starts_with("--- ") && text.contains("\n+++ ") && text.contains("\n@@");
    let is_block = (search_replace::is_meant(first) || lines.next().is_some_and(search_replace::is_meant))
        && search_replace::parse(text).is_none_or(|blocks| !blocks.is_empty());
    (is_patch || is_block).then_some(first)
}

/// Returns why a text with a placeholder is not written.
pub(super) fn refusal(argument: &str, line: &str, path: &str) -> String {
    format!(
        "`{}` in {argument} stands for something else, and would be written as it is; nothing was changed: give the text itself, or \
         change a part of the file: edit_file(path=\"{path}\", old_str=…, new_str=…)",
        shortened(line, 100)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_and_ordinary_comments_are_not() {
        for line in [
            "# ... existing code ...",
            "    // ... rest of the file unchanged",
            "// …existing code…",
            "/* ... remaining methods ... */",
            "<!-- ... existing content ... -->",
            "# ... (keep the other functions as before)",
            "-- rest of the code remains the same ...",
            "...existing code...",
        ] {
            assert!(found(line, "").is_some(), "{line}");
            assert_eq!(found(line, &format!("a\n{line}\n")), None, "{line}");
        }
        for line in [
            "# keep existing code",
            "    ...",
            "// The rest of the code is in b.rs.",
            "return [...existing, item]",
            "print('...')",
            "def f(self, ...): ...",
            "const all = { ...other, ...same }",
            "    ...existing,",
            "...rest",
        ] {
            assert_eq!(found(line, ""), None, "{line}");
        }
        assert!(found("*** Begin Patch\n*** End Patch\n", "x = 1\n").is_some());
        assert_eq!(found("diff --git a/new b/new\n", "diff --git a/old b/old\n"), None);
        assert!(found("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "a\n").is_some());
    }
}
