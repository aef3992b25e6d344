//! Neutralization of untrusted text, wherever it is shown.
//!
//! Everything that a model, a tool, a file or a hook wrote goes through one of these functions on its way
//! into Markdown or a log. They are about what a platform *does* with text: mentions notify, closing
//! keywords close issues, images call home, HTML hides, direction marks deceive, and lines that start with
//! `::` are commands to the runner.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::active::active_words;
use crate::invisible::shown;

pub use crate::markdown::{markdown, markdown_behind, markdown_item, markdown_line};

/// Returns whether a character controls a terminal instead of being shown.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// The beginning of our own hidden lines, and its replacement in text that others wrote.
const LOOK_ALIKE: (&str, &str) = ("<!-- architect-ci", "<! -- architect-ci");

/// Replaces characters that would be invisible or deceptive by their codes, such as `⟨U+202E⟩`.
pub fn visible(text: &str) -> String {
    shown(&text.replace("\r\n", "\n").replace(LOOK_ALIKE.0, LOOK_ALIKE.1), is_control)
}

/// Does the same, and makes one line of it: a name with a line end in it would otherwise add lines of its own.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "⏎")
}

/// Formats a text as one line in a code span that fits into a table cell.
pub fn code(text: &str) -> String {
    let line = visible(text).replace('\n', " ⏎ ").replace('|', "\\|");
    let line = line.trim();
    if line.is_empty() {
        return "` `".to_owned();
    }
    let ticks = "`".repeat(longest_run(line, '`') + 1);
    // A blank keeps a backtick at the edge apart from the delimiter; Markdown drops it again.
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

/// Formats a text as a code block with a fence longer than any in the text.
pub fn fence(text: &str, language: &str) -> String {
    let text = visible(text);
    let ticks = "`".repeat(longest_run(&text, '`').max(2) + 1);
    format!("{ticks}{language}\n{}\n{ticks}\n", text.trim_end_matches('\n'))
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// What keeps CI from running on a commit whose message has it: `[skip ci]` in its forms, and the trailer `skip-checks`.
static SKIPS: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(
        r"(?ix) (\[ | skip- | \*)
            (\s* (?: (?:skip|no) [\s-]+ [\w-]+ | [\w-]+ [\s-]+ skip) \s* \] | checks \s* : | NO_CI)",
    )
    .expect("the pattern is valid")
});

fn without_skips(line: &str) -> Cow<'_, str> {
    // The pattern takes long to compile.
    let may_skip = line.contains(['[', '*']) || line.contains(':');
    if may_skip { SKIPS.replace_all(line, "$1 $2") } else { line.into() }
}

/// Formats a text as one line for titles and commit messages, in which nothing notifies anybody, closes an issue, or keeps
/// checks from running.
pub fn plain(text: &str) -> String {
    let line = visible(text).replace(['\n', '\t'], " ");
    let mut plain = String::with_capacity(line.len());
    let mut rest = 0;
    for word in active_words(&line) {
        plain += &line[rest..word.start];
        rest = word.end;
        let word = line[word].replace('@', "@ ").replace('#', "# ");
        match word.split_at_checked("GH-".len()) {
            Some((issue, number)) if issue.eq_ignore_ascii_case("GH-") => {
                plain += &format!("{} {number}", issue.trim_end_matches('-'));
            }
            _ => plain += &word.replace("://", ": //"),
        }
    }
    plain += &line[rest..];
    without_skips(&plain).into_owned()
}

/// Escapes a message for a workflow command, just as the runner's own toolkit does.
pub fn command_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Neutralizes lines for a log that the Actions runner reads: none of them is a command to it.
pub fn log_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    // The runner accepts a lone CR as a line end as well.
    for line in text.replace("\r\n", "\n").split_inclusive(['\n', '\r']) {
        let trimmed = line.trim_start();
        let line = line.replace("##[", "# #[");
        if trimmed.starts_with("::") {
            let indent = line.len() - line.trim_start().len();
            lines += &line[..indent];
            lines += ": :";
            lines += &line[indent + 2..];
        } else {
            lines += &line;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn code_and_fences_cannot_be_left() {
        assert_eq!(code("src/main.rs"), "`src/main.rs`");
        assert_eq!(code("a`b``c|d\ne"), "```a`b``c\\|d ⏎ e```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(code(" "), "` `");
        assert_eq!(fence("a\n```\nb\n", "diff"), "````diff\na\n```\nb\n````\n");
        assert_eq!(fence("<!-- architect-ci x -->", ""), "```\n<! -- architect-ci x -->\n```\n");
        for (given, kept) in [("rust", "rust"), ("suggestion", ""), ("Mermaid", ""), ("geojson", "")] {
            let text = markdown(&format!("```{given}\na\n```\n"));
            assert!(text.lines().next().is_some_and(|line| line.trim_matches('`') == kept), "{text}");
        }
    }

    #[test]
    fn titles_have_no_effect() {
        for (text, expected) in [
            ("fix #1 for @octo/team", "fix # 1 for @ octo/team"),
            ("closes gh-7 and GH-8", "closes gh 7 and GH 8"),
            ("a [skip ci] b [CI  SKIP]", "a [ skip ci] b [ CI  SKIP]"),
            ("[no ci][skip actions] [actions skip]", "[ no ci][ skip actions] [ actions skip]"),
            ("done\nskip-checks: true", "done skip- checks: true"),
            ("***NO_CI***", "*** NO_CI***"),
            ("[x] skip the checks: no", "[x] skip the checks: no"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_line_of_a_log_is_a_command() {
        let text = "ok\n::error::x\n  ::set-output name=a::b\r::stop-commands::x\n##[group]y\n a::b\n";
        let expected =
            "ok\n: :error::x\n  : :set-output name=a::b\r: :stop-commands::x\n# #[group]y\n a::b\n";
        assert_eq!(log_lines(text), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn log_lines_never_start_a_command(text in "[: #\\[a\\n\\r\\t]{0,40}") {
            let safe = log_lines(&text);
            for line in safe.split(['\n', '\r']) {
                prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{:?}", safe);
            }
        }
    }
}
