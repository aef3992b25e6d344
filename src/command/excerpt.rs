//! Excerpt of a long output: its head, more of its tail, and from between them the lines that report failures or are unlike
//! all others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::failure_lines::certainty;
use super::failure_signs::sign;
use super::line_forms::{LineForms, form, shape};
use super::line_values::LineValues;
use super::structured_lines;
use super::structured_lines::Certainty;

/// Longest line that is shown whole, in bytes.
const MAX_LINE: usize = 500;
/// Size of the beginning of an object that is shown if its text is further behind, in bytes.
const HEAD_OF_OBJECT: usize = 120;
/// Size of the number before a line of the middle, in bytes.
const NUMBER: usize = 7;
/// Number of lines before a failure, after the first failure, and after each further one that are shown with it.
const BEFORE: usize = 2;
const AFTER_FIRST: usize = 14;
const AFTER: usize = 3;
/// Most places with lines unlike all others that are shown for that alone.
const MAX_UNUSUAL: usize = 24;
/// Most failures that differ in numbers alone, before all others are shown.
const MAX_OF_FORM: usize = 5;
/// Most failures of one shape, before all others are shown.
const MAX_OF_SHAPE: usize = 20;

/// Space for an excerpt.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Maximum number of lines of the output that are shown.
    pub lines: usize,
    /// Approximate maximum size in bytes.
    pub bytes: usize,
}

impl Space {
    fn part(self, eighths: usize) -> Self {
        Self { lines: (self.lines * eighths).div_ceil(8), bytes: (self.bytes * eighths).div_ceil(8) }
    }

    /// Takes the space of one line, if it is there.
    fn take(&mut self, line: &str) -> bool {
        self.take_with(line, 0)
    }

    /// Takes the space of one line with so many bytes before it, if it is there.
    fn take_with(&mut self, line: &str, before: usize) -> bool {
        let bytes = before + line.len().min(MAX_LINE) + 1;
        if self.lines == 0 || self.bytes < bytes {
            return false;
        }
        (self.lines, self.bytes) = (self.lines - 1, self.bytes - bytes);
        true
    }
}

/// An output as far as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text; lines of the middle have their numbers.
    pub text: String,
    /// The number of lines of the output, unless all of it is shown.
    pub cut_from: Option<usize>,
}

/// Returns as much of an output as fits into `space`.
pub fn excerpt(text: &str, space: Space) -> Excerpt {
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    if text.len() < space.bytes && lines.len() <= space.lines {
        return Excerpt { text: lines.join("\n"), cut_from: None };
    }
    let (mut head_space, mut middle_space, mut tail_space) = (space.part(1), space.part(3), space.part(4));
    let head = lines.iter().take_while(|line| head_space.take(line)).count();
    let rest = &lines[head..];
    let mut tail = rest.iter().rev().take_while(|line| tail_space.take(line)).count();
    let Kept { lines: kept, has_failure } = telling(&lines, head..lines.len() - tail, &mut middle_space);
    // What they do not need goes to the tail.
    let first_kept = kept.keys().next_back().map_or(head, |last| last + 1);
    let free = &lines[first_kept..lines.len() - tail];
    tail += free.iter().rev().take_while(|line| middle_space.take(line)).count();
    let end = lines.len() - tail;
    let mut shown: Vec<String> = lines[..head].iter().map(|line| clipped(line)).collect();
    let omitted = end - head - kept.len();
    if omitted > 0 {
        let what = match (kept.is_empty(), has_failure) {
            (true, _) => "",
            (false, true) => "; what looks like failures in them",
            (false, false) => "; what stands out in them",
        };
        shown.push(format!("… {omitted} of the lines {}–{end} omitted{what} …", head + 1));
    }
    let mut last = None;
    for (at, line) in &kept {
        if last.is_some_and(|last| last + 1 != *at) {
            shown.push("…".to_owned());
        }
        shown.push(format!("{:>5}: {}", at + 1, clipped(line)));
        last = Some(*at);
    }
    if last.is_some_and(|last| last + 1 != end) {
        shown.push("…".to_owned());
    }
    shown.extend(lines[end..].iter().map(|line| clipped(line)));
    Excerpt { text: shown.join("\n"), cut_from: Some(lines.len()) }
}

/// How much a line of the middle says, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A failure as a known program reports it.
    Failure,
    /// A mention of an error.
    Mention,
    /// A word or phrase that programs use for failures, whichever they are.
    Sign,
    /// A line like many others, but for a value that hardly any of them has.
    RareValue,
    /// A line unlike all others.
    Unusual,
    /// A failure or a mention of a form that there have been many of.
    Repeated,
}

/// Lines of the middle that are shown, by their index.
#[derive(Default)]
struct Kept<'a> {
    lines: BTreeMap<usize, &'a str>,
    /// Whether any of them looks like a failure.
    has_failure: bool,
}

