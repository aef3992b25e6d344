//! Exit codes of command lines: whether they show the result of the tests that a line runs.

use crate::command::is_test;

/// Returns the parts of a command line between `;`, `&&`, `||` and `|`.
fn parts(line: &str) -> Vec<String> {
    let line = line.replace("2>&1", "").replace("&>", ">");
    line.split(['&', '|', ';', '\n']).map(|part| part.trim().to_owned()).collect()
}

/// Returns whether a part of a command line runs tests.
pub(super) fn runs_tests(line: &str) -> bool {
    is_test(&parts(line))
}

/// Words of command lines that run tests and choose none of them.
const PLAIN: &[&str] = &[
    "test",
    "check",
    "pytest",
    "unittest",
    "nextest",
    "jest",
    "vitest",
    "rspec",
    "phpunit",
    "tox",
    "nox",
    "verify",
    "discover",
    "python",
    "python3",
    "py.test",
    "cargo",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "node",
    "mocha",
    "go",
    "./...",
    "make",
    "just",
    "uv",
    "poetry",
    "pipenv",
    "hatch",
    "run",
    "exec",
    "bundle",
    "rake",
    "mvn",
    "./mvnw",
    "gradle",
    "./gradlew",
    "gradlew",
    "clean",
    "build",
    "ctest",
    "dotnet",
    "composer",
    "mix",
    "swift",
    "spec",
    "--",
    "-q",
    "-v",
    "-vv",
    "-s",
    "-x",
    "-ra",
    "-rA",
    "-B",
    "-race",
    "-count=1",
    "--verbose",
    "--quiet",
    "--silent",
    "--workspace",
    "--all",
    "--all-features",
    "--all-targets",
    "--locked",
    "--offline",
    "--frozen",
    "--release",
    "--no-fail-fast",
    "--no-header",
    "--nocapture",
    "--runInBand",
    "--ci",
    "--coverage",
    "--cov",
    "--test",
    "--no-cov",
    "--all-extras",
];

/// Words of these that name what runs tests.
const RUNNERS: &[&str] = &[
    "test", "pytest", "py.test", "unittest", "nextest", "jest", "vitest", "mocha", "rspec", "phpunit",
    "ctest", "tox", "nox",
];

/// Returns whether a line runs all tests, as far as its words tell: none of them chooses some, lists them, or asks for help, and none
/// is the path of some.
pub(super) fn runs_all_tests(line: &str) -> bool {
    let is_plain = |(before, word): (&str, &str)| {
        let is_set =
            before.is_empty() && word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
        let is_value =
            ["--cov=", "--tb=", "--color=", "--reporter="].iter().any(|option| word.starts_with(option));
        // To pytest, it names the marks of tests.
        let is_module = word == "-m" && before.starts_with("python");
        is_set || is_value || is_module || PLAIN.contains(&word)
    };
    // Behind the word that names the runner, others would choose tests.
    let chooses = |part: &str| {
        let mut behind = part.split_whitespace().skip_while(|word| !RUNNERS.contains(word)).skip(1);
        behind.any(|word| !word.starts_with('-') && !matches!(word, "./..." | "run" | "discover"))
    };
    let is_whole = |part: &String| {
        let words = std::iter::once("").chain(part.split_whitespace());
        is_test(std::slice::from_ref(part))
            && words.zip(part.split_whitespace()).all(is_plain)
            && !chooses(part)
    };
    let parts = parts(line);
    let moves = |part: &String| {
        part.split_whitespace().any(|word| matches!(word, "cd" | "pushd" | "-C" | "--prefix"))
    };
    parts.iter().any(is_whole) && !parts.iter().any(moves)
}

/// Returns whether the exit code of a line, or of its pipes, shows how the tests in it ended: not with `|| true`, not with `!`
/// before them, and not if something follows them.
pub(super) fn exit_code_shows_result(line: &str) -> bool {
    let line = line.replace("2>&1", "").replace("&>", ">");
    let last = line.rsplit([';', '&', '\n']).next().unwrap_or_default();
    let is_pipe_end = last.trim_start().starts_with('|');
    let is_negated = line.split([';', '&', '\n']).any(|part| part.trim_start().starts_with("! "));
    !line.contains("||") && !is_negated && (is_pipe_end || is_test(&parts(last)))
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
        ] {
            assert!(runs_tests(line), "{line}");
            assert_eq!(exit_code_shows_result(line), shows_result, "{line}");
        }
    }

    #[test]
    fn lines_that_choose_or_list_tests_do_not_run_all() {
        for line in [
            "pytest --collect-only -q",
            "pytest -q tests/test_shop.py",
            "pytest -k total",
            "pytest -m slow",
            "pytest --deselect tests/test_shop.py::test_total",
            "pytest --help",
            "python3 -m pytest --version",
            "cargo test --no-run",
            "cargo test total",
            "make -n test",
            "npm run test:unit",
            "cd app && pytest -q",
            "pytest tests",
            "go test .",
            "cargo test check",
            "make -C app test",
        ] {
            assert!(runs_tests(line) && !runs_all_tests(line), "{line}");
        }
        for line in [
            "python3 -m pytest -q",
            "cargo test --workspace",
            "CI=1 npm test",
            "go test ./...",
            "make check",
            "uv run pytest",
            "cargo nextest run",
            "mvn clean verify",
        ] {
            assert!(runs_all_tests(line), "{line}");
        }
    }
}
