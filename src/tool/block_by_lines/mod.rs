//! Replacement of whole lines that a model quotes with other blanks at their ends or another indentation than the file has them.

mod cut_indentation;

use patch::block::{nearest, numbered, places};

pub(super) use cut_indentation::by_cut_line;

use super::replace_block::{Edited, NotReplaced, check_size, line_of, not_unique};

/// Most old lines among which one that stays is looked for.
const MAX_SKIPPED: usize = 1_000;

/// Replaces whole lines that differ from `old` in trailing blanks and in a uniform indentation alone. The new lines are
/// indented like those that they replace.
pub(super) fn by_lines(content: &str, old: &str, new: &str, all: bool) -> Result<Edited, NotReplaced> {
    let all_lines: Vec<&str> = content.split('\n').collect();
    // What follows the last line end is no line.
    let lines = all_lines.strip_suffix(&[""]).unwrap_or(&all_lines);
    let (old_text, ends) = old.strip_suffix('\n').map_or((old, false), |text| (text, true));
    let wanted: Vec<&str> = old_text.split('\n').collect();
    let found = places(lines, &wanted);
    let new_text = if ends { new.strip_suffix('\n').unwrap_or(new) } else { new };
    let removes_lines = ends && new.is_empty();
    let shift = match found.as_slice() {
        [] => return Err(NotReplaced::because(missing(content, lines, &wanted, new))),
        [one] => &one.shift,
        several if all && several.iter().all(|place| place.shift == several[0].shift) => &several[0].shift,
        several => {
            let lines: Vec<usize> = several.iter().take(20).map(|place| place.at + 1).collect();
            return Err(NotReplaced::because(not_unique(&lines, several.len())));
        }
    };
    let Some(replacement) = shift.apply_to(new_text) else {
        return Err(NotReplaced::because(missing(content, lines, &wanted, new)));
    };
    let written: Vec<&str> = new_text.split('\n').collect();
    let replacement: Vec<&str> = replacement.split('\n').collect();
    let mut result: Vec<&str> = Vec::with_capacity(all_lines.len());
    let (mut at, mut times, mut made) = (0, 0, 0_usize);
    for place in &found {
        if place.at < at {
            continue;
        }
        result.extend(&lines[at..place.at]);
        let found = &lines[place.at..place.at + wanted.len()];
        if !removes_lines {
            check_size(made.saturating_add(result.len()))?;
            made += replacement.iter().map(|line| line.len() + 1).sum::<usize>();
            result.extend(in_place_of(found, &wanted, &written, &replacement));
        }
        at = place.at + wanted.len();
        times += 1;
    }
    result.extend(&all_lines[at..]);
    check_size(result.iter().map(|line| line.len() + 1).sum::<usize>().saturating_sub(1))?;
    let note = match shift.describe("old_str") {
        Some(difference) => format!("{difference} of indentation, and new_str was indented accordingly"),
        None => "blanks at the ends of lines differ from old_str".to_owned(),
    };
    Ok(Edited { content: result.join("\n"), times, is_by_number: false, note: Some(note) })
}

/// Returns the lines that come in place of `found`, which is quoted as `wanted`, and for which `written` is given, or `indented` as the
/// file is. A line that stays keeps what the file has at its end.
fn in_place_of<'a>(
    found: &[&'a str],
    wanted: &[&str],
    written: &[&str],
    indented: &[&'a str],
) -> Vec<&'a str> {
    // Both are as the model wrote them: what differs between them is a change that it wants.
    let head = wanted.iter().zip(written).take_while(|(one, other)| one == other).count();
    let (old, new) = (&wanted[head..], &written[head..]);
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take_while(|(one, other)| one == other).count();
    let (old_end, new_end) = (wanted.len() - tail, written.len() - tail);
    let mut next = head;
    let changed = (head..new_end).map(|at| {
        let same = (next..old_end).take(MAX_SKIPPED).find(|own| wanted[*own] == written[at]);
        match same.filter(|_| !written[at].trim().is_empty()) {
            Some(own) => {
                next = own + 1;
                found[own]
            }
            None => indented[at],
        }
    });
    let changed: Vec<&str> = changed.collect();
    [&found[..head], &changed, &found[old_end..]].concat()
}

/// Returns why a block was not found: the lines that are most like it, or that the edit is there already.
fn missing(content: &str, lines: &[&str], wanted: &[&str], new: &str) -> String {
    if new.trim().len() > 10 && content.contains(new) {
        let at = content.find(new).map_or(1, |at| line_of(content, at));
        return format!("old_str not found; new_str is already at line {at}");
    }
    match nearest(lines, wanted) {
        Some((at, length)) => {
            let kind = if places(lines, wanted).is_empty() { "" } else { " at another indentation" };
            format!(
                "old_str not found; the nearest lines{kind} are:\n{}",
                numbered(lines, at, length).trim_end()
            )
        }
        None => "old_str not found, and nothing like it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_keep_their_ends() {
        for (file, old, new, expected) in [
            ("a  \nb\nc  \n", "a\nb\nc\n", "a\nB\nc\n", "a  \nB\nc  \n"),
            ("a  \nb \nc  \nd\n", "a\nb\nc\nd\n", "x\nb\ny\nc\nz\n", "x\nb \ny\nc  \nz\n"),
            (
                "x {\n\ta \n\tb\n}\n",
                "    a\n    b\n",
                "    a\n    if c {\n        b\n    }\n",
                "x {\n\ta \n\tif c {\n\t\tb\n\t}\n}\n",
            ),
        ] {
            let edited = by_lines(file, old, new, false).map(|edited| edited.content);
            assert_eq!(edited.as_deref(), Ok(expected), "{file:?} {old:?} {new:?}");
        }
    }
}
