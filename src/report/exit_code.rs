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
}
