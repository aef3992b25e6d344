//! Verdict on a gate: how it ended now, against how it ended before the run.

use std::collections::BTreeSet;

use test_results::{Comparison, Results, compare};

use crate::event::{GateRecord, GateVerdict, TestChanges};

/// A gate that has run.
#[derive(Clone, Debug)]
pub(crate) struct GateOutcome {
    /// The record for reports.
    pub record: GateRecord,
    /// Lines of its output that tell of failures, with `#` for every number, so that they can be compared.
    pub failures: BTreeSet<String>,
    /// What its output says of single tests; `None` if not all of it could be kept.
    pub results: Option<Results>,
}

impl GateOutcome {
    /// Returns whether something about its tests can be learnt from a comparison.
    pub(crate) fn names_tests(&self) -> bool {
        self.results.as_ref().is_some_and(|results| !results.tests.is_empty())
    }

    /// Gives the gate its verdict, and compares its tests, where it is known how it was before the run.
    pub(crate) fn judge(&mut self, before: Option<&Self>) {
        let Some(before) = before else { return };
        let compared = self.compared(before);
        self.record.verdict = match (self.record.passed, before.record.passed) {
            (true, true) => GateVerdict::Passed,
            (true, false) => GateVerdict::Mended,
            (false, false) if self.fails_like(before, compared.as_ref()) => GateVerdict::FailedBefore,
            // Nothing tells what failed, so nothing shows that it is the same.
            (false, false) if self.is_silent_like(before) => GateVerdict::Failed,
            (false, _) => GateVerdict::NewlyFailing,
        };
        self.record.tests = compared.map(|compared| Box::new(changes(compared)));
    }

    /// Marks a gate that has failed and passes now, on the same state.
    pub(crate) fn is_second_try(&mut self) {
        if self.record.passed {
            self.record.verdict = GateVerdict::Flaky;
        }
    }

    fn compared(&self, before: &Self) -> Option<Comparison> {
        let (old, new) = (before.results.as_ref()?, self.results.as_ref()?);
        if old.is_empty() {
            return None;
        }
        let mut compared = compare(old, new);
        if !self.record.passed {
            // What fails may have kept others from running.
            compared.gone.clear();
        }
        Some(compared)
    }

    /// Returns whether this failure is the same as an earlier one of the same gate: it ended in the same way, the same
    /// tests fail, and no line tells of a failure that was not there before. A line that does is no other failure
    /// where the gate is one command whose failing tests are the same.
    fn fails_like(&self, earlier: &Self, compared: Option<&Comparison>) -> bool {
        if self.record.ending != earlier.record.ending {
            return false;
        }
        if let Some(compared) = compared {
            if !compared.newly_failing.is_empty() {
                return false;
            }
            if !compared.still_failing.is_empty() && shell::analyse(&self.record.command).commands.len() == 1
            {
                return true;
            }
        }
        !self.failures.is_empty() && self.failures.is_subset(&earlier.failures)
    }

    /// Returns whether it ended as an earlier run of the same gate did, and neither says what failed.
    fn is_silent_like(&self, earlier: &Self) -> bool {
        let is_silent = |gate: &Self| gate.failures.is_empty() && !gate.names_tests();
        self.record.ending == earlier.record.ending && is_silent(self) && is_silent(earlier)
    }
}

fn changes(compared: Comparison) -> TestChanges {
    TestChanges {
        ran: compared.ran,
        new: compared.new.into(),
        gone: compared.gone.into(),
        newly_skipped: compared.newly_skipped.into(),
        newly_failing: compared.newly_failing.into(),
        still_failing: compared.still_failing.into(),
        mended: compared.mended.into(),
        slower: compared.slower.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::outcome_of;

    #[test]
    fn verdict_compares_with_the_state_before() {
        use GateVerdict::{Failed, FailedBefore, Mended, NewlyFailing, Passed};
        let old = "src/a.rs:10:2: error: one\nerror: two (3 ms)\n";
        let (two, three) = ("test a ... FAILED\n", "test a ... FAILED\ntest b ... FAILED\n");
        for (command, before, now, expected) in [
            ("make", Some((1, old)), (1, "src/a.rs:14:2: error: one\nerror: two (5 ms)\n"), FailedBefore),
            ("make", Some((1, old)), (1, "error: two (5 ms)\n"), FailedBefore),
            ("make", Some((1, old)), (1, "error: two (5 ms)\nerror: three\n"), NewlyFailing),
            ("make", Some((1, old)), (2, "error: two (5 ms)\n"), NewlyFailing),
            ("make", Some((1, old)), (1, "something else\n"), NewlyFailing),
            ("make", Some((1, old)), (0, ""), Mended),
            ("make", Some((0, "")), (1, old), NewlyFailing),
            ("make", Some((0, "")), (0, ""), Passed),
            ("make", None, (1, old), Failed),
            ("make", None, (0, ""), Passed),
            // Nothing tells what failed, so nothing excuses it.
            ("false", Some((1, "")), (1, ""), Failed),
            ("exit 7", Some((7, "took 3 s\n")), (7, "took 14 s\n"), Failed),
            ("exit 7", Some((7, "")), (8, ""), NewlyFailing),
            // Tests count, not only the exit code.
            ("cargo test", Some((101, two)), (101, three), NewlyFailing),
            ("cargo test", Some((101, three)), (101, two), FailedBefore),
            ("cargo test", Some((101, two)), (101, &format!("{two}error: other\n")), FailedBefore),
            ("cargo test; lint", Some((101, two)), (101, &format!("{two}error: other\n")), NewlyFailing),
        ] {
            let of = |(code, output): (i32, &str)| outcome_of(command, code, output);
            let mut outcome = of(now);
            outcome.judge(before.map(of).as_ref());
            assert_eq!(outcome.record.verdict, expected, "{command}: {before:?} {now:?}");
        }
    }

    #[test]
    fn failing_gate_loses_no_tests() {
        let before = outcome_of("t", 0, "test a ... ok\ntest b ... ok\n");
        let mut now = outcome_of("t", 1, "test a ... FAILED\n");
        now.judge(Some(&before));
        let tests = now.record.tests.expect("a comparison");
        assert_eq!((tests.newly_failing.count, tests.gone.count), (1, 0));
        let mut now = outcome_of("t", 0, "");
        now.judge(Some(&before));
        assert_eq!(now.record.lost_tests().map(|tests| tests.gone.count), Some(2));
    }

    #[test]
    fn second_try_is_flaky_only_if_it_passes() {
        for (code, expected) in [(0, GateVerdict::Flaky), (1, GateVerdict::Failed)] {
            let mut outcome = outcome_of("t", code, "");
            outcome.is_second_try();
            assert_eq!(outcome.record.verdict, expected);
        }
    }
}
