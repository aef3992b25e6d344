//! Hunks of the difference between two texts, as Git writes them.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Number of unchanged lines around a change.
const CONTEXT: u32 = 3;

/// Number of pairs of lines above which all that lies between the first and the last difference counts as one: finding a smaller
/// one can take seconds, whatever the heuristics.
const MAX_LINE_PAIRS: usize = 400_000_000;

/// Number of bytes of both texts above which most of what they begin and end with alike is left out of the search.
const LARGE: usize = 1024 * 1024;

/// Number of bytes on both sides of what differs that the search sees of large texts. Which of several equal lines counts as changed
/// is decided by the lines around.
const MARGIN: usize = 16 * 1024;

/// Returns the hunks of a text diff without file headers; empty if nothing differs. Takes less than a second, however different the
/// texts are: where finding the smallest difference would take long, Git's heuristics find a larger one.
pub(crate) fn hunks(before: &[u8], after: &[u8]) -> Vec<u8> {
    if before == after {
        return Vec::new();
    }
    let (start, end) = common_ends(before, after);
    let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
    let is_whole = before.is_empty() || after.is_empty();
    if is_whole || count_lines(old).saturating_mul(count_lines(new)) > MAX_LINE_PAIRS {
        return one_hunk(before, (start, end), old, new);
    }
    let (mut skipped, mut left_out) = (0, 0);
    if before.len() + after.len() > LARGE {
        skipped = line_start(before, start.saturating_sub(MARGIN));
        left_out = before.len() - line_end(before, (before.len() - end + MARGIN).min(before.len()));
    }
    let shown = |text: &'_ [u8]| skipped..text.len() - left_out;
    let lines = InternedInput::new(&before[shown(before)], &after[shown(after)]);
    let mut diff = Diff::compute(Algorithm::Myers, &lines);
    diff.postprocess_lines(&lines);
    let above = line(count_lines(&before[..skipped]));
    let mut text = Vec::new();
    let mut changes = diff.hunks().peekable();
    while let Some(first) = changes.next() {
        let mut together = vec![first];
        while let Some(next) = changes.next_if(|next| is_near(&together, next)) {
            together.push(next);
        }
        write_hunk(&mut text, &lines, above, &together);
    }
    text
}

/// Returns how many bytes both texts begin with alike, and how many they end with alike, both in whole lines.
fn common_ends(before: &[u8], after: &[u8]) -> (usize, usize) {
    const BLOCK: usize = 4096;
    let most = before.len().min(after.len());
    // Whole blocks are compared at once.
    let blocks = before.chunks_exact(BLOCK).zip(after.chunks_exact(BLOCK));
    let alike = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let alike =
        alike + before[alike..].iter().zip(&after[alike..]).take_while(|(one, other)| one == other).count();
    let start = line_start(before, alike.min(most));
    let (old, new) = (&before[start..], &after[start..]);
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK));
    let alike = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let rest = (&old[..old.len() - alike], &new[..new.len() - alike]);
    let alike =
        alike + rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(one, other)| one == other).count();
    let begins_line = |text: &[u8]| alike == text.len() || text[text.len() - alike - 1] == b'\n';
    let end = if begins_line(old) && begins_line(new) {
        alike
    } else {
        let common = &old[old.len() - alike..];
        memchr::memchr(b'\n', common).map_or(0, |at| common.len() - at - 1)
    };
    (start, end)
}

/// Returns where the line begins that a place in a text is in; a place right behind a line's end is in the next one.
fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1)
}

