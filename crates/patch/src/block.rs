//! Finds blocks of lines that were quoted inexactly, or else the most similar lines.

use super::line_search::occurrences;

/// Maximum number of lines shown of what is nearest.
const MAX_SHOWN: usize = 10;
/// Least similarity, from 0 to 1, of lines that are worth showing.
const SIMILAR: f64 = 0.5;
/// Number of places that are compared closely.
const CANDIDATES: usize = 20;
/// Maximum number of lines that are compared for the places of a block, half a second or so.
const MAX_WORK: u64 = 1 << 26;
/// Maximum size of text, in bytes, once it is indented as its place is.
const MAX_TEXT: usize = 16 << 20;
/// Length of a line, in bytes, up to which its words count.
const MAX_WORDS: usize = 400;

/// Difference in indentation between a block and the lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shift {
    /// The same indentation.
    None,
    /// The file has this before every line of the block.
    Deeper(String),
    /// The block has this before every line of the file.
    Shallower(String),
    /// The file has a tab for each so many spaces of the block.
    Tabs(usize),
    /// The file has so many spaces for each tab of the block.
    Spaces(usize),
}

impl Shift {
    /// Returns how the indentation of `wanted` has to be changed to give that of `line`.
    fn between(wanted: &str, line: &str) -> Option<Self> {
        let (wanted, line) = (indent(wanted), indent(line));
        match (line.strip_suffix(wanted), wanted.strip_suffix(line)) {
            (Some(""), _) => Some(Self::None),
            (Some(more), _) => Some(Self::Deeper(more.to_owned())),
            (None, Some(less)) => Some(Self::Shallower(less.to_owned())),
            (None, None) => {
                let tabs = per_tab(line, wanted).map(Self::Tabs);
                tabs.or_else(|| per_tab(wanted, line).map(Self::Spaces))
            }
        }
    }

    /// Returns the difference of several lines, the last of which has `next`; `None` if they have no common one. Where tabs stand for
    /// spaces, a line without indentation fits (`is_flush` for that line, `was_flush` for all before it).
    fn and(self, next: Self, was_flush: bool, is_flush: bool) -> Option<Self> {
        match (self, next) {
            (one, other) if one == other => Some(one),
            (units @ (Self::Tabs(_) | Self::Spaces(_)), Self::None) if is_flush => Some(units),
            (Self::None, units @ (Self::Tabs(_) | Self::Spaces(_))) if was_flush => Some(units),
            _ => None,
        }
    }

    /// Returns a line of new text with its indentation changed, or `None` if it has too little.
    fn apply(&self, line: &str) -> Option<String> {
        match self {
            _ if line.trim().is_empty() => Some(line.to_owned()),
            Self::None => Some(line.to_owned()),
            Self::Deeper(more) => Some(format!("{more}{line}")),
            Self::Shallower(less) => line.strip_prefix(less.as_str()).map(str::to_owned),
            Self::Tabs(width) => {
                let text = line.trim_start_matches(' ');
                let spaces = line.len() - text.len();
                Some("\t".repeat(spaces / width) + &" ".repeat(spaces % width) + text)
            }
            Self::Spaces(width) => {
                let text = line.trim_start_matches('\t');
                Some(" ".repeat((line.len() - text.len()) * width) + text)
            }
        }
    }

    /// Returns text with the indentation of its lines changed, or `None` if a line has too little, or if it would be huge.
    pub fn apply_to(&self, text: &str) -> Option<String> {
        let added = match self {
            Self::Deeper(more) => more.len().saturating_mul(text.matches('\n').count() + 1),
            Self::Spaces(width) => width.saturating_mul(text.matches('\t').count()),
            Self::None | Self::Shallower(_) | Self::Tabs(_) => 0,
        };
        if added > MAX_TEXT {
            return None;
        }
        text.split('\n')
            .map(|line| self.apply(line))
            .collect::<Option<Vec<_>>>()
            .map(|lines| lines.join("\n"))
    }

