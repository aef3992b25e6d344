//! Quotation marks, dashes and blanks that a model writes otherwise than the file has them. The place is found whatever their spelling,
//! and what is written there has the spelling of the file.

mod alignment;

use self::alignment::Alignment;
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

/// Change of a text that the file may have in another spelling.
pub(super) struct Change<'a> {
    new: &'a str,
    alignment: Alignment<'a>,
}

impl<'a> Change<'a> {
    pub(super) fn new(old: &'a str, new: &'a str) -> Self {
        Self { new, alignment: Alignment::of(old, new) }
    }

    /// Returns the new text for a file that has `found` where the model wrote the old one. What stays is as the file has it. What is new
    /// stays as it is given, since code and prose stand beside each other; only what joins a line in which the file has plain marks for
    /// those of the model gets them as well.
    pub(super) fn respelled(&self, found: &str) -> Respelled {
        let found_plain = Plain::of(found);
        let mut at = 0;
        let mut position = |piece: &&str| {
            at += Plain::of(piece).text.len();
            found_plain.position(found, at)
        };
        let Alignment { old, new, partners } = &self.alignment;
        let ends: Vec<Option<usize>> = old.iter().map(&mut position).collect();
        let start = |index: usize| index.checked_sub(1).map_or(Some(0), |before| ends[before]);
        let kept = |index: usize| found.get(start(index)?..ends[index]?);
        let mut made = Respelled { text: String::with_capacity(self.new.len()), has_plain: false };
        let mut quotes = Spelling::default();
        quotes.add(&old.concat(), found);
        let added: String =
            new.iter().zip(partners).filter(|(_, it)| it.is_none()).map(|(it, _)| *it).collect();
        let quotes = quotes.with_plain_alone().of_pairs_of_quotes(&added);
        let mut from = 0;
        for line in new.split_inclusive(|piece| *piece == "\n") {
            let partners = &partners[from..from + line.len()];
            let mut spelling = None;
            for (piece, partner) in line.iter().zip(partners) {
                if let Some(own) = partner.and_then(kept) {
                    made.text += own;
                    continue;
                }
                let plain = if piece.chars().any(|c| plain(c).is_some()) {
                    let of_line = spelling.get_or_insert_with(|| self.spelling(partners, &kept));
                    // Who encloses texts of the file in other quotes than it does so in new lines as well.
                    if of_line.is_empty() { quotes.apply_to(piece) } else { of_line.apply_to(piece) }
                } else {
                    (*piece).to_owned()
                };
                made.has_plain |= plain != *piece;
                made.text += &plain;
            }
            from += line.len();
        }
        made
    }

    /// Returns how the file spells the lines of the old text that a new one has parts of. How another line spells its marks says nothing
    /// about this one.
    fn spelling<'f>(&self, partners: &[Option<usize>], kept: &dyn Fn(usize) -> Option<&'f str>) -> Spelling {
        let old = &self.alignment.old;
        let is_end = |at: usize| old.get(at).is_none_or(|piece| *piece == "\n");
        let mut spelling = Spelling::default();
        let mut until = 0;
        for at in partners.iter().flatten().copied().filter(|at| !is_end(*at)) {
            if at < until {
                continue;
            }
            let start = (0..at).rev().find(|before| is_end(*before)).map_or(0, |before| before + 1);
            until = (at..old.len()).find(|behind| is_end(*behind)).unwrap_or(old.len());
            let found: Option<String> = (start..until).map(kept).collect();
            spelling.add(&old[start..until].concat(), &found.unwrap_or_default());
        }
        spelling.with_plain_alone()
    }
}

/// New text in the spelling of a file.
pub(super) struct Respelled {
    pub(super) text: String,
    /// Whether marks that are new were made plain.
    pub(super) has_plain: bool,
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
    /// Adds how the file has a text that was `written` for what is `found` there.
    fn add(&mut self, written: &str, found: &str) {
        let (mut written, mut real) = (written.chars(), found.chars());
        while let (Some(one), Some(other)) = (written.next(), real.next()) {
            match (one, other) {
                ('…', '.') => {
                    self.ellipsis = Some(("…", "..."));
                    real.nth(1);
                }
                ('.', '…') => {
                    self.ellipsis = Some(("...", "…"));
                    written.nth(1);
                }
                pair if plain(one).is_some() || plain(other).is_some() || matches!(one, '"' | '\'' | '-') => {
                    self.pairs.push(pair);
                }
                _ => {}
            }
        }
    }

