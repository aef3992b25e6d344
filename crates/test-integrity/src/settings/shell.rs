//! Scripts of shells: what ends them before their checks, drops their result, or lets them go on after a failure.

use super::check::Check;
use crate::files::extension;
use crate::finding::{Finding, Kind};

/// Returns whether a line of a script is behind one that ends it.
pub(super) fn is_unreached(script: &str, line: usize) -> bool {
    let ends = |text: &str| {
        matches!(
            text.trim_end_matches(';').trim_end(),
            "exit" | "exit 0" | "return 0" | "exec true" | "exec /bin/true"
        )
    };
    script.lines().take(line.saturating_sub(1)).any(ends)
}

/// Returns whether a line of a script drops the result of all of it.
fn drops_result(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("trap ") && line.contains("exit 0") && line.contains("EXIT")
}

/// Returns what a script does to the checks in it: it ends before them, drops their result, or goes on after a failure.
pub(super) fn compare(path: &str, before: &str, after: &str, checks: &[Check]) -> Option<Finding> {
    let finding =
        |line: usize, message: &str| Some(Finding::new(path, line, Kind::WeakerCheck, message.to_owned()));
    if let Some(check) =
        checks.iter().find(|check| is_unreached(after, check.line)).filter(|_| extension(path) == "sh")
        && !before
            .lines()
            .enumerate()
            .any(|(at, line)| line.contains(&check.tool) && is_unreached(before, at + 1))
    {
        return finding(check.line, "a check is never reached");
    }
    if let Some(at) = after.lines().position(drops_result).filter(|_| !before.lines().any(drops_result)) {
        return finding(at + 1, "failures no longer count: the script always succeeds");
    }
    let stops = |text: &str| {
        let is_option = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('e');
        text.lines().any(|line| {
            let line = line.trim();
            (line.starts_with("set -") || line.starts_with("#!"))
                && line.split_whitespace().skip(1).any(is_option)
                || line.starts_with("set -o errexit")
        })
    };
    let is_shell = matches!(extension(path), "sh" | "bash");
    if is_shell && !checks.is_empty() && stops(before) && !stops(after) && !after.contains("set +e") {
        return finding(1, "failures no longer count: the script goes on after them");
    }
    None
}
