//! Misquoted files: a whole text between the marks of a fence, with the numbers of its lines, or with `\n` in place of its line ends.
//! It is understood where the file's grammar knows the text that is meant and not the one that is given, and, for a fence, in files
//! of some other kinds that cannot begin with one.

use outline::first_syntax_error;

use super::file_kind::FileKind;
use super::misquoted::{Escapes, Form};
use super::numbered_block::{Numbered, has_numbers};

/// Text of a file as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) text: String,
    /// What was understood otherwise than it was written, for the model.
    pub(super) note: &'static str,
}

/// Returns the text that is meant by one for a file that has the `old` text now; `None` if it is the one that is given.
pub(super) fn meant(name: &str, given: &str, old: Option<&str>) -> Option<Meant> {
    let kind = FileKind::of(name);
    let is_fenced = given.trim_start().starts_with("```") && given.matches("```").count() == 2;
    let cannot_begin_so = || !kind.may_begin_with_fence() || first_syntax_error(name, given).is_some();
    if is_fenced && cannot_begin_so() {
        let (inner, behind) = given.rsplit_once("```").unwrap_or((given, ""));
        let inner = Form::Fenced.apply_to(&format!("{inner}```"));
        let note = if behind.trim().is_empty() {
            "the fence around content was left out"
        } else {
            "the fence around content was left out, and the words behind it"
        };
        return (inner.trim_end() != given.trim_end()).then(|| Meant { text: inner + "\n", note });
    }
    let numbered = Numbered::parse(given);
    let is_whole = numbered.as_ref().is_some_and(Numbered::is_whole_file);
    let numbered = numbered
        .map(|block| Meant { text: block.plain(), note: "the line numbers in content were left out" })
        .filter(|meant| !meant.text.trim().is_empty());
    // Whether the text that is meant has errors of its own says nothing.
    if is_whole && kind.has_no_numbers() {
        return numbered.filter(|_| !old.is_some_and(has_numbers));
    }
    let escaped = (!given.contains('\n') && given.contains("\\n")).then(|| Meant {
        text: Form::Escaped(Escapes::ALL).apply_to(given),
        note: "escapes such as \\n in content were taken as the characters that they stand for",
    });
    // One line of several escapes that ends in one, or begins as a comment, is no text of code. Whoever writes of escapes sets them apart.
    let are_ends = given.matches("\\n").count() > 1 && !given.contains(" \\n");
    if kind.has_no_numbers() && are_ends && (given.trim_end().ends_with("\\n") || is_comment(given)) {
        let is_clean = |meant: &Meant| first_syntax_error(name, &meant.text).is_none();
        return escaped.filter(|meant| !meant.text.trim().is_empty() && is_clean(meant));
    }
    first_syntax_error(name, given)?;
    [numbered, escaped]
        .into_iter()
        .flatten()
        .find(|meant| !meant.text.trim().is_empty() && first_syntax_error(name, &meant.text).is_none())
}

/// Returns whether a text begins with what makes a line a comment.
fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    ["#", "//", "/*", "<!--", "--", ";"].iter().any(|mark| text.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_understood_where_their_language_says_what_is_meant() {
        for (name, given, expected) in [
            ("a.py", "```python\nx = 1\n```", Some("x = 1\n")),
            ("a.yml", "```yaml\nx: 1\n```\n", Some("x: 1\n")),
            ("a.tsx", "```tsx\nlet x = <p />\n```", Some("let x = <p />\n")),
            ("docker/Dockerfile", "```dockerfile\nFROM a\n```\n\nIt builds.\n", Some("FROM a\n")),
            ("a.py", "```python\nx = 1\n```\nThis sets x.", Some("x = 1\n")),
            ("a.md", "```python\nx = 1\n```", None),
            ("a.md", "```python\nx = 1\n```\nThis sets x.", None),
            ("NOTES", "```\nx\n```", None),
            // Of kinds that nobody has listed, nothing is known.
            ("page.golden", "```\nx\n```\n", None),
            ("README.md.tmpl", "```\nx\n```\n", None),
            ("a.Rmd", "```\nx\n```\n", None),
            ("a.sh", "```sh\na\n```\nand\n```sh\nb\n```\n", None),
            ("a.py", "1\tx = 1\n2\ty = 2\n", Some("x = 1\ny = 2\n")),
            ("a.py", "     1→x = 1\n     2→\n", Some("x = 1\n\n")),
            ("a.tsv", "1\ta\n2\tb\n", None),
            ("a.rb", "1\tdef f\n2\n3\t  1\n4\tend\n", Some("def f\n\n  1\nend\n")),
            ("a.py", "1| def f():\n2|     return 1\n", Some("def f():\n    return 1\n")),
            ("a.py", "1\tdef f(:\n2\t    return 1\n", Some("def f(:\n    return 1\n")),
            ("a.html", "1 | <p>\n2 | </p>\n", Some("<p>\n</p>\n")),
            ("a.yml", "1: a\n2: b\n", None),
            ("a.md", "1\ta\n3\tb\n", None),
            ("a.md", "1\ta\n", None),
            ("a.py", "x = 1\\ny = \\\"a\\\"\\n", Some("x = 1\ny = \"a\"\n")),
            (
                "a.py",
                "#!/usr/bin/env python3\\nimport os\\nprint(1)",
                Some("#!/usr/bin/env python3\nimport os\nprint(1)"),
            ),
            ("a.yml", "a: 1\\nb: 2\\n", Some("a: 1\nb: 2\n")),
            ("a.sh", "printf 'a\\nb\\n'", None),
            ("a.md", "# A line with \\n in it\\nand more", None),
            ("a.sh", "echo \"$PATH\" | tr : \\n", None),
            ("a.yml", "sep: \\n", None),
            ("a.sql", "-- rows end in \\n and fields in \\n", None),
            ("a.js", "````js\nlet a = 1\n````", None),
            ("a.js", "```js\nlet a = 1\n```", Some("let a = 1\n")),
            ("a.py", "print('a\\n')", None),
            ("a.py", "x = (\\n", None),
            ("a.txt", "a\\nb", None),
        ] {
            let meant = meant(name, given, None);
            assert_eq!(meant.as_ref().map(|meant| meant.text.as_str()), expected, "{name} {given:?}");
        }
        assert_eq!(meant("a.md", "1\ta\n2\tb\n", Some("1\tx\n")), None);
    }
}
