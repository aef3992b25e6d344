//! Quotation marks, dashes and blanks that a model writes otherwise than the file has them. The place is found whatever their spelling,
//! and what is written there has the spelling of the file.

use super::replace_block::overlapping;

/// Returns what stands for a mark where there are no others; `None` for any other character.
fn plain(c: char) -> Option<&'static str> {
    match c {
        '‘' | '’' | '‚' | '‛' | '′' => Some("'"),
        '“' | '”' | '„' | '‟' | '″' => Some("\""),
        '‐' | '‑' | '–' | '—' | '−' => Some("-"),
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Some(" "),
        '…' => Some("..."),
        _ => None,
    }
}

/// Text with plain marks alone.
struct Plain {
    text: String,
    /// For the end of each mark that is another there: its position there, and in the text itself.
    ends: Vec<(usize, usize)>,
}

impl Plain {
    fn of(text: &str) -> Self {
        let mut made = Self { text: String::with_capacity(text.len()), ends: Vec::new() };
        for (at, c) in text.char_indices() {
            match plain(c) {
                Some(mark) => {
                    made.text += mark;
                    made.ends.push((made.text.len(), at + c.len_utf8()));
                }
                None => made.text.push(c),
            }
        }
        made
    }

    /// Returns the position in the text itself; `None` within a mark of it.
    fn position(&self, text: &str, at: usize) -> Option<usize> {
        let before = self.ends.partition_point(|(end, _)| *end <= at);
        let (end, own) = before.checked_sub(1).map_or((0, 0), |last| self.ends[last]);
        let is_at_boundary = self.ends.get(before).is_none_or(|(_, next)| own + (at - end) < *next);
        Some(own + (at - end)).filter(|at| is_at_boundary && text.is_char_boundary(*at))
    }
}

/// Returns where a text stands apart from the spelling of marks, including overlapping places; empty if that makes no difference.
pub(super) fn places(content: &str, text: &str) -> Vec<std::ops::Range<usize>> {
    let (all, wanted) = (Plain::of(content), Plain::of(text));
    if wanted.text.is_empty() || all.ends.is_empty() && wanted.ends.is_empty() {
        return Vec::new();
    }
    let range = |at: usize| Some(all.position(content, at)?..all.position(content, at + wanted.text.len())?);
    overlapping(&all.text, &wanted.text).filter_map(range).collect()
}

/// Returns a new text in the spelling of the file, which has `found` where the model wrote `old`.
pub(super) fn respelled(old: &str, new: &str, found: &str) -> String {
    let shared = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| -> usize {
        one.zip(other).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
    };
    let head = shared(&mut old.chars(), &mut new.chars());
    let tail = shared(&mut old[head..].chars().rev(), &mut new[head..].chars().rev());
    let found_plain = Plain::of(found);
    let in_found = |end: usize| found_plain.position(found, Plain::of(&old[..end]).text.len());
    // What stays is as the file has it.
    let (Some(first), Some(last)) = (in_found(head), in_found(old.len() - tail)) else {
        return Spelling::new(old, found).for_text(new).apply_to(new, None);
    };
    let changed = &new[head..new.len() - tail];
    // Prose and code stand beside each other: how a comment spells its marks says nothing about the next line.
    let line_start = old[..head].rfind('\n').map_or(0, |at| at + 1);
    let line_end = old[old.len() - tail..].find('\n').map_or(old.len(), |at| old.len() - tail + at);
    let spelling = match (in_found(line_start), in_found(line_end)) {
        (Some(from), Some(to)) => Spelling::new(&old[line_start..line_end], &found[from..to]),
        _ => Spelling::default(),
    };
    // A text that quotes in another way where the file has plain marks, and has none of these, does so in all lines.
    let is_plain = || !changed.contains(['\'', '"']);
    let spelling =
        if spelling.is_empty() && is_plain() { Spelling::new(old, found).of_quotes() } else { spelling };
    let changed = spelling.for_text(changed).apply_to(changed, new[..head].chars().next_back());
    [&found[..first], &changed, &found[last..]].concat()
}

/// How the file spells what a model writes.
#[derive(Default)]
struct Spelling {
    /// A character of the model's, and what the file has in its place, for each that may be a mark.
    pairs: Vec<(char, char)>,
    /// How an ellipsis is written, and how the file has it.
    ellipsis: Option<(&'static str, &'static str)>,
}

impl Spelling {
    fn new(old: &str, found: &str) -> Self {
        let mut spelling = Self { pairs: Vec::new(), ellipsis: None };
        let (mut written, mut real) = (old.chars(), found.chars());
        while let (Some(one), Some(other)) = (written.next(), real.next()) {
            match (one, other) {
                ('…', '.') => {
                    spelling.ellipsis = Some(("…", "..."));
                    real.nth(1);
                }
                ('.', '…') => {
                    spelling.ellipsis = Some(("...", "…"));
                    written.nth(1);
                }
                pair if plain(one).is_some() || plain(other).is_some() || matches!(one, '"' | '\'' | '-') => {
                    spelling.pairs.push(pair);
                }
                _ => {}
            }
        }
        spelling
    }

