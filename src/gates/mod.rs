//! Quality gates: commands that must succeed when the agent says it is done.

mod failures;
mod verdict;

use std::time::Duration;

use sanitize::environment::mentioned;
use test_results::{has_run_tests, parse_all};
use tokio_util::sync::CancellationToken;

use crate::command::sandbox::Rights;
use crate::command::{
    Ended, LiveOutput, PipeStatus, Retention, Shell, last_lines, pipe_failure, plain, shows_whole_output,
};
use crate::config::GateConfig;
use crate::event::{Activity, Events, GateRecord, GateVerdict, millis};
use crate::isolation::IsolationError;
use crate::isolation::{IsolatedCommand, Isolation, Keep};
use workspace::WorkspacePath;

use failures::{Failures, whole_lines};
pub(crate) use verdict::GateOutcome;

/// Number of lines of output that a record keeps.
const OUTPUT_LINES: usize = 40;

/// Variable by which pytest is asked to name every test, in whatever way it is started.
const PYTEST_OPTIONS: &str = "PYTEST_ADDOPTS";

/// Which time the gates run, and on what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRun {
    /// Number of the run of the gates, from 1; 0 on the state before the run.
    pub round: u32,
    /// Whether they run on a planned state.
    pub predicted: bool,
}

/// What is seen of one run of a gate's command.
struct Ran {
    ended: Ended,
    duration: Duration,
    /// Its whole output, as far as it was kept.
    output: String,
    /// The number of lines that it printed, if not all of them were kept.
    cut_from: Option<usize>,
    /// Why it failed although its exit code is 0, with the exit code of what did.
    masked: Option<(String, i32)>,
}

