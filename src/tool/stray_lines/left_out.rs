//! Words and dots that say that lines are left out, and lines that only look so.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_SHOWN, Texts, is_match};
use crate::tool::file_kind::FileKind;

/// Dots that begin a comment, or that are all of a line. Before a name, or before what ends arguments, they are syntax.
const DOTS: &str = r"^\s*(?:(?://|\#|--|\{?/\*|<!--)\W*(?:\.{3,}|…)|[^\w(),;\[\]{}]*(?:\.{3,}|…|\[\s*(?:\.{3,}|…)\s*\]|\((?:\.{3,}|…)\)|\{(?:\.{3,}|…)\})[^\w(),;\[\]{}]*$)";

/// Comments of dots, which stand for others even in place of one line.
static OF_DOTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(DOTS).ok());

/// What says that lines are left out: words, or dots at the beginning. Whether it does is for the model to say.
static LEFT_OUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let what = r"code|file|functions?|methods?|class|contents?|implementation|imports?|lines?|logic|tests?|fields|body|definitions?|properties|styles?|rules?|entries|items|settings|routes|handlers?|sections?|module|statements?|variables?";
    Regex::new(&format!(
        r"(?ix)\b(?:rest|remainder)\s of\b
        | \b(?:existing|remaining|previous|original|other|unchanged)\s (?:{what})\b
        | \b(?:unchanged|omitted|unmodified|truncated|snip(?:ped)?|no\s changes?|as\s before|for\s brevity|stays?\s the\s same|remains?\s the\s same)\b
        | 其余|其他|不变|省略
        | {DOTS}"
    ))
    .ok()
});

/// What is no code: comments, dots, and brackets around a whole line.
static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?://|#[\s.…]|--|;|%|/\*|<!--|\{/\*|\(\*|'\s|\.{3,}|…|===|~~~|(?i:rem\b)|\[.*\]\s*$|\(.*\)\s*$)",
    )
    .ok()
});

/// Returns whether a line is a comment of dots, or nothing but dots.
pub(super) fn is_of_dots(line: &str) -> bool {
    is_match(&OF_DOTS, line)
}

/// Returns whether a line may say that others are left out.
pub(super) fn says_so(line: &str) -> bool {
    is_match(&COMMENT, line) && is_match(&LEFT_OUT, line) && line.trim().chars().count() <= MAX_SHOWN
}

impl Texts<'_> {
    /// Returns whether a line of the new text is code of its own, although it may look like words or dots for others: the head of a
    /// section, the only statement of a Python body, an argument, or a part of what a doctest shows.
    pub(super) fn has_as_code(&self, at: usize) -> bool {
        let lines: Vec<&str> = self.after.lines().collect();
        let Some(line) = lines.get(at) else { return false };
        let kind = FileKind::of(self.name);
        if line.trim_start().starts_with('[') {
            return kind.has_section_heads();
        }
        if line.trim() != "..." {
            return false;
        }
        let indentation = |line: &str| line.len() - line.trim_start().len();
        let is_text = |line: &&&str| !line.trim().is_empty();
        let before = lines[..at].iter().rev().find(is_text).map_or("", |line| line.trim_end());
        let is_last =
            lines[at + 1..].iter().find(is_text).is_none_or(|next| indentation(next) < indentation(line));
        let is_body = kind.is_python() && is_last && before.ends_with([':', '"']);
        let is_shown = lines[..at]
            .iter()
            .rev()
            .take_while(|line| !line.trim().is_empty())
            .any(|line| line.trim_start().starts_with(">>> "));
        is_shown || (is_body || before.ends_with('(')) && !self.breaks_file()
    }
}
