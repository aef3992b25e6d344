//! Command lines that run tests: which of them do, going by what they printed or by their programs, and whether the exit code of a line
//! shows the result.

use shell::{Simple, TestRun, analyse, chooses_tests, test_run};
use test_results::{Outcome, has_run_tests, parse_all};

/// What an output says of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownTests {
    /// Nothing.
    #[default]
    Unsaid,
    /// Some ran.
    Ran,
    /// Some ran, and one of them failed.
    Failed,
    /// Some were skipped; it does not say whether others ran.
    Skipped,
}

impl ShownTests {
    /// Reads an output without escapes.
    pub(super) fn of(output: &str) -> Self {
        match has_run_tests(output, true) {
            Some(true) => {
                let failed = parse_all(output).tests.iter().any(|test| test.outcome == Outcome::Failed);
                if failed { Self::Failed } else { Self::Ran }
            }
            None if output.lines().any(|line| line.trim_end().ends_with(" SKIPPED")) => Self::Skipped,
            _ => Self::Unsaid,
        }
    }
}

/// A command line that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestLine {
    /// Whether a program or target in it is named for tests.
    pub(super) is_named: bool,
    /// Whether it runs all tests, as far as its words and its output tell.
    pub(super) is_whole: bool,
    /// Whether its exit code shows how they ended.
    pub(super) is_shown: bool,
}

impl TestLine {
    /// Reads a line; `None` if it runs no tests. Which program or target of the project does is told by the output, or else by its name.
    pub(super) fn of(line: &str, shown: ShownTests) -> Option<Self> {
        let commands = analyse(line).commands;
        let runs: Vec<TestRun> = commands.iter().filter_map(run_of).collect();
        let is_named = runs.iter().any(|run| run.is_named);
        let has_run = matches!(shown, ShownTests::Ran | ShownTests::Failed);
        if !is_named && (runs.is_empty() || !has_run) {
            return None;
        }
        let moves = |command: &Simple| {
            words(command).iter().any(|word| matches!(*word, "cd" | "pushd" | "-C" | "--prefix"))
        };
        let chooses = |command: &Simple| {
            let set = command.assignments.iter().any(|(name, _)| chooses_tests(&format!("{name}=")));
            set || words(command).iter().any(|word| chooses_tests(word))
        };
        let is_whole = runs.iter().any(|run| run.is_named == is_named && run.is_whole)
            && shown != ShownTests::Skipped
            && !commands.iter().any(|command| moves(command) || chooses(command));
        let is_last =
            |last: &str| analyse(last).commands.iter().filter_map(run_of).any(|run| run.is_named == is_named);
        Some(Self { is_named, is_whole, is_shown: exit_code_shows_result(line, is_last) })
    }
}

/// Returns the programs of a line that run tests, without their folders.
pub(super) fn test_programs(line: &str) -> Vec<String> {
    let commands = analyse(line).commands;
    let runs = commands.iter().filter(|command| run_of(command).is_some());
    let programs = runs.filter_map(|command| words(command).first().copied());
    programs.map(|program| program.rsplit('/').next().unwrap_or(program).to_owned()).collect()
}

fn words(command: &Simple) -> Vec<&str> {
    command.words.iter().map(|word| word.text().unwrap_or(&word.raw)).collect()
}

fn run_of(command: &Simple) -> Option<TestRun> {
    test_run(&words(command))
}

/// Returns whether the exit code of a line, or of its pipes, shows how a command in it ended: not with `|| true`, not with `!`
/// before it, and not if something follows that is not what matters.
pub(super) fn exit_code_shows_result(line: &str, is_last: impl Fn(&str) -> bool) -> bool {
    let line = line.replace("2>&1", "").replace("&>", ">");
    let last = line.rsplit([';', '&', '\n']).next().unwrap_or_default();
    let is_pipe_end = last.trim_start().starts_with('|');
    let is_negated = line.split([';', '&', '\n']).any(|part| part.trim_start().starts_with("! "));
    !line.contains("||") && !is_negated && (is_pipe_end || is_last(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_show_the_result_of_tests_that_come_last() {
        for (line, shows_result) in [
            ("pytest -q", true),
            ("pytest -q 2>&1", true),
            ("cd app && pytest -q 2>&1 | tail -5", true),
            ("pytest || true", false),
            ("pytest; echo done", false),
            ("pytest & wait", false),
            ("! pytest", false),
            ("cd app && ! pytest", false),
            ("pytest && ./ci.sh", false),
        ] {
            let read = TestLine::of(line, ShownTests::Unsaid).expect("a run of tests");
            assert_eq!(read.is_shown, shows_result, "{line}");
        }
    }

    #[test]
    fn lines_that_choose_tests_do_not_run_all() {
        let is_whole = |line: &str, shown| TestLine::of(line, shown).map(|read| read.is_whole);
        for (line, expected) in [
            ("pytest -q tests/test_shop.py", Some(false)),
            ("pytest --deselect tests/test_shop.py::test_total", Some(false)),
            ("cargo test total", Some(false)),
            ("cd app && pytest -q", Some(false)),
            ("make -C app test", Some(false)),
            ("PYTEST_ADDOPTS='-k total' pytest -q", Some(false)),
            ("export PYTEST_ADDOPTS=--co && pytest -q", Some(false)),
            ("env PYTEST_ADDOPTS=--co pytest -q", Some(false)),
            ("TESTS=shop make test", Some(false)),
            ("pytest --collect-only -q", None),
            ("cargo test --no-run", None),
            ("make check", None),
            ("./ci.sh", None),
            ("cargo check", None),
            ("python3 -m pytest -q", Some(true)),
            ("CI=1 npm test", Some(true)),
            ("make lint && timeout 60 uv run pytest", Some(true)),
            ("bash -c 'npm test'", Some(true)),
        ] {
            assert_eq!(is_whole(line, ShownTests::Unsaid), expected, "{line}");
        }
        for (line, expected) in [
            ("./ci.sh", Some(true)),
            ("make check", Some(true)),
            ("./ci.sh --filter total", Some(false)),
            ("pytest tests/test_shop.py && make build", Some(false)),
            ("sed -n p log", None),
        ] {
            assert_eq!(is_whole(line, ShownTests::Ran), expected, "{line}");
        }
        assert_eq!(is_whole("gradle test", ShownTests::Skipped), Some(false));
    }

    #[test]
    fn outputs_show_tests_that_ran_failed_or_were_skipped() {
        for (output, expected) in [
            ("== 2 passed in 0.01s ==", ShownTests::Ran),
            ("test a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored", ShownTests::Failed),
            ("> Task :test\n\nCartTest > adds() SKIPPED\n", ShownTests::Skipped),
            ("types are fine", ShownTests::Unsaid),
            ("Ran 0 tests in 0.000s", ShownTests::Unsaid),
        ] {
            assert_eq!(ShownTests::of(output), expected, "{output}");
        }
    }
}
