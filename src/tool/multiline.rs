//! Patterns that are meant to match over several lines, where each line is searched by itself.

/// What matches any character and the line ends too.
const ANYTHING: [&str; 6] = ["[\\s\\S]", "[\\S\\s]", "[\\d\\D]", "[\\D\\d]", "[\\w\\W]", "[\\W\\w]"];

/// Returns the part of a pattern that its first line has to match, if the pattern is meant to match over lines: it says so itself, or
/// the call does (`is_multiline`) and the pattern can.
pub(super) fn first_line(pattern: &str, is_multiline: bool) -> Option<String> {
    let (dotall, plain) = without_dotall(pattern);
    let line_ends = ["\\n", "\n"];
    let has_line_end = line_ends.iter().any(|mark| unescaped(plain, mark).is_some());
    let mut marks = ANYTHING.to_vec();
    if is_multiline && has_line_end {
        marks.extend(line_ends);
    } else if is_multiline || dotall {
        marks.extend([".*", ".+", ".{"]);
    }
    let at = marks.iter().filter_map(|mark| unescaped(plain, mark)).min()?;
    let first = &plain[..at];
    if !first.is_empty() && regex::Regex::new(first).is_ok() {
        return Some(first.to_owned());
    }
    let words = plain.split(|c: char| !c.is_alphanumeric() && c != '_');
    Some(words.max_by_key(|word| word.len()).unwrap_or_default().to_owned())
}

/// Returns whether a pattern begins with a flag by which a dot matches line ends, and the rest of it.
fn without_dotall(pattern: &str) -> (bool, &str) {
    let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match flags {
        Some((flags, rest)) if flags.contains('s') && flags.chars().all(|c| c.is_ascii_lowercase()) => {
            (true, rest)
        }
        _ => (false, pattern),
    }
}

/// Returns where a part of a pattern begins, if no backslash escapes it.
fn unescaped(pattern: &str, part: &str) -> Option<usize> {
    let is_escaped = |at: usize| {
        let slashes = pattern[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        slashes % 2 == 1
    };
    pattern.match_indices(part).map(|(at, _)| at).find(|at| !is_escaped(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_over_lines_are_told_from_those_within_one() {
        for (pattern, is_multiline, expected) in [
            ("begin[\\s\\S]*?end", false, Some("begin")),
            ("(?s)begin.*end", false, Some("begin")),
            ("(?is)begin.*end", false, Some("begin")),
            ("begin.*end", true, Some("begin")),
            ("struct A \\{[\\s\\S]*?\\}", true, Some("struct A \\{")),
            ("(begin[\\s\\S]*end)", false, Some("begin")),
            ("def.*\\n.*return", true, Some("def.*")),
            ("a\\nb", true, Some("a")),
            (".*end", true, Some("end")),
            ("begin.*end", false, None),
            ("a\\nb", false, None),
            ("(?i)begin.*end", false, None),
            ("(?s)begin", false, None),
            ("begin", true, None),
            ("a\\.*", true, None),
        ] {
            assert_eq!(first_line(pattern, is_multiline).as_deref(), expected, "{pattern}");
        }
    }
}
