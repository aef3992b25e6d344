//! Search for secrets in every spelling that programs produce by accident.
//!
//! Spellings that are the same for a whole secret (base64, hexadecimal) are searched for as they are. What
//! a program decides for each character (escapes, percent signs, entities, line ends) is undone first: the
//! text is decoded in each of these ways, and a match in the decoded text is mapped back to its origin.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Captures, Regex};

use crate::cut::{self, CutSecrets};
use crate::escaped::{base64_spellings, escaped, hexadecimal, quoted, utf16};

/// How many encodings may be nested: JSON in JSON, a URL in HTML.
const DEPTH: u32 = 2;

/// Minimum length of a secret that is looked for across lines, in bytes; a shorter match would be a
/// coincidence.
const MIN_SPLIT: usize = 8;

/// Minimum length of a secret that is looked for in small letters and in capitals as well, in bytes.
const MIN_LOWERED: usize = 8;

/// A set of secrets, compiled for the search.
#[derive(Clone, Debug)]
pub(super) struct Spellings {
    /// The secrets as they are, and in base64.
    exact: Option<AhoCorasick>,
    /// The secrets in hexadecimal, where case does not matter.
    hexadecimal: Option<AhoCorasick>,
    /// All of these.
    patterns: Arc<[String]>,
    /// Parts of them where a text was cut, prepared for the first text that was.
    cut: Arc<OnceLock<CutSecrets>>,
}

impl Spellings {
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a str> + Clone) -> Self {
        let exact: BTreeSet<String> = secrets.clone().flat_map(fixed_spellings).collect();
        let twice = |secret: &str| {
            base64_spellings(secret.as_bytes()).iter().map(|one| hexadecimal(one)).collect::<Vec<_>>()
        };
        let hexadecimal: BTreeSet<String> =
            secrets.clone().map(hexadecimal).chain(secrets.flat_map(twice)).collect();
        let automaton = |patterns: &BTreeSet<String>, any_case: bool| {
            let mut builder = AhoCorasick::builder();
            builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(any_case);
            // A DFA takes milliseconds to build, and megabytes for the lines of a private key.
            builder.kind(Some(AhoCorasickKind::ContiguousNFA));
            // The builder fails only on gigabytes of patterns.
            builder.build(patterns).ok().filter(|_| !patterns.is_empty())
        };
        Self {
            exact: automaton(&exact, false),
            hexadecimal: automaton(&hexadecimal, true),
            patterns: exact.into_iter().chain(hexadecimal).collect(),
            cut: Arc::default(),
        }
    }

    /// Returns the byte ranges of all secrets, in order of their beginnings; they may overlap.
    pub(super) fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        if self.exact.is_some() {
            self.search(text, DEPTH, &mut |span| spans.push(span));
            if cut::is_cut(text) {
                let secrets = || CutSecrets::new(self.patterns.iter().map(String::as_bytes));
                self.cut.get_or_init(secrets).search(text, &mut |span| spans.push(span));
            }
            spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        }
        spans
    }

    /// Returns whether a text holds any of the secrets.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        !self.spans(text).is_empty()
    }

    /// Reports all matches in a text, and in what it decodes to, down to `depth` nested encodings.
    fn search(&self, text: &[u8], depth: u32, found: &mut dyn FnMut(Range<usize>)) {
        for automaton in [&self.exact, &self.hexadecimal].into_iter().flatten() {
            automaton.find_iter(text).for_each(|one| found(one.range()));
        }
        if depth == 0 {
            return;
        }
        for writing in &WRITINGS {
            let Some(reading) = writing.read(text) else { continue };
            self.search(&reading.text, depth - 1, &mut |span| {
                if let Some(origin) = reading.origin(&span, writing.min) {
                    found(origin);
                }
            });
        }
    }
}

/// Returns the spellings of a secret that are the same whichever program makes them.
fn fixed_spellings(secret: &str) -> Vec<String> {
    // Web forms encode a blank as a plus sign.
    let mut spellings = vec![secret.to_owned(), secret.replace(' ', "+")];
    // Names of hosts are written in small letters, names of variables in capitals. A shorter secret could be a word.
    if secret.len() >= MIN_LOWERED {
        spellings.extend([secret.to_ascii_lowercase(), secret.to_ascii_uppercase()]);
    }
    spellings.extend(quoted(secret));
    let once = base64_spellings(secret.as_bytes());
    // A program's configuration in base64 often holds a credential that is in base64 itself.
    let digits = hexadecimal(secret);
    let inner = once.iter().cloned().chain([digits.to_uppercase(), digits]).chain(escaped(secret));
    spellings.extend(inner.flat_map(|one| base64_spellings(one.as_bytes())));
    // PowerShell's encoded commands and standard output are in UTF-16.
    let wide = utf16(secret);
    spellings.extend(base64_spellings(&wide));
    spellings.extend(String::from_utf8(wide));
    spellings.extend(once);
    spellings
}

