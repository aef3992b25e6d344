//! Blanks at the edges of lines in a regular expression. `\s` matches line ends as well, so that `^\s+` and `\s+$` would join lines, or
//! remove empty ones: at an edge of a line, the blanks in that line are meant.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{AssertionKind, Ast, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange, Span};
use regex_syntax::hir::{Class, HirKind};

/// Returns a pattern in which blanks behind `^` or before `$` match no line end; what may match nothing can stand between. A pattern that
/// says itself that `^` and `$` are no edges of lines is returned as it is.
pub(super) fn within_lines(pattern: &str) -> String {
    let same = || pattern.to_owned();
    let Some((ast, looks)) = parse(pattern) else { return same() };
    let mut edges = Edges { pattern, looks, blanks: Vec::new(), is_off: false };
    edges.note(&ast, Around::default());
    if edges.is_off {
        return same();
    }
    edges.blanks.sort_by_key(|span| span.start.offset);
    let (mut made, mut from) = (String::with_capacity(pattern.len()), 0);
    for Span { start, end } in edges.blanks {
        made += &pattern[from..start.offset];
        made += &format!("[{}&&[^\\r\\n]]", &pattern[start.offset..end.offset]);
        from = end.offset;
    }
    made + &pattern[from..]
}

/// Most braces that stand for themselves.
const MOST_BRACES: usize = 16;

/// Returns the parts of a pattern, and where look-around begins in it. What only a backtracking engine knows is read as something
/// simpler of the same length, so that all positions stay what they are.
pub(super) fn parse(pattern: &str) -> Option<(Ast, Vec<usize>)> {
    let (mut plain, mut looks) = (String::with_capacity(pattern.len()), Vec::new());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let at = plain.len();
        let ahead = |text: &str| rest.starts_with(text);
        let (length, simple) = match c {
            '\\' => match rest[1..].chars().next() {
                Some('1'..='9' | 'k') => (2, r"\d"),
                Some('K' | 'G') => (2, r"\b"),
                Some('Z') => (2, r"\z"),
                next => (1 + next.map_or(0, char::len_utf8), ""),
            },
            '(' if ahead("(?<=") || ahead("(?<!") => (4, "(?s:"),
            '(' if ahead("(?=") || ahead("(?!") => (3, "(?:"),
            '(' if ahead("(?>") => (3, "(?:"),
            _ => (c.len_utf8(), ""),
        };
        if c == '(' && length > 1 && !ahead("(?>") {
            looks.push(at);
        }
        plain += if simple.is_empty() { &rest[..length] } else { simple };
        rest = &rest[length..];
    }
    for _ in 0..MOST_BRACES {
        let error = match Parser::new().parse(&plain) {
            Ok(ast) => return Some((ast, looks)),
            Err(error) => error,
        };
        // The second engine takes a brace that begins no repetition for itself.
        let brace = plain.get(..error.span().end.offset.max(error.span().start.offset + 1))?.rfind('{')?;
        plain.replace_range(brace..=brace, "x");
    }
    None
}

/// Whether what is around a part of a pattern leaves it at the start and at the end of a line.
#[derive(Clone, Copy, Default)]
struct Around {
    is_start: bool,
    is_end: bool,
}

/// The blanks that stand at edges of lines.
struct Edges<'p> {
    pattern: &'p str,
    /// Where groups of look-around begin.
    looks: Vec<usize>,
    /// Where the classes are.
    blanks: Vec<Span>,
    /// Whether `^` and `$` are no edges of lines.
    is_off: bool,
}

