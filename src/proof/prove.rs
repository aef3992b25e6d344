//! Runs the tests of a change in both states and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use test_integrity::ChangedTest;
use test_results::{Results, parse};
use tokio_util::sync::CancellationToken;
use workspace::{FileChange, WorkspacePath};

use super::observed::{CommandRun, Observed, StateOfTests};
use super::{ProofError, States, TestCommand, has_extension};
use crate::command::sandbox::Rights;
use crate::command::{Ended, LiveOutput, Retention, plain};
use crate::event::{ProofRecord, ProofVerdict, TestProof, millis};
use crate::isolation::{IsolatedCommand, Isolation, Keep};

/// Variable by which pytest is asked to tell the result of each test, in whatever way it is started.
const PYTEST_OPTIONS: &str = "PYTEST_ADDOPTS";

/// How tests are run.
pub(crate) struct Prover<'a> {
    /// Makes a throw-away state of the disk with some changes.
    pub(crate) isolate: &'a (dyn Fn(&[FileChange]) -> Result<Isolation, ProofError> + Sync),
    /// The command that runs tests.
    pub(crate) command: &'a TestCommand,
    /// The time after which a run of the command is ended.
    pub(crate) timeout: Duration,
    /// Ends everything early.
    pub(crate) cancel: CancellationToken,
}

/// Runs the tests that a change adds or changes on the new code and on the old, and says what each shows. Without such a
/// test, nothing is run.
pub(crate) async fn prove(states: &States, prover: &Prover<'_>) -> Result<ProofRecord, ProofError> {
    let (apart, inseparable): (Vec<&ChangedTest>, Vec<&ChangedTest>) =
        states.tests.iter().partition(|test| !states.inseparable.contains_key(&test.path));
    let mut record = ProofRecord::default();
    let none = (BTreeSet::new(), BTreeMap::new());
    if !apart.is_empty() {
        let on_new = StateOfTests { tests: &states.tests, new_names: &none.0, texts: &none.1 };
        let on_old =
            StateOfTests { tests: &states.tests, new_names: &states.new_names, texts: &states.grafted };
        let (new, new_time) = prover.observe(&states.new, &apart, &on_new, Requirement::Runnable).await?;
        let (mut old, mut old_time) = prover.observe(&states.old, &apart, &on_old, Requirement::None).await?;
        let is_unbuilt = |seen: &Observed| matches!(seen, Observed::Unbuilt(_) | Observed::Hindered(_));
        // What cannot be built may lack a dependency that came with the change, rather than the code.
        if let Some(changes) = states.old_with_settings.as_ref().filter(|_| old.iter().any(is_unbuilt)) {
            let (again, time) = prover.observe(changes, &apart, &on_old, Requirement::None).await?;
            old_time += time;
            if again.iter().filter(|seen| is_unbuilt(seen)).count()
                < old.iter().filter(|seen| is_unbuilt(seen)).count()
            {
                old = again;
            }
        }
        (record.old_ms, record.new_ms) = (millis(old_time), millis(new_time));
        for ((test, old), new) in apart.iter().zip(old).zip(new) {
            let (verdict, reason) = verdict(old, new);
            record.tests.push(proof(test, verdict, reason));
        }
    }
    for test in inseparable {
        let reason = states.inseparable.get(&test.path).map(|reason| (*reason).to_owned());
        record.tests.push(proof(test, ProofVerdict::NotRun, reason));
    }
    record.tests.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    Ok(record)
}

/// What is asked of a run of the command, whatever its tests show.
#[derive(Clone, Copy)]
enum Requirement {
    /// On the new code, there has to be such a program.
    Runnable,
    /// The old code may lack what the command runs.
    None,
}

impl Requirement {
    fn check(self, run: &CommandRun) -> Result<(), ProofError> {
        match self {
            Self::Runnable => run.require_runnable(),
            Self::None => Ok(()),
        }
    }
}

fn proof(test: &ChangedTest, verdict: ProofVerdict, reason: Option<String>) -> TestProof {
    TestProof { path: test.path.clone(), name: test.name(), line: test.line, verdict, reason }
}

