//! Forms of lines: in a long output, a line whose form no other has stands out, whatever program wrote it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most lines of a form that is rare.
const RARE: usize = 2;
/// Longest part of a line that its form is taken from, in bytes.
const MAX_LOOKED_AT: usize = 200;

/// How many lines of an output have which form.
pub(super) struct LineForms(HashMap<u64, usize>);

impl LineForms {
    /// Counts the lines of an output.
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut counts = HashMap::new();
        for line in lines {
            *counts.entry(form(line)).or_default() += 1;
        }
        Self(counts)
    }

    /// Returns whether a line of the output has a form that hardly any other has. An empty one says nothing.
    pub(super) fn is_rare(&self, line: &str) -> bool {
        !line.trim().is_empty() && self.0.get(&form(line)).is_none_or(|count| *count <= RARE)
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

#[cfg(test)]
mod tests {
    use super::*;

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
