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

/// Extensions of files, beside those with a grammar, that cannot begin with a fence.
const NO_FENCE: [&str; 12] =
    ["yml", "yaml", "toml", "json", "ini", "cfg", "conf", "properties", "sh", "bash", "sql", "css"];

/// Returns the text that is meant by one for a file; `None` if it is the one that is given.
pub(super) fn meant(name: &str, given: &str) -> Option<Meant> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let is_fenced = given.trim_start().starts_with("```") && given.matches("```").count() == 2;
    let cannot_begin_so =
        || NO_FENCE.contains(&extension.as_str()) || first_syntax_error(name, given).is_some();
    if is_fenced && cannot_begin_so() {
        let inner = Form::Fenced.apply_to(given);
        return (inner != given)
            .then(|| Meant { text: inner + "\n", note: "the fence around content was left out" });
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
            ("a.md", "```python\nx = 1\n```", None),
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
