//! Runs of tests among the commands of the agent.

use shell::test_run;
use test_results::has_run_tests;

use crate::event::CommandEffect;

/// Returns whether a command runs tests: a program or target that is named for them, or one of the project's by whose output tests ran.
pub(crate) fn runs_tests(command: &CommandEffect, output: &str) -> bool {
    any_runs_tests(&command.simple, output)
}

/// Returns whether one of some commands, each without its quotes, runs tests.
fn any_runs_tests(simple: &[String], output: &str) -> bool {
    let runs = || simple.iter().filter_map(|command| test_run(&command.split(' ').collect::<Vec<_>>()));
    runs().any(|run| run.is_named) || runs().next().is_some() && has_run_tests(output, true) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_name_or_output() {
        for (command, output, expected) in [
            ("cargo test", "", true),
            ("npm run test:unit", "", true),
            ("make ci", "== 2 passed in 0.01s ==", true),
            ("make ci", "types are fine", false),
            ("cargo check", "", false),
            ("cat tests.txt", "== 2 passed in 0.01s ==", false),
            ("git status", "", false),
        ] {
            assert_eq!(any_runs_tests(&[command.to_owned()], output), expected, "{command}");
        }
    }
}