/// An encoding in which programs write text.
struct Writing {
    /// The encoded form of one unit, such as an escape.
    form: LazyLock<Regex>,
    /// Decodes a match of the form; `None` if it is not one after all.
    meaning: fn(&Captures<'_>) -> Option<Vec<u8>>,
    /// Minimum length of a secret that is looked for in the decoded text, in bytes.
    min: usize,
}

/// Compiles a constant pattern.
fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    Regex::new(text).expect("a valid pattern")
}

/// The joint of two lines: a line end, however it is written, and what often comes before the next line's
/// text, blanks or its number.
const JOINT: &str = r"[ \t]*(?:\\?\r?\n|(?:\\r)?\\n|⏎)[ \t]*(?:[0-9]{1,6}(?:\t|→|:[ \t]|[ \t]*[|│][ \t]?))?";

static WRITINGS: [Writing; 7] = [
    Writing {
        form: LazyLock::new(|| pattern(r"%([0-9A-Fa-f]{2})")),
        meaning: |form| byte(form.get(1)?.as_bytes(), 16),
        min: 0,
    },
    // Escapes of JSON, C, Python and shells; quotes of shells and CSV.
    Writing {
        form: LazyLock::new(|| {
            pattern(
                r#"\\(?:[uU](?:\{(?<braces>[0-9A-Fa-f]{1,6})\}|(?<long>0[0-9A-Fa-f]{7})|(?<code>[0-9A-Fa-f]{4}))|x(?<hex>[0-9A-Fa-f]{2})|(?<octal>[0-3]?[0-7]{1,2})|(?<letter>(?s:.)))|(?<quote>'\\''|'"'"'|""|'')"#,
            )
        }),
        meaning: |form| {
            if let Some(quote) = form.name("quote") {
                return Some(quote.as_bytes()[..1].to_vec());
            }
            if let Some(code) = ["braces", "long", "code"].iter().find_map(|name| form.name(name)) {
                return character(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("hex") {
                return byte(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("octal") {
                return byte(code.as_bytes(), 8);
            }
            Some(match form.name("letter")?.as_bytes() {
                b"n" => b"\n".to_vec(),
                b"t" => b"\t".to_vec(),
                b"r" => b"\r".to_vec(),
                b"e" => b"\x1b".to_vec(),
                other => other.to_vec(),
            })
        },
        min: 0,
    },
    // Entities of HTML and XML.
    Writing {
        form: LazyLock::new(|| {
            pattern(r"&(?:#[xX](?<hex>[0-9A-Fa-f]{1,6})|#(?<code>[0-9]{1,7})|(?<name>[A-Za-z]{2,8}));")
        }),
        meaning: |form| {
            if let Some(code) = form.name("hex") {
                return character(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("code") {
                return character(code.as_bytes(), 10);
            }
            let name = form.name("name")?.as_bytes();
            ENTITIES
                .iter()
                .find(|(known, _)| known.as_bytes() == name)
                .map(|(_, sign)| sign.as_bytes().to_vec())
        },
        min: 0,
    },
    // Bytes in hexadecimal, with separators in between.
    Writing {
        form: LazyLock::new(|| pattern(r"(?-u:\b)(?:0[xX])?((?:[0-9A-Fa-f]{2})+)(?:[ :,;\-]{1,2}|(?-u:\b))")),
        meaning: |form| form.get(1)?.as_bytes().chunks(2).map(|pair| Some(byte(pair, 16)?[0])).collect(),
        min: 0,
    },
    // Bytes in decimal numbers, with separators in between; as many as the shortest secret has.
    Writing {
        form: LazyLock::new(|| {
            pattern(
                r"(?-u:\b)[0-9]{1,3}(?:(?:[ \t]*[,;][ \t]*(?:\r?\n[ \t]*)?|[ \t]*\r?\n[ \t]*|[ \t]+)[0-9]{1,3}(?-u:\b)){5,}",
            )
        }),
        meaning: |form| {
            let numbers = form.get(0)?.as_bytes().split(|byte| !byte.is_ascii_digit());
            let numbers = numbers.filter(|digits| !digits.is_empty());
            // What is no byte stands for one that no secret has.
            Some(
                numbers
                    .map(|digits| number(digits, 10).and_then(|n| u8::try_from(n).ok()).unwrap_or(0))
                    .collect(),
            )
        },
        min: 0,
    },
    // Lines that begin with blanks or with their numbers.
    Writing { form: LazyLock::new(|| pattern(JOINT)), meaning: |_| Some(Vec::new()), min: MIN_SPLIT },
    // Lines that begin with the sign of a diff, a quote or a list. The sign may also be a part of the
    // secret.
    Writing {
        form: LazyLock::new(|| pattern(&format!(r"{JOINT}[+\-|>#*][ \t]*|{JOINT}"))),
        meaning: |_| Some(Vec::new()),
        min: MIN_SPLIT,
    },
];

const ENTITIES: [(&str, &str); 31] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("sol", "/"),
    ("bsol", "\\"),
    ("plus", "+"),
    ("equals", "="),
    ("colon", ":"),
    ("semi", ";"),
    ("commat", "@"),
    ("num", "#"),
    ("excl", "!"),
    ("dollar", "$"),
    ("percnt", "%"),
    ("lpar", "("),
    ("rpar", ")"),
    ("ast", "*"),
    ("comma", ","),
    ("period", "."),
    ("quest", "?"),
    ("lsqb", "["),
    ("rsqb", "]"),
    ("lcub", "{"),
    ("rcub", "}"),
    ("verbar", "|"),
    ("grave", "`"),
    ("lowbar", "_"),
    ("hyphen", "-"),
];

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

fn byte(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    Some(vec![u8::try_from(number(digits, radix)?).ok()?])
}

fn character(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    Some(char::from_u32(number(digits, radix)?)?.to_string().into_bytes())
}

/// A text decoded in one way.
struct Reading {
    text: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A part of a decoded text, and its origin.
struct Piece {
    /// The offset of the part in the decoded text.
    at: usize,
    /// The byte range that it comes from in the original text.
    origin: Range<usize>,
    /// Whether it was copied unchanged.
    verbatim: bool,
}

impl Writing {
    /// Decodes a text in this way, or returns `None` if it holds no such encoding.
    fn read(&self, text: &[u8]) -> Option<Reading> {
        let mut reading = Reading { text: Vec::with_capacity(text.len()), pieces: Vec::new() };
        let mut rest = 0;
        for form in self.form.captures_iter(text) {
            let (Some(whole), Some(meaning)) = (form.get(0), (self.meaning)(&form)) else { continue };
            reading.push(&text[rest..whole.start()], rest..whole.start(), true);
            reading.push(&meaning, whole.range(), false);
            rest = whole.end();
        }
        if reading.pieces.is_empty() {
            return None;
        }
        reading.push(&text[rest..], rest..text.len(), true);
        Some(reading)
    }
}

impl Reading {
    fn push(&mut self, text: &[u8], origin: Range<usize>, verbatim: bool) {
        // An empty decoded part is recorded too, because it marks that something was removed here.
        if !(verbatim && text.is_empty()) {
            self.pieces.push(Piece { at: self.text.len(), origin, verbatim });
            self.text.extend_from_slice(text);
        }
    }

    /// Maps a range of the decoded text back to the original. Returns `None` if the original has it
    /// unchanged, so that it is found there anyway, or if it is shorter than `min`.
    fn origin(&self, span: &Range<usize>, min: usize) -> Option<Range<usize>> {
        if span.len() < min {
            return None;
        }
        let piece = |at: usize| {
            // Of several parts that begin at the same offset, only the last one has text.
            let index = self.pieces.partition_point(|piece| piece.at <= at).checked_sub(1)?;
            Some((index, &self.pieces[index]))
        };
        let ((first, begins), (last, ends)) = (piece(span.start)?, piece(span.end - 1)?);
        if first == last && begins.verbatim {
            return None;
        }
        let offset = |piece: &Piece, at: usize| piece.origin.start + (at - piece.at);
        let start = if begins.verbatim { offset(begins, span.start) } else { begins.origin.start };
        let end = if ends.verbatim { offset(ends, span.end - 1) + 1 } else { ends.origin.end };
        Some(start..end)
    }
}

/// Returns the patterns of all encodings.
#[cfg(test)]
pub(super) fn patterns() -> impl Iterator<Item = &'static str> {
    WRITINGS.iter().map(|writing| writing.form.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_are_valid() {
        for writing in &WRITINGS {
            assert!(writing.form.captures_len() >= 1);
        }
    }

    #[test]
    fn what_is_found_is_led_back_to_where_it_stands() {
        let secrets = Spellings::new(["top/se\"cret&1"].into_iter());
        for (before, spelled, after) in [
            ("a ", "top/se\"cret&1", " b"),
            ("x=", "top%2fse%22cret%261", "&y"),
            ("x=", "top%2Fse\"cret&1", ""),
            ("%41", "%74%6f%70%2f%73%65%22%63%72%65%74%26%31", "%42"),
            ("\"", r#"top\/se\"cret&1"#, "\\n"),
            ("\"", r"top/se\u0022cret\u00261", ""),
            ("", r#"\"top\\\/se\\\"cret&1"#.trim_start_matches("\\\""), "\\\""),
            ("$'", r"\x74\x6f\x70/se\042cret\x261", "'"),
            ("<b>", "top/se&quot;cret&amp;1", "</b>"),
            ("", "&#116;op&#x2F;se&#34;cret&#38;1", ";"),
            ("", "top%2Fse&quot;cret%261", ""),
            ("\"", "top/se\"\"cret&1", "\""),
        ] {
            let text = format!("{before}{spelled}{after}");
            let found = secrets.spans(text.as_bytes());
            let expected = before.len()..before.len() + spelled.len();
            assert!(found.contains(&expected), "{text}: {found:?}, not {expected:?}");
        }
        for text in ["", "top", "%", "\\", "&;", "top%2Fse", "\\u{ffffff}", "%ff\\xff", "74 6f 70"] {
            assert!(!secrets.is_in(text.as_bytes()), "{text}");
        }
    }
}