/// Runs gates one after the other on the isolated state. Of their changes, only build outputs are kept.
pub(crate) async fn run(
    gates: &[GateConfig],
    isolation: &Isolation,
    GateRun { round, predicted }: GateRun,
    cancel: &CancellationToken,
    events: &Events,
) -> Result<Vec<GateOutcome>, IsolationError> {
    let mut outcomes = Vec::with_capacity(gates.len());
    let time_limit = &isolation.shell().time_limit;
    for gate in gates {
        if cancel.is_cancelled() {
            outcomes.push(not_begun(gate, GateRun { round, predicted }, time_limit.why_cut_off()));
            continue;
        }
        let pipe = PipeStatus::of(&gate.command, &isolation.shell().program);
        let environment = &isolation.shell().environment;
        let options = environment.get(PYTEST_OPTIONS).map_or("", String::as_str);
        let work = IsolatedCommand {
            command: &gate.command,
            pipe: pipe.as_ref(),
            cwd: &WorkspacePath::root(),
            variables: vec![
                ("ARCHITECT_DRY_RUN".into(), u8::from(predicted).to_string()),
                // Twice, because `-q` takes one of them back.
                (PYTEST_OPTIONS.into(), format!("{options} -vv").trim_start().to_owned()),
            ],
            stdin: None,
            merge: true,
            output: LiveOutput::new(Retention::Kept),
            timeout: gate.timeout.seconds(),
            cancel: cancel.clone(),
            rights: Rights::Work,
            keep: Keep::Outputs,
            moves: Vec::new(),
            owner: Some(format!("gate {}", gate.name)),
        };
        let doubt = isolation.doubts(&gate.command);
        let ongoing = events.begin(Activity::Gate {
            name: gate.name.clone(),
            command: gate.command.clone(),
            is_on_base: round == 0,
        });
        let finished = isolation.run(work).await?.finished;
        drop(ongoing);
        let mut all = format!("\n{}\n", finished.output());
        let pipes = pipe.map(|pipe| pipe.take(&mut all)).unwrap_or_default();
        let masked = pipe_failure(&gate.command, &pipes).map(|(codes, code)| {
            (format!("exit code {code} in a pipe, whose parts ended with {codes}"), code)
        });
        let is_cut_off = cancel.is_cancelled()
            && matches!(finished.ended, Ended::Cancelled | Ended::StillRunning | Ended::NotStarted(_));
        let ran = Ran {
            ended: finished.ended,
            duration: finished.duration,
            output: all,
            cut_from: finished.stdout.is_cut().then(|| finished.stdout.lines()),
            masked,
        };
        let mut outcome = outcome(gate, GateRun { round, predicted }, ran);
        if is_cut_off {
            outcome.record = outcome.record.cut_off(time_limit.why_cut_off());
        } else if !outcome.record.passed {
            let note = withheld_variables_note(isolation.shell(), &gate.command, &outcome.record.output);
            outcome.record.output += &note;
            outcome.output += &note;
        }
        outcome.record.doubt = doubt;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Returns the outcome of a gate whose turn came after the end of the run.
fn not_begun(gate: &GateConfig, GateRun { round, predicted }: GateRun, reason: &str) -> GateOutcome {
    let record = GateRecord::not_run(gate.name.clone(), gate.command.clone(), gate.required, reason);
    GateOutcome::of_record(GateRecord { predicted, round, ..record })
}

/// Returns what a run of a gate's command comes to, as long as nothing is known of the state before the run.
fn outcome(gate: &GateConfig, GateRun { round, predicted }: GateRun, ran: Ran) -> GateOutcome {
    let Ran { ended, duration, output: all, cut_from, masked } = ran;
    let passed = ended == Ended::Exited(0) && masked.is_none();
    let limit = gate.timeout.get();
    let (ending, exit_code) = match (&ended, masked) {
        (Ended::Exited(0), Some((ending, code))) => (ending, code),
        (Ended::Exited(code), _) => (format!("exit code {code}"), *code),
        (Ended::Signaled(signal), _) => (format!("ended by signal {signal}"), -1),
        (Ended::TimedOut, _) => (format!("timed out after {limit} s"), -1),
        (Ended::Cancelled, _) => ("the run was interrupted".to_owned(), -1),
        (Ended::StillRunning, _) => ("its processes could not be stopped".to_owned(), -1),
        (Ended::NotStarted(error), _) => (format!("could not start: {error}"), -1),
    };
    let lines = whole_lines(&all);
    let results = cut_from.is_none().then(|| parse_all(&lines));
    let output = plain(&all);
    let is_whole = shows_whole_output(&gate.command);
    let ran_tests = has_run_tests(&output, is_whole).filter(|ran| *ran || cut_from.is_none());
    let record = GateRecord {
        name: gate.name.clone(),
        command: gate.command.clone(),
        required: gate.required,
        passed,
        verdict: if passed { GateVerdict::Passed } else { GateVerdict::Failed },
        predicted,
        round,
        exit_code,
        ending,
        duration_ms: millis(duration),
        output: last_lines(&output, OUTPUT_LINES).trim_start().to_owned(),
        ran_no_test: ran_tests == Some(false),
        tests: None,
        doubt: Vec::new(),
    };
    let output = if passed { String::new() } else { output.trim().to_owned() };
    let failures = Failures::of(&lines);
    GateOutcome { record, failures, output, cut_from, results, ran_tests, is_certain: true }
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

/// Returns the outcome of a gate that ended so, for tests.
#[cfg(test)]
pub(crate) fn outcome_of(command: &str, exit_code: i32, output: &str) -> GateOutcome {
    let gate = GateConfig {
        name: "tests".to_owned(),
        command: command.to_owned(),
        required: true,
        timeout: crate::base::bounded::Bounded::new(300).expect("a time limit"),
        network: None,
    };
    let ran = Ran {
        ended: Ended::Exited(exit_code),
        duration: Duration::ZERO,
        output: output.to_owned(),
        cut_from: None,
        masked: None,
    };
    outcome(&gate, GateRun { round: 1, predicted: false }, ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_among_other_output_is_found() {
        let suite = "<testsuite name=\"s\"><testcase name=\"a\"/></testsuite>";
        let all = format!(
            "log\n<?xml version=\"1.0\"?>\n<testsuites>{suite}</testsuites>\nmore\n{suite}\n<testsuite"
        );
        let outcome = outcome_of("t", 0, &all);
        assert_eq!(outcome.results.map(|results| results.tests.len()), Some(2));
    }

    #[test]
    fn gate_that_was_cut_off_has_neither_passed_nor_failed() {
        let base = outcome_of("t", 0, "");
        let mut cut = outcome_of("t", 1, "half of it");
        cut.record = cut.record.cut_off("the run was interrupted");
        assert_eq!(cut.record.told(), "did not run to its end (the run was interrupted)");
        cut.judge(Some(&base));
        assert_eq!(cut.record.verdict, GateVerdict::NotRun, "whatever it was before");
        assert!(!cut.record.fails_run() && !cut.record.passed);
        let mut passed = outcome_of("t", 0, "");
        passed.judge(Some(&cut));
        assert_eq!(passed.record.verdict, GateVerdict::Passed, "nothing shows that it was mended");
        let record = GateRecord::not_run("t".into(), "t".into(), true, "the run was interrupted");
        assert_eq!(record.told(), "did not run (the run was interrupted)");
    }

    #[test]
    fn gate_that_did_not_end_says_why() {
        let gate = outcome_of("t", 0, "").record;
        let config = |timeout| GateConfig {
            name: gate.name.clone(),
            command: gate.command.clone(),
            required: true,
            timeout: crate::base::bounded::Bounded::new(timeout).expect("a time limit"),
            network: None,
        };
        for (ended, ending) in [
            (Ended::TimedOut, "timed out after 7 s"),
            (Ended::Signaled(9), "ended by signal 9"),
            (Ended::Exited(3), "exit code 3"),
            (Ended::NotStarted("no bash".into()), "could not start: no bash"),
        ] {
            let ran =
                Ran { ended, duration: Duration::ZERO, output: String::new(), cut_from: None, masked: None };
            let outcome = outcome(&config(7), GateRun { round: 1, predicted: false }, ran);
            assert_eq!(outcome.record.ending, ending);
        }
    }
}
