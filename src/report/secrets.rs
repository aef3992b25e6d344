//! Masks secrets in whatever leaves the process.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;

use crate::command::environment::looks_secret;

/// Whether a variable is an input of ours whose name sounds like a secret, and which is none.
fn is_setting(name: &str) -> bool {
    let name = name.replace('-', "_");
    let input = name.strip_prefix("INPUT_").or_else(|| name.strip_prefix("ARCHITECT_"));
    matches!(input, Some("COMMENT_KEY" | "API_KEY_ENV"))
}

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// Shorter values are words rather than secrets, and masking them would blot out ordinary text.
const MIN_SECRET: usize = 6;

/// Values that variables with secret-looking names hold in harmless set-ups.
const HARMLESS: [&str; 6] = ["true", "false", "none", "null", "disabled", "enabled"];

/// Strings that are secrets by their shape, whoever issued them.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"gh[pousr]_[A-Za-z0-9]{36,255}",
        r"github_pat_[A-Za-z0-9_]{60,255}",
        r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_\-]{20,64}",
        r"sk-(?:ant-|proj-|or-v1-|svcacct-)[A-Za-z0-9_\-]{20,255}",
        r"sk-[A-Za-z0-9]{32,64}\b",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"AIza[A-Za-z0-9_\-]{35}",
        r"xox[abeoprs]-[A-Za-z0-9\-]{10,255}",
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[A-Za-z0-9_\-]{50,255}",
        r"crates_io_[A-Za-z0-9]{30,}",
        r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
    ];
    let pem = r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)";
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(&format!(r"\b(?:{})|{pem}", shapes.join("|"))).expect("the shapes are valid")
});

/// Knows the secrets of this process.
#[derive(Clone, Debug)]
pub struct Masker {
    values: Option<AhoCorasick>,
    secrets: Vec<String>,
}

impl Masker {
    /// Masks the values of all variables that look secret, of those named in `also`, and `further` ones.
    pub fn from_environment(
        environment: &BTreeMap<String, String>,
        also: &[&str],
        further: &[String],
    ) -> Self {
        let secrets = environment
            .iter()
            .filter(|(name, _)| (looks_secret(name) && !is_setting(name)) || also.contains(&name.as_str()))
            .map(|(_, value)| value.as_str());
        Self::new(secrets.chain(further.iter().map(String::as_str)))
    }

    /// Masks these values.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let is_secret =
            |value: &&str| value.len() >= MIN_SECRET && !HARMLESS.contains(&value.to_lowercase().as_str());
        // A secret of several lines may be quoted line by line.
        let secrets: BTreeSet<String> = secrets
            .into_iter()
            .flat_map(|value| std::iter::once(value.trim()).chain(value.lines().map(str::trim)))
            .filter(is_secret)
            .map(str::to_owned)
            .collect();
        let patterns: BTreeSet<String> = secrets.iter().flat_map(|secret| spellings(secret)).collect();
        // The builder fails on gigabytes of patterns only.
        let values = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok();
        Self { values: values.filter(|_| !patterns.is_empty()), secrets: secrets.into_iter().collect() }
    }

    /// The secrets in plain text, for the runner's own masks.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The text without known secrets and without anything shaped like one.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_known(text) {
            Cow::Borrowed(text) => SHAPES.replace_all(text, MASK),
            Cow::Owned(text) => Cow::Owned(SHAPES.replace_all(&text, MASK).into_owned()),
        }
    }

    /// The text without known secrets, whole or split over lines.
    pub fn mask_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(values) = &self.values else { return Cow::Borrowed(text) };
        let spans = spans(values, text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut rest = 0;
        for Range { start, end } in spans {
            // Two spellings of one secret may overlap.
            if end <= rest {
                continue;
            }
            masked += &text[rest..start.max(rest)];
            if start >= rest {
                masked += MASK;
            }
            rest = end;
        }
        masked += &text[rest..];
        Cow::Owned(masked)
    }

    /// Whether a known secret is in the text, whole or split over lines.
    pub fn knows_of(&self, text: &[u8]) -> bool {
        self.values.as_ref().is_some_and(|values| {
            values.is_match(text) || !spans(values, &String::from_utf8_lossy(text)).is_empty()
        })
    }
}

/// Where lines meet, however a line's end is written, with what often leads the next one: blanks, the sign
/// of a diff, of a quote or a list.
static JOINT: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(r"[ \t]*(?:\\?\r?\n|(?:\\r)?\\n|⏎)[ \t]*(?P<sign>[+\-|>#*][ \t]*)?")
        .expect("the pattern is valid")
});

/// A shorter secret in pieces is a coincidence.
const MIN_SPLIT: usize = 8;

/// Where secrets are, in order of their beginnings.
fn spans(values: &AhoCorasick, text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = values.find_iter(text).map(|found| found.range()).collect();
    if JOINT.is_match(text) {
        // A sign at a line's beginning may be part of the secret as well.
        spans.extend(split_spans(values, text, true));
        spans.extend(split_spans(values, text, false));
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    }
    spans
}

