//! Failures in an output, so that those of two runs can be compared: what differs from run to run is folded, identifiers and
//! how often something is said are not. Not every program is known, so a line that does not look like a failure may report one as well.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::command::is_failure;

/// Patterns of what differs between two runs of the same thing, and what takes its place.
const FOLDS: [(&str, &str); 17] = [
    (r"\b0x[0-9a-fA-F]+", "0x#"),
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?Z?", "#time"),
    (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "#time"),
    // How long something took, and not "expected 5 s".
    (r"([(\[]\s*(?:in )?)\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|minutes?)(\s*[)\]])", "$1#s$2"),
    (
        r"((?:\bin|\btook|\btime|\belapsed|\bduration|_ms)[:=]?\s*)\d+(?:\.\d+)?(?:\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|minutes?)\b|$)",
        "$1#s",
    ),
    (r"\[\s*\d+%\]", "[#%]"),
    // Lines move.
    (r"([\w/\\-][\w./\\-]*\.[A-Za-z]\w*):\d+(?::\d+)?", "$1:#"),
    (r"\bline \d+", "line #"),
    (r"\(\d+,\d+\):", "(#):"),
    (r"^(\s+)\d+:\d+(\s+error\b)", "$1#:#$2"),
    (r"^thread '(.*)' \(\d+\) panicked", "thread '$1' (#) panicked"),
    (r"^(\s*)\d+( \| )", "$1#$2"),
    (r"-[0-9a-f]{16}\b", "-#"),
    (r"(/tmp|/var/tmp)/[\w./-]+", "$1/#"),
    // What has a name needs no number.
    (r"^(\s*not ok) \d+ (?:- )?(\S)", "$1 # $2"),
    (r"^(\s+)\d+\) (\S)", "$1#) $2"),
    // Files that were looked at.
    (r"\b\d+ ((?:source )?file)s?\b", "# $1"),
];

/// Pattern of numbers that count failures. Fewer of them are no other failure.
const COUNT: &str = r"(^|[(;,:]\s*|\b(?:due to|Found|found|with|has|have) )(\d+) ((?:previous )?)(errors?|failures?|failed|failing|problems?|tests?|targets?)\b";

#[expect(clippy::unwrap_used, reason = "constants")]
static PATTERNS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| FOLDS.iter().map(|(pattern, to)| (Regex::new(pattern).unwrap(), *to)).collect());

#[expect(clippy::unwrap_used, reason = "a constant")]
static COUNTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(COUNT).unwrap());

/// Escape sequences of terminals that end on their line. What does not end hides nothing.
#[expect(clippy::unwrap_used, reason = "a constant")]
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\r\n]*\x1b\\|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])").unwrap()
});

/// A place in a file, once it is folded: what a line says is about this file then, whatever stands above it.
#[expect(clippy::unwrap_used, reason = "a constant")]
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\w-]\.[A-Za-z]\w*(?::#|\(#\))|^(?:FAILED|ERROR) \S+::").unwrap());

/// Most different lines of an output that are read. Of one that has more, nothing but the whole can be the same as before.
const MAX_LINES: usize = 20_000;

/// Lines of an output that report failures, and what else it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    /// How often each line is there.
    lines: BTreeMap<String, usize>,
    /// The numbers of failures that a line counts, each the greatest.
    counts: BTreeMap<String, Vec<u64>>,
    /// All other lines but blank ones, and how often each is there.
    rest: BTreeMap<String, usize>,
    /// Whether each failure names the place that it is about.
    has_places: bool,
    /// Fingerprint of all lines in their order.
    whole: u64,
    /// Whether there are lines that were not read, because there are too many different ones.
    is_cut: bool,
}

