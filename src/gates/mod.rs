//! Quality gates: commands that must succeed when the agent says it is done.

use std::collections::BTreeSet;

use sanitize::environment::mentioned;

use tokio_util::sync::CancellationToken;

use crate::command::sandbox::Rights;
use crate::command::{Ended, LiveOutput, Shell, failure_lines, last_lines, plain};
use crate::config::GateConfig;
use crate::event::{GateRecord, millis};
use crate::isolation::{IsolatedCommand, Isolation, Keep};
use crate::workspace::{IsolationError, WorkspacePath};

/// Number of lines of output that a record keeps.
const OUTPUT_LINES: usize = 40;

/// Which time the gates run, and on what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRun {
    /// Number of the run of the gates, from 1.
    pub round: u32,
    /// Whether they run on a planned state.
    pub predicted: bool,
}

/// A gate that has run.
#[derive(Clone, Debug)]
pub(crate) struct GateOutcome {
    /// The record for reports.
    pub record: GateRecord,
    /// Lines of its output that tell of failures, with `#` for every number, so that they can be compared.
    pub failures: BTreeSet<String>,
}

impl GateOutcome {
    /// Returns whether this failure is the same as an earlier one of the same gate: the same exit code, and no
    /// line tells of a failure that was not there before. Without any such line, nobody can tell.
    pub(crate) fn fails_like(&self, earlier: &Self) -> bool {
        let (now, before) = (&self.record, &earlier.record);
        !now.passed
            && !before.passed
            && now.exit_code == before.exit_code
            && !self.failures.is_empty()
            && self.failures.is_subset(&earlier.failures)
    }
}

/// Runs gates one after the other on the isolated state. Of their changes, only build outputs are kept.
pub(crate) async fn run(
    gates: &[GateConfig],
    isolation: &Isolation,
    GateRun { round, predicted }: GateRun,
    cancel: &CancellationToken,
) -> Result<Vec<GateOutcome>, IsolationError> {
    let mut records = Vec::with_capacity(gates.len());
    for gate in gates {
        let work = IsolatedCommand {
            command: &gate.command,
            cwd: &WorkspacePath::root(),
            variables: vec![("ARCHITECT_DRY_RUN".into(), u8::from(predicted).to_string())],
            stdin: None,
            merge: true,
            output: LiveOutput::default(),
            timeout: gate.timeout.seconds(),
            cancel: cancel.clone(),
            rights: Rights::Work,
            keep: Keep::Outputs,
            moves: Vec::new(),
            owner: Some(format!("gate {}", gate.name)),
        };
        let doubt = isolation.doubts(&gate.command);
        let finished = isolation.run(work).await?.finished;
        let all = finished.output();
        let all = plain(&all);
        let failures = failure_lines(&all).map(without_numbers).collect();
        let mut output = last_lines(&all, OUTPUT_LINES);
        match &finished.ended {
            Ended::Exited(_) => {}
            Ended::Signaled(signal) => output += &format!("\n(ended by signal {signal})"),
            Ended::TimedOut => output += &format!("\n(stopped after {} s)", gate.timeout.get()),
            Ended::Cancelled => output += "\n(the run was interrupted)",
            Ended::NotStarted(error) => output += &format!("\n(could not start: {error})"),
        }
        if finished.ended != Ended::Exited(0) {
            output += &withheld_variables_note(isolation.shell(), &gate.command, &output);
        }
        let record = GateRecord {
            name: gate.name.clone(),
            command: gate.command.clone(),
            required: gate.required,
            passed: finished.ended == Ended::Exited(0),
            predicted,
            round,
            exit_code: finished.ended.code(),
            duration_ms: millis(finished.duration),
            output: output.trim_start().to_owned(),
            failed_before: false,
            doubt,
        };
        records.push(GateOutcome { record, failures });
    }
    Ok(records)
}

/// Returns a line with `#` in place of every number: times, addresses and line numbers differ from run to run.
fn without_numbers(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.trim().chars() {
        if !c.is_ascii_digit() {
            text.push(c);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}

/// Returns a line about the variables that a failed gate mentions but was not given; empty if there are none.
fn withheld_variables_note(shell: &Shell, command: &str, output: &str) -> String {
    let mut names = mentioned(&shell.withheld, command);
    names.extend(mentioned(&shell.withheld, output));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    format!(
        "\n(not passed on to commands: {names}; name the variables that they need in \
             `commands.env_passthrough`)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(exit_code: i32, output: &str) -> GateOutcome {
        let record = GateRecord {
            name: "tests".to_owned(),
            command: "test".to_owned(),
            required: true,
            passed: exit_code == 0,
            predicted: false,
            round: 1,
            exit_code,
            duration_ms: 0,
            output: output.to_owned(),
            failed_before: false,
            doubt: Vec::new(),
        };
        GateOutcome { record, failures: failure_lines(output).map(without_numbers).collect() }
    }

    #[test]
    fn only_the_same_failure_is_the_same() {
        let before = outcome(1, "src/a.rs:10:2: error: one\nerror: two (3 ms)\n");
        for (now, is_same) in [
            (outcome(1, "src/a.rs:14:2: error: one\nerror: two (5 ms)\n"), true),
            (outcome(1, "error: two (5 ms)\n"), true),
            (outcome(1, "error: two (5 ms)\nerror: three\n"), false),
            (outcome(2, "error: two (5 ms)\n"), false),
            (outcome(0, ""), false),
        ] {
            assert_eq!(now.fails_like(&before), is_same, "{now:?}");
        }
        assert!(!outcome(1, "").fails_like(&outcome(0, "")));
        assert!(!outcome(1, "").fails_like(&outcome(1, "")), "nothing tells that it is the same");
    }
}
