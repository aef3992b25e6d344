//! Diffs that are given as the text of a file, or as a part of it: written as they are, their signs would become part of its lines.
//!
//! One rule decides for every tool. A diff that fits what it would replace is applied to it, one that cannot be applied with certainty is
//! refused, and what may well be meant as it is stays so: a patch, test data, a list, whatever a grammar takes for code.

mod signed_lines;

use outline::first_syntax_error;
use patch::{Line, apply, sections};

use self::signed_lines::Signed;
use super::ToolError;
use super::file_kind::FileKind;
use super::misquoted_file::{Meant, begins_with_fence, from_fence, without_fence};

/// Where a text is to be written.
pub(super) struct Place<'a> {
    /// Name of the file.
    pub(super) name: &'a str,
    /// The text that is there now, and that a diff would be for; `None` if there is none.
    pub(super) old: Option<&'a str>,
    /// The text of the whole file now.
    pub(super) file: &'a str,
    /// Returns the text of the whole file with a text at the place.
    pub(super) whole: &'a dyn Fn(&str) -> String,
}

/// How a text is to be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As it is.
    Text,
    /// As another text.
    As(Meant),
    /// As a diff that cannot be applied with certainty.
    Diff,
}

impl Place<'_> {
    /// Returns the text that is meant by a given one; `None` if it is that.
    pub(super) fn meant(&self, argument: &str, path: &str, text: &str) -> Result<Option<Meant>, ToolError> {
        match self.read(text) {
            Reading::Text => Ok(None),
            Reading::As(meant) => Ok(Some(meant)),
            Reading::Diff => {
                let apply = format!(
                    "it does not fit what is there in one way alone; apply it: apply_patch(path={path:?}, patch=…), or give the text itself, without signs"
                );
                let write =
                    format!("give the text itself, without signs: write_file(path={path:?}, content=…)");
                let cure = if self.file.is_empty() { write } else { apply };
                Err(ToolError::Refused(format!(
                    "{argument} looks like a diff, whose signs would be written to {path} as text; nothing was changed: \
                     {cure}; if the signs are meant, patch the file with these lines as added ones: apply_patch(patch=…), with another `+` \
                     before each"
                )))
            }
        }
    }

    /// Returns how a text is to be read.
    pub(super) fn read(&self, text: &str) -> Reading {
        let kind = FileKind::of(self.name);
        let is_named = self.name.split('.').any(|part| matches!(part, "diff" | "patch"));
        if kind.is_patch() || is_named || !text.lines().any(|line| line.starts_with(['+', '-', '@'])) {
            return Reading::Text;
        }
        let may_be_fenced = begins_with_fence(self.name, text);
        let is_in_fence = may_be_fenced && is_of_diffs(from_fence(text).unwrap_or_default());
        let fenced = without_fence(text).filter(|_| may_be_fenced);
        let text = fenced.as_ref().map_or(text, |fenced| fenced.text.as_str());
        let signed = Signed::of(text);
        if signed.is_in(self.file) {
            return Reading::Text;
        }
        // Signs before what is there are no change of it, and a file about diffs has some of its own.
        if self.old.is_some_and(|old| signed.marks(old))
            || kind.may_hold_patches() && self.file.contains("```diff")
        {
            return Reading::Text;
        }
        // What a hunk takes away is there to the letter, or its header says that it is one.
        let removes = self.old.is_some_and(|old| signed.removes(old));
        let keeps = self.old.is_some_and(|old| signed.keeps(old));
        let is_certain = signed.has_header || is_in_fence || removes || keeps;
        let fitted = self.old.filter(|_| is_certain).and_then(|old| {
            let may_remove_alone = removes && keeps;
            applied(text, old, self.name, may_remove_alone).filter(|new| new != old)
        });
        if let Some(text) = fitted {
            return Reading::As(Meant { text, note: APPLIED });
        }
        // A fence in the text has diffs of its own.
        if removes && signed.has('+') && !text.contains("```") {
            return Reading::Diff;
        }
        let has_errors = |text: &str| first_syntax_error(self.name, &(self.whole)(text)).is_some();
        let has_grammar = kind.has_such_grammar();
        let is_own = kind.has_signs() && !signed.has_header || has_grammar && !has_errors(text);
        if is_own && !is_in_fence {
            return Reading::Text;
        }
        let is_code = kind.is_code() && !kind.may_hold_patches();
        let is_no_list = is_code || kind.is_code() && !signed.lines.iter().any(|line| line.starts_with("+ "));
        let added = || {
            let is_new =
                self.old.is_none_or(str::is_empty) && signed.file.is_none_or(|file| file == self.name);
            let is_whole = is_new || !signed.has_header && !is_in_fence;
            (signed.adds_all() && is_whole && (is_no_list || is_in_fence)).then(|| signed.new_side())
        };
        if let Some(text) = added() {
            return Reading::As(Meant { text, note: APPLIED });
        }
        let is_of_lines = text.trim_start().starts_with("@@ -") && !self.file.contains("@@ -");
        let is_diff = is_in_fence
            || signed.has_header && signed.is_hunk() && (is_code || is_of_lines && self.old.is_some())
            || if has_grammar {
                signed.has('+') && !has_errors(&signed.new_side())
            } else {
                is_code && signed.is_likely(!self.file.is_empty() || kind.is_yaml())
                    || is_no_list && signed.adds_all_but_first()
            };
        if is_diff { Reading::Diff } else { Reading::Text }
    }
}

