//! Three-way merge of lines, for changes that are apart from each other whatever way they are looked at.
//!
//! Where a change is cannot always be told: a line inserted next to an equal one could be either of them. So a change counts as
//! being everywhere where it could be, and there has to be an unchanged line between those of the two sides, unless both have made the
//! same change and it could be nowhere else. What remains is merged alike by every program; all else is a conflict.

use std::collections::HashMap;
use std::ops::Range;

use diffy::DiffOptions;

/// Lines of a text by number: equal lines have equal numbers.
type Numbers = Vec<usize>;

/// Replacement of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replaced {
    /// Lines that go.
    old: Range<usize>,
    /// Lines that come.
    new: Numbers,
    /// Lines that it may be about.
    reach: Range<usize>,
}

/// Returns what comes of both changes of a text; `None` where they conflict, or where it cannot be told.
pub(crate) fn merged(before: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs {
        return Some(ours.to_vec());
    }
    let mut lines = Lines::default();
    let [before, ours, theirs] = [before, ours, theirs].map(|text| lines.numbers(text));
    let result = merge_numbers(&before, &ours, &theirs)?;
    // Seen from the end, a change may be found at another place.
    let reversed = |numbers: &Numbers| numbers.iter().rev().copied().collect::<Numbers>();
    let backwards = merge_numbers(&reversed(&before), &reversed(&ours), &reversed(&theirs))?;
    (reversed(&backwards) == result).then(|| lines.text(&result))
}

#[derive(Default)]
struct Lines<'t> {
    numbers: HashMap<&'t [u8], usize>,
    texts: Vec<&'t [u8]>,
}

impl<'t> Lines<'t> {
    fn numbers(&mut self, text: &'t [u8]) -> Numbers {
        let number = |line: &'t [u8]| {
            *self.numbers.entry(line).or_insert_with(|| {
                self.texts.push(line);
                self.texts.len() - 1
            })
        };
        text.split_inclusive(|byte| *byte == b'\n').map(number).collect()
    }

    fn text(&self, numbers: &Numbers) -> Vec<u8> {
        numbers.iter().flat_map(|number| self.texts[*number]).copied().collect()
    }
}

fn merge_numbers(before: &Numbers, ours: &Numbers, theirs: &Numbers) -> Option<Numbers> {
    let (own, others) = (replaced(before, ours)?, replaced(before, theirs)?);
    let is_same = |one: &Replaced, other: &Replaced| one.old == other.old && one.new == other.new;
    let touch = |one: &Replaced, other: &Replaced| {
        one.reach.start <= other.reach.end && other.reach.start <= one.reach.end
    };
    // Of a change that could be at several places, nobody knows that both sides have made it at the same one.
    let is_shared = |one: &Replaced, other: &Replaced| is_same(one, other) && one.reach == one.old;
    let conflict = |one: &Replaced, other: &Replaced| touch(one, other) && !is_shared(one, other);
    if own.iter().any(|one| others.iter().any(|other| conflict(one, other))) {
        return None;
    }
    // What both sides have done is done once.
    let others = others.into_iter().filter(|other| !own.iter().any(|one| is_same(one, other)));
    let mut all: Vec<Replaced> = own.iter().cloned().chain(others).collect();
    all.sort_by_key(|replaced| replaced.old.start);
    Some(applied(before, &all))
}

fn applied(before: &Numbers, all: &[Replaced]) -> Numbers {
    let (mut result, mut at) = (Numbers::new(), 0);
    for Replaced { old, new, .. } in all {
        result.extend(&before[at..old.start]);
        result.extend(new);
        at = old.end;
    }
    result.extend(&before[at..]);
    result
}

/// Returns what makes one list of lines of another.
fn replaced(before: &Numbers, after: &Numbers) -> Option<Vec<Replaced>> {
    let text = |numbers: &Numbers| numbers.iter().map(|number| format!("{number}\n")).collect::<String>();
    let (old_text, new_text) = (text(before), text(after));
    let mut options = DiffOptions::new();
    options.set_context_len(0);
    let patch = options.create_patch(&old_text, &new_text);
    let all: Option<Vec<Replaced>> = patch
        .hunks()
        .iter()
        .map(|hunk| {
            let [old, new] = [hunk.old_range(), hunk.new_range()].map(|range| {
                // Nothing is behind the line that it names.
                let start = range.start().checked_sub(usize::from(!range.is_empty()))?;
                Some(start..start + range.len())
            });
            let (old, new) = (old?, new?);
            let reach = reach(before, after, &old, &new);
            Some(Replaced { new: after.get(new)?.to_vec(), old, reach })
        })
        .collect();
    all.filter(|all| applied(before, all) == *after)
}

