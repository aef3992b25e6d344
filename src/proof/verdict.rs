//! Verdict on a test, by what was seen of it on the old code and on the new.

use super::observed::{Observation, Observed};
use crate::event::{CaseProof, ProofVerdict};

/// What was seen of a test on the old code and on the new.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) old: Observation,
    pub(super) new: Observation,
}

/// What a test says about the change: its verdict, with the reason and its cases.
pub(super) struct Judged {
    pub(super) verdict: ProofVerdict,
    pub(super) reason: Option<String>,
    pub(super) cases: Vec<CaseProof>,
}

impl Seen {
    pub(super) fn proves(&self) -> bool {
        verdict(&self.old.seen, &self.new.seen).0 == ProofVerdict::Proves
    }
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
