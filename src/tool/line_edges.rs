//! Blanks at the edges of lines in a regular expression. `\s` matches line ends as well, so that `^\s+` and `\s+$` would join lines, or
//! remove empty ones: at an edge of a line, the blanks in that line are meant.

/// What stands in place of `\s` there.
const BLANK: &str = r"[^\S\r\n]";

/// Returns a pattern in which `\s` directly behind `^` or before `$` matches no line end.
pub(super) fn within_lines(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    let (mut rest, mut in_class) = (pattern, false);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        match token {
            "[" => in_class = true,
            "]" => in_class = false,
            _ => {}
        }
        let is_edge = token == r"\s"
            && !in_class
            && (is_at_start(&pattern[..pattern.len() - rest.len()]) || is_at_end(behind));
        made += if is_edge { BLANK } else { token };
        rest = behind;
    }
    made
}

/// Returns whether a part of a pattern ends with `^`, or with it and the beginning of a group.
fn is_at_start(before: &str) -> bool {
    let group = before.rfind('(').filter(|at| {
        let opening = &before[at + 1..];
        opening.is_empty() || opening == "?:" || (opening.starts_with('?') && opening.ends_with('>'))
    });
    let before = group.map_or(before, |at| &before[..at]);
    let is_escaped = |before: &str| before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    before.strip_suffix('^').is_some_and(|before| !is_escaped(before))
}

/// Returns whether a part of a pattern begins with `$`, but for how often what is before it occurs, and the end of a group.
fn is_at_end(behind: &str) -> bool {
    let repeated = match behind.strip_prefix('{').and_then(|count| count.split_once('}')) {
        Some((_, behind)) => behind,
        None => behind.strip_prefix(['*', '+', '?']).unwrap_or(behind),
    };
    let behind = repeated.strip_prefix(['?', '+']).unwrap_or(repeated);
    let behind = behind.strip_prefix(')').unwrap_or(behind);
    behind.starts_with('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_at_the_edges_of_lines_stay_in_them() {
        for (pattern, expected) in [
            (r"\s+$", r"[^\S\r\n]+$"),
            (r"^\s*x", r"^[^\S\r\n]*x"),
            (r"^(\s*)def", r"^([^\S\r\n]*)def"),
            (r"^(?P<in>\s*)def\s+(\w+)", r"^(?P<in>[^\S\r\n]*)def\s+(\w+)"),
            (r"a(\s{0,3}?)$", r"a([^\S\r\n]{0,3}?)$"),
            (r"^\s*$", r"^[^\S\r\n]*$"),
            (r"a\s+b", r"a\s+b"),
            (r"\^\s", r"\^\s"),
            (r"[^\s]x[^\s$]", r"[^\s]x[^\s$]"),
            (r"\\s$", r"\\s$"),
            (r"\s+\$", r"\s+\$"),
            ("é^\\s", "é^[^\\S\\r\\n]"),
            ("\\", "\\"),
        ] {
            assert_eq!(within_lines(pattern), expected, "{pattern}");
        }
    }
}
