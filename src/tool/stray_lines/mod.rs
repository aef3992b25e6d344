//! Stray lines: what a change adds that was hardly meant to become part of a file, such as numbers before lines, words in place of lines
//! that are gone, or the marks of a patch. Where the language of the file settles it, they are refused; otherwise the model is told.

mod left_out;

use std::sync::LazyLock;

use outline::first_syntax_error;
use regex::Regex;
use workspace::{FileChange, FileState};

use super::file_kind::FileKind;
use super::numbered_block::{Mark, has_mark, number_before};
use super::text_file::readable;
use crate::base::text::shortened;

/// Longest part of a line that is shown.
const MAX_SHOWN: usize = 100;

/// Lines that a change adds next to each other, in place of lines that are gone.
struct Addition<'a> {
    /// The number of the first one in the new file.
    line: usize,
    /// The number of the first line in the old file that is gone, or of the next one there.
    old_line: usize,
    added: Vec<&'a str>,
    /// Number of lines that are gone, and of those among them that are not blank.
    gone: usize,
    removed: usize,
}

/// Consecutive numbers before lines.
struct Numbers<'a> {
    /// The first line with its number.
    line: &'a str,
    count: usize,
    mark: Mark,
    /// Whether they are those of the lines, in the old file or in the new one.
    are_own: bool,
    /// Whether the lines come in place of others.
    are_in_place: bool,
}

/// Marks of patches and of merges, and line ends that are written as escapes in a comment.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:\*\*\*\ (?:Begin\ Patch|End\ Patch|Update\ File:\ |Add\ File:\ |Delete\ File:\ )
          | @@\ -\d+(?:,\d+)?\ \+\d+(?:,\d+)?\ @@ | <{7}\ \S | >{7}\ \S
          | \s*(?:\#|//)[^\x22'`]*\\n\s{2,}\S )",
    )
    .ok()
});

fn is_match(form: &LazyLock<Option<Regex>>, line: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(line))
}

/// Returns the first number of a part of a hunk's header, such as `12` of `-12,3`.
fn start(range: Option<&str>) -> usize {
    let digits = range.unwrap_or_default().trim_start_matches(['-', '+']);
    digits.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(1).max(1)
}

/// Returns the additions of a unified diff.
fn additions(diff: &str) -> Vec<Addition<'_>> {
    let mut all: Vec<Addition<'_>> = Vec::new();
    let (mut line, mut old_line, mut is_open) = (1, 1, false);
    for text in diff.lines() {
        if let Some(header) = text.strip_prefix("@@ ") {
            let mut ranges = header.split(' ');
            (old_line, line, is_open) = (start(ranges.next()), start(ranges.next()), false);
            continue;
        }
        let sign = text.as_bytes().first();
        if !matches!(sign, Some(b'+' | b'-')) {
            let is_line = sign != Some(&b'\\');
            is_open &= !is_line;
            (line, old_line) = (line + usize::from(is_line), old_line + usize::from(is_line));
            continue;
        }
        if !is_open {
            all.push(Addition { line, old_line, added: Vec::new(), gone: 0, removed: 0 });
            is_open = true;
        }
        let (Some(addition), Some(text)) = (all.last_mut(), text.get(1..)) else { continue };
        if sign == Some(&b'+') {
            addition.added.push(text);
            line += 1;
        } else {
            addition.gone += 1;
            addition.removed += usize::from(!text.trim().is_empty());
            old_line += 1;
        }
    }
    all
}

impl<'a> Addition<'a> {
    /// Returns the first consecutive numbers before the lines, of which one at least has a text.
    fn numbers(&self) -> Option<Numbers<'a>> {
        let mut at = 0;
        while let Some(line) = self.added.get(at).copied() {
            let Some((first, Some(mark), _)) = number_before(line) else {
                at += 1;
                continue;
            };
            let follows = |(index, line): &(usize, &&str)| {
                number_before(line).is_some_and(|(number, own, _)| {
                    Some(number) == first.checked_add(*index) && own.is_none_or(|own| own == mark)
                })
            };
            let run: Vec<&str> =
                self.added.iter().skip(at).enumerate().take_while(follows).map(|(_, line)| *line).collect();
            let has_text =
                run.iter().any(|line| number_before(line).is_some_and(|(.., text)| !text.trim().is_empty()));
            if has_text {
                let is_of_gone = (self.old_line..self.old_line + self.gone).contains(&first);
                // Keys are often small numbers.
                let are_own = first == self.line + at || is_of_gone && mark != Mark::Colon;
                return Some(Numbers { line, count: run.len(), mark, are_own, are_in_place: self.gone > 0 });
            }
            at += run.len();
        }
        None
    }

    /// Returns the first line that says that others are left out, if more lines are gone than come in their place beside it.
    fn left_out(&self, texts: &Texts<'_>) -> Option<&'a str> {
        let is_left_out =
            |(at, line): &(usize, &&str)| left_out::says_so(line) && !texts.has_as_code(self.line - 1 + at);
        let found = *self.added.iter().enumerate().find(is_left_out)?.1;
        let others = self.added.iter().filter(|line| !line.trim().is_empty() && **line != found).count();
        let others = if left_out::is_of_dots(found) { others } else { others + 1 };
        (self.removed > others).then_some(found)
    }
}

