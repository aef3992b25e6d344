//! Lines with signs before some of them, as those of a diff.

use std::collections::HashSet;

/// Text with the signs of a diff before some of its lines.
pub(super) struct Signed<'a> {
    /// Lines, but for headers and remarks.
    pub(super) lines: Vec<&'a str>,
    /// Whether it begins with the header of a hunk or of a diff.
    pub(super) has_header: bool,
    /// The name of the file in its header, without folders.
    pub(super) file: Option<&'a str>,
    /// Whether its last line has no end.
    is_open: bool,
}

impl<'a> Signed<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let has_header = text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_header);
        let is_line = |line: &&str| !(has_header && is_header(line) || line.starts_with("\\ No newline"));
        let is_open =
            text.trim_end().lines().next_back().is_some_and(|line| line.starts_with("\\ No newline"));
        let file = text.lines().find_map(|line| line.strip_prefix("+++ ")).filter(|_| has_header);
        let file = file.map(|file| file.trim_end().rsplit('/').next().unwrap_or_default());
        Self { lines: text.lines().filter(is_line).collect(), has_header, file, is_open }
    }

    /// Returns the lines that are not blank.
    pub(super) fn full(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().copied().filter(|line| !line.trim().is_empty())
    }

    /// Returns whether a line has a sign.
    pub(super) fn has(&self, sign: char) -> bool {
        self.full().any(|line| has_sign(line, sign))
    }

    /// Returns whether lines are taken away, and all of them are in a text. Signs before numbers may be their own.
    pub(super) fn removes(&self, old: &str) -> bool {
        let own: HashSet<&str> = old.lines().collect();
        // A line that is taken away may begin with the sign itself.
        let is_removed = |line: &&str| {
            has_sign(line, '-') || line.strip_prefix('-').is_some_and(|line| own.contains(line))
        };
        let mut removed = self.full().filter(is_removed).map(|line| &line[1..]).peekable();
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        removed.peek().is_some()
            && removed.all(|line| own.contains(line))
            && !self.full().filter(|line| line.starts_with(['+', '-'])).all(|line| is_number(&line[1..]))
    }

    /// Returns whether lines are added to some that are in a text, each of which has the blank of a hunk before it here.
    pub(super) fn keeps(&self, old: &str) -> bool {
        let own: HashSet<&str> = old.lines().collect();
        let mut kept = self.full().filter(|line| line.starts_with(' ')).peekable();
        // The same words with another indentation, or behind another mark of a list, are no new ones.
        let is_new = |line: &str| {
            let words = line[1..].trim();
            is_telling(line) && (words.len() < 3 || !own.iter().any(|old| old.ends_with(words)))
        };
        kept.peek().is_some()
            && self.is_hunk()
            && self.full().filter(|line| line.starts_with('+')).all(is_new)
            && kept.all(|line| own.contains(&line[1..]) && !own.contains(line))
    }

    /// Returns whether the lines are those of a text, with signs before some.
    pub(super) fn marks(&self, old: &str) -> bool {
        let mut own: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty()).collect();
        let plain = |line: &'a str| match line.chars().next() {
            Some('+' | '-') => &line[1..],
            Some(' ') if !own.contains(&line) => &line[1..],
            _ => line,
        };
        let mut lines: Vec<&str> = self.full().map(plain).collect();
        lines.sort_unstable();
        own.sort_unstable();
        lines.dedup();
        own.dedup();
        self.has('+') && !self.adds_all() && lines == own
    }

    /// Returns whether a text has a line with its sign already.
    pub(super) fn is_in(&self, old: &str) -> bool {
        let mut signed = self.full().filter(|line| has_sign(line, '+') || has_sign(line, '-'));
        let own: HashSet<&str> = old.lines().collect();
        signed.any(|line| own.contains(line))
    }

    /// Returns whether every line is added.
    pub(super) fn adds_all(&self) -> bool {
        self.has('+') && self.full().all(|line| line.starts_with('+'))
    }

    /// Returns whether every line but the first is added.
    pub(super) fn adds_all_but_first(&self) -> bool {
        let (mut others, mut first) = (self.full().skip(1).peekable(), self.full());
        first.next().is_some_and(|line| !line.starts_with(['+', '-', ' ']) && !line.ends_with('\\'))
            && others.peek().is_some()
            && others.all(is_telling)
    }

    /// Returns whether every line has the sign of one in a hunk.
    pub(super) fn is_hunk(&self) -> bool {
        (self.has('+') || self.has('-')) && self.full().all(|line| line.starts_with(['+', '-', ' ']))
    }

    /// Returns whether a text of a kind in which lines seldom have signs is hardly anything but a diff.
    pub(super) fn is_likely(&self, may_remove: bool) -> bool {
        let mut full = self.full();
        let begins = full.next().is_some_and(is_telling);
        let is_pair = |pair: &[&str]| has_sign(pair[0], '-') && is_telling(pair[1]);
        // What holds a diff among other lines is about it.
        self.full().any(is_telling)
            && !self.lines.iter().any(|line| is_header(line))
            && (begins
                || self.is_hunk()
                || self.adds_all_but_first()
                || may_remove && self.lines.windows(2).any(is_pair))
    }

    /// Returns the text without signs, and without what is removed.
    pub(super) fn new_side(&self) -> String {
        let has_blank = self.is_hunk();
        let mut new: String = self
            .lines
            .iter()
            .filter(|line| !has_sign(line, '-'))
            .flat_map(|line| {
                let is_signed =
                    has_sign(line, '+') || line.starts_with("++") || has_blank && line.starts_with(' ');
                [if is_signed { &line[1..] } else { line.trim_end_matches(' ') }, "\n"]
            })
            .collect();
        if self.is_open {
            new.pop();
        }
        new
    }
}

/// Returns whether a line has a sign that is no part of a longer one.
fn has_sign(line: &str, sign: char) -> bool {
    line.strip_prefix(sign).is_some_and(|text| sign == ' ' || !text.starts_with(sign))
}

/// Returns whether a line is hardly one with a sign of its own, as methods of classes, rules of access, hashes, borders of tables and
/// numbers have.
fn is_telling(line: &str) -> bool {
    let is_own = |c: char| matches!(c, '(' | ':' | '{' | '-' | '=') || c.is_ascii_digit();
    has_sign(line, '+') && !line[1..].trim_start().starts_with(is_own)
}

/// Returns whether a line is a header of a diff or of a hunk.
fn is_header(line: &str) -> bool {
    ["@@", "diff --git ", "index ", "new file mode ", "--- /dev/null", "--- a/", "+++ "]
        .iter()
        .any(|start| line.starts_with(start))
}
