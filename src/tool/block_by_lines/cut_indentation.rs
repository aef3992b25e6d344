//! Blocks that are quoted without a part of their first line's indentation. The lines behind that one may be written as they are to
//! stand in the file, or by where the first one is written. Where the blocks of the file allow for one of the two alone, it is taken;
//! nothing is guessed.

use super::by_lines;
use crate::tool::replace_block::{Edited, NotReplaced};

/// Marks of texts whose lines are indented by no rule.
const FREE: [&str; 5] = ["\"\"\"", "'''", "<<", "`", "\\\n"];

/// Replaces a line that is quoted without a part of its indentation by several. `None` if it is quoted otherwise, or if the new lines are
/// indented as they are to stand in the file.
pub(in crate::tool) fn by_cut_line(
    content: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Option<Result<Edited, NotReplaced>> {
    // What is quoted of other lines has their indentation, and so has what comes in their place.
    let is_one = !old.trim_end_matches('\n').contains('\n');
    let at = cut_indentation(content, old).filter(|_| is_one && !all && new.trim_end().contains('\n'))?;
    let file = Outline::of(content, at);
    let moved = file.first.checked_sub(indentation(new))?;
    let is_markup = new.lines().any(|line| line.trim_start().starts_with('<'));
    let is_free = is_markup
        || goes_on(new.lines().next().unwrap_or_default())
        || is_mixed(content)
        || FREE.iter().any(|mark| new.contains(mark));
    match (file.fits(new, 0), file.fits(new, moved)) {
        (Some(true), Some(false)) if !is_free => None,
        (Some(false), Some(true)) if !is_free => by_lines(content, old, new, all).ok().map(Ok),
        _ => Some(Err(NotReplaced::because(
            "old_str begins within the indentation of its line, and how the other lines of new_str are to be indented is not certain; \
             nothing was changed: give both texts with the whole indentation of each line",
        ))),
    }
}

/// Returns where the first line of a block begins, if the block begins behind a part of its indentation.
fn cut_indentation(content: &str, old: &str) -> Option<usize> {
    let at = content.find(old).filter(|_| old.starts_with([' ', '\t']))?;
    let line = content[..at].rfind('\n').map_or(0, |end| end + 1);
    (line < at && content[line..at].trim().is_empty()).then_some(line)
}

/// Returns whether some lines of a text begin with blanks, and others with tabs. Within comments, blanks line marks up.
fn is_mixed(text: &str) -> bool {
    let begins = |blank: char| text.lines().any(|line| line.starts_with(blank) && !line.starts_with(" *"));
    begins(' ') && begins('\t')
}

/// Indentation of the lines around one of a file.
struct Outline {
    /// Indentation of the line.
    first: usize,
    /// Indentation of the blocks that it is in, the innermost last.
    outer: Vec<usize>,
    /// Indentation of the next line.
    next: Option<usize>,
}

impl Outline {
    /// Returns the outline around the line of a text that begins at `line`.
    fn of(content: &str, line: usize) -> Self {
        let is_full = |line: &&str| !line.trim().is_empty();
        let mut behind = content[line..].lines().filter(is_full).map(indentation);
        let first = behind.next().unwrap_or_default();
        let (mut outer, mut least) = (Vec::new(), first);
        for own in content[..line].lines().rev().filter(is_full).map(indentation) {
            if own < least {
                least = own;
                outer.push(own);
            }
        }
        outer.reverse();
        Self { first, outer, next: behind.next() }
    }

    /// Returns whether new lines go with those around them if all but the first are moved to the right; `None` if that is not certain.
    fn fits(&self, new: &str, moved: usize) -> Option<bool> {
        let mut open = self.outer.clone();
        open.push(self.first);
        let mut lines = new.lines().filter(|line| !line.trim().is_empty());
        let mut before = lines.next().unwrap_or_default();
        let mut is_certain = true;
        for line in lines {
            let (own, last) = (indentation(line) + moved, open.last().copied());
            let opens = opens_block(before, line);
            open.retain(|level| *level <= own);
            match open.last().copied() {
                level if level == Some(own) => is_certain &= level < last || opens == Some(false),
                level if level == last && opens != Some(false) => open.push(own),
                _ => return Some(false),
            }
            before = line;
        }
        // What follows may go on with a line of its own.
        is_certain &= self.next.is_none_or(|next| open.last().is_none_or(|last| next <= *last))
            || opens_block(before, "") != Some(false);
        match self.next {
            Some(next) if open.last().is_some_and(|last| next < *last) && !open.contains(&next) => {
                Some(false)
            }
            _ => is_certain.then_some(true),
        }
    }
}

/// Returns the length of the indentation of a line, in bytes.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns whether a line closes a bracket that another one has opened.
fn goes_on(line: &str) -> bool {
    let closing = line.find([')', ']', '}']);
    closing.is_some_and(|at| !line[..at].contains(['(', '[', '{']))
}

/// Returns how many brackets a line opens beyond those that it closes.
fn balance(line: &str) -> isize {
    let sign = |c: char| match c {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    };
    line.chars().map(sign).sum()
}

/// Returns whether the line that follows another belongs into a block that this one opens; `None` if that is not certain.
fn opens_block(line: &str, next: &str) -> Option<bool> {
    const WORDS: [&str; 10] = ["if", "else", "elif", "for", "while", "do", "then", "case", "when", "begin"];
    let (line, next) = (line.trim(), next.trim_start());
    if ["//", "--", "/*", "*"].iter().any(|mark| line.starts_with(mark)) {
        return Some(false);
    }
    if balance(line) > 0 || line.ends_with([':', '{', '(', '[']) {
        return Some(true);
    }
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    let may_open = line.ends_with(['=', '|', '>', '&', '+'])
        || words.next_back().is_some_and(|word| WORDS.contains(&word))
        || words.next().is_some_and(|word| WORDS.contains(&word)) && !line.ends_with(';')
        || line.starts_with(['-', '<', '#'])
        || next.starts_with(['.', '?', ':', '|', '&', '+', '{']);
    if may_open { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use crate::tool::replace_block::replace;

    #[test]
    fn lines_behind_a_cut_indentation_are_indented_once_or_not_at_all() {
        const IN_F: &str = "def f():\n        a()\n        c()\n";
        for (file, old, new, expected) in [
            // As the file has them.
            (
                "f:\n    a:\n        b: 1\n        c: 2\n",
                "    b: 1",
                "    b: 1\n        d: 3",
                Some("f:\n    a:\n        b: 1\n        d: 3\n        c: 2\n"),
            ),
            (
                IN_F,
                "    a()",
                "    try:\n            a()\n        except E:\n            pass",
                Some(
                    "def f():\n        try:\n            a()\n        except E:\n            pass\n        c()\n",
                ),
            ),
            (
                "func f() {\n\tif x {\n\t\ta()\n\t}\n}\n",
                "\ta()",
                "\tif y {\n\t\t\ta()\n\t\t}",
                Some("func f() {\n\tif x {\n\t\tif y {\n\t\t\ta()\n\t\t}\n\t}\n}\n"),
            ),
            (
                "{\n        \"b\": 2\n}\n",
                "    \"b\": 2",
                "    \"b\": 2,\n        \"c\": 3",
                Some("{\n        \"b\": 2,\n        \"c\": 3\n}\n"),
            ),
            (
                "def f():\n\ta()\n\t\tb()\n",
                "\ta()",
                "\tc()\n\td()",
                Some("def f():\n\tc()\n\td()\n\t\tb()\n"),
            ),
            // As the first line is written.
            ("    a()\n", "  a()", "  a()\n  b()", Some("    a()\n    b()\n")),
            (
                "        run: a\n",
                "    run: a",
                "    run: |\n      a\n      b",
                Some("        run: |\n          a\n          b\n"),
            ),
            // Either may be meant.
            ("  - a\n  - c\n", " - a", " - a\n  - b", None),
            (
                "def f():\n    if x:\n        return 1\n    return 2\n",
                "    return 1",
                "    y = 2\n    return y",
                None,
            ),
            (
                "class A:\n    def f(self):\n        return 1\n",
                "    return 1",
                "    return 1\n\n    def g(self):\n        return 2",
                None,
            ),
            ("        if a:\n            b()\n", "    if a:", "    if a:\n        c()", None),
            ("a:\n    - run: c\n", "  - run: c", "  - run: c\n  - run: d\nb: 1", None),
            // Of the lines of such texts, nothing is known.
            ("if x; then\n        cat a\nfi\n", "    cat a", "    cat <<EOF\nhello\nEOF", None),
            ("def f():\n        x = 1\n", "    x = 1", "    x = '''\nabc\n'''", None),
            // What is quoted of several lines is quoted as it is.
            (
                "def f():\n        a()\n        c()\n",
                "    a()\n        c()",
                "    a()\n    b()\n        c()",
                Some("def f():\n        a()\n    b()\n        c()\n"),
            ),
        ] {
            let edited = replace(file, old, new, false).map(|edited| edited.content);
            assert_eq!(edited.ok().as_deref(), expected, "{file:?} {old:?} {new:?}");
        }
    }

    /// Makes each block of some files of its first line alone, as models may write it.
    #[test]
    fn blocks_are_made_as_they_are_or_not_at_all() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let (mut made, mut all) = (0, 0);
        for path in ["src/tool/block_by_lines/cut_indentation.rs", "action.yml", "tests/scripts/doc-style.py"]
        {
            let file = std::fs::read_to_string(root.join(path)).expect(path);
            let lines: Vec<&str> = file.lines().collect();
            for (at, length) in (0..lines.len()).flat_map(|at| (2..6).map(move |length| (at, length))) {
                let Some(block) = lines.get(at..at + length) else { continue };
                let first = super::indentation(block[0]);
                let before = [&lines[..=at], &lines[at + length..]].concat().join("\n");
                for cut in (1..first).filter(|cut| cut % 2 == 0) {
                    let dedented: Option<Vec<&str>> =
                        block
                            .iter()
                            .map(|line| {
                                if line.is_empty() {
                                    Some(*line)
                                } else {
                                    line.strip_prefix(&" ".repeat(cut))
                                }
                            })
                            .collect();
                    let forms =
                        [Some(block.join("\n")[cut..].to_owned()), dedented.map(|lines| lines.join("\n"))];
                    for new in forms.into_iter().flatten() {
                        let edited = replace(&before, &block[0][cut..], &new, false);
                        all += 1;
                        let Ok(edited) = edited else { continue };
                        made += 1;
                        assert_eq!(edited.content, lines.join("\n"), "{at} {cut} {new:?}");
                    }
                }
            }
        }
        assert!(made * 3 > all, "{made} of {all}");
    }
}