    /// Returns the spelling for a new text: in one of several lines, which may be code, plain marks stay plain.
    fn for_text(self, text: &str) -> Self {
        if text.contains('\n') { self.with_plain_alone() } else { self }
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.ellipsis.is_none()
    }

    /// Returns what of the spelling puts plain quotation marks in the place of others.
    fn of_quotes(self) -> Self {
        let quotes = |(_, other): &(char, char)| matches!(other, '\'' | '"');
        Self { pairs: self.with_plain_alone().pairs.into_iter().filter(quotes).collect(), ellipsis: None }
    }

    /// Returns what of the spelling puts plain marks in the place of others.
    fn with_plain_alone(self) -> Self {
        let to_plain = |(one, other): &(char, char)| plain(*one).is_some() && plain(*other).is_none();
        Self {
            pairs: self.pairs.into_iter().filter(to_plain).collect(),
            ellipsis: self.ellipsis.filter(|(_, other)| *other == "..."),
        }
    }

    /// Returns a text in the file's spelling; `before` is the character before it.
    fn apply_to(&self, text: &str, before: Option<char>) -> String {
        let text = self.ellipsis.map_or_else(|| text.to_owned(), |(one, other)| text.replace(one, other));
        let mut last = before;
        let mut spelled = String::with_capacity(text.len());
        for c in text.chars() {
            let begins =
                last.is_none_or(|last| last.is_whitespace() || matches!(last, '(' | '[' | '{' | '—'));
            spelled.push(self.spell(c, begins));
            last = Some(c);
        }
        spelled
    }

    fn spell(&self, c: char, begins: bool) -> char {
        // A blank of the file's own kind stands where it is; others are blanks like everywhere.
        if c == ' ' {
            return c;
        }
        let mut known: Vec<char> =
            self.pairs.iter().filter(|(written, _)| *written == c).map(|(_, real)| *real).collect();
        known.sort_unstable();
        known.dedup();
        let has = |one: char, other: char| known.contains(&one) && known.contains(&other);
        match known.as_slice() {
            [real] => *real,
            [] => {
                let quote = plain(c).filter(|mark| matches!(*mark, "'" | "\""));
                // Who writes one of these marks otherwise writes the others so as well.
                let is_plain = |(one, other): &(char, char)| plain(*one).is_some() && plain(*other).is_none();
                quote
                    .filter(|_| self.pairs.iter().any(is_plain))
                    .and_then(|mark| mark.chars().next())
                    .unwrap_or(c)
            }
            _ if has('“', '”') => {
                if begins {
                    '“'
                } else {
                    '”'
                }
            }
            _ if has('‘', '’') => {
                if begins {
                    '‘'
                } else {
                    '’'
                }
            }
            several => {
                if several.contains(&c) {
                    c
                } else {
                    several[0]
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_whatever_the_spelling_of_marks() {
        for (content, text, expected) in [
            ("say \"hi\"", "“hi”", &[(4, 8)][..]),
            ("say “hi”", "\"hi\"", &[(4, 12)]),
            ("a…b", "a...b", &[(0, 5)]),
            ("a...b", "a…b", &[(0, 5)]),
            // Within an ellipsis.
            ("a…b", "..b", &[]),
            ("it’s it's", "it's", &[(0, 6), (7, 11)]),
            ("a – b", "a - b", &[(0, 7)]),
            ("plain", "plain", &[]),
            ("é “x”", "\"y\"", &[]),
        ] {
            let found: Vec<(usize, usize)> =
                places(content, text).into_iter().map(|at| (at.start, at.end)).collect();
            assert_eq!(found, expected, "{content} {text}");
        }
    }

    #[test]
    fn new_text_has_the_spelling_of_the_file() {
        for (old, new, found, expected) in [
            ("print(“a”)", "print(“b”)", "print(\"a\")", "print(\"b\")"),
            ("print(“a”)", "print(‘b’, “c”)", "print(\"a\")", "print('b', \"c\")"),
            ("say \"hi\"", "say \"ho\" and \"hi\"", "say “hi”", "say “ho” and “hi”"),
            ("don't", "don't or can't", "don’t", "don’t or can’t"),
            ("a - b", "a - b - c", "a – b", "a – b – c"),
            ("wait...", "wait... what...", "wait…", "wait… what…"),
            ("wait…", "wait… what…", "wait...", "wait... what..."),
            ("a – b - c", "a – b - d", "a — b - c", "a — b - d"),
            ("\"a\"", "", "“a”", ""),
            // Code beside prose.
            (
                "// don't stop\nfoo();",
                "// don't stop\nfoo('a');",
                "// don’t stop\nfoo();",
                "// don’t stop\nfoo('a');",
            ),
            ("wait...\nf(a)", "wait...\nf(...a)", "wait…\nf(a)", "wait…\nf(...a)"),
            ("1-5\nx", "1-5\nx - 1", "1–5\nx", "1–5\nx - 1"),
            ("it's\n", "it's\nf('a')\n", "it’s\n", "it’s\nf('a')\n"),
            ("10 km is far", "10 km is very very far", "10\u{a0}km is far", "10\u{a0}km is very very far"),
        ] {
            assert_eq!(respelled(old, new, found), expected, "{old} {new}");
        }
    }
}
