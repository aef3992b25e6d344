//! Blanks at the edges of lines in a regular expression. `\s` matches line ends as well, so that `^\s+` and `\s+$` would join lines, or
//! remove empty ones: at an edge of a line, the blanks in that line are meant.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassAsciiKind, ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags, GroupKind, Span,
};

/// Returns a pattern in which blanks directly behind `^` or before `$` match no line end. One that says itself that `^` and `$` are no
/// edges of lines is returned as it is.
pub(super) fn within_lines(pattern: &str) -> String {
    let same = || pattern.to_owned();
    // Of the same length, so that all positions stay what they are.
    let mut plain = same();
    for (look_around, group) in
        [("(?<=", "(?s:"), ("(?<!", "(?s:"), ("(?=", "(?:"), ("(?!", "(?:"), ("(?>", "(?:")]
    {
        plain = plain.replace(look_around, group);
    }
    let Ok(ast) = Parser::new().parse(&plain) else { return same() };
    let mut edges = Edges::default();
    edges.visit(&ast);
    if edges.is_off {
        return same();
    }
    edges.blanks.sort_by_key(|span| span.start.offset);
    edges.blanks.dedup();
    let (mut made, mut from) = (String::with_capacity(pattern.len()), 0);
    for Span { start, end } in edges.blanks {
        made += &pattern[from..start.offset];
        made += &format!("[{}&&[^\\r\\n]]", &pattern[start.offset..end.offset]);
        from = end.offset;
    }
    made + &pattern[from..]
}

/// The blanks that stand at edges of lines.
#[derive(Default)]
struct Edges {
    /// Where the classes are.
    blanks: Vec<Span>,
    /// Whether `^` and `$` are no edges of lines.
    is_off: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

impl Edges {
    fn visit(&mut self, ast: &Ast) {
        match ast {
            Ast::Flags(set) => self.is_off |= is_single_line(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.is_off |= is_single_line(flags);
                }
                self.visit(&group.ast);
            }
            Ast::Repetition(repetition) => self.visit(&repetition.ast),
            Ast::Alternation(several) => several.asts.iter().for_each(|ast| self.visit(ast)),
            Ast::Concat(row) => {
                for pair in row.asts.windows(2) {
                    if is_edge(&pair[0], &AssertionKind::StartLine) {
                        self.note(&pair[1], Side::Start);
                    }
                    if is_edge(&pair[1], &AssertionKind::EndLine) {
                        self.note(&pair[0], Side::End);
                    }
                }
                row.asts.iter().for_each(|ast| self.visit(ast));
            }
            _ => {}
        }
    }

    /// Notes the blanks that a part of the pattern begins or ends with.
    fn note(&mut self, ast: &Ast, side: Side) {
        match ast {
            Ast::ClassPerl(class) if class.kind == ClassPerlKind::Space && !class.negated => {
                self.blanks.push(class.span);
            }
            Ast::ClassBracketed(class) if !class.negated && has_blanks(&class.kind) => {
                self.blanks.push(class.span);
            }
            Ast::Group(group) => self.note(&group.ast, side),
            Ast::Repetition(repetition) => self.note(&repetition.ast, side),
            Ast::Alternation(several) => several.asts.iter().for_each(|ast| self.note(ast, side)),
            Ast::Concat(row) => {
                let outer = if side == Side::Start { row.asts.first() } else { row.asts.last() };
                if let Some(outer) = outer {
                    self.note(outer, side);
                }
            }
            _ => {}
        }
    }
}

fn is_single_line(flags: &Flags) -> bool {
    flags.flag_state(Flag::MultiLine) == Some(false)
}

fn is_edge(ast: &Ast, kind: &AssertionKind) -> bool {
    matches!(ast, Ast::Assertion(assertion) if assertion.kind == *kind)
}

/// Returns whether a class in brackets names all blanks, and with them the ends of lines.
fn has_blanks(class: &ClassSet) -> bool {
    let ClassSet::Item(item) = class else { return false };
    is_blank(item)
}

fn is_blank(item: &ClassSetItem) -> bool {
    match item {
        ClassSetItem::Perl(class) => class.kind == ClassPerlKind::Space && !class.negated,
        ClassSetItem::Ascii(class) => class.kind == ClassAsciiKind::Space && !class.negated,
        ClassSetItem::Union(union) => union.items.iter().any(is_blank),
        ClassSetItem::Bracketed(inner) => !inner.negated && has_blanks(&inner.kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::pattern::{Pattern, PatternOptions};

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
            (r"(?:;|\s)+$", r"(?:;|[\s&&[^\r\n]])+$"),
            (r"^((\s+)x|\sy)", r"^(([\s&&[^\r\n]]+)x|[\s&&[^\r\n]]y)"),
            (r"^\s*(?=def )", r"^[\s&&[^\r\n]]*(?=def )"),
            (r"(?<!a)\s+$", r"(?<!a)[\s&&[^\r\n]]+$"),
            (r"(?-m)\s+$", r"(?-m)\s+$"),
            (r"(?-m:^\s+)", r"(?-m:^\s+)"),
            (r"\s+\z", r"\s+\z"),
            (r"a\s+b", r"a\s+b"),
            (r"\^\s", r"\^\s"),
            (r"[^\s]x[^\s$]", r"[^\s]x[^\s$]"),
            (r"^[^\s]", r"^[^\s]"),
            (r"\\s$", r"\\s$"),
            (r"\s+\$", r"\s+\$"),
            ("é^\\s", "é^[\\s&&[^\\r\\n]]"),
            ("\\", "\\"),
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
        ] {
            let found =
                Pattern::new(&within_lines(pattern), options).expect("a pattern").replace(text, "", 99);
            assert_eq!(found.expect("a text").0, expected, "{pattern}");
        }
    }
}