impl Edges<'_> {
    /// Notes the blanks of a part of the pattern.
    fn note(&mut self, ast: &Ast, around: Around) {
        match ast {
            Ast::Flags(set) => self.is_off |= is_single_line(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.is_off |= is_single_line(flags);
                }
                self.note(&group.ast, around);
            }
            Ast::Repetition(repetition) => self.note(&repetition.ast, around),
            Ast::Alternation(several) => several.asts.iter().for_each(|ast| self.note(ast, around)),
            Ast::Concat(row) => {
                // Whether each part begins where a line may have begun, seen from the left, and the same from the right.
                let mut is_end = vec![around.is_end; row.asts.len()];
                for index in (0..row.asts.len().saturating_sub(1)).rev() {
                    let next = &row.asts[index + 1];
                    is_end[index] = self.touches(next, &AssertionKind::EndLine)
                        || (is_end[index + 1] && self.may_be_empty(next));
                }
                let mut is_start = around.is_start;
                for (ast, is_end) in row.asts.iter().zip(is_end) {
                    self.note(ast, Around { is_start, is_end });
                    is_start =
                        self.touches(ast, &AssertionKind::StartLine) || (is_start && self.may_be_empty(ast));
                }
            }
            Ast::ClassPerl(_) | Ast::ClassBracketed(_) | Ast::ClassUnicode(_) => {
                let span = ast.span();
                if (around.is_start || around.is_end)
                    && has_blanks(&self.pattern[span.start.offset..span.end.offset])
                {
                    self.blanks.push(*span);
                }
            }
            _ => {}
        }
    }

    /// Returns whether a part of the pattern may match nothing.
    fn may_be_empty(&self, ast: &Ast) -> bool {
        match ast {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => true,
            Ast::Group(group) => {
                self.looks.contains(&group.span.start.offset) || self.may_be_empty(&group.ast)
            }
            Ast::Repetition(repetition) => {
                let begins_at_zero = match &repetition.op.kind {
                    RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => true,
                    RepetitionKind::OneOrMore => false,
                    RepetitionKind::Range(range) => match range {
                        RepetitionRange::Exactly(least)
                        | RepetitionRange::AtLeast(least)
                        | RepetitionRange::Bounded(least, _) => *least == 0,
                    },
                };
                begins_at_zero || self.may_be_empty(&repetition.ast)
            }
            Ast::Alternation(several) => several.asts.iter().any(|ast| self.may_be_empty(ast)),
            Ast::Concat(row) => row.asts.iter().all(|ast| self.may_be_empty(ast)),
            _ => false,
        }
    }

    /// Returns whether a part of the pattern may end with the start of a line, or begin with the end of one.
    fn touches(&self, ast: &Ast, edge: &AssertionKind) -> bool {
        match ast {
            Ast::Assertion(assertion) => assertion.kind == *edge,
            Ast::Group(group) => self.touches(&group.ast, edge),
            Ast::Repetition(repetition) => self.touches(&repetition.ast, edge),
            Ast::Alternation(several) => several.asts.iter().any(|ast| self.touches(ast, edge)),
            Ast::Concat(row) => {
                let is_start = *edge == AssertionKind::StartLine;
                let mut parts: Vec<&Ast> = row.asts.iter().collect();
                if is_start {
                    parts.reverse();
                }
                for part in parts {
                    if self.touches(part, edge) {
                        return true;
                    }
                    if !self.may_be_empty(part) {
                        return false;
                    }
                }
                false
            }
            _ => false,
        }
    }
}

fn is_single_line(flags: &Flags) -> bool {
    flags.flag_state(Flag::MultiLine) == Some(false)
}

