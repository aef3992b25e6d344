//! Search for parts of secrets where a text was cut: a limit on the size of a text may fall into the middle of a secret, and what
//! is left of that is not the secret any more.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::Regex;

/// What stands wherever a text was cut, before or behind what is left: a mark of ours, or one by which other programs shorten a key.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in tests")]
    Regex::new(r"…|\.{3,}|\*{3,}").expect("a valid pattern")
});

/// Bytes as Node shows them, which leaves out those behind the fiftieth.
static BUFFER: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in tests")]
    Regex::new(r"<Buffer((?: [0-9a-f]{2})+) \.\.\. [0-9]+ more bytes?>").expect("a valid pattern")
});

/// Minimum length of a part, in bytes; a shorter one says little of the secret, and is often a word.
const MIN_PART: usize = 6;

/// Returns whether a text was cut anywhere.
pub(super) fn is_cut(text: &[u8]) -> bool {
    MARK.is_match(text)
}

/// Parts of secrets that may stand beside the mark of a cut.
#[derive(Debug)]
pub(super) struct CutSecrets {
    /// The beginnings of secrets, which stand before a mark.
    beginnings: Parts,
    /// The ends of secrets, which stand behind a mark.
    ends: Parts,
    /// Length of the longest secret.
    longest: usize,
}

/// The first or the last bytes of secrets, and the secrets that have them.
#[derive(Debug)]
struct Parts {
    search: Option<AhoCorasick>,
    /// The secrets, in the order of the search's patterns.
    secrets: Vec<Vec<Vec<u8>>>,
}

impl Parts {
    fn new<'a>(secrets: impl Iterator<Item = &'a [u8]>, part: impl Fn(&[u8]) -> &[u8]) -> Self {
        let mut all: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        for secret in secrets.filter(|secret| secret.len() > MIN_PART) {
            all.entry(part(secret).to_vec()).or_default().push(secret.to_vec());
        }
        let (parts, secrets): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        // The builder fails only on gigabytes of patterns.
        Self { search: builder.build(parts).ok().filter(|_| !secrets.is_empty()), secrets }
    }

    /// Returns each place where a text has one of the parts, with the secrets that have it.
    fn find(&self, text: &[u8]) -> Vec<(Range<usize>, &[Vec<u8>])> {
        let found = |search: &AhoCorasick| {
            search
                .find_overlapping_iter(text)
                .map(|one| (one.range(), self.secrets[one.pattern().as_usize()].as_slice()))
                .collect()
        };
        self.search.as_ref().map(found).unwrap_or_default()
    }
}

impl CutSecrets {
    /// Prepares the search for parts of these secrets.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        Self {
            beginnings: Parts::new(secrets.clone(), |secret| &secret[..MIN_PART]),
            ends: Parts::new(secrets.clone(), |secret| &secret[secret.len() - MIN_PART..]),
            longest: secrets.map(<[u8]>::len).max().unwrap_or(0),
        }
    }

    /// Reports the parts of secrets beside marks.
    pub(super) fn search(&self, text: &[u8], found: &mut dyn FnMut(Range<usize>)) {
        self.search_plain(text, found);
        for buffer in BUFFER.captures_iter(text) {
            let (Some(whole), Some(digits)) = (buffer.get(0), buffer.get(1)) else { continue };
            let digits = std::str::from_utf8(digits.as_bytes()).unwrap_or_default();
            let bytes =
                digits.split_ascii_whitespace().filter_map(|digits| u8::from_str_radix(digits, 16).ok());
            let shown: Vec<u8> = bytes.chain("…".bytes()).collect();
            self.search_plain(&shown, &mut |_| found(whole.range()));
        }
    }

    fn search_plain(&self, text: &[u8], found: &mut dyn FnMut(Range<usize>)) {
        for mark in MARK.find_iter(text) {
            let before = text[..mark.start()].trim_ascii_end();
            let window = &before[before.len().saturating_sub(self.longest)..];
            let is_begun = |start: usize, secret: &Vec<u8>| {
                let part = &window[start..];
                part.len() < secret.len() && secret.starts_with(part)
            };
            for (at, secrets) in self.beginnings.find(window) {
                if secrets.iter().any(|secret| is_begun(at.start, secret)) {
                    found(before.len() - window.len() + at.start..before.len());
                    break;
                }
            }
            let behind = &text[mark.end()..];
            let blanks = behind.len() - behind.trim_ascii_start().len();
            let window = &behind[blanks..];
            let window = &window[..window.len().min(self.longest)];
            let is_ended = |end: usize, secret: &Vec<u8>| {
                let part = &window[..end];
                part.len() < secret.len() && secret.ends_with(part)
            };
            for (at, secrets) in self.ends.find(window).into_iter().rev() {
                if secrets.iter().any(|secret| is_ended(at.end, secret)) {
                    let start = mark.end() + blanks;
                    found(start..start + at.end);
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "qZ7kLm4Wx9Tb2Yc6Vd8Rf3Gh5Jn1Pp0S";

    fn masked(text: &str) -> String {
        let mut text = text.to_owned();
        let secrets = [SECRET.as_bytes(), b"qZ7kLm-other"];
        let mut spans = Vec::new();
        CutSecrets::new(secrets.into_iter()).search(text.as_bytes(), &mut |span| spans.push(span));
        spans.sort_by_key(|span| span.start);
        for span in spans.into_iter().rev() {
            text.replace_range(span, "***");
        }
        text
    }

    #[test]
    fn parts_of_secrets_beside_cuts_are_found_at_any_length() {
        for length in MIN_PART..SECRET.len() {
            let (begun, ended) = (&SECRET[..length], &SECRET[SECRET.len() - length..]);
            assert_eq!(masked(&format!("key {begun}… (9 bytes more)")), "key ***… (9 bytes more)");
            assert_eq!(
                masked(&format!("a\n… 5 bytes omitted …\n{ended} ok")),
                "a\n… 5 bytes omitted …\n*** ok"
            );
        }
        let both = format!("{}\n… 5 bytes omitted …\n{}", &SECRET[..20], &SECRET[9..]);
        assert_eq!(masked(&both), "***\n… 5 bytes omitted …\n***");
        assert_eq!(masked("qZ7kLm-ot…"), "***…");
        for mark in ["...", "......", "****"] {
            assert_eq!(masked(&format!("key qZ7kLm4W{mark}")), format!("key ***{mark}"));
            assert_eq!(masked(&format!("key {mark}1Pp0S, Jn1Pp0S")), format!("key {mark}1Pp0S, Jn1Pp0S"));
            assert_eq!(masked(&format!("key {mark}Jn1Pp0S")), format!("key {mark}***"));
        }
    }

    #[test]
    fn bytes_that_node_leaves_out_are_the_rest_of_a_secret() {
        let bytes = |text: &str| text.bytes().map(|byte| format!(" {byte:02x}")).collect::<String>();
        let shown = format!("x <Buffer{} ... 9 more bytes> y", bytes("key=qZ7kLm4Wx9Tb"));
        assert_eq!(masked(&shown), "x *** y");
        let other = format!("x <Buffer{} ... 1 more byte> y", bytes("nothing to hide"));
        assert_eq!(masked(&other), other);
    }

    #[test]
    fn what_is_no_part_stays() {
        for text in ["qZ7kL…", "qZ7kLm4 and more…", "…", "", "… Pp0S", "…0S qZ7kLm"] {
            assert_eq!(masked(text), text);
        }
    }
}
