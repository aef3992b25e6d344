//! Test integrity in reports: what a change does to the meaning of tests.

use std::fmt::Write;

use junit_report::{Duration, TestCase, TestCaseBuilder};
use sanitize::untrusted::{code, markdown_line};

use super::RunReport;
use super::figures::plural;
use super::junit_xml::clean;
use super::size_budget::Section;
use crate::event::{Severity, StopReason, TestFinding};

/// Returns the findings that people have to see: all but notes.
pub(super) fn weakened(findings: &[TestFinding]) -> impl Iterator<Item = &TestFinding> {
    findings.iter().filter(|finding| finding.severity != Severity::Note)
}

/// Returns the title of the findings, and how many there are: of notes only if there is nothing else.
pub(super) fn title(findings: &[TestFinding]) -> (&'static str, String) {
    match weakened(findings).count() {
        0 => ("Tests and checks", plural(findings.len(), "note", "notes")),
        count => ("Weakened tests and checks", plural(count, "finding", "findings")),
    }
}

/// Renders the findings as Markdown.
pub(super) fn section(report: &RunReport) -> Section {
    let findings = &report.test_findings;
    if findings.is_empty() {
        return Section::fixed(String::new());
    }
    let (title, count) = title(findings);
    let title = format!("#### {title}: {count}\n\n");
    let mut text = title.clone();
    for TestFinding { path, line, kind, severity, message } in findings {
        let icon = match severity {
            Severity::Error => "❌",
            Severity::Warning => "⚠️",
            Severity::Note => "💡",
        };
        let message = markdown_line(message);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {icon} {} ({}): {message}", code(&format!("{path}:{line}")), code(kind));
    }
    text.push('\n');
    Section::new(7, text, format!("{title}(in `report.md`)\n\n"))
}

/// Returns a test case for each finding but notes: those of severity `error` fail, if the run failed for them.
pub(super) fn cases(report: &RunReport) -> Vec<TestCase> {
    let is_refused = report.stop_reason == StopReason::TestsWeakened;
    let case = |finding: &TestFinding| {
        let name = clean(&format!("{} {}:{}", finding.kind, finding.path, finding.line));
        let message = clean(&finding.message);
        let mut case = match finding.severity {
            Severity::Error if is_refused => {
                TestCaseBuilder::failure(&name, Duration::ZERO, "test integrity", &message)
            }
            _ => TestCaseBuilder::skipped_with_cause(&name, "test integrity", &message),
        };
        case.set_classname("tests").build()
    };
    weakened(&report.test_findings).map(case).collect()
}
