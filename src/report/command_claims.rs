//! Claims that a command, or that the tests, passed: what calls and gates show of it.

use super::CallSummary;
use super::evidence::{Claim, ClaimSubject, Deeds};
use super::exit_code::{ShownTests, TestLine, exit_code_shows_result, test_programs};
use crate::event::{Class, GateRecord, Outcome};

impl Deeds<'_> {
    /// Checks whether a command passed when it last ran. What is no command is no claim.
    pub(super) fn command(&self, line: &str) -> Option<Claim> {
        const ALONE: &[&str] = &["pytest", "tox", "make", "nox", "jest", "vitest", "mypy", "ruff", "eslint"];
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_command = match words.as_slice() {
            [word] => ALONE.contains(word),
            [first, ..] => {
                first.starts_with(|sign: char| sign.is_ascii_lowercase() || sign == '.')
                    && first
                        .chars()
                        .all(|sign| sign.is_alphanumeric() || matches!(sign, '.' | '/' | '_' | '-'))
            }
            [] => false,
        };
        let line = words.join(" ");
        let is_same = |other: &str| {
            let other = other.split_whitespace().collect::<Vec<_>>().join(" ");
            // A path to the folder may stand before it, and behind it what leaves its exit code alone: redirections and pipes.
            let has_plain_end =
                |end: &str| end.is_empty() || end.starts_with(" |") && exit_code_shows_result(end, |_| false);
            other == line
                || other.ends_with(&format!("&& {line}"))
                || other.strip_prefix(&format!("{line} 2>&1")).is_some_and(has_plain_end)
        };
        if !is_command || line.contains(['(', '{', '=', ';']) {
            return None;
        }
        let gate = self.gates.iter().rev().find(|gate| is_same(&gate.command) || gate.name == line);
        let ran = self.calls.iter().rev().filter(|call| call.class.is_some());
        let call = ran.clone().find(|call| call.target.as_deref().is_some_and(is_same));
        // A longer command may have held it: nothing can be said for sure.
        let may_hold = ran.filter_map(|call| call.target.as_deref()).any(|target| target.contains(words[0]));
        let runs_tests = || TestLine::of(&line, ShownTests::Unsaid).is_some();
        let (holds, evidence) = match (gate, call) {
            (Some(gate), _) => {
                let runs_none = gate.ran_no_test && runs_tests();
                (gate.passed && !runs_none, format!("the gate {} {}", gate.name, gate.told()))
            }
            (None, Some(call)) if has_run(call) => match call.exit_code {
                Some(0) if self.has_changed_since(call) => return None,
                Some(0) if !call.success => {
                    (false, format!("a part of its pipe failed in step {}", call.step))
                }
                Some(0) if call.ran_no_test && runs_tests() => {
                    (false, format!("it ended with exit code 0 in step {}, but ran no test", call.step))
                }
                Some(0) => (true, format!("it ended with exit code 0 in step {}", call.step)),
                Some(code) => (
                    false,
                    format!("when it last ran, in step {}, it ended with exit code {code}", call.step),
                ),
                None => (false, format!("it did not finish in step {}", call.step)),
            },
            (None, Some(_)) => (false, "it was not executed".to_owned()),
            (None, None) if may_hold => return None,
            (None, None) => (false, "it was not run".to_owned()),
        };
        Some(Claim { subject: ClaimSubject::Command, claim: format!("{line} passed"), holds, evidence })
    }

    /// Checks whether the tests passed when they last ran, by all gates that run tests or else by a command. One that passed without
    /// running any shows nothing. Nothing can be said for sure of commands that may have run them unseen, of lines whose exit code
    /// is not that of the tests, and of tests that passed before files changed again.
    pub(super) fn all_tests(&self) -> Option<Claim> {
        let claim = |holds, evidence| {
            Some(Claim {
                subject: ClaimSubject::Command,
                claim: "the tests pass".to_owned(),
                holds,
                evidence,
            })
        };
        let read = |gate: &GateRecord| {
            let shown = ShownTests::of(&gate.output);
            // What does more than tests may fail for another reason.
            TestLine::of(&gate.command, shown)
                .filter(|line| line.is_named || gate.passed || shown == ShownTests::Failed)
        };
        let gates: Vec<(&GateRecord, TestLine)> =
            self.gates.iter().rev().filter_map(|gate| Some((gate, read(gate)?))).collect();
        if !gates.is_empty() {
            if gates.iter().any(|(_, line)| !line.is_shown) {
                return None;
            }
            // What chooses some of the tests shows that they fail, but not that all pass.
            let shown = gates.iter().find(|(gate, _)| !gate.passed);
            let mut whole = gates.iter().filter(|(_, line)| line.is_whole);
            let (shown, _) = shown.or_else(|| {
                let empty = whole.clone().next();
                whole.find(|(gate, _)| !gate.ran_no_test).or(empty)
            })?;
            let holds = shown.passed && !shown.ran_no_test;
            return claim(holds, format!("the gate {} {}", shown.name, shown.told()));
        }
        let mut ran = self
            .calls
            .iter()
            .rev()
            .filter(|call| has_run(call) && call.class.is_some_and(|class| class != Class::Safe))
            .peekable();
        if ran.peek().is_none() {
            return claim(false, "no test was run".to_owned());
        }
        let read = |call: &'_ CallSummary| {
            let line = TestLine::of(call.target.as_deref()?, call.shown_tests)?;
            (line.is_named || call.success || call.shown_tests == ShownTests::Failed).then_some(line)
        };
        let mut ran = ran.filter_map(|call| Some((call, read(call)?)));
        let runs = ran.clone();
        // A program that is not there, or that refuses its options, says nothing of the tests.
        let is_empty = |(call, _): &(&CallSummary, TestLine)| {
            call.ran_no_test || matches!(call.exit_code, Some(126 | 127))
        };
        let last = ran.clone().next()?;
        let (call, read) = ran.find(|run| !is_empty(run)).unwrap_or(last);
        let line = call.target.as_deref().unwrap_or_default();
        if call.success && call.ran_no_test {
            return claim(false, format!("`{line}` ran no test in step {}", call.step));
        }
        let holds = call.success && call.exit_code == Some(0);
        if !read.is_shown || holds && (self.has_changed_since(call) || !read.is_whole) {
            return None;
        }
        // Tests of another program that failed may still do so.
        let mut passed = Vec::new();
        for (other, _) in runs.filter(|run| holds && !is_empty(run)) {
            let programs = test_programs(other.target.as_deref().unwrap_or_default());
            if other.success {
                passed.extend(programs);
            } else if !programs.iter().all(|program| passed.contains(program)) {
                return None;
            }
        }
        let code =
            call.exit_code.map_or("did not end".to_owned(), |code| format!("ended with exit code {code}"));
        claim(holds, format!("`{line}` {code} in step {}", call.step))
    }

    /// Returns whether a call after this one has changed files.
    fn has_changed_since(&self, call: &CallSummary) -> bool {
        let after = self.calls.iter().skip_while(|other| !std::ptr::eq(*other, call)).skip(1);
        after.into_iter().any(|other| !other.diff.is_empty())
    }
}