/// Returns the lines of a range that say something, with how much.
fn ranks(lines: &[&str], range: Range<usize>) -> Vec<(Rank, usize)> {
    let forms = LineForms::of(lines);
    let mut times: HashMap<(u64, usize), usize> = HashMap::new();
    let mut count = |form: u64, kind: usize| {
        let times = times.entry((form, kind)).or_default();
        *times += 1;
        *times
    };
    let mut rank = |line: &str| {
        let Some(certainty) = certainty(line) else {
            // In lines of a shape that the output is full of, a word says little unless it is one for failures alone.
            let sign = sign(line, forms.of_shape(line) <= MAX_OF_FORM)?;
            return Some(if count(shape(line), sign) > MAX_OF_FORM { Rank::Repeated } else { Rank::Sign });
        };
        let is_repeated =
            count(form(line), usize::MAX) > MAX_OF_FORM || count(shape(line), usize::MAX) > MAX_OF_SHAPE;
        Some(match certainty {
            _ if is_repeated => Rank::Repeated,
            Certainty::Certain => Rank::Failure,
            Certainty::Likely => Rank::Mention,
        })
    };
    let mut found: Vec<(Rank, usize)> = range.clone().filter_map(|at| Some((rank(lines[at])?, at))).collect();
    // Where many lines are unlike the others, that says nothing, unless they are so in shape as well.
    let by_form = range.clone().filter(|at| forms.is_rare(lines[*at]));
    let by_shape = range.clone().filter(|at| forms.has_rare_shape(lines[*at]));
    let unusual = few_places(by_form).or_else(|| few_places(by_shape)).unwrap_or_default();
    let ranked: HashSet<usize> = found.iter().map(|(_, at)| *at).collect();
    let values = LineValues::of(lines, &forms);
    let with_rare_value = range.filter(|at| values.has_rare(lines[*at])).map(|at| (Rank::RareValue, at));
    let unusual = unusual.into_iter().map(|at| (Rank::Unusual, at));
    found.extend(with_rare_value.chain(unusual).filter(|(_, at)| !ranked.contains(at)));
    found
}

/// Returns lines unless they are at too many places.
fn few_places(lines: impl Iterator<Item = usize>) -> Option<Vec<usize>> {
    let (mut found, mut places) = (Vec::new(), 0);
    for at in lines {
        places += usize::from(found.last().is_none_or(|last: &usize| *last + AFTER < at));
        if places > MAX_UNUSUAL || found.len() > MAX_UNUSUAL * AFTER {
            return None;
        }
        found.push(at);
    }
    Some(found)
}

/// Returns the lines in a range that say most, with some around them: the first failure with most of them.
fn telling<'a>(lines: &[&'a str], range: Range<usize>, space: &mut Space) -> Kept<'a> {
    let mut found = ranks(lines, range.clone());
    found.sort_unstable();
    let mut kept = Kept::default();
    let mut seen = HashSet::new();
    for (rank, at) in found {
        // The same message again says nothing new.
        if kept.lines.contains_key(&at) || !seen.insert(lines[at].trim()) {
            continue;
        }
        let (before, after) = match rank {
            Rank::Unusual => (0, 0),
            Rank::RareValue => (0, AFTER),
            Rank::Sign if kept.has_failure => (0, AFTER),
            _ if kept.has_failure => (BEFORE, AFTER),
            _ => (BEFORE, AFTER_FIRST),
        };
        let block = at.saturating_sub(before).max(range.start)..(at + after + 1).min(range.end);
        kept.has_failure |= !matches!(rank, Rank::RareValue | Rank::Unusual);
        // The line itself, what follows it, and then what leads to it.
        let order = (at..block.end).chain((block.start..at).rev());
        for index in order {
            if !kept.lines.contains_key(&index) {
                if !space.take_with(lines[index], NUMBER) {
                    return kept;
                }
                kept.lines.insert(index, lines[index]);
            }
        }
    }
    kept
}

