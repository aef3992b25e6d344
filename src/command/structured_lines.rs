//! Lines that programs write for programs (JSON, `key=value` pairs, annotations of CI services, XML of test reports): in which of
//! their fields they say that something failed, and in which they say what.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};
use regex::{Regex, RegexBuilder};

/// How certain it is that a line reports a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// A line that mentions an error, as logs of successful programs do as well.
    Likely,
    /// A line in the form in which a known program reports a failure.
    Certain,
}

/// Fields and marks that report a failed test, build or step.
const FAILED: [&str; 9] = [
    r#""(?:action|event|type|status|outcome|result|conclusion|state|kind|verdict)"\s*:\s*"(?:test:)?(?:fail(?:ed|ure)?|error(?:ed)?|broken|timed?_?out|crashed|aborted|internal_?error)""#,
    r#""(?:passed|success|successful|ok|succeeded)"\s*:\s*false\b"#,
    r#""(?:error_?count|fatal_?error_?count|num_?failed\w*|failures?|failed|exit_?(?:code|status))"\s*:\s*-?[1-9]"#,
    r"(?:^|\s)(?:status|outcome|result|verdict|conclusion)=[\x22']?(?:fail(?:ed|ure)?|error(?:ed)?|timed?_?out|crashed|aborted)\b",
    r"^\W{0,3}::error\b|##\[error\]|##vso\[task\.(?:logissue type=error|complete result=failed)",
    r"##teamcity\[(?:testFailed|buildProblem|(?:message|compilation).{0,200} status='(?:ERROR|FAILURE)')",
    r"<(?:failure|error|problem)(?:\s[^>]{0,200}(?:message|type|severity)=|>)|\b(?:result|outcome|status)=\x22(?:fail(?:ed|ure)?|error)\x22",
    // Logs by one letter: glog and klog, logcat.
    r"(?-i)^[EF]\d{4} \d\d:\d\d:\d\d",
    r"(?-i)^\d\d-\d\d \d\d:\d\d:\S+ +(?:\d+ +\d+ +)?[EF][ /]|^[EF]/\w+ *(?:\( *\d+\))?: ",
];

/// Levels of logs, as services write them when all is well, too.
const LEVELS: [&str; 4] = [
    r#""@?(?:level|lvl|l|severity|severity_?text|log_?level|log\.level|level_?name)"\s*:\s*"(?:err(?:or)?|eror|fatal|crit(?:ical)?|d?panic|alert|emerg(?:ency)?|severe)""#,
    // pino and bunyan
    r#""level"\s*:\s*[56]0\b"#,
    r"(?:^|\s)@?(?:level|lvl|l|severity|log_?level)=[\x22']?(?:err(?:or)?|eror|fatal|crit(?:ical)?|d?panic|alert|emerg(?:ency)?|severe)\b",
    r"<(?:err|error|crit|critical|alert|emerg|fatal)>",
];

/// Fields whose text is a line or several for people, in the order in which one is preferred.
const TEXTS: [&str; 2] = [
    r#""(?:rendered|output|stdout|stderr)"\s*:\s*"((?:[^"\\]|\\.){2,})""#,
    r#""@?(?:message|msg|text|log|err|error|exception|detail|details|failure_?message|description|title)"\s*:\s*"((?:[^"\\]|\\.)+)""#,
];

/// Longest part of a line that is looked at, in bytes: objects have what matters anywhere.
const MAX_LOOKED_AT: usize = 16 << 10;

struct Fields {
    failed: RegexSet,
    levels: RegexSet,
    texts: Vec<Regex>,
}

static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let set = |patterns: &[&str]| {
        let set = RegexSetBuilder::new(patterns).case_insensitive(true).unicode(false).build();
        set.unwrap_or_else(|_| RegexSet::empty())
    };
    let text = |pattern: &&str| RegexBuilder::new(pattern).case_insensitive(true).build().ok();
    Fields { failed: set(&FAILED), levels: set(&LEVELS), texts: TEXTS.iter().filter_map(text).collect() }
});

fn looked_at(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LOOKED_AT)]
}

/// Returns whether a line may have fields, which saves the search in all others.
fn may_have_fields(line: &str) -> bool {
    line.bytes().take(MAX_LOOKED_AT).any(|byte| matches!(byte, b'"' | b'=' | b'<' | b'#'))
        || line.contains("::")
        || line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'E' | 'F'))
}

