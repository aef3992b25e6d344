//! The result of a run for a person at a terminal: the plan or the changes, in plain text.

use std::fmt::Write;
use std::path::Path;

use sanitize::untrusted::visible;

use super::RunReport;
use super::figures::duration;
use super::sections::headline;
use crate::event::GateVerdict;

/// Renders what was planned or done; `folder` is the folder of the report files.
pub fn terminal(report: &RunReport, folder: &Path) -> String {
    let mut text = format!("\n{}\n\n", headline(report));
    if !report.next_step.is_empty() {
        text += &format!("next: {}\n\n", visible(&report.next_step));
    }
    // Writing to a String cannot fail.
    if let Some(plan) = &report.plan {
        if plan.actions.is_empty() {
            text += "No write actions were planned.\n\n";
        }
        for (index, action) in plan.actions.iter().enumerate() {
            let _ = writeln!(text, "{:>3}. {}", index + 1, visible(&action.description));
        }
        text.push('\n');
    }
    for file in &report.files {
        let _ =
            writeln!(text, "── {} ({})\n{}", visible(file.path.as_str()), file.lines, visible(&file.diff));
    }
    for block in &report.guardrails {
        let _ = writeln!(
            text,
            "✗ call refused at step {}: {}{} — {}",
            block.step,
            visible(&block.tool),
            block.command.as_ref().map_or(String::new(), |line| format!(" {}", visible(line))),
            visible(&block.reason)
        );
    }
    for gate in &report.gates {
        let mark = match gate.verdict {
            GateVerdict::NotRun => '-',
            _ if gate.passed => '✓',
            _ => '✗',
        };
        let told = visible(&gate.told());
        let predicted = if gate.predicted { "predicted " } else { "" };
        let required = if gate.required { "" } else { " (optional)" };
        let (name, took) = (visible(&gate.name), duration(gate.duration_ms));
        let _ = writeln!(text, "{mark} {predicted}gate {name}{required} {told}, {took}");
        if let Some(tests) = &gate.tests {
            let _ = writeln!(text, "  {}", tests.summary());
        }
        if !gate.doubt.is_empty() {
            let programs = visible(&gate.doubt.join(", "));
            let _ =
                writeln!(text, "  it runs or obeys files that commands of this run had changed: {programs}");
        }
        if !gate.passed && !gate.output.is_empty() {
            let _ = writeln!(text, "{}", visible(&gate.output));
        }
    }
    if let Some(plan) = report.plan.as_ref().filter(|plan| plan.differences.is_empty()) {
        let _ = writeln!(text, "✓ checkout unchanged ({} files)", plan.verified_files);
        if let Some(reason) = &plan.incomplete {
            let _ =
                writeln!(text, "✗ the plan cannot be applied, because it is incomplete: {}", visible(reason));
        }
        if report.applicable_plan().is_some() && !plan.actions.is_empty() {
            let digest = visible(&plan.digest);
            let _ = writeln!(text, "digest {digest}");
            let plan_file = folder.join("plan.json");
            let _ =
                writeln!(text, "apply it with: architect-ci apply {} --digest {digest}", plan_file.display());
        }
    }
    let _ = writeln!(text, "\nReport, comment, JUnit, plan and patch are in {}", folder.display());
    text
}
