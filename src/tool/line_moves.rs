//! Tracks how far the edits of a call have moved the lines of a file, because other edits of the call may name numbers of these
//! lines.

use super::line_edit::LineRange;
use super::line_ends::plain;
use super::replace_block::Edited;

/// How far the edits of a call have moved the lines of the file, as it was before the call.
#[derive(Default)]
pub(super) struct Moves {
    /// The lines that each edit has replaced by more or fewer ones, and by how many it has moved what follows.
    known: Vec<(LineRange, isize)>,
    /// Whether there are edits of which nothing says for certain where in the file they were made.
    has_unknown: bool,
}

impl Moves {
    /// Returns by how many lines a line has moved.
    pub(super) fn of(&self, line: usize) -> isize {
        self.known.iter().filter(|(lines, _)| lines.last < line).map(|(_, by)| by).sum()
    }

    /// Returns whether a number may be that of another line now. One in the quoted text itself (`line` is none) is compared with the
    /// lines as they are now.
    pub(super) fn are_unclear(&self, line: Option<usize>) -> bool {
        let is_replaced =
            |line: usize| self.known.iter().any(|(lines, _)| (lines.first..=lines.last).contains(&line));
        self.has_unknown || line.map_or(!self.known.is_empty(), is_replaced)
    }

    /// Notes what an edit has done to a text, which names the lines that `old` was in before the call.
    pub(super) fn note(&mut self, lines: LineRange, old: &str, before: &str, edited: &Edited) {
        let now = lines.moved(self.of(lines.first));
        if edited.times == 1 && stands_at(before, old, now) {
            self.known.extend(Some((lines, lines_added(before, edited))).filter(|(_, by)| *by != 0));
        } else {
            self.note_unknown(before, edited);
        }
    }

    /// Notes what an edit has done somewhere in a text.
    pub(super) fn note_unknown(&mut self, before: &str, edited: &Edited) {
        self.has_unknown |= lines_added(before, edited) != 0;
    }
}

fn lines_added(before: &str, edited: &Edited) -> isize {
    let count = |text: &str| text.matches('\n').count().cast_signed();
    count(&edited.content) - count(before)
}

/// Returns whether whole lines of a text are those of a block.
fn stands_at(content: &str, block: &str, lines: LineRange) -> bool {
    let (content, block) = (plain(content), plain(block));
    let wanted = block.trim_end_matches('\n').split('\n').map(str::trim_end);
    let found = content.split('\n').skip(lines.first.saturating_sub(1)).map(str::trim_end);
    !block.trim().is_empty() && wanted.eq(found.take((lines.last + 1).saturating_sub(lines.first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_certain_where_it_is_known_how_lines_have_moved() {
        let lines = |first, last| LineRange { first, last };
        let edited = |content: &str, times| Edited {
            content: content.to_owned(),
            times,
            is_by_number: false,
            note: None,
        };
        let before = "a\nb\nc\nb\n";
        for (range, old, after, times, moved, unclear) in [
            (lines(1, 1), "a", "a\nn\nb\nc\nb\n", 1, [1, 1], [false, false]),
            (lines(3, 3), "c", "a\nb\nc\nn\nb\n", 1, [0, 1], [false, false]),
            // The line is in what has been replaced.
            (lines(1, 2), "a\nb\n", "a\nb\nn\nc\nb\n", 1, [0, 1], [true, false]),
            // The text is elsewhere than the edit says, or in several places.
            (lines(2, 2), "a", "a\nn\nb\nc\nb\n", 1, [0, 0], [true, true]),
            (lines(2, 2), "b", "a\nb\nn\nc\nb\nn\n", 2, [0, 0], [true, true]),
            // Nothing moves.
            (lines(9, 9), "b", "a\nx\nc\nx\n", 2, [0, 0], [false, false]),
        ] {
            let mut moves = Moves::default();
            moves.note(range, old, before, &edited(after, times));
            assert_eq!([2, 4].map(|line| moves.of(line)), moved, "{after:?}");
            assert_eq!([2, 4].map(|line| moves.are_unclear(Some(line))), unclear, "{after:?}");
        }
    }
}
