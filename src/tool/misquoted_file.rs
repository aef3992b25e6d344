//! Misquoted files: a whole text between the marks of a fence, with the numbers of its lines, or with `\n` in place of its line ends.
//! It is understood where the file's grammar knows the text that is meant and not the one that is given, and, for a fence, in files
//! of some other kinds that cannot begin with one.

use outline::first_syntax_error;

use super::misquoted::{Escapes, Form};
use super::numbered_block::without_numbers;

/// Text of a file as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) text: String,
    /// What was understood otherwise than it was written, for the model.
    pub(super) note: &'static str,
}

/// Kinds of files, beside those with a grammar, that cannot begin with a fence: their extensions, or their names without any.
const NO_FENCE: [&str; 34] = [
    "yml",
    "yaml",
    "toml",
    "json",
    "jsonc",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "sh",
    "bash",
    "zsh",
    "fish",
    "sql",
    "css",
    "scss",
    "less",
    "html",
    "htm",
    "xml",
    "svg",
    "vue",
    "svelte",
    "tsx",
    "jsx",
    "kt",
    "swift",
    "proto",
    "graphql",
    "tf",
    "dockerfile",
    "makefile",
    "gitignore",
];

/// Returns the text that is meant by one for a file; `None` if it is the one that is given.
pub(super) fn meant(name: &str, given: &str) -> Option<Meant> {
    let kind = name.rsplit(['.', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let is_fenced = given.trim_start().starts_with("```") && given.matches("```").count() == 2;
    let cannot_begin_so = || NO_FENCE.contains(&kind.as_str()) || first_syntax_error(name, given).is_some();
    if is_fenced && cannot_begin_so() {
        let (inner, behind) = given.rsplit_once("```").unwrap_or((given, ""));
        let inner = Form::Fenced.apply_to(&format!("{inner}```"));
        let note = if behind.trim().is_empty() {
            "the fence around content was left out"
        } else {
            "the fence around content was left out, and the words behind it"
        };
        return (inner != given).then(|| Meant { text: inner + "\n", note });
    }
    first_syntax_error(name, given)?;
    let numbered =
        without_numbers(given).map(|text| Meant { text, note: "the line numbers in content were left out" });
    let escaped = (!given.contains('\n') && given.contains("\\n")).then(|| Meant {
        text: Form::Escaped(Escapes::ALL).apply_to(given),
        note: "escapes such as \\n in content were taken as the characters that they stand for",
    });
    [numbered, escaped]
        .into_iter()
        .flatten()
        .find(|meant| !meant.text.trim().is_empty() && first_syntax_error(name, &meant.text).is_none())
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
            ("a.py", "x = 1\\ny = \\\"a\\\"\\n", Some("x = 1\ny = \"a\"\n")),
            ("a.py", "print('a\\n')", None),
            ("a.py", "x = (\\n", None),
            ("a.txt", "a\\nb", None),
        ] {
            let meant = meant(name, given);
            assert_eq!(meant.as_ref().map(|meant| meant.text.as_str()), expected, "{name} {given:?}");
        }
    }
}
