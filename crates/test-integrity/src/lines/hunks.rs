//! Lines of a file that a change rewrites in one place: the tokens that are the same around it, and those that differ.

use std::collections::BTreeMap;

/// Most lines of each side of a difference that are compared with each other.
const MAX_LINES: usize = 1_500;
/// Most tokens of a line that are compared.
const MAX_TOKENS: usize = 200;
/// Most tokens by which two lines may differ for one to be the other, rewritten in one place.
const MAX_REWRITTEN: usize = 16;

/// Line of which one place was rewritten.
#[derive(Debug)]
pub(super) struct Rewritten<'a> {
    /// Line after the change, from 1.
    pub(super) line: usize,
    /// Tokens in front of the place, the same on both sides.
    pub(super) head: Vec<&'a str>,
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    /// Tokens behind the place, likewise.
    pub(super) tail: Vec<&'a str>,
}

/// Difference between two states of a file, line by line.
#[derive(Debug, Default)]
pub(super) struct Difference<'a> {
    pub(super) rewritten: Vec<Rewritten<'a>>,
    /// Lines that became no other, with the line after the change at which they stood.
    pub(super) gone: Vec<(usize, &'a str)>,
    /// Lines that no other became.
    pub(super) come: Vec<(usize, &'a str)>,
}

impl<'a> Difference<'a> {
    /// Compares two texts.
    pub(super) fn of(before: &'a str, after: &'a str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let mut difference = Self::default();
        for (removed, added) in hunks(&old, &new) {
            difference.add(&old[removed], &new, added);
        }
        difference
    }

    fn add(&mut self, removed: &[&'a str], new: &[&'a str], added: std::ops::Range<usize>) {
        let at = added.start + 1;
        let mut fresh: Vec<(usize, &str, Vec<&str>)> =
            added.map(|place| (place + 1, new[place], tokens(new[place]))).collect();
        fresh.retain(|(.., tokens)| !tokens.is_empty());
        for text in removed {
            let own = tokens(text);
            if own.is_empty() {
                continue;
            }
            let best = fresh
                .iter()
                .enumerate()
                .map(|(place, (.., theirs))| (common(&own, theirs), place))
                .max_by_key(|((head, tail), place)| (head + tail, usize::MAX - place));
            let fits = best.filter(|((head, tail), place)| {
                let (shortest, longest) =
                    (own.len().min(fresh[*place].2.len()), own.len().max(fresh[*place].2.len()));
                (head + tail) * 2 >= shortest && longest - head - tail <= MAX_REWRITTEN
            });
            let Some(((head, tail), place)) = fits else {
                self.gone.push((at, text));
                continue;
            };
            let (line, _, theirs) = fresh.remove(place);
            self.rewritten.push(Rewritten {
                line,
                head: own[..head].to_vec(),
                old: own[head..own.len() - tail].to_vec(),
                new: theirs[head..theirs.len() - tail].to_vec(),
                tail: own[own.len() - tail..].to_vec(),
            });
        }
        self.come.extend(fresh.into_iter().map(|(line, text, _)| (line, text)));
    }
}

/// Returns how many tokens two lines have in common at their beginnings and at their ends.
fn common(one: &[&str], other: &[&str]) -> (usize, usize) {
    let head = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let rest = one.len().min(other.len()) - head;
    let tail = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(|(one, other)| one == other);
    (head, tail.count())
}

/// Returns the ranges of lines that differ: those that are gone, and those that have come in their place.
fn hunks(old: &[&str], new: &[&str]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other);
    let tail = tail.count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old.len() > MAX_LINES || new.len() > MAX_LINES {
        return Vec::new();
    }
    // Lengths of the longest common subsequences of what is behind each pair of places.
    let width = new.len() + 1;
    let mut lengths = vec![0_u16; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            let here = one * width + other;
            lengths[here] = if old[one] == new[other] {
                lengths[here + width + 1] + 1
            } else {
                lengths[here + width].max(lengths[here + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut found = Vec::new();
    let mut start = (0, 0);
    while one < old.len() || other < new.len() {
        if one < old.len() && other < new.len() && old[one] == new[other] {
            if start != (one, other) {
                found.push((head + start.0..head + one, head + start.1..head + other));
            }
            (one, other) = (one + 1, other + 1);
            start = (one, other);
        } else if other == new.len()
            || one < old.len() && lengths[(one + 1) * width + other] >= lengths[one * width + other + 1]
        {
            one += 1;
        } else {
            other += 1;
        }
    }
    if start != (one, other) {
        found.push((head + start.0..head + one, head + start.1..head + other));
    }
    found
}

/// Returns the tokens of a line of code in whatever language: words, numbers, strings, and single signs.
pub(super) fn tokens(line: &str) -> Vec<&str> {
    let line = line.trim();
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next().filter(|_| found.len() < MAX_TOKENS) {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let length = match first {
            '"' | '\'' | '`' => string_end(rest, first),
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            '=' if rest.starts_with("==") || rest.starts_with("=>") => 2,
            '.' if rest.starts_with("..") => 2,
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        if !first.is_whitespace() {
            found.push(token);
        }
        rest = behind;
    }
    found
}

/// Returns the length of the string that a text begins with; a quotation mark that no other ends is a sign of its own.
fn string_end(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    quote.len_utf8()
}

/// Returns how often each line of some texts stands there, without the white space around it.
pub(super) fn counted<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for line in texts.into_iter().flat_map(str::lines) {
        *counts.entry(line.trim()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_of_a_line_is_told_from_what_is_around_it() {
        let difference = Difference::of("a\nf(x).times(1);\nz\n", "a\nf(x).any();\nz\ny\n");
        let [rewritten] = difference.rewritten.as_slice() else { panic!("{difference:?}") };
        assert_eq!((rewritten.line, rewritten.old.as_slice()), (2, ["times", "(", "1"].as_slice()));
        assert_eq!(rewritten.new, ["any", "("]);
        assert_eq!(difference.come, [(4, "y")]);
        assert!(difference.gone.is_empty());
    }

    #[test]
    fn strings_are_single_tokens() {
        assert_eq!(tokens(r#"f("a \" b", 'x y' + z)"#).len(), 8);
        assert_eq!(tokens("a::b => c..d"), ["a", "::", "b", "=>", "c", "..", "d"]);
    }
}