/// Returns the fence that opens what a change adds, if another one ends it.
fn fence<'a>(additions: &[Addition<'a>]) -> Option<&'a str> {
    let first = *additions.first()?.added.first()?;
    let last = *additions.last()?.added.last()?;
    (first.trim_start().starts_with("```") && last.trim() == "```" && first.trim() != "```").then_some(first)
}

/// Texts of a file before and after a change.
struct Texts<'a> {
    name: &'a str,
    before: &'a str,
    after: &'a str,
}

impl<'a> Texts<'a> {
    /// Returns the texts of a change in UTF-8 that leaves a file.
    fn of(change: &'a FileChange) -> Option<Self> {
        let text = |state: &'a FileState| std::str::from_utf8(&state.content).ok();
        let before = change.before.as_ref().map_or(Some(""), text)?;
        Some(Self { name: change.path.file_name()?, before, after: text(change.after.as_ref()?)? })
    }

    /// Returns numbers that hardly belong to the lines that a change adds: the file has no such lines, and its kind seldom has.
    fn numbers<'b>(&self, additions: &[Addition<'b>]) -> Option<Numbers<'b>> {
        let is_meant = |numbers: &Numbers<'_>| has_mark(self.before, numbers.mark);
        let kind = FileKind::of(self.name);
        let counts = |numbers: &Numbers<'_>| match numbers.mark {
            Mark::Tab => numbers.are_own || numbers.count > 1 && kind.has_no_numbers() || self.breaks_file(),
            Mark::Bar if numbers.count > 1 => numbers.are_own || self.breaks_file(),
            Mark::Bar => numbers.are_own && self.breaks_file(),
            Mark::Colon => numbers.are_own && numbers.count > 1 && self.breaks_file(),
        };
        if kind.is_data() {
            return None;
        }
        additions
            .iter()
            .find_map(|addition| addition.numbers().filter(|found| counts(found) && !is_meant(found)))
    }

    /// Returns whether only the new text has lines that end in CRLF and others that end in LF.
    fn mixes_line_ends(&self) -> bool {
        let is_mixed = |text: &str| {
            let crlf = text.matches("\r\n").count();
            crlf > 0 && crlf < text.matches('\n').count()
        };
        is_mixed(self.after) && !is_mixed(self.before)
    }

    /// Returns whether the file parsed before and no longer does.
    fn breaks_file(&self) -> bool {
        first_syntax_error(self.name, self.after).is_some()
            && first_syntax_error(self.name, self.before).is_none()
    }

    /// Returns whether the language of the file says that the numbers are no part of it. What it takes may be the text of a string, a
    /// number with a colon may be a key, and where there is no grammar, lines of a table may be part of a script.
    fn excludes(&self, numbers: &Numbers<'_>) -> bool {
        let kind = FileKind::of(self.name);
        if numbers.mark == Mark::Colon {
            false
        } else if kind.has_such_grammar() {
            self.breaks_file() || numbers.are_own && first_syntax_error(self.name, self.before).is_some()
        } else {
            kind.has_no_numbers() && numbers.mark == Mark::Tab && numbers.are_own && numbers.are_in_place
        }
    }
}

/// Returns why a change is not made: lines that it adds begin with numbers, which the language of the file does not have there.
pub(super) fn refusal(change: &FileChange) -> Option<String> {
    let change = readable(change);
    let texts = Texts::of(&change)?;
    // Most files have no such lines, and a diff takes more time than to find that out.
    if ![Mark::Tab, Mark::Bar, Mark::Colon].iter().any(|mark| has_mark(texts.after, *mark)) {
        return None;
    }
    let diff = change.diff();
    let numbers = texts.numbers(&additions(&diff)).filter(|numbers| texts.excludes(numbers))?;
    Some(format!(
        "the new lines of {} begin with line numbers, such as `{}`, which would be written to it; nothing was changed: give them without \
         numbers",
        change.path,
        shortened(numbers.line.trim(), MAX_SHOWN)
    ))
}

