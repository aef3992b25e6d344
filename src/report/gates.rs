//! Quality gates in reports: what each comes to, and which of its tests are not as they were before the run.

use std::fmt::Write;

use junit_report::{Duration, TestCase, TestCaseBuilder};
use sanitize::untrusted::{code, fence, markdown_line, plain};

use super::RunReport;
use super::figures::duration;
use super::junit_xml::{clean, milliseconds};
use super::sections::html_code;
use super::size_budget::Section;
use crate::event::{GateRecord, GateVerdict, NamedTests};

/// Most tests of a list that are named in Markdown.
const MAX_TESTS: usize = 10;

/// Renders the table of gates, then their tests, then what the failed ones printed.
pub(super) fn sections(report: &RunReport) -> Vec<Section> {
    if report.gates.is_empty() {
        return Vec::new();
    }
    let predicted = report.gates.iter().any(|gate| gate.predicted);
    let title = if predicted { "Quality gates, predicted on the planned state" } else { "Quality gates" };
    let mut table = format!("#### {title}\n\n| | Gate | Required | Result | Time |\n|---|---|---|---|--:|\n");
    for gate in &report.gates {
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            icon(gate),
            code(&gate.name),
            if gate.required { "yes" } else { "no" },
            told(gate).replace('|', "\\|"),
            duration(gate.duration_ms)
        );
    }
    table.push('\n');
    for gate in report.gates.iter().filter(|gate| !gate.doubt.is_empty()) {
        let programs: Vec<String> = gate.doubt.iter().map(|program| code(program)).collect();
        let _ = writeln!(
            table,
            "⚠️ {} runs or reads files that Git ignores and that commands of this run had changed before: {}\n",
            code(&gate.name),
            programs.join(", ")
        );
    }
    let mut sections = vec![Section::fixed(table)];
    sections.extend(report.gates.iter().filter_map(changed_tests));
    for gate in report.gates.iter().filter(|gate| !gate.passed && !gate.output.is_empty()) {
        let full = format!(
            "<details><summary>Output of {}</summary>\n\n{}\n</details>\n\n",
            html_code(&gate.name),
            fence(&gate.output, "")
        );
        sections.push(Section::new(6, full, String::new()));
    }
    sections
}

/// Renders the tests of a gate that are not as they were before the run.
fn changed_tests(gate: &GateRecord) -> Option<Section> {
    let tests =
        gate.tests.as_ref().filter(|tests| tests.unclear.is_some() || tests.lists().next().is_some())?;
    let warning = if gate.lost_tests().is_some() { "⚠️ " } else { "" };
    let title = format!(
        "{warning}Tests of {}, against the state before: {}\n",
        code(&gate.name),
        markdown_line(&tests.summary())
    );
    let mut full = title.clone();
    for (what, list) in tests.lists() {
        let _ = writeln!(full, "- {what}: {}", named(list));
    }
    full.push('\n');
    Some(Section::new(8, full, format!("{title}\n")))
}

fn named(list: &NamedTests) -> String {
    list.first(MAX_TESTS, code)
}

/// Returns how a gate ended as one line of Markdown, in which no code span begins.
pub(super) fn told(gate: &GateRecord) -> String {
    markdown_line(&plain(&gate.told()).replace('`', "'"))
}

pub(super) fn icon(gate: &GateRecord) -> &'static str {
    match gate.verdict {
        _ if gate.fails_run() => "❌",
        GateVerdict::Passed | GateVerdict::Mended if gate.lost_tests().is_none() => "✅",
        GateVerdict::NotRun => "⏭️",
        _ => "⚠️",
    }
}

/// Returns a test case for each gate.
pub(super) fn cases(report: &RunReport) -> Vec<TestCase> {
    let case = |gate: &GateRecord| {
        let (name, time) = (clean(&gate.name), milliseconds(gate.duration_ms));
        let message = clean(&gate.ending);
        let skipped = |cause: &str| TestCaseBuilder::skipped_with_cause(&name, cause, &message);
        let mut case = match gate.verdict {
            GateVerdict::Passed | GateVerdict::Mended | GateVerdict::Flaky => {
                TestCaseBuilder::success(&name, time)
            }
            GateVerdict::NotRun => skipped(gate.missing()),
            GateVerdict::FailedBefore => skipped("already failed before the run"),
            GateVerdict::Failed | GateVerdict::NewlyFailing if !gate.required => skipped("optional gate"),
            GateVerdict::Failed => TestCaseBuilder::failure(&name, time, "gate", &message),
            GateVerdict::NewlyFailing => {
                let message = format!("{message}; it did not fail in this way before the run");
                TestCaseBuilder::failure(&name, time, "newly failing gate", &message)
            }
        };
        let kind = if gate.predicted { "gates.predicted" } else { "gates" };
        let mut output = format!("$ {}\n", gate.command);
        if !gate.doubt.is_empty() {
            let programs = gate.doubt.join(", ");
            output += &format!("(runs or reads files that commands of this run had changed: {programs})\n");
        }
        if matches!(gate.verdict, GateVerdict::Mended | GateVerdict::Flaky) {
            output += &format!("({})\n", gate.verdict);
        }
        if let Some(tests) = &gate.tests {
            output += &format!("({})\n", tests.summary());
        }
        output += &gate.output;
        case.set_classname(kind).set_system_out(&clean(&output));
        case.build()
    };
    report.gates.iter().map(case).collect()
}

/// Returns a test case for each test of a gate that fails and did not before, or that ran before and does not any more.
pub(super) fn tests(report: &RunReport) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for gate in &report.gates {
        let Some(tests) = &gate.tests else { continue };
        let class = clean(&format!("tests.{}", gate.name));
        for name in &tests.newly_failing.names {
            let name = clean(name);
            let message = "it did not fail before the run";
            let mut case = if gate.required && !gate.passed {
                TestCaseBuilder::failure(&name, Duration::ZERO, "newly failing", message)
            } else {
                TestCaseBuilder::skipped_with_cause(&name, "newly failing", message)
            };
            cases.push(case.set_classname(&class).build());
        }
        for (cause, list) in [("gone", &tests.gone), ("newly skipped", &tests.newly_skipped)] {
            for name in &list.names {
                let message = "it ran before the run, and no longer does";
                let mut case = TestCaseBuilder::skipped_with_cause(&clean(name), cause, message);
                cases.push(case.set_classname(&class).build());
            }
        }
    }
    cases
}
