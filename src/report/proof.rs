//! What tests say about a change, as lines and as JUnit cases.

use junit_report::{Duration, ReportBuilder, TestCase, TestCaseBuilder, TestSuiteBuilder};
use sanitize::untrusted::visible;

use super::junit::{JunitError, clean, milliseconds, write};
use crate::event::{ProofRecord, ProofVerdict};

/// Renders a proof as lines of text, the summary last.
pub fn proof_text(record: &ProofRecord) -> String {
    let line = |test: &crate::event::TestProof| {
        let sign = match test.verdict {
            ProofVerdict::Proves => '✓',
            ProofVerdict::NotRun => '!',
            _ => '✗',
        };
        let reason = test.reason.as_ref().map_or(String::new(), |reason| format!(": {}", visible(reason)));
        format!(
            "{sign} {}:{} `{}` {}{reason}\n",
            visible(&test.path),
            test.line,
            visible(&test.name),
            test.verdict
        )
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

/// Renders a proof as JUnit XML.
pub fn proof_junit(record: &ProofRecord) -> Result<String, JunitError> {
    let mut suite = TestSuiteBuilder::new("proof of tests");
    let suite = suite.add_testcases(proof_cases(record)).build();
    write(&ReportBuilder::new().add_testsuite(suite).build())
}

/// Returns a test case for each test: one that does not prove the change has failed.
pub(super) fn proof_cases(record: &ProofRecord) -> Vec<TestCase> {
    let cases = record.tests.iter().enumerate().map(|(at, test)| {
        let name = clean(&test.name);
        let reason = clean(test.reason.as_deref().unwrap_or(""));
        let verdict = test.verdict.to_string();
        let time = if at == 0 { milliseconds(record.old_ms + record.new_ms) } else { Duration::ZERO };
        let mut case = match test.verdict {
            ProofVerdict::Proves => TestCaseBuilder::success(&name, time),
            ProofVerdict::NotRun => TestCaseBuilder::error(&name, time, &verdict, &reason),
            _ => TestCaseBuilder::failure(&name, time, &verdict, &reason),
        };
        case.set_classname(&clean(&format!("proof.{}", test.path)));
        case.set_system_out(&clean(&format!("{}:{} {verdict}\n{reason}", test.path, test.line))).build()
    });
    cases.collect()
}
