//! Blocks that are quoted with the numbers that `read_file` puts before lines.

use super::replace_block::{Edited, NotReplaced, exactly, line_of, not_unique, overlapping};

/// Most places at which a block with numbers is looked for.
const MAX_NUMBERED: usize = 100;

/// Replaces whole lines that are given with their numbers; `None` if they are nowhere. Numbers behind which there is a colon may be
/// keys: they have to be those of the lines.
pub(super) fn by_numbers(content: &str, old: &str, new: &str) -> Option<Result<Edited, NotReplaced>> {
    let meant = without_numbers(old)?;
    let first: usize = old.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let is_whole = |at: &usize| {
        let ends =
            meant.ends_with('\n') || matches!(content[at + meant.len()..].chars().next(), None | Some('\n'));
        ends && (*at == 0 || content[..*at].ends_with('\n'))
    };
    let places: Vec<usize> = overlapping(content, &meant).take(MAX_NUMBERED).filter(is_whole).collect();
    let numbered = places.iter().copied().find(|at| line_of(content, *at) == first);
    let are_keys = old.lines().any(|line| !line.contains(['\t', '→']));
    let at = match places.as_slice() {
        _ if numbered.is_some() => numbered?,
        [] => return None,
        _ if are_keys => return None,
        [one] => *one,
        several => {
            let lines: Vec<usize> = several.iter().map(|at| line_of(content, *at)).collect();
            return Some(Err(NotReplaced::because(not_unique(&lines, several.len()))));
        }
    };
    let new = match without_numbers(new) {
        Some(plain) => plain,
        // Numbers before some of the lines would become part of the file.
        None if new.lines().any(|line| without_numbers(line).is_some()) => {
            return Some(Err(NotReplaced::because(
                "the lines of old_str begin with their numbers, and only some of new_str do; give both without numbers",
            )));
        }
        None => new.to_owned(),
    };
    let (before, place) = content.split_at(at);
    let (place, behind) = place.split_at(meant.len());
    let note = Some("the line numbers in old_str were left out".to_owned());
    let edited = exactly(place, &meant, &new, false);
    Some(edited.map(|edited| Edited { content: [before, &edited.content, behind].concat(), times: 1, note }))
}

/// Returns a block without the numbers that `read_file` puts before its lines, or `None` if a line has none.
pub(super) fn without_numbers(block: &str) -> Option<String> {
    let line = |line: &str| {
        let (number, rest) = line.split_once(['\t', '→']).or_else(|| line.split_once(": "))?;
        let is_number = !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| rest.to_owned())
    };
    let ends = block.ends_with('\n');
    let lines: Vec<String> =
        block.strip_suffix('\n').unwrap_or(block).split('\n').map(line).collect::<Option<_>>()?;
    Some(lines.join("\n") + if ends { "\n" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_keys_are_those_of_no_line() {
        let pages = "a\n404: 'Not Found',\n410: 'Missing',\n";
        for (content, old, new, expected) in [
            (pages, "404: 'Missing',", "404: 'Gone',", None),
            ("x\n80: web\n443: web\n", "80: web", "80: api", None),
            ("10: alpha\n20: alphabet\n", "30: bet", "30: BET", None),
            ("a\nb c\n", "2: b", "2: x", None),
            ("a\nb\nc\n", "2: b", "2: x", Some("a\nx\nc\n")),
            ("a\nb\na\n", "3\ta", "3\tx", Some("a\nb\nx\n")),
            ("a\nb\nc\n", "9→b\n10→c\n", "9→x\n", Some("a\nx\n")),
        ] {
            let edited = by_numbers(content, old, new).map(|edited| edited.expect("an edit").content);
            assert_eq!(edited.as_deref(), expected, "{old}");
        }
        let error = by_numbers("a\nb\na\n", "7\ta", "7\tx").expect("a block").expect_err("two places");
        assert!(error.to_string().contains("lines 1, 3"), "{error}");
    }
}
