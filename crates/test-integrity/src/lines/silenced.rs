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
            let same = |text: Option<&str>| pattern.find_iter(text.unwrap_or_default()).count();
            let known: usize = of_tests()
                .filter(|other| Language::of(other.path) == Some(*of))
                .map(|other| same(other.before))
                .sum();
            let Some(found) =
                pattern.find_iter(after).nth(same(change.before)).filter(|_| same(Some(after)) > known)
            else {
                continue;
            };
            let line = after[..found.start()].matches('\n').count() + 1;
            let message = format!("{meaning}: `{}`", short(found.as_str()));
            findings.push(Finding::new(change.path, line, Kind::LooserRule, message));
        }
    }
    findings.retain(|finding| !reported.covers(&finding.path, finding.line));
    findings
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