/// Returns how certainly the fields of a line report a failure, or `None` if none of them does.
pub(super) fn certainty(line: &str) -> Option<Certainty> {
    if !may_have_fields(line) {
        return None;
    }
    let line = looked_at(line).as_bytes();
    if FIELDS.failed.is_match(line) {
        return Some(Certainty::Certain);
    }
    FIELDS.levels.is_match(line).then_some(Certainty::Likely)
}

/// Returns the text for people in a line that is an object, and where it begins.
pub(super) fn text(line: &str) -> Option<(usize, Cow<'_, str>)> {
    if !line.trim_start().starts_with('{') {
        return None;
    }
    let line = looked_at(line);
    let found = FIELDS.texts.iter().find_map(|field| field.captures(line))?.get(1)?;
    let quoted = format!("\"{}\"", found.as_str());
    let text = serde_json::from_slice(quoted.as_bytes()).map_or(Cow::Borrowed(found.as_str()), Cow::Owned);
    Some((found.start(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!((FIELDS.failed.len(), FIELDS.levels.len()), (FAILED.len(), LEVELS.len()));
        assert_eq!(FIELDS.texts.len(), TEXTS.len());
    }

    #[test]
    fn failures_are_found_in_fields() {
        use Certainty::{Certain, Likely};
        for (line, expected) in [
            (r#"{"level":"error","msg":"total mismatch"}"#, Some(Likely)),
            (r#"{"level":50,"time":1700,"msg":"cart"}"#, Some(Likely)),
            (r#"{"level":30,"time":1700,"msg":"cart"}"#, None),
            (r#"{"timestamp":"1","level":"ERROR","fields":{"message":"x"},"target":"a"}"#, Some(Likely)),
            (r#"{"Action":"fail","Package":"shop/cart","Test":"TestTotal"}"#, Some(Certain)),
            (r#"{"Action":"pass","Package":"shop/fail","Test":"TestTotal"}"#, None),
            (r#"{"type":"test","event":"failed","name":"cart::total"}"#, Some(Certain)),
            (r#"{"type":"test:fail","data":{"name":"totals"}}"#, Some(Certain)),
            (r#"{"filePath":"/w/cart.js","messages":[],"errorCount":0}"#, None),
            (r#"{"filePath":"/w/cart.js","messages":[],"errorCount":2}"#, Some(Certain)),
            (r#"          "level": "error","#, Some(Likely)),
            (r#"      "kind": "fail","#, Some(Certain)),
            (r#"level=error ts=3000 msg="total mismatch""#, Some(Likely)),
            (r#"level=info ts=3000 msg="level=1""#, None),
            (r#"time=12 level=FATAL msg="total mismatch""#, Some(Likely)),
            ("::error file=cart.py,line=31::total mismatch", Some(Certain)),
            ("::debug::cart", None),
            ("2026-01-01T00:00:00.0Z ##[error]Process completed with exit code 1.", Some(Certain)),
            ("##teamcity[testFailed name='cart.total' message='3 != 4']", Some(Certain)),
            ("##teamcity[testFinished name='cart.total' duration='3']", None),
            (r#"<testcase name="total"><failure message="3 != 4"/></testcase>"#, Some(Certain)),
            (r#"<testcase name="failure" time="0.1"/>"#, None),
            ("E1126 12:00:12.1    9 cart.go:31] total mismatch", Some(Certain)),
            ("E1126 cart", None),
            ("11-26 12:00:12.123  9  9 E Cart: total mismatch", Some(Certain)),
        ] {
            assert_eq!(certainty(line), expected, "{line}");
        }
    }

    #[test]
    fn the_text_of_an_object_is_that_for_people() {
        for (line, expected) in [
            (
                r#"{"reason":"compiler-message","message":{"rendered":"error: x\n","message":"y"}}"#,
                Some("error: x\n"),
            ),
            (
                r#"{"Action":"output","Output":"    cart_test.go:12: want 4\n"}"#,
                Some("    cart_test.go:12: want 4\n"),
            ),
            (r#"{"msg":"a \"b\""}"#, Some("a \"b\"")),
            (r#"{"n":1}"#, None),
            ("msg", None),
        ] {
            assert_eq!(text(line).map(|(_, text)| text.into_owned()).as_deref(), expected, "{line}");
        }
    }
}
