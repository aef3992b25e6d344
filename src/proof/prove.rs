//! Runs the tests of a change in both states and compares.

use std::collections::{BTreeMap, BTreeSet};

use test_integrity::ChangedTest;

use super::observed::StateOfTests;
use super::prover::Prover;
use super::rerun::Pair;
use super::verdict::Judged;
use super::{ProofError, States};
use crate::event::{ProofRecord, ProofVerdict, TestProof, millis};

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
