//! JUnit XML of a run, written by junit-report.

use junit_report::{Duration, ReportBuilder, TestCase, TestCaseBuilder, TestSuite};
use workspace::Operation;

use super::junit_xml::{JunitError, clean, milliseconds, moment, suite_since, write};
use super::listed::MAX_LISTED;
use super::proof::proof_cases;
use super::{RunReport, gates, test_findings};
use crate::event::{
    Finding, HookDecision, JunitResult, NoticeLevel, Outcome, ReviewRecord, RunMode, Severity,
};

/// Renders the report. Fails only if the XML library does.
pub fn junit(report: &RunReport) -> Result<String, JunitError> {
    let mut builder = ReportBuilder::new();
    let changes = if report.mode == RunMode::DryRun { "plan" } else { "changes" };
    for (name, cases) in [
        ("quality gates", gates::cases(report)),
        ("hooks", hooks(report)),
        ("guardrails", guardrails(report)),
        (changes, files(report)),
        ("agent", agent(report)),
    ] {
        builder.add_testsuite(suite(name, cases, report));
    }
    let tests = gates::tests(report);
    if !tests.is_empty() {
        builder.add_testsuite(suite("tests against the base", tests, report));
    }
    if let Some(review) = &report.review {
        builder.add_testsuite(suite("review", findings(review, report.stop_reason.clause().junit), report));
    }
    let findings_of_tests = test_findings::cases(report);
    if !findings_of_tests.is_empty() {
        builder.add_testsuite(suite("test integrity", findings_of_tests, report));
    }
    if let Some(record) = &report.proof {
        builder.add_testsuite(suite("proof of tests", proof_cases(record), report));
    }
    write(&builder.build())
}

fn suite(name: &str, cases: Vec<TestCase>, report: &RunReport) -> TestSuite {
    suite_since(name, cases, moment(&report.started_at))
}

fn hooks(report: &RunReport) -> Vec<TestCase> {
    let case = |hook: &crate::event::HookRecord| {
        let name = clean(&format!("{} · {} · step {}", hook.name, hook.tool, hook.step));
        let time = milliseconds(hook.duration_ms);
        let mut case = match hook.decision {
            HookDecision::Allow | HookDecision::Modify => TestCaseBuilder::success(&name, time),
            HookDecision::Block => {
                TestCaseBuilder::skipped_with_cause(&name, "blocked", &clean(&hook.output))
            }
            HookDecision::Failed => {
                TestCaseBuilder::error(&name, time, "hook", &clean(&format!("exit code {}", hook.exit_code)))
            }
        };
        case.set_classname(&clean(&format!("hooks.{}", hook.event))).set_system_out(&clean(&hook.output));
        case.build()
    };
    report.hooks.iter().map(case).collect()
}

/// Returns a test case for each finding, or one that passes if there are none, so that a code review is
/// seen to have taken place. A case fails only if `run`, the result of the run itself, does.
fn findings(review: &ReviewRecord, run: JunitResult) -> Vec<TestCase> {
    if review.findings.is_empty() {
        let name = if review.standing.as_ref().is_none_or(Vec::is_empty) {
            "no findings"
        } else {
            "no new findings"
        };
        return vec![TestCaseBuilder::success(name, Duration::ZERO).set_classname("review").build()];
    }
    let case = |finding: &Finding| {
        let place = finding.file.as_ref().map_or(String::new(), |file| format!("{file}:{}", finding.line));
        let name = clean(&format!("{} {place}", finding.severity));
        let message = clean(&finding.message);
        let mut case = match finding.severity {
            Severity::Error if run == JunitResult::Failed => {
                TestCaseBuilder::failure(name.trim(), Duration::ZERO, "review", &message)
            }
            Severity::Error | Severity::Warning | Severity::Note => {
                TestCaseBuilder::skipped_with_cause(name.trim(), "review", &message)
            }
        };
        case.set_classname("review").build()
    };
    review.findings.iter().map(case).collect()
}

fn guardrails(report: &RunReport) -> Vec<TestCase> {
    let case = |block: &crate::event::Block| {
        let name = clean(&format!("{} · step {}", block.tool, block.step));
        let mut case = TestCaseBuilder::skipped_with_cause(&name, "blocked", &clean(&block.reason));
        if let Some(command) = &block.command {
            case.set_system_out(&clean(&format!("$ {command}")));
        }
        case.set_classname("guardrails").build()
    };
    report.guardrails.iter().map(case).collect()
}

fn files(report: &RunReport) -> Vec<TestCase> {
    let case = |file: &super::FileSummary| {
        let verb = match file.op {
            Operation::Add => "add",
            Operation::Modify => "modify",
            Operation::Delete => "delete",
        };
        let name = clean(&format!("{verb} {} ({})", file.path, file.lines));
        let mut case = TestCaseBuilder::success(&name, Duration::ZERO);
        // No `file` attribute: Jenkins' schema does not know it.
        case.set_classname("changes").set_system_out(&clean(&file.diff)).build()
    };
    report.files.iter().take(MAX_LISTED).map(case).collect()
}

/// Returns test cases for the run itself, for each tool call that failed, and for each error.
fn agent(report: &RunReport) -> Vec<TestCase> {
    let time = milliseconds(report.duration_ms);
    let (clause, status) = (report.stop_reason.clause(), report.status.to_string());
    let reason = match clause.next_step {
        "" => clause.sentence.to_owned(),
        next => format!("{}; next: {next}", clause.sentence),
    };
    let mut run = match clause.junit {
        JunitResult::Passed => TestCaseBuilder::success("run", time),
        JunitResult::Skipped => TestCaseBuilder::skipped_with_cause("run", &status, &reason),
        JunitResult::Failed => TestCaseBuilder::failure("run", time, &status, &reason),
    };
    run.set_classname("agent").set_system_out(&clean(&report.message));
    // A command that ended with an exit code other than 0 has reported something; it did not fail to run.
    let failed = report
        .calls
        .iter()
        .filter(|call| !call.success && call.outcome != Outcome::Refused && call.exit_code.is_none());
    let calls = failed.map(|call| {
        let name = clean(&format!("{} · step {}", call.tool, call.step));
        let message = clean(call.error.as_deref().unwrap_or("failed"));
        let time = milliseconds(call.duration_ms);
        TestCaseBuilder::error(&name, time, "tool error", &message).set_classname("agent.tools").build()
    });
    let errors = report.notices.iter().filter(|notice| notice.level == NoticeLevel::Error).map(|notice| {
        let mut case = TestCaseBuilder::error("error", Duration::ZERO, "error", &clean(&notice.message));
        case.set_classname("agent.errors").build()
    });
    std::iter::once(run.build()).chain(calls).chain(errors).collect()
}