/// Returns where the line ends that a place in a text is in.
fn line_end(text: &[u8], at: usize) -> usize {
    if line_start(text, at) == at {
        return at;
    }
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

fn count_lines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count() + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// Returns the hunk in which all lines of `old` become those of `new`. `before` is the text that `old` is in, without so many bytes at its
/// start and its end.
fn one_hunk(before: &[u8], (start, end): (usize, usize), old: &[u8], new: &[u8]) -> Vec<u8> {
    let context = CONTEXT as usize;
    let (above, below) = (&before[..start], &before[before.len() - end..]);
    let head =
        above.split_inclusive(|byte| *byte == b'\n').rev().take(context).map(<[u8]>::len).sum::<usize>();
    let head = &above[above.len() - head..];
    let tail = below.split_inclusive(|byte| *byte == b'\n').take(context).map(<[u8]>::len).sum::<usize>();
    let tail = &below[..tail];
    let around = count_lines(head) + count_lines(tail);
    let first = line(count_lines(&above[..above.len() - head.len()]));
    let (old_range, new_range) =
        (range(first, count_lines(old) + around), range(first, count_lines(new) + around));
    let mut text = Vec::with_capacity(old.len() + new.len() + (old.len() + new.len()) / 32 + 256);
    text.extend(format!("@@ -{old_range} +{new_range} @@\n").bytes());
    for (sign, lines) in [(b' ', head), (b'-', old), (b'+', new), (b' ', tail)] {
        lines.split_inclusive(|byte| *byte == b'\n').for_each(|line| write_line(&mut text, sign, line));
    }
    text
}

fn write_line(text: &mut Vec<u8>, sign: u8, line: &[u8]) {
    text.push(sign);
    text.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        text.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// Returns the number of a line, as imara counts them. No file has as many lines as there are numbers.
fn line(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns whether the unchanged lines before a change are all shown behind the ones before it.
fn is_near(before: &[Hunk], next: &Hunk) -> bool {
    before.last().is_some_and(|last| next.before.start - last.before.end <= 2 * CONTEXT)
}

/// Appends one hunk, with the unchanged lines around and between its changes. The texts have so many more lines `above`.
fn write_hunk(text: &mut Vec<u8>, lines: &InternedInput<&[u8]>, above: u32, changes: &[Hunk]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let head = first.before.start.min(CONTEXT);
    let tail = (lines.before.len() - last.before.end as usize).min(CONTEXT as usize);
    let (old, new) = (first.before.start - head, first.after.start - head);
    let old_length = (last.before.end - old) as usize + tail;
    let new_length = (last.after.end - new) as usize + tail;
    let ranges = (range(above + old, old_length), range(above + new, new_length));
    text.extend(format!("@@ -{} +{} @@\n", ranges.0, ranges.1).bytes());
    let mut put = |sign: u8, side: &[imara_diff::Token], range: Range<u32>| {
        for token in &side[range.start as usize..range.end as usize] {
            write_line(text, sign, lines.interner[*token]);
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

    #[test]
    fn differences_of_large_texts_stand_where_they_are() {
        let text = |changed: &[usize]| -> Vec<u8> {
            (0..200_000_usize)
                .flat_map(|n| {
                    if changed.contains(&n) { format!("{n}!\n") } else { format!("{n}\n") }.into_bytes()
                })
                .collect()
        };
        let (before, after) = (text(&[]), text(&[100_000, 100_020]));
        let found = hunks(&before, &after);
        assert_eq!(patched(&before, &after), after);
        let head = |lines: Range<usize>| lines.map(|n| format!(" {n}\n")).collect::<String>();
        let first = format!("@@ -99998,7 +99998,7 @@\n{}-100000\n+100000!\n", head(99_997..100_000));
        assert!(
            found.starts_with(first.as_bytes()),
            "{}",
            String::from_utf8_lossy(&found[..found.len().min(300)])
        );
        // The ends of texts, and lines without an end.
        for (one, other) in [
            (before.clone(), [&before[..], b"more"].concat()),
            ([b"more\n", &before[..]].concat(), before.clone()),
            (before.clone(), before[..before.len() - 1].to_vec()),
            (before.clone(), Vec::new()),
        ] {
            assert_eq!(patched(&one, &other), other);
            assert_eq!(patched(&other, &one), one);
        }
    }

    proptest! {
        #[test]
        fn one_hunk_leads_from_one_text_to_the_other(
            before in prop::collection::vec(0_u8..3, 0..12),
            after in prop::collection::vec(0_u8..3, 0..12),
            ended: (bool, bool),
        ) {
            let (before, after) = (text(&before, ended.0), text(&after, ended.1));
            if before != after {
                let (start, end) = common_ends(&before, &after);
                let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
                let patch = [b"--- a\n+++ b\n", one_hunk(&before, (start, end), old, new).as_slice()].concat();
                let patch = diffy::Patch::from_bytes(&patch).expect("a patch");
                prop_assert_eq!(diffy::apply_bytes(&before, &patch).expect("it applies"), after);
            }
        }

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
