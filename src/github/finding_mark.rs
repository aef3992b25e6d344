//! The hidden line that goes with a finding on GitHub. Later reviews recognize the finding by it, whatever people have made of the text.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sanitize::untrusted::code;

use crate::base::integrity::short_digest;
use crate::event::{Finding, Severity};

/// The beginning of the line.
pub(super) const MARKER: &str = "<!-- architect-ci finding: ";

/// What ends an HTML comment, or separates the fields, is encoded in paths.
const IN_MARK: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_');

/// Highest number of a line.
const MAX_LINE: u32 = i32::MAX as u32;

/// Stands for a path, or for a hash, where there is none.
const NONE: &str = "-";

/// What a finding is recognized by, and where it was when it was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingMark {
    /// The path of its file from the repository's root; `None` if it is about no file of the checkout.
    pub path: Option<String>,
    /// Its line, from 1.
    pub line: u32,
    /// The commit in which its line is there; `None` if nobody can say.
    pub commit: Option<String>,
    /// Its severity.
    pub severity: Severity,
    /// Hash of the text of the line, without blanks; `None` if the line has no text.
    pub(super) text: Option<String>,
    /// Hash of the words of its message.
    pub(super) words: String,
}

impl FindingMark {
    /// Makes the mark of a finding on the file at `path`, which leads from the root of the repository.
    pub fn of(path: Option<&str>, finding: &Finding) -> Self {
        Self {
            path: path.map(str::to_owned),
            line: finding.line,
            commit: None,
            severity: finding.severity,
            text: Self::text_of(&finding.place),
            words: short_digest(&words(&finding.message)),
        }
    }

    /// Returns whether another finding says the same in the same place, however severe it is.
    pub fn repeats(&self, other: &Self) -> bool {
        (&self.path, self.line, &self.text, &self.words)
            == (&other.path, other.line, &other.text, &other.words)
    }

    /// Returns the hash of a line as [`Finding::place_of`] gives it; `None` if nothing stands on it.
    pub(super) fn text_of(place: &str) -> Option<String> {
        let text: String = place.chars().filter(|sign| !sign.is_whitespace()).collect();
        (!text.is_empty()).then(|| short_digest(&text))
    }

    /// Renders the line of a finding of jobs with this key.
    pub(super) fn render(&self, key: &str) -> String {
        format!("{MARKER}{key} {self} -->")
    }

    /// Returns what stands before the message of the finding.
    pub(super) fn heading(&self) -> String {
        format!("**{}**: ", self.severity)
    }

    /// Returns what stands before the message where the finding is listed, with its place.
    pub(super) fn listed_heading(&self) -> String {
        let place = self.path.as_ref().map(|path| format!("{}: ", code(&format!("{path}:{}", self.line))));
        format!("{}{}", place.unwrap_or_default(), self.heading())
    }

    /// Parses a line of a finding of jobs with this key.
    pub(super) fn parse(line: &str, key: &str) -> Option<Self> {
        let fields = line.strip_prefix(MARKER)?.strip_prefix(key)?.strip_prefix(' ')?.strip_suffix(" -->")?;
        let [severity, line, commit, text, words, path] =
            fields.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let given = |field: &str| (field != NONE).then(|| field.to_owned());
        let decode = |path: String| Some(percent_decode_str(&path).decode_utf8().ok()?.into_owned());
        Some(Self {
            path: match given(path) {
                Some(path) => Some(decode(path)?),
                None => None,
            },
            // People can edit it.
            line: line.parse::<u32>().ok()?.clamp(1, MAX_LINE),
            commit: given(commit).filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())),
            severity: Severity::ALL.into_iter().find(|one| one.to_string() == severity)?,
            text: given(text),
            words: words.to_owned(),
        })
    }
}

impl fmt::Display for FindingMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, commit, severity, text, words } = self;
        let commit = commit.as_deref().unwrap_or(NONE);
        let path = path.as_deref().map(|path| utf8_percent_encode(path, &IN_MARK).to_string());
        let text = text.as_deref().unwrap_or(NONE);
        write!(f, "{severity} {line} {commit} {text} {words} {}", path.as_deref().unwrap_or(NONE))
    }
}

/// Returns what a message says: its words in lower case, without the signs of prose around them; in backticks, every sign counts.
fn words(message: &str) -> String {
    let is_prose = |sign: char| ".,;:!?'\"*_()".contains(sign);
    let mut words: Vec<String> = Vec::new();
    for (index, part) in message.split('`').enumerate() {
        let own = part.split_whitespace();
        match index % 2 {
            0 => words.extend(own.map(|word| word.trim_matches(is_prose).to_lowercase())),
            _ => words.extend(own.map(str::to_owned)),
        }
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finding(message: &str) -> Finding {
        Finding {
            file: None,
            line: 7,
            severity: Severity::Error,
            message: message.to_owned(),
            place: "  return run(x)".to_owned(),
            confidence: None,
        }
    }

    #[test]
    fn message_is_the_same_in_other_prose_but_not_in_other_code() {
        let is_same = |one: &str, other: &str| words(one) == words(other);
        assert!(is_same("x is run unchecked.", "**x**  is `run`\nunchecked!"));
        assert!(!is_same("use `a < b`", "use `a > b`"));
        assert!(!is_same("test `ok` and `p`", "test `!ok` and `*p`"));
        assert!(!is_same("call `f`", "call `f()`") && !is_same("use `Map`", "use `map`"));
        assert!(!is_same("x is run", "x is not run"));
    }

    #[test]
    fn finding_is_repeated_in_one_place_alone() {
        let of = |path: &str, message: &str| FindingMark::of(Some(path), &finding(message));
        let bad = of("a.rs", "Bad, `x`.");
        assert!(of("a.rs", "**Bad**, `x`").repeats(&bad));
        assert!(!of("b.rs", "Bad, `x`.").repeats(&bad) && !of("a.rs", "Bad, `y`.").repeats(&bad));
        assert!(!FindingMark { line: 8, ..bad.clone() }.repeats(&bad));
    }

    #[test]
    fn mark_of_another_form_or_key_is_none() {
        let mut mark = FindingMark::of(Some("a b.rs"), &finding("Bad."));
        mark.commit = Some("ab".repeat(20));
        let line = mark.render("key");
        assert_eq!(FindingMark::parse(&line, "key"), Some(mark));
        for (line, key) in [
            (line.clone(), "other"),
            (line.replace("key", "key more"), "key"),
            (line.replace("error", "fatal"), "key"),
            (line.replace(" 7 ", " x "), "key"),
            (line.replace("%20", "%ff"), "key"),
            (line.replace(" -->", ""), "key"),
        ] {
            assert_eq!(FindingMark::parse(&line, key), None, "{line}");
        }
    }

    #[test]
    fn edited_mark_is_read_within_bounds() {
        for (line, commit) in [("0", "--help"), ("4294967295", "HEAD")] {
            let text = format!("{MARKER}k error {line} {commit} - 0123 a.rs -->");
            let mark = FindingMark::parse(&text, "k").expect("a mark");
            assert!((1..=MAX_LINE).contains(&mark.line) && mark.commit.is_none(), "{mark}");
        }
    }

    proptest! {
        #[test]
        fn mark_is_read_as_it_was_written(path in proptest::option::of("\\PC{1,30}"), message in "\\PC{0,30}", place in "\\PC{0,9}") {
            let mark = FindingMark::of(path.as_deref(), &Finding { place, ..finding(&message) });
            let line = mark.render("a key");
            prop_assert_eq!(line.matches("-->").count(), 1);
            prop_assert_eq!(FindingMark::parse(&line, "a key"), Some(mark));
        }
    }
}
