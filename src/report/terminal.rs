//! The result of a run for a person at a terminal, in plain text: the changes first, so that how the run ended is what
//! stands last.

use std::fmt::Write;
use std::path::Path;

use sanitize::untrusted::{command_data, log_lines, visible, visible_line};

use super::figures::{duration, plural};
use super::sections::{headline, letter};
use super::test_findings::weakened;
use super::{FileSummary, RunReport};
use crate::base::text::shortened;
use crate::event::{Block, Finding, GateRecord, GateVerdict, Severity, TestFinding};

/// Number of lines up to which all diffs together are shown.
const OPEN_LINES: usize = 40;

/// Number of lines of diffs that a group of the log holds.
const GROUP_LINES: usize = 5_000;

/// Number of files that are listed, of findings, and of refused calls.
const MAX_LISTED: usize = 20;

/// Number of characters that are shown of a finding or a refusal.
const MAX_MESSAGE: usize = 400;

/// Number of lines that are shown of a failed gate's output.
const GATE_LINES: usize = 20;

/// Where the result is read.
#[derive(Clone, Copy, Debug)]
pub struct TerminalFrame<'a> {
    /// The folder of the report files.
    pub folder: &'a Path,
    /// The checkout.
    pub workspace: &'a Path,
    /// Whether the log folds groups of lines, as that of GitHub Actions does.
    pub has_groups: bool,
}

/// Renders what was planned or done, harmless for a log.
pub fn terminal(report: &RunReport, frame: TerminalFrame<'_>) -> String {
    let mut text = format!("\n{}", files(report, frame.has_groups));
    let mut end = format!("{}\n", headline(report));
    if !report.next_step.is_empty() {
        end += &format!("next: {}\n", visible(&report.next_step));
    }
    end += &list(report.guardrails.iter().map(refusal), "more refused call", "more refused calls");
    report.gates.iter().for_each(|gate| end += &self::gate(gate));
    let of_tests = weakened(&report.test_findings).map(test_finding);
    end += &list(of_tests, "more finding about tests", "more findings about tests");
    let of_review = report.review.iter().flat_map(|review| &review.findings).map(finding);
    end += &list(of_review, "more finding of the review", "more findings of the review");
    end += &plan(report, frame);
    // Writing to a String cannot fail.
    let _ = writeln!(end, "\nThe report and its files are in {}", frame.folder.display());
    text += &log_lines(&end);
    text
}

/// Joins the first of these lines, and how many more there are.
fn list(mut lines: impl Iterator<Item = String>, one: &str, many: &str) -> String {
    let mut text: String = lines.by_ref().take(MAX_LISTED).collect();
    if let more @ 1.. = lines.count() {
        text += &format!("  … and {}\n", plural(more, one, many));
    }
    text
}

/// Returns what others wrote as one line that is not too long.
fn short(text: &str) -> String {
    shortened(&visible_line(text.trim()), MAX_MESSAGE)
}

fn refusal(block: &Block) -> String {
    let command = block.command.as_ref().map_or(String::new(), |line| format!(" {}", short(line)));
    let (tool, reason) = (visible_line(&block.tool), short(&block.reason));
    format!("✗ call refused at step {}: {tool}{command} — {reason}\n", block.step)
}

fn mark(severity: Severity) -> char {
    match severity {
        Severity::Error => '✗',
        Severity::Warning => '!',
        Severity::Note => '-',
    }
}

fn test_finding(finding: &TestFinding) -> String {
    let (path, kind) = (visible_line(&finding.path), visible_line(&finding.kind));
    let message = short(&finding.message);
    let mark = mark(finding.severity);
    format!("{mark} tests, {}: {path}:{} ({kind}): {message}\n", finding.severity, finding.line)
}

fn finding(finding: &Finding) -> String {
    let place = finding
        .file
        .as_ref()
        .map_or(String::new(), |file| format!(" {}:{}", visible_line(file.as_str()), finding.line));
    let mark = mark(finding.severity);
    format!("{mark} review, {}:{place} {}\n", finding.severity, short(&finding.message))
}