/// Returns a warning on what a change has added that was hardly meant to be part of the file.
pub(super) fn warning(change: &FileChange) -> Option<String> {
    let change = readable(change);
    let texts = Texts::of(&change)?;
    let diff = change.diff();
    let additions = additions(&diff);
    let (path, shown) = (&change.path, |line: &str| shortened(line.trim(), MAX_SHOWN));
    if let Some(numbers) = texts.numbers(&additions) {
        return Some(format!(
            "[warning: new lines of {path} begin with numbers, such as `{}`; if they are those of the lines, take them out]",
            shown(numbers.line)
        ));
    }
    if let Some(line) = additions
        .iter()
        .find_map(|addition| addition.left_out(&texts))
        .filter(|line| !texts.before.contains(line.trim()))
    {
        return Some(format!(
            "[warning: `{}` is now in {path} as it is, and lines are gone; if it stands for them, put them back]",
            shown(line)
        ));
    }
    if texts.mixes_line_ends() {
        return Some(format!(
            "[warning: some lines of {path} end in CRLF now, and some in LF; before, all had the same end]"
        ));
    }
    let may_be_meant = FileKind::of(texts.name).may_hold_patches();
    let is_mark = |line: &&str| is_match(&MARK, line) && !texts.before.contains(*line);
    let mark = additions.iter().flat_map(|addition| addition.added.iter().copied()).find(is_mark);
    mark.or_else(|| fence(&additions)).filter(|_| !may_be_meant).map(|line| {
        format!(
            "[warning: `{}` is now in {path} as it is; if it is a mark around lines or stands for line ends, take it out]",
            shown(line)
        )
    })
}

#[cfg(test)]
mod tests {
    use workspace::{Mode, WorkspacePath};

    use super::*;

    fn change(name: &str, before: &str, after: &str) -> FileChange {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let before = Some(before).filter(|text| !text.is_empty()).map(state);
        FileChange::new(WorkspacePath::parse(name).expect("a path"), before, Some(state(after)))
            .expect("a change")
    }

    #[test]
    fn numbers_are_refused_where_the_language_has_none() {
        const PY: &str = "a = 1\nb = 2\nc = 3\n";
        const YML: &str = "a: 1\nb: 2\nc: 3\n";
        for (name, before, after, [refused, warned]) in [
            ("a.py", PY, "a = 1\n2\tb = 5\nc = 3\n", [true, true]),
            ("a.py", PY, "a = 1\n2| b = 5\n3| c = 4\n", [true, true]),
            ("a.py", PY, "a = 1\n2 | b = 5\nc = 3\n", [true, true]),
            ("a.py", PY, "a = 1\n2: b = 5\n3: c = 4\n", [false, true]),
            // The numbers that the lines had before others came above them.
            ("a.py", PY, "a = 1\nx = 0\n2\tb = 5\nc = 3\n", [true, true]),
            ("a.py", PY, "a = 1\n7\tb = 5\n8\tc = 4\n", [true, true]),
            // Text of a string, one operand of several, keys.
            ("a.py", PY, "a = '''\n2\tb\n3\tc\n'''\n", [false, true]),
            ("a.py", PY, "a = (1\n| 2\n| 3)\n", [false, false]),
            ("a.py", PY, "a = {\n2: 5,\n3: 6,\n}\n", [false, false]),
            ("a.py", "a = '''\n1\tx\n'''\n", "a = '''\n1\tx\n2\ty\n3\tz\n'''\n", [false, false]),
            ("a.yml", YML, "a: 1\n2\tb: 5\nc: 3\n", [true, true]),
            ("a.yml", YML, "a: 1\n2| b: 5\n3| c: 4\n", [false, true]),
            ("a.sh", "", "cat <<E\n1\ta\n2\tb\nE\n", [false, true]),
            ("a.sh", "", "case $1 in\n  1 | one) a ;;\n  2 | two) b ;;\nesac\n", [false, false]),
            ("a.sql", "", "COPY a FROM stdin;\n1\ta\n2\tb\n", [false, false]),
            ("a.yml", YML, "a: |\n  7\tb\n  8\tc\n", [false, true]),
            ("a.yml", YML, "2: b\n3: c\n", [false, false]),
            ("a.md", "# a\n\nb\n", "# a\n\n3\tB\n4\tC\n", [false, true]),
            ("a.md", "# a\n\nb\n", "# a\n\n1\tB\n2\tC\n", [false, false]),
            ("a.md", "# a\n\nb\n", "# a\n\n1. B\n2. C\n", [false, false]),
            ("a.tsv", "x\ty\n", "1\ta\n2\tb\n", [false, false]),
            ("a.py", "", "1\ta = 1\n2\tb = 2\n", [true, true]),
        ] {
            let change = change(name, before, after);
            let found = [refusal(&change), warning(&change)];
            assert_eq!(
                found.each_ref().map(Option::is_some),
                [refused, warned],
                "{name} {after:?}: {found:?}"
            );
        }
    }

