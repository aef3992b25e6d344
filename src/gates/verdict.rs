//! Verdict on a gate: how it ended now, against how it ended before the run.

use std::collections::BTreeSet;

use test_results::{Comparison, Results, compare};

use super::failures::Failures;
use crate::event::{GateRecord, GateVerdict, TestChanges};

/// A gate that has run.
#[derive(Clone, Debug)]
pub(crate) struct GateOutcome {
    /// The record for reports.
    pub record: GateRecord,
    /// Failures that the lines of its output report.
    pub failures: Failures,
    /// Its whole output as people read it, as far as it was kept; empty if it passed.
    pub output: String,
    /// The number of lines that it printed, if not all of them were kept.
    pub cut_from: Option<usize>,
    /// What its output says of single tests; `None` if not all of it could be kept.
    pub results: Option<Results>,
    /// Whether any test ran, where its output says so.
    pub ran_tests: Option<bool>,
    /// Whether the state on which it ran is known to be the one that it is taken for. The state before the run is not where
    /// commands of the run have changed files that Git ignores.
    pub is_certain: bool,
}

impl GateOutcome {
    /// Returns the outcome of a check that is told as a gate, of which nothing is known but its record.
    pub(crate) fn of_record(record: GateRecord) -> Self {
        let (failures, output) = (Failures::default(), record.output.clone());
        Self { record, failures, output, cut_from: None, results: None, ran_tests: None, is_certain: true }
    }

    /// Gives the gate its verdict, and compares its tests, where it is known how it was before the run.
    pub(crate) fn judge(&mut self, before: Option<&Self>) {
        // What did not run to its end shows nothing.
        let has_ended = |gate: &&Self| gate.record.verdict != GateVerdict::NotRun;
        let Some(before) = before.filter(has_ended).filter(|_| has_ended(&&*self)) else { return };
        self.record.verdict = match (self.record.passed, before.record.passed) {
            (true, true) => GateVerdict::Passed,
            (true, false) => GateVerdict::Mended,
            (false, false) if self.fails_like(before) => GateVerdict::FailedBefore,
            // It is unknown what failed, so nothing shows that it is the same.
            (false, false) if self.is_unknown_beside(before) => GateVerdict::Failed,
            (false, _) => GateVerdict::NewlyFailing,
        };
        self.record.tests = self.changes_since(before).map(Box::new);
    }

    /// Marks a gate that has failed and passes now, on the state on which it began then, unless something that ran then does
    /// not now: that has not passed.
    pub(crate) fn is_second_try_of(&mut self, first: &Self) {
        let has_lost = |earlier: &Self| self.changes_since(earlier).is_some_and(|tests| tests.has_lost());
        if self.record.passed && !has_lost(first) && self.record.lost_tests().is_none() {
            self.record.verdict = GateVerdict::Flaky;
        } else {
            self.record.passed = false;
            self.record.verdict = GateVerdict::Failed;
        }
    }

    /// Returns what became of its single tests, if the earlier run named any. Of one that names none, it is only known whether any
    /// ran.
    fn changes_since(&self, before: &Self) -> Option<TestChanges> {
        let only =
            |unclear: &str| TestChanges { unclear: Some(unclear.to_owned()), ..TestChanges::default() };
        let Some(old) = before.results.as_ref().filter(|results| !results.is_empty()) else {
            let has_stopped = before.ran_tests == Some(true) && self.ran_tests == Some(false);
            return has_stopped.then(|| only("its output says that no test ran"));
        };
        let Some(new) = &self.results else { return Some(only("its output is too long to be read in full")) };
        let mut compared = compare(old, new);
        if self.record.passed {
            // Where something could not be built, a gate that passes has not noticed.
            compared.gone.append(&mut compared.blocked);
            compared.gone.sort_unstable();
        }
        let unclear = new.doubts.first().filter(|_| old.doubts.is_empty()).cloned();
        let is_cut = new.is_unfinished && !old.is_unfinished;
        let cut = || "the output ends before the summary of the tests".to_owned();
        Some(TestChanges { unclear: unclear.or_else(|| is_cut.then(cut)), ..changes(compared) })
    }

