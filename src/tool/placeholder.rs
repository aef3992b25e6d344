//! Placeholders in new text: lines such as `// ... existing code ...`, which stand for lines that the text leaves out. Written to a file,
//! they would take the place of what they stand for.

use std::collections::HashMap;
use std::sync::LazyLock;

use patch::{ParseError, Patch, Side, search_replace, sections};
use regex::Regex;
use workspace::{FileChange, FileState, Mode, WorkspacePath};

use super::ToolError;
use super::file_kind::FileKind;
use crate::base::text::shortened;

/// How likely a line stands for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    /// A comment may say it: where more lines go than come in their place, it stands for them.
    Possible,
    /// Where lines go, no comment says this.
    Certain,
}

/// Parts of a line: what makes it a comment, brackets and dots, and what is said between them.
static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let mark = r"(?://+!?|\#+|--+|;+|%+|/\*+|<!--|\{/\*|\(\*|::|\*|@?rem\b|')";
    let dots = r"(?:\.{3,}|…)";
    Regex::new(&format!(
        r"(?ix)^\s* (?P<mark>{mark})?\s* (?P<open>[\[(])?\s* (?P<before>{dots})?(?P<gap>\s*) (?P<inner>[\[(])?\s*
          (?P<about>[^.…]*?)\s* [\])]?\s* (?P<after>{dots})?\s* [\])]?\.?\s* (?:\*/\}}?|-->|\*\)|\#+)?\s*$"
    ))
    .ok()
});

/// What is there already: `the rest of the file`.
const THERE: &str = r"(?:(?:the|all|all\sthe|your|my)\s)?(?:existing|remaining|previous|prior|other|original|unchanged|current|same|rest|remainder)(?:\sof)?(?:\s(?:the|this|your))?(?:\s[\w()]+)?\s(?:code|file|functions?|methods?|class(?:es)?|contents?|implementations?|imports?|lines?|logic|tests?|cases|fields|body|definitions?|properties|props|attributes|styles?|rules?|entries|items|config(?:uration)?|settings|routes|handlers?|script|document|text|sections?|module|statements?|variables?|options|component|template|markup|page)";
/// What becomes of it: `remains unchanged`.
const STATE: &str = r"(?:(?:is|are|stays?|remains?|left|goes|continues?|kept)\s)*(?:unchanged|the\ssame|same|as\sbefore|as\s(?:it|they)\s(?:is|was|are|were)|as\sis|here|omitted|untouched|intact)(?:\s(?:as\sbefore|here|for\sbrevity))?";

/// Words that say that lines are there already, and that they stay.
static STAYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let rest = r"(?:the\s)?(?:rest|remainder|others|everything\selse)";
    Regex::new(&format!(r"(?i)^(?:(?:keep|leave)\s)?(?:{THERE}|{rest})\s{STATE}$")).ok()
});

/// Words that say that lines are there already, or that they stay.
static IS_THERE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^(?:(?:keep|leave)\s)?(?:{THERE}(?:\s{STATE})?|{STATE})$")).ok()
});

/// Words that say that there is more.
static REST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^(?:the\s)?(?:rest|remainder)\sof\s").ok());

/// Words of which one is in what stands for others between dots.
static ABOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:existing|unchanged|remaining|previous|original|other|same|rest of|remainder of|omitted|remains? (?:the same|unchanged)|keep|as before|code|methods|functions)\b").ok()
});

/// Marks that `read_file` puts where it leaves something out.
static LEFT_OUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let range = r"[\d,]+–[\d,]+ of [\d,]+";
    Regex::new(&format!(
        r"… \[columns {range}; continue with [^\]]*\]\s*$|^\s*\[lines {range}(?:; [^\]]*)?\]\s*$"
    ))
    .ok()
});

fn matches(form: &LazyLock<Option<Regex>>, text: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(text))
}

/// Returns whether a line is dots behind the mark of a comment, without a word. In prose, these are a sample's own.
fn is_of_dots(line: &str) -> bool {
    let parts = PARTS.as_ref().and_then(|form| form.captures(line));
    parts.is_some_and(|parts| parts.name("about").is_none_or(|about| about.as_str().is_empty()))
}

