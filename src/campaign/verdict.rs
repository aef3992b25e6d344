//! Verdicts on runs that did not do what was requested.

use super::work_error::WorkError;
use crate::command::last_lines;
use crate::event::{GateRecord, GateVerdict, NoticeLevel, Status};
use crate::report::RunReport;

/// Lines of a failed gate's output that are told.
const GATE_LINES: usize = 3;

/// Checks that a run did everything that was requested.
pub(super) fn check(report: &RunReport) -> Result<(), WorkError> {
    if report.status == Status::Success {
        return Ok(());
    }
    let why = reason(report);
    Err(match &report.held {
        Some(held) => WorkError::Held { why, limited_until: held.limited_until.clone() },
        None => WorkError::Run(why),
    })
}

/// Returns why: an error, or the gate that failed, or else what the agent said last, which may be that all is done.
fn reason(report: &RunReport) -> String {
    let error = report.notices.iter().find(|notice| notice.level == NoticeLevel::Error);
    let gate = report.gates.iter().find(|gate| has_failed(gate)).map(failed_gate);
    let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    let said = match error {
        Some(error) => first_line(&error.message),
        None => gate.unwrap_or_else(|| first_line(&report.message)),
    };
    if said.is_empty() { format!("the run ended as {}", report.status) } else { said }
}

/// Returns whether a gate has failed the run.
fn has_failed(gate: &GateRecord) -> bool {
    gate.required && matches!(gate.verdict, GateVerdict::Failed | GateVerdict::NewlyFailing)
}

fn failed_gate(gate: &GateRecord) -> String {
    let lines: Vec<&str> = gate.output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let output = last_lines(&lines.join("\n"), GATE_LINES).replace('\n', " | ");
    let told = format!("the gate {:?} failed ({})", gate.name, gate.ending);
    if output.trim().is_empty() { told } else { format!("{told}: {output}") }
}