    /// Returns whether this failure is the same as an earlier one of the same gate: it ended in the same way, everything that
    /// is seen now was seen then, every test that ran then is seen now, and nothing puts either output in doubt.
    fn fails_like(&self, earlier: &Self) -> bool {
        let (Some(old), Some(new)) = (&earlier.results, &self.results) else { return false };
        let is_doubtful = !old.doubts.is_empty() || !new.doubts.is_empty();
        let is_cut = new.is_unfinished && !old.is_unfinished;
        if self.record.ending != earlier.record.ending || !earlier.is_certain || is_doubtful || is_cut {
            return false;
        }
        let compared = compare(old, new);
        let changed = [
            &compared.newly_failing,
            &compared.gone,
            &compared.blocked,
            &compared.replaced,
            &compared.newly_skipped,
        ];
        // Where single tests are read, the rest may change with them. Otherwise any line could report another failure.
        let is_known = if compared.still_failing.is_empty() {
            !self.failures.is_empty() && self.failures.are_all_known_from(&earlier.failures)
        } else {
            self.failures.are_among(&earlier.failures)
        };
        is_known && changed.iter().all(|list| list.is_empty())
    }

    /// Returns whether nothing shows that this failure is another one: neither run says what failed, no failure is new among
    /// lines that nobody can read, or the earlier run says nothing of the state before the run.
    fn is_unknown_beside(&self, earlier: &Self) -> bool {
        let names_no_test = |gate: &Self| gate.results.as_ref().is_some_and(Results::is_empty);
        let is_silent = |gate: &Self| gate.failures.is_empty() && names_no_test(gate);
        let is_unclear = |gate: &Self| !gate.failures.is_empty() && names_no_test(gate);
        let is_same = self.record.ending == earlier.record.ending;
        let is_no_other =
            is_unclear(self) && is_unclear(earlier) && self.failures.are_among(&earlier.failures);
        is_same && (!earlier.is_certain || is_silent(self) && is_silent(earlier) || is_no_other)
    }
}