/// Returns whether a class has blanks and line ends, but is not all but a few characters.
fn has_blanks(class: &str) -> bool {
    let Ok(parsed) = regex_syntax::parse(class) else { return false };
    let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { return false };
    let has = |c: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c));
    has(' ') && has('\n') && !has(char::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::pattern::Pattern;
    use crate::base::pattern_options::PatternOptions;

    #[test]
    fn blanks_at_the_edges_of_lines_stay_in_them() {
        for (pattern, expected) in [
            (r"\s+$", r"[\s&&[^\r\n]]+$"),
            (r"^\s*x", r"^[\s&&[^\r\n]]*x"),
            (r"^(\s*)def", r"^([\s&&[^\r\n]]*)def"),
            (r"^(?P<in>\s*)def\s+(\w+)", r"^(?P<in>[\s&&[^\r\n]]*)def\s+(\w+)"),
            (r"a(\s{0,3}?)$", r"a([\s&&[^\r\n]]{0,3}?)$"),
            (r"^\s*$", r"^[\s&&[^\r\n]]*$"),
            (r"[\s;]+$", r"[[\s;]&&[^\r\n]]+$"),
            (r"[[:space:]]+$", r"[[[:space:]]&&[^\r\n]]+$"),
            (r"[^\S]+$", r"[[^\S]&&[^\r\n]]+$"),
            (r"\p{White_Space}+$", r"[\p{White_Space}&&[^\r\n]]+$"),
            (r"(?:;|\s)+$", r"(?:;|[\s&&[^\r\n]])+$"),
            (r"^((\s+)x|\sy)", r"^(([\s&&[^\r\n]]+)x|[\s&&[^\r\n]]y)"),
            // What may match nothing between.
            (r"^#?\s*x.*$", r"^#?[\s&&[^\r\n]]*x.*$"),
            (r"\s*(#.*)?$", r"[\s&&[^\r\n]]*(#.*)?$"),
            (r"\s*,?\s*$", r"[\s&&[^\r\n]]*,?[\s&&[^\r\n]]*$"),
            (r"(^|,)\s*foo", r"(^|,)[\s&&[^\r\n]]*foo"),
            (r"foo\s*(,|$)", r"foo[\s&&[^\r\n]]*(,|$)"),
            (r"(?m:^)\s+foo", r"(?m:^)[\s&&[^\r\n]]+foo"),
            // Look-around, and what only a backtracking engine knows.
            (r"^\s*(?=def )", r"^[\s&&[^\r\n]]*(?=def )"),
            (r"(?<!a)\s+$", r"(?<!a)[\s&&[^\r\n]]+$"),
            (r"^(?!#)\s*x", r"^(?!#)[\s&&[^\r\n]]*x"),
            (r"\s+(?=$)", r"[\s&&[^\r\n]]+(?=$)"),
            (r"(?<=^)\s+", r"(?<=^)[\s&&[^\r\n]]+"),
            (r"(\w+) \1\s+$", r"(\w+) \1[\s&&[^\r\n]]+$"),
            (r"foo\K\s+$", r"foo\K[\s&&[^\r\n]]+$"),
            (r"fn x\(\)\s*{\s*$", r"fn x\(\)\s*{[\s&&[^\r\n]]*$"),
            (r"(?-m)\s+$", r"(?-m)\s+$"),
            (r"(?-m:^\s+)", r"(?-m:^\s+)"),
            (r"\s+\z", r"\s+\z"),
            (r"a\s+b", r"a\s+b"),
            (r"a\s+b$", r"a\s+b$"),
            (r"\s+$\s+x", r"[\s&&[^\r\n]]+$\s+x"),
            (r"\^\s", r"\^\s"),
            (r"[^\s]x[^\s$]", r"[^\s]x[^\s$]"),
            (r"^[^\s]", r"^[^\s]"),
            (r"[\s\S]*$", r"[\s\S]*$"),
            (r"\\s$", r"\\s$"),
            (r"\s+\$", r"\s+\$"),
            ("é^\\s", "é^[\\s&&[^\\r\\n]]"),
            ("\\", "\\"),
            ("(", "("),
            ("{{{{", "{{{{"),
        ] {
            assert_eq!(within_lines(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_mean_the_same_to_both_engines() {
        let options = PatternOptions { multi_line: true, ..PatternOptions::default() };
        for (pattern, text, expected) in [
            (r"[\s]+$", "a  \n\n\nb\n", "a\n\n\nb\n"),
            (r"[[:space:]]+$", "a \t\r\n\r\nb\n", "a\r\n\r\nb\n"),
            (r"(?<!x)\s+$", "a \n\nb\n", "a\n\nb\n"),
            (r"^\s+(?=b)", "a\n\n  b\n", "a\n\nb\n"),
            (r"(?x) \s+ $", "a  \n\nb\n", "a\n\nb\n"),
            (r"\s*(#.*)?$", "x = 1  # one\n\n\ny\n", "x = 1\n\n\ny\n"),
            (r"^#?\s*P.*$", "# Auth\n\nP yes\n", "# Auth\n\n\n"),
        ] {
            let found =
                Pattern::new(&within_lines(pattern), options).expect("a pattern").replace(text, "", 99);
            assert_eq!(found.expect("a text").0, expected, "{pattern}");
        }
    }
}