    /// Returns what of the spelling puts plain marks in the place of others, or leaves marks as they are.
    fn with_plain_alone(self) -> Self {
        let to_plain =
            |(one, other): &(char, char)| one == other || plain(*one).is_some() && plain(*other).is_none();
        Self {
            pairs: self.pairs.into_iter().filter(to_plain).collect(),
            ellipsis: self.ellipsis.filter(|(_, other)| *other == "..."),
        }
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.ellipsis.is_none()
    }

    /// Returns what of the spelling is about quotes that open and close, but for those whose plain form `added` text has as well. One that
    /// is an apostrophe says nothing about other texts.
    fn of_pairs_of_quotes(self, added: &str) -> Self {
        let has = |mark: char| self.pairs.iter().any(|(one, other)| *one == mark && *one != *other);
        let is_pair = |(one, _): &(char, char)| match one {
            '“' | '”' => has('“') && has('”') && !added.contains('"'),
            '‘' | '’' => has('‘') && has('’') && !added.contains('\''),
            _ => false,
        };
        Self { pairs: self.pairs.iter().copied().filter(is_pair).collect(), ellipsis: None }
    }

    /// Returns a text in the file's spelling.
    fn apply_to(&self, text: &str) -> String {
        let text = self.ellipsis.map_or_else(|| text.to_owned(), |(one, other)| text.replace(one, other));
        text.chars().map(|c| self.spell(c)).collect()
    }

    fn spell(&self, c: char) -> char {
        let mut known = self.pairs.iter().filter(|(written, _)| *written == c).map(|(_, real)| *real);
        if let Some(first) = known.next() {
            return known.chain([first]).find(|real| *real == c).unwrap_or(first);
        }
        let quote = plain(c).filter(|mark| matches!(*mark, "'" | "\""));
        // Who writes one of these marks otherwise writes the others so as well.
        let is_plain = |(one, other): &(char, char)| plain(*one).is_some() && plain(*other).is_none();
        quote.filter(|_| self.pairs.iter().any(is_plain)).and_then(|mark| mark.chars().next()).unwrap_or(c)
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
            ("say \"hi\"", "say \"ho\" and \"hi\"", "say “hi”", "say \"ho\" and “hi”"),
            ("don't", "don't or can't", "don’t", "don’t or can't"),
            ("a - b", "a - b - c", "a – b", "a – b - c"),
            ("wait...", "wait... what...", "wait…", "wait… what..."),
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
            // Code beside prose in the same line.
            ("<p>\"Hi\"</p>", "<p class=\"a\">\"Hi\"</p>", "<p>“Hi”</p>", "<p class=\"a\">“Hi”</p>"),
            ("log('wait...');", "log('wait...', ...args);", "log('wait…');", "log('wait…', ...args);"),
            ("<p>\"Hi\"</p>", "<p class=\"a\">Bye</p>", "<p>“Hi”</p>", "<p class=\"a\">Bye</p>"),
            (
                "The \"run\" - see below.",
                "The \"run\" - see `run -v --long \"x\"` below.",
                "The “run” – see below.",
                "The “run” – see `run -v --long \"x\"` below.",
            ),
            // Lines that stay between others that change.
            (
                "a 1\n\"Hi\" - it's\nb 1",
                "a 2\n\"Hi\" - it's\nb 2",
                "a 1\n“Hi” – it’s\nb 1",
                "a 2\n“Hi” – it’s\nb 2",
            ),
            ("a 1\nwait...\nb 1", "a 2\nwait...\nb 2", "a 1\nwait…\nb 1", "a 2\nwait…\nb 2"),
            // How one line is misquoted says nothing about others.
            ("// it’s\nx = [a]", "// it’s\nx = [a“”]", "// it's\nx = [a]", "// it's\nx = [a“”]"),
            ("It’s\n\nTwo", "It’s\n\nTwo\n\n“Yes”, he said", "It's\n\nTwo", "It's\n\nTwo\n\n“Yes”, he said"),
            ("# don’t\na: b\n", "# can’t\na: c’est b\n", "# don't\na: b\n", "# can't\na: c’est b\n"),
            ("a(“b”)\n", "a(“b”, ‘c’)\nd.e = “f”\n", "a(\"b\")\n", "a(\"b\", 'c')\nd.e = \"f\"\n"),
            ("a: “x”", "a: “x”\nb: “y”", "a: \"x\"", "a: \"x\"\nb: \"y\""),
            ("a: “x”", "a: “x”\nb: \"“y”\"", "a: \"x\"", "a: \"x\"\nb: \"“y”\""),
            ("10 km is far", "10 km is very very far", "10\u{a0}km is far", "10\u{a0}km is very very far"),
        ] {
            assert_eq!(Change::new(old, new).respelled(found).text, expected, "{old} {new}");
        }
    }
}
