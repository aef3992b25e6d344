//! Failures that the files of tests silence for all tests: handlers of errors that do nothing, and messages that nobody hears.

use std::sync::LazyLock;

use regex::Regex;

use super::reported::Reported;
use crate::Change;
use crate::files::{Language, Role, file_name, is_support};
use crate::finding::{Finding, Kind, short};

/// Function that does nothing about what it is given.
const NOTHING: &str = r"(?:\([^()]*\)|\w+|function\s*\w*\s*\([^()]*\))\s*(?:=>|->)?\s*(?:false|true|null|undefined|\{\s*\}|\{\s*return(?:\s+(?:false|true|null))?;?\s*\})";
/// Name of an event that says that something failed.
const FAILURE: &str = r#"["'`][\w:.-]*(?:error|exception|reject|uncaught|unhandled|warning)[\w:.-]*["'`]"#;

/// Silences by language, whether they count only in files that are read before all tests, and what they mean.
static SILENCES: LazyLock<Vec<(Language, Regex, bool, &'static str)>> = LazyLock::new(|| {
    let table: [(Language, String, bool, &'static str); 6] = [
        (
            Language::EcmaScript,
            format!(r"(?i)\.(?:on|once|addEventListener|addListener)\(\s*{FAILURE}\s*,\s*{NOTHING}"),
            false,
            "failures outside of tests are dropped",
        ),
        (
            Language::EcmaScript,
            format!(r"\bwindow\.on(?:error|unhandledrejection)\s*=\s*{NOTHING}"),
            false,
            "failures outside of tests are dropped",
        ),
        (
            Language::EcmaScript,
            r#"spyOn\(\s*console\s*,\s*["'](?:error|warn)["']\s*\)\.(?:mockImplementation|mockReturnValue|returns|callsFake)\("#.to_owned(),
            true,
            "messages of errors are dropped",
        ),
        (
            Language::EcmaScript,
            format!(r"\bconsole\.(?:error|warn)\s*=\s*{NOTHING}"),
            true,
            "messages of errors are dropped",
        ),
        (
            Language::Python,
            r#"\bwarnings\.(?:simplefilter|filterwarnings)\(\s*["']ignore["']\s*\)"#.to_owned(),
            true,
            "warnings are dropped",
        ),
        (
            Language::Java,
            format!(r"\bsetDefaultUncaughtExceptionHandler\(\s*{NOTHING}"),
            false,
            "failures outside of tests are dropped",
        ),
    ];
    let silence = |(language, pattern, of_all, meaning): (Language, String, bool, &'static str)| {
        Some((language, Regex::new(&pattern).ok()?, of_all, meaning))
    };
    table.into_iter().filter_map(silence).collect()
});

/// Returns what the files of tests newly silence. Lines that something else was `reported` of are left out.
pub(crate) fn compare(changes: &[Change<'_>], reported: &Reported<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of_tests = || changes.iter().filter(|change| Role::of(change.path) == Role::Test);
    for change in of_tests() {
        let (Some(language), Some(after)) = (Language::of(change.path), change.after) else { continue };
        for (of, pattern, of_all, meaning) in SILENCES.iter().filter(|(of, ..)| *of == language) {
            if *of_all && !is_read_before_all(change.path) {
                continue;
            }
            let found_in = |text: &'_ str| -> Vec<(usize, String)> {
                let all = pattern
                    .find_iter(text)
                    .filter(|found| !is_of_one_object(text, found.start(), found.as_str()));
                all.map(|found| (found.start(), found.as_str().to_owned())).collect()
            };
            let same = |text: Option<&str>| found_in(text.unwrap_or_default()).len();
            let known: usize = of_tests()
                .filter(|other| Language::of(other.path) == Some(*of))
                .map(|other| same(other.before))
                .sum();
            let all = found_in(after);
            let new = all.get(same(change.before)).filter(|_| all.len() > known);
            let Some((start, found)) = new else { continue };
            let line = after[..*start].matches('\n').count() + 1;
            let message = format!("{meaning}: `{}`", short(found));
            findings.push(Finding::new(change.path, line, Kind::LooserRule, message));
        }
    }
    findings.retain(|finding| !reported.covers(&finding.path, finding.line));
    findings
}

/// Returns whether a listener is one of the errors of a single object, such as a stream that a test breaks: nothing of the test fails where
/// nobody hears them.
fn is_of_one_object(text: &str, start: usize, listener: &str) -> bool {
    const OF_ALL: &[&str] = &[
        "process",
        "window",
        "global",
        "globalThis",
        "self",
        "document",
        "page",
        "browser",
        "context",
        "driver",
        "cy",
        "Cypress",
    ];
    let is_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '$');
    let before = text[..start].trim_end();
    let receiver = before.rsplit(|sign: char| !is_name(sign)).next().unwrap_or_default();
    let event = listener.split(['"', '\'', '`']).nth(1);
    event == Some("error") && !OF_ALL.contains(&receiver)
}

/// Returns whether a runner reads a file before all tests, or many.
fn is_read_before_all(path: &str) -> bool {
    is_support(path) || file_name(path) == "conftest.py"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!(SILENCES.len(), 6);
    }
}