fn verdict(old: Observed, new: Observed) -> (ProofVerdict, Option<String>) {
    use Observed::{Failed, Hindered, Nothing, Passed, Skipped, Unbuilt};
    let not_run = |reason: String| (ProofVerdict::NotRun, Some(reason));
    match (old, new) {
        (_, Skipped) => not_run("it is skipped".to_owned()),
        (_, Nothing(reason)) => not_run(reason),
        (Failed(reason), Passed) => (ProofVerdict::Proves, reason),
        (Unbuilt(reason), Passed) => (
            ProofVerdict::Proves,
            Some(format!("it needs something that the old code does not have: {reason}")),
        ),
        (Passed, Passed) => (ProofVerdict::PassesOnOld, None),
        (Passed, Failed(reason)) => (ProofVerdict::FailsOnNew, reason),
        (Passed, Unbuilt(reason) | Hindered(reason)) => (ProofVerdict::FailsOnNew, Some(reason)),
        (Failed(_) | Unbuilt(_), Failed(reason)) => (ProofVerdict::FailsOnBoth, reason),
        (Failed(_) | Unbuilt(_) | Hindered(_), Unbuilt(reason) | Hindered(reason)) => {
            (ProofVerdict::FailsOnBoth, Some(reason))
        }
        (Hindered(reason), _) => {
            not_run(format!("on the old code, something else that it needs cannot be built: {reason}"))
        }
        (Skipped, _) => not_run("it is skipped on the old code".to_owned()),
        (Nothing(reason), _) => not_run(format!("on the old code: {reason}")),
    }
}

/// Waits for the next second if a file was written in this one. Python takes its own compiled code for that of any file with
/// the same size and the same second.
async fn pass_second(root: &Path, changes: &[FileChange]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_new = |change: &FileChange| {
        let modified =
            std::fs::symlink_metadata(root.join(change.path.as_str())).and_then(|data| data.modified());
        let since = modified.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.is_some_and(|since| since.as_secs() == now.as_secs())
    };
    if changes.iter().any(|change| has_extension(change.path.as_str(), "py") && is_new(change)) {
        let rest = Duration::from_secs(1).saturating_sub(Duration::from_nanos(now.subsec_nanos().into()));
        tokio::time::sleep(rest).await;
    }
}

impl Prover<'_> {
    /// Runs tests on the disk with some changes. Returns what is seen of each, and how long it took.
    async fn observe(
        &self,
        changes: &[FileChange],
        tests: &[&ChangedTest],
        state: &StateOfTests<'_>,
        requirement: Requirement,
    ) -> Result<(Vec<Observed>, Duration), ProofError> {
        let isolation = (self.isolate)(changes)?;
        pass_second(isolation.root(), changes).await;
        let mut observed = Vec::with_capacity(tests.len());
        let mut time = Duration::ZERO;
        if self.command.is_for_each() {
            for test in tests {
                let (run, took) = self.run(&isolation, &[test]).await?;
                requirement.check(&run)?;
                time += took;
                observed.extend(run.of(&[test], state));
            }
            return Ok((observed, time));
        }
        let (run, took) = self.run(&isolation, tests).await?;
        requirement.check(&run)?;
        time += took;
        observed = run.of(tests, state);
        // Some runners run nothing at all if one of the tests that they are told cannot be loaded.
        let missed: Vec<usize> =
            (0..tests.len()).filter(|at| matches!(observed[*at], Observed::Nothing(_))).collect();
        if self.command.selects()
            && !run.results.unbuilt.is_empty()
            && !missed.is_empty()
            && missed.len() < tests.len()
        {
            let rest: Vec<&ChangedTest> = missed.iter().map(|at| tests[*at]).collect();
            let (run, took) = self.run(&isolation, &rest).await?;
            time += took;
            for (at, seen) in missed.into_iter().zip(run.of(&rest, state)) {
                observed[at] = seen;
            }
        }
        Ok((observed, time))
    }

    /// Runs the command once on the disk with some changes.
    pub(super) async fn run_on(
        &self,
        changes: &[FileChange],
        tests: &[&ChangedTest],
    ) -> Result<(CommandRun, Duration), ProofError> {
        let isolation = (self.isolate)(changes)?;
        pass_second(isolation.root(), changes).await;
        self.run(&isolation, tests).await
    }

    async fn run(
        &self,
        isolation: &Isolation,
        tests: &[&ChangedTest],
    ) -> Result<(CommandRun, Duration), ProofError> {
        let line = self.command.for_tests(tests);
        let given = isolation.shell().environment.get(PYTEST_OPTIONS).map_or("", String::as_str);
        let options = format!("{given} -rA -vv --continue-on-collection-errors");
        let work = IsolatedCommand {
            command: &line,
            pipe: None,
            cwd: &WorkspacePath::root(),
            variables: vec![(PYTEST_OPTIONS.into(), options.trim_start().to_owned())],
            stdin: None,
            merge: true,
            output: LiveOutput::new(Retention::Whole),
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            rights: Rights::Work,
            keep: Keep::Outputs,
            moves: Vec::new(),
            owner: Some("the proof of tests".to_owned()),
        };
        let finished = isolation.run(work).await?.finished;
        if finished.ended == Ended::Cancelled || self.cancel.is_cancelled() {
            return Err(ProofError::Interrupted);
        }
        let output = finished.output();
        let output = plain(&output).into_owned();
        let results: Results = parse(&output);
        Ok((CommandRun { ended: finished.ended, output, results }, finished.duration))
    }
}