/// Secrets in the text as it is without its line ends.
fn split_spans(values: &AhoCorasick, text: &str, signs: bool) -> Vec<Range<usize>> {
    let mut joined = String::with_capacity(text.len());
    // Where each piece begins, in the joined text and in the text.
    let mut pieces = Vec::new();
    let mut rest = 0;
    let mut push = |from: usize, to: usize, joined: &mut String| {
        pieces.push((joined.len(), from));
        joined.push_str(&text[from..to]);
    };
    for found in JOINT.captures_iter(text) {
        let Some(joint) = found.get(0) else { continue };
        push(rest, joint.start(), &mut joined);
        rest = match found.name("sign") {
            Some(sign) if !signs => sign.start(),
            _ => joint.end(),
        };
    }
    push(rest, text.len(), &mut joined);
    let place = |at: usize| {
        let piece = pieces.partition_point(|(begins, _)| *begins <= at) - 1;
        (piece, pieces[piece].1 + at - pieces[piece].0)
    };
    let split = values.find_iter(&joined).filter_map(|found| {
        let ((first, start), (last, end)) = (place(found.start()), place(found.end() - 1));
        (first < last && found.len() >= MIN_SPLIT).then_some(start..end + 1)
    });
    split.collect()
}

/// The ways in which a secret may turn up.
fn spellings(secret: &str) -> Vec<String> {
    let mut spellings = vec![secret.to_owned(), utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string()];
    // Encoders leave different characters alone; the lenient form is common in URLs.
    spellings.push(utf8_percent_encode(secret, LENIENT).to_string());
    let json = serde_json::Value::from(secret).to_string();
    spellings.push(json[1..json.len() - 1].to_owned());
    // Base64 of a longer text that holds the secret: at three alignments, without the characters
    // that also depend on what comes before and after it.
    for (lead, dropped) in [(0, 0), (1, 2), (2, 3)] {
        let bytes: Vec<u8> = std::iter::repeat_n(0, lead).chain(secret.bytes()).collect();
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let end = encoded.len() - usize::from(!bytes.len().is_multiple_of(3));
            if end > dropped + 7 {
                spellings.push(encoded[dropped..end].to_owned());
            }
        }
    }
    spellings
}

/// What `encodeURIComponent` escapes.
const LENIENT: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn every_spelling_of_a_secret_is_masked() {
        let secret = "pa\"ss/w+rd&42";
        let masker = Masker::new([secret]);
        for lead in ["", "x", "xy", "user:"] {
            let encoded = STANDARD.encode(format!("{lead}{secret} and more"));
            assert!(masker.mask(&encoded).contains(MASK), "{lead:?}: {encoded}");
        }
        for text in [
            secret.to_owned(),
            "pa%22ss%2Fw%2Brd%2642".to_owned(),
            serde_json::json!({ "key": secret }).to_string(),
            format!("before {secret} after {secret}"),
        ] {
            let masked = masker.mask(&text);
            assert!(masked.contains(MASK) && !masked.contains("rd"), "{masked}");
        }
        assert_eq!(masker.mask("nothing here"), "nothing here");
    }

    #[test]
    fn a_secret_in_pieces_is_masked() {
        let masker = Masker::new(["Zm9v+YmFy/c2VjcmV0", "short7"]);
        for (text, expected) in [
            ("a Zm9v+Ym\nFy/c2VjcmV0 b", "a *** b"),
            ("+Zm9v+YmFy\r\n+/c2VjcmV0\n+more", "+***\n+more"),
            ("Zm9v\n+YmFy/c2VjcmV0", "***"),
            ("> Zm9v+YmFy\n> /c2VjcmV0", "> ***"),
            ("Zm9v+YmFy \\\n  /c2VjcmV0", "***"),
            ("{\"a\": \"Zm9v+YmFy\\n/c2VjcmV0\"}", "{\"a\": \"***\"}"),
            ("Zm9v+YmFy ⏎ /c2VjcmV0", "***"),
            ("Z\nm\n9\nv\n+\nY\nm\nF\ny\n/\nc\n2\nV\nj\nc\nm\nV\n0", "***"),
            ("Zm9v+YmFy and /c2VjcmV0", "Zm9v+YmFy and /c2VjcmV0"),
            ("sho\nrt7", "sho\nrt7"),
            ("Zm9v+YmFy/c2VjcmV0\nZm9v+YmFy/c2VjcmV0", "***\n***"),
        ] {
            assert_eq!(masker.mask(text), expected, "{text:?}");
            assert_eq!(masker.knows_of(text.as_bytes()), text != expected, "{text:?}");
        }
    }

    #[test]
    fn token_shapes_are_masked_without_knowing_them() {
        let masker = Masker::new([]);
        for token in [
            format!("ghp_{}", "a1".repeat(18)),
            format!("sk-ant-{}", "x9".repeat(20)),
            "AKIAABCDEFGHIJKLMNOP".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        ] {
            assert_eq!(masker.mask(&format!("key: {token}.")), "key: ***.", "{token}");
        }
        for text in ["sk-learn is fine", "ghp_short", "a task-runner-for-everybody-in-the-house"] {
            assert_eq!(masker.mask(text), text);
        }
    }

    #[test]
    fn only_what_looks_secret_is_taken_from_the_environment() {
        let environment = BTreeMap::from(
            [
                ("MY_TOKEN", "hunter2hunter2"),
                ("HOME", "/home/runner"),
                ("OTHER", "also-secret"),
                ("USE_TOKEN", "true"),
                ("INPUT_COMMENT-KEY", "nightly-docs"),
                ("ARCHITECT_API_KEY_ENV", "NAME_OF_IT"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let masker = Masker::from_environment(&environment, &["OTHER"], &[]);
        let text = "hunter2hunter2 /home/runner also-secret true nightly-docs NAME_OF_IT";
        assert_eq!(masker.mask(text), "*** /home/runner *** true nightly-docs NAME_OF_IT");
    }
}