/// Returns whether a line stands for others.
fn certainty(line: &str) -> Option<Certainty> {
    use Certainty::{Certain, Possible};
    const LONGEST: usize = 140;
    if line.trim().len() > LONGEST {
        return None;
    }
    let parts = PARTS.as_ref()?.captures(line)?;
    let has = |name: &str| parts.name(name).is_some_and(|part| !part.as_str().is_empty());
    let about = parts.name("about").map_or("", |about| about.as_str());
    let mark = parts.name("mark").map(|mark| mark.as_str());
    let is_bracketed = has("open") || has("inner");
    let is_there = matches(&IS_THERE, about) || matches(&STAYS, about);
    match (has("before"), has("after")) {
        // `*` begins an entry of a list, or a line of a comment that goes on.
        (true, _) | (_, true) if about.is_empty() => mark.filter(|mark| *mark != "*").map(|_| Possible),
        (true, true) if mark.is_some() || is_bracketed || matches(&ABOUT, about) => {
            Some(if is_there { Certain } else { Possible })
        }
        (true, _) | (_, true) if is_there && (mark.is_some() || is_bracketed) => Some(Certain),
        // Without the mark of a comment, dots before one word are syntax: `...existing`.
        (true, _) if is_there && about.contains(' ') => Some(Possible),
        // Behind the blank, a sentence begins; without it, one goes on.
        (true, _) if mark.is_some_and(|mark| mark != "*") && has("gap") && matches(&ABOUT, about) => {
            Some(Possible)
        }
        (false, false) if (mark.is_some() || has("open")) && matches(&STAYS, about) => Some(Possible),
        (false, false) if mark.is_some() && (has("open") || matches(&REST, about)) && is_there => {
            Some(Possible)
        }
        _ => None,
    }
}

/// Returns what a text has in place of a file's own lines: a placeholder, marks of an edit, or one of `read_file`. The text makes `after`
/// of `before`, which may have it already.
pub(super) fn found<'a>(path: &str, new: &'a str, before: &str, after: &str) -> Option<&'a str> {
    left_out(new, before)
        .or_else(|| in_place_of_lines(path, new, before, after))
        .or_else(|| edit(new).filter(|_| !may_be_edit(path, new, before)))
}

/// Returns whether an edit may be meant as the text of a file: it holds one already, or it may hold one and this one is for others.
fn may_be_edit(path: &str, edit: &str, before: &str) -> bool {
    let kind = FileKind::of(path);
    let holds_edit = || self::edit(before).is_some() || !kind.is_code() && holds_patch(before);
    kind.is_patch() || holds_edit() || kind.may_hold_patches() && is_for_others(edit, path)
}

/// Returns the first line of a new file's text that is a patch with marks of its own, unless files of the kind may hold one.
pub(super) fn patch_for_new<'a>(path: &str, new: &'a str) -> Option<&'a str> {
    edit(new).filter(|line| line.starts_with("*** Begin Patch") && !FileKind::of(path).may_hold_patches())
}

/// Returns whether a text has a patch behind other lines, such as the words on it.
fn holds_patch(text: &str) -> bool {
    ["\n*** Begin Patch", "\ndiff --git "].iter().any(|mark| text.contains(mark))
        || ["\n--- ", "\n+++ ", "\n@@ "].iter().all(|mark| text.contains(mark))
}

/// Returns whether a text is a patch for other files than this one.
fn is_for_others(patch: &str, path: &str) -> bool {
    let (Ok(path), Ok(sections)) = (WorkspacePath::parse(path), sections(patch)) else { return false };
    sections
        .iter()
        .all(|section| matches!(section.check(&path, &|_| false), Err(ParseError::OtherFile { .. })))
}

/// Returns the first mark of `read_file` in a text that a file does not have already.
pub(super) fn left_out<'a>(new: &'a str, before: &str) -> Option<&'a str> {
    let form = LEFT_OUT.as_ref()?;
    let mark = |line: &'a str| form.find(line).filter(|_| !before.contains(line.trim()));
    new.lines().find_map(mark).map(|mark| mark.as_str().trim())
}

