//! Forms of lines: in a long output, a line whose form no other has stands out, whatever program wrote it. Where all lines differ in
//! their words, as names of modules and paths do, their shape remains: marks, numbers and words by their places alone.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most lines of a form that is rare.
const RARE: usize = 2;
/// Longest part of a line that its form is taken from, in bytes.
const MAX_LOOKED_AT: usize = 200;

/// How many lines of an output have which form, and which shape.
pub(super) struct LineForms {
    forms: HashMap<u64, usize>,
    shapes: HashMap<u64, usize>,
}

impl LineForms {
    /// Counts the lines of an output.
    pub(super) fn of(lines: &[&str]) -> Self {
        let (mut forms, mut shapes) = (HashMap::new(), HashMap::new());
        for line in lines {
            *forms.entry(form(line)).or_default() += 1;
            *shapes.entry(shape(line)).or_default() += 1;
        }
        Self { forms, shapes }
    }

    /// Returns whether a line of the output has a form that hardly any other has. An empty one says nothing.
    pub(super) fn is_rare(&self, line: &str) -> bool {
        !line.trim().is_empty() && self.forms.get(&form(line)).is_none_or(|count| *count <= RARE)
    }

    /// Returns how many lines of the output have the shape of a line.
    pub(super) fn of_shape(&self, line: &str) -> usize {
        self.shapes.get(&shape(line)).copied().unwrap_or_default()
    }

    /// Returns whether a line of the output has a shape that hardly any other has.
    pub(super) fn has_rare_shape(&self, line: &str) -> bool {
        !line.trim().is_empty() && self.of_shape(line) <= RARE
    }
}

/// Returns the form of a line: the line itself, but for its numbers and the blanks around it.
pub(super) fn form(line: &str) -> u64 {
    let line = line.trim();
    let mut hasher = DefaultHasher::new();
    let mut was_digit = false;
    for byte in line.bytes().take(MAX_LOOKED_AT) {
        let is_digit = byte.is_ascii_digit();
        match (is_digit, was_digit) {
            (true, true) => {}
            (true, false) => b'0'.hash(&mut hasher),
            (false, _) => byte.hash(&mut hasher),
        }
        was_digit = is_digit;
    }
    hasher.finish()
}

/// Part of a line, as far as its shape goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Words,
    Number,
    Mark(u8),
}

/// Returns the parts of a line, each with its text.
fn parts(line: &str) -> impl Iterator<Item = (Part, &[u8])> {
    let line = line.trim().as_bytes();
    let mut rest = &line[..line.len().min(MAX_LOOKED_AT)];
    let is_of_word =
        |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'/' | b'.' | b'-' | b'\\');
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let first = rest.first()?;
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit() || is_of_word(byte)).count().max(1);
        let (text, after) = rest.split_at(length);
        rest = after;
        let part = match first {
            _ if is_of_word(first) || text.iter().skip(1).any(u8::is_ascii_alphabetic) => Part::Words,
            _ if first.is_ascii_digit() => Part::Number,
            mark => Part::Mark(*mark),
        };
        Some((part, text))
    })
}

/// Returns the shape of a line: its marks, with one sign for each number, and one for each run of words, names and paths.
pub(super) fn shape(line: &str) -> u64 {
    let (mut hasher, mut last) = (DefaultHasher::new(), None);
    for (part, _) in parts(line) {
        // How many words there are in a row says little, and so does the length of a rule.
        if last != Some(part) {
            part.hash(&mut hasher);
        }
        last = Some(part);
    }
    hasher.finish()
}

/// Returns what stands at the places of a line that lines of its shape have in common: the first and the last word of each run.
pub(super) fn values(line: &str) -> Vec<u64> {
    let hash = |text: &[u8]| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    };
    let (mut values, mut last) = (Vec::new(), None);
    for (part, text) in parts(line) {
        if !matches!(part, Part::Mark(_)) {
            let value = hash(text);
            match values.last_mut() {
                Some(end) if last == Some(part) => *end = value,
                _ => values.extend([value, value]),
            }
        }
        last = Some(part);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_words_have_one_shape() {
        for (one, other, is_same) in [
            ("[core] almost loaded 12 rows of a/b.py", "[net] loaded 7 rows of x", true),
            ("Checking src/a/b.lua    OK", "Checking lib/x.lua OK", true),
            ("src/cart.lua:31:7: (W211) unused variable", "Checking lib/x.lua OK", false),
            ("--- a", "----- b", true),
            ("  [+] totals 12ms", "  [-] totals 12ms", false),
        ] {
            assert_eq!(shape(one) == shape(other), is_same, "{one} / {other}");
        }
    }

    #[test]
    fn lines_that_differ_in_numbers_have_one_form() {
        let mut lines: Vec<String> = (0..1_000).map(|n| format!("  step {n} of 1000, {n}.5 s")).collect();
        lines.push("cmd/a.go".to_owned());
        lines.push(String::new());
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let forms = LineForms::of(&lines);
        let rare: Vec<&str> = lines.iter().copied().filter(|line| forms.is_rare(line)).collect();
        assert_eq!(rare, ["cmd/a.go"]);
    }
}
