//! Tests of the run's change on the old code and on the new, and faults that they do not notice.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use workspace::{ChangeSet, FileChange, FileError, Judge, OverlayWorkspace};

use super::Run;
use super::agent_run::AgentRun;
use crate::agent::AnswerVerdict;
use crate::config::{Config, Isolation as GateIsolation, ProveTests, Unproven};
use crate::event::{Activity, Event, Events, NoticeLevel, ProofRecord, ProofVerdict, StopReason};
use crate::isolation::{BaseState, Isolation};
use crate::proof::{CommandError, MutationLimits, ProofError, Prover, States, TestCommand, mutate, prove};

/// Why the configuration asks for what cannot be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum TestCommandError {
    #[error("`tests.prove` and `tests.mutate` need `tests.command`, such as `pytest {{tests}}`")]
    Missing,
    #[error("`tests.command`: {0}")]
    Invalid(#[from] CommandError),
}

/// Returns the command that runs tests, if the configuration has them proved or faults tried.
pub(super) fn test_command(config: &Config) -> Result<Option<TestCommand>, TestCommandError> {
    let tests = &config.tests;
    if tests.prove == ProveTests::Off && tests.mutate.get() == 0 {
        return Ok(None);
    }
    let line = tests.command.as_deref().ok_or(TestCommandError::Missing)?;
    Ok(Some(TestCommand::parse(line)?))
}

/// Has the tests of the change run before an answer is accepted.
#[derive(Default)]
pub(super) struct ProofCheck {
    is_told: bool,
    is_reported: bool,
}

/// What the tests of the change showed, and of which change.
pub(super) struct Shown {
    changes: ChangeSet,
    record: ProofRecord,
}

impl ProofCheck {
    /// Runs the tests that the change adds or changes, unless nothing has changed since. The agent is told once of those that
    /// do not prove the change, if it `can_answer`.
    pub(super) async fn look(&mut self, agent_run: &AgentRun<'_>, can_answer: bool) -> AnswerVerdict {
        let run = &agent_run.run;
        let config = run.request.config();
        let is_skipped = run.tracked.is_none() && config.dry_run.gates == GateIsolation::Skip;
        // What is not a command was refused before the run.
        let Some(command) = test_command(config).ok().flatten().filter(|_| !is_skipped) else {
            return AnswerVerdict::Accept;
        };
        // What cannot be collected fails the run when its report is made.
        let changes = run.engine.context.workspace.changes().unwrap_or_default();
        if changes.is_empty() || run.cancel.is_cancelled() {
            return AnswerVerdict::Accept;
        }
        let record = match agent_run.shown_of(&changes) {
            Some(record) => record,
            None => match run.try_tests(&changes, &command).await {
                Ok(record) => record,
                Err(ProofError::Interrupted) => return AnswerVerdict::GiveUp(StopReason::UserInterrupt),
                Err(error) => {
                    run.events.notice(NoticeLevel::Error, format!("the tests could not be run: {error}"));
                    agent_run.is_unchecked.store(true, Ordering::Relaxed);
                    return unproven(config);
                }
            },
        };
        *agent_run.shown.lock() = Some(Shown { changes, record: record.clone() });
        if record.is_complete() {
            return AnswerVerdict::Accept;
        }
        if can_answer && !self.is_told {
            self.is_told = true;
            return AnswerVerdict::SendBack(complaint(&record));
        }
        if !self.is_reported {
            self.is_reported = true;
            let others = if record.untested { "" } else { "; the report lists the others" };
            let told = format!("{}{others}", record.summary());
            run.events.notice(NoticeLevel::Warning, told);
        }
        unproven(config)
    }
}

fn unproven(config: &Config) -> AnswerVerdict {
    match config.tests.unproven {
        Unproven::Warn => AnswerVerdict::Accept,
        Unproven::Fail => AnswerVerdict::GiveUp(StopReason::ProofFailed),
    }
}

/// Returns what the agent is told.
fn complaint(record: &ProofRecord) -> String {
    if record.untested {
        return "Your change neither adds nor changes a test, so nothing shows what you changed. Add a test that fails on the old \
                code and passes on the new, or explain why there can be none, and finish again."
            .to_owned();
    }
    let tests = record.tests.iter().filter(|test| test.verdict != ProofVerdict::Proves).map(|test| {
        let reason = test.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        format!("- {}:{} {} {}{reason}\n", test.path, test.line, test.name, test.told())
    });
    format!(
        "The tests that your change adds or changes were run on the old code, where they have to fail, and on the new, where they \
         have to pass. These do not show what you changed:\n{}Make them do so, or explain why they cannot, and finish again.",
        tests.collect::<String>()
    )
}

impl Shown {
    /// Returns whether every test proves the change.
    pub(super) fn is_complete(&self) -> bool {
        self.record.is_complete()
    }
}

impl AgentRun<'_> {
    /// Returns what the tests showed of this change, if it is the one that they last ran on.
    fn shown_of(&self, changes: &ChangeSet) -> Option<ProofRecord> {
        let shown = self.shown.lock();
        shown.as_ref().filter(|shown| shown.changes == *changes).map(|shown| shown.record.clone())
    }

    /// Returns what the tests showed of the change as it is now, if they last ran on it.
    pub(super) fn shown_now(&self) -> Option<ProofRecord> {
        if self.shown.lock().is_none() {
            return None;
        }
        self.run.engine.context.workspace.changes().ok().and_then(|now| self.shown_of(&now))
    }
}

impl Run<'_> {
    /// Returns a throw-away state of the disk with some changes.
    pub(super) fn state_with(&self, changes: &[FileChange]) -> Result<Isolation, FileError> {
        let planned = OverlayWorkspace::new(Arc::clone(&self.disk));
        planned.absorb(changes)?;
        // Nothing of it is kept, so there is nothing to judge.
        let judge: Judge = Arc::new(|_| Ok(Vec::new()));
        let (shell, events) = (self.isolation.shell().clone(), Events::new(Vec::new()));
        Ok(Isolation::new(BaseState::Planned(Arc::new(planned)), self.source.clone(), shell, events, judge))
    }

    /// Runs the tests of the change as the configuration asks, and tells what they show.
    async fn try_tests(&self, changes: &ChangeSet, command: &TestCommand) -> Result<ProofRecord, ProofError> {
        let _ongoing = self.events.begin(Activity::Tests);
        let tests = &self.request.config().tests;
        // In a dry run, what Git ignores is as it was: the states are those of the checkout.
        if self.tracked.is_some() {
            self.isolation.report_doubts("test command", &command.for_tests(&[]));
        }
        let states = States::new(changes, self.tracked.is_some());
        let isolate = |changes: &[FileChange]| Ok(self.state_with(changes)?);
        let timeout = Duration::from_secs(tests.timeout.get());
        let prover = Prover { isolate: &isolate, command, timeout, cancel: self.cancel.clone() };
        let mut proof = ProofRecord::default();
        if tests.prove == ProveTests::New {
            proof = prove(&states, &prover).await?;
            self.events.emit(Event::Proof(proof.clone()));
        }
        let count = usize::try_from(tests.mutate.get()).unwrap_or(usize::MAX);
        // Faults tell something about tests that pass.
        if count > 0 && (proof.is_complete() || proof.untested) {
            let limits = MutationLimits { count, time: timeout, seed: 0 };
            match mutate(changes, &states, &prover, limits).await {
                Ok(record) => self.events.emit(Event::Mutation(record)),
                Err(error @ (ProofError::NoTests | ProofError::FailsWithout)) => {
                    self.events.notice(NoticeLevel::Warning, format!("no faults were tried: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(proof)
    }
}
