//! Line ends in regular expressions: whether a pattern may match more than a line, and what `\r\n` in one means.

use regex_syntax::ParserBuilder;
use regex_syntax::ast::{AssertionKind, Ast};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::line_edges::parse;

/// Returns whether a match of a pattern may extend over several lines; of a pattern that only a backtracking engine knows, it may.
pub(super) fn may_span_lines(pattern: &str) -> bool {
    let parsed = ParserBuilder::new().multi_line(true).crlf(true).build().parse(pattern);
    parsed.map_or(true, |hir| has_line_end(&hir))
}

/// Returns whether all that a pattern matches are line ends, or parts of them.
pub(super) fn matches_line_ends_alone(pattern: &str) -> bool {
    let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
    parsed.is_ok_and(|hir| hir.properties().minimum_len().is_some_and(|least| least > 0) && is_line_end(&hir))
}

fn is_line_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => literal.0.iter().all(|byte| matches!(byte, b'\r' | b'\n')),
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().all(|range| (range.start()..=range.end()).all(|c| matches!(c, '\r' | '\n')))
        }
        HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Repetition(repetition) => is_line_end(&repetition.sub),
        HirKind::Capture(capture) => is_line_end(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_line_end),
    }
}

fn has_line_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&'\n'))
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&b'\n'))
        }
        HirKind::Repetition(repetition) => has_line_end(&repetition.sub),
        HirKind::Capture(capture) => has_line_end(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_line_end),
    }
}

/// Returns a pattern in which every `\r\n` stands for a line end of either kind.
pub(super) fn with_any_line_ends(pattern: &str) -> String {
    let mut returns = Vec::new();
    if let Some((ast, _)) = parse(pattern) {
        note_returns(&ast, &mut returns);
    }
    let (mut made, mut from) = (String::with_capacity(pattern.len() + returns.len()), 0);
    for end in returns {
        made += &pattern[from..end];
        made.push('?');
        from = end;
    }
    made + &pattern[from..]
}

/// Notes where each `\r` ends that a `\n` follows, or the end of a line.
fn note_returns(ast: &Ast, ends: &mut Vec<usize>) {
    let is_end =
        |ast: &Ast| matches!(ast, Ast::Assertion(assertion) if assertion.kind == AssertionKind::EndLine);
    let is = |ast: &Ast, c: char| matches!(ast, Ast::Literal(literal) if literal.c == c);
    match ast {
        Ast::Group(group) => note_returns(&group.ast, ends),
        Ast::Repetition(repetition) => note_returns(&repetition.ast, ends),
        Ast::Alternation(several) => several.asts.iter().for_each(|ast| note_returns(ast, ends)),
        Ast::Concat(row) => {
            for (index, part) in row.asts.iter().enumerate() {
                let is_followed = row.asts.get(index + 1).is_some_and(|next| is(next, '\n') || is_end(next));
                if is(part, '\r') && is_followed {
                    ends.push(part.span().end.offset);
                }
                note_returns(part, ends);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_over_lines_are_foreseen() {
        for pattern in [
            r"a\s+b",
            r"a\n",
            "a\nb",
            r"a\x0ab",
            r"a\u{a}",
            r"[^x]",
            r"[\x00-\x20]",
            r"(?s)a.b",
            r"(?ms)a.b",
            r"(?is:a.b)",
            r"\W",
            r"[[:space:]]",
            r"a(?=b)",
        ] {
            assert!(may_span_lines(pattern), "{pattern}");
        }
        for pattern in [
            "a.*b",
            "^a$",
            r"\bfoo\b",
            r"\w+ \d",
            r"[^\r\n]+",
            r"^[\s&&[^\r\n]]+",
            r"a\\n",
            "(?i)a|b",
            "(?m)^x",
        ] {
            assert!(!may_span_lines(pattern), "{pattern}");
        }
    }

    #[test]
    fn patterns_of_line_ends_are_told_from_others() {
        for pattern in [r"\r\n", r"(\r?\n)+", r"\r$", "\r\n", r"[\r\n]+"] {
            assert!(matches_line_ends_alone(pattern), "{pattern}");
        }
        for pattern in [r"a\r\n", "$", r"\s+", r"\r?\n|x", "", "("] {
            assert!(!matches_line_ends_alone(pattern), "{pattern}");
        }
    }

    #[test]
    fn line_ends_of_either_kind_are_meant() {
        for (pattern, expected) in [
            (r"a\r\nb", r"a\r?\nb"),
            ("a\r\nb", "a\r?\nb"),
            (r"(\r\n)+x|\r\n", r"(\r?\n)+x|\r?\n"),
            (r"é\x0d\n", r"é\x0d?\n"),
            (r"(?<=a)\r\n", r"(?<=a)\r?\n"),
            (r"[^\r\n]\r?\n", r"[^\r\n]\r?\n"),
            (r"C:\\r\n", r"C:\\r\n"),
            (r"a\r$", r"a\r?$"),
            ("(", "("),
        ] {
            assert_eq!(with_any_line_ends(pattern), expected, "{pattern}");
        }
    }
}