/// Returns whether a command has run: in a dry run, one that left changes counts as planned.
fn has_run(call: &CallSummary) -> bool {
    call.outcome == Outcome::Executed || call.outcome == Outcome::Planned && call.exit_code.is_some()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::evidence::evidence;
    use super::*;

    /// A command that ran in step 3.
    pub(in super::super) fn call(target: &str, exit_code: i32) -> CallSummary {
        CallSummary {
            at_ms: 0,
            agent: "build".to_owned(),
            step: 3,
            tool: "run_command".to_owned(),
            target: Some(target.to_owned()),
            pattern: None,
            class: Some(crate::event::Class::Dev),
            outcome: Outcome::Executed,
            success: exit_code == 0,
            exit_code: Some(exit_code),
            ran_no_test: false,
            shown_tests: ShownTests::Unsaid,
            error: None,
            diff: String::new(),
            duration_ms: 0,
        }
    }

    /// Renders claims, each in a line.
    pub(in super::super) fn lines(claims: Vec<Claim>) -> Vec<String> {
        let line = |claim: Claim| {
            format!("{} {}: {}", if claim.holds { '+' } else { '-' }, claim.claim, claim.evidence)
        };
        claims.into_iter().map(line).collect()
    }

    fn empty(target: &str) -> CallSummary {
        CallSummary { ran_no_test: true, ..call(target, 0) }
    }

    fn told(target: &str, code: i32, shown_tests: ShownTests) -> CallSummary {
        CallSummary { shown_tests, ..call(target, code) }
    }

    fn ended(name: &str, ran_no_test: bool) -> GateRecord {
        GateRecord {
            ran_no_test,
            passed: true,
            verdict: crate::event::GateVerdict::Passed,
            ..GateRecord::not_run(name.to_owned(), "make test".to_owned(), true, "exit code 0")
        }
    }

    fn gate(name: &str, command: &str, output: &str) -> GateRecord {
        GateRecord { command: command.to_owned(), output: output.to_owned(), ..ended(name, false) }
    }

    /// What ran, as calls and as gates, with a message of the agent's and what is said of it.
    type Row<'a> = (Vec<CallSummary>, Vec<GateRecord>, &'a str, Vec<&'a str>);

    fn check<const N: usize>(rows: [Row<'_>; N]) {
        for (calls, gates, message, expected) in rows {
            let deeds = Deeds { files: &[], calls: &calls, gates: &gates, tests: &|| &[] };
            assert_eq!(lines(evidence(message, &deeds)), expected, "{message}");
        }
    }

    #[test]
    fn commands_that_ran_no_test_confirm_no_claim() {
        check([
            (
                vec![empty("python -m unittest")],
                vec![],
                "All tests pass.",
                vec!["- the tests pass: `python -m unittest` ran no test in step 3"],
            ),
            (
                vec![empty("cargo test total")],
                vec![],
                "`cargo test total` passes. All tests pass.",
                vec![
                    "- cargo test total passed: it ended with exit code 0 in step 3, but ran no test",
                    "- the tests pass: `cargo test total` ran no test in step 3",
                ],
            ),
            (
                vec![call("npm test", 0), empty("go test ./...")],
                vec![],
                "All tests pass.",
                vec!["+ the tests pass: `npm test` ended with exit code 0 in step 3"],
            ),
            (
                vec![call("npm test", 1), empty("go test ./...")],
                vec![],
                "All tests pass.",
                vec!["- the tests pass: `npm test` ended with exit code 1 in step 3"],
            ),
            (
                vec![empty("make docs")],
                vec![],
                "`make docs` passed.",
                vec!["+ make docs passed: it ended with exit code 0 in step 3"],
            ),
            (
                vec![],
                vec![ended("unit", true)],
                "All tests pass. `make test` passed.",
                vec![
                    "- the tests pass: the gate unit passed, but ran no test",
                    "- make test passed: the gate unit passed, but ran no test",
                ],
            ),
            (
                vec![],
                vec![ended("unit", false), ended("more", true)],
                "All tests pass.",
                vec!["+ the tests pass: the gate unit passed"],
            ),
        ]);
    }

    #[test]
    fn what_counts_as_tests_is_what_ran() {
        check([
            (vec![call("cargo check", 0)], vec![], "All tests pass.", vec![]),
            (vec![call("pytest --collect-only", 0)], vec![], "All tests pass.", vec![]),
            (vec![call("PYTEST_ADDOPTS=--co pytest", 0)], vec![], "All tests pass.", vec![]),
            (
                vec![
                    call("python3 -m unittest -q", 0),
                    call("mkdir tests", 1),
                    call("npm run format:check", 1),
                    call("git checkout tests", 1),
                    call("python3 tests/debug.py", 1),
                    told("make ci", 2, ShownTests::Ran),
                ],
                vec![],
                "All tests pass.",
                vec!["+ the tests pass: `python3 -m unittest -q` ended with exit code 0 in step 3"],
            ),
            (vec![call("npm test", 1), call("pytest -q", 0)], vec![], "All tests pass.", vec![]),
            (
                vec![
                    call("npm test", 1),
                    call("npm test", 0),
                    call(".venv/bin/pytest", 1),
                    call("pytest -q", 0),
                ],
                vec![],
                "All tests pass.",
                vec!["+ the tests pass: `pytest -q` ended with exit code 0 in step 3"],
            ),
            (
                vec![call("pytest -q", 0), call("./node_modules/.bin/jest", 127)],
                vec![],
                "All tests pass.",
                vec!["+ the tests pass: `pytest -q` ended with exit code 0 in step 3"],
            ),
            (vec![call("./gradlew build -x test", 0)], vec![], "All tests pass.", vec![]),
            (
                vec![told("./ci.sh", 0, ShownTests::Ran)],
                vec![],
                "All tests pass.",
                vec!["+ the tests pass: `./ci.sh` ended with exit code 0 in step 3"],
            ),
            (
                vec![told("make ci", 2, ShownTests::Failed)],
                vec![],
                "All tests pass.",
                vec!["- the tests pass: `make ci` ended with exit code 2 in step 3"],
            ),
            (
                vec![],
                vec![gate("tests", "./ci.sh", "Ran 1 test in 0.000s\n\nOK")],
                "All tests pass.",
                vec!["+ the tests pass: the gate tests passed"],
            ),
            (
                vec![call("npm ci", 0)],
                vec![gate("build", "make check", "types are fine")],
                "All tests pass.",
                vec![],
            ),
        ]);
    }
}
