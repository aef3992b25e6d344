//! Misquoted files: a whole text between the marks of a fence, with the numbers of its lines, or with `\n` in place of its line ends.
//! It is understood where the file's grammar knows the text that is meant and not the one that is given, and, for a fence or numbers, in
//! files of some other kinds that cannot begin with one.

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
    let fenced = without_fence(given);
    if fenced.is_some() && begins_with_fence(name, given) {
        return fenced;
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
    let ends = line_ends_as_escapes(given);
    // A file that has such escapes in its lines may well be meant to have them.
    let may_be_ends = ends > 0 && !given.contains('\n') && !old.is_some_and(|old| old.contains("\\n"));
    let escaped = may_be_ends.then(|| Meant {
        text: Form::Escaped(Escapes::ALL).apply_to(given),
        note: "escapes such as \\n in content were taken as the characters that they stand for",
    });
    let understood = first_syntax_error(name, given).and_then(|_| {
        [numbered, escaped]
            .into_iter()
            .flatten()
            .find(|meant| !meant.text.trim().is_empty() && first_syntax_error(name, &meant.text).is_none())
    });
    // One line of several escapes that ends in one, or begins as a comment, is hardly a text of code; but a path of Windows looks like it.
    let is_doubtful = ends > 1
        && !given.contains('\n')
        && !given.contains(" \\n")
        && (given.trim_end().ends_with("\\n") || is_comment(given));
    let is_one_line = old.is_some_and(|old| !old.trim_end().contains('\n') && old.contains("\\n"));
    let as_given = || Meant { text: given.to_owned(), note: ONE_LINE };
    understood.or_else(|| (kind.has_no_numbers() && is_doubtful && !is_one_line).then(as_given))
}

/// Returns the text that is meant by one for a part of a file with the text `before`: without a fence and words around it, where the file
/// cannot have them. `whole` returns the text of the file with a text in that place.
pub(super) fn meant_part(
    name: &str,
    given: &str,
    before: &str,
    whole: &dyn Fn(&str) -> String,
) -> Option<Meant> {
    let fenced = without_fence(given)?;
    let kind = FileKind::of(name);
    let breaks = |text: &str| first_syntax_error(name, &whole(text)).is_some();
    let is_meant = if kind.has_such_grammar() {
        breaks(given) && !breaks(&fenced.text)
    } else {
        // A text within the file may have it.
        !kind.may_begin_with_fence()
            && !["```", "<<", "\"\"\"", "'''"].iter().any(|mark| before.contains(mark))
    };
    is_meant.then_some(fenced)
}

/// Returns whether a text begins with a fence that cannot be part of it, if it begins with one.
pub(super) fn begins_with_fence(name: &str, given: &str) -> bool {
    !FileKind::of(name).may_begin_with_fence() || first_syntax_error(name, given).is_some()
}

/// What the model is told of a text that looks as if its line ends were escaped.
const ONE_LINE: &str = "warning: content is one line with \\n in it, and was written so; if line ends are meant, write it again with them";

/// Returns how many `\n` a text has whose backslash is not escaped itself.
fn line_ends_as_escapes(text: &str) -> usize {
    let (mut count, mut signs) = (0, text.chars());
    while let Some(sign) = signs.next() {
        if sign == '\\' && signs.next() == Some('n') {
            count += 1;
        }
    }
    count
}

/// Returns a text from its first fence on, if nothing but words is before that.
pub(super) fn from_fence(given: &str) -> Option<&str> {
    let mut at = 0;
    let fence = given.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        (line.starts_with("```") || line.starts_with("~~~")).then_some(start)
    })?;
    is_prose(&given[..fence]).then(|| &given[fence..])
}

/// Returns the text in a fence that is around all of it, but for words before and behind it. Any other fence may be part of the text.
pub(super) fn without_fence(given: &str) -> Option<Meant> {
    let fenced = from_fence(given)?;
    let before = &given[..given.len() - fenced.len()];
    let (_, text) = fenced.strip_prefix("```")?.split_once('\n')?;
    let mut fences = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    });
    let (at, closing) = fences.find(|(_, line)| line.contains("```"))?;
    let behind = &text[at + closing.len()..];
    let is_all = given.matches("```").count() == 2 && closing.trim_end() == "```";
    if !is_all || text[..at].trim().is_empty() || !is_prose(behind) {
        return None;
    }
    let note = match (before.trim().is_empty(), behind.trim().is_empty()) {
        (true, true) => "the fence around content was left out",
        (true, false) => "the fence around content was left out, and the words behind it",
        (false, true) => "the fence around content was left out, and the words before it",
        (false, false) => "the fence around content was left out, and the words around it",
    };
    Some(Meant { text: text[..at].to_owned(), note })
}