/// What the model is told.
const APPLIED: &str = "what was given as text is a diff, and was applied";

/// Returns whether the fence at the beginning of a text is for diffs.
fn is_of_diffs(fenced: &str) -> bool {
    let first = fenced.lines().next().unwrap_or_default();
    matches!(first.trim_start_matches(['`', '~']).trim(), "diff" | "patch" | "udiff")
}

/// Returns the text of a file of this name with a hunk for it applied that says beside what, or instead of what, its lines go. Lines may
/// stand in the hunk without the blank before them.
fn applied(text: &str, old: &str, name: &str, may_remove_alone: bool) -> Option<String> {
    let has_header = text.lines().any(|line| line.starts_with("@@"));
    let hunk = if has_header { text.to_owned() } else { format!("@@\n{text}") };
    let bare: String = hunk
        .lines()
        .map(|line| match line.chars().next() {
            None | Some(' ' | '+' | '-' | '\\' | '@') => format!("{line}\n"),
            Some(_) => format!(" {line}\n"),
        })
        .collect();
    let found = sections(&bare).ok()?;
    let [one] = found.as_slice() else { return None };
    // One that names a file may be meant for another.
    let named = one.paths(&|_| false).ok()?;
    if named.is_some_and(|named| named.file.rsplit('/').next() != Some(name)) {
        return None;
    }
    let lines = || one.patch.hunks.iter().flat_map(|hunk| &hunk.lines);
    let adds = lines().any(|line| matches!(line, Line::Added(_)));
    let is_beside = lines().any(|line| !matches!(line, Line::Added(_)));
    let applied = apply(old, &one.patch).ok()?;
    (is_beside && (adds || has_header || may_remove_alone) && applied.shift.is_none())
        .then_some(applied.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_told_from_text() {
        const ABC: &str = "a\nb\n";
        let text = |text: &'static str| Some(text);
        let (old, as_it_is, refused) = (Some(ABC), Some(""), None);
        for (name, given, old, expected) in [
            ("a.sh", "```diff\n a\n-b\n+c\n```\n", old, text("a\nc\n")),
            ("a.sh", "```diff\n+a\n```\n", None, text("a\n")),
            ("a.sh", "```diff\n+a\n```\n", old, refused),
            ("a.yml", "~~~ patch\n+a\n", None, refused),
            ("a.yml", "This is the change:\n```diff\n+a\n```\n", None, text("a\n")),
            ("a.py", "```diff\n-x = 1\n+x = 2\n```\n", None, refused),
            ("a.sh", "```sh\na\n```\n", old, as_it_is),
            ("a.md", "```diff\n-x\n+y\n```\n", old, as_it_is),
            ("a.sh", " a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.sh", "a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.md", " a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.txt", " a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.sh", "@@\n-b\n", old, text("a\n")),
            ("a.sh", "@@ -7,2 +7,2 @@\n a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.sh", "@@ -1,2 +1,2 @@\n a\n-x\n+c\n", old, refused),
            ("a.py", "@@\n a\n-x(\n+c(\n", old, refused),
            ("a.sh", "@@\n   a\n-  b\n+  c\n", old, refused),
            ("a.diff", " a\n-b\n+c\n", old, as_it_is),
            ("a.diff.golden", " a\n-b\n+c\n", old, as_it_is),
            // It is for another text, or may be.
            ("a.sh", " a\n-x\n+c\n", old, refused),
            ("a.sh", "a\n-x\n+c\n", old, refused),
            ("a.csv", "-b\n+c\n", old, text("a\nc\n")),
            ("a.csv", "-1\n+2\n", Some("1\n3\n"), as_it_is),
            ("go.mod", "-b\n+c\n", old, text("a\nc\n")),
            ("a.js", "-b\n+c\n", old, text("a\nc\n")),
            ("a.js", " a();\n-b();\n", Some("a();\nb();\n"), text("a();\n")),
            ("a.yml", "-- a\n+- b\n", Some("- a\n- c\n"), text("- b\n- c\n")),
            ("a.md", " a\n-b\n+c\n", Some("b\n"), refused),
            ("a.js", " a\n-b\n+c\n d\n", Some("b\n"), refused),
            // What is there gets signs, or another indentation.
            ("packages.list", "+a\n-b\n", old, as_it_is),
            ("a.csv", "-inf\n+inf\n", Some("inf\n"), as_it_is),
            ("col.dat", " 0.5 1\n+1.0 2\n", Some("0.5 1\n1.0 2\n"), as_it_is),
            ("a.md", "+  First\n   wrapped\n", Some("* First\n  wrapped\n"), as_it_is),
            ("t.txt", " +---+\n | a |\n+---+\n", Some("+---+\n| a |\n"), as_it_is),
            ("a.md", "```diff\n-b\n+c\n```\n", Some("```diff\nb\n```\n"), as_it_is),
            // Nothing is taken away.
            ("a.md", "  b\n+ c\n+ d\n", Some("a\n  b\n"), as_it_is),
            ("a.txt", " a\n+c\n b\n", old, text("a\nc\nb\n")),
            ("a.js", "   a();\n+  c();\n", Some("  a();\n"), text("  a();\n  c();\n")),
            ("Game.ini", "+A=(B)\n+C=(D)\n", None, as_it_is),
            ("Game.ini", "a\n+A=(B)\n", old, as_it_is),
            ("a.rst", "| a | b |\n+===+===+\n", old, as_it_is),
            ("a.sh", "date \\\n+%Y\n", None, as_it_is),
            ("a.sh", "cat <<E\n-a\n+b\nE\n", None, as_it_is),
            ("a.md", "@@ -1,2 +1,2 @@\n a\n-x\n+c\n", old, refused),
            ("a.md", "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", old, text("a\nc\n")),
            ("a.expected", "@@ -0,0 +1,2 @@\n+a\n+b\n", None, as_it_is),
            // Lists, numbers, options, code.
            ("a.yml", "-a\n-b\n", old, as_it_is),
            ("a.md", "+ a\n+ b\n", old, as_it_is),
            ("a.md", "- a\n- b\n+ c\n", old, as_it_is),
            ("a.md", "# a\n+ b\n", None, as_it_is),
            ("a.txt", "+1\n+2\n", None, as_it_is),
            ("a.json", "[\n-1,\n-2\n]\n", None, as_it_is),
            ("a.sh", "set -e\nset +x\n", None, as_it_is),
            ("a.js", "x = 1\n+ 2\n", None, as_it_is),
            ("a.h", "@interface A\n- (void)a;\n+ (id)b;\n@end\n", None, as_it_is),
            ("access.conf", "+ : root : ALL\n- : ALL : ALL\n", None, as_it_is),
            ("a.yml", "-a\n+b\nc\n", Some("-a\nb\n"), as_it_is),
            ("a.sh", "@@ -0,0 +1,2 @@\n+a\n+b\n", None, text("a\nb\n")),
            (
                "a.sh",
                "new file mode 100644\n--- /dev/null\n+++ b/a.sh\n@@ -0,0 +1 @@\n+a\n",
                None,
                text("a\n"),
            ),
            ("a.sh", "+a\n\n+b\n\\ No newline at end of file\n", None, text("a\n\nb")),
            ("a.sh", "+a\n+b\n", old, text("a\nb\n")),
            ("a.md", "+# a\n+\n+b\n", None, text("# a\n\nb\n")),
            ("a.py", "+x = 1\n", None, text("x = 1\n")),
            ("a.py", "+def f():\n+    pass\n", None, text("def f():\n    pass\n")),
            ("b.sh", "--- /dev/null\n+++ b/c.sh\n@@ -0,0 +1 @@\n+a\n", None, refused),
            ("a.html", "<pre>\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n</pre>\n", None, as_it_is),
            // Signs before a part of the lines.
            ("a.yml", "a:\n+b:\n+  c: 1\n", None, refused),
            ("a.yml", "+a:\nb:\n  c: 1\n", None, refused),
            ("a.yml", " a:\n b:\n+  c: 1\n", None, refused),
            ("a.yml", "-a:\n+b:\n+c:\n", None, refused),
            ("a.md", "# a\n+\n+b\n", None, refused),
            ("a.py", "import a\n+def f():\n+    pass\n", None, refused),
        ] {
            let read = Place { name, old, file: old.unwrap_or_default(), whole: &|text| text.to_owned() }
                .read(given);
            let expected = match expected {
                Some("") => Reading::Text,
                Some(text) => Reading::As(Meant { text: text.to_owned(), note: APPLIED }),
                None => Reading::Diff,
            };
            assert_eq!(read, expected, "{name} {given:?} {old:?}");
        }
    }
}