/// Returns the first line of a text that stands for lines which are gone when it makes `after` of `before`.
pub(super) fn in_place_of_lines<'a>(path: &str, new: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let is_prose = FileKind::of(path).may_hold_patches();
    let is_new = |line: &&str| !(before.contains(line.trim()) || is_prose && is_of_dots(line));
    let placeholders: HashMap<&str, Certainty> =
        new.lines().filter(is_new).filter_map(|line| Some((line.trim(), certainty(line)?))).collect();
    if placeholders.is_empty() {
        return None;
    }
    let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
    let path = WorkspacePath::parse("text").ok()?;
    let diff = FileChange::new(path, Some(state(before)), Some(state(after)))?.diff();
    let (mut removed, mut added, mut standing) = (0, 0, None::<(Certainty, &str)>);
    for line in diff.lines().chain(["@@"]) {
        let text = line.get(1..).unwrap_or_default().trim();
        match line.chars().next() {
            Some('-') => removed += usize::from(!text.is_empty()),
            Some('+') => match placeholders.get_key_value(text) {
                Some((line, certainty)) => standing = standing.max(Some((*certainty, *line))),
                None => added += usize::from(!text.is_empty()),
            },
            Some('\\') => {}
            _ => {
                // A line that has another in its place is not left out.
                match standing {
                    Some((Certainty::Certain, line)) if removed > 0 => return Some(line),
                    Some((Certainty::Possible, line)) if removed > added + 1 => return Some(line),
                    _ => (removed, added, standing) = (0, 0, None),
                }
            }
        }
    }
    None
}

/// Returns the first line of a text that is an edit: a patch, or blocks to search for and replace.
fn edit(text: &str) -> Option<&str> {
    // Before it, there may be a fence, and the name of a file.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("```"));
    let first = lines.next()?;
    let is_patch = begins_patch(first)
        && (!first.starts_with("--- ") || text.contains("\n+++ ") && text.contains("\n@@"));
    let is_block = (search_replace::is_meant(first) || lines.next().is_some_and(search_replace::is_meant))
        && search_replace::parse(text).is_none_or(|blocks| !blocks.is_empty());
    (is_patch || is_block).then_some(first)
}

/// Returns whether a line that was found is the first one of a patch.
fn begins_patch(line: &str) -> bool {
    ["*** Begin Patch", "*** Update File: ", "*** Add File: ", "*** Delete File: ", "diff --git ", "--- "]
        .iter()
        .any(|mark| line.starts_with(mark))
}

/// Returns why a text with a placeholder is not written.
pub(super) fn refusal(argument: &str, line: &str, path: &str) -> String {
    let line = shortened(line, 100);
    if begins_patch(&line) {
        let as_text = if FileKind::of(path).may_hold_patches() {
            "; if it is meant as the text of the file, patch it with these lines as added ones"
        } else {
            ""
        };
        return format!(
            "`{line}` in {argument} begins a patch, which would be written to {path} as text; nothing was changed: apply it: \
             apply_patch(patch=…){as_text}"
        );
    }
    format!(
        "`{line}` in {argument} stands for something else, and would be written as it is; nothing was changed: give the text itself, or \
         change a part of the file: edit_file(path=\"{path}\", old_str=…, new_str=…)"
    )
}

