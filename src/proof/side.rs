//! One of the two states: runs the tests there, and says what is seen of each.

use std::time::Duration;

use test_integrity::ChangedTest;
use test_results::parse_all;
use workspace::{FileChange, WorkspacePath};

use super::compiled::pass_second;
use super::observed::{CommandRun, Hidden, Observation, Observed, StateOfTests};
use super::{ProofError, Prover};
use crate::command::sandbox::Rights;
use crate::command::{
    Ended, Enforcement, LiveOutput, PipeStatus, Retention, Shell, pipe_failure, plain, shows_whole_output,
};
use crate::egress::Reach;
use crate::isolation::{IsolatedCommand, Isolation, Keep};

/// Variable by which pytest is asked to tell the result of each test, in whatever way it is started.
const PYTEST_OPTIONS: &str = "PYTEST_ADDOPTS";
/// Most tests that run one by one where the output names none.
const MAX_ALONE: usize = 20;

/// A state, and what its children have: folders of their own, which every run on it shares.
pub(super) struct Side<'a> {
    prover: &'a Prover<'a>,
    isolation: Isolation,
    shell: Shell,
    limit: Duration,
    /// The time that its runs took.
    pub(super) time: Duration,
}

impl<'a> Side<'a> {
    /// Creates the state of the disk with some changes; `name` tells its children from those of others.
    pub(super) async fn new(
        prover: &'a Prover<'a>,
        changes: &[FileChange],
        name: &str,
    ) -> Result<Self, ProofError> {
        let isolation = (prover.isolate)(changes)?;
        pass_second(isolation.root(), &isolation.shell().environment, changes).await;
        let shell = isolation.shell().of(name);
        Ok(Self { prover, isolation, shell, limit: prover.timeout, time: Duration::ZERO })
    }

    /// Returns whether this state can run at the same time as another of the same checkout: they share no folder, and nothing that
    /// listens on the machine.
    pub(super) async fn is_apart(&self) -> bool {
        let root = self.isolation.root();
        if self.shell.namespaces(root).await.is_none() || !self.shell.is_sandboxed() {
            return false;
        }
        match &self.shell.reach {
            Reach::Nothing => true,
            Reach::Everything => false,
            // A list may name a server of the machine.
            Reach::Through(egress) => {
                self.shell.enforcement(root).await == Enforcement::OwnNetwork
                    && !egress.learns()
                    && egress.local_servers().is_empty()
            }
        }
    }

    /// Gives each further run less time, if that is less.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.limit = self.limit.min(limit);
    }

    /// Runs tests, and returns what is seen of each.
    pub(super) async fn observe(
        &mut self,
        tests: &[&ChangedTest],
        state: &StateOfTests<'_>,
    ) -> Result<Vec<Observation>, ProofError> {
        let mut observed = Vec::with_capacity(tests.len());
        if self.prover.command.is_for_each() {
            for test in tests {
                let run = self.run(&[test]).await?;
                state.check(&run)?;
                observed.extend(run.of(&[test], state));
            }
            return Ok(observed);
        }
        let run = self.run(tests).await?;
        state.check(&run)?;
        // Which of several tests failed is seen of each alone.
        if tests.len() > 1
            && tests.len() <= MAX_ALONE
            && self.prover.command.names_tests()
            && run.fails_without_names()
        {
            for test in tests {
                observed.extend(self.run(&[test]).await?.of(&[test], state));
            }
            return Ok(observed);
        }
        observed = run.of(tests, state);
        // Some runners run nothing at all if one of the tests that they are told cannot be loaded.
        let missed: Vec<usize> =
            (0..tests.len()).filter(|at| matches!(observed[*at].seen, Observed::Nothing(_))).collect();
        if self.prover.command.selects()
            && !run.results.unbuilt.is_empty()
            && !missed.is_empty()
            && missed.len() < tests.len()
        {
            let rest: Vec<&ChangedTest> = missed.iter().map(|at| tests[*at]).collect();
            let run = self.run(&rest).await?;
            for (at, seen) in missed.into_iter().zip(run.of(&rest, state)) {
                observed[at] = seen;
            }
        }
        Ok(observed)
    }

    /// Runs the command once.
    pub(super) async fn run(&mut self, tests: &[&ChangedTest]) -> Result<CommandRun, ProofError> {
        let line = self.prover.command.for_tests(tests);
        let given = self.shell.environment.get(PYTEST_OPTIONS).map_or("", String::as_str);
        let options = format!("{given} -rA -vv --continue-on-collection-errors");
        let pipe = PipeStatus::of(&line, &self.shell.program);
        let work = IsolatedCommand {
            command: &line,
            pipe: pipe.as_ref(),
            cwd: &WorkspacePath::root(),
            variables: vec![(PYTEST_OPTIONS.into(), options.trim_start().to_owned())],
            stdin: None,
            merge: true,
            output: LiveOutput::new(Retention::Whole),
            timeout: self.limit,
            cancel: self.prover.cancel.clone(),
            rights: Rights::Work,
            keep: Keep::Outputs,
            moves: Vec::new(),
            owner: self.shell.owner.clone(),
        };
        let finished = self.isolation.run(work).await?.finished;
        if finished.ended == Ended::Cancelled || self.prover.cancel.is_cancelled() {
            return Err(ProofError::Interrupted);
        }
        self.time += finished.duration;
        let mut output = finished.output();
        let codes = pipe.as_ref().map(|pipe| pipe.take(&mut output)).unwrap_or_default();
        // A test run that fails before `| tail` looks like a success.
        let masked = pipe_failure(&line, &codes).map(|(_, code)| code);
        let ended = match (finished.ended, masked) {
            (Ended::Exited(0), Some(code)) => Ended::Exited(code),
            (ended, _) => ended,
        };
        let output = plain(&output).into_owned();
        let hidden = Hidden {
            output: !shows_whole_output(&line),
            exit_code: pipe.is_none() && line.replace("||", "").contains('|'),
        };
        let results = parse_all(&output);
        let is_named = self.prover.command.names_tests();
        Ok(CommandRun { ended, output, results, is_named, hidden })
    }
}