    /// Returns the difference in words, or `None` if there is none. `quoted` is what the block is part of.
    pub fn describe(&self, quoted: &str) -> Option<String> {
        let name = |indent: &str| match indent.chars().next() {
            Some('\t') => format!("{} more tabs", indent.len()),
            _ => format!("{} more spaces", indent.len()),
        };
        let (text, owner) = match self {
            Self::None => return None,
            Self::Deeper(more) => (name(more), "the file"),
            Self::Shallower(less) => (name(less), quoted),
            Self::Tabs(width) => (format!("a tab where {quoted} has {width} spaces"), "the file"),
            Self::Spaces(width) => (format!("{width} spaces where {quoted} has a tab"), "the file"),
        };
        Some(format!(
            "{owner} has {}",
            if text.starts_with("1 ") { text.trim_end_matches('s').to_owned() } else { text }
        ))
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Most spaces that a tab stands for.
const MAX_TAB: usize = 8;

/// Returns how many spaces there are for each tab, if one indentation has tabs where the other has none; blanks that line text up may
/// follow in both.
fn per_tab(tabs: &str, spaces: &str) -> Option<usize> {
    let behind = tabs.trim_start_matches('\t');
    let count = tabs.len() - behind.len();
    let is_blank = |text: &str| text.bytes().all(|byte| byte == b' ');
    let width = spaces.len().checked_sub(behind.len())?.checked_div(count)?;
    let fits = width * count + behind.len() == spaces.len() && behind.len() < width;
    (fits && is_blank(behind) && is_blank(spaces) && (2..=MAX_TAB).contains(&width)).then_some(width)
}

/// Place of a block in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPosition {
    /// Index of its first line.
    pub at: usize,
    /// Difference in indentation.
    pub shift: Shift,
}

/// Returns the places where the lines stand, if trailing blanks and a uniform difference in indentation do not count. Where
/// lines repeat themselves so much that the comparison would take too long, there are none.
pub fn places(lines: &[&str], wanted: &[&str]) -> Vec<BlockPosition> {
    places_within(lines, wanted, &mut { MAX_WORK }).unwrap_or_default()
}

/// Returns the places as [`places`] does, or `None` if `work` more lines would have to be compared. `work` is what is left.
pub(super) fn places_within(lines: &[&str], wanted: &[&str], work: &mut u64) -> Option<Vec<BlockPosition>> {
    if wanted.iter().all(|line| line.trim().is_empty()) || wanted.len() > lines.len() {
        return Some(Vec::new());
    }
    let trimmed =
        |lines: &[&'_ str]| -> Vec<String> { lines.iter().map(|line| line.trim().to_owned()).collect() };
    let (own, other) = (trimmed(lines), trimmed(wanted));
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for at in occurrences(&own, &other) {
        let mut shift: Option<Shift> = None;
        let (mut is_uniform, mut was_flush) = (true, true);
        for (line, wanted) in lines[at..].iter().zip(wanted) {
            *work = work.checked_sub(1 + (line.len() + wanted.len()) as u64 / 256)?;
            if line.trim().is_empty() {
                continue;
            }
            let own = Shift::between(wanted, line);
            let is_flush = indent(line).is_empty() && indent(wanted).is_empty();
            shift = match (shift, own) {
                (Some(before), Some(own)) => before.and(own, was_flush, is_flush),
                (_, own) => own,
            };
            is_uniform = shift.is_some();
            if !is_uniform {
                break;
            }
            was_flush &= is_flush;
        }
        found.extend(shift.filter(|_| is_uniform).map(|shift| BlockPosition { at, shift }));
    }
    Some(found)
}

/// Returns the index and the number of those lines that are most like the wanted ones, or `None` if none are.
pub fn nearest(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let (key, telling) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len().min(200))?;
    let words = |line: &str| -> Vec<String> {
        line[..line.floor_char_boundary(MAX_WORDS)]
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let telling_words = words(telling);
    let mut candidates: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (words(line).iter().filter(|word| telling_words.contains(word)).count(), at))
        .filter(|(common, _)| *common > 0)
        .collect();
    candidates.sort_unstable_by_key(|(common, at)| (std::cmp::Reverse(*common), *at));
    let length = wanted.len().min(MAX_SHOWN);
    let first = key.saturating_sub(if wanted.len() > MAX_SHOWN { MAX_SHOWN / 2 } else { key });
    let like = |at: usize| {
        let start = at.saturating_sub(key - first);
        let window = &lines[start..(start + length).min(lines.len())];
        let pairs = window.iter().zip(&wanted[first..]);
        let short = |line: &str| -> String { line.trim().chars().take(200).collect() };
        let total: f64 =
            pairs.map(|(line, wanted)| strsim::normalized_levenshtein(&short(line), &short(wanted))).sum();
        (total / f64::from(u32::try_from(length).unwrap_or(u32::MAX)), start, window.len())
    };
    candidates
        .iter()
        .take(CANDIDATES)
        .map(|(_, at)| like(*at))
        .filter(|(score, ..)| *score >= SIMILAR)
        .max_by(|(a, at, _), (b, other, _)| a.total_cmp(b).then(other.cmp(at)))
        .map(|(_, start, length)| (start, length))
}

/// Returns lines with their numbers, the first of which is `at + 1`, as `read_file` shows them.
pub fn numbered(lines: &[&str], at: usize, length: usize) -> String {
    let shown = lines.iter().enumerate().skip(at).take(length);
    shown.map(|(index, line)| format!("{}\t{}\n", index + 1, line.trim_end_matches('\r'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_at_another_indentation() {
        let file = [
            "class A:",
            "    def f(self):",
            "        return 1",
            "",
            "    def g(self):  ",
            "        return 2",
        ];
        let deeper = |text: &str| Shift::Deeper(text.to_owned());
        for (wanted, expected) in [
            (vec!["def f(self):", "    return 1"], vec![BlockPosition { at: 1, shift: deeper("    ") }]),
            (vec!["    def g(self):", "        return 2"], vec![BlockPosition { at: 4, shift: Shift::None }]),
            (
                vec!["      class A:"],
                vec![BlockPosition { at: 0, shift: Shift::Shallower("      ".to_owned()) }],
            ),
            (vec!["def f(self):", "  return 1"], vec![]),
            (vec!["return 1", "", "def g(self):"], vec![]),
            (vec![""], vec![]),
        ] {
            assert_eq!(places(&file, &wanted), expected, "{wanted:?}");
        }
        let tabbed = ["all:", "\techo a", "\tif b; then", "\t\tc", "", " \td"];
        let one = |at, shift| vec![BlockPosition { at, shift }];
        for (wanted, expected) in [
            (vec!["all:", "    echo a", "    if b; then", "        c"], one(0, Shift::Tabs(4))),
            (vec!["  if b; then", "    c"], one(2, Shift::Tabs(2))),
            (vec!["    if b; then", "      c"], vec![]),
            (vec!["if b; then", "  c"], vec![]),
            (vec![" echo a"], vec![]),
            (vec!["    d"], vec![]),
        ] {
            assert_eq!(places(&tabbed, &wanted), expected, "{wanted:?}");
        }
        assert_eq!(places(&["a {", "   b", "}"], &["a {", "\tb", "}"]), one(0, Shift::Spaces(3)));
        assert_eq!(places(&["\t * b"], &["     * b"]), one(0, Shift::Tabs(4)));
        assert_eq!(Shift::Tabs(4).apply_to("a\n    b\n      c\n\td").as_deref(), Some("a\n\tb\n\t  c\n\td"));
        assert_eq!(Shift::Spaces(2).apply_to("\t\ta\n b").as_deref(), Some("    a\n b"));
        assert_eq!(deeper("  ").apply_to("a\n\n  b").as_deref(), Some("  a\n\n    b"));
        assert_eq!(Shift::Shallower("  ".to_owned()).apply_to("  a\n b"), None);
    }

    #[test]
    fn the_nearest_lines_are_found() {
        let file = [
            "import os",
            "",
            "def total(items):",
            "    return sum(items)",
            "",
            "def mean(items):",
            "    pass",
        ];
        assert_eq!(nearest(&file, &["def totals(item):", "    return sum( items )"]), Some((2, 2)));
        assert_eq!(nearest(&file, &["something else altogether"]), None);
        assert_eq!(numbered(&file, 2, 1), "3\tdef total(items):\n");
    }
}
