//! Quality gates: commands that must succeed when the agent says it is done.

use sanitize::environment::mentioned;
use tokio_util::sync::CancellationToken;

use crate::command::sandbox::Rights;
use crate::command::{Ended, LiveOutput, Shell, last_lines, plain};
use crate::config::GateConfig;
use crate::event::{GateRecord, millis};
use crate::isolation::{Isolation, Keep, Work};
use crate::workspace::{IsolationError, WorkspacePath};

/// Number of lines of output that a record keeps.
const OUTPUT_LINES: usize = 40;

/// Which time the gates run, and on what.
#[derive(Clone, Copy, Debug)]
pub struct GateRun {
    /// Number of the run of the gates, from 1.
    pub round: u32,
    /// Whether they run on a planned state.
    pub predicted: bool,
}

/// Runs gates one after the other on the isolated state. Of their changes, only build outputs are kept.
pub async fn run(
    gates: &[GateConfig],
    isolation: &Isolation,
    GateRun { round, predicted }: GateRun,
    cancel: &CancellationToken,
) -> Result<Vec<GateRecord>, IsolationError> {
    let mut records = Vec::with_capacity(gates.len());
    for gate in gates {
        let work = Work {
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
        };
        let finished = isolation.run(work).await?.finished;
        let mut output = last_lines(&plain(&finished.output()), OUTPUT_LINES);
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
        records.push(GateRecord {
            name: gate.name.clone(),
            command: gate.command.clone(),
            required: gate.required,
            passed: finished.ended == Ended::Exited(0),
            predicted,
            round,
            exit_code: finished.ended.code(),
            duration_ms: millis(finished.duration),
            output: output.trim_start().to_owned(),
        });
    }
    Ok(records)
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