/// Returns the lines that a replacement may be about: those that it can be moved over without another result.
fn reach(before: &Numbers, after: &Numbers, old: &Range<usize>, new: &Range<usize>) -> Range<usize> {
    let mut reach = old.clone();
    while let Some(above) = reach.start.checked_sub(1) {
        let by = old.start - reach.start;
        let is_repeated = |list: &Numbers, range: &Range<usize>| {
            !range.is_empty()
                && range.end.checked_sub(by + 1).and_then(|at| list.get(at)) == before.get(above)
        };
        if !is_repeated(before, old) && !is_repeated(after, new) {
            break;
        }
        reach.start = above;
    }
    while let Some(below) = before.get(reach.end) {
        let by = reach.end - old.end;
        let is_repeated = |list: &Numbers, range: &Range<usize>| {
            !range.is_empty() && list.get(range.start + by) == Some(below)
        };
        if !is_repeated(before, old) && !is_repeated(after, new) {
            break;
        }
        reach.end += 1;
    }
    reach
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn told(before: &str, ours: &str, theirs: &str) -> Option<String> {
        let merged = merged(before.as_bytes(), ours.as_bytes(), theirs.as_bytes())?;
        Some(String::from_utf8(merged).expect("text"))
    }

    #[test]
    fn changes_that_are_apart_are_merged_and_others_conflict() {
        for (before, ours, theirs, result) in [
            ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", Some("A\nb\nC\n")),
            ("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", None),
            ("a\nb\nc\n", "a\nb\nc\nd\n", "x\na\nb\nc\n", Some("x\na\nb\nc\nd\n")),
            ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", Some("a\nc\nd\n")),
            ("a\nb\n", "a\n", "a\nb\nd\n", None),
            ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", None),
            ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n", Some("a\nx\nb\n")),
            // The inserted line may be the first or the second of the two.
            ("x\nx\nb\nc\n", "x\nx\nx\nb\nc\n", "y\nx\nb\nc\n", None),
            ("a\nb\nc", "A\nb\nc", "a\nb\nc\n", Some("A\nb\nc\n")),
            ("", "a\n", "b\n", None),
            ("a\n", "", "a\n", Some("")),
            // Both have made the same change, and one of them another.
            ("a\nb\nc\nd\n", "a\nB\nc\nD\n", "a\nB\nc\nd\n", Some("a\nB\nc\nD\n")),
            ("a\nx\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n", Some("a\nx\nb\n")),
            ("a\nx\nx\nb\nc\nd\n", "a\nx\nb\nc\nD\n", "a\nx\nb\nc\nd\n", None),
        ] {
            assert_eq!(told(before, ours, theirs).as_deref(), result, "{before:?} {ours:?} {theirs:?}");
        }
    }

    #[test]
    fn equal_changes_that_could_be_elsewhere_conflict() {
        let lines = |text: &str| text.chars().map(|letter| format!("{letter}\n")).collect::<String>();
        // Both sides leave out three of the repeated lines, Git each at another place.
        let before = lines("00100100111100110000000010101");
        let (ours, theirs) = (lines("00n100111100110007101"), lines("00100111100110000000010101"));
        assert_eq!(told(&before, &ours, &theirs), None);
    }

    /// Compares with Git: `MERGES` cases, 150 if it does not say.
    #[test]
    fn what_is_merged_is_what_git_makes_of_it() {
        let cases = std::env::var("MERGES").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
        let folder = tempfile::tempdir().expect("a folder");
        let mut random = fastrand::Rng::with_seed(17);
        let (mut clean, mut both) = (0, 0);
        for case in 0..cases {
            let kinds = random.usize(2..40);
            let line = |random: &mut fastrand::Rng| format!("line {}\n", random.usize(0..kinds));
            let before: Vec<String> = (0..random.usize(0..30)).map(|_| line(&mut random)).collect();
            // Both sides may have some changes in common.
            let mut common = before.clone();
            if !common.is_empty() && random.usize(0..3) == 0 {
                let at = random.usize(0..common.len());
                common.drain(at..common.len().min(at + random.usize(1..4)));
            }
            let mut side = || {
                let mut lines = common.clone();
                for _ in 0..random.usize(1..4) {
                    let at = random.usize(0..=lines.len());
                    let block = at..lines.len().min(at + random.usize(1..6));
                    match random.usize(0..6) {
                        0 => lines.insert(at, line(&mut random)),
                        1 => drop(lines.drain(block)),
                        2 if at < lines.len() => lines[at] = line(&mut random),
                        // A block is moved.
                        3 => {
                            let moved: Vec<String> = lines.drain(block).collect();
                            let to = random.usize(0..=lines.len());
                            lines.splice(to..to, moved);
                        }
                        // A block is doubled.
                        4 => {
                            let doubled = lines[block].to_vec();
                            lines.splice(at..at, doubled);
                        }
                        _ => {}
                    }
                }
                let mut text = lines.concat();
                if random.usize(0..10) == 0 {
                    text.truncate(text.trim_end().len());
                }
                text
            };
            let (ours, theirs) = (side(), side());
            let before = before.concat();
            let paths = [("ours", &ours), ("base", &before), ("theirs", &theirs)].map(|(name, text)| {
                let path = folder.path().join(name);
                std::fs::write(&path, text).expect("a file");
                path
            });
            let git =
                Command::new("git").args(["merge-file", "-p", "-q"]).args(&paths).output().expect("Git runs");
            let expected = git.status.success().then(|| String::from_utf8(git.stdout).expect("text"));
            both += usize::from(expected.is_some());
            if let Some(found) = told(&before, &ours, &theirs) {
                clean += 1;
                assert_eq!(Some(found), expected, "case {case}: {before:?} {ours:?} {theirs:?}");
            }
        }
        // It is of some use as well.
        assert!(clean * 2 > both && both > cases / 10, "{clean} of {both}");
    }
}