impl Failures {
    /// Reads an output.
    pub(super) fn of(output: &str) -> Self {
        let mut failures = Self { has_places: true, ..Self::default() };
        let mut whole = DefaultHasher::new();
        // A command that has run wild repeats itself.
        let mut known: HashMap<&str, Read> = HashMap::new();
        for line in output.lines().filter(|line| !line.trim().is_empty()) {
            if known.len() == MAX_LINES && !known.contains_key(line) {
                failures.is_cut = true;
                line.hash(&mut whole);
                continue;
            }
            let read = known.entry(line).or_insert_with(|| Read::of(line));
            read.folded.hash(&mut whole);
            failures.add(read);
        }
        failures.whole = whole.finish();
        failures
    }

    fn add(&mut self, Read { folded: _, line, counts, is_failure }: &Read) {
        self.has_places &= !is_failure || !counts.is_empty() || PLACE.is_match(line);
        if !counts.is_empty() {
            let known = self.counts.entry(line.clone()).or_insert_with(|| vec![0; counts.len()]);
            known.iter_mut().zip(counts).for_each(|(known, count)| *known = (*known).max(*count));
        }
        let lines = if *is_failure { &mut self.lines } else { &mut self.rest };
        match lines.get_mut(line) {
            Some(times) => *times += 1,
            None => drop(lines.insert(line.clone(), 1)),
        }
    }

    /// Returns whether no line reports a failure, and all were read.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.is_cut
    }

    /// Returns whether others report every one of these failures, as often, and count as many.
    pub(super) fn are_among(&self, others: &Self) -> bool {
        let mut of_failures = self.counts.keys().filter(|line| self.lines.contains_key(*line));
        !self.is_cut
            && are_lines_among(&self.lines, &others.lines)
            && of_failures.all(|line| self.counts_no_more(others, line))
    }

    /// Returns whether the whole output was there before: either all of it is the same, or each failure names its place and was
    /// told of there, and so was every other line. A failure below a heading may stand below another one now.
    pub(super) fn are_all_known_from(&self, others: &Self) -> bool {
        let count_no_more = self.counts.keys().all(|line| self.counts_no_more(others, line));
        let is_each_known = self.has_places && self.are_among(others) && count_no_more;
        self.whole == others.whole || is_each_known && are_lines_among(&self.rest, &others.rest)
    }

    fn counts_no_more(&self, others: &Self, line: &str) -> bool {
        let (Some(counts), Some(other)) = (self.counts.get(line), others.counts.get(line)) else {
            return false;
        };
        counts.len() == other.len() && counts.iter().zip(other).all(|(count, other)| count <= other)
    }
}

/// A line, read.
struct Read {
    /// The line without what differs from run to run.
    folded: String,
    /// The same without the numbers of failures that it counts.
    line: String,
    counts: Vec<u64>,
    is_failure: bool,
}

impl Read {
    fn of(line: &str) -> Self {
        let folded = folded(line);
        let (counted, counts) = counted(&folded);
        Self { line: counted, counts, is_failure: is_failure(line), folded }
    }
}

/// Returns whether all lines are among others, as often.
fn are_lines_among(lines: &BTreeMap<String, usize>, others: &BTreeMap<String, usize>) -> bool {
    lines.iter().all(|(line, times)| others.get(line).is_some_and(|other| other >= times))
}

/// Returns all that a terminal would have shown at any time: lines that were written over are lines of their own, and signs
/// that cannot be seen are left out.
pub(super) fn whole_lines(output: &str) -> String {
    let output = output.replace("\r\n", "\n");
    let output = ESCAPES.replace_all(&output, "");
    let signs = output.chars().map(|sign| if sign == '\r' { '\n' } else { sign });
    signs.filter(|sign| matches!(sign, '\n' | '\t') || !sign.is_control()).collect()
}

fn folded(line: &str) -> String {
    PATTERNS.iter().fold(line.trim_end().to_owned(), |line, (pattern, to)| {
        match pattern.replace_all(&line, *to) {
            Cow::Owned(folded) => folded,
            Cow::Borrowed(_) => line,
        }
    })
}