/// Returns whether a text is nothing, or sentences without code.
fn is_prose(text: &str) -> bool {
    let is_words = |line: &str| {
        let (first, others) = line.split_once(' ').unwrap_or((line, ""));
        line.starts_with(char::is_alphabetic)
            && !first.ends_with(':')
            && !others.contains(['=', '{', '}', ';', '<', '>'])
    };
    let text = text.trim_end();
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    text.is_empty() || text.contains(' ') && text.ends_with(['.', '!', ':', '?']) && lines.all(is_words)
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
            ("a.yml", "Here is the file:\n\n```yaml\na: 1\n```\n", Some("a: 1\n")),
            ("a.sh", "This is the whole script.\n```\nls\n```\nIt lists files.\n", Some("ls\n")),
            ("a.py", "Here is the file:\n```python\nx = 1\n```\n", Some("x = 1\n")),
            ("a.md", "Here is the file:\n\n```yaml\na: 1\n```\n", None),
            ("NOTES", "Run it so:\n```\na\n```\n", None),
            ("a.yml", "help: |\n  Use it so:\n  ```\n  run\n  ```\n", None),
            ("a.yml", "note: see below.\n```\na\n```\n", None),
            ("a.sh", "# Run it so:\n```\na\n```\n", None),
            ("a.md", "```python\nx = 1\n```", None),
            ("a.md", "```python\nx = 1\n```\nThis sets x.", None),
            ("NOTES", "```\nx\n```", None),
            // Of kinds that nobody has listed, nothing is known.
            ("page.golden", "```\nx\n```\n", None),
            ("README.md.tmpl", "```\nx\n```\n", None),
            ("a.Rmd", "```\nx\n```\n", None),
            ("a.sh", "```sh\na\n```\nand\n```sh\nb\n```\n", None),
            // A fence of the text itself is not that around it.
            ("a.yml", "```yaml\nhelp: |\n  Use it so:\n  ```\n  run\nother: 1\n", None),
            ("a.yml", "```yaml\na: 1\n```\nother: 1\n", None),
            ("a.yml", "```yaml\na: 1\n  ```\n", None),
            ("a.py", "```python\nX = '''\n```\n'''\ny = 1\n", None),
            ("a.html", "```html\n<p>Use ``` to quote</p>\n<p>b</p>\n", None),
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
            ("a.json", "{\\n  \\\"a\\\": \\\"x\\\\ny\\\"\\n}\\n", Some("{\n  \"a\": \"x\\ny\"\n}\n")),
            ("a.sh", "printf a\\\\nb\\\\n", None),
        ] {
            let meant = meant(name, given, None);
            assert_eq!(meant.as_ref().map(|meant| meant.text.as_str()), expected, "{name} {given:?}");
        }
        assert_eq!(meant("a.md", "1\ta\n2\tb\n", Some("1\tx\n")), None);
        assert_eq!(meant("a.py", "x = 1\\ny = 2", Some("x = '\\n'\n")), None);
    }

    #[test]
    fn one_line_of_escapes_is_written_as_given_where_it_may_be_meant() {
        for (name, given, old, is_told) in [
            ("a.properties", "greeting=Dear user\\nThanks\\n", None, true),
            ("a.ini", "format=%h\\n%s\\n", None, true),
            ("a.ini", "format=%h\\n%s\\n", Some("format=%h\\n\n"), false),
            ("a.yml", "a: 1\\nb: 2\\n", None, true),
            ("a.bat", "cd C:\\new\\name\\n", None, true),
            ("a.sh", "#matches a\\nb\\n", None, true),
            ("a.py", "#!/usr/bin/env python3\\nimport os\\nprint(1)", None, true),
            (".gitignore", "node_modules\\n*.log\\n", None, true),
            ("a.sh", "printf 'a\\nb\\n'", None, false),
            ("a.sh", "printf a\\\\nb\\\\n", None, false),
            ("a.txt", "a\\nb\\n", None, false),
        ] {
            let expected = is_told.then(|| Meant { text: given.to_owned(), note: ONE_LINE });
            assert_eq!(meant(name, given, old), expected, "{name} {given}");
        }
    }
}
