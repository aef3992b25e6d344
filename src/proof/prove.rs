//! Runs the tests of a change in both states and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use test_integrity::ChangedTest;
use tokio_util::sync::CancellationToken;
use workspace::FileChange;

use super::observed::{Observed, StateOfTests};
use super::rerun::{Judged, Pair, Seen};
use super::{ProofError, States, TestCommand};
use crate::event::{CaseProof, ProofRecord, ProofVerdict, TestProof, millis};
use crate::isolation::Isolation;

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
    let untested = states.tests.is_empty() && states.changes_code;
    let mut record = ProofRecord { untested, ..ProofRecord::default() };
    let none = (BTreeSet::new(), BTreeMap::new());
    if !apart.is_empty() {
        let on_new =
            StateOfTests { tests: &states.tests, new_names: &none.0, texts: &none.1, has_to_run: true };
        let on_old = StateOfTests {
            tests: &states.tests,
            new_names: &states.new_names,
            texts: &states.grafted,
            // The old code may lack what the command runs.
            has_to_run: false,
        };
        let mut pair = Pair::run(states, prover, &apart, (&on_old, &on_new)).await?;
        let verdicts = pair.verdicts().await?;
        (record.old_ms, record.new_ms) = (millis(pair.old_time()), millis(pair.new_time()));
        for (test, judged) in apart.iter().zip(verdicts) {
            record.tests.push(proof(test, judged));
        }
    }
    for test in inseparable {
        let reason = states.inseparable.get(&test.path).map(|reason| (*reason).to_owned());
        record.tests.push(proof(test, Judged { verdict: ProofVerdict::NotRun, reason, cases: Vec::new() }));
    }
    record.tests.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    Ok(record)
}

fn proof(test: &ChangedTest, Judged { verdict, reason, cases }: Judged) -> TestProof {
    TestProof { path: test.path.clone(), name: test.name(), line: test.line, verdict, reason, cases }
}

/// Returns what each case of a test says about the change, by what was seen of it at first and once more; none if it has not several.
pub(super) fn cases(first: &Seen, again: &Seen) -> Vec<CaseProof> {
    let verdict = |seen: &Seen, name: &str| verdict(&seen.old.case(name), &seen.new.case(name)).0;
    let names = again
        .new
        .cases
        .keys()
        .chain(again.old.cases.keys().filter(|name| !again.new.cases.contains_key(*name)));
    let case = |name: &String| {
        let (once, twice) = (verdict(first, name), verdict(again, name));
        let is_flaky = once == ProofVerdict::Proves && twice != once;
        CaseProof { name: name.clone(), verdict: if is_flaky { ProofVerdict::Flaky } else { twice } }
    };
    names.map(case).collect()
}

/// Returns the verdict on a test with some cases: one of which some cases fail on the old code and others pass on the new is proved
/// by none of them.
pub(super) fn verdict_with(
    cases: &[CaseProof],
    (verdict, reason): (ProofVerdict, Option<String>),
) -> (ProofVerdict, Option<String>) {
    let proves = |case: &CaseProof| case.verdict == ProofVerdict::Proves;
    if verdict == ProofVerdict::Proves && !cases.is_empty() && !cases.iter().any(proves) {
        let told = "no case of it that fails on the old code passes on the new";
        return (ProofVerdict::NotRun, Some(told.to_owned()));
    }
    (verdict, reason)
}

/// Returns what a test says about the change, by what was seen of it on the old code and on the new.
pub(super) fn verdict(old: &Observed, new: &Observed) -> (ProofVerdict, Option<String>) {
    use Observed::{Failed, Hindered, Nothing, Passed, Skipped, Unbuilt};
    let not_run = |reason: String| (ProofVerdict::NotRun, Some(reason));
    match (old, new) {
        (_, Skipped) => not_run("it is skipped".to_owned()),
        (_, Nothing(reason)) => not_run(reason.clone()),
        (Failed(reason), Passed) => (ProofVerdict::Proves, reason.clone()),
        (Unbuilt(reason), Passed) => (
            ProofVerdict::Proves,
            Some(format!("it needs something that the old code does not have: {reason}")),
        ),
        (Passed, Passed) => (ProofVerdict::PassesOnOld, None),
        (Passed, Failed(reason)) => (ProofVerdict::FailsOnNew, reason.clone()),
        (Passed, Unbuilt(reason) | Hindered(reason)) => (ProofVerdict::FailsOnNew, Some(reason.clone())),
        (Failed(_) | Unbuilt(_), Failed(reason)) => (ProofVerdict::FailsOnBoth, reason.clone()),
        (Failed(_) | Unbuilt(_) | Hindered(_), Unbuilt(reason) | Hindered(reason)) => {
            (ProofVerdict::FailsOnBoth, Some(reason.clone()))
        }
        (Hindered(reason), _) => {
            not_run(format!("on the old code, something else that it needs cannot be built: {reason}"))
        }
        (Skipped, _) => not_run("it is skipped on the old code".to_owned()),
        (Nothing(reason), _) => not_run(format!("on the old code: {reason}")),
    }
}
