//! Maps the lines of a text to those of a later version of it.

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Which lines of a text its later version has kept. Lines are counted from 0.
pub struct LineMap {
    hunks: Vec<Hunk>,
}

impl LineMap {
    /// Compares two versions, by lines.
    #[must_use]
    pub fn of(before: &[u8], after: &[u8]) -> Self {
        let lines = InternedInput::new(before, after);
        let mut diff = Diff::compute(Algorithm::Histogram, &lines);
        diff.postprocess_lines(&lines);
        Self { hunks: diff.hunks().collect() }
    }

    /// Returns where a line of the earlier version is in the later one, or `None` if it has been removed.
    #[must_use]
    pub fn kept(&self, line: u32) -> Option<u32> {
        let before = self.hunks.partition_point(|hunk| hunk.before.start <= line);
        let Some(hunk) = before.checked_sub(1).and_then(|index| self.hunks.get(index)) else {
            return Some(line);
        };
        // A hunk that only adds lines stands before the line at its start.
        line.checked_sub(hunk.before.end)?.checked_add(hunk.after.end)
    }

    /// Returns whether a line of the later version is new.
    #[must_use]
    pub fn is_new(&self, line: u32) -> bool {
        self.hunks.iter().any(|hunk| hunk.after.contains(&line))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_move_with_what_stands_around_them() {
        let map = LineMap::of(b"a\nsame\nb\nsame\nc\n", b"new\na\nb\nsame\nc\nsame\n");
        assert_eq!(
            (0..5).map(|line| map.kept(line)).collect::<Vec<_>>(),
            [Some(1), None, Some(2), Some(3), Some(4)]
        );
        assert_eq!(map.kept(u32::MAX), None);
        assert_eq!((0..6).filter(|line| map.is_new(*line)).collect::<Vec<_>>(), [0, 5]);
    }

    proptest! {
        #[test]
        fn kept_lines_say_the_same_and_all_others_are_new(before in "([a-d]\n){0,12}", after in "([a-d]\n){0,12}") {
            let map = LineMap::of(before.as_bytes(), after.as_bytes());
            let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
            let mut kept = Vec::new();
            for (line, text) in (0..).zip(&old) {
                if let Some(now) = map.kept(line) {
                    prop_assert_eq!(new[now as usize], *text);
                    kept.push(now);
                }
            }
            let others: Vec<u32> = (0..).take(new.len()).filter(|line| map.is_new(*line)).collect();
            prop_assert!(kept.is_sorted() && kept.len() + others.len() == new.len());
            prop_assert!(others.iter().all(|line| !kept.contains(line)));
        }
    }
}