    #[test]
    fn words_for_lines_that_are_gone_and_marks_of_patches_are_told() {
        const OLD: &str = "a = 1\nb = 2\nc = 3\nd = 4\n";
        const PY: &str = "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    return x\n";
        for (before, after, warned) in [
            (OLD, "a = 1\n# --- rest of file ---\n", true),
            (OLD, "a = 5\n/* unchanged */\n", true),
            (OLD, "a = 5\n// <existing code>\n", true),
            (OLD, "a = 5\n...\n", true),
            // Nothing is gone, or as many lines come in their place.
            (OLD, "a = 1\n# ... 45 more lines ...\n", true),
            (OLD, "a = 1\n# ...rest\n", true),
            (OLD, "a = 1\n# [truncated]\n", true),
            (OLD, "a = 1\n# No changes needed below this line\n", true),
            (OLD, "a = 1\n# 其余代码保持不变\n", true),
            (OLD, "a = 1\n  // ...\nc = 3\nd = 4\n", true),
            (OLD, "```sh\na = 1\n```\nb = 2\nc = 3\nd = 4\n", true),
            (OLD, "    # new\\n    x = 2\\n    return x\nb = 2\nc = 3\nd = 4\n", true),
            (OLD, "# split at \\n and trim\nb = 2\nc = 3\nd = 4\n", false),
            (OLD, "a = 1\nb = 2\nc = 3\nd = 4\n# the other settings stay as before\n", false),
            (OLD, "a = 1\n# other options\nb = 3\nc = 4\nd = 5\n", false),
            (OLD, "a = 1\n# nothing to see\n", false),
            (OLD, "a = 1\n...defaults,\n", false),
            (OLD, "a = 1\n<p>The rest of the world</p>\n", false),
            (OLD, "a = 1\n#rest of the file {\n", false),
            (OLD, "a = 1\nb = 2\nc = 3\n# the rest of the settings comes from the environment\n", false),
            (OLD, "a = 1\nx = `\n```sh\nls\n```\n`\nc = 3\nd = 4\n", false),
            (OLD, "a = 1\nrest_of_file = 2\n", false),
            (OLD, "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> x\nc = 3\nd = 4\n", true),
            ("", "*** Begin Patch\n*** Update File: a\n", true),
            ("", "a\n=======\nb\n", false),
        ] {
            let warning = warning(&change("a.conf", before, after));
            assert_eq!(warning.is_some(), warned, "{after:?}: {warning:?}");
        }
        for (name, before, after, warned) in [
            ("a", OLD, "a = 5\n[rest of the file]\n", true),
            ("a.py", OLD, "a = 5\n[rest of the file]\n", true),
            ("a.toml", OLD, "[\"other settings\"]\n", false),
            ("a.ini", OLD, "[Other Settings]\nd = 4\n", false),
            ("a.py", PY, "def f(x):\n    ...\n", false),
            ("a.py", PY, "def f(x):\n    \"\"\"Does it.\"\"\"\n    ...\n\n\nx = 1\n", false),
            ("a.pyi", PY, "class A:\n    ...\n", false),
            ("a.py", PY, "def f(x):\n    a = 1\n    ...\n    return x\n", true),
            ("a.py", PY, "def f(x):\n    ...\n    return x\n", true),
            ("a.py", PY, "def f(x):\n    # ...\n    return x\n", true),
            ("a.py", PY, "...\n", true),
            ("a.py", PY, "def f(x):\n    \"\"\"\n    >>> f(1)\n    1\n    ...\n    \"\"\"\n", false),
            ("a.c", "void f(char *a,\n  int b,\n  int c,\n  int d);\n", "void f(char *a,\n  ...);\n", false),
            ("a.lua", "f(\n  a,\n  b,\n  c\n)\n", "f(\n  ...\n)\n", false),
            ("a.lua", OLD, "a = 1\n...\n", true),
            ("a.js", OLD, "a = 1\n{/* ... */}\n", true),
            ("a.js", OLD, "a = 1\n[...]\n", true),
        ] {
            let warning = warning(&change(name, before, after));
            assert_eq!(warning.is_some(), warned, "{name} {after:?}: {warning:?}");
        }
        for (before, after, warned) in [
            ("a\nb\n", "a\nc\r\n", true),
            ("a\r\nb\r\n", "a\r\nc\n", true),
            ("a\nb\n", "a\r\nb\r\n", false),
            ("a\nb\r\n", "a\nc\r\n", false),
        ] {
            assert_eq!(warning(&change("a.conf", before, after)).is_some(), warned, "{after:?}");
        }
        assert_eq!(warning(&change("a.patch", "", "@@ -1,2 +1,2 @@\n-a\n+b\n")), None);
    }
}
