//! Hunks of the difference between two texts, as Git writes them.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Number of unchanged lines around a change.
const CONTEXT: u32 = 3;

/// Number of pairs of lines above which all that lies between the first and the last difference counts as one: finding a smaller
/// one can take seconds, whatever the heuristics.
const MAX_LINE_PAIRS: usize = 400_000_000;

/// Returns the hunks of a text diff without file headers; empty if nothing differs. Takes less than a second, however different the
/// texts are: where finding the smallest difference would take long, Git's heuristics find a larger one.
pub(crate) fn hunks(before: &[u8], after: &[u8]) -> Vec<u8> {
    if before == after {
        return Vec::new();
    }
    let lines = InternedInput::new(before, after);
    let between = between(&lines);
    let changes = if between.before.len().saturating_mul(between.after.len()) > MAX_LINE_PAIRS {
        vec![between]
    } else {
        let mut diff = Diff::compute(Algorithm::Myers, &lines);
        diff.postprocess_lines(&lines);
        diff.hunks().collect()
    };
    let mut text = Vec::new();
    let mut changes = changes.into_iter().peekable();
    while let Some(first) = changes.next() {
        let mut together = vec![first];
        while let Some(next) = changes.next_if(|next| is_near(&together, next)) {
            together.push(next);
        }
        write_hunk(&mut text, &lines, &together);
    }
    text
}

/// Returns all that lies between the lines at the start and those at the end that both texts have.
fn between(lines: &InternedInput<&[u8]>) -> Hunk {
    let (old, new) = (&lines.before, &lines.after);
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - start;
    let end =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let range = |length: usize| line(start)..line(length - end);
    Hunk { before: range(old.len()), after: range(new.len()) }
}

/// Returns the number of a line, as imara counts them. No file has as many lines as there are numbers.
fn line(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns whether the unchanged lines before a change are all shown behind the ones before it.
fn is_near(before: &[Hunk], next: &Hunk) -> bool {
    before.last().is_some_and(|last| next.before.start - last.before.end <= 2 * CONTEXT)
}

/// Appends one hunk, with the unchanged lines around and between its changes.
fn write_hunk(text: &mut Vec<u8>, lines: &InternedInput<&[u8]>, changes: &[Hunk]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let head = first.before.start.min(CONTEXT);
    let tail = (lines.before.len() - last.before.end as usize).min(CONTEXT as usize);
    let (old, new) = (first.before.start - head, first.after.start - head);
    let old_length = (last.before.end - old) as usize + tail;
    let new_length = (last.after.end - new) as usize + tail;
    text.extend(format!("@@ -{} +{} @@\n", range(old, old_length), range(new, new_length)).bytes());
    let mut put = |sign: u8, side: &[imara_diff::Token], range: Range<u32>| {
        for token in &side[range.start as usize..range.end as usize] {
            let line = lines.interner[*token];
            text.push(sign);
            text.extend(line);
            if !line.ends_with(b"\n") {
                text.extend(b"\n\\ No newline at end of file\n");
            }
        }
    };
    let mut shown = old;
    for change in changes {
        put(b' ', &lines.before, shown..change.before.start);
        put(b'-', &lines.before, change.before.clone());
        put(b'+', &lines.after, change.after.clone());
        shown = change.before.end;
    }
    put(b' ', &lines.before, shown..last.before.end + line(tail));
}

/// Returns a range as a hunk's header has it: the first line, counted from one, and the number of lines. An empty range is behind
/// the line that it names.
fn range(start: u32, length: usize) -> String {
    let first = if length == 0 { start } else { start + 1 };
    if length == 1 { format!("{first}") } else { format!("{first},{length}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a text with a line for each number, whose last line may be unended.
    fn text(lines: &[u8], is_ended: bool) -> Vec<u8> {
        let text: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        if is_ended { text } else { text.strip_suffix(b"\n").unwrap_or_default().to_vec() }
    }

    fn patched(before: &[u8], after: &[u8]) -> Vec<u8> {
        let patch = [b"--- a\n+++ b\n", hunks(before, after).as_slice()].concat();
        let patch = diffy::Patch::from_bytes(&patch).expect("a patch");
        diffy::apply_bytes(before, &patch).expect("it applies")
    }

    #[test]
    fn changes_are_apart_where_no_line_is_shown_twice() {
        let numbers = |changed: &[usize]| -> Vec<u8> {
            let line = |at| if changed.contains(&at) { format!("{at}!\n") } else { format!("{at}\n") };
            (1..=20).flat_map(|at| line(at).into_bytes()).collect()
        };
        let shown =
            |changed: &[usize]| String::from_utf8(hunks(&numbers(&[]), &numbers(changed))).expect("text");
        assert_eq!(shown(&[5]), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+5!\n 6\n 7\n 8\n");
        assert_eq!(shown(&[5, 12]).matches("@@ -").count(), 1);
        assert_eq!(shown(&[5, 13]).matches("@@ -").count(), 2);
        assert_eq!(hunks(b"", b"a\n"), b"@@ -0,0 +1 @@\n+a\n");
        assert_eq!(hunks(b"a\nb", b""), b"@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n");
    }

    #[test]
    fn enormous_rewrites_take_no_time() {
        let lines = |letter: char| {
            (0..60_000).flat_map(|n| format!("{letter}{n}\n").into_bytes()).collect::<Vec<u8>>()
        };
        assert!(hunks(&lines('a'), &lines('b')).starts_with(b"@@ -1,60000 +1,60000 @@\n-a0\n"));
        // Few different lines, none of them in its place.
        let shuffled =
            |step: u64| (0..30_000_u64).flat_map(move |n| format!("{}\n", (n * step) % 61 % 7).into_bytes());
        let (before, after): (Vec<u8>, Vec<u8>) = (shuffled(17).collect(), shuffled(29).collect());
        assert!(patched(&before, &after) == after);
    }

    proptest! {
        #[test]
        fn hunks_lead_from_one_text_to_the_other(
            before in prop::collection::vec(0_u8..6, 0..60),
            after in prop::collection::vec(0_u8..6, 0..60),
            ended: (bool, bool),
        ) {
            let (before, after) = (text(&before, ended.0), text(&after, ended.1));
            if before != after {
                prop_assert_eq!(patched(&before, &after), after);
            }
        }
    }
}