/// Returns a line with marks in place of what is too long. Of an object, what it says to people is shown as well.
fn clipped(line: &str) -> String {
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    let part = |from: usize, size: usize| {
        let from = line.floor_char_boundary(from);
        &line[from..line.floor_char_boundary(from + size)]
    };
    let (head, text) = match structured_lines::text(line) {
        Some((at, _)) if at > HEAD_OF_OBJECT => {
            (part(0, HEAD_OF_OBJECT), part(at, MAX_LINE - HEAD_OF_OBJECT - 44))
        }
        _ => (part(0, MAX_LINE - 40), ""),
    };
    let between = if text.is_empty() { "" } else { "… " };
    format!("{head}{between}{text}… ({} bytes more)", line.len() - head.len() - text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPACE: Space = Space { lines: 40, bytes: 2_000 };

    #[test]
    fn short_outputs_are_shown_whole() {
        let excerpt = excerpt("one\ntwo\n\n", SPACE);
        assert_eq!(excerpt, Excerpt { text: "one\ntwo".to_owned(), cut_from: None });
        let long = "x".repeat(SPACE.bytes - 1);
        assert_eq!(super::excerpt(&long, SPACE), Excerpt { text: long.clone(), cut_from: None });
    }

    #[test]
    fn failures_of_the_middle_are_shown_with_their_lines() {
        let mut lines: Vec<String> = (1..=1_000).map(|n| format!("line {n}")).collect();
        lines[499] = "thread 'main' panicked at src/lib.rs:3:5:".to_owned();
        lines[500] = "left: 1".to_owned();
        let Excerpt { text, cut_from } = excerpt(&lines.join("\n"), SPACE);
        assert_eq!(cut_from, Some(1_000));
        assert!(text.starts_with("line 1\n"), "{text}");
        assert!(text.ends_with("line 999\nline 1000"), "{text}");
        assert!(
            text.contains("  500: thread 'main' panicked at src/lib.rs:3:5:\n  501: left: 1\n"),
            "{text}"
        );
        assert!(text.lines().count() <= SPACE.lines + 4 && text.len() <= SPACE.bytes + 600, "{text}");
    }

    #[test]
    fn long_lines_are_clipped() {
        let text = excerpt(&"x".repeat(100_000), SPACE).text;
        assert!(text.len() < 700 && text.ends_with("bytes more)"), "{text}");
    }

    /// A row of `tests/cases/tool-outputs.yml`.
    #[derive(serde::Deserialize)]
    struct ToolOutput {
        tool: String,
        before: String,
        failure: String,
        after: String,
        end: String,
        first: String,
    }

    #[test]
    fn first_failure_of_every_tool_is_shown() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tool-outputs.yml");
        let text = std::fs::read_to_string(path).expect("the cases");
        let cases: Vec<ToolOutput> = serde_yaml::from_str(&text).expect("a table");
        assert!(cases.len() >= 60);
        let space = Space { lines: 2_000, bytes: 19_200 };
        let mut words = Words(7);
        let mut repeated = |line: &str| -> String {
            (1..=2_000).map(|n| words.put_into(&line.replace("{n}", &n.to_string())) + "\n").collect()
        };
        let mut lost = Vec::new();
        for ToolOutput { tool, before, failure, after, end, first } in cases {
            assert!(failure.contains(&first), "{tool}: {first}");
            let whole = format!("{}{failure}{}{end}\n", repeated(&before), repeated(&after));
            let shown = excerpt(&whole, space);
            assert!(shown.cut_from.is_some() && shown.text.len() < 22_000, "{tool}: {}", shown.text.len());
            if !shown.text.contains(&first) {
                lost.push(format!("{tool}: {first}"));
            }
        }
        assert_eq!(lost, Vec::<String>::new());
    }

    /// Source of words that hardly repeat, as names of modules and files do.
    struct Words(u64);

    impl Words {
        fn word(&mut self) -> String {
            let mut letters = String::new();
            for _ in 0..3 {
                self.0 =
                    self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pick =
                    |from: &[u8], at: u64| char::from(from[usize::try_from(at).unwrap_or(0) % from.len()]);
                letters.push(pick(b"bcdfghjklmnprstvwz", self.0 >> 33));
                letters.push(pick(b"aeiou", self.0 >> 45));
            }
            letters
        }

        fn put_into(&mut self, line: &str) -> String {
            let mut parts = line.split("{w}");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + &self.word() + part)
        }
    }

    /// What `tests/scripts/record-outputs.py` has recorded of real tools.
    #[test]
    fn first_failure_in_recorded_outputs_is_shown() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/recorded-outputs");
        // Fewer lines than by default, so that each of them is cut.
        let space = Space { lines: 200, bytes: 19_200 };
        let (mut count, mut lost) = (0, Vec::new());
        for entry in std::fs::read_dir(folder).expect("the recorded outputs") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a text");
            let (head, output) = text.split_once('\n').expect("a head");
            let first = head.strip_prefix("first: ").expect("the line that a reader needs");
            let shown = excerpt(output, space);
            assert!(shown.cut_from.is_some() && shown.text.len() < 22_000, "{}", path.display());
            if !shown.text.contains(first) {
                lost.push(format!("{}: {first}", path.display()));
            }
            count += 1;
        }
        assert!(count >= 60, "{count}");
        assert_eq!(lost, Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn excerpts_fit_and_never_panic(
            lines in prop::collection::vec("(error: )?[a-zü ]{0,700}", 0..80),
            max in 1usize..60,
            bytes in 200usize..5_000,
        ) {
            let excerpt = excerpt(&lines.join("\n"), Space { lines: max, bytes });
            prop_assert!(excerpt.text.lines().count() <= max + lines.len() / 2 + 4);
            prop_assert!(excerpt.text.len() <= bytes + 100 + 12 * lines.len());
        }
    }
}
