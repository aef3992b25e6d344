//! Search for secrets in every spelling that programs produce by accident.
//!
//! Spellings that are the same for a whole secret (base64, hexadecimal) are searched for as they are. What
//! a program decides for each character (escapes, percent signs, entities, line ends) is undone first: the
//! text is decoded in each of these ways, and a match in the decoded text is mapped back to its origin.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::cut::{self, CutSecrets};
use crate::escaped::{base64_spellings, escaped, hexadecimal, quoted, utf16};
use crate::reading::Reading;
use crate::writings::WRITINGS;

/// How many encodings may be nested: JSON in JSON, a URL in HTML.
const DEPTH: u32 = 2;

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
            spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
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
            let Some(reading) = Reading::of(text, writing) else { continue };
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
