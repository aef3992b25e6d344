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

/// Returns the shape of a line: its marks, with one sign for each number, and one for each run of words, names and paths.
pub(super) fn shape(line: &str) -> u64 {
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Part {
        Words,
        Number,
        Mark(u8),
    }
    let is_of_word =
        |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'/' | b'.' | b'-' | b'\\');
    let (mut hasher, mut last) = (DefaultHasher::new(), None);
    let mut bytes = line.trim().bytes().take(MAX_LOOKED_AT).peekable();
    while let Some(byte) = bytes.next() {
        let part = match byte {
            b' ' | b'\t' => continue,
            _ if byte.is_ascii_digit() => {
                let mut has_letters = false;
                while let Some(next) = bytes.next_if(|next| next.is_ascii_digit() || is_of_word(*next)) {
                    has_letters |= next.is_ascii_alphabetic();
                }
                if has_letters { Part::Words } else { Part::Number }
            }
            _ if is_of_word(byte) => {
                while bytes.next_if(|next| next.is_ascii_digit() || is_of_word(*next)).is_some() {}
                Part::Words
            }
            mark => Part::Mark(mark),
        };
        // How many words there are in a row says little, and so does the length of a rule.
        if last != Some(part) {
            part.hash(&mut hasher);
        }
        last = Some(part);
    }
    hasher.finish()
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