/// Renders the files with their diffs: all of them where a log can fold them, else as many as one can survey.
fn files(report: &RunReport, has_groups: bool) -> String {
    let lines: usize = report.files.iter().map(|file| file.diff.lines().count()).sum();
    if report.files.is_empty() {
        return String::new();
    }
    if lines <= OPEN_LINES {
        return log_lines(&report.files.iter().map(diff).collect::<String>());
    }
    let mut text: String =
        report.files.iter().take(MAX_LISTED).map(|file| format!("{}\n", line(file))).collect();
    if let Some(more @ 1..) = report.files.len().checked_sub(MAX_LISTED) {
        text += &format!("  … and {}\n", plural(more, "more file", "more files"));
    }
    let elsewhere = if report.plan.is_some() { "  (diffs in plan.patch and report.html)\n\n" } else { "\n" };
    if !has_groups {
        return log_lines(&format!("{text}{elsewhere}"));
    }
    let diffs: String = report.files.iter().map(diff).collect();
    let shown: String = diffs.split_inclusive('\n').take(GROUP_LINES).collect();
    let more = if shown.len() < diffs.len() { "… the rest is in report.html\n" } else { "" };
    let title = format!("Diffs of {} ({})", plural(report.files.len(), "file", "files"), report.lines());
    format!(
        "::group::{}\n{}{more}::endgroup::\n{}\n",
        command_data(&title),
        log_lines(&shown),
        log_lines(&text)
    )
}

fn line(file: &FileSummary) -> String {
    format!("  {} {} ({})", letter(file.op), visible_line(file.path.as_str()), file.lines)
}

fn diff(file: &FileSummary) -> String {
    format!("── {} ({})\n{}\n", visible_line(file.path.as_str()), file.lines, visible(&file.diff))
}

fn gate(gate: &GateRecord) -> String {
    let mark = match gate.verdict {
        GateVerdict::NotRun => '-',
        _ if gate.passed => '✓',
        _ => '✗',
    };
    let told = visible(&gate.told());
    let predicted = if gate.predicted { "predicted " } else { "" };
    let required = if gate.required { "" } else { " (optional)" };
    let (name, took) = (visible_line(&gate.name), duration(gate.duration_ms));
    let mut text = format!("{mark} {predicted}gate {name}{required} {told}, {took}\n");
    if let Some(tests) = &gate.tests {
        text += &format!("  {}\n", tests.summary());
    }
    if !gate.doubt.is_empty() {
        let programs = visible(&gate.doubt.join(", "));
        text += &format!("  it runs or reads files that commands of this run had changed: {programs}\n");
    }
    if !gate.passed && !gate.output.is_empty() {
        let output = visible(&gate.output);
        let count = output.lines().count();
        if count > GATE_LINES {
            text += "  … (more of it is in report.html)\n";
        }
        let last = output.lines().skip(count.saturating_sub(GATE_LINES));
        last.for_each(|line| text += &format!("  {line}\n"));
    }
    text
}

/// Renders what became of the plan, and how it is applied.
fn plan(report: &RunReport, frame: TerminalFrame<'_>) -> String {
    let Some(plan) = report.plan.as_ref() else { return String::new() };
    if !plan.differences.is_empty() {
        return String::new();
    }
    let mut text = "✓ checkout unchanged\n".to_owned();
    if let Some(reason) = &plan.incomplete {
        text += &format!("✗ the plan cannot be applied, because it is incomplete: {}\n", visible(reason));
    }
    if let Some(reason) = &plan.refused {
        text += &format!("✗ an apply on GitHub would refuse the plan: {}\n", visible(reason));
    }
    if plan.actions.is_empty() {
        text += "No write actions were planned.\n";
    } else if report.applicable_plan().is_some() {
        let file = frame.folder.join("plan.json").display().to_string();
        let workspace = frame.workspace.display().to_string();
        let words = ["architect-ci", "apply", &file, "--digest", &plan.digest, "--workspace", &workspace];
        // Only a NUL cannot be quoted, and a path has none.
        let command = shlex::try_join(words).unwrap_or_default();
        text += &format!("apply it with: {}\n", visible(&command));
    }
    text
}