/// Refuses lines that stand for others, where a hunk puts them in place of these.
pub(super) fn check_hunks(path: &str, patch: &Patch, before: &str, after: &str) -> Result<(), ToolError> {
    for hunk in &patch.hunks {
        let (old, new) = (hunk.side(Side::Old).join("\n"), hunk.side(Side::New).join("\n"));
        let line = left_out(&new, before).or_else(|| in_place_of_lines(path, &new, before, after));
        if let Some(line) = line.filter(|line| !old.contains(line)) {
            return Err(ToolError::Refused(refusal("the patch", line, path)));
        }
    }
    Ok(())
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
            "{/* ... existing props ... */}",
            "# ... (keep the other functions as before)",
            "-- rest of the code remains the same ...",
            "...existing code...",
            "[... rest of file ...]",
            "... (rest unchanged)",
            "REM ... existing code ...",
            "//! ... existing code ...",
            "# ... existing code ... #",
            "(* ... existing code ... *)",
            ":: ... existing code ...",
        ] {
            assert_eq!(certainty(line), Some(Certainty::Certain), "{line}");
            let after = format!("a\n{line}\n");
            assert!(found("a.py", line, "a\nb\n", &after).is_some(), "{line}");
            for before in ["a\n", &after] {
                assert_eq!(found("a.py", line, before, &after), None, "{line} {before:?}");
            }
        }
        for line in [
            "// ...",
            "# ...",
            "    /* ... */",
            "<!-- ... -->",
            "REM ...",
            "' ...",
            "// ... code ...",
            "// existing code here",
            "# ... 45 more lines ...",
            "# [... truncated ...]",
            "// rest of the code remains the same",
            "# rest of the file unchanged",
            "// Previous code remains unchanged.",
            "// [rest of the code stays the same]",
            "[rest of the file unchanged]",
            "# ... other handlers like before",
            "# rest of the implementation",
            "{/* rest of the component */}",
        ] {
            assert_eq!(certainty(line), Some(Certainty::Possible), "{line}");
            let after = |text: &str| format!("a\n{line}\n{text}");
            assert!(found("a.py", line, "a\nb\nc\nd\n", &after("D\n")).is_some(), "{line}");
            for (before, text) in [("a\nb\n", "b\n"), ("a\nb\n", "c\nd\n"), ("a\nb\n", "x\n"), ("", "")] {
                assert_eq!(found("a.py", line, before, &after(text)), None, "{line} {before:?}");
            }
        }
        for line in [
            "# keep existing code",
            "# Other options",
            "    ...",
            "// The rest of the code is in b.rs.",
            "return [...existing, item]",
            "print('...')",
            "def f(self, ...): ...",
            "const all = { ...other, ...same }",
            "    ...existing,",
            "...rest",
            "...same",
            "// ...and the same for y",
            "# ...otherwise keep the default",
            " * ... the original value",
            "# loading ...",
            " * ...",
            "* ...",
            "- the same as before",
        ] {
            assert_eq!(certainty(line), None, "{line}");
        }
        assert!(found("a.py", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "a\n", "").is_some());
    }

    #[test]
    fn dots_alone_are_text_of_prose() {
        const OLD: &str = "# A\n\n```js\na();\nb();\nc();\nd();\n```\n";
        for (path, line, is_found) in [
            ("README.md", "// ...", false),
            ("README.md", "# ...", false),
            ("README.md", "<!-- ... -->", false),
            ("docs/a.rst", "# ...", false),
            ("a.txt", "# ...", false),
            ("README.md", "// ... existing code ...", true),
            ("a.js", "// ...", true),
            ("a.js", " * ...", false),
        ] {
            let new = format!("# A\n\n```js\n{line}\n```\n");
            assert_eq!(found(path, &new, OLD, &new).is_some(), is_found, "{path} {line}");
        }
    }

    #[test]
    fn patches_are_text_only_where_text_is_a_patch() {
        const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.txt\n@@\n-a\n+b\n*** End Patch\n";
        const DIFF: &str = "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
        for (path, new, before, is_found) in [
            ("a.py", PATCH, "x = 1\n", true),
            ("a.py", DIFF, "x = 1\n", true),
            ("a.py", DIFF, "x = '''\n--- a\n+++ a\n@@ -1 +1 @@\n'''\n", true),
            ("src/a.txt", PATCH, "a\n", true),
            ("src/a.txt", DIFF, "a\n", true),
            ("src/a.txt", "diff --git a/new b/new\n", "a\n", true),
            ("src/b.golden", PATCH, "a\n", false),
            ("docs/b.md", DIFF, "a\n", false),
            ("b.conf", DIFF, "a\n", true),
            ("a.patch", PATCH, "x = 1\n", false),
            ("debian/patches/01-a.dpatch", DIFF, "x\n", false),
            ("debian/patches/01-a", DIFF, "Subject: a\n\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-c\n+d\n", false),
            ("debian/patches/01-a", DIFF, "From 0 Mon\nSubject: a\n---\ndiff --git a/b b/b\n", false),
            ("a.py", "diff --git a/new b/new\n", "diff --git a/old b/old\n", false),
            // New files.
            ("a.py", PATCH, "", true),
            ("a.yml", PATCH, "", true),
            ("docs/a.md", PATCH, "", false),
            ("a.patch", PATCH, "", false),
            ("a.yml", DIFF, "", false),
        ] {
            let line =
                if before.is_empty() { patch_for_new(path, new) } else { found(path, new, before, new) };
            assert_eq!(line.is_some(), is_found, "{path} {new:?}: {line:?}");
            let says = refusal("content", line.unwrap_or("*** Begin Patch"), path);
            assert!(says.contains("apply_patch(patch=…)"), "{says}");
        }
    }

    #[test]
    fn marks_of_what_was_not_read_are_found() {
        for (line, expected) in [
            ("word… [columns 1–500 of 849; continue with start_line=3, start_column=501]", true),
            ("[lines 1–550 of 3,000; continue with start_line=551]", true),
            ("[lines 2–3 of 3]", true),
            ("[lines 2-3 of 3]", false),
            ("the columns 1–500 of 849", false),
        ] {
            let new = format!("a\n{line}\n");
            assert_eq!(left_out(&new, "b\n").is_some(), expected, "{line}");
            assert_eq!(left_out(&new, &new), None, "{line}");
        }
    }
}