fn changes(compared: Comparison) -> TestChanges {
    let new: BTreeSet<&String> = compared.new.iter().collect();
    let new_failing = compared.newly_failing.iter().filter(|test| new.contains(test)).count();
    TestChanges {
        new_failing,
        ran: compared.ran,
        new: compared.new.into(),
        gone: compared.gone.into(),
        newly_skipped: compared.newly_skipped.into(),
        newly_failing: compared.newly_failing.into(),
        still_failing: compared.still_failing.into(),
        mended: compared.mended.into(),
        slower: compared.slower.into(),
        unclear: None,
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
            ("make", Some((1, old)), (1, "src/a.rs:14:2: error: one\n"), FailedBefore),
            // Another error may have gone below the same heading.
            ("make", Some((1, old)), (1, "error: two (5 ms)\n"), Failed),
            ("make", Some((1, old)), (1, "error: two (5 ms)\nerror: three\n"), NewlyFailing),
            ("lint", Some((1, "a.py:1:1: F821 x\n")), (1, "a.py:3:1: F821 x\nnothing was tested\n"), Failed),
            (
                "lint",
                Some((1, "a.py:1:1: F821 x\n")),
                (1, "a.py:3:1: F821 x\nbash: pytest: command not found\n"),
                NewlyFailing,
            ),
            (
                "lint",
                Some((1, "a.py:1:1: F821 x\nb.py:1:1: F821 x\nFound 2 errors in 2 files.\n")),
                (1, "b.py:1:1: F821 x\nFound 1 error in 1 file.\n"),
                FailedBefore,
            ),
            ("lint", Some((1, "/a.js\n  1:1  error  x\n")), (1, "/b.js\n  1:1  error  x\n"), Failed),
            ("t", Some((1, "error: expected 5 s\n")), (1, "error: expected 900 s\n"), NewlyFailing),
            ("t", Some((1, "error: x\ncoverage: 90 %\n")), (1, "error: x\ncoverage: 10 %\n"), Failed),
            ("make", Some((1, old)), (2, "error: two (5 ms)\n"), NewlyFailing),
            ("make", Some((1, old)), (1, "something else\n"), NewlyFailing),
            ("make", Some((1, old)), (0, ""), Mended),
            ("make", Some((0, "")), (1, old), NewlyFailing),
            ("make", Some((0, "")), (0, ""), Passed),
            ("make", None, (1, old), Failed),
            // What was seen before is not seen any more, or more is seen.
            ("t", Some((1, "test a ... FAILED\ntest b ... ok\n")), (1, two), NewlyFailing),
            (
                "t",
                Some((1, "test a ... FAILED\ntest b ... ok\n")),
                (1, "test a ... FAILED\ntest b ... ignored\n"),
                NewlyFailing,
            ),
            (
                "t",
                Some((1, "test a ... FAILED\n")),
                (1, "test a ... FAILED\ntest src/lib.rs - f (line 3) ... FAILED\n"),
                NewlyFailing,
            ),
            (
                "t",
                Some((1, "error: x\nerror: could not compile `one`\n")),
                (1, "error: x\nerror: could not compile `two`\n"),
                NewlyFailing,
            ),
            ("t", Some((1, "not ok 1\nok 2\n")), (1, "not ok 1\nnot ok 2\n"), NewlyFailing),
            (
                "t",
                Some((1, "test a ... FAILED\ntest b ... ok\n")),
                (1, "test a ... FAILED\ntest b ... FAILED\rxx\n"),
                NewlyFailing,
            ),
            (
                "t",
                Some((1, "test a ... FAILED\ntest b ... ok\n")),
                (1, "\u{1b}]0;xtest a ... FAILED\ntest b ... FAILED\n"),
                NewlyFailing,
            ),
            (
                "t",
                Some((1, "test a ... FAILED\ntest b ... ok\n")),
                (1, "test a ... FAILED\ntest b ... ok\ntest c ... ok\n"),
                FailedBefore,
            ),
            ("make", None, (0, ""), Passed),
            // It is unknown what failed, so nothing excuses it.
            ("false", Some((1, "")), (1, ""), Failed),
            ("exit 7", Some((7, "took 3 s\n")), (7, "took 14 s\n"), Failed),
            ("exit 7", Some((7, "")), (8, ""), NewlyFailing),
            // What is said in a form that nobody knows may be about another failure, even in the same words.
            ("check", Some((1, "no license\n")), (1, "no license\n"), Failed),
            ("check", Some((1, "no license\n")), (2, "no license\n"), NewlyFailing),
            ("check", Some((1, "no license\n")), (1, "no license\nno notice\n"), Failed),
            // Tests count, not only the exit code.
            ("cargo test", Some((101, two)), (101, three), NewlyFailing),
            ("cargo test", Some((101, three)), (101, two), NewlyFailing),
            ("cargo test", Some((101, two)), (101, &format!("{two}error: other\n")), NewlyFailing),
            ("cargo test; lint", Some((101, two)), (101, &format!("{two}error: other\n")), NewlyFailing),
        ] {
            let of = |(code, output): (i32, &str)| outcome_of(command, code, output);
            let mut outcome = of(now);
            outcome.judge(before.map(of).as_ref());
            assert_eq!(outcome.record.verdict, expected, "{command}: {before:?} {now:?}");
        }
    }

    #[test]
    fn tests_that_are_gone_are_told_of_failing_gates_as_well() {
        let before = outcome_of("t", 0, "test a ... ok\ntest b ... ok\n");
        let mut now = outcome_of("t", 1, "test a ... FAILED\n");
        now.judge(Some(&before));
        assert!(now.record.lost_tests().is_none(), "it does not pass");
        let tests = now.record.tests.expect("a comparison");
        assert_eq!((tests.newly_failing.count, tests.gone.count), (1, 1));
        let mut now = outcome_of("t", 0, "");
        now.judge(Some(&before));
        assert_eq!(now.record.lost_tests().map(|tests| tests.gone.count), Some(2));
    }

    #[test]
    fn gate_that_names_no_test_has_lost_them_if_none_runs_any_more() {
        let (some, none, silent) = ("Ran 2 tests in 0.1s\n\nOK\n", "Ran 0 tests in 0.1s\n\nOK\n", "built\n");
        for (before, now, is_lost) in [
            (some, none, true),
            (some, some, false),
            (some, silent, false),
            (none, none, false),
            (silent, none, false),
        ] {
            let mut outcome = outcome_of("make check", 0, now);
            outcome.judge(Some(&outcome_of("make check", 0, before)));
            let told = outcome.record.lost_tests().map(TestChanges::summary);
            let expected = is_lost.then_some("it is unclear what ran: its output says that no test ran");
            assert_eq!(told.as_deref(), expected, "{before:?} {now:?}");
            assert_eq!(outcome.record.told() == "passed, but ran no test", now == none, "{now:?}");
        }
    }

    #[test]
    fn tests_that_newly_fail_are_lost_to_a_gate_that_passes_all_the_same() {
        let before = outcome_of("t || true", 0, "test a ... ok\ntest b ... ok\n");
        let mut now = outcome_of("t || true", 0, "test a ... FAILED\ntest b ... ok\n");
        now.judge(Some(&before));
        assert_eq!(now.record.lost_tests().map(|tests| tests.newly_failing.count), Some(1));
        let mut now = outcome_of("t || true", 0, "test a ... ok\ntest b ... ok\n");
        now.judge(Some(&before));
        assert!(now.record.lost_tests().is_none());
    }

    #[test]
    fn lost_tests_are_told_from_new_ones_that_fail() {
        let old = "test a ... ok\ntest b ... ok\n";
        for (now, told, summary) in [
            (
                "test a ... ok\ntest b ... ok\ntest c::new ... FAILED\n",
                "1 new test fails",
                "3 tests ran: 1 new and failing, 1 new",
            ),
            (
                "test a ... ok\ntest b ... FAILED\n",
                "1 test fails that did not before the run",
                "2 tests ran: 1 newly failing",
            ),
            ("test a ... ok\n", "1 test that ran before the run no longer runs", "1 test ran: 1 gone"),
            (
                "test a ... ignored\ntest c::new ... FAILED\ntest d::newer ... FAILED\n",
                "2 new tests fail and 2 tests that ran before the run no longer run",
                "2 tests ran: 2 new and failing, 1 gone, 1 newly skipped, 2 new",
            ),
            (
                "test a ... FAILED\ntest b ... ok\ntest c::new ... FAILED\n",
                "1 new test fails and 1 test fails that did not before the run",
                "3 tests ran: 2 newly failing (some are new), 1 new",
            ),
        ] {
            let mut outcome = outcome_of("t || true", 0, now);
            outcome.judge(Some(&outcome_of("t || true", 0, old)));
            let tests = outcome.record.lost_tests().expect("less than before");
            assert_eq!(
                (tests.told_losses("the run"), tests.summary()),
                (told.to_owned(), summary.to_owned())
            );
        }
    }

    #[test]
    fn passing_gate_whose_output_cannot_be_read_has_lost_tests() {
        let before = outcome_of("t", 0, "test a ... ok\n");
        let mut now = outcome_of("t", 0, "test a ... ok\n");
        now.results = None;
        now.judge(Some(&before));
        let tests = now.record.lost_tests().expect("a doubt");
        assert_eq!(tests.unclear.as_deref(), Some("its output is too long to be read in full"));
        let forged = "a.py::test_a PASSED [ 50%]\na.py::test_b PASSED [100%]\n=== 1 passed in 0.01s ===\n";
        let before = outcome_of("t", 0, "a.py::test_a PASSED [100%]\n=== 1 passed in 0.01s ===\n");
        let mut now = outcome_of("t", 0, forged);
        now.judge(Some(&before));
        assert_eq!(
            now.record.lost_tests().and_then(|tests| tests.unclear.as_deref()),
            Some("pytest counts 1 passed, and its lines name 2")
        );
    }

    #[test]
    fn failure_is_excused_only_by_an_output_that_is_known_whole() {
        type Change = fn(&mut GateOutcome, &mut GateOutcome);
        let output = "test a ... FAILED\ntest b ... ok\n";
        let same = || outcome_of("t", 1, output);
        let cases: [(&str, Change, GateVerdict); 4] = [
            ("the same", |_, _| (), GateVerdict::FailedBefore),
            ("cut now", |_, now| now.results = None, GateVerdict::NewlyFailing),
            ("cut before", |before, _| before.results = None, GateVerdict::NewlyFailing),
            ("another state", |before, _| before.is_certain = false, GateVerdict::Failed),
        ];
        for (name, change, expected) in cases {
            let (mut before, mut now) = (same(), same());
            change(&mut before, &mut now);
            now.judge(Some(&before));
            assert_eq!(now.record.verdict, expected, "{name}");
        }
    }

    #[test]
    fn second_try_is_flaky_only_if_it_passes_with_all_tests() {
        let first = outcome_of("t", 1, "test a ... FAILED\ntest b ... ok\n");
        for (code, output, expected) in [
            (0, "test a ... ok\ntest b ... ok\n", GateVerdict::Flaky),
            (0, "test b ... ok\n", GateVerdict::Failed),
            (0, "", GateVerdict::Failed),
            (1, "", GateVerdict::Failed),
        ] {
            let mut outcome = outcome_of("t", code, output);
            outcome.is_second_try_of(&first);
            assert_eq!(outcome.record.verdict, expected, "{output}");
        }
    }
}