/// Splits off the numbers of failures.
fn counted(line: &str) -> (String, Vec<u64>) {
    // unittest leaves out what is zero, and skipped tests are no failures.
    if let Some(list) = line.strip_prefix("FAILED (").and_then(|rest| rest.strip_suffix(')')) {
        let of = |word: &str| {
            let number =
                list.split(", ").find_map(|part| part.strip_prefix(word)?.strip_prefix('=')?.parse().ok());
            number.unwrap_or(0)
        };
        return ("FAILED ()".to_owned(), ["failures", "errors", "unexpected successes"].map(of).into());
    }
    let mut counts = Vec::new();
    let folded = COUNTS.replace_all(line, |found: &Captures<'_>| {
        counts.push(found[2].parse().unwrap_or(u64::MAX));
        format!("{}# {}{}", &found[1], &found[3], found[4].trim_end_matches('s'))
    });
    (folded.into_owned(), counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_same_but_for_times_and_places() {
        for (before, now, expected) in [
            ("src/a.py:3:1: F821 undefined name x", "src/a.py:30:5: F821 undefined name x", true),
            (
                "src/a.py:3:1: F821 undefined name x",
                "src/a.py:3:1: F821 undefined name x\nsrc/a.py:9:1: F821 undefined name x",
                false,
            ),
            ("case_1 FAILED", "case_2 FAILED", false),
            ("not ok 1", "not ok 1\nnot ok 2", false),
            ("not ok 1 - a", "not ok 2 - a", true),
            ("error: two (3 ms)", "error: two (14 ms)", true),
            ("error: at 0x7ffe10", "error: at 0x55aa", true),
            ("FAILED (failures=2)", "FAILED (failures=1, skipped=1)", true),
            ("FAILED (failures=1)", "FAILED (failures=2)", false),
            ("error: aborting due to 2 previous errors", "error: aborting due to 1 previous error", true),
            ("error: aborting due to 1 previous error", "error: aborting due to 2 previous errors", false),
            ("error: case 2 failed", "error: case 1 failed", false),
            ("thread 'a' (71) panicked at src/a.rs:3:4:", "thread 'a' (99) panicked at src/a.rs:5:4:", true),
            ("error: HTTP 404", "error: HTTP 500", false),
        ] {
            let (old, new) = (Failures::of(before), Failures::of(now));
            assert!(!old.is_empty(), "{before}");
            assert_eq!(new.are_among(&old), expected, "{before} {now}");
        }
    }

    #[test]
    fn output_of_a_command_that_has_run_wild_is_read_in_part() {
        let many = |last: &str| (0..MAX_LINES).map(|n| format!("line {n:x}g\n")).collect::<String>() + last;
        let (before, now) = (Failures::of(&many("")), Failures::of(&many("error: new")));
        assert!(before.is_empty() && !now.is_empty());
        assert!(!now.are_among(&before) && !now.are_all_known_from(&before), "the failure was not read");
        assert!(now.are_all_known_from(&Failures::of(&many("error: new"))), "the whole output is the same");
        assert_eq!(
            Failures::of(&"y\n".repeat(2_000_000)).rest,
            BTreeMap::from([("y".to_owned(), 2_000_000)])
        );
    }

    #[test]
    fn control_characters_hide_nothing() {
        for (output, expected) in [
            ("\u{1b}]0;x\ntest b ... FAILED\n", "]0;x\ntest b ... FAILED\n"),
            ("\u{1b}Px\ntest b ... FAILED\n", "Px\ntest b ... FAILED\n"),
            ("test b ... FAILED\rxx\n", "test b ... FAILED\nxx\n"),
            ("test b ... FAILED\u{8}\n", "test b ... FAILED\n"),
            ("\u{1b}[31mred\u{1b}[0m\r\n", "red\n"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link"),
        ] {
            assert_eq!(whole_lines(output), expected, "{output:?}");
        }
    }
}
