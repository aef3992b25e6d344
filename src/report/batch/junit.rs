//! The report of a batch as JUnit XML, with a test case for each task.

use junit_report::{ReportBuilder, TestCase, TestCaseBuilder};

use super::{BatchReport, TaskEnd, TaskReport};
use crate::report::junit_xml::{JunitError, clean, milliseconds, moment, suite_since};
use crate::report::task_line;

/// Renders the report. Fails only if the XML library does.
pub fn batch_junit(report: &BatchReport) -> Result<String, JunitError> {
    let cases = report.tasks.iter().map(|task| case(task, &report.batch)).collect::<Vec<_>>();
    let mut builder = ReportBuilder::new();
    builder.add_testsuite(suite_since(&clean(&report.batch), cases, moment(&report.started_at)));
    crate::report::junit_xml::write(&builder.build())
}

fn case(task: &TaskReport, batch: &str) -> TestCase {
    let (name, time, told) = (clean(&task.id), milliseconds(task.duration_ms), clean(&task_line(task)));
    let mut case = match task.end {
        TaskEnd::Success => TestCaseBuilder::success(&name, time),
        TaskEnd::Failed => TestCaseBuilder::failure(&name, time, "task", &told),
        TaskEnd::Lost => TestCaseBuilder::error(&name, time, "lost", &told),
        TaskEnd::Partial => TestCaseBuilder::failure(&name, time, "partial", &told),
        TaskEnd::NotRun => TestCaseBuilder::skipped_with_cause(&name, "not run", &told),
        TaskEnd::Settled => TestCaseBuilder::skipped_with_cause(&name, "settled", &told),
    };
    let mut out = format!("{}\n", task.task);
    for file in &task.files {
        out += &format!("{} ({})\n", file.path, file.lines);
    }
    for notice in &task.notices {
        out += &format!("{}\n", notice.message);
    }
    case.set_classname(&clean(batch)).set_system_out(&clean(&out)).build()
}
