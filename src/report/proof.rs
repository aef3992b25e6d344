//! Renders what tests say about a change, as lines and as JUnit cases.

use junit_report::{Duration, ReportBuilder, TestCase, TestCaseBuilder};
use sanitize::untrusted::{code, visible_line};

use super::RunReport;
use super::junit_xml::{JunitError, clean, milliseconds, suite_since, write};
use super::mutation::mutation_line;
use super::size_budget::Section;
use crate::event::{MutationRecord, MutationVerdict, ProofRecord, ProofVerdict, TestProof};

/// Most cases of a test that are listed.
const MAX_CASES: usize = 20;

/// Renders a proof as lines of text, the summary last.
pub fn proof_text(record: &ProofRecord) -> String {
    let line = |test: &TestProof| {
        let sign = match test.verdict {
            ProofVerdict::Proves => '✓',
            ProofVerdict::NotRun => '!',
            _ => '✗',
        };
        let reason =
            test.reason.as_ref().map_or(String::new(), |reason| format!(": {}", visible_line(reason)));
        format!(
            "{sign} {}:{} `{}` {}{reason}\n",
            visible_line(&test.path),
            test.line,
            visible_line(&test.name),
            test.told()
        ) + &cases(test)
    };
    let lines: String = record.tests.iter().map(line).collect();
    let time = if record.tests.is_empty() {
        String::new()
    } else {
        let seconds = |ms: u64| format!("{}.{} s", ms / 1000, ms % 1000 / 100);
        format!(" ({} on the old code, {} on the new)", seconds(record.old_ms), seconds(record.new_ms))
    };
    format!("{lines}{}{time}\n", record.summary())
}

/// Renders the cases of a test that do not prove the change, where others do, each in a line.
fn cases(test: &TestProof) -> String {
    let others = test.cases.iter().filter(|case| case.verdict != test.verdict);
    let lines: Vec<String> =
        others.map(|case| format!("    [{}] {}\n", visible_line(&case.name), case.verdict)).collect();
    match lines.len().checked_sub(MAX_CASES) {
        None | Some(0) => lines.concat(),
        Some(more) => format!("{}    and {more} more\n", lines[..MAX_CASES].concat()),
    }
}

/// Renders a proof as JUnit XML.
pub fn proof_junit(record: &ProofRecord) -> Result<String, JunitError> {
    let suite = suite_since("proof of tests", proof_cases(record), None);
    write(&ReportBuilder::new().add_testsuite(suite).build())
}

/// Returns a test case for each test: one that does not prove the change has failed. Where changed code has no test, a skipped
/// case says so.
pub(super) fn proof_cases(record: &ProofRecord) -> Vec<TestCase> {
    let cases = record.tests.iter().enumerate().map(|(at, test)| {
        let name = clean(&test.name);
        let reason = clean(test.reason.as_deref().unwrap_or(""));
        let verdict = test.told();
        let time = if at == 0 { milliseconds(record.old_ms + record.new_ms) } else { Duration::ZERO };
        let mut case = match test.verdict {
            ProofVerdict::Proves => TestCaseBuilder::success(&name, time),
            ProofVerdict::NotRun => TestCaseBuilder::error(&name, time, &verdict, &reason),
            _ => TestCaseBuilder::failure(&name, time, &verdict, &reason),
        };
        case.set_classname(&clean(&format!("proof.{}", test.path)));
        case.set_system_out(&clean(&format!(
            "{}:{} {verdict}\n{reason}\n{}",
            test.path,
            test.line,
            cases(test)
        )))
        .build()
    });
    let untested = record.untested.then(|| {
        let mut case = TestCaseBuilder::skipped("tests of the change");
        case.set_classname("proof").set_system_out(&record.summary()).build()
    });
    cases.chain(untested).collect()
}

/// Returns what tests say about the change, each in a few words.
pub(super) fn told(report: &RunReport) -> impl Iterator<Item = String> {
    let proof = report.proof.as_ref().map(|record| {
        // No test shows nothing, and has nothing to show where no code has changed.
        let icon = match record.tests.len() {
            0 if !record.untested => "",
            _ if record.is_complete() => "✅ ",
            _ => "⚠️ ",
        };
        format!("{icon}{}", record.summary())
    });
    proof.into_iter().chain(report.mutations.as_ref().map(MutationRecord::summary))
}

/// Renders what tests say about the change, in one line.
pub(super) fn line(report: &RunReport) -> Section {
    let told: Vec<String> = told(report).collect();
    if told.is_empty() {
        return Section::fixed(String::new());
    }
    Section::fixed(format!("{}\n\n", told.join(" · ")))
}

/// Renders each test that does not prove the change, and each fault that nobody noticed.
pub(super) fn section(report: &RunReport) -> Section {
    let tests = report.proof.iter().flat_map(|record| &record.tests);
    let unproven: Vec<String> = tests
        .filter(|test| test.verdict != ProofVerdict::Proves)
        .map(|test| {
            let reason = test.reason.as_ref().map_or(String::new(), |reason| format!(": {}", code(reason)));
            format!(
                "- {} {} {}{reason}\n",
                code(&format!("{}:{}", test.path, test.line)),
                code(&test.name),
                test.verdict
            )
        })
        .collect();
    let faults = report.mutations.iter().flat_map(|record| record.of(MutationVerdict::Unnoticed));
    let faults: Vec<String> = faults.map(|fault| format!("- {}\n", code(&mutation_line(fault)))).collect();
    let mut text = String::new();
    for (title, lines) in
        [("Tests that do not prove the change", unproven), ("Faults that no test notices", faults)]
    {
        if !lines.is_empty() {
            text += &format!("#### {title}: {}\n\n{}\n", lines.len(), lines.concat());
        }
    }
    if text.is_empty() {
        Section::fixed(text)
    } else {
        Section::new(6, text, "Tests and faults are listed in `report.md`.\n\n")
    }
}
